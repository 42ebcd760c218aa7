"""Memory budgets: the lesson's worked examples, and what the formulas must keep."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from report.errors import ContentFault
from report.numbers.memory import KvCache, TrainingState, weight_bytes

ADAM = {"working_copy": 2, "master": 4, "first_moment": 4, "second_moment": 4, "gradients": 4}
SIZES = st.integers(1, 10**6)


def cache(**sizes: int) -> KvCache:
    lesson = {"batch": 8, "tokens": 4096, "layers": 24, "kv_heads": 8, "head_dim": 64}
    return KvCache(**({"element_bytes": 2} | lesson | sizes))


@pytest.mark.parametrize(("bits", "gigabytes"), [(32, 1.2), (16, 0.6), (8, 0.3), (4, 0.15)])
def test_weights_of_300_million_parameters(bits, gigabytes):
    assert weight_bytes(300_000_000, bits) == gigabytes * 1e9


def test_an_odd_number_of_packed_four_bit_weights_fills_its_last_byte():
    assert weight_bytes(3, 4) == 2


def test_training_with_adam_takes_18_bytes_a_parameter():
    state = TrainingState(parameters=300_000_000, bytes_per_parameter=ADAM)

    assert state.width == 18
    assert state.total == 5_400_000_000


@pytest.mark.parametrize(("element_bytes", "gibibytes"), [(2, 1.5), (1, 0.75)])
def test_the_lessons_cache(element_bytes, gibibytes):
    assert cache(element_bytes=element_bytes).total == gibibytes * 2**30


def test_llama_3_1_8b_keeps_half_a_gibibyte_for_4096_tokens():
    llama = cache(batch=1, layers=32, kv_heads=8, head_dim=128)

    assert llama.bytes_per_token == 131_072
    assert llama.total == 2**29


def test_a_head_dimension_is_its_own_number():
    qwen = cache(batch=1, tokens=40_960, layers=28, kv_heads=8, head_dim=128)

    assert qwen.bytes_per_token == 114_688
    assert qwen.total == 4.375 * 2**30


def test_sizes_below_one_are_refused_together():
    with pytest.raises(ContentFault) as caught:
        cache(tokens=0, layers=-1)

    assert [fault.where for fault in caught.value.faults] == ["tokens", "layers"]


@given(st.dictionaries(st.text(max_size=8), st.integers(0, 64), max_size=8), SIZES)
def test_parts_of_a_training_state_sum_to_its_total(widths, parameters):
    state = TrainingState(parameters=parameters, bytes_per_parameter=widths)

    assert sum(state.parts.values()) == state.total == state.width * parameters


@given(SIZES, SIZES, SIZES)
def test_doubling_any_size_of_a_cache_doubles_it(batch, tokens, layers):
    once = cache(batch=batch, tokens=tokens, layers=layers).total

    assert cache(batch=2 * batch, tokens=tokens, layers=layers).total == 2 * once
    assert cache(batch=batch, tokens=2 * tokens, layers=layers).total == 2 * once
    assert cache(batch=batch, tokens=tokens, layers=2 * layers).total == 2 * once


@given(SIZES, st.sampled_from([4, 8, 16, 32]))
def test_more_bits_never_take_less(parameters, bits):
    assert weight_bytes(parameters, bits) <= weight_bytes(parameters, bits + 1)
    assert weight_bytes(parameters, bits) <= weight_bytes(parameters + 1, bits)
