"""Relative L2 error of each policy on balanced and on outlier inputs."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import altair as alt

from report.exhibit import Cell, Column, Figure, Scalar, Table, number, valued
from report.figures import theme
from report.figures.axes import log_x, on_log_axis, said
from report.figures.render import render as draw_both
from report.notation import render
from report.numbers.precision import CASES, POLICIES, Case, Policy, PrecisionRun
from report.specs import NumberFormat

NAME = "error-by-policy"
INKS = {"balanced": theme.C1, "outlier": theme.C2}
SHAPES = {"balanced": "circle", "outlier": "diamond"}
FROM_THE_LEFT = 1e-4
"""Labels stand right of smaller errors and left of larger ones, where there is room."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Layout:
    """Where the parts of one drawing stand, in px."""

    frame: theme.Frame
    band: int
    """Height of one policy."""
    lane: int
    """Height of one case."""
    first: int
    """From the top of a band to its first point."""
    name: tuple[int, int]
    """From a band's corner to the policy's name."""
    aside: tuple[int, int]
    """From a band's corner to its accumulator."""
    align: Literal["left", "right"]
    label: int
    """From a small error to the name of its case."""


WIDE = Layout(
    frame=theme.Frame(width=600, height=280, left=126, right=14, top=2, bottom=46),
    band=82, lane=24, first=19, name=(-16, 22), aside=(-16, 41), align="right", label=88,
)  # fmt: skip
NARROW = Layout(
    frame=theme.Frame(width=330, height=350, left=2, right=12, top=2, bottom=46),
    band=105, lane=24, first=43, name=(0, 14), aside=(44, 14), align="left", label=84,
)  # fmt: skip


def draw(run: PrecisionRun, formats: Mapping[str, NumberFormat]) -> Figure:
    """Dots on a log axis, a row a policy; a dotted rule marks each format's unit roundoff."""
    points, left_out = on_log_axis(_points(run), "error", "label")
    roundoff = {
        policy: u for policy in POLICIES if (u := formats[policy].unit_roundoff) is not None
    }
    alt_text = _words(run)
    shape = f"{run.request.batch} × {run.request.features} × {run.request.outputs}"
    return Figure(
        name=NAME,
        title=_finding(run),
        reading=(
            "A row is one policy for the operands, and a point further right has the larger "
            "error. The dotted rule marks $u$, the largest relative error of rounding one number "
            "to that format."
        ),
        caption=(
            f"One {shape} product of synthetic inputs, against its FP64 reference. "
            f"{run.scope.statement} Not a model’s accuracy, and not speed.{said(left_out)}"
        ),
        alt_text=alt_text,
        kind="measured",
        drawing=draw_both(
            NAME,
            _chart(run, points, roundoff, WIDE, f"{AXIS}: each gridline is 10 times the last"),
            _chart(run, points, roundoff, NARROW, f"{AXIS}, 10 times a gridline"),
            alt_text=alt_text,
        ),
        table=_table(run),
        data=tuple(_points(run)),
        sources=(run.source,),
        draws=f"python build.py figure {NAME} --evidence DIR --out FILE",
    )


AXIS = "relative L2 error, log scale"


def _points(run: PrecisionRun) -> list[Mapping[str, Scalar]]:
    """One row a result, at full precision."""
    return [
        {
            "policy": result.policy,
            "case": result.case,
            "error": result.relative_l2_error,
            "label": f"{result.policy.upper()} {result.case}",
        }
        for result in run.results
    ]


def _case_name(run: PrecisionRun, case: Case) -> str:
    if case == "balanced":
        return "balanced inputs"
    return f"outlier: feature {run.request.outlier_feature} × {run.request.outlier_factor:g}"


def _growth(run: PrecisionRun, policy: Policy) -> float | None:
    """Outlier error over balanced error."""
    plain = run.result("balanced", policy).relative_l2_error
    spread = run.result("outlier", policy).relative_l2_error
    return spread / plain if plain and spread else None


def _finding(run: PrecisionRun) -> str:
    growth = _growth(run, "int8")
    if growth is None:
        return "Relative error of three operand policies."
    verb = "multiplies" if growth >= 1.2 else "changes"
    times = number(f"study#/precision/{run.name}/int8_outlier_ratio", "fixed(1)")
    other = _growth(run, "bf16")
    steady = other is not None and 0.8 < other < 1.25
    return f"One outlier feature {verb} the INT8 error by {times}" + (
        "; BF16 hardly moves." if steady and growth >= 1.2 else "."
    )


def _words(run: PrecisionRun) -> str:
    said = []
    for policy in POLICIES:
        plain, spread = (_printed(run, case, policy) for case in CASES)
        said.append(f"{policy.upper()} {plain} balanced and {spread} with the outlier")
    return f"Relative L2 error on a logarithmic axis. {'; '.join(said)}."


