"""Does the page ever accept a signature that ssh-keygen refuses, or refuse one without a reason?"""

import base64
import random
import re
import subprocess
from pathlib import Path

import pytest

from tests.archive.verifier.conftest import Reader
from tests.archive.verifier.releases import AUTHOR

CHECK = """async ([cases, message, namespace]) => {
  const bytes = text => Uint8Array.from(atob(text), sign => sign.charCodeAt(0));
  const refused = error => {
    if (error instanceof Fault || error instanceof Unchecked) return false;
    throw error;
  };
  const said = [];
  for (const item of cases) {
    const checked = checkSignature(bytes(item), bytes(message), namespace);
    said.push(await checked.then(() => true, refused));
  }
  return said;
}"""
L = 2**252 + 27742317777372353535851937790883648493


def held_good(reader: Reader, signatures: list[bytes], message: bytes) -> list[bool]:
    def text(data: bytes) -> str:
        return base64.b64encode(data).decode()

    cases = [text(signature) for signature in signatures]
    return reader.page.evaluate(CHECK, [cases, text(message), AUTHOR])


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


def test_a_thousand_mutations_are_judged_as_ssh_keygen_judges_them(reader, sealed, tmp_path):
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

    ours = held_good(reader, [genuine, *mutated], message)
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
        whole = inside[: len(inside) // 4 * 4]
        assert case != genuine and base64.b64decode(whole) == blob_of(genuine), case


def with_proof(signature: bytes, proof: bytes) -> bytes:
    return armored(blob_of(signature)[:-64] + proof)


def test_a_malleable_signature_is_refused(reader, sealed):
    message = (sealed / "MANIFEST.sha256").read_bytes()
    genuine = (sealed / "signatures/author.sig").read_bytes()
    proof = blob_of(genuine)[-64:]
    other = int.from_bytes(proof[32:], "little") + L

    forged = with_proof(genuine, proof[:32] + other.to_bytes(32, "little"))

    assert held_good(reader, [genuine, forged], message) == [True, False]


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
def test_a_key_of_small_order_signs_nothing(reader, sealed, point):
    message = (sealed / "MANIFEST.sha256").read_bytes()
    blob = blob_of((sealed / "signatures/author.sig").read_bytes())
    start = blob.index(b"ssh-ed25519") + 15
    forged = blob[:start] + point + blob[start + 32 : -64] + point + bytes(32)

    assert held_good(reader, [armored(forged)], message) == [False]


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
    reader, public, message, signature, own
):
    held = reader.page.evaluate(
        """async ([own, ...hexes]) => {
          const kept = SubtleCrypto.prototype.importKey;
          const none = async () => { throw new DOMException("", "NotSupportedError"); };
          if (own === "without") SubtleCrypto.prototype.importKey = none;
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
