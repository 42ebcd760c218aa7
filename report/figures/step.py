"""One row of X between its values and the numbers its quantizer can store."""

import altair as alt

from report.exhibit import Cell, Column, Figure, Scalar, Table, number, valued
from report.figures import theme
from report.figures.render import render as draw_both
from report.notation import render
from report.numbers.quantizer import QuantizedRow
from report.numbers.worked_precision import WINDOW, QuantizationStep

NAME, AT = "quantization-step", "study#/quantization_step"
EDGE = 2.65
"""Half of the drawn width, in steps of the outlier row."""


def draw(step: QuantizationStep) -> Figure:
    """Threads from each ordinary value to the number it is stored as, in both cases."""
    shown = step.drawn
    steps = {case: _step_text(row) for case, row in step.cases.items()}
    distinct = {case: step.distinct(case) for case in step.cases}
    times = number(f"{AT}/ratio", "fixed(1)")
    request = step.run.request
    alt_text = (
        f"Two panels of the same {len(shown)} ordinary values of row 0. Without the outlier they "
        f"land on {distinct['balanced']} different stored numbers, {steps['balanced']} apart; "
        f"with it, on {distinct['outlier']}, {steps['outlier']} apart."
    )
    return Figure(
        name=NAME,
        title=f"One outlier makes the step of its row {times} times coarser for every feature.",
        reading=(
            "Each thread leads from a value of row 0, above, to the representable number it is "
            "stored as, below. The values are the same in both panels. Where threads meet, "
            "different values have become one."
        ),
        caption=(
            f"Row 0 of $X$, the {number(f'{AT}/drawn', 'integer')} features that the outlier row "
            f"stores as codes from −{WINDOW} to {WINDOW}; feature {step.feature}, multiplied by "
            f"{request.outlier_factor:g}, lies far outside. "
            f"In the median row the step widens {number(f'{AT}/median_ratio', 'fixed(1)')} times. "
            f"{step.run.scope.statement}"
        ),
        alt_text=alt_text,
        kind="computed",
        drawing=draw_both(
            NAME, _chart(step, narrow=False), _chart(step, narrow=True), alt_text=alt_text
        ),
        table=_table(step),
        data=tuple(_rows(step)),
        sources=(step.run.source,),
        draws=f"python build.py figure {NAME} --evidence DIR --out FILE",
    )


def _step_text(row: QuantizedRow) -> str:
    return _number(float(row.scale))


def _number(value: float) -> str:
    return render(value, "fixed(3)")


def _rows(step: QuantizationStep) -> list[dict[str, Scalar]]:
    """Every drawn value under both scales, at full precision."""
    return [
        {
            "case": case,
            "feature": index,
            "value": step.row[index],
            "code": row.codes[index],
            "stored": float(row.restored[index]),
        }
        for case, row in step.cases.items()
        for index in step.drawn
    ]


def _table(step: QuantizationStep) -> Table:
    run = step.run.name
    return Table(
        name=f"{NAME}-data",
        title="The step of row 0, as drawn",
        caption="",
        columns=(
            Column(head="Row 0"),
            Column(head="Step", numeric=True),
            Column(head="Values drawn", numeric=True),
            Column(head="Different numbers stored", numeric=True),
            Column(head="Largest rounding", numeric=True),
        ),
        rows=tuple(
            (
                Cell(text="Balanced" if case == "balanced" else "With the outlier"),
                valued(
                    f"{AT}/{case}",
                    float(row.scale),
                    "fixed(3)",
                    "computed",
                    href=f"records/{run}.html#{case}-int8-quantization",
                ),
                valued(f"{AT}/drawn", len(step.drawn), "integer", "computed"),
                valued(f"{AT}/{case}/distinct", step.distinct(case), "integer", "computed"),
                valued(f"{AT}/{case}/rounding", step.rounding(case), "fixed(3)", "computed"),
            )
            for case, row in step.cases.items()
        ),
        sources=(step.run.source,),
    )


def _chart(step: QuantizationStep, *, narrow: bool) -> alt.LayerChart:
    width, side = (330, 6) if narrow else (600, 8)
    panel, head, drop = (150, 48, 62) if narrow else (138, 36, 62)
    frame = theme.Frame(width=width, height=2 * panel + 40, left=side, right=side, top=2, bottom=44)
    edge = EDGE * float(step.outlier.scale)
    shown = step.drawn

    threads, ticks, heads, codes = [], [], [], []
    for index, (case, row) in enumerate(step.cases.items()):
        top, scale = index * panel, float(row.scale)
        stored_at = top + head + drop
        threads += [
            {
                "x": step.row[i],
                "x2": float(row.restored[i]),
                "y": top + head,
                "y2": stored_at,
                "case": case,
            }
            for i in shown
        ]
        reach = int(edge / scale)
        ticks += [
            {"x": code * scale, "y": stored_at, "y2": stored_at + 9, "case": case}
            for code in range(-reach, reach + 1)
        ]
        heads.append(
            {
                "y": top + 10,
                "y2": top + (29 if narrow else 10),
                "case": case,
                "name": f"{_row_name(step, case)}: 127 steps reach {_reach(row)}",
                "step": f"step {_step_text(row)}: {len(shown)} values stored as "
                f"{len({row.codes[i] for i in shown})} numbers",
            }
        )
        if case == "outlier":
            codes = [
                {"x": code * scale, "y": stored_at + 19, "text": f"code {code}".replace("-", "−")}
                for code in range(-WINDOW, WINDOW + 1)
            ]

    colour = alt.Color(
        "case:N",
        scale=alt.Scale(domain=["balanced", "outlier"], range=[theme.C1, theme.C2]),
        legend=None,
    )
    x = alt.X(
        "x:Q",
        scale=alt.Scale(domain=[-edge, edge], nice=False),
        axis=alt.Axis(title="value of a feature", tickCount=6, grid=False),
    )
    y, y2 = (theme.down(field, frame.plot_height) for field in ("y", "y2"))
    threaded = alt.Chart(theme.rows(threads)).encode(color=colour)
    named = alt.Chart(theme.rows(heads)).encode(color=colour)
    return frame.hold(
        threaded.mark_rule(strokeWidth=1, opacity=0.65).encode(x=x, x2="x2:Q", y=y, y2="y2:Q"),
        alt.Chart(theme.rows(ticks))
        .mark_rule(strokeWidth=2)
        .encode(x=x, y=y, y2="y2:Q", color=colour),
        threaded.mark_point(size=26).encode(x=x, y=y),
        alt.Chart(theme.rows(codes))
        .mark_text(align="center", fontSize=12.5, color=theme.C2)
        .encode(x=x, y=y, text="text:N"),
        named.mark_text(**theme.NAME).encode(x=alt.value(0), y=y, text="name:N"),
        named.mark_text(align="left" if narrow else "right", fontSize=12.5).encode(
            x=alt.value(0 if narrow else frame.plot_width), y=y2, text="step:N"
        ),
    )


def _row_name(step: QuantizationStep, case: str) -> str:
    if case == "balanced":
        return "Balanced row"
    return f"Feature {step.feature} × {step.run.request.outlier_factor:g}"


def _reach(row: QuantizedRow) -> str:
    return render(float(127 * row.scale), "fixed(1)")
