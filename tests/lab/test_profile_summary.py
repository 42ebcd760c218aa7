"""What a profile says, and what it must not be made to say: XSpaces of our own."""

import json
from pathlib import Path

import pytest

from lab.kit.faults import CheckFailed
from lab.kit.profile_findings import Asked
from lab.kit.profile_lanes import MOST_INTERVALS
from tests.lab.spaces import (
    Event,
    Line,
    Plane,
    finding,
    host,
    operation,
    read,
    read_space,
    steps,
    tpu,
    xspace,
)

pytestmark = pytest.mark.lab

MODULE = "jit_step(18446744073709551615)"
FUSION = "%convolution_add_fusion.3 = f32[8,128]{1,0:T(8,128)} fusion(f32[8,128] %p), kind=kOutput"
REDUCE = "%all-reduce.1 = f32[8]{0} all-reduce(f32[8]{0} %x), channel_id=1"


def test_modules_operations_and_copies_are_views_of_one_time(tmp_path: Path) -> None:
    summary = read_space(
        tmp_path,
        host(Line("main", steps(1, lasts=9_000))),
        tpu(
            0,
            modules=[Event(MODULE, 1_000, 6_000)],
            ops=[Event(FUSION, 1_000, 4_000), Event(REDUCE, 5_000, 2_000)],
            copies=[Event("%copy-start.1 = f32[8] copy-start(f32[8] %p)", 1_000, 5_000)] * 2,
        ),
    )

    device = summary["planes"][1]
    assert device["busy"] == {"modules": 6_000, "ops": 6_000, "async": 5_000}
    assert (device["work"], device["work_ns"]) == ("ops", 6_000)
    assert summary["totals"]["async"]["sum_ns"] == 10_000
    assert summary["totals"]["async"]["busy_ns"] == 5_000


def test_an_operation_belongs_to_the_module_in_whose_time_it_lies(tmp_path: Path) -> None:
    summary = read_space(
        tmp_path,
        tpu(
            0,
            modules=[Event(MODULE, 0, 5_000), Event("jit_other(7)", 9_000, 1_000)],
            ops=[Event(FUSION, 0, 4_000), Event(REDUCE, 6_000, 10), Event(REDUCE, 9_000, 500)],
        ),
    )

    fusion = operation(summary, "ops", "convolution_add_fusion.3")
    assert (fusion["opcode"], fusion["category"]) == ("fusion", "matrix")
    assert (fusion["hlo_module"], fusion["program_id"]) == ("jit_step", "18446744073709551615")
    assert fusion["module_from"] == "module-lane"
    reductions = [each for each in summary["operations"] if each["opcode"] == "all-reduce"]
    assert {each["hlo_module"] for each in reductions} == {None, "jit_other"}
    assert {each["category"] for each in reductions} == {"collective"}


def test_self_time_subtracts_what_is_nested_within(tmp_path: Path) -> None:
    inner = [
        Event("%fusion.1 = f32[8] fusion(f32[8] %p)", 2_000 + 3_000 * n, 2_000) for n in range(3)
    ]
    summary = read_space(
        tmp_path, tpu(0, ops=[Event("%while.1 = f32[8] while(f32[8] %p)", 1_000, 10_000), *inner])
    )

    outer, body = operation(summary, "ops", "while.1"), operation(summary, "ops", "fusion.1")
    assert (outer["total_ns"], outer["self_ns"]) == (10_000, 4_000)
    assert (body["count"], body["total_ns"], body["self_ns"]) == (3, 6_000, 6_000)
    assert summary["totals"]["ops"]["self_ns"] == summary["planes"][0]["busy"]["ops"] == 10_000
    assert summary["lines"][2]["nested"]
    assert summary["lines"][2]["depth"] == 2


