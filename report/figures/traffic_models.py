"""Three accounts of the bytes one product moves, by batch: least, tiled, and the compiler's."""

from collections.abc import Mapping
from typing import Any

import altair as alt

from report.exhibit import Cell, Column, Figure, Kind, Scalar, Table, number, valued
from report.figures import theme
from report.figures.axes import decades
from report.figures.panels import Mark, Panel, Span, text_layers
from report.figures.render import render as draw_both
from report.notation import render, with_prefix
from report.numbers.sweep import SweepRun
from report.numbers.traffic import MODELS
from report.numbers.values import worked_at
from report.numbers.worked_sweep import Row, SweepStudy, study_sweep

NAME = "traffic-models"
INKS: Mapping[str, str] = {"minimum": theme.INK2, "tiled": theme.C1, "compiler": theme.C2}
NAMES: Mapping[str, str] = {
    "minimum": "least: each byte once",
    "tiled": "tiled, our model",
    "compiler": "the compiler’s count",
}
ALIKE = 1.05
"""Up to this ratio the compiler is said to count no more than that."""
MARKED = (1, 4, 16, 64, 256, 1024, 4096, 16384, 65536, 262144, 1048576)
"""Batches written along the axis, where there is a point near."""


def draw(run: SweepRun) -> Figure:
    """Three panels, a policy each; a line for each account that there is."""
    study = study_sweep(run)
    alt_text = _alt_text(study)
    return Figure(
        name=NAME,
        title=_finding(study),
        reading=(
            "Each panel is one policy, and each line one way to count the bytes of a product as "
            "its batch grows. Where one covers another, the two agree; where they lie apart, an "
            "intensity depends on which was meant."
        ),
        caption=f"{_tile(study)} {_compiler(study)} Nothing here was measured. "
        f"{run.scope.statement}",
        alt_text=alt_text,
        kind="estimated",
        drawing=draw_both(
            NAME, _chart(study, narrow=False), _chart(study, narrow=True), alt_text=alt_text
        ),
        table=_table(study),
        data=tuple(_data(study)),
        sources=(run.source,),
        draws=f"python build.py figure {NAME} --evidence DIR --out FILE",
    )


def _finding(study: SweepStudy) -> str:
    """Where the compiler's count lies farthest above the least; else what the tiles add."""
    if worst := study.most_counted("compiler"):
        ratio = f"{study.base}/compiler_over_least"
        if (worst.traffic.over_least("compiler") or 0) <= ALIKE:
            times = number(ratio, "ratio(2)")
            return f"The compiler counts at most {times} times the least traffic."
        converted = worst.timed.converted_weights
        why = (
            f", since its program first converts all weights from {converted.source} to "
            f"{converted.target}"
            if converted
            else ""
        )
        rows = number(f"{study.run.name}#/results/{worst.timed.id}/shape/0", "integer")
        return (
            f"At m = {rows} the compiler counts {number(ratio, 'ratio(1)')} times the least "
            f"traffic for {worst.timed.policy.upper()}{why}."
        )
    if study.most_counted("tiled"):
        return (
            "This compiler tells no bytes; plain tiles would move at most "
            f"{number(f'{study.base}/tiled_over_least', 'ratio(1)')} times the least traffic."
        )
    return (
        f"Of {number(f'{study.base}/points', 'integer')} products only the least traffic is known."
    )


def _tile(study: SweepStudy) -> str:
    """Whose tiles these are, how large, and in which memory."""
    found = {
        row.timed.policy: row.traffic.tile for row in study.rows if row.traffic.tile is not None
    }
    if not found:
        return f"No tiled count: {study.rows[0].traffic.tiled_reason}."
    tile = next(iter(found.values()))
    fast = next(at for at, each in enumerate(study.run.caches) if each.bytes == tile.fast_bytes)
    sides = ", ".join(
        f"{each.side} × {each.side} in {policy.upper()}" for policy, each in found.items()
    )
    if len({each.side for each in found.values()}) == 1:
        sides = f"{tile.side} × {tile.side} in every policy"
    return (
        f"Tiled is our own model, after [Lam, Rothberg and Wolf]"
        f"(https://doi.org/10.1145/106972.106981): square tiles ({sides}) of both operands and "
        f"the output in the {number(f'{study.run.name}#/caches/{fast}/bytes', 'integer')} bytes of "
        f"a level {tile.level} cache. It is not the tiling that the compiler chose, which is not "
        "recorded."
    )


