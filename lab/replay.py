"""Replay: numbers that somebody recorded, worked out again here and compared field by field.

It takes a run of the precision lab, from whatever platform, or a report that others published
(schema 1). Inputs are regenerated from the recorded options, the products run again, and each
field earns a verdict. Nothing is timed: times of two machines are never compared.
"""

import argparse
import json
import sys
import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lab import pinned_repeats
from lab.kit import backend, command, environment, recorded, repeats, verdicts
from lab.kit.accuracy import compare, reference_product
from lab.kit.command import parser_of
from lab.kit.faults import LabFault, UsageFault
from lab.kit.precision_product import (
    CASES,
    MAX_PRODUCT,
    POLICIES,
    Inputs,
    Operands,
    Problem,
    Program,
    compile_product,
    make_inputs,
    prepare,
)
from lab.kit.recorded import Recorded
from lab.kit.redaction import Redactor
from lab.kit.run_folder import RunFolder
from lab.kit.scope import scope_of
from lab.kit.strict_json import NotEvidence
from lab.kit.verdicts import Field

LAB, SCHEMA = "replay", recorded.REPLAY
DIFFERS = 5
"""Exit code when a field lies beyond its tolerance."""

ALIKE = ("platform", "device_kind", "machine", "cpu", "instruction_sets", "jax", "jaxlib", "numpy")
"""Facts that have to be known and equal before two runs are expected to give the same bits."""

EXAMPLE = """\
examples:
  python -m lab.replay lab/records/precision-cpu --run-dir runs/replay-1
  python -m lab.replay published/report.json --run-dir runs/replay-2 --origin https://example.org
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What a replay was asked for."""

    path: Path
    platform: str
    origin: str | None
    published_sha256: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Product:
    """One product of the request, run again here."""

    operands: Operands
    program: Program
    output: NDArray[np.float32]
    reference: NDArray[np.float64]

    @property
    def exact(self) -> NDArray[np.float64]:
        """The product of the stored operands in FP64: the output if nothing rounded after them."""
        x, w = (values.astype(np.float64) for values in self.operands.values)
        if self.operands.scales:
            x_scales, w_scales = (scales.astype(np.float64) for scales in self.operands.scales)
            x, w = x * x_scales, w * w_scales
        found: NDArray[np.float64] = x @ w
        return found


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the lab from a command line and return its exit code."""
    asked, path, as_json = parse(arguments)
    try:
        found = recorded.load(asked.path)
        problem = problem_of(found)
        folder = RunFolder.create(path, Redactor.of_this_machine())
    except LabFault as fault:
        print(f"refused: {fault}", file=sys.stderr)
        return fault.exit_code
    print(f"{LAB}: writing {path}", file=sys.stderr)
    try:
        report = replay(asked, found, problem, folder)
    except BaseException as problem:  # every end leaves a folder that says how it came about
        return folder.fail(problem)
    if as_json:
        print(json.dumps(report, ensure_ascii=False, sort_keys=True, indent=1))
    else:
        print_report(report)
    return DIFFERS if report["counts"]["differs"] else 0


def problem_of(found: Recorded) -> Problem:
    """The product that was recorded; with this lab's own seed where none was told."""
    options = dict(found.options)
    product = options["batch"] * options["features"] * options["outputs"]
    if product > MAX_PRODUCT:
        raise UsageFault(f"{found.name} has {product:,} multiply positions, over {MAX_PRODUCT:,}")
    known = [name for name in found.results if name in names()]
    if not known:
        raise NotEvidence(f"{found.name} holds none of the results {', '.join(names())}")
    return Problem(**options)


def names() -> list[str]:
    return [f"{case}-{policy}" for case in CASES for policy in POLICIES]