def test_the_devices_own_clock_stands_beside_the_timelines(tmp_path: Path) -> None:
    def timed(name: str, start: int, lasts: int, device: int) -> Event:
        told = {"device_offset_ps": start * 1000, "device_duration_ps": device * 1000}
        return Event(name, start, lasts, told)

    ops = [
        timed("%while.1 = f32[8] while(f32[8] %p)", 0, 10_000, 11_000),
        timed("%fusion.1 = f32[8] fusion(f32[8] %p)", 2_000, 5_000, 4_000),
        Event("%copy.1 = f32[8] copy(f32[8] %p)", 20_000, 1_000),
    ]
    summary = read_space(tmp_path, tpu(0, ops=ops))

    loop, body = operation(summary, "ops", "while.1"), operation(summary, "ops", "fusion.1")
    assert (loop["self_ns"], loop["device_total_ns"], loop["device_self_ns"]) == (
        5_000,
        11_000,
        7_000,
    )
    assert (body["self_ns"], body["device_self_ns"]) == (5_000, 4_000)
    assert operation(summary, "ops", "copy.1")["device_total_ns"] is None
    found = finding(summary, "device-clock")
    assert found is not None
    assert found["level"] == "warning"
    assert "fusion.1, differs by 25.0 %" in found["words"]


@pytest.mark.parametrize(
    ("text", "chip", "shows"),
    [
        ("TPU v6 Lite", "v6e", "chip"),
        ("TPU v6 lite", "v6e", "chip"),
        ("TPU v5 lite", "v5e", "chip"),
        ("TPU v5", "v5p", None),
        ("TPU v4", "v4", None),
        ("TPU v3", "v3", "core"),
        ("TPU7x", "tpu7x", "core"),
        ("TPU v5 lite pod", None, None),
        ("TPU8i", None, None),
    ],
)
def test_a_device_type_is_matched_whole_or_not_at_all(
    tmp_path: Path, text: str, chip: str | None, shows: str | None
) -> None:
    summary = read_space(tmp_path, tpu(0, kind=text, ops=[Event(FUSION, 0, 10)]))

    device = summary["planes"][0]["device"]
    assert (device["type"], device["chip"], device["shows"]) == (text, chip, shows)
    assert bool(finding(summary, "device-type-unknown")) == (chip is None)


def test_a_plane_says_itself_whether_two_cores_work_as_one(tmp_path: Path) -> None:
    for told, shows in ((1, "chip"), (0, "core")):
        plane = tpu(0, kind="TPU v5", ops=[Event(FUSION, 0, 10)], has_megacore=told)
        assert read_space(tmp_path, plane)["planes"][0]["device"]["shows"] == shows


def test_an_empty_device_plane_is_not_an_idle_device(tmp_path: Path) -> None:
    summary = read_space(
        tmp_path,
        tpu(0, ops=[Event(FUSION, 0, 10)]),
        Plane("/device:TPU:1"),
        Plane("/device:TPU:0 SparseCore 0", [Line("ops", [Event("s", 0, 5)])]),
    )

    assert summary["device_planes"] == ["/device:TPU:0", "/device:TPU:1"]
    found = finding(summary, "empty-device-planes")
    assert found is not None
    assert found["words"].startswith("2 device planes, 1 with events.")
    assert found["evidence"] == [{"plane": "p1"}]
    empty = summary["planes"][1]
    assert (empty["work_ns"], empty["clock"], empty["first_ns"]) == (None, None, None)
    assert "4 device planes" not in json.dumps(summary)


def test_without_a_device_lane_nothing_is_said_of_device_time(tmp_path: Path) -> None:
    summary = read_space(tmp_path, host(Line("python", steps(2))))

    found = finding(summary, "no-device-lane")
    assert found is not None
    assert "says nothing about device time" in found["words"]
    assert summary["host_device_comparable"] is None
    assert all(step["devices"] == [] for step in summary["steps"])
    assert not any("0 %" in each["words"] for each in summary["findings"])


