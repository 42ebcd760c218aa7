"""The report as one page: the same text and figures in a single file that can be sent anywhere.

Styles, scripts, typefaces and the numbers it prints are inside it, under a policy that lets in
nothing else. It carries a self-check of its numbers, which shows accidental damage only, and
says so. It is a copy for reading that nothing signs: the release is the folder, and `rebuild`
makes the page again to compare.
"""

import base64
import json
import re
from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path

from report.folder import put

LARGEST = 4 << 20
"""Bytes; a larger report is read in its folder."""

MATCH = (
    "Self-check: the data inside this page matches the hash list inside this page. This check is"
    " part of the page, so it shows accidental damage only. It does not show who made the page or"
    " that no one changed page and check together. To check the signer, use a verifier and a key"
    " fingerprint from another source."
)
MISMATCH = (
    "Self-check failed: the data inside this page does not match its hash list. Do not rely on the"
    " numbers here."
)
NOT_RUN = "Self-check not run: this browser lacks a needed function."

_CHECK = """\
(function () {
  "use strict";
  var said = document.getElementById("self-check");
  function textOf(id) { return document.getElementById(id).textContent; }
  if (!window.crypto || !crypto.subtle || !window.TextEncoder) return;
  Promise.resolve().then(function () {
    var list = JSON.parse(textOf("self-hashes"));
    var parts = Object.keys(list).map(function (id) {
      var bytes = new TextEncoder().encode(textOf(id));
      return crypto.subtle.digest("SHA-256", bytes).then(function (digest) {
        return list[id] === Array.from(new Uint8Array(digest), function (byte) {
          return byte.toString(16).padStart(2, "0");
        }).join("");
      });
    });
    parts.push(JSON.parse(textOf("self-claims")).every(function (claim) {
      return textOf(claim.id) === claim.text;
    }));
    return Promise.all(parts);
  }).then(function (right) {
    said.textContent = said.dataset[right.every(Boolean) ? "match" : "mismatch"];
  }).catch(function () { said.textContent = said.dataset.mismatch; });
}());
"""

_LINK = re.compile(r'(<a\b[^>]*?)\shref="(?!#|https:)[^"]*"')
_STYLES = '<link rel="stylesheet" href="../assets/assay.css">'
_SCRIPT = re.compile(r'<script src="../(assets/[a-z]+\.js)"( defer)?></script>\n')
_POLICY = re.compile(r'(http-equiv="Content-Security-Policy" content=")[^"]*"')
_LIVE = re.compile(r'\sdata-(?:live|wide|narrow|runtime)="[^"]*"')


def write(folder: Path, report: str, files: Mapping[str, bytes]) -> Path | None:
    """Write the page beside the release folder; nothing when it would be too large."""
    page = folder.with_name(f"{folder.name}.html")
    text = one_page(report, files).encode()
    if len(text) > LARGEST:
        page.unlink(missing_ok=True)
        return None
    put(page, text)
    return page


def one_page(report: str, files: Mapping[str, bytes]) -> str:
    """The report's page with all that it needs inside."""
    path = f"reports/{report}.html"
    page = files[path].decode()
    scripts = [files[found[1]].decode() for found in _SCRIPT.finditer(page)]
    style = _with_fonts(files["assets/assay.css"].decode(), files)
    claims = [
        {name: claim[name] for name in ("id", "pointer", "format", "text")}
        for claim in json.loads(files["claims.json"])["claims"]
        if claim["page"] == path
    ]
    data = {
        "self-claims": _json(claims),
        "self-release": _json(json.loads(files["release.json"])),
    }
    hashes = {name: sha256(text.encode()).hexdigest() for name, text in data.items()}
    blocks = [
        f'<script type="application/json" id="{name}">{text}</script>'
        for name, text in {**data, "self-hashes": _json(hashes)}.items()
    ]
    said = (
        f'<p id="self-check" role="status" class="imprint" data-match="{MATCH}"'
        f' data-mismatch="{MISMATCH}">{NOT_RUN}</p>'
    )
    late = [f"<script>{text}</script>" for text in [*scripts[1:], _CHECK]]
    page = _LIVE.sub("", _LINK.sub(r"\1", _SCRIPT.sub("", page)))
    page = page.replace(_STYLES, f"<style>{style}</style>\n<script>{scripts[0]}</script>")
    page = page.replace("</main>", f"{said}\n</main>", 1)
    page = page.replace("</body>", "\n".join([*blocks, *late]) + "\n</body>")
    allowed = " ".join(_hash(text) for text in [*scripts, _CHECK])
    policy = (
        f"default-src 'none'; script-src {allowed}; style-src {_hash(style)};"
        " img-src data:; font-src data:; base-uri 'none'; form-action 'none'"
    )
    return _POLICY.sub(lambda found: f'{found[1]}{policy}"', page, count=1)


def _with_fonts(style: str, files: Mapping[str, bytes]) -> str:
    """The style sheet with its typefaces inside."""

    def inside(found: re.Match[str]) -> str:
        font = base64.b64encode(files[f"assets/fonts/{found[1]}"]).decode()
        return f'url("data:font/woff2;base64,{font}")'

    return re.sub(r'url\("fonts/([a-z-]+\.woff2)"\)', inside, style)


def _json(value: object) -> str:
    """JSON that a script element can hold."""
    return json.dumps(value, ensure_ascii=False).replace("<", "\\u003c")


def _hash(text: str) -> str:
    return f"'sha256-{base64.b64encode(sha256(text.encode()).digest()).decode()}'"
