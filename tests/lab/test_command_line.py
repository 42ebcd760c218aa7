"""What the lab refuses, what it leaves behind, and how it says so."""

import hashlib
import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from lab.kit.compiler_memory import no_figure
from lab.precision_profile import parse

pytestmark = pytest.mark.lab

Lab = Callable[..., subprocess.CompletedProcess[str]]


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["--batch", "0"], "'0' is not a whole number from 1 to 2048"),
        (["--features", "2049"], "'2049' is not a whole number from 1 to 2048"),
        (["--outputs", "-1"], "'-1' is not a whole number from 1 to 2048"),
        (["--outputs", "6.4"], "'6.4' is not a whole number"),
        (["--batch", "1_000"], "'1_000' is not a whole number"),
        (["--batch", "9" * 5000], "is not a whole number"),
        (["--batch", "٣"], "is not a whole number"),
        (["--steps", "0"], "from 1 to 200"),
        (["--steps", "201"], "from 1 to 200"),
        (["--platform", "cuda"], "invalid choice"),
        (["--batch", "2048", "--features", "2048", "--outputs", "5"], "is 20,971,520"),
        (["--bat", "4"], "unrecognized arguments"),
    ],
)
def test_a_request_out_of_bounds_is_refused(
    arguments: list[str], told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as caught:
        parse(arguments)

    assert caught.value.code == 2
    assert told in capsys.readouterr().err


def test_bounds_themselves_are_accepted() -> None:
    request, path, place = parse(["--batch", "2048", "--features", "2048", "--outputs", "4"])

    assert (request.batch, request.features, request.outputs) == (2048, 2048, 4)
    assert path == Path("runs/precision-cpu")
    assert place is None


@pytest.mark.parametrize("module", ["precision_profile", "check_precision"])
def test_help_holds_an_example(module: str, run_lab: Lab) -> None:
    done = run_lab(module, "--help")

    assert done.returncode == 0
    assert f"python -m lab.{module}" in done.stdout.split("example")[1]


@pytest.mark.parametrize("kind", ["folder", "file", "dangling link"])
def test_what_is_already_there_stays_untouched(kind: str, run_lab: Lab, tmp_path: Path) -> None:
    target = tmp_path / "run"
    if kind == "folder":
        target.mkdir()
        (target / "report.json").write_text("mine")
    elif kind == "file":
        target.write_text("mine")
    else:
        target.symlink_to(tmp_path / "nowhere")
    before = snapshot(tmp_path)

    done = run_lab("precision_profile", "--run-dir", target)

    assert done.returncode == 2
    assert "already there" in done.stderr
    assert "Traceback" not in done.stderr
    assert snapshot(tmp_path) == before


def test_a_folder_that_cannot_be_made_is_refused(run_lab: Lab, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("mine")

    done = run_lab("precision_profile", "--run-dir", tmp_path / "file" / "run")

    assert done.returncode == 2
    assert "cannot be made" in done.stderr


@pytest.mark.parametrize("platform", ["tpu", "gpu"])
@pytest.mark.parametrize("setting", [None, "{platform},cpu", "cpu"])
def test_a_missing_backend_fails_and_never_falls_back(
    platform: str, setting: str | None, run_lab: Lab, tmp_path: Path
) -> None:
    environment = {"JAX_PLATFORMS": setting.format(platform=platform)} if setting else {}
    run = tmp_path / "run"

    done = run_lab("precision_profile", "--platform", platform, "--run-dir", run, **environment)
    if done.returncode == 0:
        pytest.skip(f"this machine has a {platform}")

    assert done.returncode == 3
    assert "Traceback" not in done.stderr
    failure = json.loads((run / "failure.json").read_text())
    assert failure["schema"] == "assay/failure/1"
    assert failure["stage"] == f"start {platform}"
    assert failure["kind"] == "missing"
    assert failure["message"].startswith(f"no {platform} here, and no fallback")
    assert failure["finished"] == []
    assert not (run / "report.json").exists()
    assert_sealed(run)


@pytest.mark.skipif(os.name == "nt", reason="signals are sent another way")
@pytest.mark.parametrize("sent", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_run_says_so_and_leaves_no_report(
    sent: signal.Signals, project: Path, tmp_path: Path
) -> None:
    run = tmp_path / "run"
    large = ["--batch", "2048", "--features", "8", "--outputs", "1024", "--steps", "200"]
    command = [sys.executable, "-m", "lab.precision_profile", "--run-dir", str(run), *large]
    with subprocess.Popen(command, cwd=project, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        for line in process.stderr:
            if "measure balanced-fp32" in line:
                process.send_signal(sent)
                break
        told = process.stderr.read()

    assert process.returncode == 130
    assert "Traceback" not in told
    failure = json.loads((run / "failure.json").read_text())
    assert failure["stage"] == "interrupted"
    assert "compile balanced-fp32" in failure["finished"]
    assert not (run / "report.json").exists()
    assert_sealed(run)


def test_only_the_first_of_several_devices_is_used(run_lab: Lab, tmp_path: Path) -> None:
    flags = f"--xla_force_host_platform_device_count=3 --xla_dump_to={tmp_path / 'dump'}"
    small = ["--batch", "1", "--features", "7", "--outputs", "3", "--steps", "1"]

    done = run_lab("precision_profile", "--run-dir", tmp_path / "run", *small, XLA_FLAGS=flags)

    assert done.returncode == 0, done.stderr
    environment = json.loads((tmp_path / "run/environment.json").read_text())
    assert environment["devices"]["count"] == 3
    assert environment["devices"]["used"]["id"] == 0
    assert environment["flags"]["XLA_FLAGS"].endswith("--xla_dump_to=<path>")
    assert environment["redacted"] == ["environment.json: absolute path"]
    report = json.loads((tmp_path / "run/report.json").read_text())
    assert report["trace"] is None
    assert not (tmp_path / "run/trace").exists()


def snapshot(folder: Path) -> dict[str, bytes | str]:
    return {
        path.relative_to(folder).as_posix(): str(path.readlink())
        if path.is_symlink()
        else path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_symlink() or path.is_file()
    }


def assert_sealed(run: Path) -> None:
    lines = (run / "manifest.sha256").read_text().splitlines()
    names = [line.split("  ", 1)[1] for line in lines]
    files = [path for path in run.rglob("*") if path.is_file() and path.name != "manifest.sha256"]
    assert names == sorted(path.relative_to(run).as_posix() for path in files)
    for line in lines:
        digest, name = line.split("  ", 1)
        assert hashlib.sha256((run / name).read_bytes()).hexdigest() == digest, name


def test_a_figure_that_the_compiler_does_not_give_has_its_reason():
    assert no_figure({"argument": 4, "peak": 4}) is None
    assert no_figure({"argument": 4, "peak": None}) == "the compiler reports no figure for peak"
