"""Trace events as Chrome, Perfetto and XProf write them, and what only looks like them."""

import gzip
import json
import subprocess
import sys
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lab.kit import json_stream
from lab.kit.faults import CheckFailed
from lab.kit.json_stream import JsonText
from tests.lab.spaces import finding, operation, read, read_events

BIG = 2**53 + 1
NAMES: list[dict[str, Any]] = [
    {"ph": "M", "pid": 1, "name": "process_name", "args": {"name": "/device:TPU:0"}},
    {"ph": "M", "pid": 1, "tid": 2, "name": "thread_name", "args": {"name": "XLA Ops"}},
]


def complete(name: str = "f", ts: float = 0, dur: float = 5, **more: object) -> dict[str, Any]:
    return {"ph": "X", "pid": 7, "tid": 8, "name": name, "ts": ts, "dur": dur} | more


def pair(phase: str, name: str | None, ts: float) -> dict[str, Any]:
    named = {} if name is None else {"name": name}
    return {"ph": phase, "pid": 7, "tid": 8, "ts": ts} | named


def test_times_are_exact_beyond_what_a_double_holds(tmp_path: Path) -> None:
    path = tmp_path / "t.trace.json"
    path.write_text(
        '{"traceEvents": [{"ph": "X", "pid": "Spans", "tid": 9007199254740993, "name": "a", '
        '"ts": 1700000000000001.001, "dur": 0.003}, {"ph": "X", "pid": "Spans", '
        '"tid": 9007199254740993, "name": "b", "ts": 1700000000000001.002, "dur": 0.001, '
        '"args": {"program_id": 18446744073709551615, "hlo_module": "jit_f"}}], '
        '"baseTimeNanoseconds": 1737158888000000001}'
    )
    summary = read(path)

    assert summary["clocks"][0]["first_ns"] == "1700000000000001001"
    assert summary["clocks"][0]["span_ns"] == 3
    assert summary["reader"]["resolution_ns"] == 1
    assert summary["lines"][0]["name"] == f"thread {BIG}"
    assert operation(summary, "host-op", "b")["program_id"] == "18446744073709551615"
    assert operation(summary, "host", "a")["self_ns"] == 2
    assert summary["sources"][0]["base_time_ns"] == "1737158888000000001"
    assert summary["planes"][0]["name"] == "process Spans"


def test_the_list_form_and_pairs_of_begin_and_end(tmp_path: Path) -> None:
    path = tmp_path / "pairs.json"
    events = [pair("B", "a", 0), pair("B", "b", 2), pair("E", "b", 5), pair("E", None, 10)]
    path.write_text(json.dumps(events))
    summary = read(path)

    assert operation(summary, "host", "a")["self_ns"] == 7_000
    assert operation(summary, "host", "b")["total_ns"] == 3_000
    assert summary["odd_events"] == {}


def test_an_unclosed_begin_shifts_no_other_pair(tmp_path: Path) -> None:
    events = [pair("B", "a", 0), pair("B", "lost", 2), pair("E", "a", 10), pair("E", "never", 11)]
    summary = read_events(tmp_path, events)

    assert operation(summary, "host", "a")["total_ns"] == 10_000
    assert [each["name"] for each in summary["operations"]] == ["a"]
    assert summary["odd_events"] == {"unmatched-begin": 1, "unmatched-end": 1}
    found = finding(summary, "odd-events")
    assert found is not None
    assert "1 begins without an end" in found["words"]


def test_only_intervals_add_time_and_unknown_phases_are_counted(tmp_path: Path) -> None:
    other = [{"ph": phase, "pid": 7, "tid": 8, "ts": 1, "dur": 999} for phase in "bnestfiICMR"]
    summary = read_events(tmp_path, [complete(), *other, {"ph": "?", "ts": 1}, {}, 5])

    assert summary["lines"][0]["sum_ns"] == 5_000
    assert sum(summary["untimed_phases"].values()) == 11
    assert summary["unknown_phases"] == {"?": 1}
    assert summary["odd_events"] == {"no-phase": 1, "not-an-object": 1, "unknown-phase": 1}


def test_jaxs_empty_last_event_is_no_warning(tmp_path: Path) -> None:
    found = finding(read_events(tmp_path, [complete(), {}]), "odd-events")

    assert found is not None
    assert found["level"] == "note"


