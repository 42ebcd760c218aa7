#!/usr/bin/env python3
"""Assay: recorded runs become a site in which every number can be traced to its record.

This file is the table of contents. It knows every stage and hands values on; what a stage
does lies in report/. Each command imports what it needs, so that an unchanged build is
answered before any library is loaded.
"""

from __future__ import annotations

import argparse
import errno
import hashlib
import json
import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

ROOT = Path(__file__).resolve().parent
VENV, CACHE, LAB, TEMPLATES = ROOT / ".venv", ROOT / ".cache", ROOT / "lab", ROOT / "templates"


def enter_venv() -> None:
    """Go on in .venv, where the locked libraries are; without it, in a Python that has them."""
    python = VENV / "bin" / "python"
    if python.is_file() and Path(sys.prefix).resolve() != VENV:
        os.execv(python, [str(python), str(ROOT / "build.py"), *sys.argv[1:]])


if sys.version_info < (3, 11):
    enter_venv()
    print("Assay needs Python 3.11 or later. To set it up: make site", file=sys.stderr)
    sys.exit(3)

if TYPE_CHECKING:
    from rich.progress import Progress

    from report.cache import Cache, NullCache
    from report.errors import ReportError
    from report.evidence import Evidence

LABS = {"precision_profile": ("platform", "batch", "features", "outputs", "steps", "trace")}
"""The labs, each with the recorded options that its command line takes."""

OF_THE_DISK = {
    *(errno.EACCES, errno.EPERM, errno.EROFS, errno.ENOSPC, errno.EDQUOT, errno.EFBIG),
    *(errno.ENOENT, errno.ENOTDIR, errno.EISDIR, errno.ELOOP, errno.ENAMETOOLONG),
}
"""System errors that tell of the reader's disk and rights, not of a bug here."""


# The stages


def build(options: argparse.Namespace) -> int:
    """From records to a published site."""
    from report.cache import Cache
    from report.folder import publish

    content, out = options.content.resolve(), options.out.resolve()
    if content in (out, *out.parents):
        _usage(f"The output {options.out} lies in the content it is made from, {options.content}.")
    inputs = fingerprint(options)
    with Voice(options.json) as voice:
        site, evidence = render(options, Cache(CACHE), voice)
        voice.stage("Publishing")
        publish(site, options.out, inputs)
    told = f"{options.out / 'index.html'}: {_summary(site, evidence)}."
    return voice.result(told, outcome="built", site=str(options.out), **_facts(site, evidence))


def check(options: argparse.Namespace) -> int:
    """Every check of a build, its links included. Nothing is written."""
    from report.cache import NullCache

    with Voice(options.json) as voice:
        site, evidence = render(options, NullCache(), voice)
    told = f"All is well: {_summary(site, evidence)}. Nothing was written."
    return voice.result(told, outcome="checked", **_facts(site, evidence))


def render(
    options: argparse.Namespace, cache: Cache | NullCache, voice: Voice
) -> tuple[dict[str, bytes | Path], Mapping[str, Evidence]]:
    """What the site holds, by path, and the evidence it stands on."""
    from report.archive import bundle, records
    from report.content import load_content
    from report.evidence import verify_all
    from report.figures.gallery import draw
    from report.numbers.study import work_out
    from report.pages.site import render_site
    from report.tables import set_tables

    voice.stage("Verifying records")
    recorded = records.load_all(_shelf(options))
    evidence = verify_all(recorded, LAB, allow_stale=options.allow_stale)
    voice.note_historic(evidence)

    voice.stage("Reading content")
    content = load_content(options.content)
    study = work_out(evidence, content)

    voice.stage("Drawing figures")
    figures = draw(study, cache, options.jobs)
    tables = set_tables(study, content)

    voice.stage("Setting pages")
    site = render_site(content, study, evidence, figures, tables, TEMPLATES, cache)
    lock = (ROOT / "all.lock").read_text(encoding="utf-8")
    site[bundle.WORKSPACE] = bundle.practice_workspace(LAB, evidence.values(), lock)
    site[bundle.ARTIFACTS] = bundle.artifacts(site)
    return site, evidence


def figure(options: argparse.Namespace) -> int:
    """Draw one figure again, from any run folder whose manifest holds."""
    from report.content import load_content
    from report.evidence import verify_all
    from report.figures.gallery import draw_one
    from report.numbers.study import work_out
    from report.pages.exhibits import FigureFiles
    from report.record import load_record

    if options.out.suffix not in (".svg", ".png", ".json", ".csv"):
        _usage(f"{options.out} does not end in .svg, .png, .json or .csv.")
    with Voice() as voice:
        voice.stage("Verifying the run")
        evidence = verify_all([load_record(options.evidence)], LAB, allow_stale=True)
        voice.note_historic(evidence)
        voice.stage("Drawing")
        content = load_content(options.content)
        drawn = draw_one(options.name, work_out(evidence, content))
        files = FigureFiles(figure=drawn).all()
        _write(options.out, files[f"figures/{drawn.name}{options.out.suffix}"])
    return voice.result(f"{options.out}: {drawn.title}")


