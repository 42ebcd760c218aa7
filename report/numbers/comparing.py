"""Two records side by side: what differs, and what a difference may be credited to.

Keep the baseline and change one factor. When more than the declared factor differs, the
differences are still shown, all of them, and the result is credited to nothing.
"""

import statistics
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from report.errors import NumericalFailure, UsageFault
from report.notation import render
from report.numbers import precision
from report.numbers.own import numbers_of
from report.record import Record

FACTORS: Mapping[str, tuple[str, ...]] = {
    "platform": ("request/platform", "environment/platform", "environment/devices", "scope"),
    "shape": ("request/batch", "request/features", "request/outputs"),
    "steps": ("request/steps",),
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
)
"""Recorded, and different each time; no factor of any result."""

RESULTS = {
    "relative_l2_error": "scientific(3)",
    "max_abs_error": "scientific(3)",
    "sqnr_db": "decibel(2)",
}
SAME = "not distinguishable"
UNRANKED = "not ranked: times of a CPU"
NO_FLOOR = "not ranked: no noise floor is known"
_ROUNDING = 4 * 2.0**-52
"""Relative: errors that differ by less came from the same arithmetic summed in another order."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """One field that is not the same: its factor, and both values as text."""

    factor: str
    field: str
    one: str
    two: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """One result of both, and why the two are not to be told apart, if so."""

    name: str
    one: str
    two: str
    note: str = ""


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
        rows += [(r.name, r.one, f"{r.two}  {r.note}".rstrip()) for r in self.results]
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
            "results": [[r.name, r.one, r.two, r.note] for r in self.results],
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
        results=tuple(METERS.get(str(one.report.get("schema")), _as_written)(one, two)),
    )


def _fields(record: Record) -> Iterator[tuple[str, str]]:
    """What was asked and on what, as text by field; nothing that was measured."""
    report = record.report
    parts: dict[str, Any] = {
        "lab": report.get("lab"),
        "schema": report.get("schema"),
        "request": report.get("request", {}),
        "inputs": {n: case.get("sha256", "")[:12] for n, case in report.get("inputs", {}).items()},
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


def _of_precision(one: Record, two: Record) -> Iterator[Result]:
    """Errors, stored bytes and times of what both measured, each with its noise floor."""
    left, right = one.report.get("results", {}), two.report.get("results", {})
    for name in left:
        if name not in right:
            continue
        a, b = left[name], right[name]
        for metric, spelling in RESULTS.items():
            yield _number(f"{name} {metric}", spelling, a.get(metric), b.get(metric))
        stored = [x.get("stored_bytes", {}).get("total") for x in (a, b)]
        yield _number(f"{name} stored bytes", "bytes", *stored)
        yield _time(f"{name} median time", a, b, {platform_of(one), platform_of(two)})


def platform_of(record: Record) -> str:
    return str(record.report.get("scope", {}).get("platform"))


def _number(name: str, spelling: str, one: float | None, two: float | None) -> Result:
    same = one == two
    if one is not None and two is not None:
        same = abs(one - two) <= _ROUNDING * max(abs(one), abs(two))
    texts = ["not recorded" if x is None else render(x, spelling) for x in (one, two)]
    return Result(name=name, one=texts[0], two=texts[1], note=SAME if same else "")


def _time(name: str, one: Mapping[str, Any], two: Mapping[str, Any], places: set[str]) -> Result:
    """Two medians, distinct only when the middle halves of the samples lie apart."""
    samples = [x.get("timing_s", {}).get("samples", []) for x in (one, two)]
    if not all(samples):
        return Result(name=name, one="not recorded", two="not recorded", note=SAME)
    (low, middle, high), (low2, middle2, high2) = (_quartiles(found) for found in samples)
    apart = high < low2 or high2 < low
    return Result(
        name=name,
        one=render(middle, "seconds(2)"),
        two=render(middle2, "seconds(2)"),
        note=UNRANKED if "cpu" in places else "" if apart else SAME,
    )


def _quartiles(samples: list[float]) -> tuple[float, float, float]:
    if len(samples) < 2:
        return samples[0], samples[0], samples[0]
    low, middle, high = statistics.quantiles(samples, n=4, method="inclusive")
    return low, middle, high


def _as_written(one: Record, two: Record) -> Iterator[Result]:
    """Numbers of labs that are not known here: both as written, and nothing ranked by them."""
    left, right = (
        {
            path: number
            for part, value in record.report.items()
            if part not in ("request", "scope", "inputs")
            for path, number in numbers_of(value, f"/{part}").items()
        }
        for record in (one, two)
    )
    for path, number in left.items():
        if path in right:
            other = right[path]
            note = SAME if number == other else NO_FLOOR
            yield Result(name=path, one=str(number), two=str(other), note=note)


METERS: Mapping[str, Callable[[Record, Record], Iterator[Result]]] = {
    precision.SCHEMA: _of_precision,
}
"""What is read off two records of one schema; of others, every number as written."""
