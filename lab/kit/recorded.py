"""What a replay compares with: a run folder of the precision lab, or a foreign report.

A run folder is believed only as far as its manifest: every file that it lists is hashed before
anything is read. A foreign file is kept as it is, under the SHA-256 of its bytes.
"""

import hashlib
import io
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from lab.kit import foreign, strict_json
from lab.kit.faults import UsageFault
from lab.kit.run_folder import LAB, MANIFEST
from lab.kit.strict_json import NotEvidence

PRECISION, REPLAY = "assay/precision/1", "assay/replay/1"
FOREIGN = "foreign/report.json"
"""Where a run keeps the foreign file that it replayed."""

MAX_DOCUMENT, MAX_OUTPUT, MAX_FILES = 16 * 2**20, 2 * 2**20, 4096
SOURCES = "sources/lab/"
LINE = re.compile(r"([0-9a-f]{64})  ([A-Za-z0-9_-][A-Za-z0-9._/-]*)")

SETTING = {
    "platform": "platform/actual",
    "device_kind": "devices/used/kind",
    "devices": "devices/count",
    "processes": "devices/process_count",
    "system": "operating_system/system",
    "machine": "operating_system/machine",
    "cpu": "cpu/model",
    "instruction_sets": "cpu/isa",
    "python": "versions/python",
    "jax": "versions/jax",
    "jaxlib": "versions/jaxlib",
    "numpy": "versions/numpy",
}
"""Facts of a machine and its software, with their place in environment.json."""

FOREIGN_SETTING = {
    "platform": "platform",
    "device_kind": "device_kind",
    "devices": "global_device_count",
    "processes": "process_count",
    "system": "host_system",
    "python": "python_version",
    "jax": "jax_version",
    "numpy": "numpy_version",
}
"""The same facts, as a foreign report names them."""

Kind = Literal["record", "foreign"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Recorded:
    """Numbers that somebody wrote down, ready to be compared. What was not recorded is None."""

    kind: Kind
    name: str
    sha256: str
    """Of the manifest, or of the foreign file."""
    recorded_at: str | None
    options: Mapping[str, Any]
    """batch, features, outputs, and seed and outlier where the record has them."""
    setting: Mapping[str, Any]
    results: Mapping[str, Mapping[str, Any]]
    """By result, then by field as a replay names it."""
    arrays: Mapping[str, NDArray[np.float32]]
    """The raw outputs that were kept, by result."""
    lab_changes: Sequence[str]
    """Lab modules that are no longer what they were, by name; empty for a foreign report."""
    content: bytes = b""
    """The foreign file, byte for byte."""


def load(path: Path) -> Recorded:
    """Read a run folder or a foreign report; refuse what is neither, or cannot be replayed."""
    if path.is_dir():
        return _folder(path)
    if path.suffix == ".json":
        content, value = strict_json.read(path, limit=foreign.MAX_BYTES)
        return _foreign(content, value, path.name)
    raise UsageFault(f"{path} is neither a run folder nor a report.json")


def _folder(path: Path) -> Recorded:
    manifest, manifest_sha256 = _verified(path)
    _, report = strict_json.read(path / "report.json", limit=MAX_DOCUMENT)
    schema = report.get("schema")
    if schema == REPLAY:
        return _replayed(path, report)
    if schema != PRECISION:
        raise UsageFault(
            f"{path.name} holds {schema!r:.60}, which cannot be replayed: only a run of the "
            "precision lab can, a replay of one, or a foreign report of schema 1"
        )
    documents = {
        name: strict_json.read(path / f"{name}.json", limit=MAX_DOCUMENT)[1]
        for name in ("config", "environment")
    }
    request, environment = _mapping(report.get("request")), documents["environment"]
    options = _mapping(documents["config"].get("options"))
    wanted = ("batch", "features", "outputs", "seed", "outlier_feature", "outlier_factor")
    given = {key: request.get(key, options.get(key)) for key in wanted}
    results = _mapping(report.get("results"))
    return Recorded(
        kind="record",
        name=path.name,
        sha256=manifest_sha256,
        recorded_at=environment.get("recorded_at"),
        options=_checked({key: value for key, value in given.items() if value is not None}, path),
        setting={key: at(environment, place) for key, place in SETTING.items()},
        results={name: _result(_mapping(each)) for name, each in results.items()},
        arrays={
            name: array
            for name, each in results.items()
            if (array := _array(path, manifest, at(_mapping(each), "output/file"))) is not None
        },
        lab_changes=_changes(manifest),
    )


def _replayed(path: Path, report: Mapping[str, Any]) -> Recorded:
    """What a replay replayed: the foreign file that it kept, or the record beside it."""
    if (path / FOREIGN).is_file():
        content, value = strict_json.read(path / FOREIGN, limit=foreign.MAX_BYTES)
        return _foreign(content, value, str(at(report, "replayed/name")))
    name, sha256 = str(at(report, "replayed/name")), at(report, "replayed/sha256")
    beside = path.parent / name
    if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._-]*", name) or not beside.is_dir():
        raise UsageFault(f"{path.name} replayed {name!r:.60}, which is not beside it any more")
    found = _folder(beside)
    if found.sha256 != sha256:
        raise NotEvidence(f"{name} is no longer what {path.name} replayed; replay {name} itself")
    return found


