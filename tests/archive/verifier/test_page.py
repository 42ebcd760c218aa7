"""Does the verifier page tell the truth, from one file, to whoever opens it?"""

import base64
import hashlib
import json
import re
import zipfile
from typing import Any

import pytest

from report.archive import verifier
from report.archive.verify import PARSED
from report.errors import ContentFault
from tests.archive.verifier.conftest import TEMPLATES
from tests.archive.verifier.releases import (
    STATUS,
    Key,
    listed,
    small_release,
    write,
    write_release,
    zipped,
)
from tests.conftest import PROJECT

FIXTURES = sorted(path.parent for path in PROJECT.glob("tests/archive/fixtures/*/expect.json"))
UNSEEN = "Not seen: links and empty folders, which no browser shows of a chosen folder."
VECTORS = json.loads((PROJECT / "tests/report/notation_vectors.json").read_text(encoding="utf-8"))


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


@pytest.mark.parametrize("form", ["folder", "stored", "deflated"])
def test_a_pinned_key_and_every_file_as_listed_is_trusted(reader, release, key, form):
    place = release if form == "folder" else zipped(release, 0 if form == "stored" else 8)

    verdict = reader.verdict(place)

    assert verdict["sentence"] == (
        "All 6 listed files match, no unlisted files. Signed with key "
        f"{key.fingerprint} which you pinned. Not shown: that the measurements are right, that"
        " this is the latest report, or when it was signed."
    )
    assert (verdict["exit"], verdict["tier"], verdict["claims"]) == (0, "trusted", 4)
    assert verdict["notes"] == [
        "Not derived again: numbers that the release does not list as claims.",
        *([UNSEEN] if form == "folder" else []),
        "Status unknown after 2026-11-30.",
    ]


def test_a_public_key_pins_as_its_fingerprint_does(reader, sealed, key):
    assert reader.verdict(sealed, pin=f"# theirs\n{key.public}\n")["exit"] == 0


def test_without_a_pin_anyone_may_have_signed(reader, sealed):
    verdict = reader.verdict(sealed, pin="")

    assert verdict["exit"] == 11
    assert verdict["sentence"] == (
        "Files match their list. The list is signed by a key you have not pinned: anyone can make"
        " such a signature."
    )


def test_a_forged_copy_gets_no_name(reader, release, tmp_path):
    forger = Key(tmp_path)
    (release / "index.html").write_text("<p>Signed by Lab signer</p>")
    files = small_release() | {"index.html": (release / "index.html").read_bytes()}
    (release / "MANIFEST.sha256").write_bytes(listed(files))
    forger.seal(release)
    write(release, {"signatures/allowed_signers": f"Lab {forger.public}\n".encode()})

    verdict = reader.verdict(release)

    assert verdict["exit"] != 0
    assert verdict["author"]["name"] is None
    assert "Lab" not in reader.page.inner_text("#verdict")


@pytest.mark.parametrize("form", ["folder", "zip"])
@pytest.mark.parametrize("field", ["signers", "revoked", "status"])
def test_a_file_of_the_release_is_not_the_readers_own(new_reader, release, key, field, form):
    reader = new_reader()
    own = write(
        release.parent / "own", {"mine": f"lab {key.public}\n".encode(), "mine.sig": b"a signature"}
    )
    if field == "revoked":
        write(own, {"mine": f"{key.public}\n".encode()})
    write(release / "signatures", {"allowed_signers": (own / "mine").read_bytes()})
    reader.choose(release if form == "folder" else zipped(release))
    reader.page.evaluate("byId('more').open = true")
    given = [own / "mine", own / "mine.sig"] if field == "status" else own / "mine"
    reader.page.set_input_files(f"#{field}", given)

    reader.check()

    assert reader.page.inner_text(f"#{field}-error") == (
        "This file is one of the release: trust must come from outside it."
    )
    assert reader.page.locator("#verdict").is_hidden()


def test_a_listed_file_is_not_the_readers_own_either_and_an_empty_one_may_be(
    new_reader, release, key, tmp_path
):
    reader = new_reader()
    signers = f"lab {key.public}\n".encode()
    write_release(release, small_release() | {"lab/keys": signers, "lab/__init__.py": b""})
    key.seal(release)
    own = write(tmp_path / "own", {"mine": signers, "empty": b""})

    assert reader.verdict(release, revoked=own / "empty")["exit"] == 0
    reader.page.set_input_files("#signers", own / "mine")
    reader.check()

    assert "outside" in reader.page.inner_text("#signers-error")


