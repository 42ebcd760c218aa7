"""A capture's summary, read into a typed profile: every fault at once, or nothing.

The lab bounds what it writes and says what it left out. A summary is input like any other all the
same: lists longer than those bounds, times that no union can have and ids of nothing are refused.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, TypeVar, cast, get_args

from report.errors import EvidenceMismatch, Fault
from report.evidence import Evidence
from report.numbers.profile import (
    CATEGORIES,
    GAP_KINDS,
    OPERATION_VIEWS,
    VIEWS,
    Clock,
    Compile,
    Device,
    DeviceShare,
    Finding,
    Gap,
    Interval,
    Lane,
    LeftOut,
    Level,
    Line,
    Operation,
    Placed,
    Plane,
    Profile,
    ProgramRun,
    SourceFile,
    Span,
    Step,
)
from report.numbers.reading import Fields
from report.source import Source

SCHEMA = "assay/trace-summary/2"
EARLIER = "assay/trace-summary/1"
"""What earlier labs wrote: names and durations of steps, with nothing to qualify them by."""

SUMMARY = "trace/summary.json"

MOST: Mapping[str, int] = {
    "sources": 64,
    "planes": 1_024,
    "lines": 1_024,
    "clocks": 256,
    "steps": 1_000,
    "device_steps": 1_000,
    "operations": 2_000,
    "gaps": 400,
    "compiles": 400,
    "lanes": 64,
    "names": 4_000,
    "findings": 64,
}
"""Items of each list that are read; a summary with more is not one of ours."""
MOST_INTERVALS = 512
"""Of one lane."""
MOST_SPANS = 64
"""Of one finding."""
SLACK_NS = 1_000
"""By how much clocks that tell microseconds may disagree about one time."""

_LEVELS = cast("tuple[Level, ...]", get_args(Level))
_PLANES: tuple[str, ...] = ("device", "host", "metadata", "environment", "other")
_T = TypeVar("_T")


def read_trace(evidence: Evidence) -> Profile | None:
    """The profile of a run that captured one, or None.

    A summary of an earlier lab cannot be qualified, so a historic record's is passed over; its
    raw capture is in the record still.
    """
    record = evidence.record
    if record.trace is None or record.trace.get("schema") == EARLIER:
        return None
    files = {file.path: file.sha256 for file in record.files}
    place = f"records/{record.name}/{SUMMARY}"
    source = Source(name=f"{record.name}/{SUMMARY}", href=place, sha256=files.get(SUMMARY))
    return read_summary(record.trace, name=record.name, source=source)


def read_summary(found: Mapping[str, Any], *, name: str, source: Source) -> Profile:
    """The profile that a summary holds, or `EvidenceMismatch` with all that is wrong with it."""
    top = Fields(found, source.name)
    top.agree("schema", SCHEMA, "the summary that this report reads")
    reading = _Reading(top)
    profile = reading.profile(name, source)
    faults = _unlike_a_capture(profile, top.where) if not top.faults else []
    faults += top.faults
    if faults:
        first = {fault.where: fault for fault in reversed(faults)}
        raise EvidenceMismatch(
            f"The profile of {name} cannot be read:",
            reversed(first.values()),
            hint="Summarize its capture again: python -m lab.trace PATH --out FILE",
        )
    if not profile.planes or not profile.events:
        raise EvidenceMismatch(
            f"The profile of {name} holds nothing, although there should be one.",
            [Fault(where=source.name, found="no planes or no events", expected="both")],
        )
    return _by_the_devices_clock(profile)


def _by_the_devices_clock(profile: Profile) -> Profile:
    """The cost of a device's operations by its own clock, where all of them tell it.

    Their places stay on the clock of the host, which may stretch them.
    """
    cut = any(
        profile.operations_left_out[view].count
        for view in profile.work_views
        if view in profile.operations_left_out
    )
    told = [op for op in profile.work if None not in (op.device_self_ns, op.device_total_ns)]
    if cut or not told or len(told) < len(profile.work):
        return profile
    operations = tuple(
        replace(op, self_ns=op.device_self_ns, total_ns=op.device_total_ns)
        if op.view in profile.work_views
        and op.device_self_ns is not None
        and op.device_total_ns is not None
        else op
        for op in profile.operations
    )
    totals = {
        view: sum(op.self_ns for op in operations if op.view == view)
        for view in profile.work_views
        if view in profile.self_ns
    }
    return replace(
        profile, operations=operations, self_ns={**profile.self_ns, **totals}, device_clock=True
    )


class _Reading:
    """One summary while it is read; ids are checked against what was read before them."""

    def __init__(self, top: Fields) -> None:
        self.top = top
        self.planes: set[str] = set()
        self.lines: set[str] = set()
        self.clocks: set[str] = set()
        self.names: tuple[str, ...] = ()
        self.hosts: list[str] = []

    def profile(self, name: str, source: Source) -> Profile:
        top = self.top
        self.names = self.some_words("names")
        files = self.each(top, "sources", _source)
        self.hosts = [file.host for file in files]
        clocks = self.each(top, "clocks", _clock)
        self.clocks = {clock.id for clock in clocks}
        planes = self.each(top, "planes", self.plane)
        self.planes = {plane.id for plane in planes}
        lines = self.each(top, "lines", self.line)
        self.lines = {line.id for line in lines}
        processes = top.within("processes")
        window = top.optional_within("window")
        return Profile(
            name=name,
            source=source,
            platform=top.within("asked").words("platform"),
            reader=self.reader(top.within("reader")),
            files=files,
            aside=self.each(top, "sources_aside", _aside) if top.has("sources_aside") else (),
            hosts=top.texts("hosts"),
            processes=processes.counts("present"),
            missing_processes=processes.counts("missing"),
            clocks=clocks,
            host_device_comparable=top.optional_flag("host_device_comparable"),
            planes=planes,
            note=top.words("note"),
            lines=lines,
            window=_span(window) if window else None,
            window_clock=self.known(window, "clock", self.clocks) if window else "",
            steps=self.each(top, "steps", self.step),
            device_steps=len(self.each(top, "device_steps", _span)),
            operations=self.each(top, "operations", self.operation),
            operations_left_out={
                view: LeftOut(count=told.count("count"), total_ns=told.optional_count("self_ns"))
                for view, told in top.within("operations_left_out").entries()
            },
            self_ns={view: told.count("self_ns") for view, told in top.within("totals").entries()},
            gaps=self.each(top, "gaps", self.gap),
            gap_totals={
                kind: _left_out(told) for kind, told in top.within("gaps_summary").entries()
            },
            compiles=self.each(top, "compiles", self.compilation),
            compiles_left_out=_left_out(top.within("compiles_left_out")),
            odd_events=_counts(top.within("odd_events")),
            lost_events=top.optional_count("lost_events"),
            lanes=self.each(top, "lanes", self.lane),
            lanes_left_out=LeftOut(count=top.within("lanes_left_out").count("count")),
            steps_left_out=_left_out(top.within("steps_left_out")),
            findings=self.each(top, "findings", self.finding),
        )

    def each(
        self, fields: Fields, key: str, read: Callable[[Fields], _T], most: int = 0
    ) -> tuple[_T, ...]:
        """Every item of a list that is not longer than it may be."""
        found, limit = fields.found.get(key), most or MOST.get(key, MOST["sources"])
        if isinstance(found, list) and len(found) > limit:
            fields.fault(key, f"{len(found):,} items", f"at most {limit:,}")
            return ()
        return tuple(read(item) for item in fields.objects(key))

    def known(self, fields: Fields, key: str, ids: set[str]) -> str:
        """An id of what was read before, or "" for null."""
        found = fields.words(key)
        if found and found not in ids:
            fields.fault(key, f"{found!r:.60}", "the id of one that this summary lists")
        return found

    def some_words(self, key: str) -> tuple[str, ...]:
        texts = self.top.texts(key)
        if len(texts) > MOST[key]:
            self.top.fault(key, f"{len(texts):,} items", f"at most {MOST[key]:,}")
            return ()
        for index, text in enumerate(texts):
            if not text.isprintable() or len(text) > 200:
                self.top.fault(f"{key}/{index}", f"{text!r:.60}", "a name on one line")
        return texts

    def reader(self, fields: Fields) -> str:
        version = fields.words("version")
        return f"{fields.words('name')}{f' of JAX {version}' if version else ''}"

    def plane(self, fields: Fields) -> Plane:
        device = fields.optional_within("device")
        return Plane(
            id=fields.name("id"),
            name=fields.name("name"),
            kind=fields.choice("kind", _PLANES),
            host=self.host(fields),
            device=Device(
                type=device.words("type"),
                chip=device.words("chip"),
                platform=device.words("platform"),
                ordinal=device.optional_count("ordinal"),
                tensor_cores=device.optional_count("tensor_cores"),
                shows=device.words("shows"),
            )
            if device
            else None,
            lines=fields.count("lines"),
            events=fields.count("events"),
            zero_duration=fields.count("zero_duration"),
            clock=self.known(fields, "clock", self.clocks),
            span_ns=_between(fields),
            busy_ns=_counts(fields.within("busy")),
            work=fields.words("work"),
            stats=_texts(fields.within("stats")),
        )

    def host(self, fields: Fields) -> str:
        """Of the file that the plane is from."""
        source = fields.count("source")
        if source >= len(self.hosts):
            fields.fault("source", f"{source}", "the place of one of its sources")
            return ""
        return self.hosts[source]

    def line(self, fields: Fields) -> Line:
        return Line(
            id=fields.name("id"),
            plane=self.known(fields, "plane", self.planes),
            name=fields.words("name"),
            view=fields.choice("view", VIEWS),
            events=fields.count("events"),
            zero_duration=fields.count("zero_duration"),
            span_ns=_between(fields),
            busy_ns=fields.count("busy_ns"),
            sum_ns=fields.count("sum_ns"),
            depth=fields.count("depth"),
            overlapping=fields.count("overlapping"),
        )

    def step(self, fields: Fields) -> Step:
        return Step(
            number=fields.optional_count("number"),
            name=fields.name("name"),
            inner=fields.words("inner"),
            complete=fields.flag("complete"),
            contains=fields.texts("contains"),
            contains_left_out=fields.count("contains_left_out"),
            programs=self.each(fields, "programs", _program),
            operations_busy_ns=fields.optional_count("operations_busy_ns"),
            devices=self.each(fields, "devices", self.share, MOST["planes"]),
            compiles=fields.count("compiles"),
            **self.place(fields),
        )

    def share(self, fields: Fields) -> DeviceShare:
        return DeviceShare(
            plane=self.known(fields, "plane", self.planes),
            view=fields.choice("view", VIEWS),
            busy_ns=fields.count("busy_ns"),
            first_ns=fields.count("first_ns"),
            last_end_ns=fields.count("last_end_ns"),
        )

    def operation(self, fields: Fields) -> Operation:
        longest = fields.optional_within("longest")
        return Operation(
            view=fields.choice("view", OPERATION_VIEWS),
            name=fields.words("name"),
            hlo_op=fields.words("hlo_op"),
            opcode=fields.words("opcode"),
            module=fields.words("hlo_module"),
            program_id=fields.words("program_id"),
            category=fields.choice("category", CATEGORIES) if fields.has("category") else "",
            rematerialized=fields.flag("rematerialized"),
            count=fields.count("count"),
            total_ns=fields.count("total_ns"),
            self_ns=fields.count("self_ns"),
            max_ns=fields.count("max_ns"),
            planes=fields.count("planes"),
            device_total_ns=self.maybe(fields, "device_total_ns"),
            device_self_ns=self.maybe(fields, "device_self_ns"),
            longest=self.placed(longest) if longest else None,
        )

    def maybe(self, fields: Fields, key: str) -> int | None:
        """A count that not every reader tells."""
        return fields.optional_count(key) if fields.has(key) else None

    def gap(self, fields: Fields) -> Gap:
        return Gap(
            kind=fields.choice("kind", GAP_KINDS),
            view=fields.words("view"),
            after=fields.words("after"),
            before=fields.words("before"),
            step=fields.optional_count("step"),
            **self.place(fields),
        )

    def compilation(self, fields: Fields) -> Compile:
        return Compile(
            name=fields.words("name"),
            in_window=fields.optional_flag("in_window"),
            step=fields.optional_count("step"),
            **self.place(fields),
        )

    def lane(self, fields: Fields) -> Lane:
        return Lane(
            line=self.known(fields, "line", self.lines),
            plane=self.known(fields, "plane", self.planes),
            view=fields.choice("view", VIEWS),
            name=fields.words("name"),
            clock=self.known(fields, "clock", self.clocks),
            events=fields.count("events"),
            intervals=self.intervals(fields),
            hidden=fields.within("hidden").count("events"),
        )

    def intervals(self, fields: Fields) -> tuple[Interval, ...]:
        """Lists of six whole numbers; the first that is none of that stands for the others."""
        found = fields.found.get("intervals")
        expected = "lists of [start, duration, name, events, covered, depth]"
        if not isinstance(found, list):
            fields.fault("intervals", f"{found!r:.60}", expected)
            return ()
        if len(found) > MOST_INTERVALS:
            fields.fault("intervals", f"{len(found):,} items", f"at most {MOST_INTERVALS}")
            return ()
        intervals = []
        for index, item in enumerate(found):
            if not self.is_interval(item):
                fields.fault(f"intervals/{index}", f"{item!r:.60}", expected)
                return ()
            start, duration, name, events, covered, depth = item
            intervals.append(
                Interval(
                    start_ns=start,
                    duration_ns=duration,
                    name=self.names[name] if name >= 0 else "",
                    events=events,
                    covered_ns=covered,
                    depth=depth,
                )
            )
        return tuple(intervals)

    def is_interval(self, item: object) -> bool:
        if not isinstance(item, list) or len(item) != 6 or {type(part) for part in item} != {int}:
            return False
        start, duration, name, events, covered, depth = cast("list[int]", item)
        return (
            min(start, duration, covered, depth) >= 0
            and events >= 1
            and covered <= duration
            and -1 <= name < len(self.names)
        )

    def finding(self, fields: Fields) -> Finding:
        spans = self.each(fields, "evidence", self.evidence, MOST_SPANS)
        return Finding(
            id=fields.name("id"),
            level=cast("Level", fields.choice("level", _LEVELS)),
            words=fields.words("words"),
            spans=tuple(span for span in spans if span),
        )

    def evidence(self, fields: Fields) -> Placed | None:
        """Where a finding was seen, when that is an interval."""
        if not fields.has("start_ns") or not fields.has("duration_ns"):
            return None
        return self.placed(fields)

    def placed(self, fields: Fields) -> Placed:
        return Placed(**self.place(fields))

    def place(self, fields: Fields) -> dict[str, Any]:
        return {
            "plane": self.known(fields, "plane", self.planes),
            "line": self.known(fields, "line", self.lines) if fields.has("line") else "",
            "start_ns": fields.count("start_ns"),
            "duration_ns": fields.count("duration_ns"),
        }


def _clock(fields: Fields) -> Clock:
    return Clock(
        id=fields.name("id"),
        span_ns=fields.count("span_ns"),
        planes=fields.texts("planes"),
        resolution_ns=fields.count("resolution_ns"),
    )


def _source(fields: Fields) -> SourceFile:
    return SourceFile(
        name=fields.name("name"),
        format=fields.choice("format", ("xspace", "chrome-json", "perfetto-json")),
        bytes=fields.count("bytes"),
        sha256=fields.name("sha256"),
        host=fields.words("host"),
        events=fields.count("events"),
    )


def _aside(fields: Fields) -> tuple[str, str]:
    return fields.words("name"), fields.words("why")


def _program(fields: Fields) -> ProgramRun:
    return ProgramRun(
        module=fields.words("hlo_module"),
        program_id=fields.words("program_id"),
        operations=fields.count("operations"),
    )


def _span(fields: Fields) -> Span:
    return Span(start_ns=fields.count("start_ns"), duration_ns=fields.count("duration_ns"))


def _left_out(fields: Fields) -> LeftOut:
    told = "total_ns" in fields.found
    return LeftOut(
        count=fields.count("count"), total_ns=fields.optional_count("total_ns") if told else None
    )


def _counts(fields: Fields) -> dict[str, int]:
    return {key: fields.count(key) for key in fields.found}


def _texts(fields: Fields) -> dict[str, str]:
    return {key: fields.words(key) for key in fields.found}


def _between(fields: Fields) -> int | None:
    """From the first event to the end of the last; None when there is none."""
    first, last = (_absolute(fields, key) for key in ("first_ns", "last_ns"))
    if first is None or last is None:
        return None
    if last < first:
        fields.fault("last_ns", f"{last}", f"no time before the first, {first}")
        return None
    return last - first


def _absolute(fields: Fields, key: str) -> int | None:
    """A time that may be too large for a number in JSON, and is written as a text."""
    text = fields.words(key)
    if text and not (text.removeprefix("-").isdecimal() and text.isascii() and len(text) <= 24):
        fields.fault(key, f"{text!r:.60}", "a whole number written as a text, or null")
        return None
    return int(text) if text else None


def _unlike_a_capture(profile: Profile, where: str) -> list[Fault]:
    """What no capture can say: more time busy than there was, in a line, a plane or a step."""
    faults = []

    def at_most(place: str, found: int, limit: int | None, of: str) -> None:
        if limit is not None and found > limit + SLACK_NS:
            faults.append(
                Fault(
                    where=f"{where}/{place}",
                    found=f"{found:,} ns",
                    expected=f"at most the {limit:,} ns of {of}",
                )
            )

    for at, line in enumerate(profile.lines):
        at_most(f"lines/{at}/busy_ns", line.busy_ns, line.span_ns, "its line")
    for at, plane in enumerate(profile.planes):
        for view, busy in plane.busy_ns.items():
            at_most(f"planes/{at}/busy/{view}", busy, plane.span_ns, "its plane")
    for at, step in enumerate(profile.steps):
        for nth, share in enumerate(step.devices):
            at_most(f"steps/{at}/devices/{nth}", share.busy_ns, step.duration_ns, "its step")
        if step.operations_busy_ns is not None:
            place = f"steps/{at}/operations_busy_ns"
            at_most(place, step.operations_busy_ns, step.duration_ns, "its step")
    for at, operation in enumerate(profile.operations):
        at_most(f"operations/{at}/self_ns", operation.self_ns, operation.total_ns, "its events")
        if operation.device_self_ns is not None:
            place = f"operations/{at}/device_self_ns"
            at_most(place, operation.device_self_ns, operation.device_total_ns, "its events")
    return faults
