"""A copy of the project that a test may change, and its command line."""

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import settings

settings.register_profile("anywhere", deadline=None, derandomize="CI" in os.environ)
settings.load_profile("anywhere")

# A job started in the background ignores Ctrl-C, and so would every program the tests start and
# then interrupt.
signal.signal(signal.SIGINT, signal.default_int_handler)

PROJECT = Path(__file__).resolve().parents[1]
PARTS = (
    "build.py",
    "report",
    "lab",
    "content",
    "templates",
    "pyproject.toml",
    "base.lock",
    "all.lock",
    "tpu.lock",
)
NEVER_COPIED = shutil.ignore_patterns("__pycache__", ".*")

Done = subprocess.CompletedProcess[str]
Command = Callable[..., Done]


def copy_project(to: Path) -> Path:
    """What a clone holds to build from, without its history, its .venv and its site."""
    to.mkdir(parents=True)
    for part in PARTS:
        if (PROJECT / part).is_dir():
            shutil.copytree(PROJECT / part, to / part, ignore=NEVER_COPIED)
        else:
            shutil.copy2(PROJECT / part, to / part)
    return to


@pytest.fixture(scope="session")
def assay() -> Command:
    """Call a project's build.py: assay(house, "check", "--json", TZ="UTC", umask=0o077)."""

    def call(house: Path, *arguments: str | Path, umask: int = -1, **environment: str) -> Done:
        strict = ["-W", "error", "-X", "warn_default_encoding"]
        return subprocess.run(
            [sys.executable, *strict, house / "build.py", *map(str, arguments)],
            cwd=house,
            env=os.environ | environment,
            umask=umask,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            encoding="utf-8",
            timeout=300,
            check=False,
        )

    return call


@pytest.fixture(scope="session")
def built(tmp_path_factory: pytest.TempPathFactory, assay: Command) -> Path:
    """A copy of the project with its site built. Not to be changed."""
    house = copy_project(tmp_path_factory.mktemp("built") / "house")
    done = assay(house)
    assert done.returncode == 0, done.stderr
    return house


@pytest.fixture
def house(built: Path, tmp_path: Path) -> Path:
    """A copy of the built project, warm cache and site included, that a test may change."""
    return Path(shutil.copytree(built, tmp_path / "house", symlinks=True))


def tree(folder: Path) -> dict[str, bytes]:
    """Every file below `folder`, by path."""
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }
