"""Does the reader find every product, and say so when it cannot?"""

import contextlib
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lab import preflight
from lab.kit import hlo

RECORDED = Path(__file__).parent / "recorded"

CALLED = """
HloModule scan

%body.273 (p: (s32[], f32[8,16])) -> (s32[], f32[8,16]) {
  %p = (s32[], f32[8,16]{1,0}) parameter(0)
  %i = s32[] get-tuple-element(%p), index=0
  %x = f32[8,16]{1,0} get-tuple-element(%p), index=1
  %w = f32[16,16]{1,0} constant({...})
  %d = f32[8,16]{1,0} dot(%x, %w), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  ROOT %t = (s32[], f32[8,16]{1,0}) tuple(%i, %d)
}

%body.277 (p: (s32[], f32[8,16])) -> pred[] {
  %p = (s32[], f32[8,16]{1,0}) parameter(0)
  ROOT %c = pred[] constant(true)
}

%unused (a: f32[2,2]) -> f32[2,2] {
  %a = f32[2,2]{1,0} parameter(0)
  ROOT %d = f32[2,2]{1,0} dot(%a, %a), lhs_contracting_dims={1}, rhs_contracting_dims={0}
}

ENTRY %main (s: (s32[], f32[8,16])) -> (s32[], f32[8,16]) {
  %s = (s32[], f32[8,16]{1,0}) parameter(0)
  ROOT %w = (s32[], f32[8,16]{1,0}) while(%s), condition=%body.277, body=%body.273
}
"""

PLAIN = """
// RUN: some-tool %s | FileCheck %s
// CHECK: dot(
fused {
  lhs = f32[128,256] parameter(0)
  rhs = f4e2m1fn[3,5] parameter(1)
  w = f32[256,64] parameter(2)
  ROOT product = f32[128,64] dot(lhs, w), lhs_contracting_dims={1}, rhs_contracting_dims={0},
    backend_config={
      "tiles": {"sizes": ["8", "1"]}
    }
}
ENTRY main {
  a = f32[128,256] parameter(0)  // not an op: dot(a, a)
  b = f4e2m1fn[3,5] parameter(1)
  c = f32[256,64] parameter(2)
  ROOT f = f32[128,64] fusion(a, b, c), kind=kCustom, calls=fused
}
"""


def recorded(name: str) -> hlo.Module:
    return hlo.read((RECORDED / f"{name}.hlo.txt").read_text())


def test_a_cpu_multiplies_bf16_for_bf16_in_f32_and_converts_three_times() -> None:
    got, requested = recorded("cpu-bf16-bf16"), recorded("cpu-bf16-bf16.requested")

    (dot,) = hlo.dots(got)
    assert (dot.lhs.dtype, dot.rhs.dtype, dot.accumulator, dot.delivered) == (
        "f32",
        "f32",
        "f32",
        "bf16",
    )
    assert dot.stored == ("bf16", "bf16")
    assert [(each.source, each.target) for each in hlo.inserted(requested, got)] == [
        ("bf16", "f32"),
        ("bf16", "f32"),
        ("f32", "bf16"),
    ]


def test_a_cpu_converts_both_fp8_operands() -> None:
    found = hlo.inserted(recorded("cpu-e4m3fn.requested"), recorded("cpu-e4m3fn"))

    assert [(each.source, each.target) for each in found] == [("f8e4m3fn", "f32")] * 2


def test_int8_that_asks_for_no_accumulator_is_told_to_wrap() -> None:
    (dot,) = hlo.dots(recorded("cpu-int8-unspecified"))

    assert dot.wraps
    assert dot.accumulator == "s8"


def test_on_a_tpu_a_product_is_printed_as_a_convolution() -> None:
    (dot,) = hlo.dots(recorded("v5e-bf16"))

    assert dot.opcode == "convolution"
    assert (str(dot.lhs), str(dot.rhs), dot.accumulator) == (
        "bf16[64,128]",
        "bf16[128,64]",
        "f32",
    )
    assert dot.flop == 2 * 64 * 128 * 64


