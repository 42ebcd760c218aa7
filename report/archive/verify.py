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
import struct
import sys
import zipfile
import zlib
from collections import namedtuple
from collections.abc import Callable, Iterator
from datetime import datetime, timezone
from decimal import ROUND_HALF_EVEN, Context, Decimal
from functools import partial
from typing import IO, Any

MANIFEST, ROLES, NAMESPACE = "MANIFEST.sha256", ("author", "reviewer"), "assay/report/{}/v1"
MAX_FILES, MAX_FILE, MAX_TOTAL = 10_000, 256 << 20, 1 << 30
MAX_LIST, MAX_TEXT, MAX_SIGNATURE = 4 << 20, 64 << 20, 16 << 10
TIERS = {0: "trusted", 10: "mismatch", 11: "untrusted", 12: "unchecked"}
WORDS = {"early": "not yet valid", "expired": "expired", "refused": "not allowed to sign as {role}"}
TRUSTED = (
    "All {files} listed files match, no unlisted files. Signed {by}with key {key} which you pinned."
    " Not shown: that the measurements are right, that this is the latest report, or when it was"
    " signed."
)
DRAFT = "The report is a DRAFT: facts are missing, and no signature vouches for it."
UNSIGNED = "The list is not signed: anyone can make such a list."
UNKNOWN = "{} signed by a key you have not pinned: anyone can make such a signature."
DOUBTED = "It is signed with key {key}, and your {list} says that key is {word}."
WITHDRAWN = "The signature holds, but the report was withdrawn on {until}: {reason}"
ONE_KEY = "Author and reviewer signed with the same key: this is one person's word, not two."

BROKEN_ZIP = (zipfile.BadZipFile, zlib.error, struct.error, EOFError, ValueError)

Signer = namedtuple("Signer", "name namespaces after before key")
Quantity = namedtuple("Quantity", "amount unit")


class Unchecked(Exception):
    """What keeps a release from being checked."""


def verify(place: str, trust: Trust, status: str = "") -> dict[str, Any]:
    """The verdict on the folder or zip at `place`: what --json prints."""
    release, claims, doubt = Release(), 0, ""
    about: dict[str, Any] = {}
    signed = {role: {"state": "absent", "key": None, "name": None} for role in ROLES}
    known: dict[str, Any] = {"state": "unknown", "until": None, "reason": None}
    notes: list[str] = []
    trouble: list[str] = []
    try:
        release.open(place)
        signed = {role: check_role(release, role, trust, trouble) for role in ROLES}
        if not release.faults:
            about, claims = check_content(release)
        if not release.faults:
            notes = notes_on(release, **signed)
            known = check_status(status, about, release, trust, notes)
            doubt = doubt_of(about, signed["author"], known)
    except Unchecked as error:
        trouble.append(str(error))
    if count := len({name for name, _ in release.faults}):
        are = "files is" if count == 1 else "files are"
        code, said = 10, f"Mismatch: {count} of this release's {are} not as the list says."
        said += " Do not rely on it."
    elif trouble:
        code, said = 12, f"Could not check: {trouble[0]}"
    elif doubt:
        code, said = 11, f"Files match their list. {doubt}"
    else:
        code, said = 0, TRUSTED.format(files=len(release.listed), **named(signed["author"]))
    verdict = {"schema": "assay/verdict/1", "tier": TIERS[code], "exit": code, "sentence": said}
    faults = [{"file": name, "what": what} for name, what in sorted(release.faults)]
    same = signed["author"]["key"] == signed["reviewer"]["key"] is not None
    verdict.update(signed, notes=notes, faults=faults, unchecked=trouble, same_key=same)
    verdict.update(release=about.get("release"), files=len(release.listed), claims=claims)
    return dict(verdict, status=known)


def doubt_of(about: dict[str, Any], author: dict[str, Any], known: dict[str, Any]) -> str:
    """Why a consistent release is not trusted, or nothing."""
    if about["status"] != "FINAL":
        return DRAFT
    if author["state"] == "absent":
        return UNSIGNED
    if author["state"] == "unknown":
        return UNKNOWN.format("The list is")
    if author["state"] == "revoked":
        return DOUBTED.format(list="list of revoked keys", word="revoked", **author)
    if author["state"] in WORDS:
        word = WORDS[author["state"]].format(role="author")
        return DOUBTED.format(list="signers file", word=word, **author)
    return WITHDRAWN.format(**known) if known["state"] == "withdrawn" else ""