def run(options: argparse.Namespace) -> int:
    """Measure: a lab into a new run folder, or a record again, in its place."""
    from report.archive import records

    lab = options.target.replace("-", "_")
    if lab in LABS:
        folder = options.run_dir or _next_run(lab)
        code = measure(lab, options.lab_options, folder)
        if code == 0:
            print(f"{folder} holds the run. To keep it: python build.py record {folder} --as NAME")
        return code

    shelf = _shelf(options)
    known = records.find(options.target, shelf)
    if options.lab_options or options.run_dir:
        _usage(f"{options.target} is a record: it is measured with its recorded options.")
    lab, recorded = records.request(known, LABS)
    with records.changing(shelf):
        code = measure(lab, recorded, records.stage(options.target, shelf))
        if code == 0:
            records.put(options.target, shelf)
            print(f"{known} was measured again. Next: python build.py check")
        return code


def measure(lab: str, options: Sequence[str], folder: Path) -> int:
    """Run a lab as a subprocess, since JAX lives there alone; return its exit code."""
    import importlib.util
    import subprocess

    from report.errors import BackendMissing

    if importlib.util.find_spec("jax") is None:
        raise BackendMissing(
            "Measuring needs JAX, which is not installed.", hint="To add it: make lab"
        )
    command = [sys.executable, "-m", f"lab.{lab}", *options, "--run-dir", str(folder.absolute())]
    code = subprocess.run(command, cwd=ROOT, check=False).returncode
    return code if code >= 0 else 128 - code


def record(options: argparse.Namespace) -> int:
    """Keep a run as a record; rename or remove one."""
    from report.archive import records

    shelf = _shelf(options, new=True)
    if options.rename:
        old, new = options.rename
        records.rename(old, new, shelf)
        print(f"{old} is now {new}. Next: python build.py check")
    elif options.remove:
        records.remove(options.remove, shelf)
        print(f"{options.remove} was removed. Next: python build.py check")
    elif options.run and options.name:
        evidence = records.add(
            options.run,
            options.name,
            shelf,
            LAB,
            replace=options.replace,
            allow_stale=options.allow_stale,
        )
        print(f"{shelf / options.name}: kept, {evidence.level}. Next: python build.py check")
    else:
        _usage("record takes RUN_DIR --as NAME, or --rename OLD NEW, or --remove NAME.")
    return 0


# An unchanged build


def is_current(options: argparse.Namespace) -> bool:
    """Whether the site is whole and made from just these inputs."""
    from report.marker import state

    try:
        found = state(options.out)
        return found is not None and found.intact and found.inputs == fingerprint(options)
    except OSError:  # whatever cannot be read, the build itself will tell
        return False


def fingerprint(options: argparse.Namespace) -> str:
    """SHA-256 of all that a build depends on: files by path and content, library versions."""
    digest = hashlib.sha256(f"{_versions()} {options.allow_stale}".encode())
    places = {
        name: ROOT / name
        for name in ("build.py", "report", "templates", "lab", "base.lock", "all.lock")
    }
    for label, place in {**places, "content": options.content}.items():
        for name in _files_under(str(place)):
            with open(f"{place}{name}", "rb") as file:
                data = file.read()
            digest.update(f"\0{label}{name}\0{len(data)}\0".encode("utf-8", "surrogateescape"))
            digest.update(data)
    return digest.hexdigest()


def _files_under(place: str, below: str = "") -> Iterator[str]:
    """Paths below `place`, each with its leading slash, in order; "" when it is a file."""
    if not below and os.path.isfile(place):
        yield ""
        return
    with os.scandir(place + below) as entries:
        for entry in sorted(entries, key=lambda entry: entry.name):
            if entry.name.startswith(".") or entry.name == "__pycache__":
                continue
            if entry.is_dir():
                yield from _files_under(place, f"{below}/{entry.name}")
            else:
                yield f"{below}/{entry.name}"


def _versions() -> list[str]:
    """The Python and the locked libraries that a build would use; none is imported."""
    python = f"python{sys.version_info[0]}.{sys.version_info[1]}"
    folder = next((place for place in sys.path if os.path.isdir(f"{place}/altair")), None)
    if VENV.is_dir():
        folder = next(glob for glob in sorted(map(str, VENV.glob("lib/python3*/site-packages"))))
        python = folder.split("/")[-2]
    with open(ROOT / "base.lock", encoding="utf-8") as lock:
        locked = {line.split("==")[0].replace("-", "_") for line in lock if "==" in line}
    names = os.listdir(folder) if folder else []
    found = [n for n in names if n.endswith(".dist-info") and n.split("-")[0].lower() in locked]
    return [python, *sorted(found)]


