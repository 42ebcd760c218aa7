"""Places a page can point at: numbered figures, tables and equations, sections, pages.

The number of an exhibit belongs to the page that shows it. A reference is answered
by the reader's own page first, then by the first page that shows the exhibit.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from posixpath import dirname, relpath
from typing import Literal

from report.errors import ContentFault, did_you_mean

AnchorKind = Literal["fig", "tab", "eq", "sec", "page"]

NOUNS: dict[AnchorKind, str] = {"fig": "Figure", "tab": "Table", "eq": "Equation"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Anchor:
    """One place: `page` is a site path, `id` an element on it (empty for the page itself)."""

    kind: AnchorKind
    name: str
    page: str
    id: str
    label: str
    """Plain text, such as `Figure 1` or a section's title."""
    number: int = 0

    @property
    def href(self) -> str:
        """Relative to the site root."""
        return f"{self.page}#{self.id}" if self.id else self.page


@dataclass(slots=True)
class Anchors:
    """Every place of the site, in the order pages were surveyed."""

    places: dict[tuple[AnchorKind, str], list[Anchor]] = field(default_factory=dict)

    def add(self, anchor: Anchor) -> None:
        self.places.setdefault((anchor.kind, anchor.name), []).append(anchor)

    def find(self, target: str, page: str) -> Anchor:
        """The place that `kind:name` means when `page` says it, or a fault with near names."""
        kind, _, name = target.partition(":")
        for (known, known_name), found in self.places.items():
            if known == kind and known_name == name:
                return next((anchor for anchor in found if anchor.page == page), found[0])
        raise ContentFault(
            f"no place is called {target!r}",
            hint=did_you_mean(target, [f"{k}:{n}" for k, n in self.places]),
        )

    def on(self, page: str) -> Iterator[Anchor]:
        for found in self.places.values():
            yield from (anchor for anchor in found if anchor.page == page)


def relative(target: str, page: str) -> str:
    """`target`, a site path with an optional anchor, as `page` must write it.

    Absolute https addresses pass unchanged.
    """
    if target.startswith(("https://", "#", "mailto:")):
        return target
    path, _, fragment = target.partition("#")
    if path == page and fragment:
        return f"#{fragment}"
    link = relpath(path, dirname(page) or ".")
    return f"{link}#{fragment}" if fragment else link
