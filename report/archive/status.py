"""The status list: which releases are superseded or withdrawn, since when and why.

One signed JSON file for all releases of a signer. Every change gives it the next number, so that
a reader who knows a newer list refuses an older one. It is small and works offline: whoever has
the list and its signature can hand both on.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import date as day
from hashlib import sha256
from pathlib import Path
from typing import Any, Literal

from report.archive.release import about, as_json, opened
from report.archive.seal import checked_sign, signers
from report.archive.verify import (
    NAMESPACE,
    TIERS,
    UNKNOWN,
    Trust,
    Unchecked,
    check_signature,
    fingerprint,
    parse_json,
    printable,
)
from report.errors import ContentFault, UsageFault
from report.folder import put

SCHEMA = "assay/status/1"
_WORSE = ("current", "superseded", "withdrawn")
LIMIT = 1 << 20
"""In bytes: how long a list may be, so that reading one takes no time."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """What becomes of a release."""

    state: Literal["superseded", "withdrawn"]
    reason: str
    date: str
    by: str
    """The release that takes the place of a superseded one; empty for a withdrawn one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
    """What one signed list says of one release."""

    key: str
    """Whose list it is."""
    number: int
    digest: str
    """SHA-256 of the list."""
    date: str
    """Of the list: what happened later it cannot know."""
    status: dict[str, Any]
    note: str


def with_lists(places: Sequence[str]) -> Callable[[dict[str, Any], Trust], dict[str, Any]]:
    """What turns a verdict into one that knows the newest list of `places`, once all hold."""

    def knowing(verdict: dict[str, Any], trust: Trust) -> dict[str, Any]:
        if verdict["release"] is None or verdict["exit"] == 10:
            return verdict
        notes = verdict["notes"][:-1]  # the last one tells how far the release itself knows
        try:
            newest, older = _newest([_say(place, verdict, trust) for place in places])
        except Unchecked as trouble:
            said = f"Could not check: {trouble}"
            return {**verdict, "exit": 12, "tier": TIERS[12], "sentence": said, "notes": notes}
        withdrawn = newest.status["state"] == "withdrawn" and verdict["exit"] == 0
        notes += [f"Older, and not asked: status list {each}." for each in older]
        notes += [] if withdrawn else [newest.note]
        notes += [f"Status unknown after {newest.date}."]
        verdict = {**verdict, "status": newest.status, "notes": notes}
        if not withdrawn:
            return verdict
        said = f"Files match their list. The signature holds, but the report was {newest.note}"
        return {**verdict, "exit": 11, "tier": TIERS[11], "sentence": said}

    return knowing


def _newest(lists: Sequence[Said]) -> tuple[Said, list[int]]:
    """The newest list of each signer, or the one of them that says worst; numbers of the older."""
    newest: dict[str, Said] = {}
    for said in sorted(lists, key=lambda each: each.number):
        before = newest.get(said.key, said)
        if (before.number, before.digest) != (said.number, said.digest) and (
            before.number == said.number or before.date > said.date
        ):
            raise Unchecked(
                f"status lists {before.number} and {said.number} contradict each other."
            )
        newest[said.key] = said
    worst = max(newest.values(), key=lambda said: _WORSE.index(said.status["state"]))
    asked = {said.digest for said in newest.values()}
    return worst, sorted({said.number for said in lists if said.digest not in asked})


def _say(place: str, verdict: dict[str, Any], trust: Trust) -> Said:
    """What the list at `place` says of the release that `verdict` is on."""
    namespace = NAMESPACE.format("status")
    try:
        text, signature = _own(place), _own(f"{place}.sig")
        key = check_signature(signature, text, namespace)
        number, day_of_list, entries = _entries(text, verdict["manifest"])
    except (ValueError, KeyError, TypeError, RecursionError):
        raise Unchecked("the status list is not one, or its signature does not hold.") from None
    _check_signer(key, namespace, verdict["author"]["key"], trust)
    least = verdict["knows"]["number"]
    if number < least:
        than = f"the one this release knows ({least})"
        raise Unchecked(f"the status list is older (number {number}) than {than}.")
    if not entries:
        note = f"Status list {number} of {day_of_list} does not name this report."
        status = {"state": "current", "until": day_of_list, "reason": None}
    else:
        worst = ([entry for entry in entries if entry["state"] == "withdrawn"] or entries)[-1]
        note = "Superseded by {by} on {date}: {reason}".format(**worst)
        if worst["state"] == "withdrawn":
            note = "withdrawn on {date}: {reason}".format(**worst)
        status = {"state": worst["state"], "until": worst["date"], "reason": worst["reason"]}
    return Said(
        key=fingerprint(key),
        number=number,
        digest=sha256(text).hexdigest(),
        date=day_of_list,
        status=status,
        note=note,
    )


