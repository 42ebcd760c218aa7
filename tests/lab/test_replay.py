"""Does a replay tell what is equal, what is near, what cannot be compared and what is wrong?"""

import hashlib
import json
import math
import shutil
import struct
import subprocess
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lab import replay
from lab.kit import foreign, recorded, repeats, strict_json, ulp, verdicts
from lab.kit.faults import UsageFault
from lab.kit.strict_json import NotEvidence

pytestmark = pytest.mark.lab

Lab = Callable[..., subprocess.CompletedProcess[str]]
FLOATS = st.floats(allow_nan=False, allow_infinity=False)


# Distances


@pytest.mark.parametrize(
    ("one", "two", "steps"),
    [
        (1.0, 1.0, 0),
        (1.0, math.nextafter(1.0, 2.0), 1),
        (1.0, 2.0, 2**52),
        (0.0, -0.0, 0),
        (5e-324, -5e-324, 2),
        (0.0, 5e-324, 1),
        (2.225073858507201e-308, 2.2250738585072014e-308, 1),  # subnormal, then normal
        (math.ulp(0.0) * 7, 0.0, 7),
        (-1.0, 1.0, 2 * (1023 << 52)),
        (1.7976931348623157e308, -1.7976931348623157e308, 2 * (2**63 - 2**52 - 1)),
        (2.085142441345975e-07, 2.0851424413459753e-07, 1),
    ],
)
def test_a_distance_counts_the_numbers_between(one: float, two: float, steps: int) -> None:
    assert ulp.distance(one, two) == ulp.distance(two, one) == steps


@pytest.mark.parametrize("number", [math.nan, math.inf, -math.inf])
def test_what_is_not_finite_has_no_distance(number: float) -> None:
    with pytest.raises(ValueError, match="finite"):
        ulp.distance(1.0, number)
    with pytest.raises(ValueError, match="finite"):
        ulp.distances_float32(np.float32([1]), np.float32([number]))


@given(FLOATS, FLOATS, FLOATS)
def test_distances_add_up_along_the_order(one: float, two: float, three: float) -> None:
    low, middle, high = sorted((one, two, three))

    assert ulp.distance(low, middle) + ulp.distance(middle, high) == ulp.distance(low, high)


@given(st.floats(width=32, allow_nan=False, allow_infinity=False), st.integers(-40, 40))
def test_float32_steps_are_those_of_nextafter(number: float, steps: int) -> None:
    start = here = np.float32(number)
    with np.errstate(all="ignore"):
        for _ in range(abs(steps)):
            here = np.nextafter(here, np.float32(math.copysign(math.inf, steps)))
    if np.isfinite(here):
        assert ulp.distances_float32(np.array([start]), np.array([here])).tolist() == [abs(steps)]


# Verdicts


def near(recorded_value: float, here: float, *, alike: bool = False) -> verdicts.Field:
    return verdicts.near(recorded_value, here, 1e-6, "because", alike=alike)


def test_readings_earn_their_verdicts() -> None:
    four = 0.25 + 4 * math.ulp(0.25)
    five = 0.25 + 5 * math.ulp(0.25)

    assert near(0.25, 0.25).verdict == "exact"
    assert (near(0.25, four).verdict, near(0.25, four).measured["ulp"]) == ("ulp", 4)
    assert near(0.25, four, alike=True).verdict == "ulp"
    assert near(0.25, five).verdict == "within tolerance"
    assert near(0.25, five, alike=True).verdict == "differs"
    assert near(0.25, 0.25 + 1e-6 - 1e-12).verdict == "within tolerance"
    assert near(0.25, 0.25 + 1e-6 + 1e-12).verdict == "differs"
    assert verdicts.near(None, 0.25, 1.0, "", alike=False).why == "not recorded"


