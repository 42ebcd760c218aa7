"""One real run, with a trace, shared by every test that reads one."""

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.conftest import OUTSIDE, PROJECT

Lab = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture(scope="session")
def project() -> Path:
    return PROJECT


@pytest.fixture(scope="session")
def run_lab() -> Lab:
    """Call a lab module in a process of its own: run_lab("precision_profile", "--steps", "3")."""

    def call(
        module: str, *arguments: str | Path, where: Path = PROJECT, **environment: str
    ) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", f"lab.{module}", *map(str, arguments)],
            cwd=where,
            env=OUTSIDE | environment,
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )

    return call


@pytest.fixture(scope="session")
def run(run_lab: Lab, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The run folder of the default request, measured now."""
    folder = tmp_path_factory.mktemp("lab") / "run"
    done = run_lab("precision_profile", "--run-dir", folder, "--trace")
    assert done.returncode == 0, done.stderr
    return folder
