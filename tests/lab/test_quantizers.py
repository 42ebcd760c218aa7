"""Laws of the narrow formats."""

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from lab.kit import quantizers
from lab.kit.faults import CheckFailed

pytestmark = pytest.mark.lab

LARGEST = float(np.finfo(np.float32).max)

matrices = arrays.arrays(
    np.float32,
    arrays.array_shapes(min_dims=2, max_dims=2, max_side=9),
    elements=st.floats(-LARGEST, LARGEST, width=32),
)
axes = st.sampled_from([0, 1])


@settings(deadline=None)
@given(matrices, axes)
def test_codes_scales_and_reconstruction_keep_their_bounds(values: np.ndarray, axis: int) -> None:
    quantized = quantizers.quantize_int8(values, axis=axis)
    codes = quantized.codes.astype(np.float64)
    scales = quantized.scales.astype(np.float64)

    assert np.abs(codes).max() <= 127
    assert (scales > 0).all()
    # A float32 quotient may be off by 127 · 2⁻²⁴ of a step on its way to the rounding.
    assert (np.abs(codes * scales - values) <= scales * (0.5 + 1e-5)).all()


@settings(deadline=None)
@given(matrices, axes)
def test_quantizing_what_was_quantized_changes_no_code(values: np.ndarray, axis: int) -> None:
    first = quantizers.quantize_int8(values, axis=axis)
    restored = np.clip(first.codes * first.scales.astype(np.float64), -LARGEST, LARGEST)
    again = quantizers.quantize_int8(restored.astype(np.float32), axis=axis)

    assert (first.codes == again.codes).all()


@settings(deadline=None)
@given(matrices, axes)
def test_every_slice_is_zero_too_small_or_uses_its_whole_range(
    values: np.ndarray, axis: int
) -> None:
    quantized = quantizers.quantize_int8(values, axis=axis)

    peaks = np.abs(quantized.codes).max(axis=axis)
    flat = quantized.zero_rows + quantized.underflow_rows
    assert np.count_nonzero(peaks == 0) == flat
    assert np.count_nonzero(peaks == 127) == peaks.size - flat
    assert quantized.clipped == 0


@settings(deadline=None)
@given(matrices, axes)
def test_the_sign_of_the_input_is_the_sign_of_the_code(values: np.ndarray, axis: int) -> None:
    plus = quantizers.quantize_int8(values, axis=axis)
    minus = quantizers.quantize_int8(-values, axis=axis)

    assert (plus.codes == -minus.codes).all()
    assert (plus.scales == minus.scales).all()


def test_the_worked_row() -> None:
    quantized = quantizers.quantize_int8(np.array([[0, 1, -2]], np.float32), axis=1)

    assert quantized.codes.tolist() == [[0, 64, -127]]
    assert quantized.scales.item() == np.float32(2 / 127)
    assert 64 * quantized.scales.item() == pytest.approx(1.0078740157, rel=1e-7)


@pytest.mark.parametrize(
    ("value", "code"), [(62.5, 62), (-62.5, -62), (63.5, 64), (-63.5, -64), (0.5, 0), (-0.5, 0)]
)
def test_ties_go_to_even(value: float, code: int) -> None:
    row = np.array([[127, value]], np.float32)

    assert quantizers.quantize_int8(row, axis=1).codes.tolist() == [[127, code]]


@pytest.mark.parametrize("peak", [1e-44, 1e-42, 1e-38])
def test_a_row_too_small_for_a_normal_scale_is_counted(peak: float) -> None:
    rows = np.array([[peak, -peak], [0, 0], [2, 1]], np.float32)

    with np.errstate(divide="raise", invalid="raise", over="raise"):
        quantized = quantizers.quantize_int8(rows, axis=1)

    assert (quantized.underflow_rows, quantized.zero_rows) == (1, 1)
    assert quantized.scales[:2].ravel().tolist() == [1, 1]
    assert quantized.codes.tolist() == [[0, 0], [0, 0], [127, 64]]


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_what_is_not_finite_is_refused_by_name_and_index(value: float) -> None:
    x = np.ones((3, 4), np.float32)
    x[1, 2] = value

    with pytest.raises(CheckFailed, match=r"X: 1 of 12 values .* at index \[1, 2\]"):
        quantizers.require_finite(x, "X")
    with pytest.raises(CheckFailed, match=r"\[1, 2\]"):
        quantizers.quantize_int8(x, axis=1)
    with pytest.raises(CheckFailed, match=r"X: .*\[1, 2\]"):
        quantizers.round_to_bfloat16(x, "X")


def test_a_finite_value_that_bfloat16_cannot_hold_is_refused() -> None:
    with pytest.raises(CheckFailed, match="W rounded to BF16"):
        quantizers.round_to_bfloat16(np.array([[1, 3.4e38]], np.float32), "W")


def test_bfloat16_rounds_ties_to_even() -> None:
    tie = np.array([[1 + 2**-8, 1 + 3 * 2**-8]], np.float32)

    rounded = quantizers.round_to_bfloat16(tie, "X")
    assert rounded.dtype == ml_dtypes.bfloat16
    assert rounded.astype(np.float32).tolist() == [[1.0, 1 + 2**-6]]


def test_a_contraction_that_could_wrap_int32_is_refused() -> None:
    quantizers.require_int32_room(133_144)
    with pytest.raises(CheckFailed, match="133145 features: INT32 holds at most 133144"):
        quantizers.require_int32_room(133_145)
    assert np.int64(133_145 * 127**2).astype(np.int32) == -2_147_471_591


@settings(deadline=None)
@given(
    arrays.arrays(np.int8, (3, 5), elements=st.integers(-127, 127)),
    arrays.arrays(np.int8, (5, 2), elements=st.integers(-127, 127)),
)
def test_the_largest_accumulator_is_exact(x: np.ndarray, w: np.ndarray) -> None:
    sums = [
        sum(int(a) * int(b) for a, b in zip(row, column, strict=True))
        for row in x
        for column in w.T
    ]

    assert quantizers.largest_accumulator(x, w) == max(map(abs, sums))