def replay(asked: Asked, found: Recorded, problem: Problem, folder: RunFolder) -> dict[str, Any]:
    """Make the whole run in `folder` and return its report."""
    flags, load_before = environment.flags(), environment.load_average()
    options = {
        "record": found.name,
        "platform": asked.platform,
        "origin": asked.origin,
        "published_sha256": asked.published_sha256,
    }
    folder.write_json(
        "config.json",
        {"schema": "assay/config/1", "lab": LAB, "options": options, "seed": problem.seed},
    )
    folder.copy_sources(Path(__file__))
    if found.content:
        folder.write(recorded.FOREIGN, found.content)
    with folder.stage(f"start {asked.platform}"):
        device = backend.start(asked.platform)

    def describe() -> dict[str, object]:
        return environment.describe(
            requested=asked.platform,
            device=device,
            flags_outside=flags,
            load_before=load_before,
        )

    now = describe()
    here = {key: recorded.at(now, place) for key, place in recorded.SETTING.items()}
    with folder.stage("make inputs and their FP64 reference"):
        inputs = make_inputs(problem)
    products: dict[str, Product] = {}
    fields: dict[str, dict[str, Field]] = {}
    for name in (name for name in names() if name in found.results):
        case, policy = name.split("-")
        with folder.stage(f"replay {name}"):
            products[name] = execute(name, inputs[case], policy, device)
            fields[name] = compare_fields(
                name, found, products[name], inputs=inputs[case], here=here, folder=folder
            )
    with folder.stage(f"repeat each program {repeats.REPEATS} times"):
        free = {name: repeats.repeat(each.program.run) for name, each in products.items()}
    with folder.stage("repeat them on one core"):
        pinned, reason = repeats.ask_pinned(
            pinned_repeats.__name__, asdict(problem), asked.platform
        )
    with folder.stage("write the report"):
        report = {
            "schema": SCHEMA,
            "lab": LAB,
            "scope": scope_of(device),
            "request": {"platform": asked.platform, **asdict(problem)},
            "replayed": describe_replayed(found, asked),
            "setting": {
                key: compare_facts(found.setting[key], here[key]).as_json()
                for key in recorded.SETTING
            },
            "fields": {
                name: {key: field.as_json() for key, field in group.items()}
                for name, group in fields.items()
            },
            "counts": verdicts.count(fields),
            "accumulation": {name: split(each, found, name) for name, each in products.items()},
            "determinism": {
                name: {
                    "free": each.as_json(),
                    "pinned": pinned["programs"][name] if pinned else None,
                    "pinned_reason": reason,
                }
                for name, each in free.items()
            },
            "pinned_core": pinned["core"] if pinned else None,
            "pinned_core_reason": reason,
        }
        folder.write_json("report.json", report)
        described = folder.redactor.mapping(describe(), "environment.json")
        folder.write_json("environment.json", described | {"redacted": folder.redactor.done})
        folder.seal()
    return report


def execute(name: str, inputs: Inputs, policy: str, device: Any) -> Product:
    """Run one product once, as the precision lab does."""
    operands = prepare(inputs, policy)
    program = compile_product(name, operands, device)
    return Product(
        operands=operands,
        program=program,
        output=np.asarray(program.run()),
        reference=reference_product(inputs.x, inputs.w),
    )


def compare_fields(
    name: str,
    found: Recorded,
    product: Product,
    *,
    inputs: Inputs,
    here: Mapping[str, Any],
    folder: RunFolder,
) -> dict[str, Field]:
    """A verdict for every field of one result. Its programs and its output go to `folder`."""
    was, policy = found.results[name], name.split("-")[1]
    accuracy, operands = compare(product.output, product.reference), product.operands
    folder.write_array(f"outputs/{name}.npy", product.output)
    programs = {
        f"{kind}_sha256": folder.write_program(f"programs/{name}.{kind}.txt", text)
        for kind, text in (
            ("stablehlo", product.program.stablehlo),
            ("hlo", product.program.hlo),
        )
    }
    quantization = operands.quantization or {}
    equal = {
        "input_sha256": inputs.sha256,
        "stored_bytes": operands.stored_bytes["total"],
        "scale_bytes": operands.stored_bytes["scales"],
        "max_abs_accumulator": quantization.get("max_abs_accumulator"),
        "output_dtype": str(product.output.dtype),
    }
    fields = {key: verdicts.same(was.get(key), value) for key, value in equal.items()}
    if policy != "int8":
        del fields["max_abs_accumulator"]

    alike = is_alike(found, here)
    allowed = verdicts.tolerance(
        policy, inputs.x.shape[1], float(np.max(np.abs(product.reference)))
    )
    readings = {
        "relative_l2_error": (accuracy.relative_l2_error, allowed.relative_l2),
        "max_abs_error": (accuracy.max_abs_error, allowed.element),
        "sqnr_db": (
            accuracy.sqnr_db,
            allowed.sqnr_db(accuracy.relative_l2_error) if accuracy.relative_l2_error else 0.0,
        ),
    }
    for key, (value, limit) in readings.items():
        fields[key] = verdicts.near(was.get(key), value, limit, allowed.reason, alike=alike)
    fields["output"] = compare_output(name, found, product, allowed, alike)
    if fields["input_sha256"].verdict == "differs":
        for key in (*readings, "output", "max_abs_accumulator"):
            if key in fields:
                each = fields[key]
                fields[key] = verdicts.not_comparable(
                    each.recorded, each.here, "the inputs are not the same"
                )

    for key, text in programs.items():
        fields[key] = verdicts.same(was.get(key), text, unless=other_program(key, found, here))
    for kind, size in product.program.memory_bytes.items():
        fields[f"{kind}_bytes"] = verdicts.same(
            was.get(f"{kind}_bytes"), size, unless=other_program("hlo_sha256", found, here)
        )
    fields["median_s"] = verdicts.not_comparable(
        was.get("median_s"), None, "a replay is not timed: times of two runs are never compared"
    )
    return fields


