"""The marker of a built site: what it was built from, and the digest of every file.

`is_current` is how a build that changes nothing finds out, where a glance does not tell, before
anything else is imported. It reads no JSON: a marker follows from its site, so it is written again
from the files that are there, and compared. This module keeps to what Python has at hand.
"""
# ruff: noqa: PTH114, PTH123

import os
from hashlib import sha256

TYPE_CHECKING = False
if TYPE_CHECKING:  # typing itself takes as long to import as all the rest
    from collections.abc import Iterator, Mapping

MARKER = "assay-site.json"
SCHEMA = "assay/site/1"


def is_current(out: str | os.PathLike[str], inputs: str) -> bool:
    """Whether `out` holds a whole site built from `inputs`, every file hashed, and nothing else."""
    folder = os.fspath(out)
    try:
        with open(f"{folder}/{MARKER}", "rb") as file:
            told = file.read()
        if f'"inputs": "{inputs}"'.encode() not in told or os.path.islink(folder):
            return False
        found = [path for path in walk(folder) if path != MARKER]
        return told == marker(inputs, {path: digest_of(f"{folder}/{path}") for path in found})
    except (OSError, UnicodeError):  # UnicodeError: a name that is no text is not ours
        return False


def marker(inputs: str, files: "Mapping[str, str]") -> bytes:
    """The marker, as JSON, of a site built from `inputs`: `files` has each path's SHA-256.

    None of these texts holds anything that JSON would escape.
    """
    lines = ",\n".join(f'"{path}": "{files[path]}"' for path in sorted(files))
    return f'{{"schema": "{SCHEMA}", "inputs": "{inputs}", "files": {{\n{lines}\n}}}}\n'.encode()


def walk(folder: str | os.PathLike[str], prefix: str = "") -> "Iterator[str]":
    """Paths of all under `folder` that is no folder, and, with a slash, of empty folders."""
    with os.scandir(f"{os.fspath(folder)}/{prefix}") as found:
        entries = list(found)
    if prefix and not entries:
        yield prefix
    for entry in entries:
        if entry.is_dir(follow_symlinks=False):
            yield from walk(folder, f"{prefix}{entry.name}/")
        else:
            yield f"{prefix}{entry.name}"


def digest_of(path: str | os.PathLike[str]) -> str:
    """The SHA-256 of a plain file, or nothing when it is not one."""
    content = bytes_of(path)
    return "" if content is None else sha256(content).hexdigest()


def bytes_of(path: str | os.PathLike[str]) -> bytes | None:
    """A plain file's bytes, or `None` when it is not one."""
    try:
        with open(path, "rb", buffering=0, opener=_open_plain) as file:
            return file.readall()
    except OSError:
        return None


def _open_plain(path: str, flags: int) -> int:
    """Open without following a link and without waiting for a pipe."""
    return os.open(path, flags | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0))
