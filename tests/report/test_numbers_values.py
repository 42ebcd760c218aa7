"""Pointers: what they find, how they miss, where they lead."""

import pytest

from report.numbers.values import UnknownPointer, anchor
from tests.report.numbers_ground import study

RUN = "precision-cpu"


@pytest.mark.parametrize(
    ("pointer", "kind", "unit"),
    [
        (f"{RUN}#/results/balanced-int8/relative_l2_error", "measured", ""),
        (f"{RUN}#/results/balanced-int8/sqnr_db", "measured", "dB"),
        (f"{RUN}#/results/balanced-int8/timing_s/median", "measured", "s"),
        (f"{RUN}#/timing_floor_s/clock/median", "measured", "s"),
        (f"{RUN}#/results/balanced-int8/compiler_memory_bytes/temporary", "estimated", "B"),
        (f"{RUN}#/results/balanced-int8/stored_bytes/total", "computed", "B"),
        (f"{RUN}#/results/balanced-int8/program/hlo_sha256", "computed", ""),
        (f"{RUN}#/results/balanced-int8/requested/accumulator", "given", ""),
        (f"{RUN}#/reference/balanced/norm", "computed", ""),
        (f"{RUN}#/request/batch", "given", ""),
        (f"{RUN}/config#/seed", "given", ""),
        (f"{RUN}/environment#/versions/jax", "measured", ""),
        (f"{RUN}/trace#/steps/0/duration_ns", "measured", "ns"),
        ("chips#/v5e/peak_bf16", "documented", "TFLOP/s"),
        ("chips#/v5e/hbm_bandwidth/alternatives/0", "documented", "GB/s"),
        ("formats#/bf16/unit_roundoff", "computed", ""),
        ("models#/lesson/parameters", "given", ""),
        ("study#/kv_cache/bf16/bytes", "computed", "B"),
    ],
)
def test_a_value_knows_its_kind_and_unit(pointer, kind, unit):
    value = study().values.lookup(pointer)

    assert (value.pointer, value.kind, value.unit) == (pointer, kind, unit)
    assert value.number is not None


@pytest.mark.parametrize(
    ("pointer", "near"),
    [
        (f"{RUN}#/results/balanced-int8/relative_l2_eror", "relative_l2_error"),
        (f"{RUN}#/results/balanced-int4/max_abs_error", "balanced-int8"),
        ("precision-gpu#/results", "precision-cpu"),
        ("study#/kv_cache/bf16/byte", "study#/kv_cache/bf16/bytes"),
        ("chips#/v5e/peak_bf61", "chips#/v5e/peak_bf16"),
        (f"{RUN}#/results/balanced-int8", "max_abs_error"),
        (f"{RUN}#/results/balanced-int8/quantization/x_scales/64", "0 to 63"),
        ("no pointer at all", "document#/key"),
    ],
)
def test_a_pointer_that_misses_is_answered_with_what_is_near(pointer, near):
    with pytest.raises(UnknownPointer) as caught:
        study().values.lookup(pointer)

    assert near in caught.value.hint


@pytest.mark.parametrize(
    ("pointer", "href"),
    [
        (f"{RUN}#/results/outlier-int8/max_abs_error", f"records/{RUN}.html#outlier-int8"),
        (f"{RUN}#/request/batch", f"records/{RUN}.html#request"),
        (f"{RUN}/environment#/versions/jax", f"records/{RUN}.html#environment"),
        (f"{RUN}/trace#/steps/2/inner", f"profiles/{RUN}.html#steps"),
        ("chips#/v5e/hbm_bandwidth/alternatives/0", "chips.html#v5e"),
        ("formats#/bf16/unit_roundoff", "formats.html#bf16"),
        ("study#/kv_cache/bf16/bytes", "workings.html#study-kv-cache-bf16-bytes"),
        (
            f"{RUN}#/results/balanced-int8/compiler_memory_bytes/alias",
            f"records/{RUN}.html#balanced-int8-compiler",
        ),
        (f"{RUN}#/timing_floor_s/empty_call/median", f"records/{RUN}.html#timing_floor_s"),
        ("models#/lesson/parameters", "workings.html#models-lesson-parameters"),
    ],
)
def test_a_value_leads_to_where_it_is_shown(pointer, href):
    assert study().values.resolve_href(pointer) == href


def test_no_two_values_share_an_anchor():
    anchors = [anchor(pointer) for pointer in study().values]

    assert len(set(anchors)) == len(anchors)


def test_what_the_lab_did_not_record_has_a_reason():
    value = study().values.lookup(f"{RUN}/environment#/device_memory")

    assert value.number is None
    assert value.reason == "the cpu backend does not report its memory"


def test_a_list_tells_how_many_values_it_holds():
    scales = study().values.lookup(f"{RUN}#/results/balanced-int8/quantization/x_scales")

    assert scales.number == "64 values"
