"""A preflight as typed values: what was asked and got, counted as recorded and never believed."""

import copy
from dataclasses import replace

import pytest

from report.errors import EvidenceMismatch
from report.ladder import Rung
from report.numbers.ceilings import judge
from report.numbers.lowering import (
    GENERATIONS,
    POLICIES,
    STATEMENT,
    Preflight,
    read_preflight,
)
from report.numbers.padding import jump, points, worst
from report.numbers.study import work_out
from report.numbers.worked_lowering import elements_at, packed_at
from tests.report.numbers_ground import content, edited, evidence, study

RECORD = "preflight-tpu"
GOLDEN = {
    "fp32-default": ["64 f32", "128 f32", "64 bf16", "64 bf16", "32 bf16", "16 bf16", "16 bf16"],
    "bf16": ["64 f32", "128 f32", "64 bf16", "64 bf16", "32 bf16", "16 bf16", "16 bf16"],
    "f16": ["64 f32", "128 f32", "128 f32", "128 f32", "64 f32", "32 f32", "32 f32"],
    "int8": ["64 f32", "128 f32", "128 f32", "32 s8", "16 s8", "8 s8", "32 f32"],
    "uint8": ["64 f32", "128 f32", "128 f32", "32 u8", "16 u8", "8 u8", "32 f32"],
    "e4m3fn": ["64 f32", "128 f32", "128 f32", "128 f32", "64 f32", "32 f32", "8 f8e4m3fn"],
}
"""Operand types and counts by generation, at 256 × 256 × 256."""


@pytest.fixture(scope="module")
def run():
    return read_preflight(evidence()[RECORD])


def without(pointer):
    """The record with one field of its report gone."""
    found = evidence()[RECORD]
    report = copy.deepcopy(dict(found.record.report))
    *parents, last = pointer.removeprefix("/").split("/")
    inner = report
    for key in parents:
        inner = inner[key]
    del inner[last]
    return replace(found, record=replace(found.record, report=report))


def test_generations_and_policies_come_in_their_order_again(run):
    assert run.generations == GENERATIONS
    assert list(run.matrix) == list(POLICIES)
    assert run.scope.statement == STATEMENT


@pytest.mark.parametrize("policy", GOLDEN)
def test_the_matrix_is_the_recorded_one(run, policy):
    found = [
        " + ".join(f"{count} {name}" for name, count in schedule.counts.items())
        for schedule in run.matrix[policy].values()
    ]

    assert found == GOLDEN[policy]
    assert {schedule.rung for schedule in run.matrix[policy].values()} == {Rung.MATRIX_INSTRUCTION}


def test_an_abort_after_the_schedule_is_recorded_and_read(run):
    aborted = run.matrix["int8"]["v4"]

    assert (aborted.compiler, aborted.total) == ("aborted", 128)
    assert aborted.message


def test_batch_one_uses_no_matrix_instruction_on_v5e(run):
    schedule = run.schedule("int8", "v5e", "1x127x65")

    assert schedule.counts == {}
    assert schedule.total == 0
    assert not schedule.multiplies("int8")


def test_the_ledger_keeps_its_columns_apart(run):
    batch_one = run.ledgers["int8-scaled-1x127x65"]
    int4 = next(row for row in run.ledgers["bf16-int4-64x128x64"].operands if row.operand == "w")

    assert (batch_one.ideal_bytes, batch_one.argument["v5e"]) == (8_646, 10_752)
    assert (int4.nbytes, int4.ideal_bytes, int4.tiled["v5e"]) == (8_192, 4_096, 4_096)


def test_what_the_cpu_compiler_does_is_read_from_its_text(run):
    bf16 = run.programs["bf16-bf16-64x128x64"].targets["cpu"]
    int8 = run.programs["int8-64x128x64"].targets["cpu"]
    int4 = run.programs["int4-64x128x64"].targets["cpu"]
    wraps = run.programs["int8-unspecified-64x128x64"].targets["cpu"]

    assert (sum(each.count for each in bf16.inserted), bf16.temporary) == (3, 81_920)
    assert (int8.inserted, int8.temporary) == ((), 0)
    assert int4.status == "refused"
    assert "operand_upcaster" in int4.refusal.message
    assert wraps.got.dots[0].wraps


