"""Narrow formats against the definitions: exact fractions, and vectors that others published."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lab.kit.number_formats import FORMATS

pytestmark = pytest.mark.lab

# Precision in bits with the hidden one, exponent of the smallest normal value, largest value:
# IEEE 754 binary16, and the tables of the OCP FP8 specification and of ONNX for the FNUZ family.
DEFINITIONS = {
    "bfloat16": (8, -126, Fraction(2) ** 127 * (2 - Fraction(1, 2**7))),
    "float16": (11, -14, Fraction(65504)),
    "float8_e4m3fn": (4, -6, Fraction(448)),
    "float8_e5m2": (3, -14, Fraction(57344)),
    "float8_e4m3b11fnuz": (4, -10, Fraction(30)),
}

singles = st.floats(width=32, allow_nan=False, allow_infinity=False)
# Most single-precision numbers are far outside the narrow formats; these are not.
near = st.builds(math.ldexp, st.floats(-2, 2, width=32), st.integers(-20, 17))
values = st.one_of(singles, near.map(lambda value: float(np.float32(value))))


def nearest(value: float, precision: int, smallest_exponent: int) -> Fraction:
    """The nearest multiple of the spacing at `value`, ties to the even multiple."""
    exact = Fraction(value)
    exponent = max(math.frexp(value)[1] - 1, smallest_exponent)
    spacing = Fraction(2) ** (exponent - precision + 1)
    # Fractions round half to even, by definition of round().
    return round(exact / spacing) * spacing


@pytest.mark.parametrize("name", DEFINITIONS)
@given(value=values)
def test_floats_round_to_the_nearest_and_what_is_too_large_is_held(name: str, value: float) -> None:
    precision, smallest, largest = DEFINITIONS[name]
    rounded = FORMATS[name].round(np.float32([value]), "saturate")

    unlimited = nearest(value, precision, smallest)
    assert Fraction(float(rounded.codes[0])) == max(-largest, min(unlimited, largest))
    assert bool(rounded.saturated[0]) == (abs(unlimited) > largest)


@pytest.mark.parametrize("name", DEFINITIONS)
@given(value=values)
def test_without_saturation_the_same_values_round_the_same_or_leave_the_range(
    name: str, value: float
) -> None:
    precision, smallest, largest = DEFINITIONS[name]
    number_format = FORMATS[name]
    rounded = number_format.round(np.float32([value]), number_format.overflows[1])

    expected = nearest(value, precision, smallest)
    found = float(rounded.codes[0])
    if abs(expected) > largest:
        assert not math.isfinite(found)
        assert math.isnan(found) == (number_format.overflows[1] == "nan")
    else:
        assert Fraction(found) == expected


@pytest.mark.parametrize(("name", "largest"), [("int8", 127), ("int4", 7)])
@given(value=values)
def test_integers_round_half_to_even_and_clip_before_they_are_cast(
    name: str, largest: int, value: float
) -> None:
    rounded = FORMATS[name].round(np.float32([value]), "saturate")

    whole = round(Fraction(value))
    assert int(rounded.codes[0]) == max(-largest, min(whole, largest))
    assert bool(rounded.clipped[0]) == (abs(whole) > largest)


@pytest.mark.parametrize("name", FORMATS)
def test_a_format_states_its_own_limits(name: str) -> None:
    number_format = FORMATS[name]
    if name in DEFINITIONS:
        precision, smallest, largest = DEFINITIONS[name]
        assert number_format.largest == float(largest)
        assert number_format.unit_roundoff == 2.0**-precision
        assert number_format.half_spacing == 2.0 ** (smallest - precision)


@pytest.mark.parametrize(
    ("value", "held", "not_held"),
    [
        (448, 448, 448),
        (464, 448, 448),  # a tie, to the even neighbour
        (464.0001, 448, math.nan),
        (465, 448, math.nan),
        (100000, 448, math.nan),
        (-465, -448, math.nan),
    ],
)
def test_e4m3fn_around_its_top_follows_the_policy(
    value: float, held: float, not_held: float
) -> None:
    number_format, values = FORMATS["float8_e4m3fn"], np.float32([value])

    assert float(number_format.round(values, "saturate").codes[0]) == held
    found = float(number_format.round(values, "nan").codes[0])
    assert found == not_held or (math.isnan(found) and math.isnan(not_held))
    assert bool(number_format.round(values, "saturate").saturated[0]) == math.isnan(not_held)


@pytest.mark.parametrize(
    ("name", "value", "expected"),
    [
        ("float8_e5m2", 61440, math.inf),
        ("float8_e5m2", 61439, 57344),
        ("float8_e5m2", 100, 96),
        ("float8_e5m2", 0.1234567, 0.125),
        ("float8_e4m3b11fnuz", 30.9, 30),
        ("float8_e4m3b11fnuz", 31.1, math.nan),
        ("bfloat16", 1 + 2**-8, 1),
        ("bfloat16", 3.4e38, math.inf),
        ("float16", 65519, 65504),
        ("float16", 65520, math.inf),
    ],
)
def test_published_vectors_of_formats_that_do_not_saturate(
    name: str, value: float, expected: float
) -> None:
    number_format = FORMATS[name]
    found = float(number_format.round(np.float32([value]), number_format.overflows[1]).codes[0])

    assert found == expected or (math.isnan(found) and math.isnan(expected))


@pytest.mark.parametrize(
    ("value", "code"),
    [
        (62.5, 62),
        (-62.5, -62),
        (63.5, 64),
        (1.2, 1),
        (3.5, 4),
        (129, 127),
        (-1300, -127),
        (200, 127),
    ],
)
def test_int8_ties_go_to_even_and_minus_128_never_occurs(value: float, code: int) -> None:
    assert int(FORMATS["int8"].round(np.float32([value]), "saturate").codes[0]) == code


def test_a_minus_zero_keeps_its_sign_in_e4m3fn_alone() -> None:
    zero = np.float32([-0.0])

    assert FORMATS["float8_e4m3fn"].round(zero, "nan").codes.view(np.uint8)[0] == 0x80
    assert FORMATS["float8_e4m3b11fnuz"].round(zero, "nan").codes.view(np.uint8)[0] == 0x00
    assert not np.signbit(FORMATS["int8"].round(zero, "saturate").codes.astype(np.float32))[0]