def _check_signer(key: bytes, namespace: str, author: str | None, trust: Trust) -> None:
    """Only the author takes a release back, or whom a signers file allows to sign status lists."""
    judged = trust.judge(key, namespace)
    if not judged["good"]:
        why = judged["said"].removeprefix("It is signed")
        raise Unchecked(
            "the status list is signed by a key you have not pinned."
            if judged["said"] == UNKNOWN
            else f"the status list is signed{why}"
        )
    if judged["key"] in trust.pins and judged["key"] != author:
        raise Unchecked("the status list is signed by a key that is not this release's author's.")


def _own(place: str) -> bytes:
    try:
        with Path(place).open("rb") as stream:
            return stream.read(LIMIT + 1)
    except OSError as error:
        raise Unchecked(f"{printable(place)} cannot be read: {error.strerror}.") from None


def _entries(text: bytes, manifest: str) -> tuple[int, str, list[dict[str, str]]]:
    """The number and the date of a list, and what it says of one release."""
    told = parse_json(text)
    if told["schema"] != SCHEMA or type(told["number"]) is not int or len(text) > LIMIT:
        raise ValueError("another schema")
    entries = [
        {name: printable(str(entry[name])) for name in ("state", "date", "reason", "by")}
        for entry in told["releases"]
        if entry["manifest"] == manifest
    ]
    if {entry["state"] for entry in entries} - {"superseded", "withdrawn"}:
        raise ValueError("a state that nobody defined")
    return told["number"], printable(told["date"]), entries


def declare(place: Path, folder: Path, change: Change, key: Path) -> str:
    """Add one change to the list at `place` and sign the list with `key`; what to tell of it."""
    _check(change)
    release = opened(folder)
    digest = sha256(release.manifest).hexdigest()
    none: dict[str, Any] = {"number": 0, "date": "", "releases": []}
    known = read(place) if place.exists() else none
    if change.date < known["date"]:
        raise UsageFault(f"{place} is of {known['date']}; a later list is not of {change.date}.")
    entry = {
        "release": about(release)["release"],
        "manifest": digest,
        "state": change.state,
        "date": change.date,
        "reason": change.reason,
        "by": change.by or None,
    }
    others = [other for other in known["releases"] if other["manifest"] != digest]
    number = int(known["number"]) + 1
    text = as_json(
        {
            "schema": SCHEMA,
            "number": number,
            "date": change.date,
            "releases": sorted([*others, entry], key=lambda each: str(each["release"])),
        }
    )
    signature, public = checked_sign(text, key, NAMESPACE.format("status"))
    for path, data in ((place, text), (place.with_name(f"{place.name}.sig"), signature)):
        put(path, data)
    told = f"{place}: list {number}, signed. Publish it with {place}.sig."
    author = signers(release).get("author")
    if author != fingerprint(public):
        told += (
            f"\nThe author of {folder} signed with {author or 'no key'}, and this list is by"
            f" {fingerprint(public)}: it counts only for readers whose signers file lets that key"
            " sign status lists."
        )
    return told


def read(place: Path) -> dict[str, Any]:
    """The list as it is; `UsageFault` where there is none, `ContentFault` for anything else."""
    try:
        found = parse_json(place.read_bytes())
        if found["schema"] != SCHEMA or type(found["number"]) is not int or found["number"] < 1:
            raise ValueError
        releases = [{**each, "manifest": str(each["manifest"])} for each in found["releases"]]
        return {
            "number": found["number"],
            "date": day.fromisoformat(found["date"]).isoformat(),
            "releases": releases,
        }
    except OSError as error:
        raise UsageFault(f"{place} cannot be read: {error.strerror}.") from None
    except (ValueError, LookupError, TypeError, AttributeError):
        raise ContentFault(
            f"{place} is no status list.",
            hint="One is made by: python build.py status LIST --release DIR --state ...",
        ) from None


def _check(change: Change) -> None:
    try:
        day.fromisoformat(change.date)
    except ValueError:
        raise UsageFault(f"{change.date!r} is no day.", hint="Write it as 2026-01-31.") from None
    if (change.state == "superseded") != bool(change.by):
        raise UsageFault("A superseded release needs --by, and a withdrawn one has none.")
    if change.by and not re.fullmatch("[a-z0-9-]+-[0-9]+", change.by):
        raise UsageFault(f"{change.by!r} is no release.", hint="Write its name, such as mine-2.")
