"""A profile for a terminal, a spreadsheet and a program: the same facts as on its page."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from report.exhibit import Cell, Scalar, Table, table_of
from report.notation import render
from report.numbers.measures import NS_PER_S, Measure, measure
from report.numbers.profile import Profile
from report.numbers.profile_compare import ProfileComparison
from report.numbers.profile_rules import Judgement, judge
from report.numbers.qualification import cannot_show, cautions, verdict

STEPS, LANES, OPERATIONS, GAPS = 12, 12, 12, 6
"""Rows that a terminal is given."""


def tables(profile: Profile) -> Iterator[Table]:
    """Steps, lanes, operations and gaps, the longest or the first of each; plain text."""
    steps = [
        (
            step.label,
            _time(step.start_ns),
            _time(step.duration_ns),
            _time(step.operations_busy_ns),
            _time(max((share.busy_ns for share in step.devices), default=None)),
            ", ".join(dict.fromkeys(run.module or "unnamed" for run in step.programs)) or "—",
        )
        for step in profile.steps[:STEPS]
    ]
    if steps:
        yield _table(
            f"Steps, {_of(len(steps), len(profile.steps))} (on the host: dispatch and waiting)",
            "Step|>Starts|>Lasts|>Host operations|>Busiest device|Program",
            steps,
        )
    found = [line for line in profile.lines if line.events]
    names = {plane.id: plane.name for plane in profile.planes}
    lanes = [
        (
            f"{names[line.plane]} {line.name}".strip(),
            line.view,
            f"{line.events:,}",
            _time(line.busy_ns),
            render(min(1.0, line.busy_ns / line.span_ns), "percent(1)") if line.span_ns else "—",
        )
        for line in sorted(found, key=lambda line: -line.events)[:LANES]
    ]
    yield _table(
        f"Lanes, {_of(len(lanes), len(found))} (busy is a union; lanes are never added)",
        "Lane|Shows|>Events|>Busy|>Of its span",
        lanes,
    )
    ranked, measures = profile.ranked_work, measure(profile)
    operations = [
        (
            op.label,
            op.module or "—",
            op.category or "not told",
            f"{op.count:,}",
            _time(op.self_ns),
            "—" if share.number is None else render(share.number, "percent(1)"),
        )
        for at, op in ranked[:OPERATIONS]
        for share in [measures[f"operations/{at}/share"]]
    ]
    if operations:
        yield _table(
            f"Operations, {_of(len(operations), len(ranked))}, by their own time",
            "Operation|Program|Does|>Times|>Own time|>Of all",
            operations,
        )
    gaps = [
        (gap.kind, names[gap.plane], _time(gap.start_ns), _time(gap.duration_ns))
        for gap in sorted(profile.gaps, key=lambda gap: -gap.duration_ns)[:GAPS]
    ]
    if gaps:
        yield _table("The longest gaps", "Gap|Plane|>Starts|>Lasts", gaps)


def words(profile: Profile, comparison: ProfileComparison | None) -> tuple[list[str], list[str]]:
    """What is said before the tables, and after them."""
    measures = measure(profile)
    before = [verdict(profile)]
    before += [f"! {found.words}" for found in cautions(profile)]
    before += [f"· {found.words}" for found in profile.findings if found.level == "note"]
    before += [f"Cannot be told: {line}" for line in cannot_show(profile)]
    times = profile.times
    if times and times.first_ratio is not None:
        before.append(
            f"First step {_measured(measures['first_step_s'], 'seconds(1)')}; median of all"
            f" {_measured(measures['step_median_s'], 'seconds(1)')}, without the first"
            f" {_measured(measures['step_steady_s'], 'seconds(1)')}."
        )
    after = ["Hypotheses, not diagnoses:"]
    for rule, found in judge(profile, measures):
        after.append(f"[{found.outcome}] {rule.observation}. {said(found, measures)}")
        if found.outcome == "fires":
            after += [f"    seen: {seen.words[:100]}" for seen in found.seen[:3]]
            after.append(f"    hypothesis: {rule.hypothesis}")
            after.append(f"    one experiment: {rule.experiment.replace('`', '')}")
    if comparison:
        one, two = comparison.names
        after += ["", f"{one} against {two}, {len(comparison.pairs)} paired steps:"]
        after += [f"  {result.told}" for result in comparison.results]
        after += [f"  differs: {d.field}: {d.one} / {d.two}" for d in comparison.differences]
        after.append(comparison.verdict)
    return before, after


def said(found: Judgement, measures: Mapping[str, Measure]) -> str:
    """A judgement's sentence with its numbers printed."""
    return found.told.format_map(
        {
            key: _measured(measures[path], spelling)
            for key, (path, spelling) in found.numbers.items()
        }
    )