def notes_on(release: Release, author: dict[str, Any], reviewer: dict[str, Any]) -> list[str]:
    """What is said of the reviewer, and of files that no signature covers."""
    state, notes = reviewer["state"], []
    if state == "good":
        notes.append("Reviewed {by}with key {key} which you pinned.".format(**named(reviewer)))
    elif state == "unknown":
        notes.append(UNKNOWN.format("A reviewer's signature is there,").replace("signed by", "by"))
    elif state != "absent":
        word = WORDS.get(state, "revoked").format(role="reviewer")
        notes.append(f"A reviewer's signature is there, and does not count: its key is {word}.")
    if author["key"] and author["key"] == reviewer["key"]:
        notes.append(ONE_KEY)
    elif author["name"] and author["name"] == reviewer["name"]:
        notes.append(f"Author and reviewer are the same person: {author['name']}.")
    strays = {name for name in release.files if name.startswith("signatures/")}
    strays -= {f"signatures/{role}.sig" for role in ROLES}
    return notes + [f"Not covered by the signature: {printable(name)}" for name in sorted(strays)]


def named(signer: dict[str, Any]) -> dict[str, Any]:
    return dict(signer, by=f"by {signer['name']} " if signer["name"] else "")


class Release:
    """The files of a release, by path, and what the list says of each."""

    def __init__(self) -> None:
        self.faults: set[tuple[str, str]] = set()
        self.files: dict[str, Callable[[], IO[bytes]]] = {}
        self.listed: dict[str, str] = {}
        self.manifest, self._left = b"", MAX_TOTAL

    def open(self, place: str) -> None:
        """Find every file, read the list, and name all that is not as listed."""
        for name, mode, opener in folder(place) if os.path.isdir(place) else archive(place):
            if stat.S_ISREG(mode) and is_tidy(name) and name not in self.files:
                self.files[name] = opener
            elif stat.S_ISREG(mode):
                self.fault(name, "twin" if name in self.files else "name")
            else:
                kinds = {stat.S_IFLNK: "symlink", stat.S_IFDIR: "empty"}
                self.fault(name, kinds.get(stat.S_IFMT(mode), "special"))
            if len(self.files) + len(self.faults) > MAX_FILES:
                raise Unchecked(f"it holds more than {MAX_FILES:,} files.")
        if MANIFEST not in self.files:
            raise Unchecked(f"there is no {MANIFEST}, so this is no release.")
        self.manifest = self.read(MANIFEST, MAX_LIST)
        self.listed = self._parse(self.manifest)
        for name in self.listed.keys() | self.files.keys():
            if name not in self.files:
                self.fault(name, "missing")
            elif name in self.listed:
                if self._hash(name) != self.listed[name]:
                    self.fault(name, "changed")
            elif name != MANIFEST and not name.startswith("signatures/"):
                self.fault(name, "added")

    def fault(self, name: str, what: str) -> None:
        self.faults.add((printable(name), what))

    def read(self, name: str, limit: int = MAX_TEXT) -> bytes:
        kept: list[bytes] = []
        self._hash(name, limit, kept)
        return b"".join(kept)

    def json(self, name: str) -> Any:
        """A listed JSON document, or a `ValueError`."""
        data = self.read(name) if name in self.files else b""
        if hashlib.sha256(data).hexdigest() != self.listed.get(name):
            raise ValueError(f"{name} is not what the list says")
        return parse_json(data)

    def _hash(self, name: str, limit: int = MAX_FILE, kept: list[bytes] | None = None) -> str:
        """The SHA-256 of a file, whose bytes are kept where that is asked for."""
        digest = hashlib.sha256()
        try:
            with self.files[name]() as stream:
                while chunk := stream.read(1 << 20):
                    limit, self._left = limit - len(chunk), self._left - len(chunk)
                    if limit < 0 or self._left < 0:
                        raise Unchecked(f"{printable(name)} is larger than a release may hold.")
                    digest.update(chunk)
                    if kept is not None:
                        kept.append(chunk)
        except BROKEN_ZIP:
            self.fault(name, "changed")  # a zip's member that is not what the zip says
        except (OSError, NotImplementedError, RuntimeError) as error:
            raise Unchecked(f"{printable(name)} cannot be read: {error}") from None
        return digest.hexdigest()

    def _parse(self, manifest: bytes) -> dict[str, str]:
        """The digest of each path. The list has one form, and any other is a fault."""
        lines = manifest.decode("ascii", "replace").split("\n")
        found = [re.fullmatch("([0-9a-f]{64})  (.+)", line) for line in lines]
        listed = {line[2]: line[1] for line in found if line and is_plain(line[2])}
        low = {name.lower() for name in listed}
        inside = {name[: at.start()] for name in low for at in re.finditer("/", name)}
        form = "".join(f"{listed[name]}  {name}\n" for name in sorted(listed)).encode()
        if form != manifest or not listed or len(low) < len(listed) or low & inside:
            self.fault(MANIFEST, "manifest")
        return listed


