"""Write tests/archive/fixtures: what both verifiers must say of each release.

    python -m tests.archive.make_fixtures

A fixture is a folder: release.zip, pin.txt (fingerprints, one a line), what else the reader has
(allowed_signers, revoked, status.json with status.json.sig), and expect.json. Unless that says
"folder": false, the release unpacked into a folder has the same verdict.
"""

import json
import shutil
import warnings
from collections.abc import Iterator
from pathlib import Path

from report.archive.verify import L
from tests.archive.ground import (
    ATTACKER,
    AUTHOR,
    CLAIMS,
    HARDWARE,
    NAMESPACE,
    REVIEWER,
    STRANGER,
    TARGET,
    Files,
    armored,
    blob_of,
    claims_json,
    key_blob,
    page,
    pin,
    sealed,
    signers_line,
    sshsig,
    status_list,
    string,
    tiny,
    values,
    zipped,
    zipped_entries,
)

FIXTURES = Path(__file__).parent / "fixtures"

NOT_SHOWN = (
    "Not shown: that the measurements are right, that this is the latest report, or when it was"
    " signed."
)
UNDERIVED = "Not derived again: numbers that the release does not list as claims."
UNKNOWN_STATUS = "Status unknown after 2026-11-30."
UNKNOWN_KEY = (
    "Files match their list. The list is signed by a key you have not pinned: anyone can make such"
    " a signature."
)
UNSIGNED = "Files match their list. The list is not signed: anyone can make such a list."
DRAFT = (
    "Files match their list. The report is a DRAFT: facts are missing, and no signature vouches for"
    " it."
)
NO_LIST = "Could not check: the status list is not one, or its signature does not hold."
ONE_PERSON = "One person signed as author and as reviewer: this is one word, not two."
STRANGE_REVIEW = (
    "Reviewer: The list is signed by a key you have not pinned: anyone can make such a signature."
)
SIG = "signatures/author.sig"


class Fixture:
    """One case: its files beside release.zip, and what is to be said."""

    def __init__(self, name: str, release: Files | bytes, pins: str | None = None) -> None:
        self.name = name
        self.release = release if isinstance(release, bytes) else zipped(release)
        self.files: dict[str, bytes] = {
            "pin.txt": f"{pin(AUTHOR) if pins is None else pins}\n".encode()
        }
        self.expect: dict[str, object] = {}

    def having(self, **files: str | bytes) -> "Fixture":
        for name, data in files.items():
            known = {"status": "status.json", "status_sig": "status.json.sig"}.get(name, name)
            self.files[known] = data.encode() if isinstance(data, str) else data
        return self

    def says(self, code: int, sentence: str, *notes: str, **more: object) -> "Fixture":
        """Notes on the status, where that was found out, come last."""
        tiers = {0: "trusted", 11: "untrusted", 12: "unchecked"}
        if code != 12:
            status = [each for each in notes if each.startswith(("Status", "Superseded"))]
            notes = (*(each for each in notes if each not in status), UNDERIVED, *status)
        self.expect = {"exit": code, "tier": tiers[code], "faults": [], "sentence": sentence}
        self.expect |= {"notes": list(notes)} | more
        return self

    def names(self, *faults: tuple[str, str], **more: object) -> "Fixture":
        count = len({name for name, _ in faults})
        are = "files is" if count == 1 else "files are"
        how = "not as the list says"
        if {what for _, what in faults} <= {"claim", "release"}:
            how = "as listed, but wrong in content"
        sentence = f"Mismatch: {count} of this release's {are} {how}."
        self.expect = {"exit": 10, "tier": "mismatch", "faults": sorted(map(list, faults))}
        self.expect |= {"sentence": f"{sentence} Do not rely on it.", "notes": []} | more
        return self


def trusted(files: int, key: str, name: str = "") -> str:
    by = f"by {name} " if name else ""
    return (
        f"All {files} listed files match, no unlisted files. Signed {by}with key {key} which you"
        f" pinned. {NOT_SHOWN}"
    )


