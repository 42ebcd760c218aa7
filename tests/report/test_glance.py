"""Is an unchanged project answered at a glance, and does no edit hide from it?"""

import os
import time
from pathlib import Path

import pytest

from report.glance import Glance
from report.inputs import PARTS

PAGE = "site/index.html"
LESSON = "content/lesson.md"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A project as far as a glance knows one, its files a moment old."""
    root = tmp_path / "house"
    for part in PARTS:
        place = root / part if "." in part else root / part / "file.txt"
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(f"{part}\n")
    for name in (PAGE, LESSON, "site/records/a/report.json"):
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text("as it was\n")
    (root / ".cache").mkdir()
    time.sleep(0.05)
    return root


def glance(root: Path) -> Glance:
    return Glance(str(root), str(root / "content"), str(root / "site"))


def settle(root: Path) -> None:
    """As after a build that read everything and found nothing changed."""
    found = glance(root)
    found.begin()
    found.end(unchanged=True)


def test_what_was_read_and_found_unchanged_is_unchanged(root: Path):
    assert not glance(root).unchanged()
    settle(root)

    assert glance(root).unchanged()
    assert [path.name for path in (root / ".cache").iterdir()] == ["glance"]


@pytest.mark.parametrize("name", [PAGE, LESSON, "report/file.txt", "base.lock"])
def test_an_edit_of_the_same_size_with_its_time_put_back_is_seen(root: Path, name: str):
    settle(root)
    before = (root / name).stat()
    text = (root / name).read_bytes()
    (root / name).write_bytes(text[::-1])
    os.utime(root / name, ns=(before.st_atime_ns, before.st_mtime_ns))

    after = (root / name).stat()
    assert (after.st_size, after.st_mtime_ns) == (before.st_size, before.st_mtime_ns)
    assert not glance(root).unchanged()


def test_another_file_in_the_place_of_one_is_seen(root: Path):
    settle(root)
    other = root / ".other.md"
    other.write_text("as it was\n")
    os.utime(other, ns=(0, (root / LESSON).stat().st_mtime_ns))
    other.replace(root / LESSON)

    assert not glance(root).unchanged()


@pytest.mark.parametrize(
    "change",
    [
        lambda root: (root / "content/new.md").write_text("new"),
        lambda root: (root / LESSON).unlink(),
        lambda root: (root / "site/stray.txt").write_text(""),
        lambda root: (root / "site/.hidden").write_text(""),
        lambda root: (root / "site/empty").mkdir(),
        lambda root: (root / PAGE).unlink(),
        lambda root: (root / PAGE).chmod(0o600),
    ],
    ids=["new", "gone", "stray", "hidden", "empty folder", "page gone", "mode"],
)
def test_what_comes_goes_or_changes_its_mode_is_seen(root: Path, change):
    settle(root)
    change(root)

    assert not glance(root).unchanged()


def test_what_is_no_input_is_not_looked_at(root: Path):
    settle(root)
    (root / "content/.editor-swap").write_text("")
    (root / "report/__pycache__").mkdir()
    (root / "report/__pycache__/x.pyc").write_text("")

    assert glance(root).unchanged()


def test_a_page_that_became_a_link_to_itself_is_seen(root: Path):
    settle(root)
    (root / PAGE).rename(root / "index.html")
    (root / PAGE).symlink_to(root / "index.html")

    assert not glance(root).unchanged()


def test_a_linked_input_is_noted_as_what_it_leads_to(root: Path):
    elsewhere = root / "elsewhere.md"
    elsewhere.write_text("one")
    (root / "content/linked.md").symlink_to(elsewhere)
    time.sleep(0.05)
    settle(root)
    assert glance(root).unchanged()
    elsewhere.write_text("two")

    assert not glance(root).unchanged()


def test_a_file_as_young_as_the_reading_is_read_again(root: Path):
    """It may be edited once more within one tick of the clock, and no time would tell."""
    ahead = time.time_ns() + 10**10
    os.utime(root / LESSON, ns=(ahead, ahead))
    settle(root)

    assert not glance(root).unchanged()
    assert list((root / ".cache").iterdir()) == []


def test_what_had_changed_is_not_kept(root: Path):
    found = glance(root)
    found.begin()
    found.end(unchanged=False)

    assert not glance(root).unchanged()
    assert list((root / ".cache").iterdir()) == []


def test_notes_of_one_site_are_not_those_of_another(root: Path):
    settle(root)
    (root / "site").rename(root / "other")

    assert not Glance(str(root), str(root / "content"), str(root / "other")).unchanged()


def test_a_place_that_cannot_be_written_costs_time_only(root: Path):
    (root / ".cache").rmdir()
    (root / ".cache").write_text("a file is in the way")
    settle(root)

    assert not glance(root).unchanged()
