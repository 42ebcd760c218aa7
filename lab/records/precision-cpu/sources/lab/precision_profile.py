"""The precision lab: one matrix product in three number formats, each against FP64.

Y = X·W with FP32, BF16 and INT8 operands, on balanced inputs and on inputs with one
outlier feature. It measures on one device, and only on the platform asked for. In a
distributed run each process does so, in a folder of its own, and process 0 gathers.
"""

import argparse
import hashlib
import re
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from lab.kit import backend, cluster, command, environment, quantizers, trace
from lab.kit.accuracy import compare, reference_product
from lab.kit.command import add_place, add_shape, parser_of, refuse_large, whole_number
from lab.kit.compiler_memory import no_figure
from lab.kit.faults import LabFault
from lab.kit.precision_product import (
    CASES,
    KEPT_OUTPUT_BYTES,
    MAX_DIMENSION,
    MAX_PRODUCT,
    POLICIES,
    PRECISION,
    Inputs,
    Problem,
    Program,
    compile_product,
    make_inputs,
    prepare,
    requested_types,
)
from lab.kit.redaction import Redactor
from lab.kit.run_folder import MANIFEST, RunFolder
from lab.kit.scope import scope_of
from lab.kit.timing import WARM_UP_CALLS, sample

if TYPE_CHECKING:
    import jax

LAB = "precision_profile"
MAX_STEPS = 200

EXAMPLE = """\
examples:
  python -m lab.precision_profile --platform cpu --run-dir runs/precision-cpu --trace

  one run over two processes, here on one machine; each is started by a command of its own:
  python -m lab.precision_profile --distributed --coordinator 127.0.0.1:8476 \\
    --processes 2 --process 0 --run-dir runs/both
  python -m lab.precision_profile --distributed --coordinator 127.0.0.1:8476 \\
    --processes 2 --process 1 --run-dir runs/both
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Request(Problem):
    """What a run is asked to do."""

    platform: str
    steps: int
    trace: bool


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the lab from a command line and return its exit code."""
    request, path, place = parse(arguments)
    member = cluster.Member(place) if place else None
    try:
        folder = RunFolder.create(path, Redactor.of_this_machine())
    except LabFault as fault:
        print(f"refused: {fault}", file=sys.stderr)
        return fault.exit_code
    print(f"{LAB}: writing {path}", file=sys.stderr)
    try:
        print_results(profile(request, folder, member))
        code = 0
    except BaseException as problem:  # every end leaves a folder that says how it came about
        code = folder.fail(problem)
    if member:
        member.leave(code)
    return code


def profile(
    request: Request, folder: RunFolder, member: cluster.Member | None = None
) -> Mapping[str, Any]:
    """Make the whole run in `folder` and return its results by id."""
    flags, load_before = environment.flags(), environment.load_average()
    options = asdict(request) | {
        "warm_up_calls": WARM_UP_CALLS,
        "precision": PRECISION,
        "processes": member.place.processes if member else 1,
    }
    del options["seed"]
    folder.write_json(
        "config.json",
        {"schema": "assay/config/1", "lab": LAB, "options": options, "seed": request.seed},
    )
    folder.copy_sources(Path(__file__))
    if member:
        with folder.stage(f"meet {member.place.processes} processes"):
            member.call_the_roll(hashlib.sha256(repr(request).encode()).hexdigest())
            member.join(request.platform)
    with folder.stage(f"start {request.platform}"):
        device = backend.start(request.platform)
    with folder.stage("make inputs and their FP64 reference"):
        quantizers.require_int32_room(request.features)
        inputs = make_inputs(request)
        references = {case: reference_product(each.x, each.w) for case, each in inputs.items()}
    with folder.stage("measure the timing floor"):
        floor = timing_floor(device, request.steps)
    results: dict[str, Any] = {}
    programs: dict[str, Program] = {}
    for case in CASES:
        for policy in POLICIES:
            name = f"{case}-{policy}"
            with folder.stage(f"compile {name}"):
                operands = prepare(inputs[case], policy)
                programs[name] = compile_product(name, operands, device)
            with folder.stage(f"measure {name}"):
                results[name] = {
                    "case": case,
                    "policy": policy,
                    "input_sha256": inputs[case].sha256,
                    "requested": requested_types(policy),
                    "stored_bytes": operands.stored_bytes,
                    "quantization": operands.quantization,
                    **measure(name, programs[name], references[case], request.steps, folder),
                }
    if request.trace:
        with folder.stage("capture a trace"):
            steps = [trace.Step(inner=name, call=each.finish) for name, each in programs.items()]
            trace.capture(folder, steps, platform=request.platform)
    together = None
    if member:
        with folder.stage("gather from the other processes"):
            together = gather(member, device, results)
    with folder.stage("write the report"):
        folder.write_json(
            "report.json",
            {
                "schema": "assay/precision/1",
                "lab": LAB,
                "scope": scope_of(device),
                "request": asdict(request),
                "inputs": {case: describe_inputs(each) for case, each in inputs.items()},
                "reference": {
                    case: {"dtype": str(each.dtype), "norm": float(np.linalg.norm(each))}
                    for case, each in references.items()
                },
                "results": results,
                "timing_floor_s": floor,
                "cluster": together,
                "trace": {"steps": len(results), "summary": "trace/summary.json"}
                if request.trace
                else None,
            },
        )
        described = environment.describe(
            requested=request.platform,
            device=device,
            flags_outside=flags,
            load_before=load_before,
        )
        # Redacted before it tells what was redacted, so that its own fields are told as well.
        described = folder.redactor.mapping(described, "environment.json")
        folder.write_json("environment.json", described | {"redacted": folder.redactor.done})
        folder.seal()
    if member and member.place.index != 0:
        with folder.stage("tell process 0 what was written"):
            sealed = hashlib.sha256((folder.path / MANIFEST).read_bytes()).hexdigest()
            member.tell("sealed", member.describe(device) | {"manifest_sha256": sealed})
    return results