def doubted(why: str, source: str = "signers file") -> str:
    return (
        f"Files match their list. It is signed with key {pin(AUTHOR)}, and your {source} says that"
        f" key is {why}."
    )


def fixtures() -> Iterator[Fixture]:
    yield from good_ones()
    yield from doubtful_ones()
    yield from listed_wrongly()
    yield from signed_wrongly()
    yield from claimed_wrongly()
    yield from judged_wrongly()
    yield from hostile_ones()


def good_ones() -> Iterator[Fixture]:
    good, n = sealed(tiny()), len(tiny())
    yes = trusted(n, pin(AUTHOR))
    yield Fixture("trusted", good).says(0, yes, UNKNOWN_STATUS)
    yield Fixture("trusted-at-the-top-of-a-zip", zipped(good, top="")).says(0, yes, UNKNOWN_STATUS)
    yield (
        Fixture("trusted-by-name", good, "")
        .having(allowed_signers=signers_line("lab@example.org", AUTHOR, "author"))
        .says(0, trusted(n, pin(AUTHOR), "lab@example.org"), UNKNOWN_STATUS)
    )
    both = sealed(tiny(), reviewer=REVIEWER)
    yield (
        Fixture("reviewed", both, "")
        .having(
            allowed_signers=signers_line("lab@example.org", AUTHOR, "author")
            + signers_line("reader@example.org", REVIEWER, "reviewer")
        )
        .says(
            0,
            trusted(n, pin(AUTHOR), "lab@example.org"),
            f"Reviewer: Signed by reader@example.org with key {pin(REVIEWER)} which you pinned.",
            UNKNOWN_STATUS,
        )
    )
    yield Fixture("reviewed-by-a-stranger", both).says(0, yes, STRANGE_REVIEW, UNKNOWN_STATUS)
    yield Fixture("reviewed-with-the-same-key", sealed(tiny(), reviewer=AUTHOR)).says(
        0,
        yes,
        f"Reviewer: Signed with key {pin(AUTHOR)} which you pinned.",
        ONE_PERSON,
        UNKNOWN_STATUS,
    )
    yield (
        Fixture("reviewed-by-the-same-person", both, "")
        .having(
            allowed_signers=signers_line("lab@example.org", AUTHOR, "author")
            + signers_line("lab@example.org", REVIEWER, "reviewer")
        )
        .says(
            0,
            trusted(n, pin(AUTHOR), "lab@example.org"),
            f"Reviewer: Signed by lab@example.org with key {pin(REVIEWER)} which you pinned.",
            ONE_PERSON,
            UNKNOWN_STATUS,
        )
    )
    manifest = good["MANIFEST.sha256"]
    touched = good | {SIG: sshsig(AUTHOR, manifest, NAMESPACE.format("author"), kind=HARDWARE)}
    yield Fixture("trusted-hardware-key", touched, pin(AUTHOR, HARDWARE)).says(
        0, trusted(n, pin(AUTHOR, HARDWARE)), UNKNOWN_STATUS
    )
    words = ({"id": "s-1", "pointer": "tiny#/x", "level": "requested", "text": "asks for INT8"},)
    spoken = page().replace(b"</body>", b'<a class="claim" id="s-1">asks for INT8</a></body>')
    yield Fixture(
        "with-a-statement",
        sealed(tiny() | {"index.html": spoken, "claims.json": claims_json(statements=words)}),
    ).says(
        0,
        yes,
        "Not weighed again: the evidence of 1 statements about arithmetic.",
        UNKNOWN_STATUS,
    )
    yield Fixture("stray-signature", good | {"signatures/note.txt": b"?"}).says(
        0, yes, "Not covered by the signature: signatures/note.txt", UNKNOWN_STATUS
    )
    ends = page().replace(b"</a>", b"</a>.", 1).replace(b"v-2: <a", b"v-2:<a")
    yield Fixture("number-at-the-end-of-a-sentence", sealed(tiny() | {"index.html": ends})).says(
        0, yes, UNKNOWN_STATUS
    )
    for state, note in (
        ("superseded", "Superseded by tiny-2 on 2027-01-15: The wrong device was named."),
        (None, "Status list 2 of 2027-01-31 does not name this report."),
    ):
        told = status_list(good, state)
        yield (
            Fixture(f"status-{state or 'current'}", good)
            .having(status=told, status_sig=sshsig(AUTHOR, told, NAMESPACE.format("status")))
            .says(0, yes, note, "Status unknown after 2027-01-31.")
        )


