"""Two codes to a byte, there and back."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from lab.kit.faults import CheckFailed
from lab.kit.packing import pack, unpack

pytestmark = pytest.mark.lab

codes = arrays.arrays(
    np.int8,
    arrays.array_shapes(min_dims=1, max_dims=3, max_side=9),
    elements=st.integers(-8, 7),
)


@given(codes)
def test_what_is_packed_comes_back(values: np.ndarray) -> None:
    packed = pack(values)

    assert packed.nbytes == (values.size + 1) // 2
    assert np.array_equal(unpack(packed, values.shape), values)


@given(codes)
def test_each_half_is_the_two_s_complement_of_its_code(values: np.ndarray) -> None:
    halves = [int(value) % 16 for value in values.ravel()] + [0] * (values.size % 2)
    expected = [low + 16 * high for low, high in zip(halves[::2], halves[1::2], strict=True)]

    assert pack(values).tolist() == expected


def test_the_lesson_s_weights_take_half_of_what_int8_takes() -> None:
    assert pack(np.zeros((128, 64), np.int8)).nbytes == 4096


@pytest.mark.parametrize("code", [8, -9, 127])
def test_a_code_of_more_than_four_bits_is_refused(code: int) -> None:
    with pytest.raises(CheckFailed, match="do not fit into four bits"):
        pack(np.array([0, code], np.int8))


def test_bytes_of_another_shape_are_refused() -> None:
    with pytest.raises(CheckFailed, match="3 bytes hold no 8 codes"):
        unpack(np.zeros(3, np.uint8), (2, 4))


def test_a_program_unpacks_the_same_codes() -> None:
    import jax

    from lab.kit.products import unpacked

    values = np.arange(-8, 7, dtype=np.int8).reshape(3, 5)
    found = jax.jit(lambda stored: unpacked(stored, (3, 5)).astype("int8"))(pack(values))

    assert np.array_equal(np.asarray(found), values)
