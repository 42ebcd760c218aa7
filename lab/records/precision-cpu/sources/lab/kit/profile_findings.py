"""Whether a profile may be read as it seems: what is there, what is missing, what is odd.

Findings come before numbers. Each says what was found and where; none says why.
"""

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from itertools import pairwise
from typing import Any, Literal

from lab.kit.device_names import chip_of, plane_shows
from lab.kit.faults import CheckFailed
from lab.kit.intervals import TOLERANCE_NS
from lab.kit.profile_events import Profile
from lab.kit.profile_measure import Measured
from lab.kit.profile_operations import place
from lab.kit.profile_steps import CompileFacts, StepFacts, summarize_steps

Level = Literal["ok", "note", "warning"]

MOST_EVIDENCE = 20
EVENT_LIMIT = 1_000_000
"""At which the writer of a `trace.json.gz` stops, without a word."""

INFLATED = 2.0
"""A first step this many times the median of the others is called inflated."""

MATTERS = 0.01
"""The share of all time from which on an operation's two clocks are compared."""

AGREEING = 0.01
"""How far the two clocks may differ and still agree."""

UNTOLD = {
    "no-phase": "items without a phase, as JAX writes one at the end",
    "unknown-phase": "events with an unknown phase",
    "negative-duration": "events with a negative duration",
    "longer-than-a-day": "events longer than a day",
    "no-time": "events without a usable time",
    "no-duration": "complete events without a duration",
    "unmatched-begin": "begins without an end",
    "unmatched-end": "ends without a begin",
    "out-of-window": "events days away from all others",
    "not-an-object": "items that are no objects",
}
"""Why an event is left out of every sum, in words."""

HARMLESS = ("no-phase",)


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What the reader of a profile expects of it; nothing is checked that was not asked."""

    platform: str | None = None
    step_name: str | None = None
    step_count: int | None = None
    """In each file."""
    inner: Sequence[str] = ()
    processes: int | None = None

    def describe(self) -> dict[str, Any]:
        steps = {"name": self.step_name, "count": self.step_count}
        return {
            "platform": self.platform,
            "steps": steps if any(value is not None for value in steps.values()) else None,
            "inner": list(self.inner) or None,
            "processes": self.processes,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One thing to know before any number is believed."""

    id: str
    level: Level
    words: str
    count: int | None = None
    evidence: Sequence[Mapping[str, Any]] = field(default_factory=tuple)

    def describe(self) -> dict[str, Any]:
        return asdict(self) | {
            "evidence": [dict(each) for each in self.evidence[:MOST_EVIDENCE]],
            "evidence_left_out": max(0, len(self.evidence) - MOST_EVIDENCE),
        }


def refuse_unexpected(measured: Measured, steps: Sequence[StepFacts], asked: Asked) -> None:
    """Raise `CheckFailed` where the profile is not the one that was asked for."""
    devices = measured.devices
    if asked.platform not in (None, "cpu") and not devices:
        raise CheckFailed(
            f"the run says {asked.platform}, but its trace shows no device; "
            "the profiler may lack the permission, or the plugin, to see one"
        )
    if asked.inner:
        found = [(step.number, step.inner) for step in steps]
        expected = list(enumerate(asked.inner))
        if found != expected:
            raise CheckFailed(f"the trace holds the steps {found}, not {expected}")
    elif asked.step_count is not None:
        named = f" named {asked.step_name}" if asked.step_name is not None else ""
        for index, source in enumerate(measured.profile.sources):
            count = sum(1 for step in steps if step.plane.plane.source == index)
            if count != asked.step_count:
                raise CheckFailed(
                    f"{source.name} holds {count} steps{named}, not {asked.step_count}"
                )


def qualify(
    measured: Measured,
    steps: Sequence[StepFacts],
    compiles: Sequence[CompileFacts],
    operations: Sequence[Mapping[str, Any]],
    asked: Asked,
) -> list[Finding]:
    """Every finding, in the order in which a reader should meet them."""
    profile = measured.profile
    return [
        *_planes(measured),
        *_chips(measured),
        *_completeness(profile),
        *_hosts(profile, asked),
        *_clocks(measured),
        *_device_clock(operations),
        *_steps(measured, steps),
        *_compiles(steps, compiles),
        *_nesting(measured),
        *_host_lanes(measured),
    ]


