"""What a page shows besides prose: figures and tables, each with its claim and its source.

Texts here (`title`, `reading`, `caption`, cell text) are plain sentences that may
use inline Markdown: code, emphasis, `$math$`, links. They carry no HTML.
"""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from report.notation import Printable, render
from report.source import Source

Kind = Literal["measured", "computed", "documented", "estimated", "given"]
"""How a number came to be. `estimated` includes a compiler's own figures: not measurements."""

Scalar = str | int | float | None

_MARKS = frozenset("\\`*_{}[]<>$~&:!#|\n")
_NUMBER = re.compile(r"\{number\}`([^`;]+); ([^`]+)`")


def literal(text: str) -> str:
    """Inline Markdown that prints `text` as it is: what a record says is never read as markup."""
    return "".join(f"&#{ord(char)};" if char in _MARKS else char for char in text)


def code(text: str) -> str:
    """The same in code type; a backtick would end it early, so such a text stays plain."""
    return f"`{text}`" if text and "`" not in text and "\n" not in text else literal(text)


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """One table cell: text as printed, and where its value comes from."""

    text: str
    kind: Kind | None = None
    href: str | None = None
    """A link for the cell, absolute https or relative to the site root."""
    note: str = ""
    """Smaller second line: the other source's value, a reason, a date."""
    pointer: str = ""
    """Where the printed value stands, and `format` how it prints: then a verifier can redo it."""
    format: str = ""
    bits: tuple[int, ...] = ()
    """Field widths of a number format (sign, exponent, fraction or integer), drawn as bits."""


def valued(
    pointer: str,
    number: Printable,
    spelling: str,
    kind: Kind,
    reason: str = "",
    *,
    href: str | None = None,
    note: str = "",
) -> Cell:
    """A number that a verifier can look up at `pointer`; a missing one needs its `reason`."""
    text = render(number, spelling, reason=reason)
    return Cell(text=text, kind=kind, pointer=pointer, format=spelling, href=href, note=note)


def number(pointer: str, spelling: str) -> str:
    """A number inside a longer text, such as `number(p, "integer") + " on v4"`.

    A verifier can look it up; the text around it, or the cell, tells what kind it is.
    """
    return f"{{number}}`{pointer}; {spelling}`"


def span(pointer: str, spelling: str = "fixed(3)") -> str:
    """Both ends of an interval, at a pointer with a place for `low` and for `high`."""
    low, high = (number(pointer.format(end), spelling) for end in ("low", "high"))
    return f"{low} to {high}"


def spoken(text: str, look_up: Callable[[str], Any]) -> str:
    """The text with each such number as it prints, for where no page sets it."""

    def told(found: re.Match[str]) -> str:
        value = look_up(found[1])
        return render(value.printable, found[2], reason=value.reason)

    return _NUMBER.sub(told, text)


def shown(text: str, kind: Kind | None = None) -> Cell:
    """Recorded text as it is, without its markup."""
    return Cell(text=literal(text), kind=kind)


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    head: str
    numeric: bool = False
    """Right-aligned with tabular figures."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """Rows under named columns; the first column names its row."""

    name: str
    title: str
    caption: str
    columns: tuple[Column, ...]
    rows: tuple[tuple[Cell, ...], ...]
    row_ids: tuple[str, ...] = ()
    """Anchors, one a row, so that a value in prose can link to its row; empty for none."""
    sources: tuple[Source, ...] = ()
    stack: bool = False
    """On a phone, print each row as a block instead of scrolling sideways."""


def table_of(
    name: str,
    title: str,
    heads: str,
    rows: Iterable[tuple[Cell, ...]],
    ids: Sequence[str] = (),
    *,
    caption: str = "",
    sources: tuple[Source, ...] = (),
    stack: bool = True,
) -> Table:
    """A table whose heads stand between bars; one that begins with > is numeric."""
    return Table(
        name=name,
        title=title,
        caption=caption,
        columns=tuple(
            Column(head=head.removeprefix(">"), numeric=head.startswith(">"))
            for head in heads.split("|")
        ),
        rows=tuple(rows),
        row_ids=tuple(ids),
        sources=sources,
        stack=stack,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Control:
    """One input of a live figure. `signal` is the Vega signal it drives."""

    signal: str
    label: str
    """Inline Markdown, such as `Rows of X, $m$`."""
    value: float | str
    minimum: float = 0
    maximum: float = 0
    step: float = 1
    log2: bool = False
    """The slider moves the exponent; the signal receives 2 to that power."""
    options: tuple[tuple[str, str], ...] = ()
    """(value, text) pairs: when given, the control is a select."""
    unit: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Live:
    """The same drawing as a Vega specification, redrawn when a reader moves a control."""

    wide: str
    narrow: str
    """Vega JSON; a string signal `summary` tells the state in words."""
    controls: tuple[Control, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Drawing:
    """One chart, drawn. The inline forms colour themselves through custom properties."""

    wide: str
    """Inline SVG, about 600 px, class `chart`; no `style=`, and each id starts with the name."""
    narrow: str
    """Inline SVG, about 330 px."""
    svg: bytes
    """Stand-alone SVG with real colours."""
    png: bytes
    vega_lite: bytes
    """The specification, JSON, with its data."""
    live: Live | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """A drawing with its finding, its reading, its reach and its numbers."""

    name: str
    title: str
    """A sentence that states the finding, with numbers worked out from the data."""
    reading: str
    """How to read the drawing, one or two sentences."""
    caption: str
    """How far the finding reaches, and what it does not show."""
    alt_text: str
    """The drawing in words, holding its numbers."""
    kind: Kind
    drawing: Drawing
    table: Table
    data: tuple[Mapping[str, Scalar], ...]
    """Full-precision rows, for CSV and JSON."""
    sources: tuple[Source, ...]
    draws: str = ""
    """The command that draws it again from a run folder, if it has one."""
