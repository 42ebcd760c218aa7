"""The evidence ladder: how far a statement about arithmetic has been followed.

A program is requested, lowered, optimized, scheduled and at last run. Each step may change
the arithmetic, so a statement stands on the rung its evidence reaches and on none above.
"""

import re
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass
from enum import IntEnum

from report.errors import ContentFault


class Rung(IntEnum):
    """How far; a higher rung has seen more of what happens."""

    REQUESTED = 1
    STABLEHLO = 2
    OPTIMIZED_HLO = 3
    MATRIX_INSTRUCTION = 4
    MEASURED_ON_DEVICE = 5

    @property
    def slug(self) -> str:
        """As records spell it: `optimized-hlo`."""
        return self.name.lower().replace("_", "-")

    @property
    def words(self) -> str:
        """As a reader sees it: `optimized HLO`."""
        spelled = {"STABLEHLO": "StableHLO", "OPTIMIZED_HLO": "optimized HLO"}
        return spelled.get(self.name, self.name.lower().replace("_", " "))

    @property
    def pips(self) -> str:
        """One sign for each rung, filled as far as this one: ●●●●○."""
        return "●" * self + "○" * (len(Rung) - self)


RUNGS: Mapping[str, Rung] = {rung.slug: rung for rung in Rung}

WORDS: Mapping[Rung, str] = {
    Rung.REQUESTED: "asks?|asked|requests?|requested",
    Rung.STABLEHLO: "lowers?|lowered|lowers to|StableHLO",
    Rung.OPTIMIZED_HLO: (
        "compiles?|compiled|compiler|converts?|converted|keeps?|kept|inserts?|inserted|refuses?"
        "|refused|pads?|padded|fits?|HLO"
    ),
    Rung.MATRIX_INSTRUCTION: (
        "native|natively|multiplies|multiplied|matrix units?|matrix instructions?|in hardware"
    ),
    Rung.MEASURED_ON_DEVICE: (
        "measure[sd]?|measurements?|timed|benchmarked|ran|runs?|executes?|executed|takes|faster"
        "|slower|speeds?|speed-?ups?"
    ),
}
"""What a statement's words presume; the highest rung among them is the least it needs."""

_WORDS = {
    rung: re.compile(rf"(?<![\w-])(?:{words})(?![\w-])", re.I) for rung, words in WORDS.items()
}
_FORM = re.compile(
    r"(?P<no>no )?(?:native (?P<format>[\w-]+)|(?P<unit>matrix instructions?))"
    r" on (?P<target>[\w:-]+)",
    re.IGNORECASE,
)
NATIVE = re.compile(
    r"(?<![\w-])(?:native(?:ly)?(?!\w)|in[ -]hardware(?!\w)"
    r"|hardware(?=[ -](?:u?int|fp|bf|e\dm)\d))",
    re.IGNORECASE,
)
"""Words that presume a matrix instruction, wherever they stand."""
MEASURED = re.compile(
    r"(?<![\w-])(?:measure[sd]?|measurements?|timed|benchmarked)(?![\w-])", re.IGNORECASE
)
"""Words that call a fact a measurement."""
_DENIED = re.compile(
    r"\b(?:no|not(?! (?:only|just|merely)\b)|nor|never|neither|none|nothing|without|cannot)\b", re.I
)

_BACK = re.compile(
    r"\s*(?:(?:and|so|then|there|here) )?"
    r"(?:it|they|this|that|these|those|the (?:results?|figures?|numbers?))\b",
    re.IGNORECASE,
)
"""A beginning that refers to the sentence before."""

FORMS = "native FORMAT on TARGET, no native FORMAT on TARGET, or no matrix instruction on TARGET"


@dataclass(frozen=True, slots=True, kw_only=True)
class Statement:
    """What the words of one statement presume and, where they name arithmetic, just which."""

    words: str
    least: Rung
    denies: bool = False
    """It says that something is not there."""
    format: str = ""
    """The number format said to be multiplied, or not, in lower case; empty for any."""
    target: str = ""
    """The generation it speaks of, in lower case; empty unless it names arithmetic."""


def read_statement(words: str) -> Statement:
    """The statement, or ContentFault when its words presume nothing, or arithmetic unclearly."""
    found = [rung for rung, pattern in _WORDS.items() if pattern.search(words)]
    if not found:
        raise ContentFault(
            f"{words!r} states nothing that the evidence ladder knows.",
            hint=f"Say {FORMS}, or use a word such as asks, converts, compiled or measured.",
        )
    least = max(found)
    if least is not Rung.MATRIX_INSTRUCTION:
        return Statement(words=words, least=least)
    form = _FORM.fullmatch(words)
    if form is None or (form["unit"] and not form["no"]):
        raise ContentFault(
            f"{words!r} names arithmetic in a way that cannot be checked.", hint=f"Write {FORMS}."
        )
    return Statement(
        words=words,
        least=least,
        denies=form["no"] is not None,
        format=(form["format"] or "").lower(),
        target=form["target"].lower().replace(":", "-"),
    )


def as_read(text: str) -> str:
    """`text` as a reader sees it: one form a letter, and nothing without a width."""
    unseen = {"\u034f", *map(chr, range(0xFE00, 0xFE10))}
    return "".join(
        sign
        for sign in unicodedata.normalize("NFKC", text)
        if sign not in unseen and unicodedata.category(sign) != "Cf"
    )


def leads_on(sentence: str, following: str) -> str:
    """The word by which `sentence` calls what the `following` one tells of a measurement.

    It does when it begins with that word, as a heading would, or when the next refers back to it.
    """
    word = calls_it_measured(sentence)
    heads = sentence.lstrip(" *_").lower().startswith(word.lower())
    return word if word and (heads or _BACK.match(following)) else ""


def calls_it_measured(sentence: str) -> str:
    """The word by which `sentence` calls something a measurement, or nothing; a denial is none."""
    for found in MEASURED.finditer(sentence):
        if not _DENIED.search(sentence[: found.start()]):
            return found[0]
    return ""
