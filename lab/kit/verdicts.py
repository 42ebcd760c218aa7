"""What may be said of one field that was recorded once and worked out again.

Five verdicts: *exact*; *n ulp*, so near that NumPy's norm explains it; *within tolerance*, as
near as the number formats promise between two machines; *not comparable*, with why; *differs*.

A product in FP32 accumulation is a sum of K terms, and a machine may add them in any order. Each
addition rounds by at most u = 2⁻²⁴ relative; over K of them the roundings behave like a random
walk, so that a sum is off by about √K·u (N. J. Higham and T. Mary, A New Approach to
Probabilistic Rounding Error Analysis, 2019, https://doi.org/10.1137/18M1226312). Two executions
may each be that far off, which gives 2·√K·u. INT8 products are summed exactly; only the two
multiplications by scales round, which gives 2·2·u.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from lab.kit import ulp

Word = Literal["exact", "ulp", "within tolerance", "not comparable", "differs"]
WORDS: tuple[Word, ...] = ("exact", "ulp", "within tolerance", "not comparable", "differs")

UNIT_ROUNDOFF = 2.0**-24
"""Of float32, rounding to nearest."""

NORM_ULPS = 4
"""Steps of float64 that NumPy's norm may move when it adds its squares in another order."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Tolerance:
    """How far two executions of one policy may lie apart."""

    relative_l2: float
    """Of two relative L2 errors, absolute."""
    element: float
    """Of two elements of the output, absolute; so also of two largest errors."""
    reason: str

    def sqnr_db(self, relative_l2_error: float) -> float:
        """What the tolerance of the relative error is in decibel, at that error."""
        return 20 * math.log10(1 + self.relative_l2 / relative_l2_error)


def tolerance(policy: str, features: int, largest: float) -> Tolerance:
    """For K `features` and a reference whose largest magnitude is `largest`."""
    if policy == "int8":
        relative = 4 * UNIT_ROUNDOFF
        reason = "integer sums are exact; each run rounds twice when it multiplies by two scales"
    else:
        relative = 2 * math.sqrt(features) * UNIT_ROUNDOFF
        reason = f"each run sums {features:,} products in FP32 in its own order: 2·√K·2⁻²⁴"
    return Tolerance(relative_l2=relative, element=relative * largest, reason=reason)


@dataclass(frozen=True, slots=True, kw_only=True)
class Field:
    """One field, as recorded and as found here."""

    recorded: Any
    here: Any
    verdict: Word
    why: str
    """Why it is not comparable, or what the tolerance rests on; empty when equal says it all."""
    measured: Mapping[str, float | int | None]
    """Of numbers: ulp, difference, and tolerance if one was needed."""

    def as_json(self) -> dict[str, Any]:
        found = {
            "recorded": self.recorded,
            "here": self.here,
            "verdict": self.verdict,
            "why": self.why,
            **self.measured,
        }
        for key in ("recorded", "here"):
            if found[key] is None:
                found[f"{key}_reason"] = self.why or "not given"
        return found


def not_comparable(recorded: object, here: object, why: str) -> Field:
    return Field(recorded=recorded, here=here, verdict="not comparable", why=why, measured={})


def same(recorded: object, here: object, *, unless: str = "") -> Field:
    """Exact or not; `unless` says why a difference would mean nothing."""
    if recorded is None:
        return not_comparable(None, here, "not recorded")
    if here is None:
        return not_comparable(recorded, None, "not given here")
    if recorded == here:
        return Field(recorded=recorded, here=here, verdict="exact", why="", measured={})
    if unless:
        return not_comparable(recorded, here, unless)
    return Field(
        recorded=recorded, here=here, verdict="differs", why="has to be equal", measured={}
    )


def near(
    recorded: float | None, here: float | None, allowed: float, reason: str, *, alike: bool
) -> Field:
    """A reading of an error. `alike`: machine and versions are those of the record."""
    if recorded is None or here is None:
        return same(recorded, here)
    steps, difference = ulp.distance(recorded, here), abs(recorded - here)
    measured: dict[str, float | int | None] = {"ulp": steps, "difference": difference}
    if steps == 0:
        verdict, why = "exact", ""
    elif steps <= NORM_ULPS:
        verdict, why = "ulp", "NumPy's norm adds its squares in another order"
    else:
        if alike:
            allowed = NORM_ULPS * math.ulp(recorded)
            reason = f"machine and versions are the same, so at most {NORM_ULPS} ulp"
        measured["tolerance"] = allowed
        verdict, why = ("within tolerance" if difference <= allowed else "differs"), reason
    return Field(recorded=recorded, here=here, verdict=verdict, why=why, measured=measured)


def outputs(
    recorded: NDArray[np.float32],
    here: NDArray[np.float32],
    allowed: float,
    reason: str,
    *,
    digests: Sequence[str],
    alike: bool,
) -> Field:
    """Every element of two outputs; `digests` are the SHA-256 of their bytes."""
    if recorded.shape != here.shape or recorded.dtype != here.dtype:
        found = [f"{each.dtype} {list(each.shape)}" for each in (recorded, here)]
        return same(*found)
    if not np.isfinite(recorded).all():
        return not_comparable(*digests, "the recorded output holds values that are not finite")
    steps = ulp.distances_float32(recorded, here)
    difference = np.abs(recorded.astype(np.float64) - here.astype(np.float64))
    measured: dict[str, float | int | None] = {
        "ulp": int(steps.max()),
        "difference": float(difference.max()),
        "elements": int(steps.size),
        "elements_apart": int(np.count_nonzero(steps)),
    }
    if measured["ulp"] == 0:
        verdict, why = "exact", ""
    else:
        if alike:
            allowed, reason = 0.0, "machine and versions are the same, so every element is too"
        measured["tolerance"] = allowed
        verdict = "within tolerance" if float(difference.max()) <= allowed else "differs"
        why = reason
    return Field(recorded=digests[0], here=digests[1], verdict=verdict, why=why, measured=measured)


def count(fields: Mapping[str, Mapping[str, Field]]) -> dict[str, int]:
    """How many fields earned each verdict."""
    words = [field.verdict for group in fields.values() for field in group.values()]
    return {word: words.count(word) for word in WORDS}
