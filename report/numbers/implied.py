"""What one reading of an error implies for another: a record that breaks these contradicts itself.

Norms are of all elements of one output; a relative error is over the norm of its reference.
"""

import math
from collections.abc import Mapping

from report.numbers.reading import Fields

ROUNDED = 1e-9
"""How far a norm may be from one that was added up in another order, relatively."""


def sqnr_follows(fields: Fields, error: float | None) -> None:
    """sqnr_db is −20 log₁₀ of the relative error, and undefined for none."""
    found = fields.optional_number("sqnr_db")[0]
    expected = -20 * math.log10(error) if error and error > 0 else None
    if (found is None) != (expected is None) or (
        found is not None
        and expected is not None
        and not math.isclose(found, expected, rel_tol=ROUNDED, abs_tol=ROUNDED)
    ):
        told = "null" if expected is None else f"{expected:.6g}"
        fields.fault("sqnr_db", f"{found}", f"{told}, from the relative error")


def peak_fits(
    fields: Fields, largest: float, error: float | None, norm: float, outputs: int
) -> None:
    """The largest error is at most the norm of all of them, which is at most √N times as large."""
    if error is None or not outputs:
        return
    most = error * norm
    if not most / math.sqrt(outputs) * (1 - ROUNDED) <= largest <= most * (1 + ROUNDED):
        fields.fault(
            "max_abs_error",
            f"{largest}",
            f"from {most / math.sqrt(outputs):.4g} to {most:.4g}, from the relative error",
        )


def triangle_closes(fields: Fields, sides: Mapping[str, float | None]) -> None:
    """Where errors add up to one another, none is longer than the others together."""
    known = {key: side for key, side in sides.items() if side is not None}
    if len(known) < len(sides):
        return
    for key, side in known.items():
        others = math.fsum(each for other, each in known.items() if other != key)
        if side > others * (1 + ROUNDED):
            told = " and ".join(other for other in known if other != key)
            fields.fault(key, f"{side}", f"at most {others:.4g}, which is {told} together")


def bytes_add_up(fields: Fields, sums: Mapping[str, int]) -> None:
    """Each sum of stored bytes is that of its parts, and something is stored at all."""
    for key, worked_out in sums.items():
        if (found := fields.count(key)) != worked_out:
            fields.fault(key, f"{found}", f"{worked_out}, the sum of its parts")
    if not sums["total"]:
        fields.fault("total", "0", "at least one stored byte")
