"""Does the verifier page tell the truth, from disk, with no network, to every reader?"""

import base64
import hashlib
import json
import os
import random
import re
import struct
import subprocess
import time
import warnings
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Page, sync_playwright

from report.archive import verifier
from report.errors import ContentFault
from tests.archive.releases import (
    AUTHOR,
    STATUS,
    Key,
    copied,
    listed,
    small_release,
    write,
    write_release,
    zipped,
)
from tests.conftest import PROJECT
from tests.pages.conftest import CHROMIUM, QUIET

pytestmark = pytest.mark.browser

TEMPLATES = PROJECT / "templates"
FIXTURES = sorted(path.parent for path in PROJECT.glob("tests/archive/fixtures/*/expect.json"))
VECTORS = json.loads((PROJECT / "tests/report/notation_vectors.json").read_text(encoding="utf-8"))

# What the page asked for and what its policy stopped; and each verdict as the page showed it.
WATCH = """
window.violations = [];
document.addEventListener("securitypolicyviolation", event => {
  window.violations.push(event.violatedDirective + " " + event.blockedURI);
});
"""
LISTEN = "() => { const told = show; show = (...all) => { window.verdict = all[0]; told(...all); } }"


class Verifier:
    """The page, used as a reader uses it."""

    def __init__(self, browser: Browser, file: Path, **options: Any) -> None:
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
        self.page.evaluate(LISTEN)

    def choose(self, field: str, *places: Path) -> None:
        self.page.set_input_files(f"#{field}", [*places] if len(places) > 1 else places[0])

    def verdict(self, release: Path, pin: str = "", at: str = "", **own: Any) -> dict[str, Any]:
        """The verdict on a folder or zip, given `signers`, `revoked` or `status` of the reader's."""
        self.choose("folder" if release.is_dir() else "zip", release)
        self.page.fill("#pin", pin)
        self.page.evaluate("byId('more').open = true")
        self.page.fill("#at", at)
        for field in ("signers", "revoked", "status"):
            places = own.get(field, [])
            self.page.set_input_files(f"#{field}", places)
        self.page.click("#check")
        self.page.wait_for_selector("#verdict:not([hidden]), .error", timeout=60_000)
        assert self.page.locator(".error").all_inner_texts() == []
        return self.page.evaluate("window.verdict")

    def silent(self) -> bool:
        """No console line, no request, no policy violation since it was opened."""
        return [*self.noise, *self.page.evaluate("window.violations")] == []


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    if CHROMIUM is None:
        pytest.fail("no Chromium on this machine: `make test` installs one, or says how")
    with sync_playwright() as play:
        sandbox = ("--no-sandbox",) if os.geteuid() == 0 else ()
        chromium = play.chromium.launch(executable_path=CHROMIUM, args=[*QUIET, *sandbox])
        yield chromium
        chromium.close()


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("a b #1 é") / verifier.NAME
    place.write_bytes(verifier.assemble(TEMPLATES))
    return place


@pytest.fixture(scope="module")
def verifier_page(browser: Browser, file: Path) -> Iterator[Verifier]:
    opened = Verifier(browser, file)
    yield opened
    assert opened.silent()
    opened.context.close()


@pytest.fixture(scope="module")
def key(tmp_path_factory: pytest.TempPathFactory) -> Key:
    return Key(tmp_path_factory.mktemp("key"))


@pytest.fixture(scope="module")
def sealed(tmp_path_factory: pytest.TempPathFactory, key: Key) -> Path:
    """A whole release, signed by its author. Not to be changed."""
    release = write_release(tmp_path_factory.mktemp("sealed") / "tiny-1", small_release())
    key.seal(release)
    return release


@pytest.fixture
def release(sealed: Path, tmp_path: Path) -> Path:
    """A copy that a test may change."""
    return copied(sealed, tmp_path / "tiny-1")


# One file ---------------------------------------------------------------------------------------


def test_it_weighs_little_and_is_the_same_each_time():
    page = verifier.assemble(TEMPLATES)

    assert len(page) <= 60_000
    assert page == verifier.assemble(TEMPLATES)


