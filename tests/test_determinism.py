"""The same inputs give the same bytes, wherever, whenever and by whom they are built."""

import shutil
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import Command, tree

ASCII = {"LC_ALL": "POSIX", "PYTHONCOERCECLOCALE": "0", "PYTHONUTF8": "0"}
"""A locale that every system has, in which Python's texts and file names are ASCII."""
UNICODE = {"LC_ALL": "C.UTF-8"}

ELSEWHERE = {
    "TZ": "Pacific/Kiritimati",
    **ASCII,
    "PYTHONHASHSEED": "7",
    "USER": "somebody-else",
    "HOME": "/nonexistent",
    "COLUMNS": "40",
}


def test_builds_that_have_nothing_in_common_but_their_inputs_are_the_same(
    assay: Command, built: Path, tmp_path: Path
):
    site = tree(built / "site")
    other = tmp_path / "a b #1"
    shutil.copytree(built, other, ignore=shutil.ignore_patterns("site", ".cache"))

    cold = assay(other, "--jobs", "1", umask=0o077, **ELSEWHERE)
    assert cold.returncode == 0, cold.stderr
    assert differences(site, tree(other / "site")) == []

    shutil.rmtree(other / "site")
    other = other.rename(tmp_path / "a b #1 é")  # which is no name in the locale before
    there = {"TZ": "America/St_Johns", **UNICODE}
    warm = assay(other, "--jobs", "2", umask=0o002, PYTHONHASHSEED="99", **there)
    assert warm.returncode == 0, warm.stderr
    assert differences(site, tree(other / "site")) == []

    modes = {stat.S_IMODE(path.stat().st_mode) for path in (other / "site").rglob("*")}
    assert modes == {0o644, 0o755}


def test_the_two_locales_are_here_and_differ():
    """A locale that is not installed is silently another one, and shows nothing."""
    ask = "import locale; locale.setlocale(locale.LC_ALL, ''); print(locale.getencoding())"

    done = [
        subprocess.run([sys.executable, "-c", ask], env=there, capture_output=True, check=False)
        for there in (ASCII, UNICODE)
    ]

    if done[1].returncode:
        pytest.skip("C.UTF-8 is not installed here")
    assert [b"utf-8" in each.stdout.lower() for each in done] == [False, True]


def differences(one: dict[str, bytes], other: dict[str, bytes]) -> list[str]:
    return sorted(path for path in one.keys() | other.keys() if one.get(path) != other.get(path))
