"""The profile of a capture that is in no record: a folder of its own, which opens from disk."""

import json
from dataclasses import replace
from pathlib import Path

from report.cache import Store
from report.content import Content
from report.errors import ContentFault, raise_if_any
from report.exhibit import Figure
from report.folder import Copied
from report.numbers.profile import Profile
from report.numbers.profile_compare import ProfileComparison
from report.numbers.study import Study, digest_of
from report.numbers.values import Values
from report.numbers.worked_trace import work_out_pairs, work_out_trace
from report.numbers.workings import Workings
from report.pages.anchors import Anchors
from report.pages.desk import Desk
from report.pages.exhibits import FigureFiles, Shelf
from report.pages.links import check_links
from report.pages.press import Page, Press, environment, term_anchor
from report.pages.profile_page import about, add_figure_anchor, lone_scope, set_profile
from report.pages.reference import set_workings
from report.pages.site import RUNTIME, MacroPieces, assets, claims

PAGE = "index.html"


def render_profile(
    profile: Profile,
    label: str,
    summary: bytes,
    figure: Figure | None,
    comparison: ProfileComparison | None,
    *,
    content: Content,
    study: Study,
    templates: Path,
    cache: Store | None = None,
) -> dict[str, bytes | Copied]:
    """Every file of the folder by path: the page, its workings, figures and claims.

    `study` is one without records, for the places that terms and numbers have on any page.
    """
    note = Workings()
    work_out_trace(profile, note)
    if comparison:
        work_out_pairs(profile.name, comparison, note)
    documents = {f"{profile.name}/trace": json.loads(summary)}
    values = Values(note.values, documents, profile_page=PAGE)
    own = replace(study, traces={}, values=values, digest=digest_of(profile))
    figures = {figure.name: figure} if figure else {}
    jinja = environment(templates, cache)
    pieces = jinja.get_template("pieces.html").module
    anchors = Anchors()
    for name in figures:
        add_figure_anchor(name, PAGE, anchors)
    desk = Desk(
        anchors=anchors,
        values=values,
        terms={name.lower(): term_anchor(name) for name in content.glossary},
        pieces=MacroPieces(pieces),
        exhibits=Shelf(figures=figures, tables={}, made={}, pieces=pieces),
    )
    press = Press(
        templates=jinja,
        desk=desk,
        content=content,
        study=own,
        evidence={},
        nav=(("Profile", PAGE), ("Workings", "workings.html")),
        alone=True,
    )
    page = Page(
        path=PAGE,
        kind="profile",
        title=f"The profile of {label}",
        scope=lone_scope(profile),
        contents=True,
        **about(profile),
    )
    set_profile(press, page, profile, {}, comparison)
    set_workings(press)
    raise_if_any(ContentFault, "The page cannot be set:", press.faults)

    files: dict[str, bytes | Copied] = {path: html.encode() for path, html in press.pages.items()}
    files |= assets(templates, figures, search=False)
    for drawn in figures.values():
        files |= FigureFiles(figure=drawn).all()
    files["summary.json"] = summary
    files["claims.json"] = claims(press)
    check_links(files, promised=(RUNTIME,))
    return files
