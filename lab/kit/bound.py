"""How far each output may lie from the exact product, worked out before anything ran.

With x̂, ŵ the represented operands, and |x̂ - x| ≤ δx, |ŵ - w| ≤ δw (`representation`):

    representation   Σ_k δx·|w| + |x|·δw + δx·δw
    accumulation     γ_K · Σ_k (|x| + δx)(|w| + δw), for a sum of K products in any order;
                     nothing where integers are summed, as long as INT32 has the room
    rescale          γ_r of the same sum, r roundings: the conversion to float32 if a sum can
                     pass 2²⁴, a multiplication for each operand's scale, the sum over groups
    underflow        2⁻¹²⁶ for each operation, since devices may flush subnormals to zero, and the
                     whole of a product that has a subnormal factor

where γ_n = n·u / (1 - n·u) and u = 2⁻²⁴: N. J. Higham, Accuracy and Stability of Numerical
Algorithms, 2nd edition, section 3.1 (https://doi.org/10.1137/1.9780898718027).
"""

from dataclasses import dataclass

import numpy as np

from lab.kit.integer_range import EXACT_IN_FLOAT32
from lab.kit.quantizers import SMALLEST_NORMAL
from lab.kit.representation import Grid, Operand, Represented

FP32_ROUNDOFF, FP64_ROUNDOFF = 2.0**-24, 2.0**-53

PERCENTILES = (0, 1, 5, 25, 50, 75, 95, 99, 100)


@dataclass(frozen=True, slots=True, kw_only=True)
class Bound:
    """One limit for every output, (batch, outputs), by what it allows for."""

    representation: Grid
    accumulation: Grid
    rescale: Grid
    underflow: Grid

    @property
    def total(self) -> Grid:
        return self.representation + self.accumulation + self.rescale + self.underflow


def gamma(roundings: int, unit: float = FP32_ROUNDOFF) -> float:
    """γ_n: the relative error of n roundings in a row, at most."""
    return roundings * unit / (1 - roundings * unit)


def bound(operands: Represented) -> Bound:
    """The limit for every output of this product; none that is finite where NaN or Inf went in."""
    x, w = operands.x, operands.w
    x_size, w_size = np.abs(x.exact), np.abs(w.exact)
    missed = _sum(x.limit, w_size) + _sum(x_size, w.limit) + _sum(x.limit, w.limit)
    size = _sum(_largest(x), _largest(w))
    accumulations = 0 if operands.integer else operands.tile
    roundings = rescales(operands)
    # The two sides that are compared are FP64 sums themselves.
    comparison = 2 * gamma(operands.tile * operands.groups + 4, FP64_ROUNDOFF) * size
    accumulation = _times(gamma(accumulations), size)
    if operands.x_kept is not None and operands.w_kept is not None:
        kept = np.abs(operands.x_kept.astype(np.float64)) @ np.abs(
            operands.w_kept.astype(np.float64)
        )
        count = operands.x_kept.shape[1]
        accumulation = accumulation + gamma(count + 1) * kept
    return Bound(
        representation=missed + comparison,
        accumulation=accumulation,
        rescale=_times(gamma(roundings) * (1 + gamma(accumulations)), size),
        underflow=_underflow(operands),
    )


def rescales(operands: Represented) -> int:
    """Roundings between an accumulator and its output."""
    x, w = operands.x, operands.w
    scales = (x.scales is not None) + (w.scales is not None)
    largest = operands.tile * x.number_format.largest * w.number_format.largest
    conversion = operands.integer and largest > EXACT_IN_FLOAT32
    kept = operands.x_kept is not None
    return scales + conversion + (operands.groups - 1) + kept


def _sum(x: Grid, w: Grid) -> Grid:
    """Σ over features, of operands in groups."""
    with np.errstate(invalid="ignore"):  # infinity times zero: no limit, as it should be
        found: Grid = np.einsum("mgt,gtn->mn", x, w, optimize=True)
    return found


def _times(factor: float, size: Grid) -> Grid:
    """The product, zero for a factor of zero whatever the size."""
    return factor * size if factor else np.zeros_like(size)


def _largest(operand: Operand) -> Grid:
    """The largest magnitude that each represented value may have."""
    found: Grid = np.abs(operand.exact) + operand.limit
    return found


