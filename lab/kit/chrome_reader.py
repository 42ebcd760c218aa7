"""Reads trace events: Chrome's JSON, which XProf and Perfetto also write, without JAX.

The format: https://docs.google.com/document/d/1CvAClvFfyA5R-PhYUmn5OOQtYMH4h6I0nSsKchNAySU.
Times are microseconds there, and exact nanoseconds here. Only complete events and pairs of
begin and end make intervals; every other phase is counted and adds no time to a thread.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from decimal import ROUND_HALF_EVEN, Decimal
from pathlib import Path

from lab.kit.faults import CheckFailed
from lab.kit.json_stream import JsonText, find_all
from lab.kit.planes import MODULE, PYTHON_FRAME, line_view, plane_kind
from lab.kit.profile_events import (
    LATEST_NS,
    LONGEST_NS,
    NAME_LIMIT,
    Line,
    Operation,
    Plane,
    Profile,
    Source,
)

READER = "assay trace-event JSON"

TIMED = ("X", "B", "E")
UNTIMED = frozenset("bnestfSTpFPMCNODiIRcVva()")
"""Asynchronous, flow, sample, metadata, counter, object, instant, mark and context events."""

EVENTS = "traceEvents"
DEVICE_TIMES = ("device_offset_ps", "device_duration_ps")
OPERATION = frozenset({"hlo_op", "hlo_module", "program_id"})
LATEST_US = LATEST_NS // 1000
_EVERY = 1 << 18

Tell = Callable[[str], None]
Key = tuple[str, str, bool]
"""Process, thread, and whether the line holds annotations laid over a GPU's stream."""


@dataclass(slots=True, kw_only=True)
class _Process:
    name: str | None = None
    labels: str = ""
    threads: dict[str, str] = field(default_factory=dict)


@dataclass(slots=True, kw_only=True)
class _Reading:
    """What has been read of one file so far."""

    profile: Profile
    source: Source
    tell: Tell
    lines: dict[Key, Line] = field(default_factory=dict)
    open_events: dict[Key, list[tuple[str, int, Mapping[str, object]]]] = field(
        default_factory=dict
    )
    processes: dict[str, _Process] = field(default_factory=dict)
    device_types: dict[str, str] = field(default_factory=dict)
    items: int = 0
    metadata: int = 0
    phases: int = 0
    first_keys: list[str] = field(default_factory=list)
    """Of the first item, to say what a list of something else holds."""

    def process(self, pid: str) -> _Process:
        return self.processes.setdefault(pid, _Process())


def read_trace_events(path: Path, profile: Profile, source: int, tell: Tell) -> None:
    """Add the processes of one trace to `profile`, each as a plane."""
    name = path.name
    reading = _Reading(profile=profile, source=profile.sources[source], tell=tell)
    with JsonText.open(path, name) as text:
        _read(text, reading, name)
    if not reading.phases:
        raise CheckFailed(_no_phases(name, reading))
    unmatched = sum(len(stack) for stack in reading.open_events.values())
    if unmatched:
        profile.odd["unmatched-begin"] += unmatched
    if not reading.lines:
        raise CheckFailed(
            f"{name} holds no event with a time: none of its {reading.phases:,} events is complete "
            "or has a begin and an end"
        )
    profile.item_counts.append(reading.items)
    profile.item_counts.append(reading.items - reading.metadata)
    _add_planes(reading, source)


def _read(text: JsonText, reading: _Reading, name: str) -> None:
    first = text.peek()
    if first == "[":
        _read_events(text, reading, name)
    elif first == "{":
        keys, found = [], False
        for key in text.members():
            keys.append(key)
            if key == EVENTS:
                if text.peek() != "[":
                    raise CheckFailed(f"{name}: {EVENTS} is no list")
                _read_events(text, reading, name)
                found = True
            else:
                _read_member(key, text.value(), reading)
        if not found:
            raise CheckFailed(_not_trace_events(name, keys))
    else:
        raise CheckFailed(f"{name} is no trace: it begins with {first!r}, not with {{ or [")
    text.finish()


def _not_trace_events(name: str, keys: list[str]) -> str:
    return f"{name} is JSON, but not trace events: an object without {EVENTS}, with {_shown(keys)}"


