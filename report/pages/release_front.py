"""The first page of a release: what was decided, on what it stands, and how to check it."""

from collections.abc import Mapping

from markupsafe import Markup

from report.content import DecisionReport
from report.exhibit import Figure
from report.pages.anchors import relative
from report.pages.exhibits import Context
from report.pages.press import Imprint, Page, Press
from report.pages.profile_page import path_of as profile_path
from report.pages.prose import Galley
from report.pages.record_list import record_summary
from report.pages.report_page import figures_of, path_of
from report.pages.verdict import superseded, verdict_of

PROMISED = ("VERIFY.txt", "MANIFEST.sha256", "release.json")
"""What a release holds beside its pages, and its first page leads to."""
REFERENCE = (
    ("workings.html", "Workings", "every number that was worked out, or chosen for an example"),
    ("chips.html", "Chips", "as their makers document them"),
    ("formats.html", "Number formats", "bit by bit"),
    ("preflight.html", "Preflight", "what TPU compilers make of a program"),
    ("glossary.html", "Glossary", "every term, explained once"),
)
"""Pages that every release has, whether its report cites them or not."""


def set_front(press: Press, imprint: Imprint, figures: Mapping[str, Figure]) -> None:
    """Set `index.html` of the release of the one report that there is."""
    (report,) = press.content.reports.values()
    if report.record not in press.evidence:
        return  # the report's own page says so
    records = [report.record, *(name for name in press.evidence if name != report.record)]
    page = Page(
        path="index.html",
        kind="release",
        title=report.title,
        description=f"Release {imprint.name}: {report.title}.",
        eyebrow=f"Release {imprint.name} · Decision report {report.number}",
        facts=facts_of(report),
        records=records,
    )
    galley = press.galley(page.path)
    lead = lead_of(press, report, galley, figures)
    press.set(
        page,
        galley,
        lead=lead,
        draft=bool(imprint.missing),
        records=[
            {**record_summary(press, name, page.path), "statement": press.scope_of(name).statement}
            for name in records
        ],
        baseline=report.baseline.record if report.baseline else "",
        supersedes=report.supersedes,
        source=report.sha256,
        profiles=[
            {"name": name, "href": relative(profile_path(name), page.path)}
            for name in records
            if name in press.study.traces
        ],
        reference=REFERENCE,
    )


def facts_of(report: DecisionReport) -> tuple[tuple[str, str], ...]:
    """What stands under the title of a report on a front page."""
    return (
        ("Declared date", report.date.isoformat()),
        ("Status", "DRAFT" if report.missing else "Final"),
        ("Evidence", f"[{report.record}](records/{report.record}.html)"),
        *superseded(report),
    )


def lead_of(
    press: Press, report: DecisionReport, galley: Galley, figures: Mapping[str, Figure]
) -> Context:
    """A report at the head of a front page: its verdict, and its first figure if it has one.

    Faults in what it says are told once, by its own page.
    """
    before = len(galley.faults)
    verdict = verdict_of(press, report, galley)
    del galley.faults[before:]
    shown = figures_of(report, dict(figures))[:1]
    return {
        "title": report.title,
        "href": path_of(report),
        "verdict": verdict,
        "figures": [Markup(press.desk.exhibits.place("fig", name, 1, galley)) for name in shown],
    }
