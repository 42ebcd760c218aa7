"""Text tokens keep their contrast on both papers, light and dark.

A browser's accessibility checker leaves text inside SVG undecided, so the tokens
that colour it are tested here. Formula: WCAG 2.2, relative luminance.
"""

import re
from pathlib import Path

import pytest

TOKENS = Path(__file__).resolve().parents[2] / "templates" / "style" / "tokens.css"
TEXT = ("ink", "ink2", "link", "c1", "c2", "c3", "good", "warn", "bad")
BACKGROUNDS = ("paper", "raised")


def tokens() -> dict[str, tuple[str, str]]:
    found = re.findall(
        r"--([\w-]+):\s*light-dark\((#[0-9a-f]{6}),\s*(#[0-9a-f]{6})\)", TOKENS.read_text()
    )
    return {name: (light, dark) for name, light, dark in found}


def luminance(colour: str) -> float:
    channels = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one: str, other: str) -> float:
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


def test_black_on_white_is_twenty_one():
    assert contrast("#000000", "#ffffff") == pytest.approx(21)


@pytest.mark.parametrize("theme", [0, 1], ids=["light", "dark"])
@pytest.mark.parametrize("ground", BACKGROUNDS)
@pytest.mark.parametrize("ink", TEXT)
def test_text_can_be_read(ink, ground, theme):
    palette = tokens()

    assert contrast(palette[ink][theme], palette[ground][theme]) >= 4.5
