"""The site: every page, asset, figure file and record file, by path.

Contexts are built here and in the page modules; templates only place them. Two passes
are made over what people wrote: the first finds everything that can be pointed at, the
second sets it. All faults of all pages come out together.
"""

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from html import escape
from pathlib import Path
from typing import Any

from markupsafe import Markup

from report.content import Content, Document
from report.errors import ContentFault, raise_if_any
from report.evidence import Evidence
from report.exhibit import Figure, Table
from report.notation import render
from report.numbers.precision import PrecisionRun
from report.numbers.study import Study
from report.numbers.values import Value, anchor
from report.pages.anchors import NOUNS, Anchor, Anchors, relative
from report.pages.desk import Desk, Heading
from report.pages.exhibits import Context, FigureFiles, Shelf, size
from report.pages.finished import read_page
from report.pages.links import check_links
from report.pages.live import specifications
from report.pages.manuscript import Manuscript, read
from report.pages.press import Page, Press, Store, deck_of, environment, term_anchor
from report.pages.prose import Galley
from report.pages.record_page import run_summary, set_record
from report.pages.report_page import OUTCOMES, add_anchors, label, path_of, set_report
from report.pages.search import search_text

STYLES = ("tokens", "base", "layout", "figure", "table", "code", "report", "print")
"""In the order in which they are joined into one sheet."""
SCRIPTS = ("boot", "page", "search")
FEATURED = "error-by-policy"
"""The figure of the front page."""
FEATURED_RESULT = "outlier-int8"
"""The result whose number the front page follows to its source."""
TABLE_PAGES = {
    "chips.html": ("chips", "counting-units", "support"),
    "formats.html": ("formats",),
}
ARCHIVES = {
    "downloads/practice-workspace.zip": (
        "Practice workspace",
        "The lab, its check, requirements and records: measure on a laptop or a TPU VM with JAX"
        " and NumPy alone.",
    ),
    "downloads/assay-artifacts.zip": (
        "Every artifact",
        "All figures and all record files of this site in one archive.",
    ),
}
"""What the archive room adds to the site after its pages are set."""
RUNTIME = "assets/vega.js"
"""What the figures' room adds: the script that live figures load."""

FIXED_PAGES = {
    "index": "Assay",
    "chips": "Chips, as documented",
    "formats": "Number formats",
    "records": "Records",
    "glossary": "Glossary",
    "workings": "Workings",
    "downloads": "Downloads",
    "search": "Search",
}


def render_site(  # noqa: PLR0917 (one argument for each room before this one)
    content: Content,
    study: Study,
    evidence: Mapping[str, Evidence],
    figures: Mapping[str, Figure],
    tables: Mapping[str, Table],
    templates: Path,
    cache: Store | None = None,
) -> dict[str, bytes | Path]:
    """Every file of the site by path, or ContentFault with every fault of every page."""
    evidence = featured_first(evidence, study)
    jinja = environment(templates, cache)
    pieces = jinja.get_template("pieces.html").module
    shelf = Shelf(figures=figures, tables=tables, pieces=pieces)
    anchors = Anchors()
    lessons = [(lesson, survey(lesson, "lessons", anchors)) for lesson in content.lessons]
    decisions = [(note, survey(note, "decisions", anchors)) for note in content.decisions]
    add_fixed_anchors(content, evidence, figures, anchors)
    desk = Desk(
        anchors=anchors,
        values=study.values,
        terms={name.lower(): term_anchor(name) for name in content.glossary},
        pieces=_Pieces(pieces),
        exhibits=shelf,
    )
    press = Press(
        templates=jinja,
        desk=desk,
        content=content,
        study=study,
        evidence=evidence,
        nav=navigation(content),
    )

    set_index(press, figures)
    set_documents(press, lessons, "lesson")
    set_table_page(
        press,
        "chips.html",
        "What each source documents for one physical chip, in its own words and units.",
    )
    set_table_page(
        press,
        "formats.html",
        "Worked out from their bits, and compared with what their documentation prints.",
    )
    set_records(press)
    for report in content.reports.values():
        set_report(press, report, dict(figures))
    set_documents(press, decisions, "decision")
    set_workings(press)
    set_downloads(press, figures)
    set_glossary(press)
    set_search(press)
    raise_if_any(ContentFault, "The pages cannot be set as they are written:", press.faults)

    site: dict[str, bytes | Path] = {path: html.encode() for path, html in press.pages.items()}
    finished = {path: read_page(html) for path, html in press.pages.items()}
    site |= assets(templates, figures)
    site["assets/search-text.js"] = search_text(finished, press.titles)
    for figure in figures.values():
        site |= FigureFiles(figure=figure).all()
    for proof in evidence.values():
        site |= record_files(proof)
    site["claims.json"] = claims(press)
    check_links(site, finished=finished, promised=(*ARCHIVES, RUNTIME), written=press.written)
    return site


