"""What mends the outlier's INT8 error, how far, and what it costs in bytes."""

from collections.abc import Mapping
from dataclasses import dataclass

import altair as alt

from report.exhibit import Cell, Column, Figure, Scalar, Table, number, valued
from report.figures import theme
from report.figures.render import render as draw_both
from report.notation import render
from report.numbers.representations import (
    BALANCED,
    ORDINARY,
    OUTLIER,
    RepresentationsRun,
)
from report.numbers.worked_representations import (
    bytes_pointer,
    comparable,
    error_pointer,
    mending,
)

NAME = "outlier-repair"
TOLD = ("int8-groups-16", "int8-smoothing", "int8-feature-fp32")
"""The repairs that the title names, when each of them mends something."""
INKS = {OUTLIER: theme.C2, BALANCED: theme.C1}


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One policy: its two errors, and what it stores."""

    policy: str
    name: str
    balanced: float
    outlier: float
    stored: int
    extra: int
    """Bytes beyond those of the policy without a repair."""

    @property
    def bytes_said(self) -> str:
        said = f"{self.stored:,}{theme.NBSP}B"
        return said if not self.extra else f"{said}, {self.extra:+,}"


def draw(run: RepresentationsRun) -> Figure:
    """Two dots a policy on one linear axis, outlier and balanced, with the bytes beside them."""
    rows = _rows(run)
    alt_text = "Relative L2 error with the outlier and without. " + "; ".join(
        f"{row.name} {_percent(row.outlier)} and {_percent(row.balanced)}, {row.stored:,} bytes"
        for row in rows
    )
    return Figure(
        name=NAME,
        title=_finding(run),
        reading=(
            "A row is one way to store the same operands as INT8 codes. The filled diamond is its"
            " error with the outlier, the circle without; the bytes are all that it stores."
        ),
        caption=(
            f"One {run.shape} product against FP64, outlier {_outlier_said(run)}. "
            f"{run.scope.statement} Bytes of stored operands, not of a program’s peak; a repair"
            " may also cost time, which is not measured here."
        ),
        alt_text=f"{alt_text}.",
        kind="measured",
        drawing=draw_both(
            NAME, _chart(rows, narrow=False), _chart(rows, narrow=True), alt_text=f"{alt_text}."
        ),
        table=_table(run, rows),
        data=tuple(_data(row) for row in rows),
        sources=(run.source,),
        draws=f"python build.py figure {NAME} --evidence DIR --out FILE",
    )


def _rows(run: RepresentationsRun) -> list[Row]:
    found = []
    plain = run.stored(ORDINARY)
    for policy in comparable(run):
        stored = run.stored(policy)
        balanced, outlier = (run.result(case, policy).error.value for case in (BALANCED, OUTLIER))
        if plain and stored and balanced is not None and outlier is not None:
            found.append(
                Row(
                    policy=policy,
                    name=run.policies[policy].short,
                    balanced=balanced,
                    outlier=outlier,
                    stored=stored.total,
                    extra=stored.total - plain.total,
                )
            )
    return found


def _outlier_said(run: RepresentationsRun) -> str:
    """The case in the record's own words, such as `balanced, with feature 0 of X times 30`."""
    said = run.cases[OUTLIER].description
    return f"case: {said}" if said.isprintable() else "case"


def _finding(run: RepresentationsRun) -> str:
    def error(policy: str) -> str:
        return number(error_pointer(run, run.result(OUTLIER, policy)), "percent(2)")

    at, found = f"study#/representations/{run.name}/repairs", mending(run)
    count, tried = (number(f"{at}/{name}", "integer") for name in ("mending", "tried"))
    if all(policy in found for policy in TOLD):
        shares = [error(policy) for policy in TOLD]
        group = number(f"{run.name}#/policies/{TOLD[0]}/tile", "integer")
        return (
            f"Groups of {group}, smoothing and one FP32 feature bring the outlier’s"
            f" {error(ORDINARY)} down to {shares[0]}, {shares[1]} and {shares[2]}."
        )
    if not found:
        return f"None of {tried} repairs lowers the outlier’s {error(ORDINARY)}."
    best = min(found, key=lambda policy: run.result(OUTLIER, policy).error.value or 0.0)
    return (
        f"{count} of {tried} repairs lower the outlier’s {error(ORDINARY)};"
        f" the best, {run.policies[best].short}, to {error(best)}."
    )


def _percent(value: float) -> str:
    return render(value, "percent(2)")


def _data(row: Row) -> Mapping[str, Scalar]:
    return {
        "policy": row.policy,
        "balanced_error": row.balanced,
        "outlier_error": row.outlier,
        "stored_bytes": row.stored,
        "extra_bytes": row.extra,
    }


