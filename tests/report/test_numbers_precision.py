"""A precision run read as typed values, and what becomes of one that is not right."""

from dataclasses import replace

import pytest

from report.errors import EvidenceMismatch
from report.numbers.precision import read_precision
from report.numbers.study import work_out
from tests.report.numbers_ground import content, edited, evidence, study

RUN = "precision-cpu"
INT8 = "/results/balanced-int8"


def test_the_recorded_run_reads_as_it_was_written():
    run = read_precision(evidence()[RUN])
    stored = {policy: run.result("balanced", policy).stored for policy in ("fp32", "bf16", "int8")}

    assert [found.total for found in stored.values()] == [65_536, 32_768, 16_896]
    assert stored["int8"].scales == 512
    assert run.scope.statement == "CPU arithmetic reference. Not a TPU result."
    assert run.source.sha256 is not None
    assert run.level == "historic"


def test_scales_are_three_percent_in_both_shapes():
    values = study().values

    for run, share in ((RUN, 512 / 16_896), ("precision-batch-one", 264 / 8_646)):
        assert values[f"study#/precision/{run}/scale_share"].number == share


def test_every_wrong_field_is_told_at_once():
    broken = edited(
        RUN,
        {
            f"{INT8}/max_abs_error": "large",
            f"{INT8}/relative_l2_error": -0.5,
            f"{INT8}/policy": "bf16",
            f"{INT8}/stored_bytes/total": 1,
            "/request/batch": True,
            "/schema": "assay/precision/2",
            "/inputs/balanced/example_row": [1.0, "two"],
            "/timing_floor_s/clock/median": "short",
        },
    )

    with pytest.raises(EvidenceMismatch) as caught:
        read_precision(broken)

    places = {fault.where.removeprefix(f"{RUN}/report.json") for fault in caught.value.faults}
    assert places >= {
        f"{INT8}/max_abs_error",
        f"{INT8}/relative_l2_error",
        f"{INT8}/policy",
        f"{INT8}/stored_bytes/total",
        "/request/batch",
        "/schema",
        "/inputs/balanced/example_row",
        "/timing_floor_s/clock/median",
    }


@pytest.mark.parametrize("value", [float("nan"), float("inf"), True, [], "1"])
def test_a_size_that_is_no_count_is_refused(value):
    with pytest.raises(EvidenceMismatch):
        read_precision(edited(RUN, {f"{INT8}/compiler_memory_bytes/peak": value}))


def test_stored_bytes_must_be_what_the_shape_needs():
    with pytest.raises(EvidenceMismatch) as caught:
        read_precision(edited(RUN, {"/request/features": 127}))

    assert any("from the requested shape" in fault.expected for fault in caught.value.faults)


def test_an_undefined_error_needs_its_reason():
    reason = "the reference norm is zero"
    silent = edited(RUN, {f"{INT8}/relative_l2_error": None})
    undefined = {"sqnr_db": None, "sqnr_db_reason": reason, "relative_l2_error_reason": reason}
    told = edited(
        RUN,
        {f"{INT8}/relative_l2_error": None} | {f"{INT8}/{key}": v for key, v in undefined.items()},
    )

    with pytest.raises(EvidenceMismatch):
        read_precision(silent)
    assert read_precision(told).result("balanced", "int8").relative_l2_error_reason == reason


def test_ratios_of_an_undefined_error_say_why_they_are_missing():
    told = edited(
        RUN,
        {
            f"{INT8}/relative_l2_error": None,
            f"{INT8}/relative_l2_error_reason": "zero reference",
            f"{INT8}/sqnr_db": None,
            f"{INT8}/sqnr_db_reason": "zero reference",
        },
    )

    ratio = work_out({RUN: told}, content()).values[f"study#/precision/{RUN}/int8_outlier_ratio"]

    assert ratio.number is None
    assert ratio.reason


@pytest.mark.parametrize(
    ("edits", "place", "told"),
    [
        ({"sqnr_db": 41.0}, "sqnr_db", "40.7766, from the relative error"),
        ({"relative_l2_error": 0.0091}, "sqnr_db", "from the relative error"),
        ({"max_abs_error": 0.6}, "max_abs_error", "from 0.009101 to 0.5824"),
        ({"max_abs_error": 0.009}, "max_abs_error", "from 0.009101 to 0.5824"),
    ],
)
def test_readings_of_one_error_must_belong_together(edits, place, told):
    with pytest.raises(EvidenceMismatch) as caught:
        read_precision(edited(RUN, {f"{INT8}/{key}": value for key, value in edits.items()}))

    found = {fault.where.rpartition("/")[2]: fault.expected for fault in caught.value.faults}
    assert told in found[place]


def test_a_trace_that_holds_nothing_is_not_a_trace():
    found = evidence()[RUN]
    summary = found.record.trace or {}
    empty = {key: [] if isinstance(value, list) else value for key, value in summary.items()}
    empty["window"] = None
    record = type(found.record)(
        **{name: getattr(found.record, name) for name in found.record.__slots__} | {"trace": empty}
    )

    with pytest.raises(EvidenceMismatch, match="holds nothing"):
        work_out({RUN: type(found)(record=record, level="current", lab_changes=())}, content())


def test_a_program_is_a_file_of_the_run_or_nothing():
    """A report may not name a file outside its run, nor another digest than the manifest's."""
    outside = "../../../../../etc/hostname"
    edits = {f"{INT8}/program/stablehlo": outside, f"{INT8}/program/hlo_sha256": "0" * 64}

    with pytest.raises(EvidenceMismatch) as caught:
        read_precision(edited(RUN, edits))

    places = [
        fault.where.removeprefix(f"{RUN}/report.json{INT8}/") for fault in caught.value.faults
    ]
    assert places == ["program/stablehlo", "program/hlo"]


