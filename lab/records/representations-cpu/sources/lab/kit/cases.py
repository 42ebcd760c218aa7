"""The inputs of a product, case by case: X (batch × features) and W (features × outputs).

Balanced and outlier are the precision lab's own. The others change one thing each.
"""

import hashlib
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

SEED = 17
OUTLIER_FEATURE, OUTLIER_FACTOR = 0, 30.0
DEGREES_OF_FREEDOM = 3
"""Of Student's t distribution: finite variance, infinite fourth moment."""
ZERO_ROW = ZERO_COLUMN = 0
SUBNORMAL_ROW, SUBNORMAL_EXPONENT = 0, -130
"""A row of X times 2⁻¹³⁰: everything below 16 is then below 2⁻¹²⁶, the smallest normal float32."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Inputs:
    """The FP32 operands of one case."""

    x: NDArray[np.float32]
    w: NDArray[np.float32]
    description: str

    @property
    def sha256(self) -> str:
        """Over the bytes of X, then those of W."""
        return hashlib.sha256(self.x.tobytes() + self.w.tobytes()).hexdigest()


def make(batch: int, features: int, outputs: int) -> dict[str, Inputs]:
    """Every case by name. One generator gives X, then W, then the heavy-tailed X."""
    generator = np.random.default_rng(SEED)
    x = generator.normal(size=(batch, features)).astype(np.float32)
    w = (generator.normal(size=(features, outputs)) / np.sqrt(features)).astype(np.float32)
    heavy = generator.standard_t(DEGREES_OF_FREEDOM, size=(batch, features)).astype(np.float32)
    outlier, zeroed, small = x.copy(), x.copy(), x.copy()
    outlier[:, OUTLIER_FEATURE] *= np.float32(OUTLIER_FACTOR)
    zeroed[ZERO_ROW] = 0
    zeroed_w = w.copy()
    zeroed_w[:, ZERO_COLUMN] = 0
    small[SUBNORMAL_ROW] = np.ldexp(x[SUBNORMAL_ROW], SUBNORMAL_EXPONENT)
    return {
        "balanced": Inputs(x=x, w=w, description="X normal, W normal over √features"),
        "outlier": Inputs(
            x=outlier,
            w=w,
            description=f"balanced, with feature {OUTLIER_FEATURE} of X times {OUTLIER_FACTOR:g}",
        ),
        "heavy_tailed": Inputs(
            x=heavy,
            w=w,
            description=f"X from Student’s t with {DEGREES_OF_FREEDOM} degrees of freedom",
        ),
        "zero_row": Inputs(
            x=zeroed,
            w=zeroed_w,
            description=f"balanced, with row {ZERO_ROW} of X and column {ZERO_COLUMN} of W zero",
        ),
        "subnormal_row": Inputs(
            x=small,
            w=w,
            description=(
                f"balanced, with row {SUBNORMAL_ROW} of X times 2^{SUBNORMAL_EXPONENT},"
                " below the smallest normal FP32 value"
            ),
        ),
    }
