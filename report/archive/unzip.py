"""Zips of releases, read by their directory: stored and deflated entries, nothing fancy.

Entries follow one another without gaps from the first byte on, and each says of itself what the
directory says of it, so that every program unpacks the same. Nothing is written anywhere, and no
more is unpacked than a release may hold. verify.html reads zips by the same rules.

`find` is given to `verify`, which reads folders alone.
"""

import io
import os
import re
import struct
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any, BinaryIO

from report.archive import verify
from report.archive.verify import MANIFEST, MAX_FILE, MAX_SUM, Unchecked, printable

MAX_DIRECTORY = 4 << 20
"""In bytes: of the zip's own directory."""
GARBLED = b"An entry that does not unpack to what the directory says.\n"
"""What is read of such an entry: no list has it, so the file counts as changed."""

STORED, DEFLATED = 0, 8
_PLAIN = 0x80E
"""Flags that change nothing of a file: how well it was packed, sizes behind it, UTF-8 names."""
_END = struct.Struct("<4s4H2LH")
_ENTRY = struct.Struct("<4s6H3L5H2L")
_LOCAL = struct.Struct("<4s5H3L2H")
_KINDS = {0: "", 8: "", 10: "symlink", 4: "empty"}
"""What the first four bits of a mode make of an entry."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """A file in a zip, as the directory has it."""

    raw: bytes
    flags: int
    method: int
    crc: int
    packed: int
    size: int
    kind: str
    offset: int

    @property
    def path(self) -> str:
        try:
            return self.raw.decode()
        except UnicodeDecodeError:
            return self.raw.decode("latin-1")


def find(place: str) -> Any:
    """What lies in a release, a folder or a zip, for `verify`."""
    return verify.folder(place) if os.path.isdir(place) else archive(place)  # noqa: PTH112 (as is)


def archive(place: str) -> Iterator[tuple[str, str, Any]]:
    """What a zip holds, below the one folder that it may have at its top."""
    try:
        with _opened(place) as stream:
            entries, start = _directory(stream)
    except OSError:
        raise _unreadable() from None
    paths = [entry.path for entry in entries]
    tops = [path for path in paths if re.fullmatch(f"(?:[^/]*/)?{re.escape(MANIFEST)}", path)]
    top = min(tops, key=lambda path: (len(path), path), default=MANIFEST)[: -len(MANIFEST)]
    after = dict(pairwise([*sorted(set(paths)), ""]))
    order = sorted(range(len(entries)), key=lambda at: entries[at].offset)
    ends = {one: entries[two].offset for one, two in pairwise(order)}
    seen = set()
    for at, entry in enumerate(entries):
        path = entry.path
        name = path.removeprefix(top) if path.startswith(top) else f"../{path}"
        folder = path.endswith("/") and _is_tidy(path[:-1])
        if not (folder and after[path].startswith(path)):
            kind = "empty" if folder else entry.kind
            fault = kind or ("twin" if name in seen else "" if _is_tidy(name) else "name")
            seen.add(name)
            yield name, fault, partial(_unpack, place, entry, ends.get(at, start))


def _is_tidy(name: str) -> bool:
    """Whether a path is relative, goes nowhere else and holds no control character."""
    return not re.search(r"[\x00-\x1f\x7f-\x9f\\:]|(?:^|/)\.{0,2}(?:/|$)", name)


def _opened(place: str) -> BinaryIO:
    if not Path(place).is_file():  # a pipe would be waited for
        raise OSError
    return Path(place).open("rb")


def _directory(stream: BinaryIO) -> tuple[list[Entry], int]:
    """Every entry, and where the directory begins."""
    whole = stream.seek(0, os.SEEK_END)
    tail = _part(stream, max(0, whole - 65_557), whole)
    at = tail.rfind(b"PK\5\6")
    if at < 0 or len(tail) < at + _END.size:
        raise _unreadable()
    _, disk, _, here, count, size, start, comment = _END.unpack_from(tail, at)
    if size > MAX_DIRECTORY:
        raise Unchecked("it is a zip with a larger directory than a release needs.")
    end = whole - len(tail) + at
    strange = disk or here != count or start + size != end
    if strange or at + _END.size + comment != len(tail):
        raise _unreadable()
    directory, entries, at = _part(stream, start, end), [], 0
    for _ in range(count):
        entry, at = _entry(directory, at)
        if entry.flags & ~_PLAIN or entry.method not in (STORED, DEFLATED):
            what = printable(entry.path)
            raise Unchecked(f"{what} is packed in a way that a release never is.")
        entries.append(entry)
    if sum(entry.size for entry in entries) > MAX_SUM:
        raise Unchecked("it is a zip that holds more than a release may.")
    if at != size or (entries and min(entry.offset for entry in entries)):
        raise _unreadable()
    return entries, start


def _entry(directory: bytes, at: int) -> tuple[Entry, int]:
    """The entry at `at`, and where the next one begins."""
    if at + _ENTRY.size > len(directory):
        raise _unreadable()
    magic, _, _, flags, method, _, _, *rest = _ENTRY.unpack_from(directory, at)
    crc, packed, size, name, extra, comment, _, _, mode, offset = rest
    begin = at + _ENTRY.size
    following = begin + name + extra + comment
    if magic != b"PK\1\2" or following > len(directory):
        raise _unreadable()
    entry = Entry(
        raw=directory[begin : begin + name],
        flags=flags,
        method=method,
        crc=crc,
        packed=packed,
        size=size,
        kind=_KINDS.get(mode >> 28, "special"),
        offset=offset,
    )
    return entry, following


def _unpack(place: str, entry: Entry, end: int) -> BinaryIO:
    """The bytes of an entry that reaches to `end`, or `GARBLED`, to be read."""
    if entry.size > MAX_FILE:
        raise Unchecked(f"{printable(entry.path)} is larger than a release may hold.")
    with _opened(place) as stream:
        data = packed = _packed(stream, entry, end)
    if packed is not None and entry.method == DEFLATED:
        unpacking = zlib.decompressobj(-zlib.MAX_WBITS)
        try:
            data = unpacking.decompress(packed, entry.size + 1)
        except zlib.error:
            data = None
        if not unpacking.eof or unpacking.unused_data:
            data = None
    if data is None or len(data) != entry.size or zlib.crc32(data) != entry.crc:
        data = GARBLED
    return io.BytesIO(data)


def _packed(stream: BinaryIO, entry: Entry, end: int) -> bytes | None:
    """An entry as it lies there; nothing when it does not say of itself what the directory says."""
    header = _part(stream, entry.offset, entry.offset + _LOCAL.size)
    if len(header) < _LOCAL.size:
        return None
    magic, _, _, method, *_, name, extra = _LOCAL.unpack(header)
    begin = entry.offset + _LOCAL.size + name + extra
    named = _part(stream, entry.offset + _LOCAL.size, entry.offset + _LOCAL.size + name)
    trailer = (12, 16, 20, 24) if entry.flags & 8 else (0,)
    alike = magic == b"PK\3\4" and method == entry.method and named == entry.raw
    if not alike or end - begin - entry.packed not in trailer:
        return None
    return _part(stream, begin, begin + entry.packed)


def _part(stream: BinaryIO, begin: int, end: int) -> bytes:
    stream.seek(begin)
    return stream.read(max(0, end - begin))


def _unreadable() -> Unchecked:
    return Unchecked("it is neither a folder nor a zip that can be read.")
