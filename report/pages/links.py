"""The last look at a site before it is handed on: every link leads somewhere, nothing is banned.

Whoever wrote a link hears of it by file and line where that is known.
"""

from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from html.parser import HTMLParser
from pathlib import Path
from posixpath import dirname, join, normpath
from urllib.parse import unquote, urlsplit

from report.errors import ContentFault, Fault, raise_if_any

_RESOURCES = {"src", "poster", "data", "srcset"}
_TO_IDS = {"for", "aria-labelledby", "aria-describedby", "aria-controls"}


@dataclass(slots=True)
class PageLinks:
    """What one page holds that another place must answer for."""

    ids: Counter[str] = field(default_factory=Counter)
    links: dict[str, int] = field(default_factory=dict)
    """First line of each address, links and resources alike."""
    resources: set[str] = field(default_factory=set)
    to_ids: set[str] = field(default_factory=set)
    banned: list[str] = field(default_factory=list)


class _Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.page = PageLinks()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        page = self.page
        for name, found in attrs:
            value = found or ""
            if name == "id":
                page.ids[value] += 1
            elif name == "href" or name in _RESOURCES:
                page.links.setdefault(value, self.getpos()[0])
                if tag != "a":
                    page.resources.add(value)
            elif name in _TO_IDS:
                page.to_ids.update(value.split())
            elif name.startswith("data-") and name.removeprefix("data-") in {
                "wide",
                "narrow",
                "runtime",
            }:
                page.links.setdefault(value, self.getpos()[0])
            elif name in {"style", "integrity", "srcdoc"} or name.startswith("on"):
                page.banned.append(f"line {self.getpos()[0]}: {tag} {name}={value!r:.60}")
            elif (tag, name, value) == ("script", "type", "module"):
                page.banned.append(f"line {self.getpos()[0]}: a module script")


def read_links(html: str) -> PageLinks:
    reader = _Reader()
    reader.feed(html)
    reader.close()
    return reader.page


def check_links(
    site: Mapping[str, bytes | Path],
    *,
    promised: Collection[str] = (),
    written: Mapping[tuple[str, str], str] | None = None,
) -> None:
    """Raise ContentFault with every link, anchor and id of `site` that is not right.

    `promised` are paths that will be added; `written` tells where a person wrote a link
    (`file:line`), by page and address.
    """
    pages = {
        path: read_links(data.decode() if isinstance(data, bytes) else data.read_text("utf-8"))
        for path, data in site.items()
        if path.endswith(".html")
    }
    known = {*site, *promised}
    faults: list[Fault] = []
    for path, page in pages.items():
        faults += (Fault(where=path, found=what) for what in page.banned)
        faults += (
            Fault(where=path, found=f"the id {name!r} stands {count} times")
            for name, count in page.ids.items()
            if count > 1
        )
        faults += (
            Fault(where=path, found=f"a reference to the id {name!r}, which is not there")
            for name in sorted(page.to_ids - page.ids.keys())
        )
        for address, line in page.links.items():
            where = (written or {}).get((path, address), f"{path}:{line}")
            if found := _wrong(address, path, page, pages, known):
                faults.append(Fault(where=where, found=found))
    raise_if_any(ContentFault, "The site's links do not hold:", faults)


def _wrong(
    address: str,
    path: str,
    page: PageLinks,
    pages: Mapping[str, PageLinks],
    known: Collection[str],
) -> str:
    """What is wrong with `address` as `path` writes it, or nothing."""
    parts = urlsplit(address)
    if parts.scheme == "https" and address not in page.resources:
        return ""
    if address == "data:,":
        return ""
    if parts.scheme or parts.netloc or address.startswith("/"):
        return f"{address!r} leaves the site"
    target = normpath(join(dirname(path), unquote(parts.path))) if parts.path else path
    if target not in known:
        return f"a link to {address!r}, and there is no {target}"
    if parts.fragment and target in pages and unquote(parts.fragment) not in pages[target].ids:
        return f"a link to {address!r}, and {target} has no such place"
    return ""
