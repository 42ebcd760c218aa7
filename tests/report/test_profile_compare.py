"""Two profiles: paired step by step, told apart only beyond the noise, credited to one factor."""

import pytest

from report.archive.profiles import Capture as Read
from report.archive.profiles import check_repeat
from report.errors import EvidenceMismatch
from report.numbers.meters import NO_FLOOR
from report.numbers.profile_compare import SAME, UNRANKED, Difference, compare
from tests.report.profiles import Capture, Event, on_device, read

NAMES = ("base", "changed")


def run(lasts: int = 100, count: int = 9, jitter: int = 0, **more) -> Capture:
    """Steps of one length, or of lengths that go up and down by `jitter`."""
    steps, at = [], 0
    for number in range(count):
        length = lasts + (jitter if number % 2 else -jitter)
        steps.append(Event("body", at, length))
        at += length + 10
    devices = {"/device:TPU:0": on_device(steps, Event("dot", 5, lasts // 2, "matrix"))}
    return Capture(**{"steps": steps, "devices": devices} | more)


def set_beside(
    one: Capture, two: Capture, factor: str = "", also=(), repeat: Capture | None = None
):
    again = repeat.profile("again") if repeat else None
    profiles = one.profile("one"), two.profile("two")
    return compare(*profiles, names=NAMES, factor=factor, also=also, repeat=again)


def result(comparison):
    return next(each for each in comparison.results if "steps on the host" in each.name)


def test_steps_are_paired_by_number_and_inner_name_and_the_first_is_left_out():
    found = set_beside(run(count=9), run(count=7))

    assert [pair.step.number for pair in found.pairs] == [1, 2, 3, 4, 5, 6]
    assert found.unpaired == (("7 body", "8 body"), ())


def test_a_step_of_another_name_is_not_paired():
    other = run()
    other.steps = [Event("elsewhere", step.start, step.lasts) for step in other.steps]

    found = set_beside(run(), other, "steps")

    assert found.pairs == ()
    assert "nothing to compare" in found.verdict


def test_what_clearly_differs_may_be_credited_to_the_one_declared_factor():
    faster = run(lasts=60, module="jit_faster")

    found = set_beside(run(), faster, "program", repeat=faster)

    assert [each.factor for each in found.differences] == ["program"]
    assert found.credited
    assert found.exit_code == 0
    assert result(found).middle == pytest.approx(0.6)
    assert "may be credited to it" in found.verdict


def test_without_a_repeat_no_noise_floor_is_known_and_nothing_is_ranked():
    found = set_beside(run(), run(lasts=60, module="jit_faster"), "program")

    assert {each.note for each in found.results} == {NO_FLOOR}
    assert "may be credited" not in found.verdict


@pytest.mark.parametrize(("again", "note"), [(55, ""), (66, ""), (36, SAME), (101, SAME)])
def test_a_difference_that_a_repeat_shows_too_is_none(again, note):
    """0.6 times as long; the repeat of the second is 0.92, 1.1, 0.6 and 1.68 times it."""
    changed = {"module": "jit_faster"}

    found = set_beside(
        run(), run(lasts=60, **changed), "program", repeat=run(lasts=again, **changed)
    )

    assert result(found).note == note


def test_a_repeat_of_another_program_is_refused():
    other = read_capture(run(module="jit_f"), "before")

    check_repeat(other, read_capture(run(module="jit_f"), "again"))
    with pytest.raises(EvidenceMismatch, match="again is no repeat of before") as refusal:
        check_repeat(other, read_capture(run(module="jit_g"), "again"))

    assert [fault.where for fault in refusal.value.faults] == ["program/body"]


def read_capture(made: Capture, label: str) -> Read:
    return Read(label=label, profile=made.profile(label), summary=b"", record=None)


def test_what_lies_inside_the_noise_is_not_distinguishable():
    found = set_beside(run(jitter=20), run(jitter=-20, module="jit_other"), "program")

    assert result(found).note == SAME
    assert found.credited
    assert SAME in found.verdict


def test_few_steps_have_no_noise_floor():
    found = set_beside(run(count=4), run(count=4, lasts=50, module="jit_faster"), "program")

    assert "no noise floor" in result(found).note
    assert result(found).low is None


def test_nothing_is_credited_when_more_than_the_factor_differs():
    found = set_beside(
        run(), run(lasts=60, module="jit_f", versions={"jax_version": "0.11.0"}), "program"
    )

    assert not found.credited
    assert found.exit_code == 5
    assert "versions/jax_version" in found.verdict
    assert {each.factor for each in found.differences} == {"program", "versions"}


def test_what_a_record_knows_to_differ_counts_as_well():
    threads = Difference(factor="machine", field="environment/threads", one="2", two="64")

    found = set_beside(run(), run(lasts=60, module="jit_f"), "program", also=[threads])

    assert not found.credited
    assert "environment/threads" in found.verdict


def test_a_factor_that_did_not_change_is_credited_with_nothing():
    found = set_beside(run(), run(lasts=60), "program")

    assert not found.credited
    assert "the same in both" in found.verdict


def test_without_a_factor_differences_are_shown_and_nothing_is_credited():
    found = set_beside(run(), run(lasts=60, module="jit_f"))

    assert found.exit_code == 0
    assert not found.credited
    assert found.differences


def test_times_of_a_cpu_are_not_ranked():
    cpu = {"platform": "cpu", "devices": {}}
    found = set_beside(run(**cpu), run(lasts=60, module="jit_f", **cpu), "program")

    assert result(found).note == UNRANKED
    assert UNRANKED in found.verdict
    assert "may be credited" not in found.verdict


def test_another_device_is_a_difference():
    found = set_beside(run(), run(device_type="TPU v5 lite"), "program")

    assert [each.field for each in found.differences] == ["device/planes"]


def test_program_numbers_that_change_with_each_run_are_no_difference():
    other = run().summary()
    for step in other["steps"]:
        step["programs"][0]["program_id"] = "7"
    found = compare(run().profile("one"), read(other, "two"), names=NAMES)

    assert found.differences == ()
