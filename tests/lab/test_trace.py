"""A capture is believed only when it holds the steps it should."""

import gzip
import json
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from lab.kit.faults import CheckFailed
from lab.kit.profile_findings import Asked
from lab.kit.trace import STEP, summarize_xspace
from tests.lab.spaces import NOBODY, Event, Line, Plane, host, tpu, xspace

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
    assert all(start >= 0 for start in starts)
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
    space = (folder / "host0.xplane.pb").read_bytes()
    assert [source["sha256"] for source in summary["sources"]] == [sha256(space).hexdigest()]
    asked = Asked(platform="cpu", step_name=STEP, inner=INNER)
    again = summarize_xspace(space, asked, NOBODY)
    assert again | {"files": names} == summary | {"files": names}


def test_the_summary_ties_each_step_to_its_program(run: Path) -> None:
    summary = json.loads((run / "trace/summary.json").read_text())

    for step in summary["steps"]:
        (program,) = step["programs"]
        assert program["hlo_module"].startswith("jit_")
        assert program["operations"] > 0
        assert 0 < step["operations_busy_ns"] <= step["duration_ns"]
    assert len({step["programs"][0]["program_id"] for step in summary["steps"][:3]}) == 3
    assert summary["totals"]["host-op"]["events"] >= len(INNER)


def test_a_device_plane_is_named_and_no_more_is_claimed() -> None:
    summary = summarized(captured("a"), tpu(0), inner=["a"], platform="tpu")

    assert summary["device_planes"] == ["/device:TPU:0"]
    assert summary["note"] == (
        "Device planes in this file: 1. Other devices, if any, were not captured."
    )


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
        summarize_xspace(data, Asked(platform="cpu", inner=["a"]), NOBODY)


def test_a_missing_or_misplaced_step_is_refused() -> None:
    for found in (["a"], ["b", "a"], ["a", "b", "c"]):
        with pytest.raises(CheckFailed, match="the trace holds the steps"):
            summarized(captured(*found), inner=["a", "b"], platform="cpu")


def test_a_run_on_a_tpu_whose_trace_shows_none_is_refused() -> None:
    with pytest.raises(CheckFailed, match="says tpu, but its trace shows no device"):
        summarized(captured("a"), inner=["a"], platform="tpu")


def captured(*inner: str) -> Plane:
    """A host's plane that holds one step around each inner name."""
    events = [
        event
        for number, name in enumerate(inner)
        for event in (
            Event(STEP, 1_000 * number, 900, {"step_num": number}),
            Event(name, 1_000 * number + 1, 500),
        )
    ]
    return host(Line("python", events))


def summarized(*planes: Plane, inner: list[str], platform: str) -> dict[str, Any]:
    asked = Asked(platform=platform, step_name=STEP, inner=inner)
    return summarize_xspace(xspace(*planes), asked, NOBODY)
