"""Several calls timed side by side in one process, so that whatever disturbs one disturbs all.

Every round takes one sample of each call. The calls of a round stand in random order; a
process draws its orders from a seed and goes through them in turn.
"""

import random
import time
from collections.abc import Callable, Mapping, Sequence

from lab.kit.steady import drifts, trend
from lab.kit.timing import no_collecting

Call = Callable[[], object]
"""Returns when its result is ready."""

ORDERS = 16
"""Different orders that a process goes through."""

WARM_UP_CALLS, WARM_UP_CAP = 1_000, 15_000
"""Timed warm calls of each in a stretch, and all calls after which the warm-up ends anyway."""

LEAD_CALLS = 500
"""Calls of each at the start of every stretch whose times are not kept: a pause slows the first."""


def draw_orders(names: Sequence[str], seed: int, process: int) -> list[list[str]]:
    """The random orders of one process, the same for the same seed, process and names."""
    generator = random.Random(f"{seed}/{process}")
    return [generator.sample(names, len(names)) for _ in range(ORDERS)]


def warm_up(
    calls: Mapping[str, Call], orders: Sequence[Sequence[str]], watched: Sequence[str]
) -> tuple[int, dict[str, int]]:
    """Call each, and again while one of those `watched` still drifts, up to the cap.

    Returns the calls made of each, and the trend of the last stretch (see `steady.trend`).
    """
    made = 0
    while True:
        made += LEAD_CALLS + WARM_UP_CALLS
        trends = {name: trend(taken) for name, taken in take(calls, orders, WARM_UP_CALLS).items()}
        settled = not any(drifts([trends[name]]) for name in watched)
        if settled or made >= WARM_UP_CAP:
            return made, trends


def take(
    calls: Mapping[str, Call], orders: Sequence[Sequence[str]], rounds: int
) -> dict[str, list[int]]:
    """One sample of each call in each round, after the lead: nanoseconds, in the order taken."""
    samples: dict[str, list[int]] = {name: [] for name in calls}
    plans = [[(calls[name], samples[name]) for name in order] for order in orders]
    clock = time.perf_counter_ns
    with no_collecting():
        for index in range(LEAD_CALLS + rounds):
            for call, taken in plans[index % len(plans)]:
                start = clock()
                call()
                taken.append(clock() - start)
    return {name: taken[LEAD_CALLS:] for name, taken in samples.items()}
