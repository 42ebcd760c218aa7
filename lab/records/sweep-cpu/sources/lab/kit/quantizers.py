"""Narrow formats, made on the host with NumPy before anything is timed.

Symmetric INT8 has one scale per row of X or column of W. Rounding is to nearest,
ties to even; codes end at ±127, so -128 never occurs.
"""

from dataclasses import dataclass

import ml_dtypes
import numpy as np
from numpy.typing import NDArray

from lab.kit.faults import CheckFailed

CODE_LIMIT = 127
"""The largest magnitude of a symmetric INT8 code."""

INT32_MAX = 2**31 - 1

SMALLEST_NORMAL = np.finfo(np.float32).smallest_normal
"""2⁻¹²⁶. Accelerators flush smaller scales to zero, and they hold too few bits to divide by."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Quantized:
    """INT8 codes with the scales that turn them back: value ≈ code × scale."""

    codes: NDArray[np.int8]
    scales: NDArray[np.float32]
    """Shaped to broadcast against `codes`: (rows, 1) for X, (1, columns) for W."""
    zero_rows: int
    """Slices that hold only zeros; their scale is one."""
    underflow_rows: int
    """Slices whose peak / 127 is not a normal float32; scale one, codes zero."""
    clipped: int
    """Values that rounded beyond ±127 and were held there."""


def quantize_int8(values: NDArray[np.float32], *, axis: int) -> Quantized:
    """Quantize with one scale for each slice along `axis`, the contracted axis."""
    require_finite(values, "the values to quantize")
    peak = np.max(np.abs(values), axis=axis, keepdims=True)
    scale = peak / np.float32(CODE_LIMIT)
    zero = peak == 0
    underflow = ~zero & (scale < SMALLEST_NORMAL)
    scale = np.where(zero | underflow, np.float32(1), scale).astype(np.float32)
    rounded = np.rint(values / scale)
    return Quantized(
        codes=np.clip(rounded, -CODE_LIMIT, CODE_LIMIT).astype(np.int8),
        scales=scale,
        zero_rows=int(np.count_nonzero(zero)),
        underflow_rows=int(np.count_nonzero(underflow)),
        clipped=int(np.count_nonzero(np.abs(rounded) > CODE_LIMIT)),
    )


def round_to_bfloat16(values: NDArray[np.float32], name: str) -> NDArray[ml_dtypes.bfloat16]:
    """Round to BF16, nearest-even; refuse a finite value that BF16 cannot hold."""
    require_finite(values, name)
    rounded = values.astype(ml_dtypes.bfloat16)
    require_finite(rounded.astype(np.float32), f"{name} rounded to BF16")
    return rounded


def require_finite(values: NDArray[np.float32], name: str) -> None:
    """Refuse NaN and Inf, naming how many there are and where the first one stands."""
    wrong = ~np.isfinite(values)
    if wrong.any():
        first = tuple(int(i) for i in np.argwhere(wrong)[0])
        raise CheckFailed(
            f"{name}: {np.count_nonzero(wrong)} of {wrong.size} values are not finite; "
            f"the first is {values[first]} at index {list(first)}"
        )


def require_int32_room(features: int) -> None:
    """Refuse a contraction so long that K products of ±127 codes could wrap INT32."""
    longest = INT32_MAX // CODE_LIMIT**2
    if features > longest:
        raise CheckFailed(
            f"{features} features: INT32 holds at most {longest} products of ±127 codes"
        )


def largest_accumulator(x_codes: NDArray[np.int8], w_codes: NDArray[np.int8]) -> int:
    """The largest magnitude among the exact integer sums of X·W, worked out in int64."""
    sums = x_codes.astype(np.int64) @ w_codes.astype(np.int64)
    return int(np.max(np.abs(sums)))
