"""The sweep lab: what it records, what it refuses, and that nothing timed was removed."""

import hashlib
import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from lab.batch_sweep import MAX_POSITIONS, Request, make_inputs, narrow, parse
from lab.kit import backend, caches, kept_work, rounds, streams
from lab.kit.faults import CheckFailed

pytestmark = pytest.mark.lab

Lab = Callable[..., subprocess.CompletedProcess[str]]

TINY = (
    *("--batches", "1,2,8", "--features", "32", "--outputs", "16"),
    *("--arrays-kib", "4,64", "--squares", "16,32", "--rounds", "2", "--samples", "3"),
)
POINTS = [f"{policy}-m{m}" for policy in ("fp32", "bf16", "int8") for m in (1, 2, 8)]


@pytest.fixture(scope="module")
def folder(run_lab: Lab, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of a few small programs."""
    path = tmp_path_factory.mktemp("sweep") / "run"
    done = run_lab("batch_sweep", *TINY, "--run-dir", path)
    assert done.returncode == 0, done.stderr
    return path


@pytest.fixture(scope="module")
def report(folder: Path) -> Any:
    return json.loads((folder / "report.json").read_text())


def test_every_program_is_recorded_with_its_text_and_all_its_samples(
    folder: Path, report: Any
) -> None:
    probe, points = report["probe"], report["results"]
    rows = probe["stream"] | probe["matrix"] | points

    assert list(points) == sorted(POINTS)
    assert len(probe["stream"]) == 3 * 2
    assert len(probe["matrix"]) == 3 * 2
    for name, row in rows.items():
        timing, program = row["timing_s"], row["program"]
        assert len(timing["samples"]) == 2 * 3, name
        assert all(calls >= rounds.WARM_UP_CALLS for calls in timing["warm_up_calls"])
        assert timing["minimum"] == min(timing["samples"])
        assert timing["median"] == np.median(timing["samples"])
        for kind in ("stablehlo", "hlo"):
            text = (folder / program[kind]).read_bytes()
            assert hashlib.sha256(text).hexdigest() == program[f"{kind}_sha256"]
        assert row["compiler_memory_bytes"]["argument"] > 0
        accessed, reason = (
            row["compiler_accessed_bytes"],
            row["compiler_accessed_bytes_reason"],
        )
        assert (accessed is None) == (reason is not None)


def test_each_round_visits_every_program_in_an_order_of_its_own(report: Any) -> None:
    first, second = report["order"]
    everything = {"clock", "empty_call", *report["probe"]["stream"], *report["probe"]["matrix"]}

    assert set(first) == set(second) == everything | set(report["results"])
    assert first != second


def test_work_is_counted_in_flop_or_op_and_rescaling_apart(report: Any) -> None:
    points = report["results"]

    assert points["bf16-m8"]["work"] == "FLOP"
    assert points["bf16-m8"]["operations"] == 2 * 8 * 32 * 16
    assert points["bf16-m8"]["rescale_flop"] == 0
    assert points["int8-m8"]["work"] == "OP"
    assert points["int8-m8"]["rescale_flop"] == 2 * 8 * 16
    assert report["probe"]["matrix"]["int8-square-32"]["work"] == "OP"
    assert report["probe"]["matrix"]["int8-square-32"]["rescale_flop"] == 0


def test_stored_bytes_are_those_of_the_policy(report: Any) -> None:
    stored = {name: row["stored_bytes"] for name, row in report["results"].items()}

    assert (stored["fp32-m2"]["x_values"], stored["fp32-m2"]["w_values"]) == (256, 2048)
    assert (stored["bf16-m2"]["x_values"], stored["bf16-m2"]["w_values"]) == (128, 1024)
    assert stored["bf16-m2"]["scales"] == 0
    assert stored["int8-m2"] == {
        "x_values": 2 * 32,
        "w_values": 32 * 16,
        "x_scales": 4 * 2,
        "w_scales": 4 * 16,
        "values": 64 + 512,
        "scales": 8 + 64,
        "total": 64 + 512 + 8 + 64,
    }
    assert report["results"]["int8-m2"]["output"]["bytes"] == 4 * 2 * 16


def test_streams_count_each_array_once(report: Any) -> None:
    moved = {
        name: (row["arrays"], row["moved_bytes"]) for name, row in report["probe"]["stream"].items()
    }

    assert moved["copy-64kib"] == moved["scale-64kib"] == (2, 2 * 65_536)
    assert moved["triad-64kib"] == (3, 3 * 65_536)


def test_dispatch_and_seed_are_part_of_what_was_asked(folder: Path, report: Any) -> None:
    config = json.loads((folder / "config.json").read_text())

    assert report["request"]["dispatch"] == config["options"]["dispatch"] == "synchronous"
    assert report["request"]["seed"] == config["seed"] == 17
    assert config["options"]["batches"] == [1, 2, 8]


def test_dispatch_elsewhere_than_on_a_cpu_is_not_called_synchronous() -> None:
    request, _ = parse(["--platform", "tpu"])

    assert request.dispatch == "asynchronous"


def test_ceilings_and_points_name_the_machine_of_the_environment(folder: Path, report: Any) -> None:
    environment = json.loads((folder / "environment.json").read_text())
    machine = {
        "platform": "cpu",
        "device_kind": environment["devices"]["used"]["kind"],
        "cpu_model": environment["cpu"]["model"],
    }

    assert report["probe"]["machine"] == report["machine"] == machine


def test_the_manifest_covers_every_file_and_the_sources_are_copies(
    folder: Path, project: Path
) -> None:
    lines = (folder / "manifest.sha256").read_text().splitlines()
    listed = {line[66:]: line[:64] for line in lines}
    there = {
        path.relative_to(folder).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in folder.rglob("*")
        if path.is_file() and path.name != "manifest.sha256"
    }

    assert listed == there
    copied = folder / "sources/lab/batch_sweep.py"
    assert copied.read_bytes() == (project / "lab/batch_sweep.py").read_bytes()


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["--batches", "1,1025"], "1,025 x 1,024 x 1,024 is 1,074,790,400"),
        (["--squares", "128,1025"], "1,025 x 1,025 x 1,025 is 1,076,890,625"),
        (["--batches", "1,2048", "--squares", "2048"], "2,048 x 1,024 x 1,024 is 2,147,483,648; 2"),
        (["--batches", "0"], "'0' is not a whole number from 1 to 1048576"),
        (["--batches", "1,,2"], "'' is not a whole number"),
        (["--batches", ",".join(map(str, range(1, 40)))], "39 numbers; at most 32"),
        (["--arrays-kib", "1048577"], "from 1 to 1048576"),
        (["--samples", "1001"], "from 1 to 1000"),
        (["--rounds", "1e3"], "'1e3' is not a whole number"),
        (["--batch", "4"], "unrecognized arguments"),
    ],
)
def test_a_request_out_of_bounds_is_refused_with_the_numbers(
    arguments: list[str], told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as caught:
        parse(arguments)

    said = capsys.readouterr().err
    assert caught.value.code == 2
    assert told in said
    if " x " in told:
        assert f"at most {MAX_POSITIONS:,} multiply positions" in said


def test_the_limit_itself_is_accepted() -> None:
    request, path = parse(["--batches", "1024,1,1024", "--squares", "1024"])

    assert request.batches == (1, 1024)
    assert 1024 * request.features * request.outputs == MAX_POSITIONS
    assert path == Path("runs/sweep-cpu")


def test_what_is_already_there_stays_untouched(run_lab: Lab, tmp_path: Path) -> None:
    target = tmp_path / "run"
    target.mkdir()
    (target / "report.json").write_text("mine")

    done = run_lab("batch_sweep", *TINY, "--run-dir", target)

    assert done.returncode == 2
    assert "already there" in done.stderr
    assert (target / "report.json").read_text() == "mine"


def test_a_platform_that_is_not_here_is_told_and_never_replaced(
    run_lab: Lab, tmp_path: Path
) -> None:
    done = run_lab("batch_sweep", "--platform", "gpu", *TINY, "--run-dir", tmp_path / "run")
    failure = json.loads((tmp_path / "run/failure.json").read_text())

    assert done.returncode == 3
    assert failure["kind"] == "missing"
    assert not (tmp_path / "run/report.json").exists()


def test_smaller_batches_take_the_first_rows_of_the_largest() -> None:
    request = Request(
        platform="cpu",
        batches=(1, 4),
        features=8,
        outputs=3,
        arrays_kib=(4,),
        squares=(4,),
        rounds=1,
        samples=1,
    )
    x, w = make_inputs(request)
    codes, scales = narrow(x, w, "int8")[0]

    assert x.shape == (4, 8)
    assert np.array_equal(narrow(x[:1], w, "int8")[0][0], codes[:1])
    assert np.abs(codes * scales - x).max() <= scales.max() / 2


FOLDED = """\
HloModule jit_product
ENTRY %main (x: f32[4,8]) -> f32[4,2] {
  %x = f32[4,8]{1,0} parameter(0)
  %w = f32[8,2]{1,0} constant({...})
  ROOT %dot = f32[4,2]{1,0} dot(%x, %w), lhs_contracting_dims={1}, rhs_contracting_dims={0}
}
"""
REMOVED = """\
HloModule jit_product
ENTRY %main (x: f32[4,8], w: f32[8,2]) -> f32[4,2] {
  %x = f32[4,8]{1,0} parameter(0)
  %w = f32[8,2]{1,0} parameter(1)
  %zero = f32[] constant(0)
  ROOT %all = f32[4,2]{1,0} broadcast(%zero), dimensions={}
}
"""
HALVED = """\
HloModule jit_product
ENTRY %main (x: f32[2,8], w: f32[8,2]) -> f32[2,2] {
  %x = f32[2,8]{1,0} parameter(0)
  %w = f32[8,2]{1,0} parameter(1)
  ROOT %dot = f32[2,2]{1,0} dot(%x, %w), lhs_contracting_dims={1}, rhs_contracting_dims={0}
}
"""


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (FOLDED, "a constant of 16 elements: the compiler worked the answer out ahead"),
        (REMOVED, "holds no matrix product"),
        (HALVED, "does 64 operations, not 128"),
        ("not a program", "cannot be read"),
    ],
)
def test_a_product_that_was_removed_or_worked_out_ahead_is_refused(text: str, told: str) -> None:
    with pytest.raises(CheckFailed, match=told):
        kept_work.product("p", text, positions=4 * 8 * 2, smallest=16)


def test_a_stream_that_does_nothing_any_more_is_refused() -> None:
    with pytest.raises(CheckFailed, match="holds no multiply of 32 elements"):
        kept_work.elementwise("scale-1kib", REMOVED, elements=32, any_of=("multiply",))


def test_a_conversion_of_the_whole_weight_is_recorded(report: Any) -> None:
    kept = report["results"]["bf16-m1"]["kept"]

    assert kept["level"] == "optimized-hlo"
    assert kept["operations"] == 2 * 32 * 16
    assert {row["from"] for row in kept["converts"]} <= {"bf16"}


@pytest.mark.parametrize("kernel", streams.KERNELS, ids=lambda kernel: kernel.name)
def test_streams_write_what_they_should_and_wrong_results_are_refused(
    kernel: streams.Kernel,
) -> None:
    device = backend.start("cpu")
    arrays = streams.Arrays(5000, device)
    with pytest.raises(CheckFailed, match=f"{kernel.name}: element 0 is 0.0"):
        arrays.require_right(kernel)

    compiled = streams.lower(kernel, 5000, device).compile()
    arrays.run(kernel, compiled)
    arrays.run(kernel, compiled)

    arrays.require_right(kernel)


def test_a_round_times_every_call_as_often_as_asked() -> None:
    made: list[str] = []
    calls = {name: (lambda name=name: made.append(name)) for name in "ab"}
    series = {name: rounds.Series() for name in "ab"}
    for order in rounds.orders(["a", "b"], 2, seed=3):
        rounds.take(calls, series, order, samples=4)

    for name, each in series.items():
        assert len(each.samples_s) == 8
        assert made.count(name) == 8 + sum(each.warm_up_calls)
        assert min(each.samples_s) >= 0


def test_orders_repeat_themselves_for_a_seed() -> None:
    names = [f"n{i}" for i in range(20)]

    assert rounds.orders(names, 3, seed=1) == rounds.orders(names, 3, seed=1)
    assert rounds.orders(names, 3, seed=1) != rounds.orders(names, 3, seed=2)


def test_caches_are_read_as_linux_lists_them(tmp_path: Path) -> None:
    for index, (level, kind, size, cores) in enumerate(
        [
            ("1", "Data", "48K", "0"),
            ("1", "Instruction", "32K", "0"),
            ("3", "Unified", "32M", "0-3,8"),
        ]
    ):
        place = tmp_path / f"index{index}"
        place.mkdir()
        for name, text in (
            ("level", level),
            ("type", kind),
            ("size", size),
            ("shared_cpu_list", cores),
        ):
            (place / name).write_text(f"{text}\n")

    assert caches.data_caches(tmp_path) == (
        [
            {"level": 1, "bytes": 49_152, "cores": 1},
            {"level": 3, "bytes": 33_554_432, "cores": 5},
        ],
        None,
    )


def test_caches_that_are_not_told_are_unknown_and_never_zero(tmp_path: Path) -> None:
    assert caches.data_caches(tmp_path) == (None, caches.NOT_TOLD)
    (tmp_path / "index0").mkdir()
    for name in ("level", "type", "size", "shared_cpu_list"):
        (tmp_path / "index0" / name).write_text("Data")
    assert caches.data_caches(tmp_path) == (None, caches.NOT_TOLD)
