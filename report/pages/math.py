"""Formulas: TeX in, MathML Core out, strict, with nothing a page's policy would drop.

The converter marks alignment with `style` attributes, which the policy forbids;
they become classes here, and an unknown one is a fault rather than a lost style.
"""

import re
from functools import cache
from html import unescape
from xml.etree import ElementTree

from math_core import LatexError, LatexToMathML

MAX_LENGTH = 4000
MAX_DEPTH = 60

_CORE = frozenset(
    f"m{name}"
    for name in (
        *("ath", "action", "error", "frac", "i", "multiscripts", "n", "o", "over", "padded"),
        *("phantom", "prescripts", "root", "row", "s", "space", "sqrt", "style", "sub", "subsup"),
        *("sup", "table", "td", "text", "tr", "under", "underover"),
    )
)
_NAMED_CHARACTER = re.compile(r"&(?!lt;|gt;|amp;|quot;)\w+;")
"""HTML has names for characters, XML only for these four."""
_BANNED = re.compile(r"\\(href|url|includegraphics|html\w+|color|textcolor|colorbox|require)\b")
_BARE_PERCENT = re.compile(r"(?<!\\)(?:\\\\)*%")
_CLASS_OF_STYLE = {
    "text-align:right": "to-right",
    "text-align:left": "to-left",
    "text-align:center": "",
    "justify-items:end": "",
    "justify-items:start": "",
    "justify-items:center": "",
    "padding-left:0": "no-left",
    "padding-right:0": "no-right",
    "padding-left:1em": "wide-left",
}
_SPACING_ACCENT = {"\u0302": "ˆ", "^": "ˆ", "\u0303": "˜", "\u0304": "¯", "\u0307": "˙"}
_LOW_LINE, _OVERLINE = "\u0332", "‾"


class FormulaFault(ValueError):
    """A formula that cannot be set: what was found, and what to write instead."""

    def __init__(self, found: str, remedy: str = "") -> None:
        self.found, self.remedy = found, remedy
        super().__init__(found)


def to_mathml(tex: str, *, display: bool = False) -> str:
    """One `<math>` element. It carries its TeX as `data-tex`, so that it can be copied."""
    refuse(tex)
    try:
        markup = _converter().convert_with_local_state(tex, displaystyle=display)
    except LatexError as error:
        offset, _, reason = str(error).partition(": ")
        raise FormulaFault(f"formula, character {offset}: {reason.rstrip('.')}: {tex!r}") from error
    math = ElementTree.fromstring(_NAMED_CHARACTER.sub(lambda found: unescape(found[0]), markup))
    math.attrib = {"data-tex": tex} | ({"display": "block"} if display else {})
    for element in math.iter():
        _tidy(element, tex)
    return ElementTree.tostring(math, encoding="unicode")


def _tidy(element: ElementTree.Element, tex: str) -> None:
    """Make one element what browsers draw, checkers accept and the pages' policy keeps."""
    if element.tag not in _CORE:
        found = f"formula needs <{element.tag}>, which browsers do not draw: {tex!r}"
        raise FormulaFault(found)
    if style := element.attrib.pop("style", ""):
        element.set("class", _class_for(style, tex))
    if element.tag == "mtable":
        element.attrib.pop("scriptlevel", None)
    if element.tag == "mrow" and "displaystyle" in element.attrib:
        element.tag = "mstyle"
    if element.tag == "mover" and element.get("accent") == "true":
        _set_accent(element)


def _set_accent(mover: ElementTree.Element) -> None:
    """Chromium draws a combining accent into its letter; a spacing one stands above it."""
    base, accent = mover
    if accent.text == _LOW_LINE:
        accent.text = _OVERLINE
    elif base.tag in {"mi", "mn"} and len(base.text or "") <= 2:
        mover.attrib = {"class": "accent"}
        accent.attrib = {"stretchy": "false"}
        accent.text = _SPACING_ACCENT.get(accent.text or "", accent.text)


def _class_for(style: str, tex: str) -> str:
    classes = []
    for rule in filter(None, re.sub(r"\s*([:;])\s*", r"\1", style).strip().split(";")):
        if rule.startswith("margin-left:-"):
            classes.append("pull-left")
        elif rule in _CLASS_OF_STYLE:
            classes.append(_CLASS_OF_STYLE[rule])
        else:
            raise FormulaFault(f"formula needs the style {rule!r}, which pages refuse: {tex!r}")
    return " ".join(filter(None, classes))


def refuse(tex: str) -> None:
    """Raise FormulaFault for what the converter would accept and a reader would miss."""
    if not tex.strip():
        raise FormulaFault("an empty formula")
    if len(tex) > MAX_LENGTH:
        raise FormulaFault(f"a formula of {len(tex)} characters", f"at most {MAX_LENGTH}")
    if banned := _BANNED.search(tex):
        raise FormulaFault(f"{banned[0]} in a formula", "links and colours belong outside formulas")
    if _BARE_PERCENT.search(tex):
        raise FormulaFault(f"a bare % ends the formula {tex!r} early", r"write \%")
    depth = deepest = 0
    for char in tex:
        depth += (char == "{") - (char == "}")
        deepest = max(deepest, depth)
    if deepest > MAX_DEPTH:
        raise FormulaFault(f"braces nested {deepest} deep in a formula", f"at most {MAX_DEPTH}")


@cache
def _converter() -> LatexToMathML:
    return LatexToMathML(fancy_error=False, annotation=False)
