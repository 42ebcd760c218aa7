"""Pages to look things up in: tables, records, workings, downloads, glossary, search."""

from collections.abc import Mapping
from hashlib import sha256

from markupsafe import Markup

from report.errors import ContentFault
from report.exhibit import Figure
from report.notation import render
from report.numbers.values import Value, anchor
from report.pages.anchors import relative
from report.pages.desk import Heading
from report.pages.exhibits import Context, FigureFiles, size
from report.pages.press import Page, Press, breakable
from report.pages.prose import Galley
from report.pages.record_kinds import SETTERS
from report.pages.record_list import record_summary
from report.pages.report_page import label

TABLE_PAGES = {
    "chips.html": ("chips", "counting-units", "support", "remarks", "documents"),
    "formats.html": ("formats",),
}
"""Tables that have a page of their own, by page."""
TABLE_DECKS = {
    "chips.html": "What each source documents for one physical chip, in its own words and units.",
    "formats.html": "Worked out from their bits, and compared with what their documentation"
    " prints.",
}
"""What those pages say of themselves."""
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
    "downloads/verify.html": (
        "Verifier, as a page",
        "One page that opens from disk, without network: give it a sealed release and a key’s"
        " fingerprint, and it says whether files, signers and numbers hold.",
    ),
    "downloads/verify.py": (
        "Verifier, as one file",
        "The same for Python 3.8 or later, standard library alone. Keep it apart from what it"
        " checks: a copy inside a release is as easily forged as the release.",
    ),
}
"""What each archive of a site holds, by its path."""
TITLES = {
    "index": "Assay",
    "chips": "Chips, as documented",
    "formats": "Number formats",
    "records": "Records",
    "glossary": "Glossary",
    "workings": "Workings",
    "downloads": "Downloads",
    "search": "Search",
}
"""Pages that every site has."""
REST = "The site"
SHELVES = {
    "lessons": "Lesson and report",
    "reports": "Lesson and report",
    "records": "Records",
    "profiles": "Profiles",
    "decisions": "Why it is built so",
}
"""Headings of the list of pages, by the folder a page is in; `REST` is for those in none."""
MOST_UNFOLDED = 24
"""Workings of one record, or of none, that stand open; more begin folded."""


def set_table_page(press: Press, path: str, deck: str) -> None:
    names = TABLE_PAGES[path]
    page = Page(
        path=path,
        kind="tables",
        title=TITLES[path.removesuffix(".html")],
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
        run = press.study.runs[proof.record.name]
        SETTERS[type(run)](press, proof, run, steps)
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
    rows = [record_summary(press, name, page.path) for name in names]
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
    groups: dict[str, dict[str, list[Context]]] = {}
    for pointer, value in press.study.values.items():
        document, _, path = pointer.partition("#/")
        if document not in {"study", "models"}:
            continue
        group, below, *_ = path.split("/") if document == "study" else ("given", "")
        record = below if below in press.evidence else ""
        rows = groups.setdefault(group, {}).setdefault(record, [])
        rows.append(working(press, value, galley))
    parts = []
    for group, lists in groups.items():
        derived = group != "given"
        name = label(group) if derived else "Given for the examples"
        place = f"part-{group.replace('_', '-')}"
        galley.headings.append(Heading(level=2, id=place, text=name))
        told = [
            {"record": record, "rows": rows, "folded": len(rows) > MOST_UNFOLDED}
            for record, rows in lists.items()
        ]
        parts.append({"id": place, "name": name, "lists": told, "derived": derived})
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
        "formula": Markup(galley.inline(f"${value.formula}$", where)) if value.formula else "",
        "inputs": inputs,
        "result": in_full(value, galley),
        "reason": value.reason,
    }


def in_full(value: Value, galley: Galley) -> Markup:
    """The value before rounding, which the page claims, and what it counts."""
    text = render(value.printable, "full", reason=value.reason)
    claim = galley.claim(value.pointer, "full", text)
    counts = ""
    if value.quantity is not None:
        counts = f" per {value.quantity.scope}" if value.quantity.scope else ""
    elif value.number is not None and value.unit:
        counts = f"\u00a0{value.unit}"
    return Markup('<span class="v {}" id="{}" title="{}">{}</span>{}').format(
        value.kind, claim.id, value.kind, text, counts
    )


def set_downloads(
    press: Press, figures: Mapping[str, Figure], archives: Mapping[str, bytes]
) -> None:
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
                "origin": ", ".join(source.name for source in figure.sources),
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
            {
                "href": path,
                "name": name,
                "text": text,
                "size": render(len(archives[path]), "bytes"),
                "sha256": sha256(archives[path]).hexdigest(),
            }
            for path, (name, text) in ARCHIVES.items()
            if path in archives
        ],
        figures=drawings,
        records=[
            {
                **record_summary(press, name, page.path),
                "report": f"records/{name}/report.json",
                "manifest": f"records/{name}/manifest.sha256",
                "sources": [
                    {
                        "href": f"records/{name}/{file.path}",
                        "name": file.path.removeprefix("sources/"),
                    }
                    for file in proof.record.files
                    if file.path.startswith("sources/") and file.size
                ],
            }
            for name, proof in press.evidence.items()
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
    groups: dict[str, list[Context]] = {name: [] for name in dict.fromkeys(SHELVES.values())}
    groups = {REST: [], **groups}
    for path, title in press.titles.items():
        folder, slash, _ = path.partition("/")
        told = {"href": path, "title": title}
        groups[SHELVES.get(folder, REST) if slash else REST].append(told)
    press.set(page, press.galley(page.path), shelves={k: v for k, v in groups.items() if v})
