"""What follows from a sweep: its ceilings, and the intensity, rate and share of every point."""

from dataclasses import dataclass
from itertools import pairwise
from math import log2

from report.numbers.placing import Ceilings, Placed, ceilings_of, place, points_of
from report.numbers.precision import POLICIES, Policy
from report.numbers.sweep import WORK, SweepRun, Timed
from report.numbers.traffic import Traffic, traffic_of
from report.numbers.workings import Workings

SLOWER = 1.5
"""From this factor for twice the rows, time grows with the rows rather than staying put."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One point of the sweep with its place under the ceilings and its three traffic accounts."""

    timed: Timed
    placed: Placed
    traffic: Traffic


@dataclass(frozen=True, slots=True, kw_only=True)
class Curve:
    """One policy's points by growing batch, and where they bend."""

    policy: Policy
    rows: tuple[Row, ...]

    @property
    def bend(self) -> Row | None:
        """The first row from which each doubling of the rows takes at least 1.5 times as long."""
        found = None
        for before, after in reversed(list(pairwise(self.rows))):
            if _per_doubling(before.timed, after.timed) < SLOWER:
                break
            found = before
        return found

    @property
    def ridge(self) -> Row | None:
        """The first row whose lower ceiling is the matrix rate."""
        return next((row for row in self.rows if row.placed.limit == "matrix rate"), None)

    @property
    def reversals(self) -> tuple[tuple[Row, Row], ...]:
        """Neighbours of which the smaller batch takes longer: its fastest call, than a median."""
        return tuple(
            (before, after)
            for before, after in pairwise(self.rows)
            if before.timed.program.timing.minimum > after.timed.program.timing.median
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class SweepStudy:
    """A sweep with everything that figures, tables and pages show of it."""

    run: SweepRun
    ceilings: Ceilings
    curves: tuple[Curve, ...]

    @property
    def rows(self) -> tuple[Row, ...]:
        return tuple(row for curve in self.curves for row in curve.rows)

    @property
    def unsteadiest(self) -> Row:
        """The point whose median lies farthest above its fastest call."""
        return max(self.rows, key=_unsteadiness)


def study_sweep(run: SweepRun) -> SweepStudy:
    """Place every point of a run under the run's own ceilings."""
    ceilings = ceilings_of(run)
    placed = {point.id: place(ceilings, point) for point in points_of(run)}
    return SweepStudy(
        run=run,
        ceilings=ceilings,
        curves=tuple(
            Curve(
                policy=policy,
                rows=tuple(
                    Row(
                        timed=timed,
                        placed=placed[timed.id],
                        traffic=traffic_of(timed, run.caches, run.caches_reason),
                    )
                    for timed in run.of(policy)
                ),
            )
            for policy in POLICIES
        ),
    )


def work_out_sweep(run: SweepRun, note: Workings) -> None:
    """Write down `study#/sweep/<run>/…`."""
    study = study_sweep(run)
    base = f"sweep/{run.name}"
    _ceilings(study, base, note)
    worst = study.unsteadiest
    times = f"{run.name}#/results/{worst.timed.id}/timing_s"
    note.derive(
        f"{base}/spread",
        _unsteadiness(worst) or None,
        r"\max_i \, \mathrm{median}(t_i) / \min t_i",
        f"{times}/median",
        f"{times}/minimum",
        kind="measured",
        reason="" if _unsteadiness(worst) else "every fastest call reads zero",
    )
    for row in study.rows:
        _row(run, row, base, note)


def _unsteadiness(row: Row) -> float:
    """Median over fastest call; zero where the clock read zero, so that nothing follows."""
    timing = row.timed.program.timing
    return timing.median / timing.minimum if timing.minimum else 0.0


def _per_doubling(before: Timed, after: Timed) -> float:
    """By how much time grows for twice the rows; zero where the clock read zero before."""
    first, then = (each.program.timing.median for each in (before, after))
    return float((then / first) ** (1 / log2(after.m / before.m))) if first else 0.0


def _ceilings(study: SweepStudy, base: str, note: Workings) -> None:
    run, ceilings = study.run, study.ceilings
    probe = f"{run.name}#/probe"
    note.derive(
        f"{base}/claim_s",
        ceilings.claim_s,
        r"10 \, t_{\mathrm{empty}}",
        f"{run.name}#/timing_floor_s/empty_call/median",
        unit="s",
        kind="measured",
    )
    slopes = {}
    for name, ceiling, reason in (
        ("memory", ceilings.memory, ceilings.memory_reason),
        ("cached", ceilings.cached, ceilings.cached_reason),
    ):
        inputs = (
            (
                f"{probe}/stream/{ceiling.row}/moved_bytes",
                f"{probe}/stream/{ceiling.row}/timing_s/minimum",
            )
            if ceiling
            else ()
        )
        slopes[name] = note.derive(
            f"{base}/{name}_bytes_per_s",
            ceiling.per_s if ceiling else None,
            r"B = A / \min t",
            *inputs,
            unit="B/s",
            kind="measured",
            reason=reason,
        )
    for policy in POLICIES:
        matrix, work = ceilings.matrix.get(policy), WORK[policy]
        missing = "" if matrix else "every square of the probe is below the dispatch floor"
        rate = note.derive(
            f"{base}/{policy}/matrix_per_s",
            matrix.per_s if matrix else None,
            r"C = F / \min t",
            *(
                (
                    f"{probe}/matrix/{matrix.row}/operations",
                    f"{probe}/matrix/{matrix.row}/timing_s/minimum",
                )
                if matrix
                else ()
            ),
            unit=f"{work}/s",
            kind="measured",
            reason=missing,
        )
        note.derive(
            f"{base}/{policy}/ridge",
            ceilings.ridge(policy),
            "R = C / B",
            rate,
            slopes["memory"],
            unit=f"{work}/B",
            kind="measured",
            reason=missing or ceilings.memory_reason,
        )


def _row(run: SweepRun, row: Row, base: str, note: Workings) -> None:
    timed, placed, traffic = row.timed, row.placed, row.traffic
    here, recorded, work = f"{base}/{timed.id}", f"{run.name}#/results/{timed.id}", timed.work
    moved = note.derive(
        f"{here}/minimum_bytes",
        traffic.minimum,
        r"A_{\min} = M_{\mathrm{stored}} + 4mn",
        f"{recorded}/stored_bytes/total",
        f"{recorded}/output/bytes",
        unit="B",
    )
    note.derive(
        f"{here}/tiled_bytes",
        traffic.tiled,
        r"A_{\mathrm{tiled}} = M_x \lceil n/t \rceil + M_w \lceil m/t \rceil"
        r" + M_{\mathrm{scales}} + 4mn",
        f"{recorded}/stored_bytes/x_values",
        f"{recorded}/stored_bytes/w_values",
        unit="B",
        reason=traffic.tiled_reason,
    )
    note.derive(
        f"{here}/intensity",
        placed.point.intensity,
        r"I = F / A_{\min}",
        f"{recorded}/operations",
        moved,
        unit=f"{work}/B",
    )
    rate = note.derive(
        f"{here}/per_s",
        placed.per_s,
        r"F / \mathrm{median}(t)",
        f"{recorded}/operations",
        f"{recorded}/timing_s/median",
        unit=f"{work}/s",
        kind="measured",
        reason="" if placed.per_s else placed.words,
    )
    note.derive(
        f"{here}/share",
        placed.share,
        r"(F / \mathrm{median}(t)) / \min(C, I B)",
        rate,
        kind="measured",
        reason="" if placed.share else placed.words,
    )
