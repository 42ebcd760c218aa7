"""Every process's samples in the order taken, beside those of a twin program, per policy."""

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

import altair as alt

from report.exhibit import Cell, Column, Figure, Scalar, Table, number, valued
from report.figures import theme
from report.figures.render import render as draw_both
from report.notation import render
from report.numbers.precision import POLICIES, Policy
from report.numbers.steadiness import Steadiness
from report.numbers.timing import TWINS, Process, TimingRun
from report.numbers.worked_timing import claim, series_path

NAME = "sample-strips"
STEPS_ACROSS = 60
"""Steps of all processes together; each stands for the samples of one stretch of time."""
LEAST_REACH, MOST_REACH = 0.03, 0.5
"""How far a lane reaches to either side of its median, as a share of it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """Neighbouring samples of one program in one process, over the program's median."""

    policy: Policy
    process: int
    step: int
    low: float
    """Their lower quartile."""
    middle: float
    high: float
    twin: float
    """The twin's median over the same stretch, over the program's median."""
    flagged: int
    """Samples outside Tukey's inner fences."""
    furthest: float | None
    """The flagged one that lies furthest out."""


def draw(run: TimingRun) -> Figure:
    """A lane a policy, a segment a process: the middle half, both medians, what was flagged."""
    steps = [
        step
        for policy in POLICIES
        for process in run.processes
        for step in _steps(run, policy, process)
    ]
    alt_text = _words(run)
    return Figure(
        name=NAME,
        title=_finding(run),
        reading=(
            "Time runs to the right, process after process, and each lane has its program’s "
            "median at the middle. The tinted area holds the middle half of the samples, the "
            "line is their median, the dashed line that of the twin: the same program compiled "
            "again. Dotted rules bound the A/A band. A dot is the furthest flagged sample of its "
            "stretch, at the lane’s edge where it lies beyond."
        ),
        caption=(
            f"{run.request.steps:,} samples of each program in each of {len(run.processes)} "
            f"processes, none left out; one {run.request.shape} product, "
            f"{'synchronous' if run.request.dispatch == 'sync' else 'asynchronous'} dispatch. "
            f"{run.scope.statement}"
        ),
        alt_text=alt_text,
        kind="measured",
        drawing=draw_both(
            NAME,
            _chart(run, steps, narrow=False),
            _chart(run, steps, narrow=True),
            alt_text=alt_text,
        ),
        table=_table(run),
        data=tuple(_data(step) for step in steps),
        sources=(run.source,),
        draws=f"python build.py figure {NAME} --evidence DIR --out FILE",
    )


