"""A capture over time, outside in: steps, lanes of host and device, then the longest operations."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import altair as alt

from report.errors import UsageFault
from report.exhibit import Cell, Column, Control, Figure, Scalar, Table, code, literal, number
from report.figures import theme
from report.figures.render import render as draw_both
from report.notation import render
from report.numbers.measures import NS_PER_S, measure
from report.numbers.profile import Profile, Span
from report.numbers.timeline import Mark, Part, Row, Timeline, lay_out

BAR, PITCH = 15, 17
"""Height of a mark and of one level of nesting, in px."""
HEAD, LABEL, BELOW = 20, 17, 9
"""Heights of a part's name and of a row's, and the room below a row, in px."""
LETTER = 6.1
"""Width of a letter inside a mark, in px."""
CLOSEST = 64
"""How far one can go in."""

PARTS: Mapping[Part, str] = {
    "steps": "Steps",
    "host": "Host lanes",
    "device": "Device lanes",
    "operation": "Longest operations",
}
COLOURS: Mapping[Part, str] = {
    "steps": theme.C3,
    "host": theme.INK2,
    "device": theme.C1,
    "operation": theme.C2,
}
NO_DEVICE = "No device lane: this says nothing about device time."
NO_WORK = "No line of a device tells what it ran: this says nothing about device time."


@dataclass(frozen=True, slots=True, kw_only=True)
class Unit:
    """The unit of the axis, and the nanoseconds in one of it."""

    symbol: str
    ns: int


def name_of(record: str) -> str:
    return f"timeline-{record}"


def draw(profile: Profile) -> Figure:
    """Rows over one clock; the live figure goes into a step, and closer."""
    timeline = lay_out(profile)
    if timeline is None:
        raise UsageFault(f"The capture of {profile.name} holds no lane to draw.")
    name, unit = name_of(profile.name), _unit(timeline.window)
    alt_text = _in_words(profile, timeline)
    columns = (
        f" {timeline.columned:,} events are drawn in columns, each as high as the share of its"
        " time that was busy."
        if timeline.columned
        else ""
    )
    hidden = f" Not drawn: {', '.join(timeline.hidden)}." if timeline.hidden else ""
    return Figure(
        name=name,
        title=_finding(profile),
        reading=(
            "Time runs to the right, one row a lane, nested events below what holds them. Steps"
            " are annotations on the host: they include dispatch and waiting, and are not the"
            " time of any kernel."
        ),
        caption=(
            "Lanes side by side are concurrent, and nested times are parts of one another, so"
            " none of them may be added. The row of an operation shows those of its events that"
            f" the summary still tells apart.{columns}{hidden}"
        ),
        alt_text=alt_text,
        kind="measured",
        drawing=draw_both(
            name,
            _chart(timeline, unit, absent=_absent(profile), narrow=False),
            _chart(timeline, unit, absent=_absent(profile), narrow=True),
            alt_text=alt_text,
            controls=_controls(timeline),
        ),
        table=_table(profile, timeline),
        data=tuple(_data(timeline)),
        sources=(profile.source,),
        draws=(
            "python build.py figure timeline --evidence DIR --out FILE"
            if profile.source.href.startswith("records/")
            else ""
        ),
    )


def _finding(profile: Profile) -> str:
    """What the drawing shows at first sight, whatever the capture holds."""
    found, at = measure(profile), f"study#/trace/{profile.name}"
    busy, ratio = found["device_step_share"].number, found["first_step_ratio"].number
    count = len(profile.steps)
    told = f"{number(f'{at}/steps', 'integer')} step{'' if count == 1 else 's'}"
    steps = told if count else "No steps"
    if not profile.sees_devices:
        lane = "no device whose work can be told" if profile.busy_planes else "no device lane"
        return f"{steps} on the host, and {lane}."
    if busy is not None:
        longer = number(f"{at}/first_step_ratio", "fixed(1)")
        first = f"; the first step lasts {longer} times the others" if ratio else ""
        within = number(f"{at}/device_step_share", "percent(0)")
        return f"Devices run operations in {within} of the steps{first}."
    paths = [f"devices/{plane.id}/busy_share" for plane in profile.busy_planes]
    known = [(share, path) for path in paths if (share := found[path].number) is not None]
    if not known or profile.host_device_comparable is False:
        return f"{steps}, and devices whose times cannot be set beside them."
    ends = [number(f"{at}/{path}", "percent(0)") for _, path in (min(known), max(known))]
    same = len({render(share, "percent(0)") for share, _ in (min(known), max(known))}) == 1
    planes = number(f"{at}/device_planes_with_busy_time", "integer")
    spread = ends[0] if same else " to ".join(ends)
    return f"{steps}, and {planes} device planes that are busy for {spread} of their span."


def _in_words(profile: Profile, timeline: Timeline) -> str:
    rows = "; ".join(f"{row.label}, {row.aside}" for row in timeline.rows)
    told = f"A timeline of {_time(timeline.window.duration_ns)}. Rows: {rows}. {_absent(profile)}"
    return told.rstrip()


def _absent(profile: Profile) -> str:
    """What stands in place of device lanes; empty when the work of a device is there."""
    if profile.sees_devices:
        return ""
    return NO_WORK if profile.busy_planes else NO_DEVICE


def _time(ns: int) -> str:
    return render(ns / NS_PER_S, "seconds(1)")


def _unit(window: Span) -> Unit:
    for symbol, ns in (("µs", 1_000), ("ms", 1_000_000)):
        if window.duration_ns < 5_000 * ns:
            return Unit(symbol=symbol, ns=ns)
    return Unit(symbol="s", ns=NS_PER_S)


def _data(timeline: Timeline) -> Iterator[dict[str, Scalar]]:
    for row in timeline.rows:
        for mark in row.marks:
            yield {
                "part": row.part,
                "row": row.label,
                "name": mark.name,
                "depth": mark.depth,
                "start_ns": mark.start_ns,
                "duration_ns": mark.duration_ns,
                "events": mark.events,
                "busy_share": mark.share,
            }


def _table(profile: Profile, timeline: Timeline) -> Table:
    """One line a row; the page has tables of everything else."""
    return Table(
        name=f"{timeline.name}-rows",
        title="Rows, as drawn",
        caption="",
        columns=(
            Column(head="Row"),
            Column(head="Part"),
            Column(head="Holds"),
            Column(head="Marks", numeric=True),
            Column(head="In columns", numeric=True),
        ),
        rows=tuple(
            (
                Cell(text=code(row.label)),
                Cell(text=PARTS[row.part]),
                Cell(text=literal(row.aside)),
                Cell(text=f"{len(row.marks):,}"),
                Cell(text=f"{sum(mark.merged for mark in row.marks):,}"),
            )
            for row in timeline.rows
        ),
        sources=(profile.source,),
    )


# The chart ---------------------------------------------------------------------------------


def _chart(timeline: Timeline, unit: Unit, *, absent: str, narrow: bool) -> alt.LayerChart:
    width = 330 if narrow else 600
    texts, marks, height = _place(timeline, unit, absent=absent)
    frame = theme.Frame(width=width, height=height + 44, left=2, right=2, top=0, bottom=44)
    pixel = f"(t1-t0)/{frame.plot_width}"
    wide = f"(min(datum.e,t1)-datum.a)>3*{pixel}"
    end = f"{wide}?min(datum.e,t1)-0.7*{pixel}:max(min(datum.e,t1),datum.a+{pixel})"
    letters = f"floor((datum.b-datum.a)/({pixel}*{LETTER})-1)"
    x = alt.X(
        "a:Q",
        scale=alt.Scale(domain=[{"expr": "t0"}, {"expr": "t1"}], nice=False, zero=False),
        axis=alt.Axis(
            title=f"{unit.symbol} from the beginning of the clock",
            tickCount=4 if narrow else 7,
            labelFlush=True,
        ),
    )
    y, middle = theme.down("y", frame.plot_height), theme.down("m", frame.plot_height)
    colour = alt.Color(
        "p:N",
        scale=alt.Scale(domain=list(COLOURS), range=list(COLOURS.values())),
        legend=None,
    )
    inside = (
        alt.Chart(theme.rows(marks))
        .transform_filter("datum.e>=t0 && datum.s<=t1")
        .transform_calculate(a="max(datum.s,t0)")
        .transform_calculate(b=end)
    )
    named = (
        inside.transform_filter("datum.n!=''")
        .transform_calculate(
            room=letters, full="length(datum.n)", m=f"datum.z-{BAR / 2}", number="datum.i||''"
        )
        .transform_calculate(
            text="datum.room>=datum.full?datum.n:datum.room>=5?truncate(datum.n,datum.room)"
            ":datum.room>=length(datum.number)?datum.number:''"
        )
        .transform_filter("datum.text!=''")
    )
    written = alt.Chart(theme.rows(texts))
    return frame.hold(
        *(
            inside.transform_filter(f"datum.w=={merged}")
            .mark_rect(opacity=opacity)
            .encode(x=x, x2="b:Q", y=y, y2="z:Q", color=colour)
            for merged, opacity in ((0, 1), (1, 0.55))
        ),
        named.mark_text(fontSize=11, dx=3, color=theme.PAPER).encode(x=x, y=middle, text="text:N"),
        *(
            written.transform_filter(f"datum.k=='{kind}'")
            .mark_text(limit=frame.plot_width, **style)
            .encode(
                x=alt.value(0),
                y=y,
                text="n:N",
                **({"color": colour} if kind == "part" else {}),
            )
            for kind, style in (("part", theme.NAME), ("row", theme.ASIDE))
        ),
        params=_params(timeline, unit),
    )


def _place(
    timeline: Timeline, unit: Unit, *, absent: str
) -> tuple[list[dict[str, Any]], list[dict[str, Any]], int]:
    """Texts and marks with their places from the top, and the height of all."""
    texts: list[dict[str, Any]] = []
    marks: list[dict[str, Any]] = []
    top, part = 0, ""
    for row in timeline.rows:
        if row.part != part:
            if row.part == "operation" and absent:
                texts += [
                    {"k": "part", "p": "device", "y": top + 10, "n": PARTS["device"]},
                    {"k": "row", "p": "device", "y": top + 10 + LABEL, "n": absent},
                ]
                top += HEAD + LABEL + BELOW
            texts.append({"k": "part", "p": row.part, "y": top + 10, "n": PARTS[row.part]})
            top, part = top + HEAD, row.part
        label = row.aside if row.part == "steps" else f"{row.label} · {row.aside}"
        texts.append({"k": "row", "p": row.part, "y": top + LABEL / 2, "n": label})
        top += LABEL
        marks += [_mark(mark, row, top, unit) for mark in row.marks]
        top += row.depth * PITCH + BELOW
    return texts, marks, top


def _mark(mark: Mark, row: Row, top: int, unit: Unit) -> dict[str, Any]:
    bottom = top + mark.depth * PITCH + BAR
    number = {"i": mark.name.partition(" ")[0]} if row.part == "steps" else {}
    return {
        **number,
        "s": round(mark.start_ns / unit.ns, 4),
        "e": round(mark.end_ns / unit.ns, 4),
        "y": round(bottom - max(1.0, BAR * mark.share), 1) if mark.merged else bottom - BAR,
        "z": bottom,
        "p": row.part,
        "n": "" if row.part == "operation" else mark.name,
        "w": int(mark.merged),
    }


# The live figure ---------------------------------------------------------------------------


def _params(timeline: Timeline, unit: Unit) -> list[alt.Parameter]:
    """The stretch that is shown: of the whole or of one step, then closer around one place."""
    low, high = (_in(unit, at) for at in (timeline.window.start_ns, timeline.window.end_ns))
    spans = [(_in(unit, span.start_ns), _in(unit, span.end_ns)) for _, span in timeline.steps]
    names = [label for label, _ in timeline.steps]

    def of(values: Sequence[Any], otherwise: object) -> str:
        return f"step=='all'?{otherwise}:({json.dumps(values)})[toNumber(step)]"

    shown = of([f"step {name}" for name in names], "'the whole capture'")
    summary = (
        f"'From '+format(t0,',.6~g')+' to '+format(t1,',.6~g')+' {unit.symbol}, '+({shown})+"
        "(zoom>1?', '+zoom+' times closer':'')+'.'"
    )
    return [
        alt.param(name="step", value="all"),
        alt.param(name="zoom", value=1),
        alt.param(name="at", value=50),
        alt.param(name="low", expr=of([start for start, _ in spans], low)),
        alt.param(name="high", expr=of([end for _, end in spans], high)),
        alt.param(name="t0", expr="low+(high-low)*(1-1/zoom)*at/100"),
        alt.param(name="t1", expr="t0+(high-low)/zoom"),
        alt.param(name="summary", expr=summary),
    ]


def _in(unit: Unit, ns: int) -> float:
    return round(ns / unit.ns, 4)


def _controls(timeline: Timeline) -> tuple[Control, ...]:
    steps = tuple((str(at), f"step {label}") for at, (label, _) in enumerate(timeline.steps))
    return (
        Control(
            signal="step", label="Show", value="all", options=(("all", "the whole capture"), *steps)
        ),
        Control(
            signal="zoom",
            label="Closer",
            value=1,
            minimum=1,
            maximum=CLOSEST,
            step=0.5,
            log2=True,
            unit="times",
        ),
        Control(signal="at", label="Around", value=50, minimum=0, maximum=100, unit="% of the way"),
    )
