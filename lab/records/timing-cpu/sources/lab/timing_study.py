"""The timing lab: how long the precision lab's products take, and what of that may be claimed.

Three or more fresh processes each compile every program twice and time all compilations
side by side. Two compilations of one program differ by nothing, so the difference between
their times is the smallest that means anything here.
"""

import base64
import hashlib
import json
import statistics
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from lab import timing_process
from lab.kit import command, fresh_process
from lab.kit.command import add_place, add_shape, parser_of, refuse_large, whole_number
from lab.kit.compiler_memory import no_figure
from lab.kit.faults import CheckFailed, LabFault, UsageFault
from lab.kit.interleaved import ORDERS, WARM_UP_CALLS, WARM_UP_CAP
from lab.kit.precision_product import (
    KEPT_OUTPUT_BYTES,
    MAX_DIMENSION,
    MAX_PRODUCT,
    POLICIES,
    PRECISION,
    SEED,
)
from lab.kit.redaction import Redactor
from lab.kit.run_folder import RunFolder
from lab.kit.steady import drifts, trend
from lab.timing_process import CASE, CLOCK, EMPTY, TWINS

LAB = "timing_study"
ORDER_SEED = 11
MIN_PROCESSES, MAX_PROCESSES = 3, 12
MIN_STEPS, MAX_STEPS = 10, 5_000
LIMIT_S = 900
UNSTEADY = 6
"""Exit code of a whole run with times that drifted, where `--strict` was asked for."""

EXAMPLE = """\
example:
  python -m lab.timing_study --platform cpu --processes 3 --steps 1000 --run-dir runs/timing-cpu
  python -m lab.timing_study --dispatch async --accuracy lab/records/precision-cpu
"""


