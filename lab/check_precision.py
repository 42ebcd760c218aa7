"""Independent checks of the precision lab: its arithmetic, its refusals, its records.

What is right is worked out here a second time, from the definitions and by other
routes than the lab takes. Nothing of a check comes from the code it checks.
"""

import argparse
import hashlib
import json
import math
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from lab.kit import backend, quantizers
from lab.kit.accuracy import compare
from lab.kit.faults import CheckFailed, LabFault
from lab.kit.precision_product import POLICIES, Inputs, compile_product, dot, prepare

if TYPE_CHECKING:
    import jax

UNIT_ROUNDOFF = 2.0**-24
"""Half the spacing of float32 at one: the relative error of one FP32 rounding."""

FP64_ROUNDOFF = 2.0**-53
"""The same for float64: two sums of K products in another order differ by 2K of it at most."""

EXAMPLE = """\
examples:
  python -m lab.check_precision
  python -m lab.check_precision --run-dir runs/precision-cpu
"""

Check = Callable[["jax.Device"], None]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run every check, print a line for each, and return 5 if any failed."""
    parser = argparse.ArgumentParser(
        prog="python -m lab.check_precision",
        description="Check the precision lab, and with --run-dir a run it made.",
        epilog=EXAMPLE,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("--platform", choices=backend.PLATFORMS, default="cpu")
    parser.add_argument(
        "--run-dir", type=Path, metavar="DIR", help="a finished run whose files to check as well"
    )
    options = parser.parse_args(arguments)
    try:
        device = backend.start(options.platform)
    except LabFault as fault:
        print(f"refused: {fault}", file=sys.stderr)
        return fault.exit_code
    failed = [name for name, check in CHECKS.items() if not _passes(name, check, device)]
    if options.run_dir:
        name = f"the run in {options.run_dir} is what it says"
        if not _passes(name, lambda _: check_run(options.run_dir), device):
            failed.append(name)
    if failed:
        print(f"{len(failed)} failed:", *failed, sep="\n  ", file=sys.stderr)
        return CheckFailed.exit_code
    return 0


def _passes(name: str, check: Check, device: "jax.Device") -> bool:
    try:
        check(device)
    except Exception as problem:  # a check that breaks has failed, whatever broke it
        print(f"FAILED  {name}: {problem or type(problem).__name__}", flush=True)
        return False
    print(f"ok      {name}", flush=True)
    return True


# Arithmetic


def check_zero_inputs(device: "jax.Device") -> None:
    for x, w in ((zeros(3, 5), ones(5, 2)), (ones(3, 5), zeros(5, 2)), (zeros(3, 5), zeros(5, 2))):
        for policy in POLICIES:
            output = product(Inputs(x=x, w=w), policy, device)
            expect(not output.any(), f"{policy}: zeros gave {output}")
            accuracy = compare(output, np.zeros(output.shape))
            expect(accuracy.relative_l2_error is None, "a ratio to a zero norm was printed")
            expect(bool(accuracy.relative_l2_error_reason), "a null stands without its reason")
    quantized = quantizers.quantize_int8(zeros(3, 5), axis=1)
    expect_equal("scales of zero rows", quantized.scales.ravel().tolist(), [1.0, 1.0, 1.0])
    expect_equal("zero rows", quantized.zero_rows, 3)


def check_shapes(device: "jax.Device") -> None:
    for batch, features, outputs in ((1, 7, 3), (5, 17, 9)):
        generator = np.random.default_rng(features)
        x = generator.standard_normal((batch, features), dtype=np.float32)
        w = generator.standard_normal((features, outputs), dtype=np.float32)
        for policy in POLICIES:
            output = product(Inputs(x=x, w=w), policy, device)
            expect_equal(f"{policy} shape", output.shape, (batch, outputs))
            expect_close(f"{policy} {batch}x{features}x{outputs}", output, *expected(x, w, policy))


def check_rounded_bfloat16(device: "jax.Device") -> None:
    """On operands BF16 holds exactly, only accumulation may differ from FP64."""
    generator = np.random.default_rng(3)
    x = nearest_bfloat16(generator.standard_normal((6, 40), dtype=np.float32))
    w = nearest_bfloat16(generator.standard_normal((40, 5), dtype=np.float32))
    stored = prepare(Inputs(x=x, w=w), "bf16").values
    expect_equal(
        "rounded again", [np.float32(each).tolist() for each in stored], [x.tolist(), w.tolist()]
    )
    output = product(Inputs(x=x, w=w), "bf16", device)
    expect_close("bf16", output, *expected(x, w, "fp32"))


def check_integer_accumulation(device: "jax.Device") -> None:
    """INT32 sums equal int64 sums, at the longest contraction and the largest codes too."""
    import jax

    generator = np.random.default_rng(5)
    for batch, features, columns in ((1, 7, 3), (5, 17, 9), (4, 2048, 4)):
        x = generator.integers(-127, 128, size=(batch, features), dtype=np.int8)
        w = generator.integers(-127, 128, size=(features, columns), dtype=np.int8)
        x[0], w[:, 0], w[:, -1] = 127, 127, -127
        operands = [jax.device_put(each, device) for each in (x, w)]
        sums = np.asarray(jax.jit(lambda a, b: dot(a, b, "int32"))(*operands))
        exact = [
            [sum(int(a) * int(b) for a, b in zip(row, column, strict=True)) for column in w.T]
            for row in x
        ]
        expect_equal("accumulator type", sums.dtype, np.dtype(np.int32))
        expect_equal(f"sums over {features}", sums.tolist(), exact)
        largest = max(abs(value) for row in exact for value in row)
        expect_equal("largest", quantizers.largest_accumulator(x, w), largest)


def check_integer_room(_: "jax.Device") -> None:
    expect(127 * 127 * 133_144 < 2**31 <= 127 * 127 * 133_145, "the bound itself is wrong")
    quantizers.require_int32_room(133_144)
    expect_refused("133,145 features", lambda: quantizers.require_int32_room(133_145), "133144")


# Quantization


def check_tiny_row(_: "jax.Device") -> None:
    quantized = quantizers.quantize_int8(rows([0, 1, -2]), axis=1)
    expect_equal("codes", quantized.codes.tolist(), [[0, 64, -127]])
    expect_equal("scale", quantized.scales.item(), float(np.float32(2 / 127)))
    restored = 64 * quantized.scales.item()
    expect(math.isclose(restored, 1.0078740157, rel_tol=1e-7), f"1 came back as {restored}")


def check_ties_go_to_even(_: "jax.Device") -> None:
    row = rows([127, 62.5, -62.5, 63.5, -63.5, 0.5, -0.5])
    codes = quantizers.quantize_int8(row, axis=1).codes
    expect_equal("codes", codes.tolist(), [[127, 62, -62, 64, -64, 0, 0]])


def check_codes_end_at_127(_: "jax.Device") -> None:
    generator = np.random.default_rng(7)
    for exponent in range(-40, 39, 3):
        values = generator.standard_normal((64, 9)).astype(np.float32) * np.float32(10.0**exponent)
        values = np.clip(np.nan_to_num(values), -3e38, 3e38).astype(np.float32)
        codes = quantizers.quantize_int8(values, axis=1).codes
        expect(codes.min() >= -127, f"a code of {codes.min()} at 1e{exponent}")


def check_underflow(_: "jax.Device") -> None:
    with np.errstate(divide="raise", invalid="raise"):
        quantized = quantizers.quantize_int8(rows([1e-44, 0], [1, 0], [0, 0]), axis=1)
    expect_equal(
        "scales", quantized.scales.ravel().tolist(), [1.0, float(np.float32(1 / 127)), 1.0]
    )
    expect_equal("codes", quantized.codes.tolist(), [[0, 0], [127, 0], [0, 0]])
    expect_equal("underflow and zero rows", (quantized.underflow_rows, quantized.zero_rows), (1, 1))


def check_nonfinite_refused(_: "jax.Device") -> None:
    for value in (math.nan, math.inf, -math.inf):
        x = ones(3, 4)
        x[2, 1] = value
        for policy in POLICIES:
            narrow = partial(prepare, Inputs(x=x, w=ones(4, 2)), policy)
            expect_refused(f"{policy} with {value}", narrow, "[2, 1]")


# Runs


def check_existing_folder_refused(_: "jax.Device") -> None:
    with tempfile.TemporaryDirectory() as scratch:
        kept = Path(scratch, "kept.txt")
        kept.write_text("mine")
        code, told = run_lab("--run-dir", scratch)
        expect_equal("exit code", code, 2)
        expect("already there" in told, f"it said: {told}")
        expect_equal("files", [path.name for path in Path(scratch).iterdir()], ["kept.txt"])
        expect_equal("content", kept.read_text(), "mine")


def check_missing_backend_refused(device: "jax.Device") -> None:
    """No GPU or TPU means no result, even where the environment would allow a CPU."""
    absent = "gpu" if device.platform == "tpu" else "tpu"
    with tempfile.TemporaryDirectory() as scratch:
        run = Path(scratch, "run")
        code, told = run_lab(
            "--platform", absent, "--run-dir", str(run), JAX_PLATFORMS=f"{absent},cpu"
        )
        expect_equal("exit code", code, 3)
        expect("no fallback" in told, f"it said: {told}")
        failure = json.loads((run / "failure.json").read_text())
        expect_equal("stage", failure["stage"], f"start {absent}")
        expect(bool(failure["message"]), "the failure gives no reason")
        expect(not (run / "report.json").exists(), "there is a report")
        check_manifest(run)


CHECKS: dict[str, Check] = {
    "zero inputs give zeros, scale one and no ratio": check_zero_inputs,
    "1x7x3 and 5x17x9 stay within the bounds of their formats": check_shapes,
    "already-rounded BF16 operands lose nothing but accumulation": check_rounded_bfloat16,
    "INT32 accumulation is exact": check_integer_accumulation,
    "a contraction that could wrap INT32 is refused": check_integer_room,
    "[0, 1, -2] becomes [0, 64, -127]": check_tiny_row,
    "ties round to even": check_ties_go_to_even,
    "no code is -128": check_codes_end_at_127,
    "a row too small for a scale is counted, never divided by zero": check_underflow,
    "NaN and Inf are refused by index": check_nonfinite_refused,
    "an existing folder is refused untouched": check_existing_folder_refused,
    "a missing backend is refused without fallback": check_missing_backend_refused,
}


def check_run(run: Path) -> None:
    """Every error in a run's report follows from its saved outputs and regenerated inputs."""
    report = json.loads((run / "report.json").read_text())
    check_manifest(run)
    wrong = list(run_differences(run, report))
    expect(not wrong, "; ".join(wrong))


