"""The site's folder: written beside, swapped in whole, and never more than what we made.

A site carries a marker, `assay-site.json`, with the fingerprint of what it was built from and
the digest of every file. Only a folder with a marker is ever replaced, and only when it holds
nothing else. A kill at any moment leaves a whole site, and the next `publish` carries on:

    site              the site
    site.assay-new    the next one being written, or the last one being removed
    site.assay-old    the last one, on systems that cannot exchange two folders at once
    site.assay-lock   held while one build writes

Only the marker is flushed to disk: after a power failure it tells whose folder this is, and its
digests whether the site has to be built again. `state` is on the path of an unchanged build, so
this module imports little and handles paths as text.
"""
# Path objects cost more than the work they would do here.
# ruff: noqa: PTH

import errno
import json
import os
import re
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

from report.errors import ContentFault, Fault, UsageFault, raise_if_any

MARKER = "assay-site.json"
SCHEMA = "assay/site/1"

_UNFINISHED = f"{MARKER}.part"
"""The paths a build was going to write; gone once the marker stands."""

_PATH = re.compile(r"[A-Za-z0-9_-][A-Za-z0-9._-]*(?:/[A-Za-z0-9_-][A-Za-z0-9._-]*)*")
_RESERVED = re.compile(r"(?i)(?:con|prn|aux|nul|com[0-9]|lpt[0-9])(?:\..*)?")

_MOVE = "Move these elsewhere, then build again."

