"""One profiler capture as typed values, in the order in which a reader takes it: outside in.

First what the files hold and whether that may be believed, then steps, then lanes, then
operations and gaps. Times are nanoseconds from the beginning of a clock. What a capture does not
tell is None or empty, never zero.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from statistics import median
from typing import Literal

from report.source import Source

Level = Literal["ok", "note", "warning"]
"""How a finding bears on what may be concluded."""

DEVICE_VIEWS = ("steps", "modules", "ops", "async", "stream", "annotation")
"""What a line of a device shows. They are views of one time, so they are never added."""
WORK_VIEWS = ("ops", "stream")
"""The views whose events are what a device runs: a TPU's operations, a GPU's kernels."""
VIEWS = (*DEVICE_VIEWS, "host", "python", "other")
OPERATION_VIEWS = (*VIEWS, "host-op")
"""Whose events are counted by name. `host-op` is an operation that a CPU ran on a host thread."""
CATEGORIES = ("matrix", "collective", "copy", "transfer", "compile", "other")
LABEL = 48
"""Characters of a name where room is scarce."""
GAP_KINDS = ("between-steps", "between-operations")


@dataclass(frozen=True, slots=True, kw_only=True)
class Span:
    """A stretch of time."""

    start_ns: int
    duration_ns: int

    @property
    def end_ns(self) -> int:
        return self.start_ns + self.duration_ns


@dataclass(frozen=True, slots=True, kw_only=True)
class Placed(Span):
    """A stretch of time on a plane, and on which of its lines where that is told."""

    plane: str
    line: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceFile:
    """One file that was read."""

    name: str
    format: str
    bytes: int
    sha256: str
    host: str
    events: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Clock:
    """One clock and the planes that it times. Times of two clocks cannot be compared."""

    id: str
    span_ns: int
    planes: tuple[str, ...]
    resolution_ns: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Device:
    """Which device a plane is of, as far as its file says."""

    type: str
    """As the file spells it; empty when it does not say."""
    chip: str
    """The chip that this spelling names exactly, such as `v6e`; empty when it names none."""
    platform: str
    """`tpu` or `gpu`; empty when unknown."""
    ordinal: int | None
    tensor_cores: int | None
    shows: str
    """`chip` or `core`: what one plane of this chip is; empty when unknown."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Plane:
    """What one device, or one host, recorded. It may be there and hold nothing."""

    id: str
    name: str
    kind: str
    """`device`, `host`, `metadata`, `environment` or `other`."""
    host: str
    device: Device | None
    lines: int
    events: int
    zero_duration: int
    clock: str
    """Empty when it holds no time."""
    span_ns: int | None
    """From its first event to the end of its last."""
    busy_ns: Mapping[str, int]
    """By view: the union over the plane's lines of that view."""
    work: str
    """The view that tells when a device ran anything; empty for a plane without one."""
    stats: Mapping[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """One line of one plane."""

    id: str
    plane: str
    name: str
    view: str
    events: int
    zero_duration: int
    span_ns: int | None
    """From its first event to the end of its last."""
    busy_ns: int
    """The union of its events: nested and parallel ones count once."""
    sum_ns: int
    """The sum of their durations, which counts them again and again."""
    depth: int
    """How deep its events nest; 1 when they do not."""
    overlapping: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ProgramRun:
    """A compiled program, and how many of its operations started in a step."""

    module: str
    program_id: str
    """As a text, since it may be larger than what a browser counts exactly; empty if untold."""
    operations: int


@dataclass(frozen=True, slots=True, kw_only=True)
class DeviceShare:
    """What one device did inside one host step, on a clock that both share."""

    plane: str
    view: str
    busy_ns: int
    first_ns: int
    """From the step's start to the device's first work in it."""
    last_end_ns: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Step(Placed):
    """One annotated step on the host: it includes dispatch and waiting."""

    number: int | None
    name: str
    inner: str
    """The annotation inside it; empty when there is none, or several."""
    complete: bool
    """False when the capture's end may have cut it."""
    contains: tuple[str, ...]
    contains_left_out: int
    programs: tuple[ProgramRun, ...]
    operations_busy_ns: int | None
    """The union of the operations that ran on host threads inside it, as a CPU's do."""
    devices: tuple[DeviceShare, ...]
    compiles: int

    @property
    def key(self) -> tuple[str, int | None, str]:
        """By which steps of two captures are the same step."""
        return self.name, self.number, self.inner

    @property
    def label(self) -> str:
        number = "" if self.number is None else f"{self.number} "
        return f"{number}{self.inner or self.name}"


@dataclass(frozen=True, slots=True, kw_only=True)
class StepTimes:
    """What steps last, with the first and without it."""

    durations_ns: tuple[int, ...]

    @property
    def first_ns(self) -> int:
        return self.durations_ns[0]

    @property
    def median_ns(self) -> float:
        return median(self.durations_ns)

    @property
    def steady_ns(self) -> float | None:
        """The median without the first; None when there is no other."""
        return median(self.durations_ns[1:]) if len(self.durations_ns) > 1 else None

    @property
    def first_ratio(self) -> float | None:
        return self.first_ns / self.steady_ns if self.steady_ns else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Operation:
    """All events of one name in one program, in one view."""

    view: str
    name: str
    hlo_op: str
    opcode: str
    module: str
    program_id: str
    category: str
    """One of CATEGORIES; empty when its name does not tell."""
    rematerialized: bool
    count: int
    total_ns: int
    self_ns: int
    """Without what ran inside it on the same line."""
    max_ns: int
    planes: int
    device_total_ns: int | None
    device_self_ns: int | None
    """The same by the device's own clock, where its events tell that."""
    longest: Placed | None

    @property
    def label(self) -> str:
        return shortened(self.hlo_op or self.name)


@dataclass(frozen=True, slots=True, kw_only=True)
class Gap(Placed):
    """Nothing on a line between two events, or no step between two steps."""

    kind: str
    view: str
    after: str
    before: str
    step: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Compile(Placed):
    """One compilation in the capture."""

    name: str
    in_window: bool | None
    """None when there are no steps to tell a window by."""
    step: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Interval(Span):
    """A piece of a lane as it is drawn: one event, or several that were merged."""

    name: str
    """Empty when it stands for events of several names."""
    events: int
    covered_ns: int
    """The union of what it stands for."""
    depth: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Lane:
    """A line in the bounded form that can be drawn."""

    line: str
    plane: str
    view: str
    name: str
    clock: str
    events: int
    intervals: tuple[Interval, ...]
    hidden: int
    """Events that no interval shows by itself."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One answer of the qualification, in the reader's words."""

    id: str
    level: Level
    words: str
    spans: tuple[Placed, ...]
    """Where it was seen, where that is an interval."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LeftOut:
    """What a bounded list does not hold."""

    count: int
    total_ns: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Profile:
    """One capture, summarized."""

    name: str
    """Of its record, or of the file that was read."""
    source: Source
    """The summary that all of this is read from."""
    platform: str
    """Where the run says it ran: cpu, gpu or tpu; empty when nobody says."""
    reader: str
    files: tuple[SourceFile, ...]
    aside: tuple[tuple[str, str], ...]
    """Files that were not read, each with the reason."""
    hosts: tuple[str, ...]
    processes: tuple[int, ...]
    missing_processes: tuple[int, ...]
    clocks: tuple[Clock, ...]
    host_device_comparable: bool | None
    """None when one of the two is not there to compare."""
    planes: tuple[Plane, ...]
    note: str
    lines: tuple[Line, ...]
    window: Span | None
    window_clock: str
    steps: tuple[Step, ...]
    device_steps: int
    operations: tuple[Operation, ...]
    operations_left_out: Mapping[str, LeftOut]
    self_ns: Mapping[str, int]
    """By view: the own time of all operations, the listed and the others."""
    gaps: tuple[Gap, ...]
    gap_totals: Mapping[str, LeftOut]
    """By kind: how many gaps there were in all, and their time."""
    compiles: tuple[Compile, ...]
    compiles_left_out: LeftOut
    odd_events: Mapping[str, int]
    lost_events: int | None
    lanes: tuple[Lane, ...]
    lanes_left_out: LeftOut
    steps_left_out: LeftOut
    findings: tuple[Finding, ...]
    device_clock: bool = False
    """Whether operations cost what they do by the device's own clock, and not by the host's."""

    @property
    def device_planes(self) -> tuple[Plane, ...]:
        return tuple(plane for plane in self.planes if plane.kind == "device")

    @property
    def busy_planes(self) -> tuple[Plane, ...]:
        """Device planes that hold events; empty ones are never averaged in."""
        return tuple(plane for plane in self.device_planes if plane.events)

    @property
    def sees_devices(self) -> bool:
        """Whether the work of any device is in the capture."""
        return any(plane.work for plane in self.busy_planes)

    @property
    def blind(self) -> str:
        """Why no device's work can be told; empty when it can."""
        if self.sees_devices:
            return ""
        if self.busy_planes:
            return "no line of a device plane in this capture tells what the device ran"
        return "there is no device lane in this capture"

    @property
    def led(self) -> tuple[tuple[int, Step], ...]:
        """The steps that the capture is about, with their places: one name, on one plane.

        Other annotations may look like steps, and other hosts annotate the same ones again.
        """
        groups: dict[tuple[str, str], list[tuple[int, Step]]] = {}
        for at, step in enumerate(self.steps):
            groups.setdefault((step.name, step.plane), []).append((at, step))
        longest = max(groups, key=lambda group: len(groups[group]), default=None)
        return tuple(groups[longest]) if longest else ()

    @property
    def whole_steps(self) -> tuple[tuple[int, Step], ...]:
        """Those of them that the capture did not cut, since a cut step has no duration."""
        return tuple((at, step) for at, step in self.led if step.complete)

    @property
    def times(self) -> StepTimes | None:
        durations = tuple(step.duration_ns for _, step in self.whole_steps)
        return StepTimes(durations_ns=durations) if durations else None

    @property
    def events(self) -> int:
        return sum(plane.events for plane in self.planes)

    def plane(self, id_: str) -> Plane:
        return next(plane for plane in self.planes if plane.id == id_)

    def line(self, id_: str) -> Line | None:
        return next((line for line in self.lines if line.id == id_), None)

    def of_view(self, *views: str) -> tuple[Operation, ...]:
        return tuple(op for op in self.operations if op.view in views)

    @property
    def work_views(self) -> tuple[str, ...]:
        """Whose operations are counted: those of devices, else those a CPU ran on the host."""
        return WORK_VIEWS if self.sees_devices else ("host-op",)

    @property
    def work(self) -> tuple[Operation, ...]:
        return self.of_view(*self.work_views)

    @property
    def ranked_work(self) -> tuple[tuple[int, Operation], ...]:
        """Those operations with their places in the summary, by their own time, longest first."""
        views = self.work_views
        placed = ((at, op) for at, op in enumerate(self.operations) if op.view in views)
        return tuple(sorted(placed, key=lambda found: -found[1].self_ns))

    @property
    def own_field(self) -> str:
        """Where the summary tells the own time that counts, in each of those operations."""
        return "device_self_ns" if self.device_clock else "self_ns"

    @property
    def work_ns(self) -> int:
        return sum(self.self_ns.get(view, 0) for view in self.work_views)


def shortened(name: str) -> str:
    """A name where room is scarce; a TPU's operations are named by their whole line of HLO."""
    name = name.partition(" = ")[0].removeprefix("%")
    return name if len(name) <= LABEL else f"{name[: LABEL - 1]}…"


def own_ns(operations: Iterable[Operation]) -> int:
    """Their own time: may be added, since no event's children are in it twice."""
    return sum(operation.self_ns for operation in operations)
