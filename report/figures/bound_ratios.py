"""How near each policy's outputs came to the bound that was worked out beforehand."""

import math
from collections.abc import Mapping, Sequence

import altair as alt

from report.exhibit import Cell, Column, Figure, Scalar, Table, number, valued
from report.figures import theme
from report.figures.axes import log_x
from report.figures.render import render as draw_both
from report.notation import render
from report.numbers.representations import Certificate, RepresentationsRun, Result
from report.numbers.worked_representations import outlier_certificates

NAME = "bound-ratios"
RANKS = (5, 50, 95)
LOWEST = 1e-6
"""Ratios below this are drawn at the edge: so few roundings add up to nothing."""


def draw(run: RepresentationsRun) -> Figure:
    """A line from the 5th to the 95th percentile, its median, and the worst output."""
    held = outlier_certificates(run)
    alt_text = (
        "Error over bound of each output, on a logarithmic axis that ends at the bound. "
        + "; ".join(
            f"{run.policies[result.policy].short} worst {_said(found.worst.value)}"
            for result, found in held
        )
    )
    return Figure(
        name=NAME,
        title=_finding(run, held),
        reading=(
            "A row is one policy. The line holds the middle nine tenths of its outputs, the tick"
            " is their median, the dot the worst of them. The rule at 1 is the bound itself:"
            " nothing may pass it."
        ),
        caption=(
            f"One {run.shape} product, outlier case. {run.scope.statement} A bound covers the"
            " worst that roundings may do together; that they do less shows how they cancel, not"
            " that the bound is loose."
        ),
        alt_text=f"{alt_text}.",
        kind="measured",
        drawing=draw_both(
            NAME,
            _chart(run, held, narrow=False),
            _chart(run, held, narrow=True),
            alt_text=f"{alt_text}.",
        ),
        table=_table(run, held),
        data=tuple(_data(held)),
        sources=(run.source,),
        draws=f"python build.py figure {NAME} --evidence DIR --out FILE",
    )


Held = Sequence[tuple[Result, Certificate]]


def _finding(run: RepresentationsRun, held: Held) -> str:
    at = f"study#/representations/{run.name}/bounds/outlier"
    outputs, exceeded = (number(f"{at}/{count}", "integer") for count in ("outputs", "exceeded"))
    broken = [run.policies[result.policy].short for result, found in held if found.exceeded]
    if broken:
        return f"{exceeded} of {outputs} outputs break their bound: {', '.join(broken)}."
    worst = [(found.worst.value, result) for result, found in held if found.worst.value is not None]
    if not worst:
        return f"All {outputs} outputs stay within their bound."
    _, result = max(worst, key=lambda pair: pair[0])
    share = number(f"{run.name}#/results/{result.id}/bound/worst_ratio", "percent(1)")
    return (
        f"All {outputs} outputs stay within their bound; the nearest,"
        f" {run.policies[result.policy].short}, uses {share} of it."
    )


def _said(value: float | None) -> str:
    return "beyond any bound" if value is None else render(value, "fixed(3)")


def _data(held: Held) -> list[Mapping[str, Scalar]]:
    return [
        {
            "policy": result.policy,
            "outputs": found.outputs,
            "exceeded": found.exceeded,
            "worst_ratio": found.worst.value,
            **{f"p{rank}": found.percentiles.get(rank) for rank in RANKS},
        }
        for result, found in held
    ]


def _table(run: RepresentationsRun, held: Held) -> Table:
    return Table(
        name=f"{NAME}-data",
        title="Error over bound, as drawn",
        caption="",
        columns=(
            Column(head="Operands"),
            *(
                Column(head=head, numeric=True)
                for head in ("Outputs", "Beyond", "5 %", "Median", "95 %", "Worst")
            ),
        ),
        rows=tuple(
            (
                Cell(text=run.policies[result.policy].short),
                valued(f"{at}/outputs", found.outputs, "integer", "computed"),
                valued(f"{at}/exceeded", found.exceeded, "integer", "measured"),
                *(
                    Cell(text=_said(value), kind="measured", href=href)
                    if value is None
                    else valued(f"{at}/{part}", value, "fixed(3)", "measured", href=href)
                    for part, value in (
                        *((f"percentiles/p{rank}", found.percentiles.get(rank)) for rank in RANKS),
                        ("worst_ratio", found.worst.value),
                    )
                ),
            )
            for result, found in held
            for at in [f"{run.name}#/results/{result.id}/bound"]
            for href in [f"records/{run.name}.html#bound-{result.id}"]
        ),
        sources=(run.source,),
    )


def _chart(run: RepresentationsRun, held: Held, *, narrow: bool) -> alt.LayerChart:
    band, first = (40, 28) if narrow else (24, 12)
    height = band * max(1, len(held)) + 66
    frame = (
        theme.Frame(width=330, height=height, left=18, right=50, top=20, bottom=46)
        if narrow
        else theme.Frame(width=600, height=height, left=150, right=66, top=20, bottom=46)
    )
    lows = [value for _, found in held if (value := found.percentiles.get(5))]
    low = max(LOWEST, 10.0 ** math.floor(math.log10(min(lows)))) if lows else 1e-4
    worst = [found.worst.value for _, found in held if found.worst.value]
    high = max(1.0, 10.0 ** math.ceil(math.log10(max(worst)))) if worst else 1.0
    at = {
        field: log_x(field, (low, high), "error over bound, log scale")
        for field in ("low", "middle", "worst")
    }
    placed = [
        {
            "y": index * band + first,
            "label_y": index * band + 10,
            "name": run.policies[result.policy].short,
            "low": _within(found.percentiles.get(5), low, high),
            "middle": _within(found.percentiles.get(50), low, high),
            "high": _within(found.percentiles.get(95), low, high),
            "worst": _within(found.worst.value, low, high),
            "text": _said(found.worst.value),
            "broken": int(found.exceeded > 0),
        }
        for index, (result, found) in enumerate(held)
    ]
    rows = alt.Chart(theme.rows(placed))
    y = theme.down("y", frame.plot_height)
    name_y = theme.down("label_y", frame.plot_height) if narrow else y
    limit = alt.Chart(theme.rows([{"worst": 1.0, "text": "the bound"}]))
    ink = alt.condition("datum.broken==1", alt.value(theme.C2), alt.value(theme.C1))
    return frame.hold(
        limit.mark_rule(color=theme.INK, strokeWidth=1.5).encode(x=at["worst"]),
        limit.mark_text(dy=-11, align="right", **theme.ASIDE).encode(
            x=at["worst"], y=alt.value(0), text="text:N"
        ),
        rows.mark_rule(strokeWidth=1.5, color=theme.C1).encode(x=at["low"], x2="high:Q", y=y),
        rows.mark_tick(thickness=2, height=11, opacity=1, color=theme.C1, orient="vertical").encode(
            x=at["middle"], y=y
        ),
        rows.mark_point(size=60).encode(x=at["worst"], y=y, color=ink),
        rows.mark_text(align="right", **theme.VALUE).encode(
            x=alt.value(frame.plot_width + frame.right - 4), y=y, text="text:N"
        ),
        rows.mark_text(**theme.NAME).encode(x=alt.value(-frame.left + 2), y=name_y, text="name:N"),
    )


def _within(value: float | None, low: float, high: float) -> float:
    """The value, or the edge of the axis beyond which it lies."""
    return high if value is None else min(max(value, low), high)
