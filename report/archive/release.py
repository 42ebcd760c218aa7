"""A release: one report's whole world in a folder that can be signed, checked and built again.

    <report>-<number>/
      index.html reports/ records/ …  the pages that the report needs, and its records' files
      data/                           study, chips, formats and models, as values by pointer
      source/                         all it takes to build the same again
      claims.json release.json        what the pages print, and what is claimed; its JSON schema
      ro-crate-metadata.json          the same facts for catalogues
      verify.py VERIFY.txt            a copy of the verifier, and how to check without it
      MANIFEST.sha256                 every file above
      signatures/                     all that signing adds

The number and the date come from the report. Beside the folder lie the same files as a stored
zip and, for a small report, its text and figures as one page, a copy for convenience.
"""

import json
import os
import re
import shutil
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from decimal import Decimal
from hashlib import sha256
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from shlex import quote
from typing import Any

from report.archive import how_to_verify, manifest, rocrate
from report.archive.bundle import check_names, pack
from report.archive.verify import (
    MANIFEST,
    MAX_FILE,
    MAX_FILES,
    MAX_JSON,
    MAX_SUM,
    PARSED,
    Release,
    Unchecked,
    parse_json,
    printable,
)
from report.archive.verify import folder as contents
from report.content import Content, DecisionReport
from report.errors import ContentFault, Fault, SealBroken, UsageFault, did_you_mean, raise_if_any
from report.evidence import Evidence
from report.folder import Copied, exchange, put
from report.numbers.study import Study
from report.numbers.values import Value, Values

SIGNATURES = "signatures"
STATED = ("study", "chips", "formats", "models")
"""The families of pointers that data/ holds; a record's own documents are in records/."""

SHOUTED = frozenset({MANIFEST, "VERIFY.txt", "LICENSE", "Makefile", "README.md"})
"""File names with capitals, which a release may hold besides [a-z0-9._-]."""

_PINNED = re.compile(r"^([A-Za-z0-9_.-]+)==", re.MULTILINE)
_LOOKED_UP = re.compile(
    r"(claims|release|data/\w+|records/[^/]+/(report|environment|config|trace/summary))\.json"
)
"""Where a verifier looks for what is claimed."""
_SCHEMA = Path(__file__).with_name("release.schema.json")
_VERIFIER = Path(__file__).with_name("verify.py")


@dataclass(frozen=True, slots=True, kw_only=True)
class Edition:
    """What is released: a report, the records it rests on, and nothing else."""

    report: DecisionReport
    content: Content
    """The report alone, with the sheets that any report may cite."""
    records: tuple[str, ...]

    @property
    def name(self) -> str:
        return f"{self.report.slug}-{self.report.number}"

    @property
    def date(self) -> str:
        return self.report.date.isoformat()

    @property
    def missing(self) -> tuple[str, ...]:
        """Facts that nobody recorded; with any, it is a draft."""
        return self.report.missing


def choose(content: Content, report: str, records: Iterable[str]) -> Edition:
    """The edition of `report`, with those of `records` that it names anywhere."""
    found = content.reports.get(report)
    if found is None:
        summary = f"There is no report {report!r}."
        raise UsageFault(summary, hint=did_you_mean(report, content.reports))
    if not re.fullmatch(r"[a-z0-9][a-z0-9-]*", report):
        raise ContentFault(f"{found.path} cannot name a release.", hint="Use a-z, 0-9, hyphens.")
    texts = [found.record, found.target.metric, found.target.statement, found.decision.statement]
    texts += [text for facts in found.parts.values() for text in facts.values() if text]
    texts += [found.baseline.record] if found.baseline else []
    words = set(re.findall(r"[a-z0-9-]+", " ".join([*texts, *found.decision.until])))
    return Edition(
        report=found,
        content=replace(content, lessons=(), decisions=(), reports={found.slug: found}),
        records=tuple(name for name in records if name in words),
    )


def summary(folder: Path, edition: Edition) -> str:
    """What was made, and what comes next."""
    if edition.missing:
        rest = f"A draft is not signed. Not recorded: {', '.join(edition.missing)}."
    else:
        rest = f"Next: python build.py sign {quote(str(folder))} --key FILE --principal NAME"
    return f"{folder}: {edition.report.status}. {rest}"


