"""Operations of a profile by name and program: how often, how long, and how long by themselves."""

import re
from array import array
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from lab.kit.intervals import nest
from lab.kit.profile_events import Line, Operation, Profile
from lab.kit.profile_measure import LineFacts, Measured, PlaneFacts

MOST = 200
"""Operations that are kept of each view, by self time."""

HOST_OPERATION = "host-op"
"""The view of operations that ran on a host's threads, as all do on a CPU."""

HLO_TEXT = re.compile(r"%?([\w.-]+) = .*?[ )}\]]([a-z][a-z0-9-]*)\(")
"""An instruction: its name, and its opcode before the first parenthesis after its shape."""

_NUMBERED = re.compile(r"(?:\.\d+)+$")

OPCODES = {
    "matrix": {"dot", "convolution", "ragged-dot"},
    "collective": {
        "all-gather", "all-reduce", "all-to-all", "collective-broadcast", "collective-permute",
        "ragged-all-to-all", "reduce-scatter",
    },
    "copy": {"copy", "dynamic-slice", "dynamic-update-slice", "slice", "transpose"},
    "transfer": {"infeed", "outfeed", "recv", "send"},
}  # fmt: skip
"""What an HLO opcode says of its work."""

KERNEL_WORDS = {
    "collective": ("nccl", "rccl", "allreduce", "allgather", "reducescatter"),
    "transfer": ("memcpyh2d", "memcpyd2h", "memcpy htod", "memcpy dtoh"),
    "copy": ("memcpyd2d", "memcpy dtod", "copybuffer"),
    "matrix": ("gemm", "cutlass", "convolve", "dgrad", "wgrad"),
}
"""What the name of a GPU's kernel says of it."""


@dataclass(slots=True, kw_only=True)
class Total:
    """All events of one operation in one view."""

    count: int = 0
    zero_duration: int = 0
    total_ns: int = 0
    self_ns: int = 0
    max_ns: int = -1
    device_ps: int | None = None
    device_self_ps: int | None = None
    planes: set[str] = field(default_factory=set)
    longest: tuple[PlaneFacts, LineFacts, int] | None = None


Key = tuple[str, int, int]
"""View, number of the name, number of the operation."""


def operations(measured: Measured) -> dict[str, Any]:
    """The summary's `operations`, `operations_left_out` and `totals`."""
    totals: dict[Key, Total] = defaultdict(Total)
    for plane in measured.planes:
        for line in plane.lines:
            _add(plane, line, totals)
    by_view: dict[str, list[tuple[Key, Total]]] = {}
    for key, total in totals.items():
        by_view.setdefault(key[0], []).append((key, total))
    rows: list[dict[str, Any]] = []
    left_out: dict[str, Any] = {}
    sums: dict[str, Any] = {}
    for view in sorted(by_view):
        ranked = sorted(
            by_view[view],
            key=lambda item: (-item[1].self_ns, measured.profile.texts.all[item[0][1]], item[0][2]),
        )
        rows += [_row(measured.profile, key, total) for key, total in ranked[:MOST]]
        rest = [total for _, total in ranked[MOST:]]
        left_out[view] = {
            "count": len(rest),
            "events": sum(total.count for total in rest),
            "self_ns": sum(total.self_ns for total in rest),
        }
        sums[view] = {
            "events": sum(total.count for _, total in ranked),
            "sum_ns": sum(total.total_ns for _, total in ranked),
            "self_ns": sum(total.self_ns for _, total in ranked),
            "busy_ns": _busy(measured, view),
        }
    return {"operations": rows, "operations_left_out": left_out, "totals": sums}


def _busy(measured: Measured, view: str) -> int | None:
    """Over all planes, each its own union; host operations are a part of the host's lines."""
    if view == HOST_OPERATION:
        return None
    return sum(ns for plane in measured.planes for each, ns in plane.busy.items() if each == view)