def test_an_output_too_large_to_keep_says_so():
    gone = {f"{INT8}/output/file": None, f"{INT8}/output/sha256": None}
    told = gone | {f"{INT8}/output/file_reason": "not kept: over 1,048,576 bytes"}

    with pytest.raises(EvidenceMismatch):
        read_precision(edited(RUN, gone))
    assert read_precision(edited(RUN, told)).result("balanced", "int8").output is None


def test_a_compiler_need_not_tell_its_memory():
    quiet = read_precision(edited(RUN, {f"{INT8}/compiler_memory_bytes/peak": None}))

    assert quiet.result("balanced", "int8").memory.peak is None


@pytest.mark.parametrize("document", ["environment", "config"])
def test_a_run_that_does_not_say_where_it_ran_is_refused(document):
    found = evidence()[RUN]
    silent = replace(found, record=replace(found.record, **{document: {}}))

    with pytest.raises(EvidenceMismatch) as caught:
        read_precision(silent)

    assert all(f.where.startswith(f"{RUN}/{document}.json/") for f in caught.value.faults)


def test_operands_have_the_shape_that_was_requested():
    with pytest.raises(EvidenceMismatch) as caught:
        read_precision(edited(RUN, {"/inputs/outlier/x_shape": [64, 127]}))

    assert [fault.expected for fault in caught.value.faults] == ["[64, 128], as requested"]


@pytest.mark.parametrize(
    ("place", "known"),
    [
        ("/inputs/middling", "only balanced, outlier"),
        ("/reference/middling", "only balanced, outlier"),
        ("/timing_floor_s/sleep", "only clock, empty_call"),
    ],
)
def test_a_case_that_no_page_would_show_is_refused(place, known):
    with pytest.raises(EvidenceMismatch) as caught:
        read_precision(edited(RUN, {place: {}}))

    (fault,) = caught.value.faults
    assert (fault.where, fault.expected) == (f"{RUN}/report.json{place}", known)


CONTRADICTIONS = {
    "/scope/platform": "tpu",
    "/scope/statement": "Measured on TPU v5e. One device of 4.",
    "/request/platform": "gpu",
    "/request/steps": 11,
    "/request/trace": False,
    f"{INT8}/input_sha256": "0" * 64,
    f"{INT8}/requested/operand": "float32",
    f"{INT8}/requested/accumulator": "int8",
    f"{INT8}/quantization": None,
    f"{INT8}/quantization/x_scales": [1.0],
    f"{INT8}/quantization/max_abs_accumulator": 2**31,
    f"{INT8}/timing_s/minimum": 1e-9,
    f"{INT8}/timing_s/median": 1.0,
    f"{INT8}/timing_s/maximum": 1.0,
    f"{INT8}/timing_s/samples": [],
    f"{INT8}/relative_l2_error": 1e-300,
    f"{INT8}/max_abs_error": 1e300,
    "/results/balanced-fp32/quantization": {"x_scales": [], "w_scales": []},
    "/results/balanced-fp8": {},
    "/inputs/balanced/example_row": [1.0],
    "/inputs/balanced/sha256": "0" * 64,
    "/lab": "another_lab",
}


@pytest.mark.parametrize("pointer", CONTRADICTIONS)
def test_a_run_that_contradicts_itself_is_refused(pointer):
    with pytest.raises(EvidenceMismatch) as caught:
        read_precision(edited(RUN, {pointer: CONTRADICTIONS[pointer]}))

    assert caught.value.exit_code == 7
    places = [fault.where for fault in caught.value.faults]
    assert len(places) == len(set(places))


@pytest.mark.parametrize(
    ("device", "statement"),
    [
        ({"platform": "cpu", "kind": "cpu"}, "CPU arithmetic reference. Not a TPU result."),
        ({"platform": "tpu", "kind": "TPU v5e"}, "Measured on TPU v5e. One device of 1."),
    ],
)
def test_what_stands_above_results_follows_from_the_device(device, statement):
    found = evidence()[RUN]
    recorded = found.record.environment
    platform = device["platform"]
    environment = recorded | {
        "platform": {"requested": platform, "actual": platform},
        "devices": recorded["devices"] | {"used": device},
    }
    report = edited(
        RUN,
        {
            "/scope/platform": platform,
            "/scope/statement": statement,
            "/request/platform": platform,
        },
    ).record.report
    options = found.record.config["options"] | {"platform": platform}
    record = replace(
        found.record,
        environment=environment,
        report=report,
        config=found.record.config | {"options": options},
    )

    assert read_precision(replace(found, record=record)).scope.statement == statement


@pytest.mark.parametrize("time", ["yesterday", "2026-11-30", "2026-11-30 01:02:03", ""])
def test_a_run_says_when_it_was_made(time):
    found = evidence()[RUN]
    environment = found.record.environment | {"recorded_at": time}

    with pytest.raises(EvidenceMismatch, match="recorded_at"):
        read_precision(replace(found, record=replace(found.record, environment=environment)))


def test_the_faults_of_all_runs_come_out_together():
    broken = {name: edited(name, {"/request/batch": "many"}) for name in evidence()}

    with pytest.raises(EvidenceMismatch) as caught:
        work_out(broken, content())

    assert {fault.where.partition("/")[0] for fault in caught.value.faults} == broken.keys()
