"""Roles: the `{name}` texts of the prose, each a function from its text to HTML."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING

from report.errors import did_you_mean
from report.ladder import Rung
from report.notation import render
from report.pages.anchors import relative
from report.pages.desk import Claim, Known, Stated
from report.units import Quantity, parse_unit

if TYPE_CHECKING:
    from report.pages.prose import Galley

KINDS: Mapping[str, str] = {
    "measured": "measured by a recorded run",
    "computed": "computed from its inputs",
    "documented": "documented by a dated source",
    "estimated": "estimated, for instance by the compiler",
    "given": "given: chosen for an example",
}


RUNGS: Mapping[Rung, str] = {
    Rung.REQUESTED: "what the program asks for",
    Rung.STABLEHLO: "the program as handed to the compiler",
    Rung.OPTIMIZED_HLO: "the program after the compiler’s own rewriting",
    Rung.MATRIX_INSTRUCTION: "what the compiler’s schedule gives the matrix unit; nothing was run",
    Rung.MEASURED_ON_DEVICE: "seen in a profile of the device",
}

WANTED_UNITS: Mapping[str, str] = {
    **dict.fromkeys(("percent", "error", "power_of_two"), ""),
    **{"bytes": "B", "seconds": "s", "decibel": "dB"},
}
"""The unit that a recorded or derived number must have for a format; others take any."""


class RoleFault(ValueError):
    """A role used wrongly: what was found, and what to write instead."""

    def __init__(self, summary: str, hint: str = "") -> None:
        self.summary, self.hint = summary, hint
        super().__init__(summary)


@dataclass(frozen=True, slots=True, kw_only=True)
class Use:
    """One use of a role: its text, and the page it stands on."""

    text: str
    galley: Galley


def set_value(use: Use) -> str:
    """`POINTER; format`: the value as printed, linked to the place that shows where it is from."""
    claim, value = _claimed(use)
    href = relative(use.galley.desk.values.resolve_href(claim.pointer), use.galley.page)
    title = f"{value.kind}: {value.reason or claim.pointer}"
    words = " words" if claim.format == "text" else ""
    return (
        f'<a class="v {value.kind}{words}" id="{claim.id}" href="{escape(href)}"'
        f' title="{escape(title)}">{escape(claim.text)}</a>'
    )


def set_number(use: Use) -> str:
    """The same without a link or a mark, in a text that tells by itself what kind it is."""
    claim, _ = _claimed(use)
    return f'<span class="v part" id="{claim.id}">{escape(claim.text)}</span>'


def _claimed(use: Use) -> tuple[Claim, Known]:
    """What is printed, which joins what the page claims, and the value behind it."""
    galley = use.galley
    pointer, found, spelling = (part.strip() for part in use.text.rpartition(";"))
    if not found or not spelling:
        raise RoleFault(f"value {use.text!r} has no format", "write {value}`pointer; format`")
    value = galley.desk.values.lookup(pointer)
    text = render(value.printable, spelling, reason=value.reason)
    wanted = _wanted_unit(spelling, value.unit)
    if not isinstance(value.printable, Quantity) and value.unit != wanted:
        raise RoleFault(
            f"{spelling} prints {_in_unit(wanted)}, and {pointer!r} is {_in_unit(value.unit)}",
            "use fixed(n), or point at another value",
        )
    return galley.claim(pointer, spelling, text), value


def set_claim(use: Use) -> str:
    """`words; POINTER`: a statement about arithmetic, refused unless its evidence bears it."""
    galley = use.galley
    words, found, pointer = (part.strip() for part in use.text.partition(";"))
    if not found or not pointer:
        raise RoleFault(f"claim {use.text!r} names no evidence", "write {claim}`words; pointer`")
    rung = galley.desk.values.hold(words, pointer)
    stated = Stated(
        page=galley.page,
        id=f"s-{len(galley.statements) + 1}",
        pointer=pointer,
        level=rung.slug,
        text=words,
    )
    galley.statements.append(stated)
    href = relative(galley.desk.values.place_of(pointer), galley.page)
    return (
        f'<a class="claim" id="{stated.id}" href="{escape(href)}"'
        f' title="{escape(pointer)}">{escape(words)}</a>'
        f' <span class="rung" title="{escape(RUNGS[rung])}">{rung.words}</span>'
    )


def set_given(use: Use) -> str:
    if not use.text:
        raise RoleFault("given holds nothing", "write what is given: {given}`3`")
    return f'<span class="v given" title="{KINDS["given"]}">{escape(use.text)}</span>'


def set_ref(use: Use) -> str:
    """`kind:name`: a link that prints the place's own name."""
    anchor = use.galley.desk.anchors.find(use.text, use.galley.page)
    href = relative(anchor.href, use.galley.page)
    return f'<a class="ref" href="{escape(href)}">{escape(anchor.label)}</a>'


def set_term(use: Use) -> str:
    """A glossary term, or `words <term>`: its definition stands at the foot of the page."""
    text, found, key = use.text.partition(" <")
    wanted = key.removesuffix(">") if found else text
    terms = use.galley.desk.terms
    name = next((n for n in _forms(wanted) if n in terms), None)
    if name is None:
        raise RoleFault(f"no term is called {wanted!r}", did_you_mean(wanted.lower(), terms))
    anchor = terms[name]
    use.galley.terms.setdefault(name, anchor)
    return f'<a class="term" href="#{anchor}">{escape(text)}</a>'


def set_kbd(use: Use) -> str:
    return f"<kbd>{escape(use.text)}</kbd>"


ROLES: Mapping[str, Callable[[Use], str]] = {
    "value": set_value,
    "number": set_number,
    "claim": set_claim,
    "given": set_given,
    "ref": set_ref,
    "term": set_term,
    "kbd": set_kbd,
}


def _wanted_unit(spelling: str, otherwise: str) -> str:
    """What a plain number must count for a format; `quantity(GB, 1)` wants bytes."""
    name, _, arguments = spelling.partition("(")
    if name == "quantity":
        return parse_unit(arguments.partition(",")[0].strip()).base
    return WANTED_UNITS.get(name, otherwise)


def _in_unit(unit: str) -> str:
    return f"a number of {unit}" if unit else "a number without a unit"


def _forms(term: str) -> tuple[str, ...]:
    """A term as the glossary may have it: in lower case, and without a plural s."""
    folded = " ".join(term.lower().split())
    return (folded, folded.removesuffix("s"), folded.removesuffix("es"))
