"""Does a comparison credit one factor only when one factor differs, and name all the others?"""

import json
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from report.archive.compare import find, find_both
from report.errors import EvidenceMismatch, UsageFault
from report.numbers.comparing import compare
from report.numbers.factors import brings_about, fields_of
from report.numbers.meters import SAME, UNRANKED
from report.record import Record, load_record
from tests.archive import word_count
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


BRINGS = {
    "platform": {
        "report": ["scope/platform", "scope/statement"],
        "environment": ["devices/used/platform", "platform", "cpu", "flags/XLA_FLAGS"],
    },
    "dispatch": {"environment": ["flags/jax_cpu_enable_async_dispatch"]},
    "policies": {"manifest": ["sources/lab/policies/own.toml"]},
    "batch": {"report": ["inputs"]},
    "batches": {"report": ["inputs"]},
    "features": {"report": ["inputs"]},
    "outputs": {"report": ["inputs"]},
    "seed": {"report": ["inputs"]},
    "outlier_feature": {"report": ["inputs"]},
    "outlier_factor": {"report": ["inputs"]},
}
"""What cannot help changing with a field that was asked for, as these tests know it."""
ASKED = [
    (path.name, field)
    for path in sorted(RECORDS.iterdir())
    for field in load_record(path).report["request"]
    if field not in ("trace", "accuracy", "limit_s")  # no factor of any result
]


@pytest.mark.parametrize(("name", "field"), ASKED)
def test_each_field_that_a_lab_was_asked_for_may_be_credited_and_nothing_beside_it(name, field):
    one = load_record(RECORDS / name)
    two = changed(one, "report", f"request/{field}", "another")
    for document, paths in BRINGS.get(field, {}).items():
        for path in paths:
            if document == "manifest":
                two = replace(two, manifest={**two.manifest, path: "0" * 64})
            elif path != "inputs" or "inputs" in one.report:
                two = changed(two, document, path, {"sha256": "0" * 64})
    left, right = dict(fields_of(one)), dict(fields_of(two))
    factor = f"request/{field}"

    differ = {each for each in left.keys() | right.keys() if left.get(each) != right.get(each)}
    assert factor in differ
    assert [each for each in differ - {factor} if not brings_about(factor, each)] == []
    unbidden = ("request/other", "environment/versions/jax", "sources/lab/replay.py")
    assert not any(brings_about(factor, each) for each in unbidden)


def test_a_seed_that_was_changed_too_does_not_follow_from_the_shape(one):
    two = changed(one, "report", "request/batch", 1)
    two = changed(two, "report", "request/seed", 8)
    two = changed(two, "report", "inputs/balanced/sha256", "0" * 64)

    found = compare(one, two, "shape")

    assert [each.field for each in found.unexplained] == ["request/seed"]


def test_the_words_say_what_follows_and_the_table_what_belongs_to_which_factor(one):
    two = changed(one, "report", "request/batch", 1)
    two = changed(two, "report", "inputs/balanced/sha256", "0" * 64)
    two = changed(two, "report", "results/outlier-int8/relative_l2_error", 0.0301)

    told = compare(one, two, "shape").told()

    assert ["request/batch", "shape", "64", "1"] in [line.split() for line in told.splitlines()]
    assert told.endswith(
        "Only shape was changed (inputs/balanced also differs):"
        " results that are told apart may be credited to it."
    )


def test_when_no_result_is_told_apart_none_is_credited(one):
    found = compare(one, changed(one, "environment", "versions/jax", "0.11.0"), "versions")

    assert found.verdict() == (
        "Only versions was changed, and no result is told apart, so none is credited to it."
    )


def test_an_unknown_factor_lists_the_known_ones(one):
    with pytest.raises(UsageFault, match="no factor") as caught:
        compare(one, one, "luck")

    assert "policies" in caught.value.hint


def test_a_source_is_compared_whatever_it_is_called(one):
    sources = {"sources/lab/kit/trace.py": "0" * 64}
    two = replace(one, manifest={**one.manifest, **sources})

    assert [each.field for each in compare(one, two).differences] == list(sources)


def test_a_record_beside_itself_differs_in_nothing(one):
    found = compare(one, one)

    assert found.told().endswith(
        "No recorded field differs, and no result does: nothing to credit."
    )
    assert "Field" not in found.told()


def test_a_run_that_was_only_repeated_has_nothing_that_explains_its_results(one):
    two = changed(one, "report", "results/outlier-int8/relative_l2_error", 0.0301)

    assert compare(one, two, "shape").verdict() == (
        "No recorded field differs, so none explains what the results differ by: nothing to credit."
    )


@pytest.mark.parametrize(
    ("field", "factor"),
    [
        ("results/outlier-int8/relative_l2_error", 1 + 1e-9),
        ("results/outlier-int8/timing_s/median", 1 + 1e-9),
        ("results/outlier-int8/sqnr_db", None),
    ],
)
def test_what_differs_out_of_sight_of_its_print_differs_all_the_same(one, field, factor):
    """Below the printed digits, in a time that nobody ranks, or in being there at all."""
    value = one.report
    for key in field.split("/"):
        value = value[key]
    two = changed(one, "report", field, factor and value * factor)

    assert "so none explains what the results differ by" in compare(one, two).verdict()


