"""A slip to print: which list was signed, and with whose keys, for another way to the reader.

It lies beside the release and never in it: whoever replaces a release replaces all that comes
with it. One sheet of plain text, with the long numbers also in groups, to be read out by phone.
"""

import re
import textwrap
from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path
from typing import Any

from report.record import printable

_LIMIT = 1 << 16
"""In bytes: how much of an earlier slip is read again."""
_SIGNER = re.compile(r"^Signed as (\w+) by (\S+)\n +(SHA256:\S{43})$", re.MULTILINE)


def slip(
    told: Mapping[str, Any], manifest: bytes, keys: Mapping[str, str], names: Mapping[str, str]
) -> str:
    """The text for a release, of which release.json has `told`.

    `keys` are the fingerprints by role, `names` the signers' by role and fingerprint.
    """
    digest = sha256(manifest).hexdigest()
    signers = [
        f"Signed as {role} by {names.get(f'{role} {key}', '(a name not known here)')}\n"
        f"  {key}\n{_aloud(key.partition(':')[2], 4)}"
        for role, key in keys.items()
    ]
    if len(set(keys.values())) < len(keys):
        signers.append("One key signed in both roles: this is one person's word, not two.")
    if "author" not in keys:
        signers.append("The author has not signed, so no reader can trust it yet.")
    pins = " \\\n".join(f"    --key {key}" for key in dict.fromkeys(keys.values()))
    return _TEXT.format(
        release=told["release"],
        title=textwrap.fill(printable(str(told.get("title"))), 62, subsequent_indent=" " * 10),
        date=printable(str(told.get("date"))),
        digest=digest,
        aloud=_aloud(digest, 8),
        signers="\n\n".join(signers),
        pins=pins,
    )


def names_on(place: Path, manifest: bytes) -> dict[str, str]:
    """The names in the slip at `place`, by role and key; none when it is about another list."""
    try:
        with place.open("rb") as stream:
            text = stream.read(_LIMIT).decode()
    except (OSError, ValueError):
        return {}
    found = _SIGNER.findall(text) if sha256(manifest).hexdigest() in text else []
    return {f"{role} {key}": printable(name) for role, name, key in found}


def _aloud(text: str, size: int) -> str:
    """`text` in groups of `size` signs, as many to a line as a sheet holds."""
    groups = (text[at : at + size] for at in range(0, len(text), size))
    return textwrap.fill(" ".join(groups), 44, initial_indent="    ", subsequent_indent="    ")


_TEXT = """\
FINGERPRINTS OF A RELEASE

Release   {release}
Title     {title}
Date      {date}, declared by the author

SHA-256 of its list of files, MANIFEST.sha256
  {digest}
{aloud}

{signers}

Read out by phone, sign by sign. In a key's letters, capitals count.

How to check, with a verify.py that did not come with the release:

  python3 -I -S verify.py {release} \\
{pins}

It must answer that all files match, and name a key printed here.

This slip is worth what the way it reached you is worth. Keep it, or
send it, apart from the release: whoever replaces a release replaces
what lies beside it. A signature shows who vouches for these bytes. It
does not show that the measurements are right, that this is the latest
report, or when it was signed.
"""
