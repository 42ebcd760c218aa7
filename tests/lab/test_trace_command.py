"""`python -m lab.trace`: what a path may be, and what a refusal says."""

import gzip
import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from lab.trace import main
from tests.lab.spaces import Event, Line, host, steps, tpu, xspace

EVENTS = [{"ph": "X", "pid": 1, "tid": 1, "name": "f", "ts": 0, "dur": 5}]


def trace_json() -> bytes:
    return gzip.compress(json.dumps({"traceEvents": EVENTS}).encode(), mtime=0)


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """An XProf tree of one run, with the three files that JAX writes."""
    pytest.importorskip("jax")
    run = tmp_path / "captured" / "plugins" / "profile" / "2026_01_02_03_04_05"
    run.mkdir(parents=True)
    (run / "secret.xplane.pb").write_bytes(xspace(host(Line("main", steps(2)))))
    (run / "secret.trace.json.gz").write_bytes(trace_json())
    (run / "perfetto_trace.json.gz").write_bytes(trace_json())
    return tmp_path / "captured"


def call(*arguments: object) -> int:
    return main([str(argument) for argument in arguments])


def told(capsys: pytest.CaptureFixture[str]) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    return found


@pytest.mark.lab
@pytest.mark.parametrize("level", ["", "plugins", "plugins/profile", "plugins/profile/*", "*"])
def test_every_level_of_a_tree_works(
    tree: Path, level: str, capsys: pytest.CaptureFixture[str]
) -> None:
    (path,) = tree.glob(level) if "*" in level else [tree / level]

    assert call(path, "--json") == 0
    summary = told(capsys)
    assert [source["name"] for source in summary["sources"]] == ["host0.xplane.pb"]
    assert {each["name"] for each in summary["sources_aside"]} == {
        "host0.trace.json.gz",
        "perfetto_trace.json.gz",
    }
    assert "secret" not in json.dumps(summary)


@pytest.mark.lab
def test_a_folder_is_read_and_not_written_into(tree: Path) -> None:
    before = sorted(tree.rglob("*"))

    assert call(tree) == 0
    assert sorted(tree.rglob("*")) == before


