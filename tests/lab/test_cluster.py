"""Several processes, one run: each writes, the first gathers, and nobody waits in vain."""

import hashlib
import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from lab.precision_profile import parse

pytestmark = pytest.mark.lab

SMALL = ("--batch", "4", "--features", "8", "--outputs", "4", "--steps", "1")
PATIENCE_S = 240
"""A limit for a machine in trouble. No test expects anything of how long a thing takes."""

Process = subprocess.Popen[str]
Start = Callable[..., Process]


@pytest.fixture
def port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as free:
        number: int = free.getsockname()[1]
    return number


@pytest.fixture
def start(project: Path, tmp_path: Path, port: int) -> Start:
    """Start process `index` of a run: start(1, timeout=5, processes=3, options=["--trace"])."""
    started: list[Process] = []

    def call(
        index: int, *, timeout: int = 200, processes: int = 2, options: tuple[str, ...] = SMALL
    ) -> Process:
        process = subprocess.Popen(
            [
                *(sys.executable, "-m", "lab.precision_profile", "--distributed"),
                *("--coordinator", f"127.0.0.1:{port}", "--processes", str(processes)),
                *("--process", str(index), "--timeout", str(timeout)),
                *("--run-dir", str(tmp_path / "run"), *options),
            ],
            cwd=project,
            env=os.environ | {"XLA_FLAGS": "--xla_force_host_platform_device_count=2"},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
        )
        started.append(process)
        return process

    yield call
    for process in started:
        if process.poll() is None:
            process.kill()
        process.wait()
        if process.stderr:
            process.stderr.close()


def ended(process: Process) -> str:
    """What a process said until its end."""
    return process.communicate(timeout=PATIENCE_S)[1]


def said(process: Process, words: str) -> None:
    """Wait until a process says `words`."""
    assert process.stderr is not None
    for line in process.stderr:
        if words in line:
            return
    pytest.fail(f"it ended without saying {words!r}")


def failure(folder: Path) -> dict[str, object]:
    found: dict[str, object] = json.loads((folder / "failure.json").read_text())
    return found


def test_two_processes_measure_and_the_first_one_gathers(start: Start, tmp_path: Path) -> None:
    processes = [start(index, options=(*SMALL, "--trace")) for index in (0, 1)]
    told = [ended(process) for process in processes]

    assert [process.returncode for process in processes] == [0, 0], "\n".join(told)
    first, second = (tmp_path / "run" / f"process-{index}" for index in (0, 1))
    reports = [json.loads((folder / "report.json").read_text()) for folder in (first, second)]
    statement = "CPU arithmetic reference. Not a TPU result. One device of 4 over 2 processes."
    assert [report["scope"]["statement"] for report in reports] == [statement] * 2
    assert reports[1]["cluster"]["gathered"] is None
    assert reports[1]["cluster"]["gathered_reason"] == "process 0 gathers"

    gathered = reports[0]["cluster"]["gathered"]
    assert [each["index"] for each in gathered] == [0, 1]
    assert [each["local_devices"] for each in gathered] == [[0, 1], [2048, 2049]]
    assert [each["device"] for each in gathered] == [0, 2048]
    assert all(each["global_devices"] == [0, 1, 2048, 2049] for each in gathered)
    manifest = hashlib.sha256((second / "manifest.sha256").read_bytes()).hexdigest()
    assert [each["manifest_sha256"] for each in gathered] == [None, manifest]
    for name, result in reports[1]["results"].items():
        assert gathered[1]["outputs"][name] == result["output"]["values_sha256"]
        equal = gathered[0]["outputs"][name] == gathered[1]["outputs"][name]
        assert reports[0]["cluster"]["outputs_agree"][name] is equal
    for index, folder in enumerate((first, second)):
        devices = json.loads((folder / "environment.json").read_text())["devices"]
        assert devices["process_count"], devices["process_index"] == (2, index)
        assert len(list(folder.glob("trace/plugins/profile/*/host0.xplane.pb"))) == 1


@pytest.mark.parametrize(("present", "missing"), [(0, "process 1"), (1, "process 0")])
def test_a_process_that_never_comes_is_named(
    present: int, missing: str, start: Start, tmp_path: Path
) -> None:
    process = start(present, timeout=3)
    told = ended(process)

    assert process.returncode == 3
    assert f"{missing} of 2 gave no sign within 3 s" in told
    assert "Traceback" not in told
    found = failure(tmp_path / f"run/process-{present}")
    assert (found["kind"], found["stage"]) == ("missing", "meet 2 processes")
    assert not (tmp_path / f"run/process-{present}/report.json").exists()


