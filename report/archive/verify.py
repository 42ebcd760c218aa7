#!/usr/bin/env python3
"""Check a sealed release: its files, who signed the list of them, and every number it prints.

One file, the standard library alone, no network. A release is untrusted: read in bounds, never
executed, never followed. Trust comes from outside it, as a fingerprint or a signers file.

    python3 -I -S verify.py RELEASE --key SHA256:...
"""

from __future__ import annotations

import argparse
import base64
import hashlib
import html
import json
import os
import re
import stat
import sys
from collections import Counter
from datetime import datetime, timezone
from decimal import ROUND_HALF_EVEN, Context, Decimal
from fnmatch import fnmatchcase
from functools import partial
from itertools import islice
from typing import Any

MANIFEST, ROLES, NAMESPACE = "MANIFEST.sha256", ("author", "reviewer"), "assay/report/{}/v1"
MAX_FILES, MAX_FILE, MAX_TOTAL = 10_000, 256 << 20, 1 << 30
MAX_LIST, MAX_TEXT, MAX_SIGNATURE = 4 << 20, 64 << 20, 16 << 10
TIERS = {0: "trusted", 10: "mismatch", 11: "untrusted", 12: "unchecked"}
TRUSTED = (
    "All {} listed files match, no unlisted files. Signed {} which you pinned. Not shown: that the"
    " measurements are right, that this is the latest report, or when it was signed."
)
MISMATCH = "Mismatch: {} of this release's {} not as the list says. Do not rely on it."
DRAFT = "The report is a DRAFT: facts are missing, and no signature vouches for it."
WITHDRAWN = "The signature holds, but the report was withdrawn on {until}: {reason}"
ONE_KEY = "Author and reviewer signed with the same key: this is one person's word, not two."
STRANGE = "by a key you have not pinned: anyone can make such a signature."
DOUBTED = "It is signed with key {key}, and your signers file says that key is "
UNCOUNTED = "A reviewer's signature is there, and does not count: its key is "
SAID = {
    "author absent": "The list is not signed: anyone can make such a list.",
    "author unknown": f"The list is signed {STRANGE}",
    "author revoked": DOUBTED.replace("signers file", "list of revoked keys") + "revoked.",
    "author early": f"{DOUBTED}not yet valid.",
    "author expired": f"{DOUBTED}expired.",
    "author refused": f"{DOUBTED}not allowed to sign as author.",
    "reviewer good": "Reviewed {by} which you pinned.",
    "reviewer unknown": f"A reviewer's signature is there, {STRANGE}",
    "reviewer revoked": f"{UNCOUNTED}revoked.",
    "reviewer early": f"{UNCOUNTED}not yet valid.",
    "reviewer expired": f"{UNCOUNTED}expired.",
    "reviewer refused": f"{UNCOUNTED}not allowed to sign as reviewer.",
}


class Unchecked(Exception):
    """What keeps a release from being checked."""


def verify(place: str, trust: Trust, find: Any = None, status: Any = None) -> dict[str, Any]:
    """The verdict on a folder; `find` reads from elsewhere, and `status` knows a status list."""
    release, claims, doubt = Release(), 0, ""
    about: dict[str, Any] = {}
    author, reviewer = (signed("absent") for _ in ROLES)
    known = {"state": "unknown", "until": None, "reason": None}
    notes: list[str] = []
    trouble: list[str] = []
    try:
        release.open((find or folder)(place))
        author, reviewer = (check_role(release, role, trust, trouble) for role in ROLES)
        if not release.faults:
            about, claims = check_content(release)
        if not release.faults:
            notes = notes_on(release, author, reviewer)
            known = (status or without_list)(about, release, trust, notes)
            doubt = said_of("author", author) or WITHDRAWN.format(**known)
            doubt = "" if author["state"] == "good" and known["state"] != "withdrawn" else doubt
            doubt = DRAFT if about["status"] == "DRAFT" else doubt
    except Unchecked as error:
        trouble.append(str(error))
    if count := len({name for name, _ in release.faults}):
        code, said = 10, MISMATCH.format(count, "files is" if count == 1 else "files are")
    elif trouble:
        code, said = 12, f"Could not check: {trouble[0]}"
    elif doubt:
        code, said = 11, f"Files match their list. {doubt}"
    else:
        code, said = 0, TRUSTED.format(len(release.listed), by(author))
    verdict = {"schema": "assay/verdict/1", "tier": TIERS[code], "exit": code, "sentence": said}
    verdict["faults"] = [{"file": name, "what": what} for name, what in sorted(release.faults)]
    same = author["key"] == reviewer["key"] is not None
    verdict.update(author=author, reviewer=reviewer, same_key=same, notes=notes, status=known)
    verdict.update(release=about.get("release"), files=len(release.listed), claims=claims)
    return dict(verdict, unchecked=trouble)


