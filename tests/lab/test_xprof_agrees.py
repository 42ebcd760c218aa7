"""XProf opens our recorded tree, and sees the same steps with the same durations.

XProf is no dependency: it is asked where this Python has it, or the one named by XPROF_PYTHON.
It writes into the tree that it opens, so it is given a copy.
"""

import gzip
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.lab.spaces import read

RECORDS = Path(__file__).resolve().parents[2] / "lab" / "records"
XPROF_PYTHON = os.environ.get("XPROF_PYTHON", sys.executable)

SAME = (
    "number", "name", "inner_names", "start_ns", "duration_ns", "contains", "operations_busy_ns",
)  # fmt: skip
"""What every file of a capture tells of a step; only the XSpace tells the program's id."""

OPEN = """
import sys
from xprof.convert import raw_to_tool_data
data, _ = raw_to_tool_data.xspace_to_tool_data(sys.argv[2:], "trace_viewer", {})
with open(sys.argv[1], "wb") as file:
    file.write(data if isinstance(data, bytes) else data.encode())
"""


@pytest.fixture(scope="module")
def xprof() -> None:
    """Skip, visibly, where there is no XProf."""
    asked = subprocess.run(
        [XPROF_PYTHON, "-c", "import xprof.convert"], capture_output=True, check=False
    )
    if asked.returncode:
        pytest.skip("XProf is not installed here: pip install xprof, or name a Python that has it")


@pytest.mark.parametrize("record", ["precision-cpu", "precision-batch-one"])
@pytest.mark.usefixtures("xprof")
@pytest.mark.lab
def test_xprof_sees_the_same_steps(tmp_path: Path, record: str) -> None:
    tree = tmp_path / "trace"
    shutil.copytree(RECORDS / record / "trace", tree)
    told = tmp_path / "told.trace.json"
    (space,) = tree.rglob("*.xplane.pb")
    done = subprocess.run(
        [XPROF_PYTHON, "-c", OPEN, str(told), str(space)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr

    events = json.loads(told.read_text(encoding="utf-8"))["traceEvents"]
    theirs = [
        (int(each["args"]["step_num"]), round(each["ts"] * 1000), round(each["dur"] * 1000))
        for each in events
        if "step_num" in each.get("args", {})
    ]
    summary = json.loads((RECORDS / record / "trace" / "summary.json").read_text())
    first = int(summary["clocks"][0]["first_ns"])
    ours = [
        (step["number"], step["start_ns"] + first, step["duration_ns"]) for step in summary["steps"]
    ]
    assert sorted(theirs) == ours
    assert len(ours) == 6


@pytest.mark.parametrize("record", ["precision-cpu", "precision-batch-one"])
@pytest.mark.parametrize("name", ["perfetto_trace.json.gz", "host0.trace.json.gz"])
def test_the_files_for_perfetto_and_chrome_tell_what_the_xspace_tells(
    record: str, name: str
) -> None:
    (path,) = (RECORDS / record / "trace").rglob(name)
    for event in json.loads(gzip.decompress(path.read_bytes()))["traceEvents"][:-1]:
        assert isinstance(event["name"], str)
        assert isinstance(event["pid"], int)
        assert event["ph"] in {"M", "X"}
        if event["ph"] == "X":
            assert isinstance(event["tid"], int)
            assert event["dur"] >= 0

    summary = json.loads((RECORDS / record / "trace" / "summary.json").read_text())
    told = read(path)
    for one, other in zip(told["steps"], summary["steps"], strict=True):
        assert {key: one[key] for key in SAME} == {key: other[key] for key in SAME}
    assert told["steps_summary"] == summary["steps_summary"] | {"plane": "p0"}
    for view, totals in told["totals"].items():
        assert totals == summary["totals"][view]
