"""What the keys of a pointer mean, by the schema of the record that it points into."""

from collections.abc import Mapping, Sequence
from typing import Protocol

from report.exhibit import Kind
from report.numbers import (
    compiled_pointers,
    own_pointers,
    precision_pointers,
    replay_pointers,
    representations_pointers,
    sweep_pointers,
    timing_pointers,
)


class Grammar(Protocol):
    """Three functions that each such module has. `part` is empty for report.json itself."""

    def kind(self, document: str, keys: Sequence[str], /) -> Kind:
        """How the value came to be. `document` is a pointer's part before its #."""

    def unit(self, keys: Sequence[str], /) -> str:
        """The unit of a number; empty for a ratio, a count or a text."""

    def section(self, part: str, keys: Sequence[str], /) -> str:
        """The place on the record's page that shows it. `part` is such as `environment`."""


_GRAMMARS: Mapping[object, Grammar] = {
    "assay/precision/1": precision_pointers,
    "assay/preflight/1": compiled_pointers,
    "assay/representations/1": representations_pointers,
    "assay/replay/1": replay_pointers,
    "assay/sweep/1": sweep_pointers,
    "assay/timing/1": timing_pointers,
}


def grammar_of(schema: object) -> Grammar:
    """That of the schema, or of a lab that is not known here."""
    return _GRAMMARS.get(schema, own_pointers)
