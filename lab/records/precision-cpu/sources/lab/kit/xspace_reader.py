"""Reads an XSpace, the profiler's protocol buffer, with `jax.profiler.ProfileData`.

Stats are slow to read, so they are read only of events whose name has carried some that count:
a step's number, or what ties an operation to its program.
"""

import warnings
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lab.kit.faults import BackendMissing, CheckFailed
from lab.kit.planes import MODULE, PYTHON_FRAME, line_view, plane_kind
from lab.kit.profile_events import LATEST_NS, LONGEST_NS, Line, Operation, Plane, Profile

if TYPE_CHECKING:
    from jax.profiler import ProfileData

READER = "jax.profiler.ProfileData"
ADD_JAX = "python -m pip install 'jax>=0.10.2,<0.11'"

STEP_NUMBER = "step_num"
OPERATION = ("hlo_op", "hlo_module", "program_id")

Tell = Callable[[str], None]

DEVICE_TIMES = ("device_offset_ps", "device_duration_ps")
"""When a TPU's operation ran by the device's own clock; the timeline follows the host's."""

_STEP, _OPERATION, _DEVICE = 1, 2, 4
"""What the stats of an event are read for."""

_EVERY = 1 << 20
"""Events between two lines of progress."""

_PRIVATE = ("host", "user", "address", "path", "command")
"""Words in the names of plane stats that are not handed on."""


def need_jax() -> str:
    """The version of JAX that reads; refuse where there is none, with the command that adds it."""
    try:
        import jax
    except ImportError:
        raise BackendMissing(
            "an XSpace (.xplane.pb) is read with JAX, which this Python does not have; "
            f"add it: {ADD_JAX} (a trace.json.gz needs no JAX)"
        ) from None
    return str(jax.__version__)


def read_xspace(space: Path | bytes, profile: Profile, source: int, tell: Tell) -> None:
    """Add the planes of one XSpace to `profile`; refuse what the parser refuses."""
    from jax.profiler import ProfileData

    with warnings.catch_warnings():
        # From Python 3.13 on, jaxlib's reader aborts the process where warnings are errors.
        warnings.simplefilter("ignore", DeprecationWarning)
        try:
            if isinstance(space, bytes):
                data = ProfileData.from_serialized_xspace(space)
            else:
                data = ProfileData.from_file(str(space))
        except RuntimeError as problem:
            name = space.name if isinstance(space, Path) else profile.sources[source].name
            raise CheckFailed(f"{name} is no XSpace: {_first_line(problem)}") from None
        _read_planes(data, profile, source, tell)


def _read_planes(data: "ProfileData", profile: Profile, source: int, tell: Tell) -> None:
    told = 0
    for found in data.planes:
        kind = plane_kind(found.name)
        plane = Plane(name=found.name, kind=kind, source=source, stats=_plane_stats(found.stats))
        plane.device_type = plane.stats.get("device_type_string")
        if (lost := _lost(plane.stats)) is not None:
            profile.lost_events = (profile.lost_events or 0) + lost
        seen: dict[str, tuple[int, int]] = {}
        for each in found.lines:
            line = Line(each.name, line_view(kind, each.name))
            _read_line(each, line, profile, seen)
            line.put_in_order()
            plane.lines.append(line)
            told += len(line)
            if told >= _EVERY:
                tell(f"read {profile.sources[source].events + plane.events:,} events")
                told = 0
        profile.planes.append(plane)
        profile.sources[source].events += plane.events


def _read_line(found: Any, line: Line, profile: Profile, seen: dict[str, tuple[int, int]]) -> None:
    """The events of one line; `seen` has, by name, its number and what its stats are read for."""
    add, texts = line.add, profile.texts
    for event in found.events:
        name = event.name
        known = seen.get(name)
        if known is None:
            number = texts.number(name)
            known = seen[name] = number, _what_it_carries(name, line, dict(event.stats))
        number, carries = known
        start, duration = round(event.start_ns), round(event.duration_ns)
        if not (0 <= duration <= LONGEST_NS and -LATEST_NS < start < LATEST_NS):
            profile.odd[_what_is_odd(duration)] += 1
            continue
        operation = -1
        if line.view == "modules":
            if module := MODULE.fullmatch(name):
                operation = profile.operation(Operation(None, module[1], module[2]))
        elif line.view == "steps":
            line.steps[len(line)] = int(name) if name.isdecimal() and len(name) < 16 else None
        elif carries:
            stats = dict(event.stats)
            if carries & _OPERATION:
                operation = profile.operation(_operation(stats))
            if carries & _STEP and (step := stats.get(STEP_NUMBER)) is not None:
                line.steps[len(line)] = step if isinstance(step, int) else None
            if carries & _DEVICE:
                line.tell_device_time(*map(stats.get, DEVICE_TIMES))
        elif line.view == "host" and name.startswith(PYTHON_FRAME):
            line.python_frames.add(number)
        add(start, duration, number, operation)


def _what_is_odd(duration: int) -> str:
    if duration < 0:
        return "negative-duration"
    return "longer-than-a-day" if duration > LONGEST_NS else "no-time"


def _what_it_carries(name: str, line: Line, stats: Mapping[str, object]) -> int:
    carries = 0
    if line.view == "host" and STEP_NUMBER in stats:
        carries |= _STEP
    elif any(key in stats for key in OPERATION) and not name.startswith("end: "):
        carries |= _OPERATION
    if line.view == "ops" and all(key in stats for key in DEVICE_TIMES):
        carries |= _DEVICE
    return carries


def _operation(stats: Mapping[str, object]) -> Operation:
    op, module, program = (stats.get(key) for key in OPERATION)
    return Operation(*(None if each is None else str(each) for each in (op, module, program)))


def _plane_stats(stats: Iterable[tuple[str, object]]) -> dict[str, str]:
    """What a plane says of itself, as text; neither names of people and machines, nor bytes."""
    found = {}
    for key, value in stats:
        text = str(value)
        if text.isprintable() and not any(word in key.lower() for word in _PRIVATE):
            found[key] = text
    return found


def _lost(stats: Mapping[str, str]) -> int | None:
    """Events that the profiler says it dropped."""
    counts = [
        int(value)
        for key, value in stats.items()
        if ("lost" in key.lower() or "dropped" in key.lower()) and value.isdecimal()
    ]
    return sum(counts) if counts else None


def _first_line(problem: Exception) -> str:
    return str(problem).strip().splitlines()[0][:200] if str(problem).strip() else "unreadable"
