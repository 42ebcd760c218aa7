"""Lessons and decision notes: Markdown documents, each with the one before and the one after."""

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass

from markupsafe import Markup

from report.content import Document
from report.numbers.study import digest_of
from report.pages.anchors import Anchor
from report.pages.kept import Workshop
from report.pages.manuscript import Manuscript, read
from report.pages.press import Page, Press, deck_of
from report.pages.prose import Galley
from report.pages.report_page import path_of


@dataclass(slots=True)
class Draft:
    """A document with its page and its places, parsed once somebody asks for its words."""

    document: Document
    page: str
    anchors: Sequence[Anchor] = ()
    parsed: Manuscript | None = None

    @property
    def manuscript(self) -> Manuscript:
        if self.parsed is None:
            document = self.document
            self.parsed = read(
                document.body, path=document.path, page=self.page, first_line=document.first_line
            )
        return self.parsed


def draft(document: Document, folder: str, shop: Workshop) -> Draft:
    """The places of a document of `folder`: kept from when it was last read, or read now."""
    made = Draft(document=document, page=f"{folder}/{document.slug}.html")
    key = digest_of(["places", shop.machinery, made.page, document.path, document.sha256])
    if shop.store is not None and (found := shop.store.get(key)) is not None:
        made.anchors = [Anchor(**place) for place in json.loads(found)]
        return made
    made.anchors = made.manuscript.anchors
    if shop.store is not None and not made.manuscript.faults:
        shop.store.put(key, json.dumps([asdict(place) for place in made.anchors]).encode())
    return made


def set_document(press: Press, drafts: Sequence[Draft], at: int, kind: str) -> None:
    """A lesson, or a decision note: the one at `at`, with the one before and the one after."""
    document, manuscript = drafts[at].document, drafts[at].manuscript
    galley = press.galley(manuscript.page)
    body = Markup(galley.blocks(manuscript))
    lesson = kind == "lesson"
    steps = [
        (way, word, drafts[to].page, drafts[to].document.title)
        for way, word, to in (("back", "Before", at - 1), ("next", "Next", at + 1))
        if 0 <= to < len(drafts)
    ]
    if lesson and at == len(drafts) - 1:
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
        ("Numbers to check", str(len(galley.claims))),
        ("Source", f"sha256 `{document.sha256[:12]}`"),
    ]


def records_cited(press: Press, galley: Galley) -> list[str]:
    """Records whose numbers a page shows, directly or in a figure."""
    cited = galley.cited
    return [name for name in press.evidence if name in cited or galley.exhibits]
