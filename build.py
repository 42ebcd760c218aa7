#!/usr/bin/env python3
"""Assay: recorded runs become a site in which every number can be traced to its record.

This file is the table of contents. It knows every stage and hands values on; what a stage
does lies in report/. Each command imports what it needs, and an unchanged build is answered
before anything is.
"""

from __future__ import annotations

import os
import sys

ROOT = os.path.dirname(os.path.realpath(__file__))
VENV = f"{ROOT}/.venv"


def nothing_changed() -> bool:
    """Whether a plain build was asked for and the site is what it would make; says so."""
    from report.inputs import fingerprint
    from report.marker import is_current

    if sys.argv[1:] not in ([], ["build"]):
        return False
    try:
        if not is_current(f"{ROOT}/site", fingerprint(ROOT, f"{ROOT}/content")):
            return False
        print("Nothing changed: site/index.html is what these inputs make.", flush=True)
    except OSError:  # the build itself will name what cannot be read or written
        return False
    return True


def enter_venv() -> None:
    """Go on in .venv, where the locked libraries are; without it, in a Python that has them."""
    python = f"{VENV}/bin/python"
    if os.path.isfile(python) and os.path.realpath(sys.prefix) != VENV:
        os.execv(python, [python, f"{ROOT}/build.py", *sys.argv[1:]])
    if sys.version_info < (3, 11):
        print("Assay needs Python 3.11 or later. To set it up: make site", file=sys.stderr)
        sys.exit(3)


if __name__ == "__main__":
    sys.path[:0] = [ROOT] if ROOT not in sys.path else []
    if sys.version_info >= (3, 11) and nothing_changed():
        sys.exit(0)
    enter_venv()

import argparse
import errno
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

if TYPE_CHECKING:
    from report.cache import Cache, NullCache
    from report.evidence import Evidence
    from report.voice import Voice

CONTENT, LAB, TEMPLATES = Path(ROOT, "content"), Path(ROOT, "lab"), Path(ROOT, "templates")
LABS = {"precision_profile": ("platform", "batch", "features", "outputs", "steps", "trace")}
"""The labs, each with the recorded options that its command line takes."""

OF_THE_DISK = {
    *(errno.EACCES, errno.EPERM, errno.EROFS, errno.ENOSPC, errno.EDQUOT, errno.EFBIG),
    *(errno.ENOENT, errno.ENOTDIR, errno.EISDIR, errno.ELOOP, errno.ENAMETOOLONG),
}
"""System errors that tell of the reader's disk and rights, not of a bug here."""


# The stages


def build(options: argparse.Namespace, voice: Voice) -> int:
    """From records to a published site."""
    from report.cache import Cache
    from report.folder import publish
    from report.inputs import fingerprint
    from report.marker import is_current

    content, out = options.content.resolve(), options.out.resolve()
    if content in (out, *out.parents):
        usage(f"The output {options.out} lies in the content it is made from, {options.content}.")
    index = options.out / "index.html"
    inputs = fingerprint(ROOT, str(options.content), options.allow_stale)
    if is_current(str(options.out), inputs):
        voice.result(f"Nothing changed: {index}.", outcome="unchanged", site=str(options.out))
        return 0
    with voice:
        site, evidence = render(options, Cache(Path(ROOT, ".cache")), voice)
        voice.stage("Publishing")
        publish(site, options.out, inputs)
    told, facts = summary(site, evidence)
    voice.result(f"{index}: {told}.", outcome="built", site=str(options.out), **facts)
    return 0


def check(options: argparse.Namespace, voice: Voice) -> int:
    """Every check of a build, its links included. Nothing is written."""
    from report.cache import NullCache

    with voice:
        told, facts = summary(*render(options, NullCache(), voice))
    voice.result(f"All is well: {told}. Nothing was written.", outcome="checked", **facts)
    return 0


def render(
    options: argparse.Namespace, cache: Cache | NullCache, voice: Voice
) -> tuple[dict[str, bytes | Path], Mapping[str, Evidence]]:
    """What the site holds, by path, and the evidence it stands on."""
    from report.archive import bundle, records
    from report.content import load_content
    from report.evidence import verify_all
    from report.figures.gallery import draw
    from report.figures.runtime import RUNTIME, runtime
    from report.numbers.study import work_out
    from report.pages.site import render_site
    from report.tables import set_tables

    voice.stage("Verifying records")
    recorded = records.load_all(shelf_of(options))
    evidence = verify_all(recorded, LAB, allow_stale=options.allow_stale)
    voice.historic(name for name, proof in evidence.items() if proof.level == "historic")

    voice.stage("Reading content")
    content = load_content(options.content)
    study = work_out(evidence, content)

    voice.stage("Drawing figures")
    figures = draw(study, content, cache, options.jobs)
    tables = set_tables(study, content)

    voice.stage("Setting pages")
    site = render_site(content, study, evidence, figures, tables, TEMPLATES)
    site[RUNTIME] = runtime(cache)

    voice.stage("Packing archives")
    lock = Path(ROOT, "all.lock").read_text(encoding="utf-8")
    site[bundle.WORKSPACE] = bundle.practice_workspace(LAB, evidence.values(), lock)
    site[bundle.ARTIFACTS] = bundle.artifacts(site)
    return site, evidence