def test_a_result_that_only_one_of_two_own_runs_has_differs(words):
    two = changed(words, "report", "results/extra", 1)

    assert "so none explains what the results differ by" in compare(words, two).verdict()
    assert "and no result does" in compare(words, words).verdict()


@pytest.mark.parametrize("name", ["timing-cpu", "representations-cpu", "sweep-cpu"])
def test_a_record_of_any_lab_is_like_itself(name):
    record = load_record(RECORDS / name)

    assert "and no result does" in compare(record, record).verdict()


def test_records_of_two_labs_are_said_to_be_so_and_credit_nothing(one):
    found = compare(one, load_record(RECORDS / "timing-cpu"), "lab")

    assert not found.credited
    assert found.exit_code == 5
    assert "two labs, assay/precision/1 and assay/timing/1" in found.verdict()


@pytest.fixture
def words(tmp_path: Path) -> Record:
    """A run of a lab that is not known here, which says of its inputs what they were."""
    inputs = {"text": {"sha256": "1" * 64, "words": 4000}}
    request = {"repeats": 1000, "accuracy": "high", "trace": False}
    return load_record(word_count.write(tmp_path / "words", request=request, inputs=inputs))


def asked(record: Record, **fields: object) -> Record:
    """The same record, which was asked for something else and says so in both places."""
    two = replace(record, name="other")
    for key, value in fields.items():
        two = changed(two, "config", f"options/{key}", value)
        two = changed(two, "report", f"request/{key}", value)
    return two


def test_a_field_that_an_own_lab_was_asked_for_is_a_factor(words):
    two = changed(asked(words, repeats=2000), "report", "results/words", 8000)

    found = compare(words, two, "request/repeats")

    assert found.credited
    assert found.exit_code == 0
    assert [(each.field, each.factor) for each in found.differences] == [
        ("request/repeats", "request/repeats")
    ]
    assert found.verdict() == (
        "Only request/repeats was changed: results that differ may be credited to it"
        " as far as they repeat, which no noise floor tells."
    )


def test_without_a_factor_the_words_name_those_that_differ(words):
    verdict = compare(words, asked(words, repeats=2000, accuracy="low")).verdict()

    assert verdict.endswith("say --factor NAME. What differs: request/accuracy, request/repeats.")


def test_a_last_name_alone_is_no_factor_and_the_whole_one_is_told(words):
    with pytest.raises(UsageFault, match="no factor 'repeats'") as caught:
        compare(words, words, "repeats")

    assert caught.value.hint.endswith("or one recorded field, such as request/repeats.")


@pytest.mark.parametrize("field", ["accuracy", "trace"])
def test_nothing_that_an_own_lab_was_asked_for_is_passed_over(words, field):
    two = asked(words, repeats=2000, **{field: "another"})

    found = compare(words, two, "request/repeats")

    assert [each.field for each in found.unexplained] == [f"request/{field}"]


def test_an_option_that_the_request_does_not_repeat_differs_too(words):
    two = changed(asked(words, repeats=2000), "config", "options/threads", 8)

    found = compare(words, two, "request/repeats")

    assert [each.field for each in found.unexplained] == ["config/options/threads"]


@pytest.mark.parametrize("field", ["clock/tick_s", "redacted", "device_memory"])
def test_of_an_own_environment_only_the_time_and_the_load_are_passed_over(words, field):
    one = changed(words, "environment", "clock", {"tick_s": 1})
    two = changed(one, "environment", field, "another")
    later = changed(one, "environment", "recorded_at", "2027-01-01T00:00:00Z")
    busier = changed(later, "environment", "load_average", [8, 8, 8])

    assert [each.field for each in compare(one, two).differences] == [f"environment/{field}"]
    assert compare(one, busier).differences == ()


def test_inputs_of_an_own_lab_follow_from_its_request_and_are_told(words):
    """From nothing else that changed: a text that was swapped meanwhile is another factor."""
    inputs = ("report", "inputs/text/sha256", "2" * 64)
    followed = compare(words, changed(asked(words, repeats=2), *inputs), "request/repeats")
    numpy = changed(words, "environment", "numpy", "2.4.6")
    swapped = compare(words, changed(numpy, *inputs), "environment/numpy")

    assert followed.credited
    assert "(inputs/text also differs)" in followed.verdict()
    assert [each.field for each in swapped.unexplained] == ["inputs/text"]


def test_inputs_without_a_digest_are_compared_whole(words):
    two = changed(words, "report", "inputs", {"text": {"file": "b.txt"}})
    one = changed(words, "report", "inputs", {"text": {"file": "a.txt"}})

    assert [each.field for each in compare(one, two).differences] == ["inputs/text/file"]


def test_a_record_that_is_not_there_is_looked_for_in_a_place_that_is_named():
    with pytest.raises(UsageFault) as caught:
        find("mine", RECORDS)

    assert str(RECORDS) in caught.value.summary
    assert "--content DIR" in caught.value.hint


def test_two_runs_that_are_called_alike_go_by_their_places(tmp_path: Path):
    for place in "ab":
        shutil.copytree(RECORDS / "precision-cpu", tmp_path / place / "run")
    places = str(tmp_path / "a/run"), str(tmp_path / "b/run")

    assert compare(*find_both(*places, RECORDS)).names == places
    assert compare(*find_both(places[0], places[0], RECORDS)).names == ("run", "run")


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
