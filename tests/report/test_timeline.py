"""The timeline: outside in, one clock, bounded, and honest about what it does not draw."""

import json
import re

import pytest

from report.exhibit import spoken
from report.figures.render import LARGEST_SPEC
from report.figures.timeline import NO_DEVICE, draw
from report.numbers.timeline import ALL, DEVICE_ROWS, HOST_ROWS, LONGEST, MARKS, lay_out
from report.numbers.worked_trace import work_out_trace
from report.numbers.workings import Workings
from tests.report.profiles import US, Capture, Event, on_device, read, steady

STEPS = steady(4, first=50)
PARTS = (Event("convolution.1", 20, 50, "matrix"), Event("copy.2", 80, 10, "copy"))
TPU = Capture(steps=STEPS, devices={"/device:TPU:0": on_device(STEPS, *PARTS)})
CPU = Capture(steps=STEPS, platform="cpu", host_operations=on_device(STEPS, Event("dot", 5, 20)))

TWO = Capture(
    devices={
        "/device:TPU:0": [Event("a", 0, 5), Event("b", 95, 5)],
        "/device:TPU:1": [Event("a", 0, 10), Event("b", 90, 10)],
    }
)


def laid_out(capture: Capture):
    timeline = lay_out(capture.profile())
    assert timeline is not None
    return timeline


