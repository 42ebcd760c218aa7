"""The representations lab: one matrix product under many precision policies, on the same inputs.

Every policy is a file (`kit/policy_file`), every case a set of inputs (`kit/cases`). For each
pair it tells what is stored and in how many bytes, what became of the values, how far the
result lies from an FP64 product and by which part, and whether every output is within a bound
that was worked out beforehand. It measures no time.
"""

import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from lab.kit import (
    anatomy,
    backend,
    bound,
    calibration,
    cases,
    command,
    environment,
    integer_range,
    policy_file,
    products,
)
from lab.kit.accuracy import reference_product
from lab.kit.cases import Inputs
from lab.kit.command import add_place, add_shape, parser_of, refuse_large
from lab.kit.faults import CheckFailed, CompileRefused, LabFault
from lab.kit.policy_file import CannotFollow, Policy
from lab.kit.redaction import Redactor
from lab.kit.representation import Operand, Represented, represent
from lab.kit.run_folder import RunFolder
from lab.kit.scope import scope_of

if TYPE_CHECKING:
    import jax

LAB = "representations"

MAX_DIMENSION, MAX_PRODUCT, MAX_OUTPUTS = 2048, 16_777_216, 262_144
"""Largest side, multiplications and outputs of one product; there are over a hundred of them."""
KEPT_ARRAY_BYTES = 2**16
"""Inputs and outputs up to this size are kept, so that a reader can work out everything again."""
MAX_ROWS = 256
"""With at most so many rows of X, the error of each is told."""

NO_NORM = "the reference norm is zero"
HOST_ONLY = "reference arithmetic of the codes, no program ran"