def _no_phases(name: str, reading: _Reading) -> str:
    if not reading.items:
        return f"{name} holds no event: its list of trace events is empty"
    return (
        f"{name} is JSON, but not trace events: {reading.items:,} objects without a phase, "
        f"the first with {_shown(reading.first_keys)}"
    )


def _shown(keys: list[str]) -> str:
    return (", ".join(keys[:6]) or "nothing in it") + (", …" if len(keys) > 6 else "")


def _read_member(key: str, value: object, reading: _Reading) -> None:
    """What stands beside the events: which GPU, from when on, and how many events were lost."""
    if key == "baseTimeNanoseconds" and isinstance(value, int):
        reading.source.base_time_ns = str(value)
    if key == "deviceProperties" and isinstance(value, list):
        for device in value:
            if isinstance(device, dict) and isinstance(device.get("name"), str):
                reading.device_types[str(device.get("id"))] = device["name"]
    for count in find_all({key: value}, lambda word: bool(re.search("lost|dropped", word, re.I))):
        if isinstance(count, int) and not isinstance(count, bool) and count >= 0:
            reading.profile.lost_events = (reading.profile.lost_events or 0) + count


def _read_events(text: JsonText, reading: _Reading, name: str) -> None:
    for item in text.items():
        if isinstance(item, dict):
            reading.first_keys = reading.first_keys or [str(key)[:40] for key in item]
            _read_event(item, reading)
        elif not reading.items:
            kind = "lists" if isinstance(item, list) else "single values"
            raise CheckFailed(f"{name} is JSON, but not trace events: a list of {kind}")
        else:
            reading.profile.odd["not-an-object"] += 1
        reading.items += 1
        if reading.items % _EVERY == 0:
            reading.tell(f"read {reading.items:,} events of {name}")


def _read_event(event: dict[str, object], reading: _Reading) -> None:
    phase = event.get("ph")
    if not isinstance(phase, str):
        reading.profile.odd["no-phase"] += 1
        return
    reading.phases += 1
    if phase == "M":
        reading.metadata += 1
        _read_metadata(event, reading)
    elif phase in TIMED:
        _read_timed(phase, event, reading)
    if phase in UNTIMED:
        reading.profile.untimed_phases[phase] += 1
    elif phase not in TIMED:
        reading.profile.odd["unknown-phase"] += 1
        if len(reading.profile.unknown_phases) < 32 or phase in reading.profile.unknown_phases:
            reading.profile.unknown_phases[phase[:NAME_LIMIT]] += 1


def _read_metadata(event: dict[str, object], reading: _Reading) -> None:
    arguments = event.get("args")
    if not isinstance(arguments, dict):
        return
    process = reading.process(str(event.get("pid")))
    if event.get("name") == "process_name":
        # XProf writes the host's name before each plane's where it joins several.
        process.name = re.sub(r"^\S+ (?=/(?:device|host):)", "", str(arguments.get("name")))
    elif event.get("name") == "process_labels":
        process.labels = str(arguments.get("labels"))
    elif event.get("name") == "thread_name":
        process.threads[str(event.get("tid"))] = str(arguments.get("name"))


def _read_timed(phase: str, event: Mapping[str, object], reading: _Reading) -> None:
    odd = reading.profile.odd
    start = _nanoseconds(event.get("ts"))
    if start is None:
        odd["no-time"] += 1
        return
    key = str(event.get("pid")), str(event.get("tid")), event.get("cat") == "gpu_user_annotation"
    name = event.get("name")
    if phase == "B":
        stack = reading.open_events.setdefault(key, [])
        stack.append((str(name), start, event))
        return
    if phase == "E":
        stack = reading.open_events.get(key, [])
        place = _matching(stack, name)
        if place is None:
            odd["unmatched-end"] += 1
            return
        odd["unmatched-begin"] += len(stack) - 1 - place
        name, begin, event = stack[place]
        del stack[place:]
        start, duration = begin, start - begin
    else:
        found = _nanoseconds(event.get("dur"))
        if found is None:
            odd["no-duration"] += 1
            return
        duration = found
    if duration < 0:
        odd["negative-duration"] += 1
    elif duration > LONGEST_NS:
        odd["longer-than-a-day"] += 1
    else:
        _add(key, str(name), (start, duration), event, reading)


