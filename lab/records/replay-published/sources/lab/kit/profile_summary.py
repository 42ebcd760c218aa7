"""The bounded summary of a profile: what pages read in place of it.

Times are whole nanoseconds from the start of their plane's clock. Absolute times and program
ids are text, since they exceed what a double holds. `null` is unknown, never zero. Each list
that was cut, at its limit in `limits`, has a `…_left_out` beside it. Planes, lines and clocks
are named by ids: "p0", "p0/l3", "c0".

sources         what was read: neutral name, format, bytes, SHA-256, host, process, events
clocks          planes of one file whose times overlap; first_ns and last_ns, absolute
planes, lines   all there are, empty ones too, by kind and by view; busy times are unions
window, steps   annotated steps of host threads: what stands in each, its programs, when its
                operations and its devices worked, its compilations; device_steps apart
operations      by view, name and program: count, total, self time, longest, category, and the
                times by a TPU's own clock; the most costly of each view, the rest summed in
                operations_left_out; totals of all
gaps            the longest silences between steps, and between operations of a device
compiles        compilations, and whether they fall into the window
lanes           to draw: [start, duration, name, events, covered, depth] for each interval,
                where events > 1 stand merged and `name` counts in `names`, -1 for several
odd_events      what was left out of every sum, by reason; lost_events, as the file says itself
findings        what to know first: id, level (ok, note, warning), words, evidence

The views of a device (steps, modules, ops, async, stream, annotation) are views of one time, never
to be added; `work` names the one that stands for it. On a host, `host` are a thread's own events,
`host-op` those of them that ran an operation, `python` the frames of the Python tracer.
"""

import re
from typing import Any, Final

from lab.kit import profile_lanes, profile_operations, profile_steps
from lab.kit.device_names import chip_of, plane_shows
from lab.kit.faults import CheckFailed
from lab.kit.planes import device_of
from lab.kit.profile_events import NAME_LIMIT, Profile
from lab.kit.profile_findings import (
    MOST_EVIDENCE,
    Asked,
    device_note,
    missing_processes,
    qualify,
    refuse_unexpected,
    resolution_ns,
    suspect_cut,
)
from lab.kit.profile_gaps import MOST as MOST_GAPS
from lab.kit.profile_gaps import describe_gaps
from lab.kit.profile_lanes import describe_lanes
from lab.kit.profile_measure import Clock, LineFacts, Measured, PlaneFacts, measure
from lab.kit.profile_operations import operations
from lab.kit.profile_steps import compilations, describe_compiles, describe_steps, host_steps
from lab.kit.redaction import Redactor

SCHEMA: Final = "assay/trace-summary/2"

MOST_PLANES: Final = 1_024
MOST_LINES: Final = 1024
MOST_STATS: Final = 40

SENTENCES: Final = ("findings", "note")
WORDS_LIMIT: Final = 640
"""Characters of the sentences of a finding."""

UNPRINTABLE: Final = "\N{REPLACEMENT CHARACTER}"
"""In place of a control character, which would reorder or break the text around it."""

LIMITS: Final = {
    "planes": MOST_PLANES,
    "lines": MOST_LINES,
    "stats_per_plane": MOST_STATS,
    "steps": profile_steps.MOST_STEPS,
    "names_per_step": profile_steps.MOST_NAMES,
    "devices_per_step": profile_steps.MOST_DEVICES,
    "operations_per_view": profile_operations.MOST,
    "gaps_per_kind": MOST_GAPS,
    "compiles": profile_steps.MOST_COMPILES,
    "lanes": profile_lanes.MOST_LANES,
    "intervals_per_lane": profile_lanes.MOST_INTERVALS,
    "depths_per_lane": profile_lanes.DEPTHS,
    "names": profile_lanes.MOST_NAMES,
    "evidence_per_finding": MOST_EVIDENCE,
    "characters": NAME_LIMIT,
}

ADDRESS: Final = re.compile(
    r"(?<![\w.])(?:\d{1,3}\.){3}\d{1,3}(?![\w.])"
    r"|(?<![\w:])(?:[0-9A-Fa-f]{1,4}:){4,7}[0-9A-Fa-f]{1,4}(?![\w:])"
    r"|(?<![\w.+-])[\w.+-]+@[\w-]+(?:\.[\w-]+)+"
    r"|\b[A-Za-z]:\\[^\s\"']+"
)
"""Addresses of machines and people, and paths of another system; `Redactor` knows the rest."""