_ROOT = os.path.dirname(os.path.dirname(os.path.realpath(__file__)))
_SOURCES = ("report", "lab", "content", "templates", "tests", "bench", ".git", ".venv", ".cache")
"""Folders of the project that no site may be written into."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SiteState:
    """A site on disk: what it was built from, and whether it is as it was written."""

    inputs: str
    files: Mapping[str, str]
    """The SHA-256 of each file by its path, as the marker has it."""
    intact: bool
    """Every file is there with those bytes, and nothing else is."""


def state(out: Path) -> SiteState | None:
    """The site at `out`, every file hashed; `None` when no site is there."""
    folder = os.fspath(out)
    marker = _read_marker(folder)
    if marker is None:
        return None
    inputs, files = marker
    intact = set(_walk(folder)) == {*files, MARKER} and all(
        _digest_of(f"{folder}/{path}") == digest for path, digest in files.items()
    )
    return SiteState(inputs=inputs, files=files, intact=intact)


def publish(files: Mapping[str, bytes | Path], out: Path, inputs: str) -> None:
    """Make `out` hold exactly `files`, in one step; `inputs` says what they were built from.

    A value is a file's bytes or a file to copy. Raises `UsageFault`, with nothing touched, when
    `out` is not ours to replace, and `ContentFault` when two paths cannot live side by side.
    """
    _check_paths(files)
    folder = os.path.abspath(out)
    _check_place(folder, files)
    with _locked(folder):
        recover(out)
        _check_ours(folder)
        _write(files, f"{folder}.assay-new", folder, inputs)
        _swap(folder)
        _clear(f"{folder}.assay-new")
        _clear(f"{folder}.assay-old")


def recover(out: Path) -> None:
    """Finish or undo what a killed `publish` left behind, without a site being lost."""
    folder = os.path.abspath(out)
    new, old = f"{folder}.assay-new", f"{folder}.assay-old"
    for candidate in (new, old):
        if not os.path.lexists(folder):
            found = state(Path(candidate))
            if found is not None and found.intact:
                os.rename(candidate, folder)
    _clear(new)
    _clear(old)


def _write(files: Mapping[str, bytes | Path], new: str, current: str, inputs: str) -> None:
    """Write all files into `new`, then its marker. What has not changed is linked, not written."""
    _make_folder(new)
    _write_marker(f"{new}/{_UNFINISHED}", inputs, dict.fromkeys(files, ""))
    for folder in sorted({folder for path in files for folder in _folders_above(path)}):
        _make_folder(f"{new}/{folder}")
    digests = {}
    for path in sorted(files):
        value = files[path]
        content = value if isinstance(value, bytes) else value.read_bytes()
        digests[path] = sha256(content).hexdigest()
        if not _link(f"{current}/{path}", f"{new}/{path}", digests[path]):
            _write_file(f"{new}/{path}", content)
    _write_marker(f"{new}/{MARKER}", inputs, digests)
    os.unlink(f"{new}/{_UNFINISHED}")


def _swap(folder: str) -> None:
    """Put the new site in place of `folder`, which then holds the old one under another name."""
    new, old = f"{folder}.assay-new", f"{folder}.assay-old"
    if not os.path.lexists(folder):
        os.rename(new, folder)
    elif not _exchange(new, folder):
        os.rename(folder, old)
        os.rename(new, folder)


def _exchange(one: str, other: str) -> bool:
    """Exchange two folders in one step; false where the system cannot."""
    import ctypes  # noqa: PLC0415  an unchanged build never comes here

    try:
        library = ctypes.CDLL(None, use_errno=True)
        if sys.platform == "darwin":
            failed = library.renamex_np(os.fsencode(one), os.fsencode(other), 2)  # RENAME_SWAP
        else:
            at = -100  # AT_FDCWD; both paths are absolute
            exchange = 2  # RENAME_EXCHANGE
            failed = library.renameat2(at, os.fsencode(one), at, os.fsencode(other), exchange)
    except (AttributeError, OSError, TypeError):  # no such function, or no C library by that name
        return False
    return bool(failed == 0)


def _clear(folder: str) -> None:
    """Remove a site of ours, or what a killed build left of one; refuse anything else."""
    if not os.path.lexists(folder):
        return
    if os.path.islink(folder) or not os.path.isdir(folder):
        raise UsageFault(
            f"{folder} is in the way and is no folder of ours.", hint="Move it elsewhere."
        )
    present = set(_walk(folder))
    ours = _files_of(folder)
    foreign = sorted(path for path in present - ours if not path.endswith("/"))
    raise_if_any(
        UsageFault,
        f"{folder} is in the way and holds what we did not make:",
        [Fault(where=f"{folder}/{path}", found="not ours") for path in foreign],
        hint=_MOVE,
    )
    markers = [path for path in (_UNFINISHED, MARKER) if path in present]
    for path in sorted(ours & present - set(markers)):
        os.unlink(f"{folder}/{path}")
    for below, _, _ in sorted(os.walk(folder), reverse=True):
        if below != folder:
            os.rmdir(below)
    for path in markers:  # last: until here they tell that the rest is ours
        os.unlink(f"{folder}/{path}")
    os.rmdir(folder)


def _check_paths(files: Mapping[str, bytes | Path]) -> None:
    """Refuse paths that some system cannot hold, or holds as one."""
    faults = []
    taken: dict[str, str] = {}
    for path in sorted(files):
        if not _PATH.fullmatch(path) or path in (MARKER, _UNFINISHED) or len(path) > 240:
            expected = "A-Z, a-z, 0-9, '.', '_' and '-', in relative parts that begin with no dot"
            faults.append(Fault(where=path, found="not a path a site can have", expected=expected))
        elif any(_RESERVED.fullmatch(part) or part.endswith(".") for part in path.split("/")):
            faults.append(Fault(where=path, found="a name that Windows keeps for itself"))
        twin = taken.setdefault(path.casefold(), path)
        if twin != path:
            faults.append(Fault(where=path, found=f"on some systems the same file as {twin}"))
    for path in sorted(files):
        for folder in _folders_above(path):
            if folder.casefold() in taken:
                found = f"a folder, where {taken[folder.casefold()]} is a file"
                faults.append(Fault(where=path, found=found))
    raise_if_any(ContentFault, "These pages and files cannot stand in one site:", faults)


def _check_place(folder: str, files: Mapping[str, bytes | Path]) -> None:
    """Refuse an output that holds, or lies in, what is not to be overwritten."""
    real = os.path.realpath(folder)
    kept = [_ROOT, os.getcwd(), os.path.expanduser("~")]
    kept += [os.path.realpath(value) for value in files.values() if isinstance(value, Path)]
    hint = "Choose a folder of its own, such as site."
    if os.path.islink(folder):
        raise UsageFault(f"The output {folder} is a symbolic link.", hint=hint)
    if os.path.lexists(folder) and not os.path.isdir(folder):
        raise UsageFault(f"The output {folder} is not a folder.", hint=hint)
    for place in kept:
        if _lies_in(os.path.realpath(place), real):
            raise UsageFault(f"The output {folder} would replace {place}.", hint=hint)
    for source in _SOURCES:
        if _lies_in(real, f"{_ROOT}/{source}"):
            raise UsageFault(f"The output {folder} lies in the sources, {source}.", hint=hint)


def _lies_in(place: str, folder: str) -> bool:
    return place == folder or place.startswith(folder.rstrip(os.sep) + os.sep)


def _check_ours(folder: str) -> None:
    """Refuse a folder that we did not make, or one with more in it than we made."""
    if not os.path.isdir(folder):
        return
    present = set(_walk(folder))
    if present and _read_marker(folder) is None:
        raise UsageFault(
            f"{folder} is not a site of ours: it has no {MARKER}, and it is not empty.",
            hint="Choose an empty or a new folder.",
        )
    raise_if_any(
        UsageFault,
        f"{folder} holds what we did not make, so it stays as it is:",
        [
            Fault(where=f"{folder}/{path}", found="not ours")
            for path in sorted(present - _files_of(folder))
        ],
        hint=_MOVE,
    )


def _files_of(folder: str) -> set[str]:
    """Paths that the markers of `folder` claim, and the markers themselves."""
    markers = (_read_marker(folder), _read_marker(folder, _UNFINISHED))
    return {MARKER, _UNFINISHED, *(path for _, files in filter(None, markers) for path in files)}


def _read_marker(folder: str, name: str = MARKER) -> tuple[str, Mapping[str, str]] | None:
    """The inputs and files that a site's marker tells, or `None` when it is not one."""
    if os.path.islink(folder):
        return None
    try:
        with open(f"{folder}/{name}", "rb") as file:
            told = json.load(file)
        inputs, files = told["inputs"], told["files"]
        if told["schema"] == SCHEMA and isinstance(inputs, str):
            return inputs, {str(path): str(digest) for path, digest in files.items()}
    except (OSError, ValueError, TypeError, KeyError, AttributeError, RecursionError):
        return None
    return None


