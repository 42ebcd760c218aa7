"""axe finds no violation on any page: light, dark, phone, narrow, with everything opened."""

import pytest
from axe_playwright_python.sync_playwright import Axe

from .conftest import Opener, pages_of

STATES = {
    "light": {"color_scheme": "light"},
    "dark": {"color_scheme": "dark"},
    "phone": {"viewport": {"width": 390, "height": 844}, "has_touch": True},
    "narrow": {"viewport": {"width": 320, "height": 640}},
}
OPEN_ALL = "document.querySelectorAll('details').forEach(box => { box.open = true; })"


@pytest.mark.parametrize("state", STATES)
def test_axe_has_nothing_to_say(site, open_page: Opener, state):
    found = []
    for path in pages_of(site):
        opened = open_page(path, **STATES[state])
        opened.page.evaluate(OPEN_ALL)
        for violation in Axe().run(opened.page).response["violations"]:
            nodes = [node["html"][:120] for node in violation["nodes"][:3]]
            found.append(f"{path}: {violation['id']}: {violation['help']} {nodes}")
        opened.page.context.close()
    assert found == []


def test_the_keyboard_reaches_the_text_first(open_page: Opener):
    opened = open_page("lessons/choose-measure-profile.html")

    opened.page.keyboard.press("Tab")

    assert opened.page.evaluate("document.activeElement.getAttribute('href')") == "#main"


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_forced_colours_keep_the_page_readable(open_page: Opener, scheme):
    opened = open_page("index.html", color_scheme=scheme, forced_colors="active")

    assert opened.page.locator("svg.chart:visible").count() > 0
    assert opened.page.locator("h1").is_visible()
