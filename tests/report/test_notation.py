"""Is a number printed as every implementation must print it?"""

import json
from decimal import ROUND_HALF_EVEN, Decimal
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from report.errors import ContentFault
from report.notation import FORMATS, NBSP, UnknownFormat, check_format, render
from report.units import MixedUnits, parse_quantity

VECTORS = json.loads((Path(__file__).parent / "notation_vectors.json").read_text(encoding="utf-8"))[
    "vectors"
]


@pytest.mark.parametrize(("value", "spelling", "text"), VECTORS)
def test_the_vectors_hold(value, spelling, text):
    number = int(value) if value.lstrip("-").isdigit() else float(value)

    assert render(number, spelling).replace(NBSP, " ") == text


def test_every_number_format_has_vectors():
    covered = {spelling.split("(")[0] for _, spelling, _ in VECTORS}

    assert covered == FORMATS.keys() - {"text", "documented"}


@given(st.floats(allow_nan=False, allow_infinity=False), st.integers(0, 19))
def test_a_float_is_rounded_once_on_its_decimal_text(number, digits):
    exact = (
        Decimal(repr(number)).quantize(Decimal(1).scaleb(-digits), ROUND_HALF_EVEN)
        if (abs(number) < 1e9)
        else None
    )
    text = render(number, f"fixed({digits})")

    if exact is not None:
        assert Decimal(text.replace(",", "").replace("−", "-")) == exact
    assert not text.startswith("−0.") or any(d in text for d in "123456789")


@given(st.integers(-1074, 1023))
def test_every_power_of_two_prints_its_exponent(exponent):
    superscripts = str.maketrans("⁻⁰¹²³⁴⁵⁶⁷⁸⁹", "-0123456789")

    assert int(render(2.0**exponent, "power_of_two")[1:].translate(superscripts)) == exponent


@pytest.mark.parametrize("value", [0, 3, -2, 0.1, 1e300])
def test_what_is_no_power_of_two_is_not_printed_as_one(value):
    with pytest.raises(ContentFault, match="not a power of two"):
        render(value, "power_of_two")


def test_a_documented_value_stays_as_the_source_has_it():
    assert render(parse_quantity("1836 TOP/s", scope="chip"), "documented") == f"1836{NBSP}TOP/s"
    assert render("3D torus", "documented") == "3D torus"
    assert render(2, "documented") == "2"


def test_a_quantity_is_converted_within_its_kind_only():
    capacity = parse_quantity("16 GB", scope="chip")

    assert render(capacity, "bytes(GiB, 1)") == f"14.9{NBSP}GiB"
    with pytest.raises(MixedUnits):
        render(capacity, "quantity(GB/s, 1)")
    with pytest.raises(MixedUnits):
        render(16, "bytes(TFLOP/s, 1)")


def test_a_missing_value_prints_only_with_its_reason():
    assert render(None, "percent(2)", reason="the reference norm is zero") == "not recorded"
    with pytest.raises(ContentFault, match="why it is missing"):
        render(None, "percent(2)")


@pytest.mark.parametrize("value", [float("nan"), float("inf"), True, "2.45", Decimal("NaN")])
def test_what_is_no_finite_number_is_refused(value):
    with pytest.raises(ContentFault):
        render(value, "percent(2)")


def test_a_half_is_not_an_integer():
    with pytest.raises(ContentFault, match="not a whole number"):
        render(0.5, "integer")


def test_a_number_is_not_text():
    assert render("AMD EPYC", "text") == "AMD EPYC"
    with pytest.raises(ContentFault, match="not a text"):
        render(1, "text")


@pytest.mark.parametrize(
    ("spelling", "told"),
    [
        ("percnt(2)", "percent"),
        ("percent", "percent(n)"),
        ("percent(2, 3)", "percent(n)"),
        ("percent(-1)", "digits from 0 to 19"),
        ("percent(99)", "digits from 0 to 19"),
        ("bytes(GiB)", "bytes(unit, n)"),
        ("quantity(GBps, 1)", "no unit 'GBps'"),
        ("integer(2)", "integer"),
        ("percent(2", "percent"),
        ("", "Known"),
        ("__class__", "Known"),
    ],
)
def test_a_wrong_format_says_what_would_be_right(spelling, told):
    with pytest.raises(ContentFault) as caught:
        check_format(spelling)

    assert told in f"{caught.value}\n{caught.value.hint}"
    assert isinstance(caught.value, UnknownFormat) or "unit" in str(caught.value)
