"""Can every reader use the verifier page: by keyboard, by ear, on a phone, in a hurry?"""

import json
import random
from pathlib import Path
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe

from tests.archive.verifier.releases import small_release, write, write_release, zipped


def test_two_hundred_files_are_read_from_a_folder_and_from_a_zip(reader, key, tmp_path):
    files = small_release() | {
        f"records/cpu/outputs/{n}.npy": random.Random(n).randbytes(200_000) for n in range(200)
    }
    release = write_release(tmp_path / "tiny-1", files)
    key.seal(release)

    for place in (release, zipped(release)):
        verdict = reader.verdict(place)
        assert verdict["exit"] == 0
        assert verdict["sentence"].startswith(f"All {len(files)} listed files match")


def drop(reader: Any, place: Path) -> None:
    """Drag a file or a folder from elsewhere onto the page."""
    wire = reader.context.new_cdp_session(reader.page)
    data = {"items": [], "files": [str(place)], "dragOperationsMask": 1}
    for step in ("dragEnter", "dragOver", "drop"):
        wire.send("Input.dispatchDragEvent", {"type": step, "x": 300, "y": 300, "data": data})
    reader.page.wait_for_selector("#chosen:has-text('tiny-1')")
    wire.detach()


@pytest.mark.parametrize("form", ["folder", "zip"])
def test_a_release_can_be_dropped(new_reader, sealed, form):
    reader = new_reader()

    drop(reader, sealed if form == "folder" else zipped(sealed))
    reader.page.fill("#pin", reader.pin)
    reader.check()

    assert reader.page.evaluate("verdict.tier") == "trusted"
    assert reader.page.inner_text("#chosen").startswith("tiny-1")


def test_a_dropped_folder_shows_what_is_hidden_and_what_is_empty(new_reader, release):
    reader = new_reader()
    write(release, {".git/config": b"", "data/.hidden": b""})
    (release / "nothing").mkdir()

    drop(reader, release)
    reader.check()

    assert [fault["file"] for fault in reader.page.evaluate("verdict.faults")] == [
        ".git/config",
        "data/.hidden",
        "nothing/",
    ]


def test_a_folder_that_changes_after_it_was_chosen_could_not_be_checked(new_reader, release):
    reader = new_reader()
    reader.choose(release)
    (release / "index.html").write_text("longer than it was before", encoding="utf-8")

    reader.check()

    assert reader.page.evaluate("verdict.exit") in (10, 12)


STATES: dict[str, dict[str, Any]] = {
    "light": {"color_scheme": "light"},
    "dark": {"color_scheme": "dark"},
    "narrow": {"viewport": {"width": 320, "height": 640}},
    "forced colours": {"forced_colors": "active"},
}


@pytest.mark.parametrize("state", STATES)
def test_axe_has_nothing_to_say_and_nothing_scrolls_sideways(new_reader, sealed, release, state):
    reader = new_reader(**STATES[state])
    found = []
    write(release, {f"added/{'long-' * 30}{n}": b"" for n in range(3)})

    def look(where: str) -> None:
        for violation in Axe().run(reader.page).response["violations"]:
            nodes = [node["html"][:120] for node in violation["nodes"][:3]]
            found.append(f"{where}: {violation['id']}: {violation['help']} {nodes}")
        root = "document.documentElement"
        if reader.page.evaluate(f"{root}.scrollWidth > {root}.clientWidth"):
            found.append(f"{where}: scrolls sideways")

    look("opened")
    reader.verdict(sealed)
    look("trusted")
    reader.verdict(sealed, pin="")
    look("untrusted")
    reader.verdict(release)
    look("mismatch")
    reader.page.fill("#pin", "my key")
    reader.page.click("#check")
    reader.page.wait_for_selector(".error")
    look("a mistyped key")

    assert found == []


def test_the_keyboard_is_enough_and_the_verdict_takes_the_focus(new_reader, sealed):
    reader = new_reader()
    page = reader.page
    stops = []
    for _ in range(5):
        page.keyboard.press("Tab")
        stops.append(page.evaluate("document.activeElement.id || document.activeElement.tagName"))
    assert stops == ["folder", "zip", "pin", "SUMMARY", "check"]

    reader.choose(sealed)
    assert page.inner_text("#chosen") == "tiny-1: 8 files chosen."
    page.focus("#pin")
    page.keyboard.type(reader.pin)
    page.focus("#check")
    page.keyboard.press("Enter")
    page.wait_for_selector("#verdict:not([hidden])")

    assert page.evaluate("document.activeElement.id") == "verdict"
    assert page.get_by_role("region", name="All 6 listed files match").is_visible()
    assert page.locator("[aria-current]").inner_text() == "Trusted"


def test_a_mistake_of_the_readers_is_told_beside_its_field(new_reader, sealed):
    reader = new_reader()
    page = reader.page

    page.click("#check")
    assert page.inner_text(".error") == "Choose a release first: its folder or its zip."
    assert page.evaluate("document.activeElement.id") == "folder"

    reader.choose(sealed)
    page.fill("#pin", "SHA256:short")
    page.click("#check")
    page.wait_for_selector("#pin[aria-invalid]")
    assert page.get_attribute("#folder", "aria-invalid") is None
    assert page.locator("#verdict").is_hidden()


def test_a_browser_without_a_needed_function_is_told_so(new_reader, sealed):
    reader = new_reader()
    reader.page.evaluate("delete globalThis.DecompressionStream")
    reader.choose(sealed)

    reader.check()

    assert reader.page.inner_text(".error") == (
        "Could not check: this browser lacks a needed function."
    )


def test_what_is_changed_during_a_check_gets_no_verdict(new_reader, sealed):
    reader = new_reader()
    reader.choose(sealed)
    reader.page.evaluate("""() => {
      const first = verdictOn;
      verdictOn = (...all) => first(...all).finally(() => byId("pin").dispatchEvent(
        new Event("input", { bubbles: true })));
    }""")

    reader.page.click("#check")
    reader.page.wait_for_selector("#live:has-text('Check again')", state="attached")

    assert reader.page.locator("#verdict").is_hidden()


def test_a_verdict_goes_when_what_it_was_about_changes(new_reader, sealed):
    reader = new_reader()
    reader.verdict(sealed)

    reader.page.fill("#pin", "")

    assert reader.page.locator("#verdict").is_hidden()


def test_the_verdict_can_be_kept(new_reader, sealed, tmp_path):
    reader = new_reader()
    shown = reader.verdict(sealed)

    with reader.page.expect_download() as caught:
        reader.page.get_by_role("button", name="Save the verdict").click()
    caught.value.save_as(tmp_path / "verdict.json")

    assert caught.value.suggested_filename == "verdict-tiny-1.json"
    assert json.loads((tmp_path / "verdict.json").read_text(encoding="utf-8")) == shown


def test_without_script_it_says_so(browser, page_file):
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(page_file.as_uri())

    assert "VERIFY.txt" in page.inner_text("main")
    context.close()
