"""Does a record become evidence only when everything about it still holds?"""

import shutil
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from report.errors import EvidenceMismatch
from report.evidence import verify, verify_all, verify_manifest
from report.record import load_record

CASE = Path(__file__).resolve().parents[1] / "broken" / "record-healthy"
FILES = sorted(
    path.relative_to(CASE / "record").as_posix()
    for path in (CASE / "record").rglob("*")
    if path.is_file()
)


@pytest.fixture
def lab(tmp_path: Path) -> Path:
    return Path(shutil.copytree(CASE / "lab", tmp_path / "lab"))


@pytest.fixture
def run(lab: Path) -> Path:
    return Path(shutil.copytree(CASE / "record", lab / "records" / "precision-cpu"))


def places(error: EvidenceMismatch) -> list[str]:
    return [fault.where for fault in error.faults]


def test_an_untouched_record_is_current_evidence(run, lab):
    evidence = verify(load_record(run), lab)

    assert evidence.level == "current"
    assert evidence.lab_changes == ()
    assert evidence.record.name == "precision-cpu"


@pytest.mark.parametrize("path", FILES)
def test_a_flipped_byte_in_any_file_is_found(run, lab, path):
    content = bytearray((run / path).read_bytes())
    content[len(content) // 2] ^= 1
    (run / path).write_bytes(content)

    with pytest.raises(EvidenceMismatch) as caught:
        verify(load_record(run), lab)

    assert caught.value.exit_code == 7
    if path != "manifest.sha256":  # whose digits accuse the file they stand beside
        assert any(path in str(fault) for fault in caught.value.faults)


@given(place=st.sampled_from(FILES), at=st.floats(0, 1, exclude_max=True), bit=st.integers(0, 7))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=150)
def test_no_single_bit_goes_unnoticed(tmp_path_factory, place, at, bit):
    run = tmp_path_factory.mktemp("bit") / "run"
    shutil.copytree(CASE / "record", run)
    content = bytearray((run / place).read_bytes())
    content[int(at * len(content))] ^= 1 << bit
    (run / place).write_bytes(content)

    with pytest.raises(EvidenceMismatch):
        verify(load_record(run), CASE / "lab")


@pytest.mark.parametrize("end", ["\v", "\f", "\x1c", "\x85", "\u2028", "\r", "\r\n"])
@pytest.mark.parametrize("line", [1, 2, -1])
def test_a_line_of_the_manifest_ends_with_a_line_feed_and_nothing_else(run, lab, end, line):
    """Python takes each of these for the end of a line; sha256sum takes none of them."""
    lines = (run / "manifest.sha256").read_bytes().split(b"\n")[:-1]
    ends = [b"\n"] * len(lines)
    ends[line - (line > 0)] = end.encode()
    content = b"".join(text + end for text, end in zip(lines, ends, strict=True))
    (run / "manifest.sha256").write_bytes(content)

    with pytest.raises(EvidenceMismatch) as caught:
        verify(load_record(run), lab)

    assert any("manifest.sha256" in place for place in places(caught.value))


def test_missing_and_added_files_are_named_apart(run, lab):
    (run / "config.json").unlink()
    (run / ".DS_Store").write_text("x")
    (run / "outputs").mkdir()

    with pytest.raises(EvidenceMismatch) as caught:
        verify(load_record(run), lab)

    found = {fault.where: fault.found for fault in caught.value.faults}
    assert found == {
        "precision-cpu/config.json": "missing",
        "precision-cpu/.DS_Store": "added: the manifest does not list it",
        "precision-cpu/outputs": "an empty folder, which no manifest can list",
    }


def test_an_edited_source_makes_its_record_stale(run, lab):
    (lab / "tiny.py").write_text("# edited\n")

    with pytest.raises(EvidenceMismatch) as caught:
        verify(load_record(run), lab)

    assert places(caught.value) == ["lab/tiny.py"]
    assert caught.value.hint == (
        "Restore these files, or measure again: python build.py run precision-cpu"
    )


