"""One lab run, exactly as written. Nothing in it is believed yet.

Reading a record walks its folder without following links, hashes every file, and parses
its manifest and its JSON strictly. What is wrong is kept in `Record.faults`, so that
`evidence` can tell it together with whatever else does not match.
"""

import json
import math
import os
import re
import stat
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import file_digest, sha256
from io import BufferedReader
from pathlib import Path
from typing import Any, Literal, NoReturn

from report.errors import ContentFault, EvidenceMismatch, Fault, did_you_mean

MANIFEST = "manifest.sha256"

MAX_FILES = 4_096
MAX_DEPTH = 16
MAX_FILE_BYTES = 1 << 30
MAX_JSON_BYTES = 16 << 20
MAX_JSON_DEPTH = 32
MAX_TEXT = 65_536
"""Characters of one recorded text; a record keeps anything longer in a file of its own."""
MAX_INTEGER = 2**53 - 1
"""Larger whole numbers change in a browser; a record writes them as text."""

DocumentName = Literal["report", "environment", "config", "trace"]

_DOCUMENTS: Mapping[DocumentName, tuple[str, str]] = {
    "report": ("report.json", r"assay/[a-z_]+/1"),
    "environment": ("environment.json", "assay/environment/1"),
    "config": ("config.json", "assay/config/1"),
    "trace": ("trace/summary.json", r"assay/trace-summary/[12]"),
}
"""Each JSON document's file, and the schemas that are understood."""

_OPTIONAL = ("trace",)
_FAILURE = "failure.json"
"""What a run that failed writes instead of its report."""
_SIGNS = (MANIFEST, "report.json", _FAILURE)
"""One of these is in every run; a folder without them is not read, which could take long."""

_LINE = re.compile(r"(?P<sha256>[0-9a-f]{64})  (?P<path>[^\r]+)")
_SEGMENT = re.compile(r"[A-Za-z0-9_-][A-Za-z0-9._-]*")
_UNPRINTABLE = re.compile(
    r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069\ufeff]"
    r"|[\ufdd0-\ufdef\ufffe\uffff]"
)
"""Controls, which abort a chart's renderer or reorder the text around them, and no characters."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordFile:
    """One file as found on disk; `path` is relative to the record, with forward slashes."""

    path: str
    sha256: str
    size: int
    """In bytes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """A run folder, read whole. With faults, the documents they concern are empty."""

    name: str
    folder: Path
    report: Mapping[str, Any]
    environment: Mapping[str, Any]
    config: Mapping[str, Any]
    trace: Mapping[str, Any] | None
    """The summary of its trace, if one was captured."""
    files: tuple[RecordFile, ...]
    """Every file found but the manifest, by path."""
    manifest: Mapping[str, str]
    """The SHA-256 that was recorded for each path."""
    manifest_sha256: str
    faults: tuple[Fault, ...] = ()
    """What is wrong with it as written; `evidence.verify` raises these."""

    @property
    def failed(self) -> bool:
        """Whether the run says itself that it failed, and where."""
        return any(file.path == _FAILURE for file in self.files)

    def at(self, document: DocumentName, pointer: str) -> Any:
        """The value at a JSON pointer (RFC 6901) of one document; `ContentFault` if none is."""
        if pointer and not pointer.startswith("/"):
            raise ContentFault(f"{pointer!r} is not a JSON pointer.", hint="Begin it with /.")
        value: Any = getattr(self, document)
        walked = f"{self.name} {document}#"
        for token in pointer.split("/")[1:]:
            key = token.replace("~1", "/").replace("~0", "~")
            if isinstance(value, Mapping) and key in value:
                value = value[key]
            elif isinstance(value, list) and re.fullmatch("0|[1-9][0-9]{0,5}", key):
                if int(key) >= len(value):
                    raise ContentFault(f"{walked} has {len(value)} items, not {key}.")
                value = value[int(key)]
            else:
                known = value if isinstance(value, Mapping) else ()
                raise ContentFault(f"{walked} has no {key!r}.", hint=did_you_mean(key, known))
            walked += f"/{token}"
        return value

    def file(self, path: str) -> "VerifiedFile":
        """One file of the run, or its manifest, as it was when it was hashed."""
        known = {file.path: file.sha256 for file in self.files} | {MANIFEST: self.manifest_sha256}
        where = f"{self.name}/{path}"
        return VerifiedFile(place=self.folder / path, sha256=known.get(path, ""), where=where)


