"""What follows from a sweep: its ceilings, and the intensity, rate and share of every point."""

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from math import log2

from report.numbers.placing import (
    Ceiling,
    Ceilings,
    Placed,
    Point,
    ceilings_of,
    place,
    points_of,
    rates_of,
)
from report.numbers.precision import POLICIES, Policy
from report.numbers.sweep import WORK, Stream, SweepRun, Timed
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
    def claimed(self) -> tuple[Row, ...]:
        """The rows of which a rate is claimed."""
        return tuple(row for row in self.rows if row.placed.per_s)

    @property
    def best(self) -> Row | None:
        """The row of the highest rate."""
        return max(self.claimed, key=lambda row: row.placed.per_s or 0.0, default=None)

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
    probe: Mapping[str, Ceiling]
    """The rates of each row of the probe that may claim any."""
    curves: tuple[Curve, ...]

    @property
    def base(self) -> str:
        """The pointer below which its values stand."""
        return f"study#/sweep/{self.run.name}"

    @property
    def rows(self) -> tuple[Row, ...]:
        return tuple(row for curve in self.curves for row in curve.rows)

    @property
    def unclaimed(self) -> tuple[Row, ...]:
        """The rows that are too short for a rate."""
        return tuple(row for row in self.rows if row.placed.per_s is None)

    @property
    def unsteadiest(self) -> Row:
        """The point whose median lies farthest above its fastest call."""
        return max(self.rows, key=_unsteadiness)

    def best_share(self, curve: Curve) -> float | None:
        """A policy's highest rate over that of its square products."""
        matrix, best = self.ceilings.matrix.get(curve.policy), curve.best
        return best.placed.per_s / matrix.per_s if matrix and best and best.placed.per_s else None

    def most_counted(self, model: str) -> Row | None:
        """The row in which an account counts the most times the least traffic."""
        told = [row for row in self.rows if row.traffic.bytes_of(model) is not None]
        return max(told, key=lambda row: row.traffic.over_least(model) or 0.0, default=None)

    def counted(self, row: Row, model: str) -> str:
        """The pointer to the bytes that an account counts."""
        if model == "compiler":
            return f"{self.run.name}#/results/{row.timed.id}/compiler_accessed_bytes"
        return f"{self.base}/{row.timed.id}/{model}_bytes"

    def bounds(self, point: Point) -> tuple[str, str]:
        """Pointers to the two ceilings over a point."""
        _, slope = self.ceilings.slope(point.minimum_bytes)
        part = "memory" if slope == "memory" else "cached"
        return f"{self.base}/{point.policy}/matrix_per_s", f"{self.base}/{part}_bytes_per_s"


def study_sweep(run: SweepRun) -> SweepStudy:
    """Place every point of a run under the run's own ceilings."""
    ceilings = ceilings_of(run)
    placed = {point.id: place(ceilings, point) for point in points_of(run)}
    return SweepStudy(
        run=run,
        ceilings=ceilings,
        probe={row.id: rates for row in run.probe if (rates := rates_of(row, ceilings.floor_s))},
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
    _probe(study, base, note)
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
    batches = f"{run.name}#/request/batches"
    note.derive(f"{base}/points", len(study.rows), r"\text{three policies at each batch}", batches)
    note.derive(
        f"{base}/unclaimed",
        len(study.unclaimed),
        r"\text{points with } \mathrm{median}(t) < 10 \, t_{\mathrm{empty}}",
        f"{study.base}/claim_s",
        kind="measured",
    )
    for model in ("tiled", "compiler"):
        _most_counted(study, model, base, note)
    for row in study.rows:
        _row(study, row, base, note)
    for curve in study.curves:
        _best(study, curve, base, note)


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


def _probe(study: SweepStudy, base: str, note: Workings) -> None:
    """Each row of the probe that may claim a rate: its best one, and that of its median."""
    run = study.run
    for row in run.probe:
        if rates := study.probe.get(row.id):
            stream = isinstance(row, Stream)
            recorded = f"{run.name}#/probe/{'stream' if stream else 'matrix'}/{row.id}"
            for name, value, time in (
                ("per_s", rates.per_s, "minimum"),
                ("median_per_s", rates.median_per_s, "median"),
            ):
                note.derive(
                    f"{base}/probe/{row.id}/{name}",
                    value,
                    "A / t" if stream else "F / t",
                    f"{recorded}/{'moved_bytes' if stream else 'operations'}",
                    f"{recorded}/timing_s/{time}",
                    unit="B/s" if isinstance(row, Stream) else f"{row.work}/s",
                    kind="measured",
                )


def _most_counted(study: SweepStudy, model: str, base: str, note: Workings) -> None:
    """How many times the least traffic the tiles, or the compiler, count at most."""
    row, first = study.most_counted(model), study.rows[0].traffic
    note.derive(
        f"{base}/{model}_over_least",
        row.traffic.over_least(model) if row else None,
        r"\max_i \, A_i / A_{\min, i}",
        *((study.counted(row, model), study.counted(row, "minimum")) if row else ()),
        kind="estimated" if model == "compiler" else "computed",
        reason="" if row else (first.tiled_reason if model == "tiled" else first.compiler_reason),
    )


def _best(study: SweepStudy, curve: Curve, base: str, note: Workings) -> None:
    """A policy's highest rate over that of square products, where both are claimed."""
    share, best = study.best_share(curve), curve.best
    note.derive(
        f"{base}/{curve.policy}/best_over_matrix",
        share,
        r"\max_i r_i / C",
        *([f"{study.base}/{best.timed.id}/per_s"] if best else []),
        f"{study.base}/{curve.policy}/matrix_per_s",
        kind="measured",
        reason="" if share else "no rate of the sweep, or of square products, may be claimed",
    )


def _row(study: SweepStudy, row: Row, base: str, note: Workings) -> None:
    run, timed, placed, traffic = study.run, row.timed, row.placed, row.traffic
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
    intensity = note.derive(
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
    bound = note.derive(
        f"{here}/bound_per_s",
        placed.bound_per_s,
        r"\min(C, I B)",
        *study.bounds(placed.point),
        intensity,
        unit=f"{work}/s",
        kind="measured",
        reason="" if placed.bound_per_s else "the probe has no ceiling for it",
    )
    note.derive(
        f"{here}/share",
        placed.share,
        r"r / \min(C, I B)",
        rate,
        bound,
        kind="measured",
        reason="" if placed.share else placed.words,
    )
