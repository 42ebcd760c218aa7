"""The first page: what this is, its best figure, and one number followed to its source."""

from collections.abc import Mapping

from markupsafe import Markup

from report.exhibit import Figure
from report.numbers.precision import PrecisionRun
from report.pages.press import Page, Press, deck_of
from report.pages.prose import Galley
from report.pages.record_list import record_summary
from report.pages.report_page import OUTCOMES, path_of

FEATURED = "error-by-policy"
"""The figure of the front page."""
FEATURED_RESULT = "outlier-int8"
"""The result whose number the front page follows to its source."""


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
    records = [record_summary(press, name, page.path) for name in press.evidence]
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
        records=records,
        profiles=[record for record in records if record["profile"]],
        values=len(press.study.values.derived),
        chips=len(press.content.chips),
        formats=len(press.content.formats),
        terms=len(press.content.glossary),
    )


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