def gather(
    member: cluster.Member, device: "jax.Device", results: Mapping[str, Any]
) -> dict[str, Any]:
    """This process among the others, whether all outputs agree, and in process 0 who they are."""
    digests = {name: result["output"]["values_sha256"] for name, result in results.items()}
    found = member.exchange_digests(digests)
    here = member.describe(device)
    agree = {name: len({each[name] for each in found}) == 1 for name in digests}
    together = here | {"outputs_agree": agree, "gathered": None}
    if member.place.index != 0:
        return together | {"gathered_reason": "process 0 gathers"}
    own = here | {
        "manifest_sha256": None,
        "manifest_sha256_reason": "of this very folder: its manifest lists this file",
    }
    everyone = zip((own, *member.hear("sealed")), found, strict=True)
    return together | {"gathered": [facts | {"outputs": outputs} for facts, outputs in everyone]}


def timing_floor(device: "jax.Device", steps: int) -> dict[str, object]:
    """What a sample costs when there is next to nothing to compute: the clock, and one call."""
    import jax

    scalar = jax.device_put(np.float32(0), device)
    empty = jax.jit(lambda value: value).lower(scalar).compile()
    return {
        "clock": sample(lambda: None, steps=steps).as_json(),
        "empty_call": sample(lambda: empty(scalar).block_until_ready(), steps=steps).as_json(),
    }


def measure(
    name: str, program: Program, reference: NDArray[np.float64], steps: int, folder: RunFolder
) -> dict[str, object]:
    """Error, timing and memory of one program; its texts and output go to `folder`."""
    output = np.asarray(program.run())
    accuracy = compare(output, reference)
    stablehlo, hlo = f"programs/{name}.stablehlo.txt", f"programs/{name}.hlo.txt"
    kept = f"outputs/{name}.npy" if output.nbytes <= KEPT_OUTPUT_BYTES else None
    return asdict(accuracy) | {
        "timing_s": sample(program.finish, steps=steps).as_json(),
        "compiler_memory_bytes": program.memory_bytes,
        "compiler_memory_reason": no_figure(program.memory_bytes),
        "program": {
            "stablehlo": stablehlo,
            "stablehlo_sha256": folder.write_program(stablehlo, program.stablehlo),
            "hlo": hlo,
            "hlo_sha256": folder.write_program(hlo, program.hlo),
        },
        "output": {
            "file": kept,
            "file_reason": None if kept else f"not kept: over {KEPT_OUTPUT_BYTES:,} bytes",
            "sha256": folder.write_array(kept, output) if kept else None,
            "values_sha256": hashlib.sha256(output.tobytes()).hexdigest(),
            "shape": list(output.shape),
            "dtype": str(output.dtype),
        },
    }


