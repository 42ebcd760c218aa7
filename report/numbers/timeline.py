"""What a timeline shows of a capture, outside in: steps, then lanes, then the longest operations.

Everything is bounded: a row with too many marks is put into columns, each as high as the time in
it that was busy, and what is not drawn is counted. Only one clock is drawn.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from report.notation import render
from report.numbers.profile import (
    VIEWS,
    Lane,
    Operation,
    Plane,
    Profile,
    Span,
    Step,
    own_ns,
    shortened,
)

HOST_ROWS, DEVICE_ROWS = 4, 8
"""Lanes that are drawn of each; the others are in the table of lanes."""
MARKS, FEWEST, ALL = 120, 24, 1_600
"""Marks of one row at one depth, from which they become that many columns: at most, at least, and
as many as keep all rows together near the last number."""
LONGEST = 6
"""Operations that have a row of their own."""
NUMBERED = 60
"""Steps that can be chosen one by one."""
MARGIN = 0.02
"""Of the measured window, drawn on both sides of it."""

_THREAD = re.compile(r"/-?\d{10,}$")
"""A thread's number, which is another one each time."""

Part = Literal["steps", "host", "device", "operation"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Mark(Span):
    """One rectangle: an event, or a column that stands for several."""

    depth: int
    name: str
    events: int = 1
    """How many events begin in it."""
    share: float = 1.0
    """Of its time that was busy."""
    merged: bool = False
    """Whether it stands for several events, in a column or as the lab summed them up."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One row, whatever its marks stand for."""

    part: Part
    label: str
    aside: str
    marks: tuple[Mark, ...]
    depth: int
    """Levels of nesting that are drawn, at least 1."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Timeline:
    """The rows of one drawing over one stretch of one clock."""

    name: str
    window: Span
    rows: tuple[Row, ...]
    steps: tuple[tuple[str, Span], ...]
    """Steps that can be looked at one by one, with their labels."""
    columned: int
    """Events that are drawn in columns and not one by one."""
    hidden: tuple[str, ...]
    """What is not drawn, each in a few words."""


def lay_out(profile: Profile) -> Timeline | None:
    """The timeline of a capture; None when there is no lane to draw."""
    clock = profile.window_clock or _fullest_clock(profile.lanes)
    lanes = [lane for lane in profile.lanes if lane.clock == clock and lane.intervals]
    window = profile.window or _all_of(lanes)
    if not lanes or window is None or not window.duration_ns:
        return None
    window = _with_margin(window)
    planes = {plane.id: plane for plane in profile.planes}
    on_clock = [step for step in profile.steps if planes[step.plane].clock == clock]
    drawn = _chosen(lanes, planes)
    whole = [
        *_step_rows(on_clock),
        *(_lane_row(lane, planes[lane.plane]) for lane in drawn),
        *_operation_rows(profile, lanes),
    ]
    most = max(FEWEST, min(MARKS, ALL // sum(row.depth for row in whole)))
    rows = [replace(row, marks=tuple(_bounded(row, window, most))) for row in whole]
    outside = sum(
        interval.events
        for lane in drawn
        for interval in lane.intervals
        if not _overlaps(interval, window)
    )
    elsewhere = len([lane for lane in profile.lanes if lane.intervals]) - len(lanes)
    return Timeline(
        name=f"timeline-{profile.name}",
        window=window,
        rows=tuple(rows),
        steps=tuple(
            (step.label, Span(start_ns=step.start_ns, duration_ns=step.duration_ns))
            for step in on_clock[:NUMBERED]
        ),
        columned=sum(mark.events for row in rows for mark in row.marks if mark.merged),
        hidden=tuple(
            _hidden(
                (len(lanes) - len(drawn) + profile.lanes_left_out.count, "lanes"),
                (elsewhere, "lanes on another clock"),
                (outside, "events outside the steps"),
                (
                    sum(lane.hidden for lane in drawn),
                    "events that were merged, too short or nested too deep",
                ),
            )
        ),
    )


def _chosen(lanes: Sequence[Lane], planes: Mapping[str, Plane]) -> list[Lane]:
    """Host lanes with most events, then those of devices: what each works on before all else."""
    host = [lane for lane in lanes if planes[lane.plane].kind != "device"]
    device = [lane for lane in lanes if planes[lane.plane].kind == "device"]
    host.sort(key=lambda lane: (lane.view != "host", -lane.events))
    device.sort(key=lambda lane: (lane.view != planes[lane.plane].work, VIEWS.index(lane.view)))
    kept = device[:DEVICE_ROWS]
    return [*host[:HOST_ROWS], *(lane for lane in device if lane in kept)]


def _fullest_clock(lanes: Sequence[Lane]) -> str:
    events: dict[str, int] = {}
    for lane in lanes:
        events[lane.clock] = events.get(lane.clock, 0) + lane.events
    return max(events, key=lambda clock: events[clock], default="")


def _all_of(lanes: Sequence[Lane]) -> Span | None:
    intervals = [interval for lane in lanes for interval in lane.intervals]
    if not intervals:
        return None
    start = min(interval.start_ns for interval in intervals)
    end = max(interval.end_ns for interval in intervals)
    return Span(start_ns=start, duration_ns=end - start)


def _with_margin(window: Span) -> Span:
    margin = min(round(window.duration_ns * MARGIN), window.start_ns)
    after = round(window.duration_ns * MARGIN)
    return Span(start_ns=window.start_ns - margin, duration_ns=window.duration_ns + margin + after)


def _step_rows(steps: Sequence[Step]) -> Iterator[Row]:
    marks = [
        Mark(
            start_ns=step.start_ns,
            duration_ns=step.duration_ns,
            depth=0,
            name=shortened(step.label),
        )
        for step in steps
    ]
    if marks:
        yield Row(
            part="steps",
            label="Steps",
            aside=f"{len(steps):,}, as annotated on the host",
            marks=tuple(marks),
            depth=1,
        )


def _lane_row(lane: Lane, plane: Plane) -> Row:
    marks = tuple(
        Mark(
            start_ns=interval.start_ns,
            duration_ns=interval.duration_ns,
            depth=interval.depth,
            name=shortened(interval.name),
            events=interval.events,
            share=interval.covered_ns / interval.duration_ns if interval.duration_ns else 1.0,
            merged=interval.events > 1,
        )
        for interval in lane.intervals
    )
    return Row(
        part="device" if plane.kind == "device" else "host",
        label=_THREAD.sub("", f"{plane.name} {lane.name}".strip()),
        aside=_counted(lane.events),
        marks=marks,
        depth=1 + max((mark.depth for mark in marks), default=0),
    )


def _operation_rows(profile: Profile, lanes: Sequence[Lane]) -> Iterator[Row]:
    """The operations that took most time, each with those of its events that a lane still shows.

    Lanes tell names and not programs, so operations of one name share a row.
    """
    whole = profile.work_ns
    by_name: dict[str, list[Operation]] = {}
    for operation in profile.work:
        by_name.setdefault(operation.name, []).append(operation)
    ranked = sorted(by_name.items(), key=lambda item: -own_ns(item[1]))
    for name, operations in ranked[:LONGEST]:
        count = sum(operation.count for operation in operations)
        share = f", {render(own_ns(operations) / whole, 'percent(0)')} of the time" if whole else ""
        yield Row(
            part="operation",
            label=operations[0].label,
            aside=f"{_counted(count)}{share}",
            marks=tuple(
                Mark(
                    start_ns=event.start_ns,
                    duration_ns=event.duration_ns,
                    depth=0,
                    name=operations[0].label,
                )
                for event in _events_of(name, operations, lanes)
            ),
            depth=1,
        )


def _events_of(name: str, operations: Sequence[Operation], lanes: Sequence[Lane]) -> Iterable[Span]:
    """Each once: those that a lane has by themselves, and the longest of each operation."""
    shown = {lane.line for lane in lanes}
    longest = [op.longest for op in operations if op.longest and op.longest.line in shown]
    alone = [
        interval
        for lane in lanes
        for interval in lane.intervals
        if interval.events == 1 and interval.name == name
    ]
    return {(span.start_ns, span.duration_ns): span for span in (*longest, *alone)}.values()


def _counted(events: int) -> str:
    return f"{events:,} event{'' if events == 1 else 's'}"


def _bounded(row: Row, window: Span, most: int) -> Iterator[Mark]:
    """The marks in the window as they are, or in columns where one depth has too many."""
    for depth in range(row.depth):
        inside = [mark for mark in row.marks if mark.depth == depth and _overlaps(mark, window)]
        yield from inside if len(inside) <= most else _columns(inside, window, most)


def _columns(marks: Sequence[Mark], window: Span, count: int) -> Iterator[Mark]:
    """Columns of equal width, each with the share of its time that its marks were busy."""
    width = window.duration_ns / count
    busy, events = [0.0] * count, [0] * count
    for mark in marks:
        first = max(0, int((mark.start_ns - window.start_ns) / width))
        last = min(count - 1, int((mark.end_ns - window.start_ns) / width))
        events[min(first, count - 1)] += mark.events
        for column in range(first, last + 1):
            left = window.start_ns + column * width
            inner = min(mark.end_ns, left + width) - max(mark.start_ns, left)
            busy[column] += max(0.0, inner) * mark.share
    for column in range(count):
        if busy[column] > 0:
            yield Mark(
                start_ns=round(window.start_ns + column * width),
                duration_ns=round(width),
                depth=marks[0].depth,
                name="",
                events=events[column],
                share=min(1.0, busy[column] / width),
                merged=True,
            )


def _overlaps(span: Span, window: Span) -> bool:
    return span.start_ns < window.end_ns and span.end_ns > window.start_ns


def _hidden(*parts: tuple[int, str]) -> Iterator[str]:
    for count, words in parts:
        if count > 0:
            yield f"{count:,} {words}"
