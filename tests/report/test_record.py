"""Is a run folder read exactly as written, and nothing in it followed or believed?"""

import json
import os
from hashlib import sha256
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from report.errors import ContentFault, EvidenceMismatch, Fault
from report.record import (
    MAX_INTEGER,
    Record,
    is_plain_path,
    load_record,
    parse_json,
    parse_manifest,
    printable,
)

RECORDS = Path(__file__).resolve().parents[2] / "lab" / "records"
HEALTHY = Path(__file__).resolve().parents[1] / "broken" / "record-healthy" / "record"

PLAIN = st.text(st.characters(exclude_categories=("C",)))
JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-MAX_INTEGER, MAX_INTEGER)
    | st.floats(allow_nan=False, allow_infinity=False)
    | PLAIN,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(PLAIN, inner, max_size=4),
    max_leaves=20,
)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A healthy record that a test may change."""
    for path in HEALTHY.rglob("*"):
        if path.is_file():
            copy = tmp_path / "run" / path.relative_to(HEALTHY)
            copy.parent.mkdir(parents=True, exist_ok=True)
            copy.write_bytes(path.read_bytes())
    return tmp_path / "run"


def told(record: Record) -> list[str]:
    return [f"{fault.where}: {fault.found}" for fault in record.faults]


def test_a_record_tells_every_file_with_its_digest_and_size(folder):
    record = load_record(folder)

    assert record.name == "run"
    assert record.faults == ()
    assert [file.path for file in record.files] == sorted(record.manifest)
    for file in record.files:
        content = (folder / file.path).read_bytes()
        assert (file.sha256, file.size) == (sha256(content).hexdigest(), len(content))
    assert record.manifest_sha256 == sha256((folder / "manifest.sha256").read_bytes()).hexdigest()
    assert record.trace is None


def test_the_records_of_the_project_are_well_formed():
    found = [load_record(place) for place in sorted(RECORDS.iterdir())]

    measured = {"precision-batch-one", "precision-cpu"}
    others = {"preflight-tpu", "replay-published", "representations-cpu", "sweep-cpu", "timing-cpu"}
    assert measured | others <= {record.name for record in found}
    assert all(record.faults == () for record in found)
    assert {record.name for record in found if record.trace} == measured


def test_a_pointer_finds_its_value_or_names_what_is_near(folder):
    record = load_record(folder)

    assert record.at("report", "/results/balanced-int8/relative_l2_error") == 0.01
    assert record.at("config", "")["seed"] == 17
    with pytest.raises(ContentFault) as caught:
        record.at("report", "/results/balanced-int/relative_l2_error")
    assert "balanced-int8" in caught.value.hint


@pytest.mark.parametrize(
    "pointer", ["results", "/results/", "/schema/0", "/results/balanced-int8/0"]
)
def test_a_pointer_to_nothing_is_a_fault(folder, pointer):
    with pytest.raises(ContentFault):
        load_record(folder).at("report", pointer)


def test_pointers_escape_slashes_and_count_lists(folder):
    text = json.dumps({"schema": "assay/precision/1", "a/b~c": [10, 20]})
    (folder / "report.json").write_text(text)
    record = load_record(folder)

    assert record.at("report", "/a~1b~0c/1") == 20
    for beyond in ("2", "-1", "01", "1e0"):
        with pytest.raises(ContentFault):
            record.at("report", f"/a~1b~0c/{beyond}")


def test_a_file_is_read_as_it_was_hashed_or_not_at_all(folder):
    record = load_record(folder)
    place = folder / "report.json"
    was = place.read_bytes()
    assert record.file("report.json").read_bytes() == was
    manifest = record.file("manifest.sha256").read_bytes()
    assert manifest == (folder / "manifest.sha256").read_bytes()

    place.write_bytes(was.replace(b" ", b"\t", 1))
    with pytest.raises(EvidenceMismatch, match="changed since it was verified"):
        record.file("report.json").read_bytes()
    place.unlink()
    with pytest.raises(EvidenceMismatch, match="cannot be read"):
        record.file("report.json").read_bytes()
    place.symlink_to(folder / "config.json")
    with pytest.raises(EvidenceMismatch, match="cannot be read"):
        record.file("report.json").read_bytes()
    with pytest.raises(EvidenceMismatch):
        record.file("none.json").read_bytes()


def test_links_pipes_and_empty_folders_are_named_and_not_followed(folder, tmp_path):
    (tmp_path / "secret").write_text("secret")
    (folder / "report.json").unlink()
    (folder / "report.json").symlink_to(tmp_path / "secret")
    (folder / "loop").symlink_to(folder, target_is_directory=True)
    (folder / "dangling").symlink_to(tmp_path / "nowhere")
    (folder / "empty").mkdir()
    os.mkfifo(folder / "pipe")
    record = load_record(folder)

    assert set(told(record)) >= {
        "run/report.json: a symbolic link, which is not followed",
        "run/loop: a symbolic link, which is not followed",
        "run/dangling: a symbolic link, which is not followed",
        "run/empty: an empty folder, which no manifest can list",
        "run/pipe: neither a file nor a folder",
    }
    assert record.report == {}


def test_a_name_that_would_act_on_a_terminal_is_escaped(folder):
    (folder / "a\x1b[2Jb\n").mkdir()

    (fault,) = load_record(folder).faults
    assert fault.where == r"run/a\x1b[2Jb\n"


def test_a_maze_of_folders_is_not_walked(folder):
    deep = folder / "/".join("d" * 40)
    deep.mkdir(parents=True)

    assert any("nested too deep" in line for line in told(load_record(folder)))


@pytest.mark.parametrize("place", ["nowhere", "run/report.json", "link"])
def test_what_is_no_folder_holds_no_record(folder, tmp_path, place):
    (tmp_path / "link").symlink_to(folder, target_is_directory=True)

    with pytest.raises(EvidenceMismatch, match="not a folder"):
        load_record(tmp_path / place)


def test_a_folder_without_any_sign_of_a_run_is_not_read(folder, tmp_path):
    (tmp_path / "library").mkdir()
    (tmp_path / "library" / "pipe").symlink_to(folder)

    with pytest.raises(EvidenceMismatch, match="holds no run"):
        load_record(tmp_path / "library")


@given(JSON)
def test_strict_json_comes_back_as_it_was(value):
    faults: list[Fault] = []
    found = parse_json(json.dumps(value).encode(), "it.json", faults)

    assert faults == []
    assert found == value


@given(
    st.binary(max_size=120)
    | st.text(alphabet='{}[]",:0123456789.eE+-nulltrueNaN \\u').map(str.encode)
)
def test_any_bytes_are_json_or_a_fault_never_worse(content):
    faults: list[Fault] = []
    value = parse_json(content, "it.json", faults)

    assert len(faults) <= 1
    if faults:
        assert value is None
        assert faults[0].where.startswith("it.json")


@given(st.binary(max_size=300))
def test_any_bytes_are_a_manifest_or_faults_never_worse(content):
    faults: list[Fault] = []
    found = parse_manifest(content, "manifest", faults)

    assert all(is_plain_path(path) for path in found)
    assert faults or found


@pytest.mark.parametrize(
    "path",
    [
        "",
        ".",
        "..",
        "../a",
        "a/../b",
        "/a",
        "a//b",
        "a/",
        "a\\b",
        "a:b",
        "a b",
        "é",
        "a.",
        ".git/x",
        "a/" * 30 + "b",
        "a" * 300,
        "a\nb",
        "a\x00b",
        "~",
        "$HOME",
        "a*",
    ],
)
def test_only_plain_paths_may_be_listed(path):
    assert not is_plain_path(path)


@pytest.mark.parametrize(
    "path", ["report.json", "sources/lab/kit/__init__.py", "trace/plugins/profile/2026_11_30/a.pb"]
)
def test_the_paths_of_a_run_are_plain(path):
    assert is_plain_path(path)
    assert printable(path) == path