def folder(top: str) -> Iterator[tuple[str, int, Callable[[], Any]]]:
    """What lies in a folder, hidden or not: path, mode, and how to open it."""
    waiting = [""]
    while waiting:
        here, empty = waiting.pop(), True
        try:
            with os.scandir(os.path.join(top, here)) as entries:
                for entry in entries:
                    mode, name = entry.stat(follow_symlinks=False).st_mode, here + entry.name
                    empty = False
                    if stat.S_ISDIR(mode) and len(waiting) < MAX_FILES:
                        waiting.append(f"{name}/")
                    else:
                        yield name, mode, partial(open, entry.path, "rb", opener=open_plain)
        except OSError as error:
            raise Unchecked(f"{printable(here)} cannot be read: {error.strerror}") from None
        if empty:
            yield here, stat.S_IFDIR, partial(open, os.devnull, "rb")


def archive(place: str) -> Iterator[tuple[str, int, Callable[[], Any]]]:
    """What a zip holds, below the one folder that it may have at its top."""
    try:
        with open(place, "rb", opener=open_plain) as stream:
            stream.seek(max(0, stream.seek(0, 2) - 65_577))
            tail = stream.read()
        end = tail.rfind(b"PK\5\6")  # where a zip tells the size of its directory
        size = int.from_bytes(tail[end + 12 : end + 16], "little") if end >= 0 else 0
        if size > MAX_LIST or b"PK\6\7" in tail[-42:]:
            raise Unchecked("it is a zip with a larger directory than a release needs.")
        found = zipfile.ZipFile(place)
    except (OSError, NotImplementedError, *BROKEN_ZIP):
        raise Unchecked("it is neither a folder nor a zip that can be read.") from None
    names = [info.orig_filename for info in found.infolist()]
    tops = sorted(name[: -len(MANIFEST)] for name in names if name.endswith(MANIFEST))
    top = min((top for top in tops if top.count("/") < 2), key=len, default="")
    for info, name in zip(found.infolist(), names):
        if info.flag_bits & 1 or info.compress_type not in (
            zipfile.ZIP_STORED,
            zipfile.ZIP_DEFLATED,
        ):
            raise Unchecked(f"{printable(name)} is packed in a way that a release never is.")
        inside = name[len(top) :] if name.startswith(top) else f"../{name}"
        if name.endswith("/") and is_tidy(name[:-1]):
            if not any(other.startswith(name) and other != name for other in names):
                yield inside, stat.S_IFDIR, partial(open, os.devnull, "rb")
        else:
            mode = (info.external_attr >> 16) or stat.S_IFREG
            mode = mode if stat.S_IFMT(mode) else mode | stat.S_IFREG
            yield inside, mode, partial(found.open, info)


def open_plain(path: str, flags: int) -> int:
    """Open without following a link and without waiting for a pipe."""
    handle = os.open(path, flags | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0))
    if not stat.S_ISREG(os.fstat(handle).st_mode):
        os.close(handle)
        raise OSError(0, "not a plain file")
    return handle


PLAIN = re.compile(r"(?:[A-Za-z0-9_-](?:[A-Za-z0-9._-]*[A-Za-z0-9_-])?(?:/(?!$)|$)){1,20}")