EXAMPLE = """\
examples:
  python -m lab.representations --platform cpu --run-dir runs/representations-cpu
  python -m lab.representations --policies int8-row-column,my-policies/
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """What a run is asked to do. X is batch x features, W is features x outputs."""

    platform: str
    batch: int
    features: int
    outputs: int
    policies: tuple[str, ...] | None
    """Names, files and folders of policies; None for all that come with the lab."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the lab from a command line and return its exit code.

    It is 5 when an output broke its bound; the run is whole then too, and says which.
    """
    request, path = parse(arguments)
    try:
        policies = policy_file.load(request.policies or ())
        folder = RunFolder.create(path, Redactor.of_this_machine())
    except LabFault as fault:
        print(f"refused: {fault}", file=sys.stderr)
        return fault.exit_code
    print(f"{LAB}: writing {path}", file=sys.stderr)
    try:
        results = compare_all(request, policies, folder)
    except BaseException as problem:  # every end leaves a folder that says how it came about
        return folder.fail(problem)
    print_results(results)
    broken = [name for name, each in results.items() if (bound_of(each) or {}).get("exceeded")]
    if broken:
        print(f"outputs beyond their bound: {', '.join(broken)}", file=sys.stderr)
        return CheckFailed.exit_code
    return 0


def compare_all(
    request: Request, policies: Sequence[Policy], folder: RunFolder
) -> Mapping[str, Any]:
    """Make the whole run in `folder` and return its results by id."""
    flags, load_before = environment.flags(), environment.load_average()
    options = asdict(request) | {
        "policies": [policy.name for policy in policies] if request.policies else None
    }
    folder.write_json(
        "config.json",
        {"schema": "assay/config/1", "lab": LAB, "options": options, "seed": cases.SEED},
    )
    folder.copy_sources(Path(__file__))
    copy_policies(policies, folder)
    with folder.stage(f"start {request.platform}"):
        device = backend.start(request.platform)
    with folder.stage("make inputs and their FP64 reference"):
        inputs = cases.make(request.batch, request.features, request.outputs)
        references = {case: reference_product(each.x, each.w) for case, each in inputs.items()}
        described = describe_inputs(inputs, folder)
    results: dict[str, Any] = {}
    programs: dict[str, Any] = {}
    texts: dict[str, tuple[str, str]] = {}
    for policy in policies:
        with folder.stage(f"{policy.name}: {policy.title}"):
            stored = {case: _represented(inputs, case, policy) for case in inputs}
            program, programs[policy.name] = compile_for(policy, stored, device, folder, texts)
            for case, operands in stored.items():
                results[f"{case}-{policy.name}"] = {
                    "case": case,
                    "policy": policy.name,
                    "input_sha256": inputs[case].sha256,
                    **result(f"{case}-{policy.name}", operands, references[case], program, folder),
                }
    with folder.stage("write the report"):
        folder.write_json(
            "report.json",
            {
                "schema": "assay/representations/1",
                "lab": LAB,
                "scope": scope_of(device),
                "request": options | {"seed": cases.SEED},
                "inputs": described,
                "reference": {
                    case: {"dtype": str(each.dtype), "norm": float(np.linalg.norm(each))}
                    for case, each in references.items()
                },
                "policies": {policy.name: policy.as_json() for policy in policies},
                "programs": programs,
                "results": results,
            },
        )
        found = environment.describe(
            requested=request.platform,
            device=device,
            flags_outside=flags,
            load_before=load_before,
        )
        # Redacted before it tells what was redacted, so that its own fields are told as well.
        found = folder.redactor.mapping(found, "environment.json")
        folder.write_json("environment.json", found | {"redacted": folder.redactor.done})
        folder.seal()
    return results


def copy_policies(policies: Sequence[Policy], folder: RunFolder) -> None:
    """Each policy into the run; those of the lab also among its sources, which they are."""
    for policy in policies:
        name = f"policies/{policy.name}.toml"
        folder.write(name, folder.redactor.text(policy.text, name).encode())
        shipped = policy_file.SHIPPED / f"{policy.name}.toml"
        if shipped.is_file() and shipped.read_text(encoding="utf-8") == policy.text:
            folder.write(f"sources/lab/{name}", policy.text.encode())


def _represented(
    inputs: Mapping[str, Inputs], case: str, policy: Policy
) -> Represented | CannotFollow:
    """The operands of one case as a policy stores them, or why it has none."""
    try:
        calibrated = None
        if policy.calibration is not None and policy.calibration_sha256 is not None:
            if policy.calibration not in inputs:
                raise CannotFollow(f"there is no case {policy.calibration!r} to calibrate on")
            calibrated = inputs[policy.calibration]
            calibration.require_split(calibrated.x, policy.calibration_sha256)
            calibration.require_apart(calibrated.x, inputs[case].x)
        stored = represent(inputs[case], policy, calibrated)
        if stored.integer:
            limits = (stored.x.number_format.largest, stored.w.number_format.largest)
            integer_range.require_room(stored.tile, *limits)
    except CannotFollow as refusal:
        return refusal
    return stored


def compile_for(
    policy: Policy,
    stored: Mapping[str, Represented | CannotFollow],
    device: "jax.Device",
    folder: RunFolder,
    texts: dict[str, tuple[str, str]],
) -> tuple[products.Program | None, dict[str, object]]:
    """One program for all cases of a policy, or None; and what the report says of it.

    A text is written once, whichever policies share it: `texts` has its path and digest.
    """
    told: dict[str, object] = {
        "requested": {
            "x": policy.x.name,
            "w": policy.w.name,
            "accumulator": policy.parts["accumulators"],
            "output": "float32",
            "precision": products.PRECISION,
        }
    }
    first = next((each for each in stored.values() if isinstance(each, Represented)), None)
    if first is None:
        return None, told | {"status": "none", "message": "no case allows this policy"}
    try:
        program = products.compile_product(first, device)
    except CompileRefused as refusal:
        return None, told | {"status": "refused", "message": str(refusal)}
    kept: dict[str, str] = {}
    for kind, text in (("stablehlo", program.stablehlo), ("hlo", program.hlo)):
        if text not in texts:
            path = f"programs/{policy.name}.{kind}.txt"
            texts[text] = (path, folder.write_program(path, text))
        kept[kind], kept[f"{kind}_sha256"] = texts[text]
    return program, told | {
        "status": "compiled",
        "message": None,
        "message_reason": "it compiled",
        "compiler_memory_bytes": dict(program.memory_bytes),
        **kept,
    }


def result(
    name: str,
    operands: Represented | CannotFollow,
    reference: NDArray[np.float64],
    program: products.Program | None,
    folder: RunFolder,
) -> dict[str, object]:
    """Everything there is to say about one policy on one case."""
    if isinstance(operands, CannotFollow):
        return {"status": "refused", "status_reason": str(operands)}
    norm = float(np.linalg.norm(reference))
    measured = program.run(operands) if program else None
    parts = anatomy.dissect(
        operands,
        reference,
        measured.output if measured else None,
        measured.accumulators if measured else None,
    )
    error = parts.representation if parts.total is None else parts.total
    allowed = bound.bound(operands)
    certificate = bound.certify(error, allowed.total, reference)
    why = _why_no_number(operands, norm)
    held = certificate.as_json() | _widths(allowed, norm) if certificate else None
    return {
        "status": "measured" if measured else "reference",
        "status_reason": None if measured else HOST_ONLY,
        "anatomy": _anatomy(parts, norm, why, operands, measured),
        **(_measured(error, reference, held, why) if measured else {"codes_bound": held}),
        "integer_range": _integer_range(operands),
        "integer_range_reason": None if operands.integer else "the sums are not integers",
        "counters": {
            "x": operands.x.counters.as_json(),
            "w": operands.w.counters.as_json(),
            "output": _output_counters(operands, measured),
            "output_reason": None if measured else HOST_ONLY,
        },
        "scales": _scales("x", operands.x) | _scales("w", operands.w),
        "stored_bytes": operands.stored_bytes,
        "output": keep(f"outputs/{name}.npy", measured.output if measured else None, folder),
    }


def _measured(
    error: NDArray[np.float64],
    reference: NDArray[np.float64],
    held: dict[str, object] | None,
    why: str,
) -> dict[str, object]:
    """What is known of an error only where a program ran."""
    largest = float(np.max(np.abs(error)))
    finite, few = bool(np.isfinite(largest)), len(error) <= MAX_ROWS
    return {
        "max_abs_error": largest if finite else None,
        "max_abs_error_reason": None if finite else why,
        "bound": held,
        "bound_reason": None if held else why,
        "rows": anatomy.row_errors(error, reference) if few else None,
        "rows_reason": None if few else f"over {MAX_ROWS} rows",
    }


def _anatomy(
    parts: anatomy.Anatomy,
    norm: float,
    why: str,
    operands: Represented,
    measured: products.Measured | None,
) -> dict[str, object]:
    told: dict[str, object] = {"denominator": norm}
    for name, value in parts.relative(norm).items():
        worked_out = measured or name == "representation"
        reason = why if worked_out else HOST_ONLY
        told |= {name: value, f"{name}_reason": None if value is not None else reason}
    if measured and operands.rescaled and measured.accumulators is None:
        told |= dict.fromkeys(("accumulation", "rescale"))
        told |= dict.fromkeys(
            ("accumulation_reason", "rescale_reason"),
            "the program that also returns its accumulators gives another output",
        )
    return told


def _why_no_number(operands: Represented, norm: float) -> str:
    lost = [
        f"{each.counters.nonfinite} of {each.counters.values} values of {name}"
        for name, each in (("X", operands.x), ("W", operands.w))
        if each.counters.nonfinite
    ]
    if lost:
        return f"{' and '.join(lost)} became NaN or infinity"
    return NO_NORM if not norm else "the output holds values not finite"


def _widths(allowed: bound.Bound, norm: float) -> dict[str, object]:
    """The norm of each part of the bound over the reference's; None where it is infinite."""
    parts: dict[str, object] = {}
    for name in ("representation", "accumulation", "rescale", "underflow"):
        width = float(np.linalg.norm(getattr(allowed, name))) / norm if norm else np.inf
        parts[name] = width if np.isfinite(width) else None
        if parts[name] is None:
            parts[f"{name}_reason"] = "some outputs have no limit" if norm else NO_NORM
    return {"parts": parts}


