"""Signing: the user's own ssh-keygen signs the manifest, in the name of one role.

No private key is ever read here: agents, passphrases and hardware keys are ssh-keygen's affair.
A draft is refused, and so is a release that is not what its list and its data say. Signing adds
one file in signatures/, makes the zip anew and writes a slip to print beside it; no other byte
changes, so a release may be signed again when a key or an algorithm has aged.
"""

import base64
import os
import re
import subprocess
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from report.archive.bundle import check_names
from report.archive.release import SHOUTED, SIGNATURES, about, beside, opened, write_zip
from report.archive.slip import names_on, slip
from report.archive.verify import (
    NAMESPACE,
    ROLES,
    Release,
    Unchecked,
    check_content,
    check_signature,
    fingerprint,
)
from report.errors import BackendMissing, Fault, SealBroken, UsageFault, raise_if_any
from report.folder import put

_DRAFT = b'<p class="imprint draft">'
"""What stands on every page of a draft."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Signed:
    """What was signed, and what its signer now has to publish."""

    fingerprint: str
    told: str


def sign(folder: Path, key: Path, principal: str, role: str) -> Signed:
    """Sign the release in `folder` as `role`."""
    if re.search(r'[\s",#*?!]', principal) or not principal.isprintable() or not principal:
        raise UsageFault(
            f"{principal!r} is no one name of a signers file.",
            hint='Leave out spaces and the signs " , # * ? !',
        )
    release = signable(folder)
    namespace = NAMESPACE.format(role)
    signature, public = checked_sign(release.manifest, key, namespace)
    add_signature(folder, f"{role}.sig", signature)
    release, mine = opened(folder), fingerprint(public)
    keys, place = signers(release), beside(folder, ".fingerprint.txt")
    names = names_on(place, release.manifest) | {f"{role} {mine}": principal}
    put(place, slip(about(release), release.manifest, keys, names).encode())
    told = _told(folder, principal, role, public)
    for other in keys:
        if other != role and keys[other] == mine:
            told.append(f"The {other} signed with the same key: one person's word, not two.")
    told.append(f"To print or read out, and to keep apart from the release: {place}")
    return Signed(fingerprint=mine, told="\n".join(told))


def signers(release: Release) -> dict[str, str]:
    """The fingerprint of the key that signed in each role, where the signature holds."""
    keys = {}
    for role in ROLES:
        name = f"{SIGNATURES}/{role}.sig"
        if name in release.files:
            with suppress(ValueError, Unchecked):
                signature = release.read(name)
                key = check_signature(signature, release.manifest, NAMESPACE.format(role))
                keys[role] = fingerprint(key)
    return keys


def signable(folder: Path) -> Release:
    """The release in `folder`, as its list and its data say.

    A draft is refused, whatever it calls itself; so is one that prints what its data do not say.
    """
    with suppress(OSError):
        (folder / SIGNATURES).rmdir()  # left empty by a signing that was stopped
    release = opened(folder)
    told = about(release)
    pages = [path for path in release.listed if path.endswith(".html")]
    drafts = [path for path in pages if _DRAFT in release.read(path)]
    if told["status"] != "FINAL" or told["missing"] or drafts:
        missing = ", ".join(map(str, told["missing"]))
        raise SealBroken(
            f"{folder} is a DRAFT, and a draft is not signed.",
            [Fault(where=f"{folder}/{path}", found="a page of a draft") for path in drafts],
            hint=f"Record these, then release it again: {missing}" if missing else "",
        )
    named = beside(folder, ".zip").stem
    if not re.fullmatch("[a-z0-9][a-z0-9._-]*", named):
        raise UsageFault(
            f"{folder} has a name that cannot stand in a zip.", hint=f"Call it {told['release']}."
        )
    check_names((f"{named}/{path}" for path in release.files), also=SHOUTED)
    try:
        check_content(release)
    except Unchecked as trouble:
        raise SealBroken(
            f"{folder} is not signed, as no verifier would read it: {trouble}"
        ) from None
    faults = [
        Fault(where=f"{folder}/{name}", found="prints or claims what its data do not say")
        for name, _ in sorted(release.faults)
    ]
    raise_if_any(SealBroken, f"{folder} is not signed:", faults)
    return release


def add_signature(folder: Path, name: str, data: bytes) -> None:
    """Put one file into signatures/ and make the zip anew.

    It is written beside the release first, so that nothing unfinished is ever found in it.
    """
    put(folder / SIGNATURES / name, data, beside(folder, f".{name}.part"))
    write_zip(folder)


def checked_sign(message: bytes, key: Path, namespace: str) -> tuple[bytes, bytes]:
    """A signature that every verifier can check, and the public key that made it."""
    signature = ssh_sign(message, key, namespace)
    try:
        return signature, check_signature(signature, message, namespace)
    except (ValueError, Unchecked) as error:
        raise UsageFault(
            f"The signature by {key} cannot be checked by verify.py: {error}",
            hint="Sign with an Ed25519 key: ssh-keygen -t ed25519",
        ) from None


def ssh_sign(message: bytes, key: Path, namespace: str) -> bytes:
    """The armored signature that ssh-keygen makes; it may ask for a passphrase or a touch."""
    command = ["ssh-keygen", "-Y", "sign", "-f", os.fspath(key), "-n", namespace]
    try:
        done = subprocess.run(command, input=message, stdout=subprocess.PIPE, check=False)
    except FileNotFoundError:
        raise BackendMissing(
            "Signing needs ssh-keygen, which is not here.",
            hint="It comes with OpenSSH, 8.2 or later.",
        ) from None
    if done.returncode:
        raise UsageFault(f"ssh-keygen did not sign with {key}; it says why above.")
    return done.stdout


def _told(folder: Path, principal: str, role: str, public: bytes) -> list[str]:
    """What happened, and the line for a signers file."""
    return [
        f"{folder}: signed as {role} with {fingerprint(public)}.",
        "Publish the fingerprint where readers find it without this release. For a signers file:",
        f"  {signers_line(principal, role, public)}",
    ]


def signers_line(principal: str, role: str, public: bytes) -> str:
    """The key in a signers file: an author also says what became of a release."""
    roles = [role, "status"] if role == "author" else [role]
    kind = public[4 : 4 + int.from_bytes(public[:4], "big")].decode()
    namespaces = ",".join(NAMESPACE.format(each) for each in roles)
    return f'{principal} namespaces="{namespaces}" {kind} {base64.b64encode(public).decode()}'
