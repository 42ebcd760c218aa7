"""Axes that charts share: decades with written powers, and what a log axis cannot hold."""

import math
from collections.abc import Iterable, Mapping, Sequence

import altair as alt

from report.exhibit import Scalar
from report.notation import render


def on_log_axis(
    rows: Iterable[Mapping[str, Scalar]], field: str, label: str
) -> tuple[list[Mapping[str, Scalar]], list[str]]:
    """The rows whose `field` is a number above zero, and a name with its value for each other."""
    kept: list[Mapping[str, Scalar]] = []
    left_out: list[str] = []
    for row in rows:
        value = row[field]
        if isinstance(value, int | float) and math.isfinite(value) and value > 0:
            kept.append(row)
        else:
            left_out.append(f"{row[label]} ({'no value' if value is None else value})")
    return kept, left_out


def said(left_out: Sequence[str]) -> str:
    """The sentence under a figure that names what its log axis could not hold."""
    if not left_out:
        return ""
    return f" Not drawn, since a log axis holds only numbers above zero: {', '.join(left_out)}."


def decades(low: float, high: float) -> list[float]:
    """Every power of ten from `low` to `high`."""
    first, last = math.ceil(math.log10(low) - 1e-9), math.floor(math.log10(high) + 1e-9)
    return [float(f"1e{exponent}") for exponent in range(first, last + 1)]


def log_x(field: str, domain: tuple[float, float], title: str) -> alt.X:
    """A logarithmic x channel with a grid line and a written power at each decade."""
    ticks = decades(*domain)
    axis = alt.Axis(values=ticks, labelExpr=power_labels(ticks), title=title, tickCount=len(ticks))
    return alt.X(
        field,
        type="quantitative",
        scale=alt.Scale(type="log", domain=list(domain), nice=False),
        axis=axis,
    )


def power_labels(ticks: Sequence[float]) -> str:
    """An expression that labels each tick as a power of ten: 10⁻⁷, and 1 for 10⁰."""
    labels = "''"
    for tick in ticks:
        text = "1" if tick == 1 else render(tick, "scientific(0)").split("×")[-1].strip()
        labels = f"abs(datum.value/{tick!r}-1)<1e-6?'{text}':{labels}"
    return labels