def test_one_that_weighs_more_is_refused(monkeypatch):
    monkeypatch.setattr(verifier, "LIMIT", 1_000)

    with pytest.raises(ContentFault, match="at most 1,000 are allowed"):
        verifier.assemble(TEMPLATES)


def test_its_policy_admits_its_own_script_and_style_and_no_connection():
    page = verifier.assemble(TEMPLATES).decode()
    policy = re.search(r'Security-Policy" content="([^"]*)"', page)[1]

    for kind in ("script", "style"):
        inline = re.findall(rf"<{kind}>(.*?)</{kind}>", page, re.DOTALL)
        assert len(inline) == page.count(f"<{kind}") == 1
        digest = base64.b64encode(hashlib.sha256(inline[0].encode()).digest()).decode()
        assert f"{kind}-src 'sha256-{digest}'" in policy
    assert policy.startswith("default-src 'none'; ")
    assert "unsafe" not in policy and "connect" not in policy


def test_data_never_becomes_markup():
    sources = [path.read_text(encoding="utf-8") for path in (TEMPLATES / "verifier").iterdir()]

    for way in ("innerHTML", "outerHTML", "insertAdjacent", "document.write", "eval(", " style="):
        assert not any(way in source for source in sources), way


def test_it_never_says_more_than_it_knows():
    page = verifier.assemble(TEMPLATES).decode().lower()

    for word in ("certified", "authentic", "tamper-proof", "padlock", "🔒", "✓", "✔"):
        assert word not in page, word


# Verdicts ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("form", ["folder", "stored", "deflated"])
def test_a_pinned_key_and_every_file_as_listed_is_trusted(verifier_page, release, key, form):
    place = release if form == "folder" else zipped(release, 0 if form == "stored" else 8)

    verdict = verifier_page.verdict(place, pin=key.fingerprint)

    assert verdict["sentence"] == (
        "All 6 listed files match, no unlisted files. Signed with key "
        f"{key.fingerprint} which you pinned. Not shown: that the measurements are right, that"
        " this is the latest report, or when it was signed."
    )
    assert (verdict["exit"], verdict["tier"], verdict["claims"]) == (0, "trusted", 2)
    assert verdict["notes"] == ["Status unknown after 2026-11-30."]


def test_a_public_key_pins_as_its_fingerprint_does(verifier_page, sealed, key):
    assert verifier_page.verdict(sealed, pin=f"# theirs\n{key.public}\n")["exit"] == 0


def test_without_a_pin_anyone_may_have_signed(verifier_page, sealed):
    verdict = verifier_page.verdict(sealed)

    assert verdict["exit"] == 11
    assert verdict["sentence"] == (
        "Files match their list. The list is signed by a key you have not pinned: anyone can make"
        " such a signature."
    )


def test_a_forged_copy_gets_no_name(verifier_page, release, key, tmp_path):
    forger = Key(tmp_path)
    (release / "index.html").write_text("<p>Signed by Lab signer</p>")
    files = small_release() | {"index.html": (release / "index.html").read_bytes()}
    (release / "MANIFEST.sha256").write_bytes(listed(files))
    forger.seal(release)
    write(release, {"signatures/allowed_signers": f"Lab {forger.public}\n".encode()})

    verdict = verifier_page.verdict(release, pin=key.fingerprint)

    assert verdict["exit"] != 0
    assert verdict["author"]["name"] is None
    assert "Lab" not in verifier_page.page.inner_text("#verdict")


CHANGES = {
    "a changed byte": ("index.html", "changed"),
    "a missing file": ("claims.json", "missing"),
    "an added file": ("assets/more.js", "added"),
    "a hidden file": (".gitignore", "added"),
    "a file of git": (".git/config", "added"),
    "a file of a hidden folder": ("data/.cache/x", "added"),
}


@pytest.mark.parametrize("form", ["folder", "zip"])
@pytest.mark.parametrize("change", CHANGES)
def test_every_file_at_fault_is_named(verifier_page, release, key, change, form):
    name, what = CHANGES[change]
    if what == "missing":
        (release / name).unlink()
    elif what == "changed":
        (release / name).write_bytes((release / name).read_bytes()[:-1] + b"?")
    else:
        write(release, {name: b"x"})

    verdict = verifier_page.verdict(
        release if form == "folder" else zipped(release), pin=key.fingerprint
    )

    assert verdict["exit"] == 10
    assert verdict["faults"] == [{"file": name, "what": what}]
    assert verdict["sentence"].startswith("Mismatch: 1 of this release's files is not")


