"""Pointers into a representations record: origin, unit and place of each value."""

from collections.abc import Sequence

from report.exhibit import Kind

_GIVEN = {"request", "scope", "schema", "lab", "policies"}
_WORKED_OUT = {
    "stored_bytes",
    "reference",
    "inputs",
    "representation",
    "integer_range",
    "scales",
    "codes_bound",
    "parts",
    "x",
    "w",
    "denominator",
}
"""Made on the host from inputs and codes alone, so no measurement."""


def kind(document: str, keys: Sequence[str]) -> Kind:
    """How a recorded field came to be. A compiler's figures are estimates, never measurements."""
    if "compiler_memory_bytes" in keys:
        return "estimated"
    if document.endswith("/config") or keys[0] in _GIVEN or "requested" in keys:
        return "given"
    if _WORKED_OUT & set(keys) or keys[-1].endswith("sha256"):
        return "computed"
    bound_itself = "bound" in keys and keys[-1] in {"relative_l2", "outputs", "unbounded"}
    return "computed" if bound_itself else "measured"


def unit(keys: Sequence[str]) -> str:
    if {"stored_bytes", "compiler_memory_bytes"} & set(keys):
        return "B"
    return "bit" if keys[-1] == "headroom_bits" else ""


_ONE = {"policies": "policy", "programs": "program"}

_BY_RESULT = {
    "anatomy": "anatomy",
    "max_abs_error": "anatomy",
    "bound": "bound",
    "codes_bound": "bound",
    "counters": "counters",
    "scales": "counters",
    "status": "anatomy",
}
"""Tables of the record's page that have a row for each result."""


def section(part: str, keys: Sequence[str]) -> str:
    """The row of the record's page that shows the field, or the section of its document."""
    if part:
        return {"config": "request"}.get(part, part)
    if keys[0] in _ONE and len(keys) > 1:
        return f"{_ONE[keys[0]]}-{keys[1]}"
    if keys[0] != "results" or len(keys) < 3:
        return "inputs" if keys[0] == "reference" else keys[0]
    policy = keys[1].partition("-")[2]
    if keys[2] == "stored_bytes":
        return f"bytes-{policy}"
    if keys[2] == "integer_range" and len(keys) > 3:
        return f"range-{keys[1]}"
    table = _BY_RESULT.get(keys[2])
    return f"{table}-{keys[1]}" if table else f"error-{policy}"
