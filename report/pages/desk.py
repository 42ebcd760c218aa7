"""What every page shares while it is set: places, values, terms, exhibits, and what it claims."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from report.exhibit import Table
from report.ladder import Rung
from report.notation import Printable
from report.pages.anchors import AnchorKind, Anchors

if TYPE_CHECKING:
    from report.pages.prose import Galley


class Pieces(Protocol):
    """The macros of the templates that prose needs; each returns markup."""

    def equation(self, **context: object) -> str: ...
    def code(self, **context: object) -> str: ...
    def note(self, **context: object) -> str: ...
    def checkpoint(self, **context: object) -> str: ...
    def aside(self, **context: object) -> str: ...


class Exhibits(Protocol):
    """Sets a figure or a table on a page; knows which there are."""

    def names(self, kind: AnchorKind) -> Sequence[str]: ...
    def table(self, name: str) -> Table: ...
    def place(self, kind: AnchorKind, name: str, number: int, galley: "Galley") -> str: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Heading:
    level: int
    id: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """One printed value: which element of which page says what about which pointer."""

    page: str
    id: str
    pointer: str
    format: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Stated:
    """One statement about arithmetic: which element of which page, on what, at which level."""

    page: str
    id: str
    pointer: str
    level: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Desk:
    """What all pages share while they are set."""

    anchors: Anchors
    values: "Lookup"
    terms: Mapping[str, str]
    """Anchor on the glossary page, by the term in lower case."""
    pieces: Pieces
    exhibits: Exhibits


class Lookup(Protocol):
    """Finds the value behind a pointer; `report.numbers.values.Values` does."""

    def lookup(self, pointer: str) -> "Known": ...
    def resolve_href(self, pointer: str) -> str: ...
    def place_of(self, pointer: str) -> str: ...
    def hold(self, words: str, pointer: str) -> Rung: ...


class Known(Protocol):
    """The parts of a value that prose prints."""

    @property
    def printable(self) -> Printable: ...
    @property
    def kind(self) -> str: ...
    @property
    def unit(self) -> str: ...
    @property
    def reason(self) -> str: ...
