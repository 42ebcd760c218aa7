"""What a built site says of itself, and whether that is still so.

`state` is how an unchanged build finds out that there is nothing to do, before anything else
is imported. So this file keeps to what Python has at hand: no dataclass, no Path.
"""
# ruff: noqa: PTH114, PTH123

import json
import os
from collections.abc import Iterator, Mapping
from hashlib import sha256
from typing import NamedTuple

MARKER = "assay-site.json"
SCHEMA = "assay/site/1"


class SiteState(NamedTuple):
    """A site on disk: what it was built from, and whether it is as it was written."""

    inputs: str
    files: Mapping[str, str]
    """The SHA-256 of each file by its path, as the marker has it."""
    intact: bool
    """Every file is there with those bytes, and nothing else is."""


def state(out: str | os.PathLike[str]) -> SiteState | None:
    """The site at `out`, every file hashed; `None` when no site is there."""
    folder = os.fspath(out)
    marker = read_marker(f"{folder}/{MARKER}")
    if marker is None or os.path.islink(folder):
        return None
    inputs, files = marker
    intact = set(walk(folder)) == {*files, MARKER} and all(
        digest_of(f"{folder}/{path}") == digest for path, digest in files.items()
    )
    return SiteState(inputs, files, intact)


def read_marker(path: str | os.PathLike[str]) -> tuple[str, Mapping[str, str]] | None:
    """The inputs and files that a site's marker tells, or `None` when it is not one."""
    try:
        with open(path, "rb") as file:
            told = json.load(file)
        inputs, files = told["inputs"], told["files"]
        if told["schema"] == SCHEMA and isinstance(inputs, str):
            return inputs, {str(path): str(digest) for path, digest in files.items()}
    except (OSError, ValueError, TypeError, KeyError, AttributeError, RecursionError):
        return None
    return None


def walk(folder: str | os.PathLike[str], prefix: str = "") -> Iterator[str]:
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
    try:
        with open(path, "rb", buffering=0, opener=_open_plain) as file:
            return sha256(file.readall()).hexdigest()
    except OSError:
        return ""


def _open_plain(path: str, flags: int) -> int:
    """Open without following a link and without waiting for a pipe."""
    return os.open(path, flags | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0))
