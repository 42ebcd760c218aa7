"""What may be said of two timed programs: made-up times with answers that are known."""

from dataclasses import replace
from statistics import median

import pytest
from hypothesis import given
from hypothesis import strategies as st

from report.numbers.distinction import (
    Timed,
    Verdict,
    aa_band,
    bootstrap,
    percentile,
    tell_apart,
)
from report.numbers.steadiness import Steadiness

TWINS = tuple(1 + step / 1000 for step in range(-10, 11))
"""Twins that differ by up to 1 %; 5th to 95th percentile 0.991 to 1.009."""

seconds = st.floats(1e-7, 1e-1)


def timed(*medians_us: float, hlo: str = "a", twins: tuple[float, ...] = TWINS) -> Timed:
    return Timed(
        hlo_sha256=hlo,
        medians_s=tuple(us / 1e6 for us in medians_us),
        twin_ratios=twins,
        steadiness=Steadiness.STEADY,
        resolution_s=1e-9,
    )


FP32 = timed(20.0, 20.2, 19.9)


@pytest.mark.parametrize(
    ("other", "verdict"),
    [
        (timed(10.0, 10.1, 9.9, hlo="b"), Verdict.SHORTER),
        (timed(30.0, 30.1, 29.9, hlo="b"), Verdict.LONGER),
        (timed(20.1, 20.1, 20.0, hlo="b"), Verdict.INSIDE),
        (timed(19.9, 20.3, 19.7, hlo="b"), Verdict.INSIDE),
        (timed(10.0, 10.1, 9.9, hlo="a"), Verdict.SAME_PROGRAM),
        (
            replace(timed(10.0, 10.1, 9.9, hlo="b"), steadiness=Steadiness.DRIFTING),
            Verdict.UNSTEADY,
        ),
        (replace(timed(10.0, 10.1, 9.9, hlo="b"), steadiness=Steadiness.FEW), Verdict.UNSTEADY),
    ],
)
def test_two_programs_are_told_apart_only_beyond_what_twins_differ_by(other, verdict):
    found = tell_apart(other, FP32, paired=True)

    assert found.verdict is verdict
    assert found.verdict.ranks == (verdict in {Verdict.SHORTER, Verdict.LONGER})


def test_one_process_that_disagrees_keeps_two_programs_together():
    """The interval spans the processes, so it reaches into the band."""
    found = tell_apart(timed(19.0, 19.1, 19.9, hlo="b"), FP32, paired=True)

    assert found.ratio == pytest.approx(19.0 / 20.0)
    assert found.interval is not None
    assert found.interval.high == pytest.approx(1.0)
    assert found.verdict is Verdict.INSIDE


def test_wider_twins_take_a_difference_back():
    faster = timed(18.0, 18.1, 17.9, hlo="b")

    assert tell_apart(faster, FP32, paired=True).verdict is Verdict.SHORTER
    noisy = replace(faster, twin_ratios=(0.85, 0.9, 1.0, 1.1, 1.2))
    assert tell_apart(noisy, FP32, paired=True).verdict is Verdict.INSIDE


def test_two_processes_compare_nothing():
    one, two = timed(10.0, 10.0, hlo="b"), timed(20.0, 20.0)

    assert tell_apart(one, two, paired=True).verdict is Verdict.FEW


@given(st.lists(seconds, min_size=3, max_size=6), st.lists(seconds, min_size=3, max_size=6))
def test_a_program_is_never_ranked_against_itself(first, second):
    count = min(len(first), len(second))
    one, two = (
        replace(FP32, medians_s=tuple(each[:count]), twin_ratios=(1.0,)) for each in (first, second)
    )

    assert tell_apart(one, two, paired=True).verdict is Verdict.SAME_PROGRAM


@given(st.lists(st.tuples(seconds, seconds), min_size=3, max_size=5))
def test_the_order_of_a_pair_turns_the_verdict_round(times):
    one, two = (
        replace(FP32, hlo_sha256=name, medians_s=tuple(pair[place] for pair in times))
        for place, name in enumerate("ab")
    )
    opposite = {Verdict.SHORTER: Verdict.LONGER, Verdict.LONGER: Verdict.SHORTER}

    there = tell_apart(one, two, paired=True).verdict
    back = tell_apart(two, one, paired=True).verdict

    # Medians of an even number of ratios and of their inverses need not be inverse.
    if len(times) % 2:
        assert back is opposite.get(there, there)


def test_two_runs_of_one_program_may_be_told_apart_by_their_setting():
    asynchronous = timed(50.0, 52.0, 49.0, 51.0)

    assert tell_apart(asynchronous, FP32, paired=False).verdict is Verdict.LONGER
    assert tell_apart(timed(20.0, 20.1, 20.0), FP32, paired=False).verdict is Verdict.INSIDE


def test_what_the_clock_did_not_see_has_no_ratio():
    unseen = timed(0.0, 0.0, 0.0, hlo="b")

    for paired in (True, False):
        found = tell_apart(FP32, unseen, paired=paired)
        assert (found.ratio, found.interval) == (None, None)
        assert found.verdict is Verdict.INSIDE


def test_the_band_is_even_and_never_narrower_than_a_step_of_the_timer():
    band = aa_band(timed(20.0, 20.0, 20.0, twins=(1.0, 1.0, 1.02)))
    assert band.low == pytest.approx(1 / band.high)
    assert 1 < band.high <= 1.02

    coarse = replace(timed(20.0, 20.0, 20.0, twins=(1.0,)), resolution_s=1e-6)
    assert aa_band(coarse).high == pytest.approx(1.05)
    assert aa_band(FP32, coarse).high == pytest.approx(1.05)


def test_three_processes_span_their_interval():
    found = bootstrap((10.0, 12.0, 11.0))

    assert (found.low, found.high) == (10.0, 12.0)
    assert found.spread == pytest.approx(2 / 11)


@given(st.lists(seconds, min_size=1, max_size=12))
def test_the_interval_holds_the_median_and_is_the_same_each_time(values):
    found = bootstrap(values)

    assert min(values) <= found.low <= median(values) <= found.high <= max(values)
    assert found == bootstrap(values)


def test_more_processes_narrow_the_interval():
    few, many = [10.0, 11.0, 12.0], [10.0, 11.0, 11.0, 11.0, 12.0] * 3

    assert bootstrap(many).spread < bootstrap(few).spread


def test_percentiles_interpolate():
    assert percentile([1.0, 2.0, 3.0, 4.0], 0.5) == 2.5
    assert percentile([5.0], 0.95) == 5.0
    assert percentile([0.0, 10.0], 0.95) == pytest.approx(9.5)
