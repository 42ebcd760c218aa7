"""A real release, signed with a key of its own, made once for all tests that look at one."""

import os
import subprocess
from pathlib import Path

import pytest

from tests.conftest import Command, copy_project, made_once

REPORT = "precision-cpu"
NAME = f"{REPORT}-1"


@pytest.fixture(scope="session")
def released(tmp_path_factory: pytest.TempPathFactory, assay: Command) -> Path:
    """A project with the lesson's report released and signed. Not to be changed."""

    def make(house: Path) -> None:
        done = assay(copy_project(house), "release", REPORT)
        assert done.returncode == 0, done.stderr
        make_key(house / "key")
        signing = ("sign", f"releases/{NAME}", "--key", "key", "--principal", "lab@example.org")
        done = assay(house, *signing)
        assert done.returncode == 0, done.stderr

    return made_once(tmp_path_factory, "a b #1 é", make)


def make_key(place: Path) -> Path:
    command = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "", "-f", str(place)]
    subprocess.run(command, check=True)
    return place


def pin_of(key: Path) -> str:
    told = subprocess.run(
        ["ssh-keygen", "-lf", f"{key}.pub"], capture_output=True, text=True, check=True
    )
    return told.stdout.split()[1]


def faked_clock() -> dict[str, str]:
    """An environment in which programs take it to be ten years from now; else the test is skipped.

    FAKETIME_LIBRARY may name a libfaketime that lies elsewhere: https://github.com/wolfcw/libfaketime
    """
    places = [*Path("/usr/lib").glob("*/faketime/libfaketime.so.1")]
    places += [Path("/usr/lib/faketime/libfaketime.so.1")]
    places.insert(0, Path(os.environ.get("FAKETIME_LIBRARY", "/nowhere")))
    found = next((place for place in places if place.is_file()), None)
    if found is None:
        pytest.skip("no libfaketime: it comes with the package faketime")
    return os.environ | {"LD_PRELOAD": str(found), "FAKETIME": "+3653d"}
