"""Reads a profile offline: qualifies it first, then sums it up, and writes a bounded summary.

A profile is a run folder, an XProf tree at any level, one XSpace, or one file of trace events,
Chrome's or Perfetto's. Only an XSpace needs JAX. Nothing is written beside what is read.
"""

import argparse
import json
import os
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from lab.kit.faults import CheckFailed, LabFault, UsageFault
from lab.kit.profile_findings import Asked
from lab.kit.profile_source import read_profile
from lab.kit.profile_summary import UNPRINTABLE, summarize
from lab.kit.redaction import Redactor

PLATFORMS = ("cpu", "gpu", "tpu")
EXAMPLE = """\
examples:
  python -m lab.trace runs/precision-cpu
  python -m lab.trace runs/precision-tpu/trace --expect-steps precision_case,6
  python -m lab.trace host.xplane.pb --out summary.json
  python -m lab.trace perfetto_trace.json.gz --json
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """What is asked for on the command line."""

    path: Path
    out: Path | None
    as_json: bool
    asked: Asked


def main(arguments: Sequence[str] | None = None) -> int:
    """Read, qualify and sum up a profile; return the exit code."""
    try:
        request = parse(arguments)
        if request.out and request.out.exists():
            raise UsageFault(f"{request.out} is already there and stays as it is; name a new file")
        summary = summary_of(request.path, request.asked)
        if request.out:
            write(request.out, summary)
    except LabFault as problem:
        print(f"no summary: {_shown(str(problem))}", file=sys.stderr)
        return problem.exit_code
    except KeyboardInterrupt:
        print("interrupted: nothing was written", file=sys.stderr)
        return 130
    except OSError as problem:
        place = _shown(str(problem.filename))
        print(f"no summary: {problem.strerror}: {place}", file=sys.stderr)
        return UsageFault.exit_code
    if request.as_json:
        text = to_json(summary)
    else:
        text = f"summary: {request.out}" if request.out else in_words(summary)
    try:
        print(text, flush=True)
    except BrokenPipeError:  # whoever reads it, such as `head`, has read enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return 0


def _shown(text: str) -> str:
    """A refusal without what a terminal might act on; it names a path that was given."""
    return "".join(char if char.isprintable() or char == "\n" else UNPRINTABLE for char in text)


def summary_of(path: Path, asked: Asked) -> dict[str, Any]:
    """The summary of what is at `path`. What a run folder says of itself is expected of it."""
    asked = with_what_the_run_says(path, asked)
    profile, aside = read_profile(path, lambda words: print(f"  {words}", file=sys.stderr))
    summary = summarize(profile, asked, Redactor.of_this_machine())
    return summary | {"sources_aside": [asdict(each) for each in aside]}


def with_what_the_run_says(path: Path, asked: Asked) -> Asked:
    """Take the platform, and how many steps and processes there are, from a run's own files.

    The folder of a distributed run holds a run folder for each process: process-0, process-1.
    """
    runs = [path, *sorted(path.glob("process-*"))] if path.is_dir() else []
    run = next((each for each in runs if (each / "environment.json").is_file()), None)
    if run is None:
        return asked
    environment, report = _read(run / "environment.json"), _read(run / "report.json")
    platform = _inside(environment, "platform", "requested")
    count = _inside(report, "trace", "steps")
    processes = _inside(report, "cluster", "processes") if run != path else None
    return replace(
        asked,
        platform=asked.platform or (platform if platform in PLATFORMS else None),
        step_count=count if isinstance(count, int) and not asked.step_name else asked.step_count,
        processes=asked.processes or (processes if isinstance(processes, int) else None),
    )


def _read(path: Path) -> object:
    """A JSON file of a run; nothing where there is none, as in a run that failed."""
    try:
        return json.loads(path.read_bytes()) if path.is_file() else None
    except ValueError:
        raise CheckFailed(f"{path.name} of the run {path.parent.name} is not JSON") from None


def _inside(value: object, *keys: str) -> Any:
    for key in keys:
        value = value.get(key) if isinstance(value, dict) else None
    return value


def write(path: Path, summary: dict[str, Any]) -> None:
    """Write the summary whole or not at all."""
    part = path.with_name(f".{path.name}.part")
    try:
        part.write_text(f"{to_json(summary)}\n", encoding="utf-8")
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)


def to_json(summary: dict[str, Any]) -> str:
    """Strict JSON with sorted keys, each interval of a lane on one line."""
    return json.dumps(summary, ensure_ascii=False, allow_nan=False, sort_keys=True)


def in_words(summary: dict[str, Any]) -> str:
    """Findings, then the lines and steps, as text for a terminal."""
    marks = {"ok": " ", "note": "·", "warning": "!"}
    told = [f"{marks[each['level']]} {each['words']}" for each in summary["findings"]]
    told += ["", f"{'line':10}{'events':>10}{'busy ms':>12}{'sum ms':>12}  view        name"]
    told += [
        f"{line['id']:10}{line['events']:>10,}{line['busy_ns'] / 1e6:>12.3f}"
        f"{line['sum_ns'] / 1e6:>12.3f}  {line['view']:10}  {line['name']}"
        for line in sorted(summary["lines"], key=lambda line: -line["events"])[:24]
        if line["events"]
    ]
    if summary["steps"]:
        told += ["", f"{'step':>6}{'ms':>12}  name, and what stands in it"]
        told += [
            f"{'?' if step['number'] is None else step['number']:>6}"
            f"{step['duration_ns'] / 1e6:>12.3f}  {step['name']} {step['inner'] or ''}"
            for step in summary["steps"][:24]
        ]
    return "\n".join(told)


def parse(arguments: Sequence[str] | None = None) -> Request:
    parser = argparse.ArgumentParser(
        prog="python -m lab.trace",
        description=__doc__,
        epilog=EXAMPLE,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("path", type=Path, help="a run folder, an XProf tree, or one file")
    parser.add_argument("--out", type=Path, help="write the summary to a new file")
    parser.add_argument("--json", action="store_true", help="print the summary as JSON")
    parser.add_argument("--platform", choices=PLATFORMS, help="what it was made on")
    parser.add_argument("--expect-steps", metavar="NAME,COUNT", help="refuse any other steps")
    parser.add_argument("--processes", type=int, metavar="COUNT", help="name those that lack")
    given = parser.parse_args(arguments)
    name, count = _steps(given.expect_steps)
    if given.processes is not None and given.processes < 1:
        raise UsageFault(f"--processes {given.processes}: at least 1")
    asked = Asked(
        platform=given.platform, step_name=name, step_count=count, processes=given.processes
    )
    return Request(path=given.path, out=given.out, as_json=given.json, asked=asked)


def _steps(text: str | None) -> tuple[str | None, int | None]:
    if text is None:
        return None, None
    name, comma, count = text.rpartition(",")
    if not comma or not name or not count.isdecimal():
        raise UsageFault(f"--expect-steps {text}: a name and a count, such as train,20")
    return name, int(count)


if __name__ == "__main__":
    sys.exit(main())
