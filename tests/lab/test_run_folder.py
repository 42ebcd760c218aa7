"""A run folder is whole, repeats itself, and carries the code that made it."""

import ast
import errno
import json
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from lab.kit.faults import CompileRefused
from lab.kit.redaction import Redactor
from lab.kit.run_folder import MANIFEST, RunFolder, imported_sources

pytestmark = pytest.mark.lab

Lab = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def folder(tmp_path: Path) -> RunFolder:
    return RunFolder.create(tmp_path / "run", Redactor(hosts=["ws-7"], users=[], folders=[]))


def test_a_run_from_another_folder_and_environment_gives_the_same_bytes(
    run: Path, run_lab: Lab, project: Path, tmp_path: Path
) -> None:
    workspace = tmp_path / "a practice folder é"
    shutil.copytree(
        project / "lab", workspace / "lab", ignore=shutil.ignore_patterns("records", "__pycache__")
    )
    other = {"PYTHONHASHSEED": "7", "TZ": "Asia/Kathmandu", "LC_ALL": "C"}
    other |= {"JAX_ENABLE_X64": "1", "JAX_DEFAULT_MATMUL_PRECISION": "bfloat16"}
    other |= {"JAX_DISABLE_JIT": "1"}
    done = run_lab("precision_profile", "--run-dir", "r", "--trace", where=workspace, **other)
    assert done.returncode == 0, done.stderr

    first, second = stable(run), stable(workspace / "r")
    flags = [each["environment.json"]["flags"] for each in (first, second)]
    outside = {name: flags[1][name] for name in other if name in flags[1]}
    assert outside == {name: text for name, text in other.items() if name.startswith("JAX_")}
    flags[1] |= {name: flags[0][name] for name in outside}  # all that may tell of them
    assert first["environment.json"] == second["environment.json"]
    assert [name for name in first | second if first.get(name) != second.get(name)] == []
    assert len(first) > 30


def test_sources_are_what_the_lab_imports_and_nothing_else(run: Path, project: Path) -> None:
    sources = {
        path.relative_to(run / "sources").as_posix(): path.read_bytes()
        for path in (run / "sources").rglob("*.py")
    }

    assert all((project / name).read_bytes() == data for name, data in sources.items())
    assert {"lab/__init__.py", "lab/kit/__init__.py", "lab/precision_profile.py"} < set(sources)
    assert "lab/check_precision.py" not in sources
    script = (
        "import sys, lab.precision_profile as p; "
        "print(*sorted(m.__name__ for m in list(sys.modules.values()) "
        "if m.__name__.split('.')[0] == 'lab'))"
    )
    loaded = subprocess.run(
        [sys.executable, "-c", script], cwd=project, capture_output=True, text=True, check=True
    ).stdout.split()
    named = {
        name.removesuffix(".py").removesuffix("/__init__").replace("/", ".") for name in sources
    }
    assert named == set(loaded)


def test_an_edit_of_the_checks_leaves_the_sources_of_a_run_alone(project: Path) -> None:
    names = [path.name for path in imported_sources(project / "lab/precision_profile.py")]

    assert "quantizers.py" in names
    assert "check_precision.py" not in names


def test_the_lab_needs_jax_and_numpy_alone(project: Path) -> None:
    allowed = set(sys.stdlib_module_names) | {"jax", "numpy", "ml_dtypes", "lab"}
    for path in [*project.glob("lab/*.py"), *project.glob("lab/kit/*.py")]:
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Import):
                modules = [alias.name for alias in node.names]
            elif isinstance(node, ast.ImportFrom):
                modules = [node.module or ""]
            else:
                continue
            assert {name.split(".")[0] for name in modules} <= allowed, path.name


def test_importing_the_lab_does_not_start_jax(project: Path) -> None:
    script = "import sys, lab.precision_profile; sys.exit('jax' in sys.modules)"

    assert subprocess.run([sys.executable, "-c", script], cwd=project, check=False).returncode == 0


def test_json_is_strict_and_sorted(folder: RunFolder) -> None:
    folder.write_json("a.json", {"b": 0.1, "a": ["é", None]})

    assert (folder.path / "a.json").read_text(encoding="utf-8") == (
        '{\n "a": [\n  "é",\n  null\n ],\n "b": 0.1\n}\n'
    )
    with pytest.raises(ValueError, match="JSON compliant"):
        folder.write_json("b.json", {"x": float("nan")})
    assert not (folder.path / "b.json").exists()


@pytest.mark.parametrize("room", ["for a failure", "for nothing"])
def test_a_full_disk_is_a_plain_message(
    folder: RunFolder,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    room: str,
) -> None:
    full = OSError(errno.ENOSPC, "No space left on device")
    (folder.path / ".report.json.part").write_bytes(b"half")
    if room == "for nothing":

        def refuse(*_: object) -> str:
            raise full

        monkeypatch.setattr(folder, "write", refuse)

    code = folder.fail(full)

    assert code == 2
    told = capsys.readouterr().err
    assert "No space left on device" in told
    assert "Traceback" not in told
    found = {path.name for path in folder.path.iterdir()}
    assert found == ({"failure.json", MANIFEST} if room == "for a failure" else set())


def test_a_failure_takes_the_place_of_the_report(
    folder: RunFolder, capsys: pytest.CaptureFixture[str]
) -> None:
    folder.write_json("report.json", {})
    (folder.path / ".outputs.part").write_bytes(b"half")
    with pytest.raises(CompileRefused) as caught, folder.stage("compile balanced-int8"):
        raise CompileRefused("not on ws-7: see /somewhere/x.py")

    assert folder.fail(caught.value) == 4
    failure = json.loads((folder.path / "failure.json").read_text())
    assert failure == {
        "schema": "assay/failure/1",
        "stage": "compile balanced-int8",
        "kind": "compile",
        "message": "not on host0: see <path>",
        "finished": [],
    }
    assert sorted(path.name for path in folder.path.iterdir()) == [
        "failure.json",
        "manifest.sha256",
    ]
    assert "Traceback" not in capsys.readouterr().err


def test_a_bug_of_ours_shows_its_traceback(
    folder: RunFolder, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(ZeroDivisionError) as caught:
        1 / 0  # noqa: B018 - the exception is wanted, not the value

    assert folder.fail(caught.value) == 1
    assert "Traceback" in capsys.readouterr().err


def test_every_document_of_a_run_has_its_schema(run: Path) -> None:
    schemas = {
        "report.json": "assay/precision/1",
        "config.json": "assay/config/1",
        "environment.json": "assay/environment/1",
        "trace/summary.json": "assay/trace-summary/2",
    }

    assert {name: json.loads((run / name).read_text())["schema"] for name in schemas} == schemas


def stable(run: Path) -> dict[str, Any]:
    """What must repeat: everything but times and the folder the profiler names after one."""
    files: dict[str, Any] = {}
    for path in run.rglob("*"):
        name = path.relative_to(run).as_posix()
        if path.is_file() and not name.startswith(("trace/plugins", "manifest")):
            files[name] = path.read_bytes()
    report = json.loads((run / "report.json").read_text())
    del report["timing_floor_s"]
    for result in report["results"].values():
        del result["timing_s"]
    environment = json.loads((run / "environment.json").read_text())
    del environment["recorded_at"], environment["load_average"], environment["redacted"]
    del environment["clock"]["tick_s"]
    summary = json.loads((run / "trace/summary.json").read_text())
    files["trace/summary.json"] = [(step["number"], step["inner"]) for step in summary["steps"]]
    return files | {"report.json": report, "environment.json": environment}
