"""The symmetric quantizer: the tiny row, ties, zeros, and the laws of a step."""

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from report.numbers.precision import CASES, PrecisionRun
from report.numbers.quantizer import float32, quantize
from tests.report.numbers_ground import study

FLOATS = st.floats(-(2.0**99), 2.0**99, width=32)


def test_the_tiny_row_rounds_its_tie_to_even():
    stored = quantize([0, 1, -2])

    assert stored.scale == Fraction(2, 127)
    assert stored.codes == (0, 64, -127)
    assert float(stored.restored[1]) == 1.0078740157480315


def test_a_row_of_zeros_takes_scale_one():
    assert quantize([0.0, 0.0]).scale == 1
    assert quantize([]).codes == ()


@pytest.mark.parametrize("peak", [1e-44, 1e-42, 1e-38])
def test_a_row_whose_scale_is_not_normal_takes_scale_one(peak):
    """As the lab has it: see `test_a_row_too_small_for_a_normal_scale_is_counted` there."""
    stored = quantize([peak, -peak], store=float32)

    assert stored.scale == 1
    assert stored.codes == (0, 0)


def test_retracing_a_recorded_row_gives_the_scale_that_the_lab_recorded():
    for run in study().of(PrecisionRun).values():
        for case in CASES:
            recorded = run.result(case, "int8").quantization
            assert recorded is not None
            again = quantize(run.inputs[case].example_row, store=float32)
            assert float(again.scale) == recorded.x_scales[0], (run.name, case)


@given(st.lists(FLOATS, min_size=1, max_size=20))
def test_nothing_moves_by_more_than_half_a_step(row):
    stored = quantize(row)

    for value, restored in zip(row, stored.restored, strict=True):
        assert abs(Fraction(value) - restored) <= stored.scale / 2


@given(st.lists(FLOATS, min_size=1, max_size=20))
def test_codes_stay_within_127_and_follow_the_order_of_values(row):
    ordered = sorted(row)
    codes = quantize(ordered, store=float32).codes

    assert all(-127 <= code <= 127 for code in codes)
    assert list(codes) == sorted(codes)


@given(st.lists(st.floats(-4, 4, width=32), min_size=1, max_size=20), st.floats(4, 1e6))
def test_an_outlier_never_narrows_the_step(row, outlier):
    assert quantize([*row, outlier]).scale >= quantize(row).scale or not any(row)
