"""How many representable numbers lie between two results.

One ulp (unit in the last place) is one step from a floating-point number to the next. The
numbers of one format, in order, are the integers that their bits spell: those of positive
numbers as they are, those of negative numbers counted down from zero. So a distance is a
difference of two integers, across zero and through the subnormals alike; 0 and -0 are the same
place. Bit order: IEEE 754-2019, section 3.4.
"""

import struct

import numpy as np
from numpy.typing import NDArray


def distance(one: float, two: float) -> int:
    """Steps of float64 from `one` to `two`. Neither may be infinite or not a number."""
    return abs(_place(one) - _place(two))


def distances_float32(one: NDArray[np.float32], two: NDArray[np.float32]) -> NDArray[np.int64]:
    """Steps of float32, element by element."""
    return np.abs(_places(one) - _places(two))


def _place(number: float) -> int:
    """Where a float64 stands in the order of all of them; zero at 0."""
    if not np.isfinite(number):
        raise ValueError(f"{number} has no place among the finite numbers")
    bits: int = struct.unpack("<q", struct.pack("<d", number))[0]
    return bits if bits >= 0 else -(bits & 0x7FFF_FFFF_FFFF_FFFF)


def _places(numbers: NDArray[np.float32]) -> NDArray[np.int64]:
    if numbers.dtype != np.float32 or not np.isfinite(numbers).all():
        raise ValueError("only finite float32 numbers have a place in their order")
    bits = np.ascontiguousarray(numbers).view(np.int32).astype(np.int64)
    return np.where(bits >= 0, bits, -(bits & 0x7FFF_FFFF))