def test_clocks_that_do_not_meet_are_not_compared(tmp_path: Path) -> None:
    apart = read_space(
        tmp_path,
        host(Line("main", steps(2)), base_ns=1_700_000_000_000_000_000),
        tpu(0, ops=[Event(FUSION, 0, 5_000)]),
    )
    together = read_space(
        tmp_path, host(Line("main", steps(2))), tpu(0, ops=[Event(FUSION, 0, 5_000)])
    )

    assert apart["host_device_comparable"] is False
    assert apart["steps"][0]["devices"] == []
    assert len(apart["clocks"]) == 2
    assert apart["clocks"][1]["first_ns"] == "1700000000000000000"
    assert apart["clocks"][1]["resolution_ns"] == 256
    assert finding(apart, "clocks-apart") is not None
    assert together["host_device_comparable"] is True
    assert together["steps"][0]["devices"] == [
        {"plane": "p1", "view": "ops", "busy_ns": 5_000, "first_ns": 0, "last_end_ns": 5_000}
    ]
    assert finding(together, "clocks-apart") is None


def test_device_steps_are_told_apart_from_host_steps(tmp_path: Path) -> None:
    summary = read_space(
        tmp_path,
        host(Line("main", steps(2))),
        tpu(
            0, numbered=[Event("0", 500, 700), Event("1", 10_500, 700)], ops=[Event(FUSION, 600, 9)]
        ),
    )

    assert [step["number"] for step in summary["steps"]] == [0, 1]
    assert [step["number"] for step in summary["device_steps"]] == [0, 1]
    assert [step["duration_ns"] for step in summary["device_steps"]] == [700, 700]
    assert {step["plane"] for step in summary["device_steps"]} == {"p1"}


def test_a_step_tells_its_program_and_what_stands_in_it(tmp_path: Path) -> None:
    tied = {"hlo_op": "dot.1", "hlo_module": "jit_f", "program_id": 2}
    summary = read_space(
        tmp_path,
        host(
            Line(
                "python", [*steps(2), Event("dispatch", 1_000, 6_000), Event("parse", 2_000, 100)]
            ),
            Line("pool", [Event("dot.1", 3_000, 500, tied), Event("dot.1", 3_200, 500, tied)]),
        ),
    )

    first, second = summary["steps"]
    assert (first["inner"], first["inner_names"]) == ("dispatch", ["dispatch"])
    assert first["contains"] == ["parse", "dot.1"]
    assert first["programs"] == [{"hlo_module": "jit_f", "program_id": "2", "operations": 2}]
    assert (first["operations_first_ns"], first["operations_busy_ns"]) == (3_000, 700)
    assert second["operations_busy_ns"] is None
    assert operation(summary, "host-op", "dot.1")["category"] == "matrix"


def test_compiling_inside_the_window_is_told_once_with_its_step(tmp_path: Path) -> None:
    nested = [
        Event("backend_compile_and_load", 10_500, 5_000),
        Event("backend_compile_and_load", 90_000, 5_000),
    ]
    summary = read_space(
        tmp_path,
        host(
            Line("python", [*steps(3), *nested]),
            Line("compiler", [Event("PjRtCpuClient::Compile", 11_000, 4_000)]),
        ),
    )

    assert [(each["in_window"], each["step"]) for each in summary["compiles"]] == [
        (True, 1),
        (False, None),
    ]
    assert [step["compiles"] for step in summary["steps"]] == [0, 1, 0]
    found = finding(summary, "compile-in-window")
    assert found is not None
    assert found["level"] == "warning"
    assert found["evidence"][0]["start_ns"] == 10_500


def test_the_first_step_is_told_with_and_without(tmp_path: Path) -> None:
    slow = Event("train", 0, 90_000, {"step_num": 0})
    rest = [Event("train", 100_000 * n, 10_000 * n, {"step_num": n}) for n in (1, 2, 3)]
    summary = read_space(tmp_path, host(Line("main", [slow, *rest])))

    told = summary["steps_summary"]
    assert (told["median_ns"], told["median_without_first_ns"]) == (25_000, 20_000)
    assert told["first_ratio"] == 4.5
    assert finding(summary, "first-step") is not None


def test_steps_out_of_order_and_steps_that_cross_are_told(tmp_path: Path) -> None:
    crossing = [
        Event("train", 0, 10_000, {"step_num": 1}),
        Event("train", 5_000, 10_000, {"step_num": 0}),
    ]
    summary = read_space(tmp_path, host(Line("main", crossing)))

    assert finding(summary, "steps-order") is not None
    assert finding(summary, "steps-overlap") is not None
    assert finding(summary, "overlap") is not None


