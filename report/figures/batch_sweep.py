"""A product at growing batch under the ceilings that its own device was seen to reach."""

from collections.abc import Mapping, Sequence
from typing import Any

import altair as alt

from report.exhibit import Cell, Column, Figure, Kind, Scalar, Table, number, valued
from report.figures import theme
from report.figures.axes import decades
from report.figures.panels import Mark, Panel, Span, text_layers
from report.figures.render import render as draw_both
from report.notation import prefixed, render, with_prefix
from report.numbers.placing import FLOOR_TIMES
from report.numbers.precision import Policy
from report.numbers.sweep import WORK, SweepRun
from report.numbers.values import worked_at
from report.numbers.worked_sweep import Curve, Row, SweepStudy, study_sweep

NAME = "batch-sweep"
INKS: Mapping[Policy, str] = {"fp32": theme.C1, "bf16": theme.C2, "int8": theme.C3}
SHAPES: Mapping[Policy, str] = {"fp32": "circle", "bf16": "diamond", "int8": "triangle-up"}
GIGA = 1e9
NEAR_PX = 26
"""A batch is named beside its point when the last named point is this far away."""


def draw(run: SweepRun) -> Figure:
    """Three panels, a policy each: medians as points, the probe's best rates as lines."""
    study = study_sweep(run)
    alt_text = _alt_text(study)
    return Figure(
        name=NAME,
        title=_finding(study),
        reading=(
            "A point is one batch, further right with more arithmetic for each byte and higher "
            "with more of it a second. Lines are what this device reached in a probe of its own: "
            "solid for memory and square products, dashed for bytes that stay in cache. "
            "In the shaded region a call is too short to read a rate from."
        ),
        caption=f"{_extent(run)} {_above(study)}{_unclaimed(study)} {_reach(study)}",
        alt_text=alt_text,
        kind="measured",
        drawing=draw_both(
            NAME, _chart(study, narrow=False), _chart(study, narrow=True), alt_text=alt_text
        ),
        table=_table(study),
        data=tuple(_data(study)),
        sources=(run.source,),
        draws=f"python build.py figure {NAME} --evidence DIR --out FILE",
    )


def _finding(study: SweepStudy) -> str:
    """The policy whose rate changes most, from its first claimed batch to its best one."""
    spans = [(curve.claimed[0], curve.best, curve) for curve in study.curves if curve.best]
    if not spans:
        return f"No rate of this sweep may be claimed: every call is shorter than {_claim(study)}."
    first, best, curve = max(spans, key=lambda span: _rate(span[1]) / _rate(span[0]))
    name, above = curve.policy.upper(), f"{study.base}/{curve.policy}/best_over_matrix"
    share = (
        f", {number(above, 'percent(0)')} of the rate that square products reached on the same "
        "device"
        if study.best_share(curve)
        else ""
    )

    def rows(row: Row) -> str:
        return number(f"{study.run.name}#/results/{row.timed.id}/shape/0", "integer")

    def rate(row: Row) -> str:
        return number(f"{study.base}/{row.timed.id}/per_s", _rate_format(row))

    if best is first:
        return f"{name} is fastest at m = {rows(best)}: {rate(best)}{share}."
    return (
        f"From m = {rows(first)} to {rows(best)}, {name} goes from {rate(first)} to "
        f"{rate(best)}{share}."
    )


def _claim(study: SweepStudy) -> str:
    """The shortest time that a rate is read from."""
    return number(f"{study.base}/claim_s", "seconds(1)")


def _rate(row: Row) -> float:
    return row.placed.per_s or 0.0


def _rate_format(row: Row) -> str:
    return prefixed(_rate(row), f"{row.timed.work}/s")


def _rate_text(row: Row) -> str:
    return render(_rate(row), _rate_format(row))


def _extent(run: SweepRun) -> str:
    request = run.request
    return (
        f"$m$ × {request.features:,} by {request.features:,} × {request.outputs:,}, medians of "
        f"{request.rounds * request.samples} calls, {request.dispatch} dispatch. "
        f"{run.scope.statement}"
    )


def _above(study: SweepStudy) -> str:
    """Points above a line, and why they may stand there."""
    said = []
    cached = [row for row in study.rows if row.placed.verdict == "cached"]
    if cached and study.ceilings.cache_bytes:
        cache = number(study.run.last_cache, "integer")
        said.append(
            f"{len(cached)} of {len(study.rows)} points above the memory slope fit, with all "
            f"their operands, in the last-level cache of {cache} bytes."
        )
    over = [row for row in study.rows if row.placed.verdict == "over"]
    if over:
        said.append(
            f"Above every ceiling of the probe: {_names(over)}. There the probe did not reach "
            "what the device can do, or the time is wrong; nothing is clipped."
        )
    if not said:
        said.append("No point lies above its ceilings.")
    return " ".join(said)