def summarize(profile: Profile, asked: Asked, redactor: Redactor) -> dict[str, Any]:
    """Qualify and sum a profile; raise `CheckFailed` where it is not what was asked for."""
    measured = measure(profile)
    if len(measured.planes) > MOST_PLANES:
        raise CheckFailed(
            f"{len(measured.planes):,} planes; at most {MOST_PLANES:,} are summed up, "
            "so name one file of the capture"
        )
    steps = host_steps(measured, asked.step_name, asked.inner)
    refuse_unexpected(measured, steps, asked)
    suspect_cut(profile, steps)
    compiles = compilations(measured, steps)
    times = [time for clock in measured.clocks for time in (clock.first, clock.last)]
    exact = profile.version is None
    lines = [line for plane in measured.planes for line in plane.lines]
    totals = operations(measured)
    summary = {
        "schema": SCHEMA,
        "reader": {
            "name": profile.reader,
            "version": profile.version,
            "resolution_ns": resolution_ns(times, exact),
        },
        "asked": asked.describe(),
        "limits": LIMITS,
        "sources": [_source(profile, index) for index in range(len(profile.sources))],
        "hosts": sorted({source.host for source in profile.sources}),
        "processes": {
            "present": sorted({s.process for s in profile.sources if s.process is not None}),
            "missing": missing_processes(profile, asked),
        },
        "clocks": [_clock(clock, measured, exact) for clock in measured.clocks],
        "host_device_comparable": measured.host_device_comparable,
        "planes": [_plane(plane) for plane in measured.planes],
        "device_planes": [plane.plane.name for plane in measured.devices],
        "note": device_note(measured),
        "lines": [_line(plane, line) for plane in measured.planes for line in plane.lines][
            :MOST_LINES
        ],
        "lines_left_out": {
            "count": max(0, len(lines) - MOST_LINES),
            "total_ns": sum(line.busy_ns for line in lines[MOST_LINES:]),
        },
        **describe_steps(measured, steps),
        **describe_compiles(measured, compiles),
        **totals,
        **describe_gaps(measured, steps),
        **describe_lanes(measured, steps),
        "odd_events": {reason: n for reason, n in sorted(profile.odd.items()) if n},
        "unknown_phases": dict(sorted(profile.unknown_phases.items())),
        "untimed_phases": dict(sorted(profile.untimed_phases.items())),
        "lost_events": profile.lost_events,
        "findings": [
            finding.describe()
            for finding in qualify(measured, steps, compiles, totals["operations"], asked)
        ],
    }
    return {
        key: _clean(value, redactor, WORDS_LIMIT if key in SENTENCES else NAME_LIMIT)
        for key, value in summary.items()
    }


def _source(profile: Profile, index: int) -> dict[str, Any]:
    source = profile.sources[index]
    return {
        "name": source.name,
        "format": source.format,
        "bytes": source.bytes,
        "sha256": source.sha256,
        "host": source.host,
        "process": source.process,
        "events": source.events,
        "base_time_ns": source.base_time_ns,
    }


def _clock(clock: Clock, measured: Measured, exact: bool) -> dict[str, Any]:
    walls = [
        plane.plane.stats
        for plane in measured.planes
        if plane.plane.source == clock.source and plane.plane.kind == "environment"
    ]
    wall = walls[0] if walls else {}
    return {
        "id": clock.id,
        "source": clock.source,
        "first_ns": str(clock.first),
        "last_ns": str(clock.last),
        "span_ns": clock.last - clock.first,
        "planes": [plane.id for plane in clock.planes],
        "kinds": clock.kinds,
        "resolution_ns": resolution_ns([clock.first, clock.last], exact),
        "wall_start_ns": wall.get("profile_start_time"),
        "wall_stop_ns": wall.get("profile_stop_time"),
    }


def _plane(facts: PlaneFacts) -> dict[str, Any]:
    plane = facts.plane
    return {
        "id": facts.id,
        "source": plane.source,
        "name": plane.name,
        "kind": plane.kind,
        "device": _device(facts) if plane.kind == "device" else None,
        "stats": dict(sorted(plane.stats.items())[:MOST_STATS]),
        "lines": len(plane.lines),
        "events": plane.events,
        "zero_duration": sum(line.zero_duration for line in facts.lines),
        "clock": facts.clock.id if facts.clock else None,
        "first_ns": None if facts.first is None else str(facts.first),
        "last_ns": None if facts.last is None else str(facts.last),
        "busy": facts.busy,
        "work": facts.work_view,
        "work_ns": facts.work.total if facts.work_view else None,
    }


def _device(facts: PlaneFacts) -> dict[str, Any]:
    plane = facts.plane
    chip = chip_of(plane.device_type)
    platform, ordinal = device_of(plane.name)
    return {
        "type": plane.device_type,
        "chip": chip.name if chip else None,
        "platform": platform,
        "ordinal": ordinal,
        "tensor_cores": chip.tensor_cores if chip else None,
        "shows": plane_shows(chip, plane.stats.get("has_megacore")),
    }


def _line(plane: PlaneFacts, facts: LineFacts) -> dict[str, Any]:
    return {
        "id": facts.id,
        "plane": plane.id,
        "name": facts.line.name,
        "view": facts.line.view,
        "events": len(facts.line),
        "zero_duration": facts.zero_duration,
        "first_ns": None if facts.first is None else str(facts.first),
        "last_ns": None if facts.last_end is None else str(facts.last_end),
        "busy_ns": facts.busy_ns,
        "sum_ns": facts.sum_ns,
        "nested": facts.nesting.depth > 1,
        "depth": facts.nesting.depth,
        "overlapping": facts.nesting.overlapping,
        "operations": sum(1 for number in facts.line.operations if number >= 0),
    }


def _clean(value: Any, redactor: Redactor, limit: int) -> Any:
    """Without what names a machine, a person or a place; printable, and within the limit."""
    if isinstance(value, str):
        text = redactor.text(ADDRESS.sub("<address>", value), "trace/summary.json")
        if not text.isprintable():
            text = "".join(each if each.isprintable() else UNPRINTABLE for each in text)
        return text if len(text) <= limit else f"{text[: limit - 1]}…"
    if isinstance(value, dict):
        return {
            _clean(key, redactor, limit): _clean(item, redactor, limit)
            for key, item in value.items()
        }
    if isinstance(value, list | tuple):
        return [_clean(item, redactor, limit) for item in value]
    return value