def _integer_range(operands: Represented) -> dict[str, object] | None:
    if not operands.integer:
        return None
    limits = (operands.x.number_format.largest, operands.w.number_format.largest)
    return integer_range.measure(operands.x.codes, operands.w.codes, *limits).as_json()


def _output_counters(
    operands: Represented, measured: products.Measured | None
) -> dict[str, object] | None:
    """Outputs that are zero although the stored operands' product is not, or not finite."""
    if measured is None:
        return None
    zeros = (measured.output == 0) & (operands.product != 0)
    return {
        "values": int(measured.output.size),
        "flushed": int(np.count_nonzero(zeros)),
        "nonfinite": int(np.count_nonzero(~np.isfinite(measured.output))),
    }


def _scales(name: str, operand: Operand) -> dict[str, object]:
    if operand.scales is None:
        return {name: None, f"{name}_reason": "it has no scales"}
    return {
        name: {
            "count": int(operand.scales.size),
            "smallest": float(operand.scales.min()),
            "largest": float(operand.scales.max()),
            "zero_slices": operand.zero_slices,
            "underflow_slices": operand.underflow_slices,
        }
    }


def keep(name: str, array: NDArray[Any] | None, folder: RunFolder) -> dict[str, object]:
    """Write an array if it is small enough, and say where it is."""
    if array is None:
        return {"file": None, "file_reason": HOST_ONLY}
    told = {"shape": list(array.shape), "dtype": str(array.dtype)}
    if array.nbytes <= KEPT_ARRAY_BYTES:
        return told | {"file": name, "sha256": folder.write_array(name, array)}
    return told | {"file": None, "file_reason": f"not kept: over {KEPT_ARRAY_BYTES:,} bytes"}


