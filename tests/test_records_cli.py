"""A run becomes a record, and a record is replaced, renamed, removed and measured again."""

import json
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import PROJECT, Command, tree

RECORD = "lab/records/precision-cpu"
RECORDS = sorted(os.listdir(PROJECT / "lab/records"))


@pytest.fixture
def run(house: Path) -> Path:
    """A finished run of today's lab, as a colleague might hand it over."""
    return Path(shutil.copytree(house / RECORD, house / "runs" / "colleague"))


def edit_lab(house: Path) -> None:
    with (house / "lab/precision_profile.py").open("a", encoding="utf-8") as source:
        source.write("# edited\n")


def test_a_run_becomes_a_record_byte_for_byte(assay: Command, house: Path, run: Path):
    done = assay(house, "record", run, "--as", "precision-mine")

    assert done.returncode == 0, done.stderr
    assert tree(house / "lab/records/precision-mine") == tree(run)
    assert assay(house, "check").returncode == 0


def test_a_record_keeps_nothing_that_its_manifest_does_not_list(assay: Command, house, run):
    (run / "note.txt").write_text("added", encoding="utf-8")

    done = assay(house, "record", run, "--as", "precision-mine")

    assert done.returncode == 7
    assert "note.txt" in done.stderr
    assert not (house / "lab/records/precision-mine").exists()


def test_a_record_is_never_replaced_unasked(assay: Command, house, run):
    before = tree(house / RECORD)

    done = assay(house, "record", run, "--as", "precision-cpu")

    assert done.returncode == 2
    assert "--replace" in done.stderr
    assert tree(house / RECORD) == before


def test_a_record_is_replaced_when_asked(assay: Command, house: Path):
    other = tree(house / "lab/records/precision-batch-one")

    done = assay(
        house,
        "record",
        house / "lab/records/precision-batch-one",
        "--as",
        "precision-cpu",
        "--replace",
    )

    assert done.returncode == 0, done.stderr
    assert tree(house / RECORD) == other
    assert sorted(os.listdir(house / "lab/records")) == RECORDS


def test_a_run_of_another_lab_is_kept_only_as_historic(assay: Command, house: Path, run: Path):
    edit_lab(house)

    refused = assay(house, "record", run, "--as", "precision-old")
    kept = assay(house, "record", run, "--as", "precision-old", "--allow-stale")

    assert refused.returncode == 7
    assert "precision_profile.py" in refused.stderr
    assert kept.returncode == 0, kept.stderr
    assert "historic" in kept.stdout


@pytest.mark.parametrize(
    "name", ["study", "chips", "../up", "Loud", "a b", "", ".hidden", "x" * 64, "con", "lpt1"]
)
def test_a_name_that_cannot_be_a_pointer_is_refused(assay: Command, house: Path, run: Path, name):
    before = tree(house / "lab")

    done = assay(house, "record", run, "--as", name)

    assert done.returncode == 2
    assert tree(house / "lab") == before


def test_a_record_is_renamed_and_removed(assay: Command, house: Path):
    before = tree(house / RECORD)

    renamed = assay(house, "record", "--rename", "precision-cpu", "precision-first")
    assert renamed.returncode == 0, renamed.stderr
    assert tree(house / "lab/records/precision-first") == before
    assert not (house / RECORD).exists()

    removed = assay(house, "record", "--remove", "precision-first")
    assert removed.returncode == 0, removed.stderr
    assert sorted(os.listdir(house / "lab/records")) == [
        name for name in RECORDS if name != "precision-cpu"
    ]


def test_a_mistyped_record_is_answered_with_near_names(assay: Command, house: Path):
    done = assay(house, "record", "--remove", "precision-gpu")

    assert done.returncode == 2
    assert "precision-cpu" in done.stderr


def test_what_a_killed_change_left_over_is_cleared(assay: Command, house: Path, run: Path):
    records = house / "lab/records"
    (records / ".new").mkdir()
    shutil.copytree(run, records / ".new/precision-cpu")
    (records / ".old").mkdir()
    (records / "precision-cpu").rename(records / ".old/precision-cpu")

    done = assay(house, "record", run, "--as", "precision-mine")

    assert done.returncode == 0, done.stderr
    assert sorted(os.listdir(records)) == sorted([*RECORDS, "precision-mine"])
    assert tree(records / "precision-cpu") == tree(run)


def test_records_of_a_content_folder_of_ones_own_stay_in_it(assay: Command, house, run):
    before = tree(house / "lab")

    done = assay(house, "record", run, "--as", "precision-mine", "--content", house / "mine")

    assert done.returncode == 0, done.stderr
    assert tree(house / "mine/records/precision-mine") == tree(run)
    assert tree(house / "lab") == before


