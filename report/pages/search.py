"""Search text: the words of every page by section, as a script that a page can load from disk."""

import json
from collections.abc import Mapping

from report.pages.finished import FinishedPage


def search_text(pages: Mapping[str, FinishedPage], titles: Mapping[str, str]) -> bytes:
    """The script that assigns `assaySearchText`: one entry a section, in the order of pages."""
    entries = [
        {
            "page": titles[path],
            "heading": section.heading if section.anchor else titles[path],
            "href": f"{path}#{section.anchor}" if section.anchor else path,
            "text": section.text,
        }
        for path, page in pages.items()
        for section in page.sections
    ]
    text = json.dumps(entries, ensure_ascii=False, indent=0, separators=(",", ":"))
    return f"window.assaySearchText={script_safe(text)};\n".encode()


def script_safe(text: str) -> str:
    """JSON that may stand inside a script: no `<`, no line separators of another kind."""
    for sign in "<>\u2028\u2029":
        text = text.replace(sign, f"\\u{ord(sign):04x}")
    return text