def _steps(run: TimingRun, policy: Policy, process: Process) -> list[Step]:
    whole = run.median_s(f"{policy}-first") * 1e9 or 1.0
    first, second = (process.series[f"{policy}-{twin}"].samples_ns for twin in TWINS)
    flagged = set(process.series[f"{policy}-first"].outliers.outside)
    count = min(max(STEPS_ACROSS // len(run.processes), 5), len(first))
    steps = []
    for step in range(count):
        start, end = (at * len(first) // count for at in (step, step + 1))
        ordered = sorted(first[start:end])
        out = [first[index] for index in range(start, end) if index in flagged]
        steps.append(
            Step(
                policy=policy,
                process=process.number,
                step=step,
                low=ordered[len(ordered) // 4] / whole,
                middle=median(ordered) / whole,
                high=ordered[3 * len(ordered) // 4] / whole,
                twin=median(second[start:end]) / whole,
                flagged=len(out),
                furthest=max(out, key=lambda ns: abs(ns - whole)) / whole if out else None,
            )
        )
    return steps


def _data(step: Step) -> dict[str, Scalar]:
    return {
        "policy": step.policy,
        "process": step.process,
        "step": step.step,
        "lower_quartile_over_median": step.low,
        "step_median_over_median": step.middle,
        "upper_quartile_over_median": step.high,
        "twin_step_median_over_median": step.twin,
        "flagged": step.flagged,
        "furthest_flagged_over_median": step.furthest,
    }


def _finding(run: TimingRun) -> str:
    drifting = [p.upper() for p in POLICIES if run.steadiness(p) is not Steadiness.STEADY]
    reach = number(f"study#/timing/{run.name}/programs/{run.loosest}/aa_reach", "percent(1)")
    twins = f"a program and its twin differ by up to {reach}"
    if not drifting:
        return f"Steady in every process; {twins}."
    return f"{_and(drifting)} drifted while sampled; {twins}."


def _and(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def _words(run: TimingRun) -> str:
    parts = [
        f"{policy.upper()} {_claim(run, policy)}, {run.steadiness(policy).value}, A/A band plus or "
        f"minus {render(run.reach(policy), 'percent(1)')}, {run.flagged(policy)} of "
        f"{run.request.steps * len(run.processes):,} samples flagged"
        for policy in POLICIES
    ]
    return f"Samples in the order taken, process after process. {'; '.join(parts)}."


def _claim(run: TimingRun, policy: Policy) -> str:
    return claim(run.median_s(f"{policy}-first"), run.resolution_s(policy))


def _table(run: TimingRun) -> Table:
    base = f"study#/timing/{run.name}/programs"
    return Table(
        name=f"{NAME}-data",
        title="Medians and flagged samples of each process",
        caption="",
        columns=(
            Column(head="Program"),
            *(Column(head=f"Process {each.number}", numeric=True) for each in run.processes),
            Column(head="Flagged, of all", numeric=True),
            Column(head="A/A band", numeric=True),
        ),
        rows=tuple(
            (
                Cell(text=policy.upper()),
                *(
                    valued(
                        f"study#/{series_path(run, process, f'{policy}-first')}/median_s",
                        process.series[f"{policy}-first"].median_s,
                        "seconds(2)",
                        "measured",
                        href=f"records/{run.name}.html#process-{process.number}",
                    )
                    for process in run.processes
                ),
                valued(f"{base}/{policy}/flagged", run.flagged(policy), "integer", "measured"),
                Cell(
                    text=f"± {number(f'{base}/{policy}/aa_reach', 'percent(1)')}", kind="measured"
                ),
            )
            for policy in POLICIES
        ),
        sources=(run.source,),
    )


def _reach(run: TimingRun, steps: Sequence[Step]) -> float:
    """The same for all lanes, so that their scatter can be compared by eye."""
    quartiles = sorted(max(abs(step.low - 1), abs(step.high - 1)) for step in steps)
    usual = quartiles[int(0.95 * (len(quartiles) - 1))]
    widest = run.reach(run.loosest)
    return min(max(1.4 * usual, 1.6 * widest, LEAST_REACH), MOST_REACH)


def _chart(run: TimingRun, steps: Sequence[Step], *, narrow: bool) -> alt.LayerChart:
    lane, head, left, width = (104, 56, 52, 330) if narrow else (92, 26, 150, 600)
    pitch, gap, right = lane + head, 8, 6
    frame = theme.Frame(width=width, height=pitch * len(POLICIES) + 22)
    reach = _reach(run, steps)
    segment = (width - left - right - gap * (len(run.processes) - 1)) / len(run.processes)
    tops = {policy: index * pitch + head for index, policy in enumerate(POLICIES)}
    starts = {
        each.number: left + index * (segment + gap) for index, each in enumerate(run.processes)
    }
    per_process = max(step.step for step in steps) + 1

    def down(policy: Policy, share: float) -> float:
        held = min(max(share, 1 - reach), 1 + reach)
        return tops[policy] + lane / 2 - (held - 1) / reach * lane / 2

    placed = [
        {
            "x": starts[step.process] + (step.step + 0.5) * segment / per_process,
            "y": down(step.policy, step.middle),
            "low": down(step.policy, step.low),
            "high": down(step.policy, step.high),
            "twin": down(step.policy, step.twin),
            "strip": f"{step.policy}{step.process}",
        }
        for step in steps
    ]
    dots = [
        {"x": place["x"], "y": down(step.policy, step.furthest)}
        for place, step in zip(placed, steps, strict=True)
        if step.furthest is not None
    ]
    bands = [
        {"x": start, "x2": start + segment, "y": down(policy, share)}
        for policy in POLICIES
        for start in starts.values()
        for share in (run.band(policy).low, run.band(policy).high)
    ]
    edge = render(reach, "percent(0)")
    edges = [
        {"x": left - 6, "y": down(policy, 1 + sign * reach), "text": text}
        for policy in POLICIES
        for sign, text in ((1, f"+{edge}"), (0, "median"), (-1, f"−{edge}"))
    ]
    names = [
        {
            "x": x,
            "y": tops[policy] + down_by,
            "text": text,
            "weight": weight,
        }
        for policy in POLICIES
        for weight, text, (x, down_by) in zip(
            ("name", "aside", "aside"),
            (policy.upper(), _claim(run, policy), run.steadiness(policy).value),
            ((0, -32), (52, -32), (120, -32)) if narrow else ((0, 22), (0, 42), (0, 61)),
            strict=True,
        )
    ]
    feet = [
        {
            "x": start + segment / 2,
            "y": frame.height - 9,
            "text": f"{at}" if narrow or len(starts) > 4 else f"process {at}",
        }
        for at, start in starts.items()
    ]
    x = alt.X("x:Q", scale=alt.Scale(domain=[0, width], nice=False), axis=None)
    y = theme.down("y", frame.plot_height)
    drawn = alt.Chart(theme.rows(placed)).encode(x=x, detail="strip:N")
    named = alt.Chart(theme.rows(names))
    return frame.hold(
        alt.Chart(theme.rows([{"x": left, "x2": width - right, "y": down(p, 1)} for p in POLICIES]))
        .mark_rule(color=theme.GRID)
        .encode(x=x, x2="x2:Q", y=y),
        drawn.mark_area(color=theme.C1, opacity=0.22).encode(
            y=theme.down("low", frame.plot_height), y2="high:Q"
        ),
        alt.Chart(theme.rows(bands)).mark_rule(**theme.REFERENCE).encode(x=x, x2="x2:Q", y=y),
        drawn.mark_line(color=theme.C2, strokeDash=[4, 3], strokeWidth=1.5).encode(
            y=theme.down("twin", frame.plot_height)
        ),
        drawn.mark_line(color=theme.C1, strokeWidth=1.8).encode(y=y),
        alt.Chart(theme.rows(dots)).mark_point(color=theme.INK, size=9).encode(x=x, y=y),
        alt.Chart(theme.rows(edges))
        .mark_text(align="right", **theme.ASIDE)
        .encode(x=x, y=y, text="text:N"),
        *(
            named.transform_filter(f"datum.weight=='{weight}'")
            .mark_text(**style)
            .encode(x=x, y=y, text="text:N")
            for weight, style in (("name", theme.NAME), ("aside", theme.ASIDE))
        ),
        alt.Chart(theme.rows(feet))
        .mark_text(align="center", **theme.ASIDE)
        .encode(x=x, y=y, text="text:N"),
    )