class OtherProgram(LabFault):
    """What was compiled is not the program that it has to be."""

    exit_code = 7
    kind = "evidence"


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """What a run is asked to do. X is batch x features, W is features x outputs."""

    platform: str
    batch: int
    features: int
    outputs: int
    steps: int
    """Samples that each process reports of each program."""
    processes: int
    dispatch: str
    """`sync` or `async`: whether a call on a CPU returns before its result is ready."""
    order_seed: int
    """Draws the orders in which the programs take turns."""
    accuracy: str | None
    """A precision record whose programs these have to be."""
    limit_s: int
    seed: int = SEED


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the lab from a command line and return its exit code."""
    request, path, strict = parse(arguments)
    try:
        folder = RunFolder.create(path, Redactor.of_this_machine())
    except LabFault as fault:
        print(f"refused: {fault}", file=sys.stderr)
        return fault.exit_code
    print(f"{LAB}: writing {path}", file=sys.stderr)
    try:
        processes = study(request, folder)
    except BaseException as problem:  # every end leaves a folder that says how it came about
        return folder.fail(problem)
    drifting = print_results(processes)
    if drifting:
        print(f"not steady: {', '.join(drifting)}", file=sys.stderr)
    return UNSTEADY if strict and drifting else 0


def study(request: Request, folder: RunFolder) -> Mapping[str, Any]:
    """Make the whole run in `folder` and return its processes by number."""
    options = asdict(request) | {
        "warm_up_calls": WARM_UP_CALLS,
        "warm_up_cap": WARM_UP_CAP,
        "orders": ORDERS,
        "precision": PRECISION,
    }
    del options["seed"]
    folder.write_json(
        "config.json",
        {"schema": "assay/config/1", "lab": LAB, "options": options, "seed": request.seed},
    )
    folder.copy_sources(Path(__file__))
    expected = None
    if request.accuracy:
        with folder.stage(f"read {request.accuracy}"):
            expected = read_accuracy(Path(request.accuracy))
    answers: dict[str, dict[str, Any]] = {}
    for number in range(1, request.processes + 1):
        with folder.stage(f"measure in process {number} of {request.processes}"):
            answers[str(number)] = fresh_process.ask(
                timing_process.__name__,
                asdict(request) | {"process": number},
                limit_s=request.limit_s,
                tell=lambda text: print(f"    {text}", file=sys.stderr, flush=True),
            )
    with folder.stage("hold the programs against each other"):
        programs = keep_programs(answers, folder)
        require_same_setting(answers)
        if expected:
            require_accuracys_own(programs, expected, str(request.accuracy))
    processes = {number: describe_process(answer) for number, answer in answers.items()}
    first = answers["1"]
    with folder.stage("write the report"):
        folder.write_json(
            "report.json",
            {
                "schema": "assay/timing/1",
                "lab": LAB,
                "scope": first["scope"],
                "request": asdict(request),
                "case": CASE,
                "inputs": first["inputs"],
                "timer": first["timer"],
                "programs": programs,
                "processes": processes,
                "accuracy": expected,
            },
        )
        described = folder.redactor.mapping(first["environment"], "environment.json")
        folder.write_json("environment.json", described | {"redacted": folder.redactor.done})
        folder.seal()
    return processes


def keep_programs(answers: Mapping[str, Mapping[str, Any]], folder: RunFolder) -> dict[str, Any]:
    """Each program once, with its error: every process and both twins compiled the same text."""
    kept: dict[str, Any] = {}
    for policy in POLICIES:
        first = answers["1"]["programs"][policy]
        texts = {
            kind: (name := f"programs/{CASE}-{policy}.{kind}.txt", folder.write_program(name, text))
            for kind in ("stablehlo", "hlo")
            for text in (first[kind]["first"],)
        }
        for number, answer in answers.items():
            for twin in TWINS:
                for kind, (name, sha256) in texts.items():
                    text = answer["programs"][policy][kind][twin]
                    found = sha256_of(folder.redactor.text(text, name, names=False))
                    if found != sha256:
                        raise OtherProgram(
                            f"{policy}, process {number}, {twin} compilation: its {kind} is "
                            f"{found}, and {sha256} in process 1"
                        )
        output = f"outputs/{CASE}-{policy}.npy" if first["output"] else None
        memory = first["compiler_memory_bytes"]
        kept[policy] = first["accuracy"] | {
            "policy": policy,
            "input_sha256": answers["1"]["inputs"]["sha256"],
            "requested": first["requested"],
            "stored_bytes": first["stored_bytes"],
            "compiler_memory_bytes": memory,
            "compiler_memory_reason": no_figure(memory),
            "program": {
                "stablehlo": texts["stablehlo"][0],
                "stablehlo_sha256": texts["stablehlo"][1],
                "hlo": texts["hlo"][0],
                "hlo_sha256": texts["hlo"][1],
            },
            "output": {
                "file": output,
                "file_reason": None if output else f"not kept: over {KEPT_OUTPUT_BYTES:,} bytes",
                "sha256": folder.write(output, base64.b64decode(first["output"]))
                if output
                else None,
                "shape": first["shape"],
                "dtype": first["dtype"],
            },
        }
    return kept


def require_same_setting(answers: Mapping[str, Mapping[str, Any]]) -> None:
    """Refuse processes that ran on other devices or versions than the first."""
    first = answers["1"]["environment"]
    for number, answer in answers.items():
        for part in ("platform", "devices", "versions", "cpu"):
            found, expected = answer["environment"][part], first[part]
            if found != expected:
                raise CheckFailed(
                    f"process {number} ran with {part} {found}, process 1 with {expected}"
                )


def describe_process(answer: Mapping[str, Any]) -> dict[str, object]:
    """One process: in which orders, after which warm-up, under which load, and every sample."""
    return {
        "orders": answer["orders"],
        "warm_up": answer["warm_up"],
        "load_average": answer["environment"]["load_average"],
        "output_sha256": {
            policy: program["output_sha256"] for policy, program in answer["programs"].items()
        },
        "samples_ns": answer["samples_ns"],
    }


def read_accuracy(record: Path) -> dict[str, Any]:
    """The SHA-256 of each program's HLO in a precision record, and of the record itself."""
    try:
        report = json.loads((record / "report.json").read_bytes())
        manifest = (record / "manifest.sha256").read_bytes()
        hashes = {
            policy: str(report["results"][f"{CASE}-{policy}"]["program"]["hlo_sha256"])
            for policy in POLICIES
        }
    except OSError as problem:
        raise UsageFault(f"{record} is no record: {problem.strerror}") from None
    except (ValueError, LookupError, TypeError):
        raise UsageFault(f"{record} is no record of the precision lab") from None
    return {
        "record": record.name,
        "manifest_sha256": hashlib.sha256(manifest).hexdigest(),
        "hlo_sha256": hashes,
    }


