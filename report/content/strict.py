"""YAML as people mean it: a small, strict part of the language, with the line of every value.

Mappings, lists, text, whole and decimal numbers, true, false, null and dates. What YAML 1.1
would read in a surprising way (`no`, `010`, `12:30`, `1e3`, an anchor, a tag, a key twice)
is refused with its line and what to write instead. Built from parser events, so that
nothing is constructed, resolved or followed.
"""

import math
import re
from dataclasses import dataclass
from datetime import date

import yaml

from report.errors import Fault

MAX_BYTES = 1 << 20
MAX_DEPTH = 16
MAX_NODES = 20_000

Scalar = str | int | float | bool | date | None
Value = Scalar | list["Node"] | dict[str, "Node"]

_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)

_WORDS = {"null", "true", "false", "yes", "no", "on", "off"}
_NULL = re.compile(r"|~|null")
_INTEGER = re.compile(r"-?(?:0|[1-9][0-9]{0,29})")
_DECIMAL = re.compile(r"-?(?:0|[1-9][0-9]{0,29})\.[0-9]{1,30}(?:e[-+][0-9]{1,3})?")
_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_DOTTED = re.compile(r"[0-9]+(?:\.[0-9]+){2,}")
_POWER = re.compile(r"([-+]?[0-9]+)(\.[0-9]+)?[eE]([-+]?)([0-9]+)")
_DOUBTFUL = [
    (re.compile(r"(?i)null|true|false"), "Write it in lower case, or in quotes if it is text."),
    (re.compile(r"(?i)yes|no|on|off"), "Write true or false, or put it in quotes."),
    (re.compile(r"[-+]?0[0-9_]+|0[xob][0-9a-fA-F_]+"), "Write it in decimal, or in quotes."),
    (re.compile(r"[-+]?[0-9][0-9_]*(?::[0-9_.]+)+"), "Put it in quotes; YAML may read a number."),
    (re.compile(r"[0-9]{4}-[0-9]{1,2}-[0-9]{1,2}.*"), "Write a date as 2026-01-31, or quote it."),
    (re.compile(r"[-+]?\.?[0-9][0-9_.,]*(?:[eE][-+]?[0-9]*)?"), "Write 1234 or 12.5, or quote it."),
    (re.compile(r"(?i)[-+]?\.(?:inf|nan)"), "A number must be finite."),
    (re.compile(r"<<|="), "Put it in quotes."),
]


@dataclass(frozen=True, slots=True)
class Node:
    """A value and the line it starts on, counted from one."""

    value: Value
    line: int


def read_yaml(text: str, file: str, faults: list[Fault], *, first_line: int = 1) -> Node | None:
    """The one document in `text`, or `None` with what is wrong added to `faults`."""
    before = len(faults)
    builder = _Builder(file, faults, first_line)
    try:
        for event in yaml.parse(text, Loader=_LOADER):
            if not builder.take(event):
                break
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark
        builder.fault(
            0 if mark is None else mark.line, f"this is not YAML: {error.problem or error.context}"
        )
    except yaml.YAMLError as error:
        line = text.count("\n", 0, getattr(error, "position", 0))
        builder.fault(line, f"this is not YAML: {str(error).splitlines()[0]}")
    if len(faults) == before and builder.root is None:
        builder.fault(0, "the document is empty")
    return builder.root if len(faults) == before else None


