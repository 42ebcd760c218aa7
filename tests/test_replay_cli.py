"""`build.py replay`: by name, by folder, by file, and what it refuses. Distributed runs, too."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.conftest import Done, copy_project

pytestmark = pytest.mark.lab

Command = Callable[..., Done]
FOREIGN = "lab/records/replay-published/foreign/report.json"


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the project, not to be changed but below runs/."""
    return copy_project(tmp_path_factory.mktemp("replay") / "house")


def test_a_record_is_replayed_by_its_name(place: Path, assay: Command):
    done = assay(place, "replay", "precision-batch-one", "--run-dir", "runs/one")

    assert done.returncode == 0, done.stderr
    assert "balanced-int8" in done.stdout
    assert "python build.py record runs/one --as NAME" in done.stderr
    report = json.loads((place / "runs/one/report.json").read_text())
    assert report["replayed"]["name"] == "precision-batch-one"
    assert report["counts"]["differs"] == 0


def test_a_published_report_is_replayed_and_answered_as_json(place: Path, assay: Command):
    digest = "0" * 64
    words = ("--origin", "https://example.org/report.json", "--published-sha256", digest)
    done = assay(place, "replay", FOREIGN, "--run-dir", "runs/two", "--json", *words)

    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)
    assert report == json.loads((place / "runs/two/report.json").read_text())
    assert report["replayed"]["origin"] == "https://example.org/report.json"
    assert report["replayed"]["published_sha256"] == digest


def test_a_replay_becomes_a_record_with_a_page(house: Path, assay: Command):
    assert assay(house, "replay", "precision-cpu", "--run-dir", "runs/kept").returncode == 0
    assert assay(house, "record", "runs/kept", "--as", "replay-cpu").returncode == 0
    again = assay(house, "run", "replay-cpu")
    assert again.returncode == 0, again.stderr

    done = assay(house, "--out", "built")

    assert done.returncode == 0, done.stderr
    page = (house / "built/records/replay-cpu.html").read_text(encoding="utf-8")
    assert "precision-cpu" in page
    assert "Foreign evidence" not in page
    published = (house / "built/records/replay-published.html").read_text(encoding="utf-8")
    assert "Foreign evidence" in published
    assert "Not a TPU result" in published


def test_an_origin_that_is_no_address_is_no_link(house: Path, assay: Command):
    words = ("--origin", "javascript:alert(1)", "--run-dir", "runs/odd")
    assert assay(house, "replay", FOREIGN, *words).returncode == 0
    assert assay(house, "record", "runs/odd", "--as", "replay-odd").returncode == 0

    done = assay(house, "--out", "built")

    assert done.returncode == 0, done.stderr
    page = (house / "built/records/replay-odd.html").read_text(encoding="utf-8")
    assert "javascript:alert(1)" in page
    assert 'href="javascript' not in page


def test_the_published_reference_is_replayed_again_from_what_was_kept(
    place: Path, assay: Command, tmp_path: Path
):
    house = Path(shutil.copytree(place, tmp_path / "house"))
    before = (house / FOREIGN).read_bytes()

    done = assay(house, "run", "replay-published")

    assert done.returncode == 0, done.stderr
    assert (house / FOREIGN).read_bytes() == before
    config = json.loads((house / "lab/records/replay-published/config.json").read_text())
    assert config["options"]["origin"].startswith("https://")


@pytest.mark.parametrize(
    ("arguments", "code", "told"),
    [
        (("precision-cpx",), 2, "Did you mean precision-cpu"),
        (("preflight-tpu",), 2, "cannot be replayed"),
        (("nowhere.json",), 2, "There is no file nowhere.json"),
        (("lab/records/precision-cpu/config.json",), 7, "is not a report of schema 1"),
        (("precision-cpu", "--platform", "abacus"), 2, "invalid choice"),
        (("precision-cpu", "--published-sha256", "7F"), 2, "64 lower-case hexadecimal digits"),
        (("precision-cpu", "--origin", "a\nb"), 2, "one line"),
    ],
)
def test_what_cannot_be_replayed_is_refused(
    arguments: tuple[str, ...], code: int, told: str, place: Path, assay: Command
):
    run = place / "runs/refused"
    done = assay(place, "replay", *arguments, "--run-dir", run)

    assert done.returncode == code, done.stderr
    assert told in done.stderr
    assert "Traceback" not in done.stderr
    assert not run.exists()


def test_an_altered_record_is_not_replayed(place: Path, assay: Command, tmp_path: Path):
    altered = Path(shutil.copytree(place / "lab/records/precision-cpu", tmp_path / "altered"))
    (altered / "outputs/balanced-fp32.npy").write_bytes(b"")

    done = assay(place, "replay", altered, "--run-dir", tmp_path / "run")

    assert done.returncode == 7
    assert "balanced-fp32.npy" in done.stderr


def test_a_difference_ends_with_5_and_can_be_kept(place: Path, assay: Command, tmp_path: Path):
    value = json.loads((place / FOREIGN).read_text())
    value["results"][0]["relative_l2_error"] = 0.5
    (tmp_path / "report.json").write_text(json.dumps(value))

    done = assay(place, "replay", tmp_path / "report.json", "--run-dir", tmp_path / "run")

    assert done.returncode == 5
    assert "differs" in done.stdout
    assert "To keep it" in done.stderr
    assert (tmp_path / "run/manifest.sha256").is_file()


def test_a_distributed_run_needs_a_folder_that_all_processes_share(place: Path, assay: Command):
    done = assay(place, "run", "precision_profile", "--distributed", "--process", "0")

    assert done.returncode == 2
    assert "--distributed needs --run-dir" in done.stderr


def test_the_other_processes_are_passed_on_to_the_lab(place: Path, assay: Command, tmp_path: Path):
    words = ("--coordinator", "127.0.0.1:1", "--processes", "2", "--process", "1", "--timeout", "1")
    options = ("--distributed", *words, "--run-dir", tmp_path / "run")
    done = assay(place, "run", "precision_profile", *options)

    assert done.returncode == 3
    assert "process 0 of 2 gave no sign within 1 s" in done.stderr
    assert (tmp_path / "run/process-1/failure.json").is_file()