def require_accuracys_own(
    programs: Mapping[str, Any], expected: Mapping[str, Any], record: str
) -> None:
    """Refuse to time other programs than those whose error the record holds."""
    differing = [
        f"{policy}: compiled {found}, recorded {wanted}"
        for policy, wanted in expected["hlo_sha256"].items()
        if (found := programs[policy]["program"]["hlo_sha256"]) != wanted
    ]
    if differing:
        raise OtherProgram(f"these are not the programs of {record}\n  " + "\n  ".join(differing))


def print_results(processes: Mapping[str, Any]) -> list[str]:
    """A short table on standard output; returns the programs that were not steady."""
    drifting = []
    print(f"{'':<14}" + "".join(f"{f'process {number}':>14}" for number in processes) + "   trend")
    for name in (*POLICIES, EMPTY, CLOCK):
        series = [f"{name}-{twin}" for twin in TWINS] if name in POLICIES else [name]
        for each in series:
            samples = [process["samples_ns"][each] for process in processes.values()]
            medians = "".join(f"{statistics.median(taken) / 1e3:>11.2f} us" for taken in samples)
            print(f"{each:<14}{medians}   {' '.join(str(trend(taken)) for taken in samples)}")
        if name in POLICIES and not steady(f"{name}-first", processes):
            drifting.append(name)
    return drifting


def steady(series: str, processes: Mapping[str, Any]) -> bool:
    """Whether a program drifted neither at the end of a warm-up nor while it was sampled."""
    warm = [process["warm_up"]["trends"][series] for process in processes.values()]
    sampled = [trend(process["samples_ns"][series]) for process in processes.values()]
    return not any(drifts([each]) for each in warm) and not drifts(sampled)


def sha256_of(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def parse(arguments: Sequence[str] | None) -> tuple[Request, Path, bool]:
    """Read the command line; a request that cannot be run exits with code 2."""
    parser = parser_of(
        LAB, "Time one matrix product in FP32, BF16 and INT8, each beside its own twin.", EXAMPLE
    )
    add_place(parser, "timing")
    add_shape(parser, MAX_DIMENSION)
    parser.add_argument(
        "--processes",
        type=whole_number(MAX_PROCESSES, low=MIN_PROCESSES),
        default=MIN_PROCESSES,
        metavar="P",
        help="fresh processes, one after the other (default: 3)",
    )
    parser.add_argument(
        "--steps",
        type=whole_number(MAX_STEPS, low=MIN_STEPS),
        default=1_000,
        metavar="S",
        help="samples of each program in each process (default: 1000)",
    )
    parser.add_argument(
        "--dispatch",
        choices=("sync", "async"),
        default="sync",
        help="whether a CPU call waits for its result itself (default: sync)",
    )
    parser.add_argument(
        "--order-seed",
        type=whole_number(999_999_999),
        default=ORDER_SEED,
        metavar="N",
        help=f"draws the orders of the programs (default: {ORDER_SEED})",
    )
    parser.add_argument(
        "--accuracy",
        metavar="RECORD",
        help="folder of a precision record: refuse to time other programs than its own",
    )
    parser.add_argument(
        "--limit",
        dest="limit_s",
        type=whole_number(86_400),
        default=LIMIT_S,
        metavar="S",
        help=f"seconds that one process may take (default: {LIMIT_S})",
    )
    parser.add_argument(
        "--strict", action="store_true", help="exit with code 6 when a program is not steady"
    )
    options = vars(parser.parse_args(arguments))
    path = options.pop("run_dir") or Path("runs", f"timing-{options['platform']}")
    strict = options.pop("strict")
    request = Request(**options)
    refuse_large(parser, request.batch, request.features, request.outputs, MAX_PRODUCT)
    if request.dispatch == "async" and request.platform != "cpu":
        parser.error("--dispatch async is for the CPU; other devices always return early")
    return request, path, strict


if __name__ == "__main__":
    command.run(main)