def signed(state: str, key: str | None = None, name: str | None = None) -> dict[str, str | None]:
    return {"state": state, "key": key, "name": name}


def said_of(role: str, signer: dict[str, str | None]) -> str:
    return SAID.get(f"{role} {signer['state']}", "").format(by=by(signer), **signer)


def by(signer: dict[str, str | None]) -> str:
    return ("by {name} with key {key}" if signer["name"] else "with key {key}").format(**signer)


def notes_on(release: Release, author: Any, reviewer: Any) -> list[str]:
    """What is said of the reviewer, and of files that no signature covers."""
    notes = [said_of("reviewer", reviewer)]
    if author["key"] and author["key"] == reviewer["key"]:
        notes.append(ONE_KEY)
    elif author["name"] and author["name"] == reviewer["name"]:
        notes.append(f"Author and reviewer are the same person: {author['name']}.")
    for name in sorted(release.files):
        if name.startswith("signatures/") and name[11:] not in ("author.sig", "reviewer.sig"):
            notes.append(f"Not covered by the signature: {printable(name)}")
    return [note for note in notes if note]


def without_list(about: Any, _: Any, __: Any, notes: list[str]) -> dict[str, Any]:
    """Without a status list: how far the release's own knowledge reaches."""
    until = printable((about["status_list"] or about)["date"])
    notes.append(f"Status unknown after {until}.")
    return {"state": "unknown", "until": until, "reason": None}


class Release:
    """The files of a release, by path, and what the list says of each."""

    def __init__(self) -> None:
        self.faults: set[tuple[str, str]] = set()
        self.files: dict[str, Any] = {}
        self.listed: dict[str, str] = {}
        self.manifest, self._left = b"", MAX_TOTAL
        self._known: dict[str, Any] = {}

    def open(self, found: Any) -> None:
        """Take every file, read the list, and name all that is not as listed."""
        for name, kind, reader in found:
            if kind or name in self.files or not is_tidy(name):
                self.fault(name, kind or ("twin" if name in self.files else "name"))
            else:
                self.files[name] = reader
            if len(self.files) + len(self.faults) > MAX_FILES:
                raise Unchecked(f"it holds more than {MAX_FILES:,} files.")
        if MANIFEST not in self.files:
            raise Unchecked(f"there is no {MANIFEST}, so this is no release.")
        self.manifest = self.read(MANIFEST, MAX_LIST)
        lines = self.manifest.decode("ascii", "replace").split("\n")
        parts = [re.fullmatch("([0-9a-f]{64})  (.+)", line) for line in lines]
        self.listed = {part[2]: part[1] for part in parts if part and is_plain(part[2])}
        low = {name.lower() for name in self.listed}
        inside = {name[: at.start()] for name in low for at in re.finditer("/", name)}
        form = "".join(f"{self.listed[name]}  {name}\n" for name in sorted(self.listed)).encode()
        if form != self.manifest or not low or len(low) < len(self.listed) or low & inside:
            self.fault(MANIFEST, "manifest")
        for name in self.listed.keys() | self.files.keys():
            if name not in self.files:
                self.fault(name, "missing")
            elif name in self.listed:
                if hashlib.sha256(self.read(name, MAX_FILE)).hexdigest() != self.listed[name]:
                    self.fault(name, "changed")
            elif name != MANIFEST and not name.startswith("signatures/"):
                self.fault(name, "added")

    def fault(self, name: str, what: str) -> None:
        self.faults.add((printable(name), what))

    def read(self, name: str, limit: int = MAX_TEXT) -> bytes:
        try:
            data: bytes = self.files[name](limit)
        except OSError as error:
            raise Unchecked(f"{printable(name)} cannot be read: {error.strerror}") from None
        except ValueError:  # what it lies in is not as it says of itself
            self.fault(name, "changed")
            data = b""
        self._left -= len(data)
        if len(data) > limit or self._left < 0:
            raise Unchecked(f"{printable(name)} is larger than a release may hold.")
        return data

    def json(self, name: str) -> Any:
        """A listed JSON document, or a `ValueError`."""
        if name not in self._known:
            data = self.read(name) if name in self.files else b""
            if hashlib.sha256(data).hexdigest() != self.listed.get(name):
                raise ValueError(f"{name} is not what the list says")
            self._known[name] = parse_json(data)
        return self._known[name]


