"""The last look at a site before it is handed on: every link leads somewhere, nothing is banned.

Whoever wrote a link hears of it by file and line where that is known.
"""

from collections.abc import Collection, Mapping
from posixpath import dirname, join, normpath
from urllib.parse import unquote, urlsplit

from report.errors import ContentFault, Fault, raise_if_any
from report.folder import Copied
from report.pages.finished import FinishedPage, read_page


def check_links(
    site: Mapping[str, bytes | Copied],
    *,
    finished: Mapping[str, FinishedPage] | None = None,
    promised: Collection[str] = (),
    written: Mapping[tuple[str, str], str] | None = None,
) -> None:
    """Raise ContentFault with every link, anchor and id of `site` that is not right.

    `finished` are its pages, where they have been read before; `promised` are paths that
    will be added; `written` tells where a person wrote a link (`file:line`), by page and
    address.
    """
    pages = finished or {
        path: read_page(data.decode() if isinstance(data, bytes) else data.read_bytes().decode())
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
    page: FinishedPage,
    pages: Mapping[str, FinishedPage],
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
