"""What a policy stores of X and W, in which values that amounts to, and what got lost.

A represented operand has three layers: codes with their scales, as stored; the values they
stand for, in float64; and a limit on how far each may lie from its original, worked out from
the originals and the scales alone.

Rounding theory: N. J. Higham, Accuracy and Stability of Numerical Algorithms, 2nd edition,
chapter 2 (https://doi.org/10.1137/1.9780898718027). Smoothing: G. Xiao and others, SmoothQuant
(https://arxiv.org/abs/2211.10438), equation 4.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lab.kit.cases import Inputs
from lab.kit.faults import CheckFailed
from lab.kit.integer_range import exact_sums
from lab.kit.number_formats import FORMATS, NumberFormat
from lab.kit.packing import pack, unpack
from lab.kit.policy_file import CannotFollow, Policy
from lab.kit.quantizers import SMALLEST_NORMAL, require_finite

FLOAT32 = FORMATS["float32"]

Grid = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class Counters:
    """What became of an operand's values, each counted once for each reason."""

    values: int
    clipped: int
    """Integers: rounded beyond the last code, and held there."""
    saturated: int
    """Floats: would have rounded beyond the largest value, and held there."""
    flushed: int
    """Not zero before, zero after."""
    nonfinite: int
    """NaN or infinity after."""

    def as_json(self) -> dict[str, object]:
        counts = {name: getattr(self, name) for name in REASONS}
        shares = {f"{name}_share": count / self.values for name, count in counts.items()}
        return {"values": self.values, **counts, **shares}


REASONS = ("clipped", "saturated", "flushed", "nonfinite")


@dataclass(frozen=True, slots=True, kw_only=True)
class Operand:
    """X or W as represented, its features in groups.

    X: (batch, groups, tile), with scales (batch, groups, 1). W: (groups, tile, outputs), with
    scales (groups, 1, outputs). Without groups there is one that holds every feature.
    """

    codes: NDArray[Any]
    scales: NDArray[np.float32] | None
    """Broadcast against `codes`; one for a whole tensor stands in a (1, 1, 1)."""
    number_format: NumberFormat
    exact: Grid
    """The original values, as they were to be represented."""
    values: Grid
    """Codes times scales, in float64."""
    limit: Grid
    """No value lies farther than this from its original; infinite where it is not finite."""
    counters: Counters
    zero_slices: int
    """Slices of zeros alone; their scale is one."""
    underflow_slices: int
    """Slices whose scale would not be a normal float32: scale one, codes zero."""

    @property
    def code_values(self) -> Grid:
        """The codes as numbers, without their scales."""
        return self.codes.astype(np.float64)

    @property
    def code_bytes(self) -> int:
        """Bytes of the codes as stored: what four bits hold is stored two to a byte."""
        if self.number_format.bits != 4:
            return self.codes.nbytes
        packed = pack(self.codes)
        if not np.array_equal(unpack(packed, self.codes.shape), self.codes.astype(np.int8)):
            raise CheckFailed("packed codes do not unpack to what they were")
        return packed.nbytes

    @property
    def scale_bytes(self) -> int:
        return 0 if self.scales is None else self.scales.nbytes