def test_no_dot_in_a_text_is_just_that(run):
    got = run.programs["int8-1x127x65"].targets["v5e"].got

    assert got.finding == "no dot found"


def test_formula_and_compiler_stand_apart():
    values = study().values
    here = f"{RECORD}#/fits/decode-step/targets/tpu7x"
    formula = values.lookup(f"study#/lowering/{RECORD}/fits/decode-step/tpu7x/formula")
    peak = values.lookup(f"{here}/memory_bytes/peak")
    above = values.lookup(f"study#/lowering/{RECORD}/fits/decode-step/tpu7x/above_formula")

    assert above.number == peak.number - formula.number > 0
    assert (formula.kind, peak.kind, above.kind) == ("computed", "estimated", "estimated")
    over = values.lookup(f"study#/lowering/{RECORD}/fits/decode-step/tpu7x/over_formula")
    assert over.number == pytest.approx(101_559_831_040 / (252 * 201_326_592))


@pytest.mark.parametrize(
    ("path", "kind", "unit"),
    [
        ("staircase/policies/int8/k/v5e/18/0", "estimated", "B"),
        ("staircase/sizes/18", "given", ""),
        ("staircase/base/0", "given", ""),
        ("ledger/int8-64x128x64/operands/x/elements", "computed", ""),
        ("ledger/int8-64x128x64/operands/x/argument", "estimated", "B"),
        ("ledger/int8-64x128x64/operands/x/tiled/v5e", "estimated", "B"),
        ("ledger/int8-64x128x64/output/elements", "computed", ""),
        ("ledger/int8-64x128x64/output/ideal_bits", "computed", "bit"),
        ("ledger/int8-64x128x64/output/nbytes", "computed", "B"),
        ("ledger/int8-64x128x64/output/argument", "estimated", "B"),
        ("ledger/int8-64x128x64/totals/ideal_bytes", "computed", "B"),
        ("ledger/int8-64x128x64/totals/argument/cpu", "estimated", "B"),
        ("ledger/int8-64x128x64/totals/output/v5e", "estimated", "B"),
        ("instructions/shapes/256x256x256/int8/v5e/counts/s8", "estimated", ""),
        ("programs/int8-64x128x64/targets/v5e/memory_bytes/temporary", "estimated", "B"),
        ("programs/int8-64x128x64/targets/v5e/got/dots/0/output", "estimated", ""),
        ("programs/int8-64x128x64/requested/dots/0/output", "given", ""),
        ("steps/decode-step/targets/v5e/arguments/0/ideal_bytes", "computed", "B"),
        ("steps/decode-step/targets/v5e/arguments/0/tiled_bytes", "estimated", "B"),
        ("targets/v5e/usable_memory/as_printed", "estimated", ""),
        ("fits/decode-step/inputs/layers", "given", ""),
        ("fits/decode-step/targets/v5e/largest", "estimated", ""),
        ("fits/decode-step/targets/v5e/refusal/sizes/needed/as_printed", "estimated", ""),
        ("fits/decode-step/targets/v5e/refusal/sizes/needed/bytes", "estimated", "B"),
        ("fits/decode-step/formula_cache_bytes_per_sequence", "computed", "B"),
    ],
)
def test_a_compilers_word_a_shape_and_a_request_are_told_apart(path, kind, unit):
    value = study().values.lookup(f"{RECORD}#/{path}")

    assert (value.kind, value.unit) == (kind, unit)


