"""First pages: is each about what its folder holds, and does a report say what came before it?"""

import json
import re
from dataclasses import replace

import pytest

from report.archive.release import choose
from report.content.writings import Superseded
from report.figures.gallery import entries
from report.numbers.study import work_out
from report.pages.finished import read_page
from report.pages.front_page import FEATURED
from report.pages.site import render_site
from report.tables import set_tables
from tests.report import test_site
from tests.report.test_site import drawing

parts = test_site.parts


@pytest.fixture(scope="module")
def release(parts):
    """The pages of a release whose report takes the place of another."""
    edition = choose(parts["content"], "precision-cpu", parts["evidence"])
    later = replace(edition.report, supersedes=Superseded(release="older-1", manifest="ab" * 32))
    content = replace(edition.content, reports={later.slug: later})
    evidence = {name: parts["evidence"][name] for name in edition.records}
    study = work_out(evidence, content)
    mine = {"study": study, "evidence": evidence, "tables": set_tables(study, content)}
    mine |= {"figures": {entry.name: drawing(entry.name) for entry in entries(study)}}
    return render_site(
        **parts | mine | {"content": content}, imprint=replace(edition, report=later)
    )


@pytest.fixture(scope="module")
def own(parts):
    """A site of a project that has a report and no lesson."""
    content = replace(parts["content"], lessons=(), decisions=())
    return render_site(**parts | {"content": content})


def test_the_first_page_of_a_release_is_about_its_report(release, parts):
    page = release["index.html"].decode()
    report = parts["content"].reports["precision-cpu"]

    assert re.findall("<h1>(.*?)</h1>", page) == [report.title]
    assert f"<b>Declared date</b> {report.date}" in page
    assert "On hold" in page
    assert "target not met" in page
    assert page.count('<div class="fig ') == 1
    claims = json.loads(release["claims.json"])["claims"]
    (measured, *_) = [each for each in claims if each["page"] == "index.html"]
    assert (measured["pointer"], measured["text"]) == (report.target.metric, "2.45\u00a0%")
    shown = re.search(f'id="{measured["id"]}"[^>]*>(.*?)<', page)
    assert shown and shown[1] == measured["text"]
    for name in choose(parts["content"], "precision-cpu", parts["evidence"]).records:
        row = re.search(f'<tr><th scope="row" class="nb"><a href="records/{name}.html.*', page)
        assert row and parts["study"].runs[name].scope.statement in row[0]


def test_the_first_page_of_a_release_leads_to_every_other_and_to_the_way_to_check_it(release):
    page = release["index.html"].decode()
    links = read_page(page).links

    others = {path for path in release if path.endswith(".html") and path != "index.html"}
    assert others <= set(links)
    assert {"VERIFY.txt", "MANIFEST.sha256", "release.json"} <= set(links)
    for words in ("measurements are right", "the latest report", "when it was signed"):
        assert words in page


def test_a_report_says_which_release_it_takes_the_place_of(release, own):
    for path in ("index.html", "reports/precision-cpu.html"):
        page = release[path].decode()
        assert f"older-1, manifest sha256 <code>{'ab' * 32}</code>" in page, path
        assert "takes the place" not in own[path].decode().lower()


def test_the_contents_of_a_report_lead_to_every_section(release):
    page = release["reports/precision-cpu.html"].decode()
    sections = set(re.findall('<h2 id="([^"]+)"', page)) - {"terms", "keys-title"}

    assert "basis" in sections
    assert sections == set(re.findall('<li><a href="#([^"]+)"', page))


def test_the_first_page_of_a_site_without_a_lesson_is_about_its_report(own, parts):
    page = own["index.html"].decode()

    assert re.findall("<h1>(.*?)</h1>", page) == [parts["content"].reports["precision-cpu"].title]
    assert "target not met" in page
    assert "Smaller formats" not in page
    claims = json.loads(own["claims.json"])["claims"]
    ids = {each["id"] for each in claims if each["page"] == "index.html"}
    assert ids
    assert ids <= set(re.findall(' id="([^"]+)"', page))


def test_the_first_page_speaks_of_no_figure_that_it_does_not_show(parts):
    mine = replace(parts["content"], lessons=(), decisions=(), reports={})
    others = {name: each for name, each in parts["figures"].items() if name != FEATURED}
    page = render_site(**parts | {"content": mine, "figures": others})["index.html"].decode()

    assert "Smaller formats" not in page
    assert 'class="front"' not in page