def _compiler(study: SweepStudy) -> str:
    missing = [row for row in study.rows if row.traffic.compiler is None]
    if not missing:
        return "The compiler’s count is the bytes accessed of its cost analysis, conversions too."
    return (
        f"The compiler gives no count for {len(missing)} of {len(study.rows)} programs: "
        f"{missing[0].traffic.compiler_reason}."
    )


def _alt_text(study: SweepStudy) -> str:
    def words(row: Row) -> str:
        counts = ", ".join(
            f"{count:,} bytes {NAMES[model].split(':')[0].split(',')[0]}"
            for model in MODELS
            if (count := row.traffic.bytes_of(model)) is not None
        )
        return f"m = {row.timed.m}: {counts}"

    parts = [
        f"{curve.policy.upper()}, {words(curve.rows[0])}; {words(curve.rows[-1])}"
        for curve in study.curves
    ]
    return (
        "Bytes of one product by batch in three accounts, both axes logarithmic. "
        f"{'. '.join(parts)}."
    )


def _data(study: SweepStudy) -> list[dict[str, Scalar]]:
    return [
        {
            "policy": row.timed.policy,
            "m": row.timed.m,
            "work": row.timed.work,
            "operations": row.timed.operations,
            **{f"{model}_bytes": row.traffic.bytes_of(model) for model in MODELS},
            **{f"{model}_intensity": _intensity(row, model) for model in MODELS},
            "tile_side": row.traffic.tile.side if row.traffic.tile else None,
            "fast_bytes": row.traffic.tile.fast_bytes if row.traffic.tile else None,
        }
        for row in study.rows
    ]


def _intensity(row: Row, model: str) -> float | None:
    count = row.traffic.bytes_of(model)
    return row.timed.operations / count if count else None


def _kind(model: str) -> Kind:
    return "estimated" if model == "compiler" else "computed"


def _table(study: SweepStudy) -> Table:
    def cells(row: Row) -> tuple[Cell, ...]:
        name = Cell(text=f"{row.timed.policy.upper()}, m = {row.timed.m}")
        return (name, *(cell(row, model) for model in MODELS))

    def cell(row: Row, model: str) -> Cell:
        count, intensity = row.traffic.bytes_of(model), _intensity(row, model)
        pointer, kind = study.counted(row, model), _kind(model)
        href = worked_at(pointer)
        if model == "compiler":
            href = f"records/{study.run.name}.html#{row.timed.id}-bytes"
        if count is None or intensity is None:
            return Cell(text="not known", kind=kind, href=href)
        note = f"{render(intensity, 'fixed(2)')} {row.timed.work} per byte"
        return valued(pointer, count, "integer", kind, href=href, note=note)

    return Table(
        name=f"{NAME}-data",
        title="Bytes by three accounts, as drawn, and the intensity that each gives",
        caption="",
        columns=(
            Column(head="Policy, rows"),
            *(
                Column(head=f"{NAMES[model][:1].upper()}{NAMES[model][1:]}", numeric=True)
                for model in MODELS
            ),
        ),
        rows=tuple(cells(row) for row in study.rows),
        sources=(study.run.source,),
        stack=True,
    )


