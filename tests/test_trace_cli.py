"""`build.py trace`: an answer in words, JSON, CSV and as a page; refusals with their exit codes."""

import csv
import json
import shutil
from pathlib import Path

import pytest

from tests.conftest import PROJECT, tree

RECORD = PROJECT / "lab" / "records" / "precision-cpu"
SPACE = next(RECORD.glob("trace/plugins/profile/*/*.xplane.pb"))


@pytest.fixture
def run(tmp_path) -> Path:
    """A run folder that a test may change."""
    return Path(shutil.copytree(RECORD, tmp_path / "run"))


def test_a_run_is_qualified_before_any_number_is_told(assay):
    done = assay(PROJECT, "trace", RECORD)

    assert done.returncode == 0, done.stderr
    first, *rest = done.stdout.splitlines()
    assert first.startswith("No device lane in this capture")
    assert any(line.startswith("Steps, 6") for line in rest)
    assert "[lacks data] Large matrix activity on a busy device." in done.stdout


def test_a_run_needs_no_jax_since_its_summary_is_in_it(assay, run):
    before = tree(run)

    done = assay(PROJECT, "trace", run, JAX_PLATFORMS="none-such")

    assert done.returncode == 0, done.stderr
    assert tree(run) == before


@pytest.mark.lab
@pytest.mark.parametrize("level", ["xplane.pb", "plugins", "trace"])
def test_a_raw_capture_tells_the_same_steps_at_any_level(assay, tmp_path, level):
    trace = Path(shutil.copytree(RECORD / "trace", tmp_path / "trace"))
    (trace / "summary.json").unlink()
    place = {
        "xplane.pb": next(trace.rglob("*.xplane.pb")),
        "plugins": trace / "plugins",
        "trace": trace,
    }[level]
    before = tree(trace)

    done = assay(PROJECT, "trace", place, "--json")

    assert done.returncode == 0, done.stderr
    recorded = json.loads((RECORD / "trace" / "summary.json").read_bytes())
    steps = [row for row in json.loads(done.stdout)["rows"] if row["part"] == "step"]
    assert [row["duration_ns"] for row in steps] == [
        step["duration_ns"] for step in recorded["steps"]
    ]
    assert tree(trace) == before


def test_the_answer_as_json_has_every_rule_and_every_number(assay):
    found = json.loads(assay(PROJECT, "trace", RECORD, "--json").stdout)

    assert [rule["outcome"] for rule in found["hypotheses"]].count("lacks data") >= 4
    assert found["measures"]["device_step_share"]["value"] is None
    assert "no device lane" in found["measures"]["device_step_share"]["reason"]
    assert found["measures"]["first_step_ratio"]["value"] > 0


def test_the_answer_as_csv_has_a_row_for_each_step(assay, tmp_path):
    out = tmp_path / "rows.csv"

    assert assay(PROJECT, "trace", RECORD, "--csv", out).returncode == 0

    with out.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert [row["name"] for row in rows if row["part"] == "step"][2] == "balanced-int8"


def test_the_page_is_a_folder_that_is_made_again_and_never_over_anything_else(assay, tmp_path):
    out = tmp_path / "profile"

    for _ in range(2):
        done = assay(PROJECT, "trace", RECORD, "--out", out)
        assert done.returncode == 0, done.stderr
    assert (out / "index.html").is_file()
    assert (out / "assets" / "vega.js").is_file()

    (out / "mine.txt").write_text("mine")
    done = assay(PROJECT, "trace", RECORD, "--out", out)
    assert done.returncode == 2
    assert "mine.txt" in done.stderr
    assert (out / "mine.txt").read_text() == "mine"


def test_the_same_capture_makes_the_same_page(assay, tmp_path):
    for name, zone in (("one", "UTC"), ("two", "Asia/Tokyo")):
        done = assay(PROJECT, "trace", RECORD, "--out", tmp_path / name, TZ=zone)
        assert done.returncode == 0, done.stderr

    assert tree(tmp_path / "one") == tree(tmp_path / "two")


@pytest.mark.lab
@pytest.mark.parametrize(
    ("name", "content", "told"),
    [
        ("empty.xplane.pb", b"", "empty"),
        ("page.xplane.pb", b"<!doctype html>" * 20, "web page"),
        ("pointer.xplane.pb", b"version https://git-lfs.github.com/spec/v1\noid x\n", "LFS"),
        ("half.xplane.pb", SPACE.read_bytes()[: SPACE.stat().st_size // 2], "XSpace"),
        ("list.json", b"[[1, 2], [3, 4]]", "trace events"),
        ("object.json", b'{"displayTimeUnit": "ns"}', "traceEvents"),
    ],
)
def test_what_is_no_profile_is_refused_in_one_line(assay, tmp_path, name, content, told):
    (tmp_path / name).write_bytes(content)

    done = assay(PROJECT, "trace", tmp_path / name, "--out", tmp_path / "page")

    assert done.returncode == 5, done.stderr
    assert told in done.stderr and name in done.stderr
    assert "Traceback" not in done.stderr
    assert not (tmp_path / "page").exists()


def test_a_place_that_is_not_there_is_a_fault_of_the_command(assay, tmp_path):
    done = assay(PROJECT, "trace", tmp_path / "nothing", "--json")

    assert done.returncode == 2
    assert json.loads(done.stdout)["outcome"] == "refused"


def test_an_altered_run_is_no_profile_of_anything(assay, run):
    place = run / "trace" / "summary.json"
    place.write_text(place.read_text().replace('"number": 0', '"number": 9'))

    done = assay(PROJECT, "trace", run)

    assert done.returncode == 7
    assert "trace/summary.json" in done.stderr


def test_two_runs_of_one_program_are_credited_with_nothing(assay):
    other = RECORD.with_name("precision-batch-one")

    done = assay(PROJECT, "trace", RECORD, "--against", other, "--factor", "shape", "--json")

    comparison = json.loads(done.stdout)["comparison"]
    assert comparison["factor"] == "shape"
    assert {"request/batch", "request/features"} <= {
        field for _, field, *_ in comparison["differences"]
    }
    assert comparison["results"][0]["pairs"] == 5
    assert all("may be credited" not in each["note"] for each in comparison["results"])
    assert "may be credited" not in comparison["verdict"]
    assert done.returncode == (0 if comparison["credited"] else 5)


def test_a_factor_that_nobody_can_mean_is_refused_with_near_names(assay):
    done = assay(PROJECT, "trace", RECORD, "--against", RECORD, "--factor", "progam")

    assert done.returncode == 2
    assert "program" in done.stderr


def test_without_jax_a_raw_capture_says_how_to_add_it(assay, tmp_path):
    (tmp_path / "jax.py").write_text(
        "raise ModuleNotFoundError(\"No module named 'jax'\", name='jax')"
    )
    shutil.copy(SPACE, tmp_path / "host0.xplane.pb")

    done = assay(PROJECT, "trace", tmp_path / "host0.xplane.pb", PYTHONPATH=str(tmp_path))

    assert done.returncode == 3, done.stderr
    assert "make lab" in done.stderr


def test_a_repeat_belongs_to_another_profile(assay):
    done = assay(PROJECT, "trace", RECORD, "--repeat", RECORD)

    assert done.returncode == 2
    assert "--against" in done.stderr


def test_a_capture_of_something_else_is_no_repeat(assay):
    other = RECORD.with_name("precision-batch-one")

    done = assay(PROJECT, "trace", RECORD, "--against", RECORD, "--repeat", other)

    assert done.returncode == 7
    assert "precision-batch-one is no repeat of precision-cpu" in done.stderr
    assert "request/batch" in done.stderr
