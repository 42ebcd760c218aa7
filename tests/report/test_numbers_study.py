"""The study: every number the lesson asks for, each with its formula and inputs."""

import pytest

from report.errors import ContentFault
from report.notation import render
from report.numbers.precision import PrecisionRun
from report.numbers.study import work_out
from tests.report.numbers_ground import content, evidence, study

LESSON = {
    "study#/memory/weights/fp32/bytes": ("quantity(GB, 1)", "1.2 GB"),
    "study#/memory/weights/int4/bytes": ("quantity(GB, 2)", "0.15 GB"),
    "study#/memory/training_state/bytes": ("quantity(GB, 1)", "5.4 GB"),
    "study#/memory/training_state/bytes_per_parameter": ("integer", "18"),
    "study#/memory/training_state/over_bf16_weights": ("fixed(0)", "9"),
    "study#/kv_cache/bf16/bytes": ("bytes(GiB, 1)", "1.5 GiB"),
    "study#/kv_cache/int8/bytes": ("bytes(GiB, 2)", "0.75 GiB"),
    "study#/kv_cache/bf16/doubled_context/bytes": ("bytes(GiB, 1)", "3.0 GiB"),
    "study#/kv_cache/int8/scale_share": ("percent(1)", "5.9 %"),
    "study#/roofline/m1/flop": ("integer", "2,097,152"),
    "study#/roofline/m1/bytes": ("integer", "2,103,296"),
    "study#/roofline/m1/intensity": ("fixed(5)", "0.99708"),
    "study#/roofline/m64/flop": ("integer", "134,217,728"),
    "study#/roofline/m64/bytes": ("integer", "2,490,368"),
    "study#/roofline/m64/intensity": ("fixed(4)", "53.8947"),
    "study#/roofline/m1/ideal_s": ("seconds(2)", "2.45 µs"),
    "study#/roofline/ridge": ("fixed(1)", "229.3"),
    "study#/roofline/ridge_alternative": ("fixed(1)", "240.5"),
    "study#/roofline/intensity_limit": ("fixed(1)", "341.3"),
    "study#/roofline/rows_at_ridge": ("integer", "699"),
    "study#/tiny_row/codes/1": ("integer", "64"),
    "study#/tiny_row/reconstructed": ("fixed(10)", "1.0078740157"),
    "study#/counting/tpu7x/hbm_per_device": ("documented", "96 GiB"),
    "study#/counting/v5p-8/chips": ("integer", "4"),
    "study#/precision/int32_longest_contraction": ("integer", "133,144"),
    "study#/precision/precision-cpu/scale_share": ("percent(2)", "3.03 %"),
    "study#/precision/precision-batch-one/scale_share": ("percent(2)", "3.05 %"),
    "study#/precision/precision-cpu/int8_outlier_ratio": ("fixed(2)", "2.68"),
    "study#/precision/precision-cpu/int8_vs_fp32_bytes": ("percent(1)", "25.8 %"),
    "study#/precision/precision-cpu/headroom_bits/balanced": ("fixed(2)", "14.24"),
    "study#/precision/precision-cpu/headroom_bits/outlier": ("fixed(2)", "14.63"),
}


@pytest.mark.parametrize("pointer", LESSON)
def test_the_lessons_numbers_print_as_it_works_them_out(pointer):
    spelling, text = LESSON[pointer]

    assert render(study().values[pointer].printable, spelling).replace("\u00a0", " ") == text


def test_every_derived_number_shows_a_formula_and_inputs_that_resolve():
    values = study().values

    assert values.derived
    for value in values.derived:
        assert value.formula, value.pointer
        assert value.number is not None or value.reason, value.pointer
        for pointer in value.inputs:
            assert values.resolve_href(pointer), (value.pointer, pointer)


def test_the_step_traced_again_is_the_labs_own():
    found = study()
    step = found.quantization_step
    assert step is not None

    for case, row in (("balanced", step.balanced), ("outlier", step.outlier)):
        recorded = found.values.lookup(
            f"{step.run.name}#/results/{case}-int8/quantization/x_scales/0"
        )
        assert float(row.scale) == recorded.number


def test_the_same_evidence_gives_the_same_digest():
    assert work_out(evidence(), content()).digest == study().digest
    assert work_out({}, content()).digest != study().digest


def test_without_records_the_worked_examples_stand():
    bare = work_out({}, content())

    assert bare.featured(PrecisionRun) is None
    assert bare.quantization_step is None
    assert bare.values["study#/kv_cache/bf16/bytes"].number == 1_610_612_736


def test_a_missing_model_is_named():
    with pytest.raises(ContentFault, match="lesson"):
        work_out({}, type(content())(**_without_models()))


def _without_models() -> dict[str, object]:
    found = content()
    return {name: getattr(found, name) for name in found.__slots__} | {"models": {}}
