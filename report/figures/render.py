"""From specifications to drawings: every form a figure is published in.

The wide and the narrow chart are compiled once each; the page's SVG, the files and the
live version all come from the compiled specification, so they cannot differ.
"""

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import cast

import altair as alt
import vl_convert as vlc

from report.errors import ContentFault, Fault, raise_if_any
from report.exhibit import Control, Drawing, Live
from report.figures import svg
from report.figures.theme import CONFIG

FONTS = Path(__file__).parents[2] / "templates" / "fonts"
"""Holds the chart font as TTF, the one form that the renderer can measure."""
LARGEST_SPEC = 256 * 1024
"""Bytes of one specification with its data. Row limits do not bound what is drawn; this does."""

Json = Mapping[str, object]

_CONTROL = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")
_FORBIDDEN = {"url", "href", "image", "loader", "usermeta"}

vlc.register_font_directory(str(FONTS))


def render(
    name: str,
    wide: alt.LayerChart,
    narrow: alt.LayerChart,
    *,
    alt_text: str,
    controls: tuple[Control, ...] = (),
) -> Drawing:
    """Draw both widths of the figure `name`; with `controls`, add its live version."""
    specification = _specification(name, wide)
    compiled = {"wide": _compile(specification), "narrow": _compile(_specification(name, narrow))}
    drawn = {width: vlc.vega_to_svg(vega) for width, vega in compiled.items()}
    file = svg.stand_alone(drawn["wide"], alt_text=alt_text)
    return Drawing(
        wide=svg.inline(drawn["wide"], alt_text=alt_text, variant="wide"),
        narrow=svg.inline(drawn["narrow"], alt_text=alt_text, variant="narrow"),
        svg=file,
        png=vlc.svg_to_png(file.decode(), scale=2),
        vega_lite=svg.in_light(
            json.dumps(specification | {"config": CONFIG}, ensure_ascii=False, indent=1) + "\n"
        ).encode(),
        live=Live(wide=_text(compiled["wide"]), narrow=_text(compiled["narrow"]), controls=controls)
        if controls
        else None,
    )


def _specification(name: str, chart: alt.LayerChart) -> dict[str, object]:
    """The chart as JSON data, or ContentFault naming all that must not reach the renderer.

    Whether it is valid Vega-Lite depends on our code alone, so tests ask that, not each build.
    """
    specification = cast("dict[str, object]", chart.to_dict(validate=False))
    faults = [Fault(where=f"figure {name}", found=found) for found in _unsafe(specification)]
    if (size := len(_text(specification).encode())) > LARGEST_SPEC:
        faults.append(
            Fault(
                where=f"figure {name}",
                found=f"a specification of {size:,} bytes",
                expected=f"at most {LARGEST_SPEC:,} bytes",
            )
        )
    raise_if_any(ContentFault, f"The figure {name} cannot be drawn:", faults)
    return specification


def _unsafe(value: object, path: str = "") -> Iterator[str]:
    """What would reach outside, stop the renderer or not be JSON, each with its place."""
    if isinstance(value, dict):
        for key, inner in value.items():
            if key in _FORBIDDEN or (key in {"mark", "type"} and inner == "image"):
                yield f"`{key}` at {path or 'the top'}"
            yield from _unsafe(key, f"{path}/{key}")
            yield from _unsafe(inner, f"{path}/{key}")
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            yield from _unsafe(inner, f"{path}/{index}")
    elif isinstance(value, str) and (found := _CONTROL.search(value)):
        yield f"the control character U+{ord(found[0]):04X} at {path}"
    elif isinstance(value, float) and not abs(value) < float("inf"):
        yield f"{value} at {path}"


def _compile(specification: Json) -> dict[str, object]:
    return cast("dict[str, object]", vlc.vegalite_to_vega(dict(specification), config=dict(CONFIG)))


def _text(data: Json) -> str:
    return json.dumps(data, ensure_ascii=False, separators=(",", ":"), allow_nan=True)
