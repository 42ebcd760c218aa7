"""Reading a lab's JSON into typed values: every missing or ill-typed field told at once."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeGuard, TypeVar, cast

from report.errors import EvidenceMismatch, Fault

SMALLEST, LARGEST = 1e-60, 1e60
"""Bounds of what a run can measure: FP32 itself ends at 1.4e-45 and 3.4e38."""

MAX_WORDS = 1_000
"""Characters of one text that is printed as it is."""

_ABSENT = object()
_Empty = TypeVar("_Empty")


@dataclass(slots=True)
class Fields:
    """One JSON object and the place it stands, with the faults found so far in its document.

    A field that is wrong is noted and read as an empty value; `finish` then refuses the
    whole document, so no empty value is ever used.
    """

    found: Mapping[str, object]
    where: str
    faults: list[Fault] = field(default_factory=list)

    def text(self, key: str) -> str:
        value = self._get(key)
        return value if isinstance(value, str) else self._wrong(key, value, "a text", "")

    def name(self, key: str) -> str:
        """A text on one line that says something."""
        value = self._get(key)
        if isinstance(value, str) and value.strip() and value.isprintable() and len(value) <= 200:
            return value
        return self._wrong(key, value, "a name on one line, at most 200 characters", "")

    def words(self, key: str) -> str:
        """A text on one line, which may be empty; "" for null as well."""
        value = self._get(key)
        if value is None:
            return ""
        if (
            isinstance(value, str)
            and len(value) <= MAX_WORDS
            and (not value or value.isprintable())
        ):
            return value
        return self._wrong(key, value, f"a text on one line, at most {MAX_WORDS} characters", "")

    def flag(self, key: str) -> bool:
        value = self._get(key)
        return value if isinstance(value, bool) else self._wrong(key, value, "true or false", False)

    def count(self, key: str) -> int:
        """A whole number of at least zero."""
        value = self._get(key)
        if isinstance(value, int) and not isinstance(value, bool) and value >= 0:
            return value
        return self._wrong(key, value, "a whole number, zero or more", 0)

    def integer(self, key: str) -> int:
        """A whole number, also below zero."""
        value = self._get(key)
        return value if type(value) is int else self._wrong(key, value, "a whole number", 0)

    def optional_count(self, key: str) -> int | None:
        """A whole number of at least zero, or None where it says null."""
        return None if key in self.found and self.found[key] is None else self.count(key)

    def optional_flag(self, key: str) -> bool | None:
        """True or false, or None where it says null."""
        return None if key in self.found and self.found[key] is None else self.flag(key)

    def number(self, key: str) -> float:
        """A finite number of at least zero."""
        value = self._get(key)
        if _finite(value) and value >= 0:
            return float(value)
        return self._wrong(key, value, "a finite number, zero or more", 0.0)

    def optional_number(self, key: str) -> tuple[float | None, str]:
        """A finite number and "", or None and the reason that must stand beside it."""
        value = self._get(key)
        if value is None:
            return None, self.name(f"{key}_reason")
        if _finite(value):
            return float(value), ""
        return self._wrong(key, value, "a finite number, or null with a reason", None), ""

    def optional_text(self, key: str) -> str:
        """A text, or "" for null."""
        return self.text(key) if self._get(key) is not None else ""

    def choice(self, key: str, known: Sequence[str]) -> str:
        """One of `known`."""
        value = self._get(key)
        if isinstance(value, str) and value in known:
            return value
        return self._wrong(key, value, f"one of {', '.join(known)}", known[0])

    def numbers(self, key: str) -> tuple[float, ...]:
        value = self._get(key)
        if isinstance(value, list) and all(map(_finite, value)):
            return tuple(float(item) for item in value)
        return self._wrong(key, value, "a list of finite numbers", ())

    def counts(self, key: str) -> tuple[int, ...]:
        value = self._get(key)
        if isinstance(value, list) and all(type(item) is int and item >= 0 for item in value):
            return tuple(value)
        return self._wrong(key, value, "a list of whole numbers", ())

    def texts(self, key: str) -> tuple[str, ...]:
        value = self._get(key)
        if isinstance(value, list) and all(isinstance(item, str) for item in value):
            return tuple(value)
        return self._wrong(key, value, "a list of texts", ())

    def lists(self, key: str) -> tuple[tuple[object, ...], ...]:
        """A list of lists."""
        value = self._get(key)
        if isinstance(value, list) and all(isinstance(item, list) for item in value):
            return tuple(map(tuple, value))
        return self._wrong(key, value, "a list of lists", ())

    def objects(self, key: str) -> "tuple[Fields, ...]":
        """The objects of a list; their faults are noted with this one's."""
        value = self._get(key)
        if not isinstance(value, list) or not all(isinstance(item, dict) for item in value):
            value = self._wrong(key, value, "a list of objects", [])
        return tuple(
            Fields(item, f"{self.where}/{key}/{index}", self.faults)
            for index, item in enumerate(value)
        )

    def within(self, key: str) -> "Fields":
        """The object under `key`; its faults are noted with this one's."""
        value = self._get(key)
        if not isinstance(value, dict):
            value = self._wrong(key, value, "an object", {})
        return Fields(cast("Mapping[str, object]", value), f"{self.where}/{key}", self.faults)

    def optional_within(self, key: str) -> "Fields | None":
        """The object under `key`, or None for null."""
        return self.within(key) if self._get(key) is not None else None

    def entries(self) -> "Iterator[tuple[str, Fields]]":
        """Each key, in order, with the object under it."""
        for key in self.found:
            yield key, self.within(key)

    def has(self, key: str) -> bool:
        """Whether `key` is there and not null."""
        return self.found.get(key) is not None

    def agree(self, key: str, expected: object, why: str) -> None:
        """Note a fault unless the value under `key` is `expected`, of the same type."""
        value = self._get(key)
        if type(value) is not type(expected) or value != expected:
            self._wrong(key, value, f"{expected!r:.60}, {why}", None)

    def fault(self, key: str, found: str, expected: str) -> None:
        self.faults.append(Fault(where=f"{self.where}/{key}", found=found, expected=expected))

    def finish(self, name: str, *, lab: str = "precision_profile") -> None:
        """Return when nothing was wrong, or refuse `name`, a run of `lab`, with every fault."""
        if self.faults:
            first = {fault.where: fault for fault in reversed(self.faults)}
            raise EvidenceMismatch(
                f"{name} is not a {lab.partition('_')[0]} run that this report can read:",
                reversed(first.values()),
                hint=f"Make it again: python build.py run {lab}",
            )

    def _get(self, key: str) -> object:
        return self.found.get(key, _ABSENT)

    def _wrong(self, key: str, value: object, expected: str, empty: _Empty) -> _Empty:
        self.fault(key, "missing" if value is _ABSENT else f"{value!r:.60}", expected)
        return empty


def _finite(value: object) -> TypeGuard[int | float]:
    """A number of a size that FP32 arithmetic can give, so that ratios of two are finite too."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        return False
    return value == 0 or SMALLEST <= abs(value) <= LARGEST
