"""The built site, opened from disk in a real browser."""

import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, BrowserContext, Page

CHROMIUM = next(
    (
        found
        for name in ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
        if (found := shutil.which(name))
    ),
    None,
)
QUIET = (
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-quic",
    "--disable-sync",
    "--no-first-run",
    "--allow-file-access=false",
)


def pages_of(site: Path) -> list[str]:
    """Every page but the verifier, which stands alone: tests/archive/verifier is about it."""
    pages = sorted(str(path.relative_to(site)) for path in site.rglob("*.html"))
    return [page for page in pages if page != "downloads/verify.html"]


@pytest.fixture(scope="session")
def site(built: Path) -> Path:
    """A whole site, built by the command a reader would type."""
    return built / "site"


@dataclass
class Opened:
    """One open page and everything it asked for or complained of."""

    page: Page
    requests: list[str] = field(default_factory=list)
    failed: list[str] = field(default_factory=list)
    console: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.page.on("request", lambda request: self.requests.append(request.url))
        self.page.on("requestfailed", lambda request: self.failed.append(request.url))
        self.page.on("console", lambda message: self.console.append(message.text))
        self.page.on("pageerror", lambda error: self.console.append(str(error)))

    def go(self, file: Path, anchor: str = "") -> "Opened":
        """Open another page in its place, with nothing said yet."""
        for told in (self.requests, self.failed, self.console):
            told.clear()
        self.page.goto(file.as_uri() + anchor, wait_until="load")
        return self

    def complaints(self, site: Path) -> list[str]:
        """Requests out of the site's folder, failed ones, console lines, policy violations."""
        root = site.as_uri() + "/"
        outside = [
            f"asks for {url}"
            for url in self.requests
            if not url.startswith((root, "data:", "blob:"))
        ]
        violations = self.page.evaluate("window.policyViolations || []")
        return [
            *outside,
            *(f"failed: {line}" for line in self.failed),
            *(f"console: {line}" for line in self.console),
            *(f"policy: {line}" for line in violations),
        ]


RECORD_VIOLATIONS = """
window.policyViolations = [];
document.addEventListener("securitypolicyviolation", function (event) {
  window.policyViolations.push(event.violatedDirective + " " + event.blockedURI);
});
"""

Opener = Callable[..., Opened]


@pytest.fixture
def open_page(browser: Browser, site: Path) -> Iterator[Opener]:
    """Open a page of the site by its path; keyword arguments are the browser context's."""
    contexts: list[BrowserContext] = []

    def opener(path: str, anchor: str = "", **options: Any) -> Opened:
        options.setdefault("viewport", {"width": 1280, "height": 900})
        context = browser.new_context(**options)
        contexts.append(context)
        if options.get("java_script_enabled", True):
            context.add_init_script(RECORD_VIOLATIONS)
        return Opened(context.new_page()).go(site / path, anchor)

    yield opener
    for context in contexts:
        context.close()