@pytest.mark.parametrize(
    ("event", "reason"),
    [
        (complete(dur=-5), "negative-duration"),
        (complete(dur=2 * 86_400e6), "longer-than-a-day"),
        ({"ph": "X", "pid": 7, "tid": 8, "ts": 3, "name": "n"}, "no-duration"),
        (complete(ts=1e30), "no-time"),
        (complete() | {"ts": "soon"}, "no-time"),
        (complete() | {"ts": True}, "no-time"),
        (complete(ts=3 * 86_400e6), "out-of-window"),
    ],
)
def test_impossible_times_are_counted_and_left_out(
    tmp_path: Path, event: dict[str, Any], reason: str
) -> None:
    summary = read_events(tmp_path, [complete("own", ts=10), complete("too", ts=20), event])

    assert summary["odd_events"] == {reason: 1}
    assert summary["lines"][0]["sum_ns"] == 10_000
    assert finding(summary, "odd-events") is not None


def test_a_negative_start_alone_is_legal(tmp_path: Path) -> None:
    summary = read_events(tmp_path, [complete(ts=-1_461_972_216_707_720)])

    assert summary["odd_events"] == {}
    assert summary["clocks"][0]["first_ns"] == "-1461972216707720000"


def test_a_device_and_its_steps_are_known_by_their_names(tmp_path: Path) -> None:
    step = {"pid": 7, "tid": 8, "args": {"step_num": "3"}}
    events = [*NAMES, complete("fusion.2", pid=1, tid=2), complete("train", dur=9, **step)]
    summary = read_events(tmp_path, events)

    assert summary["device_planes"] == ["/device:TPU:0"]
    assert operation(summary, "ops", "fusion.2")["opcode"] == "fusion"
    (told,) = summary["steps"]
    assert (told["number"], told["name"]) == (3, "train")
    assert told["devices"][0]["busy_ns"] == 5_000


def test_xprofs_names_of_hosts_before_planes_are_dropped(tmp_path: Path) -> None:
    joined = [event | {"args": {"name": f"secret {event['args']['name']}"}} for event in NAMES[:1]]
    told = {"device_offset_ps": "7", "device_duration_ps": "4000000"}
    timed = complete("fusion.2", pid=1, tid=2, args=told)
    summary = read_events(tmp_path, [*joined, NAMES[1], timed])

    assert summary["device_planes"] == ["/device:TPU:0"]
    assert operation(summary, "ops", "fusion.2")["device_total_ns"] == 4_000
    assert "secret" not in json.dumps(summary)


def test_annotations_over_a_gpus_stream_are_no_work_of_it(tmp_path: Path) -> None:
    gpu = {"pid": 0, "tid": 7}
    labels = {"ph": "M", "pid": 0, "name": "process_labels", "args": {"labels": "GPU 0"}}
    stream = {"ph": "M", "pid": 0, "tid": 7, "name": "thread_name", "args": {"name": "stream 7 "}}
    summary = read_events(
        tmp_path,
        [
            labels,
            stream,
            complete("sgemm", ts=2, dur=3, cat="kernel", **gpu),
            complete("step", ts=0, dur=99, cat="gpu_user_annotation", **gpu),
        ],
        deviceProperties=[{"id": 0, "name": "NVIDIA H100"}],
    )

    (plane,) = summary["planes"]
    assert plane["device"]["type"] == "NVIDIA H100"
    assert (plane["work"], plane["work_ns"]) == ("stream", 3_000)
    assert operation(summary, "stream", "sgemm")["category"] == "matrix"


def test_exactly_a_million_events_are_perhaps_not_all(tmp_path: Path) -> None:
    path = tmp_path / "t.trace.json.gz"
    step = json.dumps(complete("train", args={"step_num": "1"}))
    with gzip.open(path, "wt", compresslevel=1) as file:
        one = '{"ph":"i"},'
        file.write(f'{{"traceEvents":[{step.replace("5", "4")},{step},{one * 999_997}{step}]}}')
    summary = read(path)

    found = finding(summary, "event-limit")
    assert found is not None
    assert found["words"].startswith("Possibly truncated: 1,000,000 events")
    assert [step["complete"] for step in summary["steps"]] == [True, True, False]
    assert summary["steps_summary"]["count"] == 2


