"""The site: every page, asset, figure file and record file, by path.

Contexts are built here and in the page modules; templates only place them. Two passes
are made over what people wrote: the first finds everything that can be pointed at, the
second sets it. All faults of all pages come out together.
"""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict
from functools import partial
from hashlib import sha256
from pathlib import Path
from types import MappingProxyType
from typing import Any

from report.cache import Store
from report.content import Content, Document
from report.errors import ContentFault, raise_if_any
from report.evidence import Evidence
from report.exhibit import Figure, Table
from report.folder import Copied
from report.numbers.precision import PrecisionRun
from report.numbers.study import Study
from report.pages.anchors import NOUNS, Anchor, Anchors
from report.pages.desk import Claim, Desk, Stated
from report.pages.documents import Draft, draft, set_document
from report.pages.exhibits import FigureFiles, Shelf
from report.pages.front_page import set_index
from report.pages.kept import Kept, Workshop, base_of
from report.pages.links import check_links
from report.pages.live import specifications
from report.pages.preflight_page import PATH as PREFLIGHT
from report.pages.preflight_page import TITLE as PREFLIGHT_TITLE
from report.pages.preflight_page import add_preflight_anchors, set_preflight
from report.pages.press import Imprint, Press, environment, term_anchor
from report.pages.profile_page import add_profile_anchors, set_profiles
from report.pages.reference import (
    TABLE_DECKS,
    TABLE_PAGES,
    TITLES,
    set_downloads,
    set_glossary,
    set_records,
    set_search,
    set_table_page,
    set_workings,
)
from report.pages.release_front import PROMISED, set_front
from report.pages.report_page import add_anchors, path_of, set_report
from report.pages.search import search_text
from report.pages.timing_page import add_timing_anchors

STYLES = ("tokens", "base", "layout", "figure", "table", "code", "report", "print")
"""In the order in which they are joined into one sheet."""
SCRIPTS = ("boot", "page", "search")
"""The last is for the search page alone."""
Once = Callable[..., None]
"""`Kept.once`, on one press."""
RUNTIME = "assets/vega.js"
"""What the figures' room adds: the script that live figures load."""


def render_site(  # noqa: PLR0917 (one argument for each room before this one)
    content: Content,
    study: Study,
    evidence: Mapping[str, Evidence],
    figures: Mapping[str, Figure],
    tables: Mapping[str, Table],
    templates: Path,
    cache: Store | None = None,
    archives: Mapping[str, bytes] = MappingProxyType({}),
    imprint: Imprint | None = None,
) -> dict[str, bytes | Copied]:
    """Every file of the site by path, or ContentFault with every fault of every page.

    `archives` are published as they are; the downloads page has the size and hash of each.
    With an `imprint`, the pages are a release: each bears it, and search and downloads are left
    out, since all of a release is in one folder already.
    """
    evidence = featured_first(evidence, study)
    jinja = environment(templates, cache)
    pieces = jinja.get_template("pieces.html").module
    shelf = Shelf(
        figures=figures,
        tables=tables,
        made={name: study.runs[name].made for name in evidence},
        pieces=pieces,
    )
    anchors = Anchors()
    shop = Workshop.of(templates, cache)
    lessons = survey(content.lessons, "lessons", anchors, shop)
    decisions = survey(content.decisions, "decisions", anchors, shop)
    add_fixed_anchors(content, evidence, figures, anchors)
    add_preflight_anchors({"fig": list(figures), "tab": list(tables)}, anchors)
    add_timing_anchors(study, figures, anchors)
    add_profile_anchors(study.traces, figures, anchors)
    desk = Desk(
        anchors=anchors,
        values=study.values,
        terms={name.lower(): term_anchor(name) for name in content.glossary},
        pieces=MacroPieces(pieces),
        exhibits=shelf,
    )
    press = Press(
        templates=jinja,
        desk=desk,
        content=content,
        study=study,
        evidence=evidence,
        nav=navigation(content, imprint),
        imprint=imprint,
    )

    once = partial(_kept(press, figures, tables, shop).once, press)
    if imprint:
        once("index", lambda: set_front(press, imprint, figures))
    else:
        once("index", lambda: set_index(press, figures))
    set_documents(press, once, lessons, "lesson")
    for path, deck in TABLE_DECKS.items():
        once(path, partial(set_table_page, press, path, deck))
    once("preflight", lambda: set_preflight(press))
    once("records", lambda: set_records(press))
    once("profiles", lambda: set_profiles(press))
    for report in content.reports.values():
        once(path_of(report), partial(set_report, press, report, dict(figures)))
    set_documents(press, once, decisions, "decision")
    once("workings", lambda: set_workings(press))
    if not imprint:
        packed = {path: sha256(data).hexdigest() for path, data in archives.items()}
        once("downloads", lambda: set_downloads(press, figures, archives), packed)
    once("glossary", lambda: set_glossary(press), press.used_on, list(press.titles.items()))
    if not imprint:
        once("search", lambda: set_search(press), list(press.titles.items()))
    raise_if_any(ContentFault, "The pages cannot be set as they are written:", press.faults)

    site: dict[str, bytes | Copied] = {path: html.encode() for path, html in press.pages.items()}
    site |= assets(templates, figures, search=not imprint)
    if not imprint:
        site["assets/search-text.js"] = search_text(press.finished, press.titles)
    site |= exhibit_files(figures, evidence)
    site.update(archives)
    site["claims.json"] = claims(press)
    promised = (RUNTIME, *(PROMISED if imprint else ()))
    check_links(site, finished=press.finished, promised=promised, written=press.written)
    return site


