"""Lessons and decision notes: Markdown documents, each with the one before and the one after."""

from collections.abc import Sequence

from markupsafe import Markup

from report.content import Document
from report.pages.manuscript import Manuscript
from report.pages.press import Page, Press, deck_of
from report.pages.prose import Galley
from report.pages.report_page import path_of


def set_document(
    press: Press, documents: Sequence[tuple[Document, Manuscript]], at: int, kind: str
) -> None:
    """A lesson, or a decision note: the one at `at`, with the one before and the one after."""
    document, manuscript = documents[at]
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
        eyebrow=str(document.front.get("eyebrow", "Lesson" if lesson else "Why it is built so")),
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
    cited = galley.cited
    derived = {part for claim in galley.claims for part in claim.pointer.split("/")}
    return [name for name in press.evidence if name in cited | derived or galley.exhibits]
