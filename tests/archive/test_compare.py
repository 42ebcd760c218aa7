"""Does a comparison credit one factor only when one factor differs, and name all the others?"""

import json
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from report.archive.compare import find
from report.errors import EvidenceMismatch, UsageFault
from report.numbers.comparing import compare
from report.numbers.meters import SAME, UNRANKED
from report.record import Record, load_record
from tests.conftest import PROJECT, Command

RECORDS = PROJECT / "lab/records"


@pytest.fixture
def one() -> Record:
    return load_record(RECORDS / "precision-cpu")


def changed(record: Record, document: str, path: str, value: object) -> Record:
    """A copy of `record` in which one recorded field is another."""
    whole = json.loads(json.dumps(getattr(record, document)))
    here = whole
    *parents, last = path.split("/")
    for key in parents:
        here = here[key]
    here[last] = value
    return replace(record, **{document: whole})


def test_a_record_is_like_itself(one):
    found = compare(one, one, "shape")

    assert found.differences == ()
    assert all(result.note in (SAME, UNRANKED) for result in found.results)
    assert not found.credited


def test_one_changed_factor_is_credited(one):
    two = changed(one, "environment", "versions/jax", "0.11.0")
    two = changed(two, "report", "results/outlier-int8/relative_l2_error", 0.0301)
    found = compare(one, two, "versions")

    assert found.credited
    assert found.exit_code == 0
    assert [difference.field for difference in found.differences] == ["environment/versions/jax"]
    distinct = [result.name for result in found.results if not result.note]
    assert distinct == ["outlier-int8 relative_l2_error"]


def test_a_second_difference_is_named_and_nothing_credited(one):
    two = changed(one, "environment", "versions/jax", "0.11.0")
    two = changed(two, "report", "request/steps", 11)
    two = changed(two, "environment", "flags/XLA_FLAGS", "--xla_fast")

    found = compare(one, two, "versions")

    assert not found.credited
    assert found.exit_code == 5
    assert {difference.field for difference in found.unexplained} == {
        "environment/flags/XLA_FLAGS",
        "request/steps",
    }
    assert "request/steps" in found.verdict()


def test_errors_within_rounding_and_times_of_a_cpu_are_not_told_apart(one):
    error = one.report["results"]["balanced-fp32"]["relative_l2_error"]
    two = changed(one, "report", "results/balanced-fp32/relative_l2_error", error * (1 + 2.0**-52))

    notes = {result.name: result.note for result in compare(one, two).results}

    assert notes["balanced-fp32 relative_l2_error"] == SAME
    assert notes["balanced-fp32 median time"] == UNRANKED


def test_what_follows_from_a_factor_is_no_second_one(one):
    two = changed(one, "report", "request/batch", 1)
    two = changed(two, "report", "inputs/balanced/sha256", "0" * 64)

    assert compare(one, two, "shape").credited
    assert not compare(one, two, "inputs").credited


def test_an_unknown_factor_lists_the_known_ones(one):
    with pytest.raises(UsageFault, match="no factor"):
        compare(one, one, "luck")


def test_an_altered_record_is_not_compared(tmp_path: Path):
    copy = Path(shutil.copytree(RECORDS / "precision-cpu", tmp_path / "copy"))
    (copy / "report.json").write_bytes((copy / "report.json").read_bytes() + b"\n")

    with pytest.raises(EvidenceMismatch):
        find(str(copy), RECORDS)


def test_the_command_says_it_and_ends_with_5(house, assay: Command):
    names = ("precision-cpu", "precision-batch-one")
    done = assay(house, "compare", *names, "--factor", "shape", "--json")

    assert done.returncode == 5
    told = json.loads(done.stdout)
    assert told["credited"] is False
    assert "request/steps" in {field for _, field, *_ in told["differences"]}
