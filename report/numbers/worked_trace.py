"""The derived numbers of a capture, written down at `study#/trace/<name>/…`."""

from report.numbers.measures import NS_PER_S, measure
from report.numbers.profile import Profile
from report.numbers.profile_compare import ProfileComparison
from report.numbers.workings import Workings

PAIRS = 40
"""Pairs of steps that are told one by one."""


def work_out_trace(profile: Profile, note: Workings) -> None:
    """Write down what follows from one capture; a CPU's time is measured as a device's is."""
    for path, found in measure(profile).items():
        note.derive(
            f"trace/{profile.name}/{path}",
            found.number,
            found.formula,
            *(f"{profile.name}/trace#/{pointer}" for pointer in found.inputs),
            unit=found.unit,
            kind="computed" if isinstance(found.number, int) else "measured",
            reason=found.reason,
        )


def work_out_pairs(name: str, comparison: ProfileComparison, note: Workings) -> None:
    """Write down each step of the capture `name` beside that of another, which is not held."""
    for nth, pair in enumerate(comparison.pairs[:PAIRS]):
        base = f"trace/{name}/pairs/{nth}"
        times = [
            note.derive(
                f"{base}/{which}_s", step.duration_ns / NS_PER_S, formula, unit="s", kind="measured"
            )
            for which, formula, step in (("one", "d", pair.step), ("other", "d'", pair.other))
        ]
        reason = "the first took no time" if pair.ratio is None else ""
        ratio = f"{base}/ratio"
        note.derive(ratio, pair.ratio, "d' / d", *times, kind="measured", reason=reason)
