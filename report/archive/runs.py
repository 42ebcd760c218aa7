"""Measuring: a lab runs as a process of its own, since JAX lives there and nowhere else."""

import importlib.util
import os
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from pathlib import Path

from report.errors import BackendMissing, EvidenceMismatch, UsageFault
from report.evidence import run_again, verify_manifest
from report.record import load_record

_ROOT = Path(__file__).resolve().parents[2]
"""Where `python -m lab` finds the lab."""

_CONFIG = "config.json"


def measure(lab: str, options: Sequence[str], folder: Path) -> int:
    """Run a lab into a new `folder`; its exit code is returned.

    It finds a module of the user's in the current folder, as Python itself would.
    """
    if importlib.util.find_spec("jax") is None:
        raise BackendMissing(
            "The labs need JAX, which is not installed here.", hint=_how_to_add_jax(lab, options)
        )
    command = [sys.executable, "-m", f"lab.{lab}", *options, "--run-dir", str(folder.absolute())]
    places = filter(None, [str(Path.cwd()), os.environ.get("PYTHONPATH")])
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(places)}
    process = subprocess.Popen(command, cwd=_ROOT, env=environment)
    while True:
        try:
            code = process.wait()
        except KeyboardInterrupt:  # the lab hears it as well, and says in its folder where it was
            continue
        return code if code >= 0 else 128 - code


def _how_to_add_jax(lab: str, options: Sequence[str]) -> str:
    """The one command; to ask about a TPU takes the TPU compiler as well."""
    asked = dict(pairwise(options))
    if lab != "preflight" or asked.get("--targets") == "cpu":
        return "To add it: make lab"
    return (
        "To add it with the TPU compiler, libtpu, which is optional and under the Google Cloud "
        "terms of service: make tpu"
    )


def next_folder(lab: str) -> Path:
    """A run folder that is not there yet, below the current folder."""
    number = 1
    while os.path.lexists(folder := Path("runs", f"{lab.replace('_', '-')}-{number}")):
        number += 1
    return folder


def part_of(options: Sequence[str]) -> str:
    """The folder, in its run's, of one process of a distributed run; else nothing."""
    if "--distributed" not in options:
        return ""
    return f"process-{dict(pairwise(options)).get('--process', 0)}"


def to_replay(name: str, shelf: Path, find: Callable[[str, Path], Path]) -> Path:
    """What is to be replayed: a foreign report, or a run or record whose manifest holds."""
    if name.endswith(".json"):
        if not Path(name).is_file():
            raise UsageFault(f"There is no file {name}.")
        return Path(name).absolute()
    folder = Path(name) if Path(name).is_dir() else find(name, shelf)
    verify_manifest(load_record(folder))
    return folder.absolute()


def request(folder: Path, labs: Mapping[str, Mapping[str, str]]) -> tuple[str, list[str]]:
    """The lab that made a record, and the command-line options that ask for the same again.

    `labs` gives the recorded options that each lab takes, as its command line spells them.
    """
    record = load_record(folder)
    if record.manifest.get(_CONFIG) not in {f.sha256 for f in record.files if f.path == _CONFIG}:
        raise EvidenceMismatch(
            f"{record.name} cannot be measured again: its {_CONFIG} is not as it was recorded.",
            hint="Restore that file, from version control or from whoever made it.",
        )
    lab, recorded = str(record.config.get("lab")), record.config.get("options", {})
    if lab not in labs:
        raise EvidenceMismatch(
            f"{record.name} cannot be measured again: {lab} made it.",
            hint=f"Instead, {run_again(record, _ROOT / 'lab')}",
        )
    # A lab that takes their number starts its processes itself.
    if "processes" not in labs[lab] and recorded.get("processes", 1) != 1:
        raise UsageFault(
            f"{record.name} was measured by {recorded['processes']} processes, so no one command "
            "measures it again.",
            hint="Start each process anew: python build.py run --help",
        )
    # A replay keeps, or names, what it replayed.
    options: list[str] = [str(folder.absolute())] if lab == "replay" else []
    for name, flag in labs[lab].items():
        value = recorded.get(name)
        if value is True:
            options.append(flag)
        elif isinstance(value, list):
            options += [flag, ",".join(map(str, value))]
        elif value not in (None, False):
            options += [flag, str(value)]
    return lab, options