@dataclass(frozen=True, slots=True, kw_only=True)
class VerifiedFile:
    """A file whose digest is known: it is read as it was verified, or not at all."""

    place: Path
    sha256: str
    where: str
    """How a fault calls it."""

    def __fspath__(self) -> str:
        return str(self.place)

    def read_bytes(self) -> bytes:
        """The bytes that were verified; `EvidenceMismatch` if others are there by now."""
        try:
            with _open(self.place) as stream:
                found = stream.read(MAX_FILE_BYTES + 1)
        except OSError as error:
            trouble = f"cannot be read: {error.strerror}"
        else:
            if sha256(found).hexdigest() == self.sha256:
                return found
            trouble = "changed since it was verified"
        fault = Fault(where=self.where, found=trouble, expected=f"SHA-256 {self.sha256:.12}")
        hint = "Let a measurement finish before you build, then build again."
        raise EvidenceMismatch("A record changed while it was in use:", [fault], hint=hint)


def load_record(folder: Path, name: str = "") -> Record:
    """Read the run folder, or raise `EvidenceMismatch` when there is none to read.

    The record is called `name`, or else as the folder is.
    """
    if folder.is_symlink() or not folder.is_dir():
        raise EvidenceMismatch(f"{folder} is not a folder, so it holds no record.")
    if not any(os.path.lexists(folder / name) for name in _SIGNS):
        raise EvidenceMismatch(f"{folder} holds no run: there is none of {', '.join(_SIGNS)}.")
    name = name or folder.name
    reading = _Reading(folder, name)
    files = tuple(reading.files())
    documents = {name: reading.document(*place) for name, place in _DOCUMENTS.items()}
    manifest = reading.manifest()
    reading.completeness(manifest)
    return Record(
        name=name,
        folder=folder,
        report=documents["report"] or {},
        environment=documents["environment"] or {},
        config=documents["config"] or {},
        trace=documents["trace"],
        files=files,
        manifest=manifest,
        manifest_sha256=sha256(reading.kept.get(MANIFEST, b"")).hexdigest(),
        faults=tuple(reading.faults),
    )


