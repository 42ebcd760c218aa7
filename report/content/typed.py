"""Typed numbers: what looks measured or worked out in a text, and must not be written by hand.

A whole number may stand as a count, and as part of a name, a shape or a date. A number with a unit,
a decimal, a power of ten and a multiple may not. A version and a section are told by the word
before them, as in Python 3.12, or by standing inside a name, as in Llama-3.1.
"""

import re
from collections.abc import Iterator

NOT_TEXT = "\ufffc"
"""Stands in a text for what is none, such as a role, a formula or code."""

_UNITS = (
    r"(?:%|‰|°C|(?:percent|percentage|per\s+cent|ppm|ulps?|dB"
    r"|bytes?|(?<=\s)B|[kKMGT]i?B|[kKMGT]i?bits?|[kMGT]?bps"
    r"|[kKMGTP]?FLOP[sS]?|[kKMGTP]?OP[sS]?"
    r"|(?:milli|micro|nano)?seconds?|minutes?|hours?|[mµμun]?s|[mn]?secs?|mins?|hrs?|h"
    r"|[mkM]?W|watts?|[mk]?J|joules?|[kMG]?Hz)(?:/\w+)?)(?![\w/])"
)
_START = r"(?<![\w.,/])(?<![A-Za-z_]-)[-−]?"
_DIGITS = r"(?:\d{1,3}(?:\s\d{3})+|\d[\d.,\u2009\u202f]*)(?:[eE][-+−]?\d+)?"
_SUPERSCRIPT = "⁰¹²³⁴-⁹"
_COUNTED = r"\S*\d|TPU|GPU|CPU|\w\b|" + NOT_TEXT
"""After a count of things, or a side of a shape: `8x H100`, `4 × v5e`, `128 x k`."""
_COMPARED = (
    r"(?:as|more|less|worse|its|that|what|the(?!\s+same)"
    r"|(?!after|under|other|either|never|rather|whether|however|together|another)\w{3,}er)\b"
)
_TYPED = re.compile(
    rf"{_START}{_DIGITS}[\s-]*{_UNITS}"
    rf"|{_START}{_DIGITS}\s*[A-Za-z]*(?:/s|\s+per\s+second)\b"
    rf"|{_START}{_DIGITS}\s?[×x·*]\s?10(?:\^[-−]?\d+|⁻?[{_SUPERSCRIPT}]+)"
    rf"|{_START}(?:10(?:\^[-−]\d+|⁻[{_SUPERSCRIPT}]+)|\d+[eE][-+−]?\d+(?!\w))"
    rf"|{_START}{_DIGITS}[\s-]*(?:times\s+{_COMPARED}|fold\b)"
    rf"|{_START}{_DIGITS}\s?[xX×](?!\w|\s*(?:{_COUNTED}))"
    rf"|\bfactors?\s+of\s+{_DIGITS}"
    rf"|{_START}(?:\d[\d,]*\.\d+|0,\d+|(?<!\S)\.\d+)(?:[eE][-+−]?\d+)?(?!\w|\.\w)"
)
_NUMBER = rf"\d+(?:\.\d+)+\+?(?!\d|\.\d|\s*{_UNITS})"
_NAMED = re.compile(
    r"(?i:(?:\b(?:sections?|chapters?|appendix|figures?|fig\.|tables?|equations?|versions?|releases?"
    r"|editions?|licen[cs]e|python|jax|jaxlib|libtpu|xla|numpy|scipy|pytorch|tensorflow|flax|triton"
    r"|cuda|cudnn|rocm|gcc|clang|llvm|glibc|linux|ubuntu|debian|macos|unicode|arxiv|llama|gemma"
    r"|gemini|qwen|mistral|gpt)|§)"
    rf"[\s:]*{_NUMBER}(?:(?:\s*[,–-]|\s+(?:to|and|or))\s*{_NUMBER})*"
    r"|\bdoi:?\s*10\.\S+|https?://\S+)"
)
"""Numbers of versions and places, and addresses."""


def typed_numbers(text: str) -> Iterator[re.Match[str]]:
    """Each number in `text` that looks measured or worked out, in order."""
    return _TYPED.finditer(_NAMED.sub(lambda named: NOT_TEXT * len(named[0]), text))
