"""The sweep lab: one product at growing batch, beside the rates this device itself reaches.

It measures two things in one process. A probe finds the device's own ceilings: how fast bytes
stream through arrays of growing size, and how fast square products of growing size multiply. A
sweep then times Y = X·W with a growing number of rows in X, in FP32, BF16 and INT8. What is timed
is compiled ahead, takes its operands as arguments, and is checked to still do its work.
"""

import argparse
import hashlib
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from lab.kit import backend, caches, command, environment, kept_work, quantizers, rounds, streams
from lab.kit.accuracy import compare, reference_product
from lab.kit.command import add_place, parser_of, whole_number
from lab.kit.faults import CheckFailed, CompileRefused, LabFault
from lab.kit.lowering import cost, memory_bytes
from lab.kit.policies import POLICIES, product
from lab.kit.redaction import Redactor
from lab.kit.run_folder import RunFolder
from lab.kit.scope import scope_of

if TYPE_CHECKING:
    import jax

LAB = "batch_sweep"
SCHEMA = "assay/sweep/1"
SEED = 17

SWEPT: Mapping[str, str] = {"fp32": "fp32-highest", "bf16": "bf16-highest", "int8": "int8-scaled"}
"""What each policy of the sweep asks for, by its name in lab/kit/policies.py."""

SQUARED: Mapping[str, str] = SWEPT | {"int8": "int8"}
"""The same for the square products; those of INT8 are left in INT32, not rescaled."""

BATCHES = tuple(2**power for power in range(10))
ARRAYS_KIB = (256, 1024, 4096, 16_384, 65_536, 262_144)
SQUARES = (128, 256, 512, 1024)

MAX_POSITIONS = 2**30
"""Multiply positions of one product, m·k·n."""
MAX_DIMENSION, MAX_ARRAY_KIB, MAX_LISTED = 2**20, 2**20, 32
MAX_ROUNDS, MAX_SAMPLES = 100, 1000

NO_CACHES = "caches are read on a CPU only"

LARGEST_ERROR = 0.05
"""Relative L2 error above which a program computed something else than the product."""

EXAMPLE = """\
examples:
  python -m lab.batch_sweep --platform cpu --run-dir runs/sweep-cpu
  python -m lab.batch_sweep --batches 1,8,64 --features 512 --outputs 512
"""