def _matching(stack: list[tuple[str, int, Mapping[str, object]]], name: object) -> int | None:
    """The place of the begin that an end closes: the last of its name, or, unnamed, the last."""
    if name is None:
        return len(stack) - 1 if stack else None
    for place in range(len(stack) - 1, -1, -1):
        if stack[place][0] == name:
            return place
    return None


def _add(
    key: Key, name: str, times: tuple[int, int], event: Mapping[str, object], reading: _Reading
) -> None:
    """Add one interval, (start, duration), to its thread."""
    line = reading.lines.get(key)
    if line is None:
        line = reading.lines[key] = Line("", "other")
    number = reading.profile.texts.number(name)
    operation = -1
    arguments = event.get("args")
    if isinstance(arguments, dict):
        step = arguments.get("step_num")
        if step is not None:
            text = str(step)
            line.steps[len(line)] = int(text) if text.isdecimal() and len(text) < 16 else None
        elif arguments.keys() & OPERATION and not name.startswith("end: "):
            parts = (arguments.get(part) for part in ("hlo_op", "hlo_module", "program_id"))
            operation = reading.profile.operation(
                Operation(*(None if part is None else str(part) for part in parts))
            )
        line.tell_device_time(*(_whole(arguments.get(key)) for key in DEVICE_TIMES))
    if name.startswith(PYTHON_FRAME) or event.get("cat") == "python_function":
        line.python_frames.add(number)
    line.add(*times, number, operation)


def _whole(value: object) -> int | None:
    """A whole number, which trace events may write as text."""
    text = str(value)
    return int(text) if text.isdecimal() and len(text) < 19 else None


def _nanoseconds(value: object) -> int | None:
    """A time in microseconds, exactly; None for what is no time."""
    if isinstance(value, bool) or not isinstance(value, int | Decimal):
        return None
    if not -LATEST_US < value < LATEST_US:
        return None
    if isinstance(value, int):
        return value * 1000
    return int((value * 1000).to_integral_value(ROUND_HALF_EVEN))


def _add_planes(reading: _Reading, source: int) -> None:
    """Processes become planes, in the order of their names; threads become lines."""
    profile = reading.profile
    pids = sorted(
        reading.processes.keys() | {pid for pid, _, _ in reading.lines},
        key=lambda pid: (reading.process(pid).name or "", not pid.isdecimal(), len(pid), pid),
    )
    lines: dict[str, list[tuple[Key, Line]]] = {}
    for key, line in reading.lines.items():
        lines.setdefault(key[0], []).append((key, line))
    for pid in pids:
        process = reading.process(pid)
        gpu = re.fullmatch(r"GPU (\d+)", process.labels)
        name = f"/device:GPU:{gpu[1]}" if gpu else process.name or f"process {pid}"
        kind = plane_kind(name)
        if kind == "other":
            kind = "host"
        plane = Plane(name=name, kind=kind, source=source)
        if gpu:
            plane.device_type = reading.device_types.get(gpu[1])
        for (_, tid, annotation), line in lines.get(pid, ()):
            thread = process.threads.get(tid, f"thread {tid}").strip()
            line.name = f"{thread} (annotations)" if annotation else thread
            line.view = "annotation" if annotation else line_view(kind, thread)
            _finish(line, profile)
            plane.lines.append(line)
        profile.planes.append(plane)
        profile.sources[source].events += plane.events


def _finish(line: Line, profile: Profile) -> None:
    """What can only be said once the line's name is known."""
    line.put_in_order()
    if line.view == "modules":
        for at in range(len(line)):
            if line.operations[at] < 0 and (module := MODULE.fullmatch(profile.name(line, at))):
                line.operations[at] = profile.operation(Operation(None, module[1], module[2]))
    elif line.view == "steps":
        for at in range(len(line)):
            text = profile.name(line, at)
            line.steps[at] = int(text) if text.isdecimal() and len(text) < 16 else None
