"""Pages that were set before from just the same: taken from the cache instead of set again.

All pages share a base: the code, templates and libraries that set them, the records they stand on,
and all that is written but the texts of lessons and notes. Such a text is in no page but its own;
what else a page is made from is named where it is set. So a change of one text costs that page,
and a change of anything else costs them all.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from hashlib import sha256
from pathlib import Path
from typing import Any

from report.cache import NullCache, Store
from report.content import Content
from report.evidence import Evidence
from report.exhibit import Figure
from report.inputs import machinery
from report.numbers.study import Study, digest_of
from report.pages.anchors import Anchors
from report.pages.desk import Claim, Stated
from report.pages.finished import FinishedPage, read_page
from report.pages.press import Imprint, Press

Setter = Callable[[], None]
"""Sets one page or several on a press."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Workshop:
    """Where work is kept, and what it is made with; nothing is kept without a store."""

    store: Store | None
    machinery: str
    """SHA-256 of code, templates and libraries; empty without a store."""

    @classmethod
    def of(cls, templates: Path, cache: Store | None) -> "Workshop":
        if cache is None or isinstance(cache, NullCache):
            return cls(store=None, machinery="")
        return cls(store=cache, machinery=machinery(str(templates)))


def base_of(  # noqa: PLR0917 (one argument for each room before this one)
    made_with: str,
    content: Content,
    study: Study,
    evidence: Mapping[str, Evidence],
    figures: Mapping[str, Figure],
    tables: Sequence[str],
    anchors: Anchors,
    imprint: Imprint | None,
) -> str:
    """SHA-256 of what every page depends on, the texts of documents left out.

    The study's digest stands for its records, and with `content` for the tables that they fill.
    """
    documents = (*content.lessons, *content.decisions)
    return digest_of(
        [
            made_with,
            study.digest,
            [(name, each.level, each.lab_changes) for name, each in evidence.items()],
            replace(content, lessons=(), decisions=()),
            [(each.slug, each.path, each.title, each.front) for each in documents],
            [(name, sha256(each.drawing.svg).hexdigest()) for name, each in figures.items()],
            tables,
            list(anchors.places.values()),
            (imprint.name, imprint.date, imprint.missing) if imprint else None,
        ]
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Kept:
    """Sets each page once, or always where there is no store."""

    store: Store | None
    base: str

    def once(self, press: Press, name: str, setter: Setter, *depends: object) -> None:
        """Call `setter`, or bring back what it left on `press` when it was last called.

        `depends` is all that its pages are made from beside the base. Pages with a fault are not
        kept, so that every fault is told again.
        """
        key = digest_of(["pages", name, self.base, depends]) if self.store is not None else ""
        if self.store is not None and (found := self.store.get(key)) is not None:
            _bring_back(press, json.loads(found))
            return
        before = _Extent.of(press)
        setter()
        left = before.left_on(press)
        press.finished.update((path, read_page(html)) for path, html in left["pages"].items())
        if self.store is not None and len(press.faults) == before.faults:
            left["finished"] = {path: press.finished[path].as_json() for path in left["pages"]}
            self.store.put(key, json.dumps(left, ensure_ascii=False).encode())


@dataclass(frozen=True, slots=True, kw_only=True)
class _Extent:
    """How much stands on a press: what comes later is what a setter left."""

    pages: frozenset[str]
    written: frozenset[tuple[str, str]]
    claims: int
    statements: int
    faults: int
    used_on: Mapping[str, int]

    @classmethod
    def of(cls, press: Press) -> "_Extent":
        return cls(
            pages=frozenset(press.pages),
            written=frozenset(press.written),
            claims=len(press.claims),
            statements=len(press.statements),
            faults=len(press.faults),
            used_on={term: len(paths) for term, paths in press.used_on.items()},
        )

    def left_on(self, press: Press) -> dict[str, Any]:
        pages = [path for path in press.pages if path not in self.pages]
        used = {term: paths[self.used_on.get(term, 0) :] for term, paths in press.used_on.items()}
        return {
            "pages": {path: press.pages[path] for path in pages},
            "titles": {path: press.titles[path] for path in pages},
            "written": [
                (*place, at) for place, at in press.written.items() if place not in self.written
            ],
            "claims": [asdict(claim) for claim in press.claims[self.claims :]],
            "statements": [asdict(stated) for stated in press.statements[self.statements :]],
            "used_on": {term: paths for term, paths in used.items() if paths},
        }


def _bring_back(press: Press, left: Mapping[str, Any]) -> None:
    press.pages.update(left["pages"])
    press.titles.update(left["titles"])
    press.written.update(((page, href), at) for page, href, at in left["written"])
    press.claims += (Claim(**claim) for claim in left["claims"])
    press.statements += (Stated(**stated) for stated in left["statements"])
    for term, paths in left["used_on"].items():
        press.used_on.setdefault(term, []).extend(paths)
    press.finished.update(
        (path, FinishedPage.of_json(page)) for path, page in left["finished"].items()
    )