def test_the_next_command_is_for_the_same_content(assay: Command, house: Path, run: Path):
    mine = house / "my texts"

    kept = assay(house, "record", run, "--as", "precision-mine", "--content", mine)
    shared = assay(house, "record", run, "--as", "precision-mine")

    new = "python build.py new report precision-mine --record precision-mine"
    assert kept.stdout.endswith(f"Next: {new} --content '{mine}'\n")
    assert shared.stdout.endswith(f"Next: {new}\n")
    edit_lab(house)
    stale = assay(house, "check", "--content", mine)
    assert f"measure again: python build.py run precision-mine --content '{mine}'\n" in stale.stderr


def test_a_failed_run_is_named_by_its_stage_and_is_to_be_run_again(assay: Command, house, run):
    (run / "report.json").unlink()
    shutil.copy(PROJECT / "tests/broken/record-of-a-failure/record/failure.json", run)

    done = assay(house, "record", run, "--as", "precision-mine")

    assert done.returncode == 7
    assert "failed at backend: no TPU is visible" in done.stderr
    assert done.stderr.endswith("Run it again: python build.py run precision_profile\n")
    assert not (house / "lab/records/precision-mine").exists()


def test_without_jax_measuring_is_refused_and_says_how_to_add_it(assay, house, tmp_path):
    (tmp_path / "sitecustomize.py").write_text("import sys\nsys.modules['jax'] = None\n", "utf-8")

    done = assay(house, "run", "precision_profile", PYTHONPATH=str(tmp_path))

    assert done.returncode == 3
    assert "make lab" in done.stderr
    assert not (house / "runs").exists()


@pytest.mark.parametrize(("targets", "command"), [("v5e", "make tpu"), ("cpu", "make lab")])
def test_without_jax_a_preflight_says_what_adds_all_it_needs(
    assay, house, tmp_path, targets, command
):
    (tmp_path / "sitecustomize.py").write_text("import sys\nsys.modules['jax'] = None\n", "utf-8")

    done = assay(house, "preflight", "x:y", "--targets", targets, PYTHONPATH=str(tmp_path))

    assert done.returncode == 3
    assert done.stderr.endswith(f": {command}\n")


def test_what_is_neither_lab_nor_record_is_refused(assay: Command, house: Path):
    done = assay(house, "run", "precision-cup")

    assert done.returncode == 2
    assert "precision-cpu" in done.stderr


@pytest.mark.lab
def test_a_record_is_measured_again_with_its_own_options(assay: Command, house: Path):
    before = json.loads((house / RECORD / "config.json").read_bytes())
    edit_lab(house)
    assert assay(house, "check").returncode == 7

    done = assay(house, "run", "precision-cpu")

    assert done.returncode == 0, done.stderr
    assert json.loads((house / RECORD / "config.json").read_bytes()) == before
    assert sorted(os.listdir(house / "lab/records")) == RECORDS
    left = assay(house, "check")
    assert left.returncode == 7
    assert "precision-batch-one" in left.stderr
    assert "precision-cpu" not in left.stderr


@pytest.mark.lab
def test_a_lab_writes_a_new_run_folder_each_time(assay: Command, house: Path):
    small = ("--batch", "1", "--features", "7", "--outputs", "3", "--steps", "1")

    first = assay(house, "run", "precision_profile", *small)
    second = assay(house, "run", "precision_profile", *small)

    assert (first.returncode, second.returncode) == (0, 0), first.stderr + second.stderr
    assert sorted(os.listdir(house / "runs")) == ["precision-profile-1", "precision-profile-2"]
    assert "record runs/precision-profile-1 --as NAME\n" in first.stdout


@pytest.mark.lab
@pytest.mark.parametrize(
    ("option", "value", "code"), [("--batch", "0", 2), ("--platform", "tpu", 3)]
)
def test_the_exit_code_of_the_lab_passes_through(assay: Command, house: Path, option, value, code):
    done = assay(house, "run", "precision_profile", option, value, "--run-dir", "runs/refused")

    assert done.returncode == code, done.stderr


@pytest.mark.lab
def test_ctrl_c_while_measuring_leaves_the_record_and_says_how_far_the_lab_came(house: Path):
    before = tree(house / RECORD)
    for arguments in (["precision-cpu"], ["precision_profile", "--run-dir", "runs/stopped"]):
        running = subprocess.Popen(
            [sys.executable, "build.py", "run", *arguments],
            cwd=house,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        assert running.stderr is not None
        assert any("compile" in line for line in running.stderr)
        os.killpg(running.pid, signal.SIGINT)
        told = running.communicate(timeout=60)[1]
        assert running.returncode == 130, told

    assert tree(house / RECORD) == before
    assert sorted(os.listdir(house / "lab/records")) == RECORDS
    stopped = json.loads((house / "runs/stopped/failure.json").read_bytes())
    assert stopped["stage"] == "interrupted"


@pytest.mark.lab
def test_a_record_stays_when_measuring_it_again_fails(assay: Command, house: Path):
    before = tree(house / RECORD)
    (house / "lab/kit/quantizers.py").write_text("raise SystemExit(5)\n", encoding="utf-8")

    done = assay(house, "run", "precision-cpu")

    assert done.returncode == 5
    assert tree(house / RECORD) == before
    assert sorted(os.listdir(house / "lab/records")) == RECORDS
