"""Every number a page may print, by its pointer: what it is, how it came to be, where it is shown.

`<record>#/…` points into a run's report, `<record>/environment#/…` into another of its
documents, `chips#/`, `formats#/` and `models#/` into what people wrote, and `study#/…`
at what was worked out from all of them.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal

from report.errors import ContentFault, did_you_mean
from report.exhibit import Kind
from report.ladder import Rung
from report.numbers.grammar import Grammar, grammar_of
from report.numbers.statements import hold
from report.units import Quantity

Number = int | float | Decimal | str | None


class UnknownPointer(ContentFault):
    """A pointer at which nothing stands."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Value:
    """One number or text and its origin."""

    pointer: str
    number: Number
    kind: Kind
    unit: str = ""
    """The unit that `number` counts; empty for a ratio, a count or a text."""
    reason: str = ""
    """Why there is no number; empty when there is one."""
    formula: str = ""
    """How it was worked out, in TeX; empty when it was recorded, documented or given."""
    inputs: tuple[str, ...] = ()
    """Pointers of what went into the formula."""
    quantity: Quantity | None = None
    """The documented quantity, exact and in its source's unit."""

    @property
    def measure(self) -> int | float | None:
        """The number that a target is held against; a text, and what is missing, are none."""
        return self.number if isinstance(self.number, int | float) else None

    @property
    def printable(self) -> Number | Quantity:
        """What a number format takes: the quantity where there is one, else the number."""
        return self.quantity if self.quantity is not None else self.number


class Values(Mapping[str, Value]):
    """All values of one build. Iterating gives the known ones; a record's are found on demand."""

    def __init__(
        self,
        known: Mapping[str, Value],
        documents: Mapping[str, Mapping[str, object]],
        profile_page: str = "profiles/{}.html",
    ) -> None:
        """`known` by pointer; `documents` are recorded JSON, by the part of a pointer before #.

        `profile_page` is where a capture is shown, by the name of its record.
        """
        self._profile_page = profile_page
        self._known = dict(known)
        self._documents = dict(documents)

    def __getitem__(self, pointer: str) -> Value:
        return self.lookup(pointer)

    def __contains__(self, pointer: object) -> bool:
        return pointer in self._known

    def __iter__(self) -> Iterator[str]:
        return iter(self._known)

    def __len__(self) -> int:
        return len(self._known)

    @property
    def derived(self) -> tuple[Value, ...]:
        """Everything worked out, in the order it was, for the workings page."""
        return tuple(value for value in self._known.values() if value.formula)

    def lookup(self, pointer: str) -> Value:
        """The value at `pointer`, or UnknownPointer with near names."""
        if (found := self._known.get(pointer)) is not None:
            return found
        document, hash_mark, path = pointer.partition("#")
        if not hash_mark or not path.startswith("/"):
            raise UnknownPointer(
                f"{pointer!r} is not a pointer.", hint="Write it as document#/key/key."
            )
        if document in self._documents:
            return self._recorded(document, path)
        families = {known.partition("#")[0] for known in self._known}
        if document not in families:
            raise UnknownPointer(
                f"There is no document {document!r} for {pointer!r}.",
                hint=did_you_mean(document, families | self._documents.keys()),
            )
        raise UnknownPointer(
            f"There is no value at {pointer!r}.",
            hint=did_you_mean(pointer, (k for k in self._known if k.startswith(f"{document}#"))),
        )

    def records_of(self, pointer: str) -> set[str]:
        """The records that the value at `pointer` comes from, however it was worked out."""
        records = {document.partition("/")[0] for document in self._documents}
        found, left = set(), {pointer}
        while left:
            here = left.pop()
            found.add(here)
            left |= set(self._known[here].inputs if here in self._known else ()) - found
        return {part for each in found for part in re.split("[#/]+", each)} & records

    def resolve_href(self, pointer: str) -> str:
        """The place on the site, relative to its root, where the value at `pointer` is shown."""
        self.lookup(pointer)
        return self.place_of(pointer)

    def place_of(self, pointer: str) -> str:
        """The same for whatever stands at `pointer`, one value or several."""
        document, _, path = pointer.partition("#/")
        keys = path.split("/")
        if document in {"chips", "formats"}:
            return f"{document}.html#{keys[0]}"
        if document in self._documents:
            record, _, part = document.partition("/")
            if part == "trace":
                return f"{self._profile_page.format(record)}#{_PARTS.get(keys[0], 'files')}"
            return f"records/{record}.html#{self._grammar(record).section(part, keys)}"
        return worked_at(pointer)

    def hold(self, words: str, pointer: str) -> Rung:
        """The level on which `words` stand at `pointer`, or ContentFault when they do not."""
        return hold(words, pointer, self).rung

    def recorded_object(self, pointer: str) -> tuple[list[str], Mapping[str, object]]:
        """The keys and the recorded object at `pointer`, or UnknownPointer with near names."""
        document, _, path = pointer.partition("#")
        if document not in self._documents or not path.startswith("/"):
            raise UnknownPointer(
                f"{pointer!r} points into no record.",
                hint=did_you_mean(document, self._documents),
            )
        keys, here, _ = self._walk(document, path)
        if not isinstance(here, dict):
            raise UnknownPointer(f"{pointer} is one value.", hint="Point at what holds it.")
        return keys, here

    def _recorded(self, document: str, path: str) -> Value:
        keys, here, parent = self._walk(document, path)
        if isinstance(here, list) and not any(isinstance(item, dict | list) for item in here):
            here = f"{len(here):,} values"
        if isinstance(here, dict | list):
            raise UnknownPointer(
                f"{document}#{path} holds several values.",
                hint=f"Point at one of them. {_nearest('', here)}",
            )
        reason = ""
        if here is None:
            said = parent.get(f"{keys[-1]}_reason") if isinstance(parent, dict) else None
            reason = said if isinstance(said, str) and said else "the lab recorded none"
        grammar = self._grammar(document.partition("/")[0])
        return Value(
            pointer=f"{document}#{path}",
            number=_number(here),
            kind=grammar.kind(document, keys),
            unit=grammar.unit(keys),
            reason=reason,
        )

    def _grammar(self, record: str) -> Grammar:
        return grammar_of(self._documents.get(record, {}).get("schema"))

    def _walk(self, document: str, path: str) -> tuple[list[str], object, object]:
        """The keys of `path`, what stands there, and what holds it."""
        keys = [key.replace("~1", "/").replace("~0", "~") for key in path[1:].split("/")]
        here: object = self._documents[document]
        parent: object = None
        for depth, key in enumerate(keys):
            parent, inner = here, _step(here, key)
            if inner is None:
                walked = "".join(f"/{part}" for part in keys[:depth])
                raise UnknownPointer(
                    f"There is no {key!r} at {document}#{walked or '/'}.",
                    hint=_nearest(key, here),
                )
            here = inner[0]
        return keys, here, parent