def folder(top: str) -> Any:
    """What lies in a folder, hidden or not: each path, what is wrong with it, and its reader."""
    if not os.path.isdir(top):
        raise Unchecked("it is no folder. If it is a zip, unpack it first.")
    waiting = [""]
    while waiting:
        here = waiting.pop()
        try:
            with os.scandir(os.path.join(top, here)) as entries:
                found = list(islice(entries, MAX_FILES + 1))
        except OSError as error:
            raise Unchecked(f"{printable(here)} cannot be read: {error.strerror}") from None
        if not found:
            yield here, "empty", None
        for entry in found:
            mode, name = entry.stat(follow_symlinks=False).st_mode, here + entry.name
            if stat.S_ISDIR(mode):
                waiting.append(f"{name}/")
            else:
                kind = "symlink" if stat.S_ISLNK(mode) else "" if stat.S_ISREG(mode) else "special"
                yield name, kind, partial(read_plain, entry.path)


def read_plain(path: str, limit: int) -> bytes:
    """A file up to a byte beyond `limit`, without following a link or waiting for a pipe."""
    flags = (getattr(os, name, 0) for name in ("O_NOFOLLOW", "O_NONBLOCK", "O_BINARY"))
    with open(os.open(path, os.O_RDONLY | sum(flags)), "rb") as stream:
        about = os.fstat(stream.fileno())
        if not stat.S_ISREG(about.st_mode):
            raise OSError(0, "not a plain file")
        return stream.read(min(limit, about.st_size) + 1)


def is_plain(name: str) -> bool:
    """Whether a listed path stays inside and can be held by any system."""
    part = "[A-Za-z0-9_-](?:[A-Za-z0-9._-]*[A-Za-z0-9_-])?"
    ours = re.match(f"signatures/|{MANIFEST}$", name, re.IGNORECASE)
    return len(name) <= 320 and not ours and bool(re.fullmatch(f"{part}(?:/{part}){{0,19}}", name))


def is_tidy(name: str) -> bool:
    """Whether a path is relative, goes nowhere else and holds no control character."""
    return not re.search(r"[\x00-\x1f\x7f-\x9f\\:]|(?:^|/)\.{0,2}(?:/|$)", name)


def printable(name: str) -> str:
    return re.sub(r"[^ -\[\]-~]", lambda found: f"\\u{{{ord(found[0]):x}}}", name)


def parse_json(data: bytes) -> Any:
    """Strict JSON: no key twice, no NaN, no endless number; a `ValueError` otherwise."""

    def pairs(found: list[tuple[str, Any]]) -> dict[str, Any]:
        if len(dict(found)) < len(found):
            raise ValueError("a key twice")
        return dict(found)

    def number(text: str) -> Any:
        if len(text) > 400 or not text[-1].isdigit():
            raise ValueError("no number")
        return int(text) if text.lstrip("-").isdigit() else float(text)

    hooks: Any = dict.fromkeys(("parse_int", "parse_float", "parse_constant"), number)
    try:
        return json.loads(data.decode(), object_pairs_hook=pairs, **hooks)
    except RecursionError:
        raise ValueError("nested too deep") from None


class Trust:
    """Whom the reader trusts: fingerprints, an OpenSSH signers file, revoked keys, a day."""

    def __init__(self, pins: list[str], signers: str = "", revoked: str = "", at: str = "") -> None:
        self.pins, self.signers = set(pins), [read_signer(line) for line in lines_of(signers)]
        lost = lines_of(revoked)
        self.revoked = {s if s[:7] == "SHA256:" else read_signer(f"- {s}")[-1] for s in lost}
        self.at = time_of(at) if at else datetime.now().timestamp()
        for pin in self.pins | self.revoked:
            if not re.fullmatch(r"SHA256:[A-Za-z0-9+/]{43}", pin):
                raise ValueError(f"{pin!r} is no fingerprint; one begins with SHA256:")

    def judge(self, key: bytes, namespace: str) -> dict[str, Any]:
        """The state of a good signature by `key`, and the name that the signers file gives."""
        ours = fingerprint(key)
        states: dict[str, Any] = {"good": None} if ours in self.pins else {}
        for name, namespaces, after, before, theirs in self.signers:
            if ours == theirs:
                state = "early" if self.at < after else "expired" if self.at > before else "good"
                allowed = namespaces is None or matches(namespace, namespaces)
                states.setdefault(state if allowed else "refused", name)
        order = [state for state in ("good", "expired", "early", "refused") if state in states]
        state = "revoked" if ours in self.revoked else [*order, "unknown"][0]
        return signed(state, ours, states["good"] if state == "good" else None)