def _table(run: RepresentationsRun, rows: list[Row]) -> Table:
    def cells(row: Row) -> tuple[Cell, ...]:
        page, base = f"records/{run.name}.html", f"study#/representations/{run.name}"
        bytes_ = f"{page}#bytes-{row.policy}"
        return (
            Cell(text=row.name),
            *(
                valued(
                    error_pointer(run, run.result(case, row.policy)),
                    value,
                    "percent(2)",
                    "measured",
                    href=f"{page}#anatomy-{case}-{row.policy}",
                )
                for case, value in ((OUTLIER, row.outlier), (BALANCED, row.balanced))
            ),
            valued(bytes_pointer(run, row.policy), row.stored, "integer", "computed", href=bytes_),
            Cell(text="–")
            if row.policy == ORDINARY
            else valued(
                f"{base}/{row.policy}/extra_bytes", row.extra, "integer", "computed", href=bytes_
            ),
        )

    return Table(
        name=f"{NAME}-data",
        title="Errors and bytes, as drawn",
        caption="",
        columns=(
            Column(head="Operands"),
            *(
                Column(head=head, numeric=True)
                for head in ("Outlier", "Balanced", "Bytes", "More than without repair")
            ),
        ),
        rows=tuple(cells(row) for row in rows),
        sources=(run.source,),
    )


def _chart(rows: list[Row], *, narrow: bool) -> alt.LayerChart:
    band = 50 if narrow else 38
    height = band * len(rows) + 46
    frame = (
        theme.Frame(width=330, height=height, left=18, right=14, top=4, bottom=44)
        if narrow
        else theme.Frame(width=600, height=height, left=150, right=112, top=4, bottom=44)
    )
    dots_at = 33 if narrow else 18
    top = 1.08 * max(max(row.outlier, row.balanced) for row in rows)
    room = top * 0.16
    scale = alt.Scale(domain=[0, top + room], nice=False)
    digits = 1 if top < 0.05 else 0
    label = f"datum.value ? format(100 * datum.value, '.{digits}f') + '{theme.NBSP}%' : '0'"
    axis = alt.Axis(labelExpr=label, tickCount=5, title=AXIS)
    x, start, end = (alt.X(f"{field}:Q", scale=scale, axis=axis) for field in ("x", "from", "to"))
    placed = [
        {
            "x": value,
            "from": min(row.balanced, row.outlier),
            "to": max(row.balanced, row.outlier),
            "y": index * band + dots_at,
            "label_y": index * band + 12,
            "case": case,
            "text": _percent(value) if case == OUTLIER else "",
            "legend": {OUTLIER: "outlier", BALANCED: "balanced"}[case] if index == 0 else "",
            "name": row.name,
            "bytes": row.bytes_said,
        }
        for index, row in enumerate(rows)
        for case, value in ((BALANCED, row.balanced), (OUTLIER, row.outlier))
    ]
    y, label_y = (theme.down(field, frame.plot_height) for field in ("y", "label_y"))
    points = alt.Chart(theme.rows(placed))
    first = points.transform_filter(f"datum.case=='{OUTLIER}'")
    colour = alt.Color(
        "case:N", scale=alt.Scale(domain=list(INKS), range=list(INKS.values())), legend=None
    )
    shape = alt.Shape(
        "case:N",
        scale=alt.Scale(domain=[OUTLIER, BALANCED], range=["diamond", "circle"]),
        legend=None,
    )
    labels = [
        first.mark_text(dx=11, color=theme.C2, **theme.VALUE).encode(x=end, y=y, text="text:N"),
        points.transform_filter("datum.legend!=''")
        .mark_text(dy=-14, align="center", fontSize=12.5)
        .encode(x=x, y=y, text="legend:N", color=colour),
    ]
    if narrow:
        names = [
            first.mark_text(**theme.NAME).encode(
                x=alt.value(-frame.left + 2), y=label_y, text="name:N"
            ),
            first.mark_text(align="right", **theme.ASIDE).encode(
                x=alt.value(frame.plot_width), y=label_y, text="bytes:N"
            ),
        ]
        labels = labels[:1]
    else:
        names = [
            first.mark_text(**theme.NAME).encode(x=alt.value(-frame.left), y=y, text="name:N"),
            first.mark_text(align="right", **theme.ASIDE).encode(
                x=alt.value(frame.plot_width + frame.right - 2), y=y, text="bytes:N"
            ),
        ]
    return frame.hold(
        first.mark_rule(color=theme.RULE, strokeWidth=2).encode(x=start, x2="to:Q", y=y),
        points.mark_point().encode(x=x, y=y, color=colour, shape=shape),
        *labels,
        *names,
    )


AXIS = "relative L2 error"
