"""Right sums: unions and not sums, shares that never pass a whole, and the first step apart."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from report.numbers.measures import APART, ONE_STEP, measure
from tests.report.profiles import Capture, Event, on_device, read, steady

spans = st.lists(
    st.tuples(st.integers(0, 300), st.integers(1, 120)).map(lambda s: Event("op", *s)), max_size=12
)


def numbers(**parts):
    return {path: found.number for path, found in measure(Capture(**parts).profile()).items()}


def test_the_first_step_is_told_apart_from_the_others():
    found = numbers(steps=steady(5, lasts=100, first=400))

    assert found["first_step_s"] == pytest.approx(500e-6)
    assert found["step_median_s"] == pytest.approx(100e-6)
    assert found["step_steady_s"] == pytest.approx(100e-6)
    assert found["first_step_ratio"] == 5.0


def test_with_few_steps_the_first_moves_the_median():
    found = numbers(steps=steady(2, lasts=100, first=300))

    assert found["step_median_s"] == pytest.approx(250e-6)
    assert found["step_steady_s"] == pytest.approx(100e-6)


def test_one_step_has_no_others_to_be_compared_with():
    found = measure(Capture(steps=steady(1)).profile())

    assert found["first_step_ratio"].number is None
    assert found["first_step_ratio"].reason == ONE_STEP


def test_a_cut_step_has_no_duration():
    summary = Capture(steps=steady(4)).summary()
    summary["steps"][3] |= {"complete": False, "duration_ns": 3_000}

    cut = read(summary)
    assert cut.times is not None and cut.times.durations_ns == (100_000,) * 3


def test_parallel_operations_are_counted_once():
    steps = steady(4)
    twice = [*on_device(steps, Event("a", 0, 80)), *on_device(steps, Event("b", 0, 80))]
    found = numbers(steps=steps, devices={"/device:TPU:0": twice})

    assert found["devices/d0/step_share"] == pytest.approx(0.8)
    assert found["lines/d0-l0/busy_s"] == pytest.approx(4 * 80e-6)


def test_an_empty_plane_is_averaged_into_nothing():
    steps = steady(4)
    full = on_device(steps, Event("a", 0, 60))
    found = numbers(
        steps=steps, devices={"/device:TPU:0": full, "/device:TPU:1": (), "/device:TPU:2": ()}
    )

    assert found["device_planes"] == 3
    assert found["device_planes_with_events"] == 1
    assert found["device_step_share"] == pytest.approx(0.6)
    assert "devices/d1/busy_share" not in found


def test_two_devices_are_averaged_and_not_added():
    steps = steady(4)
    found = numbers(
        steps=steps,
        devices={
            "/device:TPU:0": on_device(steps, Event("a", 0, 90)),
            "/device:TPU:1": on_device(steps, Event("a", 0, 70)),
        },
    )

    assert found["device_step_share"] == pytest.approx(0.8)


def test_without_a_device_its_share_is_unknown_and_not_zero():
    found = measure(Capture(steps=steady(4), platform="cpu").profile())

    for path in ("device_step_share", "device_wait_share"):
        assert found[path].number is None
        assert found[path].reason == "there is no device lane in this capture"


def test_clocks_that_do_not_meet_give_no_gap_between_host_and_device():
    steps = steady(4)
    capture = Capture(
        steps=steps,
        devices={"/device:TPU:0": on_device(steps, Event("a", 30, 40))},
        comparable=False,
    )
    found = measure(capture.profile())

    assert found["device_wait_share"].reason == APART
    assert found["devices/d0/busy_share"].number is not None


def test_operations_a_cpu_ran_cover_a_part_of_the_steps():
    steps = steady(4)
    found = numbers(
        steps=steps, platform="cpu", host_operations=on_device(steps, Event("dot", 10, 25))
    )

    assert found["host_operations_share"] == pytest.approx(0.25)


def test_shares_of_operations_are_of_their_own_time():
    steps = steady(4)
    parts = (Event("dot", 0, 50, "matrix"), Event("copy", 50, 30, "copy"), Event("x", 80, 20))
    found = numbers(steps=steps, devices={"/device:TPU:0": on_device(steps, *parts)})

    assert found["matrix_share"] == pytest.approx(0.5)
    assert found["movement_share"] == pytest.approx(0.3)
    assert found["collective_share"] == 0
    assert found["untold_share"] == pytest.approx(0.2)


def test_operations_cost_what_the_devices_own_clock_says_where_all_of_them_tell_it():
    steps = steady(4)
    parts = (Event("dot", 0, 50, "matrix"), Event("x", 50, 50, "other"))
    summary = Capture(steps=steps, devices={"/device:TPU:0": on_device(steps, *parts)}).summary()
    dot, other = summary["operations"]
    dot |= {"device_self_ns": 90_000, "device_total_ns": 90_000}
    partly = read(summary)
    other |= {"device_self_ns": 10_000, "device_total_ns": 10_000}
    wholly = read(summary)

    assert not partly.device_clock and wholly.device_clock
    assert measure(partly)["matrix_share"].number == pytest.approx(0.5)
    assert measure(wholly)["matrix_share"].number == pytest.approx(0.9)
    assert measure(wholly)["devices/d0/step_share"].number == pytest.approx(1.0)
    shares = [measure(found)["operations/0/share"] for found in (partly, wholly)]
    assert [share.number for share in shares] == pytest.approx([0.5, 0.9])
    assert shares[0].inputs == ("operations/0/self_ns",)
    assert shares[1].inputs == ("operations/0/device_self_ns",)


@given(spans, spans, st.integers(0, 5))
def test_no_share_passes_a_whole(one, two, count):
    capture = Capture(steps=steady(count), devices={"/device:TPU:0": one, "/device:TPU:1": two})
    if not capture.devices["/device:TPU:0"] and not two and not count:
        return
    for path, found in measure(capture.profile()).items():
        if path.endswith("share") and found.number is not None:
            assert 0 <= found.number <= 1, path
