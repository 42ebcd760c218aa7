"""A copy of the project that a test may change, and its command line."""

import fcntl
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import settings

if TYPE_CHECKING:
    from playwright.sync_api import Browser

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
OUTSIDE = dict(os.environ)
"""What programs are started with: JAX writes into this process's own, once a test starts it."""
NEVER_COPIED = shutil.ignore_patterns("__pycache__", ".*")

Done = subprocess.CompletedProcess[str]
Command = Callable[..., Done]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark what opens pages, so that `-m "not browser"` runs where there is no Chromium."""
    for item in items:
        if opens_a_browser(item):
            item.add_marker("browser")


def opens_a_browser(item: pytest.Item) -> bool:
    return not {"browser", "firefox"}.isdisjoint(getattr(item, "fixturenames", ()))


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
            env=OUTSIDE | environment,
            umask=umask,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            encoding="utf-8",
            timeout=300,
            check=False,
        )

    return call


def made_once(factory: pytest.TempPathFactory, name: str, make: Callable[[Path], None]) -> Path:
    """A folder that the first of all parallel workers makes, and the others wait for."""
    base = factory.getbasetemp()
    shared = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / name
    with shared.with_name(f"{name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (shared / "made").exists():
            shutil.rmtree(shared, ignore_errors=True)
            make(shared / "house")
            (shared / "made").touch()
    return shared / "house"


@pytest.fixture(scope="session")
def built(tmp_path_factory: pytest.TempPathFactory, assay: Command) -> Path:
    """A copy of the project with its site built, in a folder whose name breaks careless links.

    Not to be changed.
    """

    def make(house: Path) -> None:
        done = assay(copy_project(house))
        assert done.returncode == 0, done.stderr

    return made_once(tmp_path_factory, "a b #2 é", make)


@pytest.fixture(scope="session")
def browser() -> Iterator["Browser"]:
    """One Chromium for all tests of a process, since Playwright starts once in each."""
    with opened_browser() as chromium:
        yield chromium


@contextmanager
def opened_browser() -> Iterator["Browser"]:
    """The Chromium of this machine."""
    from playwright.sync_api import sync_playwright

    from tests.pages.conftest import CHROMIUM, QUIET

    if CHROMIUM is None:
        pytest.fail("no Chromium on this machine: `make test` installs one, or says how")
    with sync_playwright() as play:
        sandbox = ("--no-sandbox",) if os.geteuid() == 0 else ()
        chromium = play.chromium.launch(executable_path=CHROMIUM, args=[*QUIET, *sandbox])
        yield chromium
        chromium.close()


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
