"""The lesson's product under the two documented ceilings of one chip; live in chip and batch.

A flat ceiling that no matrix instruction bears out is grey and dashed, with the reason.
"""

import json
import math

import altair as alt

from report.exhibit import Cell, Column, Control, Figure, Scalar, Table, number, valued
from report.figures import theme
from report.figures.render import render as draw_both
from report.notation import render
from report.numbers.roofline import Product, Roofline
from report.numbers.values import worked_at
from report.numbers.worked_roofline import RooflineStudy

NAME = "roofline"
LARGEST_BATCH = 4096
TERA = 1e12
NEAR = 8
"""Batches closer than this many times to the first one share its label's place."""
LABEL_PX = 44
"""From a point to the foot of the two lines below it."""
MOST_ON_SLOPE = 22
"""Signs that have room beside the slope of the narrow drawing; the lines above it say the rest."""


def draw(study: RooflineStudy) -> Figure:
    """Both axes logarithmic; points lie on the lower ceiling, since nothing here was timed."""
    drawn, products = study.drawn, study.products
    first, last = products[0], products[-1]
    points = "; ".join(_point_words(drawn, product) for product in products)
    alt_text = (
        f"Roofline of {drawn.chip} for {drawn.operand.upper()} operands, both axes logarithmic. "
        f"A slope of {_readings(study)} meets a flat ceiling of {drawn.peak.label} at "
        f"{_ridges(study.rooflines[study.chip])} {drawn.work} per byte. {_ground(study)} "
        f"At best, {points}."
    )
    return Figure(
        name=NAME,
        title=(
            f"Batching {_rows_of(study, last)} rows lifts intensity from {_worked(first)} to "
            f"{_worked(last)} {drawn.work} per byte, "
            + ("still left of the ridge." if last.intensity < drawn.ridge else "past the ridge.")
        ),
        reading=(
            "Right is more arithmetic for each byte of HBM; up is more arithmetic a second. Under "
            "the slope memory traffic sets the bound, under the flat line arithmetic does. They "
            "meet at the ridge."
        ),
        caption=(
            f"Bounds, not timings. {_cited(study)} {_ground(study)} "
            f"The product is {_shape(first)} with {drawn.operand.upper()} operands, each byte "
            "moved once; launches, scales and padding are left out."
        ),
        alt_text=alt_text,
        kind="computed",
        drawing=draw_both(
            NAME,
            _chart(study, narrow=False),
            _chart(study, narrow=True),
            alt_text=alt_text,
            controls=_controls(study),
        ),
        table=_table(study),
        data=tuple(_rows(study)),
        sources=tuple(
            dict.fromkeys(
                ceiling.source
                for reading in study.readings
                for ceiling in (reading.peak, reading.bandwidth)
            )
        ),
    )


def _readings(study: RooflineStudy) -> str:
    return " or ".join(r.bandwidth.label for r in study.readings)


def _cited(study: RooflineStudy) -> str:
    """Each ceiling with the document that states it."""
    readings = study.readings
    peak = readings[0].peak
    slopes = ", or ".join(
        f"{r.bandwidth.label} ([{r.bandwidth.edition}]({r.bandwidth.source.href}))"
        for r in readings
    )
    return (
        f"Ceilings of one {readings[0].chip} chip: {peak.label} "
        f"([{peak.edition}]({peak.source.href})) and {slopes}."
    )


def _ground(study: RooflineStudy) -> str:
    """Why the drawn chip's flat ceiling is solid, or grey."""
    if reason := study.grey.get(study.chip):
        return f"The flat ceiling is grey. {reason}"
    operand = study.drawn.operand.upper()
    return (
        "The flat ceiling is solid, since the compiler’s matrix instructions for this generation "
        f"take {operand} too; where they do not, it is grey."
    )


def _shape(product: Product) -> str:
    return f"$m$ × {product.k:,} by {product.k:,} × {product.n:,}"


def _rows_of(study: RooflineStudy, product: Product) -> str:
    at = study.products.index(product)
    return number(f"models#/{study.model}/roofline/m/{at}", "integer")


def _worked(product: Product) -> str:
    return number(f"study#/roofline/m{product.m}/intensity", _intensity_format(product))


def _intensity(product: Product) -> str:
    return render(product.intensity, _intensity_format(product))


def _intensity_format(product: Product) -> str:
    return f"fixed({3 if product.intensity < 10 else 1})"


def _point_words(roofline: Roofline, product: Product) -> str:
    rate = roofline.attainable_per_s(product.intensity) / TERA
    return (
        f"m = {product.m} has {_intensity(product)} {roofline.work} per byte and at most "
        f"{render(rate, 'fixed(4)' if rate < 1 else 'fixed(2)')} T{roofline.work}/s"
    )


def _rows(study: RooflineStudy) -> list[dict[str, Scalar]]:
    """Every product under every reading of the drawn chip, at full precision."""
    return [
        {
            "chip": reading.chip,
            "bandwidth": reading.bandwidth.label,
            "as_documented": reading.bandwidth.as_documented,
            "m": product.m,
            "flop": product.operations,
            "bytes": product.bytes,
            "intensity": product.intensity,
            "attainable_per_s": reading.attainable_per_s(product.intensity),
            "ideal_s": reading.bound(product).ideal_s,
            "ridge": reading.ridge,
        }
        for reading in study.readings
        for product in study.products
    ]


def _table(study: RooflineStudy) -> Table:
    def row(reading: Roofline, product: Product, suffix: str) -> tuple[Cell, ...]:
        bound, base = reading.bound(product), f"study#/roofline/m{product.m}"
        intensity, ideal = f"{base}/intensity", f"{base}/ideal_s{suffix}"
        return (
            Cell(text=f"{product.m}"),
            Cell(
                text=number(reading.bandwidth.pointer, "documented"),
                kind="documented",
                href=f"chips.html#{study.chip}",
                note=f"in its source: {reading.bandwidth.as_documented}",
            ),
            valued(
                intensity,
                product.intensity,
                _intensity_format(product),
                "computed",
                href=worked_at(intensity),
            ),
            valued(
                ideal,
                bound.ideal_s,
                "seconds(2)",
                "computed",
                href=worked_at(ideal),
                note=f"set by {'arithmetic' if bound.limit == 'compute' else 'memory traffic'}",
            ),
        )

    return Table(
        name=f"{NAME}-data",
        title=f"Bounds on {study.drawn.chip}, as drawn",
        caption="",
        columns=(
            Column(head="Rows, m", numeric=True),
            Column(head="Bandwidth"),
            Column(head=f"{study.drawn.work} per byte", numeric=True),
            Column(head="Least time", numeric=True),
        ),
        rows=tuple(
            row(reading, product, suffix)
            for reading, suffix in zip(study.readings, ("", "_alternative"), strict=False)
            for product in study.products
        ),
        sources=tuple(reading.bandwidth.source for reading in study.readings),
    )


def _controls(study: RooflineStudy) -> tuple[Control, ...]:
    return (
        Control(
            signal="chip",
            label="Chip",
            value=study.chip,
            options=tuple((id_, found[0].chip) for id_, found in study.rooflines.items()),
        ),
        Control(
            signal="m",
            label="Rows of X, $m$",
            value=study.products[-1].m,
            minimum=1,
            maximum=LARGEST_BATCH,
            log2=True,
        ),
    )


def _chart(study: RooflineStudy, *, narrow: bool) -> alt.LayerChart:
    if narrow:
        frame = theme.Frame(width=330, height=390, left=40, right=12, top=92, bottom=46)
    else:
        frame = theme.Frame(width=600, height=400, left=46, right=16, top=92, bottom=46)
    product, work = study.products[0], study.drawn.work
    low, high, bottom = product.intensity / 2.5, 4000.0, 0.1
    top = 1.6 * max(found[0].peak.per_s for found in study.rooflines.values()) / TERA

    ceilings = [
        {
            "id": id_,
            "reading": index,
            "x": x,
            "y": reading.attainable_per_s(x) / TERA,
            "grey": flat and id_ in study.grey,
        }
        for id_, found in study.rooflines.items()
        for index, reading in enumerate(found[:2])
        for x, flat in _corners(low, reading.ridge, high, apart=id_ in study.grey)
    ]
    slope_at = 16 if narrow else 10
    chips = [
        {
            "id": id_,
            "peak": found[0].peak.per_s / TERA,
            "bandwidth": found[0].bandwidth.per_s / TERA,
            "ridge": found[0].ridge,
            "right": high,
            "floor": bottom,
            "slope_x": slope_at,
            "slope_y": slope_at * found[0].bandwidth.per_s / TERA,
            "peak_text": f"{found[0].peak.label} in {found[0].operand.upper()}",
            "slope_text": _slope_text(found, MOST_ON_SLOPE if narrow else None),
            "ridge_text": f"ridge {_ridges(found)}",
            "grey": id_ in study.grey,
        }
        for id_, found in study.rooflines.items()
    ]
    cited = [
        {"id": id_, "y": 17 * line - 84, "text": text}
        for id_, found in study.rooflines.items()
        for line, text in enumerate([*_citations(found)[:3], *_greyed(study, id_)])
    ]

    x = alt.X("x:Q", scale=_log(low, high), axis=_decades(1, f"{work} per byte of HBM, log scale"))
    y = alt.Y("y:Q", scale=_log(bottom, top), axis=_decades(0.1, None))
    line = alt.Chart(theme.rows(ceilings)).transform_filter("datum.id==chip && !datum.grey")
    doubted = alt.Chart(theme.rows(ceilings)).transform_filter(
        "datum.id==chip && datum.grey && datum.reading==0"
    )
    chosen = alt.Chart(theme.rows(chips)).transform_filter("datum.id==chip")
    points = (
        chosen.transform_calculate(batches=f"m=={product.m}?[m]:[{product.m}, m]")
        .transform_flatten(["batches"], as_=["rows"])
        .transform_calculate(x=_intensity_expr("datum.rows", product))
        .transform_calculate(y="min(datum.peak, datum.x*datum.bandwidth)")
        .transform_calculate(
            text="'m = '+format(datum.rows,',')",
            rate=f"format(datum.y,',.4~r')+'{theme.NBSP}T{work}/s'",
        )
    )
    told = points.transform_filter(f"datum.rows==m || m>={NEAR}*{product.m}")
    right = told.transform_filter("datum.x<4")
    below = told.transform_filter("datum.x>=150")
    left = told.transform_filter("datum.x>=4 && datum.x<150")
    moving = _intensity_expr("m", product)
    # A label between its point and the ridge has the rule begin below it.
    label = 10 ** (-LABEL_PX / (frame.plot_height / math.log10(top / bottom)))
    beside = f"{moving}>=150 && {moving}<datum.ridge"
    ruled = chosen.transform_calculate(
        ruled_from=f"{beside} ? {moving}*datum.bandwidth*{label:.4f} : datum.peak"
    )
    slope_free = chosen.transform_filter(f"{moving}<4 || {moving}>=40")
    name = {**theme.VALUE, "color": theme.C2}
    rate = {**theme.ASIDE, "color": theme.C2}
    return frame.hold(
        line.mark_line(color=theme.C1).encode(
            x=x,
            y=y,
            strokeWidth=alt.StrokeWidth(
                "reading:N", scale=alt.Scale(domain=[0, 1], range=[2, 1.25]), legend=None
            ),
            strokeDash=alt.StrokeDash(
                "reading:N", scale=alt.Scale(domain=[0, 1], range=[[1, 0], [4, 3]]), legend=None
            ),
        ),
        doubted.mark_line(color=theme.INK2, strokeWidth=1.25, strokeDash=[6, 4]).encode(x=x, y=y),
        *(
            chosen.transform_filter(f"datum.grey=={grey}")
            .mark_text(align="right", dy=-11, color=ink, **theme.VALUE)
            .encode(x="right:Q", y="peak:Q", text="peak_text:N")
            for grey, ink in (("false", theme.C1), ("true", theme.INK2))
        ),
        slope_free.mark_text(align="right", dx=-10, dy=-10, color=theme.C1, **theme.VALUE).encode(
            x="slope_x:Q", y="slope_y:Q", text="slope_text:N"
        ),
        ruled.mark_rule(**theme.REFERENCE).encode(x="ridge:Q", y="ruled_from:Q", y2="floor:Q"),
        chosen.mark_text(
            align=alt.ExprRef("ridge>300?'right':'left'"),
            dx=alt.ExprRef("ridge>300?-6:6"),
            dy=-9,
            **theme.ASIDE,
        ).encode(x="ridge:Q", y="floor:Q", text="ridge_text:N"),
        points.mark_rule(color=theme.C2, strokeDash=[1, 3]).encode(x=x, y=y, y2="floor:Q"),
        points.mark_point(color=theme.C2).encode(x=x, y=y),
        right.mark_text(dx=11, dy=6, **name).encode(x=x, y=y, text="text:N"),
        right.mark_text(dx=11, dy=23, **rate).encode(x=x, y=y, text="rate:N"),
        below.mark_text(dx=8, dy=16, **name).encode(x=x, y=y, text="text:N"),
        below.mark_text(dx=8, dy=33, **rate).encode(x=x, y=y, text="rate:N"),
        left.mark_text(align="right", dx=-11, dy=-20, **name).encode(x=x, y=y, text="text:N"),
        left.mark_text(align="right", dx=-11, dy=-4, **rate).encode(x=x, y=y, text="rate:N"),
        alt.Chart(theme.rows(cited))
        .transform_filter("datum.id==chip")
        .mark_text(fontSize=12 if narrow else 12.5, color=theme.INK2, limit=frame.width)
        .encode(x=alt.value(-frame.left), y=alt.Y("y:Q", scale=None, axis=None), text="text:N"),
        alt.Chart(theme.rows([{"text": f"T{work}/s at best, log scale"}]))
        .mark_text(fontSize=13, color=theme.INK2)
        .encode(x=alt.value(-frame.left), y=alt.value(-18), text="text:N"),
        params=_params(study),
    )


