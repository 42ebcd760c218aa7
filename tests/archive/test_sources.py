"""Does a release take into source/ what builds it again, and nothing that merely lies there?"""

from pathlib import Path

import pytest

from report.archive.sources import gather
from report.errors import ContentFault
from tests.archive.conftest import REPORT
from tests.conftest import Command, copy_project


@pytest.fixture(scope="module")
def clean(tmp_path_factory) -> Path:
    return copy_project(tmp_path_factory.mktemp("sources") / "house")


@pytest.fixture
def other(tmp_path) -> Path:
    return copy_project(tmp_path / "house")


def taken(house: Path) -> set[str]:
    return set(gather(REPORT, house / "content", house).files)


STRAYS = (
    *("lab/token.txt", "lab/kit/notes.md", "lab/precision_profile.py~", "lab/.secret.py"),
    *("report/record.pyc", "report/numbers/core", "report/archive/draft.txt", "report/.env"),
    *("templates/home.html.orig", "templates/key.pem", "templates/style/base.css.swp"),
    *("content/chips/v5e.yaml.bak", "content/glossary/.terms.yaml.swp", "content/models/todo"),
    *("content/reports/another.yaml", "content/lab/data.csv", "lab/__pycache__/x.py"),
)


def test_what_merely_lies_there_is_left_out_and_told(clean, other):
    for name in STRAYS:
        (other / name).parent.mkdir(exist_ok=True)
        (other / name).write_text("secret", encoding="utf-8")

    found = gather(REPORT, other / "content", other)

    assert set(found.files) == taken(clean)
    passed_over = {n for n in STRAYS if "/." in n or "__pycache__" in n or "another.yaml" in n}
    assert {str(other / name) for name in STRAYS} - {
        str(other / name) for name in passed_over
    } == set(found.left_out)


def test_a_release_says_what_it_leaves_out(capsys):
    from report.voice import Voice

    Voice(as_json=False).left_out(("lab/token.txt", "lab/core"))
    Voice(as_json=False).left_out(())

    told = capsys.readouterr().err
    assert told == ("Not taken into source/, where they do not belong: lab/token.txt, lab/core.\n")


def test_a_module_a_policy_a_sheet_and_a_lab_of_ones_own_are_taken(clean, other):
    mine = (
        "lab/mine.py",
        "lab/policies/mine.toml",
        "content/chips/mine.yaml",
        "content/lab/own.py",
    )
    for name in mine:
        (other / name).parent.mkdir(exist_ok=True)
        (other / name).write_text("", encoding="utf-8")

    assert taken(other) - taken(clean) == set(mine)


def test_links_are_refused_all_at_once_and_by_name(other, tmp_path, assay: Command):
    """A link to a file, one to nowhere, and one to the folder it lies in."""
    (other / "lab/linked.txt").symlink_to("/etc/hostname")
    (other / "lab/loop").symlink_to(".", target_is_directory=True)
    (other / "templates/nowhere.html").symlink_to(tmp_path / "nowhere")
    (other / "content/chips/loop").symlink_to("..", target_is_directory=True)
    (other / "LICENSE").unlink(missing_ok=True)
    (other / "LICENSE").symlink_to("/etc/hostname")

    with pytest.raises(ContentFault) as caught:
        gather(REPORT, other / "content", other)

    assert {fault.where for fault in caught.value.faults} == {
        str(other / name)
        for name in (
            *("lab/linked.txt", "lab/loop", "templates/nowhere.html"),
            *("content/chips/loop", "LICENSE"),
        )
    }
    (other / "content/chips/loop").unlink()  # which every command refuses
    done = assay(other, "release", REPORT)
    assert done.returncode == 8, done.stderr
    assert "lab/loop: a symbolic link" in done.stderr
    assert "Drawing" not in done.stderr
    assert not (other / "releases").exists()
