"""The verifier page in a real browser, and a small signed release to show it."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page

from report.archive import verifier
from tests.archive.verifier.releases import Key, copied, small_release, write_release
from tests.conftest import PROJECT

TEMPLATES = PROJECT / "templates"

WATCH = """
window.violations = [];
document.addEventListener("securitypolicyviolation", event => {
  window.violations.push(event.violatedDirective + " " + event.blockedURI);
});
"""
KEEP_VERDICTS = """() => {
  const told = show;
  show = (verdict, chosen) => { window.verdict = verdict; told(verdict, chosen); };
}"""


class Reader:
    """Someone who opens the page from disk and uses it, with `pin` as the key they expect."""

    def __init__(self, browser: Browser, file: Path, pin: str, **options: Any) -> None:
        self.pin = pin
        self.context = browser.new_context(**options)
        self.context.add_init_script(WATCH)
        self.page: Page = self.context.new_page()
        self.noise: list[str] = []
        self.page.on("console", lambda message: self.noise.append(message.text))
        self.page.on("pageerror", lambda error: self.noise.append(str(error)))
        self.page.on("request", lambda request: self.noise.append(request.url))
        self.page.goto(file.as_uri(), wait_until="load")
        assert self.noise == [file.as_uri()]
        self.noise.clear()
        self.page.evaluate(KEEP_VERDICTS)

    def choose(self, release: Path) -> None:
        self.page.set_input_files("#folder" if release.is_dir() else "#zip", release)

    def check(self) -> None:
        self.page.click("#check")
        self.page.wait_for_selector("#verdict:not([hidden]), .error", timeout=60_000)

    def verdict(
        self, release: Path, pin: str | None = None, at: str = "", **own: Path | list[Path]
    ) -> dict[str, Any]:
        """The verdict on a folder or zip; `own` has the reader's signers, revoked and status."""
        self.choose(release)
        self.page.fill("#pin", self.pin if pin is None else pin)
        self.page.evaluate("byId('more').open = true")
        self.page.fill("#at", at)
        for field in ("signers", "revoked", "status"):
            self.page.set_input_files(f"#{field}", own.get(field, []))
        self.check()
        assert self.page.locator(".error").all_inner_texts() == []
        return self.page.evaluate("window.verdict")

    def close(self) -> None:
        """Leave; nothing was said on the console, asked of a network or stopped by the policy."""
        assert [*self.noise, *self.page.evaluate("window.violations")] == []
        self.context.close()


@pytest.fixture(scope="session")
def page_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The page on disk, below a folder whose name breaks careless links."""
    place = tmp_path_factory.mktemp("a b #1 é") / verifier.NAME
    place.write_bytes(verifier.assemble(TEMPLATES))
    return place


@pytest.fixture(scope="session")
def key(tmp_path_factory: pytest.TempPathFactory) -> Key:
    return Key(tmp_path_factory.mktemp("key"))


@pytest.fixture(scope="module")
def reader(browser: Browser, page_file: Path, key: Key) -> Iterator[Reader]:
    """One reader for all tests of a module."""
    someone = Reader(browser, page_file, key.fingerprint)
    yield someone
    someone.close()


@pytest.fixture
def new_reader(browser: Browser, page_file: Path, key: Key) -> Iterator[Any]:
    """Readers with a fresh page and a browser of their own, such as new_reader(width=320)."""
    came: list[Reader] = []

    def come(**options: Any) -> Reader:
        came.append(Reader(browser, page_file, key.fingerprint, **options))
        return came[-1]

    yield come
    for someone in came:
        someone.close()


@pytest.fixture(scope="session")
def sealed(tmp_path_factory: pytest.TempPathFactory, key: Key) -> Path:
    """A whole release, signed by its author. Not to be changed."""
    folder = write_release(tmp_path_factory.mktemp("sealed") / "tiny-1", small_release())
    key.seal(folder)
    return folder


@pytest.fixture
def release(sealed: Path, tmp_path: Path) -> Path:
    """A copy that a test may change."""
    return copied(sealed, tmp_path / "tiny-1")
