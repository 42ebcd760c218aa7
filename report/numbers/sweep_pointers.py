"""Pointers into a sweep record: how each value came to be, its unit, and where it is shown."""

from collections.abc import Sequence

from report.exhibit import Kind

_ASKED = {"request", "scope", "schema", "lab", "policies"}
_COUNTED = {
    *("stored_bytes", "program", "kept", "inputs", "output"),
    *("operations", "rescale_flop", "moved_bytes", "array_bytes", "arrays", "shape", "work"),
}
"""Fields that follow from a shape, a format or a text alone."""
_BYTES = {"stored_bytes", "compiler_memory_bytes", "moved_bytes", "array_bytes", "bytes"}


def kind(document: str, keys: Sequence[str]) -> Kind:
    """How a recorded field came to be. A compiler's figures are estimates, never measurements."""
    if any(key.startswith("compiler_") for key in keys):
        return "estimated"
    if document.endswith("/config") or keys[0] in _ASKED:
        return "given"
    if keys[0] == "order" or _COUNTED & set(keys) or keys[-1].endswith("sha256"):
        return "computed"
    return "measured"


def unit(keys: Sequence[str]) -> str:
    if keys[-1].endswith("_reason") or "warm_up_calls" in keys:
        return ""
    if _BYTES & set(keys) or keys[-1] == "compiler_accessed_bytes":
        return "B"
    if {"timing_s", "timing_floor_s"} & set(keys):
        return "s"
    if keys[-1] == "operations":
        return "OP" if any(key.startswith("int8-") for key in keys) else "FLOP"
    return "FLOP" if keys[-1] == "rescale_flop" else ""


def section(part: str, keys: Sequence[str]) -> str:
    """The place on the record's page that shows the value at `keys`."""
    if part:
        return {"config": "request"}.get(part, part)
    match list(keys):
        case ["results", point, "timing_s", *_]:
            return f"{point}-timing"
        case ["results", point, "stored_bytes" | "output", *_]:
            return f"{point}-bytes"
        case ["results", point, field, *_] if field.startswith("compiler_"):
            return f"{point}-bytes"
        case ["results", point, *_]:
            return point
        case ["probe", "stream" | "matrix", row, *_]:
            return row
        case ["machine" | "probe" | "timing_floor_s" | "caches" | "caches_reason", *_]:
            return "ceilings"
        case ["results"]:
            return "sweep"
    return "request"
