"""Names and places that do not belong in a published record, and what stands in for them.

Text gets readable stand-ins; binary formats get stand-ins of the same length, so
that no length field has to change. Program texts carry no source locations to
begin with (see `backend.CONFIG`), and their words are never taken for names.
"""

import getpass
import json
import os
import re
import socket
import sys
import tempfile
from collections.abc import Iterable, Mapping
from functools import partial
from pathlib import Path

NOBODY = {"admin", "cpu", "gpu", "host", "jax", "localhost", "python", "root", "tpu", "user"}
"""Names that identify nobody, and that records hold as ordinary words."""

PATH = r"(?<![\w:/.)\]}-])/(?:[\w.+@~-]+/)+[\w.+@~-]*"
"""An absolute path of two parts or more; `/host:CPU` and `jit(f)/dot_general` are not."""


Rule = tuple[str, str, re.Pattern[str]]
"""What is looked for, what stands in for it, and its pattern."""


class Redactor:
    """Replaces host names, user names and absolute paths, and remembers where it did."""

    def __init__(self, *, hosts: Iterable[str], users: Iterable[str], folders: Iterable[str]):
        self._paths: list[Rule] = [("absolute path", "<path>", re.compile(PATH))]
        if known := _any_of(_spellings(folders)):
            pattern = re.compile(rf"(?<![\w)\]}}]){known}[\w.+@~/-]*")
            self._paths.insert(0, ("absolute path", "<path>", pattern))
        self._names: list[Rule] = []
        for label, stand_in, names in (
            ("host name", "host0", hosts),
            ("user name", "user0", users),
        ):
            if name := _any_of(each for each in names if each.lower() not in NOBODY):
                self._names.append((label, stand_in, re.compile(rf"(?<![\w-]){name}(?![\w-])")))
        self._done: set[str] = set()

    @classmethod
    def of_this_machine(cls) -> "Redactor":
        host = socket.gethostname()
        home = Path.home()
        try:
            user = getpass.getuser()
        except (KeyError, OSError):
            user = home.name
        folders = {home, Path.cwd(), Path(__file__).resolve().parents[2]}
        folders |= {Path(sys.prefix), Path(sys.base_prefix), Path(tempfile.gettempdir())}
        return cls(
            hosts=(host, host.split(".")[0]),
            users=(user, home.name),
            folders=[str(folder) for folder in folders if folder != folder.parent],
        )

    @property
    def done(self) -> list[str]:
        """What was replaced so far, as "file: what", sorted."""
        return sorted(self._done)

    def note(self, where: str, what: str) -> None:
        """Remember a replacement made elsewhere, such as a host name in a file name."""
        self._done.add(f"{where}: {what}")

    def text(self, text: str, where: str, *, names: bool = True) -> str:
        """`text` with a stand-in for every path, and for every name if `names`."""
        for label, stand_in, pattern in (*self._paths, *(self._names if names else ())):
            text, count = pattern.subn(stand_in, text)
            if count:
                self.note(where, label)
        return text

    def value(self, value: object, where: str) -> object:
        """A JSON value with every string in it redacted."""
        if isinstance(value, str):
            return self.text(value, where)
        if isinstance(value, Mapping):
            return self.mapping(value, where)
        if isinstance(value, list | tuple):
            return [self.value(item, where) for item in value]
        return value

    def mapping(self, value: Mapping[str, object], where: str) -> dict[str, object]:
        """A JSON object with every string in its values redacted."""
        return {key: self.value(item, where) for key, item in value.items()}

    def same_length(self, data: bytes, where: str, *, names: bool) -> bytes:
        """Bytes with every path, and every name if `names`, overwritten in place."""
        text = data.decode("latin-1")
        for label, stand_in, pattern in (*self._paths, *(self._names if names else ())):
            text, count = pattern.subn(partial(_stretched, stand_in), text)
            if count:
                self.note(where, label)
        return text.encode("latin-1")


def _stretched(stand_in: str, found: re.Match[str]) -> str:
    """`stand_in` cut, or filled with its last character, to the length of what was found."""
    length = len(found[0])
    return stand_in[:length].ljust(length, stand_in[-1])


def _any_of(words: Iterable[str]) -> str:
    """A pattern for any of `words`, longest first; empty when there is none."""
    ordered = sorted({word for word in words if word}, key=lambda word: (-len(word), word))
    return f"(?:{'|'.join(map(re.escape, ordered))})" if ordered else ""


def _spellings(paths: Iterable[str]) -> set[str]:
    """Each path as it is, as JSON escapes it, and as its UTF-8 bytes read one by one."""
    return {
        spelling
        for path in paths
        for spelling in (path, json.dumps(path)[1:-1], os.fsencode(path).decode("latin-1"))
    }