@dataclass(slots=True)
class _Reading:
    """One pass over one folder: `kept` holds the bytes that are parsed, as they were hashed."""

    folder: Path
    name: str
    faults: list[Fault] = field(default_factory=list)
    kept: dict[str, bytes] = field(default_factory=dict)

    def fault(self, path: str, found: str, expected: str = "") -> None:
        where = printable(f"{self.name}/{path}".rstrip("/"))
        self.faults.append(Fault(where=where, found=printable(found), expected=expected))

    def files(self) -> Iterator[RecordFile]:
        """Hash every file, in the order of paths, keeping the bytes of what will be parsed."""
        parsed = {MANIFEST, _FAILURE, *(path for path, _ in _DOCUMENTS.values())}
        for count, path in enumerate(sorted(self._walk("", 0))):
            if count >= MAX_FILES:
                self.fault("", "too many files", f"at most {MAX_FILES:,}")
                return
            try:
                with _open(self.folder / path) as stream:
                    size = os.fstat(stream.fileno()).st_size
                    limit = MAX_JSON_BYTES if path in parsed else MAX_FILE_BYTES
                    if size > limit:
                        self.fault(path, f"{size:,} bytes", f"at most {limit:,}")
                        continue
                    if path in parsed:
                        self.kept[path] = stream.read(MAX_JSON_BYTES)
                        digest = sha256(self.kept[path]).hexdigest()
                    else:
                        digest = file_digest(stream, "sha256").hexdigest()
            except OSError as error:
                self.fault(path, f"cannot be read: {error.strerror}")
                continue
            if path != MANIFEST:
                yield RecordFile(path=path, sha256=digest, size=size)

    def _walk(self, prefix: str, depth: int) -> Iterator[str]:
        if depth > MAX_DEPTH:
            self.fault(prefix, "nested too deep", f"at most {MAX_DEPTH} levels")
            return
        try:
            with os.scandir(self.folder / prefix) as found:
                entries = list(found)
        except OSError as error:
            self.fault(prefix, f"cannot be read: {error.strerror}")
            return
        if not entries:
            self.fault(prefix, "an empty folder, which no manifest can list")
        for entry in entries:
            path = f"{prefix}{entry.name}"
            if entry.is_symlink():
                self.fault(path, "a symbolic link, which is not followed")
            elif entry.is_dir(follow_symlinks=False):
                yield from self._walk(f"{path}/", depth + 1)
            elif entry.is_file(follow_symlinks=False):
                yield path
            else:
                self.fault(path, "neither a file nor a folder")

    def document(self, path: str, schema: str) -> Mapping[str, Any] | None:
        """The JSON object at `path`, or `None` when it is absent or has faults."""
        content = self.kept.get(path)
        if content is None:
            return None
        value = parse_json(content, f"{self.name}/{path}", self.faults)
        if value is None:
            return None
        found = value.get("schema") if isinstance(value, dict) else None
        if not isinstance(value, dict):
            self.fault(path, "not a JSON object")
            return None
        if not isinstance(found, str) or not re.fullmatch(schema, found):
            self.fault(
                path,
                f"the schema {found!r}",
                schema.replace("[12]", "2").replace("[a-z_]+", "<lab>")
                + (", the lab's name in a-z and _" if "[a-z_]+" in schema else ""),
            )
            return None
        return value

    def manifest(self) -> Mapping[str, str]:
        """The recorded digests, by path; every line that is not as it should be is a fault."""
        content = self.kept.get(MANIFEST)
        if content is None:
            self.fault(MANIFEST, "missing", "the SHA-256 of every file of the run")
            return {}
        return parse_manifest(content, f"{self.name}/{MANIFEST}", self.faults)

    def completeness(self, manifest: Mapping[str, str]) -> None:
        """A run that failed, or that never wrote one of its documents, is no evidence."""
        if _FAILURE in self.kept:
            failure = self.document(_FAILURE, "assay/failure/1")
            found = "a run that failed"
            if failure:
                found += f" at {failure.get('stage')}: {failure.get('message')}"
            self.fault(_FAILURE, found, "a run that finished")
            return
        for name, (path, _) in _DOCUMENTS.items():
            if path not in self.kept and path not in manifest and name not in _OPTIONAL:
                self.fault(path, "missing")


def parse_json(content: bytes, where: str, faults: list[Fault]) -> Any:
    """Strict JSON, or `None` with its faults: no repeated key, no NaN, nothing huge or deep."""

    def refuse(found: str, line: int = 0) -> None:
        place = f"{where}:{line}" if line else where
        faults.append(Fault(where=place, found=found, expected="strict JSON"))

    def constant(text: str) -> NoReturn:
        raise ValueError(f"the number {text}")

    def integer(text: str) -> int:
        if len(text) > 17 or abs(int(text)) > MAX_INTEGER:
            raise ValueError(f"the number {text[:24]}, too large to survive a browser; write text")
        return int(text)

    def decimal(text: str) -> float:
        number = float(text)
        if not math.isfinite(number):
            raise ValueError(f"the number {text[:24]}, too large for a float")
        return number

    def mapping(pairs: Sequence[tuple[str, Any]]) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for key, value in pairs:
            if key in found:
                raise ValueError(f"the key '{printable(key[:40])}' twice in one object")
            found[key] = value
        return found

    if content.startswith(b"\xef\xbb\xbf"):
        refuse("a byte order mark (BOM); save it as UTF-8 without one")
        return None
    try:
        value = json.loads(
            content.decode(),
            parse_constant=constant,
            parse_int=integer,
            parse_float=decimal,
            object_pairs_hook=mapping,
        )
    except json.JSONDecodeError as error:
        refuse(f"{error.msg.lower()} (column {error.colno})", error.lineno)
    except UnicodeDecodeError as error:
        refuse(f"the byte 0x{content[error.start]:02X} at {error.start:,}, which is not UTF-8")
    except RecursionError:
        refuse(f"nested too deep; at most {MAX_JSON_DEPTH} levels")
    except ValueError as error:
        refuse(str(error))
    else:
        trouble = _trouble_in(value)
        if trouble is None:
            return value
        refuse(trouble)
    return None