def figure(options: argparse.Namespace, voice: Voice) -> int:
    """Draw one figure again, from any run folder whose manifest holds."""
    from report.content import load_content
    from report.evidence import verify_all
    from report.figures.gallery import draw_one
    from report.numbers.study import work_out
    from report.pages.exhibits import FigureFiles
    from report.record import load_record

    if options.out.suffix not in (".svg", ".png", ".json", ".csv"):
        usage(f"{options.out} does not end in .svg, .png, .json or .csv.")
    with voice:
        voice.stage("Verifying the run")
        evidence = verify_all([load_record(options.evidence)], LAB, allow_stale=True)
        voice.historic(name for name, proof in evidence.items() if proof.level == "historic")
        voice.stage("Drawing")
        content = load_content(options.content)
        drawn = draw_one(options.name, work_out(evidence, content), content)
        files = FigureFiles(figure=drawn).all()
        write(options.out, files[f"figures/{drawn.name}{options.out.suffix}"])
    voice.result(f"{options.out}: {drawn.title}")
    return 0


def run(options: argparse.Namespace, voice: Voice) -> int:
    """Measure: a lab into a new run folder, or a record again, in its place."""
    from report.archive import records

    lab = options.target.replace("-", "_")
    if lab in LABS:
        folder = options.run_dir or next_run(lab)
        code = measure(lab, options.lab_options, folder)
        if code == 0:
            voice.result(f"To keep it: python build.py record {folder} --as NAME")
        return code

    shelf = shelf_of(options)
    known = records.find(options.target, shelf)
    if options.lab_options or options.run_dir:
        usage(f"{options.target} is a record: it is measured with its recorded options.")
    lab, recorded = records.request(known, LABS)
    with records.changing(shelf):
        code = measure(lab, recorded, records.stage(options.target, shelf))
        if code == 0:
            records.put(options.target, shelf)
            voice.result(f"{known} was measured again. Next: python build.py check")
        return code


def measure(lab: str, options: Sequence[str], folder: Path) -> int:
    """Run a lab as a subprocess, since JAX lives there alone; return its exit code."""
    import importlib.util
    import subprocess

    from report.errors import BackendMissing

    if importlib.util.find_spec("jax") is None:
        raise BackendMissing(
            "Measuring needs JAX, which is not installed here.", hint="To add it: make lab"
        )
    command = [sys.executable, "-m", f"lab.{lab}", *options, "--run-dir", str(folder.absolute())]
    code = subprocess.run(command, cwd=ROOT, check=False).returncode
    return code if code >= 0 else 128 - code


def record(options: argparse.Namespace, voice: Voice) -> int:
    """Keep a run as a record; rename or remove one."""
    from report.archive import records

    shelf = shelf_of(options, new=True)
    if options.rename:
        old, new = options.rename
        records.rename(old, new, shelf)
        told = f"{old} is now {new}."
    elif options.remove:
        records.remove(options.remove, shelf)
        told = f"{options.remove} was removed."
    elif options.run and options.name:
        evidence = records.add(
            options.run,
            options.name,
            shelf,
            LAB,
            replace=options.replace,
            allow_stale=options.allow_stale,
        )
        told = f"{shelf / options.name}: kept, {evidence.level}."
    else:
        usage("record takes RUN_DIR --as NAME, or --rename OLD NEW, or --remove NAME.")
    voice.result(f"{told} Next: python build.py check")
    return 0


def summary(
    site: Mapping[str, object], evidence: Mapping[str, Evidence]
) -> tuple[str, dict[str, object]]:
    """What was made, in words and as facts."""
    pages = sum(name.endswith(".html") for name in site)
    levels = {name: proof.level for name, proof in evidence.items()}
    told = f"{pages} pages, {len(evidence)} records verified"
    return told, {"files": len(site), "pages": pages, "records": levels}


# Places


def shelf_of(options: argparse.Namespace, new: bool = False) -> Path:
    """Where this content has its records: in itself, or with the lab when it has none."""
    own: Path = options.content / "records"
    if options.content.resolve() != CONTENT and (new or own.is_dir()):
        return own
    return LAB / "records"


