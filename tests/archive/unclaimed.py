"""Numbers that a page marks as evidence, or states in a figure's title, without claiming them.

python -m tests.archive.unclaimed RELEASE
"""

import json
import re
import sys
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path

KINDS = {"measured", "computed", "documented", "estimated"}
NUMBER = re.compile(r"(?<![\w.])[-−+]?\d[\d,.]*(?!\w)")
"""A number that stands alone: not the 8 of INT8, nor the 5 of v5e."""
SHAPE = re.compile(r"\d[\d,]*(?: × \d[\d,]*)+")
"""What a number is about, such as 64 × 128 × 64."""
VOID = {"br", "hr", "img", "input", "link", "meta", "wbr", "rect", "path", "line", "circle", "use"}


class _Reader(HTMLParser):
    def __init__(self, claimed: set[str]) -> None:
        super().__init__()
        self.claimed = claimed
        self.open: list[tuple[str, dict[str, str]]] = []
        self.exhibit = ""
        self.found: list[tuple[str, str]] = []
        self.text: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found = {name: value or "" for name, value in attrs}
        if re.match("tab-|fig-", found.get("id", "")):
            self.exhibit = found["id"]
        if tag not in VOID:
            self.open.append((tag, found))

    def handle_endtag(self, tag: str) -> None:
        while self.open and tag not in VOID:
            name, found = self.open.pop()
            if self.told(found) and not any(self.told(outer) for _, outer in self.open):
                self.close()
            if name == tag:
                break

    def handle_data(self, data: str) -> None:
        if any(self.told(found) for _, found in self.open):
            counted = any(found.get("id") in self.claimed for _, found in self.open)
            self.text.append("\x00" if counted else data)

    def told(self, found: dict[str, str]) -> bool:
        """Whether an element says where its number is from, or is the title of a figure."""
        names = set(found.get("class", "").split())
        return ("v" in names and bool(names & KINDS)) or "ft" in names

    def close(self) -> None:
        text = "".join(self.text)
        self.text = []
        if NUMBER.search(SHAPE.sub("", text)):
            self.found.append((self.exhibit, text.replace("\x00", "[claimed]")))


def unclaimed(release: Path) -> Iterator[tuple[str, str, str]]:
    """(page, exhibit, text) of every such number in a release, or in a built site."""
    claims: dict[str, set[str]] = {}
    for claim in json.loads((release / "claims.json").read_text("utf-8"))["claims"]:
        claims.setdefault(claim["page"], set()).add(claim["id"])
    for place in sorted(release.rglob("*.html")):
        page = place.relative_to(release).as_posix()
        if not page.startswith(("source/", "records/", "downloads/")) or page.count("/") == 1:
            reader = _Reader(claims.get(page, set()))
            reader.feed(place.read_text("utf-8"))
            yield from ((page, exhibit, text) for exhibit, text in reader.found)


def summary(release: Path) -> str:
    """One line an exhibit: how many there are, where, and the first of them."""
    counts: dict[tuple[str, str], list[str]] = {}
    for page, exhibit, text in unclaimed(release):
        counts.setdefault((page, exhibit), []).append(text)
    lines = (f"{len(texts):5} {' '.join(at)}: {texts[0]!r:.80}" for at, texts in counts.items())
    return "\n".join([*lines, f"{sum(map(len, counts.values())):5} in all\n"])


if __name__ == "__main__":
    sys.stdout.write(summary(Path(sys.argv[1])))
