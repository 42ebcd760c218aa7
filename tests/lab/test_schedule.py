"""Is a matrix instruction counted for what it is, and an unknown one never guessed?"""

from collections import Counter
from pathlib import Path

import pytest

from lab.kit import schedule

RECORDED = Path(__file__).parent / "recorded"


@pytest.mark.parametrize(
    ("mnemonic", "family"),
    [
        ("vmatmul.f32.gmra.mxu0", "f32"),
        ("vmatmul.f32.dwg.msra.gmra.mxu1", "f32"),
        ("vmatmul.hi.f32.gmra.mxu0", "hi.f32"),
        ("vmatmul.low.f32.dwg.msra.gmra.mxu0", "low.f32"),
        ("vmatmul.bf16.vlgmr.msra.gmra.mxu3", "bf16"),
        ("vmatmul.mubr.s8.gmra.mxu0", "s8"),
        ("vmatmul.u8.gmra.mxu2", "u8"),
        ("vmatmul.mubr.f8e5m2.bf16.gmra.mxu1", "f8e5m2.bf16"),
        ("vmatmul.mubr.f8e4m3fn.vlgmr.msra.gmra.mrb", "f8e4m3fn"),
        ("vmatmul.mubr.msk.f32.vlgmr.msra.gmra.mrb", "f32"),
        ("vmatpush.s8.msra.mxu0", None),
        ("vmatprep.subr.bf16.mxu0", None),
        ("vpop.f32.mrf.mxu0", None),
        ("vdwg.mxu0", None),
        ("vadd.f32", None),
        ("vmatmul.s2.gmra.mxu0", schedule.UNRECOGNIZED),
        ("vmatmul.newmode.bf16.gmra.mxu0", schedule.UNRECOGNIZED),
        ("vmatfuse.bf16.mxu0", schedule.UNRECOGNIZED),
        ("vouter.bf16.mxu0", schedule.UNRECOGNIZED),
    ],
)
def test_a_mnemonic_is_known_or_unrecognized(mnemonic: str, family: str | None) -> None:
    assert schedule.operand_type(mnemonic) == family


@pytest.mark.parametrize(
    ("name", "counts"),
    [
        ("v3-fp32-high", {"low.f32": 2}),
        ("v4-int8", {"f32": 4}),
        ("v5e-int8", {"s8": 6}),
        ("v6e-e5m2", {"f8e5m2.bf16": 6}),
        ("tpu7x-e4m3fn", {"f8e4m3fn": 6}),
    ],
)
def test_recorded_bundles_are_counted(name: str, counts: dict[str, int]) -> None:
    found, unknown = schedule.count((RECORDED / f"{name}.bundles.txt").read_text())

    assert (found, unknown) == (Counter(counts), set())


def test_comments_and_names_of_values_are_not_counted() -> None:
    text = """
   0x1   :  { %1 = vld [vmem:[#a]] /* = vmatmul.bf16.gmra.mxu0
   ;; vmatmul.f32 */  ;;  %vmatmul.bf16 = vadd.f32 %v1, %v2 }
   0x2   :  { %2 = vmatmul.bf16.gmra.mxu0 %v1 }  /* never closed = vmatmul.f32.gmra.mxu0"""

    assert schedule.count(text) == (Counter({"bf16": 1}), set())


def test_an_unknown_instruction_is_kept_by_name() -> None:
    summary = schedule.summarize({"fusion": "0x1 : { %1 = vmatmul.s2.gmra.mxu0 %v1 }"})

    assert summary["counts"] == {"unrecognized": 1}
    assert summary["unrecognized"] == ["vmatmul.s2.gmra.mxu0"]


def test_no_matrix_instruction_is_not_the_same_as_no_schedule() -> None:
    empty = schedule.summarize({"fusion": "0x1 : { %1 = vadd.f32 %v1, %v2 }"})
    missing = schedule.summarize({})

    assert (empty["matrix_instructions"], empty["level"]) == (0, "matrix-instruction")
    assert (missing["matrix_instructions"], missing["level"]) == (None, None)
    assert missing["counts_reason"] == "the compiler wrote no schedule"


def test_only_final_schedules_are_read(tmp_path: Path) -> None:
    for name in (
        "17-fusion-71-final_bundles.txt",
        "17-fusion-70-schedule-analysis_final_bundles.txt",
        "17-fusion-64-packed-bundles-post-ra.txt",
        "18-TLP-73-final_bundles.txt",
    ):
        (tmp_path / name).write_text("0x1 : { %1 = vmatmul.bf16.gmra.mxu0 %v1 }")

    assert sorted(schedule.read_folder(tmp_path)) == ["TLP", "fusion"]
