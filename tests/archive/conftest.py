"""A real release, signed with a key of its own, made once for all tests that look at one."""

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