def lines_of(text: str) -> list[str]:
    lines = (line.strip() for line in text.splitlines())
    return [line for line in lines if line and not line.startswith("#")]


SIGNER = re.compile(
    r'(?:"([^"]+)"|([^\s"]+))\s+(?:((?:[A-Za-z-]+(?:="[^"]*")?,?)+)\s+)?'
    r"((?:ssh|sk|ecdsa)-[a-z0-9@.-]+)\s+([A-Za-z0-9+/]+={0,2})(?:\s.*)?"
)
OPTIONS = {"namespaces", "valid-after", "valid-before", "cert-authority"}


def read_signer(line: str) -> tuple[Any, ...]:
    """Name, namespaces, window and fingerprint in one line of an OpenSSH signers file."""
    found = SIGNER.fullmatch(line)
    options = re.findall(r'([A-Za-z-]+)(?:="([^"]*)")?,?', (found and found[3]) or "")
    told = {name.lower(): value for name, value in options}
    if not found or set(told) - OPTIONS or len(told) < len(options):
        raise ValueError(f"this line is no signer: {printable(line[:60])}")
    name, key = (found[1] or found[2]).split(",")[0], base64.b64decode(found[5], validate=True)
    if not key.startswith(packed(found[4].encode())):
        raise ValueError(f"this key is not of its type: {printable(line[:60])}")
    window = (
        time_of(told.get("valid-after", "19700102")),
        time_of(told.get("valid-before", "99980101")),
    )
    # An authority signs keys, which is not supported: it is passed over, as no key is like it.
    mark = "" if "cert-authority" in told else fingerprint(key)
    name = None if re.search("[*?!]", name) else printable(name)
    return name, told.get("namespaces"), *window, mark


def time_of(text: str) -> float:
    """A moment as OpenSSH writes it: YYYYMMDD[HHMM[SS]], in local time or, with a Z, in UTC."""
    day = text.rstrip("Z")
    moment = datetime.strptime(day, {8: "%Y%m%d", 12: "%Y%m%d%H%M"}.get(len(day), "%Y%m%d%H%M%S"))
    return (moment.replace(tzinfo=timezone.utc) if text != day else moment).timestamp()


def matches(text: str, patterns: str) -> bool:
    """OpenSSH's pattern list: commas, * and ?, and a ! that refuses."""
    plain = [pattern.replace("[", "[[]") for pattern in patterns.split(",")]
    found = [not shape.startswith("!") for shape in plain if fnmatchcase(text, shape.lstrip("!"))]
    return bool(found) and all(found)


def check_role(release: Release, role: str, trust: Trust, trouble: list[str]) -> dict[str, Any]:
    """What the signature of one role is worth."""
    name, namespace, state = f"signatures/{role}.sig", NAMESPACE.format(role), "absent"
    if name in release.files:
        try:
            signature = release.read(name, MAX_SIGNATURE)
            return trust.judge(check_signature(signature, release.manifest, namespace), namespace)
        except NotImplementedError as kind:
            state = "unsupported"
            trouble.append(f"{name} is made with a key of type {kind}.")
        except ValueError:
            state = "bad"
            release.fault(name, "signature")
    return signed(state)


