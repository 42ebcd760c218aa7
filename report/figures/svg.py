"""From the renderer's SVG to ours: a flat list of marks, grouped by what they share.

The renderer nests each mark in groups that name its role; a page needs none of them.
Coordinates become absolute, decimals short, and nothing is left that a strict content
policy or a second drawing on the same page could trip over.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from itertools import groupby
from xml.etree import ElementTree
from xml.sax.saxutils import escape, quoteattr

from report.figures.theme import FONT, LIGHT

_SVG = "{http://www.w3.org/2000/svg}"
_PLACES = ("x", "y", "x1", "y1", "x2", "y2", "cx", "cy", "r", "d", "transform")
"""Attributes that say where a mark is; the others say how it looks."""
_LOOKS = (
    "fill",
    "fill-opacity",
    "stroke",
    "stroke-width",
    "stroke-dasharray",
    "stroke-opacity",
    "stroke-linecap",
    "opacity",
    "text-anchor",
    "font-size",
    "font-weight",
)
_NEUTRAL = {
    ("opacity", "1"),
    ("text-anchor", "start"),
    ("stroke-width", "1"),
    ("font-weight", "400"),
}
"""What a mark is without being told."""
_TOKEN = re.compile(r"var\(--([a-z0-9]+)\)")
_NUMBER = re.compile(r"-?\d+\.\d+(?:e-?\d+)?")
_CIRCLE = re.compile(r"M([\d.]+),0A\1,\1,0,1,1,-\1,0A\1,\1,0,1,1,\1,0")
"""How the renderer draws a point."""
_TRANSLATE = re.compile(r"translate\((-?[\d.e-]+),(-?[\d.e-]+)\)")

Mark = tuple[str, Mapping[str, str], Mapping[str, str], str]
"""Tag, places, looks and text."""


def inline(drawn: str, *, alt_text: str, variant: str) -> str:
    """The drawing for a page: colours stay tokens, the font is the page's."""
    width, height, marks = _flatten(drawn)
    return (
        f'<svg class="chart {variant}" viewBox="0 0 {width} {height}" width="{width}" '
        f'height="{height}" fill="none" role="img" aria-label={quoteattr(alt_text)}>'
        f"{_write(marks)}</svg>"
    )


def stand_alone(drawn: str, *, alt_text: str) -> bytes:
    """The drawing as a file: real colours on light paper, and the font named."""
    width, height, marks = _flatten(drawn)
    return in_light(
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" '
        f'width="{width}" height="{height}" fill="none" role="img" '
        f"font-family=\"'{FONT}', 'Source Sans 3', sans-serif\">\n"
        f"<title>{escape(alt_text)}</title>\n"
        f'<path fill="var(--paper)" d="M0,0h{width}v{height}h-{width}Z"/>\n{_write(marks)}</svg>\n'
    ).encode()


def in_light(text: str) -> str:
    """`text` with every colour token replaced by its value on light paper."""
    return _TOKEN.sub(lambda token: LIGHT[token[1]], text)


def _flatten(drawn: str) -> tuple[str, str, list[Mark]]:
    """Width, height and marks of the renderer's drawing."""
    root = ElementTree.fromstring(drawn)
    return root.attrib["width"], root.attrib["height"], list(_marks(root, 0.0, 0.0))


def _marks(element: ElementTree.Element, left: float, top: float) -> Iterator[Mark]:
    for child in element:
        tag = child.tag.removeprefix(_SVG)
        if tag not in {"g", "path", "line", "text", "rect"}:
            raise ValueError(f"a chart may not hold <{tag}>")
        if "style" in child.attrib or any("clip" in name for name in child.attrib):
            raise ValueError(f"a chart's <{tag}> may carry neither a style nor a clip")
        moved = _TRANSLATE.match(child.attrib.get("transform", ""))
        x, y = (left + float(moved[1]), top + float(moved[2])) if moved else (left, top)
        if tag == "g":
            yield from _marks(child, x, y)
        elif _visible(child):
            turned = _TRANSLATE.sub("", child.attrib.get("transform", "")).strip()
            if _CIRCLE.fullmatch(child.attrib.get("d", "")):
                tag = "circle"
            yield tag, _place(tag, child.attrib, x, y, turned), _look(child.attrib), _text(child)


def _visible(mark: ElementTree.Element) -> bool:
    look = mark.attrib
    painted = any(look.get(paint, "none") not in {"none", ""} for paint in ("fill", "stroke"))
    drawn = _text(mark) if mark.tag.endswith("text") else look.get("d", "M0,0L1,1")
    return painted and bool(drawn) and look.get("opacity") != "0" and "display" not in look


def _place(tag: str, look: Mapping[str, str], x: float, y: float, turned: str) -> dict[str, str]:
    """Absolute coordinates: text and lines at their own, shapes moved to theirs."""
    if tag == "line":
        x2, y2 = float(look.get("x2", "0")), float(look.get("y2", "0"))
        return {"x1": _short(x), "y1": _short(y), "x2": _short(x + x2), "y2": _short(y + y2)}
    if tag == "circle" and (drawn := _CIRCLE.fullmatch(look["d"])):
        return {"cx": _short(x), "cy": _short(y), "r": _short(float(drawn[1]))}
    if tag == "text" and not turned:
        return {"x": _short(x), "y": _short(y)}
    move = f"translate({_short(x)},{_short(y)})" if (x, y) != (0.0, 0.0) else ""
    shape = {"d": _NUMBER.sub(lambda n: _short(float(n[0])), look["d"])} if "d" in look else {}
    return shape | ({"transform": f"{move}{turned}"} if move or turned else {})


def _look(attributes: Mapping[str, str]) -> dict[str, str]:
    looks = {name: attributes[name].removesuffix("px") for name in _LOOKS if name in attributes}
    return {name: value for name, value in looks.items() if (name, value) not in _NEUTRAL}


def _text(mark: ElementTree.Element) -> str:
    return "".join(mark.itertext())


def _write(marks: Iterable[Mark]) -> str:
    """Neighbours that look alike share one group."""
    lines = []
    for (tag, look), alike in groupby(marks, key=lambda mark: (mark[0], mark[2])):
        shapes = [_element(tag, places, text) for _, places, _, text in alike]
        if len(shapes) == 1:
            shapes = [shapes[0].replace(f"<{tag}", f"<{tag}{_attributes(look)}", 1)]
            lines.append(shapes[0])
        else:
            lines.append(f"<g{_attributes(look)}>{''.join(shapes)}</g>")
    return "\n".join(lines)


def _element(tag: str, places: Mapping[str, str], text: str) -> str:
    opening = f"<{tag}{_attributes({name: places[name] for name in _PLACES if name in places})}"
    return f"{opening}>{escape(text)}</{tag}>" if text else f"{opening}/>"


def _attributes(attributes: Mapping[str, str]) -> str:
    return "".join(f" {name}={quoteattr(value)}" for name, value in attributes.items())


def _short(number: float) -> str:
    """Two decimals at most, no negative zero."""
    text = f"{number:.2f}".rstrip("0").rstrip(".")
    return "0" if text == "-0" else text
