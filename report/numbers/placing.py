"""Measured points under measured ceilings: which rate may be claimed, and what bounds it.

A ceiling here is the best that the sweep lab's own probe saw on one device. It is no documented
peak, and it holds for that device alone: a point from another device is refused. A point above
a ceiling stays where it was measured, with the reason, since then the ceiling is too low for it
or the time is wrong.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from report.errors import EvidenceMismatch, Fault
from report.numbers.precision import POLICIES, Policy, PrecisionRun, Timing
from report.numbers.roofline import Work
from report.numbers.run import Machine
from report.numbers.sweep import OUTPUT_BYTES, WORK, Stream, SweepRun, Timed
from report.numbers.traffic import minimum_bytes

FLOOR_TIMES = 10
"""A call must last this many times an empty call before a rate is read from it."""
BEYOND_CACHE = 4
"""An array must be this many times the last-level cache: STREAM's rule for measuring memory
(https://www.cs.virginia.edu/stream/ref.html)."""

Verdict = Literal["unclaimed", "under", "cached", "over", "alone"]
"""Below the floor; under its ceilings; above the memory slope, in cache; above its ceilings; or
with no ceiling to be read against."""


class ForeignCeilings(EvidenceMismatch):
    """A point that was measured on another device than the ceilings."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ceiling:
    """The rates of one row of the probe; the best row of its kind makes a ceiling."""

    per_s: float
    """Amount over the fastest sample."""
    median_per_s: float
    """The same over the median of the samples."""
    row: str
    """Which row of the probe it is from."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ceilings:
    """What one device was seen to reach. A missing ceiling has its reason."""

    machine: Machine
    floor_s: float
    """Median of an empty call."""
    cache_bytes: int | None
    """The last-level cache; None where it is not known."""
    memory: Ceiling | None
    """Bytes a second through arrays well beyond the caches."""
    memory_reason: str
    cached: Ceiling | None
    """Bytes a second through working sets that fit in the last-level cache."""
    cached_reason: str
    matrix: Mapping[Policy, Ceiling]
    """Operations a second of square products; a policy whose squares claim no rate has none."""

    @property
    def claim_s(self) -> float:
        """The shortest median from which a rate may be read."""
        return FLOOR_TIMES * self.floor_s

    def slope(self, working_set: int) -> tuple[Ceiling | None, str]:
        """The bandwidth that bounds a working set, and its name: `in cache` or `memory`."""
        if self.cache_bytes is not None and working_set <= self.cache_bytes:
            return self.cached, "in cache"
        return self.memory, "memory"

    def ridge(self, policy: Policy) -> float | None:
        """Operations per byte at which the memory slope meets a policy's matrix rate."""
        matrix = self.matrix.get(policy)
        return matrix.per_s / self.memory.per_s if matrix and self.memory else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Point:
    """One measured product, from whatever record."""

    id: str
    policy: Policy
    shape: tuple[int, int, int]
    minimum_bytes: int
    """Operands and scales once, output once; also the working set."""
    timing: Timing
    floor_s: float
    machine: Machine

    @property
    def work(self) -> Work:
        return WORK[self.policy]

    @property
    def operations(self) -> int:
        m, k, n = self.shape
        return 2 * m * k * n

    @property
    def intensity(self) -> float:
        """I = F / A_min, operations per byte."""
        return self.operations / self.minimum_bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class Placed:
    """A point with what may be said of it."""

    point: Point
    verdict: Verdict
    per_s: float | None
    """Operations over the median; None where no rate may be claimed."""
    bound_per_s: float | None
    """The lower of its ceilings at its intensity."""
    limit: str
    """Which ceiling that is: `matrix rate`, `in cache` or `memory`; empty for none."""
    memory_per_s: float | None
    """What the memory slope alone would allow at its intensity."""
    words: str
    """The verdict in a sentence's part, for a table."""

    @property
    def share(self) -> float | None:
        """The claimed rate over its bound; above 1 it is above its ceilings."""
        return self.per_s / self.bound_per_s if self.per_s and self.bound_per_s else None


def claims_rate(timing: Timing, floor_s: float) -> bool:
    """Whether a rate may be read from a time: not from one near the floor, nor from zero."""
    return timing.minimum > 0 and timing.median >= FLOOR_TIMES * floor_s


def ceilings_of(run: SweepRun) -> Ceilings:
    """The best rates of a run's probe."""
    floor_s = run.floor.empty_call.median
    last = max((cache.bytes for cache in run.caches), default=None)
    beyond = list(_beyond(run, last))
    inside = [stream for stream in run.streams if last is not None and stream.moved_bytes <= last]
    memory, cached = (_best(streams, floor_s) for streams in (beyond, inside))
    matrix = {}
    for policy in POLICIES:
        squares = [each for each in run.squares if each.policy == policy]
        if best := _best(squares, floor_s):
            matrix[policy] = best
    return Ceilings(
        machine=run.machine,
        floor_s=floor_s,
        cache_bytes=last,
        memory=memory,
        memory_reason="" if memory else _why_no_memory(run, last, beyond),
        cached=cached,
        cached_reason="" if cached else _why_not_cached(run, last, inside),
        matrix=matrix,
    )


def rates_of(row: Stream | Timed, floor_s: float) -> Ceiling | None:
    """What one row of the probe reached; None where it may claim no rate."""
    amount = row.moved_bytes if isinstance(row, Stream) else row.operations
    timing = row.program.timing
    if not claims_rate(timing, floor_s):
        return None
    return Ceiling(per_s=amount / timing.minimum, median_per_s=amount / timing.median, row=row.id)


def place(ceilings: Ceilings, point: Point) -> Placed:
    """Set one point under the ceilings of its own device, or refuse it with both named."""
    if point.machine != ceilings.machine:
        raise ForeignCeilings(
            f"{point.id} cannot be set under these ceilings:",
            [
                Fault(
                    where=point.id,
                    found=f"measured on {point.machine}",
                    expected=f"{ceilings.machine}, where the ceilings are from",
                )
            ],
            hint="Measure ceilings and points on one device: python build.py run batch_sweep",
        )
    matrix = ceilings.matrix.get(point.policy)
    slope, slope_name = ceilings.slope(point.minimum_bytes)
    bounds = [(matrix.per_s, "matrix rate")] if matrix else []
    if slope:
        bounds.append((point.intensity * slope.per_s, slope_name))
    bound, limit = min(bounds, default=(None, ""))
    memory = point.intensity * ceilings.memory.per_s if ceilings.memory else None
    claimed = claims_rate(point.timing, point.floor_s)
    per_s = point.operations / point.timing.median if claimed else None
    verdict = _judge(per_s, bound, memory)
    return Placed(
        point=point,
        verdict=verdict,
        per_s=per_s,
        bound_per_s=bound,
        limit=limit,
        memory_per_s=memory,
        words=_words(verdict, limit),
    )


def points_of(run: SweepRun) -> list[Point]:
    """The sweep's own points."""
    return [_point(run, timed) for timed in run.points]


def points_of_precision(run: PrecisionRun) -> list[Point]:
    """The products of a precision record, one a result."""
    request = run.request
    return [
        Point(
            id=f"{run.name}/{result.id}",
            policy=result.policy,
            shape=(request.batch, request.features, request.outputs),
            minimum_bytes=result.stored.total + OUTPUT_BYTES * request.batch * request.outputs,
            timing=result.timing,
            floor_s=run.floor.empty_call.median,
            machine=run.setting.machine,
        )
        for result in run.results
    ]


def _point(run: SweepRun, timed: Timed) -> Point:
    return Point(
        id=timed.id,
        policy=timed.policy,
        shape=(timed.m, timed.k, timed.n),
        minimum_bytes=minimum_bytes(timed),
        timing=timed.program.timing,
        floor_s=run.floor.empty_call.median,
        machine=run.machine,
    )


def _beyond(run: SweepRun, last: int | None) -> Iterator[Stream]:
    """Streams whose arrays are well beyond the caches; the largest where caches are not known."""
    smallest = BEYOND_CACHE * last if last is not None else max(run.request.arrays_kib) * 2**10
    yield from (stream for stream in run.streams if stream.array_bytes >= smallest)


def _best(rows: Sequence[Stream | Timed], floor_s: float) -> Ceiling | None:
    """The highest rate of the rows that claim one."""
    found = [rates for row in rows if (rates := rates_of(row, floor_s))]
    return max(found, key=lambda each: each.per_s, default=None)


def _why_no_memory(run: SweepRun, last: int | None, beyond: Sequence[Stream]) -> str:
    if beyond:
        return "every stream beyond the caches is below the dispatch floor"
    largest = max(run.request.arrays_kib) * 2**10
    return (
        f"the probe’s largest array has {largest:,} bytes, and memory is measured with arrays of "
        f"{BEYOND_CACHE} times the last-level cache, here {BEYOND_CACHE * (last or 0):,}"
    )


def _why_not_cached(run: SweepRun, last: int | None, inside: Sequence[Stream]) -> str:
    if last is None:
        return f"the caches are not known: {run.caches_reason}"
    if inside:
        return "every stream that fits in cache is below the dispatch floor"
    return "no stream of the probe fits in the last-level cache"


def _judge(per_s: float | None, bound: float | None, memory: float | None) -> Verdict:
    if per_s is None:
        return "unclaimed"
    if bound is None:
        return "alone"
    if per_s > bound:
        return "over"
    return "cached" if memory is not None and per_s > memory else "under"


def _words(verdict: Verdict, limit: str) -> str:
    return {
        "unclaimed": "below the floor: no rate claimed",
        "under": f"under its ceilings; the lower one is the {_named(limit)}",
        "cached": (
            "above the memory slope, since its working set fits in cache; under the "
            f"{_named(limit)}"
        ),
        "over": (
            f"above the probe’s {_named(limit)}: that ceiling is too low for it, or the time wrong"
        ),
        "alone": "no ceiling of the probe to read it against",
    }[verdict]


def _named(limit: str) -> str:
    return {"in cache": "in-cache slope", "memory": "memory slope"}.get(limit, limit)