@dataclass(frozen=True, slots=True, kw_only=True)
class Represented:
    """Both operands of one product, and what is kept beside them."""

    x: Operand
    w: Operand
    x_kept: NDArray[np.float32] | None
    """Features left in float32, (batch, kept), or None."""
    w_kept: NDArray[np.float32] | None
    smoothing: NDArray[np.float32] | None
    """What each feature of X was divided by, and of W multiplied with."""

    @property
    def product(self) -> Grid:
        """X·W of what is stored, in float64: the representation's own answer."""
        groups: Grid = np.einsum("mgt,gtn->mn", self.x.values, self.w.values, optimize=True)
        return groups if self.x_kept is None else groups + self.kept_product

    @property
    def sums(self) -> Grid:
        """The exact sums of codes, (groups, batch, outputs), as whole numbers where codes are."""
        if self.integer:
            return exact_sums(self.x.codes, self.w.codes).astype(np.float64)
        x, w = self.x.code_values, self.w.code_values
        found: Grid = np.einsum("mgt,gtn->gmn", x, w, optimize=True)
        return found

    @property
    def kept_product(self) -> Grid:
        assert self.x_kept is not None and self.w_kept is not None
        return self.x_kept.astype(np.float64) @ self.w_kept.astype(np.float64)

    @property
    def integer(self) -> bool:
        """Whether the codes are multiplied and summed as integers."""
        return self.x.number_format.integer and self.w.number_format.integer

    @property
    def rescaled(self) -> bool:
        """Whether anything is multiplied with what was summed."""
        return self.x.scales is not None or self.w.scales is not None

    @property
    def groups(self) -> int:
        return self.x.codes.shape[1]

    @property
    def tile(self) -> int:
        """Features that one accumulator sums over."""
        return self.x.codes.shape[2]

    @property
    def stored_bytes(self) -> dict[str, int]:
        """Bytes as stored. `other` is the smoothing vector and the features kept in float32."""
        extra = (self.x_kept, self.w_kept, self.smoothing)
        parts = {
            "x_codes": self.x.code_bytes,
            "w_codes": self.w.code_bytes,
            "x_scales": self.x.scale_bytes,
            "w_scales": self.w.scale_bytes,
            "other": sum(each.nbytes for each in extra if each is not None),
        }
        return parts | {
            "codes": parts["x_codes"] + parts["w_codes"],
            "scales": parts["x_scales"] + parts["w_scales"],
            "total": sum(parts.values()),
        }


def represent(inputs: Inputs, policy: Policy, calibration: Inputs | None = None) -> Represented:
    """Both operands as the policy stores them; X has the scales of `calibration`, if given."""
    require_finite(inputs.x, "X")
    require_finite(inputs.w, "W")
    x, w = inputs.x, inputs.w
    x_kept = w_kept = smoothing = None
    if policy.keep_float32:
        x, w, x_kept, w_kept = keep_apart(x, w, policy.keep_float32)
    x_exact, w_exact = x.astype(np.float64), w.astype(np.float64)
    if policy.smoothing is not None:
        smoothing = smoothing_vector(x, w, policy.smoothing)
        x, w = x / smoothing, w * smoothing[:, np.newaxis]
        x_exact, w_exact = x_exact / smoothing, w_exact * smoothing[:, np.newaxis]
    tile = policy.tile or x.shape[1]
    if x.shape[1] % tile:
        raise CannotFollow(f"{x.shape[1]} features are no whole number of groups of {tile}")
    x_groups, w_groups = (len(x), -1, tile), (-1, tile, w.shape[1])
    static = None
    if calibration is not None:
        static = _scales(calibration.x.reshape(x_groups), policy, policy.x, axis=2)
    smoothed = smoothing is not None
    return Represented(
        x=_operand(
            x.reshape(x_groups),
            x_exact.reshape(x_groups),
            policy.x,
            policy,
            axis=2,
            static=static,
            smoothed=smoothed,
        ),
        w=_operand(
            w.reshape(w_groups),
            w_exact.reshape(w_groups),
            policy.w,
            policy,
            axis=1,
            static=None,
            smoothed=smoothed,
        ),
        x_kept=x_kept,
        w_kept=w_kept,
        smoothing=smoothing,
    )


def keep_apart(
    x: NDArray[np.float32], w: NDArray[np.float32], features: tuple[int, ...]
) -> tuple[NDArray[np.float32], ...]:
    """X and W without some features, and those features alone."""
    count = x.shape[1]
    if max(features) >= count or len(features) >= count:
        raise CannotFollow(f"of {count} features, {list(features)} cannot be kept apart")
    return (
        np.delete(x, features, axis=1),
        np.delete(w, features, axis=0),
        np.ascontiguousarray(x[:, features]),
        np.ascontiguousarray(w[features, :]),
    )


