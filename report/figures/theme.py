"""The ink of every chart: colour tokens, sizes and the few marks that charts share.

Colours are custom properties, so that one drawing follows light, dark, print and
forced colours. `LIGHT` holds their values for files that stand alone.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import altair as alt

FONT: Final = "Assay Sans"

LIGHT: Final[Mapping[str, str]] = {
    "paper": "#fdfcf9",
    "ink": "#1c1e21",
    "ink2": "#555b63",
    "rule": "#d9d6cf",
    "grid": "#e8e5de",
    "c1": "#0a62ad",
    "c2": "#b4530a",
    "c3": "#3d2a3a",
}
"""Values of the tokens on light paper, as the pages have them."""

PAPER, INK, INK2, RULE, GRID, C1, C2, C3 = (
    f"var(--{token})" for token in ("paper", "ink", "ink2", "rule", "grid", "c1", "c2", "c3")
)

NBSP: Final = "\u00a0"
VALUE: Final[dict[str, Any]] = {"fontSize": 13.5, "fontWeight": 600}
"""A number printed beside its mark."""
NAME: Final[dict[str, Any]] = {"fontSize": 14, "fontWeight": 700}
"""What a row is about."""
ASIDE: Final[dict[str, Any]] = {"fontSize": 12.5, "color": INK2}
"""A secondary label."""

CONFIG: Final[dict[str, Any]] = {
    "font": FONT,
    "background": None,
    "padding": {"left": 1, "right": 1, "top": 2, "bottom": 2},
    "view": {"stroke": None, "fill": None},
    "axis": {
        "labelColor": INK2,
        "titleColor": INK2,
        "labelFontSize": 13,
        "titleFontSize": 13,
        "titleFontWeight": 400,
        "titlePadding": 8,
        "labelPadding": 5,
        "gridColor": GRID,
        "gridWidth": 1,
        "domain": False,
        "ticks": False,
        "labelFlush": False,
        "labelBound": False,
    },
    "text": {"color": INK, "fontSize": 13.5, "baseline": "middle", "align": "left"},
    "point": {"filled": True, "size": 92, "opacity": 1},
    "rule": {"color": INK2},
    "line": {"strokeWidth": 2},
}

REFERENCE: Final[dict[str, Any]] = {"color": INK2, "strokeDash": [2, 2]}
"""A rule that explains rather than measures."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Frame:
    """The outer size of one drawing in px, and the room around its plot."""

    width: int
    height: int
    left: int = 0
    right: int = 0
    top: int = 0
    bottom: int = 0

    @property
    def plot_width(self) -> int:
        return self.width - self.left - self.right

    @property
    def plot_height(self) -> int:
        return self.height - self.top - self.bottom

    def hold(self, *layers: alt.Chart, params: Sequence[alt.Parameter] = ()) -> alt.LayerChart:
        """The layers as one chart of exactly this size, so that text is never scaled."""
        padding = {"left": self.left, "right": self.right, "top": self.top, "bottom": self.bottom}
        chart = alt.LayerChart(layer=layers).properties(
            width=self.plot_width,
            height=self.plot_height,
            padding=padding,
            autosize=alt.AutoSizeParams(type="none", contains="content"),
        )
        return chart.add_params(*params)


def rows(data: Sequence[Mapping[str, object]]) -> alt.InlineData:
    """Rows as inline data."""
    return alt.InlineData(values=[dict(row) for row in data])


def down(field: str, height: float) -> alt.Y:
    """A vertical pixel position counted from the top, without an axis."""
    scale = alt.Scale(domain=[0, height], reverse=True, nice=False, zero=False)
    return alt.Y(field, type="quantitative", scale=scale, axis=None)
