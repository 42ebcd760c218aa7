"""Memory budgets: weights at four widths, and one training state part by part; live in P."""

import json

import altair as alt

from report.exhibit import Cell, Column, Control, Figure, Scalar, Table, number, valued
from report.figures import theme
from report.figures.render import render as draw_both
from report.notation import render
from report.numbers.memory import TrainingState
from report.numbers.values import anchor
from report.numbers.worked_memory import MemoryStudy

NAME, AT = "memory-budget", "study#/memory"
PARTS = {
    "working_copy": "working copy",
    "master": "master weights",
    "first_moment": "first moment",
    "second_moment": "second moment",
    "gradients": "gradients",
}
"""Names on the chart; a part of another recipe shows its own name."""


def draw(memory: MemoryStudy) -> Figure:
    """Bars from zero for weights; the parts of the training state follow one another."""
    state = memory.state
    total = _gb(state.total)
    capacity = memory.capacities[memory.chip].label
    weights = ", ".join(f"{name.upper()} {_gb(size)}" for name, size in memory.weights.items())
    millions = f"{state.parameters // 10**6:,} million parameters"
    alt_text = (
        f"Bars of memory for {millions}. Weights alone: {weights}. Training state, part after "
        f"part: {', '.join(f'{_part(part)} {_gb(size)}' for part, size in state.parts.items())}; "
        f"{total} in all, beside the {capacity} of {memory.names[memory.chip]}."
    )
    return Figure(
        name=NAME,
        title=_finding(memory),
        reading=(
            f"Above, the weights of {millions} at four widths. Below, what training keeps for "
            "them, each part starting where the last one ends. The dotted rule is the documented "
            "HBM of one chip."
        ),
        caption=(
            "By formula, before activations, temporaries, padding, scales and communication, for "
            "one unsharded copy. A state that ends left of the rule may still not fit."
        ),
        alt_text=alt_text,
        kind="computed",
        drawing=draw_both(
            NAME,
            _chart(memory, narrow=False),
            _chart(memory, narrow=True),
            alt_text=alt_text,
            controls=_controls(memory),
        ),
        table=_table(memory),
        data=tuple(_rows(memory)),
        sources=(memory.capacities[memory.chip].source,),
    )


def _finding(memory: MemoryStudy) -> str:
    state = f"{AT}/training_state"
    weights = number(f"{AT}/weights/bf16/bytes", _spelling(memory.weights["bf16"]))
    total = number(f"{state}/bytes", _spelling(memory.state.total))
    width = number(f"{state}/bytes_per_parameter", "integer")
    return f"Weights of {weights} in BF16 need {total} to train: {width} bytes a parameter."


def _gb(size: int) -> str:
    return render(size, _spelling(size))


def _spelling(size: int) -> str:
    return f"quantity(GB, {2 if size % 10**8 else 1})"


def _part(part: str) -> str:
    return PARTS.get(part, part.replace("_", " "))


def _width_name(name: str) -> str:
    return "INT4, packed" if name == "int4" else name.upper()


def _rows(memory: MemoryStudy) -> list[dict[str, Scalar]]:
    """Every bar, in bytes."""
    rows: list[dict[str, Scalar]] = [
        {"budget": "weights", "part": name, "bytes": size} for name, size in memory.weights.items()
    ]
    rows += [
        {"budget": "training", "part": part, "bytes": size}
        for part, size in memory.state.parts.items()
    ]
    return [*rows, {"budget": "training", "part": "all", "bytes": memory.state.total}]


def _table(memory: MemoryStudy) -> Table:
    def row(name: str, each: str, size: int, path: str) -> tuple[Cell, ...]:
        pointer = f"{AT}/{path}/bytes"
        href = f"workings.html#{anchor(pointer)}"
        memory = valued(pointer, size, _spelling(size), "computed", href=href)
        return Cell(text=name), Cell(text=each), memory

    state = memory.state
    return Table(
        name=f"{NAME}-data",
        title="Memory budgets, as drawn",
        caption="",
        columns=(
            Column(head="What is kept"),
            Column(head="Bytes a parameter", numeric=True),
            Column(head="Memory", numeric=True),
        ),
        rows=(
            *(
                row(f"Weights in {name.upper()}", f"{memory.bits[name] / 8:g}", size,
                    f"weights/{name}")
                for name, size in memory.weights.items()
            ),
            *(
                row(f"Training: {_part(part)}", f"{each}", state.parts[part],
                    f"training_state/{part}")
                for part, each in state.bytes_per_parameter.items()
            ),
            row("Training: all parts", f"{state.width}", state.total, "training_state"),
        ),
    )  # fmt: skip


