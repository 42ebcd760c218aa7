"""Is a site swapped in whole, is nothing else ever removed, and can a kill do no harm?"""

import json
import os
import signal
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from report import folder
from report.errors import ContentFault, UsageFault
from report.folder import publish, recover, state
from report.marker import MARKER, is_current

PROJECT = Path(__file__).resolve().parents[2]

OLD = {"index.html": b"old", "lessons/one.html": b"same", "lessons/gone.html": b"gone"}
NEW = {"index.html": b"new", "lessons/one.html": b"same", "figures/a/b.svg": b"<svg/>"}


def tree(place: Path) -> dict[str, bytes]:
    return {
        path.relative_to(place).as_posix(): path.read_bytes()
        for path in place.rglob("*")
        if path.is_file() and path.name != MARKER
    }


def beside(out: Path) -> list[str]:
    return sorted(path.name for path in out.parent.iterdir())


@pytest.fixture
def out(tmp_path: Path) -> Path:
    """A published site, alone in its parent folder."""
    place = tmp_path / "a place #é" / "site"
    publish(OLD, place, "first")
    return place


@pytest.fixture(params=["exchange", "two renames"])
def either_way(request, monkeypatch):
    """Both ways of swapping: the one this system has, and the one for those that have none."""
    if request.param == "two renames":
        monkeypatch.setattr(folder, "exchange", lambda *_: False)


@pytest.mark.usefixtures("either_way")
def test_a_site_holds_exactly_what_was_published(out):
    publish(NEW, out, "second")

    assert tree(out) == NEW
    assert beside(out) == ["site"]
    found = state(out)
    assert found is not None
    assert (found.inputs, found.intact, set(found.files)) == ("second", True, set(NEW))


def test_files_are_copied_from_where_they_lie(out, tmp_path):
    record = tmp_path / "report.json"
    record.write_bytes(b"{}")
    publish({"records/report.json": record}, out, "second")
    record.write_bytes(b"edited")

    assert tree(out) == {"records/report.json": b"{}"}


def test_what_did_not_change_is_shared_not_written(out):
    before = (out / "lessons/one.html").stat().st_ino
    publish(NEW, out, "second")

    assert (out / "lessons/one.html").stat().st_ino == before
    assert (out / "lessons/one.html").stat().st_nlink == 1


def test_a_page_changed_by_hand_is_put_right(out):
    (out / "lessons/one.html").write_bytes(b"by hand")
    publish(OLD, out, "first")

    assert tree(out) == OLD


def test_modes_do_not_depend_on_the_umask(out):
    mask = os.umask(0o077)
    try:
        publish(NEW, out, "second")
    finally:
        os.umask(mask)

    for path in [out, *out.rglob("*")]:
        wanted = 0o755 if path.is_dir() else 0o644
        assert stat.S_IMODE(path.stat().st_mode) == wanted, path


def test_the_marker_is_json(out):
    told = json.loads((out / MARKER).read_bytes())

    assert told["schema"] == "assay/site/1"
    assert told["inputs"] == "first"
    assert list(told["files"]) == sorted(OLD)


def test_the_marker_is_the_same_bytes_for_the_same_site(tmp_path):
    publish(NEW, tmp_path / "a", "inputs")
    publish(dict(reversed(NEW.items())), tmp_path / "b", "inputs")

    assert (tmp_path / "a" / MARKER).read_bytes() == (tmp_path / "b" / MARKER).read_bytes()


@pytest.mark.parametrize("damage", ["edit", "remove", "add", "name", "link", "marker", "folder"])
def test_a_site_that_is_not_as_it_was_written_is_not_intact(out, tmp_path, damage):
    page = out / "index.html"
    if damage == "edit":
        page.write_bytes(b"OLD")
    elif damage == "remove":
        page.unlink()
    elif damage == "add":
        (out / "lessons" / ".hidden").write_text("x")
    elif damage == "name":
        (out / os.fsdecode(b"caf\xe9")).write_text("x")
    elif damage == "link":
        page.rename(tmp_path / "elsewhere")
        page.symlink_to(tmp_path / "elsewhere")
    elif damage == "marker":
        (out / MARKER).write_text('{"schema": "assay/site/1", "inputs": "first", "files": []}')
    elif damage == "folder":
        (out / "empty").mkdir()
    found = state(out)

    assert found is None or not found.intact
    assert not is_current(out, "first")


def test_a_site_is_current_for_its_own_inputs_only(out, tmp_path):
    (tmp_path / "link").symlink_to(out, target_is_directory=True)

    assert is_current(out, "first")
    assert not is_current(out, "second")
    assert not is_current(tmp_path / "link", "first")
    assert not is_current(tmp_path / "nowhere", "first")


