"""How many sequences' cache a device holds: by formula and by compiler, side by side."""

from dataclasses import dataclass
from typing import Any

import altair as alt

from report.errors import UsageFault
from report.exhibit import Cell, Column, Figure, Scalar, Table, number, valued
from report.figures import theme
from report.figures.render import render as draw_both
from report.notation import render
from report.numbers.lowering import Preflight

NAME = "what-fits"
PROGRAM = "decode-step"
IN_GIB = "bytes(GiB, 2)"


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One generation at its largest batch; bytes of one JAX device."""

    target: str
    generation: str
    largest: int
    formula: int
    peak: int
    usable: int | None


def draw(run: Preflight) -> Figure:
    """Two bars a generation, never added: the formula's cache, and the compiler's peak."""
    study = run.fits.get(PROGRAM)
    rows = _rows(run)
    if study is None or not rows:
        raise UsageFault(f"{run.name} holds no search of what fits.")
    least = min(rows, key=lambda row: row.largest)
    most = max(rows, key=lambda row: row.largest)
    above = max(rows, key=lambda row: row.peak / row.formula)
    words = "; ".join(
        f"{row.generation} {row.largest} sequences, {_gib(row.formula)} by formula and "
        f"{_gib(row.peak)} at the compiler’s peak"
        for row in rows
    )
    inputs = study.inputs
    first, last = (number(f"{_at(run, row)}/largest", "integer") for row in (least, most))
    times = number(f"{_worked(run, above)}/over_formula", "fixed(1)")
    return Figure(
        name=NAME,
        title=(
            f"From {first} sequences on {least.generation} to {last} on {most.generation}; on "
            f"{above.generation} the compiler’s peak is {times} times the cache."
        ),
        reading=(
            "For each generation, at the largest batch that compiles: the cache as its formula "
            "has it, then the peak as the compiler has it. The tick is the memory that the "
            "compiler says one device has."
        ),
        caption=(
            f"One decode step of attention over {inputs.get('layers', 0)} layers with a BF16 cache "
            f"of {inputs.get('tokens', 0):,} tokens, {inputs.get('kv_heads', 0)} KV heads of "
            f"{inputs.get('head_dim', 0)}; no weights, one JAX device. Nothing was run, so there "
            "is no runtime peak to draw."
        ),
        alt_text=f"Bars by generation. {words}.",
        kind="estimated",
        drawing=draw_both(
            NAME,
            _chart(rows, narrow=False),
            _chart(rows, narrow=True),
            alt_text=f"Bars by generation. {words}.",
        ),
        table=_table(run, rows),
        data=tuple(_data(row) for row in rows),
        sources=(run.source,),
        draws=f"python build.py figure {NAME} --evidence DIR --out FILE",
    )


def _rows(run: Preflight) -> list[Row]:
    study = run.fits.get(PROGRAM)
    if study is None:
        return []
    rows = []
    for target, fit in study.targets.items():
        formula, peak = study.formula_bytes(target), fit.memory.peak if fit.memory else None
        if fit.largest and formula and peak:
            described = run.targets.get(target)
            usable = described.usable_memory if described else None
            rows.append(
                Row(
                    target=target,
                    generation="TPU7x" if target == "tpu7x" else target,
                    largest=fit.largest,
                    formula=formula,
                    peak=peak,
                    usable=usable.bytes if usable else None,
                )
            )
    return rows


def _at(run: Preflight, row: Row) -> str:
    return f"{run.name}#/fits/{PROGRAM}/targets/{row.target}"


def _worked(run: Preflight, row: Row) -> str:
    return f"study#/lowering/{run.name}/fits/{PROGRAM}/{row.target}"


def _data(row: Row) -> dict[str, Scalar]:
    return {
        "generation": row.generation,
        "largest_batch": row.largest,
        "formula_cache_bytes": row.formula,
        "compiler_peak_bytes": row.peak,
        "usable_bytes_as_printed": row.usable,
        "runtime_peak_bytes": None,
    }


def _table(run: Preflight, rows: list[Row]) -> Table:
    href = f"records/{run.name}.html#fits-{PROGRAM}"
    return Table(
        name=f"{NAME}-data",
        title="The largest batch that compiles, as drawn",
        caption="",
        columns=(
            Column(head="Generation"),
            Column(head="Largest batch", numeric=True),
            Column(head="Formula: cache", numeric=True),
            Column(head="Compiler: peak", numeric=True),
            Column(head="Runtime: peak"),
        ),
        rows=tuple(
            (
                Cell(text=row.generation),
                valued(f"{_at(run, row)}/largest", row.largest, "integer", "estimated", href=href),
                valued(f"{_worked(run, row)}/formula", row.formula, IN_GIB, "computed"),
                valued(
                    f"{_at(run, row)}/memory_bytes/peak", row.peak, IN_GIB, "estimated", href=href
                ),
                Cell(text="not recorded", note="nothing was run"),
            )
            for row in rows
        ),
        sources=(run.source,),
    )


def _gib(count: int) -> str:
    return render(count, IN_GIB)


def _chart(rows: list[Row], *, narrow: bool) -> alt.LayerChart:
    pitch, left = (66, 2) if narrow else (46, 128)
    width, room = (330, 96) if narrow else (600, 92)
    head = 24 if narrow else 22
    frame = theme.Frame(width=width, height=head + pitch * len(rows) + 4)
    widest = max(max(row.peak, row.formula, row.usable or 0) for row in rows)
    scale = (width - left - room) / widest
    bars: list[dict[str, Any]] = []
    ticks: list[dict[str, Any]] = []
    names: list[dict[str, Any]] = []
    for at, row in enumerate(rows):
        top = head + at * pitch + (22 if narrow else 6)
        for down, (kind, count) in enumerate((("formula", row.formula), ("peak", row.peak))):
            upper = top + down * 17
            bars.append(
                {
                    "x": left,
                    "x2": left + count * scale,
                    "y": upper,
                    "y2": upper + 13,
                    "middle": upper + 7,
                    "kind": kind,
                    "text": _gib(count),
                }
            )
        if row.usable:
            ticks.append(
                {"x": left + row.usable * scale, "y": top - 3, "y2": top + 33},
            )
        names.append(
            {
                "y": top - 11 if narrow else top + 8,
                "y2": top - 11 if narrow else top + 25,
                "text": row.generation,
                "aside": f"{row.largest:,} sequences",
            }
        )
    legend = [
        {"x": left, "y": 7, "text": "cache, by formula", "kind": "formula"},
        {"x": left + (118 if narrow else 130), "y": 7, "text": "peak, by compiler", "kind": "peak"},
    ]
    across = alt.Scale(domain=[0, width], nice=False)
    x = alt.X("x:Q", scale=across, axis=None)
    y, y2, middle = (theme.down(field, frame.plot_height) for field in ("y", "y2", "middle"))
    colour = alt.Color(
        "kind:N",
        scale=alt.Scale(domain=["formula", "peak"], range=[theme.C1, theme.C2]),
        legend=None,
    )
    drawn, named = alt.Chart(theme.rows(bars)), alt.Chart(theme.rows(names))
    return frame.hold(
        drawn.mark_rect().encode(x=x, x2="x2:Q", y=y, y2="y2:Q", color=colour),
        drawn.mark_text(dx=8, fontSize=12.5, fontWeight=600).encode(
            x=alt.X("x2:Q", scale=across, axis=None), y=middle, text="text:N", color=colour
        ),
        alt.Chart(theme.rows(ticks))
        .mark_rule(color=theme.INK, strokeWidth=1.5)
        .encode(x=x, y=y, y2="y2:Q"),
        named.mark_text(**theme.NAME).encode(x=alt.value(0), y=y, text="text:N"),
        named.mark_text(align="right" if narrow else "left", **theme.ASIDE).encode(
            x=alt.value(width if narrow else 0), y=y2, text="aside:N"
        ),
        alt.Chart(theme.rows(legend))
        .mark_text(**theme.VALUE)
        .encode(x=x, y=y, text="text:N", color=colour),
        *(
            []
            if narrow
            else [
                alt.Chart(
                    theme.rows([{"x": left + 262, "y": 7, "text": "tick: usable, by compiler"}])
                )
                .mark_text(**theme.ASIDE)
                .encode(x=x, y=y, text="text:N")
            ]
        ),
    )
