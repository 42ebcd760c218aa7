"""The command line: what each command takes, what it says, and the exit code it ends with."""

import argparse
import errno
import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from shlex import join
from typing import NoReturn

from report.errors import BackendMissing, ReportError, UsageFault
from report.voice import Voice

ROOT = Path(__file__).resolve().parents[1]
CONTENT, LAB, TEMPLATES = ROOT / "content", ROOT / "lab", ROOT / "templates"
SITE, CACHE, LOCK = ROOT / "site", ROOT / ".cache", ROOT / "all.lock"

Command = Callable[[argparse.Namespace, Voice], int]
"""Does one thing, says how it went, and returns the exit code."""

LABS = {
    "precision_profile": {
        name: f"--{name}" for name in ("platform", "batch", "features", "outputs", "steps", "trace")
    },
    "representations": {
        name: f"--{name}" for name in ("platform", "batch", "features", "outputs", "policies")
    },
    "batch_sweep": {
        **{name: f"--{name}" for name in ("platform", "batches", "features", "outputs")},
        **{"arrays_kib": "--arrays-kib", "squares": "--squares"},
        **{name: f"--{name}" for name in ("rounds", "samples")},
    },
    "timing_study": {
        **{
            name: f"--{name}"
            for name in ("platform", "batch", "features", "outputs", "processes", "steps")
        },
        "dispatch": "--dispatch",
        "order_seed": "--order-seed",
        "accuracy": "--accuracy",
        "limit_s": "--limit",
    },
    "preflight": {
        "targets": "--targets",
        "program": "--program",
        "batch": "--batch",
        "largest": "--max",
        "up_to": "--up-to",
        "multiple_of": "--multiple-of",
        "schedule": "--schedule",
        "limit_s": "--limit",
    },
    "replay": {
        "platform": "--platform",
        "origin": "--origin",
        "published_sha256": "--published-sha256",
    },
}
"""The labs, each with its recorded options as its command line takes them."""

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
    "replay": "precision-v5e",
    "preflight": "my_module:step --targets v5e,v6e,tpu7x --schedule",
    "fits": "my_module:step --targets v5e:4x4 --max batch",
    "trace": "runs/v5e --out my-profile",
    "new": "report mine --record precision-mine --content mine",
    "release": "mine --content mine",
    "sign": "releases/mine-1 --key ~/.ssh/id_ed25519 --principal you@example.org",
    "verify": "releases/mine-1 --key SHA256:...",
    "rebuild": "releases/mine-1",
    "compare": "precision-cpu precision-v5e --factor platform",
    "status": "status.json --release releases/mine-1 --state withdrawn --reason 'Wrong device.'"
    " --date 2026-12-01 --key ~/.ssh/id_ed25519",
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
    if options.command == "sign":
        ways = [bool(option) for option in (options.key, options.principal, options.oms)]
        if ways not in ([True, True, False], [False, False, True]):
            parser.error("sign takes --key with --principal, or --oms alone")
    options.lab_options = rest
    options.records = _records_of(options)
    if options.command not in ("record", "new") and not options.content.is_dir():
        parser.error(f"there is no content folder {options.content}")
    if options.command == "build" and _lies_in(options.out, options.content):
        parser.error(f"the output {options.out} lies in the content {options.content}")
    return by_name[options.command], options


def next_command(options: argparse.Namespace, *words: str | Path) -> str:
    """A command to go on with, on the content that this one was about."""
    own = () if options.content == CONTENT else ("--content", options.content)
    return join(map(str, ("python", "build.py", *words, *own)))


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
        case "replay":
            record = "a record's name, a run folder, or a report.json that others published"
            add("record", metavar="RECORD", help=record)
            add("--platform", metavar="NAME", help="where to run it again (default: cpu)")
            add("--origin", metavar="ADDRESS", help="where a foreign report was published")
            told = "the SHA-256 that its publisher gives for it"
            add("--published-sha256", metavar="HEX", help=told)
            add("--run-dir", type=_place, metavar="DIR", help="where it writes: a new folder")
            add("--json", action="store_true", help="say the result as JSON")
        case "preflight" | "fits":
            _add_compiling(command, add)
        case "trace":
            what = (
                "a run folder, an XProf tree at any level, an xplane.pb, a trace or Perfetto JSON"
            )
            add("path", type=_place, metavar="PATH", help=what)
            add("--json", action="store_true", help="say the answer as JSON")
            add("--csv", type=_place, metavar="FILE", help="write its rows as CSV")
            add(
                "--out",
                type=_place,
                metavar="DIR",
                help="a folder with its page, to open from disk",
            )
            add("--against", type=_place, metavar="PATH", help="another profile, step by step")
            again = "that other profile, captured once more: what they differ by is the noise floor"
            add("--repeat", type=_place, metavar="PATH", help=again)
            add("--factor", metavar="NAME", help="the one thing that was changed on purpose")
        case _:
            _add_release_options(command, add)


