"""Opened by double-click: no network, no console line, no policy violation, every figure there."""

import pytest

from .conftest import Opener, pages_of

LESSON = "lessons/choose-measure-profile.html"
FIGURES = (
    "memory-budget",
    "kv-cache",
    "instruction-matrix",
    "padding-staircase",
    "error-by-policy",
    "quantization-step",
    "outlier-repair",
    "error-anatomy",
    "bound-ratios",
    "bytes-by-policy",
    "sample-strips",
    "timing-verdicts",
    "timeline-precision-cpu",
    "roofline",
    "batch-sweep",
    "traffic-models",
)
SCREENS = {"wide": 1280, "phone": 390, "narrow": 320}

# Charts whose drawing is visible, and whose text stays inside the figure.
CHARTS = """() => Array.from(document.querySelectorAll("svg.chart"))
  .filter(svg => svg.checkVisibility())
  .map(svg => {
    const box = svg.getBoundingClientRect();
    const cut = Array.from(svg.querySelectorAll("text")).filter(text => {
      const t = text.getBoundingClientRect();
      return t.width && (t.left < box.left - 2 || t.right > box.right + 2
        || t.top < box.top - 2 || t.bottom > box.bottom + 2);
    }).map(text => text.textContent);
    return {figure: svg.closest("[id^=fig-]")?.id, width: box.width, height: box.height,
            texts: svg.querySelectorAll("text").length, cut};
  })"""


def test_no_page_asks_for_a_network_or_complains(site, open_page: Opener):
    for path in pages_of(site):
        opened = open_page(path)
        opened.page.wait_for_timeout(50)
        assert opened.complaints(site) == [], path
        opened.page.context.close()


@pytest.mark.parametrize("width", SCREENS.values(), ids=SCREENS.keys())
def test_every_figure_of_the_lesson_is_drawn_and_nothing_is_cut(open_page: Opener, width):
    opened = open_page(LESSON, viewport={"width": width, "height": 900})

    charts = opened.page.evaluate(CHARTS)

    assert {f"fig-{name}" for name in FIGURES} <= {chart["figure"] for chart in charts}
    for chart in charts:
        assert chart["width"] > 200 and chart["height"] > 80 and chart["texts"] > 3, chart
        assert chart["cut"] == [], chart


@pytest.mark.parametrize("width", SCREENS.values(), ids=SCREENS.keys())
def test_no_page_scrolls_sideways(site, open_page: Opener, width):
    overflowing = []
    for path in pages_of(site):
        opened = open_page(path, viewport={"width": width, "height": 900})
        root = "document.documentElement"
        excess = opened.page.evaluate(f"{root}.scrollWidth - {root}.clientWidth")
        if excess > 0:
            overflowing.append(f"{path}: {excess} px")
        opened.page.context.close()
    assert overflowing == []


def visible_text(opened) -> str:
    """The words of the page that do not belong to conveniences offered by script."""
    return opened.page.evaluate(
        """() => {
          const main = document.querySelector("main").cloneNode(true);
          main.querySelectorAll(".js-only, script, [hidden]").forEach(e => e.remove());
          return main.textContent.replace(/\\s+/g, " ").trim();
        }"""
    )


def test_without_script_nothing_is_missing_but_conveniences(site, open_page: Opener):
    for path in pages_of(site):
        if path == "search.html":
            continue
        scripted = open_page(path)
        plain = open_page(path, java_script_enabled=False)
        # Playwright still evaluates for us; the page's own scripts do not run.
        assert visible_text(plain) == visible_text(scripted), path
        assert plain.page.locator(".js-only:visible").count() == 0, path
        scripted.page.context.close()
        plain.page.context.close()


def test_without_script_search_says_so_and_offers_another_way(open_page: Opener):
    opened = open_page("search.html", java_script_enabled=False)

    assert "script" in opened.page.locator("main").inner_text()
    assert opened.page.locator("main a").count() > 0


def test_without_script_an_answer_opens(open_page: Opener):
    opened = open_page(LESSON, java_script_enabled=False)
    answer = opened.page.locator(".check details").first

    answer.locator("summary").click()

    assert answer.evaluate("box => box.open")
