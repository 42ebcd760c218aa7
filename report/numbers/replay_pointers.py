"""Pointers into a replay: how each value came to be, its unit, and where it is shown.

What was replayed is documented, whoever measured it: only what was worked out again is ours.
"""

from collections.abc import Sequence

from report.exhibit import Kind

_GIVEN = {"request", "scope", "schema", "lab", "pinned_core"}
_STORED = {"stored_bytes", "scale_bytes", "max_abs_accumulator", "output_dtype"}


def kind(document: str, keys: Sequence[str]) -> Kind:
    """Given, documented, computed, measured, or a compiler's estimate."""
    if "/" in document or keys[0] in _GIVEN:
        return "given"
    match list(keys):
        case ["replayed", *_] | ["fields" | "setting", *_, "recorded"]:
            return "documented"
        case ["fields", _, field, "here", *_] if field in _STORED or field.endswith("sha256"):
            return "computed"
        case ["fields", _, field, "here", *_] if field.endswith("_bytes"):
            return "estimated"
        case ["fields", _, _, "here", *_]:
            return "measured"
        case ["accumulation", _, "here"] | ["determinism", *_]:
            return "measured"
    return "computed"


def unit(keys: Sequence[str]) -> str:
    if keys[0] != "fields" or keys[-1] not in ("recorded", "here", "difference", "tolerance"):
        return ""
    ends = {"_bytes": "B", "_s": "s", "_db": "dB"}
    return next((name for end, name in ends.items() if keys[2].endswith(end)), "")


def section(part: str, keys: Sequence[str]) -> str:
    """The place on the record's page that shows the value at `keys`."""
    if part:
        return {"config": "replayed"}.get(part, part)
    match list(keys):
        case ["fields", result, field, *_]:
            return f"{result}-{field}"
        case ["fields" | "accumulation" | "determinism" as group, result, *_]:
            return f"{result}-{group}".removesuffix("-fields")
        case ["setting", fact, *_]:
            return f"machine-{fact}"
        case ["counts", *_]:
            return "verdict"
        case ["determinism" | "accumulation" as group, *_]:
            return group
    return {"fields": "verdict", "setting": "machine", "pinned_core": "determinism"}.get(
        keys[0], "replayed"
    )