def test_an_operand_is_followed_to_the_type_it_is_stored_in() -> None:
    (dot,) = hlo.dots(recorded("tpu7x-bf16-int4"))

    assert (dot.lhs.dtype, dot.rhs.dtype) == ("bf16", "bf16")
    assert dot.stored == ("bf16", "s4")


def test_products_in_a_loop_beside_other_threads_are_found_and_counted_once() -> None:
    module = recorded("tpu7x-decode")

    found = hlo.dots(module)
    assert len(found) == 2
    # 8 sequences x 8 KV heads x 2 query heads x 4,096 tokens x 64, as a batched product
    assert {dot.flop for dot in found} == {2 * 8 * 8 * 2 * 4096 * 64}
    assert hlo.summarize(module)["flop"] == 134_217_728


def test_a_loop_body_counts_once_and_what_nobody_calls_not_at_all() -> None:
    module = hlo.read(CALLED)

    assert set(module.computations) == {"body.273", "body.277", "unused", "main"}
    assert [dot.computation for dot in hlo.dots(module)] == ["body.273"]
    assert hlo.summarize(module)["flop"] == 2 * 8 * 16 * 16


def test_names_without_percent_signs_comments_and_open_lines_are_read() -> None:
    module = hlo.read(PLAIN)

    assert not module.cut
    assert [dot.flop for dot in hlo.dots(module)] == [2 * 128 * 256 * 64]
    assert module.parameters[1].ideal_bytes == 8  # 15 elements of 4 bits


def test_a_product_that_was_rewritten_is_not_zero_work() -> None:
    summary = hlo.summarize(recorded("v5e-int8-batch-one"))

    assert summary["dots"] == []
    assert summary["finding"] == summary["flop_reason"] == hlo.NO_DOT
    assert summary["flop"] is None


def test_a_fragment_without_entry_has_no_totals() -> None:
    text = (RECORDED / "v5e-bf16.hlo.txt").read_text()

    summary = hlo.summarize(hlo.read(text[: text.index("ENTRY")]))
    assert summary["flop"] is None
    assert summary["flop_reason"] == hlo.NO_ENTRY
    assert len(summary["dots"]) == 1  # type: ignore[arg-type]


def test_a_text_cut_in_its_middle_has_no_totals() -> None:
    text = (RECORDED / "v5e-bf16.hlo.txt").read_text()

    summary = hlo.summarize(hlo.read(text[: text.rindex("fusion(")]))
    assert summary["flop_reason"] == hlo.CUT


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ((RECORDED / "bf16.stablehlo.txt").read_text(), "MLIR"),
        ("", "no computation"),
        ("<!doctype html><p>dot(x, y)", "no computation"),
        ("ENTRY main {\0}", "NUL"),
        ("ENTRY m {\n x = f32[1] add(" + "(" * 1_000 + "\n}", "deeper"),
    ],
)
def test_what_is_not_hlo_is_refused_by_name(text: str, words: str) -> None:
    with pytest.raises(hlo.UnreadableProgram, match=words):
        hlo.read(text)


def test_an_enormous_text_is_refused_before_it_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hlo, "MAX_TEXT", 1_000)

    with pytest.raises(hlo.UnreadableProgram, match="at most 1,000"):
        hlo.read("x" * 1_001)


def test_too_many_instructions_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hlo, "MAX_INSTRUCTIONS", 2)

    with pytest.raises(hlo.UnreadableProgram, match="more than 2"):
        hlo.read("ENTRY m {\n" + "a = f32[] parameter(0)\n" * 3 + "}")


@pytest.mark.parametrize(
    "text",
    [
        '"\\"' * 100_000,
        "/*" * 100_000,
        "\n" * 200_000,
        "ENTRY m {\n" * 50_000,
        "ENTRY m {\n" + "a = f32[1] add(\n" * 50_000,
        "ENTRY m {\n a = f32[1] fusion(x), " + "calls=" * 100_000 + "\n}",
        "ENTRY m {\n a = f32[1] convolution(a, a), dim_labels=" + "b_" * 100_000 + "\n}",
        "ENTRY m {\n a = f32[1] fusion(a), calls=m\n d = f32[1,1] dot(a, a)\n}",
    ],
)
def test_hostile_text_comes_to_an_end(text: str) -> None:
    with contextlib.suppress(hlo.UnreadableProgram):
        hlo.summarize(hlo.read(text))


