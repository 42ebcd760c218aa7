"""Each pair of programs: the ratio of their times, against what twins differ by."""

import math
from collections.abc import Sequence

import altair as alt

from report.exhibit import Cell, Column, Figure, Scalar, Table, number, span, valued
from report.figures import theme
from report.figures.render import render as draw_both
from report.notation import render
from report.numbers.distinction import Distinction
from report.numbers.timing import FLOORS_ABOVE, TimingRun
from report.numbers.worked_timing import UNSEEN

NAME = "timing-verdicts"
Row = tuple[str, str, Distinction]
"""The two programs and what may be said of them."""


def draw(run: TimingRun) -> Figure:
    """A row a pair, on one logarithmic axis of ratios with 1 at its place."""
    rows: list[Row] = [(one, two, found) for (one, two), found in run.pairs.items()]
    alt_text = "Ratios of times. " + " ".join(_sentence(row) for row in rows)
    return Figure(
        name=NAME,
        title=_finding(run, rows),
        reading=(
            "A point is the time of the first program over that of the second, its bar the 95 % "
            "interval over processes. The tinted band is what a program and its own twin differ "
            "by. Only a bar that lies wholly outside may be read as a difference."
        ),
        caption=f"{_floors(run)} {run.scope.statement} It says nothing of another device.",
        alt_text=alt_text,
        kind="measured",
        drawing=draw_both(
            NAME, _chart(rows, narrow=False), _chart(rows, narrow=True), alt_text=alt_text
        ),
        table=_table(run, rows),
        data=tuple(_data(row) for row in rows),
        sources=(run.source,),
        draws=f"python build.py figure {NAME} --evidence DIR --out FILE",
    )


def _finding(run: TimingRun, rows: Sequence[Row]) -> str:
    base, told = f"study#/timing/{run.name}", sum(found.verdict.ranks for _, _, found in rows)
    of_all = f"{number(f'{base}/pairs_told', 'integer')} of {number(f'{base}/pairs', 'integer')}"
    if told:
        verb = "differs" if told == 1 else "differ"
        return f"{of_all} pairs of programs {verb} by more than twins do, on this device."
    kinds = dict.fromkeys(found.verdict.value for _, _, found in rows)
    return f"{of_all} pairs of programs are told apart: {'; '.join(kinds)}."


def _sentence(row: Row) -> str:
    one, two, found = row
    ratio = "no ratio" if found.ratio is None else render(found.ratio, "fixed(2)")
    return f"{one.upper()} against {two.upper()}: {ratio}, {found.verdict.value}."


def _floors(run: TimingRun) -> str:
    """How far these times stand above the dispatch floor, and what that leaves."""
    known = {
        policy: floors for policy in run.programs if (floors := run.floors(policy)) is not None
    }
    shortest = min(known, key=known.__getitem__, default=None)
    if shortest is None or known[shortest] >= FLOORS_ABOVE:
        return "The floor of an empty call lies under a tenth of every time."
    base = f"study#/timing/{run.name}"
    floor = number(f"{base}/floor/median_s", "seconds(1)")
    times = number(f"{base}/programs/{shortest}/floors", "fixed(1)")
    return (
        f"An empty call already takes {floor}; the shortest of these programs takes {times} times "
        "that, so no throughput is claimed."
    )


def _data(row: Row) -> dict[str, Scalar]:
    one, two, found = row
    interval = found.interval
    return {
        "program": one,
        "against": two,
        "ratio": found.ratio,
        "ratio_low": interval.low if interval else None,
        "ratio_high": interval.high if interval else None,
        "aa_low": found.band.low,
        "aa_high": found.band.high,
        "verdict": found.verdict.value,
    }


