"""What follows from a timing run: medians with their intervals, what may be claimed, and verdicts.

Everything is written down, also where nothing may be claimed: then the reason stands there.
"""

import math
from collections.abc import Mapping
from decimal import Decimal

from report.notation import render
from report.numbers.distinction import Distinction
from report.numbers.precision import POLICIES, Policy
from report.numbers.timing import CLOCK, EMPTY, FLOORS_ABOVE, SERIES, TWINS, Process, TimingRun
from report.numbers.workings import Workings

UNDER_FLOORS = f"under {FLOORS_ABOVE} times the dispatch floor a rate would be that of the call"
UNSEEN = "the clock saw no time pass"


def work_out_timing(run: TimingRun, note: Workings) -> None:
    """Write down `study#/timing/<run>/…`."""
    base = f"timing/{run.name}"
    tick = note.derive(
        f"{base}/timer_step_s",
        run.tick_s,
        r"\min |t_i - t_j| > 0",
        *samples_of(run, CLOCK, EMPTY),
        unit="s",
        kind="measured",
    )
    floor = _median(run, EMPTY, f"{base}/floor", note)
    _median(run, CLOCK, f"{base}/clock", note)
    for process in run.processes:
        for name in SERIES:
            _series(run, process, name, note)
    for policy in POLICIES:
        _program(run, policy, floor, tick, note)
    pairs = run.pairs
    _pairs(run, pairs, note)
    for (later, earlier), found in pairs.items():
        name = f"{later}-vs-{earlier}"
        times = [f"study#/{base}/programs/{policy}/median_s" for policy in (later, earlier)]
        note.derive(
            f"{base}/ratio/{name}",
            found.ratio,
            r"\mathrm{median}_p \, \tilde{t}_{p} / \tilde{t}_{p}'",
            *times,
            kind="measured",
            reason="" if found.ratio is not None else UNSEEN,
        )
        ends = {"low": found.band.low, "high": found.band.high}
        bands = [f"study#/{base}/programs/{policy}/aa_high" for policy in (later, earlier)]
        for end, value in ends.items():
            note.derive(
                f"{base}/aa_{end}/{name}", value, rf"\mathrm{{AA}}_{end}", *bands, kind="measured"
            )
            ratio = getattr(found.interval, end) if found.interval else None
            note.derive(
                f"{base}/ratio_{end}/{name}",
                ratio,
                r"\text{bootstrap over processes, 95 \%}",
                *times,
                kind="measured",
                reason="" if ratio is not None else UNSEEN,
            )
        note.derive(
            f"{base}/verdict/{name}",
            found.verdict.value,
            r"\text{interval against A/A band}",
            *(f"study#/{base}/{part}/{name}" for part in ("ratio_low", "ratio_high", "aa_high")),
            kind="measured",
        )


def _pairs(
    run: TimingRun, pairs: Mapping[tuple[Policy, Policy], Distinction], note: Workings
) -> None:
    """How many pairs there are, and of how many it is told which takes less time."""
    base = f"timing/{run.name}"
    verdicts = [f"study#/{base}/verdict/{one}-vs-{two}" for one, two in pairs]
    note.derive(f"{base}/pairs", len(pairs), r"3 \cdot 2 / 2")
    note.derive(
        f"{base}/pairs_told",
        sum(found.verdict.ranks for found in pairs.values()),
        r"\text{pairs of which one takes less time}",
        *verdicts,
        kind="measured",
    )


def _series(run: TimingRun, process: Process, name: str, note: Workings) -> None:
    """What one series of one process says of itself."""
    series = process.series[name]
    samples = f"{run.name}#/processes/{process.number}/samples_ns/{name}"
    for part, found, formula, unit in (
        ("minimum_s", series.minimum_s, r"\min t", "s"),
        ("median_s", series.median_s, r"\mathrm{median}(t)", "s"),
        ("maximum_s", series.maximum_s, r"\max t", "s"),
        ("flagged", len(series.outliers.outside), r"\text{outside Tukey's fences}", ""),
    ):
        note.derive(
            f"{series_path(run, process, name)}/{part}",
            found,
            formula,
            samples,
            unit=unit,
            kind="measured",
        )


def series_path(run: TimingRun, process: Process, name: str) -> str:
    """Where the values of one series of one process stand in the study."""
    return f"timing/{run.name}/series/{process.number}/{name}"


