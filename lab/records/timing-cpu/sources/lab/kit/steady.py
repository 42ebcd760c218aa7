"""Whether times still drift while they are taken: a trend test on their order.

Neighbouring samples of one process are not independent, so the samples are first cut into
ten blocks, and the trend is looked for among the blocks' medians (the method of batch
means, https://doi.org/10.1287/opre.27.5.1011, with medians for means). Ten samples are
their own blocks.
"""

import math
import statistics
from collections.abc import Sequence
from functools import cache
from itertools import combinations, pairwise

BLOCKS = 10
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
    """Whether any of these series drifts; all are steady and it still says so in 5 % of cases."""
    return any(abs(each) >= drift_limit(len(trends)) for each in trends)


@cache
def drift_limit(series: int) -> int:
    """The smallest |S| that ten values in random order reach in 5 % of cases, shared by `series`.

    Exact, from the number of orders with each number of inversions (https://oeis.org/A008302;
    S is Kendall's, 1938, https://doi.org/10.1093/biomet/30.1-2.81). It is 23 for one series.
    """
    orders = [1]
    for length in range(2, BLOCKS + 1):
        orders = [
            sum(orders[max(0, i - length + 1) : i + 1]) for i in range(len(orders) + length - 1)
        ]
    most, reached = math.comb(BLOCKS, 2), 0
    for inversions, number in enumerate(orders):
        reached += 2 * number
        if reached * series > FALSE_ALARM * math.factorial(BLOCKS):
            return most - 2 * (inversions - 1)
    raise ValueError("no series to judge")