def doubtful_ones() -> Iterator[Fixture]:
    good = sealed(tiny())
    unsigned = {name: data for name, data in good.items() if name != SIG}
    yield Fixture("unsigned", unsigned).says(11, UNSIGNED, UNKNOWN_STATUS)
    yield Fixture("unknown-key", good, pin(STRANGER)).says(11, UNKNOWN_KEY, UNKNOWN_STATUS)
    yield Fixture("nothing-pinned", good, "").says(11, UNKNOWN_KEY, UNKNOWN_STATUS)
    inside = signers_line("lab@example.org", ATTACKER, "author").encode()
    forged = tiny() | {"index.html": page(), "allowed_signers": inside, "signer.pub": inside}
    yield (
        Fixture("forged-copy", sealed(forged, author=ATTACKER), "")
        .having(allowed_signers=signers_line("lab@example.org", AUTHOR, "author"))
        .says(11, UNKNOWN_KEY, UNKNOWN_STATUS)
    )
    yield Fixture("draft", sealed(tiny(status="DRAFT"))).says(11, DRAFT, UNKNOWN_STATUS)
    for name, options, why in (
        ("expired", 'valid-before="20261231Z"', "expired"),
        ("not-yet-valid", 'valid-after="20280101Z"', "not yet valid"),
    ):
        line = signers_line("lab@example.org", AUTHOR, "author", options=options)
        yield (
            Fixture(name, good, "")
            .having(allowed_signers=line)
            .says(
                11,
                doubted(why),
                "Keys judged as of 20270601, as you asked.",
                UNKNOWN_STATUS,
                at="20270601",
            )
        )
    line = signers_line("lab@example.org", AUTHOR, "reviewer")
    yield (
        Fixture("allowed-for-another-role", good, "")
        .having(allowed_signers=line)
        .says(11, doubted("not for this role"), UNKNOWN_STATUS)
    )
    yield (
        Fixture("allowed-for-nothing", good, "")
        .having(allowed_signers=signers_line("lab@example.org", AUTHOR, options='namespaces=""'))
        .says(11, doubted("not for this role"), UNKNOWN_STATUS)
    )
    yield (
        Fixture("revoked", good)
        .having(revoked=f"# lost\n{pin(AUTHOR)}\n")
        .says(11, doubted("revoked", "list of revoked keys"), UNKNOWN_STATUS)
    )
    told = status_list(good, "withdrawn")
    yield (
        Fixture("withdrawn", good)
        .having(status=told, status_sig=sshsig(AUTHOR, told, NAMESPACE.format("status")))
        .says(
            11,
            "Files match their list. The signature holds, but the report was withdrawn on"
            " 2027-01-15: The wrong device was named.",
            "Status unknown after 2027-01-31.",
        )
    )
    knowing = sealed(tiny(status_list={"number": 5, "date": "2026-11-29"}))
    yield Fixture("status-unknown-after-a-list", knowing).says(
        0, trusted(len(tiny()), pin(AUTHOR)), "Status unknown after 2026-11-29."
    )
    told = status_list(knowing, None, number=4)
    yield (
        Fixture("status-older", knowing)
        .having(status=told, status_sig=sshsig(AUTHOR, told, NAMESPACE.format("status")))
        .says(
            12,
            "Could not check: the status list is older (number 4) than the one this release knows"
            " (5).",
            UNDERIVED,
        )
    )
    both = sealed(tiny(), reviewer=REVIEWER)
    told = status_list(both, "withdrawn")
    yield (
        Fixture("status-by-the-reviewer", both, f"{pin(AUTHOR)}\n{pin(REVIEWER)}")
        .having(status=told, status_sig=sshsig(REVIEWER, told, NAMESPACE.format("status")))
        .says(
            12,
            "Could not check: the status list is signed by a key that is not this release's"
            " author's.",
            f"Reviewer: Signed with key {pin(REVIEWER)} which you pinned.",
            UNDERIVED,
        )
    )
    told = status_list(good, "withdrawn")
    yield (
        Fixture("status-by-a-key-for-another-role", good, "")
        .having(
            allowed_signers=signers_line("lab@example.org", AUTHOR, "author"),
            status=told,
            status_sig=sshsig(AUTHOR, told, NAMESPACE.format("status")),
        )
        .says(
            12,
            f"Could not check: the status list is signed with key {pin(AUTHOR)}, and your signers"
            " file says that key is not for this role.",
            UNDERIVED,
        )
    )
    told = status_list(good, None)
    yield (
        Fixture("status-by-a-stranger", good)
        .having(status=told, status_sig=sshsig(ATTACKER, told, NAMESPACE.format("status")))
        .says(
            12,
            "Could not check: the status list is signed by a key you have not pinned.",
            UNDERIVED,
        )
    )
    yield (
        Fixture("status-changed", good)
        .having(
            status=told.replace(b"2027", b"2028"),
            status_sig=sshsig(AUTHOR, told, NAMESPACE.format("status")),
        )
        .says(12, NO_LIST, UNDERIVED)
    )
    told = status_list(good, "blessed")
    yield (
        Fixture("status-unheard-of", good)
        .having(status=told, status_sig=sshsig(AUTHOR, told, NAMESPACE.format("status")))
        .says(12, NO_LIST, UNDERIVED)
    )
    no_list = {name: data for name, data in good.items() if name != "MANIFEST.sha256"}
    yield Fixture("no-list", no_list).says(
        12, "Could not check: there is no MANIFEST.sha256, so this is no release."
    )
    blob = blob_of(good[SIG]).replace(string(key_blob(AUTHOR)), string(string(b"ssh-rsa") + b"?"))
    yield Fixture("another-kind-of-key", good | {SIG: armored(blob)}).says(
        12, "Could not check: the signature is by a key of type ssh-rsa."
    )


