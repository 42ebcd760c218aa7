"""Whether two timed programs can be told apart, and in which words that may be said.

Each program was timed beside its twin, a second compilation of the same text. What the twins
differ by is no property of a program, so a smaller difference between programs means nothing.
"""

import random
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import product
from statistics import median

from report.numbers.steadiness import Steadiness

ENOUGH_PROCESSES = 3
CONFIDENCE = 0.95
RESAMPLES = 4_000
SEED = 20
"""Draws the resamples where there are too many to take them all."""


class Verdict(StrEnum):
    """What may be said of one program's time against another's."""

    SAME_PROGRAM = "the same program, so not ranked"
    FEW = "too few processes to compare"
    UNSTEADY = "not steady, so not compared"
    INSIDE = "not distinguishable"
    SHORTER = "takes less time here"
    LONGER = "takes more time here"

    @property
    def ranks(self) -> bool:
        """Whether it says which of the two is faster."""
        return self in {Verdict.SHORTER, Verdict.LONGER}


@dataclass(frozen=True, slots=True, kw_only=True)
class Timed:
    """One program as timed in several processes."""

    hlo_sha256: str
    medians_s: tuple[float, ...]
    """One a process, in their order."""
    twin_ratios: tuple[float, ...]
    """A/A: block by block, the program's median over its twin's."""
    steadiness: Steadiness
    resolution_s: float
    """The timer's: the smallest step between two of its readings."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Interval:
    low: float
    high: float

    @property
    def spread(self) -> float:
        """Its width over its middle."""
        return (self.high - self.low) / ((self.high + self.low) / 2) if self.high else 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Distinction:
    """The time of one program over another's, held against what twins differ by."""

    verdict: Verdict
    ratio: float | None
    """Median over processes; None where the second took no time that the clock could see."""
    interval: Interval | None
    """95 % bootstrap, over processes."""
    band: Interval
    """The A/A band: ratios inside it also occur between a program and itself."""


def tell_apart(one: Timed, two: Timed, *, paired: bool) -> Distinction:
    """Compare two programs of the same processes (`paired`), or two runs of different ones.

    Within the same processes a program is never ranked against itself. Between two runs it may
    be the same program: then their settings are compared.
    """
    band = aa_band(one, two)
    ratio, interval = (_paired if paired else _apart)(one, two)

    def found(verdict: Verdict) -> Distinction:
        return Distinction(verdict=verdict, ratio=ratio, interval=interval, band=band)

    if paired and one.hlo_sha256 == two.hlo_sha256:
        return found(Verdict.SAME_PROGRAM)
    if min(len(one.medians_s), len(two.medians_s)) < ENOUGH_PROCESSES:
        return found(Verdict.FEW)
    if {one.steadiness, two.steadiness} != {Steadiness.STEADY}:
        return found(Verdict.UNSTEADY)
    if interval and interval.high < band.low:
        return found(Verdict.SHORTER)
    if interval and interval.low > band.high:
        return found(Verdict.LONGER)
    return found(Verdict.INSIDE)


def aa_band(*programs: Timed) -> Interval:
    """The 5th to 95th percentile of twin ratios, and no less than a step of the timer.

    Either twin could have come first, so each ratio counts with its inverse: the band is even.
    Of several programs the widest band holds for all.
    """
    widest = 1.0
    for each in programs:
        ratios = [ratio for twin in each.twin_ratios for ratio in (twin, 1 / twin)]
        step = each.resolution_s / min(each.medians_s) if all(each.medians_s) else 0.0
        widest = max(widest, percentile(ratios or [1.0], 0.95), 1 + step)
    return Interval(low=1 / widest, high=widest)


def bootstrap(values: Sequence[float]) -> Interval:
    """The 95 % percentile interval of the median (Efron 1979,
    https://doi.org/10.1214/aos/1176344552), from every resample of a few values.

    With three values it spans them all: three processes cannot say more.
    """
    count = len(values)
    if count**count <= RESAMPLES:
        medians = [median(each) for each in product(values, repeat=count)]
    else:
        generator = random.Random(SEED)
        medians = [median(generator.choices(values, k=count)) for _ in range(RESAMPLES)]
    tail = (1 - CONFIDENCE) / 2
    return Interval(low=percentile(medians, tail), high=percentile(medians, 1 - tail))


def percentile(values: Sequence[float], share: float) -> float:
    """By linear interpolation between order statistics; `share` from 0 to 1."""
    ordered = sorted(values)
    place = share * (len(ordered) - 1)
    below = int(place)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (place - below) * (ordered[above] - ordered[below])


def _paired(one: Timed, two: Timed) -> tuple[float | None, Interval | None]:
    """The median ratio process by process, and its interval; None over no time at all."""
    if not all(two.medians_s):
        return None, None
    ratios = [a / b for a, b in zip(one.medians_s, two.medians_s, strict=True)]
    return median(ratios), bootstrap(ratios)


def _apart(one: Timed, two: Timed) -> tuple[float | None, Interval | None]:
    """The ratio of medians, and the furthest that the ends of both intervals lie apart."""
    above, below = bootstrap(one.medians_s), bootstrap(two.medians_s)
    if not below.low:
        return None, None
    interval = Interval(low=above.low / below.high, high=above.high / below.low)
    return median(one.medians_s) / median(two.medians_s), interval
