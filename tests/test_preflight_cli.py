"""Asking compilers from the command line: refused without libtpu, and for the CPU without it."""

import importlib.util
import json
import os
import re
from pathlib import Path

import pytest

from tests.conftest import Command

HAS_LIBTPU = importlib.util.find_spec("libtpu") is not None

MODULE = """\
import jax

def step(weights, tokens):
    return tokens @ weights

def step_arguments(batch=8):
    return (
        jax.ShapeDtypeStruct((256, 256), "bfloat16"),
        jax.ShapeDtypeStruct((batch, 256), "bfloat16"),
    )
"""


@pytest.fixture
def project(house: Path) -> Path:
    (house / "my_module.py").write_text(MODULE, encoding="utf-8")
    return house


@pytest.mark.lab
@pytest.mark.skipif(HAS_LIBTPU, reason="libtpu is installed here")
@pytest.mark.parametrize(
    "command",
    [
        ("preflight", "my_module:step", "--targets", "v5e"),
        ("fits", "my_module:step", "--targets", "v5e:4x4", "--max", "batch"),
        ("run", "preflight"),
    ],
    ids=lambda command: command[0],
)
def test_without_the_tpu_compiler_it_stops_with_the_one_command(assay: Command, project, command):
    done = assay(project, *command)

    assert done.returncode == 3
    commands = re.findall(r"\S*pip install[^\n]*", done.stderr)
    assert commands == [".venv/bin/pip install --require-hashes -r tpu.lock"]
    assert "optional" in done.stderr


@pytest.mark.lab
def test_a_program_of_ones_own_becomes_a_record_with_a_page(assay: Command, project: Path):
    folder = project / "runs" / "mine"

    done = assay(
        project, "preflight", "my_module:step", "--targets", "cpu", "--batch", "4",
        "--run-dir", folder,
    )  # fmt: skip
    kept = assay(project, "record", folder, "--as", "my-step")
    built = assay(project)

    assert (done.returncode, kept.returncode, built.returncode) == (0, 0, 0), built.stderr
    assert json.loads((folder / "report.json").read_text("utf-8"))["request"]["batch"] == 4
    page = (project / "site/records/my-step.html").read_text("utf-8")
    assert "bf16 × bf16" in page
    assert "Nothing ran on a TPU" in page
    assert "Bytes of step on one device" in page


@pytest.mark.lab
def test_a_module_that_is_not_there_is_a_usage_fault(assay: Command, project: Path):
    done = assay(project, "preflight", "nowhere:step", "--targets", "cpu")

    assert done.returncode == 2
    assert "nowhere" in done.stderr
    assert "python -m" not in done.stderr
    assert not (project / "runs").exists()


def test_what_fits_is_not_asked_of_the_cpu(assay: Command, built: Path):
    done = assay(built, "fits", "my_module:step", "--targets", "cpu")

    assert done.returncode == 2
    assert "the CPU's does not" in done.stderr


def test_both_commands_show_an_example(assay: Command, built: Path):
    for command in ("preflight", "fits"):
        done = assay(built, command, "--help")

        assert done.returncode == 0
        assert f"python build.py {command} my_module:step --targets" in done.stdout


def test_the_site_and_the_tests_never_install_the_tpu_compiler():
    project = Path(__file__).resolve().parents[1]
    makefile = (project / "Makefile").read_text("utf-8")
    rules = dict(re.findall(r"^([\w$()./-]+):([^=\n]*(?:\n\t.*)*)", makefile, re.M))

    assert [name for name, rule in rules.items() if "-r tpu.lock" in rule] == ["tpu"]
    for name in ("site", "test", "lab", "check", "bench"):
        assert "tpu" not in rules[name]
    assert "Google Cloud terms" in rules["tpu"]


@pytest.mark.lab
@pytest.mark.skipif(not HAS_LIBTPU, reason="libtpu is not installed (make tpu)")
def test_with_the_tpu_compiler_a_program_compiles_for_a_tpu(assay: Command, project: Path):
    folder = project / "runs" / "v5e"

    done = assay(
        project, "preflight", "my_module:step", "--targets", "v5e", "--run-dir", folder,
        PYTHONPATH=os.fspath(project),
    )  # fmt: skip

    assert done.returncode == 0, done.stderr
    report = json.loads((folder / "report.json").read_text("utf-8"))
    assert report["programs"]["step"]["targets"]["v5e"]["status"] == "compiled"
