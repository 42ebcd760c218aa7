"""The lesson's symmetric quantizer on one row, in exact arithmetic.

The lab quantizes whole arrays in float32. `quantize(row, store=float32)` retraces
its steps for one row, so that a figure can show where each value lands.
"""

import struct
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction

BOUND = 127
"""Codes end at ±127, so that the scale is the same on both sides of zero."""

SMALLEST_NORMAL = 2.0**-126
"""Of FP32."""


@dataclass(frozen=True, slots=True, kw_only=True)
class QuantizedRow:
    """One row, one scale. Value i is stored as `codes[i]` and reads back as code times scale."""

    scale: Fraction
    """s: the distance between neighbouring representable values."""
    codes: tuple[int, ...]

    @property
    def restored(self) -> tuple[Fraction, ...]:
        return tuple(self.scale * code for code in self.codes)


def exact(number: Fraction) -> Fraction:
    """Store a number without rounding it."""
    return number


def float32(number: Fraction) -> Fraction:
    """Store a number as the nearest float32, ties to even; as zero when that is not normal.

    Accelerators flush what is below 2⁻¹²⁶, so the lab takes no smaller scale. Going through a
    double first is harmless for a quotient of two float32 numbers.
    """
    rounded: float = struct.unpack("<f", struct.pack("<f", float(number)))[0]
    return Fraction(rounded) if abs(rounded) >= SMALLEST_NORMAL else Fraction(0)


def quantize(
    row: Sequence[float | Fraction], store: Callable[[Fraction], Fraction] = exact
) -> QuantizedRow:
    """Scale `row` by max|x|/127, round to nearest even, clip to ±127.

    `store` rounds each intermediate result. A row of zeros, or one so small that its
    scale underflows, takes scale one.
    """
    values = [Fraction(value) for value in row]
    scale = store(max(map(abs, values), default=Fraction(0)) / BOUND) or Fraction(1)
    codes = tuple(max(-BOUND, min(BOUND, round(store(value / scale)))) for value in values)
    return QuantizedRow(scale=scale, codes=codes)