def smoothing_vector(
    x: NDArray[np.float32], w: NDArray[np.float32], alpha: float
) -> NDArray[np.float32]:
    """max|x_j|^α / max|w_j|^(1-α) for each feature j; one where either is zero or subnormal."""
    x_peak = np.max(np.abs(x), axis=0).astype(np.float64)
    w_peak = np.max(np.abs(w), axis=1).astype(np.float64)
    usable = (x_peak >= SMALLEST_NORMAL) & (w_peak >= SMALLEST_NORMAL)
    x_peak, w_peak = np.where(usable, x_peak, 1), np.where(usable, w_peak, 1)
    return (x_peak**alpha / w_peak ** (1 - alpha)).astype(np.float32)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Scales:
    scales: NDArray[np.float32]
    zero: NDArray[np.bool_]
    underflow: NDArray[np.bool_]


def _scales(
    values: NDArray[np.float32], policy: Policy, number_format: NumberFormat, *, axis: int
) -> _Scales:
    """The peak of each slice over the code it becomes."""
    over = None if policy.granularity == "tensor" else axis
    peak = np.max(np.abs(values), axis=over, keepdims=True)
    top = number_format.largest + (0.5 if policy.bound == "largest-and-half" else 0)
    scales = peak / np.float32(top)
    zero = peak == 0
    underflow = ~zero & (scales < SMALLEST_NORMAL)
    scales = np.where(zero | underflow, np.float32(1), scales).astype(np.float32)
    return _Scales(scales=scales, zero=zero, underflow=underflow)


def _operand(
    values: NDArray[np.float32],
    exact: Grid,
    number_format: NumberFormat,
    policy: Policy,
    *,
    axis: int,
    static: _Scales | None,
    smoothed: bool,
) -> Operand:
    """Values rounded into their format; when smoothed they are a rounding from `exact` before."""
    found = None
    if policy.scaled(number_format):
        found = static or _scales(values, policy, number_format, axis=axis)
        values = values / found.scales
        # A slice too small to be scaled is lost, whatever its format could still hold.
        values = np.where(found.underflow, np.float32(0), values)
    rounded = number_format.round(values, policy.saturation)
    scales = None if found is None else found.scales.astype(np.float64)
    with np.errstate(invalid="ignore"):
        stored = rounded.codes.astype(np.float64) * (1 if scales is None else scales)
    lost = (stored == 0) & (exact != 0)
    return Operand(
        codes=rounded.codes,
        scales=None if found is None else found.scales,
        number_format=number_format,
        exact=exact,
        values=stored,
        limit=np.where(
            np.isfinite(stored), _limit(exact, number_format, found, smoothed=smoothed), np.inf
        ),
        counters=Counters(
            values=exact.size,
            clipped=int(np.count_nonzero(rounded.clipped)),
            saturated=int(np.count_nonzero(rounded.saturated)),
            flushed=int(np.count_nonzero(lost)),
            nonfinite=int(np.count_nonzero(~np.isfinite(stored))),
        ),
        zero_slices=int(np.count_nonzero(found.zero)) if found else 0,
        underflow_slices=int(np.count_nonzero(found.underflow)) if found else 0,
    )


def _limit(
    exact: Grid, number_format: NumberFormat, found: _Scales | None, *, smoothed: bool
) -> Grid:
    """How far a represented value may lie from its original, from originals and scales alone.

    With scale s, a value x becomes the format's nearest neighbour of fl(x/s). An integer is then
    at most s/2 off; a float at most u·|x|, or half a spacing times s near zero; what is held at
    the range's end L is off by |x| - L·s. Dividing in float32 adds 2⁻²⁴·|x|, and so does smoothing.
    """
    size = np.abs(exact)
    if number_format.name == "float32":
        return np.zeros_like(size)
    step = 1.0 if found is None else found.scales.astype(np.float64)
    rounding = np.maximum(number_format.unit_roundoff * size, number_format.half_spacing * step)
    limit = np.maximum(rounding, size - number_format.largest * step)
    divisions = (found is not None) + smoothed
    one_division = FLOAT32.unit_roundoff * (1 + 2 * number_format.unit_roundoff)
    limit += divisions * (one_division * size + FLOAT32.half_spacing * step)
    return limit if found is None else np.where(found.underflow, size, limit)
