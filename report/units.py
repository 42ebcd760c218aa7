"""Sizes, work and rates with their units kept: GB is not GiB, OP not FLOP, a chip not a device.

A quantity is an exact decimal amount, a unit, and what it is counted per. Nothing is
converted silently: mixing raises `MixedUnits`, and `to` and `per` say what is meant.
"""

import re
from dataclasses import dataclass
from decimal import Context, Decimal
from typing import Literal, Self, cast, get_args

from report.errors import ContentFault

Scope = Literal["chip", "device", "core", "host", "pod"]
"""What a documented figure is counted per. `device` is a JAX device, `core` a TensorCore."""

_DECIMAL = {"": 1, "k": 10**3, "M": 10**6, "G": 10**9, "T": 10**12, "P": 10**15, "E": 10**18}
_BINARY = {"Ki": 2**10, "Mi": 2**20, "Gi": 2**30, "Ti": 2**40, "Pi": 2**50, "Ei": 2**60}
_FRACTION = {"": "1", "m": "1e-3", "µ": "1e-6", "n": "1e-9"}

_EXACT = Context(prec=120)
"""Enough digits for any conversion between the units below to come out exact."""

_QUANTITY = re.compile(
    r"(?P<amount>-?[0-9]{1,128}(?:\.[0-9]{1,128})?) (?P<unit>[A-Za-zµ/]{1,16})"
    r"(?: per (?P<scope>[a-z]+))?"
)


class MixedUnits(ContentFault):
    """Two quantities, or a quantity and a unit, that do not belong together."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Unit:
    """One unit of measure: `symbol` as printed, `factor` of the `base` unit it stands for."""

    symbol: str
    base: str
    factor: Decimal

    def __str__(self) -> str:
        return self.symbol


def _units() -> dict[str, Unit]:
    """Every unit there is, by its symbol."""
    amounts = [
        (prefix + "B", "B", Decimal(factor)) for prefix, factor in (_DECIMAL | _BINARY).items()
    ]
    amounts += [(prefix + "bit", "bit", Decimal(factor)) for prefix, factor in _DECIMAL.items()]
    amounts += [
        (prefix + work, work, Decimal(f))
        for work in ("FLOP", "OP")
        for prefix, f in _DECIMAL.items()
    ]
    rates = [(f"{symbol}/s", f"{base}/s", factor) for symbol, base, factor in amounts]
    times = [(prefix + "s", "s", Decimal(factor)) for prefix, factor in _FRACTION.items()]
    intensities = [(f"{work}/B", f"{work}/B", Decimal(1)) for work in ("FLOP", "OP")]
    return {
        symbol: Unit(symbol=symbol, base=base, factor=factor)
        for symbol, base, factor in [*amounts, *rates, *times, *intensities]
    }


UNITS = _units()


def parse_unit(symbol: str) -> Unit:
    """The unit written `symbol`, such as `GiB`, `TFLOP/s` or `µs`."""
    unit = UNITS.get(symbol)
    if unit is None:
        raise ContentFault(
            f"There is no unit {symbol!r}.", hint="Write it like GB, GiB, GB/s, TFLOP/s, TOP/s, µs."
        )
    return unit


@dataclass(frozen=True, slots=True, kw_only=True)
class Quantity:
    """An amount of a unit, exact, and what it is counted per (`None` for a plain amount)."""

    amount: Decimal
    unit: Unit
    scope: Scope | None = None

    def __str__(self) -> str:
        """The text that `parse_quantity` reads back to this quantity."""
        return f"{self.label} per {self.scope}" if self.scope else self.label

    @property
    def label(self) -> str:
        """Amount and unit, without what it is counted per."""
        return f"{self.amount:f} {self.unit}"

    def base(self) -> Decimal:
        """The amount in the base unit: B, bit, FLOP, OP or s, and those per second or per byte."""
        return _EXACT.multiply(self.amount, self.unit.factor)

    def to(self, symbol: str) -> Self:
        """The same quantity in another unit of the same kind: `Quantity.to("GiB")`."""
        unit = parse_unit(symbol)
        if unit.base != self.unit.base:
            raise MixedUnits(
                f"{self} cannot be given in {unit}: {self.unit.base} is not {unit.base}."
            )
        amount = _EXACT.divide(self.base(), unit.factor)
        return type(self)(amount=_plain(amount), unit=unit, scope=self.scope)

    def per(self, scope: Scope, *, of: int) -> Self:
        """The share of one `scope`, when `of` of them make up what this is counted per."""
        if self.scope is None:
            raise MixedUnits(f"{self} is counted per nothing, so it has no share per {scope}.")
        if of < 1:
            raise MixedUnits(f"{self} cannot be shared among {of}.")
        return type(self)(
            amount=_plain(_EXACT.divide(self.amount, of)), unit=self.unit, scope=scope
        )

    def __add__(self, other: "Quantity") -> Self:
        self._agree(other, "added")
        return type(self)(
            amount=_EXACT.add(self.amount, other.amount), unit=self.unit, scope=self.scope
        )

    def __lt__(self, other: "Quantity") -> bool:
        self._agree(other, "compared")
        return self.amount < other.amount

    def __le__(self, other: "Quantity") -> bool:
        self._agree(other, "compared")
        return self.amount <= other.amount

    def _agree(self, other: "Quantity", verb: str) -> None:
        if (self.unit, self.scope) != (other.unit, other.scope):
            raise MixedUnits(
                f"{self} and {other} cannot be {verb}.",
                hint="Convert one: .to(unit) within one kind, .per(scope, of=n) between scopes.",
            )


def parse_quantity(text: str, *, scope: Scope | None = None) -> Quantity:
    """Read `197 TFLOP/s` or `197 TFLOP/s per chip`; `scope` states it where the text does not."""
    found = _QUANTITY.fullmatch(text)
    if found is None:
        raise ContentFault(
            f"{text!r} is not a quantity.", hint="Write an amount and a unit, such as 197 TFLOP/s."
        )
    written = found["scope"]
    if written is not None and written not in get_args(Scope):
        raise ContentFault(
            f"{text!r} is counted per {written!r}; known: {', '.join(get_args(Scope))}."
        )
    if written and scope and written != scope:
        raise MixedUnits(f"{text!r} is counted per {written}, where per {scope} is wanted.")
    return Quantity(
        amount=Decimal(found["amount"]),
        unit=parse_unit(found["unit"]),
        scope=cast("Scope | None", written) or scope,
    )


def _plain(amount: Decimal) -> Decimal:
    """Without trailing zeros, so that equal amounts print alike."""
    return amount.normalize(_EXACT)
