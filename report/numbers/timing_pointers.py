"""Pointers into a timing record: how each value came to be, its unit, and where it is shown."""

from collections.abc import Sequence

from report.exhibit import Kind
from report.numbers import precision_pointers


def kind(document: str, keys: Sequence[str]) -> Kind:
    if not document.endswith("/config") and keys[0] in {"case", "accuracy"}:
        return "given"
    return "given" if "orders" in keys else precision_pointers.kind(document, keys)


def unit(keys: Sequence[str]) -> str:
    if "samples_ns" in keys:
        return "ns"
    return "s" if keys[-1].endswith("_s") else precision_pointers.unit(keys)


def section(part: str, keys: Sequence[str]) -> str:
    """The section of a record's page, or the row of a program or of a process."""
    if part:
        return {"config": "request"}.get(part, part)
    if keys[0] == "programs" and len(keys) > 1:
        return f"program-{keys[1]}"
    if keys[0] == "processes" and len(keys) > 1:
        return f"process-{keys[1]}"
    return {"case": "request", "timer": "floor", "accuracy": "programs", "scope": "request"}.get(
        keys[0], keys[0]
    )