@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_a_damaged_text_is_read_or_refused_and_never_breaks_the_reader(data: st.DataObject) -> None:
    text = (RECORDED / "cpu-bf16-bf16.hlo.txt").read_text()
    start = data.draw(st.integers(0, len(text)))
    stop = data.draw(st.integers(start, len(text)))
    put = data.draw(st.text(alphabet='{}()[]"\\/*,= \n%a1', max_size=20))
    try:
        summary = hlo.summarize(hlo.read(text[:start] + put + text[stop:]))
    except hlo.UnreadableProgram:
        return
    assert summary["flop"] is None or isinstance(summary["flop"], int)


@pytest.mark.parametrize(
    ("text", "tiled"),
    [
        ("f32[64,64]{1,0:T(8,128)}", 32_768),
        ("bf16[64,128]{1,0:T(8,128)(2,1)}", 16_384),
        ("s8[127,65]{0,1:T(8,128)(4,1)}", 9_216),
        ("s8[1,127]{1,0:T(4,128)(4,1)}", 512),
        ("s4[128,64]{0,1:T(64,128)(8,1)E(4)}", 4_096),
        ("s4[128,64]{1,0}", 8_192),
        ("f32[]{:T(128)}", 512),
        ("bf16[4096]{0:T(1024)(128)(2,1)}", 8_192),
        ("f32[64,64]", None),
        ("mystery[4]{0}", None),
    ],
)
def test_tiles_are_filled_up(text: str, tiled: int | None) -> None:
    shape = hlo.array_shape(text)

    assert shape is not None
    assert shape.tiled_bytes == tiled


def extents() -> Iterator[int]:
    yield from (1, 7, 8, 9, 127, 128, 129)


def test_tiling_never_makes_an_array_smaller() -> None:
    for rows in extents():
        for columns in extents():
            shape = hlo.array_shape(f"bf16[{rows},{columns}]{{1,0:T(8,128)(2,1)}}")
            assert shape is not None
            assert shape.tiled_bytes is not None
            assert shape.ideal_bytes is not None
            assert shape.tiled_bytes >= shape.ideal_bytes


@pytest.mark.parametrize(
    ("lhs", "rhs", "result", "attributes", "flop"),
    [
        # heads as an axis of the kernel alone: [4,8] x [8,16,2] -> [4,2,16]
        (
            *("4,8,1", "8,16,2", "4,2,16"),
            "window={size=2 pad=1_1 rhs_reversal=1}, dim_labels=bf0_io0->b0f",
            2 * 4 * 2 * 16 * 8,
        ),
        # heads contracted whole: [4,2,8] x [2,8,16] -> [4,16,1]
        ("4,2,8", "2,8,16", "4,16,1", "window={size=2}, dim_labels=b0f_0io->bf0", 2 * 64 * 2 * 8),
        # a batch of 3: [3,4,8] x [3,8,16] -> [3,4,16]
        (
            *("3,4,8", "3,8,16", "3,4,16"),
            "window={size=3 stride=2 lhs_dilate=3}, dim_labels=0bf_0io->0bf",
            2 * 3 * 4 * 16 * 8,
        ),
        ("4,9,8", "2,8,16", "4,8,16", "window={size=2}, dim_labels=b0f_0io->b0f", None),
        ("4,8", "8,16", "4,16", "dim_labels=bf_io->bf, feature_group_count=2", None),
        ("4,8", "8,16", "4,16", "dim_labels=bf_zz->bf", None),
        ("4,8", "8,16", "4,16", "dim_labels=b0f_0io->b0f", None),
        ("4,8", "8,16", "4,16", "", None),
    ],
)
def test_a_product_is_told_from_a_convolution(
    lhs: str, rhs: str, result: str, attributes: str, flop: int | None
) -> None:
    text = f"""ENTRY m {{
  x = bf16[{lhs}] parameter(0)
  w = bf16[{rhs}] parameter(1)
  ROOT c = f32[{result}] convolution(x, w), {attributes}
}}"""

    assert [dot.flop for dot in hlo.dots(hlo.read(text))] == [flop]


