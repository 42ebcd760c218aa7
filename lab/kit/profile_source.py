"""Finds what a path means, and refuses, with the cause in one line, what is no profile.

A path is a run folder, an XProf tree at any level, one XSpace, or one file of trace events.
Names of hosts, which files carry, become neutral here: host0, host1.
"""

import hashlib
import os
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from lab.kit.chrome_reader import READER as JSON_READER
from lab.kit.chrome_reader import read_trace_events
from lab.kit.faults import CheckFailed, UsageFault
from lab.kit.json_stream import GZIP
from lab.kit.profile_events import Profile, Source
from lab.kit.profile_tidy import tidy
from lab.kit.xspace_reader import READER as XSPACE_READER
from lab.kit.xspace_reader import need_jax, read_xspace

XSPACE = ".xplane.pb"
PERFETTO = "perfetto_trace.json"
TRACES = (".trace.json.gz", ".trace.json")
ENDINGS = (XSPACE, *TRACES, f"{PERFETTO}.gz", PERFETTO)

LEVELS = "a run folder, a folder that holds plugins/profile/, one run below it, or one file"
DEEPEST = 5
"""Folders below the path that are searched: process0/trace/plugins/profile/<run>."""

MOST_FILES = 64
PROCESS = re.compile(r"process[-_]?(\d+)")
REPLACEMENT = b"\xef\xbf\xbd"
"""U+FFFD in UTF-8: what a text filter writes where it found bytes that were no text."""

_CHUNK = 1 << 20

