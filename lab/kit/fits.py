"""The largest batch that still compiles for a target, by bisection.

It is taken that a larger batch never needs less memory. Only a refusal for want of memory
counts as too large; any other end of a compilation ends the search with its reason.
"""

from collections.abc import Callable, Mapping
from typing import Any

OUT_OF_MEMORY = "RESOURCE_EXHAUSTED"


def verdict(answer: Mapping[str, Any]) -> bool | None:
    """Whether a compiled program fits; None when the compiler did not say."""
    if answer["status"] == "compiled":
        return True
    refused = answer["status"] == "refused" and OUT_OF_MEMORY in answer["message"]
    return False if refused else None


def largest(
    compiles: Callable[[int], Mapping[str, Any]], up_to: int, *, multiple_of: int = 1
) -> dict[str, object]:
    """Search the multiples up to `up_to`: double until one is too large, then halve the gap."""
    probes: dict[int, Mapping[str, Any]] = {}
    last = up_to // multiple_of
    fitting, too_large, reason = 0, last + 1, None
    tried = 1
    while too_large - fitting > 1 and reason is None:
        batch = tried * multiple_of
        probes[batch] = answer = compiles(batch)
        fits = verdict(answer)
        if fits is None:
            reason = f"batch {batch}: {answer['status']}: {answer.get('message', '')}"
        elif fits:
            fitting = tried
        else:
            too_large = tried
        doubling = too_large > last
        tried = min(2 * fitting, last) if doubling else (fitting + too_large) // 2
    found, refused = fitting * multiple_of, too_large * multiple_of
    return {
        "largest": None if reason else found,
        "largest_reason": reason,
        "searched_to": up_to,
        "multiple_of": multiple_of,
        "limited_by_search": reason is None and fitting == last,
        "memory_bytes": probes[found].get("memory_bytes") if found in probes else None,
        "refusal": _refusal(probes.get(refused)),
        "probes": [_probe(size, probes[size]) for size in sorted(probes)],
    }


def _probe(batch: int, answer: Mapping[str, Any]) -> dict[str, object]:
    memory = answer.get("memory_bytes") or {}
    return {
        "batch": batch,
        "status": answer["status"],
        "peak_bytes": memory.get("peak"),
        "sizes": answer.get("sizes"),
    }


def _refusal(answer: Mapping[str, Any] | None) -> dict[str, object] | None:
    if answer is None:
        return None
    return {"message": answer["message"], "sizes": answer.get("sizes")}
