"""The same inputs give the same bytes, wherever, whenever and by whom they are built."""

import shutil
import stat
import subprocess
import sys
from pathlib import Path

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
    other = tmp_path / "a b #1 é"
    shutil.copytree(built, other, ignore=shutil.ignore_patterns("site", ".cache"))

    cold = assay(other, "--jobs", "1", umask=0o077, **ELSEWHERE)
    assert cold.returncode == 0, cold.stderr
    assert differences(site, tree(other / "site")) == []

    shutil.rmtree(other / "site")
    there = {"TZ": "America/St_Johns", **UNICODE}
    warm = assay(other, "--jobs", "2", umask=0o002, PYTHONHASHSEED="99", **there)
    assert warm.returncode == 0, warm.stderr
    assert differences(site, tree(other / "site")) == []

    modes = {stat.S_IMODE(path.stat().st_mode) for path in (other / "site").rglob("*")}
    assert modes == {0o644, 0o755}


def test_the_two_locales_are_here_and_differ():
    """A locale that is not installed is silently another one, and shows nothing."""
    ask = "import locale; print(locale.setlocale(locale.LC_ALL, ''), locale.getencoding())"

    told = [
        subprocess.run(
            [sys.executable, "-c", ask], env=there, capture_output=True, text=True, check=True
        ).stdout.split()
        for there in (ASCII, UNICODE)
    ]

    assert [name for name, _ in told] == ["C", "C.UTF-8"]
    assert told[0][1] != "utf-8" == told[1][1].lower()


def differences(one: dict[str, bytes], other: dict[str, bytes]) -> list[str]:
    return sorted(path for path in one.keys() | other.keys() if one.get(path) != other.get(path))
