"""The status list: which releases are superseded or withdrawn, since when and why.

One signed JSON file for all releases of a signer. Every change gives it the next number, so that
a reader who knows a newer list refuses an older one. It is small and works offline: whoever has
the list and its signature can hand both on.
"""

from hashlib import sha256
from datetime import date as Day
from pathlib import Path
from typing import Any

from report.archive.release import as_json, opened
from report.archive.seal import ssh_sign
from report.archive.verify import NAMESPACE, check_signature, parse_json
from report.errors import ContentFault, UsageFault


SCHEMA = "assay/status/1"


def declare(
    place: Path, folder: Path, *, state: str, reason: str, date: str, by: str | None, key: Path
) -> int:
    """Add one release to the list at `place`, sign the list, and return its number."""
    try:
        Day.fromisoformat(date)
    except ValueError:
        raise UsageFault(f"{date!r} is no day.", hint="Write it as 2026-01-31.") from None
    if (state == "superseded") != bool(by):
        raise UsageFault("A superseded release needs --by, and a withdrawn one has none.")
    release = opened(folder)
    about = release.json("release.json")
    digest = sha256(release.manifest).hexdigest()
    known = read(place)
    entry = {
        "release": about["release"],
        "manifest": digest,
        "state": state,
        "date": date,
        "reason": reason,
        "by": by,
    }
    kept = [other for other in known["releases"] if other["manifest"] != digest]
    text = as_json(
        {
            "schema": SCHEMA,
            "number": known["number"] + 1,
            "date": date,
            "releases": sorted([*kept, entry], key=lambda each: str(each["release"])),
        }
    )
    signature = ssh_sign(text, key, NAMESPACE.format("status"))
    check_signature(signature, text, NAMESPACE.format("status"))
    for path, data in ((place, text), (place.with_name(f"{place.name}.sig"), signature)):
        part = path.with_name(f".{path.name}.part")
        part.write_bytes(data)
        part.replace(path)
    return int(known["number"]) + 1


def read(place: Path) -> dict[str, Any]:
    """The list as it is, or an empty one where there is none."""
    if not place.exists():
        return {"number": 0, "date": "", "releases": []}
    try:
        found = parse_json(place.read_bytes())
        if found["schema"] != SCHEMA or not isinstance(found["number"], int):
            raise ValueError("another schema")
        return dict(found, releases=list(found["releases"]))
    except (ValueError, KeyError, TypeError) as error:
        raise ContentFault(f"{place} is not a status list: {error}.") from None
