"""What each line and plane of a profile adds up to: unions, nesting, clocks, and who owns what.

Ids: planes "p0", lines "p0/l3", clocks "c0", in the order of the file.
"""

import heapq
from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import repeat

from lab.kit.intervals import Nesting, Spans, nest
from lab.kit.profile_events import Line, Operation, Plane, Profile, View

WORK: tuple[View, ...] = ("ops", "stream", "modules")
"""Views of a device's time that can stand for its work, the most telling first."""


@dataclass(slots=True, kw_only=True, eq=False)
class LineFacts:
    """One line with its sums. Asynchronous events are parallel by nature, never nested."""

    id: str
    line: Line
    nesting: Nesting
    busy: Spans
    sum_ns: int
    zero_duration: int
    last_end: int | None

    @property
    def busy_ns(self) -> int:
        return self.busy.total

    @property
    def first(self) -> int | None:
        return self.line.starts[0] if len(self.line) else None


@dataclass(slots=True, kw_only=True, eq=False)
class PlaneFacts:
    """One plane with its lines; `work` are the spans in which its device worked."""

    id: str
    plane: Plane
    lines: list[LineFacts]
    busy: dict[View, int]
    clock: "Clock | None" = None
    work_view: View | None = None
    work: Spans = field(default_factory=lambda: Spans(()))

    @property
    def first(self) -> int | None:
        return min((line.first for line in self.lines if line.first is not None), default=None)

    @property
    def last(self) -> int | None:
        return max(
            (line.last_end for line in self.lines if line.last_end is not None), default=None
        )

    def at(self, time_ns: int) -> int:
        """A time relative to the plane's clock."""
        assert self.clock is not None  # a plane with an event has a clock
        return time_ns - self.clock.first


@dataclass(slots=True, kw_only=True, eq=False)
class Clock:
    """Planes of one file whose times overlap, and so can be compared."""

    id: str
    source: int
    first: int
    last: int
    planes: list[PlaneFacts]

    @property
    def kinds(self) -> list[str]:
        return sorted({plane.plane.kind for plane in self.planes})


@dataclass(slots=True, kw_only=True, eq=False)
class Measured:
    """A whole profile, measured."""

    profile: Profile
    planes: list[PlaneFacts]
    clocks: list[Clock]

    @property
    def devices(self) -> list[PlaneFacts]:
        return [plane for plane in self.planes if plane.plane.kind == "device"]

    @property
    def hosts(self) -> list[PlaneFacts]:
        return [plane for plane in self.planes if plane.plane.kind == "host"]

    def devices_beside(self, plane: PlaneFacts) -> list[PlaneFacts]:
        """Device planes with events whose times can be compared with this plane's."""
        return [
            each
            for each in self.devices
            if each.clock is not None and each.clock is plane.clock and len(each.work)
        ]

    @property
    def host_device_comparable(self) -> bool | None:
        """Whether every device's times overlap some host's; None where one of the two is absent."""
        devices = [plane for plane in self.devices if plane.clock]
        if not devices or not any(plane.clock for plane in self.hosts):
            return None
        return all("host" in plane.clock.kinds for plane in devices if plane.clock)


def measure(profile: Profile) -> Measured:
    """Measure every line, name the operations of each device by their module, find the clocks."""
    planes = []
    for index, plane in enumerate(profile.planes):
        lines = [_line(line, f"p{index}/l{place}") for place, line in enumerate(plane.lines)]
        busy = _busy(lines)
        facts = PlaneFacts(
            id=f"p{index}",
            plane=plane,
            lines=lines,
            busy={view: spans.total for view, spans in busy.items()},
        )
        if plane.kind == "device":
            _name_by_module(plane)
            facts.work_view = next((view for view in WORK if view in busy), None)
            if facts.work_view:
                facts.work = busy[facts.work_view]
        planes.append(facts)
    return Measured(profile=profile, planes=planes, clocks=_clocks(planes))


def events(lines: Sequence[LineFacts]) -> Iterator[tuple[int, int, int, int]]:
    """(start, end, index of the line, place in it) of all events of some lines, by start."""

    parts = [
        zip(line.line.starts, ends(line.line), repeat(index), range(len(line.line)), strict=False)
        for index, line in enumerate(lines)
    ]
    return iter(parts[0]) if len(parts) == 1 else heapq.merge(*parts)


def ends(line: Line) -> Iterator[int]:
    """The end of each event."""
    return map(int.__add__, line.starts, line.durations)


def started_within(line: Line, start: int, end: int) -> range:
    """The places of the events that start in [start, end)."""
    return range(bisect_left(line.starts, start), bisect_left(line.starts, end))


def inside(line: Line, start: int, end: int, tolerance: int) -> Iterator[int]:
    """The places of the events that lie in [start, end], the end with a tolerance."""
    for at in range(bisect_left(line.starts, start), bisect_right(line.starts, end)):
        if line.end(at) <= end + tolerance:
            yield at


def _busy(lines: Iterable[LineFacts]) -> dict[View, Spans]:
    """By view, when at least one of its lines is busy."""
    by_view: dict[View, list[Spans]] = {}
    for line in lines:
        if len(line.line):
            by_view.setdefault(line.line.view, []).append(line.busy)
    return {
        view: spans[0] if len(spans) == 1 else Spans(heapq.merge(*spans))
        for view, spans in by_view.items()
    }


def _line(line: Line, name: str) -> LineFacts:
    nesting = _flat(line) if line.view == "async" else nest(line.starts, line.durations)
    return LineFacts(
        id=name,
        line=line,
        nesting=nesting,
        busy=Spans(zip(line.starts, ends(line), strict=True)),
        sum_ns=sum(line.durations),
        zero_duration=line.durations.count(0),
        last_end=max(ends(line), default=None),
    )


def _flat(line: Line) -> Nesting:
    count = len(line)
    return Nesting(
        self_ns=line.durations,
        depths=array("i", bytes(4 * count)),
        parents=array("i", [-1]) * count,
        overlapping=0,
        first_overlaps=(),
    )


def _name_by_module(plane: Plane) -> None:
    """Operations of a TPU carry no program: they belong to the module in whose time they lie."""
    modules = [line for line in plane.lines_of("modules") if len(line)]
    if len(modules) != 1:
        return
    (module,) = modules
    for line in plane.lines:
        if line.view in ("ops", "async"):
            for at in range(len(line)):
                if line.operations[at] < 0:
                    owner = bisect_right(module.starts, line.starts[at]) - 1
                    if owner >= 0 and line.starts[at] < module.end(owner):
                        line.operations[at] = module.operations[owner]


def _clocks(planes: Sequence[PlaneFacts]) -> list[Clock]:
    """Planes of one file share a clock where their times overlap, directly or through others."""
    clocks: list[Clock] = []
    timed = [
        (plane.plane.source, plane.first, plane.last, plane)
        for plane in planes
        if plane.first is not None and plane.last is not None
    ]
    for source, first, last, plane in sorted(timed, key=lambda item: item[:3]):
        open_clock = clocks[-1] if clocks and clocks[-1].source == source else None
        if open_clock and first <= open_clock.last:
            open_clock.last = max(open_clock.last, last)
            open_clock.planes.append(plane)
        else:
            clocks.append(
                Clock(id=f"c{len(clocks)}", source=source, first=first, last=last, planes=[plane])
            )
        plane.clock = clocks[-1]
    return clocks


def operation_of(profile: Profile, line: Line, at: int) -> Operation | None:
    number = line.operations[at]
    return profile.operations[number] if number >= 0 else None
