"""Is a page brought back only where it would be set the same again?"""

from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from report.cache import Cache
from report.content import Document
from report.errors import ContentFault
from report.figures.gallery import entries
from report.numbers.study import work_out
from report.pages import kept, site
from report.pages.finished import FinishedPage, read_page
from report.pages.reference import ARCHIVES
from report.pages.site import render_site
from report.tables import set_tables
from tests.conftest import PROJECT
from tests.report.numbers_ground import content, evidence, study
from tests.report.test_site import LESSON, drawing

Parts = dict[str, Any]


def parts() -> Parts:
    return {
        "content": content(),
        "study": study(),
        "evidence": evidence(),
        "figures": {entry.name: drawing(entry.name) for entry in entries(study())},
        "tables": set_tables(study(), content()),
        "templates": PROJECT / "templates",
        "archives": dict.fromkeys(ARCHIVES, b"a zip"),
    }


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Cache:
    """Everything kept from the project as it is."""
    found = Cache(tmp_path_factory.mktemp("cache"))
    render_site(**parts(), cache=found)
    return found


@pytest.fixture
def set_again(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """How often each template's page is set."""
    times: Counter[str] = Counter()
    real = site.Press.set

    def counted(press: Any, page: Any, galley: Any, **body: Any) -> None:
        times[page.path] += 1
        real(press, page, galley, **body)

    monkeypatch.setattr(site.Press, "set", counted)
    return times


def with_lesson(change: Callable[[Document], Document]) -> Parts:
    first, *others = content().lessons
    return parts() | {"content": replace(content(), lessons=(change(first), *others))}


def longer(lesson: Document) -> Document:
    return replace(lesson, body=f"{lesson.body}\nOne sentence more.\n", sha256="1" * 64)


def renamed(lesson: Document) -> Document:
    return replace(lesson, title="Another title", sha256="2" * 64)


def with_section(lesson: Document) -> Document:
    body = f"{lesson.body}\n## A section more\n\nSee {{term}}`accumulator`.\n"
    return replace(lesson, body=body, sha256="3" * 64)


def with_definition() -> Parts:
    name, term = next(iter(content().glossary.items()))
    changed = replace(term, definition_markdown="Something else.")
    return parts() | {"content": replace(content(), glossary={**content().glossary, name: changed})}


def with_record() -> Parts:
    found = evidence()["precision-cpu"]
    more = evidence() | {"another": replace(found, record=replace(found.record, name="another"))}
    worked = work_out(more, content())
    return parts() | {"evidence": more, "study": worked, "tables": set_tables(worked, content())}


def with_level() -> Parts:
    """The same files, found to be made by today's lab after all."""
    found = {
        name: replace(each, level="historic", lab_changes=()) for name, each in evidence().items()
    }
    return parts() | {"evidence": found, "study": work_out(found, content())}


def with_figure() -> Parts:
    figure = drawing("error-by-policy")
    changed = replace(figure, drawing=replace(figure.drawing, svg=b"<svg>another</svg>"))
    return parts() | {"figures": {**parts()["figures"], "error-by-policy": changed}}


def with_archive() -> Parts:
    return parts() | {"archives": {**parts()["archives"], next(iter(ARCHIVES)): b"another zip"}}


CHANGES: dict[str, Callable[[], Parts]] = {
    "nothing": parts,
    "a lesson's text": lambda: with_lesson(longer),
    "a lesson's title": lambda: with_lesson(renamed),
    "a lesson's sections": lambda: with_lesson(with_section),
    "a definition": with_definition,
    "a record": with_record,
    "a level": with_level,
    "a figure": with_figure,
    "an archive": with_archive,
}


@pytest.mark.parametrize("change", CHANGES)
def test_a_site_from_kept_pages_is_the_site_set_anew(cache: Cache, change: str):
    changed = CHANGES[change]()

    assert render_site(**changed, cache=cache) == render_site(**changed)


def test_an_unchanged_site_sets_no_page(cache: Cache, set_again: Counter[str]):
    render_site(**parts(), cache=cache)

    assert not set_again


def test_a_changed_text_sets_its_page_alone(tmp_path: Path, set_again: Counter[str]):
    own = Cache(tmp_path)
    render_site(**parts(), cache=own)
    set_again.clear()
    render_site(**with_lesson(longer), cache=own)

    assert set_again == {LESSON: 1}


def test_a_changed_archive_sets_the_downloads_alone(cache: Cache, set_again: Counter[str]):
    render_site(**with_archive() | {"archives": {next(iter(ARCHIVES)): b"new"}}, cache=cache)

    assert set_again == {"downloads.html": 1}


@pytest.mark.parametrize("edited", ["machinery", "templates"])
def test_other_code_or_templates_set_every_page(
    cache: Cache, set_again: Counter[str], monkeypatch: pytest.MonkeyPatch, edited: str
):
    monkeypatch.setattr(kept, "machinery", lambda _: edited)
    made = render_site(**parts(), cache=cache)

    assert set(set_again) == {path for path in made if path.endswith(".html")} - set(ARCHIVES)


def test_a_fault_is_told_every_time(cache: Cache):
    broken = with_lesson(
        lambda lesson: replace(lesson, body="{value}`nowhere#/x; text`", sha256="4" * 64)
    )
    told = []
    for _ in range(2):
        with pytest.raises(ContentFault) as caught:
            render_site(**broken, cache=cache)
        told.append(str(caught.value))

    assert "nowhere" in told[0]
    assert told[0] == told[1]


def test_a_finished_page_comes_back_as_it_was():
    page = read_page('<main><h1 id="a">A</h1><p style="x">b <a href="c#d" id="a">e</a></p></main>')

    assert FinishedPage.of_json(page.as_json()) == page
    assert page.ids["a"] == 2