def facts(profile: Profile, comparison: ProfileComparison | None) -> dict[str, Any]:
    """The same for a program: numbers in full, a missing one with its reason."""
    measures = measure(profile)
    return {
        "verdict": verdict(profile),
        "findings": [
            {"id": found.id, "level": found.level, "words": found.words}
            for found in profile.findings
        ],
        "cannot_show": list(cannot_show(profile)),
        "measures": {
            path: {"value": found.number, "unit": found.unit, "reason": found.reason or None}
            for path, found in measures.items()
        },
        "rows": list(rows(profile)),
        "hypotheses": [
            {
                "rule": rule.id,
                "observation": rule.observation,
                "outcome": found.outcome,
                "told": said(found, measures),
                "seen": [
                    {
                        "words": seen.words,
                        "plane": seen.place.plane,
                        "start_ns": seen.place.start_ns,
                        "duration_ns": seen.place.duration_ns,
                    }
                    for seen in found.seen
                ],
                "not_shown": found.not_shown,
                "hypothesis": rule.hypothesis,
                "experiment": rule.experiment,
            }
            for rule, found in judge(profile, measures)
        ],
        "comparison": _compared(comparison) if comparison else None,
    }


def _compared(comparison: ProfileComparison) -> dict[str, Any]:
    return {
        "names": comparison.names,
        "factor": comparison.factor or None,
        "credited": comparison.credited,
        "verdict": comparison.verdict,
        "differences": [[d.factor, d.field, d.one, d.two] for d in comparison.differences],
        "unpaired": comparison.unpaired,
        "results": [
            {
                "name": result.name,
                "pairs": result.pairs,
                "one_ns": result.one_ns,
                "two_ns": result.two_ns,
                "ratio": [result.low, result.middle, result.high],
                "note": result.note,
            }
            for result in comparison.results
        ],
    }


def rows(profile: Profile) -> Iterator[dict[str, Scalar]]:
    """Steps, lanes, operations, gaps and compilations as rows of one table.

    Durations of different parts are views of one time, so the column has no total.
    """
    planes = {plane.id: plane.name for plane in profile.planes}

    def row(part: str, name: str, plane: str, **more: Scalar) -> dict[str, Scalar]:
        empty: dict[str, Scalar] = dict.fromkeys(
            ("view", "program", "program_id", "step", "events", "start_ns", "duration_ns")
        )
        own: dict[str, Scalar] = {"busy_ns": None, "self_ns": None}
        return {"part": part, "name": name, "plane": plane, **empty, **own, **more}

    for step in profile.steps:
        yield row(
            "step",
            step.inner or step.name,
            planes[step.plane],
            step=step.number,
            start_ns=step.start_ns,
            duration_ns=step.duration_ns,
            busy_ns=max((share.busy_ns for share in step.devices), default=None),
            program=", ".join(dict.fromkeys(run.module for run in step.programs)),
        )
    for line in profile.lines:
        more = {"events": line.events, "duration_ns": line.span_ns, "busy_ns": line.busy_ns}
        yield row("lane", line.name, planes[line.plane], view=line.view, **more)
    for op in profile.operations:
        yield row(
            "operation",
            op.name,
            planes[op.longest.plane] if op.longest else "",
            view=op.view,
            program=op.module,
            program_id=op.program_id,
            events=op.count,
            duration_ns=op.total_ns,
            self_ns=op.self_ns,
        )
    for gap in profile.gaps:
        times = {"start_ns": gap.start_ns, "duration_ns": gap.duration_ns}
        yield row("gap", gap.kind, planes[gap.plane], view=gap.view, step=gap.step, **times)
    for found in profile.compiles:
        times = {"start_ns": found.start_ns, "duration_ns": found.duration_ns}
        yield row("compilation", found.name, planes[found.plane], step=found.step, **times)


def _table(title: str, heads: str, found: Sequence[tuple[str, ...]]) -> Table:
    rows = (tuple(Cell(text=text) for text in row) for row in found)
    return table_of("", title, heads, rows, stack=False)


def _time(ns: int | None) -> str:
    return "—" if ns is None else render(ns / NS_PER_S, "seconds(1)")


def _measured(found: Measure, spelling: str) -> str:
    return render(found.number, spelling, reason=found.reason)


def _of(some: int, whole: int) -> str:
    return f"{some:,}" if some == whole else f"{some:,} of {whole:,}"