def _printed(run: PrecisionRun, case: Case, policy: Policy) -> str:
    result = run.result(case, policy)
    return render(result.relative_l2_error, "error", reason=result.relative_l2_error_reason)


def _table(run: PrecisionRun) -> Table:
    return Table(
        name=f"{NAME}-data",
        title="Relative L2 error, as drawn",
        caption="",
        columns=(
            Column(head="Operands"),
            *(Column(head=_case_name(run, case).capitalize(), numeric=True) for case in CASES),
        ),
        rows=tuple(
            (
                Cell(text=policy.upper()),
                *(
                    valued(
                        f"{run.name}#/results/{case}-{policy}/relative_l2_error",
                        result.relative_l2_error,
                        "error",
                        "measured",
                        result.relative_l2_error_reason,
                        href=f"records/{run.name}.html#{case}-{policy}",
                        note=result.relative_l2_error_reason,
                    )
                    for case in CASES
                    for result in [run.result(case, policy)]
                ),
            )
            for policy in POLICIES
        ),
        sources=(run.source,),
    )


def _chart(
    run: PrecisionRun,
    points: Sequence[Mapping[str, Scalar]],
    roundoff: Mapping[Policy, float],
    layout: Layout,
    axis: str,
) -> alt.LayerChart:
    height = layout.frame.plot_height
    x = log_x("x", _domain(points, roundoff.values()), axis)
    y = theme.down("y", height)
    tops = {policy: index * layout.band for index, policy in enumerate(POLICIES)}

    drawn = [(point["policy"], point["case"]) for point in points]
    placed = [
        {
            "x": result.relative_l2_error,
            "y": tops[result.policy] + layout.first + layout.lane * CASES.index(result.case),
            "case": result.case,
            "text": render(result.relative_l2_error, "error"),
            "name": _case_name(run, result.case) if result.policy == drawn[0][0] else "",
        }
        for result in run.results
        if (result.policy, result.case) in drawn
    ]
    rules = [
        {
            "x": u,
            "y": tops[policy] + layout.first - 11,
            "y2": tops[policy] + layout.first + layout.lane + 26,
            "text": "u = " + render(u, "power_of_two"),
        }
        for policy, u in roundoff.items()
    ]
    names = [
        {
            "y": tops[policy] + layout.name[1],
            "y2": tops[policy] + layout.aside[1],
            "text": policy.upper(),
            "aside": _accumulator(run, policy),
        }
        for policy in POLICIES
    ]

    colour = alt.Color("case:N", scale=_scale(INKS), legend=None)
    dots = alt.Chart(theme.rows(placed)).encode(x=x, y=y, color=colour)
    marks = alt.Chart(theme.rows(rules)).encode(x=x)
    heads = alt.Chart(theme.rows(names))
    separators = alt.Chart(theme.rows([{"y": top} for top in tops.values() if top]))
    small = f"datum.x<{FROM_THE_LEFT}"
    return layout.frame.hold(
        separators.mark_rule(color=theme.RULE).encode(
            y=y, x=alt.value(-layout.frame.left), x2=alt.value(layout.frame.plot_width)
        ),
        marks.mark_rule(**theme.REFERENCE).encode(y=y, y2="y2:Q"),
        marks.mark_text(dx=5, dy=-5, **theme.ASIDE).encode(
            y=theme.down("y2", height), text="text:N"
        ),
        dots.mark_point().encode(shape=alt.Shape("case:N", scale=_scale(SHAPES), legend=None)),
        dots.transform_filter(small).mark_text(dx=11, **theme.VALUE).encode(text="text:N"),
        dots.transform_filter(f"!({small})")
        .mark_text(dx=-11, align="right", **theme.VALUE)
        .encode(text="text:N"),
        dots.mark_text(dx=layout.label).encode(text="name:N"),
        heads.mark_text(align=layout.align, **theme.NAME).encode(
            x=alt.value(layout.name[0]), y=y, text="text:N"
        ),
        heads.mark_text(align=layout.align, **theme.ASIDE).encode(
            x=alt.value(layout.aside[0]), y=theme.down("y2", height), text="aside:N"
        ),
    )


def _accumulator(run: PrecisionRun, policy: Policy) -> str:
    """Such as `INT32 accumulate`: what was requested, in the field's short names."""
    kind = run.result("balanced", policy).requested.accumulator
    return f"{kind.upper().replace('FLOAT', 'FP')} accumulate"


def _scale(by_case: Mapping[str, str]) -> alt.Scale:
    return alt.Scale(domain=list(by_case), range=list(by_case.values()))


def _domain(
    points: Sequence[Mapping[str, Scalar]], roundoffs: Iterable[float]
) -> tuple[float, float]:
    """From just under the smallest mark to the next decade above the largest."""
    drawn = [float(point["error"] or 0) for point in points] + list(roundoffs)
    if not drawn:
        return 1e-8, 1.0
    return min(drawn) / 1.6, 10.0 ** math.ceil(math.log10(max(drawn)))