def _add_release_options(command: str, add: Callable[..., object]) -> None:
    key = "your key, or its public half when an agent holds it; ssh-keygen alone reads it"
    match command:
        case "release":
            add("report", metavar="REPORT", help="a report's name: its file without .yaml")
            add("--out", type=_place, default=Path("releases"), metavar="DIR", help="where it goes")
            add("--status", type=_place, metavar="FILE", help="the newest status list you know")
            cores = os.cpu_count() or 1
            add("--jobs", type=_count, default=cores, metavar="N", help="processes that draw")
            add("--json", action="store_true", help="say the result as JSON")
        case "sign":
            add("release", type=_place, metavar="RELEASE", help="the folder of a release")
            add("--key", type=_place, metavar="FILE", help=key)
            add("--principal", metavar="NAME", help="you, in a signers file")
            pem = "or: a P-256 key, to sign for OpenSSF Model Signing; openssl alone reads it"
            add("--oms", type=_place, metavar="KEY.pem", help=pem)
            add("--role", choices=("author", "reviewer"), default="author", help="as whom")
            add("--json", action="store_true", help="say the result as JSON")
        case "verify":
            from report.archive.verify import add_options  # noqa: PLC0415 (it also stands alone)

            add_options(add)
            add("--status", action="append", metavar="FILE", help="a status list, with FILE.sig")
        case "rebuild":
            add("release", type=_place, metavar="RELEASE", help="a folder; the code in it will run")
        case "compare":
            add("one", metavar="A", help="a record, a run folder or a release")
            add("two", metavar="B", help="another")
            factor = "the one thing that was changed on purpose, such as shape or request/batch"
            add("--factor", metavar="NAME", help=factor)
            add("--json", action="store_true", help="say the result as JSON")
        case "new":
            add("kind", choices=("report",), metavar="report", help="what to start")
            add("name", metavar="NAME", help="its name: a-z, 0-9 and hyphens")
            add("--record", metavar="NAME", help="the record it rests on")
        case "status":
            add("list", type=_place, metavar="LIST", help="your status list, or a new file")
            add("--release", type=_place, required=True, metavar="DIR", help="the release meant")
            add("--state", choices=("superseded", "withdrawn"), required=True, help="what it is")
            add("--reason", required=True, metavar="TEXT", help="one sentence")
            add("--date", required=True, metavar="YYYY-MM-DD", help="the day of the list")
            add("--by", metavar="NAME", help="the release that takes its place")
            add("--key", type=_place, required=True, metavar="FILE", help=key)


def _add_compiling(command: str, add: Callable[..., object]) -> None:
    """Options of the commands that ask a compiler; those that are given go to the lab."""
    add("program", metavar="MODULE:FUNCTION", help="as jax.jit takes it, its arguments beside it")
    add("--targets", metavar="LIST", help="such as v5e,v6e,tpu7x, cpu, or a slice like v5e:4x4")
    if command == "preflight":
        add("--batch", metavar="N", help="the batch that its arguments are asked for")
        add("--schedule", action="store_true", help="experimental: read matrix instructions too")
    else:
        add("--max", choices=("batch",), default="batch", help="what to find the largest of")
        add("--up-to", metavar="N", help="where the search ends")
        add("--multiple-of", metavar="N", help="try only its multiples")
    add("--limit", metavar="S", help="seconds for one compilation")
    add("--run-dir", type=_place, metavar="DIR", help="where it writes: a new folder")


def compiling(options: argparse.Namespace) -> list[str]:
    """The lab's options for what `preflight` and `fits` were asked."""
    asked: list[str] = []
    for flag in ("program", "targets", "batch", "max", "up_to", "multiple_of", "limit"):
        value = getattr(options, flag, None)
        if value is not None:
            asked += [f"--{flag.replace('_', '-')}", value]
    return [*asked, "--schedule"] if getattr(options, "schedule", False) else asked


def replaying(options: argparse.Namespace) -> list[str]:
    """The lab's options for what `replay` was asked, but for the run itself."""
    asked = ["--json"] if options.json else []
    for flag in ("platform", "origin", "published_sha256"):
        if (value := getattr(options, flag)) is not None:
            asked += [f"--{flag.replace('_', '-')}", value]
    return asked


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
    if options.content.resolve() != CONTENT and (
        options.command in ("record", "new") or own.is_dir()
    ):
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