def listed_wrongly() -> Iterator[Fixture]:
    good = sealed(tiny())
    changed = {"data/study.json": good["data/study.json"] + b"\n"}
    yield Fixture("changed", good | changed).names(("data/study.json", "changed"))
    missing = {name: data for name, data in good.items() if name != "claims.json"}
    yield Fixture("missing", missing).names(("claims.json", "missing"))
    added = {".hidden": b"", ".git/config": b"", "data/more.json": b"{}"}
    yield Fixture("added", good | added).names(*((name, "added") for name in added))
    swapped = {"index.html": good["claims.json"], "claims.json": good["index.html"]}
    yield Fixture("swapped", good | swapped).names(
        ("index.html", "changed"), ("claims.json", "changed")
    )
    renamed = dict(missing, **{"claim.json": good["claims.json"]})
    yield Fixture("renamed", renamed).names(("claims.json", "missing"), ("claim.json", "added"))
    crlf = {name: data.replace(b"\n", b"\r\n") for name, data in tiny().items()}
    yield Fixture("line-endings", good | crlf).names(*((name, "changed") for name in crlf))
    cyrillic = {"d\u0430ta/study.json": good["data/study.json"]}
    yield Fixture("look-alike", good | cyrillic).names(("d\\u{430}ta/study.json", "added"))

    manifest, digest = good["MANIFEST.sha256"], "0" * 64
    lines = manifest.splitlines(keepends=True)
    for name, text, more in (
        ("crlf", manifest.replace(b"\n", b"\r\n"), tuple(tiny())),
        ("unsorted", b"".join(reversed(lines)), ()),
        ("upper-case", manifest.upper(), tuple(tiny())),
        ("twice", lines[0] + manifest, ()),
        ("cut-off", manifest[:-1], ()),
        ("empty", b"", tuple(tiny())),
        ("escape", manifest + f"{digest}  ../../x\n".encode(), ()),
        ("absolute", f"{digest}  /etc/passwd\n".encode() + manifest, ()),
        ("itself", f"{digest}  MANIFEST.sha256\n".encode() + manifest, ()),
        ("signatures", manifest + f"{digest}  signatures/x\n".encode(), ()),
        ("case-twins", f"{digest}  Index.html\n".encode() + manifest, ()),
        ("another-algorithm", b"md5  " + manifest, (sorted(tiny())[0],)),
    ):
        faults = [(gone, "added") for gone in more] + [("MANIFEST.sha256", "manifest")]
        faults += [("Index.html", "missing")] if name == "case-twins" else []
        files = tiny() | {"MANIFEST.sha256": text}
        files[SIG] = sshsig(AUTHOR, text, NAMESPACE.format("author"))
        yield Fixture(f"list-{name}", files).names(*faults)