class _Builder:
    """Turns parser events into nodes, keeping an explicit stack instead of recursing."""

    def __init__(self, file: str, faults: list[Fault], first_line: int) -> None:
        self.root: Node | None = None
        self._file, self._faults, self._first_line = file, faults, first_line
        self._open: list[tuple[Node, Node | None]] = []
        """Containers being filled, each with the key that waits for its value."""
        self._nodes = 0
        self._told: set[Fault] = set()

    def take(self, event: yaml.Event) -> bool:
        """Add `event`; false when reading on is pointless."""
        line = event.start_mark.line if event.start_mark else 0
        if isinstance(event, yaml.DocumentStartEvent):
            if event.version or event.tags:
                self.fault(line, "a YAML directive", remedy="Remove the line that starts with %.")
            if self.root is not None:
                self.fault(line, "a second document", remedy="Keep one document in a file.")
                return False
        elif isinstance(event, yaml.AliasEvent):
            self.fault(line, f"the alias *{event.anchor}", remedy="Write the value out.")
            self._add(Node(None, self._line(line)))
        elif isinstance(event, yaml.NodeEvent):
            return self._node(event, line)
        elif isinstance(event, yaml.MappingEndEvent | yaml.SequenceEndEvent):
            self._open.pop()
        return True

    def fault(self, line: int, found: str, *, expected: str = "", remedy: str = "") -> None:
        where = f"{self._file}:{self._line(line)}"
        fault = Fault(where=where, found=found, expected=expected, remedy=remedy)
        if fault not in self._told:
            self._told.add(fault)
            self._faults.append(fault)

    def _line(self, line: int) -> int:
        return line + self._first_line

    def _node(self, event: yaml.NodeEvent, line: int) -> bool:
        self._nodes += 1
        if self._nodes > MAX_NODES or len(self._open) >= MAX_DEPTH:
            self.fault(
                line,
                "too much of it" if self._nodes > MAX_NODES else "nested too deep",
                expected=f"at most {MAX_NODES} values and {MAX_DEPTH} levels",
            )
            return False
        if event.anchor:
            self.fault(line, f"the anchor &{event.anchor}", remedy="Write the value out.")
        tag = getattr(event, "tag", None)
        if tag:
            self.fault(line, f"the tag {tag}", remedy="Remove it; values need no tags.")
        if isinstance(event, yaml.ScalarEvent):
            self._add(Node(self._scalar(event, line), self._line(line)))
        else:
            node = Node({} if isinstance(event, yaml.MappingStartEvent) else [], self._line(line))
            self._add(node)
            self._open.append((node, None))
        return True

    def _add(self, node: Node) -> None:
        """Put `node` where it belongs: as the root, in a list, as a key or as a value."""
        if not self._open:
            self.root = node
            return
        container, key = self._open[-1]
        if isinstance(container.value, list):
            container.value.append(node)
        elif isinstance(container.value, dict) and key is None:
            if not isinstance(node.value, str):
                self.fault(
                    node.line - self._first_line,
                    f"a key that is not text: {describe(node.value)}",
                    remedy="Put the key in quotes.",
                )
                node = Node(describe(node.value), node.line)
            self._open[-1] = (container, node)
        elif isinstance(container.value, dict) and key is not None and isinstance(key.value, str):
            earlier = container.value.get(key.value)
            if earlier is not None:
                self.fault(
                    key.line - self._first_line,
                    f"the key {key.value!r} a second time",
                    expected=f"once; its value is already on line {earlier.line}",
                )
            else:
                container.value[key.value] = node
            self._open[-1] = (container, None)

    def _scalar(self, event: yaml.ScalarEvent, line: int) -> Scalar:
        text: str = event.value
        if event.style:  # in quotes, or a block
            return text
        if text[:1].isalpha() and text.lower() not in _WORDS:  # most of what people write
            return text
        if _NULL.fullmatch(text):
            return None
        if text in ("true", "false"):
            return text == "true"
        if _INTEGER.fullmatch(text):
            return int(text)
        if _DECIMAL.fullmatch(text) and math.isfinite(float(text)):
            return float(text)
        if _DATE.fullmatch(text):
            try:
                return date.fromisoformat(text)
            except ValueError:
                self.fault(line, f"{text}, which is no day of the calendar")
                return None
        if power := _POWER.fullmatch(text):
            whole, fraction, sign, exponent = power.groups()
            plain = f"{whole}{fraction or '.0'}e{sign or '+'}{exponent}"
            self.fault(
                line,
                f"{text}, which YAML reads as text",
                expected="a number, or text in quotes",
                remedy=f"Write {plain}, or put it in quotes if it is text.",
            )
            return None
        if _DOTTED.fullmatch(text):
            remedy = "Write a date as 2026-01-31; put anything else in quotes."
            self.fault(line, f"{text}, which is neither a number nor a date", remedy=remedy)
            return None
        for pattern, remedy in _DOUBTFUL:
            if pattern.fullmatch(text):
                self.fault(line, f"{text}, which readers of YAML take differently", remedy=remedy)
                return None
        return text


def describe(value: Value) -> str:
    """A value as a fault names it."""
    if isinstance(value, list):
        return "a list"
    if isinstance(value, dict):
        return "a mapping"
    if value is None:
        return "nothing"
    shown = repr(value) if isinstance(value, str) else str(value)
    return shown if len(shown) <= 60 else f"{shown[:57]}…"
