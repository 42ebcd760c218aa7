"""A finished page as a reader finds it, in one pass: its places, its links, its words."""

import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from html.parser import HTMLParser
from typing import Any

_RESOURCES = frozenset({"src", "poster", "data", "srcset"})
_LOADED_LATER = frozenset({"data-wide", "data-narrow", "data-runtime"})
"""Scripts of a live figure, loaded when a reader touches a control."""
_TO_IDS = frozenset({"for", "aria-labelledby", "aria-describedby", "aria-controls"})
_BANNED = frozenset({"style", "integrity", "srcdoc"})

_HEADINGS = frozenset({"h1", "h2", "h3", "h4"})
_BREAKS = frozenset({"p", "td", "th", "li", "dt", "dd", "tr", "br"})
_UNREAD_TAGS = frozenset(
    {"script", "style", "svg", "nav", "button", "output", "select", "noscript"}
)
_UNREAD = frozenset({"js-only", "text", "hash", "no", "noteref", "back"})
"""Classes of what is not prose: conveniences, program listings, link marks."""
_VOID = frozenset({"meta", "link", "br", "hr", "img", "input", "wbr"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    """The words under one heading; `anchor` is empty for the page's own title."""

    anchor: str
    heading: str
    text: str


@dataclass(slots=True)
class FinishedPage:
    """What one page holds that another place must answer for, and what it says."""

    ids: Counter[str] = field(default_factory=Counter)
    links: dict[str, int] = field(default_factory=dict)
    """First line of each address, links and resources alike."""
    resources: set[str] = field(default_factory=set)
    to_ids: set[str] = field(default_factory=set)
    banned: list[str] = field(default_factory=list)
    sections: list[Section] = field(default_factory=list)

    def as_json(self) -> dict[str, Any]:
        return {
            "ids": self.ids,
            "links": self.links,
            "resources": sorted(self.resources),
            "to_ids": sorted(self.to_ids),
            "banned": self.banned,
            "sections": [asdict(section) for section in self.sections],
        }

    @classmethod
    def of_json(cls, told: Mapping[str, Any]) -> "FinishedPage":
        return cls(
            ids=Counter(told["ids"]),
            links=told["links"],
            resources=set(told["resources"]),
            to_ids=set(told["to_ids"]),
            banned=told["banned"],
            sections=[Section(**section) for section in told["sections"]],
        )


def read_page(html: str) -> FinishedPage:
    reader = _Reader()
    reader.feed(html)
    reader.close()
    reader.end_section()
    return reader.page


class _Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.page = FinishedPage()
        self.inside_main = False
        self.unread = 0
        """Depth inside an element that is not read as prose."""
        self.anchor = self.heading = ""
        self.words: list[str] | None = None

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found = {name: value or "" for name, value in attrs}
        if found:
            self.note_attributes(tag, found)
        if self.unread or tag in _UNREAD_TAGS or _UNREAD & set(found.get("class", "").split()):
            self.unread += tag not in _VOID
        elif tag == "main":
            self.inside_main = True
        elif self.inside_main and tag in _HEADINGS:
            self.end_section()
            self.anchor, self.heading, self.words = found.get("id", ""), "", []
        elif self.words is not None and tag in _BREAKS:
            self.words.append(" ")

    def handle_endtag(self, tag: str) -> None:
        if self.unread:
            self.unread -= tag not in _VOID
        elif tag == "main":
            self.inside_main = False
        elif self.words is not None and tag in _HEADINGS:
            self.heading, self.words = _tidy("".join(self.words)), []

    def handle_data(self, data: str) -> None:
        if self.words is not None and self.inside_main and not self.unread:
            self.words.append(data)

    def end_section(self) -> None:
        if self.words is not None:
            text = _tidy("".join(self.words))
            self.page.sections.append(Section(anchor=self.anchor, heading=self.heading, text=text))
            self.words = None

    def note_attributes(self, tag: str, attributes: Mapping[str, str]) -> None:
        page = self.page
        for name, value in attributes.items():
            if name == "id":
                page.ids[value] += 1
            elif name == "href" or name in _RESOURCES or name in _LOADED_LATER:
                page.links.setdefault(value, self.getpos()[0])
                if tag != "a":
                    page.resources.add(value)
            elif name in _TO_IDS:
                page.to_ids.update(value.split())
            elif name in _BANNED or name.startswith("on"):
                page.banned.append(f"line {self.getpos()[0]}: {tag} {name}={value!r:.60}")
            elif (tag, name, value) == ("script", "type", "module"):
                page.banned.append(f"line {self.getpos()[0]}: a module script")


def _tidy(text: str) -> str:
    return re.sub(r"\s+", " ", text).strip()