def compare_output(
    name: str, found: Recorded, product: Product, allowed: verdicts.Tolerance, alike: bool
) -> Field:
    """Every element of the output, where the record kept it."""
    here = repeats.digest(product.output)
    if name not in found.arrays:
        return verdicts.not_comparable(None, here, "no output was kept with it")
    return verdicts.outputs(
        found.arrays[name],
        product.output,
        allowed.element,
        allowed.reason,
        digests=(repeats.digest(found.arrays[name]), here),
        alike=alike,
    )


def is_alike(found: Recorded, here: Mapping[str, Any]) -> bool:
    """Whether machine and versions are known, and the same."""
    return all(found.setting[key] is not None and found.setting[key] == here[key] for key in ALIKE)


def other_program(key: str, found: Recorded, here: Mapping[str, Any]) -> str:
    """Why a compiled program may be another one; nothing when it has to be the same."""
    if found.kind == "foreign":
        return "another lab's program, whose source is not held"
    if found.lab_changes:
        return f"the lab has changed: {', '.join(found.lab_changes)}"
    if found.setting["jax"] != here["jax"]:
        return f"JAX {found.setting['jax']} wrote it, here {here['jax']}"
    if key == "hlo_sha256" and not is_alike(found, here):
        return "compiled on another machine, or with other versions"
    return ""


def compare_facts(was: Any, now: Any) -> Field:
    """A fact of the machine. One that is not the same is no fault of the numbers."""
    return verdicts.same(was, now, unless="a fact of its machine, not a result")


def split(product: Product, found: Recorded, name: str) -> dict[str, Any]:
    """Where the error comes from, relative to ‖Y‖: rounding the operands, then adding up.

    The recorded run's part is known from its output. Without one only a bound is: the total and
    the representation error are two sides of a triangle, and their difference the least that the
    third can be.
    """
    norm = float(np.linalg.norm(product.reference))
    exact = product.exact

    def relative(difference: NDArray[np.float64]) -> float | None:
        return float(np.linalg.norm(difference)) / norm if norm else None

    representation = relative(exact - product.reference)
    kept, total = found.arrays.get(name), found.results[name].get("relative_l2_error")
    same_inputs = kept is not None and kept.shape == exact.shape
    known = relative(kept.astype(np.float64) - exact) if kept is not None and same_inputs else None
    at_least = (
        abs(total - representation) if total is not None and representation is not None else None
    )
    undefined = "the reference norm is zero"
    return {
        "representation": representation,
        "representation_reason": undefined if representation is None else "",
        "here": relative(product.output.astype(np.float64) - exact),
        "here_reason": undefined if norm == 0 else "",
        "recorded": known,
        "recorded_reason": "" if known is not None else "no output was kept with it",
        "recorded_at_least": at_least,
        "recorded_at_least_reason": "" if at_least is not None else "no relative error is given",
    }


def describe_replayed(found: Recorded, asked: Asked) -> dict[str, Any]:
    """What was replayed, and how far its source is known."""
    foreign = found.kind == "foreign"
    published = asked.published_sha256
    return {
        "kind": found.kind,
        "name": found.name,
        "sha256": found.sha256,
        "file": recorded.FOREIGN if foreign else None,
        "file_reason": "" if foreign else "the record itself is not copied; its manifest is named",
        "recorded_at": found.recorded_at,
        "recorded_at_reason": "" if found.recorded_at else "not recorded",
        "source_held": not foreign,
        "seed_recorded": "seed" in found.options,
        "lab_changes": list(found.lab_changes),
        "origin": asked.origin,
        "origin_reason": "" if asked.origin else "not told",
        "published_sha256": published,
        "published_sha256_reason": "" if published else "not told",
        "results_missing": [name for name in names() if name not in found.results],
    }


