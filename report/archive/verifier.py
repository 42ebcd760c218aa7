"""The verifier page: one HTML file that checks a release from disk, with no network.

Its style, script and type are inlined, and its policy admits them by their hashes alone, so
that nothing else runs in it and no connection is made from it. What it says and how it checks
is in `templates/verifier/`; `verify.py` says the same on a command line.
"""

import base64
import hashlib
import re
from pathlib import Path

from report.errors import ContentFault

NAME = "verify.html"
PLACE = f"downloads/{NAME}"
"""Where a site offers it: beside releases, never inside one."""
LIMIT = 60_000
"""In bytes: what the page may weigh, so that a person can read all of it and mail it."""

_SCRIPTS = (
    "bytes.js",
    "json.js",
    "reading.js",
    "ed25519.js",
    "sshsig.js",
    "trust.js",
    "zip.js",
    "release.js",
    "content.js",
    "verdict.js",
    "page.js",
)
"""Each uses only what stands before it, and functions of the later ones when it runs."""

_SPACED = {
    ".js": re.compile(
        r"""(?P<kept> "(?:[^"\\\n]|\\.)*" | `(?:[^`\\]|\\.)*`
              | /(?![ ])(?:[^/\\\n\[]|\\.|\[(?:[^]\\\n]|\\.)*])+/ )
          | [ ]?(?P<sign>[=<>{}(),;:?&|+*!-]+)[ ]?""",
        re.VERBOSE,
    ),
    ".css": re.compile(r"(?P<kept>(?!))| ?(?P<sign>[{};,]|:(?= )) ?"),
}
"""Punctuation that needs no space about it, and what is kept as it is: texts and patterns."""


def assemble(templates: Path) -> bytes:
    """The whole page, the same bytes for the same `templates`; more than `LIMIT` is refused."""
    folder = templates / "verifier"
    style = _stripped(folder / "verify.css")
    script = "".join(_stripped(folder / name) for name in _SCRIPTS)
    parts = {
        "style": style,
        "script": script,
        "policy": "; ".join(
            (
                "default-src 'none'",
                f"script-src '{_source_hash(script)}'",
                f"style-src '{_source_hash(style)}'",
                "img-src data:",
                "base-uri 'none'",
                "form-action 'none'",
            )
        ),
    }
    skeleton = (folder / NAME).read_text(encoding="utf-8")
    page = re.sub(r"\{(policy|style|script)\}", lambda found: parts[found[1]], skeleton).encode()
    if len(page) > LIMIT:
        raise ContentFault(
            f"The verifier page has {len(page):,} bytes; at most {LIMIT:,} are allowed.",
            hint="Shorten something in templates/verifier/.",
        )
    return page


def _stripped(source: Path) -> str:
    """A source without comments, blank lines, indentation and spaces about its punctuation.

    Names, texts and lines stay as they are, so that the page can still be read. In these sources
    a comment stands on lines of its own, a slash begins a pattern unless a space follows it, and
    no template holds another.
    """
    text = re.sub(r"^\s*/\*.*?\*/\n", "", source.read_text(encoding="utf-8"), flags=re.S | re.M)
    text = re.sub(r"^\s+", "", text, flags=re.M)
    return _SPACED[source.suffix].sub(lambda found: found["kept"] or found["sign"], text)


def _source_hash(text: str) -> str:
    """As a content security policy names an inline script or style."""
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