def _names(rows: Sequence[Row]) -> str:
    return ", ".join(f"{row.timed.policy.upper()} m = {row.timed.m}" for row in rows)


def _unclaimed(study: SweepStudy) -> str:
    if not study.unclaimed:
        return ""
    return (
        f" Not drawn, since a median under {FLOOR_TIMES} empty calls ({_claim(study)}) claims no "
        f"rate: {_names(study.unclaimed)}."
    )


def _reach(study: SweepStudy) -> str:
    return (
        "The ceilings are the fastest samples of this run’s probe on "
        f"{_plain(study.run.machine.cpu_model)}; they are no documented peak, and hold for no "
        "other device."
    )


def _plain(name: str) -> str:
    """A recorded name without what inline Markdown would read."""
    return "".join(sign for sign in name if sign.isalnum() or sign in " .()-@")


def _alt_text(study: SweepStudy) -> str:
    parts = []
    for curve in study.curves:
        claimed = curve.claimed
        ceiling = study.ceilings.matrix.get(curve.policy)
        flat = f" under a flat line at {_flat(ceiling.per_s, curve.policy)}" if ceiling else ""
        if not claimed:
            parts.append(f"{curve.policy.upper()}: no rate is claimed{flat}")
            continue
        first, last = claimed[0], claimed[-1]
        parts.append(
            f"{curve.policy.upper()}: {_rate_text(first)} at m = {first.timed.m} and "
            f"{_rate_text(last)} at m = {last.timed.m}{flat}"
        )
    slopes = [
        f"{with_prefix(ceiling.per_s, 'B/s')} {name}"
        for ceiling, name in (
            (study.ceilings.memory, "from memory"),
            (study.ceilings.cached, "in cache"),
        )
        if ceiling
    ]
    return (
        f"Rates of one product in {len(study.curves)} policies by intensity, both axes "
        f"logarithmic, measured on {study.run.device}. {'; '.join(parts)}. "
        f"Slopes: {', '.join(slopes) or 'none'}."
    )


def _flat(per_s: float, policy: Policy) -> str:
    return with_prefix(per_s, f"{WORK[policy]}/s")


def _data(study: SweepStudy) -> list[dict[str, Scalar]]:
    """Every point at full precision, with the ceilings it is read against."""
    ceilings = study.ceilings
    memory, cached = ceilings.memory, ceilings.cached
    found: list[dict[str, Scalar]] = []
    for row in study.rows:
        matrix = ceilings.matrix.get(row.timed.policy)
        found.append(
            {
                "policy": row.timed.policy,
                "m": row.timed.m,
                "work": row.timed.work,
                "operations": row.timed.operations,
                "minimum_bytes": row.traffic.minimum,
                "intensity": row.placed.point.intensity,
                "median_s": row.timed.program.timing.median,
                "minimum_s": row.timed.program.timing.minimum,
                "per_s": row.placed.per_s,
                "bound_per_s": row.placed.bound_per_s,
                "share": row.placed.share,
                "verdict": row.placed.words,
                "matrix_per_s": matrix.per_s if matrix else None,
                "memory_bytes_per_s": memory.per_s if memory else None,
                "cached_bytes_per_s": cached.per_s if cached else None,
            }
        )
    return found


def _table(study: SweepStudy) -> Table:
    def cells(row: Row) -> tuple[Cell, ...]:
        placed, times = row.placed, f"{study.run.name}#/results/{row.timed.id}/timing_s"
        intensity, rate, share = (
            f"{study.base}/{row.timed.id}/{name}" for name in ("intensity", "per_s", "share")
        )
        median = f"median {number(f'{times}/median', 'seconds(1)')}"
        work = f"{row.timed.work} per byte"
        return (
            Cell(text=f"{row.timed.policy.upper()}, m = {row.timed.m}"),
            _worked(intensity, placed.point.intensity, "fixed(2)", note=work, kind="computed"),
            _worked(rate, placed.per_s, _rate_format(row), note=median, missing="no rate claimed"),
            _worked(share, placed.share, "percent(0)", missing="not claimed"),
            Cell(text=placed.words),
        )

    return Table(
        name=f"{NAME}-data",
        title="Points under the ceilings, as drawn",
        caption="",
        columns=(
            Column(head="Policy, rows"),
            Column(head="Intensity", numeric=True),
            Column(head="Rate", numeric=True),
            Column(head="Share of its bound", numeric=True),
            Column(head="Where it lies"),
        ),
        rows=tuple(cells(row) for row in study.rows),
        sources=(study.run.source,),
        stack=True,
    )