def describe_inputs(inputs: Mapping[str, Inputs], folder: RunFolder) -> dict[str, object]:
    """What each case holds. An operand that several cases share is kept once."""
    kept: dict[bytes, dict[str, object]] = {}
    described: dict[str, object] = {}
    for case, each in inputs.items():
        for name, array in (("x", each.x), ("w", each.w)):
            if array.tobytes() not in kept:
                kept[array.tobytes()] = keep(f"inputs/{case}-{name}.npy", array, folder)
        described[case] = {
            "description": each.description,
            "sha256": each.sha256,
            "rows_sha256": calibration.split_sha256(each.x),
            "dtype": str(each.x.dtype),
            "x": kept[each.x.tobytes()],
            "w": kept[each.w.tobytes()],
        }
    return described


def bound_of(result: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """The certificate of what ran, or else of the codes' own arithmetic."""
    found: Mapping[str, Any] | None = result.get("bound") or result.get("codes_bound")
    return found


def print_results(results: Mapping[str, Any]) -> None:
    """A table on standard output: a line for each result, and why where there is none."""
    print(f"{'result':<36}{'relative L2':>12}{'bound used':>12}{'stored bytes':>14}")
    for name, each in results.items():
        if each["status"] == "refused":
            print(f"{name:<36}  refused: {each['status_reason']}")
            continue
        parts, held = each["anatomy"], bound_of(each)
        error = parts["total"] if each["status"] == "measured" else parts["representation"]
        shown = "undefined" if error is None else f"{error:.4g}"
        worst = held["worst_ratio"] if held else None
        used = "none" if worst is None else f"{worst:.3f}"
        remark = "" if each["status"] == "measured" else "  reference arithmetic"
        print(f"{name:<36}{shown:>12}{used:>12}{each['stored_bytes']['total']:>14,}{remark}")


def parse(arguments: Sequence[str] | None) -> tuple[Request, Path]:
    """Read the command line; a request that cannot be run exits with code 2."""
    parser = parser_of(
        LAB, "Measure one matrix product under many precision policies against FP64.", EXAMPLE
    )
    add_place(parser, "representations")
    add_shape(parser, MAX_DIMENSION)
    parser.add_argument(
        "--policies",
        type=lambda text: tuple(part for part in text.split(",") if part),
        metavar="NAME,...",
        help="names of the lab's policies, or files and folders of yours (default: all it has)",
    )
    options = vars(parser.parse_args(arguments))
    path = options.pop("run_dir") or Path("runs", f"representations-{options['platform']}")
    request = Request(**options)
    refuse_large(parser, request.batch, request.features, request.outputs, MAX_PRODUCT)
    if request.batch * request.outputs > MAX_OUTPUTS:
        parser.error(
            f"batch x outputs is {request.batch * request.outputs:,}; "
            f"this lab takes at most {MAX_OUTPUTS:,}"
        )
    return request, path


if __name__ == "__main__":
    command.run(main)
