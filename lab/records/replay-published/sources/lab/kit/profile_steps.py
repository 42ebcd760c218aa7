"""The annotated steps of a profile, what ran in each, and the compilations beside them.

A step on a host's thread is dispatch and waiting. What a device did meanwhile is told apart,
and only where the two clocks can be compared.
"""

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from statistics import median
from typing import Any

from lab.kit.intervals import TOLERANCE_NS, Spans, length
from lab.kit.profile_events import Operation
from lab.kit.profile_measure import (
    LineFacts,
    Measured,
    PlaneFacts,
    inside,
    operation_of,
    started_within,
)
from lab.kit.profile_operations import place

MOST_STEPS = 1000
MOST_NAMES = 24
MOST_COMPILES = 100
MOST_DEVICES = 16
"""Devices told of in one step."""

COMPILE = re.compile(
    r"backend_compile\w*|(?:\w+::)*\w*(?:Client|Compiler|Executable)::Compile\w*|XlaCompile\w*"
)
"""What a compilation is called on a host's threads: by JAX, and by the runtimes below it."""


@dataclass(slots=True, kw_only=True, eq=False)
class StepFacts:
    """One step: where it stands, and what ran inside it."""

    number: int | None
    plane: PlaneFacts
    line: LineFacts
    at: int
    inner: str | None = None
    inner_names: list[str] = field(default_factory=list)
    compiles: int = 0
    complete: bool = True

    @property
    def start(self) -> int:
        return self.line.line.starts[self.at]

    @property
    def duration(self) -> int:
        return self.line.line.durations[self.at]

    @property
    def end(self) -> int:
        return self.start + self.duration

    def name(self, measured: Measured) -> str:
        return measured.profile.name(self.line.line, self.at)


@dataclass(slots=True, kw_only=True, eq=False)
class CompileFacts:
    """One compilation, the outermost event of it on its host."""

    plane: PlaneFacts
    line: LineFacts
    at: int
    step: StepFacts | None = None
    in_window: bool | None = None

    @property
    def start(self) -> int:
        return self.line.line.starts[self.at]

    @property
    def end(self) -> int:
        return self.line.line.end(self.at)


def host_steps(measured: Measured, name: str | None, inner: Sequence[str]) -> list[StepFacts]:
    """Every annotated step on a host's thread, in order; only those called `name`, if given.

    `inner` are names of which a step should hold one.
    """
    steps = [
        StepFacts(number=number, plane=plane, line=line, at=at)
        for plane in measured.hosts
        for line in plane.lines
        for at, number in line.line.steps.items()
    ]
    if name is not None:
        steps = [step for step in steps if step.name(measured) == name]
    steps.sort(key=lambda step: (step.plane.plane.source, step.start, -step.duration, step.line.id))
    for step in steps:
        _look_inside(step, measured, inner)
    return steps


def _look_inside(step: StepFacts, measured: Measured, inner: Sequence[str]) -> None:
    line, parents = step.line.line, step.line.nesting.parents
    children = [
        measured.profile.name(line, at)
        for at in inside(line, step.start, step.end, TOLERANCE_NS)
        if parents[at] == step.at
    ]
    step.inner_names = list(dict.fromkeys(children))[:MOST_NAMES]
    known = [name for name in step.inner_names if name in inner] if inner else step.inner_names
    step.inner = known[0] if len(known) == 1 else None


def compilations(measured: Measured, steps: Sequence[StepFacts]) -> list[CompileFacts]:
    """Compilations in order; what lies in the time of another, on any thread, is a part of it."""
    matching = {
        number for number, name in enumerate(measured.profile.texts.all) if COMPILE.fullmatch(name)
    }
    found: list[CompileFacts] = []
    for plane in measured.hosts if matching else ():
        events = [
            CompileFacts(plane=plane, line=line, at=at)
            for line in plane.lines
            if line.line.view == "host"
            for at, number in enumerate(line.line.names)
            if number in matching
        ]
        events.sort(key=lambda event: (event.start, -event.end))
        for event in events:
            if not found or found[-1].plane is not plane or event.end > found[-1].end:
                found.append(event)
    for event in found:
        same = [step for step in steps if step.plane.clock is event.plane.clock]
        if same:
            event.in_window = same[0].start <= event.start < max(step.end for step in same)
            event.step = next((step for step in same if step.start <= event.start < step.end), None)
            if event.step:
                event.step.compiles += 1
    return found


def describe_steps(measured: Measured, steps: Sequence[StepFacts]) -> dict[str, Any]:
    """The summary's `steps`, `steps_summary`, `device_steps` and `window`."""
    device_steps = [
        {
            "number": number,
            "name": measured.profile.name(line.line, at),
            **place(plane, line, at),
        }
        for plane in measured.devices
        for line in plane.lines
        for at, number in line.line.steps.items()
    ]
    return {
        "window": _window(steps),
        "steps": [_describe(step, measured) for step in steps[:MOST_STEPS]],
        "steps_left_out": _left_out([step.duration for step in steps[MOST_STEPS:]]),
        "steps_summary": summarize_steps(measured, steps),
        "device_steps": device_steps[:MOST_STEPS],
        "device_steps_left_out": _left_out(
            [step["duration_ns"] for step in device_steps[MOST_STEPS:]]
        ),
    }