def signed_wrongly() -> Iterator[Fixture]:
    good = sealed(tiny())
    manifest, signature, blob = good["MANIFEST.sha256"], good[SIG], blob_of(good[SIG])
    s, author = int.from_bytes(blob[-32:], "little"), NAMESPACE.format("author")
    for name, text in (
        ("truncated", signature[:-40]),
        ("empty", b""),
        ("of-another-list", sshsig(AUTHOR, manifest + b"\n", NAMESPACE.format("author"))),
        ("of-a-reviewer", sshsig(AUTHOR, manifest, NAMESPACE.format("reviewer"))),
        ("of-a-shorter-hash", sshsig(AUTHOR, manifest, author, algorithm=b"sha256")),
        ("of-a-commit", sshsig(AUTHOR, manifest, "git")),
        ("malleable", armored(blob[:-32] + (s + L).to_bytes(32, "little"))),
        ("no-last-line-feed", signature[:-1]),
        ("two-last-line-feeds", signature + b"\n"),
        ("one-long-line", signature.replace(b"\n", b"").replace(b"-----U", b"-----\nU", 1)),
        ("crlf", signature.replace(b"\n", b"\r\n")),
        ("something-after", armored(blob + b"\0")),
        ("another-version", armored(blob.replace(b"SSHSIG\0\0\0\1", b"SSHSIG\0\0\0\2"))),
        ("small-order-key", armored(blob.replace(key_blob(AUTHOR)[-32:], b"\1" + bytes(31)))),
    ):
        yield Fixture(f"signature-{name}", good | {SIG: text}).names((SIG, "signature"))
    review = {"signatures/reviewer.sig": good[SIG]}
    yield Fixture("author-as-reviewer", good | review).names(
        ("signatures/reviewer.sig", "signature")
    )