def print_report(report: Mapping[str, Any]) -> None:
    """The verdict of every field, result by result, on standard output."""
    replayed = report["replayed"]
    print(f"{replayed['name']}, sha256 {replayed['sha256']}")
    if not replayed["source_held"]:
        print("Foreign evidence: measured by others, with a lab whose source is not held.")
    if replayed["lab_changes"]:
        print(f"Lab modules changed since: {', '.join(replayed['lab_changes'])}")
    reasons: list[str] = []
    for name, group in {"machine": report["setting"], **report["fields"]}.items():
        print(f"\n{name:<24}{'recorded':<26}{'here':<26}verdict")
        for key, field in group.items():
            if field["recorded"] is not None:
                told = f"  {key:<22}{shown(field['recorded']):<26}{shown(field['here']):<26}"
                print(f"{told}{said(field, reasons)}")
        if absent := [key for key, field in group.items() if field["recorded"] is None]:
            print(
                textwrap.fill(f"  not recorded: {', '.join(absent)}", 100, subsequent_indent="    ")
            )
    print(f"\n{'distinct outputs':<24}{f'of {repeats.REPEATS} runs':<26}on one core")
    for name, each in report["determinism"].items():
        pinned = each["pinned"]["distinct"] if each["pinned"] else each["pinned_reason"]
        print(f"  {name:<22}{each['free']['distinct']:<26}{pinned}")
    print()
    for number, reason in enumerate(reasons, start=1):
        print(f"[{number}] {reason}")
    print(f"\n{summary(report['counts'])}")


def summary(counts: Mapping[str, int]) -> str:
    """How many fields earned each verdict, worst last."""
    return ", ".join(
        f"{number} {'within a few ulp' if word == 'ulp' else word}"
        for word, number in counts.items()
        if number
    )


def shown(value: object) -> str:
    """A value in full, except for digests and lists, which are long."""
    if value is None:
        return "-"
    if isinstance(value, list):
        return f"{len(value)} items"
    text = repr(value) if isinstance(value, float) else str(value)
    return text if len(text) <= 24 else f"{text[:21]}..."


def said(field: Mapping[str, Any], reasons: list[str]) -> str:
    """The verdict, with a mark for what it rests on, which is added to `reasons`."""
    verdict = f"{field['ulp']} ulp" if field["verdict"] == "ulp" else str(field["verdict"])
    if "tolerance" in field:
        verdict += f", {field['difference']:.3g} apart of {field['tolerance']:.3g} allowed"
    if not field["why"]:
        return verdict
    if field["why"] not in reasons:
        reasons.append(field["why"])
    return f"{verdict} [{reasons.index(field['why']) + 1}]"


def parse(arguments: Sequence[str] | None) -> tuple[Asked, Path, bool]:
    """Read the command line; what cannot be understood exits with code 2."""
    parser = parser_of(LAB, "Work out a run of the precision lab again, field by field.", EXAMPLE)
    parser.add_argument(
        "record", type=Path, metavar="RECORD", help="a run folder, or a report.json of schema 1"
    )
    parser.add_argument(
        "--platform",
        choices=backend.PLATFORMS,
        default="cpu",
        help="where to run it again; if it is missing the replay fails (default: cpu)",
    )
    parser.add_argument(
        "--run-dir",
        type=Path,
        default=Path("runs/replay"),
        metavar="DIR",
        help="new folder for the replay (default: runs/replay)",
    )
    parser.add_argument(
        "--origin", type=line, metavar="ADDRESS", help="where a foreign report was published"
    )
    parser.add_argument(
        "--published-sha256",
        type=digest,
        metavar="HEX",
        help="the SHA-256 its publisher gives for that file",
    )
    parser.add_argument("--json", action="store_true", help="print the report as JSON")
    options = vars(parser.parse_args(arguments))
    asked = Asked(
        path=options["record"],
        platform=options["platform"],
        origin=options["origin"],
        published_sha256=options["published_sha256"],
    )
    return asked, options["run_dir"], options["json"]


def line(text: str) -> str:
    """An argparse type: a text on one line, not too long."""
    if not text.strip() or not text.isprintable() or len(text) > 300:
        raise argparse.ArgumentTypeError("give one line of at most 300 characters")
    return text


def digest(text: str) -> str:
    """An argparse type: a SHA-256."""
    if len(text) != 64 or set(text) - set("0123456789abcdef"):
        raise argparse.ArgumentTypeError(f"{text!r} is not 64 lower-case hexadecimal digits")
    return text


if __name__ == "__main__":
    command.run(main)