def run_differences(run: Path, report: dict[str, Any]) -> Iterator[str]:
    """Each field that does not follow, with what was recorded and what was found."""
    asked = report["request"]
    x, w = regenerate(asked)
    for case in ("balanced", "outlier"):
        case_x = x.copy()
        if case == "outlier":
            case_x[:, asked["outlier_feature"]] *= np.float32(asked["outlier_factor"])
        digest = hashlib.sha256(case_x.tobytes() + w.tobytes()).hexdigest()
        reference = exact_product(case_x, w)
        norm = frobenius(reference)
        noise = 2 * x.shape[1] * FP64_ROUNDOFF * exact_product(np.abs(case_x), np.abs(w))
        yield from differs(f"inputs/{case}/sha256", report["inputs"][case]["sha256"], digest)
        for policy in POLICIES:
            at = f"results/{case}-{policy}"
            result = report["results"][f"{case}-{policy}"]
            yield from differs(f"{at}/input_sha256", result["input_sha256"], digest)
            if result["output"]["file"] is None:
                continue
            output = np.load(run / result["output"]["file"], allow_pickle=False)
            error = output.astype(np.float64) - reference
            relative = frobenius(error) / norm if norm else None
            room = frobenius(noise) / norm if norm else 0.0
            recorded = result["relative_l2_error"]
            yield from differs(f"{at}/relative_l2_error", recorded, relative, room)
            recorded, largest = result["max_abs_error"], float(np.abs(error).max())
            yield from differs(f"{at}/max_abs_error", recorded, largest, float(noise.max()))
            value, bound = expected(case_x, w, policy)
            if (np.abs(output - value) > bound).any():
                yield f"{at}/output: outside the bound of its format"


