"""How padding to tiles grows with each dimension of a product: steps, not slopes."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import log2
from typing import Any

import altair as alt

from report.errors import UsageFault
from report.exhibit import Cell, Column, Figure, Scalar, Table, number, valued
from report.figures import theme
from report.figures.render import render as draw_both
from report.notation import render
from report.numbers.lowering import POLICIES, Preflight
from report.numbers.padding import SIDES, Point, jump, points, target_of, worst

NAME = "padding-staircase"
INKS = {"fp32-default": theme.C1, "int8": theme.C2, "int4": theme.C3}
SHAPES = {"fp32-default": "circle", "int8": "diamond", "int4": "triangle-up"}
NAMES = {"m": "rows of X, m", "k": "contraction, k", "n": "columns of W, n"}
LOW, HIGH = 5.0, 17.5
"""Ends of the axis of bytes, as powers of two."""
IN_TABLE = (1, 8, 9, 64, 65, 128, 129, 256, 257)


@dataclass(frozen=True, slots=True, kw_only=True)
class Panel:
    """Where one dimension is drawn, in px; both axes are logarithmic."""

    left: float
    top: float
    width: float
    height: float
    right_of: float
    """log2 of the largest size."""

    def place(self, size: float, count: float) -> dict[str, Any]:
        return {
            "x": self.left + self.width * log2(size) / self.right_of,
            "y": self.top + self.height * (HIGH - log2(count)) / (HIGH - LOW),
        }


def draw(run: Preflight) -> Figure:
    """Three panels, a dimension each; dots are compiled sizes, dotted lines the packed bytes."""
    stairs, target, found = run.staircase, target_of(run), points(run)
    step, most = jump(found), worst(found)
    if stairs is None or step is None or most is None:
        raise UsageFault(f"{run.name} holds no staircase to draw.")
    before, after = step
    base = " × ".join(map(str, stairs.base))
    worked = f"study#/lowering/{run.name}/staircase"
    alt_text = (
        f"Tiled bytes of one operand on {target}, on logarithmic axes, as one dimension of a "
        f"{base} product grows from {stairs.sizes[0]} to {stairs.sizes[-1]}. They rise in steps: "
        f"INT8 X takes {before.tiled:,} bytes at k = {before.size} and {after.tiled:,} at "
        f"{after.size}. The largest padding drawn is "
        f"{render(most.padding, 'fixed(0)')} times the packed bytes."
    )
    return Figure(
        name=NAME,
        title=(
            f"One past {number(before.size_at, 'integer')} multiplies the bytes of X on {target} "
            f"by {number(f'{worked}/jump', 'fixed(0)')}: INT8 goes from "
            f"{number(before.tiled_at, 'integer')} to {number(after.tiled_at, 'integer')} bytes."
        ),
        reading=(
            "Each mark is an operand that the compiler was given, with one dimension changed. The "
            "dotted line under it is the same operand packed without padding; the gap between the "
            "two is padding."
        ),
        caption=(
            f"Column: tiled bytes of $X$ for $m$ and $k$, of $W$ for $n$, in a product of {base} "
            f"for {target}. From the compiler’s own layouts: nothing was run. At most "
            f"{number(f'{worked}/worst', 'fixed(0)')} times the packed bytes here, at "
            f"{most.dimension} = {number(most.size_at, 'integer')} in {POLICIES[most.policy]}."
        ),
        alt_text=alt_text,
        kind="estimated",
        drawing=draw_both(
            NAME, _chart(found, narrow=False), _chart(found, narrow=True), alt_text=alt_text
        ),
        table=_table(run, found, target),
        data=tuple(_row(point, target) for point in found),
        sources=(run.source,),
        draws=f"python build.py figure {NAME} --evidence DIR --out FILE",
    )


def _row(point: Point, target: str) -> Mapping[str, Scalar]:
    return {
        "generation": target,
        "policy": point.policy,
        "dimension": point.dimension,
        "size": point.size,
        "operand": SIDES[point.dimension][0],
        "packed_bytes": point.ideal,
        "tiled_bytes": point.tiled,
    }


def _table(run: Preflight, points: Sequence[Point], target: str) -> Table:
    tiled = {(p.policy, p.dimension, p.size): p for p in points}
    rows = []
    for dimension, (operand, _) in SIDES.items():
        for size in IN_TABLE:
            found = [tiled.get((policy, dimension, size)) for policy in INKS]
            if all(found):
                cells = (
                    valued(
                        point.tiled_at,
                        point.tiled,
                        "integer",
                        "estimated",
                        note=f"packed {render(point.ideal, 'fixed(0)')}",
                    )
                    for point in found
                    if point
                )
                name = Cell(text=f"{operand} with {dimension} = {size}")
                rows.append((name, *cells))
    return Table(
        name=f"{NAME}-data",
        title=f"Tiled bytes on {target}, as drawn, at some of the sizes",
        caption="",
        columns=(
            Column(head="Operand"),
            *(
                Column(head=f"{POLICIES[policy].partition(',')[0]}, tiled bytes", numeric=True)
                for policy in INKS
            ),
        ),
        rows=tuple(rows),
        sources=(run.source,),
    )


def _chart(points: Sequence[Point], *, narrow: bool) -> alt.LayerChart:
    if narrow:
        frame = theme.Frame(width=330, height=3 * 196 + 38)
        panels = [(40.0, 42.0 + 196 * at, 278.0, 132.0) for at in range(3)]
    else:
        frame = theme.Frame(width=600, height=304)
        panels = [(44.0 + 190 * at, 46.0, 166.0, 206.0) for at in range(3)]
    right_of = log2(max(p.size for p in points))
    marks: list[dict[str, Any]] = []
    ideals: list[dict[str, Any]] = []
    grid: list[dict[str, Any]] = []
    texts: list[dict[str, Any]] = []
    for (left, top, width, height), dimension in zip(panels, SIDES, strict=True):
        place = Panel(left=left, top=top, width=width, height=height, right_of=right_of).place
        for exponent in (6, 9, 12, 15):
            line = place(1, 2**exponent)["y"]
            grid.append({"x": left, "x2": left + width, "y": line})
            if narrow or dimension == "m":
                label = {6: "64", 9: "512", 12: "4,096", 15: "32,768"}[exponent]
                texts.append({"x": left - 6, "y": line, "text": label, "side": "right"})
        for size in (1, 8, 32, 128):
            across = place(size, 1)["x"]
            texts.append({"x": across, "y": top + height + 10, "text": f"{size}", "side": "center"})
        texts.append(
            {
                "x": left + width / 2,
                "y": top + height + 28,
                "text": NAMES[dimension],
                "side": "center",
            }
        )
        operand = SIDES[dimension][0]
        texts.append({"x": left, "y": top - 12, "text": f"{operand}, tiled bytes", "side": "left"})
        for point in points:
            if point.dimension == dimension:
                key = {"policy": point.policy, "line": f"{dimension} {point.policy}"}
                marks.append(place(point.size, point.tiled) | key)
                ideals.append(place(point.size, point.ideal) | key)
    legend = [
        {
            "x": 6 + at * (76 if narrow else 90),
            "y": 9.0,
            "text": POLICIES[policy].partition(",")[0],
            "policy": policy,
        }
        for at, policy in enumerate(INKS)
    ]
    x = alt.X("x:Q", scale=alt.Scale(domain=[0, frame.width], nice=False), axis=None)
    y = theme.down("y", frame.plot_height)
    colour = alt.Color(
        "policy:N", scale=alt.Scale(domain=list(INKS), range=list(INKS.values())), legend=None
    )
    shape = alt.Shape(
        "policy:N", scale=alt.Scale(domain=list(SHAPES), range=list(SHAPES.values())), legend=None
    )
    layers = [
        alt.Chart(theme.rows(grid)).mark_rule(color=theme.GRID).encode(x=x, x2="x2:Q", y=y),
        alt.Chart(theme.rows(ideals))
        .mark_line(strokeWidth=1.25, strokeDash=[2, 3])
        .encode(x=x, y=y, color=colour, detail="line:N"),
        alt.Chart(theme.rows(marks))
        .mark_line(strokeWidth=1.25)
        .encode(x=x, y=y, color=colour, detail="line:N"),
        alt.Chart(theme.rows(marks))
        .mark_point(size=22)
        .encode(x=x, y=y, color=colour, shape=shape),
        alt.Chart(theme.rows(legend)).mark_point().encode(x=x, y=y, color=colour, shape=shape),
        alt.Chart(theme.rows(legend))
        .mark_text(dx=10, **theme.VALUE)
        .encode(x=x, y=y, text="text:N", color=colour),
    ]
    for side in ("left", "center", "right"):
        chosen = [text for text in texts if text["side"] == side]
        layers.append(
            alt.Chart(theme.rows(chosen))
            .mark_text(align=side, fontSize=12.5, color=theme.INK2)
            .encode(x=x, y=y, text="text:N")
        )
    dotted = "dotted: packed" if narrow else "dotted: packed, without padding"
    layers.append(
        alt.Chart(theme.rows([{"x": 6 + 3 * (76 if narrow else 90), "y": 9.0, "text": dotted}]))
        .mark_text(fontSize=12.5, color=theme.INK2)
        .encode(x=x, y=y, text="text:N")
    )
    return frame.hold(*layers)
