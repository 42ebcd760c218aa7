"""The timing lab: what it takes turns at, what it keeps, and what it refuses.

No test asks how long anything took.
"""

import gc
import json
import os
import random
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from lab import timing_study
from lab.kit import fresh_process, interleaved
from lab.kit.faults import BackendMissing, UsageFault
from lab.kit.fresh_process import ProcessLost, ask
from lab.kit.interleaved import LEAD_CALLS, ORDERS, WARM_UP_CAP, draw_orders, take, warm_up
from lab.kit.redaction import Redactor
from lab.kit.run_folder import RunFolder
from lab.kit.steady import BLOCKS, drift_limit, drifts, trend
from lab.timing_study import OtherProgram, keep_programs, parse, print_results
from report.numbers import steadiness

pytestmark = pytest.mark.lab

Lab = Callable[..., subprocess.CompletedProcess[str]]

NAMES = ("fp32-first", "fp32-second", "empty-call", "clock")


@pytest.fixture(scope="module")
def timed(run_lab: Lab, project: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run with few samples, made now."""
    folder = tmp_path_factory.mktemp("timing") / "run"
    record = project / "lab/records/precision-cpu"
    done = run_lab("timing_study", "--steps", "20", "--run-dir", folder, "--accuracy", record)
    assert done.returncode == 0, done.stderr
    return folder


def read(folder: Path, name: str = "report.json") -> dict[str, Any]:
    found: dict[str, Any] = json.loads((folder / name).read_text())
    return found


def test_every_process_took_every_sample_in_its_own_recorded_orders(timed: Path) -> None:
    report = read(timed)

    assert sorted(report["processes"]) == ["1", "2", "3"]
    for number, process in report["processes"].items():
        series = process["samples_ns"]
        assert sorted(series) == sorted(process["orders"][0])
        assert {len(samples) for samples in series.values()} == {20}
        assert all(type(ns) is int and ns >= 0 for samples in series.values() for ns in samples)
        names = list(process["orders"][0])
        assert {tuple(sorted(order)) for order in process["orders"]} == {tuple(sorted(names))}
        assert len(process["orders"]) == ORDERS
        assert 1_000 <= process["warm_up"]["calls"] <= WARM_UP_CAP
        first = [
            f"{policy}-{twin}" for policy in ("fp32", "bf16", "int8") for twin in timing_study.TWINS
        ]
        expected = draw_orders((*first, "empty-call", "clock"), 11, int(number))
        assert process["orders"] == expected


def test_accuracy_and_time_are_of_one_program(timed: Path, project: Path) -> None:
    report, precision = read(timed), read(project / "lab/records/precision-cpu")

    assert report["accuracy"]["record"] == "precision-cpu"
    for policy, program in report["programs"].items():
        recorded = precision["results"][f"balanced-{policy}"]
        assert program["program"]["hlo_sha256"] == recorded["program"]["hlo_sha256"]
        assert program["relative_l2_error"] == pytest.approx(recorded["relative_l2_error"])
        assert (timed / program["program"]["hlo"]).is_file()
        assert (timed / program["output"]["file"]).is_file()
    for process in report["processes"].values():
        for twins in process["output_sha256"].values():
            assert twins["first"] == twins["second"]


def test_the_request_and_the_environment_tell_the_dispatch(timed: Path) -> None:
    assert read(timed)["request"]["dispatch"] == "sync"
    assert read(timed, "config.json")["options"]["dispatch"] == "sync"
    assert read(timed, "environment.json")["flags"]["jax_cpu_enable_async_dispatch"] is False


def test_asynchronous_dispatch_is_recorded_where_it_was_asked_for(
    run_lab: Lab, tmp_path: Path
) -> None:
    small = ["--batch", "2", "--features", "3", "--outputs", "4", "--steps", "10"]

    done = run_lab("timing_study", *small, "--dispatch", "async", "--run-dir", tmp_path / "run")

    assert done.returncode == 0, done.stderr
    flags = read(tmp_path / "run", "environment.json")["flags"]
    assert flags["jax_cpu_enable_async_dispatch"] is True
    assert read(tmp_path / "run")["accuracy"] is None


def test_programs_of_another_record_are_refused_with_both_hashes(
    run_lab: Lab, project: Path, tmp_path: Path
) -> None:
    other = tmp_path / "other"
    shutil.copytree(project / "lab/records/precision-cpu", other)
    report = read(other)
    compiled = report["results"]["balanced-int8"]["program"]["hlo_sha256"]
    report["results"]["balanced-int8"]["program"]["hlo_sha256"] = "0" * 64
    (other / "report.json").write_text(json.dumps(report))

    done = run_lab(
        "timing_study", "--steps", "10", "--run-dir", tmp_path / "run", "--accuracy", other
    )

    assert done.returncode == 7
    assert "Traceback" not in done.stderr
    failure = read(tmp_path / "run", "failure.json")
    assert failure["kind"] == "evidence"
    assert f"int8: compiled {compiled}, recorded {'0' * 64}" in failure["message"]
    assert "fp32" not in failure["message"]
    assert not (tmp_path / "run/report.json").exists()


@pytest.mark.parametrize("kind", ["nothing", "another lab", "no JSON"])
def test_what_is_no_precision_record_is_refused(kind: str, tmp_path: Path) -> None:
    record = tmp_path / "record"
    if kind != "nothing":
        record.mkdir()
        (record / "manifest.sha256").write_text("")
        (record / "report.json").write_text("{}" if kind == "another lab" else "{")

    with pytest.raises(UsageFault, match="is no record"):
        timing_study.read_accuracy(record)


def answer(hlo: str = "HloModule a") -> dict[str, Any]:
    """What a process answers of its programs, without JAX."""
    program = {
        "requested": {},
        "stored_bytes": {},
        "compiler_memory_bytes": {},
        "stablehlo": {"first": "module", "second": "module"},
        "hlo": {"first": "HloModule a", "second": hlo},
        "output": None,
        "shape": [1],
        "dtype": "float32",
        "accuracy": {},
    }
    programs = dict.fromkeys(timing_study.POLICIES, program)
    return {"inputs": {"sha256": ""}, "programs": programs}


def test_twins_and_processes_must_have_compiled_the_same_text(tmp_path: Path) -> None:
    nobody = Redactor(hosts=[], users=[], folders=[])

    same = RunFolder.create(tmp_path / "same", nobody)
    assert set(keep_programs({"1": answer(), "2": answer()}, same)) == {"fp32", "bf16", "int8"}

    for name, answers in (
        ("twin", {"1": answer("HloModule b")}),
        ("process", {"1": answer(), "2": answer("HloModule b")}),
    ):
        with pytest.raises(OtherProgram) as caught:
            keep_programs(answers, RunFolder.create(tmp_path / name, nobody))
        told = [word.strip(",") for word in str(caught.value).split() if len(word.strip(",")) == 64]
        assert len(set(told)) == 2
        assert f"process {len(answers)}, second compilation" in str(caught.value)


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["--processes", "2"], "'2' is not a whole number from 3 to 12"),
        (["--processes", "13"], "from 3 to 12"),
        (["--steps", "9"], "'9' is not a whole number from 10 to 5000"),
        (["--steps", "5001"], "from 10 to 5000"),
        (["--steps", "1_000"], "is not a whole number"),
        (["--dispatch", "lazy"], "invalid choice"),
        (["--dispatch", "async", "--platform", "tpu"], "for the CPU"),
        (["--limit", "0"], "from 1 to 86400"),
        (["--batch", "2048", "--features", "2048", "--outputs", "5"], "is 20,971,520"),
    ],
)
def test_a_request_out_of_bounds_is_refused(
    arguments: list[str], told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as caught:
        parse(arguments)

    assert caught.value.code == 2
    assert told in capsys.readouterr().err


def test_help_holds_an_example(run_lab: Lab) -> None:
    done = run_lab("timing_study", "--help")

    assert done.returncode == 0
    assert "python -m lab.timing_study" in done.stdout.split("example")[1]


def test_a_missing_backend_fails_and_never_falls_back(run_lab: Lab, tmp_path: Path) -> None:
    done = run_lab("timing_study", "--platform", "tpu", "--run-dir", tmp_path / "run")
    if done.returncode == 0:
        pytest.skip("this machine has a tpu")

    assert done.returncode == 3
    assert "Traceback" not in done.stderr
    failure = read(tmp_path / "run", "failure.json")
    assert failure["kind"] == "missing"
    assert failure["stage"] == "measure in process 1 of 3"


@pytest.mark.skipif(os.name == "nt", reason="signals are sent another way")
def test_an_interrupted_run_says_so_and_leaves_no_process(project: Path, tmp_path: Path) -> None:
    run = tmp_path / "run"
    large = ["--batch", "2048", "--features", "8", "--outputs", "1024", "--steps", "5000"]
    command = [sys.executable, "-m", "lab.timing_study", "--run-dir", str(run), *large]
    with subprocess.Popen(command, cwd=project, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        for line in process.stderr:
            if "warm up" in line:
                children = list(descendants(process.pid))
                process.send_signal(signal.SIGINT)
                break
        told = process.stderr.read()

    assert process.returncode == 130
    assert "Traceback" not in told
    assert read(run, "failure.json")["stage"] == "interrupted"
    assert not (run / "report.json").exists()
    assert children
    assert not [child for child in children if Path(f"/proc/{child}").exists()]


def descendants(parent: int) -> Sequence[int]:
    """The processes that a process started."""
    tasks = Path(f"/proc/{parent}/task").glob("*/children")
    return [int(child) for task in tasks for child in task.read_text().split()]


def test_a_process_without_an_answer_in_time_is_stopped() -> None:
    question: dict[str, Any] = {"platform": "cpu", "dispatch": "sync"}

    with pytest.raises(UsageFault, match=r"no answer within 0\.1 s"):
        ask("lab.timing_process", question, limit_s=0.1, tell=print)


def test_a_process_that_dies_tells_its_last_words() -> None:
    with pytest.raises(ProcessLost, match="exit code 1 and no answer") as caught:
        ask("lab.timing_process", {}, limit_s=60, tell=print)

    assert "KeyError: 'platform'" in str(caught.value)


def test_the_process_says_by_hand_that_it_is_no_lab(run_lab: Lab) -> None:
    done = run_lab("timing_process")

    assert done.returncode == 1
    assert done.stderr == "This module answers a lab, which starts it.\n"


def test_a_refusal_crosses_processes_as_what_it_is() -> None:
    fault = fresh_process._fault("missing", "no tpu here")

    assert isinstance(fault, BackendMissing)
    assert fault.exit_code == 3


def results(first: Sequence[int], warm: int = 0) -> dict[str, Any]:
    """Three processes; in the last, FP32 took `first` and its warm-up ended with a trend."""
    level = [20_000, 20_010] * 50
    names = [f"{policy}-{twin}" for policy in timing_study.POLICIES for twin in timing_study.TWINS]

    def process(fp32: Sequence[int], trends: int) -> dict[str, Any]:
        series = dict.fromkeys((*names, "empty-call", "clock"), level)
        return {
            "samples_ns": series | {"fp32-first": fp32},
            "warm_up": {"trends": dict.fromkeys(names, 0) | {"fp32-first": trends}},
        }

    return {"1": process(level, 0), "2": process(level, 0), "3": process(first, warm)}


def test_what_drifts_is_named_and_strict_earns_its_exit_code(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    level, falling = [20_000, 20_010] * 50, range(30_000, 20_000, -100)
    assert print_results(results(level)) == []
    assert print_results(results(falling)) == ["fp32"]
    assert print_results(results(level, warm=-23)) == ["fp32"]

    monkeypatch.setattr(timing_study, "study", lambda *_: results(falling))
    codes = [
        timing_study.main(["--run-dir", str(tmp_path / name), *strict])
        for name, strict in (("lenient", []), ("strict", ["--strict"]))
    ]

    assert codes == [0, 6]
    assert "not steady: fp32" in capsys.readouterr().err


def test_orders_are_drawn_from_the_seed_and_hold_everything_once() -> None:
    orders = draw_orders(NAMES, seed=11, process=1)

    assert orders == draw_orders(NAMES, seed=11, process=1)
    assert orders != draw_orders(NAMES, seed=11, process=2)
    assert orders != draw_orders(NAMES, seed=12, process=1)
    assert all(sorted(order) == sorted(NAMES) for order in orders)
    assert len({tuple(order) for order in orders}) > 1


def test_calls_take_turns_and_only_the_lead_is_left_out() -> None:
    made: list[str] = []
    calls = {name: (lambda name=name: made.append(name)) for name in NAMES}
    orders = draw_orders(NAMES, seed=1, process=1)
    collecting = gc.isenabled()

    samples = take(calls, orders, 40)

    rounds = LEAD_CALLS + 40
    assert made == [name for turn in range(rounds) for name in orders[turn % ORDERS]]
    assert {name: len(taken) for name, taken in samples.items()} == dict.fromkeys(NAMES, 40)
    assert gc.isenabled() == collecting


def test_the_collector_is_off_while_samples_are_taken() -> None:
    seen: set[bool] = set()

    take({"a": lambda: seen.add(gc.isenabled())}, [["a"]], 10)

    assert seen == {False}
    assert gc.isenabled()


@pytest.mark.parametrize("settles_after", [1, 3, None])
def test_the_warm_up_goes_on_while_a_watched_call_drifts(
    settles_after: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    stretches = 0

    def pretend(_calls: Any, _orders: Any, rounds: int) -> dict[str, list[int]]:
        nonlocal stretches
        stretches += 1
        settled = settles_after is not None and stretches >= settles_after
        watched = [100] * rounds if settled else list(range(rounds, 0, -1))
        return {"watched": watched, "other": list(range(rounds))}

    monkeypatch.setattr(interleaved, "take", pretend)

    made, trends = warm_up({}, [], watched=["watched"])

    stretch = interleaved.LEAD_CALLS + interleaved.WARM_UP_CALLS
    assert made == (settles_after * stretch if settles_after else WARM_UP_CAP)
    assert trends == {"watched": 0 if settles_after else -45, "other": 45}


def test_the_lab_and_the_report_find_the_same_trends_and_limits() -> None:
    generator = random.Random(5)

    for count in (10, 11, 99, 1000):
        samples = [generator.randrange(10_000) for _ in range(count)]
        assert trend(samples) == steadiness.trend_of(samples).s
    for series in range(1, 13):
        assert drift_limit(series) == steadiness.drift_limit(BLOCKS, series)
    assert drifts([-23])
    assert not drifts([-22])
    assert not drifts([-23, 0, 0])
    assert drifts([0, 0, 27])