def check_manifest(run: Path) -> None:
    """The manifest lists every file of a run, and each has the content it was sealed with."""
    lines = (run / "manifest.sha256").read_text().splitlines()
    sealed = {name: digest for digest, name in (line.split("  ", 1) for line in lines)}
    found = {
        path.relative_to(run).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in run.rglob("*")
        if path.is_file() and path.name != "manifest.sha256"
    }
    changed = sorted(name for name in sealed | found if sealed.get(name) != found.get(name))
    expect(not changed, f"not as sealed: {', '.join(changed)}")


# What is right, worked out a second time


def product(inputs: Inputs, policy: str, device: "jax.Device") -> NDArray[np.float32]:
    """The lab's own product, run once."""
    return np.asarray(compile_product(policy, prepare(inputs, policy), device).run())


def expected(
    x: NDArray[np.float32], w: NDArray[np.float32], policy: str
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """What a policy should give, in FP64, and how far its FP32 accumulation may stray."""
    if policy == "int8":
        (x_codes, x_scales), (w_codes, w_scales) = int8(x, 1), int8(w, 0)
        value = exact_product(x_codes, w_codes) * x_scales * w_scales
        return value, 4 * UNIT_ROUNDOFF * np.abs(value)
    if policy == "bf16":
        x, w = nearest_bfloat16(x), nearest_bfloat16(w)
    features = x.shape[1]
    return exact_product(x, w), 2 * features * UNIT_ROUNDOFF * exact_product(np.abs(x), np.abs(w))


def exact_product(x: NDArray[Any], w: NDArray[Any]) -> NDArray[np.float64]:
    """X·W in FP64, summed without a matrix library."""
    product: NDArray[np.float64] = np.einsum("mk,kn->mn", *(x.astype(float), w.astype(float)))
    return product


def int8(values: NDArray[np.float32], axis: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Codes and scales from the definition; every slice must have a peak worth a scale."""
    scales = (np.abs(values).max(axis=axis, keepdims=True) / np.float32(127)).astype(np.float64)
    scaled = (values / scales.astype(np.float32)).astype(np.float64)
    below = np.floor(scaled)
    part = scaled - below
    up = (part > 0.5) | ((part == 0.5) & (below % 2 == 1))
    return np.minimum(np.maximum(below + up, -127), 127), scales


def nearest_bfloat16(values: NDArray[np.float32]) -> NDArray[np.float32]:
    """Round to BF16 by its bits: add half of the last kept place, ties to even, then cut."""
    bits = values.view(np.uint32)
    rounded = bits + np.uint32(0x7FFF) + ((bits >> np.uint32(16)) & np.uint32(1))
    return (rounded & np.uint32(0xFFFF0000)).view(np.float32)


def regenerate(asked: dict[str, Any]) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """The balanced operands of a request, from the published recipe."""
    generator = np.random.default_rng(asked["seed"])
    x = generator.normal(size=(asked["batch"], asked["features"])).astype(np.float32)
    w = generator.normal(size=(asked["features"], asked["outputs"]))
    return x, (w / math.sqrt(asked["features"])).astype(np.float32)


def frobenius(values: NDArray[np.float64]) -> float:
    return math.sqrt(math.fsum(value * value for value in values.ravel().tolist()))


def rows(*values: Sequence[float]) -> NDArray[np.float32]:
    return np.array(values, np.float32)


def zeros(height: int, width: int) -> NDArray[np.float32]:
    return np.zeros((height, width), np.float32)


def ones(height: int, width: int) -> NDArray[np.float32]:
    return np.ones((height, width), np.float32)


def run_lab(*arguments: str, **environment: str) -> tuple[int, str]:
    """Run the lab in a process of its own; return its exit code and what it said."""
    done = subprocess.run(
        [sys.executable, "-m", "lab.precision_profile", *arguments],
        cwd=Path(__file__).resolve().parents[1],
        env=os.environ | environment,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    return done.returncode, done.stderr


def differs(name: str, recorded: Any, found: Any, room: float = 0.0) -> Iterator[str]:
    """A line when two values differ, or two floats by more than `room`."""
    if isinstance(recorded, float) and isinstance(found, float):
        same = math.isclose(recorded, found, rel_tol=1e-12, abs_tol=room)
    else:
        same = recorded == found
    if not same:
        yield f"{name}: recorded {recorded!r}, found {found!r}"


def expect(holds: bool, otherwise: str) -> None:
    if not holds:
        raise CheckFailed(otherwise)


def expect_equal(name: str, found: Any, right: Any) -> None:
    expect(found == right, f"{name}: found {found!r}, expected {right!r}")


def expect_close(
    name: str, found: NDArray[np.float32], right: NDArray[np.float64], room: NDArray[np.float64]
) -> None:
    excess = np.abs(found.astype(np.float64) - right) - room
    worst = np.unravel_index(np.argmax(excess), excess.shape)
    expect(
        excess[worst] <= 0,
        f"{name}: found {found[worst]} at {[int(i) for i in worst]}, expected {right[worst]} "
        f"within {room[worst]:.3g}",
    )


def expect_refused(name: str, action: Callable[[], object], word: str) -> None:
    try:
        action()
    except LabFault as fault:
        expect(word in str(fault), f"{name}: refused, but {fault} does not say {word}")
    else:
        raise CheckFailed(f"{name}: accepted")


if __name__ == "__main__":
    sys.exit(main())