def _controls(memory: MemoryStudy) -> tuple[Control, ...]:
    return (
        Control(
            signal="millions",
            label="Parameters, $P$",
            value=memory.state.parameters / 10**6,
            minimum=100,
            maximum=12_000,
            step=100,
            unit="million",
        ),
        Control(
            signal="chip",
            label="HBM of one",
            value=memory.chip,
            options=tuple((chip, memory.names[chip]) for chip in memory.capacities),
        ),
    )


def _bars(memory: MemoryStudy) -> list[dict[str, object]]:
    """Bytes a parameter where each bar starts and ends, and the row it stands in."""
    weights = [
        {"row": row, "kind": "weights", "name": _width_name(name), "start": 0,
         "end": memory.bits[name] / 8}
        for row, name in enumerate(memory.weights, start=1)
    ]  # fmt: skip
    row, start = len(weights) + 2.4, 0.0
    parts = []
    for part, each in memory.state.bytes_per_parameter.items():
        parts.append(
            {"row": row, "kind": "part", "name": _part(part), "start": start, "end": start + each}
        )
        row, start = row + 1, start + each
    return [
        *weights,
        *parts,
        {"row": row, "kind": "all", "name": "in all", "start": 0, "end": start},
    ]


def _chart(memory: MemoryStudy, *, narrow: bool) -> alt.LayerChart:
    bars = _bars(memory)
    pitch, bar = 25, 15
    height = int(pitch * (len(bars) + 2.4)) + 4
    if narrow:
        frame = theme.Frame(width=330, height=height + 46, left=98, right=56, top=20, bottom=26)
    else:
        frame = theme.Frame(width=600, height=height + 46, left=122, right=70, top=20, bottom=26)

    nbsp = theme.NBSP
    base = alt.Chart(theme.rows(bars)).transform_calculate(
        x="datum.start*millions/1000",
        x2="datum.end*millions/1000",
        y=f"{pitch}*datum.row+{pitch // 2}",
        text=f"format((datum.end-datum.start)*millions/1000,'.3~r')+'{nbsp}GB'",
    )
    headings = [
        {"y": pitch / 2, "text": "Weights alone"},
        {
            "y": pitch * (len(memory.weights) + 1.4) + pitch / 2,
            "text": f"Training state, {memory.state.width} bytes a parameter",
        },
    ]
    scale = alt.Scale(
        domain={"expr": f"[0, max(capacity, {memory.state.width}*millions/1000)]"}, nice=False
    )
    axis = alt.Axis(tickCount=3 if narrow else 5, labelExpr=f"datum.label+'{nbsp}GB'", title=None)
    x = alt.X("x:Q", scale=scale, axis=axis)
    y = theme.down("y", frame.plot_height)
    rule = alt.Chart(theme.rows([{"y": 0, "y2": frame.plot_height}])).transform_calculate(
        x="capacity", text="'HBM of one '+chip_name+': '+capacity_text"
    )
    kinds = {"weights": theme.C1, "part": theme.C2, "all": theme.C3}
    colour = alt.Color(
        "kind:N",
        scale=alt.Scale(domain=list(kinds), range=list(kinds.values())),
        legend=None,
    )
    return frame.hold(
        rule.mark_rule(**theme.REFERENCE).encode(x=x, y=y, y2="y2:Q"),
        rule.mark_text(align="right", dx=4, dy=-11, **theme.ASIDE).encode(x=x, y=y, text="text:N"),
        base.mark_bar(height=bar).encode(x=x, x2="x2:Q", y=y, color=colour),
        base.mark_text(dx=7, **theme.VALUE).encode(
            x=alt.X("x2:Q", scale=scale), y=y, text="text:N"
        ),
        base.mark_text(align="right", fontSize=13).encode(x=alt.value(-10), y=y, text="name:N"),
        alt.Chart(theme.rows(headings))
        .mark_text(**theme.NAME)
        .encode(x=alt.value(-frame.left), y=y, text="text:N"),
        params=_params(memory),
    )


def _params(memory: MemoryStudy) -> list[alt.Parameter]:
    state: TrainingState = memory.state
    capacity = {chip: found.bytes / 1e9 for chip, found in memory.capacities.items()}
    text = {chip: found.label for chip, found in memory.capacities.items()}
    total = f"{state.width}*millions/1000"
    summary = (
        f"format(millions,',')+' million parameters train in '+format({total},'.3~r')+' GB, '"
        f"+format(100*{total}/capacity,'.0f')+'{theme.NBSP}% of the '+capacity_text+' of one '"
        f"+chip_name+'.'"
    )
    return [
        alt.param(name="millions", value=state.parameters / 10**6),
        alt.param(name="chip", value=memory.chip),
        alt.param(name="capacity", expr=f"({json.dumps(capacity)})[chip]"),
        alt.param(name="capacity_text", expr=f"({json.dumps(text)})[chip]"),
        alt.param(name="chip_name", expr=f"({json.dumps(dict(memory.names))})[chip]"),
        alt.param(name="summary", expr=summary),
    ]
