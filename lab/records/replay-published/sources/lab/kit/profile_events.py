"""A profile as its readers hand it on: planes of lines of timed events, in columns.

Times are whole nanoseconds on the file's own clock, as Python integers, so that none is
rounded. An event costs 24 bytes; names and operations are written once and numbered.
"""

from array import array
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

Kind = Literal["device", "host", "metadata", "environment", "other"]
View = Literal[
    "steps", "modules", "ops", "async", "stream", "annotation", "host", "python", "other"
]

LONGEST_NS = 24 * 3600 * 10**9
"""A longer event is a fault of a clock: no capture lasts a day."""

LATEST_NS = 9 * 10**18
"""Later times do not fit 64 bits; the year 2255 does."""

NAME_LIMIT = 160
"""Characters of a name that are kept; HLO texts, which begin with a unique name, go on longer."""


class Operation(NamedTuple):
    """What ties an event to a compiled program, as the file tells it."""

    hlo_op: str | None
    hlo_module: str | None
    program_id: str | None
    """As text: it is often larger than 2**53."""


class Texts:
    """Each distinct name once; events hold its number."""

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}
        self.all: list[str] = []

    def number(self, text: str) -> int:
        found = self._numbers.get(text)
        if found is None:
            short = text if len(text) <= NAME_LIMIT else f"{text[: NAME_LIMIT - 1]}…"
            found = self._numbers.get(short)
            if found is None:
                found = len(self.all)
                self.all.append(short)
                self._numbers[short] = found
            if short is text:
                self._numbers[text] = found
        return found


class Line:
    """The events of one thread, stream or view of a device, in order of their start."""

    def __init__(self, name: str, view: View) -> None:
        self.name, self.view = name, view
        self.starts = array("q")
        self.durations = array("q")
        self.names = array("i")
        self.operations = array("i")
        """Numbers of `Profile.operations`, -1 where the event carries none."""
        self.device_starts, self.device_durations = array("q"), array("q")
        """Picoseconds by the device's own clock; -1, or nothing, where the event tells none."""
        self.steps: dict[int, int | None] = {}
        """Step number of each event that is an annotated step, by its place in the line."""
        self.python_frames: set[int] = set()
        """Numbers of the names that the Python tracer wrote; `profile_tidy` sets them apart."""

    def __len__(self) -> int:
        return len(self.starts)

    def add(self, start_ns: int, duration_ns: int, name: int, operation: int = -1) -> None:
        self.starts.append(start_ns)
        self.durations.append(duration_ns)
        self.names.append(name)
        self.operations.append(operation)

    def tell_device_time(self, start: object, duration: object) -> None:
        """Of the event that is added next, in picoseconds; what is no such time is passed over."""
        if (
            isinstance(start, int)
            and isinstance(duration, int)
            and -LATEST_NS < start < LATEST_NS
            and 0 <= duration <= LONGEST_NS * 1000
        ):
            self._fill_device_times()
            self.device_starts.append(start)
            self.device_durations.append(duration)

    def _fill_device_times(self) -> None:
        missing = [-1] * (len(self) - len(self.device_durations))
        self.device_starts.extend(missing)
        self.device_durations.extend(missing)

    def put_in_order(self) -> None:
        """By start, the longer first, so that a parent stands before its children."""
        starts, durations = self.starts, self.durations
        count = len(starts)
        if all(
            starts[at] < starts[at + 1]
            or (starts[at] == starts[at + 1] and durations[at] >= durations[at + 1])
            for at in range(count - 1)
        ):
            return
        order = sorted(range(count), key=lambda at: (starts[at], -durations[at]))
        if self.steps:
            self.steps = {
                new: self.steps[old] for new, old in enumerate(order) if old in self.steps
            }
        self.keep(order, steps=self.steps)

    def keep(self, places: Iterable[int], *, steps: dict[int, int | None] | None = None) -> None:
        """Only the events at `places`, in that order."""
        places = list(places)
        if steps is None:
            steps = {new: self.steps[old] for new, old in enumerate(places) if old in self.steps}
        if self.device_durations:
            self._fill_device_times()
            self.device_starts = array("q", (self.device_starts[at] for at in places))
            self.device_durations = array("q", (self.device_durations[at] for at in places))
        self.starts = array("q", (self.starts[at] for at in places))
        self.durations = array("q", (self.durations[at] for at in places))
        self.names = array("i", (self.names[at] for at in places))
        self.operations = array("i", (self.operations[at] for at in places))
        self.steps = steps

    def end(self, at: int) -> int:
        return self.starts[at] + self.durations[at]


@dataclass(slots=True, kw_only=True, eq=False)
class Plane:
    """One device, or what a host or the profiler itself says."""

    name: str
    kind: Kind
    source: int
    stats: dict[str, str] = field(default_factory=dict)
    lines: list[Line] = field(default_factory=list)
    device_type: str | None = None
    """The device's type, exactly as in the file."""

    @property
    def events(self) -> int:
        return sum(len(line) for line in self.lines)

    def lines_of(self, view: View) -> Iterator[Line]:
        return (line for line in self.lines if line.view == view)


@dataclass(slots=True, kw_only=True)
class Source:
    """One file that was read; its name is neutral, its hash is not."""

    name: str
    format: str
    bytes: int
    sha256: str
    host: str
    process: int | None = None
    events: int = 0
    base_time_ns: str | None = None
    """The moment on a wall clock that its times count from, where it says so."""


@dataclass(slots=True, kw_only=True)
class Profile:
    """Everything that was read from one or more files of one capture."""

    reader: str
    version: str | None
    sources: list[Source] = field(default_factory=list)
    planes: list[Plane] = field(default_factory=list)
    texts: Texts = field(default_factory=Texts)
    operations: list[Operation] = field(default_factory=list)
    odd: Counter[str] = field(default_factory=Counter)
    """Events that were left out, by reason."""
    unknown_phases: Counter[str] = field(default_factory=Counter)
    untimed_phases: Counter[str] = field(default_factory=Counter)
    lost_events: int | None = None
    """What the file itself says it lost; None where it says nothing."""
    item_counts: list[int] = field(default_factory=list)
    """Trace event items of each JSON file, with and without metadata, for the event limit."""
    twice: list[str] = field(default_factory=list)
    """Planes or files that were there twice, and are counted once."""
    _numbers: dict[Operation, int] = field(default_factory=dict)

    def operation(self, operation: Operation) -> int:
        """The number of an operation's identity."""
        found = self._numbers.get(operation)
        if found is None:
            found = self._numbers[operation] = len(self.operations)
            self.operations.append(operation)
        return found

    def name(self, line: Line, at: int) -> str:
        return self.texts.all[line.names[at]]