def test_all_that_are_missing_are_named_to_all_that_came(start: Start) -> None:
    processes = [start(index, timeout=15, processes=4) for index in (0, 2)]
    told = [ended(process) for process in processes]

    assert [process.returncode for process in processes] == [3, 3]
    assert all("processes 1, 3 of 4 gave no sign" in each for each in told), told


LARGE = ("--batch", "256", "--features", "256", "--outputs", "256", "--steps", "200")


def test_a_process_that_is_lost_on_the_way_is_named(start: Start, tmp_path: Path) -> None:
    first, second = start(0, timeout=12, options=LARGE), start(1, timeout=12, options=LARGE)
    said(second, "compile balanced-fp32")
    second.kill()
    told = ended(first)

    assert first.returncode == 3, told
    assert "process 1 of 2 gave no sign within 12 s" in told
    found = failure(tmp_path / "run/process-0")
    assert "measure outlier-int8" in found["finished"]  # type: ignore[operator]


def test_without_process_0_nobody_waits_and_no_run_looks_whole(
    start: Start, tmp_path: Path
) -> None:
    first, second = start(0, options=LARGE), start(1, options=LARGE)
    said(first, "compile balanced-fp32")
    first.kill()
    told = ended(second)

    assert second.returncode != 0
    assert "coordination service" in told
    assert not (tmp_path / "run/process-1/report.json").exists()
    assert not (tmp_path / "run/process-1/manifest.sha256").exists()


def test_processes_that_were_asked_for_different_things_are_refused(start: Start) -> None:
    processes = [start(0), start(1, options=("--batch", "5"))]
    told = [ended(process) for process in processes]

    assert [process.returncode for process in processes] == [2, 2]
    assert all("process 1 was asked for another measurement" in each for each in told)


def test_two_processes_with_one_number_are_refused(start: Start, tmp_path: Path) -> None:
    first = start(0, processes=3)
    said(first, "meet 3 processes")
    twins = [start(1, processes=3)]
    said(twins[0], "meet 3 processes")
    # The second twin needs a folder of its own to come this far.
    (tmp_path / "run/process-1").rename(tmp_path / "run/aside")
    twins.append(start(1, processes=3))

    assert "two processes call themselves 1" in ended(first)
    assert first.returncode == 2


def test_a_stranger_on_the_port_is_not_taken_for_a_process(start: Start, port: int) -> None:
    process = start(0, timeout=8)
    said(process, "meet 2 processes")
    for words in (b"GET / HTTP/1.1\r\n\r\n", b'{"process": "1"}\n', b"[" * 5000):
        while True:
            try:
                with socket.create_connection(("127.0.0.1", port), timeout=1) as connection:
                    connection.sendall(words)
                break
            except ConnectionRefusedError:
                if process.poll() is not None:
                    break
    told = ended(process)

    assert process.returncode == 3
    assert "process 1 of 2 gave no sign" in told


@pytest.mark.skipif(os.name == "nt", reason="signals are sent another way")
def test_ctrl_c_is_heard_while_waiting(start: Start, tmp_path: Path) -> None:
    process = start(0)
    said(process, "meet 2 processes")
    process.send_signal(signal.SIGINT)
    ended(process)

    assert process.returncode == 130
    assert failure(tmp_path / "run/process-0")["stage"] == "interrupted"


FULL = ("--distributed", "--coordinator", "10.0.0.2:8476", "--processes", "2", "--process", "1")


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (FULL[:1], "--distributed needs --coordinator, --processes, --process too"),
        (FULL[:5], "--distributed needs --process too"),
        (FULL[1:], "belong to --distributed"),
        ((*FULL[:-1], "2"), "runs from 0 to one less"),
        ((*FULL[:4], "1", "--process", "0"), "counts two or more"),
        ((*FULL[:2], "10.0.0.2", *FULL[3:]), "is not HOST:PORT"),
        ((*FULL[:2], "10.0.0.2:0", *FULL[3:]), "is not HOST:PORT"),
        ((*FULL[:2], "a b:80", *FULL[3:]), "is not HOST:PORT"),
        ((*FULL, "--timeout", "0"), "from 1 to 86400"),
    ],
)
def test_a_place_that_cannot_be_is_refused(
    arguments: tuple[str, ...], told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as caught:
        parse(arguments)

    assert caught.value.code == 2
    assert told in capsys.readouterr().err


def test_a_place_has_a_folder_of_its_own() -> None:
    _, path, place = parse([*FULL, "--run-dir", "runs/both"])

    assert path == Path("runs/both/process-1")
    assert place is not None
    assert place.address == ("10.0.0.2", 8476)
