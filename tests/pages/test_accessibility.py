"""axe finds no violation on any page: light, dark, phone, narrow, with everything opened."""

import pytest
from axe_playwright_python.base import AXE_SCRIPT
from axe_playwright_python.sync_playwright import Axe

from .conftest import Opener, pages_of

STATES = {
    "light": {"color_scheme": "light"},
    "dark": {"color_scheme": "dark"},
    "phone": {"viewport": {"width": 390, "height": 844}, "has_touch": True},
    "narrow": {"viewport": {"width": 320, "height": 640}},
}
ABOUT = {
    "dark": ["color-contrast", "link-in-text-block"],
    "narrow": ["scrollable-region-focusable"],
}
"""What a state can change, of all that is asked in light, where every row is looked at."""
OPEN_ALL = "document.querySelectorAll('details').forEach(box => { box.open = true; })"

ONLY = {"resultTypes": ["violations"]}
CONTRAST = "color-contrast"
ASKED = Axe(
    f"{AXE_SCRIPT};axe.configure({{rules: [{{id: '{CONTRAST}', selector: '[data-asked]'}}]}})"
)
"""Contrast takes most of the time and is asked of three texts of each kind.

What has the same tags, classes and state up to the root has its colours from the same lines of
style: no element has a style of its own, which the pages' policy forbids.
"""
MARK = """() => {
  const seen = {}, kinds = new Map();
  for (const element of document.body.querySelectorAll("*")) {
    const kind = [
      kinds.get(element.parentElement),
      element.tagName,
      element.getAttribute("class"),
      element.getAttribute("aria-current"),
      element.matches("a:first-child, label:has(:checked)"),
    ].join(" ");
    kinds.set(element, kind);
    const says = [...element.childNodes].some(node => node.nodeType === 3 && node.data.trim());
    if (!says && !element.matches("input, select, textarea, button")) continue;
    seen[kind] = (seen[kind] || 0) + 1;
    if (seen[kind] <= 3) element.dataset.asked = "";
  }
  return Object.keys(seen).length;
}"""
LEAVE_SOME = """() => {
  for (const row of document.querySelectorAll("main :is(tr, li, p, details)"))
    if (!row.matches("[data-asked]") && !row.querySelector("[data-asked]")) row.remove();
}"""


@pytest.mark.parametrize("state", STATES)
def test_axe_has_nothing_to_say(site, open_page: Opener, state):
    found = []
    asked = {"runOnly": ABOUT[state]} if state in ABOUT else {}
    opened = open_page("index.html", **STATES[state])
    for path in pages_of(site):
        opened.go(site / path).page.evaluate(OPEN_ALL)
        assert opened.page.evaluate(MARK) > 5
        if state in {"dark", "phone"}:
            opened.page.evaluate(LEAVE_SOME)
        for violation in ASKED.run(opened.page, options=asked | ONLY).response["violations"]:
            nodes = [node["html"][:120] for node in violation["nodes"][:3]]
            found.append(f"{path}: {violation['id']}: {violation['help']} {nodes}")
    assert found == []


def test_axe_would_say_that_a_text_is_too_pale(open_page: Opener):
    opened = open_page("index.html", bypass_csp=True)
    opened.page.add_style_tag(content="main p { color: #ccc }")
    opened.page.evaluate(MARK)

    told = ASKED.run(opened.page, options=ONLY).response["violations"]

    assert [violation["id"] for violation in told] == [CONTRAST]


def test_the_keyboard_reaches_the_text_first(open_page: Opener):
    opened = open_page("lessons/choose-measure-profile.html")

    opened.page.keyboard.press("Tab")

    assert opened.page.evaluate("document.activeElement.getAttribute('href')") == "#main"


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_forced_colours_keep_the_page_readable(open_page: Opener, scheme):
    opened = open_page("index.html", color_scheme=scheme, forced_colors="active")

    assert opened.page.locator("svg.chart:visible").count() > 0
    assert opened.page.locator("h1").is_visible()
