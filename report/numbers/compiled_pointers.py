"""Pointers into a preflight record: how each value came to be, its unit, and where it is shown.

No value of such a record is a measurement. What follows from shapes was computed, what was
asked for was given, and everything else is a compiler's word: an estimate.
"""

from collections.abc import Sequence

from report.exhibit import Kind

_ASKED = {"request", "scope", "schema", "lab", "policies"}
"""Parts of a report that hold what was asked for, from top to bottom."""
_ASKED_WITHIN = {("staircase", "base"), ("staircase", "sizes")}
"""The same within a part that holds answers as well."""
_COUNTED = {
    *("elements", "ideal_bits", "ideal_bytes", "nbytes", "scale_bytes"),
    *("formula_cache_bytes_per_sequence", "reference", "flop"),
}
"""Fields that follow from a shape or a text alone."""
_UNITS = {
    **dict.fromkeys(("ideal_bytes", "nbytes", "scale_bytes", "tiled_bytes"), "B"),
    **dict.fromkeys(("peak_bytes", "bytes", "bytes_accessed"), "B"),
    "formula_cache_bytes_per_sequence": "B",
    "ideal_bits": "bit",
    "compile_s": "s",
    "lower_s": "s",
}


def kind(document: str, keys: Sequence[str]) -> Kind:
    """Estimated, computed or given; never measured, since nothing was run."""
    asked = keys[0] in _ASKED or tuple(keys[:2]) in _ASKED_WITHIN
    if "/" in document or asked or {"requested", "inputs"} & set(keys[1:-1]):
        return "given"
    if (keys[-1] in _COUNTED and "cost" not in keys) or keys[-1].endswith("sha256"):
        return "computed"
    return "estimated"


def unit(keys: Sequence[str]) -> str:
    match list(keys):
        case (
            ["staircase", "policies", *_]
            | ["ledger", *_, "argument"]
            | ["ledger", _, "totals", "argument" | "output", _]
            | [*_, "memory_bytes" | "tiled", _]
        ):
            return "B"
    return _UNITS.get(keys[-1], "")


def section(part: str, keys: Sequence[str]) -> str:
    """The place on the record's page that shows the value at `keys`."""
    if part:
        return {"config": "request"}.get(part, part)
    match list(keys):
        case ["programs" | "steps" as group, program, *_]:
            return f"{group}-{program}"
        case ["ledger", product, *_]:
            return f"ledger-{product}"
        case ["instructions", "shapes" | "programs", shape, *rest]:
            return "-".join(["instructions", shape, *rest[:1]])
        case ["targets", target, *_]:
            return f"target-{target}"
        case ["fits", program, *_]:
            return f"fits-{program}"
        case ["policies" | "instructions" | "staircase" | "ledger" | "fits" as group, *_]:
            return group
    return "targets" if keys[0] == "compiler" else "request"