def _chart(study: SweepStudy, *, narrow: bool) -> alt.LayerChart:
    across, up = _spans(study)
    if narrow:
        frame = theme.Frame(width=330, height=70 + 3 * 206)
        corners = [(54.0, 98.0 + 206 * at, 266.0, 130.0) for at in range(3)]
    else:
        frame = theme.Frame(width=600, height=296)
        corners = [(54.0 + 186 * at, 58.0, 164.0, 192.0) for at in range(3)]
    grid: list[Mark] = []
    marks: list[Mark] = []
    texts: list[Mark] = []
    titles: list[Mark] = []
    for at, ((left, top, width, height), curve) in enumerate(
        zip(corners, study.curves, strict=True)
    ):
        panel = Panel(left=left, top=top, width=width, height=height, across=across, up=up)
        grid += panel.grid()
        texts += panel.axis_texts("rows of X, m", numbered=narrow or not at)
        titles.append({"x": left, "y": top - 14, "text": f"{curve.policy.upper()}, bytes"})
        marks += [
            panel.place(row.timed.m, count) | {"model": model, "line": f"{curve.policy} {model}"}
            for model in MODELS
            for row in curve.rows
            if (count := row.traffic.bytes_of(model)) is not None
        ]
    key, names = _key(study, narrow=narrow)
    return _hold(frame, grid=grid, marks=[*marks, *key], texts=[*texts, *names], titles=titles)


def _hold(
    frame: theme.Frame,
    *,
    grid: list[Mark],
    marks: list[Mark],
    texts: list[Mark],
    titles: list[Mark],
) -> alt.LayerChart:
    x = alt.X("x:Q", scale=alt.Scale(domain=[0, frame.width], nice=False), axis=None)
    y = theme.down("y", frame.plot_height)
    colour = alt.Color(
        "model:N", scale=alt.Scale(domain=list(INKS), range=list(INKS.values())), legend=None
    )
    drawn = alt.Chart(theme.rows(marks))
    dashes: dict[str, Any] = {"minimum": [1, 0], "tiled": [5, 3], "compiler": [1, 0]}
    return frame.hold(
        alt.Chart(theme.rows(grid)).mark_rule(color=theme.GRID).encode(x=x, x2="x2:Q", y=y),
        *(
            drawn.transform_filter(f"datum.model=='{model}'")
            .mark_line(strokeWidth=1.5, strokeDash=dash)
            .encode(x=x, y=y, color=colour, detail="line:N")
            for model, dash in dashes.items()
        ),
        drawn.transform_filter("datum.model=='compiler'")
        .mark_point(size=26)
        .encode(x=x, y=y, color=colour),
        alt.Chart(theme.rows(titles)).mark_text(**theme.VALUE).encode(x=x, y=y, text="text:N"),
        *text_layers(texts, x, y),
    )


def _key(study: SweepStudy, *, narrow: bool) -> tuple[list[Mark], list[Mark]]:
    """A short line and a name for each account that there is, above the panels."""
    there = [
        model
        for model in MODELS
        if any(row.traffic.bytes_of(model) is not None for row in study.rows)
    ]
    marks: list[Mark] = []
    names: list[Mark] = []
    for at, model in enumerate(there):
        x, y = (0.0, 9.0 + 19 * at) if narrow else (200.0 * at, 9.0)
        key = {"y": y, "model": model, "line": f"key {model}"}
        marks += [{"x": x + 4, **key}, {"x": x + 26, **key}]
        names.append({"x": x + 34, "y": y, "text": NAMES[model], "side": "left"})
    return marks, names


def _spans(study: SweepStudy) -> tuple[Span, Span]:
    batches = study.run.request.batches
    counts = [
        count
        for row in study.rows
        for model in MODELS
        if (count := row.traffic.bytes_of(model)) is not None
    ]
    low, high = min(batches) / 1.3, max(batches) * 1.3
    bottom, top = min(counts) / 1.5, max(counts) * 1.5
    return (
        Span(low=low, high=high, ticks={m: f"{m:,}" for m in MARKED if low <= m <= high}),
        Span(low=bottom, high=top, ticks=_bytes(bottom, top)),
    )


def _bytes(bottom: float, top: float) -> dict[float, str]:
    """Decades of bytes; where fewer than two lie on the axis, also twice and five times them."""
    found = decades(bottom, top)
    if len(found) < 2:
        steps = [step * ten for ten in decades(bottom / 10, top) for step in (1, 2, 5)]
        found = [step for step in steps if bottom <= step <= top]
    return {tick: with_prefix(tick, "B").replace(".00", "").replace(".0", "") for tick in found}
