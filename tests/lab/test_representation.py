"""Every representation on the lesson's inputs: golden errors, bytes, counters and ranges."""

from dataclasses import replace
from fractions import Fraction
from functools import cache

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from lab.kit import calibration, cases, integer_range, policy_file
from lab.kit.accuracy import reference_product
from lab.kit.cases import Inputs
from lab.kit.faults import CheckFailed
from lab.kit.policy_file import CannotFollow, Policy
from lab.kit.precision_product import Problem, make_inputs
from lab.kit.representation import Represented, represent

pytestmark = pytest.mark.lab

GOLDEN = {
    "int8-row-column": (0.009144664882, 0.0245321988),
    "int8-row-column-half": (0.009120891736, 0.02439172337),
    "int8-tensor": (0.01190978822, 0.0562237423),
    "int8-groups-64": (0.008239131, 0.018028293),
    "int8-groups-32": (0.007495731, 0.013241092),
    "int8-groups-16": (0.006601519, 0.009393338),
    "int8-smoothing": (0.008758800806, 0.006513942989),
    "int8-feature-fp32": (0.009115248252, 0.003276105535),
    "int8-static": (0.009144664882, 0.8530165485),
    "w8": (0.006321943402, 0.00628966649),
    "w4": (0.1161653156, 0.1105360732),
    "int4-row-column": (0.1674651958, 0.2994124289),
    "int4-groups-32": (0.1345298195, 0.1792357722),
    "bf16": (0.002346108083, 0.002323381312),
    "fp16": (0.000294016638, 0.0002766299971),
    "e4m3fn-scaled": (0.03605177361, 0.02495519308),
    "e4m3fn": (0.03702321834, 0.03805128273),
    "e5m2-scaled": (0.07428852441, 0.05258331079),
    "e5m2": (0.07474778464, 0.07910594528),
    "e4m3b11fnuz-scaled": (0.03518244937, 0.02825983169),
    "e4m3b11fnuz-nan": (0.0370008794, None),
    "fp32": (0.0, 0.0),
}
"""Relative L2 of the FP64 product of what is stored: balanced, outlier. None is no number."""

BYTES = {
    "fp32": 65_536,
    "bf16": 32_768,
    "int8-row-column": 16_896,
    "int8-tensor": 16_392,
    "int8-groups-16": 20_480,
    "int8-smoothing": 17_408,  # and 512 of the smoothing vector
    "int8-feature-fp32": 17_280,  # 127 features of codes, one of FP32
    "w4": 37_120,  # X in FP32, 4,096 packed codes, 256 of scales
    "int4-row-column": 8_704,  # 8,192 packed codes, 512 of scales
    "e4m3fn": 16_384,
}


@cache
def inputs() -> dict[str, Inputs]:
    return cases.make(64, 128, 64)


@cache
def policy(name: str) -> Policy:
    return policy_file.load([name])[0]


def stored(name: str, case: str = "balanced") -> Represented:
    calibrated = inputs()["balanced"] if policy(name).calibration else None
    return represent(inputs()[case], policy(name), calibrated)


def relative_error(operands: Represented, case: str) -> float:
    reference = reference_product(inputs()[case].x, inputs()[case].w)
    return float(np.linalg.norm(operands.product - reference) / np.linalg.norm(reference))


@pytest.mark.parametrize("name", GOLDEN)
@pytest.mark.parametrize("column", [0, 1])
def test_representation_errors_are_those_worked_out_before(name: str, column: int) -> None:
    case, expected = ("balanced", "outlier")[column], GOLDEN[name][column]

    found = relative_error(stored(name, case), case)

    if expected is None:
        assert np.isnan(found)
    else:
        assert found == pytest.approx(expected, rel=1e-6)


def test_each_policy_of_the_lab_has_its_golden_number() -> None:
    others = {path.stem for path in policy_file.SHIPPED.glob("*.toml")} - GOLDEN.keys()

    # The same codes as with overflow to NaN, but for what is too large.
    assert others == {"e4m3b11fnuz"}


