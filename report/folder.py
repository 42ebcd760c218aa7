"""The site's folder: written beside, swapped in whole, and never more than what we made.

A site carries a marker with the fingerprint of what it was built from and the digest of every
file. Only a folder with a marker is ever replaced, and only when it holds nothing else. A kill
at any moment leaves a whole site, and the next `publish` carries on:

    site              the site
    site.assay-new    the next one being written, or the last one being removed
    site.assay-old    the last one, on systems that cannot exchange two folders at once
    site.assay-lock   held while one build writes

Only the marker is flushed to disk: after a power failure it tells whose folder this is, and its
digests whether the site has to be built again.
"""

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
from typing import Protocol

from report.errors import ContentFault, Fault, UsageFault, raise_if_any
from report.marker import MARKER, SCHEMA, bytes_of, is_current, marker, walk

PLAN = f"{MARKER}.part"
"""The paths a build is going to write, with no digests yet; gone once the marker stands."""

_PATH = re.compile(r"[A-Za-z0-9_-][A-Za-z0-9._-]*(?:/[A-Za-z0-9_-][A-Za-z0-9._-]*)*")
RESERVED = re.compile(r"(?i)(?:con|prn|aux|nul|com[0-9]|lpt[0-9])(?:\..*)?")
"""Names that Windows keeps for devices, with any ending."""

_ROOT = Path(__file__).resolve().parents[1]
_SOURCES = ("report", "lab", "content", "templates", "tests", "bench", ".git", ".venv", ".cache")
"""Folders of the project that no site may be written into."""

_MOVE = "Move these elsewhere, then build again."


@dataclass(frozen=True, slots=True, kw_only=True)
class SiteState:
    """A site on disk, as its marker tells, and whether that still holds."""

    inputs: str
    """What it was built from."""
    files: Mapping[str, str]
    """The SHA-256 of each file, by its path."""
    intact: bool
    """Every file is there with those bytes, and nothing else is."""


def state(out: Path) -> SiteState | None:
    """The site at `out`, every file hashed; `None` when no site is there."""
    told = None if out.is_symlink() else _read_marker(out / MARKER)
    if told is None:
        return None
    inputs, files = told
    return SiteState(inputs=inputs, files=files, intact=is_current(out, inputs))


class Copied(Protocol):
    """A file to copy: a plain path, or one that is read only as it was verified."""

    def __fspath__(self) -> str: ...
    def read_bytes(self) -> bytes: ...


def publish(files: Mapping[str, bytes | Copied], out: Path, inputs: str) -> None:
    """Make `out` hold exactly `files`, in one step; `inputs` says what they were built from.

    A value is a file's bytes or a file to copy. Raises `UsageFault`, with nothing touched, when
    `out` is not ours to replace, and `ContentFault` when two paths cannot live side by side.
    """
    _check_paths(files)
    out = out.absolute()
    _check_place(out, [Path(value) for value in files.values() if not isinstance(value, bytes)])
    with _locked(out):
        recover(out)
        _check_ours(out)
        try:
            _write(files, _beside(out, "new"), out, inputs)
        except BaseException:  # a full disk, Ctrl-C: the half-written site goes
            _clear(_beside(out, "new"))
            raise
        _swap(_beside(out, "new"), out)
        _clear(_beside(out, "new"))
        _clear(_beside(out, "old"))


def recover(out: Path) -> None:
    """Finish or undo what a killed `publish` left behind, without a site being lost."""
    left = (_beside(out, "new"), _beside(out, "old"))
    for folder in left:
        if not os.path.lexists(out):
            found = state(folder)
            if found and found.intact:
                folder.rename(out)
    for folder in left:
        _clear(folder)


def _beside(out: Path, role: str) -> Path:
    return out.with_name(f"{out.name}.assay-{role}")


