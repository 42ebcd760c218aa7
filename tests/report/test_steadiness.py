"""Trends and outliers: known answers on published and made-up samples, and laws that hold for all.

No test here times anything.
"""

import math
from itertools import permutations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from report.numbers.steadiness import (
    BLOCKS,
    Steadiness,
    Trend,
    blocks_of,
    drift_limit,
    outliers_of,
    together,
    trend_of,
)

PUBLISHED_US = {
    "balanced-fp32": (
        38.9172,
        31.4577,
        23.7501,
        21.5829,
        21.7496,
        21.4581,
        21.9997,
        21.6668,
        25.1248,
        21.6248,
    ),
    "balanced-bf16": (
        36.6657,
        28.708,
        22.6251,
        21.1657,
        21.2919,
        20.5832,
        23.8749,
        24.1674,
        22.6251,
        21.2924,
    ),
    "balanced-int8": (
        34.8329,
        32.167,
        26.4584,
        23.2081,
        18.2078,
        13.8339,
        13.208,
        12.958,
        12.7088,
        15.0003,
    ),
    "outlier-fp32": (
        37.3749,
        26.0831,
        23.4167,
        23.0828,
        22.5417,
        21.833,
        25.3748,
        26.7923,
        27.25,
        22.1669,
    ),
    "outlier-bf16": (
        39.042,
        39.6669,
        47.042,
        28.5842,
        46.0423,
        28.2913,
        23.6249,
        21.6668,
        17.6658,
        12.9589,
    ),
    "outlier-int8": (
        33.2906,
        24.6246,
        24.2922,
        23.7501,
        22.6661,
        20.8751,
        21.0423,
        21.1671,
        19.25,
        14.8746,
    ),
}
"""The ten samples of each row of the published reference run, in the order taken."""

PUBLISHED_S = {
    "balanced-fp32": -17,
    "balanced-bf16": -12,
    "balanced-int8": -37,
    "outlier-fp32": -9,
    "outlier-bf16": -33,
    "outlier-int8": -39,
}

samples = st.lists(st.integers(1, 10**9), min_size=1, max_size=60)


def test_of_the_published_rows_exactly_three_are_not_steady():
    found = {row: trend_of(times) for row, times in PUBLISHED_US.items()}

    assert {row: trend.s for row, trend in found.items()} == PUBLISHED_S
    assert {trend.limit for trend in found.values()} == {23}
    drifting = {row for row, trend in found.items() if trend.steadiness is Steadiness.DRIFTING}
    assert drifting == {"balanced-int8", "outlier-bf16", "outlier-int8"}


@pytest.mark.parametrize("count", range(1, 8))
@pytest.mark.parametrize("series", [1, 2, 5])
def test_the_limit_is_exact_by_counting_every_order(count, series):
    scores = [trend_of(order).s for order in permutations(range(count))]

    def share(limit: int) -> float:
        return sum(abs(s) >= limit for s in scores) / math.factorial(count)

    allowed = [s for s in set(map(abs, scores)) if s > 0 and share(s) * series <= 0.05]
    assert drift_limit(count, series) == min(allowed, default=None)


@pytest.mark.parametrize(
    ("count", "limit"), [(4, None), (5, 10), (6, 13), (7, 15), (8, 18), (9, 20), (10, 23)]
)
def test_the_limit_agrees_with_printed_tables(count, limit):
    """Two-sided 5 % points of S, as tables of Kendall's rank correlation print them."""
    assert drift_limit(count) == limit


@given(samples)
def test_s_turns_its_sign_when_time_runs_backwards(times):
    # Blocks of unequal length are not mirrored, so whole tens beyond ten.
    times = times[: len(times) // BLOCKS * BLOCKS] if len(times) > BLOCKS else times

    assert trend_of(times[::-1]).s == -trend_of(times).s


@given(samples, st.integers(1, 1000), st.integers(0, 1000))
def test_units_and_a_constant_overhead_change_no_verdict(times, factor, overhead):
    scaled = [factor * time + overhead for time in times]

    assert trend_of(scaled) == trend_of(times)


@given(samples)
def test_s_stays_within_its_pairs(times):
    trend = trend_of(times)

    assert abs(trend.s) <= math.comb(trend.values, 2)
    assert trend.values == min(len(times), BLOCKS)


@given(samples)
def test_blocks_hold_every_sample_once_and_in_order(times):
    blocks = blocks_of(times)

    assert [time for block in blocks for time in block] == times
    assert max(map(len, blocks)) - min(map(len, blocks)) <= 1


def test_one_slow_call_in_a_block_is_no_trend():
    times = [10, 11] * 500
    times[-1] = 10_000

    assert trend_of(times).steadiness is Steadiness.STEADY
    assert trend_of([20] * 100 + times[100:]).s == -9


def test_few_samples_are_neither_steady_nor_not():
    assert trend_of([4, 3, 2, 1]).steadiness is Steadiness.FEW
    assert trend_of([5, 4, 3, 2, 1]).steadiness is Steadiness.DRIFTING
    assert together([trend_of([1, 2])]) is Steadiness.FEW
    assert together([]) is Steadiness.FEW


def test_processes_share_the_five_per_cent():
    alone, shared = Trend(s=23, values=10), [Trend(s=25, values=10), *[Trend(s=0, values=10)] * 2]

    assert together([alone]) is Steadiness.DRIFTING
    assert together(shared) is Steadiness.STEADY
    assert together([*shared[1:], Trend(s=-27, values=10)]) is Steadiness.DRIFTING


def test_a_verdict_tells_s_and_its_limit():
    assert Trend(s=-17, values=10).told == "S = −17, limit 23"
    assert Trend(s=0, values=2).told == "S = 0, too few for a limit"


def test_outliers_are_flagged_by_place_at_both_fences():
    # Quartiles 10 and 12, so the fences stand at 7 and 15, and at 4 and 18.
    times = [10, 10, 10, 11, 12, 12, 12, 15, 16, 19, 6]

    found = outliers_of([*times, *[10, 12] * 40])

    assert found.outside == (8, 9, 10)
    assert found.far == (9,)


@given(samples)
def test_what_is_far_outside_is_outside(times):
    found = outliers_of(times)

    assert set(found.far) <= set(found.outside) <= set(range(len(times)))
    assert len(found.outside) <= len(times) // 2
