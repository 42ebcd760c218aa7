"""Check a sealed release: its files, who signed the list of them, and each number it claims.

    python3 -I -S verify.py RELEASE --key SHA256:...

A release is untrusted: read in bounds, never executed. Trust comes from outside it.
"""

from __future__ import annotations

import argparse
import base64
import html
import json
import os
import re
from collections import Counter
from contextlib import suppress
from datetime import datetime
from decimal import Decimal
from fnmatch import fnmatchcase
from fractions import Fraction
from functools import lru_cache, partial
from hashlib import sha256, sha512
from itertools import islice
from pathlib import Path
from typing import Any

MANIFEST, ROLES, NAMESPACE = "MANIFEST.sha256", ("author", "reviewer"), "assay/report/{}/v1"
SIGNATURES = {role: (f"signatures/{role}.sig", NAMESPACE.format(role)) for role in ROLES}
MAX_FILES, MAX_FILE, MAX_JSON, MAX_SUM, PARSED = 10_000, 64 << 20, 16 << 20, 1 << 30, 32
PART = "[A-Za-z0-9_-](?:[A-Za-z0-9._-]*[A-Za-z0-9_-])?"  # of a path that any system can hold
PATH = f"(?!(?i:signatures/|{MANIFEST}$))(?=.{{1,320}}$)({PART}(?:/{PART}){{0,19}})"
LINE = re.compile(f"([0-9a-f]{{64}})  {PATH}")
LISTED = re.compile(r"^\s*([^\s#].*?)\s*$", re.M)  # lines that are no comment
TIERS = {0: "trusted", 10: "mismatch", 11: "untrusted", 12: "unchecked"}
TRUSTED = "All {} listed files match, no unlisted files. {} Not shown: {}, {}, or {}."
UNSHOWN = "that the measurements are right", "that this is the latest report", "when it was signed"
UNSIGNED = "The list is not signed: anyone can make such a list."
UNKNOWN = "The list is signed by a key you have not pinned: anyone can make such a signature."
DOUBTED = "It is signed with key {}, and your {} says that key is {}."
NOBODY = {"good": False, "key": None, "name": None, "said": UNSIGNED}
DRAFT = "The report is a DRAFT: facts are missing, and no signature vouches for it."
OPTION = r'(namespaces|valid-after|valid-before)="([^"!\[]*)"'  # no other is understood
SIGNER = rf'("[^"]+"|[^\s"]+)\s+(?:({OPTION}(?:,{OPTION})*)\s+)?([a-z0-9@.-]+)\s+(\S+)(?:\s.*)?'
ABOUT = r'\["([a-z0-9-]+)-(\d{1,9})", "\1", \2, "(FINAL|DRAFT)", ("\d{4}-\d\d-\d\d", ){2}\d{1,9}\]'
ELEMENT = '<[a-z]+ class="(?:v|claim)(?: [^"<>]*)?" id="([^"<>]*)"[^<>]*>([^<]*)</'
SHOWN = re.compile(rf"([\d.\u2212-]?){ELEMENT}(?:[a-z]+>(\.?\d)?)?")  # with what touches it
REFUSED = (ValueError, LookupError, TypeError, ArithmeticError, AttributeError, RecursionError)
P, L = 2**255 - 19, 2**252 + 27742317777372353535851937790883648493
D, ROOT = -121665 * pow(121666, -1, P) % P, pow(2, (P - 1) // 4, P)
UNITS = {"": (Fraction(1), ""), "dB": (Fraction(1), ""), "%": (Fraction(1, 100), "")}
UNITS.update({f"{p}s": (Fraction(1, 1000**n), "s") for n, p in enumerate(("", *"mµn"))})
for base in ("B", "bit", "FLOP", "OP", "B/s", "bit/s", "FLOP/s", "OP/s", "FLOP/B", "OP/B"):
    UNITS.update({p + base: (Fraction(1000**n), base) for n, p in enumerate(("", *"kMGTPE"))})
    UNITS.update({f"{p}i{base}": (Fraction(1024**n), base) for n, p in enumerate("KMGTPE", 1)})
PLAIN = str.maketrans("\u2212⁻⁰¹²³⁴⁵⁶⁷⁸⁹", "--0123456789", ",")


class Unchecked(Exception):
    """What keeps a release from being checked."""


def verify(place: str, trust: Trust, find: Any = None) -> dict[str, Any]:
    """The verdict on the release in a folder, or wherever `find` reads files from."""
    release, signed, about, trouble = Release(), dict.fromkeys(ROLES, NOBODY), {}, ""
    try:
        release.open((find or folder)(place))
        for role, (name, use) in SIGNATURES.items():
            if name in release.files:
                try:
                    key = check_signature(release.read(name), release.manifest, use)
                    signed[role] = trust.judge(key, use)
                except ValueError:
                    release.faults.add((name, "signature"))
        about = {} if release.faults else check_content(release)
    except (Unchecked, OSError, RecursionError, MemoryError) as error:
        trouble = printable(str(error))
    faults = sorted((printable(name), what) for name, what in release.faults)
    doubt = DRAFT if about.get("status") == "DRAFT" else signed["author"]["said"]
    code, said = 0, TRUSTED.format(len(release.listed), doubt, *UNSHOWN)
    if doubt == DRAFT or not signed["author"]["good"]:
        code, said = 11, f"Files match their list. {doubt}"
    if trouble:
        code, said = 12, f"Could not check: {trouble}"
    if count := len(dict(faults)):
        files = f"{count} of this release's {'files is' if count == 1 else 'files are'}"
        how = "as listed, but wrong in content" if about else "not as the list says"
        code, said = 10, f"Mismatch: {files} {how}. Do not rely on it."
    verdict = {"schema": "assay/verdict/1", "exit": code, "tier": TIERS[code], "sentence": said}
    verdict["faults"] = [{"file": name, "what": what} for name, what in faults]
    verdict["notes"] = notes_on(release, about, trust.day, **signed) if code in (0, 11) else []
    verdict.update(signed, manifest=sha256(release.manifest).hexdigest())
    return dict(verdict, **{name: about.get(name) for name in ("release", "claims", "knows")})


def notes_on(release: Release, about: Any, day: str, author: Any, reviewer: Any) -> list[str]:
    """What is said of the keys, of what was not checked, and how far knowledge reaches."""
    notes = [f"Keys judged as of {day}, as you asked."] if day else []
    notes += [f"Reviewer: {reviewer['said']}"] if reviewer["key"] else []
    if any(author[part] == reviewer[part] is not None for part in ("key", "name")):
        notes.append("One person signed as author and as reviewer: this is one word, not two.")
    for name in sorted({*release.files} - {*release.listed, MANIFEST, *dict(SIGNATURES.values())}):
        notes.append(f"Not covered by the signature: {printable(name)}")
    if count := about["statements"]:
        notes.append(f"Not weighed again: the evidence of {count} statements about arithmetic.")
    notes.append("Not derived again: numbers that the release does not list as claims.")
    return [*notes, f"Status unknown after {about['knows']['date']}."]


class Release:
    """The files of a release, by path, and what the list says of each."""

    def __init__(self) -> None:
        self.faults: set[tuple[str, str]] = set()
        self.files: dict[str, Any] = {}
        self.listed: dict[str, str] = {}
        self.manifest, self.left = b"", MAX_SUM

    def open(self, found: Any) -> None:
        """Take every file, read the list, and name all that is not as listed."""
        found = list(islice(found, MAX_FILES + 1))
        self.files = {name: reader for name, fault, reader in found if not fault}
        self.faults = {(name, fault) for name, fault, _ in found if fault}
        if len(found) > MAX_FILES:
            raise Unchecked(f"it holds more than {MAX_FILES:,} files.")
        if MANIFEST not in self.files:
            raise Unchecked(f"there is no {MANIFEST}, so this is no release.")
        self.manifest = self.read(MANIFEST)
        lines = map(LINE.fullmatch, self.manifest.decode("ascii", "replace").split("\n"))
        self.listed = {line[2]: line[1] for line in lines if line}
        form = "".join(f"{self.listed[name]}  {name}\n" for name in sorted(self.listed)).encode()
        if form != self.manifest or len({*map(str.lower, self.listed)}) < max(1, len(self.listed)):
            self.faults.add((MANIFEST, "manifest"))
        free = {name for name in self.files if name == MANIFEST or name.startswith("signatures/")}
        self.faults |= {(name, "added") for name in self.files.keys() - self.listed.keys() - free}
        self.faults |= {(name, "missing") for name in self.listed.keys() - self.files.keys()}
        for name in sorted(self.listed.keys() & self.files.keys()):
            self.read(name)

    def read(self, name: str, most: int = MAX_FILE) -> bytes:
        """A file, in bounds; one that is not as listed is a fault."""
        with self.files[name]() as stream:
            data: bytes = stream.read(most + 1)
        self.left -= len(data) * (PARSED if most == MAX_JSON else 1)  # what it takes once parsed
        if len(data) > most or self.left < 0:
            raise Unchecked(f"{name} is larger than a release may hold.")
        if name in self.listed and sha256(data).hexdigest() != self.listed[name]:
            self.faults.add((name, "changed"))
        return data


def folder(top: str, inside: str = "") -> Any:
    """What lies in a folder, hidden or not: each path, what is wrong with it, how to open it."""
    if not os.path.isdir(top):
        raise Unchecked("it is not a folder. Unpack a zip first, or use build.py verify.")
    entries = list(os.scandir(os.path.join(top, inside)))
    if not entries:
        yield inside, "empty", None
    for entry in entries:
        kind = "symlink" if entry.is_symlink() else "" if entry.is_file() else "special"
        if entry.is_dir(follow_symlinks=False):
            yield from folder(top, f"{inside}{entry.name}/")
        else:
            yield inside + entry.name, kind, partial(open, entry.path, "rb")


def printable(name: str) -> str:
    return re.sub(r"[^ -\[\]-~]", lambda found: f"\\u{{{ord(found[0]):x}}}", name)


class Trust:
    """Whom the reader trusts: fingerprints, an OpenSSH signers file, revoked keys, a day."""

    def __init__(self, pins: list[str], signers: str = "", revoked: str = "", at: str = "") -> None:
        self.pins, self.signers = set(pins), [read_signer(line) for line in LISTED.findall(signers)]
        lost = LISTED.findall(revoked)
        self.revoked = {s if s[:7] == "SHA256:" else read_signer(s, "--revoked")[-1] for s in lost}
        self.day, self.at = at, time_of(at) if at else datetime.now().timestamp()
        for pin in self.pins | self.revoked:
            if not re.fullmatch(r"SHA256:[A-Za-z0-9+/]{43}", pin):
                raise ValueError(f"{pin!r} is no fingerprint: SHA256: and 43 characters")

    def judge(self, key: bytes, namespace: str) -> dict[str, Any]:
        """Whether a signature by `key` counts, if it holds; what is said of it, and whose it is."""
        ours, whose = fingerprint(key), None
        doubt = "" if ours in self.pins else UNKNOWN
        for name, allowed, after, before, theirs in self.signers:
            if doubt and ours == theirs:
                why = "not yet valid" if self.at < after else "expired" if self.at > before else ""
                meant = any(fnmatchcase(namespace, pattern) for pattern in allowed.split(","))
                why = why if meant else "not for this role"
                doubt, whose = why and DOUBTED.format(ours, "signers file", why), why or name
        if ours in self.revoked:
            doubt = DOUBTED.format(ours, "list of revoked keys", "revoked")
        said = doubt or f"Signed {f'by {whose} ' if whose else ''}with key {ours} which you pinned."
        return {"good": not doubt, "key": ours, "name": None if doubt else whose, "said": said}


def read_signer(line: str, of: str = "--signers") -> tuple[Any, ...]:
    """Name, namespaces, window and key in one line of an OpenSSH signers file."""
    with suppress(*REFUSED):
        found: Any = re.fullmatch(SIGNER, f"- {line}" if of == "--revoked" else line, re.I)
        told = {name.lower(): text for name, text in re.findall(OPTION, found[2] or "", re.I)}
        blob, name = base64.b64decode(found[8], validate=True), found[1].strip('"').split(",")[0]
        if len(told) == (found[2] or "").count('="') and blob.startswith(packed(found[7].encode())):
            key, name = fingerprint(blob), None if re.search("[*?!]", name) else printable(name)
            start, end = told.get("valid-after", "19700102"), told.get("valid-before", "99980101")
            return name, told.get("namespaces", "*"), time_of(start), time_of(end), key
    raise ValueError(f"{of}: this line is no signer: {line[:60]}")


def time_of(text: str) -> float:  # YYYYMMDD[HHMM[SS]], in local time or, with a Z, in UTC
    with suppress(*REFUSED):
        [(day, hour, z)] = re.findall(r"^(\d{8})(\d{4}|\d{6}|)(Z?)\Z", text, re.A)
        return datetime.strptime(f"{day}{hour:0<6}{z}", f"%Y%m%d%H%M%S{z and '%z'}").timestamp()
    raise ValueError(f"--at: {text!r} is no day: write YYYYMMDD")


def check_signature(armored: bytes, message: bytes, namespace: str) -> bytes:
    """The public key that signed `message` for `namespace`; another form is a `ValueError`."""
    blob = base64.b64decode(b"".join(armored.split(b"\n")[1:-2]), validate=True)
    key = blob[14 : 14 + int.from_bytes(blob[10:14], "big")]
    kind = key[4 : 4 + int.from_bytes(key[:4], "big")]
    point, more = key[8 + len(kind) :][:32], key[44 + len(kind) :]
    whole, touch, purpose = packed(kind, point), b"", packed(namespace.encode(), b"", b"sha512")
    signed = b"SSHSIG" + purpose + packed(sha512(message).digest())
    if kind == b"sk-ssh-ed25519@openssh.com":  # a hardware key signs its counter too
        whole, touch = packed(kind, point, more), blob[-5:]
        signed = sha256(more).digest() + touch + sha256(signed).digest()
    elif kind not in (b"ssh-ed25519", b""):
        raise Unchecked(f"the signature is by a key of type {kind[:40].decode('latin-1')}.")
    proof = blob[: len(blob) - len(touch)][-64:]
    form = b"SSHSIG\0\0\0\1" + packed(whole) + purpose + packed(packed(kind, proof) + touch)
    lines = re.findall(b".{1,70}", base64.b64encode(form))
    right = b"\n".join([b"-----BEGIN SSH SIGNATURE-----", *lines, b"-----END SSH SIGNATURE-----\n"])
    if armored != right or not ed25519_holds(point, signed, proof):
        raise ValueError("not in its one form, made for another purpose, or it does not hold")
    return key


def packed(*parts: bytes) -> bytes:
    return b"".join(len(part).to_bytes(4, "big") + part for part in parts)


def fingerprint(key: bytes) -> str:
    return "SHA256:" + base64.b64encode(sha256(key).digest()).decode().rstrip("=")


def ed25519_holds(key: bytes, message: bytes, signature: bytes) -> bool:
    """RFC 8032, 5.1.7, no cofactor; malleable, non-canonical and small-order forms refused."""
    a, s = point_of(key), int.from_bytes(signature[32:], "little")
    if not a or len(signature) != 64 or s >= L or times(8, a) == (0, 1):
        return False
    k = int.from_bytes(sha512(signature[:32] + key + message).digest(), "little") % L
    base = point_of((4 * pow(5, -1, P) % P).to_bytes(32, "little"))
    x, y = add(times(s, base), times(k, (-a[0], a[1])))
    return signature[:32] == (y | (x & 1) << 255).to_bytes(32, "little")


def point_of(encoded: bytes) -> tuple[int, ...]:
    """The point x, y that 32 bytes stand for; empty when there is none, or not in this form."""
    odd, y = divmod(int.from_bytes(encoded, "little"), 1 << 255)
    square = (y * y - 1) * pow(D * y * y + 1, -1, P) % P
    root = pow(square, (P + 3) // 8, P)
    roots = (x % P for x in (root, -root, root * ROOT, -root * ROOT) if x * x % P == square)
    return next(((x, y) for x in roots if x % 2 == odd and y < P and len(encoded) == 32), ())


def add(one: tuple[int, ...], two: tuple[int, ...]) -> tuple[int, ...]:
    (a, b), (c, d) = one, two  # on -x² + y² = 1 + D·x²·y², whose law has no exceptions
    both = D * a * b * c * d
    return (a * d + b * c) * pow(1 + both, -1, P) % P, (a * c + b * d) * pow(1 - both, -1, P) % P


def times(factor: int, point: tuple[int, ...]) -> tuple[int, ...]:
    half = times(factor >> 1, add(point, point)) if factor else (0, 1)
    return add(half, point) if factor & 1 else half


def check_content(release: Release) -> dict[str, Any]:
    """What release.json says; each number on a page is compared with the signed data."""
    load = lru_cache(None)(lambda name: parse_json(release.read(name, MAX_JSON)))
    try:
        about, listed = load("release.json"), load("claims.json")
        known = about["status_list"] or {"number": 0, "date": about["date"]}
        named = [about[part] for part in ("release", "report", "number", "status", "date")]
        right = re.fullmatch(ABOUT, json.dumps([*named, known["date"], known["number"]]))
        schemas = about["schema"], listed["schema"]
        if not right or schemas != ("assay/release/1", "assay/claims/1"):
            raise ValueError("another schema")
        claims, others = listed["claims"], listed["statements"]
        odd = Counter("\n".join((c["page"], "", c["id"], c["text"], "")) for c in claims + others)
        odd.update(claim["page"] for claim in claims)  # until each is found to hold
        odd["release.json"] += not is_derived(load, about)
    except REFUSED:
        release.faults.add(("release.json", "release"))
        return {"release": None}
    for page in (name for name in release.listed if name.endswith(".html")):
        found = SHOWN.findall(release.read(page).decode("utf-8", "replace"))
        odd.subtract("\n".join([page, *map(html.unescape, element)]) for element in found)
    for claim in claims:
        with suppress(*REFUSED):
            odd[claim["page"]] -= reads_as(claim["text"], look_up(load, claim["pointer"]))
    release.faults.update((line.split("\n")[0], "claim") for line in odd if odd[line])
    return dict(about, knows=known, claims=len(claims), statements=len(others))


def is_derived(load: Any, about: Any) -> bool:
    """Whether each target has the number of the signed data, and was met or not as they say."""
    claims = []
    for target in about["claims"]:
        value, b = look_up(load, target["metric"]), target["threshold"]
        a = json.loads(value[0]) if isinstance(value, tuple) else value
        a, b = (each if type(each) in (int, float) else float("nan") for each in (a, b))
        meets = {"<": a < b, "<=": a <= b, ">": a > b, ">=": a >= b}[target["comparator"]]
        claims.append(dict(target, measured=None if str(a) == "nan" else a, passed=meets))
    result = "PASSED" if claims and all(each["passed"] for each in claims) else "FAILED"
    return json.dumps(about) == json.dumps(dict(about, claims=claims, result=result))


def parse_json(data: bytes) -> Any:
    """What strict JSON says: no key twice, no NaN (`int` refuses it); of other text, nothing."""

    def once(pairs: list[tuple[str, Any]]) -> Any:
        if len(dict(pairs)) < len(pairs):
            raise ValueError("a key twice")
        return dict(pairs)

    with suppress(*REFUSED):
        return json.loads(data.decode(), object_pairs_hook=once, parse_constant=int)
    return {}


def look_up(load: Any, pointer: str) -> Any:
    """The value that a pointer names, from signed JSON; a quantity as its amount and unit."""
    document, _, path = pointer.partition("#")
    record, _, part = document.partition("/")
    if document in ("study", "chips", "formats", "models"):
        entry = load(f"data/{document}.json")["values"][path]
        return (entry["exact"], entry["unit"]) if "exact" in entry else entry["number"]
    part = {"": "report", "trace": "trace/summary"}.get(part, part)
    value = load(f"records/{record}/{part}.json")
    for key in (part.replace("~1", "/").replace("~0", "~") for part in path.split("/")[1:]):
        value = value[int(key)] if isinstance(value, list) else value[key]
    if isinstance(value, list) and not any(isinstance(item, (dict, list)) for item in value):
        return f"{len(value):,} values"
    plain = (f"{value}", "ns") if path.endswith("_ns") and type(value) is int else value
    return {True: "yes", False: "no"}[value] if isinstance(value, bool) else plain


def reads_as(text: str, value: Any) -> bool:
    """Whether a printed text is `value`: just so, or rounded at the last digit that is printed."""
    words = "\u00a0".join(value) if isinstance(value, tuple) else ""
    if value is None or isinstance(value, str) or text == words:
        return bool(text == (words or ("not recorded" if value is None else value)))
    if re.fullmatch("2[⁻⁰¹²³⁴⁵⁶⁷⁸⁹]{1,5}", text):
        return Fraction(value) == Fraction(2) ** int(text[1:].translate(PLAIN))
    digits, _, unit = text.replace("\u00a0×\u00a010", "e").translate(PLAIN).partition("\u00a0")
    size, base = UNITS[unit]
    step, of = UNITS[value[1]] if words and (unit or value[1] != "ns") else (1, base)
    printed, exact = Decimal(digits), Decimal(value[0] if words else f"{value}")
    sizes = printed.adjusted(), exact.adjusted(), int(printed.as_tuple().exponent)
    if (unit and of != base) or max(map(abs, sizes)) > 400 or re.search(r"[^-0-9.e]|^-?\.", digits):
        return False
    wrong = Fraction(exact) * step - Fraction(printed) * size
    return 2 * abs(wrong) <= Fraction(10) ** sizes[2] * size


def add_options(add: Any) -> None:
    add("release", metavar="RELEASE", help="the folder of a release")
    add("--key", action="append", default=[], help="a fingerprint you trust")
    add("--signers", default=os.devnull, metavar="FILE", help="allowed signers, as for OpenSSH")
    add("--revoked", default=os.devnull, metavar="FILE", help="keys no longer trusted, one a line")
    add("--at", default="", metavar="YYYYMMDD", help="when to judge a key; or now")
    add("--json", action="store_true", help="say the verdict as JSON")


def answer(options: Any, refuse: Any, find: Any = None, more: Any = None) -> int:
    """Say the verdict, to which `more` may add; the exit code is its tier."""
    try:
        for own in (options.signers, options.revoked, *(getattr(options, "status", None) or [])):
            if Path(options.release).resolve() in (real := Path(own).resolve(), *real.parents):
                raise ValueError(f"{own} lies inside the release: trust must come from outside it.")
        both = [Path(p).read_text("utf-8", "replace") for p in (options.signers, options.revoked)]
        trust = Trust(options.key, both[0], both[1], options.at)
    except (OSError, RuntimeError, ValueError) as trouble:
        refuse(printable(str(trouble)))
    verdict = verify(options.release, trust, find)
    verdict = more(verdict, trust) if more else verdict
    lines = [f"  {fault['what']}: {fault['file']}" for fault in verdict["faults"]]
    told = "\n".join([verdict["sentence"], *lines, *verdict["notes"]])
    print(json.dumps(verdict, indent=1, sort_keys=True) if options.json else told)
    return int(verdict["exit"])


if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="verify.py", description=(__doc__ or "").split("\n")[0])
    add_options(parser.add_argument)
    raise SystemExit(answer(parser.parse_args(), parser.error))