def featured_first(evidence: Mapping[str, Evidence], study: Study) -> dict[str, Evidence]:
    """The records, that of the lesson's figures before the others."""
    shown = study.featured(PrecisionRun)
    first = shown.name if shown else ""
    return dict(sorted(evidence.items(), key=lambda item: item[0] != first))


def set_documents(press: Press, once: Once, drafts: Sequence[Draft], kind: str) -> None:
    for at, each in enumerate(drafts):
        setter = partial(set_document, press, drafts, at, kind)
        once(each.page, setter, each.document.sha256)


def _kept(
    press: Press, figures: Mapping[str, Figure], tables: Mapping[str, Table], shop: Workshop
) -> Kept:
    """What keeps the pages of `press`; nothing is kept without a store."""
    if shop.store is None:
        return Kept(store=None, base="")
    base = base_of(
        shop.machinery,
        press.content,
        press.study,
        press.evidence,
        figures,
        list(tables),
        press.desk.anchors,
        press.imprint,
    )
    return Kept(store=shop.store, base=base)


class MacroPieces:
    """The macros of the template module, each returning plain markup."""

    def __init__(self, module: Any) -> None:
        self._module = module

    def __getattr__(self, name: str) -> Any:
        macro = getattr(self._module, name)
        return lambda **context: str(macro(**context))


# What can be pointed at ------------------------------------------------------------------


def survey(
    documents: Sequence[Document], folder: str, anchors: Anchors, shop: Workshop
) -> list[Draft]:
    """Read documents and note their places."""
    drafts = [draft(document, folder, shop) for document in documents]
    for each in drafts:
        name, title = each.page.removesuffix(".html"), each.document.title
        anchors.add(Anchor(kind="page", name=name, page=each.page, id="", label=title))
        for place in each.anchors:
            anchors.add(place)
    return drafts


def add_fixed_anchors(
    content: Content,
    evidence: Mapping[str, Evidence],
    figures: Mapping[str, Figure],
    anchors: Anchors,
) -> None:
    """Pages that are not documents, and the exhibits that stand on them."""
    pages = dict(TITLES) | {PREFLIGHT.removesuffix(".html"): PREFLIGHT_TITLE}
    pages |= {f"records/{name}": name for name in evidence}
    pages |= {f"reports/{report.slug}": report.title for report in content.reports.values()}
    for name, title in pages.items():
        anchors.add(Anchor(kind="page", name=name, page=f"{name}.html", id="", label=title))
    for page, names in TABLE_PAGES.items():
        for number, name in enumerate(names, 1):
            anchors.add(
                Anchor(
                    kind="tab",
                    name=name,
                    page=page,
                    id=f"tab-{name}",
                    label=f"{NOUNS['tab']} {number}",
                    number=number,
                )
            )
    for report in content.reports.values():
        add_anchors(report, dict(figures), anchors)


def navigation(content: Content, imprint: Imprint | None) -> list[tuple[str, str]]:
    nav = [("Lesson", f"lessons/{lesson.slug}.html") for lesson in content.lessons[:1]]
    nav += [("Chips", "chips.html"), ("Formats", "formats.html"), ("Preflight", PREFLIGHT)]
    nav += [("Records", "records.html")]
    nav += [("Report", path_of(report)) for report in list(content.reports.values())[:1]]
    nav += [("Glossary", "glossary.html")]
    return nav if imprint else [*nav, ("Search", "search.html")]


# Files -----------------------------------------------------------------------------------


def assets(
    templates: Path, figures: Mapping[str, Figure], *, search: bool
) -> dict[str, bytes | Copied]:
    """Styles, scripts, typefaces and live figures."""
    style = "\n".join((templates / "style" / f"{name}.css").read_text("utf-8") for name in STYLES)
    files: dict[str, bytes | Copied] = {"assets/assay.css": style.encode()}
    for name in SCRIPTS[: None if search else -1]:
        files[f"assets/{name}.js"] = templates / "script" / f"{name}.js"
    for face in sorted((templates / "fonts").iterdir()):
        if face.suffix in {".woff2", ".txt", ".md"}:
            files[f"assets/fonts/{face.name.lower()}"] = face
    for figure in figures.values():
        files |= specifications(figure)
    return files


def exhibit_files(
    figures: Mapping[str, Figure], evidence: Mapping[str, Evidence]
) -> dict[str, bytes | Copied]:
    """Every figure file and every record file of a site, by path."""
    files: dict[str, bytes | Copied] = {**figure_files(figures)}
    for proof in evidence.values():
        files |= record_files(proof)
    return files


def figure_files(figures: Mapping[str, Figure]) -> dict[str, bytes]:
    """Every figure file of a site, by path."""
    files: dict[str, bytes] = {}
    for figure in figures.values():
        files |= FigureFiles(figure=figure).all()
    return files


def record_files(evidence: Evidence) -> dict[str, bytes | Copied]:
    """A record's files and its manifest, byte for byte."""
    record = evidence.record
    paths: Iterable[str] = (*(file.path for file in record.files), "manifest.sha256")
    return {f"records/{record.name}/{path}": record.file(path) for path in paths}


def claims(press: Press) -> bytes:
    """One line for each printed value, and each statement, so that a verifier can redo them."""
    parts: Mapping[str, Sequence[Claim | Stated]] = {
        "claims": press.claims,
        "statements": press.statements,
    }
    lists = [
        f'"{name}": [\n'
        + ",\n".join(json.dumps(asdict(each), ensure_ascii=False) for each in listed)
        + "\n]"
        for name, listed in parts.items()
    ]
    return f'{{"schema": "assay/claims/1", {", ".join(lists)}}}\n'.encode()