def _write(files: Mapping[str, bytes | Copied], new: Path, current: Path, inputs: str) -> None:
    """Write all files into `new`, then its marker. What has not changed is linked, not written."""
    _make_folder(new)
    _write_file(new / PLAN, marker(inputs, dict.fromkeys(files, "")), flush=True)
    for folder in sorted({folder for path in files for folder in _folders_above(path)}):
        _make_folder(new / folder)
    digests = {}
    for path in sorted(files):
        value = files[path]
        content = value if isinstance(value, bytes) else value.read_bytes()
        digests[path] = sha256(content).hexdigest()
        if not _link(current / path, new / path, content):
            _write_file(new / path, content)
    _write_file(new / MARKER, marker(inputs, digests), flush=True)
    (new / PLAN).unlink()


def _swap(new: Path, out: Path) -> None:
    """Put `new` in place of `out`; the old site, if any, is then beside it."""
    if os.path.lexists(out) and not exchange(new, out):
        out.rename(_beside(out, "old"))
    if not os.path.lexists(out):
        new.rename(out)


def exchange(one: Path, other: Path) -> bool:
    """Exchange two folders in one step; false where the system cannot."""
    import ctypes  # noqa: PLC0415  slow to import, and most builds change nothing

    try:
        library = ctypes.CDLL(None, use_errno=True)
        if sys.platform == "darwin":
            failed = library.renamex_np(os.fsencode(one), os.fsencode(other), 2)  # RENAME_SWAP
        else:
            here = -100  # AT_FDCWD; both paths are absolute
            swap = 2  # RENAME_EXCHANGE
            failed = library.renameat2(here, os.fsencode(one), here, os.fsencode(other), swap)
    except (AttributeError, OSError, TypeError):  # no such function, or no such library
        return False
    return bool(failed == 0)


def _clear(folder: Path) -> None:
    """Remove a site of ours, or what a killed build left of one; refuse anything else."""
    if not os.path.lexists(folder):
        return
    if folder.is_symlink() or not folder.is_dir():
        raise UsageFault(f"{folder} is in the way, and is no folder of ours.", hint=_MOVE)
    present = set(walk(folder))
    ours = _files_of(folder)
    foreign = sorted(path for path in present - ours if not path.endswith("/"))
    raise_if_any(
        UsageFault,
        f"{folder} is in the way, and holds what we did not make:",
        [Fault(where=str(folder / path), found="not ours") for path in foreign],
        hint=_MOVE,
    )
    markers = {PLAN, MARKER} & present
    for path in ours & present - markers:
        (folder / path).unlink()
    for below, _, _ in os.walk(folder, topdown=False):
        if below != str(folder):
            Path(below).rmdir()
    for path in markers:  # last: until here they tell that the rest is ours
        (folder / path).unlink()
    folder.rmdir()


def _check_paths(files: Mapping[str, bytes | Copied]) -> None:
    """Refuse paths that some system cannot hold, or holds as one."""
    faults = []
    taken: dict[str, str] = {}
    for path in sorted(files):
        if not _PATH.fullmatch(path) or path in (MARKER, PLAN) or len(path) > 240:
            expected = "A-Z, a-z, 0-9, '.', '_' and '-', in relative parts that begin with no dot"
            faults.append(Fault(where=path, found="not a path a site can have", expected=expected))
        elif any(RESERVED.fullmatch(part) or part.endswith(".") for part in path.split("/")):
            faults.append(Fault(where=path, found="a name that Windows keeps for itself"))
        twin = taken.setdefault(path.casefold(), path)
        if twin != path:
            faults.append(Fault(where=path, found=f"on some systems the same file as {twin}"))
    for path in sorted(files):
        for folder in _folders_above(path):
            if folder.casefold() in taken:
                found = f"in a folder, where {taken[folder.casefold()]} is a file"
                faults.append(Fault(where=path, found=found))
    raise_if_any(ContentFault, "These pages and files cannot stand in one site:", faults)


def _check_place(out: Path, sources: list[Path]) -> None:
    """Refuse an output that holds, or lies in, what is not to be overwritten."""
    hint = "Choose a folder of its own, such as site."
    if out.is_symlink():
        raise UsageFault(f"The output {out} is a symbolic link.", hint=hint)
    if out.exists() and not out.is_dir():
        raise UsageFault(f"The output {out} is not a folder.", hint=hint)
    real = out.resolve()
    for place in (_ROOT, Path.cwd(), Path("~").expanduser(), *sources):
        if place.resolve().is_relative_to(real):
            raise UsageFault(f"The output {out} would replace {place}.", hint=hint)
    for source in _SOURCES:
        if real.is_relative_to(_ROOT / source):
            raise UsageFault(f"The output {out} lies in the sources, {source}.", hint=hint)
    above = next((place for place in out.parents if place.exists()), None)
    if above and not above.is_dir():
        raise UsageFault(f"The output {out} would lie in {above}, which is no folder.", hint=hint)