def _underflow(operands: Represented) -> Grid:
    """What flushing may cost: a step of 2⁻¹²⁶ an operation, and products with a tiny factor."""
    step = float(SMALLEST_NORMAL)
    x, w = operands.x, operands.w
    x_scales, w_scales = _scales(x), _scales(w)
    batch, outputs = x.codes.shape[0], w.codes.shape[2]
    # In the accumulator's own units, then through each multiplication.
    inside = 0 if operands.integer else 2 * operands.tile
    lost = np.zeros((batch, outputs))
    for group in range(operands.groups):
        by_x = x_scales[:, group] if x_scales.shape[1] > 1 else x_scales[:, 0]
        by_w = w_scales[group] if w_scales.shape[0] > 1 else w_scales[0]
        lost += step * (inside * by_x * by_w + by_w + 2)
    if not operands.integer:
        lost += _sum(_tiny(x), _largest(w)) + _sum(_largest(x), _tiny(w))
    if operands.x_kept is not None and operands.w_kept is not None:
        a, b = (np.abs(each.astype(np.float64)) for each in (operands.x_kept, operands.w_kept))
        lost += np.where(a < step, a, 0) @ b + a @ np.where(b < step, b, 0)
        lost += 2 * a.shape[1] * step
    return lost


def _scales(operand: Operand) -> Grid:
    one = np.ones((1, 1, 1))
    return one if operand.scales is None else operand.scales.astype(np.float64)


def _tiny(operand: Operand) -> Grid:
    """The largest size of values that a device may take for zero, and zero for all others.

    Only a format that reaches below the smallest normal float32 has such codes.
    """
    if operand.number_format.half_spacing >= float(SMALLEST_NORMAL):
        return np.zeros_like(operand.exact)
    smallest = (np.abs(operand.exact) - operand.limit) / _scales(operand)
    return np.where(smallest < float(SMALLEST_NORMAL), _largest(operand), 0.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Certificate:
    """What came out against what was allowed, over the outputs that have a finite limit."""

    outputs: int
    unbounded: int
    """Outputs that NaN or infinity among the represented values leaves without a limit."""
    exceeded: int
    worst_ratio: float
    """The largest of observed / allowed; infinite where an output is not a number."""
    worst_at: tuple[int, int]
    percentiles: tuple[float, ...]
    """Of the ratios of all outputs, at PERCENTILES."""
    relative_l2: float | None
    """‖allowed‖ / ‖reference‖: how wide the limit is, as one number; None for a zero reference."""

    def as_json(self) -> dict[str, object]:
        told: dict[str, object] = {
            "outputs": self.outputs,
            "unbounded": self.unbounded,
            "exceeded": self.exceeded,
            "share_under": (self.outputs - self.exceeded) / self.outputs,
            "worst_at": list(self.worst_at),
            **_told("worst_ratio", self.worst_ratio, INFINITE),
            **_told("relative_l2", self.relative_l2, "the reference norm is zero"),
        }
        percentiles: dict[str, object] = {}
        for rank, value in zip(PERCENTILES, self.percentiles, strict=True):
            percentiles |= _told(f"p{rank}", value, INFINITE)
        return told | {"percentiles": percentiles}


INFINITE = "an output is not a number, or nothing was allowed"


def _told(name: str, value: float | None, reason: str) -> dict[str, object]:
    """A number, or null with its reason beside it."""
    if value is None or not np.isfinite(value):
        return {name: None, f"{name}_reason": reason}
    return {name: value}


def certify(error: Grid, allowed: Grid, reference: Grid) -> Certificate | None:
    """Compare errors with their limits; None where no output has one.

    An output that is not finite although its limit is exceeds it.
    """
    bounded = np.isfinite(allowed)
    if not bounded.any():
        return None
    size = np.where(np.isfinite(error), np.abs(error), np.inf)
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = np.where(size == 0, 0.0, size / allowed)
    of_bounded = ratio[bounded]
    row, column = np.unravel_index(np.argmax(np.where(bounded, ratio, -1)), ratio.shape)
    norm = float(np.linalg.norm(reference[bounded]))
    return Certificate(
        outputs=int(np.count_nonzero(bounded)),
        unbounded=int(np.count_nonzero(~bounded)),
        exceeded=int(np.count_nonzero(of_bounded > 1)),
        worst_ratio=float(np.max(of_bounded)),
        worst_at=(int(row), int(column)),
        percentiles=tuple(
            float(each) for each in np.percentile(of_bounded, PERCENTILES, method="nearest")
        ),
        relative_l2=float(np.linalg.norm(allowed[bounded])) / norm if norm else None,
    )
