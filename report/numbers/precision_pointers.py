"""Pointers into a precision record: how each value came to be, its unit, and where it is shown."""

from collections.abc import Sequence

from report.exhibit import Kind


def kind(document: str, keys: Sequence[str]) -> Kind:
    """How a recorded field came to be. A compiler's figures are estimates, never measurements."""
    if "compiler_memory_bytes" in keys:
        return "estimated"
    if document.endswith("/config") or keys[0] in {"request", "scope", "schema", "lab", "cluster"}:
        return "given"
    if {"stored_bytes", "reference", "inputs", "program"} & set(keys) or keys[-1].endswith(
        "sha256"
    ):
        return "computed"
    return "given" if "requested" in keys else "measured"


def unit(keys: Sequence[str]) -> str:
    if {"stored_bytes", "compiler_memory_bytes"} & set(keys):
        return "B"
    if {"timing_s", "timing_floor_s"} & set(keys):
        return "s"
    suffixes = {"_ns": "ns", "_db": "dB"}
    return next((name for end, name in suffixes.items() if keys[-1].endswith(end)), "")


_TABLES = {
    "stored_bytes": "-bytes",
    "compiler_memory_bytes": "-compiler",
    "timing_s": "-timing",
    "quantization": "-quantization",
}
"""Fields of a result that have a table of their own on its record's page; the others: errors."""


def section(part: str, keys: Sequence[str]) -> str:
    """The section of a record's page: a result's row that shows the field, or the document's."""
    if part:
        return {"config": "request"}.get(part, part)
    if keys[0] != "results" or len(keys) == 1:
        return keys[0]
    return keys[1] + (_TABLES.get(keys[2], "") if len(keys) > 2 else "")
