"""What is taken out of a profile before anything is summed, and counted.

A plane that stands in a file twice counts once. An event days away from all others is a
fault of a clock, not a part of the capture. Frames of the Python tracer, which stand among a
thread's own events, get a line of their own.
"""

import hashlib
from bisect import bisect_left, bisect_right
from itertools import chain

from lab.kit.profile_events import LONGEST_NS, Line, Plane, Profile

APART_NS = 3600 * 10**9
"""A silence that parts them from the rest."""


def tidy(profile: Profile) -> None:
    """Drop doubled planes and far events, and count both."""
    _drop_doubles(profile)
    for plane in profile.planes:
        _drop_far(plane, profile)
        plane.lines = [part for line in plane.lines for part in _without_frames(line)]
    for index, source in enumerate(profile.sources):
        source.events = sum(plane.events for plane in profile.planes if plane.source == index)


def _drop_doubles(profile: Profile) -> None:
    names: dict[tuple[int, str], list[Plane]] = {}
    for plane in profile.planes:
        names.setdefault((plane.source, plane.name), []).append(plane)
    for same in names.values():
        seen: set[bytes] = set()
        for plane in same if len(same) > 1 else ():
            content = _content(plane)
            if content in seen:
                profile.planes.remove(plane)
                profile.twice.append(plane.name)
            seen.add(content)


def _content(plane: Plane) -> bytes:
    digest = hashlib.sha256(repr(sorted(plane.stats.items())).encode())
    for line in plane.lines:
        digest.update(line.name.encode())
        for column in (line.starts, line.durations, line.names):
            digest.update(column.tobytes())
    return digest.digest()


def _drop_far(plane: Plane, profile: Profile) -> None:
    lines = [line for line in plane.lines if len(line)]
    if not lines:
        return
    first, last = min(line.starts[0] for line in lines), max(line.starts[-1] for line in lines)
    if last - first <= LONGEST_NS:
        return
    begin, end = _largest_group(sorted(chain.from_iterable(line.starts for line in lines)))
    for line in lines:
        dropped = _keep_between(line, begin, end)
        if dropped:
            profile.odd["out-of-window"] += dropped


def _largest_group(starts: list[int]) -> tuple[int, int]:
    """First and last start of the most events with no silence of an hour between them."""
    groups = []
    begin = 0
    for at in range(1, len(starts) + 1):
        if at == len(starts) or starts[at] - starts[at - 1] > APART_NS:
            groups.append((at - begin, -begin, starts[begin], starts[at - 1]))
            begin = at
    _, _, first, last = max(groups)
    return first, last


def _keep_between(line: Line, begin: int, end: int) -> int:
    low, high = bisect_left(line.starts, begin), bisect_right(line.starts, end)
    dropped = len(line) - (high - low)
    if dropped:
        line.keep(range(low, high))
    return dropped


def _without_frames(line: Line) -> list[Line]:
    """The line, and after it one with its Python frames, if it has any."""
    if not line.python_frames:
        return [line]
    frames = Line(f"{line.name} (Python frames)", "python")
    own: list[int] = []
    for at in range(len(line)):
        if line.names[at] in line.python_frames:
            frames.add(line.starts[at], line.durations[at], line.names[at])
        else:
            own.append(at)
    line.keep(own)
    return [line, frames] if own else [frames]
