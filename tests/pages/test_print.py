"""On paper the answers and tables are open, and every page is numbered."""

import io
import re

import pypdf

from .conftest import Opener

LESSON = "lessons/choose-measure-profile.html"


def squeezed(text: str) -> str:
    """Letters and digits only: line breaks, hyphens and spaces differ on paper."""
    return re.sub(r"[^a-z0-9]", "", text.lower())


def printed(opened) -> list[str]:
    pdf = opened.page.pdf(prefer_css_page_size=True, print_background=True)
    return [page.extract_text() for page in pypdf.PdfReader(io.BytesIO(pdf)).pages]


def test_every_answer_is_in_the_printed_lesson(open_page: Opener):
    opened = open_page(LESSON)
    answers = opened.page.eval_on_selector_all(
        ".check details",
        "boxes => boxes.map(box => Array.from(box.querySelectorAll('p'))"
        ".filter(p => !p.querySelector('math') && p.textContent.length > 60)"
        ".map(p => p.textContent)[0] || '')",
    )
    answers = [answer for answer in answers if answer]
    assert len(answers) >= 3

    paper = squeezed(" ".join(printed(opened)))

    missing = [answer[:80] for answer in answers if squeezed(answer)[:60] not in paper]
    assert missing == []


def test_printed_pages_are_numbered(open_page: Opener):
    sheets = printed(open_page("reports/precision-cpu.html"))

    assert all(f"{n} / {len(sheets)}" in sheet for n, sheet in enumerate(sheets, start=1))


def test_the_folded_files_of_a_record_are_printed(open_page: Opener):
    opened = open_page("records/precision-cpu.html")
    hashes = opened.page.eval_on_selector_all(
        "#tab-files td:last-child code", "cells => cells.map(cell => cell.textContent)"
    )
    assert len(hashes) > 10

    paper = squeezed(" ".join(printed(opened)))
    assert [each for each in hashes if squeezed(each) not in paper] == []