def claimed_wrongly() -> Iterator[Fixture]:
    def resealed(name: str, **files: bytes) -> Fixture:
        return Fixture(name, sealed(tiny() | {k.replace("__", "."): v for k, v in files.items()}))

    better = page().replace(b"2.45", b"2.35")
    yield resealed("claim-text-changed", index__html=better).names(("index.html", "claim"))
    lying = tuple((i, p, f, t.replace("2.45", "2.35")) for i, p, f, t in CLAIMS)
    yield resealed(
        "claim-and-text-changed", index__html=better, claims__json=claims_json(lying)
    ).names(("index.html", "claim"))
    data = values({"/cache/bytes": {"number": 1710612736, "unit": "B"}})
    yield Fixture("claim-data-changed", sealed(tiny() | {"data/study.json": data})).names(
        ("index.html", "claim")
    )
    unlisted = page().replace(b"</body>", b'<a class="claim" id="s-1">asks for INT8</a></body>')
    yield resealed("statement-that-is-not-listed", index__html=unlisted).names(
        ("index.html", "claim")
    )
    more = page().replace(b"</body>", b'<a class="v measured" id="v-8">9 %</a></body>')
    yield resealed("number-without-claim", index__html=more).names(("index.html", "claim"))
    for name, text, number in (
        ("an-underscore", "1_0", 10),
        ("a-space", " 10", 10),
        ("digits-of-another-script", "\u0661\u0660", 10),
        ("a-point-first", ".5", 0.5),
    ):
        claims = (*CLAIMS, ("v-9", "models#/plain", "fixed(1)", text))
        told = {"index.html": page(claims), "claims.json": claims_json(claims)}
        told["data/models.json"] = values({"/plain": {"number": number, "unit": ""}})
        yield Fixture(f"number-with-{name}", sealed(tiny() | told)).names(("index.html", "claim"))
    for name, old, new in (
        ("after-a-digit", b"<a", "1<a"),
        ("after-a-digit-of-another-script", b"<a", "\u0661<a"),
        ("after-a-point", b"<a", "1.<a"),
        ("after-a-minus", b"<a", "\u2212<a"),
        ("after-a-hyphen", b"<a", "-<a"),
        ("before-a-digit", b"</a>", "</a>5"),
        ("before-a-point", b"</a>", "</a>.5"),
    ):
        touched = page().replace(old, new.encode(), 1)
        yield resealed(f"number-{name}", index__html=touched).names(("index.html", "claim"))
    yield resealed("claim-without-number", index__html=page(CLAIMS[:-1])).names(
        ("index.html", "claim")
    )
    nowhere = (*CLAIMS[:-1], ("v-7", "formats#/fp32/none", "text", "x"))
    yield resealed(
        "claim-of-nothing", index__html=page(nowhere), claims__json=claims_json(nowhere)
    ).names(("index.html", "claim"))
    escape = (*CLAIMS[:-1], ("v-7", "../../../x#/a", "text", "x"))
    yield resealed(
        "claim-outside", index__html=page(escape), claims__json=claims_json(escape)
    ).names(("index.html", "claim"))
    for name, text in (
        ("of-another-size", "1.5\u00a0GB"),
        ("of-another-kind", "197\u00a0TOP/s"),
        ("of-another-sign", "\u22121.5\u00a0GiB"),
        ("a-digit-off", "1.6\u00a0GiB"),
        ("of-no-number", "a\u00a0GiB"),
        ("without-end", "1" * 5000),
    ):
        of = "chips#/v5e/peak_bf16" if name == "of-another-kind" else "study#/cache/bytes"
        printed = (*CLAIMS[:-1], ("v-7", of, "bytes(GiB, 1)", text))
        yield resealed(
            f"claim-{name}", index__html=page(printed), claims__json=claims_json(printed)
        ).names(("index.html", "claim"))
    number = claims_json().replace(b'"1.5\xc2\xa0GiB"', b"1.5")
    yield resealed("claim-that-is-no-text", claims__json=number).names(("release.json", "release"))
    twice = claims_json().replace(b'"schema":', b'"schema": "assay/claims/0",\n "schema":', 1)
    yield resealed("claims-twice-a-key", claims__json=twice).names(("release.json", "release"))
    yield resealed("release-of-another-kind", release__json=b"[]").names(
        ("release.json", "release")
    )


