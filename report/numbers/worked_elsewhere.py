"""Products of other records under a sweep's ceilings, where they were measured on one device."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from report.numbers.kinds import of_kind
from report.numbers.placing import ForeignCeilings, Placed, place, points_of_precision
from report.numbers.precision import PrecisionRun
from report.numbers.run import Run
from report.numbers.sweep import SweepRun
from report.numbers.worked_sweep import SweepStudy, study_sweep
from report.numbers.workings import Workings


@dataclass(frozen=True, slots=True, kw_only=True)
class Elsewhere:
    """The products of one record under the ceilings, or why they are refused there."""

    record: str
    placed: tuple[Placed, ...]
    refused: str


def elsewhere(study: SweepStudy, runs: Mapping[str, Run]) -> Iterator[Elsewhere]:
    """Every precision record, placed or refused."""
    for name, run in of_kind(runs, PrecisionRun).items():
        try:
            placed = tuple(place(study.ceilings, point) for point in points_of_precision(run))
        except ForeignCeilings as refusal:
            fault = refusal.faults[0]
            words = f"refused: {fault.found}, not on {fault.expected}"
            yield Elsewhere(record=name, placed=(), refused=words)
        else:
            yield Elsewhere(record=name, placed=placed, refused="")


def work_out_elsewhere(runs: Mapping[str, Run], note: Workings) -> None:
    """Write down the rates that may be claimed, and their shares of their bounds."""
    for sweep in of_kind(runs, SweepRun).values():
        study = study_sweep(sweep)
        for each in elsewhere(study, runs):
            for placed in each.placed:
                if placed.per_s:
                    _rate(study, each.record, placed, note)


def _rate(study: SweepStudy, record: str, placed: Placed, note: Workings) -> None:
    point, work = placed.point, placed.point.work
    _, _, result = point.id.partition("/")
    traffic = f"study#/precision/{record}/traffic/{point.policy}"
    rate = note.derive(
        f"sweep/{study.run.name}/elsewhere/{point.id}/per_s",
        placed.per_s,
        r"F / \mathrm{median}(t)",
        f"{traffic}/operations",
        f"{record}#/results/{result}/timing_s/median",
        unit=f"{work}/s",
        kind="measured",
    )
    note.derive(
        f"sweep/{study.run.name}/elsewhere/{point.id}/share",
        placed.share,
        r"r / \min(C, I B)",
        rate,
        *study.bounds(point),
        f"{traffic}/intensity",
        kind="measured",
        reason="" if placed.share else placed.words,
    )