def check_signature(armored: bytes, message: bytes, namespace: str) -> bytes:
    """The public key that signed `message` for `namespace`, or a `ValueError`.

    OpenSSH's PROTOCOL.sshsig in one canonical form: what another reader might take differently
    is refused. https://github.com/openssh/openssh-portable/blob/master/PROTOCOL.sshsig
    """
    blob = base64.b64decode(b"".join(armored.split(b"\n")[1:-2]), validate=True)
    text = base64.b64encode(blob)
    body = b"\n".join(text[at : at + 70] for at in range(0, len(text), 70))
    form = b"-----BEGIN SSH SIGNATURE-----\n%b\n-----END SSH SIGNATURE-----\n" % body
    key = blob[14 : 14 + int.from_bytes(blob[10:14], "big")]
    fields = [packed(namespace.encode(), b"", name) for name in (b"sha512", b"sha256")]
    fields = [part for part in fields if blob.startswith(part, 14 + len(key))]
    if armored != form or not fields:
        raise ValueError("not in its one form, or made for another purpose")
    digest = hashlib.new(fields[0][-6:].decode(), message).digest()
    signed, tail = b"SSHSIG" + fields[0] + packed(digest), b""
    kind = key[4 : 4 + int.from_bytes(key[:4], "big")]
    point, rest = key[8 + len(kind) :][:32], key[44 + len(kind) :]
    whole = packed(kind, point)
    if kind == b"sk-ssh-ed25519@openssh.com":  # a hardware key signs its counter too
        whole, tail = packed(kind, point, rest), blob[-5:]
        signed = hashlib.sha256(rest).digest() + tail + hashlib.sha256(signed).digest()
    elif kind != b"ssh-ed25519":
        raise NotImplementedError(printable(kind[:40].decode("latin-1")))
    proof = blob[: len(blob) - len(tail)][-64:]
    form = b"SSHSIG\0\0\0\1" + packed(whole) + fields[0] + packed(packed(kind, proof) + tail)
    if blob != form or not ed25519_holds(point, signed, proof):
        raise ValueError("it does not hold")
    return key


def packed(*parts: bytes) -> bytes:
    return b"".join(len(part).to_bytes(4, "big") + part for part in parts)


def fingerprint(key: bytes) -> str:
    return "SHA256:" + base64.b64encode(hashlib.sha256(key).digest()).decode().rstrip("=")