@pytest.mark.lab
def test_several_runs_are_named_and_none_is_chosen(
    tree: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    profile = tree / "plugins" / "profile"
    shutil.copytree(profile / "2026_01_02_03_04_05", profile / "2026_01_02_03_04_06")

    assert call(tree) == 2
    message = capsys.readouterr().err
    assert "holds 2 captured runs; name one of them" in message
    assert "plugins/profile/2026_01_02_03_04_06" in message


@pytest.mark.lab
def test_hosts_and_processes_are_named_and_the_missing_ones_too(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for process, lasts in ((0, 700), (2, 800)):
        folder = tmp_path / "run" / f"process{process}" / "trace" / "plugins" / "profile" / "one"
        folder.mkdir(parents=True)
        data = xspace(host(Line("main", steps(2, lasts=lasts))))
        (folder / "vm.xplane.pb").write_bytes(data)

    assert call(tmp_path / "run", "--json") == 0
    summary = told(capsys)
    assert summary["processes"] == {"present": [0, 2], "missing": [1]}
    assert [source["process"] for source in summary["sources"]] == [0, 2]
    words = {each["id"]: each["words"] for each in summary["findings"]}
    assert words["processes-missing"].startswith("No trace of process 1;")
    assert len(summary["clocks"]) == 2


@pytest.mark.lab
def test_a_run_that_says_tpu_needs_a_device_in_its_trace(
    tree: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = tree.parent / "run"
    shutil.copytree(tree, run / "trace")
    environment = {"platform": {"requested": "tpu", "actual": "tpu"}}
    (run / "environment.json").write_text(json.dumps(environment))

    assert call(run) == 5
    assert "says tpu, but its trace shows no device" in capsys.readouterr().err
    assert call(run, "--platform", "cpu") == 0
    (space,) = run.rglob("*.xplane.pb")
    space.write_bytes(xspace(tpu(0, ops=[Event("%f = f32[] fusion()", 0, 5)])))
    assert call(run) == 0


@pytest.mark.lab
def test_a_run_that_counts_its_steps_needs_them_in_its_trace(
    tree: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = tree.parent / "run"
    shutil.copytree(tree, run / "trace")
    (run / "environment.json").write_text(json.dumps({"platform": {"requested": "cpu"}}))
    for count, code in ((2, 0), (6, 5)):
        (run / "report.json").write_text(json.dumps({"trace": {"steps": count}}))
        assert call(run) == code
    assert "host0.xplane.pb holds 2 steps, not 6" in capsys.readouterr().err


@pytest.mark.lab
def test_what_is_expected_of_the_steps_is_checked(
    tree: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert call(tree, "--expect-steps", "train,2") == 0
    assert call(tree, "--expect-steps", "train,3") == 5
    assert call(tree, "--expect-steps", "train") == 2
    assert "a name and a count" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("name", "data", "message"),
    [
        ("a.xplane.pb", b"", "is empty: it has 0 bytes"),
        ("a.trace.json", b"", "is empty: it has 0 bytes"),
        ("a.xplane.pb", b"<!DOCTYPE html><title>404</title>", "is a web page"),
        ("a.xplane.pb", b"version https://git-lfs.github.com/spec/v1\noid x", "LFS pointer"),
        ("a.trace.json", b'{"a": 1}', "an object without traceEvents, with a"),
    ],
)
def test_a_file_that_is_no_profile_is_refused_in_one_line(
    tmp_path: Path,
    name: str,
    data: bytes,
    message: str,
    capsys: pytest.CaptureFixture[str],
) -> None:
    (tmp_path / name).write_bytes(data)

    assert call(tmp_path / name) == 5
    said = capsys.readouterr().err
    assert message in said
    assert said.count("\n") == 1


@pytest.mark.lab
@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('hostnames: "h"', "holds no plane"),
        ('planes { id: 1 name: "/device:TPU:0" }', "holds no event with a time; its planes: /dev"),
    ],
)
def test_zero_planes_and_zero_events_are_two_failures(
    tmp_path: Path, text: str, message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    from jax.profiler import ProfileData

    path = tmp_path / "a.xplane.pb"
    path.write_bytes(ProfileData.text_proto_to_serialized_xspace(text))

    assert call(path) == 5
    assert message in capsys.readouterr().err


@pytest.mark.lab
def test_a_damaged_xspace_tells_what_befell_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    whole = xspace(host(Line("main", [Event(f"é{n}", 1000 * n, 900) for n in range(300)])))
    path = tmp_path / "a.xplane.pb"

    path.write_bytes(whole[: len(whole) // 2])
    assert call(path) == 5
    assert "It is cut short, damaged, or of another kind." in capsys.readouterr().err

    filtered = whole.decode("ascii", "replace").encode()
    path.write_bytes(filtered)
    assert call(path) == 5
    count = filtered.count("\ufffd".encode())
    assert f"It holds {count:,} replacement characters" in capsys.readouterr().err


def test_nothing_there_and_nothing_in_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert call(tmp_path / "nowhere") == 2
    assert "does not exist; a profile is a run folder" in capsys.readouterr().err
    assert call(tmp_path) == 2
    assert "holds no profile" in capsys.readouterr().err


def test_an_xspace_without_jax_exits_3_with_the_command_that_adds_it(tmp_path: Path) -> None:
    path = tmp_path / "a.xplane.pb"
    path.write_bytes(b"\n\x02\x08\x01")
    code = (
        "import sys\n"
        "sys.modules['jax'] = None\n"
        "from lab.trace import main\n"
        f"sys.exit(main([{str(path)!r}]))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=False,
        cwd=Path(__file__).parents[2],
    )

    assert done.returncode == 3
    assert "pip install 'jax" in done.stderr
    assert "Traceback" not in done.stderr


def test_the_summary_is_written_whole_and_over_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path, out = tmp_path / "someone.trace.json.gz", tmp_path / "summary.json"
    path.write_bytes(trace_json())

    assert call(path, "--out", out) == 0
    assert json.loads(out.read_text())["schema"] == "assay/trace-summary/2"
    capsys.readouterr()
    assert call(path, "--out", out) == 2
    assert "already there" in capsys.readouterr().err
    assert call(path, "--out", tmp_path / "no" / "where.json") == 2


def test_findings_come_before_numbers_on_the_terminal(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "someone.trace.json.gz"
    path.write_bytes(trace_json())

    assert call(path) == 0
    said = capsys.readouterr().out
    assert said.index("There is no device lane") < said.index("busy ms")