def crowded(lanes: int, intervals: int, name: str) -> dict:
    """A summary as large as the lab's bounds allow: every lane full, every name long."""
    summary = TPU.summary()
    plane = summary["lanes"][0]["plane"]
    clock = summary["lanes"][0]["clock"]
    summary["names"] = [f"{name} {at}" for at in range(200)]
    summary["lines"] += [summary["lines"][0] | {"id": f"{plane}/l{at}"} for at in range(1, lanes)]
    summary["lanes"] = [
        {
            "line": f"{plane}/l{at}",
            "plane": plane,
            "view": "ops",
            "name": name,
            "clock": clock,
            "events": intervals,
            "intervals": [
                [n * US // 2, US // 3, n % 200, 1, US // 3, n % 4] for n in range(intervals)
            ],
            "hidden": {"events": 0, "merged_intervals": 0, "deeper": 0},
        }
        for at in range(lanes)
    ]
    return summary


def test_rows_go_from_the_outside_in():
    parts = [row.part for row in laid_out(TPU).rows]

    assert parts == ["steps", "host", "device", "operation", "operation"]


def test_every_step_is_a_mark_of_its_own_length():
    steps = laid_out(TPU).rows[0]

    assert [(mark.start_ns, mark.duration_ns) for mark in steps.marks] == [
        (step.start * US, step.lasts * US) for step in STEPS
    ]
    assert steps.marks[0].name == "0 body"


def test_the_longest_operation_comes_first():
    operations = [row for row in laid_out(TPU).rows if row.part == "operation"]

    assert [row.label for row in operations] == ["convolution.1", "copy.2"]
    assert "83\u00a0% of the time" in operations[0].aside
    assert len(operations[0].marks) == len(STEPS)


def test_lanes_of_another_clock_are_not_drawn_beside_these():
    apart = Capture(
        steps=STEPS, devices={"/device:TPU:0": on_device(STEPS, *PARTS)}, comparable=False
    )
    timeline = laid_out(apart)

    assert "device" not in {row.part for row in timeline.rows}
    assert "1 lanes on another clock" in timeline.hidden


def test_too_many_events_become_columns_that_keep_the_busy_share():
    events = [Event("op", at * 10, 5) for at in range(200)]
    timeline = laid_out(Capture(devices={"/device:TPU:0": events}))
    row = next(row for row in timeline.rows if row.part == "device")

    assert len(row.marks) <= MARKS
    assert all(mark.merged for mark in row.marks)
    assert sum(mark.events for mark in row.marks) == 200
    busy = sum(mark.share * mark.duration_ns for mark in row.marks)
    assert busy == pytest.approx(200 * 5 * US, rel=0.01)
    assert timeline.columned >= 200


def test_devices_are_drawn_however_many_host_threads_there_are():
    summary = TPU.summary()
    host = next(lane for lane in summary["lanes"] if lane["view"] == "host")
    line = next(line for line in summary["lines"] if line["id"] == host["line"])
    for at in range(1, 20):
        summary["lines"].append(line | {"id": f"h0/l{at}"})
        summary["lanes"].append(host | {"line": f"h0/l{at}"})

    timeline = lay_out(read(summary))
    assert timeline is not None
    parts = [row.part for row in timeline.rows]
    assert parts.count("host") == HOST_ROWS
    assert parts.count("device") == 1
    assert "16 lanes" in timeline.hidden


def test_the_largest_summary_still_makes_a_bounded_drawing():
    profile = read(crowded(lanes=40, intervals=256, name="a very long name of an operation" * 4))
    timeline = lay_out(profile)
    assert timeline is not None

    figure = draw(profile)

    assert len(timeline.rows) <= 1 + HOST_ROWS + DEVICE_ROWS + LONGEST
    assert sum(len(row.marks) for row in timeline.rows) <= 1.5 * ALL
    assert figure.drawing.live is not None
    assert len(figure.drawing.vega_lite) < 2 * LARGEST_SPEC
    assert "drawn in columns" in figure.caption


def test_without_a_lane_there_is_nothing_to_draw():
    summary = TPU.summary()
    summary["lanes"] = []

    assert lay_out(read(summary)) is None


@pytest.mark.parametrize(
    ("capture", "title"),
    [
        (TPU, "Devices run operations in 53\u00a0% of the steps; the first step lasts 1.5 times"),
        (CPU, "4 steps on the host, and no device lane."),
        (Capture(devices={"/device:TPU:0": [Event("a", 0, 5), Event("b", 5, 5)]}), "No steps, and"),
        (Capture(steps=steady(1), platform="cpu"), "1 step on the host, and no device lane."),
        (TWO, "No steps, and 2 device planes that are busy for 10\u00a0% to 20\u00a0% of their"),
    ],
    ids=["tpu", "cpu", "no steps", "one step", "two devices"],
)
def test_the_title_says_what_the_capture_shows_whatever_that_is(capture, title):
    profile, note = capture.profile(), Workings()
    work_out_trace(profile, note)

    assert spoken(draw(profile).title, note.values.__getitem__).startswith(title)


def test_an_absent_device_is_written_into_the_drawing_and_its_description():
    figure = draw(CPU.profile())

    assert NO_DEVICE in figure.drawing.wide
    assert NO_DEVICE in figure.drawing.narrow
    assert NO_DEVICE in figure.alt_text
    assert NO_DEVICE not in draw(TPU.profile()).drawing.wide


def test_the_drawing_reads_without_script_or_style():
    drawing = draw(TPU.profile()).drawing

    for svg in (drawing.wide, drawing.narrow):
        assert "style=" not in svg and "<script" not in svg
        assert set(re.findall(r'fill="([^"]+)"', svg)) - {"none"} <= {
            f"var(--{token})" for token in ("paper", "ink", "ink2", "grid", "c1", "c2", "c3")
        }
        assert "0 body" in svg and "convolution.1" in svg


def test_what_a_capture_names_is_text_and_nothing_else():
    steps = [Event('<script>alert("&")</script>', 0, 100)]
    figure = draw(Capture(steps=steps, platform="cpu").profile())

    assert "<script" not in figure.drawing.wide
    assert "&lt;script" in figure.drawing.wide
    assert json.loads(figure.drawing.vega_lite)


def test_one_can_go_into_each_step_and_closer_with_labelled_inputs():
    live = draw(TPU.profile()).drawing.live
    assert live is not None

    assert [control.label for control in live.controls] == ["Show", "Closer", "Around"]
    assert [text for _, text in live.controls[0].options] == [
        "the whole capture",
        *(f"step {number} body" for number in range(4)),
    ]
