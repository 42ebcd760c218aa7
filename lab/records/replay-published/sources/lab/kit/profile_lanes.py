"""Lanes to draw: of each line a bounded number of intervals, each saying how many it hides."""

import heapq
from collections.abc import Sequence
from typing import Any

from lab.kit.intervals import Spans
from lab.kit.profile_events import Profile
from lab.kit.profile_measure import LineFacts, Measured, PlaneFacts
from lab.kit.profile_steps import StepFacts

MOST_LANES = 48
MOST_INTERVALS = 256
"""Of one lane, over all its depths."""

DEPTHS = 4
"""Levels of nesting that are drawn."""

MOST_NAMES = 2000
SEVERAL = -1
"""In place of a name: the interval stands for events of several names."""

_RANK = ("steps", "modules", "ops", "async", "stream")

Interval = list[int]
"""Start, duration, name, events, time covered by them, depth."""


def describe_lanes(measured: Measured, steps: Sequence[StepFacts]) -> dict[str, Any]:
    """The summary's `lanes`, `lanes_left_out` and `names`."""
    with_steps = {step.line.id for step in steps}
    lines = [(plane, line) for plane in measured.planes for line in plane.lines if len(line.line)]
    ranked = sorted(lines, key=lambda item: _rank(item[0], item[1], with_steps))
    chosen = {line.id for _, line in ranked[:MOST_LANES]}
    names = _Names(measured.profile)
    lanes = [_lane(plane, line, names) for plane, line in lines if line.id in chosen]
    rest = [line for _, line in ranked[MOST_LANES:]]
    return {
        "lanes": lanes,
        "lanes_left_out": {
            "count": len(rest),
            "events": sum(len(line.line) for line in rest),
            "busy_ns": sum(line.busy_ns for line in rest),
        },
        "names": names.all,
    }


def _rank(plane: PlaneFacts, line: LineFacts, with_steps: set[str]) -> tuple[int, int, str]:
    """Threads with steps first, then devices by view, then what is busiest."""
    if line.id in with_steps:
        group = 0
    elif plane.plane.kind == "device" and line.line.view in _RANK:
        group = 1
    elif any(number >= 0 for number in line.line.operations):
        group = 2
    else:
        group = 4 if line.line.view in ("python", "annotation") else 3
    return group, -line.busy_ns, line.id


class _Names:
    """The names that the lanes use, numbered anew; past the limit all are `SEVERAL`."""

    def __init__(self, profile: Profile) -> None:
        self._texts = profile.texts.all
        self._numbers: dict[int, int] = {}
        self.all: list[str] = []

    def number(self, old: int) -> int:
        if old not in self._numbers:
            if len(self.all) == MOST_NAMES:
                return SEVERAL
            self._numbers[old] = len(self.all)
            self.all.append(self._texts[old])
        return self._numbers[old]


def _lane(plane: PlaneFacts, facts: LineFacts, names: _Names) -> dict[str, Any]:
    line, depths = facts.line, facts.nesting.depths
    levels: list[list[int]] = [[] for _ in range(DEPTHS)]
    for at, depth in enumerate(depths):
        if depth < DEPTHS:
            levels[depth].append(at)
    intervals: list[Interval] = []
    left = MOST_INTERVALS
    for depth, places in enumerate(levels):
        share = left // (DEPTHS - depth)
        drawn = [
            _interval(facts, group, depth, plane, names) for group in _groups(facts, places, share)
        ]
        left -= len(drawn)
        intervals += drawn
    shown = sum(interval[3] for interval in intervals)
    return {
        "line": facts.id,
        "plane": plane.id,
        "view": line.view,
        "name": line.name,
        "clock": plane.clock.id if plane.clock else None,
        "events": len(line),
        "intervals": intervals,
        "hidden": {
            "events": len(line) - sum(1 for interval in intervals if interval[3] == 1),
            "merged_intervals": sum(1 for interval in intervals if interval[3] > 1),
            "deeper": len(line) - shown,
        },
    }


def _groups(facts: LineFacts, places: Sequence[int], most: int) -> list[Sequence[int]]:
    """Neighbours together, parted at the longest silences, so that at most `most` groups remain."""
    if len(places) <= most:
        return [[at] for at in places]
    starts, durations = facts.line.starts, facts.line.durations
    silences = []
    reach = starts[places[0]]
    for index, at in enumerate(places):
        start = starts[at]
        if index:
            silences.append((start - reach, -index))
        reach = max(reach, start + durations[at])
    cuts = sorted(-index for _, index in heapq.nlargest(most - 1, silences))
    return [places[low:high] for low, high in zip([0, *cuts], [*cuts, len(places)], strict=True)]


def _interval(
    facts: LineFacts, places: Sequence[int], depth: int, plane: PlaneFacts, names: _Names
) -> Interval:
    line = facts.line
    start, end = line.starts[places[0]], max(line.end(at) for at in places)
    one_name = len({line.names[at] for at in places}) == 1
    covered = Spans((line.starts[at], line.end(at)) for at in places).total
    name = names.number(line.names[places[0]]) if one_name else SEVERAL
    return [plane.at(start), end - start, name, len(places), covered, depth]