def _check_ours(out: Path) -> None:
    """Refuse a folder that we did not make, or one with more in it than we made."""
    if not out.exists():
        return
    present = set(walk(out))
    if present and _read_marker(out / MARKER) is None:
        raise UsageFault(
            f"{out} is not a site of ours: it has no {MARKER}, and it is not empty.",
            hint="Choose an empty or a new folder.",
        )
    raise_if_any(
        UsageFault,
        f"{out} holds what we did not make, so it stays as it is:",
        [
            Fault(where=str(out / path), found="not ours")
            for path in sorted(present - _files_of(out))
        ],
        hint=_MOVE,
    )


def _files_of(folder: Path) -> set[str]:
    """Paths that the markers of `folder` claim, and the markers themselves."""
    markers = [_read_marker(folder / name) for name in (MARKER, PLAN)]
    return {MARKER, PLAN, *(path for _, files in filter(None, markers) for path in files)}


def _read_marker(path: Path) -> tuple[str, Mapping[str, str]] | None:
    """The inputs and files that a site's marker tells, or `None` when it is not one."""
    try:
        told = json.loads(path.read_bytes())
        inputs, files = told["inputs"], told["files"]
        if told["schema"] == SCHEMA and isinstance(inputs, str):
            return inputs, {str(path): str(digest) for path, digest in files.items()}
    except (OSError, ValueError, TypeError, KeyError, AttributeError, RecursionError):
        return None
    return None


def _folders_above(path: str) -> Iterator[str]:
    """Every folder that `path` lies in, outermost first."""
    parts = path.split("/")
    return ("/".join(parts[:end]) for end in range(1, len(parts)))


def _link(current: Path, new: Path, wanted: bytes) -> bool:
    """Share the current site's file when its bytes are the wanted ones; false when not."""
    if bytes_of(current) != wanted:
        return False
    try:
        new.hardlink_to(current)
        new.chmod(0o644)
    except OSError:
        return False
    return True


def _make_folder(folder: Path) -> None:
    folder.mkdir()
    folder.chmod(0o755)  # whatever the umask


def put(place: Path, data: bytes, part: Path | None = None) -> None:
    """Write one file, whole or not at all; `part`, if given, is where it is written first."""
    part = part or place.with_name(f".{place.name}.part")
    try:
        part.write_bytes(data)
        part.chmod(0o644)  # whatever the umask
        place.parent.mkdir(exist_ok=True)
        part.replace(place)
    finally:
        part.unlink(missing_ok=True)


def _write_file(path: Path, content: bytes, *, flush: bool = False) -> None:
    with path.open("xb") as file:
        file.write(content)
        if flush:
            file.flush()
            os.fsync(file.fileno())
    path.chmod(0o644)


@contextmanager
def _locked(out: Path) -> Iterator[None]:
    """Hold the lock of `out`, or refuse: one build writes at a time."""
    try:
        import fcntl  # noqa: PLC0415  POSIX only
    except ImportError:  # a system without it goes unlocked
        yield
        return
    path = _beside(out, "lock")
    path.parent.mkdir(parents=True, exist_ok=True)
    while True:
        handle = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if os.path.samestat(os.fstat(handle), path.stat()):
                break
        except FileNotFoundError:
            pass
        except OSError as error:
            os.close(handle)
            if error.errno not in (errno.EAGAIN, errno.EACCES):
                raise
            raise UsageFault(
                f"Another build is writing {out}.", hint="Wait for it, then build again."
            ) from None
        os.close(handle)  # its last holder removed it meanwhile: take the new one
    try:
        yield
    finally:
        with suppress(FileNotFoundError):
            path.unlink()
        os.close(handle)