def test_what_is_too_large_is_not_looked_up_in_or_added_up(new_reader, release, key):
    reader = new_reader()
    files = small_release()
    files["records/cpu/report.json"] += b" " * (16 << 20)
    write_release(release, files)
    key.seal(release)

    looked_up = reader.verdict(release)
    reader.page.evaluate("""() => {
      const first = Release.prototype.open;
      Release.prototype.open = function (...all) {
        this.left = left;
        return first.apply(this, all);
      };
    }""")
    write_release(release, small_release())
    key.seal(release)
    size = sum(path.stat().st_size for path in release.rglob("*") if path.is_file())
    added_up, parsed, within = [
        reader.page.evaluate(f"left = {left}") and reader.verdict(release)
        for left in (1_000, 2 * size, (1 + PARSED) * size)
    ]

    assert looked_up["sentence"] == (
        "Could not check: records/cpu/report.json is larger than a release may hold."
    )
    assert added_up["exit"] == parsed["exit"] == 12
    assert added_up["sentence"].endswith("is larger than a release may hold.")
    assert parsed["sentence"].endswith(".json is larger than a release may hold.")
    assert within["exit"] == 0


def test_a_record_that_is_no_json_is_read_once_for_all_claims(new_reader, release, key):
    reader = new_reader()
    listed = json.loads(small_release()["claims.json"])
    extra = {"page": "index.html", "format": "text", "text": "x", "pointer": "cpu/config#/x"}
    listed["claims"] += [extra | {"id": f"v-{n}"} for n in range(3, 53)]
    files = small_release() | {
        "claims.json": json.dumps(listed).encode(),
        "records/cpu/config.json": b"[1,",
    }
    write_release(release, files)
    key.seal(release)
    reader.page.evaluate("""() => {
      const first = parseJson;
      window.parsed = [];
      parseJson = (text) => { window.parsed.push(text); return first(text); };
    }""")

    verdict = reader.verdict(release)

    assert verdict["faults"] == [{"file": "index.html", "what": "claim"}]
    assert reader.page.evaluate("parsed").count("[1,") == 1


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
def test_every_file_at_fault_is_named(reader, release, change, form):
    name, what = CHANGES[change]
    if what == "missing":
        (release / name).unlink()
    elif what == "changed":
        (release / name).write_bytes((release / name).read_bytes()[:-1] + b"?")
    else:
        write(release, {name: b"x"})

    verdict = reader.verdict(release if form == "folder" else zipped(release))

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
def test_a_list_has_one_form(reader, release, key, rewrite):
    place = release / "MANIFEST.sha256"
    place.write_bytes(rewrite(place.read_bytes()))
    key.seal(release)

    verdict = reader.verdict(release)

    assert {"file": "MANIFEST.sha256", "what": "manifest"} in verdict["faults"]


def test_a_number_that_the_data_do_not_give_is_found_under_a_good_signature(reader, release, key):
    files = small_release()
    files["index.html"] = files["index.html"].replace(b"2.45", b"2.44")
    write_release(release, files)
    key.seal(release)

    verdict = reader.verdict(release)

    assert verdict["faults"] == [{"file": "index.html", "what": "claim"}]


def test_a_signers_file_gives_names_and_windows(reader, sealed, key, tmp_path):
    def judged(options: str, at: str = "2026-06-01") -> dict[str, Any]:
        signers = tmp_path / "allowed_signers"
        signers.write_text(f"# mine\nlab@example.com {options} {key.public}\n")
        return reader.verdict(sealed, pin="", at=at, signers=signers)

    good = judged('namespaces="assay/report/*",valid-after="20260101",valid-before="20270101"')
    assert good["exit"] == 0
    assert "Signed by lab@example.com with key" in good["sentence"]
    assert judged('namespaces="git"')["author"]["said"].endswith("is not for this role.")
    assert judged('namespaces=""')["author"]["said"].endswith("is not for this role.")
    assert judged('valid-before="20260101"')["author"]["said"].endswith("is expired.")
    assert judged('valid-after="20270101"')["author"]["said"].endswith("is not yet valid.")


def test_a_revoked_key_is_not_trusted(reader, sealed, key, tmp_path):
    revoked = tmp_path / "revoked"
    revoked.write_text(f"# lost\n{key.fingerprint}\n")

    verdict = reader.verdict(sealed, revoked=revoked)

    assert not verdict["author"]["good"]
    assert verdict["sentence"].endswith("your list of revoked keys says that key is revoked.")