def featured_first(evidence: Mapping[str, Evidence], study: Study) -> dict[str, Evidence]:
    """The records, that of the lesson's figures before the others."""
    first = study.featured.name if study.featured else ""
    return dict(sorted(evidence.items(), key=lambda item: item[0] != first))


class _Pieces:
    """The macros of the template module, each returning plain markup."""

    def __init__(self, module: Any) -> None:
        self._module = module

    def __getattr__(self, name: str) -> Any:
        macro = getattr(self._module, name)
        return lambda **context: str(macro(**context))


# What can be pointed at ------------------------------------------------------------------


def survey(document: Document, folder: str, anchors: Anchors) -> Manuscript:
    """Read a document and note its places."""
    path = f"{folder}/{document.slug}.html"
    manuscript = read(document.body, path=document.path, page=path, first_line=document.first_line)
    anchors.add(
        Anchor(kind="page", name=path.removesuffix(".html"), page=path, id="", label=document.title)
    )
    for place in manuscript.anchors:
        anchors.add(place)
    return manuscript


def add_fixed_anchors(
    content: Content,
    evidence: Mapping[str, Evidence],
    figures: Mapping[str, Figure],
    anchors: Anchors,
) -> None:
    """Pages that are not documents, and the exhibits that stand on them."""
    pages = dict(FIXED_PAGES)
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


def navigation(content: Content) -> list[tuple[str, str]]:
    nav = [("Lesson", f"lessons/{lesson.slug}.html") for lesson in content.lessons[:1]]
    nav += [("Chips", "chips.html"), ("Formats", "formats.html"), ("Records", "records.html")]
    nav += [("Report", path_of(report)) for report in list(content.reports.values())[:1]]
    return [*nav, ("Glossary", "glossary.html"), ("Search", "search.html")]


# Pages -----------------------------------------------------------------------------------


def set_index(press: Press, figures: Mapping[str, Figure]) -> None:
    page = Page(
        path="index.html",
        kind="home",
        title="Assay",
        description="A precision report in which every number leads to where it came from.",
        eyebrow="Hardware and precision reports",
        records=tuple(press.evidence),
        terms=False,
    )
    galley = press.galley(page.path)
    featured = [
        Markup(press.desk.exhibits.place("fig", name, 1, galley))
        for name in figures
        if name == FEATURED
    ]
    press.set(
        page,
        galley,
        figures=featured,
        trail=follow_one_number(press, galley),
        lessons=[
            {
                "title": lesson.title,
                "href": f"lessons/{lesson.slug}.html",
                "text": deck_of(lesson),
            }
            for lesson in press.content.lessons
        ],
        reports=[
            {
                "title": report.title,
                "href": path_of(report),
                "outcome": OUTCOMES[report.decision.outcome],
                "status": report.status,
                "number": report.number,
            }
            for report in press.content.reports.values()
        ],
        decisions=[
            {"title": note.title, "href": f"decisions/{note.slug}.html", "text": deck_of(note)}
            for note in press.content.decisions
        ],
        records=[run_summary(press, run, page.path) for run in runs(press)],
        values=len(press.study.values.derived),
        chips=len(press.content.chips),
        formats=len(press.content.formats),
        terms=len(press.content.glossary),
    )


def runs(press: Press) -> list[PrecisionRun]:
    return [press.study.precision[name] for name in press.evidence]


def follow_one_number(press: Press, galley: Galley) -> list[Markup]:
    """The way from a printed number back to the code that measured it, step by step."""
    run = press.study.featured
    if run is None:
        return []
    record = press.evidence[run.name].record
    pointer = f"{run.name}#/results/{FEATURED_RESULT}/relative_l2_error"
    then = ", byte for byte today’s." if press.evidence[run.name].level == "current" else "."
    steps = (
        f"**{{value}}`{pointer}; error`** is the relative error of INT8 operands with one outlier.",
        f"It stands in the record as `{pointer}`.",
        f"Its file, [report.json](records/{run.name}/report.json), has sha256"
        f" `{run.source.digest}`, as the [manifest](records/{run.name}/manifest.sha256) says.",
        f"The manifest, sha256 `{record.manifest_sha256[:12]}`, also lists the"
        f" [lab source](records/{run.name}/sources/lab/{record.config['lab']}.py)"
        f" that ran{then}",
    )
    return [Markup(galley.inline(step, "page index.html", lint=False)) for step in steps]


