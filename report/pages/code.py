"""Code blocks: tokens marked with classes, never with inline styles."""

from functools import cache

from pygments import highlight as _highlight
from pygments.formatters.html import HtmlFormatter
from pygments.lexer import Lexer
from pygments.lexers import get_lexer_by_name
from pygments.util import ClassNotFound

LANGUAGES = {
    "python": "Python",
    "sh": "Shell",
    "json": "JSON",
    "yaml": "YAML",
    "toml": "TOML",
    "text": "Text",
}


class UnknownLanguage(ValueError):
    """A code block in a language that has no highlighting here."""


def highlight(code: str, language: str) -> str:
    """HTML of `code`: escaped text, with `<span class>` around its tokens."""
    formatter: HtmlFormatter[str] = HtmlFormatter(nowrap=True)
    return _highlight(code, _lexer(language), formatter).rstrip("\n")


@cache
def _lexer(language: str) -> Lexer:
    if language not in LANGUAGES:
        raise UnknownLanguage(f"code language {language!r}; known: {', '.join(sorted(LANGUAGES))}")
    try:
        return get_lexer_by_name(language, ensurenl=True, stripnl=False)
    except ClassNotFound as error:
        raise UnknownLanguage(f"code language {language!r}") from error
