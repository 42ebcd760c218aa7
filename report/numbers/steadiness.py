"""Whether times drift while they are taken, and which of them stand far from the rest.

A trend is looked for with Kendall's S, which asks of every two values which came later and
which is larger. Neighbouring samples of one process are not independent, so of more than ten
samples the medians of ten consecutive blocks are tested, not the samples themselves.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from itertools import combinations, pairwise
from statistics import median, quantiles

BLOCKS = 10
"""Consecutive parts of a longer series (the method of batch means, Law and Carson 1979,
https://doi.org/10.1287/opre.27.5.1011, with medians for means)."""

FALSE_ALARM = 0.05
"""How often a steady series may be taken for a drifting one, both directions together."""


class Steadiness(StrEnum):
    """What a series of times says of itself, in words."""

    STEADY = "steady"
    DRIFTING = "not steady"
    FEW = "too few samples"


@dataclass(frozen=True, slots=True, kw_only=True)
class Trend:
    """Kendall's S of a series in the order taken (1938, https://doi.org/10.1093/biomet/30.1-2.81)."""

    s: int
    """Pairs that rise less pairs that fall."""
    values: int
    """How many were compared: samples, or blocks of them."""

    @property
    def limit(self) -> int | None:
        """The smallest |S| that at most 5 % of random orders reach; None if more reach any."""
        return drift_limit(self.values)

    @property
    def told(self) -> str:
        """S with its limit, such as `S = −17, limit 23`."""
        sign = "−" if self.s < 0 else "+" if self.s else ""
        against = "too few for a limit" if self.limit is None else f"limit {self.limit}"
        return f"S = {sign}{abs(self.s)}, {against}"

    @property
    def steadiness(self) -> Steadiness:
        if self.limit is None:
            return Steadiness.FEW
        return Steadiness.DRIFTING if abs(self.s) >= self.limit else Steadiness.STEADY


@dataclass(frozen=True, slots=True, kw_only=True)
class Outliers:
    """Samples outside Tukey's fences, by index: flagged, never dropped.

    The fences stand 1.5 and 3 times the interquartile range beyond the quartiles
    (Tukey, Exploratory Data Analysis, 1977).
    """

    outside: tuple[int, ...]
    """Beyond the inner fences, 1.5 ranges; those far outside are among them."""
    far: tuple[int, ...]
    """Beyond the outer fences, 3 ranges."""


def trend_of(samples: Sequence[float]) -> Trend:
    """The trend of up to ten samples, or of the block medians of more."""
    values = [median(block) for block in blocks_of(samples)]
    rising = ((later > earlier) - (later < earlier) for earlier, later in combinations(values, 2))
    return Trend(s=sum(rising), values=len(values))


def blocks_of(samples: Sequence[float]) -> list[Sequence[float]]:
    """Ten consecutive parts that differ by one at most; of fewer than ten samples, each alone."""
    parts = min(BLOCKS, len(samples))
    ends = [index * len(samples) // parts for index in range(parts + 1)] if parts else []
    return [samples[start:end] for start, end in pairwise(ends)]


@cache
def drift_limit(count: int, series: int = 1) -> int | None:
    """The two-sided 5 % limit of |S| for `count` values, exact: 23 for ten, None below five.

    Where several `series` are judged together each has its share of the 5 % (Bonferroni).
    S = C(n, 2) − 2i, where i inversions have as many orders as the n-th Mahonian number
    (https://oeis.org/A008302).
    """
    orders = [1]
    for length in range(2, count + 1):
        orders = [
            sum(orders[max(0, i - length + 1) : i + 1]) for i in range(len(orders) + length - 1)
        ]
    pairs, reached, limit = math.comb(count, 2), 0, None
    for inversions, number in enumerate(orders):
        s = pairs - 2 * inversions
        reached += 2 * number
        if s <= 0 or reached * series > FALSE_ALARM * math.factorial(count):
            break
        limit = s
    return limit


def together(trends: Sequence[Trend]) -> Steadiness:
    """The verdict on one program from several processes: not steady when any of them drifts.

    So many steady processes together are taken for drifting ones in at most 5 % of cases.
    """
    limits = {each: drift_limit(each.values, len(trends)) for each in trends}
    if not trends or None in limits.values():
        return Steadiness.FEW
    drifting = any(limit is not None and abs(each.s) >= limit for each, limit in limits.items())
    return Steadiness.DRIFTING if drifting else Steadiness.STEADY


def outliers_of(samples: Sequence[float]) -> Outliers:
    """The flagged samples of a series; of fewer than four, none can be told."""
    if len(samples) < 4:
        return Outliers(outside=(), far=())
    low, _, high = quantiles(samples, n=4, method="inclusive")

    def beyond(ranges: float) -> tuple[int, ...]:
        reach = ranges * (high - low)
        return tuple(i for i, x in enumerate(samples) if not low - reach <= x <= high + reach)

    return Outliers(outside=beyond(1.5), far=beyond(3.0))
