"""How an error is read, and when it has no reading."""

import numpy as np
import pytest

from lab.kit.accuracy import compare, reference_product
from lab.kit.faults import CheckFailed

pytestmark = pytest.mark.lab


def test_the_three_readings_of_one_error() -> None:
    accuracy = compare(np.array([[3, 4.5]], np.float32), np.array([[3.0, 4.0]]))

    assert accuracy.relative_l2_error == pytest.approx(0.1)
    assert accuracy.max_abs_error == 0.5
    assert accuracy.sqnr_db == pytest.approx(20)
    assert accuracy.relative_l2_error_reason is accuracy.sqnr_db_reason is None


def test_a_zero_reference_has_no_ratio_and_says_why() -> None:
    accuracy = compare(np.array([[0.5]], np.float32), np.array([[0.0]]))

    assert accuracy.relative_l2_error is None
    assert accuracy.sqnr_db is None
    assert accuracy.relative_l2_error_reason == "the reference norm is zero"
    assert accuracy.sqnr_db_reason == "the reference norm is zero"
    assert accuracy.max_abs_error == 0.5


def test_no_error_has_no_decibels_and_says_why() -> None:
    accuracy = compare(np.array([[2]], np.float32), np.array([[2.0]]))

    assert accuracy.relative_l2_error == 0
    assert accuracy.sqnr_db is None
    assert accuracy.sqnr_db_reason == "the error norm is zero"


def test_an_output_that_is_not_finite_or_of_another_shape_is_refused() -> None:
    with pytest.raises(CheckFailed, match="not finite"):
        compare(np.array([[np.nan]], np.float32), np.array([[1.0]]))
    with pytest.raises(CheckFailed, match="differ in shape"):
        compare(np.zeros((2, 1), np.float32), np.zeros((1, 2)))


def test_the_reference_is_a_float64_product_of_the_float32_values() -> None:
    third = np.full((1, 1), 1 / 3, np.float32)

    product = reference_product(third, third)
    assert product.dtype == np.float64
    assert product.item() == float(np.float32(1 / 3)) ** 2
