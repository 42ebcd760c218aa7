"""Is kept work given back whole, or not at all?"""

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from report.cache import Cache, NullCache, ReadOnlyCache


@given(key=st.text(), kept=st.binary())
def test_what_was_kept_comes_back(tmp_path_factory, key, kept):
    cache = Cache(tmp_path_factory.getbasetemp() / "cache")
    cache.put(key, kept)

    assert cache.get(key) == kept


def test_what_was_never_kept_is_not_there(tmp_path):
    cache = Cache(tmp_path / "cache")

    assert cache.get("figure") is None
    assert not (tmp_path / "cache").exists()


def test_keys_do_not_name_files(tmp_path):
    cache = Cache(tmp_path / "cache")
    cache.put("../../escape", b"kept")

    assert [path.name for path in tmp_path.iterdir()] == ["cache"]
    assert cache.get("../../escape") == b"kept"


@pytest.mark.parametrize("damage", [b"", b"x", b"x" * 100])
def test_a_damaged_entry_is_passed_over_and_kept_again(tmp_path, damage):
    cache = Cache(tmp_path)
    cache.put("figure", b"drawn")
    (entry,) = (path for path in tmp_path.rglob("*") if path.is_file())
    entry.write_bytes(damage)

    assert cache.get("figure") is None
    cache.put("figure", b"drawn")
    assert cache.get("figure") == b"drawn"


def test_an_entry_in_another_entrys_place_is_passed_over(tmp_path):
    cache = Cache(tmp_path)
    cache.put("page of one record", b"one")
    (one,) = (path for path in tmp_path.rglob("*") if path.is_file())
    cache.put("page of another", b"another")
    (another,) = (path for path in tmp_path.rglob("*") if path.is_file() and path != one)
    another.write_bytes(one.read_bytes())

    assert cache.get("page of another") is None
    assert cache.get("page of one record") == b"one"


def test_a_cache_that_cannot_be_written_costs_time_only(tmp_path):
    (tmp_path / "cache").write_text("a file is in the way")
    cache = Cache(tmp_path / "cache")
    cache.put("figure", b"drawn")

    assert cache.get("figure") is None


def test_nothing_but_entries_is_left_behind(tmp_path):
    cache = Cache(tmp_path)
    for _ in range(2):
        cache.put("figure", b"drawn")

    assert len([path for path in tmp_path.rglob("*") if path.is_file()]) == 1
    assert not list(tmp_path.rglob(f"*.{os.getpid()}"))


def test_a_check_reads_what_was_kept_and_keeps_nothing(tmp_path: Path):
    Cache(tmp_path).put("figure", b"drawn")
    cache = ReadOnlyCache(tmp_path)
    cache.put("figure", b"drawn otherwise")
    cache.put("page", b"set")

    assert cache.get("figure") == b"drawn"
    assert cache.get("page") is None


def test_a_release_has_nothing_that_was_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    cache = NullCache()
    cache.put("figure", b"drawn")

    assert cache.get("figure") is None
    assert list(tmp_path.iterdir()) == []
