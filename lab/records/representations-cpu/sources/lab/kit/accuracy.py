"""How far a result lies from its FP64 reference."""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from lab.kit.faults import CheckFailed


@dataclass(frozen=True, slots=True, kw_only=True)
class Accuracy:
    """Three readings of one error. An undefined reading is None with its reason beside it."""

    relative_l2_error: float | None
    """‖Y - Y_ref‖ / ‖Y_ref‖, Frobenius norms."""
    relative_l2_error_reason: str | None
    max_abs_error: float
    sqnr_db: float | None
    """20 log₁₀(‖Y_ref‖ / ‖Y - Y_ref‖)."""
    sqnr_db_reason: str | None


def reference_product(x: NDArray[np.float32], w: NDArray[np.float32]) -> NDArray[np.float64]:
    """X·W in float64, by NumPy: JAX would quietly narrow it to 32 bits."""
    product = x.astype(np.float64) @ w.astype(np.float64)
    if product.dtype != np.float64:
        raise CheckFailed(f"the reference has dtype {product.dtype}, not float64")
    return product


def compare(output: NDArray[np.float32], reference: NDArray[np.float64]) -> Accuracy:
    """Compare one output with its reference, in float64."""
    if output.shape != reference.shape:
        raise CheckFailed(f"output {output.shape} and reference {reference.shape} differ in shape")
    error = output.astype(np.float64) - reference
    error_norm = float(np.linalg.norm(error))
    reference_norm = float(np.linalg.norm(reference))
    if not math.isfinite(error_norm):
        raise CheckFailed("the output holds values that are not finite")
    no_reference = "the reference norm is zero" if reference_norm == 0 else None
    no_ratio = no_reference or ("the error norm is zero" if error_norm == 0 else None)
    return Accuracy(
        relative_l2_error=None if no_reference else error_norm / reference_norm,
        relative_l2_error_reason=no_reference,
        max_abs_error=float(np.max(np.abs(error))),
        sqnr_db=None if no_ratio else 20 * math.log10(reference_norm / error_norm),
        sqnr_db_reason=no_ratio,
    )
