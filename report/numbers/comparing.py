"""Two records side by side: what differs, and what a difference may be credited to.

Keep the baseline and change one factor. When more than the declared factor differs, the
differences are still shown, all of them, and the result is credited to nothing.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from report.errors import NumericalFailure, UsageFault
from report.numbers.meters import Result, read_off
from report.record import Record

FACTORS: Mapping[str, tuple[str, ...]] = {
    "platform": ("request/platform", "environment/platform", "environment/devices", "scope"),
    "shape": ("request/batch", "request/batches", "request/features", "request/outputs"),
    "steps": ("request/steps", "request/processes", "request/rounds", "request/samples"),
    "dispatch": ("request/dispatch", "environment/flags/jax_cpu_enable_async_dispatch"),
    "policies": ("request/policies",),
    "inputs": ("request/seed", "request/outlier_feature", "request/outlier_factor", "inputs"),
    "versions": ("environment/versions", "environment/blas"),
    "machine": tuple(
        f"environment/{part}"
        for part in ("cpu", "operating_system", "threads", "limits", "clock", "virtual_machine")
    ),
    "flags": ("environment/flags",),
    "lab": ("lab", "schema", "sources"),
}
"""What one may mean to change, and the recorded fields that this changes.

A change of shape also changes the inputs; a change of platform also the machine.
"""

FOLLOWS: Mapping[str, tuple[str, ...]] = {"shape": ("inputs",), "platform": ("machine", "flags")}
"""What cannot help changing with a factor."""

_PASSING = (
    *("recorded_at", "load_average", "clock/tick_s", "redacted"),
    *("trace", "request/trace", "device_memory"),
    *("request/accuracy", "request/limit_s"),
)
"""Recorded, and different each time; no factor of any result."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """One field that is not the same: its factor, and both values as text."""

    factor: str
    field: str
    one: str
    two: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """Two records side by side."""

    names: tuple[str, str]
    factor: str
    differences: tuple[Difference, ...]
    results: tuple[Result, ...]

    @property
    def unexplained(self) -> tuple[Difference, ...]:
        """Differences that the declared factor does not bring about."""
        allowed = {self.factor, *FOLLOWS.get(self.factor, ())}
        return tuple(d for d in self.differences if d.factor not in allowed)

    @property
    def changed(self) -> bool:
        """Whether the declared factor differs at all."""
        return any(difference.factor == self.factor for difference in self.differences)

    @property
    def credited(self) -> bool:
        return self.changed and not self.unexplained

    def told(self) -> str:
        """Both columns, differences before results, and what may be concluded."""
        rows = [("", *self.names)]
        rows += [(d.field, d.one, d.two) for d in self.differences]
        rows += [(r.name, str(r.one), f"{r.two}  {r.words}".rstrip()) for r in self.results]
        widths = [max(len(row[column]) for row in rows) for column in (0, 1)]
        lines = [f"{a:{widths[0]}}  {b:{widths[1]}}  {c}".rstrip() for a, b, c in rows]
        return "\n".join([*lines, "", self.verdict()])

    def verdict(self) -> str:
        if not self.factor:
            return "No factor was declared, so nothing is credited: say --factor NAME."
        if not self.changed:
            return f"The declared factor, {self.factor}, is the same in both: nothing to credit."
        if self.unexplained:
            others = ", ".join(difference.field for difference in self.unexplained)
            return f"Not credited to {self.factor}, since more differs: {others}."
        return f"Only {self.factor} differs: the results may be credited to it."

    def facts(self) -> dict[str, object]:
        return {
            "names": self.names,
            "factor": self.factor or None,
            "credited": self.credited,
            "differences": [[d.factor, d.field, d.one, d.two] for d in self.differences],
            "results": [[r.name, str(r.one), str(r.two), r.words] for r in self.results],
        }

    @property
    def exit_code(self) -> int:
        """That of a failed check when a factor was declared and cannot be credited."""
        return 0 if self.credited or not self.factor else NumericalFailure.exit_code


def compare(one: Record, two: Record, factor: str = "") -> Comparison:
    """Set two records of the same lab side by side."""
    if factor and factor not in FACTORS:
        raise UsageFault(f"There is no factor {factor!r}.", hint=f"Factors: {', '.join(FACTORS)}.")
    left, right = dict(_fields(one)), dict(_fields(two))
    return Comparison(
        names=(one.name, two.name),
        factor=factor,
        differences=tuple(
            Difference(
                factor=_factor_of(field),
                field=field,
                one=left.get(field, "—"),
                two=right.get(field, "—"),
            )
            for field in sorted(left.keys() | right.keys())
            if left.get(field) != right.get(field)
        ),
        results=tuple(read_off(one, two, alike=left == right)),
    )


def _fields(record: Record) -> Iterator[tuple[str, str]]:
    """What was asked and on what, as text by field; nothing that was measured."""
    report = record.report
    parts: dict[str, Any] = {
        "lab": report.get("lab"),
        "schema": report.get("schema"),
        "request": report.get("request", {}),
        "inputs": _inputs(report.get("inputs", {})),
        "scope": report.get("scope", {}),
        "environment": {k: v for k, v in record.environment.items() if k != "schema"},
        "sources": {
            path.removeprefix("sources/"): digest[:12]
            for path, digest in record.manifest.items()
            if path.startswith("sources/")
        },
    }
    for field, text in _flat(parts, ""):
        if not any(passing in field for passing in _PASSING):
            yield field, text


def _inputs(inputs: object) -> object:
    """Each case by its digest; what a lab with one case says of its inputs, as it is."""
    if not isinstance(inputs, Mapping):
        return inputs
    return {
        name: str(case.get("sha256", ""))[:12] if isinstance(case, Mapping) else case
        for name, case in inputs.items()
    }


def _flat(value: object, path: str) -> Iterator[tuple[str, str]]:
    if isinstance(value, Mapping):
        for key, inner in value.items():
            yield from _flat(inner, f"{path}/{key}" if path else str(key))
    else:
        yield path, str(value)


def _factor_of(field: str) -> str:
    for factor, prefixes in FACTORS.items():
        if any(field == prefix or field.startswith(f"{prefix}/") for prefix in prefixes):
            return factor
    return "other"