def test_the_staircase_has_its_steps_and_its_packed_bytes(run):
    found = points(run)
    before, after = jump(found)
    most = worst(found)

    assert [(p.size, p.tiled, p.ideal) for p in (before, after)] == [
        (128, 8_192, 64 * 128),
        (129, 16_384, 64 * 129),
    ]
    assert (most.policy, most.dimension, most.size) == ("int4", "k", 1)
    assert (most.tiled, most.ideal) == (512, 64 * 1 * 4 / 8)
    values = study().values
    for point in found:
        assert values.lookup(point.size_at).number == point.size
        assert values.lookup(point.tiled_at).number == point.tiled
    base = f"study#/lowering/{RECORD}/staircase"
    assert (values[f"{base}/jump"].number, values[f"{base}/worst"].number) == (2, 16)


def test_products_of_as_many_elements_share_their_sum(run):
    values, ledgers = study().values, run.ledgers
    plain, scaled = (
        {elements_at(run, ledgers[f"{policy}-64x128x64"]) for policy in policies}
        for policies in (("int8", "bf16-int4", "fp4"), ("int8-scaled",))
    )

    assert [values[pointer].number for pointer in plain] == [64 * 128 + 128 * 64]
    assert [values[pointer].number for pointer in scaled] == [64 * 128 + 128 * 64 + 64 + 64]
    assert all(
        values[elements_at(run, each)].number == sum(row.elements for row in each.operands)
        for each in ledgers.values()
    )


def test_targets_that_are_given_the_same_arguments_share_their_packed_bytes(run):
    step = run.steps["decode-step"]
    (pointer,) = {packed_at(run, "steps", step, target) for target in step.targets}
    value = study().values[pointer]

    assert value.number == 805_306_368 * 2 + 393_216
    assert (value.kind, value.unit, len(value.inputs)) == ("computed", "B", 3)


def test_a_sum_is_not_told_where_a_part_of_it_is_unknown(run):
    compiled = run.steps["decode-step"].targets["v5e"]
    unsized = replace(compiled.arguments[0], ideal_bytes=None)

    assert replace(compiled, arguments=(unsized, *compiled.arguments[1:])).packed_bytes is None
    assert replace(compiled, arguments=()).packed_bytes is None


@pytest.mark.parametrize(
    ("chip", "format_", "solid"),
    [
        ("v5e", "bf16", True),
        ("v5e", "int8", True),
        ("v6e", "int8", True),
        ("tpu7x", "e4m3fn", True),
        ("tpu7x", "int8", False),
        ("v4", "int8", False),
        ("v5e", "e4m3fn", False),
        ("v6e", "e4m3fn", False),
        ("v6e", "e5m2", False),
        ("v3", "bf16", False),
    ],
)
def test_a_ceiling_is_solid_only_where_both_name_the_format(run, chip, format_, solid):
    verdict = next(
        each for each in judge(content().chips, run) if (each.chip, each.format) == (chip, format_)
    )

    assert verdict.solid is solid
    assert bool(verdict.reason) is not solid


def test_without_a_record_every_ceiling_is_grey():
    verdicts = judge(content().chips, None)

    assert not any(verdict.solid for verdict in verdicts)
    assert all("no matrix instruction was read" in verdict.reason.lower() for verdict in verdicts)


def test_a_study_without_a_preflight_greys_its_roofline():
    alone = work_out({"precision-cpu": evidence()["precision-cpu"]}, content())

    assert alone.featured(Preflight) is None
    assert set(alone.roofline.grey) == set(alone.roofline.rooflines)
    assert "v5e" not in study().roofline.grey
    assert "v3" in study().roofline.grey


V5E = "/programs/int8-64x128x64/targets/v5e"
CELL = "/instructions/shapes/256x256x256/int8/v5e"


