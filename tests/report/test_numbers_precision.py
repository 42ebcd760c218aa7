"""A precision run read as typed values, and what becomes of one that is not right."""

import pytest

from report.errors import EvidenceMismatch
from report.numbers.precision import read_precision
from report.numbers.study import work_out
from tests.report.numbers_ground import content, edited, evidence, study

RUN = "precision-cpu"
INT8 = "/results/balanced-int8"


def test_the_recorded_run_reads_as_it_was_written():
    run = read_precision(evidence()[RUN])
    stored = {policy: run.result("balanced", policy).stored for policy in ("fp32", "bf16", "int8")}

    assert [found.total for found in stored.values()] == [65_536, 32_768, 16_896]
    assert stored["int8"].scales == 512
    assert run.scope.statement == "CPU arithmetic reference. Not a TPU result."
    assert run.source.sha256 is not None
    assert run.level == "historic"


def test_scales_are_three_percent_in_both_shapes():
    values = study().values

    for run, share in ((RUN, 512 / 16_896), ("precision-batch-one", 264 / 8_646)):
        assert values[f"study#/precision/{run}/scale_share"].number == share


def test_every_wrong_field_is_told_at_once():
    broken = edited(
        RUN,
        {
            f"{INT8}/max_abs_error": "large",
            f"{INT8}/relative_l2_error": -0.5,
            f"{INT8}/policy": "bf16",
            f"{INT8}/stored_bytes/total": 1,
            "/request/batch": True,
            "/schema": "assay/precision/2",
            "/inputs/balanced/example_row": [1.0, "two"],
        },
    )

    with pytest.raises(EvidenceMismatch) as caught:
        read_precision(broken)

    places = {fault.where.removeprefix(f"{RUN}/report.json") for fault in caught.value.faults}
    assert places >= {
        f"{INT8}/max_abs_error",
        f"{INT8}/relative_l2_error",
        f"{INT8}/policy",
        f"{INT8}/stored_bytes/total",
        "/request/batch",
        "/schema",
        "/inputs/balanced/example_row",
    }


@pytest.mark.parametrize("value", [float("nan"), float("inf"), True, None, [], "1"])
def test_a_size_that_is_no_count_is_refused(value):
    with pytest.raises(EvidenceMismatch):
        read_precision(edited(RUN, {f"{INT8}/compiler_memory_bytes/peak": value}))


def test_stored_bytes_must_be_what_the_shape_needs():
    with pytest.raises(EvidenceMismatch) as caught:
        read_precision(edited(RUN, {"/request/features": 127}))

    assert any("from the requested shape" in fault.expected for fault in caught.value.faults)


def test_an_undefined_error_needs_its_reason():
    reason = "the reference norm is zero"
    silent = edited(RUN, {f"{INT8}/relative_l2_error": None})
    told = edited(
        RUN,
        {f"{INT8}/relative_l2_error": None, f"{INT8}/relative_l2_error_reason": reason},
    )

    with pytest.raises(EvidenceMismatch):
        read_precision(silent)
    assert read_precision(told).result("balanced", "int8").relative_l2_error_reason == reason


def test_ratios_of_an_undefined_error_say_why_they_are_missing():
    told = edited(
        RUN,
        {f"{INT8}/relative_l2_error": None, f"{INT8}/relative_l2_error_reason": "zero reference"},
    )

    ratio = work_out({RUN: told}, content()).values[f"study#/precision/{RUN}/int8_outlier_ratio"]

    assert ratio.number is None
    assert ratio.reason


def test_a_trace_that_holds_nothing_is_not_a_trace():
    found = evidence()[RUN]
    empty = dict(found.record.trace or {}) | {"steps": [], "planes": []}
    record = type(found.record)(
        **{name: getattr(found.record, name) for name in found.record.__slots__} | {"trace": empty}
    )

    with pytest.raises(EvidenceMismatch, match="holds nothing"):
        work_out({RUN: type(found)(record=record, level="current", lab_changes=())}, content())
