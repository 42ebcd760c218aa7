"""Wall-clock samples of a warmed call. Every sample waits for its result."""

import gc
import statistics
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

WARM_UP_CALLS = 50
"""Calls made, and waited for, before the first sample is taken."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Samples:
    """Seconds a call took, one sample each, in the order taken. None is dropped."""

    samples_s: tuple[float, ...]

    def as_json(self) -> dict[str, object]:
        return {
            "samples": list(self.samples_s),
            "median": statistics.median(self.samples_s),
            "minimum": min(self.samples_s),
            "maximum": max(self.samples_s),
        }


def sample(call: Callable[[], object], *, steps: int) -> Samples:
    """Time `steps` calls after the warm-up; `call` returns when its result is ready."""
    for _ in range(WARM_UP_CALLS):
        call()
    elapsed_ns = []
    with no_collecting():
        for _ in range(steps):
            start_ns = time.perf_counter_ns()
            call()
            elapsed_ns.append(time.perf_counter_ns() - start_ns)
    return Samples(samples_s=tuple(ns / 1e9 for ns in elapsed_ns))


@contextmanager
def no_collecting() -> Iterator[None]:
    """Python's garbage collector off, and afterwards as it was."""
    collecting = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collecting:
            gc.enable()
