"""What each error is made of: representation, accumulation, rescale, on one log axis."""

import math
from collections.abc import Mapping, Sequence

import altair as alt

from report.exhibit import Cell, Column, Figure, Scalar, Table, number, valued
from report.figures import theme
from report.figures.axes import log_x
from report.figures.render import render as draw_both
from report.notation import render
from report.numbers.representations import Ratio, RepresentationsRun, Result
from report.numbers.worked_representations import PARTS, anatomies, least_over_rest

NAME = "error-anatomy"
INKS = {"representation": theme.C1, "accumulation": theme.C2, "rescale": theme.C3}


def draw(run: RepresentationsRun) -> Figure:
    """Three bars a policy, from the axis's edge; a part that is exactly zero has its word."""
    results = anatomies(run)
    alt_text = "Parts of each error on a logarithmic axis. " + "; ".join(
        f"{run.policies[result.policy].short} "
        + ", ".join(f"{part} {_said(_part(result, part))}" for part in PARTS)
        for result in results
    )
    return Figure(
        name=NAME,
        title=_finding(run),
        reading=(
            "A row is one policy. Its bars are the norms of three errors that add up, output by"
            " output, to the whole: storing the operands, summing their products, rescaling the"
            " sums. The axis is logarithmic, so a gridline is ten times the last."
        ),
        caption=(
            f"One {run.shape} product, outlier case, every part over the norm of the FP64 product."
            f" {run.scope.statement} Bars start at the edge of the axis, not at zero. Where no"
            " program ran, only the representation is known."
        ),
        alt_text=f"{alt_text}.",
        kind="measured",
        drawing=draw_both(
            NAME,
            _chart(run, results, narrow=False),
            _chart(run, results, narrow=True),
            alt_text=f"{alt_text}.",
        ),
        table=_table(run, results),
        data=tuple(_data(results)),
        sources=(run.source,),
        draws=f"python build.py figure {NAME} --evidence DIR --out FILE",
    )


def _part(result: Result, part: str) -> Ratio:
    assert result.found is not None
    ratio: Ratio = getattr(result.found.anatomy, part)
    return ratio


def _finding(run: RepresentationsRun) -> str:
    """How far storing the operands outweighs all else, over the policies that narrow them."""
    least = least_over_rest(run)
    if least is None:
        return "The parts of each error."
    weight, result = least
    name = run.policies[result.policy].short
    pointer = f"study#/representations/{run.name}/anatomy/least_over_rest"
    times = number(pointer, "scientific(0)" if weight >= 1e6 else "fixed(0)")
    if weight > 1:
        return (
            f"Where operands are narrowed, storing them makes the error: at least {times} times"
            f" what summing and rescaling add ({name})."
        )
    return f"Summing and rescaling add more than storing does for {name}: {times} to 1."


def _said(ratio: Ratio) -> str:
    if ratio.value is None:
        return "not known"
    return render(ratio.value, "error") if ratio.value else "0"


def _data(results: Sequence[Result]) -> list[Mapping[str, Scalar]]:
    return [
        {"policy": result.policy, "case": result.case}
        | {part: _part(result, part).value for part in ("total", *PARTS)}
        for result in results
    ]


def _table(run: RepresentationsRun, results: Sequence[Result]) -> Table:
    def cells(result: Result) -> tuple[Cell, ...]:
        href = f"records/{run.name}.html#anatomy-{result.id}"
        return (
            Cell(text=run.policies[result.policy].short),
            *(
                Cell(text=_said(ratio), href=href, note=ratio.reason)
                if ratio.value is None
                else valued(
                    f"{run.name}#/results/{result.id}/anatomy/{part}",
                    ratio.value,
                    "error" if ratio.value else "integer",
                    "computed" if part == "representation" else "measured",
                    href=href,
                    note=ratio.reason,
                )
                for part in ("total", *PARTS)
                for ratio in [_part(result, part)]
            ),
        )

    return Table(
        name=f"{NAME}-data",
        title="Parts of each error, as drawn",
        caption="",
        columns=(
            Column(head="Operands"),
            *(Column(head=part.capitalize(), numeric=True) for part in ("total", *PARTS)),
        ),
        rows=tuple(cells(result) for result in results),
        sources=(run.source,),
    )


def _chart(run: RepresentationsRun, results: Sequence[Result], *, narrow: bool) -> alt.LayerChart:
    band, bar, first = (66, 13, 27) if narrow else (50, 13, 11)
    height = band * len(results) + 72
    frame = (
        theme.Frame(width=330, height=height, left=18, right=22, top=26, bottom=46)
        if narrow
        else theme.Frame(width=600, height=height, left=150, right=18, top=26, bottom=46)
    )
    values = [ratio.value for r in results for part in PARTS if (ratio := _part(r, part)).value]
    known = [value for value in values if value]
    low = 10.0 ** math.floor(math.log10(min(known))) if known else 1e-9
    high = 10.0 ** math.ceil(math.log10(max(known)) + 0.45) if known else 1.0
    axis = AXIS if not narrow else "over the product’s norm, log scale"
    x = log_x("x", (low, high), axis)
    placed = [
        {
            "x": ratio.value or low,
            "edge": low,
            "y": index * band + first + bar * order,
            "part": part,
            "drawn": int(bool(ratio.value)),
            "text": _said(ratio),
        }
        for index, result in enumerate(results)
        for order, part in enumerate(PARTS)
        for ratio in [_part(result, part)]
    ]
    heads = [
        {
            "y": index * band + (12 if narrow else first + bar),
            "top": index * band,
            "text": run.policies[result.policy].short,
        }
        for index, result in enumerate(results)
    ]
    y = theme.down("y", frame.plot_height)
    colour = alt.Color(
        "part:N", scale=alt.Scale(domain=list(INKS), range=list(INKS.values())), legend=None
    )
    bars = alt.Chart(theme.rows(placed))
    names = alt.Chart(theme.rows(heads))
    offsets = (0, 110, 208) if narrow else (0, 124, 234)
    return frame.hold(
        names.transform_filter("datum.top>0")
        .mark_rule(color=theme.RULE)
        .encode(
            y=theme.down("top", frame.plot_height),
            x=alt.value(-frame.left),
            x2=alt.value(frame.plot_width),
        ),
        bars.transform_filter("datum.drawn==1")
        .mark_bar(height=8)
        .encode(x=x, x2="edge:Q", y=y, color=colour),
        bars.mark_text(dx=6, fontSize=11.5).encode(x=x, y=y, text="text:N"),
        names.mark_text(**theme.NAME).encode(x=alt.value(-frame.left + 2), y=y, text="text:N"),
        *(mark for part, offset in zip(PARTS, offsets, strict=True) for mark in _key(part, offset)),
    )


def _key(part: str, offset: int) -> tuple[alt.Chart, alt.Chart]:
    """A square in the ink of a part, and its name, above the plot."""
    one = alt.Chart(theme.rows([{"text": part}]))
    above = alt.value(-14)
    return (
        one.mark_point(shape="square", size=64, color=INKS[part]).encode(
            x=alt.value(offset + 5), y=above
        ),
        one.mark_text(fontSize=12.5, color=INKS[part]).encode(
            x=alt.value(offset + 15), y=above, text="text:N"
        ),
    )


AXIS = "norm over that of the FP64 product, log scale: each gridline is 10 times the last"
