"""A mapping taken apart key by key: each value with its type, and every fault at once.

A method that finds a fault notes it and returns a stand-in, so that reading goes on; whoever
made the form raises when `faults` is not empty, so a stand-in never leaves this package.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import date
from typing import Final, TypeVar

from report.content.strict import Node, describe
from report.content.typed import typed_numbers
from report.errors import Fault, ReportError, did_you_mean

_T = TypeVar("_T")
_EPOCH = date(1970, 1, 1)
_ROLE = re.compile(r"\{[a-z]+\}`[^`]*`?")
MAX_INTEGER: Final = 10**18
_SAY_IT = (
    "Say it in words, and print the number below: {value}`pointer; format`, or {given}`…` if you "
    "chose it. A version may be written v3.1 or Llama-3.1."
)


class Form:
    """One mapping of one file. `path` is where it lies, such as `specs.peak_bf16`."""

    def __init__(self, node: Node, file: str, faults: list[Fault], path: str = "") -> None:
        self.line, self._file, self._faults, self._path = node.line, file, faults, path
        self._before = len(faults)
        self._taken: set[str] = set()
        self._entries: dict[str, Node] = {}
        if isinstance(node.value, dict):
            self._entries = node.value
        else:
            self.fault(node.line, "", f"{describe(node.value)}", "a mapping of keys to values")

    def __contains__(self, key: str) -> bool:
        return key in self._entries

    def __iter__(self) -> Iterator[str]:
        return iter(self._entries)

    @property
    def sound(self) -> bool:
        """No fault was noted, here or in another form, since this one was opened."""
        return len(self._faults) == self._before

    def text(self, key: str, default: str | None = None) -> str:
        """Text that is not blank; a missing key gives `default`, if there is one."""
        node = self._take(key, optional=default is not None)
        if node is None:
            return default or ""
        if not isinstance(node.value, str) or not node.value.strip():
            hint = f'Write "{node.value}".' if isinstance(node.value, int | float) else ""
            self.fault(node.line, key, describe(node.value), "text", hint)
            return ""
        return node.value.strip()

    def plain(self, key: str, default: str | None = None) -> str:
        """Text that is printed as it stands, in which no role is read and no number is typed."""
        text = self.text(key, default)
        self.check_plain(text, self.line_of(key), key)
        return text

    def check_plain(self, text: str, line: int, key: str = "") -> None:
        """Note what `text`, which is printed as it stands, must not hold."""
        if role := _ROLE.search(text):
            found = f"{role[0]}, which is printed as it stands here"
            self.fault(line, key, found, "plain text", _SAY_IT)
        for number in typed_numbers(_ROLE.sub("", text)):
            found = f"the number {number[0]!r} is typed"
            self.fault(line, key, found, "words, and numbers of names, shapes and dates", _SAY_IT)

    def text_or_none(self, key: str) -> str | None:
        """Text, or `None` where the file says null or nothing."""
        if key not in self._entries or self._entries[key].value is None:
            self._taken.add(key)
            return None
        return self.text(key)

    def integer(self, key: str, *, minimum: int = 0, maximum: int = MAX_INTEGER) -> int:
        node = self._take(key)
        if node is None:
            return minimum
        value = node.value
        if isinstance(value, bool) or not isinstance(value, int) or not minimum <= value <= maximum:
            expected = f"a whole number, at least {minimum:,}"
            if maximum < MAX_INTEGER:
                expected = f"a whole number from {minimum:,} to {maximum:,}"
            self.fault(node.line, key, describe(value), expected)
            return minimum
        return value

    def number(self, key: str) -> int | float:
        node = self._take(key)
        if node is None:
            return 0
        if isinstance(node.value, bool) or not isinstance(node.value, int | float):
            self.fault(node.line, key, describe(node.value), "a number")
            return 0
        return node.value

    def day(self, key: str) -> date:
        node = self._take(key)
        if node is None:
            return _EPOCH
        if not isinstance(node.value, date):
            self.fault(node.line, key, describe(node.value), "a date, such as 2026-01-31")
            return _EPOCH
        return node.value

    def choice(self, key: str, allowed: Sequence[str]) -> str:
        node = self._take(key)
        if node is None:
            return allowed[0]
        if node.value not in allowed or not isinstance(node.value, str):
            self.fault(node.line, key, describe(node.value), f"one of {', '.join(allowed)}")
            return allowed[0]
        return node.value

    def texts(self, key: str, *, optional: bool = False) -> tuple[str, ...]:
        """A list of texts."""
        return tuple(str(value) for value in self._list(key, str, "texts", optional=optional))

    def integers(self, key: str) -> tuple[int, ...]:
        """A list of whole numbers above zero."""
        found = self._list(key, int, "whole numbers above zero")
        return tuple(value for value in found if isinstance(value, int) and value > 0)

    def form(self, key: str) -> "Form":
        """A mapping inside this one."""
        node = self._take(key)
        if node is None:
            return Form(Node({}, self.line), self._file, [], self._at(key))
        return Form(node, self._file, self._faults, self._at(key))

    def forms(self, key: str) -> list["Form"]:
        """A list of mappings; a missing key is an empty list."""
        node = self._take(key, optional=True)
        if node is None:
            return []
        return entries(node, self._file, self._faults, self._at(key))

    def line_of(self, key: str) -> int:
        return self._entries[key].line if key in self._entries else self.line

    def is_null(self, key: str) -> bool:
        """Whether `key` is there and says null; it counts as read."""
        if key in self._entries and self._entries[key].value is None:
            self._taken.add(key)
            return True
        return False

    def read(self, key: str, parse: Callable[[str], _T], instead: _T) -> _T:
        """Text understood by `parse`; its refusal becomes a fault here."""
        text = self.text(key)
        try:
            return parse(text) if text else instead
        except ReportError as error:
            self.fault(self.line_of(key), key, error.summary, remedy=error.hint)
            return instead

    def close(self) -> None:
        """Refuse every key that nobody asked for."""
        for key, node in self._entries.items():
            if key not in self._taken:
                hint = did_you_mean(key, self._taken)
                self.fault(node.line, "", f"the unknown key {key!r}", remedy=hint)

    def unknown(self, key: str, name: str, known: Iterable[str]) -> None:
        """Note that the text under `key` names nothing known."""
        self.fault(
            self.line_of(key), key, f"the unknown name {name!r}", remedy=did_you_mean(name, known)
        )

    def fault(self, line: int, key: str, found: str, expected: str = "", remedy: str = "") -> None:
        where = f"{self._file}:{line} {self._at(key)}".rstrip()
        self._faults.append(Fault(where=where, found=found, expected=expected, remedy=remedy))

    def _at(self, key: str) -> str:
        return ".".join(part for part in (self._path, key) if part)

    def _take(self, key: str, *, optional: bool = False) -> Node | None:
        self._taken.add(key)
        node = self._entries.get(key)
        if node is None and not optional:
            self.fault(self.line, "", f"the key {key!r} is missing")
        return node

    def _list(self, key: str, kind: type, of: str, *, optional: bool = False) -> list[object]:
        node = self._take(key, optional=optional)
        if node is None:
            return []
        items = node.value if isinstance(node.value, list) else [node]
        if optional and all(item.value is None for item in items):
            return []
        wrong = [item for item in items if type(item.value) is not kind or item.value in ("", 0)]
        if not isinstance(node.value, list) or wrong or not items:
            found = ", ".join(describe(item.value) for item in wrong or items) or "an empty list"
            self.fault(node.line, key, found, f"a list of {of}")
            return []
        return [item.value for item in items]


def entries(node: Node, file: str, faults: list[Fault], path: str = "") -> list[Form]:
    """The mappings that the list `node` holds."""
    if not isinstance(node.value, list):
        where = f"{file}:{node.line} {path}".rstrip()
        faults.append(Fault(where=where, found=describe(node.value), expected="a list of mappings"))
        return []
    return [
        Form(item, file, faults, f"{path}.{index}".lstrip("."))
        for index, item in enumerate(node.value)
    ]
