"""The site is swapped in whole: no kill, no refusal and no wrong folder harms the one before."""

import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from report.folder import state
from tests.conftest import Command, tree

LESSON = "content/lessons/choose-measure-profile.md"


def say_more(house: Path, text: str) -> None:
    with (house / LESSON).open("a", encoding="utf-8") as lesson:
        lesson.write(f"\n{text}\n")


def start(house: Path) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "build.py"],
        cwd=house,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def test_a_kill_at_any_moment_leaves_a_whole_site_that_the_next_build_goes_on_from(
    assay: Command, house: Path
):
    begin = time.monotonic()
    say_more(house, "Before.")
    assert assay(house).returncode == 0
    whole = time.monotonic() - begin
    moments = 12
    for moment in range(1, moments + 1):
        say_more(house, f"Kill {'i' * moment}.")
        running = start(house)
        time.sleep(whole * moment / moments)
        os.killpg(running.pid, signal.SIGKILL)
        running.communicate()

        found = state(house / "site")
        assert found is not None
        assert found.intact, moment

    done = assay(house)
    assert done.returncode == 0, done.stderr
    assert f"Kill {'i' * moments}." in (
        house / "site/lessons/choose-measure-profile.html"
    ).read_text("utf-8")
    assert not list(house.glob("site.assay-*"))


def test_ctrl_c_leaves_nothing_half_written(house: Path):
    before = tree(house / "site")
    shutil.rmtree(house / ".cache")
    say_more(house, "Changed.")

    running = start(house)
    assert running.stderr is not None
    assert any(line.startswith("Drawing") for line in running.stderr)
    os.killpg(running.pid, signal.SIGINT)
    _, told = running.communicate(timeout=60)

    assert running.returncode == 130, told
    assert "Traceback" not in told
    assert tree(house / "site") == before
    assert not list(house.glob("site.assay-*"))


PLACES = (".", "/", "..", "content", "content/site", "lab/records", "lab/site", ".git/site")
"""Seen from the project; an absolute one is itself."""


def a_file(house: Path) -> Path:
    (house / "taken").write_text("mine", encoding="utf-8")
    return house / "taken"


def a_folder_of_mine(house: Path) -> Path:
    (house / "taken").mkdir()
    (house / "taken" / "mine.txt").write_text("mine", encoding="utf-8")
    return house / "taken"


def a_link(house: Path) -> Path:
    (house / "taken").symlink_to(house / "site")
    return house / "taken"


@pytest.mark.parametrize(
    "out",
    [
        *(lambda house, name=name: house / name for name in PLACES),
        a_file,
        a_folder_of_mine,
        a_link,
    ],
    ids=[*PLACES, "a file", "a folder of mine", "a link"],
)
def test_a_folder_that_is_not_a_site_of_ours_is_refused(assay: Command, house: Path, out):
    target = out(house)
    before = tree(house)

    done = assay(house, "build", "--out", target)

    assert done.returncode == 2, done.stderr
    assert "Traceback" not in done.stderr
    after = {path: data for path, data in tree(house).items() if not path.startswith(".cache/")}
    assert after == {path: data for path, data in before.items() if not path.startswith(".cache/")}