Times = dict[str, rounds.Series]
Calls = dict[str, Callable[[], object]]
Array = NDArray[Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """What a run is asked to do. X is m x features for each m of `batches`."""

    platform: str
    batches: tuple[int, ...]
    features: int
    outputs: int
    arrays_kib: tuple[int, ...]
    """Sizes of one array of the streaming probe."""
    squares: tuple[int, ...]
    """Sides of the square products of the probe."""
    rounds: int
    samples: int
    """Timed calls of each program in each round."""
    seed: int = SEED

    @property
    def dispatch(self) -> str:
        """Whether a call returns at once or when its result is ready. Every sample waits."""
        waits = self.platform == "cpu" and not backend.CONFIG["jax_cpu_enable_async_dispatch"]
        return "synchronous" if waits else "asynchronous"

    def too_large(self) -> list[str]:
        """Each product beyond the limit, with its numbers."""
        k, n = self.features, self.outputs
        shapes = [(m, k, n) for m in self.batches] + [(side,) * 3 for side in self.squares]
        return [
            f"{m:,} x {k:,} x {n:,} is {m * k * n:,}"
            for m, k, n in shapes
            if m * k * n > MAX_POSITIONS
        ]


@dataclass(slots=True, kw_only=True)
class Bench:
    """What is to be timed: the calls by name, and each one's row of the report."""

    folder: RunFolder
    device: "jax.Device"
    calls: Calls = field(default_factory=dict)

    def compile(self, name: str, lowered: Any) -> tuple[Any, dict[str, object]]:
        """The compiled program, and what its compiler says of it. Its texts go to the run."""
        try:
            compiled = lowered.compile()
        except Exception as problem:  # each backend raises its own kind
            raise CompileRefused(f"{name}: {problem}") from problem
        stablehlo, hlo = f"programs/{name}.stablehlo.txt", f"programs/{name}.hlo.txt"
        memory = memory_bytes(compiled)
        missing = [part for part, size in memory.items() if size is None]
        accessed = (cost(compiled) or {}).get("bytes_accessed")
        return compiled, {
            "program": {
                "stablehlo": stablehlo,
                "stablehlo_sha256": self.folder.write_program(stablehlo, lowered.as_text()),
                "hlo": hlo,
                "hlo_sha256": self.folder.write_program(hlo, compiled.as_text() or ""),
            },
            "compiler_memory_bytes": memory,
            "compiler_memory_reason": (
                f"the compiler reports no figure for {', '.join(missing)}" if missing else None
            ),
            "compiler_accessed_bytes": None if accessed is None else int(accessed),
            "compiler_accessed_bytes_reason": (
                "the compiler reports no bytes accessed" if accessed is None else None
            ),
        }


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the lab from a command line and return its exit code."""
    request, path = parse(arguments)
    try:
        folder = RunFolder.create(path, Redactor.of_this_machine())
    except LabFault as fault:
        print(f"refused: {fault}", file=sys.stderr)
        return fault.exit_code
    print(f"{LAB}: writing {path}", file=sys.stderr)
    try:
        points = sweep(request, folder)
    except BaseException as problem:  # every end leaves a folder that says how it came about
        return folder.fail(problem)
    print_points(points)
    return 0


def sweep(request: Request, folder: RunFolder) -> Mapping[str, Any]:
    """Make the whole run in `folder` and return the sweep's points by id."""
    flags, load_before = environment.flags(), environment.load_average()
    options = asdict(request) | {"dispatch": request.dispatch}
    seed = options.pop("seed")
    folder.write_json(
        "config.json", {"schema": "assay/config/1", "lab": LAB, "options": options, "seed": seed}
    )
    folder.copy_sources(Path(__file__))
    with folder.stage(f"start {request.platform}"):
        bench = Bench(folder=folder, device=backend.start(request.platform))
    with folder.stage("prepare the timing floor"):
        floor = add_floor(bench)
    with folder.stage("prepare the streaming kernels"):
        stream = add_streams(bench, request)
    with folder.stage("prepare the square products"):
        matrix = add_squares(bench, request)
    with folder.stage("make inputs and their FP64 reference"):
        quantizers.require_int32_room(request.features)
        x, w = make_inputs(request)
        reference = reference_product(x, w)
    with folder.stage("prepare the sweep"):
        points = add_points(bench, request, x, w, reference)
    order = rounds.orders(list(bench.calls), request.rounds, request.seed)
    times: Times = {name: rounds.Series() for name in bench.calls}
    for number, names in enumerate(order, start=1):
        with folder.stage(f"measure: round {number} of {request.rounds}"):
            rounds.take(bench.calls, times, names, request.samples)
    for name, row in {**stream, **matrix, **points}.items():
        row["timing_s"] = times[name].as_json()
    known, unknown = caches.data_caches() if request.platform == "cpu" else (None, NO_CACHES)
    with folder.stage("write the report"):
        described = environment.describe(
            requested=request.platform,
            device=bench.device,
            flags_outside=flags,
            load_before=load_before,
        )
        machine = describe_machine(bench.device, described["cpu"])
        folder.write_json(
            "report.json",
            {
                "schema": SCHEMA,
                "lab": LAB,
                "scope": scope_of(bench.device),
                "request": options | {"seed": seed},
                "policies": {
                    use: {policy: POLICIES[name].as_json() for policy, name in names.items()}
                    for use, names in (("sweep", SWEPT), ("matrix", SQUARED))
                },
                "caches": known,
                "caches_reason": unknown,
                "inputs": {
                    "sweep": {
                        "sha256": hashlib.sha256(x.tobytes() + w.tobytes()).hexdigest(),
                        "x_shape": list(x.shape),
                        "w_shape": list(w.shape),
                    }
                },
                "order": order,
                "timing_floor_s": {name: times[name].as_json() for name in floor},
                "probe": {"machine": machine, "stream": stream, "matrix": matrix},
                "machine": machine,
                "results": points,
            },
        )
        # Redacted before it tells what was redacted, so that its own fields are told as well.
        described = folder.redactor.mapping(described, "environment.json")
        folder.write_json("environment.json", described | {"redacted": folder.redactor.done})
        folder.seal()
    return points


def add_floor(bench: Bench) -> tuple[str, str]:
    """What a sample costs when there is next to nothing to compute: the clock, and one call."""
    import jax

    scalar = jax.device_put(np.float32(0), bench.device)
    empty = jax.jit(lambda value: value).lower(scalar).compile()
    bench.calls["clock"] = lambda: None
    bench.calls["empty_call"] = lambda: empty(scalar).block_until_ready()
    return "clock", "empty_call"


def add_streams(bench: Bench, request: Request) -> dict[str, dict[str, Any]]:
    """Every streaming kernel at every array size."""
    rows: dict[str, dict[str, Any]] = {}
    for kib in request.arrays_kib:
        array_bytes = kib * 2**10
        elements = array_bytes // streams.ITEM
        arrays = streams.Arrays(elements, bench.device)
        for kernel in streams.KERNELS:
            name = f"{kernel.name}-{kib}kib"
            compiled, told = bench.compile(name, streams.lower(kernel, elements, bench.device))
            call = stream_call(arrays, kernel, compiled)
            call()
            arrays.require_right(kernel)
            bench.calls[name] = call
            text = compiled.as_text() or ""
            rows[name] = told | {
                "kernel": kernel.name,
                "array_bytes": array_bytes,
                "arrays": kernel.reads + 1,
                "moved_bytes": kernel.bytes_moved(array_bytes),
                "kept": kept_work.elementwise(
                    name, text, elements=elements, any_of=kernel.operations
                ),
            }
    return rows


def stream_call(
    arrays: streams.Arrays, kernel: streams.Kernel, compiled: Any
) -> Callable[[], object]:
    return lambda: arrays.run(kernel, compiled)


def add_squares(bench: Bench, request: Request) -> dict[str, dict[str, Any]]:
    """Square products of every policy at every size."""
    generator = np.random.default_rng(request.seed)
    rows: dict[str, dict[str, Any]] = {}
    for side in request.squares:
        for policy, asked in SQUARED.items():
            x, w = (square(generator, side, policy) for _ in range(2))
            reference = reference_product(x.astype(np.float32), w.astype(np.float32))
            name = f"{policy}-square-{side}"
            rows[name] = add_product(bench, name, asked, [x, w], reference) | {"policy": policy}
    return rows


def square(generator: np.random.Generator, side: int, policy: str) -> Array:
    """An operand of the probe, as its policy stores it."""
    if policy == "int8":
        limit = quantizers.CODE_LIMIT
        return generator.integers(-limit, limit, (side, side), endpoint=True, dtype=np.int8)
    values = generator.normal(size=(side, side)).astype(np.float32)
    return values if policy == "fp32" else quantizers.round_to_bfloat16(values, "a square")


def make_inputs(request: Request) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """X for the largest batch from a normal distribution, then W over √features. FP32."""
    generator = np.random.default_rng(request.seed)
    x = generator.normal(size=(max(request.batches), request.features)).astype(np.float32)
    w = generator.normal(size=(request.features, request.outputs)) / np.sqrt(request.features)
    return x, w.astype(np.float32)


def add_points(
    bench: Bench,
    request: Request,
    x: NDArray[np.float32],
    w: NDArray[np.float32],
    reference: NDArray[np.float64],
) -> dict[str, dict[str, Any]]:
    """Every policy at every batch: the first m rows of X, each narrowed as the whole of X is."""
    rows: dict[str, dict[str, Any]] = {}
    for policy, asked in SWEPT.items():
        x_parts, w_parts = narrow(x, w, policy)
        for m in request.batches:
            name = f"{policy}-m{m}"
            operands = [x_parts[0][:m], w_parts[0]]
            scales = [x_parts[1][:m], w_parts[1]] if len(x_parts) == 2 else []
            added = add_product(bench, name, asked, [*operands, *scales], reference[:m])
            rows[name] = added | {"policy": policy}
    return rows


def narrow(
    x: NDArray[np.float32], w: NDArray[np.float32], policy: str
) -> tuple[list[Array], list[Array]]:
    """X and W as a policy stores them, on the host: values, and for INT8 their scales."""
    if policy == "fp32":
        return [x], [w]
    if policy == "bf16":
        rounded = quantizers.round_to_bfloat16
        return [rounded(x, "X")], [rounded(w, "W")]
    rows, columns = quantizers.quantize_int8(x, axis=1), quantizers.quantize_int8(w, axis=0)
    return [rows.codes, rows.scales], [columns.codes, columns.scales]


def add_product(
    bench: Bench,
    name: str,
    asked: str,
    arrays: Sequence[Array],
    reference: NDArray[np.float64],
) -> dict[str, Any]:
    """Compile one product with its operands as arguments, check it, and have it timed."""
    import jax

    policy = POLICIES[asked]
    (m, k), (_, n) = arrays[0].shape, arrays[1].shape
    given = [jax.device_put(array, bench.device) for array in arrays]
    compiled, told = bench.compile(name, jax.jit(product(policy)).lower(*given))
    output = np.asarray(compiled(*given))
    error = compare(output, reference).relative_l2_error
    if error is not None and error > LARGEST_ERROR:
        raise CheckFailed(f"{name}: a relative L2 error of {error:.3g}, so it is another product")
    bench.calls[name] = lambda: compiled(*given).block_until_ready()
    positions = m * k * n
    integer = policy.accumulator == "int32"
    return told | {
        "shape": [m, k, n],
        "work": "OP" if integer else "FLOP",
        "operations": 2 * positions,
        "rescale_flop": (len(arrays) - 2) * m * n,
        "stored_bytes": stored_bytes(arrays),
        "output": {
            "dtype": str(output.dtype),
            "bytes": output.nbytes,
            "sha256": hashlib.sha256(output.tobytes()).hexdigest(),
        },
        "relative_l2_error": error,
        "relative_l2_error_reason": "the reference norm is zero" if error is None else None,
        "kept": kept_work.product(
            name,
            compiled.as_text() or "",
            positions=positions,
            smallest=min(m * k, k * n),
        ),
    }


def stored_bytes(arrays: Sequence[Array]) -> dict[str, int]:
    """Bytes of the operands as stored: of X, of W, and of their scales where they have some."""
    sizes = [array.nbytes for array in arrays]
    x_values, w_values, x_scales, w_scales = [*sizes, 0, 0][:4]
    values, scales = x_values + w_values, x_scales + w_scales
    return {
        "x_values": x_values,
        "w_values": w_values,
        "x_scales": x_scales,
        "w_scales": w_scales,
        "values": values,
        "scales": scales,
        "total": values + scales,
    }


def describe_machine(device: "jax.Device", cpu: Any) -> dict[str, object]:
    """What ceilings and points must share: the device's kind, and the processor it sits in."""
    return {
        "platform": device.platform,
        "device_kind": device.device_kind,
        "cpu_model": cpu["model"],
    }


def print_points(points: Mapping[str, Any]) -> None:
    """A short table on standard output. Rates are left to the report, which knows the floor."""
    print(f"{'point':<14}{'operations':>16}{'median':>14}{'minimum':>14}")
    for name, point in points.items():
        median_us, minimum_us = (point["timing_s"][key] * 1e6 for key in ("median", "minimum"))
        work = f"{point['operations']:,} {point['work']}"
        print(f"{name:<14}{work:>20}{median_us:>11.1f} us{minimum_us:>11.1f} us")


def parse(arguments: Sequence[str] | None) -> tuple[Request, Path]:
    """Read the command line; a request that cannot be run exits with code 2."""
    parser = parser_of(
        LAB,
        "Time one product at growing batch, beside the device's own measured ceilings.",
        EXAMPLE,
    )
    add_place(parser, "sweep")
    for flag, default, largest, what in (
        ("--batches", BATCHES, MAX_DIMENSION, "rows of X, one product each"),
        ("--arrays-kib", ARRAYS_KIB, MAX_ARRAY_KIB, "array sizes of the streaming probe, in KiB"),
        ("--squares", SQUARES, MAX_DIMENSION, "sides of the probe's square products"),
    ):
        parser.add_argument(
            flag,
            type=whole_numbers(largest),
            default=default,
            metavar="N,N",
            help=f"{what} (default: {','.join(map(str, default))})",
        )
    for flag, number, largest, what in (
        ("--features", 1024, MAX_DIMENSION, "columns of X"),
        ("--outputs", 1024, MAX_DIMENSION, "columns of W"),
        ("--rounds", 5, MAX_ROUNDS, "times that every program is visited"),
        ("--samples", 20, MAX_SAMPLES, "timed calls of each program in each round"),
    ):
        parser.add_argument(
            flag,
            type=whole_number(largest),
            default=number,
            metavar="N",
            help=f"{what} (default: {number})",
        )
    options = vars(parser.parse_args(arguments))
    path = options.pop("run_dir") or Path("runs", f"sweep-{options['platform']}")
    request = Request(**options)
    if found := request.too_large():
        parser.error(
            f"batch x features x outputs: {'; '.join(found)}; "
            f"this lab takes at most {MAX_POSITIONS:,} multiply positions a product"
        )
    return request, path


def whole_numbers(largest: int) -> Callable[[str], tuple[int, ...]]:
    """An argparse type: whole numbers between commas, each once, in growing order."""
    read_one = whole_number(largest)

    def read(text: str) -> tuple[int, ...]:
        found = tuple(sorted({read_one(part) for part in text.split(",")}))
        if len(found) > MAX_LISTED:
            raise argparse.ArgumentTypeError(f"{len(found)} numbers; at most {MAX_LISTED}")
        return found

    return read


if __name__ == "__main__":
    command.run(main)
