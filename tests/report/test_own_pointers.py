"""Do the names of a lab that is not known here tell the units that they end in?"""

import pytest

from report.numbers.own_pointers import is_timed, unit


@pytest.mark.parametrize(
    ("name", "found"),
    [
        ("wall_s", "s"),
        ("step_ms", "ms"),
        ("stored_bytes", "B"),
        ("read_bytes_per_s", "B/s"),
        ("tokens_per_s", ""),
        ("sqnr_db", "dB"),
        ("error", ""),
    ],
)
def test_a_name_ends_in_its_unit_and_a_rate_is_no_time(name, found):
    assert unit(["results", name, "0"]) == found


@pytest.mark.parametrize(
    ("keys", "timed"),
    [
        (["results", "wall_s", "median"], True),
        (["results", "tokens_per_s"], True),
        (["results", "stored_bytes"], False),
        (["results", "errors"], False),
    ],
)
def test_what_is_timed_is_told_by_any_name_above_it(keys, timed):
    assert is_timed(keys) is timed