def parse_manifest(content: bytes, where: str, faults: list[Fault]) -> Mapping[str, str]:
    """Digests by path from `hash  path` lines: sorted, LF, one a file, none outside the folder."""
    digests: dict[str, str] = {}
    folded: dict[str, str] = {}
    previous = ""

    def refuse(number: int, found: str, expected: str = "") -> None:
        faults.append(Fault(where=f"{where}:{number}", found=found, expected=expected))

    if not content.strip():
        refuse(1, "nothing; an empty manifest vouches for nothing")
        return {}
    if b"\r" in content:
        refuse(1, "CRLF line endings", "LF, as it was written; git may have changed them")
        return {}
    if not content.endswith(b"\n"):
        refuse(content.count(b"\n") + 1, "a last line that is cut off", "a line feed at the end")
    lines = content.decode(errors="replace").removesuffix("\n").split("\n")
    for number, line in enumerate(lines, start=1):
        entry = _LINE.fullmatch(line)
        path = entry["path"] if entry else ""
        if entry is None:
            refuse(number, printable(line[:80]), "64 lower-case digits, two spaces, a path")
        elif not is_plain_path(path) or path == MANIFEST:
            refuse(number, f"the path {printable(path[:80])!r}", "a plain path inside the record")
        elif path in digests:
            refuse(number, f"{path} a second time", "each file once")
        elif folded.setdefault(path.casefold(), path) != path:
            refuse(number, f"{path}, which some systems take for {folded[path.casefold()]}")
        else:
            if path < previous:
                refuse(number, f"{path} after {previous}", "paths in sorted order")
            previous = max(previous, path)
            digests[path] = entry["sha256"]
    return digests


def is_plain_path(path: str) -> bool:
    """Whether `path` is relative, stays inside, and has only segments that any system can hold."""
    segments = path.split("/")
    return (
        len(path) <= 240
        and len(segments) <= MAX_DEPTH + 1
        and all(_SEGMENT.fullmatch(segment) and not segment.endswith(".") for segment in segments)
    )


def printable(text: str) -> str:
    """`text` with everything that a terminal might act on escaped."""
    if text.isprintable():
        return text
    return text.encode("unicode_escape", "backslashreplace").decode("ascii")


def _open(path: Path) -> BufferedReader:
    """Open a regular file for reading; a link or a pipe put in its place is an `OSError`."""
    flags = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
    handle = os.open(path, flags | getattr(os, "O_BINARY", 0))
    if not stat.S_ISREG(os.fstat(handle).st_mode):
        os.close(handle)
        raise OSError(0, "not a plain file")
    return os.fdopen(handle, "rb")


def _trouble_in(value: Any) -> str | None:
    """What strict reading forbids and the parser lets pass, or `None`. Level by level."""
    level, depth = [value], 1
    while level:
        if depth > MAX_JSON_DEPTH:
            return f"nested too deep; at most {MAX_JSON_DEPTH} levels"
        below: list[Any] = []
        for item in level:
            if isinstance(item, str):
                if trouble := _trouble_in_text(item):
                    return trouble
            elif isinstance(item, dict):
                below += item
                below += item.values()
            elif isinstance(item, list):
                below += item
        level, depth = below, depth + 1
    return None


def _trouble_in_text(text: str) -> str | None:
    if len(text) > MAX_TEXT:
        return f"a text of {len(text):,} characters; at most {MAX_TEXT:,}"
    if text.isprintable():
        return None
    if any("\ud800" <= character <= "\udfff" for character in text):
        return "half of a surrogate pair, which is no character"
    if found := _UNPRINTABLE.search(text):
        return f"the character U+{ord(found[0]):04X} in a text, which no page can print"
    return None
