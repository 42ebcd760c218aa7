"""Every link and anchor of the built site leads somewhere, and nothing leaves it unasked.

The build checks this too; here an independent reader of the files does.
"""

import re
from collections import Counter
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

from .conftest import pages_of

RESOURCES = {"src", "poster", "data", "srcset"}
POINTS_TO_IDS = {"for", "aria-labelledby", "aria-describedby", "aria-controls"}


class Reader(HTMLParser):
    """Collects ids, links, resources and attributes that a page must not have."""

    def __init__(self) -> None:
        super().__init__()
        self.ids: Counter[str] = Counter()
        self.links: list[str] = []
        self.resources: list[str] = []
        self.id_references: list[str] = []
        self.banned: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        for name, value in ((name, value or "") for name, value in attrs):
            if name == "id":
                self.ids[value] += 1
            elif name == "href":
                (self.links if tag == "a" else self.resources).append(value)
            elif name in RESOURCES:
                self.resources.append(value)
            elif name in POINTS_TO_IDS:
                self.id_references.extend(value.split())
            elif name in {"style", "integrity", "srcdoc"} or name.startswith("on"):
                self.banned.append(f"{tag} {name}={value}")
            elif name == "type" and tag == "script" and value == "module":
                self.banned.append("module script")


@pytest.fixture(scope="module")
def read(site: Path) -> dict[str, Reader]:
    found = {}
    for path in pages_of(site):
        found[path] = Reader()
        found[path].feed((site / path).read_text(encoding="utf-8"))
    return found


def test_every_internal_link_and_anchor_resolves(site, read):
    broken = []
    for path, page in read.items():
        for link in page.links + page.resources:
            parts = urlsplit(link)
            if parts.scheme in {"https", "data"}:
                continue
            assert not parts.scheme and not parts.netloc, f"{path}: {link}"
            target = (site / path).parent / unquote(parts.path) if parts.path else site / path
            if not target.resolve().is_file():
                broken.append(f"{path}: {link}")
            elif parts.fragment and target.suffix == ".html":
                name = str(target.resolve().relative_to(site.resolve()))
                if unquote(parts.fragment) not in read[name].ids:
                    broken.append(f"{path}: {link} (no such anchor)")
    assert broken == []


LOADS = re.compile(
    r"\b(?:fetch|import|importScripts|Worker|SharedWorker|XMLHttpRequest|WebSocket|EventSource"
    r"|sendBeacon)\s*\(|\bserviceWorker\b|\bXMLHttpRequest\b|^\s*(?:import|export)\s",
    re.MULTILINE,
)
INLINE = re.compile(r"<script(?![^>]*(?:\bsrc=|application/json))[^>]*>(.*?)</script>", re.DOTALL)
CHARTS = "assets/vega.js"
"""The vendored chart library. It has a loader, which the pages give it no way to use: the policy
lets nothing in, and test_live.py asks it for addresses and images."""


def test_no_script_of_ours_can_load_anything(site):
    """From disk a browser refuses these, in silence or with an error that no reader understands."""
    scripts = {
        str(path.relative_to(site)): path.read_text(encoding="utf-8")
        for path in site.rglob("*")
        if path.suffix in {".js", ".mjs", ".html"}
    }
    assert LOADS.search(scripts.pop(CHARTS)), "else it needs no exception"
    ours = {
        name: "\n".join(INLINE.findall(text)) if name.endswith(".html") else text
        for name, text in scripts.items()
    }
    files = {name for name in ours if not name.endswith(".html") and "/live/" not in name}
    assert files == {f"assets/{name}.js" for name in ("boot", "page", "search", "search-text")}
    assert len(ours["downloads/verify.html"]) > 10_000

    found = {name: LOADS.findall(text) for name, text in ours.items() if LOADS.search(text)}

    assert found == {}


@pytest.mark.parametrize(
    "script",
    [
        "fetch('x')",
        "new Worker ('x')",
        "await import('x')",
        "new XMLHttpRequest",
        "import a from 'b'",
    ],
)
def test_what_would_load_is_recognised(script):
    assert LOADS.search(script)


def test_no_resource_comes_from_a_network(read):
    remote = [
        f"{path}: {address}"
        for path, page in read.items()
        for address in page.resources
        if urlsplit(address).scheme not in {"", "data"} or address.startswith("//")
    ]
    assert remote == []


def test_ids_are_unique_and_references_to_them_resolve(read):
    faults = []
    for path, page in read.items():
        faults += [f"{path}: id {name} ×{n}" for name, n in page.ids.items() if n > 1]
        faults += [f"{path}: -> {name}" for name in page.id_references if name not in page.ids]
    assert faults == []


def test_no_page_carries_what_its_policy_would_drop(read):
    assert [f"{path}: {what}" for path, page in read.items() for what in page.banned] == []


def test_the_pages_a_reader_expects_are_there(site):
    wanted = {
        "index.html",
        "lessons/choose-measure-profile.html",
        "chips.html",
        "formats.html",
        "records/precision-cpu.html",
        "records/precision-batch-one.html",
        "profiles/precision-cpu.html",
        "profiles/precision-batch-one.html",
        "reports/precision-cpu.html",
    }
    assert wanted <= set(pages_of(site))