# What is said


class Voice:
    """Progress on standard error (a bar on a terminal, lines in a log), results on output."""

    def __init__(self, as_json: bool = False) -> None:
        self._as_json = as_json
        self._bar: Progress | None = None

    def __enter__(self) -> Voice:
        if sys.stderr.isatty():
            from rich.console import Console
            from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

            columns = (
                TextColumn("{task.description}", markup=False),
                BarColumn(),
                TimeElapsedColumn(),
            )
            self._bar = Progress(*columns, console=Console(stderr=True), transient=True)
            self._bar.start()
            self._bar.add_task("", total=None)
        return self

    def __exit__(self, *_: object) -> None:
        if self._bar:
            self._bar.stop()
            self._bar = None

    def stage(self, name: str) -> None:
        """Say what is going on now."""
        if self._bar:
            self._bar.update(self._bar.task_ids[0], description=name)
        else:
            print(f"{name} ...", file=sys.stderr, flush=True)

    def note_historic(self, evidence: Mapping[str, Evidence]) -> None:
        """Say which records hold without today's lab having made them."""
        for name in (name for name, proof in evidence.items() if proof.level == "historic"):
            print(f"{name} is historic: its manifest holds, another lab made it.", file=sys.stderr)

    def result(self, told: str, **facts: object) -> int:
        """Say how it ended, to a person or to a machine; the exit code of success."""
        print(json.dumps(facts, sort_keys=True, indent=1) if self._as_json else told)
        return 0


def refuse(fault: ReportError, as_json: bool) -> int:
    """Say every fault and what to do; return the exit code of its kind."""
    if as_json:
        faults = [
            {name: getattr(f, name) for name in ("where", "found", "expected", "remedy")}
            for f in fault.faults
        ]
        told = {"outcome": "refused", "kind": fault.kind, "exit": fault.exit_code}
        told |= {"summary": fault.summary, "faults": faults, "hint": fault.hint}
        print(json.dumps(told, sort_keys=True, indent=1))
    text = "\n".join(filter(None, [str(fault), fault.hint]))
    if sys.stderr.isatty():
        from rich.console import Console
        from rich.text import Text

        styled = Text(text)
        styled.stylize("bold red", 0, len(fault.summary))
        styled.highlight_regex(r"(?m)^ +do: .*$|python build\.py [^\n]*|make [a-z]+$", "green")
        Console(stderr=True, soft_wrap=True).print(styled)
    else:
        print(text, file=sys.stderr)
    return fault.exit_code


def _usage(found: str) -> NoReturn:
    from report.errors import UsageFault

    raise UsageFault(found, hint="python build.py --help shows every command with an example.")


def _summary(site: Mapping[str, object], evidence: Mapping[str, Evidence]) -> str:
    pages = sum(name.endswith(".html") for name in site)
    return f"{pages} pages, {len(evidence)} records verified"


def _facts(site: Mapping[str, object], evidence: Mapping[str, Evidence]) -> dict[str, object]:
    return {
        "files": len(site),
        "pages": sum(name.endswith(".html") for name in site),
        "records": {name: proof.level for name, proof in evidence.items()},
    }


# The command line


