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
SCREENS = {"narrow": 320, "phone": 390, "wide": 1280}

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


def test_no_page_asks_for_a_network_or_complains_or_scrolls_sideways(site, open_page: Opener):
    opened = open_page("index.html")
    wrong = []
    for path in pages_of(site):
        opened.page.set_viewport_size({"width": SCREENS["narrow"], "height": 900})
        opened.go(site / path)
        opened.page.wait_for_timeout(50)
        for screen, width in SCREENS.items():
            opened.page.set_viewport_size({"width": width, "height": 900})
            root = "document.documentElement"
            excess = opened.page.evaluate(f"{root}.scrollWidth - {root}.clientWidth")
            if excess > 0:
                wrong.append(f"{path}: {excess} px too wide when {screen}")
        wrong += [f"{path}: {each}" for each in opened.complaints(site)]
    assert wrong == []


@pytest.mark.parametrize("width", SCREENS.values(), ids=SCREENS.keys())
def test_every_figure_of_the_lesson_is_drawn_and_nothing_is_cut(open_page: Opener, width):
    opened = open_page(LESSON, viewport={"width": width, "height": 900})

    charts = opened.page.evaluate(CHARTS)

    assert {f"fig-{name}" for name in FIGURES} <= {chart["figure"] for chart in charts}
    for chart in charts:
        assert chart["width"] > 200 and chart["height"] > 80 and chart["texts"] > 3, chart
        assert chart["cut"] == [], chart


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
    scripted = open_page("index.html")
    plain = open_page("index.html", java_script_enabled=False)
    for path in pages_of(site):
        if path == "search.html":
            continue
        # Playwright still evaluates for us; the page's own scripts do not run.
        said = visible_text(plain.go(site / path))
        assert said == visible_text(scripted.go(site / path)), path
        assert plain.page.locator(".js-only:visible").count() == 0, path


def test_without_script_search_says_so_and_offers_another_way(open_page: Opener):
    opened = open_page("search.html", java_script_enabled=False)

    assert "script" in opened.page.locator("main").inner_text()
    assert opened.page.locator("main a").count() > 0


def test_without_script_an_answer_opens(open_page: Opener):
    opened = open_page(LESSON, java_script_enabled=False)
    answer = opened.page.locator(".check details").first

    answer.locator("summary").click()

    assert answer.evaluate("box => box.open")
