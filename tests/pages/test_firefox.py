"""The same pages in a second engine, where the system has Firefox: opened from disk, no network."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from .conftest import RECORD_VIOLATIONS, pages_of
from .firefox import FIREFOX, Firefox, running

LESSON = "lessons/choose-measure-profile.html"
pytestmark = [
    pytest.mark.skipif(not FIREFOX, reason="no Firefox on this system"),
]

SEEN = """(() => {
  const size = node => node.getBoundingClientRect();
  const formulas = Array.from(document.querySelectorAll("main math"));
  const flat = math => math.checkVisibility() && (size(math).width < 2 || size(math).height < 4);
  const children = {msub: 2, msup: 2, mfrac: 2, mroot: 2, mover: 2, munder: 2};
  for (const tag of ["msubsup", "munderover"]) children[tag] = 3;
  const root = document.documentElement;
  return {
    odd: Array.from(document.querySelectorAll(Object.keys(children).join()))
      .filter(node => node.childElementCount !== children[node.localName]).length,
    charts: Array.from(document.querySelectorAll("svg.chart"))
      .filter(svg => svg.checkVisibility())
      .map(svg => [size(svg).width, svg.querySelectorAll("text").length]),
    formulas: document.querySelectorAll("math").length,
    flat: formulas.filter(flat).length,
    excess: root.scrollWidth - root.clientWidth,
    violations: window.policyViolations,
  };
})()"""


HALF_READ = "Incorrect number of children for <m"
"""What Firefox says of a formula that it draws half read; so children are counted at the end."""


@pytest.fixture(scope="module")
def firefox(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Firefox]:
    record = f"() => {{ {RECORD_VIOLATIONS} }}"
    with running(tmp_path_factory.mktemp("firefox")) as browser:
        browser.command("script.addPreloadScript", functionDeclaration=record)
        yield browser


@pytest.mark.parametrize("width", [1280, 390], ids=["wide", "phone"])
def test_every_page_opens_complete_and_without_complaint(site: Path, firefox: Firefox, width):
    firefox.resize(width, 900)
    wrong = []
    for path in pages_of(site):
        firefox.open((site / path).as_uri())
        seen = firefox.run(SEEN)
        told = [each for each in firefox.complaints() if HALF_READ not in each]
        wrong += [f"{path}: {each}" for each in (*told, *seen["violations"])]
        if seen["odd"]:
            wrong.append(f"{path}: {seen['odd']} parts of formulas lack a child")
        wrong += [f"{path}: a chart of {chart}" for chart in seen["charts"] if min(chart) < 3]
        if seen["flat"]:
            wrong.append(f"{path}: {seen['flat']} formulas take no room")
        if seen["excess"] > 0:
            wrong.append(f"{path}: {seen['excess']} px too wide")
    assert wrong == []


def test_the_lesson_shows_every_figure_and_formula(site: Path, firefox: Firefox):
    firefox.resize(1280, 900)
    firefox.open((site / LESSON).as_uri())

    seen = firefox.run(SEEN)

    text = (site / LESSON).read_text(encoding="utf-8")
    assert len(seen["charts"]) == text.count('id="fig-') > 5
    assert seen["formulas"] == text.count("<math") > 100


def test_a_control_redraws_its_figure_in_place(site: Path, firefox: Firefox):
    firefox.resize(1280, 900)
    firefox.open((site / LESSON).as_uri())

    changed = firefox.run(
        """new Promise(done => {
          const drawing = () => document.querySelector("#fig-roofline svg").outerHTML;
          const before = drawing();
          const input = document.querySelector("#fig-roofline input[type=range]");
          input.value = input.max;
          input.dispatchEvent(new Event("input", {bubbles: true}));
          const look = () => drawing() === before ? setTimeout(look, 50) : done(true);
          look();
        })"""
    )

    assert changed
    assert firefox.complaints() == []


def test_a_complaint_would_be_heard(firefox: Firefox, tmp_path):
    page = "<script>console.warn('heard')</script><img src='http://example.org/x.png' alt=''>"
    (tmp_path / "page.html").write_text(f"<!doctype html><title>t</title>{page}", encoding="utf-8")

    firefox.open((tmp_path / "page.html").as_uri())
    firefox.run("1")

    told = firefox.complaints()
    assert any("heard" in each for each in told)
    assert any("example.org" in each for each in told)
