"""Summaries of captures made by hand, with known answers: what a lab would write, and no more.

A capture is described as events in microseconds; everything else in the summary follows from them
by the plainest arithmetic there is, so that what the report derives can be checked against it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from report.numbers.profile import Profile
from report.numbers.trace import SCHEMA, read_summary
from report.source import Source

US = 1_000
"""Nanoseconds in a microsecond, the unit of this builder."""

Summary = dict[str, Any]


@dataclass(frozen=True)
class Event:
    """One event on one line, in whole microseconds from the beginning of its clock."""

    name: str
    start: int
    lasts: int
    category: str | None = None
    again: bool = False
    """Rematerialized."""

    @property
    def end(self) -> int:
        return self.start + self.lasts


@dataclass
class Capture:
    """A capture to be summarized: steps on host lines, operations on device planes."""

    steps: Sequence[Event] = ()
    """The names are inner names; numbers follow from their order."""
    devices: Mapping[str, Sequence[Event]] = field(default_factory=dict)
    """Operations by plane, such as /device:TPU:0; none at all for an empty plane."""
    host_operations: Sequence[Event] = ()
    compiles: Sequence[Event] = ()
    gaps: Sequence[Event] = ()
    """Between operations of the first device, or of the host without one."""
    platform: str | None = "tpu"
    device_type: str | None = "TPU v6 Lite"
    comparable: bool | None = None
    """Whether host and device share a clock; left out, they do where there are both."""
    hosts: int = 1
    """Each with the same steps, the last one with `late` microseconds more in each."""
    late: int = 0
    missing: Sequence[int] = ()
    versions: Mapping[str, str] = field(default_factory=lambda: {"jax_version": "0.10.2"})
    module: str = "jit_step"

    def summary(self) -> Summary:
        """As the lab writes it."""
        devices = [self._device(at, name) for at, name in enumerate(self.devices)]
        hosts = [self._host(at) for at in range(self.hosts)] if self._hosted else []
        metadata = _plane("m", "/host:metadata", "metadata", [], stats=dict(self.versions))
        planes = [plane for plane, _ in (*devices, *hosts)]
        lines = [line for _, made in (*devices, *hosts) for line in made]
        names = sorted({event.name for _, events in self._lanes() for event in events})
        steps = [step for at in range(self.hosts) for step in self._steps(at)]
        ends = [step["start_ns"] + step["duration_ns"] for step in steps]
        work = {"ops": self._work(), "host-op": list(self.host_operations)}
        last = max([*ends, *(e.end * US for _, events in self._lanes() for e in events)], default=0)
        return {
            "schema": SCHEMA,
            "reader": {"name": "jax.profiler.ProfileData", "version": "0.10.2", "resolution_ns": 1},
            "asked": {"platform": self.platform, "steps": None, "inner": None, "processes": None},
            "limits": {},
            "sources": [
                {
                    "name": f"host{at}.xplane.pb",
                    "format": "xspace",
                    "bytes": 11_000,
                    "sha256": f"{at:064x}",
                    "host": f"host{at}",
                    "process": at,
                    "events": 1,
                }
                for at in range(self.hosts)
            ],
            "sources_aside": [],
            "hosts": [f"host{at}" for at in range(self.hosts)],
            "processes": {"present": list(range(self.hosts)), "missing": list(self.missing)},
            "clocks": [_clock("c0", last), *([_clock("c1", last)] if self._apart else [])],
            "host_device_comparable": self._comparable,
            "planes": [metadata, *planes],
            "device_planes": list(self.devices),
            "note": "As it is.",
            "lines": lines,
            "window": {
                "clock": "c0",
                "start_ns": steps[0]["start_ns"],
                "duration_ns": max(ends) - steps[0]["start_ns"],
            }
            if steps
            else None,
            "steps": steps,
            "steps_left_out": {"count": 0, "total_ns": 0},
            "steps_summary": {},
            "device_steps": [],
            "operations": [
                row for view, events in work.items() for row in self._operations(view, events)
            ],
            "operations_left_out": {},
            "totals": {
                view: {
                    "events": len(events),
                    "sum_ns": sum(e.lasts for e in events) * US,
                    "self_ns": sum(e.lasts for e in events) * US,
                    "busy_ns": union(events) * US,
                }
                for view, events in work.items()
                if events
            },
            "gaps": [
                {
                    "kind": "between-operations",
                    "view": "ops",
                    "after": "before it",
                    "before": gap.name,
                    "step": None,
                    **self._place("d0" if self.devices else "h0", gap),
                }
                for gap in self.gaps
            ],
            "gaps_summary": {
                "between-operations": {
                    "count": len(self.gaps),
                    "total_ns": sum(gap.lasts for gap in self.gaps) * US,
                    "median_ns": None,
                }
            },
            "compiles": [
                {
                    "name": event.name,
                    "in_window": any(s.start <= event.start < s.end for s in self.steps)
                    if self.steps
                    else None,
                    "step": None,
                    **self._place("h0", event),
                }
                for event in self.compiles
            ],
            "compiles_left_out": {"count": 0, "total_ns": 0},
            "odd_events": {},
            "unknown_phases": {},
            "untimed_phases": {},
            "lost_events": None,
            "lanes": [
                {
                    "line": f"{plane}/l0",
                    "plane": plane,
                    "view": "host" if plane.startswith("h") else "ops",
                    "name": "line",
                    "clock": self._clock_of(plane),
                    "events": len(events),
                    "intervals": [
                        [e.start * US, e.lasts * US, names.index(e.name), 1, e.lasts * US, 0]
                        for e in events
                    ],
                    "hidden": {"events": 0, "merged_intervals": 0, "deeper": 0},
                }
                for plane, events in self._lanes()
                if events
            ],
            "lanes_left_out": {"count": 0, "events": 0, "busy_ns": 0},
            "names": names,
            "findings": [
                {
                    "id": "planes",
                    "level": "ok",
                    "words": f"{len(self.devices)} device planes in this file.",
                    "count": len(self.devices),
                    "evidence": [],
                    "evidence_left_out": 0,
                }
            ],
        }

    def profile(self, name: str = "made") -> Profile:
        """As the report reads it."""
        return read(self.summary(), name)

    @property
    def _hosted(self) -> bool:
        return bool(self.steps or self.host_operations or self.compiles)

    @property
    def _comparable(self) -> bool | None:
        both = self._hosted and any(self.devices.values())
        return (self.comparable is not False) if both else None

    @property
    def _apart(self) -> bool:
        return self._comparable is False

    def _clock_of(self, plane: str) -> str:
        return "c1" if self._apart and plane.startswith("d") else "c0"

    def _work(self) -> list[Event]:
        return [event for events in self.devices.values() for event in events]

    def _lanes(self) -> list[tuple[str, Sequence[Event]]]:
        host = [*self.steps, *self.host_operations, *self.compiles]
        return [
            *((f"d{at}", events) for at, events in enumerate(self.devices.values())),
            *((f"h{at}", host) for at in range(self.hosts if host else 0)),
        ]

    def _device(self, at: int, name: str) -> tuple[Summary, list[Summary]]:
        events = self.devices[name]
        device = {
            "type": self.device_type,
            "chip": "v6e" if self.device_type == "TPU v6 Lite" else None,
            "platform": "tpu",
            "ordinal": at,
            "tensor_cores": 1,
            "shows": "chip",
        }
        return self._made(f"d{at}", name, "device", "ops", events, device=device)

    def _host(self, at: int) -> tuple[Summary, list[Summary]]:
        events = [*self.steps, *self.host_operations, *self.compiles]
        return self._made(f"h{at}", "/host:CPU", "host", "host", events, source=at)

    def _made(
        self, id_: str, name: str, kind: str, view: str, events: Sequence[Event], **more: Any
    ) -> tuple[Summary, list[Summary]]:
        clock = self._clock_of(id_) if events else None
        plane = _plane(id_, name, kind, events, view=view, clock=clock, **more)
        return plane, [_line(id_, view, events)] if events else []

    def _steps(self, host: int) -> list[Summary]:
        late = self.late if host == self.hosts - 1 and host else 0
        return [
            {
                "number": number,
                "name": "train",
                "inner": step.name,
                "inner_names": [step.name],
                "complete": True,
                "contains": [],
                "contains_left_out": 0,
                "programs": [
                    {
                        "hlo_module": self.module,
                        "program_id": "18446744073709551615",
                        "operations": 3,
                    }
                ],
                "operations_busy_ns": union(self._inside(step, self.host_operations)) * US
                if self.host_operations
                else None,
                "devices": self._shares(step) if self._comparable else [],
                "compiles": len(self._inside(step, self.compiles)),
                **self._place(f"h{host}", Event(step.name, step.start, step.lasts + late)),
            }
            for number, step in enumerate(self.steps)
        ]

    def _shares(self, step: Event) -> list[Summary]:
        return [
            {
                "plane": f"d{at}",
                "view": "ops",
                "busy_ns": union(inside) * US,
                "first_ns": (min(e.start for e in inside) - step.start) * US,
                "last_end_ns": (max(e.end for e in inside) - step.start) * US,
            }
            for at, events in enumerate(self.devices.values())
            if (inside := self._inside(step, events))
        ]

    def _inside(self, step: Event, events: Sequence[Event]) -> list[Event]:
        return [event for event in events if step.start <= event.start and event.end <= step.end]

    def _place(self, plane: str, event: Event) -> Summary:
        return {
            "plane": plane,
            "line": f"{plane}/l0",
            "start_ns": event.start * US,
            "duration_ns": event.lasts * US,
        }

    def _plane_of(self, view: str, found: Sequence[Event]) -> str:
        places = enumerate(self.devices.values()) if view == "ops" else ()
        return next((f"d{at}" for at, events in places if found[0] in events), "h0")

    def _operations(self, view: str, events: Sequence[Event]) -> list[Summary]:
        by_name: dict[str, list[Event]] = {}
        for event in events:
            by_name.setdefault(event.name, []).append(event)
        rows = [
            {
                "view": view,
                "name": name,
                "hlo_op": name,
                "opcode": None,
                "hlo_module": self.module,
                "program_id": "18446744073709551615",
                "module_from": "event",
                "category": found[0].category,
                "rematerialized": found[0].again,
                "count": len(found),
                "zero_duration": 0,
                "total_ns": sum(e.lasts for e in found) * US,
                "self_ns": sum(e.lasts for e in found) * US,
                "max_ns": max(e.lasts for e in found) * US,
                "planes": 1,
                "longest": self._place(
                    self._plane_of(view, found), max(found, key=lambda e: e.lasts)
                ),
            }
            for name, found in by_name.items()
        ]
        return sorted(rows, key=lambda row: -row["self_ns"])


def read(summary: Summary, name: str = "made") -> Profile:
    source = Source(name=f"{name}/trace/summary.json", href=f"records/{name}/trace/summary.json")
    return read_summary(summary, name=name, source=source)


def union(events: Sequence[Event]) -> int:
    """Microseconds in which at least one of them was running."""
    covered = {at for event in events for at in range(event.start, event.end)}
    return len(covered)


def steady(count: int = 8, lasts: int = 100, first: int = 0, name: str = "body") -> list[Event]:
    """Steps one after another, ten microseconds apart, the first with `first` more."""
    steps, at = [], 0
    for number in range(count):
        length = lasts + (first if number == 0 else 0)
        steps.append(Event(name, at, length))
        at += length + 10
    return steps


def on_device(steps: Sequence[Event], *parts: Event) -> list[Event]:
    """The same operations in each step, at their starts from its beginning."""
    return [
        Event(part.name, step.start + part.start, part.lasts, part.category, part.again)
        for step in steps
        for part in parts
    ]


def _clock(id_: str, last: int) -> Summary:
    return {
        "id": id_,
        "source": 0,
        "first_ns": "1741722099081044120",
        "last_ns": str(1741722099081044120 + last),
        "span_ns": last,
        "planes": [],
        "kinds": [],
        "resolution_ns": 1,
        "wall_start_ns": None,
        "wall_stop_ns": None,
    }


def _plane(
    id_: str,
    name: str,
    kind: str,
    events: Sequence[Event],
    *,
    view: str = "",
    clock: str | None = None,
    source: int = 0,
    device: Summary | None = None,
    stats: Mapping[str, str] | None = None,
) -> Summary:
    return {
        "id": id_,
        "source": source,
        "name": name,
        "kind": kind,
        "device": device,
        "stats": dict(stats or {}),
        "lines": 1 if events else 0,
        "events": len(events),
        "zero_duration": 0,
        "clock": clock,
        **_range(events),
        "busy": {view: union(events) * US} if events else {},
        "work": view if events and kind == "device" else None,
    }


def _line(plane: str, view: str, events: Sequence[Event]) -> Summary:
    return {
        "id": f"{plane}/l0",
        "plane": plane,
        "name": "line",
        "view": view,
        "events": len(events),
        "zero_duration": 0,
        **_range(events),
        "busy_ns": union(events) * US,
        "sum_ns": sum(event.lasts for event in events) * US,
        "nested": False,
        "depth": 1,
        "overlapping": 0,
        "operations": 0,
    }


def _range(events: Sequence[Event]) -> Summary:
    if not events:
        return {"first_ns": None, "last_ns": None}
    return {
        "first_ns": str(min(event.start for event in events) * US),
        "last_ns": str(max(event.end for event in events) * US),
    }
