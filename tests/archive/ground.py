"""Small releases, signed with fixed keys in plain Python: no tool, no clock, the same each time.

The keys are for tests alone; their secrets stand here for everyone to read.
"""

import base64
import io
import json
import zipfile
from collections.abc import Mapping
from functools import cache
from hashlib import sha256, sha512

from report.archive.verify import L, P, fingerprint, point_of, times

AUTHOR, REVIEWER, STRANGER, ATTACKER = (
    sha256(f"assay test key {n}".encode()).digest() for n in range(4)
)
BASE = point_of((4 * pow(5, P - 2, P) % P).to_bytes(32, "little"))
ED25519, HARDWARE = b"ssh-ed25519", b"sk-ssh-ed25519@openssh.com"
NAMESPACE = "assay/report/{}/v1"

Files = dict[str, bytes]


# Keys and signatures ---------------------------------------------------------------------


def encoded(point: tuple[int, ...]) -> bytes:
    x, y = point
    return (y | (x & 1) << 255).to_bytes(32, "little")


def secret_of(seed: bytes) -> tuple[int, bytes]:
    digest = sha512(seed).digest()
    return int.from_bytes(digest[:32], "little") & ~7 & (1 << 254) - 1 | 1 << 254, digest[32:]


@cache
def public_of(seed: bytes) -> bytes:
    return encoded(times(secret_of(seed)[0], BASE))


@cache
def ed25519_sign(seed: bytes, message: bytes) -> bytes:
    """RFC 8032, 5.1.6."""
    secret, prefix = secret_of(seed)
    public = public_of(seed)
    r = int.from_bytes(sha512(prefix + message).digest(), "little") % L
    point = encoded(times(r, BASE))
    k = int.from_bytes(sha512(point + public + message).digest(), "little") % L
    return point + ((r + k * secret) % L).to_bytes(32, "little")


def string(data: bytes) -> bytes:
    return len(data).to_bytes(4, "big") + data


def key_blob(seed: bytes, kind: bytes = ED25519) -> bytes:
    blob = string(kind) + string(public_of(seed))
    return blob + string(b"ssh:") if kind == HARDWARE else blob


def pin(seed: bytes, kind: bytes = ED25519) -> str:
    return fingerprint(key_blob(seed, kind))


def sshsig(
    seed: bytes,
    message: bytes,
    namespace: str,
    kind: bytes = ED25519,
    algorithm: bytes = b"sha512",
) -> bytes:
    digest = (sha512 if algorithm == b"sha512" else sha256)(message).digest()
    names = string(namespace.encode()) + string(b"") + string(algorithm)
    signed = b"SSHSIG" + names + string(digest)
    if kind == HARDWARE:
        tail = b"\x01" + (7).to_bytes(4, "big")
        proof = ed25519_sign(seed, sha256(b"ssh:").digest() + tail + sha256(signed).digest())
    else:
        proof, tail = ed25519_sign(seed, signed), b""
    signature = string(kind) + string(proof) + tail
    return armored(b"SSHSIG\0\0\0\1" + string(key_blob(seed, kind)) + names + string(signature))


def armored(blob: bytes) -> bytes:
    text = base64.b64encode(blob).decode()
    lines = [text[at : at + 70] for at in range(0, len(text), 70)]
    begin, end = "-----BEGIN SSH SIGNATURE-----", "-----END SSH SIGNATURE-----"
    return "\n".join([begin, *lines, end, ""]).encode()


def blob_of(signature: bytes) -> bytes:
    return base64.b64decode(b"".join(signature.split(b"\n")[1:-2]))


def signers_line(name: str, seed: bytes, *roles: str, options: str = "") -> str:
    spaces = ",".join(NAMESPACE.format(role) for role in roles)
    key = base64.b64encode(key_blob(seed)).decode()
    limits = ",".join(part for part in (f'namespaces="{spaces}"' if roles else "", options) if part)
    return " ".join(part for part in (name, limits, "ssh-ed25519", key) if part) + "\n"


# A release -------------------------------------------------------------------------------


def as_json(value: object) -> bytes:
    return (json.dumps(value, ensure_ascii=False, indent=1) + "\n").encode()


CLAIMS = (
    ("v-1", "tiny#/results/int8/relative_l2_error", "error", "2.45\u00a0%"),
    ("v-2", "study#/cache/bytes", "bytes(GiB, 1)", "1.5\u00a0GiB"),
    ("v-3", "chips#/v5e/peak_bf16", "documented", "197\u00a0TFLOP/s"),
    ("v-4", "tiny/environment#/versions/jax", "text", "0.10.2"),
    ("v-5", "tiny#/results/int8/sqnr_db", "decibel(1)", "not recorded"),
    ("v-6", "tiny/environment#/traced", "text", "yes"),
    ("v-7", "formats#/fp32/smallest", "scientific(1)", "1.2\u00a0×\u00a010⁻³⁸"),
)


