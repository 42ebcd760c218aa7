"""The command line: what each command takes, what it says, and the exit code it ends with."""

import argparse
import errno
import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NoReturn

from report.errors import BackendMissing, ReportError, UsageFault
from report.voice import Voice

ROOT = Path(__file__).resolve().parents[1]
CONTENT, LAB, TEMPLATES = ROOT / "content", ROOT / "lab", ROOT / "templates"
SITE, CACHE, LOCK = ROOT / "site", ROOT / ".cache", ROOT / "all.lock"

Command = Callable[[argparse.Namespace, Voice], int]
"""Does one thing, says how it went, and returns the exit code."""

LABS = {"precision_profile": ("platform", "batch", "features", "outputs", "steps", "trace")}
"""The labs, each with the recorded options that its command line takes."""

DRAWINGS = (".svg", ".png", ".json", ".csv")

OF_THE_DISK = {
    *(errno.EACCES, errno.EPERM, errno.EROFS, errno.ENOSPC, errno.EDQUOT, errno.EFBIG),
    *(errno.ENOENT, errno.ENOTDIR, errno.EISDIR, errno.ELOOP, errno.ENAMETOOLONG),
}
"""System errors that tell of the reader's disk and rights, not of a bug here."""

EXAMPLES = {
    "build": "--content mine --out mine-site",
    "check": "--json",
    "figure": "error-by-policy --evidence runs/mine --out error.svg",
    "run": "precision_profile --platform tpu --run-dir runs/v5e --trace",
    "record": "runs/v5e --as precision-v5e",
}


def answer(arguments: Sequence[str], commands: Sequence[Command]) -> int:
    """Do what `arguments` ask for; a refusal is told, and has the exit code of its kind."""
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:  # closed by whoever called
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115, PTH123
        getattr(sys, name).reconfigure(errors="backslashreplace")
    voice = Voice("--json" in arguments)
    try:
        command, options = read_arguments(arguments, commands)
        return command(options, voice)
    except ReportError as refusal:
        return voice.refuse(refusal)
    except BrokenPipeError:  # whoever was reading has heard enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except ModuleNotFoundError as missing:
        if str(missing.name).partition(".")[0] in ("report", "lab"):
            raise
        told = f"{missing.name} is not installed for {sys.executable}."
        return voice.refuse(BackendMissing(told, hint="To set up .venv: make site"))
    except OSError as problem:
        if problem.errno not in OF_THE_DISK:
            raise
        told = f"{problem.filename or 'A file'} cannot be used: {problem.strerror}."
        return voice.refuse(UsageFault(told))


def read_arguments(
    arguments: Sequence[str], commands: Sequence[Command]
) -> tuple[Command, argparse.Namespace]:
    """The command and its options; what cannot be understood ends with exit code 2."""
    parser = argparse.ArgumentParser(
        prog="python build.py",
        description="Build a site in which every number can be traced to its record.",
        epilog="example:\n  python build.py\n\n"
        "Without a command: build. Every command has --help with an example.\n"
        "README.md lists the exit codes.",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parsers = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)
    by_name = {command.__name__: command for command in commands}
    for name, command in by_name.items():
        added = parsers.add_parser(
            name,
            help=command.__doc__,
            description=command.__doc__,
            epilog=f"example:\n  python build.py {name} {EXAMPLES[name]}",
            formatter_class=argparse.RawDescriptionHelpFormatter,
            allow_abbrev=False,
        )
        added.set_defaults(json=False)
        _add_options(name, added.add_argument)

    given = list(arguments)
    if not given or given[0] not in (*by_name, "-h", "--help"):
        given.insert(0, "build")
    options, rest = parser.parse_known_args(given)
    if rest and options.command != "run":
        parser.error(f"unrecognized arguments: {' '.join(rest)}")
    options.lab_options = rest
    options.records = _records_of(options)
    if options.command != "record" and not options.content.is_dir():
        parser.error(f"there is no content folder {options.content}")
    if options.command == "build" and _lies_in(options.out, options.content):
        parser.error(f"the output {options.out} lies in the content {options.content}")
    return by_name[options.command], options


def usage(found: str) -> NoReturn:
    """Refuse what the command line asks for."""
    raise UsageFault(found, hint="python build.py --help shows every command with an example.")


def _add_options(command: str, add: Callable[..., object]) -> None:
    own = "a folder of your own, laid out like content/, with your records in it"
    add("--content", type=_place, default=CONTENT, metavar="DIR", help=own)
    if command in ("build", "check", "record"):
        add("--allow-stale", action="store_true", help="take a run of another lab, as historic")
    match command:
        case "build" | "check":
            cores = os.cpu_count() or 1
            add("--jobs", type=_count, default=cores, metavar="N", help="processes that draw")
            add("--json", action="store_true", help="say the result as JSON")
            if command == "build":
                add("--out", type=_place, default=SITE, metavar="DIR", help="where the site goes")
        case "figure":
            add("name", metavar="NAME", help="a figure of the site, such as error-by-policy")
            add("--evidence", type=_place, required=True, metavar="DIR", help="a run folder")
            add(
                "--out",
                type=_drawing,
                required=True,
                metavar="FILE",
                help="FILE.svg, .png, .json or .csv",
            )
        case "run":
            target = f"a lab ({', '.join(LABS)}), its own options following, or a record's name"
            add("target", metavar="LAB_OR_RECORD", help=target)
            add("--run-dir", type=_place, metavar="DIR", help="where a lab writes: a new folder")
        case "record":
            run = "a finished run, yours or a colleague's"
            add("run", type=_place, nargs="?", metavar="RUN_DIR", help=run)
            add("--as", dest="name", metavar="NAME", help="its name: a-z, 0-9 and hyphens")
            add("--replace", action="store_true", help="take the place of that name's record")
            add("--rename", nargs=2, metavar=("OLD", "NEW"), help="give a record another name")
            add("--remove", metavar="NAME", help="take a record off the shelf")


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


def _records_of(options: argparse.Namespace) -> Path:
    """Where this content keeps its records: in itself, or with the lab when it has none."""
    own: Path = options.content / "records"
    if options.content.resolve() != CONTENT and (options.command == "record" or own.is_dir()):
        return own
    return LAB / "records"


def _lies_in(place: Path, folder: Path) -> bool:
    return folder.resolve() in (place.resolve(), *place.resolve().parents)


def _drawing(text: str) -> Path:
    if not text.endswith(DRAWINGS):
        raise argparse.ArgumentTypeError(f"{text!r} does not end in {', '.join(DRAWINGS)}")
    return _place(text)


def _place(text: str) -> Path:
    try:
        text.encode()
    except UnicodeEncodeError:
        raise argparse.ArgumentTypeError(f"{os.fsencode(text)!r} is not UTF-8") from None
    if not text:
        raise argparse.ArgumentTypeError("an empty name is no place")
    return Path(text)


def _count(text: str) -> int:
    if not (text.isascii() and text.isdecimal() and 1 <= int(text) <= 256):
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number from 1 to 256")
    return int(text)