def test_a_tolerance_grows_with_the_root_of_the_sum_and_is_none_for_integers() -> None:
    floats = verdicts.tolerance("bf16", 128, 4.0)

    assert floats.relative_l2 == 2 * math.sqrt(128) * 2.0**-24
    assert floats.element == 4 * floats.relative_l2
    assert verdicts.tolerance("fp32", 512, 1.0).relative_l2 == 2 * floats.relative_l2
    assert verdicts.tolerance("int8", 128, 4.0) == verdicts.tolerance("int8", 2048, 4.0)
    assert verdicts.tolerance("int8", 128, 1.0).relative_l2 == 4 * 2.0**-24


def test_outputs_are_compared_element_by_element() -> None:
    one = np.float32([[1, -2], [0, 3]])
    two = one.copy()
    two[0, 1] = np.nextafter(two[0, 1], np.float32(0))
    two[1, 0] = -0.0

    def verdict(allowed: float, *, alike: bool) -> verdicts.Field:
        digests = ("a", "b")
        return verdicts.outputs(one, two, allowed, "because", digests=digests, alike=alike)

    found = verdict(1e-6, alike=False)
    assert (found.verdict, found.measured["ulp"]) == ("within tolerance", 1)
    assert (found.measured["elements"], found.measured["elements_apart"]) == (4, 1)
    assert verdict(1e-8, alike=False).verdict == "differs"
    assert verdict(1e-6, alike=True).verdict == "differs"
    shape = verdicts.outputs(one, two.reshape(1, 4), 1.0, "", digests=("a", "b"), alike=False)
    assert shape.verdict == "differs"


# The published reference


@pytest.fixture(scope="session")
def published(project: Path) -> Path:
    return project / "lab/records/replay-published/foreign/report.json"