def claim(seconds: float, resolution_s: float) -> str:
    """A time with no more digits than can be claimed: 9.87 µs to 0.2 µs prints 9.9 µs."""
    if not seconds:
        return render(seconds, "seconds(0)")
    unit, place = (_power(seconds) // 3 * 3, _power(resolution_s))
    rounded = float(Decimal(repr(seconds)).quantize(Decimal(1).scaleb(place)))
    if not rounded:
        return f"under {claim(resolution_s, resolution_s)}"
    return render(rounded, f"seconds({min(max(unit - place, 0), 9)})")


def _power(seconds: float) -> int:
    """The power of ten of the first digit: -6 for 9.87 µs."""
    return math.floor(math.log10(seconds))


def samples_of(run: TimingRun, *series: str) -> list[str]:
    """Pointers to the samples of some series in every process."""
    return [
        f"{run.name}#/processes/{process.number}/samples_ns/{name}"
        for process in run.processes
        for name in series
    ]


def _median(run: TimingRun, series: str, path: str, note: Workings) -> str:
    """The median process with its interval; returns the pointer of the median."""
    interval = run.interval_s(series)
    made = note.derive(
        f"{path}/median_s",
        run.median_s(series),
        r"\mathrm{median}_p \, \mathrm{median}_i \, t_{pi}",
        *samples_of(run, series),
        unit="s",
        kind="measured",
    )
    for end in ("low", "high"):
        note.derive(
            f"{path}/{end}_s",
            getattr(interval, end),
            r"\text{bootstrap over processes, 95 \%}",
            made,
            unit="s",
            kind="measured",
        )
    note.derive(
        f"{path}/spread",
        interval.spread,
        r"2 (t_{\mathrm{high}} - t_{\mathrm{low}}) / (t_{\mathrm{high}} + t_{\mathrm{low}})",
        f"study#/{path}/low_s",
        f"study#/{path}/high_s",
        kind="measured",
    )
    return made


def _program(run: TimingRun, policy: Policy, floor: str, tick: str, note: Workings) -> None:
    """One program: its time, its twin, how finely it may be claimed, and of what."""
    path = f"timing/{run.name}/programs/{policy}"
    median = _median(run, f"{policy}-first", path, note)
    twins = samples_of(run, *(f"{policy}-{twin}" for twin in TWINS))
    band = run.band(policy)
    for end in ("low", "high"):
        note.derive(
            f"{path}/aa_{end}",
            getattr(band, end),
            r"P_{95}(\tilde{t}_b / \tilde{t}_b')^{\pm 1}",
            *twins,
            kind="measured",
        )
    note.derive(
        f"{path}/aa_reach",
        run.reach(policy),
        r"\mathrm{AA}_{\mathrm{high}} - 1",
        f"study#/{path}/aa_high",
        kind="measured",
    )
    note.derive(
        f"{path}/flagged",
        run.flagged(policy),
        r"\textstyle\sum_p \text{flagged}",
        *(
            f"study#/{series_path(run, process, f'{policy}-first')}/flagged"
            for process in run.processes
        ),
        kind="measured",
    )
    note.derive(
        f"{path}/steadiness",
        run.steadiness(policy).value,
        r"\text{Kendall's } S \text{ of ten blocks, 5 \%}",
        *twins,
        kind="measured",
    )
    resolution = note.derive(
        f"{path}/resolution_s",
        run.resolution_s(policy),
        r"\max(\mathrm{step},\; \tilde{t}\,(\mathrm{AA}_{\mathrm{high}} - 1),\; "
        r"(t_{\mathrm{high}} - t_{\mathrm{low}}) / 2)",
        tick,
        median,
        f"study#/{path}/aa_high",
        f"study#/{path}/low_s",
        f"study#/{path}/high_s",
        unit="s",
        kind="measured",
    )
    note.derive(
        f"{path}/claimed_to",
        claim(run.resolution_s(policy), run.resolution_s(policy)),
        r"\text{its first digit}",
        resolution,
        kind="measured",
    )
    note.derive(
        f"{path}/claim",
        claim(run.median_s(f"{policy}-first"), run.resolution_s(policy)),
        r"\text{the median, rounded to what can be claimed}",
        median,
        resolution,
        kind="measured",
    )
    floors, throughput = run.floors(policy), run.throughput_per_s(policy)
    above = note.derive(
        f"{path}/floors",
        floors,
        r"\tilde{t} / \tilde{t}_{\mathrm{empty}}",
        median,
        floor,
        kind="measured",
        reason="" if floors is not None else UNSEEN,
    )
    note.derive(
        f"{path}/throughput_per_s",
        throughput,
        r"2mkn / \tilde{t}",
        median,
        above,
        unit="OP/s" if policy == "int8" else "FLOP/s",
        kind="measured",
        reason="" if throughput is not None else UNDER_FLOORS,
    )