def read_arguments(arguments: Sequence[str]) -> argparse.Namespace:
    """The command and its options; what cannot be understood ends with exit code 2."""
    parser = argparse.ArgumentParser(
        prog="python build.py",
        description="Build a site in which every number can be traced to its record.",
        epilog="Without a command: build. Every command has --help with an example.",
        allow_abbrev=False,
    )
    commands = parser.add_subparsers(metavar="COMMAND", required=True)

    def command(does: Callable[[argparse.Namespace], int], example: str) -> Callable[..., object]:
        added = commands.add_parser(
            does.__name__,
            help=(does.__doc__ or "").split("\n")[0],
            description=does.__doc__,
            epilog=f"example:\n  python build.py {example}",
            formatter_class=argparse.RawDescriptionHelpFormatter,
            allow_abbrev=False,
        )
        added.set_defaults(does=does, json=False)
        folder = "a folder of your own, laid out like content/, with your records in it"
        added.add_argument(
            "--content", type=_path, default=ROOT / "content", metavar="DIR", help=folder
        )
        return added.add_argument

    stale = "take records that another lab made, as historic"
    for does, example in ((build, "--content mine --out mine-site"), (check, "check --json")):
        add = command(does, example)
        add(
            "--jobs",
            type=_jobs,
            default=os.cpu_count() or 1,
            metavar="N",
            help="processes that draw",
        )
        add("--allow-stale", action="store_true", help=stale)
        add("--json", action="store_true", help="say the result as JSON")
        if does is build:
            add(
                "--out",
                type=_path,
                default=ROOT / "site",
                metavar="DIR",
                help="where the site goes",
            )

    add = command(figure, "figure error-by-policy --evidence runs/mine --out error.svg")
    add("name", metavar="NAME", help="a figure of the site, such as error-by-policy")
    add("--evidence", type=_path, required=True, metavar="DIR", help="a run folder")
    add("--out", type=_path, required=True, metavar="FILE", help="FILE.svg, .png, .json or .csv")

    add = command(run, "run precision_profile --platform tpu --run-dir runs/v5e --trace")
    add("target", metavar="LAB_OR_RECORD", help=f"a lab ({', '.join(LABS)}) or a record's name")
    add("--run-dir", type=_path, metavar="DIR", help="where a lab writes; it must not be there yet")

    add = command(record, "record runs/v5e --as precision-v5e")
    add(
        "run",
        type=_path,
        nargs="?",
        metavar="RUN_DIR",
        help="a finished run, yours or a colleague's",
    )
    add("--as", dest="name", metavar="NAME", help="the record's name: a-z, 0-9 and hyphens")
    add("--replace", action="store_true", help="let it take the place of a record of that name")
    add("--rename", nargs=2, metavar=("OLD", "NEW"), help="give a record another name")
    add("--remove", metavar="NAME", help="take a record off the shelf")
    add("--allow-stale", action="store_true", help=stale)

    given = list(arguments)
    if not given or given[0] not in (*commands.choices, "-h", "--help"):
        given.insert(0, "build")
    options, lab_options = parser.parse_known_args(given)
    if lab_options and options.does is not run:
        parser.error(f"unrecognized arguments: {' '.join(lab_options)}")
    options.lab_options = lab_options
    return options


def _write(out: Path, data: bytes) -> None:
    """Write a file whole or not at all; only a plain file is replaced."""
    if out.is_symlink() or (out.exists() and not out.is_file()):
        _usage(f"{out} is not a plain file; it stays as it is.")
    part = out.with_name(f".{out.name}.part")
    try:
        part.write_bytes(data)
        part.replace(out)
    finally:
        part.unlink(missing_ok=True)


def _path(text: str) -> Path:
    try:
        text.encode()
    except UnicodeEncodeError:
        raise argparse.ArgumentTypeError(f"{os.fsencode(text)!r} is not UTF-8") from None
    return Path(text)


def _jobs(text: str) -> int:
    if not (text.isascii() and text.isdecimal() and 1 <= int(text) <= 256):
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number from 1 to 256")
    return int(text)


def _shelf(options: argparse.Namespace, new: bool = False) -> Path:
    """Where the records of this content are: in it, or with the lab when it has none."""
    own: Path = options.content / "records"
    if options.content.resolve() != ROOT / "content" and (new or own.is_dir()):
        return own
    return LAB / "records"


def _next_run(lab: str) -> Path:
    """A run folder that is not there yet."""
    number = 1
    while os.path.lexists(folder := Path("runs", f"{lab.replace('_', '-')}-{number}")):
        number += 1
    return folder


def main() -> int:
    """Run one command and return its exit code."""
    for stream in (sys.stdout, sys.stderr):
        stream.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]
    options = read_arguments(sys.argv[1:])
    if options.does is check:
        sys.dont_write_bytecode = True
        os.environ["PYTHONDONTWRITEBYTECODE"] = "1"
    try:
        if options.does is build and is_current(options):
            told = f"Nothing changed: {options.out / 'index.html'} is what these inputs make."
            return Voice(options.json).result(told, outcome="unchanged", site=str(options.out))
        enter_venv()
        return answer(options)
    except KeyboardInterrupt:
        print("Stopped. Nothing is half-written.", file=sys.stderr)
        return 130


def answer(options: argparse.Namespace) -> int:
    """Do what was asked; a refusal is told, and has the exit code of its kind."""
    from report.errors import BackendMissing, ReportError, UsageFault

    try:
        code: int = options.does(options)
        return code
    except ReportError as fault:
        return refuse(fault, options.json)
    except ModuleNotFoundError as missing:
        if str(missing.name).partition(".")[0] in ("report", "lab"):
            raise
        told = f"{missing.name} is not installed for {sys.executable}."
        return refuse(BackendMissing(told, hint="To set up .venv: make site"), options.json)
    except OSError as problem:
        if problem.errno not in OF_THE_DISK:
            raise
        told = f"{problem.filename or 'A file'} cannot be used: {problem.strerror}."
        return refuse(UsageFault(told), options.json)


if __name__ == "__main__":
    sys.exit(main())
