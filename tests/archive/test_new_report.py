"""Can someone with a run of their own reach a signed release by following the README?"""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.archive.conftest import make_key, pin_of
from tests.archive.test_release import verdict
from tests.conftest import Command

pytestmark = pytest.mark.skipif(not shutil.which("ssh-keygen"), reason="no ssh-keygen")


def answer(report: Path) -> None:
    """Fill in what `check` asks for, as a person would."""
    text = report.read_text(encoding="utf-8")
    text = text.replace("title: null ", "title: INT8 for one row, on hold ")
    text = text.replace("date: null ", "date: 2026-12-02 ")
    text = text.replace("    - null", "    - A finer scale has been measured.")
    text = text.replace("platform: null", "platform: CPU arithmetic reference.")
    report.write_text(re.sub(r": null\b", ': "None: not asked here."', text), encoding="utf-8")


def test_a_run_of_ones_own_becomes_a_signed_release(house, assay: Command, tmp_path):
    run = house / "lab/records/precision-batch-one"  # another shape, as a run folder
    steps = [
        ("record", run, "--as", "one-row", "--content", "mine"),
        ("new", "report", "one-row", "--record", "one-row", "--content", "mine"),
    ]
    for step in steps:
        done = assay(house, *step)
        assert done.returncode == 0, done.stderr
    report = house / "mine/reports/one-row.yaml"

    done = assay(house, "check", "--content", "mine")
    assert done.returncode == 8
    for field in ("title", "date", "target.statement", "decision.statement", "decision.until"):
        assert field in done.stderr
    text = report.read_text(encoding="utf-8")
    assert "platform: CPU arithmetic reference. Not a TPU result." in text

    answer(report)
    for step in (
        ("check", "--content", "mine"),
        ("release", "one-row", "--content", "mine"),
        ("sign", "releases/one-row-1", "--key", make_key(tmp_path / "key"), "--principal", "me"),
        ("rebuild", "releases/one-row-1"),
    ):
        done = assay(house, *step)
        assert done.returncode == 0, done.stderr
    assert verdict(house / "releases/one-row-1.zip", pin_of(tmp_path / "key"))["exit"] == 0


def test_a_report_that_is_there_stays_as_it_is(house, assay: Command):
    before = (house / "content/reports/precision-cpu.yaml").read_bytes()

    done = assay(house, "new", "report", "precision-cpu")

    assert done.returncode == 2
    assert (house / "content/reports/precision-cpu.yaml").read_bytes() == before


@pytest.mark.parametrize("name", ["My Report", "../x", "", "-x"])
def test_a_name_that_cannot_name_a_release_is_refused(house, assay: Command, name):
    assert assay(house, "new", "report", "--", name).returncode == 2


def test_every_line_of_the_form_explains_itself_or_holds_text(house, assay: Command):
    assert assay(house, "new", "report", "plain", "--content", "own").returncode == 0
    text = (house / "own/reports/plain.yaml").read_text(encoding="utf-8")

    unexplained = [line for line in text.splitlines() if re.search(r": null\s*$", line)]
    assert unexplained == []
    done = assay(house, "check", "--content", "own")
    assert done.returncode == 8
    assert "YOUR-RECORD" not in subprocess.list2cmdline([done.stdout])