@pytest.mark.parametrize(
    "rewrite",
    [
        lambda text: text.replace(b"\n", b"\r\n"),
        lambda text: text.rstrip(b"\n"),
        lambda text: b"".join(sorted(text.splitlines(keepends=True), reverse=True)),
        lambda text: text + text.splitlines(keepends=True)[0],
        lambda text: text.replace(b"  index", b" *index"),
        lambda text: text + b"0" * 64 + b"  ../outside\n",
        lambda text: text + b"0" * 64 + b"  signatures/x\n",
        lambda text: text + b"0" * 64 + b"  z\x07\n",
        lambda text: text.upper(),
        lambda _: b"",
    ],
)
def test_a_list_has_one_form(verifier_page, release, key, rewrite):
    place = release / "MANIFEST.sha256"
    place.write_bytes(rewrite(place.read_bytes()))
    key.seal(release)

    verdict = verifier_page.verdict(release, pin=key.fingerprint)

    assert {"file": "MANIFEST.sha256", "what": "manifest"} in verdict["faults"]


def test_a_number_that_the_data_do_not_give_is_found_under_a_good_signature(
    verifier_page, release, key
):
    files = small_release()
    files["index.html"] = files["index.html"].replace("2.45".encode(), b"2.44")
    write_release(release, files)
    key.seal(release)

    verdict = verifier_page.verdict(release, pin=key.fingerprint)

    assert verdict["faults"] == [{"file": "index.html", "what": "claim"}]


def test_a_signers_file_gives_names_and_windows(verifier_page, sealed, key, tmp_path):
    def judged(options: str, at: str = "2026-06-01") -> dict[str, Any]:
        signers = tmp_path / "allowed_signers"
        signers.write_text(f"# mine\nlab@example.com {options} {key.public}\n")
        return verifier_page.verdict(sealed, at=at, signers=signers)

    good = judged('namespaces="assay/report/*",valid-after="20260101",valid-before="20270101"')
    assert good["exit"] == 0
    assert "Signed by lab@example.com with key" in good["sentence"]
    assert judged('namespaces="git"')["author"]["state"] == "refused"
    assert judged('valid-before="20260101"')["author"]["state"] == "expired"
    assert judged('valid-after="20270101"')["author"]["state"] == "early"


def test_a_revoked_key_is_not_trusted(verifier_page, sealed, key, tmp_path):
    revoked = tmp_path / "revoked"
    revoked.write_text(f"# lost\n{key.fingerprint}\n")

    verdict = verifier_page.verdict(sealed, pin=key.fingerprint, revoked=revoked)

    assert verdict["author"]["state"] == "revoked"
    assert verdict["sentence"].endswith("your list of revoked keys says that key is revoked.")


def test_one_key_in_both_roles_is_reported(verifier_page, release, key):
    key.seal(release, "reviewer")

    verdict = verifier_page.verdict(release, pin=key.fingerprint)

    assert verdict["same_key"] is True
    assert any("one person's word, not two" in note for note in verdict["notes"])


def test_another_role_is_another_signature(verifier_page, release, key):
    signatures = release / "signatures"
    (signatures / "author.sig").rename(signatures / "reviewer.sig")

    verdict = verifier_page.verdict(release, pin=key.fingerprint)

    assert verdict["faults"] == [{"file": "signatures/reviewer.sig", "what": "signature"}]


def test_a_key_of_another_kind_could_not_be_checked(verifier_page, release, tmp_path):
    Key(tmp_path, "ecdsa").seal(release)

    verdict = verifier_page.verdict(release)

    assert (verdict["exit"], verdict["author"]["state"]) == (12, "unsupported")