@pytest.mark.parametrize(
    ("pointer", "value", "place"),
    [
        (f"{V5E}/level", "measured-on-device", "level"),
        (f"{V5E}/level", "matrix-instruction", "level"),
        (f"{V5E}/level", "native", "level"),
        (f"{V5E}/status", "splendid", "status"),
        (f"{V5E}/refusal", {"message": "no"}, "refusal"),
        (f"{V5E}/memory_bytes/peak", -1, "memory_bytes/peak"),
        (f"{V5E}/memory_bytes/peak", True, "memory_bytes/peak"),
        (f"{V5E}/hlo", "../../etc/passwd", "hlo"),
        (f"{V5E}/hlo_sha256", "0" * 64, "hlo"),
        (f"{V5E}/got/dots", "many", "got/dots"),
        (f"{V5E}/got/dots", [{"operands": ["s8"]}], "dots/0/operands"),
        (f"{V5E}/compile_s", "soon", "compile_s"),
        (f"{CELL}/counts", {"s8": 31}, "matrix_instructions"),
        (f"{CELL}/counts/s8", -32, "counts/s8"),
        (f"{CELL}/counts", None, "level"),
        (f"{CELL}/level", "measured-on-device", "level"),
        (f"{CELL}/level", "optimized-hlo", "level"),
        ("/ledger/int8-64x128x64/operands/w/ideal_bytes", 1, "ideal_bytes"),
        ("/ledger/int8-64x128x64/operands/w/tiled/v5e", 12, "tiled/v5e"),
        ("/ledger/int8-64x128x64/totals/nbytes", 12, "nbytes"),
        ("/staircase/policies/int8/k/v5e", [[1, 2]], "staircase/policies/int8/k/v5e"),
        ("/staircase/base", [1, 2], "staircase/base"),
        ("/fits/decode-step/targets/v5e/largest", 1.5, "largest"),
        ("/targets/v5e/usable_memory/bytes", "16 GB", "usable_memory/bytes"),
        ("/scope/platform", "tpu", "scope/platform"),
        (f"{CELL}/counts", {"s8`": 32}, "counts/s8`"),
        ("/ledger/int8-64x128x64/operands/w/tiled", {"v5e; text": 8_192}, "tiled/v5e; text"),
        ("/steps", {"decode/step": {}}, "steps/decode/step"),
        ("/instructions/shapes", {"": {}}, "instructions/shapes/"),
        ("/request/batch", "many", "request/batch"),
        ("/request/targets", ["v5e"], "options/targets"),
        ("/lab", "precision_profile", "lab"),
    ],
)
def test_what_contradicts_itself_is_refused_by_name(pointer, value, place):
    with pytest.raises(EvidenceMismatch) as caught:
        read_preflight(edited(RECORD, {pointer: value}))

    assert any(fault.where.endswith(place) for fault in caught.value.faults), caught.value


def test_a_size_that_a_compiler_does_not_tell_is_read_as_unknown():
    unsized = {"shape": "s8[?,64]", "elements": None, "ideal_bytes": None, "tiled_bytes": None}
    sized = {"shape": "s8[128,64]", "elements": 8_192, "ideal_bytes": 8_192, "tiled_bytes": 8_192}
    converts = [{"from": "f32", "to": "bf16", "elements": None, "count": 2}]
    edits = {f"{V5E}/arguments": [unsized, sized], f"{V5E}/inserted": converts}

    found = read_preflight(edited(RECORD, edits))

    compiled = found.programs["int8-64x128x64"].targets["v5e"]
    assert (compiled.arguments[0].elements, compiled.arguments[0].ideal_bytes) == (None, None)
    assert compiled.arguments[1].elements == 8_192
    assert [(each.elements, each.count) for each in compiled.inserted] == [(None, 2)]


@pytest.mark.parametrize("part", ["programs", "targets", "scope", "compiler", "request"])
def test_a_part_that_is_missing_is_named(part):
    with pytest.raises(EvidenceMismatch) as caught:
        read_preflight(without(f"/{part}"))

    assert f"{RECORD}/report.json/{part}" in {fault.where for fault in caught.value.faults}


def test_all_faults_come_out_together():
    broken = edited(RECORD, {f"{V5E}/level": "none", f"{CELL}/counts/s8": "few", "/lab": 3})

    with pytest.raises(EvidenceMismatch) as caught:
        read_preflight(broken)

    assert len(caught.value.faults) >= 3
    assert "run preflight" in caught.value.hint