def test_one_key_in_both_roles_is_reported(reader, release, key):
    key.seal(release, "reviewer")

    verdict = reader.verdict(release)

    assert any(note.startswith("One person signed as author") for note in verdict["notes"])


def test_another_role_is_another_signature(reader, release):
    signatures = release / "signatures"
    (signatures / "author.sig").rename(signatures / "reviewer.sig")

    verdict = reader.verdict(release)

    assert verdict["faults"] == [{"file": "signatures/reviewer.sig", "what": "signature"}]


def test_a_key_of_another_kind_could_not_be_checked(reader, release, tmp_path):
    Key(tmp_path, "ecdsa").seal(release)

    verdict = reader.verdict(release)

    assert verdict["exit"] == 12
    assert "by a key of type ecdsa-sha2-nistp256" in verdict["sentence"]


@pytest.mark.parametrize(("number", "exit_code"), [(3, 11), (1, 12)])
def test_a_withdrawn_report_is_told_and_an_old_list_is_refused(
    reader, release, key, number, exit_code
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
    own = write(
        release.parent / "own", {"status.json": told, "status.json.sig": key.sign(told, STATUS)}
    )
    places = [own / "status.json", own / "status.json.sig"]

    verdict = reader.verdict(release, status=places)

    assert verdict["exit"] == exit_code
    assert ("was withdrawn on 2026-12-24" in verdict["sentence"]) == (number == 3)


@pytest.mark.parametrize("form", ["zip", "folder"])
@pytest.mark.parametrize("fixture", FIXTURES, ids=lambda folder: folder.name)
def test_it_says_what_the_command_line_says(reader, fixture, form, tmp_path):
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

    verdict = reader.verdict(
        place,
        pin=(fixture / "pin.txt").read_text(encoding="utf-8"),
        at=re.sub(r"(....)(..)(..)", r"\1-\2-\3", told.get("at", "")),
        **own,
    )

    assert [[fault["file"], fault["what"]] for fault in verdict["faults"]] == told["faults"]
    said = ("exit", "tier", "sentence")
    assert [verdict[name] for name in said] == [told[name] for name in said]
    assert (UNSEEN in verdict["notes"]) == (form == "folder" and bool(told["notes"]))
    assert [note for note in verdict["notes"] if note != UNSEEN] == told["notes"]


def test_numbers_are_read_back_as_every_implementation_reads_them(reader):
    texts = [[value, text.replace(" ", "\u00a0")] for value, _, text in VECTORS["vectors"]]
    texts += [[value, altered(text)] for value, text in texts]
    read = reader.page.evaluate(
        """texts => texts.map(([number, text]) => {
          try { return readsAs(text, new Numeral(number)); } catch { return false; }
        })""",
        texts,
    )

    count = len(VECTORS["vectors"])
    assert [text for text, right in zip(texts, read, strict=True) if right] == texts[:count]


def altered(text: str) -> str:
    """A printed number with another last digit."""
    at = next(at for at in reversed(range(len(text))) if text[at].isdecimal())
    at = text.index("\u00a0") - 1 if "\u00a0" in text else at
    raised = "⁰¹²³⁴⁵⁶⁷⁸⁹"
    return text[:at] + (
        raised[(raised.index(text[at]) + 2) % 10] + text[at + 1 :]
        if text[at] in raised
        else str((int(text[at]) + 2) % 10) + text[at + 1 :]
    )


@pytest.mark.parametrize(
    "text",
    [
        *('{"a":1,"a":2}', '{"a":1,}', '{"a"}', "{,}", "[1,]", "[,1]", "[1 2]", "[", "1 2", "'a'"),
        *("", "\ufeff{}", '"\n"', "01", "+1", ".5", "1.", "-", "NaN", "9" * 5000),
        "[" * 99 + "]" * 99,
    ],
)
def test_json_that_is_not_strict_is_refused(reader, text):
    assert reader.page.evaluate(
        "text => { try { parseJson(text); } catch (error) { return error instanceof Fault; } }",
        text,
    )


def test_json_is_read_as_it_is_written(reader):
    text = '{"a": [1, 2.50, -0, 1e3, {"b": null}], "é": "\\u00e9\\n", "": [], "c": {}}'

    read = reader.page.evaluate(
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
