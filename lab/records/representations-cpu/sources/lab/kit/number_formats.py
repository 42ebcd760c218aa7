"""The number formats an operand may be stored in, and rounding to each of them.

Rounding is to nearest, ties to even. What lies beyond a format's range is held at its
largest value, or becomes NaN or infinity: a policy says which.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import ml_dtypes
import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, slots=True, kw_only=True)
class NumberFormat:
    """One format, by the name NumPy, ml_dtypes and JAX share."""

    name: str
    dtype: np.dtype[Any]
    bits: int
    """Bits of one value when packed."""
    integer: bool
    largest: float
    """The largest magnitude in use; symmetric integers leave their lowest code out."""
    unit_roundoff: float
    """Half the spacing at one: the relative error of one rounding. Zero for integers."""
    half_spacing: float
    """Half the distance between neighbours at zero; one half for integers."""
    overflows: tuple[str, ...]
    """What may be asked to become of a value beyond the range."""

    def round(self, values: NDArray[np.float32], overflow: str) -> "Rounded":
        """Each value's nearest neighbour in this format. Values must be finite."""
        none = np.zeros(values.shape, dtype=bool)
        # Clipped before they are cast: an integer cast of NumPy's wraps.
        if self.integer:
            whole = np.rint(values)
            held = np.clip(whole, -self.largest, self.largest).astype(self.dtype)
            return Rounded(codes=held, clipped=np.abs(whole) > self.largest, saturated=none)
        with np.errstate(over="ignore"):
            rounded = values.astype(self.dtype)
        if overflow != "saturate":
            return Rounded(codes=rounded, clipped=none, saturated=none)
        beyond = ~np.isfinite(rounded.astype(np.float32))
        held = np.clip(values, -self.largest, self.largest).astype(self.dtype)
        return Rounded(codes=held, clipped=none, saturated=beyond)


@dataclass(frozen=True, slots=True, kw_only=True)
class Rounded:
    """Codes, and which values were held at the end of the range, in the codes' shape."""

    codes: NDArray[Any]
    clipped: NDArray[np.bool_]
    """Integers: what rounded to a code beyond the last one."""
    saturated: NDArray[np.bool_]
    """Floats: what would have rounded to a value beyond the largest."""


def _floating(dtype: Any, *overflows: str) -> NumberFormat:
    found = ml_dtypes.finfo(dtype)
    return NumberFormat(
        name=np.dtype(dtype).name,
        dtype=np.dtype(dtype),
        bits=found.bits,
        integer=False,
        largest=float(found.max),
        unit_roundoff=float(found.eps) / 2,
        half_spacing=float(found.smallest_subnormal) / 2,
        overflows=overflows,
    )


def _integer(dtype: Any, bits: int) -> NumberFormat:
    return NumberFormat(
        name=np.dtype(dtype).name,
        dtype=np.dtype(dtype),
        bits=bits,
        integer=True,
        largest=2.0 ** (bits - 1) - 1,
        unit_roundoff=0.0,
        half_spacing=0.5,
        overflows=("saturate",),
    )


FORMATS: Mapping[str, NumberFormat] = MappingProxyType(
    {
        each.name: each
        for each in (
            _floating(np.float32, "saturate", "nan", "infinity"),
            _floating(ml_dtypes.bfloat16, "saturate", "infinity"),
            _floating(np.float16, "saturate", "infinity"),
            _floating(ml_dtypes.float8_e4m3fn, "saturate", "nan"),
            _floating(ml_dtypes.float8_e5m2, "saturate", "infinity"),
            _floating(ml_dtypes.float8_e4m3b11fnuz, "saturate", "nan"),
            _integer(np.int8, 8),
            _integer(ml_dtypes.int4, 4),
        )
    }
)
"""float32 is never rounded to, so any rule may stand beside it."""
