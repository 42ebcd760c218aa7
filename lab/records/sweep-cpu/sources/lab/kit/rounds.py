"""Samples taken in rounds: each round times every call, in an order drawn anew.

A machine drifts while it is measured. Were each call timed in one stretch, the drift would look
like a difference between calls; spread over rounds, it falls on all of them.
"""

import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from lab.kit.timing import no_collecting

WARM_UP_S, WARM_UP_CALLS = 0.02, 3
"""Each round warms a call up for this long, and with no fewer calls than this."""


@dataclass(slots=True)
class Series:
    """Seconds one call took, in the order taken, round after round. None is dropped."""

    samples_s: list[float] = field(default_factory=list)
    warm_up_calls: list[int] = field(default_factory=list)
    """How many calls went before the samples of each round."""

    def as_json(self) -> dict[str, object]:
        return {
            "samples": self.samples_s,
            "median": statistics.median(self.samples_s),
            "minimum": min(self.samples_s),
            "maximum": max(self.samples_s),
            "warm_up_calls": self.warm_up_calls,
        }


def orders(names: Sequence[str], rounds: int, seed: int) -> list[list[str]]:
    """One random order of the names for each round."""
    generator = np.random.default_rng(seed)
    return [[names[i] for i in generator.permutation(len(names))] for _ in range(rounds)]


def take(
    calls: Mapping[str, Callable[[], object]],
    series: Mapping[str, Series],
    order: Sequence[str],
    samples: int,
) -> None:
    """One round: warm up and time each call in `order`; a call returns when its result is ready."""
    with no_collecting():
        for name in order:
            call, kept = calls[name], series[name]
            kept.warm_up_calls.append(_warm_up(call))
            for _ in range(samples):
                start_ns = time.perf_counter_ns()
                call()
                kept.samples_s.append((time.perf_counter_ns() - start_ns) / 1e9)


def _warm_up(call: Callable[[], object]) -> int:
    end, calls = time.perf_counter() + WARM_UP_S, 0
    while calls < WARM_UP_CALLS or time.perf_counter() < end:
        call()
        calls += 1
    return calls