def next_run(lab: str) -> Path:
    """A run folder that is not there yet."""
    number = 1
    while os.path.lexists(folder := Path("runs", f"{lab.replace('_', '-')}-{number}")):
        number += 1
    return folder


def write(out: Path, data: bytes) -> None:
    """Write a file whole or not at all; only a plain file is replaced."""
    if out.is_symlink() or (out.exists() and not out.is_file()):
        usage(f"{out} is not a plain file; it stays as it is.")
    part = out.with_name(f".{out.name}.part")
    try:
        part.write_bytes(data)
        part.replace(out)
    finally:
        part.unlink(missing_ok=True)


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

    def command(
        does: Callable[[argparse.Namespace, Voice], int], example: str
    ) -> Callable[..., object]:
        added = commands.add_parser(
            does.__name__,
            help=does.__doc__,
            description=does.__doc__,
            epilog=f"example:\n  python build.py {does.__name__} {example}",
            formatter_class=argparse.RawDescriptionHelpFormatter,
            allow_abbrev=False,
        )
        added.set_defaults(does=does, json=False)
        own = "a folder of your own, laid out like content/, with your records in it"
        added.add_argument("--content", type=folder, default=CONTENT, metavar="DIR", help=own)
        return added.add_argument

    stale = "take records that another lab made, as historic"
    for does, example in ((build, "--content mine --out mine-site"), (check, "--json")):
        add = command(does, example)
        add(
            "--jobs",
            type=jobs,
            default=os.cpu_count() or 1,
            metavar="N",
            help="processes to draw with",
        )
        add("--allow-stale", action="store_true", help=stale)
        add("--json", action="store_true", help="say the result as JSON")
        if does is build:
            site = Path(ROOT, "site")
            add("--out", type=folder, default=site, metavar="DIR", help="where the site goes")

    add = command(figure, "error-by-policy --evidence runs/mine --out error.svg")
    add("name", metavar="NAME", help="a figure of the site, such as error-by-policy")
    add("--evidence", type=folder, required=True, metavar="DIR", help="a run folder")
    add("--out", type=folder, required=True, metavar="FILE", help="FILE.svg, .png, .json or .csv")

    add = command(run, "precision_profile --platform tpu --run-dir runs/v5e --trace")
    add("target", metavar="LAB_OR_RECORD", help=f"a lab ({', '.join(LABS)}) or a record's name")
    add("--run-dir", type=folder, metavar="DIR", help="where a lab writes: a new folder")

    add = command(record, "runs/v5e --as precision-v5e")
    add("run", type=folder, nargs="?", metavar="RUN_DIR", help="a finished run, anybody's")
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


def folder(text: str) -> Path:
    try:
        text.encode()
    except UnicodeEncodeError:
        raise argparse.ArgumentTypeError(f"{os.fsencode(text)!r} is not UTF-8") from None
    return Path(text)


def jobs(text: str) -> int:
    if not (text.isascii() and text.isdecimal() and 1 <= int(text) <= 256):
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number from 1 to 256")
    return int(text)


def usage(found: str) -> NoReturn:
    from report.errors import UsageFault

    raise UsageFault(found, hint="python build.py --help shows every command with an example.")


def main() -> int:
    """Run one command; a refusal is told, and ends with the exit code of its kind."""
    for stream in (sys.stdout, sys.stderr):
        stream.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]
    options = read_arguments(sys.argv[1:])
    if options.does is check:
        sys.dont_write_bytecode = True
        os.environ["PYTHONDONTWRITEBYTECODE"] = "1"
    from report.errors import BackendMissing, ReportError, UsageFault
    from report.voice import Voice

    voice = Voice(options.json)
    try:
        code: int = options.does(options, voice)
        return code
    except ReportError as refusal:
        return voice.refuse(refusal)
    except KeyboardInterrupt:
        print("Stopped. Nothing is half-written.", file=sys.stderr)
        return 130
    except ModuleNotFoundError as missing:
        if str(missing.name).partition(".")[0] in ("report", "lab"):
            raise
        told = f"{missing.name} is not installed for {sys.executable}."
        return voice.refuse(BackendMissing(told, hint="To set up .venv: make site"))
    except BrokenPipeError:  # whoever read the result has heard enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except OSError as problem:
        if problem.errno not in OF_THE_DISK:
            raise
        told = f"{problem.filename or 'A file'} cannot be used: {problem.strerror}."
        return voice.refuse(UsageFault(told))


if __name__ == "__main__":
    sys.exit(main())
