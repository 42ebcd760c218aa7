"""Sums over intervals that may be nested, parallel or touching, in whole nanoseconds.

Busy time is a union: no instant counts twice. Self time is what an event's children leave of
it. A child may end up to one microsecond after its parent, since clocks are rounded.
"""

from array import array
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

TOLERANCE_NS = 1_000
"""How far a child may stick out of its parent, and how far neighbours may overlap."""

DEEPEST = 64
"""Open events that are searched for a parent; in most traces one or two are looked at."""

Span = tuple[int, int]
"""Start and end."""


class Spans:
    """Disjoint spans in order of time, 16 bytes each."""

    def __init__(self, spans: Iterable[Span]) -> None:
        """The union of `spans`, which come in order of their start."""
        self._starts, self._ends = array("q"), array("q")
        begin: int | None = None
        reach = 0
        for start, end in spans:
            if begin is None:
                begin, reach = start, end
            elif start > reach:
                self._starts.append(begin)
                self._ends.append(reach)
                begin, reach = start, end
            elif end > reach:
                reach = end
        if begin is not None:
            self._starts.append(begin)
            self._ends.append(reach)

    def __iter__(self) -> Iterator[Span]:
        return zip(self._starts, self._ends, strict=True)

    def __len__(self) -> int:
        return len(self._starts)

    @property
    def total(self) -> int:
        """The time that at least one span covers."""
        return sum(self._ends) - sum(self._starts)

    def within(self, start: int, end: int) -> list[Span]:
        """The parts that lie between `start` and `end`."""
        parts = []
        for at in range(bisect_right(self._ends, start), len(self._starts)):
            if self._starts[at] >= end:
                break
            parts.append((max(self._starts[at], start), min(self._ends[at], end)))
        return parts


def length(spans: Iterable[Span]) -> int:
    """The summed length of disjoint spans."""
    return sum(end - start for start, end in spans)


@dataclass(frozen=True, slots=True, kw_only=True)
class Nesting:
    """How the events of one line lie in one another."""

    self_ns: Sequence[int]
    """What its children leave of each event."""
    depths: Sequence[int]
    """0 for an event that lies in no other."""
    parents: Sequence[int]
    """The place of the event it lies in, -1 for none."""
    overlapping: int
    """Events that overlap another by more than the tolerance and do not lie in it."""
    first_overlaps: Sequence[int]
    """The places of the first few of them."""

    @property
    def depth(self) -> int:
        """1 where no event lies in another, 0 where there is none."""
        return max(self.depths, default=-1) + 1


def nest(starts: Sequence[int], durations: Sequence[int], *, examples: int = 20) -> Nesting:
    """Nest events that come in order of start, the longer first.

    An event that overlaps an earlier one without lying in it is parallel to it: it is
    counted, and its time is taken from neither. A parent loses the union of its children.
    """
    count = len(starts)
    self_ns, covered = array("q", durations), array("q", starts)
    # `covered`: up to where the children of each event have been subtracted from it.
    depths, parents = array("i", bytes(4 * count)), array("i", [-1]) * count
    open_events: list[int] = []
    overlapping = 0
    first_overlaps: list[int] = []
    for at in range(count):
        start, duration = starts[at], durations[at]
        end = start + duration
        while open_events and starts[open_events[-1]] + durations[open_events[-1]] <= start:
            open_events.pop()
        parent, crossed = -1, False
        for candidate in reversed(open_events[-DEEPEST:]):
            stop = starts[candidate] + durations[candidate]
            if stop <= start or stop - start <= TOLERANCE_NS < duration:
                continue  # over, if only but for rounding: a neighbour
            if end <= stop + TOLERANCE_NS:
                parent = candidate
                break
            crossed = True
        if crossed:
            overlapping += 1
            if len(first_overlaps) < examples:
                first_overlaps.append(at)
        if parent >= 0:
            parents[at] = parent
            depths[at] = depths[parent] + 1
            stop = min(end, starts[parent] + durations[parent])
            begin = max(start, covered[parent])
            if stop > begin:
                self_ns[parent] -= stop - begin
                covered[parent] = stop
        open_events.append(at)
        if len(open_events) > 2 * DEEPEST:
            open_events = [one for one in open_events if starts[one] + durations[one] > start]
    return Nesting(
        self_ns=self_ns,
        depths=depths,
        parents=parents,
        overlapping=overlapping,
        first_overlaps=first_overlaps,
    )
