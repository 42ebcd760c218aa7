"""Pointers into a record of a lab that is not known here: kinds and units by the names of keys."""

import re
from collections.abc import Sequence
from urllib.parse import quote

from report.exhibit import Kind

_UNITS = {
    **{"_bytes_per_s": "B/s", "_per_s": ""},
    **{"_s": "s", "_ms": "ms", "_us": "µs", "_ns": "ns", "_bytes": "B", "_db": "dB"},
}
"""A name ends in its unit; the first that fits. A rate of anything but bytes has none."""
_TIMES = ("_s", "_ms", "_us", "_ns")


def kind(document: str, keys: Sequence[str]) -> Kind:
    """A key `computed` or `estimated` says so of all below it; what was asked for is given."""
    if document.endswith("/config") or keys[0] in {"request", "scope", "schema", "lab"}:
        return "given"
    if "estimated" in keys or "compiler_memory_bytes" in keys:
        return "estimated"
    return "computed" if "computed" in keys or keys[-1].endswith("sha256") else "measured"


def unit(keys: Sequence[str]) -> str:
    named = [key for key in reversed(keys) if not key.isdecimal()][:1]
    return next((unit for end, unit in _UNITS.items() if named and named[0].endswith(end)), "")


def is_timed(keys: Sequence[str]) -> bool:
    """Whether a value is a time, a rate, or below either: it is another one each time."""
    return any(key.endswith(_TIMES) for key in keys)


def section(part: str, keys: Sequence[str]) -> str:
    """The place on the record's page: the row of a value, or the section of a whole part."""
    if part:
        return {"config": "request"}.get(part, part)
    if named := row(keys):
        return named
    return "request" if keys[0] in {"schema", "lab", "request"} else place(keys[0])


def place(part: str) -> str:
    """The id of the section that shows one part of a report."""
    return f"part-{re.sub('[^a-z0-9]+', '-', part.lower()).strip('-')}"


def row(keys: Sequence[str]) -> str:
    """The id of the row that shows the value at `keys`, written as a pointer writes them.

    All entries of a list are at the row where it begins; a whole part of a report has none.
    """
    named = list(keys)
    while named and named[-1].isdecimal():
        named.pop()
    path = "/".join(quote(key, safe="").replace("~", "~7E") for key in named)
    return f"at/{path}".replace("%", "~") if len(named) > 1 else ""