def is_plain(name: str) -> bool:
    """Whether a listed path stays inside and can be held by any system."""
    ours = name.lower().startswith("signatures/") or name.lower() == MANIFEST.lower()
    return bool(PLAIN.fullmatch(name)) and not ours and len(name) <= 320


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
        if len(text) > 400 or "N" in text or "I" in text:
            raise ValueError("no number")
        return int(text) if text.lstrip("-").isdigit() else float(text)

    hooks: dict[str, Any] = dict.fromkeys(("parse_int", "parse_float", "parse_constant"), number)
    try:
        return json.loads(data.decode(), object_pairs_hook=pairs, **hooks)
    except RecursionError:
        raise ValueError("nested too deep") from None


class Trust:
    """Whom the reader trusts: fingerprints, an OpenSSH signers file, revoked keys, a day."""

    def __init__(self, pins: list[str], signers: str = "", revoked: str = "", at: str = "") -> None:
        self.pins, self.signers = set(pins), [s for s in map(read_signer, lines_of(signers)) if s]
        self.revoked = {line for line in lines_of(revoked) if line.startswith("SHA256:")}
        keys = (read_signer(f"- {line}") for line in set(lines_of(revoked)) - self.revoked)
        self.revoked |= {fingerprint(key.key) for key in keys if key}
        self.at = time_of(at) if at else datetime.now().timestamp()
        for pin in self.pins | self.revoked:
            if not re.fullmatch(r"SHA256:[A-Za-z0-9+/]{43}", pin):
                raise ValueError(f"{pin!r} is no fingerprint; one begins with SHA256:")

    def judge(self, key: bytes, namespace: str) -> dict[str, Any]:
        """The state of a good signature by `key`, and the name that the signers file gives."""
        states: dict[str, Any] = {"good": None} if fingerprint(key) in self.pins else {}
        for signer in self.signers:
            if signer.key == key:
                allowed = signer.namespaces is None or matches(namespace, signer.namespaces)
                late, early = self.at > signer.before, self.at < signer.after
                state = "refused" if not allowed else "early" if early else "good"
                states.setdefault("expired" if late and state == "good" else state, signer.name)
        order = [state for state in ("good", "expired", "early", "refused") if state in states]
        state = order[0] if order else "unknown"
        state = "revoked" if fingerprint(key) in self.revoked else state
        named = states.get(state) if state == "good" else None
        return {"state": state, "key": fingerprint(key), "name": named}


def check_role(release: Release, role: str, trust: Trust, trouble: list[str]) -> dict[str, Any]:
    """What the signature of one role is worth."""
    name, namespace = f"signatures/{role}.sig", NAMESPACE.format(role)
    found = {"state": "absent", "key": None, "name": None}
    if name not in release.files:
        return found
    try:
        signature = release.read(name, MAX_SIGNATURE)
        return trust.judge(check_signature(signature, release.manifest, namespace), namespace)
    except NotImplementedError as kind:
        trouble.append(f"{name} is made with a key of type {kind}.")
        return dict(found, state="unsupported")
    except ValueError:
        release.fault(name, "signature")
        return dict(found, state="bad")


def check_signature(armored: bytes, message: bytes, namespace: str) -> bytes:
    """The public key that signed `message` for `namespace`, or a `ValueError`.

    OpenSSH's PROTOCOL.sshsig in one canonical form: what another reader might take differently
    is refused. https://github.com/openssh/openssh-portable/blob/master/PROTOCOL.sshsig
    """
    text = b"".join(armored.split(b"\n")[1:-2])
    blob = base64.b64decode(text, validate=True)
    body = b"\n".join(text[at : at + 70] for at in range(0, len(text), 70))
    form = b"-----BEGIN SSH SIGNATURE-----\n%b\n-----END SSH SIGNATURE-----\n" % body
    if form != armored or base64.b64encode(blob) != text or blob[:10] != b"SSHSIG\0\0\0\1":
        raise ValueError("not in its one form")
    key, named, reserved, algorithm, signature = strings(blob[10:], 5)
    if algorithm not in (b"sha256", b"sha512") or reserved or named != namespace.encode():
        raise ValueError("made for another purpose")
    digest = hashlib.new(algorithm.decode(), message).digest()
    signed = b"SSHSIG" + packed(named, reserved, algorithm, digest)
    kind = key[4 : 4 + int.from_bytes(key[:4], "big")]
    if kind == b"sk-ssh-ed25519@openssh.com":  # a hardware key signs its counter too
        (_, point, application), tail = strings(key, 3), signature[-5:]
        again, proof = strings(signature[:-5], 2)
        signed = hashlib.sha256(application).digest() + tail + hashlib.sha256(signed).digest()
    elif kind == b"ssh-ed25519":
        (_, point), (again, proof) = strings(key, 2), strings(signature, 2)
    else:
        raise NotImplementedError(printable(kind[:40].decode("latin-1")))
    if again != kind or not ed25519_holds(point, signed, proof):
        raise ValueError("it does not hold")
    return key