def judged_wrongly() -> Iterator[Fixture]:
    """Targets of release.json, signed by their own author, that the signed data do not bear out."""

    def targets(*changes: dict[str, object], result: str = "FAILED") -> Files:
        return sealed(tiny(claims=[TARGET | change for change in changes], result=result))

    yes = trusted(len(tiny()), pin(AUTHOR))
    met = {"threshold": 0.05, "passed": True}
    nothing = {"metric": "tiny#/results/int8/sqnr_db", "measured": None}
    stated = {"metric": "study#/cache/bytes", "measured": 1610612736}
    exact = {"metric": "chips#/v5e/peak_bf16", "measured": 197, "comparator": ">="}
    for name, files in (
        ("met", targets(met, result="PASSED")),
        ("met-in-part", targets(met, {})),
        ("without-a-number", targets(nothing)),
        ("of-a-text", targets({"metric": "tiny/environment#/traced", "measured": None})),
        ("of-the-study", targets(stated)),
        (
            "of-an-exact-number",
            targets(exact | {"threshold": 197, "passed": True}, result="PASSED"),
        ),
        ("at-its-threshold", targets(met | {"threshold": 0.024532}, result="PASSED")),
        ("of-another-spelling", respelled(targets(met, result="PASSED"), b"0.05", b"5e-2")),
        ("without-end", respelled(targets(met, result="PASSED"), b"0.05", b"1e999")),
        ("of-no-number", targets({"threshold": "0.05"})),
    ):
        yield Fixture(f"target-{name}", files).says(0, yes, UNKNOWN_STATUS)
    for name, files in (
        ("of-another-number", targets({"measured": 0.0245})),
        ("of-a-number-as-text", targets({"measured": "0.024532"})),
        ("without-its-number", targets({"measured": None})),
        ("of-a-whole-number", targets(stated | {"measured": 1610612736.0})),
        ("with-a-number-of-its-own", targets(nothing | {"measured": 0.024532})),
        ("true-for-one", targets({"metric": "tiny/environment#/traced", "measured": True})),
        ("passed-though-missed", targets({"passed": True}, result="PASSED")),
        ("missed-though-passed", targets(met | {"passed": False})),
        ("passed-by-one", targets({"passed": 1}, result="PASSED")),
        ("passed-without-a-number", targets(nothing | {"passed": True}, result="PASSED")),
        ("just-missed", targets(met | {"comparator": "<", "threshold": 0.024532}, result="PASSED")),
        ("of-a-huge-threshold", targets(met | {"threshold": -(10**400)}, result="PASSED")),
        ("of-a-text-threshold", targets(met | {"threshold": "0.05"}, result="PASSED")),
        ("of-a-true-threshold", targets(met | {"threshold": True}, result="PASSED")),
        ("of-another-result", targets({}, result="PASSED")),
        ("failed-though-met", targets(met)),
        ("of-a-result-in-part", targets(met, {}, result="PASSED")),
        ("of-nothing", targets(result="PASSED")),
    ):
        yield Fixture(f"judged-{name}", files).names(("release.json", "claim"))
    for name, files in (
        ("not-a-number", respelled(targets(met), b"0.05", b"NaN")),
        ("too-long", respelled(targets(met), b"0.05", b"1" * 5000)),
        ("of-no-comparator", targets({"comparator": "hasOwnProperty"})),
        ("of-no-metric", targets({"metric": "tiny#/results/int8/none"})),
        ("of-a-list-for-a-metric", targets({"metric": [TARGET["metric"]]})),
        ("of-another-name", sealed(tiny(release="other-1"))),
        ("of-another-number", sealed(tiny(number=2))),
        ("of-a-number-in-words", sealed(tiny(number="1"))),
        ("of-a-part-of-a-number", respelled(sealed(tiny()), b'"number": 1,', b'"number": 1.0,')),
        ("of-no-targets", sealed(tiny(claims=None))),
    ):
        yield Fixture(f"release-{name}", files).names(("release.json", "release"))