Tell = Callable[[str], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Aside:
    """A file of the capture that was not read, and why."""

    name: str
    bytes: int
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """The files to read, as (file, process index), and those that stay aside."""

    files: Sequence[tuple[Path, int | None]]
    aside: Sequence[Path]


def read_profile(path: Path, tell: Tell) -> tuple[Profile, list[Aside]]:
    """Everything a path holds; a `UsageFault` or `CheckFailed` names what is wrong with it."""
    found = find(path)
    stems = sorted({_stem(file) for file, _ in found.files})
    hosts = {stem: f"host{index}" for index, stem in enumerate(stems)}
    sources = [_source(file, hosts[_stem(file)], process) for file, process in found.files]
    spaces = any(source.format == "xspace" for source in sources)
    profile = Profile(
        reader=XSPACE_READER if spaces else JSON_READER, version=need_jax() if spaces else None
    )
    hashes: set[str] = set()
    for (file, _), source in zip(found.files, sources, strict=True):
        if source.sha256 in hashes:
            profile.twice.append(source.name)
        else:
            hashes.add(source.sha256)
            profile.sources.append(source)
            _read(file, profile, len(profile.sources) - 1, tell)
    tidy(profile)
    aside = [
        Aside(
            name=_neutral(file, hosts.get(_stem(file), "host")),
            bytes=file.stat().st_size,
            why="another view of the same capture",
        )
        for file in found.aside
    ]
    return profile, aside


def find(path: Path) -> Found:
    """What a path stands for."""
    if not path.exists():
        raise UsageFault(f"{path} does not exist; a profile is {LEVELS}")
    if path.is_file():
        return Found(files=[(path, None)], aside=[])
    if not path.is_dir():
        raise UsageFault(f"{path} is neither a file nor a folder")
    runs: dict[int | None, dict[Path, list[Path]]] = {}
    for file in _walk(path):
        process = PROCESS.search(file.relative_to(path).parent.as_posix())
        index = int(process[1]) if process else None
        runs.setdefault(index, {}).setdefault(file.parent, []).append(file)
    if not runs:
        raise UsageFault(
            f"{path} holds no profile: no *{XSPACE}, *{TRACES[0]} or {PERFETTO}.gz within "
            f"{DEEPEST} folders below it. Expected: {LEVELS}"
        )
    files: list[tuple[Path, int | None]] = []
    aside: list[Path] = []
    for index, folders in sorted(
        runs.items(), key=lambda item: (item[0] is not None, item[0] or 0)
    ):
        if len(folders) > 1:
            names = ", ".join(sorted(folder.relative_to(path).as_posix() for folder in folders)[:8])
            raise UsageFault(
                f"{path} holds {len(folders)} captured runs; name one of them: {names}"
            )
        (together,) = folders.values()
        chosen = _best(sorted(together))
        files += [(file, index) for file in chosen]
        aside += [file for file in sorted(together) if file not in chosen]
    if len(files) > MOST_FILES:
        raise UsageFault(
            f"{path} holds {len(files)} files of one capture; at most {MOST_FILES} are read"
        )
    return Found(files=files, aside=aside)


def _walk(path: Path) -> Iterator[Path]:
    """Files that a profiler names so, not following links."""
    for folder, folders, names in os.walk(path):
        depth = len(Path(folder).relative_to(path).parts)
        folders[:] = sorted(each for each in folders if not each.startswith("."))
        if depth >= DEEPEST:
            folders[:] = []
        for name in sorted(names):
            file = Path(folder) / name
            if name.endswith(ENDINGS) and not file.is_symlink():
                yield file


def _best(files: Sequence[Path]) -> list[Path]:
    """The XSpaces, else XProf's JSON, else Perfetto's: they are views of one capture."""
    for endings in ((XSPACE,), TRACES, ENDINGS):
        if chosen := [file for file in files if file.name.endswith(endings)]:
            return chosen if endings != ENDINGS else chosen[:1]
    return []


def _read(file: Path, profile: Profile, source: int, tell: Tell) -> None:
    known = profile.sources[source]
    planes, events = len(profile.planes), sum(plane.events for plane in profile.planes)
    if known.format == "xspace":
        try:
            read_xspace(file, profile, source, tell)
        except CheckFailed as problem:
            raise CheckFailed(f"{problem}. {_damage(file, known)}") from None
    else:
        read_trace_events(file, profile, source, tell)
    if len(profile.planes) == planes:
        raise CheckFailed(f"{file.name} holds no plane, although it has {known.bytes:,} bytes")
    if sum(plane.events for plane in profile.planes) == events:
        names = ", ".join(plane.name for plane in profile.planes[planes:][:6])
        raise CheckFailed(f"{file.name} holds no event with a time; its planes: {names}")


def _damage(file: Path, source: Source) -> str:
    """What can be said of a file that does not parse."""
    replaced, tail = 0, b""
    with file.open("rb") as opened:
        while chunk := opened.read(_CHUNK):
            replaced += (tail + chunk).count(REPLACEMENT)
            tail = chunk[-2:]
    told = f"It has {source.bytes:,} bytes, SHA-256 {source.sha256}."
    if replaced > source.bytes // 1000:
        return (
            f"{told} It holds {replaced:,} replacement characters (EF BF BD): a program took it "
            "for text and wrote it anew, which destroys it. Copy the original as bytes."
        )
    return f"{told} It is cut short, damaged, or of another kind."


def _source(file: Path, host: str, process: int | None) -> Source:
    digest = hashlib.sha256()
    size = 0
    with file.open("rb") as opened:
        while chunk := opened.read(_CHUNK):
            digest.update(chunk)
            size += len(chunk)
    _refuse_what_tells_itself(file, size)
    kind = (
        "xspace" if _is_xspace(file) else "perfetto-json" if _is_perfetto(file) else "chrome-json"
    )
    return Source(
        name=_neutral(file, host),
        format=kind,
        bytes=size,
        sha256=digest.hexdigest(),
        host=host,
        process=process,
    )


def _refuse_what_tells_itself(file: Path, size: int) -> None:
    """Raise `CheckFailed` for a file whose first bytes, or lack of them, say what it is."""
    if not size:
        raise CheckFailed(f"{file.name} is empty: it has 0 bytes, and a profile has more")
    head = _head(file)
    if head.startswith(b"version https://git-lfs"):
        raise CheckFailed(
            f"{file.name} is a Git LFS pointer of {size} bytes, not the file it points to; "
            "fetch it with `git lfs pull`"
        )
    if head.lstrip().lower().startswith((b"<!doctype", b"<html", b"<head", b"<?xml")):
        raise CheckFailed(f"{file.name} is a web page, not a profile: perhaps a failed download")


def _head(file: Path) -> bytes:
    with file.open("rb") as opened:
        return opened.read(512)


def _is_xspace(file: Path) -> bool:
    """By its content where that tells, else by its name: an XSpace has no mark of its own."""
    head = _head(file)
    if head[:2] == GZIP or head.lstrip(b"\xef\xbb\xbf \t\r\n")[:1] in (b"{", b"["):
        return file.name.endswith(XSPACE) and head[:2] != GZIP
    return file.name.endswith((".pb", XSPACE)) or not file.name.endswith((".json", ".json.gz"))


def _is_perfetto(file: Path) -> bool:
    return file.name.startswith(PERFETTO)


def _stem(file: Path) -> str:
    """What a file's name says of its host."""
    return next((file.name.removesuffix(end) for end in ENDINGS if file.name.endswith(end)), "")


def _neutral(file: Path, host: str) -> str:
    """A file's name without its host's."""
    if _is_perfetto(file):
        return f"{PERFETTO}.gz" if file.name.endswith(".gz") else PERFETTO
    for ending in (XSPACE, *TRACES, ".json.gz", ".json", ".pb"):
        if file.name.endswith(ending):
            return f"{host}{ending}"
    return host
