"""A capture is believed only when it holds the steps it should."""

import gzip
import json
from pathlib import Path

import pytest

from lab.kit.faults import CheckFailed
from lab.kit.trace import summarize

pytestmark = pytest.mark.lab

INNER = [
    f"{case}-{policy}" for case in ("balanced", "outlier") for policy in ("fp32", "bf16", "int8")
]


def test_the_six_steps_stand_in_order(run: Path) -> None:
    summary = json.loads((run / "trace/summary.json").read_text())

    assert [(step["number"], step["inner"]) for step in summary["steps"]] == list(enumerate(INNER))
    assert {step["name"] for step in summary["steps"]} == {"precision_case"}
    starts = [step["start_ns"] for step in summary["steps"]]
    assert starts == sorted(starts)
    assert starts[0] == 0
    assert all(isinstance(step["duration_ns"], int) for step in summary["steps"])
    assert all(step["contains"] for step in summary["steps"])


def test_a_cpu_trace_says_that_it_has_no_device_lane(run: Path) -> None:
    summary = json.loads((run / "trace/summary.json").read_text())

    assert summary["device_planes"] == []
    assert summary["note"].startswith("No device lane")
    assert "/host:CPU" in [plane["name"] for plane in summary["planes"]]


def test_the_tree_is_what_xprof_and_perfetto_open(run: Path) -> None:
    (folder,) = (run / "trace/plugins/profile").iterdir()

    names = sorted(path.name for path in folder.iterdir())
    assert names == ["host0.trace.json.gz", "host0.xplane.pb", "perfetto_trace.json.gz"]
    summary = json.loads((run / "trace/summary.json").read_text())
    assert summary["files"] == [f"trace/plugins/profile/{folder.name}/{name}" for name in names]
    for name in ("host0.trace.json.gz", "perfetto_trace.json.gz"):
        data = (folder / name).read_bytes()
        events = json.loads(gzip.decompress(data))["traceEvents"]
        assert sum(event.get("name") == "precision_case" for event in events) == 6
        assert data[4:8] == bytes(4), "the packed file carries a time"
    assert summarize((folder / "host0.xplane.pb").read_bytes(), INNER, platform="cpu")["steps"]


def test_a_device_plane_is_named_and_no_more_is_claimed() -> None:
    summary = summarize(
        space(["a"], planes='planes { id: 2 name: "/device:TPU:0" }'), ["a"], platform="tpu"
    )

    assert summary["device_planes"] == ["/device:TPU:0"]
    assert summary["note"] == (
        "Device planes in this file: 1. Other devices, if any, were not captured."
    )
    assert {"name": "/device:TPU:0", "lines": 0, "events": 0} in summary["planes"]


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "the trace file is empty"),
        ('hostnames: "h"', "the trace holds no plane"),
        ('planes { id: 1 name: "/host:CPU" }', "the trace holds no event"),
    ],
)
def test_nothing_at_all_is_not_a_trace(text: str, told: str) -> None:
    from jax.profiler import ProfileData

    data = ProfileData.text_proto_to_serialized_xspace(text)

    with pytest.raises(CheckFailed, match=told):
        summarize(data, ["a"], platform="cpu")


def test_a_missing_or_misplaced_step_is_refused() -> None:
    for found in (["a"], ["b", "a"], ["a", "b", "c"]):
        with pytest.raises(CheckFailed, match="the trace holds the steps"):
            summarize(space(found), ["a", "b"], platform="cpu")


def test_a_run_on_a_tpu_whose_trace_shows_none_is_refused() -> None:
    with pytest.raises(CheckFailed, match="says tpu, but its trace shows no device"):
        summarize(space(["a"]), ["a"], platform="tpu")


def space(inner: list[str], planes: str = "") -> bytes:
    """An XSpace whose host plane holds one step around each inner name."""
    from jax.profiler import ProfileData

    events, names = [], []
    for number, name in enumerate(inner):
        start, metadata = 1_000_000 * number, number + 2
        events.append(f"""
            events {{
              metadata_id: 1 offset_ps: {start} duration_ps: 900000
              stats {{ metadata_id: 1 int64_value: {number} }}
            }}
            events {{ metadata_id: {metadata} offset_ps: {start + 1000} duration_ps: 500000 }}
        """)
        names.append(f"""
            event_metadata {{ key: {metadata} value {{ id: {metadata} name: "{name}" }} }}
        """)
    data: bytes = ProfileData.text_proto_to_serialized_xspace(f"""
        planes {{
          id: 1 name: "/host:CPU"
          lines {{ id: 1 name: "python" {"".join(events)} }}
          event_metadata {{ key: 1 value {{ id: 1 name: "precision_case" }} }}
          {"".join(names)}
          stat_metadata {{ key: 1 value {{ id: 1 name: "step_num" }} }}
        }}
        {planes}
    """)
    return data
