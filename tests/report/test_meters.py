"""What two records of one lab are said to differ by: made-up numbers with known answers."""

from collections.abc import Callable, Mapping
from copy import deepcopy
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from report.errors import EvidenceMismatch
from report.notation import NBSP
from report.numbers.comparing import Comparison, compare
from report.numbers.distinction import Verdict
from report.numbers.meters import (
    DIFFERS,
    EQUAL,
    NO_FLOOR,
    NO_TWINS,
    NOTHING,
    OTHER,
    SAME,
    UNRANKED,
    Result,
)
from report.record import Record, load_record
from tests.archive import word_count
from tests.conftest import PROJECT

RECORDS = PROJECT / "lab/records"
US = 1_000

Edit = Callable[[dict[str, Any]], None]


@cache
def record(name: str) -> Record:
    return load_record(RECORDS / name)


def edited(one: Record, name: str = "other", **documents: Edit) -> Record:
    """A copy of a record, its documents edited."""
    found = {document: deepcopy(getattr(one, document)) for document in documents}
    for document, edit in documents.items():
        edit(found[document])
    return replace(one, name=name, **found)


def timed(us: Mapping[str, float], name: str = "timed", **documents: Edit) -> Record:
    """The recorded timing run with level samples, so that every program is steady."""

    def level(report: dict[str, Any]) -> None:
        for process in report["processes"].values():
            process["warm_up"]["trends"] = dict.fromkeys(process["warm_up"]["trends"], 0)
            for series, samples in process["samples_ns"].items():
                time = us.get(series.partition("-")[0], 4.0)
                process["samples_ns"][series] = [
                    round(time * US) + place % 2 for place in range(len(samples))
                ]

    return edited(edited(record("timing-cpu"), report=level), name, **documents)


def asynchronous(us: Mapping[str, float]) -> Record:
    """The same programs, as asynchronous dispatch might have timed them."""
    return timed(
        us,
        "async",
        report=lambda report: report["request"].update(dispatch="async"),
        config=lambda config: config["options"].update(dispatch="async"),
        environment=lambda found: found["flags"].update(jax_cpu_enable_async_dispatch=True),
    )


def results(found: Comparison) -> dict[str, Result]:
    return {each.name: each for each in found.results}


def test_a_time_beyond_what_twins_differ_by_is_told_with_its_ratio_and_its_floor():
    sync = timed({"fp32": 20.0, "bf16": 10.0, "int8": 15.0})
    later = asynchronous({"fp32": 40.0, "bf16": 5.0, "int8": 15.0})

    comparison = compare(sync, later, "dispatch")
    found = results(comparison)

    assert comparison.credited
    longer, shorter = (found[f"{policy} time of a call"] for policy in ("fp32", "bf16"))
    assert (longer.note, shorter.note) == ("", "")
    assert longer.found.startswith("timed takes less time: ratio 0.500, 0.500 to 0.500; A/A band")
    assert shorter.found.startswith("async takes less time: ratio 2.000")
    assert found["int8 time of a call"].note == SAME
    assert "ratio 1.000" in found["int8 time of a call"].words


def test_a_program_is_not_ranked_against_itself_in_the_same_setting():
    """Two afternoons of one machine may differ by more than twins do; it means nothing."""
    found = results(compare(timed({"fp32": 20.0}), timed({"fp32": 10.0}, "again")))

    assert found["fp32 time of a call"].note == Verdict.SAME_PROGRAM.value
    assert "takes less time" not in found["fp32 time of a call"].words


def test_a_time_of_a_cpu_is_not_held_against_another_platforms():
    tpu = timed(
        {"fp32": 1.0},
        "tpu",
        report=lambda report: (
            report["request"].update(platform="tpu"),
            report["scope"].update(
                platform="tpu",
                device_kind="TPU v5 lite",
                statement="Measured on TPU v5 lite. One device of 1.",
            ),
        ),
        config=lambda config: config["options"].update(platform="tpu"),
        environment=lambda found: (
            found["platform"].update(actual="tpu", requested="tpu"),
            found["devices"]["used"].update(platform="tpu", kind="TPU v5 lite"),
        ),
    )

    for pair in ((timed({"fp32": 20.0}), tpu), (tpu, timed({"fp32": 20.0}))):
        assert results(compare(*pair))["fp32 time of a call"].note == UNRANKED


