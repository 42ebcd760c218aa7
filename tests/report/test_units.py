"""Do sizes, work and rates keep their units?"""

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from report.errors import ContentFault
from report.units import UNITS, MixedUnits, Quantity, Scope, parse_quantity, parse_unit

AMOUNTS = st.decimals(min_value=-(10**15), max_value=10**15, places=6)
SCOPES = st.sampled_from([None, "chip", "device", "core", "host", "pod"])


@st.composite
def quantities(draw: st.DrawFn) -> Quantity:
    unit = UNITS[draw(st.sampled_from(sorted(UNITS)))]
    return Quantity(amount=draw(AMOUNTS), unit=unit, scope=draw(SCOPES))


@given(quantities())
def test_a_printed_quantity_reads_back_to_itself(quantity):
    assert parse_quantity(str(quantity)) == quantity


@given(quantities(), st.data())
def test_there_and_back_is_the_same_quantity(quantity, data):
    same_kind = sorted(s for s, unit in UNITS.items() if unit.base == quantity.unit.base)
    there = quantity.to(data.draw(st.sampled_from(same_kind)))

    assert there.base() == quantity.base()
    assert there.to(quantity.unit.symbol) == quantity
    assert parse_quantity(str(there)) == there


@given(quantities(), quantities())
def test_only_like_is_added_to_like(one, other):
    if (one.unit, one.scope) == (other.unit, other.scope):
        assert (one + other).amount == one.amount + other.amount
        assert (one < other) == (one.amount < other.amount)
    else:
        for mix in (lambda: one + other, lambda: one < other, lambda: one <= other):
            with pytest.raises(MixedUnits):
                mix()


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("16 GB", "16 GiB"),
        ("393 TOP/s", "197 TFLOP/s"),
        ("2307 TFLOP/s per chip", "2307 TFLOP/s per device"),
        ("819 GB/s", "819 GB"),
        ("400 GB/s", "1600 Gbit/s"),
    ],
)
def test_what_sounds_alike_does_not_mix(one, other):
    with pytest.raises(MixedUnits) as caught:
        _ = parse_quantity(one) + parse_quantity(other)

    assert one in str(caught.value)
    assert other in str(caught.value)
    assert ".to(unit)" in caught.value.hint
    assert caught.value.exit_code == 8


def test_conversion_is_exact_and_said_aloud():
    documented = parse_quantity("800 GiB/s", scope="chip")

    assert documented.to("GB/s") == parse_quantity("858.9934592 GB/s per chip")
    assert documented.base() == 858_993_459_200
    assert parse_quantity("1.5 GiB").base() == 1_610_612_736


def test_operations_are_not_floating_point_operations():
    with pytest.raises(MixedUnits, match="OP/s is not FLOP/s"):
        parse_quantity("393 TOP/s").to("TFLOP/s")


def test_a_device_gets_its_share_of_a_chip_only_when_asked():
    chip = parse_quantity("2307 TFLOP/s", scope="chip")

    assert str(chip.per("device", of=2)) == "1153.5 TFLOP/s per device"
    with pytest.raises(MixedUnits):
        parse_quantity("2307 TFLOP/s").per("device", of=2)
    with pytest.raises(MixedUnits):
        chip.per("device", of=0)


@pytest.mark.parametrize(
    "text",
    ["", "GB", "16", "16GB", "16  GB", "1e3 GB", "16 gb", "16 GB per lunch", "٣ GB", "nan GB"],
)
def test_what_is_no_quantity_is_refused(text):
    with pytest.raises(ContentFault):
        parse_quantity(text)


def test_a_text_cannot_contradict_where_it_stands():
    with pytest.raises(MixedUnits):
        parse_quantity("16 GB per device", scope="chip")


def test_units_are_exact():
    assert parse_unit("GB").factor == 10**9
    assert parse_unit("GiB").factor == 2**30
    assert parse_unit("µs").factor == Decimal("0.000001")
    scope: Scope = "chip"
    assert parse_quantity("16 GB", scope=scope).scope == scope
