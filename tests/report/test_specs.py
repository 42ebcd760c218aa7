"""Are chips and formats what their documents say, and nothing more?"""

from datetime import date
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest

from report.content import Content, load_content
from report.specs import CHIP_FIELDS, NumberFormat, Spec, chip_of_device, documented_figures
from report.units import MixedUnits, Quantity

CONTENT = Path(__file__).resolve().parents[2] / "content"


@pytest.fixture(scope="module")
def content() -> Content:
    return load_content(CONTENT)


def every_spec(content: Content) -> list[Spec]:
    found = [spec for chip in content.chips.values() for spec in chip.specs.values()]
    return found + [other for spec in found for other in spec.alternatives]


def test_the_seven_generations_are_there_in_order(content):
    assert list(content.chips) == ["v2", "v3", "v4", "v5e", "v5p", "v6e", "tpu7x"]
    assert all(list(chip.specs) == list(CHIP_FIELDS) for chip in content.chips.values())


def test_every_value_has_its_words_its_source_and_its_day(content):
    for spec in every_spec(content):
        assert spec.source.href.startswith("https://"), spec
        assert spec.checked == date(2026, 11, 29), spec
        assert spec.reference.edition, spec
        assert (spec.value is None) == bool(spec.reason), spec
        assert (spec.value is None) == (not spec.as_documented), spec


def test_every_quantity_is_per_chip(content):
    quantities = [spec.quantity for spec in every_spec(content) if spec.quantity]

    assert {quantity.scope for quantity in quantities} == {"chip"}
    assert len(quantities) > 50


@pytest.mark.parametrize(
    ("chip", "field", "text"),
    [
        ("v3", "peak_bf16", "123 TFLOP/s"),
        ("v4", "peak_bf16", "275 TFLOP/s"),
        ("v4", "peak_int8", "275 TOP/s"),
        ("v5e", "peak_bf16", "197 TFLOP/s"),
        ("v5e", "peak_int8", "393 TOP/s"),
        ("v5e", "hbm_capacity", "16 GB"),
        ("v5e", "hbm_bandwidth", "800 GiB/s"),
        ("v5p", "peak_bf16", "459 TFLOP/s"),
        ("v5p", "peak_fp8", "459 TFLOP/s"),
        ("v5p", "hbm_capacity", "95 GiB"),
        ("v5p", "hbm_bandwidth", "2765 GB/s"),
        ("v6e", "peak_bf16", "918 TFLOP/s"),
        ("v6e", "peak_int8", "1836 TOP/s"),
        ("v6e", "hbm_capacity", "32 GB"),
        ("tpu7x", "peak_bf16", "2307 TFLOP/s"),
        ("tpu7x", "peak_fp8", "4614 TFLOP/s"),
        ("tpu7x", "hbm_capacity", "192 GiB"),
        ("tpu7x", "hbm_bandwidth", "7380 GB/s"),
    ],
)
def test_headline_figures_keep_their_source_s_unit(content, chip, field, text):
    quantity = content.chips[chip].specs[field].quantity

    assert quantity is not None
    assert quantity.label == text


@pytest.mark.parametrize(
    ("chip", "field"),
    [
        ("v2", "peak_bf16"),
        ("v2", "hbm_capacity"),
        ("v2", "hbm_bandwidth"),
        ("v4", "peak_fp8"),
        ("v5e", "peak_fp8"),
        ("v5p", "peak_int8"),
        ("tpu7x", "peak_int8"),
    ],
)
def test_what_no_official_page_lists_is_absent_with_a_reason(content, chip, field):
    spec = content.chips[chip].specs[field]

    assert spec.value is None
    assert spec.reason.startswith("Not listed on the")


def test_both_readings_of_the_v5e_bandwidth_stand_with_their_sources(content):
    readings = content.chips["v5e"].specs["hbm_bandwidth"].readings
    official, other = readings[0].quantity, readings[1].quantity

    assert isinstance(official, Quantity)
    assert isinstance(other, Quantity)
    assert (official.label, other.label) == ("800 GiB/s", "819 GB/s")
    with pytest.raises(MixedUnits):
        _ = official < other
    assert other < official.to("GB/s")
    assert len({reading.reference.id for reading in readings}) == len(readings)


@pytest.mark.parametrize(
    ("kind", "chip"),
    [
        ("TPU v2", "v2"),
        ("TPU v3", "v3"),
        ("TPU v4", "v4"),
        ("TPU v5 lite", "v5e"),
        ("TPU v5e", "v5e"),
        ("TPU v5", "v5p"),
        ("tpu v5P", "v5p"),
        ("TPU v6 Lite", "v6e"),
        ("TPU v6e", "v6e"),
        ("TPU7x", "tpu7x"),
        ("TPU v4 lite", None),
        ("TPU8i", None),
        ("TPU v5 lite pod", None),
        ("TPU", None),
        ("cpu", None),
        ("", None),
    ],
)
def test_a_device_kind_is_matched_whole(content, kind, chip):
    found = chip_of_device(kind, content.chips)

    assert (found.id if found else None) == chip


def test_no_two_chips_claim_one_device_kind(content):
    kinds = [kind.casefold() for chip in content.chips.values() for kind in chip.device_kinds]

    assert len(kinds) == len(set(kinds))


def floats(content: Content) -> list[NumberFormat]:
    return [number_format for number_format in content.formats.values() if number_format.exponent]


def test_float_figures_are_those_of_ml_dtypes(content):
    for number_format in floats(content):
        known = ml_dtypes.finfo(number_format.dtype)

        assert number_format.bits == known.bits
        assert number_format.layout == (1, known.nexp, known.nmant)
        assert number_format.max_finite == float(known.max)
        assert number_format.smallest_normal == float(known.smallest_normal)
        assert number_format.smallest_subnormal == float(known.smallest_subnormal)
        assert number_format.unit_roundoff == float(known.eps) / 2


def test_small_formats_decode_to_what_their_bits_say(content):
    for number_format in floats(content):
        if number_format.bits == 8:
            codes = np.arange(256, dtype=np.uint8).view(getattr(ml_dtypes, number_format.dtype))
            values = codes.astype(np.float64)
            finite = values[np.isfinite(values)]

            assert finite.max() == number_format.max_finite
            assert finite[finite > 0].min() == number_format.smallest_subnormal


def test_integer_ranges_are_those_of_ml_dtypes(content):
    for number_format in content.formats.values():
        if number_format.integer_range:
            known = ml_dtypes.iinfo(number_format.dtype)

            assert number_format.integer_range == (known.min, known.max)
            assert number_format.layout == (number_format.bits,)
            assert number_format.symmetric_bound == known.max


def test_figures_an_encoding_lacks_are_absent(content):
    assert content.formats["int8"].unit_roundoff is None
    assert content.formats["int8"].max_finite is None
    assert content.formats["bf16"].integer_range is None
    assert documented_figures(content.formats["int4"]) == {"minimum": -8, "maximum": 7}
