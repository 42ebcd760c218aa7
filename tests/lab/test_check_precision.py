"""The independent check passes on a sound lab, and fails on an unsound one by name."""

import hashlib
import json
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from lab.check_precision import CHECKS, check_run

pytestmark = pytest.mark.lab

Lab = Callable[..., subprocess.CompletedProcess[str]]


def test_a_sound_lab_and_its_run_pass(run: Path, run_lab: Lab) -> None:
    done = run_lab("check_precision", "--run-dir", run)

    assert done.returncode == 0, done.stdout
    assert done.stdout.count("ok ") == len(CHECKS) + 1


@pytest.mark.parametrize("name", ["precision-cpu", "precision-batch-one"])
def test_a_record_passes(name: str, project: Path) -> None:
    check_run(project / "lab/records" / name)


def test_an_altered_output_is_found_and_named(run: Path, run_lab: Lab, tmp_path: Path) -> None:
    copy = tmp_path / "run"
    shutil.copytree(run, copy)
    file = copy / "outputs/outlier-int8.npy"
    output = np.load(file)
    output[3, 5] += 1
    np.save(file, output)

    done = run_lab("check_precision", "--run-dir", copy)

    assert done.returncode == 5
    assert "not as sealed: outputs/outlier-int8.npy" in done.stdout
    assert done.stderr.startswith("1 failed:")


def test_a_number_that_does_not_follow_is_found_and_named(
    run: Path, run_lab: Lab, tmp_path: Path
) -> None:
    copy = tmp_path / "run"
    shutil.copytree(run, copy)
    report = json.loads((copy / "report.json").read_text())
    report["results"]["balanced-int8"]["relative_l2_error"] = 0.008
    report["results"]["outlier-bf16"]["max_abs_error"] = 0.5
    (copy / "report.json").write_text(json.dumps(report))
    reseal(copy)

    done = run_lab("check_precision", "--run-dir", copy)

    assert done.returncode == 5
    assert "balanced-int8/relative_l2_error: recorded 0.008, found 0.0091446" in done.stdout
    assert "outlier-bf16/max_abs_error: recorded 0.5, found 0.0498" in done.stdout


UNSOUND = {
    "ties round to even": ("np.rint(values / scale)", "np.floor(values / scale + 0.5)"),
    "no code is -128": ("np.clip(rounded, -CODE_LIMIT", "np.clip(rounded - 1, -128"),
    "a row too small": ("np.where(zero | underflow,", "np.where(zero,"),
    "INT32 accumulation is exact": ("codes.astype(np.int64)", "codes.astype(np.int16)"),
}


@pytest.mark.parametrize("failed", UNSOUND)
def test_an_unsound_quantizer_fails(
    failed: str, run_lab: Lab, project: Path, tmp_path: Path
) -> None:
    sound, unsound = UNSOUND[failed]
    shutil.copytree(
        project / "lab", tmp_path / "lab", ignore=shutil.ignore_patterns("records", "__pycache__")
    )
    module = tmp_path / "lab/kit/quantizers.py"
    text = module.read_text()
    assert sound in text
    module.write_text(text.replace(sound, unsound))

    done = run_lab("check_precision", where=tmp_path)

    assert done.returncode == 5
    assert failed in done.stderr


def reseal(run: Path) -> None:
    names = sorted(
        path.relative_to(run).as_posix()
        for path in run.rglob("*")
        if path.is_file() and path.name != "manifest.sha256"
    )
    lines = [f"{hashlib.sha256((run / name).read_bytes()).hexdigest()}  {name}\n" for name in names]
    (run / "manifest.sha256").write_text("".join(lines))
