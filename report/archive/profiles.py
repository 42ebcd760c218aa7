"""A capture from wherever it lies: a run's own summary, or one that the lab makes of it now.

Raw captures are read by a process of the lab, where JAX lives. What it says while it works is
passed on, and so is a refusal, with its exit code. Nothing is written beside what is read.
"""

import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, replace
from hashlib import sha256
from pathlib import Path

from report.errors import (
    BackendMissing,
    EvidenceMismatch,
    Fault,
    NumericalFailure,
    ReportError,
    UsageFault,
    did_you_mean,
    raise_if_any,
)
from report.evidence import verify_manifest
from report.numbers import comparing as records
from report.numbers.comparing import Difference
from report.numbers.factors import FACTORS as RECORDED
from report.numbers.factors import brings_about
from report.numbers.profile import Profile
from report.numbers.profile_compare import FACTORS, differences
from report.numbers.trace import SCHEMA, SUMMARY, read_summary
from report.record import Record, load_record, parse_json, printable
from report.source import Source

_ROOT = Path(__file__).resolve().parents[2]
_REFUSALS: dict[int, type[ReportError]] = {
    kind.exit_code: kind for kind in (UsageFault, BackendMissing, NumericalFailure)
}
_PROGRESS = "  "
"""How the lab begins a line that says what it is doing."""

NAME = "capture"
"""What a capture is called that belongs to no record; a part of its pointers."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Capture:
    """A capture that was read, and the bytes of its summary."""

    label: str
    """Its place, as a person calls it."""
    profile: Profile
    summary: bytes
    record: Record | None
    """The run folder that it lies in, if it lies in one."""


def read(path: Path, say: Callable[[str], None], name: str = NAME) -> Capture:
    """What is at `path`: a run folder, an XProf tree, or one file of any kind the lab reads."""
    record = _run_folder(path)
    kept = record is not None and record.trace is not None and record.trace["schema"] == SCHEMA
    summary = (path / SUMMARY).read_bytes() if kept else _summarize(path, say)
    faults: list[Fault] = []
    found = parse_json(summary, path.name, faults)
    if faults or not isinstance(found, dict):
        raise EvidenceMismatch(f"The summary of {path} cannot be read:", faults)
    source = Source(
        name=f"{printable(path.resolve().name)}: summary.json",
        href="summary.json",
        sha256=sha256(summary).hexdigest(),
    )
    return Capture(
        label=printable(path.resolve().name),
        profile=read_summary(found, name=name, source=source),
        summary=summary,
        record=record,
    )


def check_factor(factor: str) -> None:
    """Raise UsageFault unless one can mean to change `factor`."""
    known = (*FACTORS, *RECORDED)
    if factor and factor not in known:
        raise UsageFault(f"There is no factor {factor!r}.", hint=did_you_mean(factor, known))


def check_repeat(other: Capture, repeat: Capture) -> None:
    """Raise EvidenceMismatch unless both are captures of the same program, made in the same way."""
    found = (*differences(other.profile, repeat.profile), *recorded_differences(other, repeat, ""))
    raise_if_any(
        EvidenceMismatch,
        f"{repeat.label} is no repeat of {other.label}:",
        [Fault(where=each.field, found=each.two, expected=each.one) for each in found],
        hint="Capture the same program again, with nothing changed, into a folder of its own.",
    )


def recorded_differences(one: Capture, two: Capture, factor: str) -> tuple[Difference, ...]:
    """What differs in what two runs were asked and where they ran, when both are runs.

    What cannot help changing with the declared factor is part of it.
    """
    if one.record is None or two.record is None:
        return ()
    found = records.compare(one.record, two.record)
    return tuple(
        replace(each, factor=factor) if brings_about(factor, each.field) else each
        for each in found.differences
    )


def _run_folder(path: Path) -> Record | None:
    """The run at `path` with its manifest verified; None when it is no run."""
    if not path.is_dir() or not (path / "report.json").is_file():
        return None
    record = load_record(path)
    verify_manifest(record)
    return record


def _summarize(path: Path, say: Callable[[str], None]) -> bytes:
    """The summary that `python -m lab.trace` writes into a folder that is gone afterwards."""
    with tempfile.TemporaryDirectory(prefix="assay-") as scratch:
        out = Path(scratch) / "summary.json"
        command = [sys.executable, "-m", "lab.trace", str(path.absolute()), "--out", str(out)]
        with subprocess.Popen(
            command,
            cwd=_ROOT,
            env=os.environ | {"PYTHONIOENCODING": "utf-8"},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            encoding="utf-8",
            errors="replace",
        ) as process:
            refusal: list[str] = []
            for line in process.stderr or ():
                if line.startswith(_PROGRESS) and not refusal:
                    say(printable(line.strip()))
                else:
                    refusal.append(printable(line.rstrip()))
        code = process.returncode
        if code in _REFUSALS:
            hint = "To add JAX: make lab" if code == BackendMissing.exit_code else ""
            raise _REFUSALS[code]("\n".join(refusal), hint=hint)
        if code:
            raise RuntimeError(f"python -m lab.trace ended with {code}:\n" + "\n".join(refusal))
        return out.read_bytes()
