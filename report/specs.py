"""What is documented: accelerator chips, and number formats.

A chip's figures stay in each source's own words and units, with every other reading
beside them. A number format's figures are worked out from its bits, and only then
compared with what its documentation prints.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from enum import Enum

from report.source import Source
from report.units import Quantity

PLATFORMS = ("cpu", "gpu", "tpu")
"""Where JAX runs, as it names them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reference:
    """A document that chip sheets and formats cite."""

    id: str
    source: Source
    """Title, address, and the day it was checked."""
    publisher: str
    edition: str
    """The date or revision printed on the copy that was read; `undated` when it has none."""
    grade: str
    """How far to trust it: A official, dated; B official, undated; C developers'; D second-hand."""
    how_read: str

    @property
    def label(self) -> str:
        """Title and edition, such as `Cloud TPU v5e, copy of 2026-08-26`."""
        return f"{self.source.name}, {self.edition}"


Documented = Quantity | int | str | tuple[int, ...] | tuple[str, ...] | None
"""What a source states: a quantity, a count, a name, the counts or names it lists, or nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Spec:
    """One documented value of one chip, with the other readings of it."""

    field: str
    value: Documented
    as_documented: str
    """The source's own words and units; empty when it states nothing."""
    reference: Reference
    note: str = ""
    reason: str = ""
    """Why there is no value; empty when there is one."""
    alternatives: tuple["Spec", ...] = ()
    """What other sources state for the same field."""

    @property
    def quantity(self) -> Quantity | None:
        """The value when it has a unit."""
        return self.value if isinstance(self.value, Quantity) else None

    @property
    def source(self) -> Source:
        return self.reference.source

    @property
    def checked(self) -> date | None:
        return self.reference.source.checked

    @property
    def readings(self) -> tuple["Spec", ...]:
        """This value and its alternatives, those that state something, the chosen one first."""
        return tuple(spec for spec in (self, *self.alternatives) if spec.value is not None)


@dataclass(frozen=True, slots=True, kw_only=True)
class Chip:
    """One accelerator generation, per physical chip."""

    id: str
    name: str
    page: Reference
    """The official page that its sheet follows."""
    device_kinds: tuple[str, ...]
    """What JAX calls its devices: whole strings, compared without regard to case."""
    suffix_rule: str
    """What the number at the end of an accelerator type counts."""
    notes: tuple[str, ...]
    specs: Mapping[str, Spec]
    """Every field of `CHIP_FIELDS`, in that order."""


CHIP_FIELDS: Mapping[str, str] = {
    "peak_bf16": "FLOP/s",
    "peak_int8": "OP/s",
    "peak_fp8": "FLOP/s",
    "hbm_capacity": "B",
    "hbm_bandwidth": "B/s",
    "topology": "text",
    "tensorcores": "count",
    "jax_devices": "count",
    "chips_per_vm": "counts",
    "chips_per_host": "count",
    "frameworks": "names",
    "matrix_operands": "text",
}
"""What every chip sheet answers, and what the answer is: a base unit, or a kind of value."""


def chip_of_device(kind: str, chips: Mapping[str, Chip]) -> Chip | None:
    """The chip whose device kind is `kind`, whole; `None` for any other, however near.

    "TPU v5 lite" is a v5e and "TPU v5" a v5p: matching by prefix would take one for the other.
    """
    wanted = kind.casefold()
    for chip in chips.values():
        if wanted in (known.casefold() for known in chip.device_kinds):
            return chip
    return None


class Encoding(Enum):
    """What the codes of a format mean."""

    IEEE = "ieee"
    """A float; all-ones exponents are infinities and NaN, as IEEE 754 has it."""
    FINITE = "finite"
    """A float without infinities; only all ones throughout is NaN (the `fn` formats)."""
    UNSIGNED_ZERO = "unsigned-zero"
    """A float without infinities or a negative zero, whose code is the only NaN (`fnuz`)."""
    INTEGER = "integer"
    """A two's-complement integer, given meaning by a scale kept beside it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NumberFormat:
    """One number format. Its figures follow from its bits and are exact in a Python float.

    A figure that an encoding does not have is `None`.
    """

    id: str
    name: str
    dtype: str
    """What NumPy and ml_dtypes call it."""
    encoding: Encoding
    sign: int
    exponent: int
    fraction: int
    """Widths in bits; an integer's value bits are its `fraction`."""
    bias: int | None
    """Subtracted from the exponent field; `None` for integers."""
    specials: str
    offers: str
    """What it offers, in a sentence."""
    handle: str
    """What its user must handle, in a sentence."""
    reference: Reference

    @property
    def bits(self) -> int:
        return self.sign + self.exponent + self.fraction

    @property
    def layout(self) -> tuple[int, ...]:
        """Field widths in bits: sign, exponent and fraction, or the one field of an integer."""
        return (self.bits,) if self.bias is None else (self.sign, self.exponent, self.fraction)

    @property
    def max_finite(self) -> float | None:
        if self.bias is None:
            return None
        all_ones = (1 << self.exponent) - 1
        if self.encoding is Encoding.IEEE:
            return (2 - 2.0**-self.fraction) * 2.0 ** (all_ones - 1 - self.bias)
        if self.encoding is Encoding.UNSIGNED_ZERO:
            return (2 - 2.0**-self.fraction) * 2.0 ** (all_ones - self.bias)
        return (2 - 2 * 2.0**-self.fraction) * 2.0 ** (all_ones - self.bias)

    @property
    def smallest_normal(self) -> float | None:
        return None if self.bias is None else 2.0 ** (1 - self.bias)

    @property
    def smallest_subnormal(self) -> float | None:
        return None if self.bias is None else 2.0 ** (1 - self.bias - self.fraction)

    @property
    def unit_roundoff(self) -> float | None:
        """u, the largest relative error of rounding to nearest: half the gap above one."""
        return None if self.bias is None else 2.0 ** -(self.fraction + 1)

    @property
    def integer_range(self) -> tuple[int, int] | None:
        """Smallest and largest code of an integer."""
        if self.bias is not None:
            return None
        half = 1 << (self.bits - 1)
        return (-half, half - 1)

    @property
    def symmetric_bound(self) -> int | None:
        """Codes of a symmetric quantizer run from minus this to this: 127 for INT8."""
        return self.integer_range[1] if self.integer_range else None


def documented_figures(number_format: NumberFormat) -> Mapping[str, float | None]:
    """The figures that a format's documentation prints too, by name, as worked out here."""
    if number_format.integer_range:
        minimum, maximum = number_format.integer_range
        return {"minimum": minimum, "maximum": maximum}
    return {
        "max_finite": number_format.max_finite,
        "smallest_normal": number_format.smallest_normal,
        "smallest_subnormal": number_format.smallest_subnormal,
        "unit_roundoff": number_format.unit_roundoff,
    }