def _worked(
    pointer: str,
    found: float | None,
    spelling: str,
    *,
    missing: str = "",
    note: str = "",
    kind: Kind = "measured",
) -> Cell:
    """A number with a link to how it was worked out; without one, in words."""
    href = worked_at(pointer)
    if not found:
        return Cell(text=missing, kind=kind, href=href, note=note)
    return valued(pointer, found, spelling, kind, href=href, note=note)


def _chart(study: SweepStudy, *, narrow: bool) -> alt.LayerChart:
    across, up = _spans(study)
    if narrow:
        frame = theme.Frame(width=330, height=50 + 3 * 222)
        corners = [(44.0, 78.0 + 222 * at, 276.0, 146.0) for at in range(3)]
    else:
        frame = theme.Frame(width=600, height=326)
        corners = [(46.0 + 188 * at, 62.0, 170.0, 218.0) for at in range(3)]
    layers = Layers()
    _add_key(study, layers, narrow=narrow)
    for at, ((left, top, width, height), curve) in enumerate(
        zip(corners, study.curves, strict=True)
    ):
        panel = Panel(left=left, top=top, width=width, height=height, across=across, up=up)
        work, policy = WORK[curve.policy], curve.policy
        title = {"x": left, "y": top - 14, "text": f"{policy.upper()}, G{work}/s"}
        layers.titles.append(title | {"policy": policy})
        layers.grid += panel.grid()
        layers.texts += panel.axis_texts(f"{work} per byte", numbered=narrow or not at)
        layers.shade += _shade(study, curve, panel)
        layers.lines += _lines(study, curve, panel)
        layers.labels += _label(study, curve, panel)
        layers.points += _points(curve, panel)
        layers.names += _names_of_points(curve, panel)
    return layers.hold(frame)


def _add_key(study: SweepStudy, layers: "Layers", *, narrow: bool) -> None:
    """What the slopes and the shade are, above the panels, which share them."""
    ceilings = study.ceilings
    x, y = 0.0, 9.0
    for ceiling, name, dashed in (
        (ceilings.memory, "from memory", False),
        (ceilings.cached, "in cache", True),
    ):
        if ceiling is None:
            continue
        key = {"line": f"key {name}", "dashed": dashed, "y": y}
        layers.lines += [{"x": x, **key}, {"x": x + 22, **key}]
        text = f"{with_prefix(ceiling.per_s, 'B/s')} {name}"
        layers.texts.append({"x": x + 28, "y": y, "text": text, "side": "left"})
        x += 172
    if narrow:
        x, y = 0.0, 29.0
    corner = {"y": y + 6, "top": y - 6, "policy": "key"}
    layers.shade += [{"x": x, **corner}, {"x": x + 22, **corner}]
    text = f"too short to claim, under {render(ceilings.claim_s, 'seconds(1)')}"
    layers.texts.append({"x": x + 28, "y": y, "text": text, "side": "left"})


class Layers:
    """The rows of each layer, gathered panel by panel."""

    def __init__(self) -> None:
        self.grid: list[Mark] = []
        self.shade: list[Mark] = []
        self.lines: list[Mark] = []
        self.labels: list[Mark] = []
        self.points: list[Mark] = []
        self.names: list[Mark] = []
        self.titles: list[Mark] = []
        self.texts: list[Mark] = []

    def hold(self, frame: theme.Frame) -> alt.LayerChart:
        x = alt.X("x:Q", scale=alt.Scale(domain=[0, frame.width], nice=False), axis=None)
        y = theme.down("y", frame.plot_height)
        colour = _by_policy(alt.Color, INKS)
        shape = _by_policy(alt.Shape, SHAPES)
        lines = alt.Chart(theme.rows(self.lines))
        return frame.hold(
            alt.Chart(theme.rows(self.grid))
            .mark_rule(color=theme.GRID)
            .encode(x=x, x2="x2:Q", y=y),
            alt.Chart(theme.rows(self.shade))
            .mark_area(color=theme.RULE, opacity=0.55)
            .encode(x=x, y=y, y2="top:Q", detail="policy:N"),
            *(
                lines.transform_filter(f"datum.dashed=={dashed}")
                .mark_line(color=theme.INK2, strokeWidth=1.5, strokeDash=dash)
                .encode(x=x, y=y, detail="line:N")
                for dashed, dash in (("false", [1, 0]), ("true", [4, 3]))
            ),
            alt.Chart(theme.rows(self.points))
            .mark_line(strokeWidth=1.25)
            .encode(x=x, y=y, color=colour),
            alt.Chart(theme.rows(self.points))
            .mark_point(size=38)
            .encode(x=x, y=y, color=colour, shape=shape),
            *text_layers(self.labels, x, y),
            *text_layers(self.names, x, y, color=theme.INK, size=12),
            alt.Chart(theme.rows(self.titles))
            .mark_text(**theme.VALUE)
            .encode(x=x, y=y, text="text:N", color=colour),
            *text_layers(self.texts, x, y),
        )


