"""Whether times still drift while they are taken: a trend test on their order.

Neighbouring samples of one process are not independent, so the samples are first cut into
ten blocks, and the trend is looked for among the blocks' medians (the method of batch
means, https://doi.org/10.1287/opre.27.5.1011, with medians for means). Ten samples are
their own blocks.
"""

import math
import statistics
from collections.abc import Sequence
from itertools import combinations, pairwise

BLOCKS = 10

DRIFT_LIMIT = 23
"""Among all orders of ten values 4.7 % reach this |S|, and 7.3 % reach 21: the two-sided 5 % limit
of Kendall's S (1938, https://doi.org/10.1093/biomet/30.1-2.81)."""

FALSE_ALARM = 0.05


def blocks_of(samples: Sequence[int]) -> list[Sequence[int]]:
    """The samples, ten or more of them, in ten consecutive parts that differ by one at most."""
    ends = [index * len(samples) // BLOCKS for index in range(BLOCKS + 1)]
    return [samples[start:end] for start, end in pairwise(ends)]


def trend(samples: Sequence[int]) -> int:
    """Kendall's S of the ten block medians: pairs that rise less pairs that fall, -45 to 45."""
    medians = [statistics.median(block) for block in blocks_of(samples)]
    return sum((later > earlier) - (later < earlier) for earlier, later in combinations(medians, 2))


def drifts(trends: Sequence[int]) -> bool:
    """Whether more of these series show a trend than chance explains, at 5 %.

    One series in twenty shows one by chance, so two series of six are needed, and one of one.
    """
    drifting = sum(abs(each) >= DRIFT_LIMIT for each in trends)
    return chance_of(drifting, len(trends)) <= FALSE_ALARM


def chance_of(count: int, series: int) -> float:
    """The probability that `count` or more of `series` steady ones show a trend."""
    return sum(
        math.comb(series, k) * FALSE_ALARM**k * (1 - FALSE_ALARM) ** (series - k)
        for k in range(count, series + 1)
    )
