"""Reading a summary: what a lab writes is taken as it is, and nothing else is taken at all."""

from typing import Any

import pytest

from report.errors import EvidenceMismatch
from report.numbers.trace import MOST, MOST_INTERVALS
from tests.report.profiles import Capture, Event, on_device, read, steady

STEPS = steady(3)
OPERATIONS = on_device(STEPS, Event("dot.1", 20, 60, "matrix"))


def capture() -> dict[str, Any]:
    return Capture(
        steps=STEPS,
        devices={"/device:TPU:0": OPERATIONS, "/device:TPU:1": ()},
        compiles=[Event("backend_compile", 5, 3)],
        gaps=[Event("dot.1", 80, 50)],
    ).summary()


def refusal(summary: dict[str, Any]) -> EvidenceMismatch:
    with pytest.raises(EvidenceMismatch) as caught:
        read(summary)
    return caught.value


def places(summary: dict[str, Any]) -> set[str]:
    """Where the faults of a summary lie, without its name."""
    return {
        fault.where.partition("summary.json/")[2] or fault.where
        for fault in refusal(summary).faults
    }


def test_a_summary_is_read_as_it_was_written():
    profile = read(capture())

    assert [step.label for step in profile.steps] == ["0 body", "1 body", "2 body"]
    assert [plane.name for plane in profile.busy_planes] == ["/device:TPU:0"]
    assert len(profile.device_planes) == 2
    assert profile.steps[0].devices[0].busy_ns == 60_000
    assert profile.steps[0].programs[0].program_id == "18446744073709551615"
    assert profile.operations[0].longest is not None
    assert profile.platform == "tpu"
    assert profile.planes[1].device is not None
    assert profile.planes[1].device.chip == "v6e"


def test_every_fault_is_told_at_once():
    summary = capture()
    summary["steps"][1]["duration_ns"] = -5
    summary["planes"][1]["events"] = "many"
    summary["operations"][0]["category"] = "sorcery"
    summary["host_device_comparable"] = "perhaps"
    del summary["lines"][0]["busy_ns"]

    assert places(summary) == {
        "steps/1/duration_ns",
        "planes/1/events",
        "operations/0/category",
        "host_device_comparable",
        "lines/0/busy_ns",
    }


@pytest.mark.parametrize(
    ("place", "value"),
    [
        (("schema",), "assay/trace-summary/3"),
        (("steps", 0, "inner"), "a\x00b"),
        (("steps", 0, "inner"), "\u202ereversed"),
        (("steps", 0, "inner"), "long" * 1_000),
        (("steps", 0, "complete"), 1),
        (("steps", 0, "start_ns"), 1.5),
        (("steps", 0, "plane"), "p99"),
        (("steps", 0, "plane"), ["h0"]),
        (("planes", 1, "clock"), "c7"),
        (("planes", 1, "source"), 4),
        (("planes", 1, "kind"), "toaster"),
        (("planes", 1, "last_ns"), "-1e9"),
        (("lines", 0, "view"), "kernel"),
        (("names", 0), "two\nlines"),
        (("lanes", 0, "intervals", 0), [0, 1, 0, 1, 2, 0]),
        (("lanes", 0, "intervals", 0), [0, -1, 0, 1, 0, 0]),
        (("lanes", 0, "intervals", 0), [0, 1, 99, 1, 1, 0]),
        (("lanes", 0, "intervals", 0), [0, 1, 0, 0, 1, 0]),
        (("lanes", 0, "intervals", 0), [0, True, 0, 1, 1, 0]),
        (("lanes", 0, "intervals", 0), "all"),
        (("findings", 0, "level"), "fine"),
        (("odd_events",), {"negative-duration": -3}),
        (("totals", "ops"), None),
        (("window",), {"clock": "c0", "start_ns": 0}),
    ],
)
def test_what_no_lab_writes_is_refused_where_it_stands(place, value):
    summary = capture()
    inner = summary
    for key in place[:-1]:
        inner = inner[key]
    inner[place[-1]] = value

    written = "/".join(map(str, place))
    assert any(where.startswith(written) for where in places(summary)), places(summary)


def test_a_line_cannot_be_busy_for_longer_than_it_lasted():
    summary = capture()
    line = next(line for line in summary["lines"] if line["view"] == "ops")
    line["busy_ns"] = 10**12

    assert refusal(summary).faults[0].found == "1,000,000,000,000 ns"


def test_a_device_cannot_be_busy_for_longer_than_its_step():
    summary = capture()
    summary["steps"][2]["devices"][0]["busy_ns"] = 200_000

    assert places(summary) == {"steps/2/devices/0"}


def test_an_operation_cannot_take_more_itself_than_in_all():
    summary = capture()
    summary["operations"][0]["self_ns"] = 10**9

    assert places(summary) == {"operations/0/self_ns"}


@pytest.mark.parametrize("name", ["steps", "planes", "lines", "operations", "gaps", "lanes"])
def test_a_list_beyond_its_bound_is_one_fault_and_not_a_million(name):
    summary = capture()
    summary[name] = summary[name][:1] * (MOST[name] + 1)

    told = [fault for fault in refusal(summary).faults if fault.where.endswith(f"json/{name}")]
    assert [fault.found for fault in told] == [f"{MOST[name] + 1:,} items"]


def test_a_million_intervals_are_one_fault():
    summary = capture()
    summary["lanes"][0]["intervals"] = [[0, 1, 0, 1, 1, 0]] * 1_000_000

    faults = refusal(summary).faults
    assert [fault.found for fault in faults] == ["1,000,000 items"]
    assert faults[0].expected == f"at most {MOST_INTERVALS}"


def test_a_summary_of_nothing_is_no_profile():
    assert "holds nothing" in str(refusal(Capture(platform=None).summary()))