def test_a_program_that_drifts_is_not_compared():
    def drift(report: dict[str, Any]) -> None:
        samples = report["processes"]["1"]["samples_ns"]["fp32-first"]
        samples[:] = range(10_000, 10_000 + len(samples))

    rising = edited(asynchronous({"fp32": 10.0}), "rising", report=drift)

    note = results(compare(timed({"fp32": 20.0}), rising))["fp32 time of a call"].note

    assert note == Verdict.UNSTEADY.value


def test_a_timing_record_that_contradicts_itself_is_refused():
    wrong = timed({}, report=lambda report: report["request"].update(steps=7))

    with pytest.raises(EvidenceMismatch, match="7, one a step"):
        compare(timed({}), wrong)


def test_representations_are_compared_by_bytes_and_by_errors_of_one_kind():
    def change(report: dict[str, Any]) -> None:
        result = report["results"]["outlier-int8-smoothing"]
        for part in ("total", "representation"):
            result["anatomy"][part] *= 1.01
        result["rows"] = [each * 1.01 for each in result["rows"]]

    one = record("representations-cpu")
    found = results(compare(one, edited(one, report=change)))

    apart = {name for name, each in found.items() if not each.note}
    assert apart == {"outlier-int8-smoothing relative_l2_error"}
    assert found["int8-smoothing stored bytes"].note == SAME
    assert found["balanced-int8-static relative_l2_error"].note.startswith(f"{NOTHING}: 64 of 64")
    assert found["balanced-int8-static relative_l2_error"].one.text == "refused"


def test_an_error_of_a_program_is_not_compared_with_one_of_codes_alone():
    """As when one device compiles four-bit products and the other refuses them."""
    name = "int4-row-column"

    def refuse(report: dict[str, Any]) -> None:
        for result in report["results"].values():
            if result["policy"] == "int4-groups-32":
                same = {key: result[key] for key in ("case", "policy", "input_sha256")}
                alone = report["results"][f"{result['case']}-{name}"]
                result.clear()
                result.update(deepcopy(alone) | same)
        report["programs"]["int4-groups-32"] = deepcopy(report["programs"][name])

    one = record("representations-cpu")
    found = results(compare(one, edited(one, report=refuse)))

    note = found["outlier-int4-groups-32 relative_l2_error"].note
    assert note == "not compared: one of a program, and one of codes alone"


def test_points_of_two_sweeps_are_compared_by_errors_and_bytes_and_never_by_time():
    def change(report: dict[str, Any]) -> None:
        report["results"]["int8-m8"]["relative_l2_error"] = 0.5

    one = record("sweep-cpu")
    found = results(compare(one, edited(one, report=change)))

    assert not found["int8-m8 relative_l2_error"].note
    assert {each.note for name, each in found.items() if name.endswith("stored bytes")} == {SAME}
    assert {each.note for name, each in found.items() if name.endswith("median time")} == {NO_TWINS}


def test_records_of_two_labs_share_no_result():
    found = compare(record("timing-cpu"), record("precision-cpu"))

    assert found.results == ()
    assert {"lab", "schema"} <= {difference.field for difference in found.differences}


@pytest.mark.parametrize("name", sorted(path.name for path in RECORDS.iterdir()))
def test_every_kind_of_record_can_be_set_beside_itself(name):
    found = compare(record(name), record(name))

    assert found.differences == ()
    assert found.results
    assert all(result.note for result in found.results)


def test_a_result_that_one_run_lacks_or_leaves_null_is_told_in_every_lab_here():
    def lose(report: dict[str, Any]) -> None:
        del report["results"]["balanced-int8"]
        overflow = {"relative_l2_error": None, "relative_l2_error_reason": "a sum overflowed"}
        report["results"]["outlier-bf16"].update(overflow, stored_bytes=None)

    one = record("precision-cpu")
    two = edited(one, report=lose)
    ways = results(compare(one, two)), results(compare(two, one))

    for found in ways:
        lost = found["balanced-int8 relative_l2_error"]
        assert lost.note == "only precision-cpu has it"
        assert {lost.one.text, lost.two.text} == {"9.145 × 10⁻³".replace(" ", NBSP), "—"}
        null = found["outlier-bf16 relative_l2_error"]
        assert null.note == f"{NOTHING}; other: a sum overflowed"
        assert "not recorded" in {null.one.text, null.two.text}
        assert found["outlier-bf16 stored bytes"].note == NOTHING
    assert ways[0].keys() == ways[1].keys()


