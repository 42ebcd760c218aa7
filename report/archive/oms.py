"""OpenSSF Model Signing: the same list of files, signed once more in the form of another tool.

For readers whose tools know this form and not ours: a Sigstore bundle v0.3 that holds a DSSE
envelope of an in-toto statement, signed with a P-256 key of the user's own. Its resources are the
files of the manifest, so the two forms cannot disagree. The key is named to the user's openssl and
never read here. `verify.py` gives this file no weight: its verdict rests on the SSH signatures.

https://github.com/sigstore/model-transparency
https://github.com/secure-systems-lab/dsse/blob/v1.0.0/protocol.md
https://github.com/in-toto/attestation/blob/main/spec/v1/statement.md
"""

import base64
import json
import os
import subprocess
import textwrap
from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path

from report.archive.release import SIGNATURES, about, as_json
from report.archive.seal import Signed, add_signature, signable
from report.archive.verify import MANIFEST
from report.errors import BackendMissing, UsageFault

_FILE = "oms.sigstore.json"
NAME = f"{SIGNATURES}/{_FILE}"
_PAYLOAD = "application/vnd.in-toto+json"
_P256 = bytes.fromhex("3059301306072a8648ce3d020106082a8648ce3d03010703420004")
"""How the DER of every uncompressed P-256 public key begins (RFC 5480); 64 bytes follow."""


def export(folder: Path, key: Path) -> Signed:
    """Sign the release in `folder` with the P-256 `key`, and write the bundle in signatures/."""
    release = signable(folder)
    public = openssl("pkey", "-in", os.fspath(key), "-pubout", "-outform", "DER")
    if not public.startswith(_P256) or len(public) != len(_P256) + 64:
        raise UsageFault(
            f"{key} is no P-256 key.",
            hint="To make one: openssl genpkey -algorithm EC -pkeyopt ec_paramgen_curve:P-256",
        )
    payload = statement(about(release)["release"], release.listed)
    signature = openssl("dgst", "-sha256", "-sign", os.fspath(key), given=to_be_signed(payload))
    pem = as_pem(public)
    add_signature(folder, _FILE, as_json(bundle(payload, signature, pem)))
    hint = sha256(pem).hexdigest()
    told = [f"{folder}: {NAME} is signed with the P-256 key whose PEM has SHA-256 {hint}."]
    told.append("Publish this key where readers find it without the release:")
    return Signed(fingerprint=hint, told="\n".join([*told, pem.decode().rstrip()]))


def statement(release: str, listed: Mapping[str, str]) -> bytes:
    """The in-toto statement, as JSON: the SHA-256 (hex) of each listed file by its path.

    Its subject is the SHA-256 of the files' raw digests in order. What the list does not cover,
    itself and the signatures, is named as ignored, so that any other added file is a mismatch.
    """
    digests = b"".join(bytes.fromhex(digest) for _, digest in sorted(listed.items()))
    told = {
        "_type": "https://in-toto.io/Statement/v1",
        "subject": [{"name": release, "digest": {"sha256": sha256(digests).hexdigest()}}],
        "predicateType": "https://model_signing/signature/v1.0",
        "predicate": {
            "serialization": {
                "method": "files",
                "hash_type": "sha256",
                "allow_symlinks": False,
                "ignore_paths": [MANIFEST, SIGNATURES],
            },
            "resources": [
                {"digest": digest, "algorithm": "sha256", "name": path}
                for path, digest in sorted(listed.items())
            ],
        },
    }
    return json.dumps(told, separators=(",", ":")).encode()


def to_be_signed(payload: bytes) -> bytes:
    """The pre-authentication encoding of DSSE v1: type and payload, each after its length."""
    return f"DSSEv1 {len(_PAYLOAD)} {_PAYLOAD} {len(payload)} ".encode() + payload


def bundle(payload: bytes, signature: bytes, pem: bytes) -> dict[str, object]:
    """The Sigstore bundle: envelope, and the hash by which a reader's public key is known."""
    return {
        "mediaType": "application/vnd.dev.sigstore.bundle.v0.3+json",
        "verificationMaterial": {
            "publicKey": {"hint": sha256(pem).hexdigest()},
            "tlogEntries": [],
        },
        "dsseEnvelope": {
            "payload": base64.b64encode(payload).decode(),
            "payloadType": _PAYLOAD,
            "signatures": [{"sig": base64.b64encode(signature).decode(), "keyid": ""}],
        },
    }


def as_pem(public: bytes) -> bytes:
    """A public key's DER as PEM, in the lines of 64 letters that the hint is taken over."""
    lines = textwrap.wrap(base64.b64encode(public).decode(), 64)
    lines = ["-----BEGIN PUBLIC KEY-----", *lines, "-----END PUBLIC KEY-----"]
    return ("\n".join(lines) + "\n").encode()


def openssl(*words: str, given: bytes = b"") -> bytes:
    """What the user's openssl answers; it may ask for a passphrase, and tells its own troubles."""
    try:
        done = subprocess.run(["openssl", *words], input=given, stdout=subprocess.PIPE, check=False)
    except FileNotFoundError:
        raise BackendMissing(
            "Signing for OpenSSF Model Signing needs openssl, which is not here.",
            hint="It comes with most systems, or from https://openssl-library.org",
        ) from None
    if done.returncode:
        raise UsageFault(f"openssl {words[0]} refused; it says why above.")
    return done.stdout
