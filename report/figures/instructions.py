"""Which arithmetic each generation's matrix unit is given, policy by policy."""

from typing import Any

import altair as alt

from report.exhibit import Cell, Column, Figure, Scalar, Table, literal, number
from report.figures import theme
from report.figures.render import render as draw_both
from report.ladder import Rung
from report.numbers.ceilings import counted, instructions_at, shown
from report.numbers.lowering import NATIVE, POLICIES, SQUARE, Preflight, Schedule

NAME = "instruction-matrix"

FAMILIES = {
    "s8": ("S", "signed 8-bit integers", theme.C2),
    "u8": ("U", "unsigned 8-bit integers", theme.C2),
    "bf16": ("B", "BF16", theme.C1),
    "f8e4m3fn": ("E", "FP8 as FP8", theme.C3),
    "f8e5m2": ("E", "FP8 as FP8", theme.C3),
    "f8e5m2.bf16": ("b", "FP8 stored, BF16 multiplied", theme.C1),
    "f8e4m3b11.bf16": ("b", "FP8 stored, BF16 multiplied", theme.C1),
    "hi.f32": ("H", "FP32 split into BF16 passes", ""),
    "low.f32": ("H", "FP32 split into BF16 passes", ""),
    "f32": ("F", "float path, not full FP32", ""),
}
"""Letter, meaning and ink of each operand type; without ink a cell is only outlined."""
OTHERS = {
    "–": "no matrix instruction",
    "?": "unrecognized, or not read",
}
STATIC = "A static count of a compiler’s output for one shape: not a time, not a measurement."


def draw(run: Preflight) -> Figure:
    """A cell for each policy and generation: letter, static count, and rungs reached."""
    rows = list(_rows(run))
    on, of, as_fp8 = (
        number(f"study#/lowering/{run.name}/generations/{count}", "integer")
        for count in ("int8", "recorded", "e4m3fn")
    )
    alt_text = "Matrix instructions by requested operands and generation. " + " ".join(
        f"{_policy(policy)}: {_row_words(run, policy)}." for policy in run.matrix
    )
    return Figure(
        name=NAME,
        title=(
            f"INT8 operands reach the matrix unit as integers on {on} of {of} generations, "
            f"E4M3FN as FP8 on {as_fp8}."
        ),
        reading=(
            "A row is what was requested, a column a generation. The letter says which arithmetic "
            "the matrix unit is given, the number how often; pips count the rungs of evidence "
            f"reached: {Rung.MATRIX_INSTRUCTION:d} of {len(Rung)} is the "
            f"{Rung.MATRIX_INSTRUCTION.words}."
        ),
        caption=(
            f"One product of 256 × 256 × 256. {STATIC} Matrix units differ in size and pace, so "
            "compare within a column only. A star marks a compiler that wrote its schedule and "
            "then aborted."
        ),
        alt_text=alt_text,
        kind="estimated",
        drawing=draw_both(
            NAME, _chart(run, narrow=False), _chart(run, narrow=True), alt_text=alt_text
        ),
        table=_table(run),
        data=tuple(rows),
        sources=(run.source,),
        draws=f"python build.py figure {NAME} --evidence DIR --out FILE",
    )


def _policy(policy: str) -> str:
    return POLICIES.get(policy, policy)


def _generation(target: str) -> str:
    return "TPU7x" if target == "tpu7x" else target


def _row_words(run: Preflight, policy: str) -> str:
    """Neighbouring generations with the same operand types together."""
    said: list[tuple[str, list[str]]] = []
    for target, schedule in run.matrix[policy].items():
        found = " and ".join(schedule.counts or {}) or "none"
        if said and said[-1][0] == found:
            said[-1][1].append(target)
        else:
            said.append((found, [target]))
    return ", ".join(
        f"{found} on {_generation(on[0])}" + (f" to {_generation(on[-1])}" if len(on) > 1 else "")
        for found, on in said
    )


def _rows(run: Preflight) -> list[dict[str, Scalar]]:
    return [
        {
            "policy": policy,
            "generation": target,
            "shape": SQUARE,
            "instructions": shown(schedule),
            "count": schedule.total,
            "level": schedule.rung.slug if schedule.rung else None,
            "as_itself": int(schedule.multiplies(policy)) if policy in NATIVE else None,
            "compiler": schedule.compiler,
        }
        for policy, by_target in run.matrix.items()
        for target, schedule in by_target.items()
    ]


def _table(run: Preflight) -> Table:
    def cell(policy: str, target: str) -> Cell:
        schedule = run.matrix[policy].get(target)
        if schedule is None or schedule.rung is None:
            return Cell(text="not read")
        ended = "" if schedule.compiler == "compiled" else f"; compiler {schedule.compiler}"
        return Cell(
            text=counted(schedule, instructions_at(run, SQUARE, policy, target)),
            kind="estimated",
            href=f"records/{run.name}.html#instructions-{SQUARE}-{policy}",
            note=literal(schedule.rung.words + ended),
        )

    return Table(
        name=f"{NAME}-data",
        title="Matrix instructions, as drawn",
        caption="",
        columns=(
            Column(head="Requested"),
            *(Column(head=_generation(target)) for target in run.generations),
        ),
        rows=tuple(
            (Cell(text=_policy(policy)), *(cell(policy, target) for target in run.generations))
            for policy in run.matrix
        ),
        sources=(run.source,),
    )