P, L = 2**255 - 19, 2**252 + 27742317777372353535851937790883648493
D, ROOT = -121665 * pow(121666, -1, P) % P, pow(2, (P - 1) // 4, P)


def ed25519_holds(key: bytes, message: bytes, signature: bytes) -> bool:
    """RFC 8032, 5.1.7, no cofactor; malleable, non-canonical and small-order forms refused."""
    a, s = point_of(key), int.from_bytes(signature[32:], "little")
    if not a or len(signature) != 64 or s >= L or not times(8, a)[0]:
        return False
    k = int.from_bytes(hashlib.sha512(signature[:32] + key + message).digest(), "little") % L
    base = point_of((4 * pow(5, -1, P) % P).to_bytes(32, "little"))
    x, y, z, _ = add(times(s, base), times(k, (-a[0], a[1], 1, -a[3])))
    x, y = x * pow(z, -1, P) % P, y * pow(z, -1, P) % P
    return signature[:32] == (y | (x & 1) << 255).to_bytes(32, "little")


def point_of(encoded: bytes) -> tuple[int, ...]:
    """The point that 32 bytes stand for, in extended coordinates; empty when there is none."""
    y, odd = int.from_bytes(encoded, "little") & (1 << 255) - 1, encoded[-1:] > b"\x7f"
    square = (y * y - 1) * pow(D * y * y + 1, -1, P) % P
    x = pow(square, (P + 3) // 8, P)
    x = x if x * x % P == square else x * ROOT % P
    if len(encoded) != 32 or y >= P or x * x % P != square or (x == 0 and odd):
        return ()
    x = x if x & 1 == odd else P - x
    return x, y, 1, x * y % P


def add(one: tuple[int, ...], two: tuple[int, ...]) -> tuple[int, ...]:
    a, b = (one[1] - one[0]) * (two[1] - two[0]), (one[1] + one[0]) * (two[1] + two[0])
    c, d = 2 * one[3] * two[3] * D, 2 * one[2] * two[2]
    e, f, g, h = b - a, d - c, d + c, b + a
    return e * f % P, g * h % P, f * g % P, e * h % P


def times(factor: int, point: tuple[int, ...]) -> tuple[int, ...]:
    total: tuple[int, ...] = (0, 1, 1, 0)
    while factor:
        total = add(total, point) if factor & 1 else total
        point, factor = add(point, point), factor >> 1
    return total


CLAIM = ("page", "id", "pointer", "format", "text")
ABOUT = re.compile(r"[a-z0-9-]+-[0-9]+ [0-9]{4}-[0-9]{2}-[0-9]{2} [0-9]{1,9} (FINAL|DRAFT)")
ELEMENT = re.compile(r"<[a-z][a-z0-9]*(\s[^<>]*)>([^<]*)(?=</)")
REFUSED = (ValueError, LookupError, TypeError, ArithmeticError, AttributeError)


def check_content(release: Release) -> tuple[dict[str, Any], int]:
    """What release.json says, and how many numbers were derived again."""
    try:
        about, document = release.json("release.json"), release.json("claims.json")
        known = about["status_list"] or {"number": 0, "date": about["date"]}
        stated = f"{about['release']} {about['date']} {known['number']:d} {about['status']}"
        claims = [[claim[part] for part in CLAIM] for claim in document["claims"]]
        texts = all(isinstance(text, str) for claim in claims for text in claim)
        schemas = (about["schema"], document["schema"]) == ("assay/release/1", "assay/claims/1")
        if not (schemas and texts and ABOUT.fullmatch(stated) and isinstance(known["date"], str)):
            raise ValueError("another schema")
    except REFUSED:
        release.fault("release.json", "release")
        return {}, 0
    said = Counter((page, id_, text) for page, id_, _, _, text in claims)
    shown = Counter(
        (page, *element)
        for page in release.listed
        if page.endswith(".html")
        for element in values_on(release.read(page).decode("utf-8", "replace"))
    )
    for page, _, pointer, spelling, text in claims:
        try:
            derived = render(look_up(release, pointer), spelling)
        except REFUSED:
            derived = None
        if derived != text:
            release.fault(page, "claim")
    for page, *_ in (said - shown) + (shown - said):
        release.fault(page, "claim")
    return about, len(claims)


def values_on(page: str) -> Any:
    """The id and text of each element of a page that prints a value."""
    for attributes, text in ELEMENT.findall(page):
        written = dict(re.findall(r'\s(class|id)="([^"]*)"', attributes))
        if "id" in written and "v" in written.get("class", "").split():
            yield html.unescape(written["id"]), html.unescape(text)


def look_up(release: Release, pointer: str) -> Any:
    """The value that a pointer names, from signed JSON; a quantity as its amount and unit."""
    document, _, path = pointer.partition("#")
    record, _, part = document.partition("/")
    if document in ("study", "chips", "formats", "models"):
        entry = release.json(f"data/{document}.json")["values"][path]
        if "quantity" in entry:
            return tuple(entry["quantity"].split(" ")[:2])
        return Decimal(entry["decimal"]) if "decimal" in entry else entry["number"]
    part = {"": "report", "trace": "trace/summary"}.get(part, part)
    value = release.json(f"records/{record}/{part}.json")
    for part in path.split("/")[1:]:
        key = part.replace("~1", "/").replace("~0", "~")
        value = value[int(key)] if isinstance(value, list) else value[key]
    if isinstance(value, list) and not any(isinstance(item, (dict, list)) for item in value):
        return f"{len(value):,} values"
    return {True: "yes", False: "no"}[value] if isinstance(value, bool) else value


WIDE = Context(prec=400, rounding=ROUND_HALF_EVEN)
RAISED = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
ENDS = {"percent": ["%"], "decibel": ["dB"], "seconds": ["ns", "µs", "ms", "s"], "bytes": ["B"]}
PLAIN = ("error", "integer", "power_of_two", "text", "documented", "bytes")  # without digits
SCALED = ("fixed", "ratio", "percent", "decibel", "seconds", "scientific")  # with digits
UNITS = {"": (Decimal(1), ""), "dB": (Decimal(1), ""), "%": (Decimal("0.01"), "")}
UNITS.update({f"{work}/B": (Decimal(1), f"{work}/B") for work in ("FLOP", "OP")})
UNITS.update({f"{p}s": (Decimal(f"1e-{3 * n}"), "s") for n, p in enumerate(("", *"mµn"))})
for power, prefix in enumerate(("", *"kMGTPE")):
    for base in ("B", "bit", "FLOP", "OP", "B/s", "bit/s", "FLOP/s", "OP/s"):
        UNITS[prefix + base] = Decimal(1000**power), base
    for base in ("B", "B/s") if power else ():
        UNITS[f"{prefix.upper()}i{base}"] = Decimal(1024**power), base


def render(value: Any, spelling: str) -> str:
    """`value` as report/notation.py prints it, or a `ValueError`."""
    call = re.fullmatch(r"([a-z_]+)(?:\(([^()]*)\))?", spelling.strip())
    name, given = (call[1], (call[2] or "").split(",")) if call else ("", [])
    given = [part.strip() for part in given if part.strip()]
    *units, count = given or ["0"]
    known = {0: PLAIN, 1: SCALED, 2: ("bytes", "quantity")}.get(len(given), ())
    if name not in known or not re.fullmatch("1?[0-9]", count):
        raise ValueError("no format")
    units, digits = units or ENDS.get(name, [""]), int(count)
    if value is None or (name in ("text", "documented") and isinstance(value, str)):
        return "not recorded" if value is None else str(value)
    if isinstance(value, tuple) and name == "documented":
        return "\u00a0".join(value)
    base = UNITS[units[0]][1]
    if (name == "bytes" and base != "B") or (name == "quantity" and not base):
        raise ValueError("no such unit")
    if isinstance(value, tuple) and len(given) == 2:
        amount, unit = value
        if UNITS[unit][1] != base:
            raise ValueError("another kind of unit")
        number = WIDE.multiply(Decimal(amount), UNITS[unit][0])
    elif type(value) in (int, float, Decimal) and name != "text":
        number = Decimal(repr(value)) if isinstance(value, float) else Decimal(value)
    else:
        raise ValueError("no number")
    if not number.is_finite() or abs(number.adjusted()) > 350:
        raise ValueError("no number to print")
    if name == "documented":
        return f"{number:f}"
    if name == "error":
        small = number and abs(number) < Decimal("1e-4")
        name, units, digits = ("scientific", [""], 1) if small else ("percent", ["%"], 2)
    if name == "power_of_two":
        top, bottom = (value if isinstance(value, float) else number).as_integer_ratio()
        if top < 1 or top & (top - 1) or bottom & (bottom - 1):
            raise ValueError("no power of two")
        return f"2{str(top.bit_length() - bottom.bit_length()).translate(RAISED)}"
    if name == "scientific" and number:
        short = Context(prec=digits + 1, rounding=ROUND_HALF_EVEN).plus(number)
        ten = str(short.adjusted()).translate(RAISED)
        return f"{grouped(short.scaleb(-short.adjusted(), WIDE), digits)}\u00a0×\u00a010{ten}"
    whole = name == "integer" or (name == "bytes" and units == ["B"])
    if whole and number != number.to_integral_value():
        raise ValueError("not whole")
    for unit in units:
        text = grouped(WIDE.divide(number, UNITS[unit][0]), 0 if whole else digits)
        if unit == units[-1] or (number and len(text.lstrip("\u2212").split(".")[0]) < 4):
            return f"{text}\u00a0{unit}".rstrip("\u00a0") if name != "scientific" else "0"
    raise ValueError("no unit")


def grouped(number: Decimal, digits: int) -> str:
    short = number.quantize(Decimal(1).scaleb(-digits), context=WIDE)
    return ("\u2212" if short < 0 else "") + f"{abs(short):,f}"


def add_options(add: Any) -> None:
    add("release", metavar="RELEASE", help="the folder of a release")
    add("--key", action="append", default=[], help="a fingerprint you trust")
    add("--signers", default="", metavar="FILE", help="allowed signers, as OpenSSH has them")
    add("--revoked", default="", metavar="FILE", help="keys no longer trusted, one a line")
    add("--at", default="", metavar="YYYYMMDD", help="when to judge a key; or now")
    add("--json", action="store_true", help="say the verdict as JSON")


def answer(options: Any, refuse: Any, find: Any = None, status: Any = None) -> int:
    """Say the verdict; the exit code is its tier."""
    try:
        own = [
            path and read_plain(path, MAX_LIST).decode()
            for path in (options.signers, options.revoked)
        ]
        trust = Trust(options.key, own[0], own[1], options.at)
    except (OSError, ValueError) as trouble:
        refuse(printable(str(trouble)))
    verdict = verify(options.release, trust, find, status)
    lines = [f"  {fault['what']}: {fault['file']}" for fault in verdict["faults"]]
    told = "\n".join([verdict["sentence"], *lines, *verdict["notes"]])
    print(json.dumps(verdict, indent=1, sort_keys=True) if options.json else told)
    return int(verdict["exit"])


if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="verify.py", description=(__doc__ or "").split("\n")[0])
    add_options(parser.add_argument)
    sys.exit(answer(parser.parse_args(), parser.error))