def describe_inputs(inputs: Inputs) -> dict[str, object]:
    return {
        "sha256": inputs.sha256,
        "x_shape": list(inputs.x.shape),
        "w_shape": list(inputs.w.shape),
        "dtype": str(inputs.x.dtype),
        "example_row": inputs.x[0].tolist(),
    }


def print_results(results: Mapping[str, Any]) -> None:
    """A short table on standard output."""
    print(f"{'result':<14}{'relative L2 error':>20}{'stored bytes':>14}{'median':>12}")
    for name, result in results.items():
        error = result["relative_l2_error"]
        shown = "undefined" if error is None else f"{error:.6g}"
        median_us = result["timing_s"]["median"] * 1e6
        print(f"{name:<14}{shown:>20}{result['stored_bytes']['total']:>14,}{median_us:>9.1f} us")


def parse(arguments: Sequence[str] | None) -> tuple[Request, Path, cluster.Place | None]:
    """Read the command line; a request that cannot be run exits with code 2.

    The place is None unless the run is distributed.
    """
    parser = parser_of(
        LAB, "Measure one matrix product in FP32, BF16 and INT8 against FP64.", EXAMPLE
    )
    add_place(parser, "precision")
    add_shape(parser, MAX_DIMENSION)
    parser.add_argument(
        "--steps",
        type=whole_number(MAX_STEPS),
        default=10,
        metavar="S",
        help="timed calls each (default: 10)",
    )
    parser.add_argument("--trace", action="store_true", help="also capture a profiler trace")
    add_cluster_options(parser)
    options = vars(parser.parse_args(arguments))
    path = options.pop("run_dir") or Path("runs", f"precision-{options['platform']}")
    place = place_of(options, parser)
    if place:
        path /= f"process-{place.index}"
    request = Request(**options)
    refuse_large(parser, request.batch, request.features, request.outputs, MAX_PRODUCT)
    return request, path, place


def add_cluster_options(parser: argparse.ArgumentParser) -> None:
    """The options of a distributed run, which is started once for each process."""
    group = parser.add_argument_group("one run over several processes")
    group.add_argument(
        "--distributed", action="store_true", help="this is one of several processes"
    )
    group.add_argument(
        "--coordinator",
        type=address,
        metavar="HOST:PORT",
        help="where all others reach process 0: a host, and a port free on it",
    )
    processes, index = whole_number(cluster.MAX_PROCESSES), whole_number(10_000, low=0)
    group.add_argument("--processes", type=processes, metavar="N", help="how many there are")
    group.add_argument("--process", type=index, metavar="I", help="which this is, from 0")
    group.add_argument(
        "--timeout",
        type=whole_number(86_400),
        default=300,
        metavar="S",
        help="seconds to wait for the others before naming who is missing (default: 300)",
    )


def place_of(options: dict[str, Any], parser: argparse.ArgumentParser) -> cluster.Place | None:
    """Take the options of a distributed run out of `options`; all of them, or none, are given."""
    distributed, timeout_s = options.pop("distributed"), options.pop("timeout")
    given = {name: options.pop(name) for name in ("coordinator", "processes", "process")}
    missing = [f"--{name}" for name, value in given.items() if value is None]
    if not distributed:
        if len(missing) < len(given):
            parser.error("--coordinator, --processes and --process belong to --distributed")
        return None
    if missing:
        parser.error(f"--distributed needs {', '.join(missing)} too")
    if given["processes"] < 2 or given["process"] >= given["processes"]:
        parser.error("--processes counts two or more, and --process runs from 0 to one less")
    return cluster.Place(
        coordinator=given["coordinator"],
        processes=given["processes"],
        index=given["process"],
        timeout_s=timeout_s,
    )


def address(text: str) -> str:
    """An argparse type: a host and a port."""
    host, colon, port = text.rpartition(":")
    named = bool(re.fullmatch(r"[A-Za-z0-9._-]{1,253}|\[[0-9A-Fa-f:.]{2,45}\]", host))
    numbered = port.isascii() and port.isdecimal() and len(port) <= 5
    if not (colon and named and numbered and 1 <= int(port) <= 65_535):
        raise argparse.ArgumentTypeError(f"{text!r:.80} is not HOST:PORT, such as 10.0.0.2:8476")
    return text


if __name__ == "__main__":
    command.run(main)