def _foreign(content: bytes, value: Mapping[str, Any], name: str) -> Recorded:
    report = foreign.read(value, name)
    return Recorded(
        kind="foreign",
        name=name,
        sha256=hashlib.sha256(content).hexdigest(),
        recorded_at=str(report.facts["executed_at"]),
        options={
            "batch": report.batch,
            "features": report.features,
            "outputs": report.outputs,
        },
        setting={
            key: report.facts.get(FOREIGN_SETTING[key]) if key in FOREIGN_SETTING else None
            for key in SETTING
        },
        results={
            each: {
                "input_sha256": result["input_sha256"],
                "stored_bytes": result["stored_operand_bytes"],
                "output_dtype": result["output_dtype"],
                "relative_l2_error": result["relative_l2_error"],
                "max_abs_error": result["max_absolute_error"],
                "median_s": result["median_ms"] / 1e3,
                **{
                    f"{ours}_bytes": result["compiler_memory_estimate"][theirs]
                    for ours, theirs in foreign.MEMORY.items()
                },
            }
            for each, result in report.results.items()
        },
        arrays={},
        lab_changes=(),
        content=content,
    )


def _result(found: Mapping[str, Any]) -> dict[str, Any]:
    """One recorded result, field by field; a field that is missing or of another type is None."""
    return {
        "input_sha256": _text(at(found, "input_sha256")),
        "stored_bytes": _count(at(found, "stored_bytes/total")),
        "scale_bytes": _count(at(found, "stored_bytes/scales")),
        "max_abs_accumulator": _count(at(found, "quantization/max_abs_accumulator")),
        "output_dtype": _text(at(found, "output/dtype")),
        "relative_l2_error": _number(at(found, "relative_l2_error")),
        "max_abs_error": _number(at(found, "max_abs_error")),
        "sqnr_db": _number(at(found, "sqnr_db")),
        "stablehlo_sha256": _text(at(found, "program/stablehlo_sha256")),
        "hlo_sha256": _text(at(found, "program/hlo_sha256")),
        "median_s": _number(at(found, "timing_s/median")),
        **{
            f"{key}_bytes": _count(at(found, f"compiler_memory_bytes/{key}"))
            for key in ("argument", "output", "temporary", "alias", "generated_code", "peak")
        },
    }


