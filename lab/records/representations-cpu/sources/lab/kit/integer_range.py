"""Whether integer sums fit: into their accumulator, and into the float32 they become."""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from lab.kit.faults import CheckFailed
from lab.kit.quantizers import INT32_MAX

EXACT_IN_FLOAT32 = 2**24
"""Every whole number up to this is a float32; the next one is not."""


@dataclass(frozen=True, slots=True, kw_only=True)
class IntegerRange:
    """The largest sum a product reached, and the room it left."""

    max_abs_accumulator: int
    longest_contraction: int
    """Products of codes at the end of their range that INT32 is sure to hold."""

    @property
    def headroom_bits(self) -> float:
        """Doublings left before the largest sum would wrap."""
        largest = self.max_abs_accumulator
        return 31 - math.log2(largest) if largest else 31.0

    @property
    def float32_exact(self) -> bool:
        """Whether each sum is a float32, so that converting it rounds nothing."""
        return self.max_abs_accumulator <= EXACT_IN_FLOAT32

    def as_json(self) -> dict[str, object]:
        return {
            "max_abs_accumulator": self.max_abs_accumulator,
            "longest_contraction": self.longest_contraction,
            "headroom_bits": self.headroom_bits,
            "float32_exact": self.float32_exact,
        }


def longest_contraction(x_limit: float, w_limit: float) -> int:
    """How many products of codes up to these limits an INT32 accumulator is sure to hold."""
    return INT32_MAX // (int(x_limit) * int(w_limit))


def require_room(features: int, x_limit: float, w_limit: float) -> None:
    """Refuse a sum that could wrap INT32."""
    longest = longest_contraction(x_limit, w_limit)
    if features > longest:
        raise CheckFailed(
            f"{features} features: INT32 holds at most {longest} products of "
            f"±{int(x_limit)} and ±{int(w_limit)} codes"
        )


def exact_sums(x_codes: NDArray[np.generic], w_codes: NDArray[np.generic]) -> NDArray[np.int64]:
    """The sums of each group, (groups, batch, outputs), in int64."""
    x, w = x_codes.astype(np.int64), w_codes.astype(np.int64)
    return np.einsum("mgt,gtn->gmn", x, w)


def measure(
    x_codes: NDArray[np.generic], w_codes: NDArray[np.generic], x_limit: float, w_limit: float
) -> IntegerRange:
    """The largest magnitude among the exact sums of X·W, and what INT32 leaves over."""
    sums = exact_sums(x_codes, w_codes)
    return IntegerRange(
        max_abs_accumulator=int(np.max(np.abs(sums))),
        longest_contraction=longest_contraction(x_limit, w_limit),
    )