def test_a_source_that_is_gone_or_a_link_is_no_source(run, lab, tmp_path):
    (lab / "tiny.py").rename(tmp_path / "elsewhere.py")
    (lab / "tiny.py").symlink_to(tmp_path / "elsewhere.py")

    with pytest.raises(EvidenceMismatch) as caught:
        verify(load_record(run), lab)

    assert [fault.found for fault in caught.value.faults] == ["missing"]


def test_a_stale_record_may_be_shown_as_historic_and_never_as_current(run, lab):
    (lab / "tiny.py").write_text("# edited\n")
    evidence = verify_all([load_record(run)], lab, allow_stale=True)["precision-cpu"]

    assert evidence.level == "historic"
    assert [change.path for change in evidence.lab_changes] == ["tiny.py"]
    assert verify_manifest(load_record(run)).level == "historic"


def test_staleness_allowed_is_not_alteration_allowed(run, lab):
    (run / "report.json").write_text("{}")

    with pytest.raises(EvidenceMismatch):
        verify_all([load_record(run)], lab, allow_stale=True)
    with pytest.raises(EvidenceMismatch):
        verify_manifest(load_record(run))


def test_the_faults_of_all_records_are_told_together(run, lab):
    other = Path(shutil.copytree(run, run.parent / "precision-batch-one"))
    (run / "report.json").unlink()
    (other / "extra.txt").write_text("x")
    (lab / "tiny.py").write_text("# edited\n")

    with pytest.raises(EvidenceMismatch) as caught:
        verify_all([load_record(run), load_record(other)], lab)

    assert places(caught.value) == [
        "precision-cpu/report.json",
        "precision-batch-one/extra.txt",
        "lab/tiny.py",
        "lab/tiny.py",
    ]
    assert "run precision-cpu; python build.py run precision-batch-one" in caught.value.hint


@pytest.mark.parametrize(
    ("place", "command"),
    [
        ("lab/records/precision-cpu", "run precision-cpu"),
        ("my texts/records/precision-cpu", "run precision-cpu --content '{}/my texts'"),
        ("runs/precision-cpu", "run tiny"),
    ],
)
def test_what_to_run_again_is_a_record_of_its_content_or_the_lab(lab, tmp_path, place, command):
    (lab / "tiny.py").write_text("# edited\n")
    run = Path(shutil.copytree(CASE / "record", tmp_path / place))

    with pytest.raises(EvidenceMismatch) as caught:
        verify(load_record(run), lab)

    again = f"python build.py {command.format(tmp_path)}"
    assert caught.value.hint == f"Restore these files, or measure again: {again}"


@pytest.mark.parametrize("stale", [False, True])
def test_a_failed_run_is_to_be_run_again_whatever_else_is_wrong(run, lab, stale):
    shutil.copy(CASE.parent / "record-of-a-failure/record/failure.json", run)
    (run / "report.json").unlink()
    (lab / "tiny.py").write_text("# edited\n")

    with pytest.raises(EvidenceMismatch) as caught:
        verify_all([load_record(run)], lab, allow_stale=stale)

    assert [(fault.where, fault.found) for fault in caught.value.faults] == [
        ("precision-cpu/failure.json", "a run that failed at backend: no TPU is visible")
    ]
    assert caught.value.hint == "Run it again: python build.py run precision-cpu"
    with pytest.raises(EvidenceMismatch, match="A run that failed is no evidence"):
        verify_manifest(load_record(run))


def test_line_endings_alone_are_called_that(run, lab):
    for place in (run / "report.json", lab / "tiny.py"):
        place.write_bytes(place.read_bytes().replace(b"\n", b"\r\n"))

    with pytest.raises(EvidenceMismatch) as caught:
        verify(load_record(run), lab)

    assert all("only by its line endings" in fault.found for fault in caught.value.faults)
    assert len(caught.value.faults) == 2