def set_documents(
    press: Press, documents: Sequence[tuple[Document, Manuscript]], kind: str
) -> None:
    """Lessons, or decision notes, each with the one before and the one after."""
    for at, (document, manuscript) in enumerate(documents):
        galley = press.galley(manuscript.page)
        body = Markup(galley.blocks(manuscript))
        lesson = kind == "lesson"
        steps = [
            (way, word, documents[to][1].page, documents[to][0].title)
            for way, word, to in (("back", "Before", at - 1), ("next", "Next", at + 1))
            if 0 <= to < len(documents)
        ]
        if lesson and at == len(documents) - 1:
            steps += [
                ("next", "Next: the decision", path_of(report), report.title)
                for report in list(press.content.reports.values())[:1]
            ]
        page = Page(
            path=manuscript.page,
            kind=kind,
            title=document.title,
            description=str(document.front.get("description", document.title)),
            eyebrow=str(
                document.front.get("eyebrow", "Lesson" if lesson else "Why it is built so")
            ),
            deck=deck_of(document),
            facts=document_facts(document, manuscript, galley) if lesson else (),
            records=records_cited(press, galley) if lesson else (),
            contents=lesson,
            steps=steps,
        )
        press.set(page, galley, body=body)


def document_facts(
    document: Document, manuscript: Manuscript, galley: Galley
) -> list[tuple[str, str]]:
    checkpoints = sum(
        node.type == "directive" and "{checkpoint}" in node.info for node in manuscript.tree.walk()
    )
    minutes = document.front.get("minutes")
    facts = [("Time", f"about {minutes} minutes")] if minutes else []
    return [
        *facts,
        ("Checkpoints", str(checkpoints)),
        ("Figures", str(len(galley.exhibits))),
        ("Linked numbers", str(len(galley.claims))),
        ("Source", f"sha256 `{document.sha256[:12]}`"),
    ]


def records_cited(press: Press, galley: Galley) -> list[str]:
    """Records whose numbers a page shows, directly or in a figure."""
    cited = {claim.pointer.partition("#")[0].partition("/")[0] for claim in galley.claims}
    derived = {part for claim in galley.claims for part in claim.pointer.split("/")}
    return [name for name in press.evidence if name in cited | derived or galley.exhibits]


def set_table_page(press: Press, path: str, deck: str) -> None:
    names = TABLE_PAGES[path]
    page = Page(
        path=path,
        kind="tables",
        title=FIXED_PAGES[path.removesuffix(".html")],
        description=deck,
        eyebrow="Reference",
        deck=deck,
    )
    galley = press.galley(path)
    body = [
        Markup(press.desk.exhibits.place("tab", name, number, galley))
        for number, name in enumerate(names, 1)
        if name in press.desk.exhibits.names("tab")
    ]
    press.set(page, galley, tables=body)


def set_records(press: Press) -> None:
    names = list(press.evidence)
    for at, proof in enumerate(press.evidence.values()):
        steps = [
            (way, word, f"records/{names[to]}.html", names[to])
            for way, word, to in (
                ("back", "Record before", at - 1),
                ("next", "Next record", at + 1),
            )
            if 0 <= to < len(names)
        ]
        set_record(press, proof, steps)
    page = Page(
        path="records.html",
        kind="records",
        title="Records",
        description="Every recorded run of this site, with its device and its hash.",
        eyebrow="Evidence",
        deck="A record is one run of a lab, kept byte for byte. Pages take measured numbers from"
        " records and from nowhere else.",
        records=names,
    )
    rows = [run_summary(press, run, page.path) for run in runs(press)]
    press.set(page, press.galley(page.path), records=rows)


def set_workings(press: Press) -> None:
    """Every derived or chosen number: formula, inputs, result at full precision."""
    page = Page(
        path="workings.html",
        kind="workings",
        title="Workings",
        description="Every derived number of the site with its formula, inputs and full value.",
        eyebrow="Reference",
        deck="Every number that was worked out, or chosen for an example, with its formula, its"
        " inputs and its value before rounding.",
        records=tuple(press.evidence),
        contents=True,
    )
    galley = press.galley(page.path)
    groups: dict[str, list[Context]] = {}
    for pointer, value in press.study.values.items():
        document, _, path = pointer.partition("#/")
        if document not in {"study", "models"}:
            continue
        group = path.split("/")[0] if document == "study" else "given"
        groups.setdefault(group, []).append(working(press, value, galley))
    parts = []
    for group, rows in groups.items():
        derived = group != "given"
        name = label(group) if derived else "Given for the examples"
        place = f"part-{group.replace('_', '-')}"
        galley.headings.append(Heading(level=2, id=place, text=name))
        parts.append({"id": place, "name": name, "rows": rows, "derived": derived})
    press.set(page, galley, parts=parts)