def test_inputs_are_those_of_the_precision_lab() -> None:
    request = Problem(batch=64, features=128, outputs=64)
    theirs = make_inputs(request)

    for case in ("balanced", "outlier"):
        assert inputs()[case].sha256 == theirs[case].sha256
    assert inputs()["balanced"].sha256.startswith("2a60a6fffbe58b36")
    assert inputs()["outlier"].sha256.startswith("5eddbc8a013fe228")


def test_a_row_is_zero_or_subnormal_where_its_case_says_so() -> None:
    smallest = np.finfo(np.float32).smallest_normal
    zeros, small = inputs()["zero_row"], inputs()["subnormal_row"]

    assert not zeros.x[0].any()
    assert not zeros.w[:, 0].any()
    assert ((np.abs(small.x[0]) < smallest) & (small.x[0] != 0)).all()
    assert (np.abs(small.x[1:]).max(axis=1) > smallest).all()


@pytest.mark.parametrize("name", BYTES)
def test_every_byte_that_is_stored_is_counted(name: str) -> None:
    found = stored(name).stored_bytes

    assert found["total"] == BYTES[name]
    assert found["total"] == found["codes"] + found["scales"] + found["other"]


def test_a_static_scale_clips_what_it_was_not_calibrated_for() -> None:
    counters = stored("int8-static", "outlier").x.counters.as_json()

    assert (counters["clipped"], counters["values"]) == (61, 8192)
    assert counters["clipped_share"] == pytest.approx(0.0074, abs=5e-5)


def test_overflow_is_held_or_lost_as_the_policy_says_and_counted() -> None:
    held, lost = (stored(name, "outlier").x.counters for name in ("e4m3b11fnuz", "e4m3b11fnuz-nan"))

    assert held.saturated == lost.nonfinite == 19
    assert held.nonfinite == lost.saturated == 0
    # Peaks land on the largest value, or a rounding beside it, which is no overflow.
    assert stored("e4m3fn-scaled", "outlier").x.counters.saturated == 0


def test_a_bf16_overflow_is_counted() -> None:
    x = np.float32([[3.4e38, 1.0]])
    found = represent(Inputs(x=x, w=np.ones((2, 1), np.float32), description=""), policy("bf16"))

    assert found.x.counters.nonfinite == 1


@pytest.mark.parametrize("name", ["int8-row-column", "int4-row-column", "e4m3fn-scaled"])
def test_a_slice_too_small_for_its_scale_is_flushed_and_counted(name: str) -> None:
    found = stored(name, "subnormal_row").x

    assert found.underflow_slices == 1
    assert found.counters.flushed >= 128
    assert (found.scales is not None) and (
        found.scales >= np.finfo(np.float32).smallest_normal
    ).all()
    assert not found.values[0].any()


def test_a_zero_row_and_a_zero_column_have_scale_one() -> None:
    found = stored("int8-row-column", "zero_row")

    assert (found.x.zero_slices, found.w.zero_slices) == (1, 1)
    assert found.x.scales is not None and found.x.scales.ravel()[0] == 1
    assert not found.product[0].any()


def test_smoothing_leaves_the_exact_product_alone() -> None:
    found = stored("int8-smoothing", "outlier")
    exact = np.einsum("mgt,gtn->mn", found.x.exact, found.w.exact)
    reference = reference_product(inputs()["outlier"].x, inputs()["outlier"].w)

    assert np.allclose(exact, reference, rtol=0, atol=1e-12 * np.abs(reference).max())


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("name", ["int8-row-column", "e4m3fn", "fp32"])
def test_nan_and_infinity_are_refused_by_operand_and_place(name: str, bad: float) -> None:
    x = inputs()["balanced"].x.copy()
    x[3, 5] = bad

    with pytest.raises(CheckFailed, match=r"X: 1 of 8192 values are not finite.*\[3, 5\]"):
        represent(replace(inputs()["balanced"], x=x), policy(name))


@pytest.mark.parametrize(
    ("name", "features", "told"),
    [
        ("int8-groups-64", 100, "100 features are no whole number of groups of 64"),
        ("int8-feature-fp32", 1, "cannot be kept apart"),
    ],
)
def test_inputs_that_a_policy_cannot_be_followed_on_are_named(
    name: str, features: int, told: str
) -> None:
    with pytest.raises(CannotFollow, match=told):
        represent(cases.make(4, features, 3)["balanced"], policy(name))


