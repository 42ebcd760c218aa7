"""Every rule fires on its evidence, stays quiet against it, and says when it lacks its data."""

from dataclasses import replace

import pytest

from report.figures.timeline import NO_WORK, draw
from report.numbers.measures import measure
from report.numbers.profile_rules import RULES, SHOWN, judge
from report.numbers.qualification import cannot_show
from tests.report.profiles import Capture, Event, on_device, read, steady

STEPS = steady(8)
QUICK = Event("x", 1, 90, "other")


def device(*parts: Event, steps=STEPS, **more) -> Capture:
    return Capture(steps=steps, devices={"/device:TPU:0": on_device(steps, *parts)}, **more)


FIRES = {
    "wait": device(Event("dot", 60, 30, "matrix")),
    "compile": device(QUICK, compiles=[Event("backend_compile", 130, 40)]),
    "matrix": device(Event("dot", 1, 80, "matrix"), Event("x", 81, 10, "other")),
    "movement": device(Event("copy", 1, 60, "copy"), Event("dot", 61, 30, "matrix")),
    "communication": device(Event("all-reduce", 1, 30, "collective"), Event("x", 31, 60, "other")),
    "rematerialization": device(QUICK, Event("dot.remat", 91, 9, "matrix", again=True)),
}
QUIET = {
    "wait": device(QUICK),
    "compile": device(QUICK, compiles=[Event("backend_compile", 2_000, 40)]),
    "matrix": device(Event("dot", 1, 20, "matrix"), Event("x", 21, 70, "other")),
    "movement": device(Event("copy", 1, 10, "copy"), Event("x", 11, 80, "other")),
    "communication": device(Event("all-reduce", 1, 5, "collective"), Event("x", 6, 85, "other")),
    "rematerialization": device(QUICK),
}
LACKS = {
    "wait": device(Event("dot", 60, 30, "matrix"), comparable=False),
    "compile": Capture(devices={"/device:TPU:0": [QUICK]}),
    "matrix": device(Event("fusion", 1, 80)),
    "movement": Capture(steps=STEPS, platform="cpu", host_operations=on_device(STEPS, QUICK)),
    "communication": device(Event("fusion", 1, 80)),
    "rematerialization": Capture(steps=STEPS, platform="cpu"),
}


def outcome(capture: Capture, rule: str):
    profile = capture.profile()
    found = {each.id: judgement for each, judgement in judge(profile, measure(profile))}
    return found[rule]


def test_there_is_a_rule_for_each_row_of_the_lessons_table():
    assert [rule.id for rule in RULES] == list(FIRES) == list(QUIET) == list(LACKS)


@pytest.mark.parametrize("rule", FIRES)
def test_a_rule_fires_on_its_evidence_and_shows_where(rule):
    found = outcome(FIRES[rule], rule)

    assert found.outcome == "fires"
    assert found.seen
    assert all(seen.place.duration_ns > 0 for seen in found.seen)


@pytest.mark.parametrize("rule", QUIET)
def test_a_rule_stays_quiet_against_the_evidence_and_shows_no_interval(rule):
    found = outcome(QUIET[rule], rule)

    assert found.outcome == "does not fire"
    assert found.seen == ()


@pytest.mark.parametrize("rule", LACKS)
def test_a_rule_without_its_data_says_what_it_lacks(rule):
    found = outcome(LACKS[rule], rule)

    assert found.outcome == "lacks data"
    assert found.told.endswith(".")
    assert found.seen == ()


@pytest.mark.parametrize("rule", [rule.id for rule in RULES])
@pytest.mark.parametrize("cases", [FIRES, QUIET, LACKS], ids=["fires", "quiet", "lacks"])
def test_every_number_a_sentence_names_was_worked_out(cases, rule):
    profile = cases[rule].profile()
    measures = measure(profile)

    for _, found in judge(profile, measures):
        told = found.told.format_map(
            {key: measures[path].number for key, (path, _) in found.numbers.items()}
        )
        assert "None" not in told and "{" not in told


def test_a_wait_of_the_first_step_alone_is_no_habit():
    steps = steady(8, first=500)
    late = [Event("dot", steps[0].start + 500, 50), *on_device(steps[1:], Event("dot", 2, 90))]
    capture = Capture(steps=steps, devices={"/device:TPU:0": late})

    assert outcome(capture, "wait").outcome == "does not fire"


def test_hosts_that_disagree_make_a_rule_fire_without_any_collective():
    capture = device(QUICK, hosts=2, late=50)

    found = outcome(capture, "communication")
    assert found.outcome == "fires"
    assert found.seen[0].words == "step 0 on host1"
    assert outcome(device(QUICK, hosts=2, late=5), "communication").outcome == "does not fire"


def test_hosts_that_disagree_are_seen_without_a_device_too():
    apart = Capture(steps=STEPS, hosts=2, late=60, platform="cpu")

    found = outcome(apart, "communication")
    assert found.outcome == "fires"
    assert found.told.startswith("Nothing is said of collectives: there is no device lane")
    assert all("host1" in seen.words for seen in found.seen)
    assert outcome(replace(apart, late=0), "communication").outcome == "lacks data"


def test_one_host_says_nothing_of_skew():
    told = outcome(QUIET["communication"], "communication").told

    assert "nothing is said of skew between hosts" in told


def test_more_intervals_than_are_shown_are_counted():
    steps = steady(30)
    found = outcome(device(Event("dot", 60, 30, "matrix"), steps=steps), "wait")

    assert len(found.seen) == SHOWN
    assert found.not_shown == 29 - SHOWN


def test_no_cpu_capture_says_anything_of_a_device():
    profile = Capture(
        steps=STEPS, platform="cpu", host_operations=on_device(STEPS, Event("d", 1, 90, "matrix"))
    ).profile()
    found = {rule.id: each.outcome for rule, each in judge(profile, measure(profile))}

    for rule in ("wait", "matrix", "movement", "communication"):
        assert found[rule] == "lacks data"


def test_a_summary_without_a_host_lane_cannot_show_a_compilation():
    capture = device(QUICK)
    summary = capture.summary()
    for plane in summary["planes"]:
        if plane["kind"] == "host":
            plane["kind"] = "other"
    profile = read(summary)

    found = {rule.id: each for rule, each in judge(profile, measure(profile))}
    assert "no host lane" in found["compile"].told


def test_a_device_whose_lines_do_not_tell_its_work_is_neither_absent_nor_idle():
    summary = device(Event("a", 0, 5)).summary()
    for plane in summary["planes"]:
        if plane["kind"] == "device":
            plane |= {"work": None, "busy": {"other": plane["busy"]["ops"]}}
    for line in summary["lines"]:
        line["view"] = line["view"].replace("ops", "other")
    for each in summary["lanes"]:
        each["view"] = each["view"].replace("ops", "other")
    for step in summary["steps"]:
        step["devices"] = []
    profile = read(summary)
    reason = "no line of a device plane in this capture tells what the device ran"

    assert reason == profile.blind
    assert f"How long any device worked: {reason}." in cannot_show(profile)
    assert "no device lane" not in draw(profile).title
    assert NO_WORK in draw(profile).alt_text
    found = {rule.id: judgement for rule, judgement in judge(profile, measure(profile))}
    assert found["movement"].outcome == "lacks data"
    assert reason in found["movement"].told.lower()
