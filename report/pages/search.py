"""Search text: the words of every page by section, as a script that a page can load from disk."""

import json
import re
from collections.abc import Mapping
from html.parser import HTMLParser

_SILENT = {"script", "style", "svg", "nav", "button", "output", "select", "noscript"}
_VOID = {"meta", "link", "br", "hr", "img", "input", "rect", "path", "line", "mspace"}


class _Reader(HTMLParser):
    """Collects (anchor, heading, text) for each h1 and h2 to h4 with an id inside main."""

    def __init__(self) -> None:
        super().__init__()
        self.sections: list[tuple[str, str, list[str]]] = []
        self.inside_main = False
        self.silent = 0
        self.heading: list[str] | None = None
        self.anchor = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found = dict(attrs)
        if self.silent or tag in _SILENT or "js-only" in (found.get("class") or "").split():
            self.silent += tag not in _VOID
        elif tag == "main":
            self.inside_main = True
        elif self.inside_main and tag in {"h1", "h2", "h3", "h4"}:
            self.heading, self.anchor = [], found.get("id") or ""
        elif tag == "a" and found.get("class") == "hash":
            self.silent += 1
        elif self.sections:
            self.sections[-1][2].append(" " if tag in {"p", "td", "th", "li", "dt", "dd"} else "")

    def handle_endtag(self, tag: str) -> None:
        if self.silent:
            self.silent -= tag not in _VOID
        elif tag == "main":
            self.inside_main = False
        elif self.heading is not None and tag in {"h1", "h2", "h3", "h4"}:
            self.sections.append((self.anchor, _tidy("".join(self.heading)), []))
            self.heading = None

    def handle_data(self, data: str) -> None:
        if self.silent or not self.inside_main:
            return
        if self.heading is not None:
            self.heading.append(data)
        elif self.sections:
            self.sections[-1][2].append(data)


def _tidy(text: str) -> str:
    return re.sub(r"\s+", " ", text).strip()


def search_text(pages: Mapping[str, str], titles: Mapping[str, str]) -> bytes:
    """The script that assigns `assaySearchText`: one entry a section, in the order of pages."""
    entries = []
    for path, html in pages.items():
        reader = _Reader()
        reader.feed(html)
        for anchor, heading, words in reader.sections:
            entries.append(
                {
                    "page": titles[path],
                    "heading": heading if anchor else titles[path],
                    "href": f"{path}#{anchor}" if anchor else path,
                    "text": _tidy("".join(words)),
                }
            )
    text = json.dumps(entries, ensure_ascii=False, indent=0, separators=(",", ":"))
    return f"window.assaySearchText={script_safe(text)};\n".encode()


def script_safe(text: str) -> str:
    """JSON that may stand inside a script: no `<`, no line separators of another kind."""
    for sign in "<>\u2028\u2029":
        text = text.replace(sign, f"\\u{ord(sign):04x}")
    return text