def suspect_cut(profile: Profile, steps: Sequence[StepFacts]) -> None:
    """Where the file may have been cut at its limit, the last step may be cut with it."""
    if steps and _at_limit(profile):
        steps[-1].complete = False


def device_note(measured: Measured) -> str:
    """One sentence on the devices of a file, for a page that shows no more."""
    count = len(measured.devices)
    if count:
        return f"Device planes in this file: {count}. Other devices, if any, were not captured."
    return (
        "No device lane: on a CPU the operations run, and are recorded, on host threads. "
        "A lane that is absent says nothing about how busy a device was."
    )


def _planes(measured: Measured) -> Iterator[Finding]:
    planes, devices = measured.planes, measured.devices
    at = [{"plane": plane.id} for plane in devices]
    names = ", ".join(plane.plane.name for plane in planes[:12])
    more = f" and {len(planes) - 12} more" if len(planes) > 12 else ""
    yield Finding(id="planes", level="ok", count=len(planes), words=f"Planes: {names}{more}.")
    if not devices:
        yield Finding(
            id="no-device-lane",
            level="note",
            words="There is no device lane: this file says nothing about device time. On a CPU the "
            "operations run on host threads. Elsewhere the profiler may have lacked the "
            "permission, or the plugin, to see a device.",
        )
        return
    yield Finding(
        id="devices",
        level="ok",
        count=len(devices),
        evidence=at,
        words=f"{_plural(len(devices), 'device plane')} in this file. It does not say how many "
        "devices the program used.",
    )
    empty = [where for plane, where in zip(devices, at, strict=True) if not plane.plane.events]
    if empty:
        yield Finding(
            id="empty-device-planes",
            level="warning",
            count=len(empty),
            evidence=empty,
            words=f"{_plural(len(devices), 'device plane')}, {len(devices) - len(empty)} with "
            "events. An empty plane is not an idle device: it is left out of every mean.",
        )


def _chips(measured: Measured) -> Iterator[Finding]:
    kinds: dict[tuple[str, Literal["chip", "core"] | None], list[str]] = {}
    for plane in measured.devices:
        text = plane.plane.device_type
        shows = plane_shows(chip_of(text), plane.plane.stats.get("has_megacore"))
        if text is not None:
            kinds.setdefault((text, shows), []).append(plane.id)
    for (text, shows), planes in kinds.items():
        chip = chip_of(text)
        at = [{"plane": plane_id} for plane_id in planes]
        if chip is None:
            yield Finding(
                id="device-type-unknown",
                level="note",
                count=len(planes),
                evidence=at,
                words=f"The file calls its device “{text}”, which is no TPU type known here: "
                "no peak is set beside its times.",
            )
        else:
            means = {
                "chip": "one plane is one whole chip",
                "core": "one plane is one core, and a chip has two",
                None: "whether a plane is a chip or one of its two cores is not said",
            }[shows]
            yield Finding(
                id="device-type",
                level="ok",
                count=len(planes),
                evidence=at,
                words=f"“{text}” is {chip.name}; {means}.",
            )


def _completeness(profile: Profile) -> Iterator[Finding]:
    if _at_limit(profile):
        yield Finding(
            id="event-limit",
            level="warning",
            count=EVENT_LIMIT,
            words=f"Possibly truncated: {EVENT_LIMIT:,} events, at which the writer stops without "
            "a word. The last step is not counted as complete.",
        )
    if profile.lost_events:
        yield Finding(
            id="lost-events",
            level="warning",
            count=profile.lost_events,
            words=f"The file itself says that {profile.lost_events:,} events were lost: every "
            "total here is a lower bound.",
        )
    if profile.twice:
        yield Finding(
            id="doubled",
            level="warning",
            count=len(profile.twice),
            words=f"There twice, with the same content, and counted once: "
            f"{', '.join(sorted(set(profile.twice))[:8])}.",
        )
    names = [(plane.source, plane.name) for plane in profile.planes if plane.events]
    same = sorted({name for (_, name), count in Counter(names).items() if count > 1})
    if same:
        yield Finding(
            id="same-name",
            level="warning",
            count=len(same),
            words=f"Several planes of one name, with different content: {', '.join(same[:8])}. "
            "Two captures may have been joined.",
        )
    odd = {reason: count for reason, count in profile.odd.items() if count}
    told = "; ".join(f"{count:,} {UNTOLD[reason]}" for reason, count in sorted(odd.items()))
    if odd:
        yield Finding(
            id="odd-events",
            level="note" if set(odd) <= set(HARMLESS) else "warning",
            count=sum(odd.values()),
            words=f"Left out of every sum: {told}.",
        )