def _walk(folder: str, prefix: str = "") -> Iterator[str]:
    """Paths of everything under `folder` that is no folder, and of folders that are empty."""
    with os.scandir(f"{folder}/{prefix}") as found:
        entries = list(found)
    if prefix and not entries:
        yield prefix
    for entry in entries:
        if entry.is_dir(follow_symlinks=False):
            yield from _walk(folder, f"{prefix}{entry.name}/")
        else:
            yield f"{prefix}{entry.name}"


def _folders_above(path: str) -> Iterator[str]:
    """Every folder that `path` lies in, outermost first."""
    parts = path.split("/")
    return ("/".join(parts[:end]) for end in range(1, len(parts)))


def _digest_of(path: str) -> str:
    """The SHA-256 of a plain file, or nothing when it is not one."""
    try:
        with open(path, "rb", buffering=0, opener=_open_plain) as file:
            return sha256(file.readall()).hexdigest()
    except OSError:
        return ""


def _open_plain(path: str, flags: int) -> int:
    """Open without following a link and without waiting for a pipe."""
    return os.open(path, flags | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0))


def _link(current: str, new: str, digest: str) -> bool:
    """Share the current site's file when its bytes are the wanted ones; false when not."""
    if _digest_of(current) != digest:
        return False
    try:
        os.link(current, new)
        os.chmod(new, 0o644)
    except OSError:
        return False
    return True


def _make_folder(path: str) -> None:
    os.mkdir(path)
    os.chmod(path, 0o755)  # whatever the umask


def _write_file(path: str, content: bytes, *, flush: bool = False) -> None:
    with open(path, "xb") as file:
        file.write(content)
        if flush:
            file.flush()
            os.fsync(file.fileno())
    os.chmod(path, 0o644)


def _write_marker(path: str, inputs: str, files: Mapping[str, str]) -> None:
    told = {"schema": SCHEMA, "inputs": inputs, "files": files}
    _write_file(path, json.dumps(told, indent=0, sort_keys=True).encode() + b"\n", flush=True)


@contextmanager
def _locked(folder: str) -> Iterator[None]:
    """Hold the lock of `folder`, or refuse: one build writes at a time."""
    try:
        import fcntl  # noqa: PLC0415  POSIX only
    except ImportError:  # a system without it goes unlocked
        yield
        return
    path = f"{folder}.assay-lock"
    os.makedirs(os.path.dirname(folder), exist_ok=True)
    while True:
        handle = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if os.fstat(handle).st_ino == os.stat(path).st_ino:
                break  # else its last holder has removed it meanwhile
        except FileNotFoundError:
            pass
        except OSError as error:
            os.close(handle)
            if error.errno not in (errno.EAGAIN, errno.EACCES):
                raise
            raise UsageFault(
                f"Another build is writing {folder}.", hint="Wait for it, then build again."
            ) from None
        os.close(handle)
    try:
        yield
    finally:
        with suppress(FileNotFoundError):
            os.unlink(path)
        os.close(handle)