def assemble(  # noqa: PLR0917 (one argument for each room before this one)
    edition: Edition,
    pages: Mapping[str, bytes | Copied],
    study: Study,
    evidence: Mapping[str, Evidence],
    sources: Mapping[str, Path],
    known: Mapping[str, Any] | None = None,
) -> dict[str, bytes]:
    """Every file of the release by path, its manifest included.

    `sources` are by path under source/; `known` is the newest status list when it is made.
    """
    files = {
        path: data if isinstance(data, bytes) else data.read_bytes() for path, data in pages.items()
    }
    for family in STATED:
        files[f"data/{family}.json"] = values_json(study.values, family)
    files |= {f"source/{path}": place.read_bytes() for path, place in sources.items()}
    told = describe(edition, study, evidence, files)
    if known:
        told["status_list"] = {"number": known["number"], "date": known["date"]}
    files["release.json"] = as_json(told)
    files["release.schema.json"] = _SCHEMA.read_bytes()
    files["verify.py"] = _VERIFIER.read_bytes()
    files["VERIFY.txt"] = how_to_verify.text(told).encode()
    files["ro-crate-metadata.json"] = as_json(rocrate.describe(told, files))
    files[MANIFEST] = manifest.manifest(files)
    check_names((f"{edition.name}/{path}" for path in files), also=SHOUTED)
    check_sizes({path: len(data) for path, data in files.items()})
    return files