_PARTS = {
    **dict.fromkeys(("planes", "device_planes", "findings", "clocks"), "qualification"),
    **dict.fromkeys(("steps", "steps_summary", "window"), "steps"),
    **dict.fromkeys(("lines", "lanes"), "lanes"),
    **dict.fromkeys(("operations", "totals"), "operations"),
    **dict.fromkeys(("gaps", "gaps_summary"), "gaps"),
}
"""The section of a profile's page that shows a part of its summary; the others: its files."""


def anchor(pointer: str) -> str:
    """A pointer as an element id: `study#/kv_cache/bf16/bytes` is `study-kv-cache-bf16-bytes`."""
    return re.sub(r"[^a-z0-9.]+", "-", pointer.lower()).strip("-")


def worked_at(pointer: str) -> str:
    """The place on the site that shows how a derived value was worked out."""
    return f"workings.html#{anchor(pointer)}"


def _step(here: object, key: str) -> tuple[object] | None:
    """What stands under `key`, in a tuple so that null is told from nothing."""
    if isinstance(here, dict) and key in here:
        return (here[key],)
    if isinstance(here, list) and key.isdecimal() and int(key) < len(here):
        return (here[int(key)],)
    return None


def _nearest(key: str, here: object) -> str:
    if isinstance(here, list):
        return f"Its values are numbered 0 to {len(here) - 1}."
    return did_you_mean(key, map(str, here)) if isinstance(here, dict) else "It is one value."


def _number(here: object) -> Number:
    if isinstance(here, bool):
        return "yes" if here else "no"
    return here if isinstance(here, int | float | str) else None