def strings(data: bytes, count: int) -> list[bytes]:
    """Exactly `count` strings, each after its length, and nothing more."""
    found, rest = [], data
    for _ in range(count):
        end = 4 + int.from_bytes(rest[:4], "big")
        found.append(rest[4:end])
        rest = rest[end:]
    if data != packed(*found):
        raise ValueError("cut off, or something after its end")
    return found


def packed(*parts: bytes) -> bytes:
    return b"".join(len(part).to_bytes(4, "big") + part for part in parts)


def fingerprint(key: bytes) -> str:
    return "SHA256:" + base64.b64encode(hashlib.sha256(key).digest()).decode().rstrip("=")


P, L = 2**255 - 19, 2**252 + 27742317777372353535851937790883648493
D, ROOT = -121665 * pow(121666, P - 2, P) % P, pow(2, (P - 1) // 4, P)


def ed25519_holds(key: bytes, message: bytes, signature: bytes) -> bool:
    """RFC 8032, 5.1.7, no cofactor; malleable, non-canonical and small-order forms refused."""
    base, a, r = point_of((4 * pow(5, P - 2, P) % P).to_bytes(32, "little")), None, None
    if len(key) == 32 and len(signature) == 64:
        a, r = point_of(key), point_of(signature[:32])
    s = int.from_bytes(signature[32:], "little")
    if not (base and a and r) or s >= L or same(times(8, a), (0, 1, 1, 0)):
        return False
    k = int.from_bytes(hashlib.sha512(signature[:32] + key + message).digest(), "little") % L
    return same(times(s, base), add(r, times(k, a)))


def point_of(encoded: bytes) -> tuple[int, ...]:
    """The point that 32 bytes stand for, in extended coordinates; empty when there is none."""
    y = int.from_bytes(encoded, "little") & (1 << 255) - 1
    square = (y * y - 1) * pow(D * y * y + 1, P - 2, P) % P
    x = pow(square, (P + 3) // 8, P)
    x = x if x * x % P == square else x * ROOT % P
    if y >= P or x * x % P != square or (x == 0 and encoded[31] >> 7):
        return ()
    x = x if x & 1 == encoded[31] >> 7 else P - x
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


def same(one: tuple[int, ...], two: tuple[int, ...]) -> bool:
    return not any((one[i] * two[2] - two[i] * one[2]) % P for i in (0, 1))


def lines_of(text: str) -> list[str]:
    lines = (line.strip() for line in text.splitlines())
    return [line for line in lines if line and not line.startswith("#")]


SIGNER = re.compile(
    r'(?:"([^"]+)"|([^\s"]+))\s+(?:((?:[A-Za-z-]+(?:="[^"]*")?,?)+)\s+)?'
    r"((?:ssh|sk|ecdsa)-[a-z0-9@.-]+)\s+([A-Za-z0-9+/]+={0,2})(?:\s.*)?"
)


def read_signer(line: str) -> Signer | None:
    """One line of an OpenSSH signers file; nothing for an authority, which is not supported."""
    found = SIGNER.fullmatch(line)
    options = re.findall(r'([A-Za-z-]+)(?:="([^"]*)")?,?', (found and found[3]) or "")
    told = {name.lower(): value for name, value in options}
    known = {"namespaces", "valid-after", "valid-before", "cert-authority"}
    if not found or set(told) - known or len(told) < len(options):
        raise ValueError(f"this line is no signer: {printable(line[:60])}")
    after, before = told.get("valid-after"), told.get("valid-before")
    window = time_of(after) if after else 0.0, time_of(before) if before else float("inf")
    name = (found[1] or found[2]).split(",")[0]
    name = None if re.search("[*?!]", name) else printable(name)
    key = base64.b64decode(found[5], validate=True)
    if not key.startswith(packed(found[4].encode())):
        raise ValueError(f"this key is not of its type: {printable(line[:60])}")
    signer = Signer(name, told.get("namespaces"), *window, key)
    return None if "cert-authority" in told else signer


def time_of(text: str) -> float:
    """A moment as OpenSSH writes it: YYYYMMDD[HHMM[SS]], in local time or, with a Z, in UTC."""
    day = text.rstrip("Z")
    moment = datetime.strptime(day, {8: "%Y%m%d", 12: "%Y%m%d%H%M"}.get(len(day), "%Y%m%d%H%M%S"))
    return (moment.replace(tzinfo=timezone.utc) if text != day else moment).timestamp()


def matches(text: str, patterns: str) -> bool:
    """OpenSSH's pattern list: commas, * and ?, and a ! that refuses."""
    found = []
    for pattern in patterns.split(","):
        shape = re.escape(pattern.lstrip("!")).replace(r"\*", ".*").replace(r"\?", ".")
        found += [not pattern.startswith("!")] if re.fullmatch(shape, text) else []
    return bool(found) and all(found)


def check_content(release: Release) -> tuple[dict[str, Any], int]:
    """What release.json says, and how many numbers were derived again."""
    try:
        about, document = release.json("release.json"), release.json("claims.json")
        told = (about["schema"], document["schema"], about["status"] in ("FINAL", "DRAFT"))
        known = about["status_list"] or {"number": 0}
        shown = f"{about['release']} {about['date']} {known['number']}"
        claims = [tuple(str(claim[part]) for part in CLAIM) for claim in document["claims"]]
        if told != ("assay/release/1", "assay/claims/1", True) or not ABOUT.fullmatch(shown):
            raise ValueError("another schema")
    except (ValueError, KeyError, TypeError):
        release.fault("release.json", "release")
        return {}, 0
    documents: dict[str, Any] = {}
    pages: dict[str, dict[str, list[str]]]
    pages = {name: {} for name in release.listed if name.endswith(".html")}
    for page, id_, pointer, spelling, text in claims:
        pages.setdefault(page, {}).setdefault(id_, []).append(text)
        try:
            derived = render(look_up(release, pointer, documents), spelling)
        except (ValueError, LookupError, TypeError, ArithmeticError, AttributeError):
            derived = None
        if derived != text:
            release.fault(page, "claim")
    for page, texts in pages.items():
        if page not in release.listed or shown_on(release.read(page)) != texts:
            release.fault(page, "claim")
    return about, len(claims)


CLAIM = ("page", "id", "pointer", "format", "text")
ABOUT = re.compile(r"[a-z0-9-]+-[0-9]+ [0-9]{4}-[0-9]{2}-[0-9]{2} [0-9]{1,9}")
ELEMENT = re.compile(r"<[a-z][a-z0-9]*(\s[^<>]*)>([^<]*)(?=</)")


def shown_on(page: bytes) -> dict[str, list[str]]:
    """Texts of the elements of a page that print a value, by id."""
    found: dict[str, list[str]] = {}
    for element in ELEMENT.finditer(page.decode("utf-8", "replace")):
        written = dict(re.findall(r'\s(class|id)="([^"]*)"', element[1]))
        if "id" in written and "v" in written.get("class", "").split():
            found.setdefault(html.unescape(written["id"]), []).append(html.unescape(element[2]))
    return found


def look_up(release: Release, pointer: str, documents: dict[str, Any]) -> Any:
    """The value that a pointer names, from signed JSON."""
    document, _, path = pointer.partition("#")
    record, _, part = document.partition("/")
    stated = document in ("study", "chips", "formats", "models")
    part = {"": "report", "trace": "trace/summary"}.get(part, part)
    name = f"data/{document}.json" if stated else f"records/{record}/{part}.json"
    value = documents[name] = documents[name] if name in documents else release.json(name)
    if stated:
        entry = value["values"][path]
        if "quantity" in entry:
            return Quantity(*entry["quantity"].split(" ")[:2])
        return Decimal(entry["decimal"]) if "decimal" in entry else entry["number"]
    for part in path.split("/")[1:]:
        key = part.replace("~1", "/").replace("~0", "~")
        value = value[int(key)] if isinstance(value, list) else value[key]
    if isinstance(value, list) and not any(isinstance(item, (dict, list)) for item in value):
        return f"{len(value):,} values"
    return {True: "yes", False: "no"}[value] if isinstance(value, bool) else value


WIDE = Context(prec=400, rounding=ROUND_HALF_EVEN)
RAISED = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
UNIT = re.compile("(Ki|Mi|Gi|Ti|Pi|Ei|[kMGTPEmµn]?)(B|bit|FLOP|OP|s)((?:/[sB])?)")
PREFIXES = {"": "1", "m": "1e-3", "µ": "1e-6", "n": "1e-9"}


def render(value: Any, spelling: str) -> str:
    """`value` as report/notation.py prints it, or a `ValueError`."""
    call = re.fullmatch(r"([a-z_]+)(?:\((?:([^(),]*[^(),\d ][^(),]*), ?)?(\d*)\))?", spelling)
    if call is None:
        raise ValueError("no format")
    name, unit, digits = call[1], call[2] or "B", int(call[3] or 0)
    if value is None:
        return "not recorded"
    if name in ("text", "documented") and isinstance(value, str):
        return value
    if name == "documented" and isinstance(value, Quantity):
        return f"{value.amount}\u00a0{value.unit}"
    if name == "quantity" or (name == "bytes" and unit != "B"):
        one, base = factor(unit)
        amount = exact(value)
        if isinstance(value, Quantity) and factor(value.unit)[1] != base:
            raise ValueError("another kind of unit")
        return f"{grouped(WIDE.divide(amount, one), digits)}\u00a0{unit}"
    number = exact(value)
    if name == "error":
        small = number and abs(number) < Decimal("1e-4")
        name, digits = ("scientific", 1) if small else ("percent", 2)
    if name in ("integer", "bytes", "documented"):
        if name != "documented" and number != number.to_integral_value():
            raise ValueError("not whole")
        plain = f"{number:f}" if name == "documented" else grouped(number, 0)
        return plain + ("\u00a0B" if name == "bytes" else "")
    if name == "percent":
        return f"{grouped(number.scaleb(2, WIDE), digits)}\u00a0%"
    if name == "scientific" and number:
        short = Context(prec=digits + 1, rounding=ROUND_HALF_EVEN).plus(number)
        mantissa = grouped(short.scaleb(-short.adjusted(), WIDE), digits)
        return f"{mantissa}\u00a0×\u00a010{str(short.adjusted()).translate(RAISED)}"
    if name == "power_of_two":
        top, bottom = (value if isinstance(value, float) else number).as_integer_ratio()
        if top < 1 or top & (top - 1) or bottom & (bottom - 1):
            raise ValueError("no power of two")
        return f"2{str(top.bit_length() - bottom.bit_length()).translate(RAISED)}"
    for unit in ("ns", "µs", "ms") if name == "seconds" and number else ():
        scaled = grouped(WIDE.divide(number, factor(unit)[0]), digits)
        if len(re.sub("[^0-9.]", "", scaled).split(".")[0]) < 4:
            return f"{scaled}\u00a0{unit}"
    ends = {"fixed": "", "ratio": "", "seconds": "\u00a0s", "decibel": "\u00a0dB"}
    return "0" if name == "scientific" else grouped(number, digits) + ends[name]


def exact(value: Any) -> Decimal:
    """A number as the decimal text that it is written with; a quantity in its base unit."""
    if isinstance(value, Quantity):
        return WIDE.multiply(Decimal(value.amount), factor(value.unit)[0])
    if isinstance(value, bool) or not isinstance(value, (int, float, Decimal)):
        raise ValueError("no number")
    number = Decimal(repr(value)) if isinstance(value, float) else Decimal(value)
    if not number.is_finite() or abs(number.adjusted()) > 350:
        raise ValueError("no number to print")
    return number


def grouped(number: Decimal, digits: int) -> str:
    short = number.quantize(Decimal(1).scaleb(-digits), context=WIDE)
    return ("\u2212" if short < 0 else "") + f"{abs(short):,f}"


def factor(unit: str) -> tuple[Decimal, str]:
    """How many of its base one `unit` is, and that base."""
    found = UNIT.fullmatch(unit)
    if found is None:
        raise ValueError("no unit")
    power = "kMGTPE".find(found[1][:1]) + 1 if found[1] else 0
    tens = PREFIXES.get(found[1]) or f"1e{3 * power}"
    one = Decimal(1024**power) if found[1].endswith("i") else Decimal(tens)
    return one, found[2] + found[3]


def check_status(
    path: str, about: dict[str, Any], release: Release, trust: Trust, notes: list[str]
) -> dict[str, Any]:
    """What a signed status list says of the release, or how far its own knowledge reaches."""
    known = about["status_list"] or {"number": 0, "date": about["date"]}
    if not path:
        notes.append(f"Status unknown after {known['date']}.")
        return {"state": "unknown", "until": known["date"], "reason": None}
    text, space = read_own(path), NAMESPACE.format("status")
    try:
        key = check_signature(read_own(f"{path}.sig"), text, space)
        listed = parse_json(text)
        number, date = int(listed["number"]), printable(str(listed["date"]))
        ours = hashlib.sha256(release.manifest).hexdigest()
        entries = [entry for entry in listed["releases"] if entry["manifest"] == ours]
        found = {"state": "current", "until": date, "reason": None}
        for entry in sorted(entries, key=lambda entry: str(entry["state"])):
            told = [printable(str(entry[part])) for part in ("state", "date", "reason", "by")]
            found = dict(zip(("state", "until", "reason"), told))
        if listed["schema"] != "assay/status/1":
            raise ValueError("another schema")
    except (ValueError, KeyError, TypeError, NotImplementedError):
        raise Unchecked("the status list is not one, or its signature does not hold.") from None
    if trust.judge(key, space)["state"] != "good":
        raise Unchecked("the status list is signed by a key you have not pinned.")
    if number < known["number"]:
        than = f"the one this release knows ({known['number']})"
        raise Unchecked(f"the status list is older (number {number}) than {than}.")
    if found["state"] == "superseded":
        notes.append(f"Superseded by {told[3]} on {found['until']}: {found['reason']}")
    elif not entries:
        notes.append(f"Status list {number} of {date} does not name this report.")
    return found


def read_own(path: str) -> bytes:
    """A file of the reader's own, such as a signers file."""
    try:
        with open(path, "rb") as stream:
            return stream.read(MAX_LIST)
    except OSError as error:
        raise Unchecked(f"{printable(path)} cannot be read: {error.strerror}") from None


def add_options(add: Callable[..., object]) -> None:
    add("release", metavar="RELEASE", help="the folder of a release, or its zip")
    add("--key", action="append", default=[], help="a fingerprint you trust")
    add("--signers", metavar="FILE", help="allowed signers, as OpenSSH has them")
    add("--revoked", metavar="FILE", help="keys no longer trusted, one a line")
    add("--status", default="", metavar="FILE", help="a status list, with FILE.sig")
    add("--at", default="", metavar="YYYYMMDD", help="when to judge a key; or now")
    add("--json", action="store_true", help="say the verdict as JSON")


def main(arguments: list[str] | None = None) -> int:
    """Say the verdict; the exit code is its tier."""
    parser = argparse.ArgumentParser(prog="verify.py", description=(__doc__ or "").split("\n")[0])
    add_options(parser.add_argument)
    options = parser.parse_args(arguments)
    try:
        own = (options.signers, options.revoked)
        signers, revoked = (read_own(path).decode() if path else "" for path in own)
        trust = Trust(options.key, signers, revoked, options.at)
    except (Unchecked, ValueError) as trouble:
        parser.error(str(trouble))
    verdict = verify(options.release, trust, options.status)
    lines = [f"  {fault['what']}: {fault['file']}" for fault in verdict["faults"]]
    told = "\n".join([verdict["sentence"], *lines, *verdict["notes"]])
    print(json.dumps(verdict, indent=1, sort_keys=True) if options.json else told)
    return int(verdict["exit"])


if __name__ == "__main__":
    sys.exit(main())