def test_no_site_has_no_state(tmp_path, out):
    (tmp_path / "link").symlink_to(out, target_is_directory=True)

    assert state(tmp_path) is None
    assert state(tmp_path / "nowhere") is None
    assert state(tmp_path / "link") is None


@pytest.mark.usefixtures("either_way")
def test_an_empty_folder_may_become_a_site(tmp_path):
    (tmp_path / "site").mkdir()
    publish(NEW, tmp_path / "site", "inputs")

    assert tree(tmp_path / "site") == NEW
    assert beside(tmp_path / "site") == ["site"]


# What is not ours stays.


def refused(out: Path, says: str) -> UsageFault:
    before = {path: path.lstat().st_mtime_ns for path in sorted(out.parent.glob("*"))[:50]}
    with pytest.raises(UsageFault) as caught:
        publish(NEW, out, "inputs")

    assert says in str(caught.value)
    assert caught.value.exit_code == 2
    assert {path: path.lstat().st_mtime_ns for path in sorted(out.parent.glob("*"))[:50]} == before
    return caught.value


@pytest.mark.parametrize("place", ["/", "~", ".", "..", "project", "parent", "parent/.."])
def test_a_folder_that_holds_what_matters_is_refused(tmp_path, monkeypatch, place):
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    named = {"~": Path.home(), "project": PROJECT, "parent": PROJECT.parent}

    refused(named.get(place, Path(place)), "would replace")


@pytest.mark.parametrize("source", ["content", "content/site", "report", "lab/records/x", ".git/x"])
def test_a_folder_among_the_sources_is_refused(source):
    refused(PROJECT / source, "lies in the sources")
    assert not (PROJECT / "content/site").exists()


def test_a_folder_that_holds_a_file_to_be_published_is_refused(out):
    with pytest.raises(UsageFault, match="would replace"):
        publish({"index.html": out / "index.html"}, out, "second")

    assert tree(out) == OLD


def test_a_file_is_refused(tmp_path):
    (tmp_path / "site").write_text("mine")

    refused(tmp_path / "site", "not a folder")
    assert (tmp_path / "site").read_text() == "mine"


def test_a_link_is_refused(out, tmp_path):
    (tmp_path / "site").symlink_to(out, target_is_directory=True)

    refused(tmp_path / "site", "symbolic link")
    assert tree(out) == OLD


def test_a_dangling_link_is_refused(tmp_path):
    (tmp_path / "site").symlink_to(tmp_path / "nowhere")

    refused(tmp_path / "site", "symbolic link")


@pytest.mark.parametrize("marker", [None, "", "{}", "[]", '{"schema": "other/1"}', "[" * 100_000])
def test_a_folder_without_our_marker_is_refused(tmp_path, marker):
    (tmp_path / "site").mkdir()
    (tmp_path / "site" / "letter.txt").write_text("mine")
    if marker is not None:
        (tmp_path / "site" / MARKER).write_text(marker)

    refused(tmp_path / "site", "not a site of ours")
    assert (tmp_path / "site" / "letter.txt").read_text() == "mine"


def test_a_site_with_more_in_it_is_refused_and_every_stranger_named(out):
    (out / "notes.txt").write_text("mine")
    (out / "lessons" / ".draft").write_text("mine")
    (out / "empty").mkdir()
    error = refused(out, "holds what we did not make")

    assert [Path(fault.where).name for fault in error.faults] == ["empty", ".draft", "notes.txt"]
    assert (out / "notes.txt").read_text() == "mine"
    assert tree(out).keys() > OLD.keys()


def test_a_marker_cannot_claim_what_lies_outside(out, tmp_path):
    (tmp_path / "precious").write_text("mine")
    told = json.loads((out / MARKER).read_text())
    told["files"]["../../precious"] = "0" * 64
    (out / MARKER).write_text(json.dumps(told))
    publish(NEW, out, "second")

    assert (tmp_path / "precious").read_text() == "mine"
    assert tree(out) == NEW


@pytest.mark.parametrize("role", ["new", "old"])
def test_a_stranger_in_our_working_place_is_left_there(out, role):
    stranger = out.with_name(f"site.assay-{role}")
    stranger.mkdir()
    (stranger / "mine.txt").write_text("mine")

    error = refused(out, "is in the way")
    assert [Path(fault.where).name for fault in error.faults] == ["mine.txt"]
    assert tree(out) == OLD


def test_one_build_writes_at_a_time(out):
    with folder._locked(out):
        refused(out, "Another build is writing")
    publish(NEW, out, "second")

    assert beside(out) == ["site"]


# Names that cannot stand side by side.