def _by_policy(channel: Any, values: Mapping[Policy, str]) -> Any:
    scale = alt.Scale(domain=list(values), range=list(values.values()))
    return channel("policy:N", scale=scale, legend=None)


def _spans(study: SweepStudy) -> tuple[Span, Span]:
    """Axes that hold every point and flat ceiling; rates in giga."""
    intensities = [row.placed.point.intensity for row in study.rows]
    rates = [_rate(row) / GIGA for row in study.rows if row.placed.per_s]
    flats = [ceiling.per_s / GIGA for ceiling in study.ceilings.matrix.values()]
    known = [*rates, *flats] or [1.0]
    low, high = min(intensities) / 1.6, max(intensities) * 1.6
    bottom, top = min(rates or known) / 3, max(known) * 2.5
    return (
        Span(low=low, high=high, ticks={tick: f"{tick:,g}" for tick in decades(low, high)}),
        Span(low=bottom, high=top, ticks={tick: f"{tick:,g}" for tick in decades(bottom, top)}),
    )


def _shade(study: SweepStudy, curve: Curve, panel: Panel) -> list[Mark]:
    """From the rate of a call of ten empty calls upwards: nothing may be claimed in there."""
    edge = [
        (row.placed.point.intensity, row.timed.operations / study.ceilings.claim_s / GIGA)
        for row in curve.rows
    ]
    return panel.line(edge, top=panel.top, policy=curve.policy)


def _lines(study: SweepStudy, curve: Curve, panel: Panel) -> list[Mark]:
    ceilings, low, high = study.ceilings, panel.across.low, panel.across.high
    matrix = ceilings.matrix.get(curve.policy)
    flat = matrix.per_s / GIGA if matrix else None
    marks: list[Mark] = []
    starts = []
    for name, ceiling in (("memory", ceilings.memory), ("cached", ceilings.cached)):
        if ceiling is None:
            continue
        slope = ceiling.per_s / GIGA
        end = min(high, flat / slope) if flat else high
        starts.append(end)
        if end > low:
            key = {"line": f"{curve.policy} {name}", "dashed": name == "cached"}
            marks += panel.line([(low, low * slope), (end, end * slope)], **key)
    if flat:
        start = max(low, min(starts, default=low))
        key = {"line": f"{curve.policy} flat", "dashed": False}
        marks += panel.line([(start, flat), (high, flat)], **key)
    return marks


def _label(study: SweepStudy, curve: Curve, panel: Panel) -> list[Mark]:
    """The flat ceiling's rate, above its right end."""
    matrix = study.ceilings.matrix.get(curve.policy)
    if matrix is None:
        return []
    y = panel.place(panel.across.high, matrix.per_s / GIGA)["y"]
    text = _flat(matrix.per_s, curve.policy)
    return [{"x": panel.left + panel.width, "y": y - 9, "text": text, "side": "right"}]


def _points(curve: Curve, panel: Panel) -> list[Mark]:
    return [
        panel.place(row.placed.point.intensity, _rate(row) / GIGA) | {"policy": curve.policy}
        for row in curve.claimed
    ]


def _names_of_points(curve: Curve, panel: Panel) -> list[Mark]:
    """The first and the last claimed batch, below their points."""
    claimed = curve.claimed
    marks: list[Mark] = []
    for row in dict.fromkeys([*claimed[:1], *claimed[-1:]]):
        spot = panel.place(row.placed.point.intensity, _rate(row) / GIGA)
        text = f"m = {row.timed.m}"
        if marks and abs(spot["x"] - marks[0]["x"]) < NEAR_PX:
            continue
        last = row is claimed[-1]
        x = min(spot["x"] + 8, panel.left + panel.width) if last else spot["x"] + 4
        marks.append(
            {"x": x, "y": spot["y"] + 15, "text": text, "side": "right" if last else "left"}
        )
    return marks