def _checked(options: dict[str, Any], path: Path) -> dict[str, Any]:
    """Options of a request that can be run, or a refusal that names each that cannot."""
    faults = [
        f"  {key}: {options.get(key)!r:.60}, expected a whole number from 1 to 2048"
        for key in ("batch", "features", "outputs")
        if type(options.get(key)) is not int or not 1 <= options[key] <= foreign.MAX_DIMENSION
    ]
    for key in ("seed", "outlier_feature"):
        if key in options and (type(options[key]) is not int or options[key] < 0):
            faults.append(f"  {key}: {options[key]!r:.60}, expected a whole number")
    if "outlier_factor" in options and _number(options["outlier_factor"]) is None:
        faults.append(f"  outlier_factor: {options['outlier_factor']!r:.60}, expected a number")
    feature = options.get("outlier_feature", 0)
    if not faults and feature >= options["features"]:
        faults.append(f"  outlier_feature: {feature}, expected one of the features")
    if faults:
        raise NotEvidence("\n".join([f"{path.name} asks for what no lab can run:", *faults]))
    return options


def _verified(path: Path) -> tuple[dict[str, str], str]:
    """The manifest, once every file that it lists is as recorded; and its own SHA-256."""
    try:
        content = (path / MANIFEST).read_bytes()
    except OSError:
        raise UsageFault(f"{path} is no run folder: it has no {MANIFEST}") from None
    lines = content.decode("utf-8", "replace").splitlines()
    found = [LINE.fullmatch(line) for line in lines]
    faults = [f"  {MANIFEST}:{n}: not a hash and a path" for n, m in enumerate(found, 1) if not m]
    if len(lines) > MAX_FILES:
        faults.append(f"  {MANIFEST}: more than {MAX_FILES:,} files")
    manifest = {match[2]: match[1] for match in found if match}
    for name, recorded in manifest.items():
        if faults and len(lines) > MAX_FILES:
            break
        file = path / name
        if ".." in name.split("/") or file.is_symlink() or not file.is_file():
            faults.append(f"  {name}: missing")
        elif _digest(file) != recorded:
            faults.append(f"  {name}: changed since it was recorded")
    faults += [
        f"  {name}: not in the manifest" for name in ("report.json",) if name not in manifest
    ]
    if faults:
        raise NotEvidence("\n".join([f"{path.name} is not what was recorded:", *faults]))
    return manifest, hashlib.sha256(content).hexdigest()


def _digest(file: Path) -> str:
    with file.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def _changes(manifest: Mapping[str, str]) -> list[str]:
    """Modules of the lab that made a run and are not the same, or not there, today."""
    return [
        name.removeprefix(SOURCES)
        for name, recorded in manifest.items()
        if name.startswith(SOURCES)
        and not (
            (today := LAB / name.removeprefix(SOURCES)).is_file() and _digest(today) == recorded
        )
    ]


def _array(path: Path, manifest: Mapping[str, str], name: object) -> NDArray[np.float32] | None:
    """A kept output, or None when there is none; one that is no float32 array is refused."""
    if not isinstance(name, str) or name not in manifest:
        return None
    file = path / name
    if file.stat().st_size > MAX_OUTPUT:
        return None
    try:
        array = np.load(io.BytesIO(file.read_bytes()), allow_pickle=False)
    except (ValueError, EOFError, OSError, MemoryError) as problem:
        raise NotEvidence(f"{path.name}/{name} is no array: {problem}") from None
    if not isinstance(array, np.ndarray) or array.dtype != np.float32:
        raise NotEvidence(f"{path.name}/{name} holds no float32 array")
    return array


def at(value: object, place: str) -> Any:
    """What stands at a place such as a/b, or None."""
    for key in place.split("/"):
        value = value.get(key) if isinstance(value, dict) else None
    return value


def _mapping(value: object) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _text(value: object) -> str | None:
    return value if isinstance(value, str) else None


def _count(value: object) -> int | None:
    return value if type(value) is int and value >= 0 else None


def _number(value: object) -> float | None:
    found = isinstance(value, int | float) and not isinstance(value, bool)
    return float(value) if found else None  # type: ignore[arg-type]