def check_sizes(files: Mapping[str, int]) -> None:
    """Refuse what a verifier would not read: it takes no file, and no sum, beyond its bounds."""
    limits = {path: MAX_JSON if _LOOKED_UP.fullmatch(path) else MAX_FILE for path in files}
    faults = [
        Fault(where=path, found=f"{size:,} bytes", expected=f"at most {limits[path]:,}")
        for path, size in files.items()
        if size > limits[path]
    ]
    looked_up = sum(size for path, size in files.items() if limits[path] == MAX_JSON)
    for found, most, what in (
        (len(files), MAX_FILES // 2, "files"),
        (sum(files.values()), MAX_SUM // 4, "bytes"),
        (looked_up, MAX_SUM // 2 // PARSED, "bytes of JSON to look up in"),
    ):
        if found > most:
            faults.append(Fault(where="in all", found=f"{found:,} {what}", expected=f"{most:,}"))
    hint = "Record less: leave the profile out, or keep it elsewhere and name its hash."
    raise_if_any(ContentFault, "A verifier would not read this release:", faults, hint)


def values_json(values: Values, family: str) -> bytes:
    """Every value of one family by its path: exactly what a number format takes, and its origin."""
    stated = {
        pointer.partition("#")[2]: _entry(value)
        for pointer, value in values.items()
        if pointer.startswith(f"{family}#")
    }
    return as_json({"schema": "assay/values/1", "document": family, "values": stated})


def _entry(value: Value) -> dict[str, object]:
    """A quantity as its amount and unit, exact; a number that browsers cannot hold as a text."""
    number: dict[str, object] = {"number": value.number, "unit": value.unit}
    if value.quantity is not None:
        number = {"exact": f"{value.quantity.amount:f}", "unit": str(value.quantity.unit)}
        number |= {"per": value.quantity.scope} if value.quantity.scope else {}
    elif isinstance(value.number, Decimal) or _beyond_browsers(value.number):
        number["exact"] = str(number.pop("number"))
    more = {"reason": value.reason, "formula": value.formula}
    entry = number | {"kind": value.kind} | {name: text for name, text in more.items() if text}
    return entry | ({"inputs": list(value.inputs)} if value.inputs else {})


def _beyond_browsers(number: object) -> bool:
    return isinstance(number, int) and abs(number) > 2**53 - 1


def describe(
    edition: Edition,
    study: Study,
    evidence: Mapping[str, Evidence],
    files: Mapping[str, bytes],
) -> dict[str, Any]:
    """release.json: what is claimed, on what, by which builder. What is absent is not claimed."""
    report = edition.report
    run = study.runs[report.record]
    metric = study.values.lookup(report.target.metric)
    measured = metric.measure
    met = report.target.met_by(measured)
    superseded, baseline = report.supersedes, report.baseline
    return {
        "schema": "assay/release/1",
        "release": edition.name,
        "report": report.slug,
        "number": report.number,
        "title": report.title,
        "date": report.date.isoformat(),
        "date_is": "declared by the author",
        "license": report.license,
        "status": report.status,
        "missing": list(report.missing),
        "supersedes": superseded
        and {"release": superseded.release, "manifest": superseded.manifest},
        "status_list": None,
        "result": "PASSED" if met else "FAILED",
        "decision": report.decision.outcome,
        "baseline": baseline and {"record": baseline.record, "factor": baseline.factor},
        "claims": [
            {
                "metric": report.target.metric,
                "comparator": report.target.comparator,
                "threshold": report.target.threshold,
                "measured": measured,
                "unit": metric.unit,
                "kind": metric.kind,
                "passed": met,
            }
        ],
        "assurance": "self_attested",
        "scope": {"platform": run.scope.platform, "statement": run.scope.statement},
        "records": {
            name: {"manifest": proof.record.manifest_sha256, "level": proof.level}
            for name, proof in evidence.items()
        },
        "builder": builder(files),
    }


def builder(files: Mapping[str, bytes]) -> dict[str, Any]:
    """The code and libraries that a rebuild must have for the same bytes."""
    lock = files["source/base.lock"].decode()
    return {
        "name": "Assay",
        "python": f"{sys.version_info[0]}.{sys.version_info[1]}",
        "libraries": {name: installed(name) for name in sorted(set(_PINNED.findall(lock)))},
        "lock": sha256(files["source/base.lock"]).hexdigest(),
    }


def installed(library: str) -> str | None:
    """The version that is here, or nothing."""
    try:
        return version(library)
    except PackageNotFoundError:
        return None


def as_json(value: object) -> bytes:
    return (json.dumps(value, ensure_ascii=False, indent=1) + "\n").encode()


# On disk ---------------------------------------------------------------------------------


def write(files: Mapping[str, bytes], name: str, out: Path) -> Path:
    """Put a release at `out/name`, whole or not at all, with its zip; return the folder.

    A signed release, and a folder that holds anything else, stay as they are.
    """
    folder = out / name
    if signed := _signed(folder):
        if signed.manifest == files[MANIFEST]:
            return folder
        raise _stays(folder)
    out.mkdir(parents=True, exist_ok=True)
    part = out / f".{name}.part"
    shutil.rmtree(part, ignore_errors=True)
    try:
        for path, data in files.items():
            (part / path).parent.mkdir(parents=True, exist_ok=True)
            (part / path).write_bytes(data)
        for place in (part, *part.rglob("*")):  # whatever the umask
            place.chmod(0o755 if place.is_dir() else 0o644)
        if not (folder.exists() and exchange(part, folder)):
            if folder.exists():
                shutil.rmtree(folder)
            part.rename(folder)
    finally:
        shutil.rmtree(part, ignore_errors=True)
    write_zip(folder)
    return folder


def check_place(
    folder: Path, sources: Mapping[str, Path], evidence: Mapping[str, Evidence]
) -> None:
    """Before anything is built, refuse what cannot come out as the signed release in `folder`."""
    if signed := _signed(folder):
        now = {
            f"source/{path}": sha256(place.read_bytes()).hexdigest()
            for path, place in sources.items()
        }
        now |= {
            f"records/{name}/{manifest.NAME}": proof.record.manifest_sha256
            for name, proof in evidence.items()
        }
        then = {
            path: digest
            for path, digest in signed.listed.items()
            if path.startswith("source/") or re.fullmatch(f"records/[^/]+/{manifest.NAME}", path)
        }
        if now != then:
            raise _stays(folder)


def _signed(folder: Path) -> Release | None:
    """The release in `folder`, when there is one with a signature."""
    present = opened(folder) if os.path.lexists(folder) else Release()
    signed = any(path.startswith(f"{SIGNATURES}/") for path in present.files)
    return present if signed else None


def _stays(folder: Path) -> UsageFault:
    return UsageFault(
        f"{folder} is signed, and stays as it is.",
        hint="Give the report the next number, or move the folder away.",
    )


def opened(folder: Path) -> Release:
    """The release in `folder`, each file as its list says, or `SealBroken` with every fault."""
    if not folder.is_dir():
        raise UsageFault(f"{folder} is no folder.", hint="Name the folder of a release, unpacked.")
    release = Release()
    try:
        release.open(contents(os.fspath(folder)))
    except (Unchecked, OSError, RecursionError) as trouble:
        raise SealBroken(f"{folder} cannot be used as a release: {trouble}") from None
    faults = [
        Fault(where=f"{folder}/{printable(name)}", found=what)
        for name, what in sorted(release.faults)
    ]
    hint = "Restore what changed and take out what was added, or move the folder away."
    raise_if_any(SealBroken, f"{folder} is not what its list says:", faults, hint)
    release.left = 4 * MAX_SUM  # all was in bounds, and may be read again
    return release


def about(release: Release) -> dict[str, Any]:
    """What release.json says, or `SealBroken` when it does not say what every release does."""
    try:
        told = parse_json(release.read("release.json"))
        named = re.fullmatch(r"[a-z0-9-]+-[0-9]+", told["release"])
        if not named or not re.fullmatch(r"[a-z0-9][a-z0-9-]*", told["report"]):
            raise ValueError("its name is no name of a release")
        known = {"status": told["status"], "records": dict(told["records"])}
        return {**told, **known, "missing": list(told["missing"])}
    except (ValueError, KeyError, TypeError) as error:
        raise SealBroken(f"release.json is not that of a release: {error}") from None


def beside(folder: Path, end: str) -> Path:
    """What lies beside the folder of a release and is called after it; `.` has a name, too."""
    whole = folder.resolve() if folder.name in {"", ".."} else folder
    return whole.with_name(f"{whole.name}{end}")


def write_zip(folder: Path) -> Path:
    """The folder as a stored zip beside it: fixed order, dates and modes."""
    release, target = opened(folder), beside(folder, ".zip")
    files = {f"{target.stem}/{path}": release.read(path) for path in release.files}
    put(target, pack(files, also=SHOUTED))
    return target