def test_events_that_the_file_says_it_lost(tmp_path: Path) -> None:
    summary = read_events(tmp_path, [complete()], metadata={"stats": {"lost_events": 12345}})

    assert summary["lost_events"] == 12_345
    assert read_events(tmp_path, [complete()])["lost_events"] is None


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ('[{"ph":"X","ts":1,"dur":2},', "ended early"),
        ('{"traceEvents":[{"ph":"X","ts":1,"dur":2}', "ended early"),
        ('{"traceEvents":[{"ph":"X","na', "ended early"),
        ('{"traceEvents":[]}', "its list of trace events is empty"),
        ('{"projectId":"p","spans":[]}', "an object without traceEvents, with projectId, spans"),
        ('{"traceEvents":{}}', "traceEvents is no list"),
        ("[[1,2],[3]]", "not trace events: a list of lists"),
        ("[1,2]", "not trace events: a list of single values"),
        ('[{"cols":[],"rows":[]}]', "1 objects without a phase, the first with cols, rows"),
        ('[{"ph":"i","ts":1}]', "no event with a time"),
        ('[{"ph":"X"} {"ph":"X"}]', "is not JSON"),
        ('[{"ph":"X","ts":1,"dur":2}] tail', "more text after the end"),
        ('[{"ph":nope}, ' + " " * 99, "is not JSON"),
        ("[" + "[" * 100_000, "nested too deeply"),
        ("[" + "9" * 9_999 + "]", "thousands of digits"),
    ],
)
def test_what_is_no_trace_is_refused_with_the_reason(tmp_path: Path, text: str, told: str) -> None:
    path = tmp_path / "someone.trace.json"
    path.write_text(text)

    with pytest.raises(CheckFailed, match=told):
        read(path)


def test_cut_packing_and_bytes_that_are_no_text(tmp_path: Path) -> None:
    whole = gzip.compress(json.dumps([complete(f"n{n}") for n in range(2_000)]).encode())
    path = tmp_path / "a.trace.json.gz"
    for data, told in (
        (whole[:-500], "ended early, in the middle of its packing"),
        (whole[:30] + bytes(30) + whole[60:], "cannot be unpacked|ended early|not UTF-8|not JSON"),
        (gzip.compress(b'[{"ph":"\xff"}]'), "not UTF-8"),
    ):
        path.write_bytes(data)
        with pytest.raises(CheckFailed, match=told):
            read(path)


@given(
    st.lists(
        st.recursive(
            st.none() | st.booleans() | st.integers() | st.text(),
            lambda inner: (
                st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3)
            ),
            max_leaves=8,
        ),
        max_size=20,
    ),
    st.integers(1, 7),
)
def test_a_list_comes_out_as_the_standard_library_reads_it(
    tmp_path_factory: pytest.TempPathFactory, values: list[object], chunk: int
) -> None:
    path = tmp_path_factory.mktemp("stream") / "values.json"
    path.write_text(json.dumps(values), encoding="utf-8")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(json_stream, "CHUNK", chunk)
        with JsonText.open(path, "values.json") as text:
            found = list(text.items())
            text.finish()

    assert found == values


def test_fractions_keep_their_digits_and_a_byte_order_mark_is_passed(tmp_path: Path) -> None:
    path = tmp_path / "values.json"
    path.write_text("\ufeff[1700000000000001.001, NaN, -0.5e1]", encoding="utf-8")

    with JsonText.open(path, "values.json") as text:
        assert list(text.items()) == [Decimal("1700000000000001.001"), None, Decimal("-5")]


def test_json_is_read_without_jax_and_without_numpy(tmp_path: Path) -> None:
    path = tmp_path / "t.trace.json"
    path.write_text(json.dumps([complete()]))
    code = (
        "import sys\n"
        "for name in ('jax', 'jaxlib', 'numpy', 'ml_dtypes'): sys.modules[name] = None\n"
        "from lab.trace import main\n"
        f"sys.exit(main([{str(path)!r}, '--json']))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False,
        cwd=Path(__file__).parents[2],
    )  # fmt: skip

    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["reader"]["name"] == "assay trace-event JSON"