def _add(plane: PlaneFacts, facts: LineFacts, totals: Mapping[Key, Total]) -> None:
    line, self_ns = facts.line, facts.nesting.self_ns
    device_self = _device_self(line)
    for at in range(len(line)):
        number = line.operations[at]
        view = HOST_OPERATION if number >= 0 and line.view == "host" else line.view
        total = totals[view, line.names[at], number]
        duration = line.durations[at]
        total.count += 1
        total.total_ns += duration
        total.self_ns += self_ns[at]
        if not duration:
            total.zero_duration += 1
        if duration > total.max_ns:
            total.max_ns = duration
            total.longest = plane, facts, at
        total.planes.add(plane.id)
        if at < len(device_self) and device_self[at] >= 0:
            total.device_ps = (total.device_ps or 0) + line.device_durations[at]
            total.device_self_ps = (total.device_self_ps or 0) + device_self[at]


def _device_self(line: Line) -> "array[int]":
    """Self time in picoseconds by the device's own clock; -1, or nothing, where none is told.

    The events are nested anew: on the timeline, which follows the host's clock, an operation may
    be squeezed to nothing and come to lie in its neighbour.
    """
    starts, durations = line.device_starts, line.device_durations
    places = array("q", (at for at, duration in enumerate(durations) if duration >= 0))
    order = array("q", sorted(places, key=lambda at: (starts[at], -durations[at])))
    own = nest(
        array("q", (starts[at] for at in order)), array("q", (durations[at] for at in order))
    ).self_ns
    told = array("q", [-1]) * len(durations)
    for at, left in zip(order, own, strict=True):
        told[at] = left
    return told


def _row(profile: Profile, key: Key, total: Total) -> dict[str, Any]:
    view, name_number, number = key
    name = profile.texts.all[name_number]
    operation = profile.operations[number] if number >= 0 else Operation(None, None, None)
    hlo_op, opcode = hlo_names(name, operation.hlo_op, view)
    assert total.longest is not None  # a total without an event is not made
    plane, line, at = total.longest
    return {
        "view": view,
        "name": name,
        "hlo_op": hlo_op,
        "opcode": opcode,
        "hlo_module": operation.hlo_module,
        "program_id": operation.program_id,
        "module_from": _origin(view, operation),
        "category": category(view, name, hlo_op, opcode),
        "rematerialized": ".remat" in (hlo_op or name),
        "count": total.count,
        "zero_duration": total.zero_duration,
        "total_ns": total.total_ns,
        "self_ns": total.self_ns,
        "max_ns": total.max_ns,
        "device_total_ns": None if total.device_ps is None else round(total.device_ps / 1000),
        "device_self_ns": (
            None if total.device_self_ps is None else round(total.device_self_ps / 1000)
        ),
        "planes": len(total.planes),
        "longest": place(plane, line, at),
    }


def hlo_names(name: str, hlo_op: str | None, view: str) -> tuple[str | None, str | None]:
    """(instruction name, opcode) as far as the event tells them."""
    if found := HLO_TEXT.match(name):
        return found[1], found[2]
    if hlo_op is None and view not in ("ops", "async"):
        return None, None
    instruction = hlo_op or name.split(" ", maxsplit=1)[0].removeprefix("%")
    return instruction, _NUMBERED.sub("", instruction).replace("_", "-") or None


def category(view: str, name: str, hlo_op: str | None, opcode: str | None) -> str | None:
    """What an operation's own words say of its work; None where they say nothing.

    A fusion is known by its name alone, which XLA makes from what it holds: a product in it
    makes it a matrix operation, anything else leaves it unknown.
    """
    if view not in ("ops", "async", "stream", HOST_OPERATION):
        return None
    plain = re.sub("-(start|done)$", "", opcode or "")
    for group, opcodes in OPCODES.items():
        if plain in opcodes:
            return group
    words = set(re.split(r"[_.\W]+", hlo_op or ""))
    if words & OPCODES["matrix"]:
        return "matrix"
    if view == "stream":
        kernel = name.lower()
        for group, parts in KERNEL_WORDS.items():
            if any(part in kernel for part in parts):
                return group
    return None


def place(plane: PlaneFacts, line: LineFacts, at: int) -> dict[str, Any]:
    """Where an event stands, as evidence names it."""
    return {
        "plane": plane.id,
        "line": line.id,
        "start_ns": plane.at(line.line.starts[at]),
        "duration_ns": line.line.durations[at],
    }


def _origin(view: str, operation: Operation) -> str | None:
    if operation.hlo_module is None:
        return None
    return "module-lane" if view in ("ops", "async") and operation.hlo_op is None else "event"