@pytest.mark.parametrize(
    ("asked", "told"),
    [
        (
            Asked(step_name="train", step_count=3),
            "host0.xplane.pb holds 2 steps named train, not 3",
        ),
        (Asked(step_name="eval", step_count=2), "holds 0 steps named eval, not 2"),
        (Asked(platform="tpu"), "says tpu, but its trace shows no device"),
    ],
)
def test_a_profile_that_is_not_what_was_asked_for_is_refused(
    tmp_path: Path, asked: Asked, told: str
) -> None:
    with pytest.raises(CheckFailed, match=told):
        read_space(tmp_path, host(Line("main", steps(2))), asked=asked)


def test_gaps_stand_between_steps_and_between_a_devices_operations(tmp_path: Path) -> None:
    summary = read_space(
        tmp_path,
        host(Line("main", steps(2, every=10_000, lasts=8_000))),
        tpu(0, ops=[Event(FUSION, 0, 3_000), Event(REDUCE, 3_000, 100), Event(FUSION, 7_000, 10)]),
    )

    between, idle = summary["gaps"]
    assert (between["kind"], between["start_ns"], between["duration_ns"]) == (
        "between-steps",
        8_000,
        2_000,
    )
    assert (idle["kind"], idle["start_ns"], idle["duration_ns"]) == (
        "between-operations",
        3_100,
        3_900,
    )
    assert (idle["after"], idle["before"], idle["step"]) == (REDUCE, FUSION, 0)
    assert summary["gaps_summary"]["between-operations"] == {
        "count": 1,
        "total_ns": 3_900,
        "median_ns": 3_900,
    }


def test_frames_of_the_python_tracer_stay_out_of_every_sum(tmp_path: Path) -> None:
    frames = [Event(f"$code.py:{n} f", 100 * n, 9_000 - 200 * n) for n in range(5)]
    summary = read_space(tmp_path, host(Line("python", [*frames, Event("work", 2_000, 50)])))

    own, traced = summary["lines"]
    assert (own["view"], own["events"], own["busy_ns"]) == ("host", 1, 50)
    assert (traced["view"], traced["events"]) == ("python", 5)
    assert summary["planes"][0]["busy"] == {"host": 50, "python": 9_000}
    assert finding(summary, "python-tracer") is not None


def test_a_doubled_file_counts_once_and_joined_ones_are_told(tmp_path: Path) -> None:
    plane = tpu(0, ops=[Event(FUSION, 0, 3_000)])
    doubled = tmp_path / "doubled.xplane.pb"
    doubled.write_bytes(xspace(plane) * 2)
    joined = tmp_path / "joined.xplane.pb"
    joined.write_bytes(xspace(plane) + xspace(tpu(0, ops=[Event(FUSION, 0, 4_000)])))

    once = read(doubled)
    assert [plane["name"] for plane in once["planes"]] == ["/device:TPU:0"]
    assert once["totals"]["ops"]["sum_ns"] == 3_000
    assert finding(once, "doubled") is not None
    assert finding(read(joined), "same-name") is not None


def test_what_the_profiler_lost_stands_beside_every_total(tmp_path: Path) -> None:
    summary = read_space(
        tmp_path,
        host(Line("main", steps(1))),
        Plane("Task Environment", stats={"dropped_traces": "12345", "hostname": "secret-machine"}),
    )

    assert summary["lost_events"] == 12_345
    assert finding(summary, "lost-events") is not None
    assert "secret-machine" not in json.dumps(summary)


def test_thousands_of_events_become_a_bounded_lane_that_says_what_it_hides(tmp_path: Path) -> None:
    many = [Event(f"%f.{n % 3} = f32[8] fusion()", 100 * n, 60) for n in range(5_000)]
    many[1000] = Event("%late.1 = f32[8] fusion()", 100_030, 20)
    summary = read_space(tmp_path, tpu(0, ops=many))

    (lane,) = summary["lanes"]
    assert len(lane["intervals"]) <= MOST_INTERVALS
    assert sum(interval[3] for interval in lane["intervals"]) == lane["events"] == 5_000
    assert all(covered <= duration for _, duration, _, _, covered, _ in lane["intervals"])
    assert sum(interval[4] for interval in lane["intervals"]) == summary["lines"][2]["busy_ns"]
    assert lane["hidden"]["merged_intervals"] > 0
    assert lane["hidden"]["deeper"] == 0