@pytest.mark.parametrize(("number", "exit_code"), [(3, 11), (1, 12)])
def test_a_withdrawn_report_is_told_and_an_old_list_is_refused(
    verifier_page, release, key, tmp_path, number, exit_code
):
    files = small_release()
    files["release.json"] = files["release.json"].replace(
        b'"status_list": null', b'"status_list": {"number": 2, "date": "2026-10-01"}'
    )
    write_release(release, files)
    key.seal(release)
    manifest = hashlib.sha256((release / "MANIFEST.sha256").read_bytes()).hexdigest()
    entry = {"release": "tiny-1", "manifest": manifest, "state": "withdrawn"}
    entry |= {"date": "2026-12-24", "reason": "A fan had failed.", "by": None}
    told = json.dumps(
        {"schema": "assay/status/1", "number": number, "date": "2026-12-25", "releases": [entry]}
    ).encode()
    own = write(tmp_path, {"status.json": told, "status.json.sig": key.sign(told, STATUS)})
    places = [own / "status.json", own / "status.json.sig"]

    verdict = verifier_page.verdict(release, pin=key.fingerprint, status=places)

    assert verdict["exit"] == exit_code
    assert ("was withdrawn on 2026-12-24" in verdict["sentence"]) == (number == 3)


@pytest.mark.parametrize("form", ["zip", "folder"])
@pytest.mark.parametrize("fixture", FIXTURES, ids=lambda folder: folder.name)
def test_it_says_what_the_command_line_says(verifier_page, fixture, form, tmp_path):
    told = json.loads((fixture / "expect.json").read_text(encoding="utf-8"))
    place = fixture / "release.zip"
    if form == "folder":
        if told.get("folder") is False:
            pytest.skip("no folder can hold this")
        with zipfile.ZipFile(place) as archive:
            archive.extractall(tmp_path)
        place = next((path for path in tmp_path.iterdir() if path.name == "tiny-1"), tmp_path)
    own: dict[str, Any] = {
        field: fixture / name
        for field, name in (("signers", "allowed_signers"), ("revoked", "revoked"))
        if (fixture / name).exists()
    }
    if (fixture / "status.json").exists():
        own["status"] = [fixture / "status.json", fixture / "status.json.sig"]

    verdict = verifier_page.verdict(
        place,
        pin=(fixture / "pin.txt").read_text(encoding="utf-8"),
        at=re.sub(r"(....)(..)(..)", r"\1-\2-\3", told.get("at", "")),
        **own,
    )

    assert [[fault["file"], fault["what"]] for fault in verdict["faults"]] == told["faults"]
    said = ("exit", "tier", "sentence", "notes")
    assert [verdict[name] for name in said] == [told[name] for name in said]


# Signatures -------------------------------------------------------------------------------------

CHECK = """async ([cases, message, namespace]) => {
  const bytes = text => Uint8Array.from(atob(text), sign => sign.charCodeAt(0));
  const said = [];
  for (const item of cases) {
    said.push(await checkSignature(bytes(item), bytes(message), namespace).then(() => true, error => {
      if (error instanceof Fault || error instanceof Unsupported) return false;
      throw error;
    }));
  }
  return said;
}"""
L = 2**252 + 27742317777372353535851937790883648493


def held_good(verifier_page: Verifier, signatures: list[bytes], message: bytes) -> list[bool]:
    def text(data: bytes) -> str:
        return base64.b64encode(data).decode()

    cases = [text(signature) for signature in signatures]
    return verifier_page.page.evaluate(CHECK, [cases, text(message), AUTHOR])


def armored(blob: bytes) -> bytes:
    text = base64.b64encode(blob).decode()
    lines = [text[at : at + 70] for at in range(0, len(text), 70)]
    whole = ["-----BEGIN SSH SIGNATURE-----", *lines, "-----END SSH SIGNATURE-----", ""]
    return "\n".join(whole).encode()


def blob_of(signature: bytes) -> bytes:
    return base64.b64decode(b"".join(signature.splitlines()[1:-1]))


def ssh_accepts(signature: bytes, message: bytes, place: Path) -> bool:
    place.write_bytes(signature)
    command = ["ssh-keygen", "-Y", "check-novalidate", "-n", AUTHOR, "-s", place]
    return subprocess.run(command, input=message, capture_output=True, check=False).returncode == 0