def test_a_policy_that_only_one_run_followed_is_told():
    def forget(report: dict[str, Any]) -> None:
        gone = [name for name, each in report["results"].items() if each["policy"] == "w4"]
        for name in gone:
            del report["results"][name]
        del report["policies"]["w4"], report["programs"]["w4"]

    one = record("representations-cpu")
    fewer = edited(one, report=forget)
    found = results(compare(one, fewer))

    for name in ("w4 stored bytes", "outlier-w4 relative_l2_error"):
        assert found[name].note == "only representations-cpu has it"
        assert found[name].two.text == "—"


def test_a_point_that_only_one_sweep_has_is_told():
    gone = ["bf16-m8", "fp32-m8", "int8-m8"]

    def forget(report: dict[str, Any]) -> None:
        report["request"]["batches"].remove(8)
        for name in gone:
            del report["results"][name]
        report["order"] = [
            [each for each in names if each not in gone] for names in report["order"]
        ]

    one = record("sweep-cpu")
    fewer = edited(one, report=forget, config=lambda config: config["options"]["batches"].remove(8))
    found = results(compare(one, fewer))

    for result in ("relative_l2_error", "stored bytes", "median time"):
        assert found[f"int8-m8 {result}"].note == "only sweep-cpu has it"


@pytest.fixture
def words(tmp_path: Path) -> Record:
    """A run of a lab that is not known here."""
    return load_record(word_count.write(tmp_path / "words", results=WRITTEN))


WRITTEN = {
    "error": 0.25,
    "text_bytes": 20_000,
    "wall_s": {"median": 0.5, "count": 3},
    "words_per_s": 100.0,
    "finite": True,
    "sums": [1, 2, 3],
    "rows": [{"name": "first", "error": 1.0}, {"name": "second", "error": None}],
}


def test_numbers_of_an_own_lab_differ_and_those_that_were_timed_are_not_ranked(words):
    def change(report: dict[str, Any]) -> None:
        report["results"].update(
            error=0.5,
            wall_s={"median": 0.6, "count": 3},
            words_per_s=90.0,
            finite=False,
            sums=[1, 2, 4],
        )
        report["results"]["rows"][0]["error"] = 2.0

    found = results(compare(words, edited(words, report=change)))

    assert {name.removeprefix("results/"): each.note for name, each in found.items()} == {
        "error": DIFFERS,
        "text_bytes": EQUAL,
        "wall_s/median": NO_FLOOR,
        "wall_s/count": EQUAL,
        "words_per_s": NO_FLOOR,
        "finite": OTHER,
        "sums": OTHER,
        "rows/0/name": EQUAL,
        "rows/0/error": DIFFERS,
        "rows/1/name": EQUAL,
        "rows/1/error": NOTHING,
    }
    finite, sums = found["results/finite"], found["results/sums"]
    assert (finite.one.text, finite.two.text) == ("yes", "no")
    assert (sums.one.text, sums.one.pointer) == ("3 values", "words#/results/sums")


def test_a_result_that_an_own_lab_leaves_null_is_told_with_its_reason(words):
    def overflow(report: dict[str, Any]) -> None:
        report["results"].update(error=None, error_reason="overflow in float16")
        del report["results"]["text_bytes"]
        report["results"]["more"] = {"error": None, "error_reason": "not asked for"}

    found = results(compare(words, edited(words, report=overflow)))

    null = found["results/error"]
    assert (null.one.text, null.two.text) == ("0.25", "not recorded")
    assert null.note == f"{NOTHING}; other: overflow in float16"
    assert found["results/text_bytes"].note == "only words has it"
    assert found["results/more/error"].note == "only other has it; other: not asked for"
    assert "results/error_reason" not in found


def test_a_long_text_of_an_own_lab_is_cut_and_claims_nothing(words):
    long = edited(words, report=lambda report: report["results"].update(log="word " * 50))

    log = results(compare(words, long))["results/log"].two

    assert (len(log.text), log.text[-1], log.pointer) == (60, "…", "")