def test_every_list_stays_within_its_limit_and_the_rest_is_summed(tmp_path: Path) -> None:
    count = 1_200
    ops = [Event(f"%f.{n} = f32[8] fusion()", 10_000 * n, 1_000 + n) for n in range(count)]
    lines = [Line(f"pool/{n}", [Event("work", 10 * n, 5)]) for n in range(60)]
    summary = read_space(tmp_path, host(Line("main", steps(count)), *lines), tpu(0, ops=ops))

    limits = summary["limits"]
    assert len(summary["steps"]) == limits["steps"]
    assert summary["steps_left_out"] == {"count": 200, "total_ns": 200 * 8_000}
    assert summary["steps_summary"]["count"] == count
    assert len(summary["lanes"]) == limits["lanes"]
    assert summary["lanes_left_out"]["count"] == 62 - limits["lanes"]
    kept = [each for each in summary["operations"] if each["view"] == "ops"]
    rest = summary["operations_left_out"]["ops"]
    assert len(kept) == limits["operations_per_view"]
    assert rest["count"] == count - len(kept)
    assert (
        sum(each["self_ns"] for each in kept) + rest["self_ns"]
        == (summary["totals"]["ops"]["self_ns"])
    )
    assert min(each["self_ns"] for each in kept) > rest["self_ns"] / rest["count"]
    for kind, told in summary["gaps_summary"].items():
        shown = [each for each in summary["gaps"] if each["kind"] == kind]
        assert (len(shown), told["count"]) == (limits["gaps_per_kind"], count - 1)
    assert len(json.dumps(summary)) < 2_000_000


def test_levels_below_the_fourth_are_counted_not_drawn(tmp_path: Path) -> None:
    nested = [Event(f"level{n}", 2_000 * n, 40_000 - 4_000 * n) for n in range(6)]
    (lane,) = read_space(tmp_path, host(Line("main", nested)))["lanes"]

    assert [interval[5] for interval in lane["intervals"]] == [0, 1, 2, 3]
    assert lane["hidden"] == {"events": 2, "merged_intervals": 0, "deeper": 2}


def test_long_names_and_many_processes_are_read_in_linear_time(tmp_path: Path) -> None:
    """Quadratic work would take hours on this file; the run of letters may hold an address."""
    events = [
        {"ph": "X", "name": "a" * 200_000, "pid": f"p{n}", "tid": 1, "ts": n, "dur": 1}
        for n in range(2)
    ]
    events += [
        {"ph": "X", "name": "b", "pid": n, "tid": 1, "ts": n, "dur": 1} for n in range(1_000)
    ]
    path = tmp_path / "trace.json"
    path.write_text(json.dumps({"traceEvents": events}), encoding="utf-8")

    summary = read(path)

    assert sum(source["events"] for source in summary["sources"]) == 1_002


def test_more_planes_than_a_summary_lists_are_refused(tmp_path: Path) -> None:
    events = [{"ph": "X", "name": "b", "pid": n, "tid": 1, "ts": n, "dur": 1} for n in range(1_025)]
    path = tmp_path / "trace.json"
    path.write_text(json.dumps({"traceEvents": events}), encoding="utf-8")

    with pytest.raises(CheckFailed, match="1,025 planes; at most 1,024"):
        read(path)


def test_nothing_of_a_person_or_a_place_reaches_the_summary(tmp_path: Path) -> None:
    told = [
        Event("open /home/someone/secret/model.py", 0, 10),
        Event("connect 34.83.195.179", 20, 10),
        Event("mail someone@example.org", 40, 10),
    ]
    path = tmp_path / "someones-laptop_34.83.195.179.xplane.pb"
    path.write_bytes(xspace(host(Line("main", told))))
    text = json.dumps(read(path))

    for secret in ("someone", "34.83", "secret", "laptop"):
        assert secret not in text
    assert "host0.xplane.pb" in text
