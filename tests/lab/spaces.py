"""Small profiles of our own making: XSpaces as text protos, and trace events as JSON."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from lab.kit.profile_findings import Asked
from lab.kit.profile_source import read_profile
from lab.kit.profile_summary import summarize
from lab.kit.redaction import Redactor

Stats = Mapping[str, int | str | float]
NOBODY = Redactor(hosts=(), users=(), folders=())


@dataclass(frozen=True, slots=True)
class Event:
    """One event; times in nanoseconds."""

    name: str
    start: int
    duration: int
    stats: Stats = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Line:
    name: str
    events: Sequence[Event] = ()


@dataclass(frozen=True, slots=True)
class Plane:
    name: str
    lines: Sequence[Line] = ()
    stats: Stats = field(default_factory=dict)
    base_ns: int = 0
    """When its lines begin."""


def text_proto(*planes: Plane) -> str:
    """The planes as text of an XSpace, https://github.com/openxla/xprof xplane.proto."""
    return "\n".join(_plane(number, plane) for number, plane in enumerate(planes))


def xspace(*planes: Plane) -> bytes:
    from jax.profiler import ProfileData

    data: bytes = ProfileData.text_proto_to_serialized_xspace(text_proto(*planes))
    return data


def _plane(number: int, plane: Plane) -> str:
    events = [event for line in plane.lines for event in line.events]
    names = list(dict.fromkeys(event.name for event in events))
    keys = list(dict.fromkeys([*plane.stats, *(key for event in events for key in event.stats)]))

    def stats(found: Stats) -> str:
        return "".join(f" stats {{ {_stat(keys.index(k) + 1, v)} }}" for k, v in found.items())

    def event(one: Event) -> str:
        return (
            f"events {{ metadata_id: {names.index(one.name) + 1} offset_ps: {one.start * 1000} "
            f"duration_ps: {one.duration * 1000}{stats(one.stats)} }}"
        )

    lines = " ".join(
        f"lines {{ id: {at} name: {json.dumps(line.name)} timestamp_ns: {plane.base_ns} "
        f"{' '.join(map(event, line.events))} }}"
        for at, line in enumerate(plane.lines, 1)
    )
    metadata = " ".join(
        f"{kind} {{ key: {at} value {{ id: {at} name: {json.dumps(name)} }} }}"
        for kind, known in (("event_metadata", names), ("stat_metadata", keys))
        for at, name in enumerate(known, 1)
    )
    head = f"id: {number} name: {json.dumps(plane.name)}"
    return f"planes {{ {head} {lines} {metadata}{stats(plane.stats)} }}"


def _stat(key: int, value: int | str | float) -> str:
    if isinstance(value, str):
        return f"metadata_id: {key} str_value: {json.dumps(value)}"
    kind = "double_value" if isinstance(value, float) else "int64_value"
    return f"metadata_id: {key} {kind}: {value}"


def steps(
    count: int, *, name: str = "train", every: int = 10_000, lasts: int = 8_000
) -> list[Event]:
    """Annotated steps, one after another."""
    return [Event(name, every * n, lasts, {"_r": 1, "step_num": n}) for n in range(count)]


def tpu(
    ordinal: int,
    *,
    kind: str = "TPU v6 Lite",
    ops: Sequence[Event] = (),
    modules: Sequence[Event] = (),
    copies: Sequence[Event] = (),
    numbered: Sequence[Event] = (),
    base_ns: int = 0,
    **stats: int | str | float,
) -> Plane:
    """A TPU's plane with the lines that the profiler gives it."""
    return Plane(
        f"/device:TPU:{ordinal}",
        [
            Line("Steps", numbered),
            Line("XLA Modules", modules),
            Line("XLA Ops", ops),
            Line("Async XLA Ops", copies),
        ],
        {"device_type_string": kind, "peak_teraflops_per_second": 918.0} | stats,
        base_ns,
    )


def host(*lines: Line, base_ns: int = 0) -> Plane:
    return Plane("/host:CPU", lines, base_ns=base_ns)


def read(path: Path, asked: Asked | None = None) -> dict[str, Any]:
    """The summary of what is at `path`."""
    profile, _ = read_profile(path, lambda _: None)
    return summarize(profile, asked or Asked(), NOBODY)


def read_space(folder: Path, *planes: Plane, asked: Asked | None = None) -> dict[str, Any]:
    """The summary of an XSpace of these planes."""
    path = folder / "someone.xplane.pb"
    path.write_bytes(xspace(*planes))
    return read(path, asked)


def read_events(folder: Path, events: object, **beside: object) -> dict[str, Any]:
    """The summary of trace events, as an object with what stands beside them."""
    path = folder / "someone.trace.json"
    path.write_text(json.dumps({"traceEvents": events} | beside), encoding="utf-8")
    return read(path)


def finding(summary: Mapping[str, Any], name: str) -> dict[str, Any] | None:
    """The finding of that id, which a summary has at most once; None where it has none."""
    found = [each for each in summary["findings"] if each["id"] == name]
    assert len(found) <= 1
    return found[0] if found else None


def operation(summary: Mapping[str, Any], view: str, name: str) -> dict[str, Any]:
    """The one operation of that view whose instruction, or else whose name, this is."""
    (found,) = (
        each
        for each in summary["operations"]
        if each["view"] == view and name in (each["hlo_op"], each["name"])
    )
    return found
