"""Small multiples on logarithmic axes: one panel beside another, placed in px.

A chart holds one pair of scales. Panels share theirs, so what is drawn is placed here, and the
chart gets positions.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import log10
from typing import Any

import altair as alt

from report.figures import theme

Mark = dict[str, Any]
"""One row of a layer: `x` and `y` in px, and what tells it from others."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Span:
    """One logarithmic axis: what it holds, and the values that are written along it."""

    low: float
    high: float
    ticks: Mapping[float, str]

    def share(self, value: float) -> float:
        """How far along the axis a value lies, 0 to 1; beyond either end it stays there."""
        whole = log10(self.high / self.low)
        return min(1.0, max(0.0, log10(value / self.low) / whole))


@dataclass(frozen=True, slots=True, kw_only=True)
class Panel:
    """Where one panel stands in its drawing, in px."""

    left: float
    top: float
    width: float
    height: float
    across: Span
    up: Span

    def place(self, x: float, y: float) -> Mark:
        return {
            "x": self.left + self.width * self.across.share(x),
            "y": self.top + self.height * (1 - self.up.share(y)),
        }

    def holds(self, x: float, y: float) -> bool:
        return self.across.low <= x <= self.across.high and self.up.low <= y <= self.up.high

    def line(self, points: Sequence[tuple[float, float]], **key: object) -> list[Mark]:
        """A line through `points`, cut where it leaves the panel; straight on these axes."""
        marks: list[Mark] = []
        for start, end in pairwise(points):
            cut = self._cut(start, end)
            if cut:
                marks += [self.place(*point) | key for point in cut]
        return marks

    def grid(self) -> list[Mark]:
        """A rule at each written value of the upright axis."""
        return [
            {"x": self.left, "x2": self.left + self.width, "y": self.place(1, tick)["y"]}
            for tick in self.up.ticks
        ]

    def axis_texts(self, below: str, *, numbered: bool) -> list[Mark]:
        """What is written along both axes, and what lies across; upright values if `numbered`."""
        texts: list[Mark] = [
            {
                "x": self.left + self.width / 2,
                "y": self.top + self.height + 28,
                "text": below,
                "side": "center",
            }
        ]
        for tick, text in self.across.ticks.items():
            across = self.place(tick, 1)["x"]
            texts.append(
                {"x": across, "y": self.top + self.height + 10, "text": text, "side": "center"}
            )
        if numbered:
            texts += [
                {"x": self.left - 6, "y": self.place(1, tick)["y"], "text": text, "side": "right"}
                for tick, text in self.up.ticks.items()
            ]
        return texts

    def _cut(
        self, start: tuple[float, float], end: tuple[float, float]
    ) -> tuple[tuple[float, float], tuple[float, float]] | None:
        """The part of a segment that lies in the panel, worked out in logarithms."""
        (x0, y0), (x1, y1) = ((log10(x), log10(y)) for x, y in (start, end))
        first, last = 0.0, 1.0
        for begin, finish, span in ((x0, x1, self.across), (y0, y1, self.up)):
            low, high = log10(span.low), log10(span.high)
            if begin == finish:
                if not low <= begin <= high:
                    return None
                continue
            one, other = (low - begin) / (finish - begin), (high - begin) / (finish - begin)
            first, last = max(first, min(one, other)), min(last, max(one, other))
        if first >= last:
            return None
        ends = ((x0 + at * (x1 - x0), y0 + at * (y1 - y0)) for at in (first, last))
        a, b = ((10**x, 10**y) for x, y in ends)
        return a, b


def text_layers(
    texts: Sequence[Mark], x: alt.X, y: alt.Y, *, color: str = theme.INK2, size: float = 12.5
) -> list[alt.Chart]:
    """Texts by the side on which they begin, one layer each."""
    return [
        alt.Chart(theme.rows(chosen))
        .mark_text(align=side, fontSize=size, color=color)
        .encode(x=x, y=y, text="text:N")
        for side in ("left", "center", "right")
        if (chosen := [text for text in texts if text["side"] == side])
    ]
