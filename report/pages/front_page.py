"""The first page: what this is, its best figure, and one number followed to its source."""

from collections.abc import Mapping

from markupsafe import Markup

from report.content import DecisionReport
from report.exhibit import Figure
from report.numbers.precision import PrecisionRun
from report.pages.press import Page, Press, deck_of
from report.pages.prose import Galley
from report.pages.record_list import record_summary
from report.pages.release_front import facts_of, lead_of
from report.pages.report_page import path_of
from report.pages.verdict import OUTCOMES

FEATURED = "error-by-policy"
"""The figure of the front page."""
FEATURED_RESULT = "outlier-int8"
"""The result whose number the front page follows to its source."""


HEADLINE = "Numbers that say where they are from"
ABOUT_THE_FIGURE = (
    "Smaller formats save bytes and add error. Here both are measured, with what mends the error"
    " and what a time may claim."
)
PROMISE = (
    "Each number leads to the recorded run, the formula or the document it came from. A changed"
    " byte stops the build."
)


def set_index(press: Press, figures: Mapping[str, Figure]) -> None:
    lead = leading_report(press)
    headline, deck = headline_of(press, figures)
    page = Page(
        path="index.html",
        kind="home",
        title="Assay",
        description="A precision report in which every number leads to where it came from.",
        eyebrow=f"Decision report {lead.number}" if lead else "Hardware and precision reports",
        deck=deck,
        facts=facts_of(lead) if lead else (),
        records=tuple(press.evidence),
    )
    galley = press.galley(page.path)
    featured = [
        Markup(press.desk.exhibits.place("fig", name, 1, galley))
        for name in figures
        if name == FEATURED and not lead
    ]
    records = [record_summary(press, name, page.path) for name in press.evidence]
    press.set(
        page,
        galley,
        lead=lead_of(press, lead, galley, figures) if lead else None,
        headline=headline,
        figures=featured,
        trail=[] if lead else follow_one_number(press, galley),
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
        records=records,
        profiles=[record for record in records if record["profile"]],
        values=len(press.study.values.derived),
        chips=len(press.content.chips),
        formats=len(press.content.formats),
        terms=len(press.content.glossary),
    )


def leading_report(press: Press) -> DecisionReport | None:
    """The newest report, where there is no lesson that the first page could be about."""
    found = [each for each in press.content.reports.values() if each.record in press.evidence]
    newest = max(found, key=lambda each: (each.date, each.slug), default=None)
    return None if press.content.lessons else newest


def headline_of(press: Press, figures: Mapping[str, Figure]) -> tuple[str, str]:
    """What the first page says it is about: the figure that it shows, or else the first lesson."""
    if FEATURED in figures:
        return HEADLINE, f"{ABOUT_THE_FIGURE} {PROMISE}"
    for lesson in press.content.lessons:
        return lesson.title, deck_of(lesson)
    return HEADLINE, PROMISE


def follow_one_number(press: Press, galley: Galley) -> list[Markup]:
    """The way from a printed number back to the code that measured it, step by step."""
    run = press.study.featured(PrecisionRun)
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
        f" [lab sources](records/{run.name}.html#files) that ran{then}",
    )
    return [Markup(galley.inline(step, "page index.html", lint=False)) for step in steps]
