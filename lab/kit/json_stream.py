"""JSON read piece by piece, so that a list of a million events never stands in memory whole.

The values themselves are decoded by the standard library. Fractions come as `Decimal`, so
that a time in microseconds keeps every digit.
"""

import codecs
import gzip
import json
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from decimal import Decimal
from pathlib import Path
from typing import Final, Protocol

from lab.kit.faults import CheckFailed

CHUNK: Final = 1 << 18
"""Bytes that are read at a time."""

LONGEST: Final = 1 << 26
"""Characters of one value; an event has a few hundred."""

GZIP: Final = b"\x1f\x8b"
BYTE_ORDER_MARK: Final = "\ufeff"
_SPACE: Final = " \t\n\r"
_UNFINISHED: Final = 16
"""How near to the end of what was read a fault may only mean that more has to be read."""


class Readable(Protocol):
    """A file of bytes, packed or not."""

    def read(self, size: int, /) -> bytes: ...


class JsonText:
    """A JSON text that is taken token by token. Every fault is a `CheckFailed` with its place."""

    def __init__(self, file: Readable, name: str) -> None:
        self._name = name
        self._file = file
        self._text = codecs.getincrementaldecoder("utf-8")()
        self._buffer, self._at, self._ended = "", 0, False
        self._passed = 0
        """Characters that were let go before the buffer."""
        self._decode = json.JSONDecoder(
            parse_float=Decimal, parse_constant=lambda _: None
        ).raw_decode
        if self.peek() == BYTE_ORDER_MARK:
            self._at += 1

    @classmethod
    @contextmanager
    def open(cls, path: Path, name: str) -> "Iterator[JsonText]":
        """Plain, or packed by gzip: told by its first bytes, not by its name."""
        with path.open("rb") as file:
            packed = file.read(2) == GZIP
            file.seek(0)
            yield cls(gzip.GzipFile(fileobj=file) if packed else file, name)

    def peek(self) -> str:
        """The next character that is not space; empty at the end."""
        while True:
            while self._at < len(self._buffer):
                if self._buffer[self._at] not in _SPACE:
                    return self._buffer[self._at]
                self._at += 1
            if not self._more():
                return ""

    def take(self, expected: str) -> str:
        """The next character, which has to be one of `expected`."""
        found = self.peek()
        if not found:
            raise self.cut()
        if found not in expected:
            raise self._wrong(f"{found!r} where one of {' '.join(expected)} is expected")
        self._at += 1
        return found

    def value(self) -> object:
        """The next value, whole."""
        if not self.peek():
            raise self.cut()
        while True:
            try:
                value, end = self._decode(self._buffer, self._at)
            except json.JSONDecodeError as problem:
                unfinished = (
                    problem.msg.startswith("Unterminated string")
                    or problem.pos >= len(self._buffer) - _UNFINISHED
                )
                if self._ended:
                    raise self.cut() if unfinished else self._wrong(problem.msg) from None
                if not unfinished:
                    raise self._wrong(problem.msg) from None
            except RecursionError:
                raise self._wrong("a value nested too deeply") from None
            except ValueError:
                raise self._wrong("a number with thousands of digits") from None
            else:
                # A number at the end of the buffer may go on in the next chunk.
                if end < len(self._buffer) or self._ended or isinstance(value, dict | list):
                    self._at = end
                    return value
            if len(self._buffer) - self._at > LONGEST:
                raise self._wrong(f"one value of more than {LONGEST:,} characters")
            self._more()

    def items(self) -> Iterator[object]:
        """The values of a list, one at a time."""
        self.take("[")
        if self.peek() == "]":
            self.take("]")
            return
        while True:
            yield self.value()
            if self.take(",]") == "]":
                return

    def members(self) -> Iterator[str]:
        """The keys of an object. The caller takes each value before it asks for the next key."""
        self.take("{")
        if self.peek() == "}":
            self.take("}")
            return
        while True:
            key = self.value()
            if not isinstance(key, str):
                raise self._wrong("a key that is no text")
            self.take(":")
            yield key
            if self.take(",}") == "}":
                return

    def finish(self) -> None:
        """Nothing may follow."""
        if self.peek():
            raise self._wrong("more text after the end of the JSON value")

    def cut(self) -> CheckFailed:
        return CheckFailed(f"{self._name} ended early, in the middle of its JSON")

    def _wrong(self, what: str) -> CheckFailed:
        where = self._passed + self._at
        return CheckFailed(f"{self._name} is not JSON: {what}, near character {where:,}")

    def _more(self) -> bool:
        """Read on; False when there is no more."""
        if self._ended:
            return False
        try:
            data = self._file.read(max(CHUNK, len(self._buffer) - self._at))
            text = self._text.decode(data, final=not data)
        except EOFError:
            raise CheckFailed(f"{self._name} ended early, in the middle of its packing") from None
        except (gzip.BadGzipFile, zlib.error) as problem:
            raise CheckFailed(f"{self._name} cannot be unpacked: {problem}") from None
        except UnicodeDecodeError as problem:
            where = f"near character {self._passed + len(self._buffer):,}"
            raise CheckFailed(
                f"{self._name} is not UTF-8 text, {where}: {problem.reason}"
            ) from None
        self._ended = not data
        self._passed += self._at
        self._buffer = self._buffer[self._at :] + text
        self._at = 0
        return bool(data)


def find_all(value: object, wanted: Callable[[str], bool], depth: int = 4) -> Iterator[object]:
    """Values of members whose key is wanted, in objects and lists down to `depth`."""
    if depth and isinstance(value, dict):
        for key, item in value.items():
            if wanted(key):
                yield item
            yield from find_all(item, wanted, depth - 1)
    elif depth and isinstance(value, list):
        for item in value[:1000]:
            yield from find_all(item, wanted, depth - 1)