def test_a_real_convolution_is_listed_without_a_count_of_its_work() -> None:
    text = """ENTRY m {
  x = f32[1,32,32,3]{3,2,1,0} parameter(0)
  w = f32[3,3,3,16]{3,2,1,0} parameter(1)
  ROOT c = f32[1,30,30,16]{3,2,1,0} convolution(x, w), window={size=3x3}, dim_labels=b01f_01io->b01f
}"""

    summary = hlo.summarize(hlo.read(text))
    assert summary["finding"] == "1 found"
    assert summary["flop"] is None
    assert summary["flop_reason"] == "the work of a product is not known"


def test_a_product_that_cannot_be_read_is_not_no_dot() -> None:
    text = """ENTRY m {
  x = f32[4,4]{1,0} parameter(0)
  ROOT d = f32[4,4]{1,0} dot(x, lost), lhs_contracting_dims={1}, rhs_contracting_dims={0}
}"""

    summary = hlo.summarize(hlo.read(text))
    assert summary["finding"] == "0 found, 1 not readable"
    assert summary["flop"] is None


def test_a_computation_written_twice_makes_a_text_damaged() -> None:
    assert hlo.read(CALLED.replace("%unused", "%body.273")).cut


def test_what_a_custom_call_hides_is_named() -> None:
    text = """ENTRY m {
  x = f32[4,4]{1,0} parameter(0)
  ROOT c = f32[4,4]{1,0} custom-call(x, x), custom_call_target="__cublas$gemm"
}"""

    assert hlo.summarize(hlo.read(text))["opaque"] == ["__cublas$gemm"]


@pytest.mark.parametrize(
    ("x", "axes"),
    [
        ("f32[?,16]", ", lhs_contracting_dims={1}, rhs_contracting_dims={0}"),
        ("f32[8,?]", ", lhs_contracting_dims={1}, rhs_contracting_dims={0}"),
        ("f32[8,16]", ""),
        ("f32[8,16]", ", lhs_contracting_dims={1111111111}, rhs_contracting_dims={0}"),
    ],
)
def test_work_that_the_text_does_not_tell_is_unknown_and_never_zero(x: str, axes: str) -> None:
    text = f"""
ENTRY main {{
  x = {x} parameter(0)
  w = f32[16,4] parameter(1)
  ROOT y = f32[8,4] dot(x, w){axes}
}}
"""
    summary = hlo.summarize(hlo.read(text))

    assert summary["finding"] == "1 found"
    assert summary["flop"] is None
    assert summary["flop_reason"] == "the work of a product is not known"


def test_a_size_that_the_text_does_not_tell_is_unknown_and_never_zero() -> None:
    text = """
ENTRY main {
  x = f32[?,16] parameter(0)
  e = f32[0,16] parameter(1)
  ROOT y = bf16[?,16] convert(x)
}
"""
    module = hlo.read(text)

    assert [str(shape) for shape in module.parameters] == ["f32[?,16]", "f32[0,16]"]
    assert [shape.elements for shape in module.parameters] == [None, 0]
    assert [shape.ideal_bytes for shape in module.parameters] == [None, 0]
    assert hlo.counted(hlo.converts(module)) == [
        {"from": "f32", "to": "bf16", "elements": None, "count": 1}
    ]
    assert preflight.describe_shape(module.parameters[0]) == {
        "shape": "f32[?,16]",
        "elements": None,
        "ideal_bytes": None,
        "tiled_bytes": None,
    }


@pytest.mark.parametrize(
    "layout", ["{5,9:T(8,128)}", "{1,1:T(8,128)}", "{1,0:T(0,0)}", "{1,0:T(8,0)}", "{1,0:T()}"]
)
def test_a_layout_that_cannot_be_has_no_tiled_bytes(layout: str) -> None:
    text = f"ENTRY main {{\n  ROOT x = f32[8,16]{layout} parameter(0)\n}}\n"

    (shape,) = hlo.read(text).parameters

    assert shape.tiled_bytes is None
    assert shape.ideal_bytes == 8 * 16 * 4
