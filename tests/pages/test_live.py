"""What script adds: live figures, search, themes, saving and checking. All from disk."""

import hashlib
import json

import pytest
from playwright.sync_api import expect

from .conftest import Opener

LESSON = "lessons/choose-measure-profile.html"
PROFILE = "profiles/precision-cpu.html"
LIVE = {
    **dict.fromkeys(("bytes-by-policy", "roofline", "memory-budget", "kv-cache"), LESSON),
    "timeline-precision-cpu": PROFILE,
}
"""Figures that come alive, each with a page that shows it."""
SIGNALS = ("step", "zoom", "at")
"""What the inputs of a timeline drive."""
TEXTS = """figure => Array.from(figure.querySelectorAll("svg.chart"))
  .filter(svg => svg.checkVisibility())
  .flatMap(svg => {
    const box = svg.getBoundingClientRect();
    return Array.from(svg.querySelectorAll("text"))
      .filter(text => text.textContent.trim() && text.checkVisibility({opacityProperty: true}))
      .map(text => {
        const at = text.getBoundingClientRect();
        return [text.textContent, at.left - box.left, at.top - box.top];
      });
  })"""


def test_nothing_is_loaded_for_figures_nobody_touches(open_page: Opener):
    opened = open_page(LESSON)
    opened.page.wait_for_timeout(200)

    assert [url for url in opened.requests if "vega" in url or "/live/" in url] == []


@pytest.mark.parametrize("width", [1280, 390])
@pytest.mark.parametrize("name", LIVE)
def test_a_touched_figure_comes_alive_in_place(site, open_page: Opener, name, width):
    opened = open_page(LIVE[name], viewport={"width": width, "height": 900})
    figure = opened.page.locator(f"#fig-{name}")
    control = figure.locator("[data-signal]").first
    control.scroll_into_view_if_needed()
    still = figure.evaluate(TEXTS)

    control.focus()
    opened.page.wait_for_selector(f"#fig-{name}[data-state=live] .say:not(:empty)")
    alive = figure.evaluate(TEXTS)

    assert [text for text, *_ in alive] == [text for text, *_ in still]
    for (text, *was), (_, *now) in zip(still, alive, strict=True):
        assert now == pytest.approx(was, abs=0.5), text
    before = figure.locator(".say").inner_text()
    control.press("ArrowRight")
    opened.page.wait_for_function(
        "([name, before]) => document.querySelector(`#fig-${name} .say`).textContent !== before",
        arg=[name, before],
    )
    assert opened.complaints(site) == []


def test_a_timeline_is_entered_step_by_step_with_the_keyboard_alone(site, open_page: Opener):
    opened = open_page(PROFILE)
    figure = opened.page.locator("#fig-timeline-precision-cpu")
    step, closer, around = (figure.locator(f"[data-signal={name}]") for name in SIGNALS)
    words = figure.locator(".say")

    step.focus()
    opened.page.wait_for_selector("#fig-timeline-precision-cpu[data-state=live] .say:not(:empty)")
    drawn = figure.locator("svg.chart:visible text")
    whole = drawn.all_text_contents()
    step.press("ArrowDown")
    expect(words).to_contain_text("step 0 balanced-fp32")
    step.press("ArrowDown")
    expect(words).to_contain_text("step 1 balanced-bf16")
    assert drawn.all_text_contents() != whole

    closer.focus()
    closer.press("ArrowRight")
    closer.press("ArrowRight")
    expect(words).to_contain_text("2 times closer")
    around.focus()
    before = words.inner_text()
    around.press("End")
    expect(words).not_to_have_text(before)
    assert opened.complaints(site) == []


def test_search_finds_a_term_from_disk(site, open_page: Opener):
    opened = open_page("search.html")

    opened.page.locator("#search-box").fill("unit roundoff")

    hits = opened.page.locator("#search-found a")
    assert hits.count() > 0
    hits.first.click()
    opened.page.wait_for_load_state()
    assert opened.page.url.startswith(site.as_uri())
    assert opened.complaints(site) == []


def test_the_chosen_theme_is_remembered(open_page: Opener):
    opened = open_page("index.html", color_scheme="light")
    opened.page.locator("input[name=theme][value=dark]").check(force=True)

    opened.page.goto(opened.page.url.replace("index.html", "chips.html"))

    background = opened.page.evaluate("getComputedStyle(document.documentElement).backgroundColor")
    assert background == "rgb(21, 24, 27)"


MATCH = (
    "Self-check: the data inside this page matches the hash printed in this page. "
    "It shows accidental damage only."
)
MISMATCH = (
    "Self-check failed: the data inside this page does not match its hash. "
    "Do not rely on the numbers here."
)
UNABLE = "Self-check not run: this browser lacks a needed function."
DAMAGE = """figure => {
  const data = figure.querySelector("script[type='application/json']");
  data.textContent = data.textContent.replace(/[0-9]/, digit => (digit + 1) % 10);
}"""
WITHOUT = "Object.defineProperty(window, 'crypto', {value: {}})"


def test_a_figures_data_can_be_saved_and_checked(site, open_page: Opener):
    opened = open_page(LESSON)
    figure = opened.page.locator("#fig-error-by-policy")

    with opened.page.expect_download() as download:
        figure.locator("[data-save]").first.click()
    saved = download.value.path().read_bytes()
    figure.get_by_role("button", name="Self-check").click()

    kept = (site / "figures" / "error-by-policy.json").read_bytes()
    assert hashlib.sha256(saved).digest() == hashlib.sha256(kept).digest()
    assert json.loads(saved)
    expect(figure.locator("[data-verify] + span")).to_have_text(MATCH)
    assert opened.complaints(site) == []


@pytest.mark.parametrize(("change", "verdict"), [(DAMAGE, MISMATCH), (WITHOUT, UNABLE)])
def test_a_self_check_says_no_more_than_it_found(site, open_page: Opener, change, verdict):
    opened = open_page(LESSON)
    figure = opened.page.locator("#fig-error-by-policy")
    figure.evaluate(change)

    figure.get_by_role("button", name="Self-check").click()

    expect(figure.locator("[data-verify] + span")).to_have_text(verdict)
    assert opened.complaints(site) == []


def test_a_prediction_is_shown_beside_the_answer(open_page: Opener):
    opened = open_page(LESSON)
    checkpoint = opened.page.locator(".check:has(input[type=radio])").first
    choice = checkpoint.locator("label").nth(1)
    choice.click()

    checkpoint.locator("summary").click()

    assert choice.inner_text().strip() in checkpoint.locator("details").inner_text()


def test_a_definition_opens_on_focus_and_escape_closes_it(open_page: Opener):
    opened = open_page(LESSON)
    opened.page.locator("main .term").first.focus()
    card = opened.page.locator("#card")

    assert card.is_visible()
    opened.page.keyboard.press("Escape")
    assert card.is_hidden()
