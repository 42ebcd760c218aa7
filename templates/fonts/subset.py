"""Cut the typefaces of the pages to the characters and features the pages use.

Run once by a developer when a face changes; the results are committed, so a
build needs neither this script nor fonttools:

    python templates/fonts/subset.py NODE_MODULES

NODE_MODULES holds the npm packages source-serif 4.5, source-sans 3.52,
source-code-pro 2.42 and @fontsource/stix-two-math 5.3. "Source" is a reserved
font name, so every cut face carries a name of our own.
"""

import sys
from collections.abc import Iterable
from dataclasses import dataclass, field
from io import BytesIO
from pathlib import Path

from fontTools.subset import Options, Subsetter
from fontTools.ttLib import TTFont
from fontTools.varLib import instancer

HERE = Path(__file__).parent


def code_points(*parts: str | range) -> frozenset[int]:
    """The union of characters written out and ranges of code points."""
    found: set[int] = set()
    for part in parts:
        found.update(part if isinstance(part, range) else map(ord, part))
    return frozenset(found)


LATIN = code_points(
    range(0x20, 0x7F),
    range(0xA0, 0x100),
    "ŁłŠšŽžČčĆćĐđŐőŰűĞğİıŞşŘřŇňĚěŻżŹźĄąĘęŒœŸ",
)
PUNCTUATION = code_points("‐‑‒–—―‘’‚“”„†‡•…‰′″‹›⁄€№™", range(0x2002, 0x200B), "\u202f")
SUPERSCRIPTS = code_points("⁰⁴⁵⁶⁷⁸⁹⁺⁻ⁿ", range(0x2080, 0x208B))
OPERATORS = code_points("←↑→↓↔↗⇒∂∆∏∑−∕√∞∫≈≠≤≥●○▲△■□◆◇▶✓✗‖")
GREEK = code_points("αβγδεζηθκλμνξπρστφχψωΓΔΘΛΞΠΣΦΨΩ")
TEXT = LATIN | PUNCTUATION | SUPERSCRIPTS | OPERATORS | GREEK
ITALIC = LATIN | PUNCTUATION
MATH = GREEK | code_points(
    range(0x20, 0x7F),
    "\u00a0\u00af±×·−÷≤≥≪≫≈≠≡≃∼∝∑∏∫√∞∂∇∓‖∥∣←→⇒∈∉∀′″…⋯⋮ℓℝℤℕℎ⌊⌋⌈⌉⟨⟩⏞⏟⊤⊥",
    "\u2009\u0302\u02c6\u0303\u02dc\u0304\u0305\u203e\u0307\u02d9\u2061\u2062\u2063",
    range(0x1D400, 0x1D468),
    range(0x1D6E2, 0x1D71C),
)

TEXT_FEATURES = ("kern", "liga", "ccmp", "locl", "mark", "tnum", "lnum", "onum", "pnum", "case")
CODE_FEATURES = ("kern", "ccmp", "locl", "mark", "zero", "case")
SEMIBOLD = 600
MATH_FEATURES = ("ssty", "dtls", "flac", "ccmp", "mark", "mkmk", "kern", "locl")


@dataclass(frozen=True, slots=True, kw_only=True)
class Face:
    """One cut: where it comes from, what it is called, what stays in it."""

    file: str
    family: str
    origin: str
    """Path below NODE_MODULES."""
    characters: frozenset[int]
    features: tuple[str, ...]
    axes: dict[str, float | tuple[float, float]] = field(default_factory=dict)
    """Variation axes, pinned to a value or narrowed to a range."""


FACES = (
    Face(
        file="assay-serif",
        family="Assay Serif",
        origin="source-serif/VAR/SourceSerif4Variable-Roman.ttf",
        characters=TEXT,
        features=TEXT_FEATURES,
        axes={"wght": (400, 650), "opsz": 17},
    ),
    Face(
        file="assay-serif-italic",
        family="Assay Serif",
        origin="source-serif/VAR/SourceSerif4Variable-Italic.ttf",
        characters=ITALIC,
        features=TEXT_FEATURES,
        axes={"wght": 400, "opsz": 17},
    ),
    Face(
        file="assay-sans",
        family="Assay Sans",
        origin="source-sans/VF/SourceSans3VF-Upright.ttf",
        characters=TEXT,
        features=TEXT_FEATURES,
        axes={"wght": (400, 700)},
    ),
    Face(
        file="assay-sans-italic",
        family="Assay Sans",
        origin="source-sans/VF/SourceSans3VF-Italic.ttf",
        characters=ITALIC,
        features=TEXT_FEATURES,
        axes={"wght": 400},
    ),
    Face(
        file="assay-code",
        family="Assay Code",
        origin="source-code-pro/VF/SourceCodeVF-Upright.ttf",
        characters=TEXT,
        features=CODE_FEATURES,
        axes={"wght": (400, 600)},
    ),
    Face(
        file="assay-math",
        family="Assay Math",
        origin="@fontsource/stix-two-math/files/stix-two-math-latin-400-normal.woff2",
        characters=MATH,
        features=MATH_FEATURES,
    ),
)


def cut(face: Face, node_modules: Path) -> TTFont:
    """The face, pinned, subset and renamed."""
    font = TTFont(node_modules / face.origin, recalcTimestamp=False)
    if face.axes:
        font = reload(instancer.instantiateVariableFont(font, face.axes))
    options = Options()
    options.layout_features = list(face.features)
    options.hinting = False
    options.notdef_outline = True
    options.name_IDs = [0, 1, 2, 3, 4, 5, 6, 13, 14, 16, 17]
    subsetter = Subsetter(options)
    subsetter.populate(unicodes=face.characters)
    subsetter.subset(font)
    for record in font["name"].names:
        if record.nameID in (1, 4, 16):
            record.string = face.family
        elif record.nameID in (3, 6):
            record.string = face.family.replace(" ", "")
    return font


def semibold(sans: TTFont) -> TTFont:
    """The same face at one weight, for a renderer that draws a variable font at its default."""
    font = instancer.instantiateVariableFont(reload(sans), {"wght": SEMIBOLD})
    font["OS/2"].usWeightClass = SEMIBOLD
    for record in font["name"].names:
        if record.nameID == 2:
            record.string = "Semibold"
        elif record.nameID in (3, 6):
            record.string = "AssaySans-Semibold"
    return font


def reload(font: TTFont) -> TTFont:
    """The font as read back: subsetting a fresh partial instance fails."""
    font.flavor = None
    buffer = BytesIO()
    font.save(buffer)
    buffer.seek(0)
    return TTFont(buffer, recalcTimestamp=False)


def missing(font: TTFont, wanted: Iterable[int]) -> str:
    """The wanted characters that the face does not have."""
    return "".join(chr(c) for c in sorted(set(wanted) - set(font.getBestCmap())))


def main(node_modules: Path) -> None:
    for face in FACES:
        font = cut(face, node_modules)
        if face.file == "assay-sans":
            font.flavor = None
            font.save(HERE / f"{face.file}.ttf")
            semibold(font).save(HERE / f"{face.file}-semibold.ttf")
        font.flavor = "woff2"
        path = HERE / f"{face.file}.woff2"
        font.save(path)
        lacking = missing(font, face.characters)
        sys.stdout.write(f"{path.name}: {path.stat().st_size:,} B, lacks {lacking!r}\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