def _table(run: TimingRun, rows: Sequence[Row]) -> Table:
    base = f"study#/timing/{run.name}"
    return Table(
        name=f"{NAME}-data",
        title="Ratios of times, as drawn",
        caption="",
        columns=(
            Column(head="Pair"),
            Column(head="Ratio", numeric=True),
            Column(head="95 % interval", numeric=True),
            Column(head="A/A band", numeric=True),
            Column(head="Verdict"),
        ),
        rows=tuple(
            (
                Cell(
                    text=f"{one.upper()} against {two.upper()}",
                    href=f"records/{run.name}.html#verdict-{one}-vs-{two}",
                ),
                valued(
                    f"{base}/ratio/{one}-vs-{two}",
                    found.ratio,
                    "fixed(3)",
                    "measured",
                    UNSEEN,
                ),
                Cell(
                    text=span(f"{base}/ratio_{{}}/{one}-vs-{two}")
                    if found.interval
                    else "not recorded",
                    kind="measured",
                ),
                Cell(text=span(f"{base}/aa_{{}}/{one}-vs-{two}"), kind="measured"),
                Cell(text=found.verdict.value),
            )
            for one, two, found in rows
        ),
        sources=(run.source,),
    )


def _chart(rows: Sequence[Row], *, narrow: bool) -> alt.LayerChart:
    pitch, left, width = (96, 4, 330) if narrow else (58, 150, 600)
    frame = theme.Frame(width=width, height=pitch * len(rows) + 50, left=left, right=14, bottom=46)
    ends = [
        value
        for _, _, found in rows
        for interval in (found.band, found.interval)
        if interval
        for value in (interval.low, interval.high)
        if value > 0
    ]
    reach = max(1.05, *(max(value, 1 / value) for value in ends)) ** 1.12
    ticks = _ticks(reach)

    def across(field: str) -> alt.X:
        return alt.X(
            field,
            type="quantitative",
            scale=alt.Scale(type="log", domain=[1 / reach, reach], nice=False),
            axis=alt.Axis(values=ticks, format="~g", title="ratio of times, log scale"),
        )

    x = across("x")
    y = theme.down("y", frame.plot_height)
    placed = [
        {
            "x": found.ratio,
            "low": found.interval.low if found.interval else None,
            "high": found.interval.high if found.interval else None,
            "aa_low": found.band.low,
            "aa_high": found.band.high,
            "y": index * pitch + pitch - 20,
            "top": index * pitch + pitch - 33,
            "bottom": index * pitch + pitch - 7,
            "name_y": index * pitch + (13 if narrow else pitch - 30),
            "aside_y": index * pitch + (31 if narrow else pitch - 11),
            "name": f"{one.upper()} / {two.upper()}",
            "text": "" if found.ratio is None else render(found.ratio, "fixed(2)"),
            "verdict": found.verdict.value,
        }
        for index, (one, two, found) in enumerate(rows)
    ]
    seen = [row for row in placed if row["x"]]
    drawn, named = alt.Chart(theme.rows(seen)), alt.Chart(theme.rows(placed))
    at = -left if not narrow else 0
    return frame.hold(
        named.mark_rect(color=theme.C1, opacity=0.18).encode(
            x=across("aa_low"),
            x2="aa_high:Q",
            y=theme.down("top", frame.plot_height),
            y2="bottom:Q",
        ),
        alt.Chart(theme.rows([{"x": 1}])).mark_rule(**theme.REFERENCE).encode(x=x),
        drawn.mark_rule(color=theme.C2, strokeWidth=2.5).encode(x=across("low"), x2="high:Q", y=y),
        drawn.mark_point(color=theme.C2).encode(x=x, y=y),
        drawn.mark_text(dy=-13, align="center", **theme.VALUE).encode(x=x, y=y, text="text:N"),
        named.mark_text(**theme.NAME).encode(
            x=alt.value(at), y=theme.down("name_y", frame.plot_height), text="name:N"
        ),
        named.mark_text(**theme.ASIDE).encode(
            x=alt.value(at), y=theme.down("aside_y", frame.plot_height), text="verdict:N"
        ),
    )


def _ticks(reach: float) -> list[float]:
    """Round ratios inside the domain, with 1 among them."""
    step = next(
        step for step in (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, math.inf) if (reach - 1) / step <= 4
    )
    above = [1 + index * step for index in range(5) if 1 + index * step <= reach]
    below = [1 - index * step for index in range(1, 5) if 1 - index * step >= 1 / reach]
    return sorted(round(tick, 4) for tick in (*above, *below))