TARGET = {
    "metric": "tiny#/results/int8/relative_l2_error",
    "comparator": "<=",
    "threshold": 0.01,
    "measured": 0.024532,
    "unit": "",
    "kind": "measured",
    "passed": False,
}


def page(claims: tuple[tuple[str, str, str, str], ...] = CLAIMS) -> bytes:
    values = "\n".join(
        f'<p>{id_}: <a class="v measured" id="{id_}" href="x.html">{text}</a></p>'
        for id_, _, _, text in claims
    )
    return (
        '<!doctype html>\n<html lang="en">\n<head><meta charset="utf-8"><title>Tiny</title></head>'
        f'\n<body>\n{values}\n<p><span class="v given">3 %</span></p>\n</body>\n</html>\n'
    ).encode()


def claims_json(
    claims: tuple[tuple[str, str, str, str], ...] = CLAIMS,
    statements: tuple[dict[str, str], ...] = (),
) -> bytes:
    names = ("id", "pointer", "format", "text")
    listed = [{"page": "index.html", **dict(zip(names, claim, strict=True))} for claim in claims]
    stated = [{"page": "index.html", **statement} for statement in statements]
    return as_json({"schema": "assay/claims/1", "claims": listed, "statements": stated})


def values(entries: Mapping[str, object]) -> bytes:
    return as_json({"schema": "assay/values/1", "values": entries})


def tiny(**about: object) -> Files:
    """A release of a few files, unlisted and unsigned; `about` changes release.json."""
    told = {
        "schema": "assay/release/1",
        "release": "tiny-1",
        "report": "tiny",
        "number": 1,
        "date": "2026-11-30",
        "status": "FINAL",
        "status_list": None,
        "result": "FAILED",
        "claims": [TARGET],
    }
    result = {"relative_l2_error": 0.024532, "sqnr_db": None, "sqnr_db_reason": "no reference"}
    return {
        "index.html": page(),
        "claims.json": claims_json(),
        "release.json": as_json(told | about),
        "data/study.json": values({"/cache/bytes": {"number": 1610612736, "unit": "B"}}),
        "data/chips.json": values({"/v5e/peak_bf16": {"exact": "197", "unit": "TFLOP/s"}}),
        "data/formats.json": values({"/fp32/smallest": {"number": 1.1754943508222875e-38}}),
        "records/tiny/report.json": as_json({"results": {"int8": result}}),
        "records/tiny/environment.json": as_json({"versions": {"jax": "0.10.2"}, "traced": True}),
    }


def listing(files: Mapping[str, bytes]) -> bytes:
    return "".join(
        f"{sha256(data).hexdigest()}  {name}\n" for name, data in sorted(files.items())
    ).encode()


def sealed(files: Files, author: bytes = AUTHOR, **roles: bytes) -> Files:
    """`files` listed and signed; `roles` adds other signers, such as reviewer=SEED."""
    manifest = listing(files)
    signed = {
        f"signatures/{role}.sig": sshsig(seed, manifest, NAMESPACE.format(role))
        for role, seed in {"author": author, **roles}.items()
    }
    return {**files, "MANIFEST.sha256": manifest, **signed}


def zipped(files: Mapping[str, bytes], top: str = "tiny-1/") -> bytes:
    return zipped_entries([(f"{top}{name}", data) for name, data in sorted(files.items())])


def zipped_entries(
    entries: list[tuple[str, bytes]], mode: int = 0o100644, method: int = zipfile.ZIP_STORED
) -> bytes:
    """A zip with just these entries, whatever their names."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", method) as archive:
        for name, data in entries:
            info = zipfile.ZipInfo("x", date_time=(1980, 1, 1, 0, 0, 0))
            info.filename, info.create_system = name, 3
            info.external_attr, info.compress_type = mode << 16, method
            archive.writestr(info, data)
    return buffer.getvalue()


def status_list(
    files: Files, state: str | None, number: int = 2, date: str = "2027-01-31"
) -> bytes:
    """A status list that names the release `files`, or does not."""
    entry = {
        "release": "tiny-1",
        "manifest": sha256(files["MANIFEST.sha256"]).hexdigest(),
        "state": state,
        "date": "2027-01-15",
        "reason": "The wrong device was named.",
        "by": "tiny-2" if state == "superseded" else None,
    }
    entries = [entry] if state else []
    told = {"schema": "assay/status/1", "number": number, "date": date, "releases": entries}
    return as_json(told)
