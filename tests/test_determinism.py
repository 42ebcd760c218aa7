"""The same inputs give the same bytes, wherever, whenever and by whom they are built."""

import shutil
import stat
from pathlib import Path

from tests.conftest import Command, tree

ELSEWHERE = {
    "TZ": "Pacific/Kiritimati",
    "LC_ALL": "de_DE.ISO-8859-1",
    "LANG": "C",
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
    warm = assay(other, "--jobs", "2", umask=0o002, PYTHONHASHSEED="99", TZ="America/St_Johns")
    assert warm.returncode == 0, warm.stderr
    assert differences(site, tree(other / "site")) == []

    modes = {stat.S_IMODE(path.stat().st_mode) for path in (other / "site").rglob("*")}
    assert modes == {0o644, 0o755}


def differences(one: dict[str, bytes], other: dict[str, bytes]) -> list[str]:
    return sorted(path for path in one.keys() | other.keys() if one.get(path) != other.get(path))