def _log(low: float, high: float) -> alt.Scale:
    return alt.Scale(type="log", domain=[low, high], nice=False)


def _decades(low: float, title: str | None) -> alt.Axis:
    """Plain numbers at the decades from `low` to 1,000."""
    ticks = [tick for tick in (0.1, 1, 10, 100, 1000) if tick >= low]
    return alt.Axis(values=ticks, format=",~g", tickCount=len(ticks), title=title)


def _slope_text(readings: tuple[Roofline, ...], most: int | None) -> str:
    """Both readings of the bandwidth, or the first where both have more than `most` signs."""
    text = " or ".join(reading.bandwidth.label for reading in readings[:2])
    return text if most is None or len(text) <= most else readings[0].bandwidth.label


def _ridges(readings: tuple[Roofline, ...]) -> str:
    printed = [render(reading.ridge, "fixed(0)") for reading in readings[:2]]
    return " or ".join(dict.fromkeys(printed))


def _citations(readings: tuple[Roofline, ...]) -> list[str]:
    """One line a ceiling: the value as documented, then the document."""
    ceilings = [readings[0].peak, *(reading.bandwidth for reading in readings[:2])]
    return [f"{ceiling.label}: {ceiling.edition}" for ceiling in ceilings]


def _corners(
    low: float, ridge: float, high: float, *, apart: bool
) -> tuple[tuple[float, bool], ...]:
    """Ends of slope and ceiling, and whether of the latter; in one line unless told `apart`."""
    slope, flat = ((low, False), (ridge, False)), ((ridge, True), (high, True))
    return (*slope, *flat) if apart else (*slope, (high, True))


def _greyed(study: RooflineStudy, chip: str) -> list[str]:
    return [f"Grey: {study.grey[chip]}"] if chip in study.grey else []


def _intensity_expr(m: str, product: Product) -> str:
    """I as an expression of m: 2mkn over the bytes moved."""
    k, n = product.k, product.n
    fixed = k * n * product.w_bytes
    each = k * product.x_bytes + n * product.y_bytes
    return f"({2 * k * n}*{m}/({each}*{m}+{fixed}))"


def _params(study: RooflineStudy) -> list[alt.Parameter]:
    product, work = study.products[0], study.drawn.work
    peak = {id_: found[0].peak.per_s for id_, found in study.rooflines.items()}
    bandwidth = {id_: found[0].bandwidth.per_s for id_, found in study.rooflines.items()}
    ridge = {id_: found[0].ridge for id_, found in study.rooflines.items()}
    names = {id_: found[0].chip for id_, found in study.rooflines.items()}
    intensity = _intensity_expr("m", product)
    moved = (
        f"({product.k * product.x_bytes + product.n * product.y_bytes}*m"
        f"+{product.k * product.n * product.w_bytes})"
    )
    flop = f"({2 * product.k * product.n}*m)"
    summary = (
        f"'m = '+format(m,',')+' on '+chip_name+': '+format({intensity},'.3~r')"
        f"+' {work} per byte, at least '"
        f"+format(1e6*max({flop}/peak,{moved}/bandwidth),'.3~r')+'{theme.NBSP}µs, set by '"
        f"+({flop}/peak>{moved}/bandwidth?'arithmetic.':'memory traffic.')"
    )
    return [
        alt.param(name="chip", value=study.chip),
        alt.param(name="m", value=study.products[-1].m),
        alt.param(name="peak", expr=f"({json.dumps(peak)})[chip]"),
        alt.param(name="ridge", expr=f"({json.dumps(ridge)})[chip]"),
        alt.param(name="bandwidth", expr=f"({json.dumps(bandwidth)})[chip]"),
        alt.param(name="chip_name", expr=f"({json.dumps(names)})[chip]"),
        alt.param(name="summary", expr=summary),
    ]