def _mark(schedule: Schedule) -> tuple[str, str, str]:
    """Letter, count and ink of one cell."""
    if schedule.counts is None:
        return "?", "", ""
    if not schedule.counts:
        return "–", "", ""
    letters = {FAMILIES.get(name, ("?", "", ""))[0] for name in schedule.counts}
    inks = {FAMILIES.get(name, ("?", "", ""))[2] for name in schedule.counts}
    star = "" if schedule.compiler == "compiled" else "*"
    letter = letters.pop() if len(letters) == 1 else "?"
    return letter, f"{schedule.total}{star}", inks.pop() if len(inks) == 1 else ""


def _chart(run: Preflight, *, narrow: bool) -> alt.LayerChart:
    left, pitch, step = (106, 36, 31.8) if narrow else (148, 33, 64.5)
    head, width = 26, 330 if narrow else 600
    rows = list(run.matrix)
    drawn = {
        family for row in run.matrix.values() for s in row.values() for family in s.counts or {}
    }
    legend = _legend(drawn, narrow=narrow)
    body = head + pitch * len(rows)
    below = [line | {"y": body + line["y"]} for line in legend]
    foot = 12 + max(line["y"] for line in legend)
    frame = theme.Frame(width=width, height=int(body + foot), left=0, right=0, top=0, bottom=0)

    cells = []
    for down, policy in enumerate(rows):
        for place, target in enumerate(run.generations):
            schedule = run.matrix[policy].get(target)
            if schedule is None:
                continue
            letter, count, ink = _mark(schedule)
            cells.append(
                {
                    "x": left + place * step,
                    "x2": left + (place + 1) * step - 3,
                    "middle": left + (place + 0.5) * step - 1.5,
                    "y": head + down * pitch,
                    "y2": head + (down + 1) * pitch - 4,
                    "text_y": head + down * pitch + (9 if narrow else 11),
                    "count_y": head + down * pitch + (20 if narrow else 11),
                    "pips_y": head + down * pitch + (28 if narrow else 23),
                    "letter": letter if narrow else f"{letter} {count}".strip(),
                    "count": count if narrow else "",
                    "pips": schedule.rung.pips if schedule.rung else "○" * len(Rung),
                    "ink": ink or "none",
                }
            )
    names = [
        {"y": head + down * pitch + (pitch - 4) / 2, "text": _policy(policy)}
        for down, policy in enumerate(rows)
    ]
    heads = [
        {"x": left + (place + 0.5) * step - 1.5, "text": _generation(target)}
        for place, target in enumerate(run.generations)
    ]

    across = alt.Scale(domain=[0, width], nice=False)
    x = alt.X("x:Q", scale=across, axis=None)
    y, text_y, count_y, pips_y = (
        theme.down(field, frame.plot_height) for field in ("y", "text_y", "count_y", "pips_y")
    )
    middle = alt.X("middle:Q", scale=across, axis=None)
    filled = [theme.C1, theme.C2, theme.C3]
    boxes = alt.Chart(theme.rows(cells))
    layers = []
    for ink in filled:
        chosen = boxes.transform_filter(f"datum.ink=='{ink}'")
        layers.append(chosen.mark_rect(fill=ink).encode(x=x, x2="x2:Q", y=y, y2="y2:Q"))
    hollow = boxes.transform_filter("datum.ink=='none'")
    layers.append(
        hollow.mark_rect(filled=False, stroke=theme.RULE, strokeWidth=1).encode(
            x=x, x2="x2:Q", y=y, y2="y2:Q"
        )
    )
    for chosen, colour in (
        (boxes.transform_filter("datum.ink!='none'"), theme.PAPER),
        (hollow, theme.INK),
    ):
        said: dict[str, Any] = {"align": "center", "color": colour}
        layers += [
            chosen.mark_text(**said, fontSize=13, fontWeight=600).encode(
                x=middle, y=text_y, text="letter:N"
            ),
            chosen.mark_text(**said, fontSize=7).encode(x=middle, y=pips_y, text="pips:N"),
        ]
        if narrow:
            layers.append(
                chosen.mark_text(**said, fontSize=11).encode(x=middle, y=count_y, text="count:N")
            )
    layers += [
        alt.Chart(theme.rows(names))
        .mark_text(fontSize=12 if narrow else 13.5, fontWeight=600)
        .encode(x=alt.value(0), y=y, text="text:N"),
        alt.Chart(theme.rows(heads))
        .mark_text(align="center", fontSize=12 if narrow else 13, color=theme.INK2)
        .encode(x=x, y=alt.value(11), text="text:N"),
        alt.Chart(theme.rows(below))
        .mark_text(fontSize=13, fontWeight=600)
        .encode(x=x, y=y, text="letter:N"),
        alt.Chart(theme.rows(below))
        .mark_text(dx=16, fontSize=12.5, color=theme.INK2)
        .encode(x=x, y=y, text="text:N"),
    ]
    return frame.hold(*layers)


def _legend(drawn: set[str], *, narrow: bool) -> list[dict[str, Any]]:
    """Each letter that is drawn with its meaning, in one column or two."""
    entries = {FAMILIES[name][:2]: None for name in FAMILIES if name in drawn}
    told = [*entries, ("●", "a rung of evidence reached, ○ not reached")]
    columns = 1 if narrow else 2
    return [
        {
            "x": (at % columns) * 300,
            "y": 16 + 18 * (at // columns),
            "letter": letter,
            "text": text,
        }
        for at, (letter, text) in enumerate(told)
    ]