def summarize_steps(measured: Measured, steps: Sequence[StepFacts]) -> dict[str, Any]:
    """Of the complete steps of one host and name, the most numerous: medians, and the first."""
    groups: dict[tuple[str, str], list[int]] = {}
    for step in steps:
        if step.complete:
            groups.setdefault((step.plane.id, step.name(measured)), []).append(step.duration)
    (plane, name), durations = max(
        groups.items(), key=lambda item: len(item[1]), default=((None, None), [])
    )
    rest = median(durations[1:]) if len(durations) > 1 else None
    return {
        "plane": plane,
        "name": name,
        "count": len(durations),
        "median_ns": round(median(durations)) if durations else None,
        "min_ns": min(durations, default=None),
        "max_ns": max(durations, default=None),
        "median_without_first_ns": None if rest is None else round(rest),
        "first_ratio": durations[0] / rest if rest else None,
    }


def describe_compiles(measured: Measured, found: Sequence[CompileFacts]) -> dict[str, Any]:
    """The summary's `compiles`."""
    rows = [
        {
            "name": measured.profile.name(each.line.line, each.at),
            **place(each.plane, each.line, each.at),
            "in_window": each.in_window,
            "step": each.step.number if each.step else None,
        }
        for each in found[:MOST_COMPILES]
    ]
    rest = [each.end - each.start for each in found[MOST_COMPILES:]]
    return {"compiles": rows, "compiles_left_out": _left_out(rest)}


def _window(steps: Sequence[StepFacts]) -> dict[str, Any] | None:
    """From the first step's start to the last one's end, on the first step's clock."""
    if not steps:
        return None
    clock = steps[0].plane.clock
    assert clock is not None  # a plane with a step has a clock
    same = [step for step in steps if step.plane.clock is clock]
    start, end = same[0].start, max(step.end for step in same)
    return {"clock": clock.id, "start_ns": start - clock.first, "duration_ns": end - start}


def _describe(step: StepFacts, measured: Measured) -> dict[str, Any]:
    names: dict[str, int] = {}
    programs: Counter[tuple[str | None, str | None]] = Counter()
    work: list[tuple[int, int]] = []
    for line in step.plane.lines:
        if line.line.view != "host":
            continue
        for at in inside(line.line, step.start, step.end, TOLERANCE_NS):
            if line is step.line and at == step.at:
                continue
            name = measured.profile.name(line.line, at)
            names[name] = min(line.line.starts[at], names.get(name, line.line.starts[at]))
            if operation := operation_of(measured.profile, line.line, at):
                programs[_program(operation)] += 1
                work.append((line.line.starts[at], line.line.end(at)))
    names.pop(step.inner or "", None)
    contains = sorted(names, key=lambda name: names[name])
    devices = measured.devices_beside(step.plane)
    for device in devices:
        for line in device.lines:
            if line.line.view == device.work_view:
                for at in started_within(line.line, step.start, step.end):
                    if operation := operation_of(measured.profile, line.line, at):
                        programs[_program(operation)] += 1
    return {
        "number": step.number,
        "name": step.name(measured),
        "inner": step.inner,
        "inner_names": step.inner_names,
        **place(step.plane, step.line, step.at),
        "complete": step.complete,
        "contains": contains[:MOST_NAMES],
        "contains_left_out": max(0, len(contains) - MOST_NAMES),
        "programs": [
            {"hlo_module": module, "program_id": program, "operations": count}
            for (module, program), count in sorted(
                programs.items(), key=lambda item: (-item[1], str(item[0]))
            )[:MOST_NAMES]
        ],
        "operations_first_ns": min(work)[0] - step.start if work else None,
        "operations_busy_ns": Spans(sorted(work)).total if work else None,
        "devices": [
            told for device in devices[:MOST_DEVICES] if (told := _on_device(device, step))
        ],
        "compiles": step.compiles,
    }


def _program(operation: Operation) -> tuple[str | None, str | None]:
    return operation.hlo_module, operation.program_id


def _on_device(device: PlaneFacts, step: StepFacts) -> dict[str, Any] | None:
    """What a device did while the step was open; None when that is nothing."""
    parts = device.work.within(step.start, step.end)
    if not parts:
        return None
    return {
        "plane": device.id,
        "view": device.work_view,
        "busy_ns": length(parts),
        "first_ns": parts[0][0] - step.start,
        "last_end_ns": parts[-1][1] - step.start,
    }


def _left_out(durations: Sequence[int]) -> dict[str, int]:
    return {"count": len(durations), "total_ns": sum(durations)}