def working(press: Press, value: Value, galley: Galley) -> Context:
    inputs = []
    for pointer in value.inputs:
        try:
            href = relative(press.study.values.resolve_href(pointer), galley.page)
        except ContentFault:
            href = ""
        inputs.append({"pointer": breakable(pointer), "href": href})
    where = f"the formula of {value.pointer}"
    return {
        "id": anchor(value.pointer),
        "pointer": breakable(value.pointer),
        "kind": value.kind,
        "formula": Markup(galley.inline(f"${value.formula}$", where)) if value.formula else "",
        "inputs": inputs,
        "result": in_full(value),
        "reason": value.reason,
    }


def breakable(pointer: str) -> Markup:
    """A pointer that may break after each of its keys."""
    return Markup(re.sub(r"(?<=[/_])", "<wbr>", escape(pointer)))


def in_full(value: Value) -> str:
    """The value before rounding, with its unit."""
    if value.quantity is not None:
        return str(value.quantity)
    if value.number is None:
        return "not recorded"
    text = render(value.number, "integer") if isinstance(value.number, int) else str(value.number)
    return f"{text}\u00a0{value.unit}" if value.unit else text


def set_downloads(press: Press, figures: Mapping[str, Figure]) -> None:
    page = Page(
        path="downloads.html",
        kind="downloads",
        title="Downloads",
        description="Figures with their data, recorded runs, lab sources, a practice workspace.",
        eyebrow="Take it with you",
        deck="All files are beside these pages already; nothing is fetched from a network.",
        records=tuple(press.evidence),
        terms=False,
    )
    galley = press.galley(page.path)
    drawings = []
    for figure in figures.values():
        files = FigureFiles(figure=figure)
        drawings.append(
            {
                "name": figure.name,
                "title": Markup(galley.inline(figure.title, f"figure {figure.name}", lint=False)),
                "files": [
                    {"text": path.split(".", 1)[1], "href": path, "size": size(len(data))}
                    for path, data in files.all().items()
                ],
            }
        )
    press.set(
        page,
        galley,
        archives=[
            {"href": path, "name": name, "text": text} for path, (name, text) in ARCHIVES.items()
        ],
        figures=drawings,
        records=[
            {
                **run_summary(press, run, page.path),
                "report": f"records/{run.name}/report.json",
                "manifest": f"records/{run.name}/manifest.sha256",
                "sources": [
                    {
                        "href": f"records/{run.name}/{file.path}",
                        "name": file.path.removeprefix("sources/"),
                    }
                    for file in press.evidence[run.name].record.files
                    if file.path.startswith("sources/") and file.size
                ],
            }
            for run in runs(press)
        ],
    )


def set_glossary(press: Press) -> None:
    """After the other pages, so that each term can say where it is used."""
    page = Page(
        path="glossary.html",
        kind="glossary",
        title="Glossary",
        description="The terms of these pages, each explained once.",
        eyebrow="Reference",
        terms=False,
    )
    galley = press.galley(page.path)
    terms = []
    for term in press.content.glossary.values():
        used = press.used_on.get(term.term.lower(), [])
        terms.append(
            {
                **press.define(term, galley),
                "used": [
                    {"href": relative(path, page.path), "title": press.titles[path]}
                    for path in used
                ],
            }
        )
    press.set(page, galley, terms=terms)


def set_search(press: Press) -> None:
    page = Page(
        path="search.html",
        kind="search",
        title="Search",
        description="Search every page of this site, offline.",
        eyebrow="Find",
        terms=False,
    )
    pages = [{"href": path, "title": title} for path, title in press.titles.items()]
    press.set(page, press.galley(page.path), pages=pages)


# Files -----------------------------------------------------------------------------------


def assets(templates: Path, figures: Mapping[str, Figure]) -> dict[str, bytes | Path]:
    """Styles, scripts, typefaces and live figures."""
    style = "\n".join((templates / "style" / f"{name}.css").read_text("utf-8") for name in STYLES)
    files: dict[str, bytes | Path] = {"assets/assay.css": style.encode()}
    for name in SCRIPTS:
        files[f"assets/{name}.js"] = templates / "script" / f"{name}.js"
    for face in sorted((templates / "fonts").iterdir()):
        if face.suffix in {".woff2", ".txt", ".md"}:
            files[f"assets/fonts/{face.name.lower()}"] = face
    for figure in figures.values():
        files |= specifications(figure)
    return files


def record_files(evidence: Evidence) -> dict[str, bytes | Path]:
    """A record's files and its manifest, byte for byte."""
    record = evidence.record
    paths: Iterable[str] = (*(file.path for file in record.files), "manifest.sha256")
    return {f"records/{record.name}/{path}": record.folder / path for path in paths}


def claims(press: Press) -> bytes:
    """One line for each printed value, so that a verifier can work it out again."""
    lines = [json.dumps(asdict(claim), ensure_ascii=False) for claim in press.claims]
    body = ",\n".join(lines)
    return f'{{"schema": "assay/claims/1", "claims": [\n{body}\n]}}\n'.encode()
