"""Formulas: TeX in, MathML Core out, strict, with nothing a page's policy would drop.

The converter marks alignment with `style` attributes, which the policy forbids;
they become classes here, and an unknown one is a fault rather than a lost style.
"""

import re
from functools import cache
from html import escape

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
_BANNED = re.compile(r"\\(href|url|includegraphics|html\w+|color|textcolor|colorbox|require)\b")
_BARE_PERCENT = re.compile(r"(?<!\\)(?:\\\\)*%")
_STYLE = re.compile(r' style="([^"]*)"')
_TAG = re.compile(r"<([a-z]+)")
_CLASS_OF_RULE = {
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
_LETTER_ACCENT = re.compile(
    r'<mover accent="true">(<m[in]>[^<]{1,2}</m[in]>)'
    r'<mo(?: stretchy="(?:true|false)")?>(.)</mo></mover>'
)
_SPACING_ACCENT = {"\u0302": "ˆ", "^": "ˆ", "\u0303": "˜", "\u0304": "¯", "\u0307": "˙"}
_OVERLINE = '<mo stretchy="true">\u0332</mo>'


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
    markup = _LETTER_ACCENT.sub(_spacing_accent, markup)
    markup = markup.replace(_OVERLINE, '<mo stretchy="true">‾</mo>')
    markup = _STYLE.sub(lambda found: _class_for(found[1], tex), markup)
    for tag in _TAG.findall(markup):
        if tag not in _CORE:
            raise FormulaFault(f"formula needs <{tag}>, which browsers do not draw: {tex!r}")
    opening = '<math display="block"' if display else "<math"
    body = markup[markup.index(">") + 1 :]
    return f'{opening} data-tex="{escape(tex)}">{body}'


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


def _spacing_accent(found: re.Match[str]) -> str:
    """Chromium draws a combining accent into its letter; a spacing one stands above it."""
    base, accent = found[1], found[2]
    accent = _SPACING_ACCENT.get(accent, accent)
    return f'<mover class="accent">{base}<mo stretchy="false">{accent}</mo></mover>'


def _class_for(style: str, tex: str) -> str:
    classes = []
    for rule in filter(None, re.sub(r"\s*([:;])\s*", r"\1", style).strip().split(";")):
        if rule.startswith("margin-left:-"):
            classes.append("pull-left")
        elif rule in _CLASS_OF_RULE:
            classes.append(_CLASS_OF_RULE[rule])
        else:
            raise FormulaFault(f"formula needs the style {rule!r}, which pages refuse: {tex!r}")
    names = " ".join(filter(None, classes))
    return f' class="{names}"' if names else ""