@pytest.fixture(scope="session")
def replayed(run_lab: Lab, published: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The published reference, replayed now."""
    folder = tmp_path_factory.mktemp("replay") / "run"
    done = run_lab("replay", published, "--run-dir", folder)
    assert done.returncode == 0, done.stderr
    return folder


def report_of(folder: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((folder / "report.json").read_text())
    return found


def test_the_published_numbers_are_reproduced(replayed: Path) -> None:
    report = report_of(replayed)

    assert report["counts"]["differs"] == 0
    for name, fields in report["fields"].items():
        for key in ("input_sha256", "stored_bytes", "output_dtype", "argument_bytes"):
            assert fields[key]["verdict"] == "exact", (name, key)
        for key in ("relative_l2_error", "max_abs_error"):
            assert fields[key]["verdict"] in ("exact", "ulp", "within tolerance"), (name, key)
        assert fields["median_s"]["verdict"] == "not comparable"
        assert fields["median_s"]["here"] is None
        assert fields["output"]["why"] == "no output was kept with it"


def test_a_foreign_file_is_kept_byte_for_byte_as_evidence_without_a_source(
    replayed: Path, published: Path
) -> None:
    report, content = report_of(replayed), published.read_bytes()

    assert (replayed / "foreign/report.json").read_bytes() == content
    told = report["replayed"]
    assert told["sha256"] == hashlib.sha256(content).hexdigest()
    assert (told["kind"], told["source_held"], told["seed_recorded"]) == ("foreign", False, False)


def test_without_outputs_only_a_lower_bound_of_the_accumulation_is_known(replayed: Path) -> None:
    split = report_of(replayed)["accumulation"]

    # The least that the published BF16 kernel's sums can lie from exact ones.
    assert split["balanced-bf16"]["recorded_at_least"] == pytest.approx(2.05e-9, rel=5e-3)
    assert split["outlier-bf16"]["recorded_at_least"] == pytest.approx(1.54e-8, rel=5e-3)
    assert all(each["recorded"] is None for each in split.values())
    assert split["balanced-bf16"]["representation"] == pytest.approx(0.002346108083, rel=1e-9)
    assert split["balanced-int8"]["representation"] == pytest.approx(0.009144664882, rel=1e-9)
    assert split["balanced-fp32"]["representation"] == 0


def test_every_program_is_repeated_and_repeated_on_one_core(replayed: Path) -> None:
    report = report_of(replayed)

    for name, each in report["determinism"].items():
        assert each["free"]["repeats"] == 20
        assert each["free"]["distinct"] == len(each["free"]["sha256"]) >= 1, name
        if each["pinned"] is None:
            assert each["pinned_reason"]
        else:
            assert each["pinned"]["distinct"] == len(each["pinned"]["sha256"]) >= 1
            assert isinstance(report["pinned_core"], int)


def test_distinct_outputs_are_counted_and_not_failed() -> None:
    outputs = iter([np.float32([1]), np.float32([2])] * 10)

    assert repeats.repeat(lambda: next(outputs)).as_json()["distinct"] == 2
    assert repeats.repeat(lambda: np.float32([1])).as_json()["distinct"] == 1


@pytest.mark.parametrize("platform", ["tpu", "gpu"])
def test_a_device_that_belongs_to_one_process_is_not_asked_by_two(platform: str) -> None:
    answer, reason = repeats.ask_pinned("lab.pinned_repeats", {}, platform)

    assert answer is None
    assert platform in reason


def test_a_replay_can_be_replayed(replayed: Path, run_lab: Lab, tmp_path: Path) -> None:
    done = run_lab("replay", replayed, "--run-dir", tmp_path / "again", "--json")

    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["fields"] == report_of(replayed)["fields"]


# Foreign files that are not what they should be


def reference(published: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(published.read_text())
    return found


def broken(published: Path, change: Callable[[dict[str, Any]], object]) -> str:
    value = reference(published)
    change(value)
    with pytest.raises(NotEvidence) as caught:
        foreign.read(value, "report.json")
    return str(caught.value)


CHANGES: Mapping[str, tuple[Callable[[dict[str, Any]], object], str]] = {
    "schema": (lambda v: v.update(schema=2), "schema: 2, expected 1"),
    "schema of another type": (lambda v: v.update(schema=True), "schema: True, expected 1"),
    "missing": (lambda v: v.pop("jax_version"), "jax_version: nothing"),
    "extra": (lambda v: v.update(extra=1), "extra: 1, expected no such field"),
    "text": (lambda v: v.update(host_system=7), "host_system: 7, expected a text"),
    "control": (lambda v: v.update(scope="a\x1b[2J"), "scope:"),
    "long": (lambda v: v.update(scope="a" * 201), "scope:"),
    "dimension": (lambda v: v["dimensions"].update(batch=0), "dimensions/batch: 0"),
    "too large": (lambda v: v["dimensions"].update(batch=4096), "dimensions/batch: 4096"),
    "dimensions": (lambda v: v.update(dimensions=[64]), "dimensions: [64], expected an object"),
    "rule": (lambda v: v.update(outlier_rule="times 31"), "outlier_rule:"),
    "no result": (lambda v: v.update(results=[]), "results: [], expected a list"),
    "twice": (
        lambda v: v["results"].__setitem__(1, v["results"][0]),
        "results/1: 'balanced-fp32', expected each case and mode once",
    ),
    "case": (lambda v: v["results"][0].update(case="odd"), "results/0/case: 'odd'"),
    "mode": (lambda v: v["results"][0].update(mode=["fp32"]), "results/0/mode:"),
    "error": (
        lambda v: v["results"][2].update(relative_l2_error="0.1"),
        "results/2/relative_l2_error: '0.1', expected a finite number",
    ),
    "negative": (
        lambda v: v["results"][2].update(max_absolute_error=-1),
        "results/2/max_absolute_error: -1",
    ),
    "boolean": (
        lambda v: v["results"][2].update(relative_l2_error=True),
        "results/2/relative_l2_error: True",
    ),
    "hash": (lambda v: v["results"][0].update(input_sha256="2A60"), "results/0/input_sha256:"),
    "median": (lambda v: v["results"][0].update(median_ms=1.0), "of its samples"),
    "samples": (lambda v: v["results"][0].update(samples_ms=[]), "results/0/samples_ms: []"),
    "memory": (
        lambda v: v["results"][0]["compiler_memory_estimate"].pop("temp_size_in_bytes"),
        "results/0/compiler_memory_estimate/temp_size_in_bytes: nothing",
    ),
    "checked": (
        lambda v: v["results"][0].update(integer_accumulation_checked=0),
        "results/0/integer_accumulation_checked: 0, expected true or false",
    ),
    "a text for a result": (lambda v: v["results"].__setitem__(0, "x"), "results/0: 'x'"),
}


@pytest.mark.parametrize("name", CHANGES)
def test_each_fault_of_a_foreign_file_is_named(name: str, published: Path) -> None:
    change, told = CHANGES[name]

    assert told in broken(published, change)


def test_all_faults_of_a_foreign_file_are_told_at_once(published: Path) -> None:
    def change(value: dict[str, Any]) -> None:
        for name in ("missing", "rule", "case", "error"):
            CHANGES[name][0](value)

    told = broken(published, change)
    assert all(CHANGES[name][1] in told for name in ("missing", "rule", "case", "error"))


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (b"", "is not JSON"),
        (b"\xff", "is not UTF-8"),
        (b"[1]", "holds no JSON object"),
        (b'{"a": NaN}', "the number NaN"),
        (b'{"a": 1e999}', "is too large"),
        (b'{"a": 123456789012345678}', "is too large"),
        (b'{"a": 1, "a": 2}', "the key 'a' twice"),
        (b'{"a": ' + b"[" * 40 + b"]" * 40 + b"}", "nested deeper than 32 levels"),
        (b'{"a": ' + b"[" * 100_000, "nested deeper"),
    ],
)
def test_json_that_is_not_strict_is_refused(content: bytes, told: str) -> None:
    with pytest.raises(NotEvidence) as caught:
        strict_json.parse(content, "report.json")

    assert told in str(caught.value)


def test_a_foreign_file_that_is_too_long_is_not_read(run_lab: Lab, tmp_path: Path) -> None:
    (tmp_path / "report.json").write_bytes(b" " * (foreign.MAX_BYTES + 1))

    done = run_lab("replay", tmp_path / "report.json", "--run-dir", tmp_path / "run")

    assert done.returncode == 7
    assert "more than 1,048,576 bytes" in done.stderr
    assert not (tmp_path / "run").exists()


# Records


def altered(run: Path, to: Path, **documents: Callable[[dict[str, Any]], object]) -> Path:
    """A copy of a run with JSON documents changed, and a manifest that says so."""
    shutil.copytree(run, to)
    for name, change in documents.items():
        path = to / f"{name}.json"
        value = json.loads(path.read_text())
        change(value)
        path.write_text(json.dumps(value))
    seal(to)
    return to


def seal(folder: Path) -> None:
    names = sorted(p.relative_to(folder).as_posix() for p in folder.rglob("*") if p.is_file())
    lines = [
        f"{hashlib.sha256((folder / name).read_bytes()).hexdigest()}  {name}\n"
        for name in names
        if name != "manifest.sha256"
    ]
    (folder / "manifest.sha256").write_text("".join(lines))


def verdicts_of(folder: Path, name: str) -> dict[str, str]:
    return {key: each["verdict"] for key, each in report_of(folder)["fields"][name].items()}


def test_a_run_made_here_is_exact_but_for_its_times(
    run: Path, run_lab: Lab, tmp_path: Path
) -> None:
    done = run_lab("replay", run, "--run-dir", tmp_path / "replay")

    assert done.returncode == 0, done.stderr + done.stdout
    report = report_of(tmp_path / "replay")
    for name in report["fields"]:
        found = verdicts_of(tmp_path / "replay", name)
        assert found.pop("median_s") == "not comparable"
        assert set(found.values()) == {"exact"}, name
    kept = report["accumulation"]["balanced-bf16"]
    assert kept["recorded"] == kept["here"]
    assert kept["recorded"] >= kept["recorded_at_least"]
    assert "98 exact, 6 not comparable" in done.stdout
    assert "balanced-int8" in done.stdout


def tpu(report: dict[str, Any]) -> None:
    """What the lab writes on another platform, as far as a CPU can tell: none of it was run."""
    report["scope"] = {
        "platform": "tpu",
        "statement": "Measured on TPU v5 lite. One device of 4.",
        "single_device": True,
    }
    report["request"]["platform"] = "tpu"
    for name, result in report["results"].items():
        result["compiler_memory_bytes"]["argument"] += 4096
        result["program"]["hlo_sha256"] = "0" * 64
        if not name.endswith("int8"):
            result["relative_l2_error"] += 5e-8
            result["max_abs_error"] += 1e-7
        result["output"]["file"] = None


def tpu_environment(environment: dict[str, Any]) -> None:
    environment["platform"] = {"requested": "tpu", "actual": "tpu"}
    environment["devices"] |= {"count": 4}
    environment["devices"]["used"] = {"id": 0, "kind": "TPU v5 lite", "platform": "tpu"}


def test_a_run_of_a_tpu_is_compared_as_far_as_formats_promise(
    run: Path, run_lab: Lab, tmp_path: Path
) -> None:
    made = altered(run, tmp_path / "tpu-run", report=tpu, environment=tpu_environment)

    done = run_lab("replay", made, "--run-dir", tmp_path / "replay")

    assert done.returncode == 0, done.stdout
    report = report_of(tmp_path / "replay")
    assert report["scope"]["statement"] == "CPU arithmetic reference. Not a TPU result."
    assert report["setting"]["device_kind"]["verdict"] == "not comparable"
    floats, integers = (verdicts_of(tmp_path / "replay", f"balanced-{p}") for p in ("bf16", "int8"))
    assert floats["relative_l2_error"] == floats["max_abs_error"] == "within tolerance"
    assert integers["relative_l2_error"] == "exact"
    for found in (floats, integers):
        assert found["input_sha256"] == found["stored_bytes"] == "exact"
        for key in ("hlo_sha256", "argument_bytes", "median_s", "output"):
            assert found[key] == "not comparable"


def test_what_lies_beyond_its_tolerance_ends_with_5_and_is_kept(
    run: Path, run_lab: Lab, tmp_path: Path
) -> None:
    def change(report: dict[str, Any]) -> None:
        report["results"]["outlier-bf16"]["relative_l2_error"] *= 1.01
        report["results"]["balanced-int8"]["stored_bytes"]["total"] = 16_384
        report["results"]["balanced-fp32"]["input_sha256"] = "0" * 64

    made = altered(run, tmp_path / "other", report=change)
    done = run_lab("replay", made, "--run-dir", tmp_path / "replay")

    assert done.returncode == 5
    assert "Traceback" not in done.stderr
    assert verdicts_of(tmp_path / "replay", "outlier-bf16")["relative_l2_error"] == "differs"
    assert verdicts_of(tmp_path / "replay", "balanced-int8")["stored_bytes"] == "differs"
    inputs = report_of(tmp_path / "replay")["fields"]["balanced-fp32"]
    assert inputs["input_sha256"]["verdict"] == "differs"
    assert inputs["relative_l2_error"]["why"] == "the inputs are not the same"
    assert (tmp_path / "replay/manifest.sha256").is_file()


def test_an_old_record_is_compared_as_far_as_it_goes(
    run: Path, run_lab: Lab, tmp_path: Path
) -> None:
    def older(report: dict[str, Any]) -> None:
        for result in report["results"].values():
            del result["sqnr_db"], result["program"], result["compiler_memory_bytes"]["peak"]
            result["output"].pop("values_sha256", None)

    made = altered(run, tmp_path / "old", report=older)
    (made / "sources/lab/kit/accuracy.py").write_text("# an earlier one\n")
    seal(made)
    done = run_lab("replay", made, "--run-dir", tmp_path / "replay")

    assert done.returncode == 0, done.stdout
    report = report_of(tmp_path / "replay")
    assert report["replayed"]["lab_changes"] == ["kit/accuracy.py"]
    fields = report["fields"]["balanced-bf16"]
    assert fields["relative_l2_error"]["verdict"] == "exact"
    for key in ("sqnr_db", "stablehlo_sha256", "peak_bytes"):
        assert (fields[key]["verdict"], fields[key]["why"]) == ("not comparable", "not recorded")


def test_a_program_of_a_changed_lab_is_not_compared(run: Path) -> None:
    found = recorded.load(run)
    here = dict(found.setting)
    assert replay.other_program("hlo_sha256", found, here) == ""
    assert replay.other_program("stablehlo_sha256", found, here | {"cpu": "another"}) == ""
    assert "machine" in replay.other_program("hlo_sha256", found, here | {"cpu": "another"})
    assert "JAX" in replay.other_program("stablehlo_sha256", found, here | {"jax": "0.9.2"})


@pytest.mark.parametrize(
    ("spoil", "told"),
    [
        (lambda run: (run / "report.json").write_text("{}"), "report.json: changed"),
        (lambda run: (run / "config.json").unlink(), "config.json: missing"),
        (lambda run: (run / "manifest.sha256").write_text("x\n"), "manifest.sha256:1"),
        (
            lambda run: (run / "manifest.sha256").write_text("0" * 64 + "  ../x\n"),
            "hash and a path",
        ),
    ],
)
def test_a_run_that_is_not_what_was_recorded_is_refused(
    spoil: Callable[[Path], object], told: str, run: Path, tmp_path: Path
) -> None:
    made = Path(shutil.copytree(run, tmp_path / "spoilt"))
    spoil(made)

    with pytest.raises(NotEvidence) as caught:
        recorded.load(made)

    assert told in str(caught.value)


def test_other_labs_records_are_refused_in_plain_words(
    run: Path, run_lab: Lab, tmp_path: Path
) -> None:
    made = altered(run, tmp_path / "timing", report=lambda v: v.update(schema="assay/timing/1"))

    done = run_lab("replay", made, "--run-dir", tmp_path / "replay")

    assert done.returncode == 2
    assert "'assay/timing/1', which cannot be replayed" in done.stderr
    assert not (tmp_path / "replay").exists()


def test_what_is_neither_a_run_nor_a_report_is_refused(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("x")

    for path in (tmp_path, tmp_path / "notes.txt", tmp_path / "nowhere"):
        with pytest.raises(UsageFault):
            recorded.load(path)


def test_options_that_no_lab_can_run_are_refused(run: Path, tmp_path: Path) -> None:
    def change(report: dict[str, Any]) -> None:
        report["request"] |= {"batch": 10**9, "outlier_feature": -1, "features": "128"}

    made = altered(run, tmp_path / "hostile", report=change)
    with pytest.raises(NotEvidence) as caught:
        recorded.load(made)

    assert all(key in str(caught.value) for key in ("batch", "outlier_feature", "features"))


def test_an_array_that_lies_about_its_size_is_refused(run: Path, tmp_path: Path) -> None:
    made = Path(shutil.copytree(run, tmp_path / "hostile"))
    header = b"{'descr': '<f4', 'fortran_order': False, 'shape': (1000000000000,), }\n"
    array = b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header
    (made / "outputs/balanced-fp32.npy").write_bytes(array)
    seal(made)

    with pytest.raises(NotEvidence, match="no array"):
        recorded.load(made)
