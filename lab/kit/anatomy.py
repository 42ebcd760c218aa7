"""The parts of one error: what representing lost, what summing added, and what rescaling did.

    total            measured − exact
    representation   exact product of what is stored − exact
    accumulation     (accumulators as measured − exact sums of codes) · scales
    rescale          measured − accumulators as measured · scales

The last three add up to the first, output by output. Their norms need not: errors are vectors.
With features kept in float32, what their product adds is counted as rescale.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from lab.kit.representation import Grid, Represented


@dataclass(frozen=True, slots=True, kw_only=True)
class Anatomy:
    """Errors, (batch, outputs), in float64."""

    representation: Grid
    total: Grid | None = None
    accumulation: Grid | None = None
    rescale: Grid | None = None

    def relative(self, norm: float) -> dict[str, float | None]:
        """Each part's Frobenius norm over one denominator; None for what was not measured."""
        return {
            name: None if error is None else _ratio(error, norm)
            for name, error in (
                ("total", self.total),
                ("representation", self.representation),
                ("accumulation", self.accumulation),
                ("rescale", self.rescale),
            )
        }


def _ratio(error: Grid, norm: float) -> float | None:
    found = float(np.linalg.norm(error)) / norm if norm else np.nan
    return found if np.isfinite(found) else None


def dissect(
    operands: Represented,
    reference: Grid,
    output: NDArray[np.float32] | None = None,
    accumulators: NDArray[np.generic] | None = None,
) -> Anatomy:
    """The parts of `output`'s error.

    `accumulators`, (groups, batch, outputs), are what the same program summed. Without them there
    is no rescale, and all that is not representation is accumulation. Without `output` nothing
    ran, and only the representation's error is known.
    """
    stored = operands.product
    with np.errstate(invalid="ignore"):
        representation = stored - reference
        if output is None:
            return Anatomy(representation=representation)
        measured = output.astype(np.float64)
        if accumulators is None:
            accumulation, rescale = measured - stored, np.zeros_like(stored)
        else:
            summed = accumulators.astype(np.float64)
            accumulation = _rescaled(operands, summed - operands.sums)
            kept = 0 if operands.x_kept is None else operands.kept_product
            rescale = measured - (_rescaled(operands, summed) + kept)
        return Anatomy(
            total=measured - reference,
            representation=representation,
            accumulation=accumulation,
            rescale=rescale,
        )


def _rescaled(operands: Represented, sums: Grid) -> Grid:
    """Sums of codes, (groups, batch, outputs), times their scales and added over groups."""
    for scales, order in ((operands.x.scales, (1, 0, 2)), (operands.w.scales, (0, 1, 2))):
        if scales is not None:
            sums = sums * scales.astype(np.float64).transpose(order)
    found: Grid = sums.sum(axis=0)
    return found


def row_errors(error: Grid, reference: Grid) -> list[float | None]:
    """‖error‖ / ‖reference‖ of each row; None where that is no number."""
    with np.errstate(divide="ignore", invalid="ignore"):
        found = np.linalg.norm(error, axis=1) / np.linalg.norm(reference, axis=1)
    return [float(each) if np.isfinite(each) else None for each in found]