def test_a_thousand_mutations_are_judged_as_ssh_keygen_judges_them(
    verifier_page, sealed, key, tmp_path
):
    message = (sealed / "MANIFEST.sha256").read_bytes()
    genuine = (sealed / "signatures/author.sig").read_bytes()
    assert armored(blob_of(genuine)) == genuine
    dice = random.Random(17)
    mutated = []
    for turn in range(1_000):
        data = bytearray(blob_of(genuine) if turn % 2 else genuine)
        at = dice.randrange(len(data))
        match turn % 5:
            case 0 | 1:
                data[at] ^= 1 << dice.randrange(8)
            case 2:
                del data[at]
            case 3:
                data.insert(at, data[at])
            case 4:
                data[at] = dice.randrange(256)
        mutated.append(armored(bytes(data)) if turn % 2 else bytes(data))

    ours = held_good(verifier_page, [genuine, *mutated], message)
    theirs = [ssh_accepts(case, message, tmp_path / "case.sig") for case in [genuine, *mutated]]

    assert ours[0] and theirs[0]
    stricter = []
    for case, mine, other in zip([genuine, *mutated], ours, theirs, strict=True):
        assert other or not mine, case
        if other and not mine:
            stricter.append(case)
    # What ssh-keygen lets pass and the page refuses is another spelling of the same signature.
    for case in stricter:
        inside = re.sub(rb"-----[A-Z ]+-----|\s", b"", case)
        assert case != genuine and base64.b64decode(inside[: len(inside) // 4 * 4]) == blob_of(genuine), case


def with_proof(signature: bytes, proof: bytes) -> bytes:
    return armored(blob_of(signature)[:-64] + proof)


def test_a_malleable_signature_is_refused(verifier_page, sealed):
    message = (sealed / "MANIFEST.sha256").read_bytes()
    genuine = (sealed / "signatures/author.sig").read_bytes()
    proof = blob_of(genuine)[-64:]
    other = int.from_bytes(proof[32:], "little") + L

    forged = with_proof(genuine, proof[:32] + other.to_bytes(32, "little"))

    assert held_good(verifier_page, [genuine, forged], message) == [True, False]


@pytest.mark.parametrize(
    "point",
    [
        (1).to_bytes(32, "little"),
        bytes(32),
        (2**255 - 20).to_bytes(32, "little"),
        bytes.fromhex("26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05"),
        (2**255 - 18).to_bytes(32, "little"),
        (1 | 1 << 255).to_bytes(32, "little"),
    ],
)
def test_a_key_of_small_order_signs_nothing(verifier_page, sealed, point):
    message = (sealed / "MANIFEST.sha256").read_bytes()
    blob = blob_of((sealed / "signatures/author.sig").read_bytes())
    start = blob.index(b"ssh-ed25519") + 15
    forged = blob[:start] + point + blob[start + 32 : -64] + point + bytes(32)

    assert held_good(verifier_page, [armored(forged)], message) == [False]


RFC_8032 = [
    (
        "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a",
        "",
        "e5564300c360ac729086e2cc806e828a84877f1eb8e5d974d873e065224901555fb8821590a33bac"
        "c61e39701cf9b46bd25bf5f0595bbe24655141438e7a100b",
    ),
    (
        "3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c",
        "72",
        "92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da085ac1e43e15996e"
        "458f3613d0f11d8c387b2eaeb4302aeeb00d291612bb0c00",
    ),
    (
        "fc51cd8e6218a1a38da47ed00230f0580816ed13ba3303ac5deb911548908025",
        "af82",
        "6291d657deec24024827e69c3abe01a30ce548a284743a445e3680d7db5ac3ac18ff9b538d16f290"
        "ae67f760984dc6594a7c15e9716ed28dc027beceea1ec40a",
    ),
]


@pytest.mark.parametrize(("public", "message", "signature"), RFC_8032)
@pytest.mark.parametrize("own", ["with", "without"])
def test_the_vectors_of_rfc_8032_hold_with_and_without_the_browsers_own(
    verifier_page, public, message, signature, own
):
    held = verifier_page.page.evaluate(
        """async ([own, ...hexes]) => {
          const kept = SubtleCrypto.prototype.importKey;
          if (own === "without") SubtleCrypto.prototype.importKey = async () => { throw new Error(); };
          const [key, message, signature] = hexes.map(bytesOf);
          const good = await ed25519(key, message, signature);
          signature[7] ^= 1;
          const bad = await ed25519(key, message, signature);
          SubtleCrypto.prototype.importKey = kept;
          return [good, bad];
        }""",
        [own, public, message, signature],
    )

    assert held == [True, False]


# Numbers ----------------------------------------------------------------------------------------


def test_numbers_are_printed_as_every_implementation_prints_them(verifier_page):
    printed = verifier_page.page.evaluate(
        "vectors => vectors.map(([number, format]) => render(new Numeral(number), format))",
        VECTORS["vectors"],
    )

    assert [text.replace("\u00a0", " ") for text in printed] == [v[2] for v in VECTORS["vectors"]]


@pytest.mark.parametrize(
    "text",
    ['{"a":1,"a":2}', "[1,]", "[,1]", "{,}", '{"a":1,}', "[1 2]", "01", "[", '{"a"}', "NaN"]
    + ["", "\ufeff{}", "1 2", "'a'", '"\n"', "[" * 99 + "]" * 99, "9" * 500, "+1", ".5", "1.", "-"],
)
def test_json_that_is_not_strict_is_refused(verifier_page, text):
    assert verifier_page.page.evaluate(
        "text => { try { parseJson(text); } catch (error) { return error instanceof Fault; } }",
        text,
    )


def test_json_is_read_as_it_is_written(verifier_page):
    text = '{"a": [1, 2.50, -0, 1e3, {"b": null}], "é": "\\u00e9\\n", "": [], "c": {}}'

    read = verifier_page.page.evaluate(
        """text => {
          const plain = value => value instanceof Map
            ? Object.fromEntries([...value].map(([key, item]) => [key, plain(item)]))
            : Array.isArray(value) ? value.map(plain)
            : value instanceof Numeral ? Number(value.text) : value;
          return plain(parseJson(text));
        }""",
        text,
    )

    assert read == json.loads(text)


# Hostile zips -----------------------------------------------------------------------------------


def hostile(place: Path, entries: list[tuple[str, bytes]], method: int = 0) -> Path:
    with zipfile.ZipFile(place, "w", method) as archive, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a name twice is meant
        for name, data in entries:
            archive.writestr(zipfile.ZipInfo(name), data, compress_type=method)
    return place


def in_release(sealed: Path) -> list[tuple[str, bytes]]:
    return [
        (f"tiny-1/{path.relative_to(sealed)}", path.read_bytes())
        for path in sorted(sealed.rglob("*"))
        if path.is_file()
    ]


@pytest.mark.parametrize(
    ("name", "fault"),
    [
        ("tiny-1/../../outside", ("../../outside", "name")),
        ("/etc/passwd", ("..//etc/passwd", "name")),
        ("tiny-1/a\\b", ("a\\u{5c}b", "name")),
        ("tiny-1/bell\x07", ("bell\\u{7}", "name")),
        ("tiny-1/\u202egpj.exe", ("\\u{202e}gpj.exe", "added")),
        ("tiny-1/INDEX.html", ("INDEX.html", "added")),
        ("tiny-1/index.html", ("index.html", "twin")),
        ("tiny-1/empty/", ("empty/", "empty")),
        ("elsewhere/x", ("../elsewhere/x", "name")),
        ("tiny-1/<img src=x onerror=alert(1)>", ("<img src=x onerror=alert(1)>", "added")),
    ],
)
def test_names_that_mislead_are_named_and_shown_as_text(
    verifier_page, sealed, key, tmp_path, name, fault
):
    place = hostile(tmp_path / "bad.zip", [*in_release(sealed), (name, b"")])

    verdict = verifier_page.verdict(place, pin=key.fingerprint)

    assert verdict["faults"] == [{"file": fault[0], "what": fault[1]}]
    assert verifier_page.page.locator("#verdict img").count() == 0


def test_a_link_in_a_zip_is_named(verifier_page, sealed, key, tmp_path):
    place = hostile(tmp_path / "bad.zip", in_release(sealed))
    with zipfile.ZipFile(place, "a") as archive:
        link = zipfile.ZipInfo("tiny-1/link")
        link.create_system, link.external_attr = 3, 0o120777 << 16
        archive.writestr(link, "/etc/passwd")

    verdict = verifier_page.verdict(place, pin=key.fingerprint)

    assert verdict["faults"] == [{"file": "link", "what": "symlink"}]


def test_a_zip_bomb_stops_where_it_lies(verifier_page, sealed, key, tmp_path):
    entries = [(n, d) for n, d in in_release(sealed) if not n.endswith("index.html")]
    bomb = [*entries, ("tiny-1/index.html", bytes(300 << 20))]
    honest = hostile(tmp_path / "bomb.zip", bomb, zipfile.ZIP_DEFLATED)
    lying = bytearray(honest.read_bytes())
    for size in (m.start() for m in re.finditer(re.escape(struct.pack("<I", 300 << 20)), lying)):
        lying[size : size + 4] = struct.pack("<I", 40)
    (tmp_path / "lying.zip").write_bytes(lying)

    started = time.monotonic()
    told = verifier_page.verdict(honest, pin=key.fingerprint)
    denied = verifier_page.verdict(tmp_path / "lying.zip", pin=key.fingerprint)

    assert told["sentence"] == "Could not check: tiny-1/index.html is larger than a release may hold."
    assert denied["faults"] == [{"file": "index.html", "what": "changed"}]
    assert time.monotonic() - started < 20


BROKEN_ZIPS = {
    "not a zip": lambda _: b"GIF89a" * 50,
    "nothing": lambda _: b"",
    "cut off": lambda data: data[:-30],
    "something before it": lambda data: b"#!/bin/sh\n" + data,
    "something after it": lambda data: data + b"more",
    "too many entries": lambda data: data[:-12] + struct.pack("<H", 60_000) + data[-10:],
    "64 bits": lambda data: data[:-6] + struct.pack("<I", 0xFFFFFFFF) + data[-2:],
    "another disk": lambda data: data[:-18] + struct.pack("<H", 1) + data[-16:],
}


@pytest.mark.parametrize("way", BROKEN_ZIPS)
def test_a_zip_that_cannot_be_read_could_not_be_checked(verifier_page, sealed, key, tmp_path, way):
    whole = hostile(tmp_path / "whole.zip", in_release(sealed)).read_bytes()
    (tmp_path / "bad.zip").write_bytes(BROKEN_ZIPS[way](whole))

    verdict = verifier_page.verdict(tmp_path / "bad.zip", pin=key.fingerprint)

    assert verdict["exit"] == 12
    assert verdict["sentence"].startswith("Could not check: it is neither a folder nor a zip")


def test_no_flipped_byte_of_a_zip_makes_another_release_of_it(verifier_page, sealed, key, tmp_path):
    whole = hostile(tmp_path / "whole.zip", in_release(sealed), zipfile.ZIP_DEFLATED).read_bytes()
    dice = random.Random(17)
    for _ in range(60):
        data = bytearray(whole)
        data[dice.randrange(len(data))] ^= 1 << dice.randrange(8)
        (tmp_path / "bad.zip").write_bytes(data)

        verdict = verifier_page.verdict(tmp_path / "bad.zip", pin=key.fingerprint)

        # Dates, versions and the like stand in a zip unprotected, and change no file.
        if verdict["exit"] == 0:
            with zipfile.ZipFile(tmp_path / "bad.zip") as archive:
                assert {n: archive.read(n) for n in archive.namelist()} == dict(in_release(sealed))


# A reader ---------------------------------------------------------------------------------------


def test_two_hundred_files_take_less_than_three_seconds(verifier_page, key, tmp_path):
    files = small_release() | {
        f"records/cpu/outputs/{n}.npy": random.Random(n).randbytes(200_000) for n in range(200)
    }
    release = write_release(tmp_path / "tiny-1", files)
    key.seal(release)

    for place in (release, zipped(release)):
        started = time.monotonic()
        verdict = verifier_page.verdict(place, pin=key.fingerprint)
        assert verdict["exit"] == 0
        assert time.monotonic() - started < 3


STATES: dict[str, dict[str, Any]] = {
    "light": {"color_scheme": "light"},
    "dark": {"color_scheme": "dark"},
    "narrow": {"viewport": {"width": 320, "height": 640}},
    "forced colours": {"forced_colors": "active"},
}


@pytest.mark.parametrize("state", STATES)
def test_axe_has_nothing_to_say_and_nothing_scrolls_sideways(
    browser, file, sealed, release, key, state
):
    opened = Verifier(browser, file, **STATES[state])
    found = []
    write(release, {f"added/{'long-' * 30}{n}": b"" for n in range(3)})

    def look(where: str) -> None:
        for violation in Axe().run(opened.page).response["violations"]:
            nodes = [node["html"][:120] for node in violation["nodes"][:3]]
            found.append(f"{where}: {violation['id']}: {violation['help']} {nodes}")
        root = "document.documentElement"
        if opened.page.evaluate(f"{root}.scrollWidth > {root}.clientWidth"):
            found.append(f"{where}: scrolls sideways")

    look("opened")
    opened.verdict(sealed, pin=key.fingerprint)
    look("trusted")
    opened.verdict(sealed)
    look("untrusted")
    opened.verdict(release, pin=key.fingerprint)
    look("mismatch")
    opened.page.fill("#pin", "my key")
    opened.page.click("#check")
    opened.page.wait_for_selector(".error")
    look("a mistyped key")
    opened.context.close()

    assert found == []


def test_the_keyboard_is_enough_and_the_verdict_takes_the_focus(browser, file, sealed, key):
    opened = Verifier(browser, file)
    page = opened.page
    stops = []
    for _ in range(5):
        page.keyboard.press("Tab")
        stops.append(page.evaluate("document.activeElement.id || document.activeElement.tagName"))
    assert stops == ["folder", "zip", "pin", "SUMMARY", "check"]

    opened.choose("folder", sealed)
    assert page.inner_text("#chosen") == "tiny-1: 8 files chosen."
    page.focus("#pin")
    page.keyboard.type(key.fingerprint)
    page.focus("#check")
    page.keyboard.press("Enter")
    page.wait_for_selector("#verdict:not([hidden])")

    assert page.evaluate("document.activeElement.id") == "verdict"
    assert page.get_by_role("region", name="All 6 listed files match").is_visible()
    assert page.locator("[aria-current]").inner_text() == "Trusted"
    opened.context.close()


def test_a_mistake_of_the_readers_is_told_beside_its_field(browser, file, sealed, tmp_path):
    opened = Verifier(browser, file)
    page = opened.page

    page.click("#check")
    assert page.inner_text(".error") == "Choose a release first: its folder or its zip."
    assert page.evaluate("document.activeElement.id") == "folder"

    opened.choose("folder", sealed)
    page.fill("#pin", "SHA256:short")
    page.click("#check")
    page.wait_for_selector("#pin[aria-invalid]")
    assert page.get_attribute("#folder", "aria-invalid") is None
    assert page.locator("#verdict").is_hidden()
    opened.context.close()


def test_a_verdict_goes_when_what_it_was_about_changes(browser, file, sealed, key):
    opened = Verifier(browser, file)
    opened.verdict(sealed, pin=key.fingerprint)

    opened.page.fill("#pin", "")

    assert opened.page.locator("#verdict").is_hidden()
    opened.context.close()


def test_the_verdict_can_be_kept(browser, file, sealed, key, tmp_path):
    opened = Verifier(browser, file)
    shown = opened.verdict(sealed, pin=key.fingerprint)

    with opened.page.expect_download() as caught:
        opened.page.get_by_role("button", name="Save the verdict").click()
    caught.value.save_as(tmp_path / "verdict.json")

    assert caught.value.suggested_filename == "verdict-tiny-1.json"
    assert json.loads((tmp_path / "verdict.json").read_text(encoding="utf-8")) == shown
    opened.context.close()


def test_without_script_it_says_so(browser, file):
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(file.as_uri())

    assert "VERIFY.txt" in page.inner_text("main")
    context.close()
