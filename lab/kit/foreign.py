"""Results that somebody else published, with another lab, in a report of schema 1.

Such a file lists results, each with its case, mode, errors, bytes, memory and input hash. Its
lab's source is not ours to hold, so nothing in it can be checked but its shape and its own sums.
Its times belong to a machine that nobody here has seen.
"""

import math
import re
import statistics
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from lab.kit.strict_json import NotEvidence

MAX_BYTES = 2**20
SCHEMA = 1
CASES, MODES = ("balanced", "outlier"), ("fp32", "bf16", "int8")
OUTLIER_RULE = "multiply input feature zero by 30 for every row"

MAX_TEXT, MAX_SAMPLES, MAX_DIMENSION = 200, 10_000, 2048
MAX_SHOWN = 40
"""Faults told in full; the others are counted."""

HEXADECIMAL = re.compile(r"[0-9a-f]{64}")
MEMORY = {
    "argument": "argument_size_in_bytes",
    "output": "output_size_in_bytes",
    "temporary": "temp_size_in_bytes",
    "alias": "alias_size_in_bytes",
}
"""The compiler's figures, as our reports and as theirs call them."""

_TEXTS = (
    *("executed_at", "python_version", "host_system", "scope", "platform", "device_kind"),
    *("jax_version", "numpy_version", "source_sha256", "reference", "timing_scope"),
)
_COUNTS = ("local_device_count", "global_device_count", "process_count")
_REPORT = {"schema", "dimensions", "outlier_rule", "results", *_TEXTS, *_COUNTS}
_RESULT = {
    *("case", "mode", "max_absolute_error", "relative_l2_error", "median_ms", "samples_ms"),
    *("stored_operand_bytes", "output_dtype", "compiler_memory_estimate", "input_sha256"),
    "integer_accumulation_checked",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class ForeignReport:
    """What the file says, found well formed and true to its own sums."""

    batch: int
    features: int
    outputs: int
    facts: Mapping[str, str | int]
    """Where and with what it was made, in its own words."""
    results: Mapping[str, Mapping[str, Any]]
    """By `case-mode`, as in the file."""


def read(value: Mapping[str, Any], where: str) -> ForeignReport:
    """The report in a parsed file, or one refusal that names every fault in it."""
    look = _Look()
    if type(value.get("schema")) is not int or value["schema"] != SCHEMA:
        look.fault("schema", value.get("schema"), str(SCHEMA))
    look.keys("", value, _REPORT)
    for key in _TEXTS:
        look.text(key, value.get(key))
    for key in _COUNTS:
        look.count(key, value.get(key))
    if value.get("outlier_rule") != OUTLIER_RULE:
        look.fault("outlier_rule", value.get("outlier_rule"), repr(OUTLIER_RULE))
    look.digest("source_sha256", value.get("source_sha256"))
    dimensions = look.mapping("dimensions", value.get("dimensions"))
    look.keys("dimensions", dimensions, {"batch", "features", "outputs"})
    for key in ("batch", "features", "outputs"):
        look.count(f"dimensions/{key}", dimensions.get(key), low=1, high=MAX_DIMENSION)
    results = value.get("results")
    if not isinstance(results, list) or not 1 <= len(results) <= len(CASES) * len(MODES):
        look.fault("results", results, "a list of 1 to 6 results")
        results = []
    by_name: dict[str, Mapping[str, Any]] = {}
    for index, each in enumerate(results):
        result = look.mapping(f"results/{index}", each)
        name = _result(look, f"results/{index}", result)
        if name and name in by_name:
            look.fault(f"results/{index}", name, "each case and mode once")
        by_name[name] = result
    look.finish(where)
    return ForeignReport(
        **dimensions,
        facts={key: value[key] for key in (*_TEXTS, *_COUNTS)},
        results=by_name,
    )


def _result(look: "_Look", at: str, result: Mapping[str, Any]) -> str:
    """Check one result; its `case-mode`, or nothing when it has none."""
    look.keys(at, result, _RESULT)
    for key in ("max_absolute_error", "relative_l2_error", "median_ms"):
        look.number(f"{at}/{key}", result.get(key))
    look.count(f"{at}/stored_operand_bytes", result.get("stored_operand_bytes"), low=1)
    look.text(f"{at}/output_dtype", result.get("output_dtype"))
    look.digest(f"{at}/input_sha256", result.get("input_sha256"))
    checked = result.get("integer_accumulation_checked")
    if not isinstance(checked, bool):
        look.fault(f"{at}/integer_accumulation_checked", checked, "true or false")
    memory = look.mapping(f"{at}/compiler_memory_estimate", result.get("compiler_memory_estimate"))
    look.keys(f"{at}/compiler_memory_estimate", memory, set(MEMORY.values()))
    for key in MEMORY.values():
        look.count(f"{at}/compiler_memory_estimate/{key}", memory.get(key))
    samples = result.get("samples_ms")
    if (
        not isinstance(samples, list)
        or not 1 <= len(samples) <= MAX_SAMPLES
        or not all(map(_is_number, samples))
    ):
        look.fault(f"{at}/samples_ms", samples, "a list of finite numbers, zero or more")
    elif _is_number(median := result.get("median_ms")) and not math.isclose(
        median, statistics.median(samples), rel_tol=1e-9
    ):
        look.fault(f"{at}/median_ms", median, f"{statistics.median(samples)!r}, of its samples")
    for key, known in (("case", CASES), ("mode", MODES)):
        if result.get(key) not in known:
            look.fault(f"{at}/{key}", result.get(key), f"one of {', '.join(known)}")
            return ""
    return f"{result['case']}-{result['mode']}"


class _Look:
    """Collects faults, each with its place, what was found and what was expected."""

    def __init__(self) -> None:
        self.faults: list[str] = []

    def fault(self, at: str, found: object, expected: str) -> None:
        told = "nothing" if found is None else f"{found!r:.60}"
        self.faults.append(f"{at}: {told}, expected {expected}")

    def finish(self, where: str) -> None:
        if self.faults:
            shown = self.faults[:MAX_SHOWN]
            if len(self.faults) > MAX_SHOWN:
                shown.append(f"and {len(self.faults) - MAX_SHOWN} more")
            lines = "\n".join(f"  {line}" for line in shown)
            raise NotEvidence(f"{where} is not a report of schema {SCHEMA}:\n{lines}")

    def keys(self, at: str, found: Mapping[str, Any], known: set[str]) -> None:
        for extra in sorted(found.keys() - known):
            self.fault(f"{at}/{extra}".lstrip("/"), found[extra], "no such field")

    def mapping(self, at: str, found: object) -> dict[str, Any]:
        if isinstance(found, dict):
            return found
        self.fault(at, found, "an object")
        return {}

    def text(self, at: str, found: object) -> None:
        if not (isinstance(found, str) and 0 < len(found) <= MAX_TEXT and found.isprintable()):
            self.fault(at, found, f"a text on one line, at most {MAX_TEXT} characters")

    def digest(self, at: str, found: object) -> None:
        if not (isinstance(found, str) and HEXADECIMAL.fullmatch(found)):
            self.fault(at, found, "a SHA-256 in lower-case digits")

    def number(self, at: str, found: object) -> None:
        if not _is_number(found):
            self.fault(at, found, "a finite number, zero or more")

    def count(self, at: str, found: object, *, low: int = 0, high: int = 2**53 - 1) -> None:
        if type(found) is not int or not low <= found <= high:
            self.fault(at, found, f"a whole number from {low:,} to {high:,}")


def _is_number(value: object) -> bool:
    return (
        isinstance(value, int | float)
        and not isinstance(value, bool)
        and math.isfinite(value)
        and value >= 0
    )