def test_two_names_that_some_system_takes_for_one_are_refused_together(tmp_path):
    files = {"X.html": b"", "x.html": b"", "a/INDEX": b"", "A/index": b"", "p": b"", "P/q": b""}
    with pytest.raises(ContentFault) as caught:
        publish(files, tmp_path / "site", "inputs")

    told = [f"{fault.where}: {fault.found}" for fault in caught.value.faults]
    assert told == [
        "a/INDEX: on some systems the same file as A/index",
        "x.html: on some systems the same file as X.html",
        "P/q: in a folder, where p is a file",
    ]
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "path",
    [
        *("", "/", "/a", "a/", "a//b", "../a", "a/../b", ".", ".hidden", "a/.b", "a\\b", "a:b"),
        *("a b", "é.html", "a\nb", "a\x00b", "nul", "aux.html", "a/CON/b", "com1.txt", "a.", "~"),
        *(MARKER, f"{MARKER}.part", "a" * 241),
    ],
)
def test_a_path_that_some_system_cannot_hold_is_refused(tmp_path, path):
    with pytest.raises(ContentFault):
        publish({path: b""}, tmp_path / "site", "inputs")

    assert list(tmp_path.iterdir()) == []


# Killed at any moment.

KILLED = """
import os, signal, sys
from pathlib import Path
from report import folder

left, out, way = int(sys.argv[1]), Path(sys.argv[2]), sys.argv[3]
if way == "two renames":
    folder.exchange = lambda one, other: False

def count(event, arguments):
    # Every change to a folder is announced before it happens: die at the one that is due.
    global left
    if event in {"open", "os.mkdir", "os.rename", "os.remove", "os.rmdir", "os.link", "os.chmod"}:
        if event == "open" and (arguments[1] is None or "x" not in str(arguments[1])):
            return
        left -= 1
        if left < 0:
            os.kill(os.getpid(), signal.SIGKILL)

new = {"index.html": b"new", "lessons/one.html": b"same", "figures/a/b.svg": b"<svg/>"}
sys.addaudithook(count)
folder.publish(new, out, "second")
"""


def publish_until(step: int, out: Path, way: str) -> int:
    """Publish in another process that kills itself before its change number `step`."""
    return subprocess.run(
        [sys.executable, "-c", KILLED, str(step), str(out), way],
        env=os.environ | {"PYTHONPATH": str(PROJECT), "PYTHONDONTWRITEBYTECODE": "1"},
        check=False,
    ).returncode


@pytest.mark.parametrize("way", ["exchange", "two renames"])
@pytest.mark.parametrize("there", ["a site", "nothing"])
def test_a_kill_at_any_moment_leaves_a_whole_site_and_the_next_build_finishes(tmp_path, way, there):
    for step in range(200):
        out = tmp_path / str(step) / "site"
        out.parent.mkdir()
        if there == "a site":
            publish(OLD, out, "first")
        code = publish_until(step, out, way)
        places = [out, out.with_name("site.assay-new"), out.with_name("site.assay-old")]
        whole = [place for place in places if (found := state(place)) and found.intact]

        if there == "a site":
            assert whole, step
            assert out in whole or way == "two renames", step
            assert all(tree(place) in (OLD, NEW) for place in whole)
        if code == 0:
            assert tree(out) == NEW
            assert beside(out) == ["site"]
            assert step > 10
            return
        assert code == -signal.SIGKILL

        recover(out)
        if there == "a site":
            assert tree(out) in (OLD, NEW), step
        publish(NEW, out, "second")
        assert tree(out) == NEW, step
        assert beside(out) == ["site"], step
    pytest.fail("publishing never came to its end")


def test_what_a_kill_left_of_an_old_site_is_never_taken_for_a_site(out):
    out.rename(out.with_name("site.assay-old"))
    (out.with_name("site.assay-old") / "index.html").unlink()
    recover(out)

    assert beside(out) == []


@pytest.mark.parametrize("problem", [OSError(28, "No space left on device"), KeyboardInterrupt()])
@pytest.mark.parametrize("step", [1, 3, 5])
def test_what_stops_a_build_halfway_leaves_nothing_of_it(out, monkeypatch, problem, step):
    written = []
    write_file = folder._write_file

    def stop(path, content, *, flush=False):
        written.append(path)
        if len(written) == step:
            raise problem
        write_file(path, content, flush=flush)

    monkeypatch.setattr(folder, "_write_file", stop)
    with pytest.raises(type(problem)):
        publish({f"page-{number}.html": b"new" for number in range(9)}, out, "second")

    assert tree(out) == OLD
    assert [place.name for place in out.parent.iterdir()] == [out.name]
