"""Where nothing of a kind is going on: between steps, and between a device's operations."""

import heapq
from array import array
from collections.abc import Iterator, Sequence
from statistics import median
from typing import Any, NamedTuple

from lab.kit.profile_measure import LineFacts, Measured, PlaneFacts, events
from lab.kit.profile_steps import StepFacts

MOST = 100
"""Gaps that are kept of each kind, the longest."""

STEPS, OPERATIONS = "between-steps", "between-operations"


class Gap(NamedTuple):
    """A silence of a plane, with the names of what it parts. Sorts by its length."""

    duration: int
    start: int
    plane: PlaneFacts
    line: LineFacts | None
    view: str
    after: str
    before: str


def describe_gaps(measured: Measured, steps: Sequence[StepFacts]) -> dict[str, Any]:
    """The summary's `gaps` and `gaps_summary`."""
    rows: list[dict[str, Any]] = []
    summary: dict[str, Any] = {}
    for kind, found in (
        (STEPS, _between_steps(measured, steps)),
        (OPERATIONS, _between_operations(measured)),
    ):
        durations = array("q")
        longest = heapq.nsmallest(
            MOST, _counted(found, durations), key=lambda gap: (-gap.duration, gap.start)
        )
        rows += [_row(kind, gap, steps) for gap in longest]
        summary[kind] = {
            "count": len(durations),
            "total_ns": sum(durations),
            "median_ns": round(median(durations)) if durations else None,
        }
    return {"gaps": rows, "gaps_summary": summary}


def _counted(found: Iterator[Gap], durations: "array[int]") -> Iterator[Gap]:
    """Hand each gap on, and keep no more of it than its duration."""
    for gap in found:
        durations.append(gap.duration)
        yield gap


def _between_steps(measured: Measured, steps: Sequence[StepFacts]) -> Iterator[Gap]:
    """On each host, from the furthest end of the steps so far to the next one's start."""
    last: StepFacts | None = None
    for step in steps:
        if last is not None and last.plane is step.plane:
            if step.start > last.end:
                names = last.name(measured), step.name(measured)
                line = last.line if last.line is step.line else None
                yield Gap(step.start - last.end, last.end, step.plane, line, "steps", *names)
            elif step.end <= last.end:
                continue
        last = step


def _between_operations(measured: Measured) -> Iterator[Gap]:
    """On each device, over all lines of the view that stands for its work."""
    texts = measured.profile.texts.all
    for plane in measured.devices:
        lines = [line for line in plane.lines if line.line.view == plane.work_view]
        own_line = lines[0] if len(lines) == 1 else None
        reach, last = None, 0
        for start, end, index, at in events(lines):
            name = lines[index].line.names[at]
            if reach is not None and start > reach:
                parted = texts[last], texts[name]
                yield Gap(start - reach, reach, plane, own_line, str(plane.work_view), *parted)
            if reach is None or end > reach:
                reach, last = end, name


def _row(kind: str, gap: Gap, steps: Sequence[StepFacts]) -> dict[str, Any]:
    step = next(
        (
            each
            for each in steps
            if each.plane.clock is gap.plane.clock and each.start <= gap.start < each.end
        ),
        None,
    )
    return {
        "kind": kind,
        "plane": gap.plane.id,
        "line": gap.line.id if gap.line else None,
        "view": gap.view,
        "start_ns": gap.plane.at(gap.start),
        "duration_ns": gap.duration,
        "after": gap.after,
        "before": gap.before,
        "step": step.number if step else None,
    }