matrices = arrays.arrays(
    np.float32,
    st.tuples(st.integers(1, 5), st.just(4)),
    elements=st.floats(-(2.0**40), 2.0**40, width=32),
)


@given(
    matrices, st.sampled_from(sorted(GOLDEN.keys() - {"e4m3b11fnuz-nan", "fp16", "int8-static"}))
)
def test_no_represented_value_lies_beyond_its_limit(x: np.ndarray, name: str) -> None:
    chosen = policy(name)
    if chosen.tile:
        chosen = replace(chosen, tile=2)
    found = represent(Inputs(x=x, w=np.ascontiguousarray(x.T), description=""), chosen)

    for operand in (found.x, found.w):
        # A doubling of float64's own rounding separates the two sides.
        slack = 2.0**-50 * np.abs(operand.exact)
        assert (np.abs(operand.values - operand.exact) <= operand.limit + slack).all()


@given(arrays.arrays(np.float32, (3, 4), elements=st.floats(-(2.0**30), 2.0**30, width=32)))
def test_int8_codes_are_the_nearest_multiples_of_their_scale(x: np.ndarray) -> None:
    found = represent(
        Inputs(x=x, w=np.ones((4, 1), np.float32), description=""), policy("int8-row-column")
    ).x
    assert found.scales is not None

    for row, codes, scale in zip(x, found.codes[:, 0], found.scales[:, 0, 0], strict=True):
        for value, code in zip(row.tolist(), codes.tolist(), strict=True):
            # The quotient is rounded once to float32 before it is rounded to a code.
            quotient = Fraction(float(np.float32(value) / np.float32(scale)))
            assert code == round(quotient)
            assert -127 <= code <= 127


def test_the_integer_range_leaves_the_headroom_worked_out_before() -> None:
    for case, largest, bits in (("balanced", 110_961, 14.24), ("outlier", 84_760, 14.63)):
        found = stored("int8-row-column", case)
        measured = integer_range.measure(found.x.codes, found.w.codes, 127, 127)

        assert measured.max_abs_accumulator == largest
        assert measured.headroom_bits == pytest.approx(bits, abs=0.005)
        assert measured.float32_exact
        assert measured.longest_contraction == 133_144


def test_a_contraction_that_could_wrap_int32_is_refused() -> None:
    integer_range.require_room(133_144, 127, 127)
    with pytest.raises(CheckFailed, match="133145 features: INT32 holds at most 133144 products"):
        integer_range.require_room(133_145, 127, 127)

    codes = np.full((1, 1, 133_145), 127, np.int8)
    exact = integer_range.exact_sums(codes, codes.transpose(1, 2, 0))
    assert int(exact[0, 0, 0].astype(np.int32)) == -2147471591


@pytest.mark.parametrize(("features", "exact"), [(1040, True), (1041, False)])
def test_sums_past_two_to_the_24_are_told_as_inexact_in_float32(features: int, exact: bool) -> None:
    codes = np.full((1, 1, features), 127, np.int8)
    measured = integer_range.measure(codes, codes.transpose(1, 2, 0), 127, 127)

    assert measured.float32_exact == exact
    assert (measured.max_abs_accumulator <= 16_777_216) == exact


def test_rows_that_were_calibrated_on_are_not_evaluated_on() -> None:
    balanced, outlier = inputs()["balanced"].x, inputs()["outlier"].x
    calibration.require_apart(balanced, outlier)

    with pytest.raises(CannotFollow, match="63 of 64 rows"):
        calibration.require_apart(balanced, inputs()["zero_row"].x)
    mixed = outlier.copy()
    mixed[7] = balanced[9]
    with pytest.raises(CannotFollow, match="1 of 64 rows"):
        calibration.require_apart(balanced, mixed)


def test_a_policy_is_calibrated_on_the_rows_it_names_alone() -> None:
    named = policy("int8-static").calibration_sha256
    assert named is not None
    balanced = inputs()["balanced"].x

    calibration.require_split(balanced, named)
    calibration.require_split(balanced[::-1], named)
    with pytest.raises(CannotFollow, match="rows with SHA-256"):
        calibration.require_split(balanced[1:], named)