def respelled(files: Files, old: bytes, new: bytes) -> Files:
    """The same release with something in its release.json spelled otherwise, and signed again."""
    unsigned = {name: data for name, data in files.items() if name in tiny()}
    told = unsigned["release.json"].replace(old, new)
    assert told != unsigned["release.json"]
    return sealed(unsigned | {"release.json": told})


def hostile_ones() -> Iterator[Fixture]:
    entries = [(f"tiny-1/{name}", data) for name, data in sorted(sealed(tiny()).items())]
    for name, extra, fault in (
        ("escape", "tiny-1/../../x", ("../../x", "name")),
        ("absolute", "/x", ("..//x", "name")),
        ("outside", "other/x", ("../other/x", "name")),
        ("backslash", "tiny-1/..\\x", ("..\\u{5c}x", "name")),
        ("drive", "tiny-1/c:x", ("c:x", "name")),
        ("control-character", "tiny-1/a\x1b[2J", ("a\\u{1b}[2J", "name")),
        ("twice", "tiny-1/index.html", ("index.html", "twin")),
        ("case-twin", "tiny-1/Index.html", ("Index.html", "added")),
        ("empty-folder", "tiny-1/nothing/", ("nothing/", "empty")),
    ):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # zipfile warns of an entry that is there twice
            yield Fixture(f"zip-{name}", zipped_entries([*entries, (extra, b"")])).names(
                fault, folder=False
            )
    link = zipped_entries([("tiny-1/index.html", b"/etc/passwd")], mode=0o120777)
    linked = [(name, data) for name, data in entries if not name.endswith("index.html")]
    yield Fixture("zip-link", _joined(linked, link)).names(
        ("index.html", "symlink"), ("index.html", "missing"), folder=False
    )
    whole = zipped(sealed(tiny()))
    yield Fixture("zip-after-something", b"#!/bin/sh\n" + whole).says(
        12,
        "Could not check: it is neither a folder nor a zip that can be read.",
        folder=False,
    )
    yield Fixture("zip-with-a-gap", _gap(whole)).names(("release.json", "changed"), folder=False)
    other = whole.replace(b"tiny-1/index.html", b"tiny-1/Index.html", 1)
    yield Fixture("zip-of-two-minds", other).names(("index.html", "changed"), folder=False)
    yield Fixture("not-a-zip", b"%PDF-1.7\n" * 9).says(
        12,
        "Could not check: it is neither a folder nor a zip that can be read.",
        folder=False,
    )


def _gap(whole: bytes) -> bytes:
    """Eight bytes that belong to no entry, before the last one."""
    start = int.from_bytes(whole[-6:-2], "little")
    last = whole.rindex(b"PK\1\2")
    at = int.from_bytes(whole[last + 42 : last + 46], "little")
    data = bytearray(whole)
    data[-6:-2] = (start + 8).to_bytes(4, "little")
    data[last + 42 : last + 46] = (at + 8).to_bytes(4, "little")
    return bytes(data[:at] + bytes(8) + data[at:])


def _joined(entries: list[tuple[str, bytes]], link: bytes) -> bytes:
    """Entries with one more that is a symbolic link."""
    import io
    import zipfile

    buffer = io.BytesIO(zipped_entries(entries))
    with zipfile.ZipFile(io.BytesIO(link)) as other, zipfile.ZipFile(buffer, "a") as archive:
        for info in other.infolist():
            archive.writestr(info, other.read(info))
    return buffer.getvalue()


def write(folder: Path) -> None:
    """All fixtures, in place of those that are there."""
    shutil.rmtree(folder, ignore_errors=True)
    for fixture in fixtures():
        place = folder / fixture.name
        place.mkdir(parents=True)
        (place / "release.zip").write_bytes(fixture.release)
        for name, data in fixture.files.items():
            (place / name).write_bytes(data)
        text = json.dumps(fixture.expect, ensure_ascii=False, indent=1)
        (place / "expect.json").write_text(f"{text}\n", encoding="utf-8", newline="\n")


if __name__ == "__main__":
    write(FIXTURES)
