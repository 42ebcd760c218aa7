"""Rooflines: worked examples, refusals, and the laws no point may break."""

import math
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from report.content import load_content
from report.errors import ContentFault
from report.numbers.roofline import Ceiling, Product, Roofline
from report.numbers.worked_roofline import rooflines_of, rows_to_reach
from report.source import Source
from tests.report.numbers_ground import ROOT

RATES = st.floats(1e6, 1e18)
SIZES = st.integers(1, 4096)


def product(m: int = 1, k: int = 1024, n: int = 1024, **widths: int) -> Product:
    return Product(m=m, k=k, n=n, **({"x_bytes": 2, "w_bytes": 2, "y_bytes": 4} | widths))


def ceiling(per_s: float) -> Ceiling:
    source = Source(name="a page", href="https://example.org")
    return Ceiling(
        pointer="chips#/x/y",
        per_s=per_s,
        label="",
        as_documented="",
        edition="a page",
        source=source,
    )


def roofline(peak: float = 197e12, bandwidth: float = 819e9) -> Roofline:
    return Roofline(
        chip="a chip", operand="bf16", work="FLOP", peak=ceiling(peak), bandwidth=ceiling(bandwidth)
    )


@pytest.mark.parametrize(
    ("m", "flop", "moved", "intensity"),
    [(1, 2_097_152, 2_103_296, 0.99708), (64, 134_217_728, 2_490_368, 53.8947)],
)
def test_batching_raises_intensity_as_the_lesson_works_it_out(m, flop, moved, intensity):
    assert product(m).operations == flop
    assert product(m).bytes == moved
    assert product(m).intensity == pytest.approx(intensity, rel=1e-5)


@pytest.mark.parametrize(
    ("width", "scales", "intensity"), [(4, 0, 12.8), (2, 0, 21.33), (1, 512, 31.51)]
)
def test_the_labs_product_with_its_fp32_output(width, scales, intensity):
    dot = product(64, 128, 64, x_bytes=width, w_bytes=width)

    assert dot.operations / (dot.bytes + scales) == pytest.approx(intensity, abs=0.005)


def test_an_integer_product_is_refused_under_a_floating_ceiling():
    with pytest.raises(ContentFault) as caught:
        roofline().bound(replace(product(), operand="int8"))

    assert "counted in OP" in caught.value.faults[0].found
    assert "counted in FLOP" in caught.value.faults[0].expected


def test_another_floating_format_is_refused_too():
    with pytest.raises(ContentFault):
        roofline().bound(replace(product(), operand="fp8_e4m3fn"))


@pytest.mark.parametrize("rate", [0.0, -1.0, math.nan])
def test_a_ceiling_must_be_above_zero(rate):
    with pytest.raises(ContentFault):
        roofline(peak=rate)


def test_a_time_better_than_the_bound_is_told_never_clipped():
    roof = roofline()
    ideal_s = roof.bound(product()).ideal_s

    assert roof.exceeded_by(product(), ideal_s / 2) == pytest.approx(2)
    assert roof.exceeded_by(product(), ideal_s * 2) == pytest.approx(0.5)


def test_both_documented_bandwidths_of_v5e_stand():
    v5e = load_content(ROOT / "content").chips["v5e"]

    first, second, *_ = rooflines_of(v5e, "bf16")

    assert (first.bandwidth.label, second.bandwidth.label) == ("800 GiB/s", "819 GB/s")
    assert (first.bandwidth.as_documented, second.bandwidth.as_documented) == (
        "800 GiBps",
        "819 GBps",
    )
    assert (first.peak.label, first.peak.as_documented) == ("197 TFLOP/s", "197 TFLOPs")
    assert first.ridge == pytest.approx(229.34, abs=0.01)
    assert second.ridge == pytest.approx(240.54, abs=0.01)
    assert first.bandwidth.source.href != ""


def test_a_ceiling_is_drawn_only_for_the_documented_format():
    chips = load_content(ROOT / "content").chips

    assert rooflines_of(chips["tpu7x"], "int8") == ()
    assert rooflines_of(chips["v2"], "bf16") == ()
    assert rooflines_of(chips["v5e"], "int8")[0].work == "OP"


@given(RATES, RATES, st.floats(1e-3, 1e6))
def test_no_rate_passes_either_ceiling(peak, bandwidth, intensity):
    rate = roofline(peak, bandwidth).attainable_per_s(intensity)

    assert rate <= peak
    assert rate <= intensity * bandwidth


@given(RATES, RATES, SIZES, SIZES, SIZES)
def test_the_bound_and_the_attainable_rate_are_one_statement(peak, bandwidth, m, k, n):
    roof, dot = roofline(peak, bandwidth), product(m, k, n)

    assert dot.operations / roof.bound(dot).ideal_s == pytest.approx(
        roof.attainable_per_s(dot.intensity)
    )


@given(SIZES, SIZES, SIZES)
def test_more_rows_never_lower_the_intensity(m, k, n):
    assert product(m, k, n).intensity < product(m + 1, k, n).intensity


@given(st.floats(1, 340))
def test_the_rows_that_reach_a_ridge_are_the_least_that_do(ridge):
    rows = rows_to_reach(ridge, product())

    assert product(rows).intensity >= ridge * (1 - 1e-12)
    assert rows == 1 or product(rows - 1).intensity < ridge * (1 + 1e-12)


def test_a_ridge_beyond_the_limit_is_never_reached():
    assert rows_to_reach(1024 / 3, product()) is None