def _hosts(profile: Profile, asked: Asked) -> Iterator[Finding]:
    hosts = sorted({source.host for source in profile.sources})
    present = sorted({s.process for s in profile.sources if s.process is not None})
    missing = missing_processes(profile, asked)
    if len(profile.sources) > 1:
        yield Finding(
            id="hosts",
            level="note",
            count=len(profile.sources),
            words=f"{len(profile.sources)} files, of {', '.join(hosts)}"
            + (f", processes {', '.join(map(str, present))}" if present else "")
            + ". Their clocks are their own: times of different files are not compared.",
        )
    if missing:
        yield Finding(
            id="processes-missing",
            level="warning",
            count=len(missing),
            words=f"No trace of process {', '.join(map(str, missing))}; there are those of "
            f"{', '.join(map(str, present)) or 'none'}.",
        )


def missing_processes(profile: Profile, asked: Asked) -> list[int]:
    """Indices that should be there: up to the number asked for, or to the largest present."""
    present = {source.process for source in profile.sources if source.process is not None}
    expected = asked.processes if asked.processes is not None else max(present, default=-1) + 1
    return [index for index in range(expected) if index not in present]


def _clocks(measured: Measured) -> Iterator[Finding]:
    for index in range(len(measured.profile.sources)):
        clocks = [clock for clock in measured.clocks if clock.source == index]
        if len(clocks) > 1:
            yield Finding(
                id="clocks-apart",
                level="warning",
                count=len(clocks),
                evidence=[{"clock": clock.id} for clock in clocks],
                words="The times of these planes do not overlap: "
                + "; ".join(", ".join(p.plane.name for p in clock.planes[:4]) for clock in clocks)
                + ". They may be told by different clocks, so no gap between them is worked out.",
            )


def _device_clock(operations: Sequence[Mapping[str, Any]]) -> Iterator[Finding]:
    """A TPU's timeline is its own clock stretched onto the host's; both sums are given."""
    told = [each for each in operations if each["device_total_ns"] is not None]
    line_ns = sum(each["self_ns"] for each in told)
    differing = [
        (abs(each["total_ns"] / each["device_total_ns"] - 1), each)
        for each in told
        if each["device_total_ns"] and each["self_ns"] >= MATTERS * line_ns
    ]
    if differing:
        most, which = max(differing, key=lambda item: item[0])
        device_ns = sum(each["device_self_ns"] for each in told)
        yield Finding(
            id="device-clock",
            level="warning" if most > AGREEING else "ok",
            count=len(told),
            evidence=[which["longest"]],
            words=f"By the device's own clock the operations add up to {device_ns / 1e6:,.3f} ms, "
            f"on the timeline, which follows the host's clock, to {line_ns / 1e6:,.3f} ms. One "
            f"operation, {which['hlo_op'] or which['name']:.40}, differs by {100 * most:.1f} %: "
            "its device_total_ns is what the device counted.",
        )


def _steps(measured: Measured, steps: Sequence[StepFacts]) -> Iterator[Finding]:
    if not steps:
        yield Finding(
            id="steps",
            level="note",
            count=0,
            words="No step is annotated: nothing here can be told per step.",
        )
        return
    names = sorted({step.name(measured) for step in steps})
    yield Finding(
        id="steps",
        level="ok",
        count=len(steps),
        words=f"{_plural(len(steps), 'annotated step')} named {', '.join(names[:6])}.",
    )
    wrong = []
    for at, step in enumerate(steps[1:], 1):
        before, same = steps[at - 1], steps[at - 1].plane is step.plane
        in_order = before.number is None or step.number is None or before.number < step.number
        if same and before.name(measured) == step.name(measured) and not in_order:
            wrong.append(_step_place(step))
    if wrong:
        yield Finding(
            id="steps-order",
            level="warning",
            count=len(wrong),
            evidence=wrong,
            words="Step numbers do not rise with time.",
        )
    crossing = [
        _step_place(step)
        for before, step in pairwise(steps)
        if before.plane is step.plane and step.start < before.end - TOLERANCE_NS < step.end
    ]
    if crossing:
        yield Finding(
            id="steps-overlap",
            level="warning",
            count=len(crossing),
            evidence=crossing,
            words="Steps overlap: their durations are not independent costs.",
        )
    ratio = summarize_steps(measured, steps)["first_ratio"]
    if ratio is not None and (ratio >= INFLATED or ratio <= 1 / INFLATED):
        yield Finding(
            id="first-step",
            level="warning" if ratio >= INFLATED else "note",
            evidence=[_step_place(steps[0])],
            words=f"The first step lasts {ratio:.2f} times the median of the others: medians are "
            "given with it and without it.",
        )


