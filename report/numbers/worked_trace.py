"""The derived numbers of a capture, written down at `study#/trace/<name>/…`."""

from report.numbers.measures import measure
from report.numbers.profile import Profile
from report.numbers.workings import Workings


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