def _compiles(steps: Sequence[StepFacts], found: Sequence[CompileFacts]) -> Iterator[Finding]:
    inside = [each for each in found if each.in_window]
    if inside:
        yield Finding(
            id="compile-in-window",
            level="warning",
            count=len(inside),
            evidence=[place(each.plane, each.line, each.at) for each in inside],
            words=f"{_plural(len(inside), 'compilation')} inside the measured window: the steps "
            "that hold one are not steady-state steps.",
        )
    elif steps:
        yield Finding(
            id="no-compile-in-window",
            level="ok",
            count=0,
            words="No compilation is recorded between the first step's start and the last one's "
            "end.",
        )


def _nesting(measured: Measured) -> Iterator[Finding]:
    lines = [line for plane in measured.planes for line in plane.lines]
    crossing = [line for line in lines if line.nesting.overlapping]
    owners = {line.id: plane for plane in measured.planes for line in plane.lines}
    if crossing:
        count = sum(line.nesting.overlapping for line in crossing)
        yield Finding(
            id="overlap",
            level="note",
            count=count,
            evidence=[
                place(owners[line.id], line, at)
                for line in crossing
                for at in line.nesting.first_overlaps
            ],
            words=f"{_plural(count, 'event')} overlap another of the same line by more than 1 µs "
            "without lying in it: they are parallel, and busy time counts them once.",
        )
    else:
        yield Finding(
            id="nesting",
            level="ok",
            count=0,
            words="Within each line every child lies in its parent, to 1 µs.",
        )


def _host_lanes(measured: Measured) -> Iterator[Finding]:
    if any(plane.plane.events for plane in measured.hosts):
        yield Finding(
            id="host-annotations",
            level="note",
            words="An event on a host's thread is dispatch and waiting. It is no kernel's time.",
        )
    frames = [
        line for plane in measured.hosts for line in plane.lines if line.line.view == "python"
    ]
    if frames:
        count = sum(len(line.line) for line in frames)
        yield Finding(
            id="python-tracer",
            level="warning",
            count=count,
            evidence=[{"line": line.id} for line in frames],
            words=f"The Python tracer was on: {count:,} frames, kept apart from every sum. It "
            "slows what it traces, so these times are not those of an untraced run.",
        )
    on_device = [
        line
        for plane in measured.devices
        for line in plane.lines
        if line.line.view in ("ops", "stream") and len(line.line)
    ]
    if on_device and all(max(line.line.operations) < 0 for line in on_device):
        yield Finding(
            id="program-names",
            level="note",
            evidence=[{"line": line.id} for line in on_device],
            words="No operation on a device tells its program: the program is not in the trace.",
        )


def _step_place(step: StepFacts) -> dict[str, Any]:
    return place(step.plane, step.line, step.at) | {"step": step.number}


def _at_limit(profile: Profile) -> bool:
    return EVENT_LIMIT in profile.item_counts or any(
        source.events == EVENT_LIMIT for source in profile.sources
    )


def _plural(count: int, what: str) -> str:
    return f"{count:,} {what}{'' if count == 1 else 's'}"


def resolution_ns(times: Sequence[int], reader_is_exact: bool) -> int:
    """The step between neighbouring times: a reader that hands out doubles rounds large ones."""
    largest = max((abs(time) for time in times), default=0)
    return 1 if reader_is_exact else max(1, int(math.ulp(float(largest))))
