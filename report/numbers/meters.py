"""What is read off two records of one lab: each result of both, and what may be said of the pair.

Errors are told apart beyond rounding. Times are told apart only where a noise floor was measured
beside them, as the timing lab does.
"""

import statistics
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from report.evidence import verify_manifest
from report.notation import render
from report.numbers import precision, representations, sweep, timing
from report.numbers.distinction import Distinction, Interval, Verdict, tell_apart
from report.numbers.own import numbers_of
from report.numbers.precision import POLICIES, Policy
from report.numbers.representations import RepresentationsRun, read_representations
from report.numbers.sweep import read_sweep
from report.numbers.timing import TimingRun, read_timing
from report.numbers.worked_timing import claim
from report.record import Record

RESULTS = {
    "relative_l2_error": "scientific(3)",
    "max_abs_error": "scientific(3)",
    "sqnr_db": "decibel(2)",
}
SAME = Verdict.INSIDE.value
UNRANKED = "not ranked: times of a CPU"
NO_FLOOR = "not ranked: no noise floor is known"
NO_TWINS = "not ranked: no twin was timed beside it"
NOTHING = "nothing to compare"
STATUS_WORDS: Mapping[representations.Status, str] = {
    "measured": "one of a program",
    "reference": "one of codes alone",
    "refused": "one refused",
}
_ROUNDING = 4 * 2.0**-52
"""Relative: errors that differ by less came from the same arithmetic summed in another order."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """One result of both, and why the two are not to be told apart, if so."""

    name: str
    one: str
    two: str
    note: str = ""
    found: str = ""
    """What the two differ by, where that was measured: their ratio, and the noise floor."""

    @property
    def words(self) -> str:
        return "; ".join(part for part in (self.note, self.found) if part)


def read_off(one: Record, two: Record, *, alike: bool) -> Iterator[Result]:
    """Every result that both have. `alike`: nothing that was asked for or run on differs."""
    schemas = {str(each.report.get("schema")) for each in (one, two)}
    meter = METERS.get(schemas.pop(), _as_written) if len(schemas) == 1 else _as_written
    yield from meter(one, two, alike)


def _of_precision(one: Record, two: Record, _alike: bool) -> Iterator[Result]:
    """Errors, stored bytes and times of what both measured; the lab times no twins."""
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


def _of_timing(one: Record, two: Record, alike: bool) -> Iterator[Result]:
    """Errors, stored bytes, and times held against what twins differ by."""
    left, right = (read_timing(verify_manifest(record)) for record in (one, two))
    for policy in POLICIES:
        a, b = left.programs[policy], right.programs[policy]
        error, spelling = "relative_l2_error", RESULTS["relative_l2_error"]
        yield _number(f"{policy} {error}", spelling, a.relative_l2_error, b.relative_l2_error)
        yield _number(f"{policy} stored bytes", "bytes", a.stored_bytes, b.stored_bytes)
        yield _distinction(policy, left, right, alike)


def _distinction(policy: Policy, one: TimingRun, two: TimingRun, alike: bool) -> Result:
    """The times of one policy's program in two runs, each as finely as its run may claim.

    A program is never ranked against itself: only another setting may make it take another time.
    """
    found = tell_apart(one.timed(policy), two.timed(policy), paired=False)
    same = one.programs[policy].hlo.sha256 == two.programs[policy].hlo.sha256
    places = {one.scope.platform, two.scope.platform}
    if "cpu" in places and len(places) > 1:
        note = UNRANKED
    elif alike and same:
        note = Verdict.SAME_PROGRAM.value
    else:
        note = "" if found.verdict.ranks else found.verdict.value
    texts = [claim(run.median_s(f"{policy}-first"), run.resolution_s(policy)) for run in (one, two)]
    return Result(
        name=f"{policy} time of a call",
        one=texts[0],
        two=texts[1],
        note=note,
        found=_ratio(found, one.name if found.verdict is Verdict.SHORTER else two.name, note),
    )


def _ratio(found: Distinction, shorter: str, note: str) -> str:
    """Such as `a takes less time: ratio 0.95, 0.94 to 0.96; A/A band 0.99 to 1.01`."""
    if found.ratio is None or found.interval is None:
        return ""
    told = f"ratio {render(found.ratio, 'fixed(3)')}, {_ends(found.interval)}"
    floor = f"A/A band {_ends(found.band)}"
    return f"{told}; {floor}" if note else f"{shorter} takes less time: {told}; {floor}"


def _ends(interval: Interval) -> str:
    return f"{render(interval.low, 'fixed(3)')} to {render(interval.high, 'fixed(3)')}"


def _of_representations(one: Record, two: Record, _alike: bool) -> Iterator[Result]:
    """Bytes of each policy that both followed, and its error on each case."""
    left, right = (read_representations(verify_manifest(record)) for record in (one, two))
    for policy in (name for name in left.policies if name in right.policies):
        sizes = [found.total if (found := run.stored(policy)) else None for run in (left, right)]
        yield _number(f"{policy} stored bytes", "bytes", *sizes)
        for case in (name for name in left.cases if name in right.cases):
            yield _error(f"{case}-{policy}", left, right)


def _error(result: str, one: RepresentationsRun, two: RepresentationsRun) -> Result:
    """Two errors, as long as both come from programs or both from codes alone."""
    a, b = (run.results[result] for run in (one, two))
    name = f"{result} relative_l2_error"
    told = _number(name, RESULTS["relative_l2_error"], a.error.value, b.error.value)
    one_text, two_text = (
        "refused" if each.found is None else text for each, text in ((a, told.one), (b, told.two))
    )
    how = [STATUS_WORDS[each.status] for each in (a, b)]
    note = told.note if a.status == b.status else f"not compared: {how[0]}, and {how[1]}"
    return Result(name=name, one=one_text, two=two_text, note=note)


def _of_sweep(one: Record, two: Record, _alike: bool) -> Iterator[Result]:
    """Errors, stored bytes and times of each point of both; the lab times no twins."""
    runs = [read_sweep(verify_manifest(record)) for record in (one, two)]
    left, right = ({point.id: point for point in run.points} for run in runs)
    for name in (name for name in left if name in right):
        a, b = left[name], right[name]
        error, spelling = "relative_l2_error", RESULTS["relative_l2_error"]
        yield _number(f"{name} {error}", spelling, a.relative_l2_error, b.relative_l2_error)
        yield _number(f"{name} stored bytes", "bytes", a.stored.total, b.stored.total)
        times = [render(each.program.timing.median, "seconds(2)") for each in (a, b)]
        yield Result(name=f"{name} median time", one=times[0], two=times[1], note=NO_TWINS)


def platform_of(record: Record) -> str:
    return str(record.report.get("scope", {}).get("platform"))


def _number(name: str, spelling: str, one: float | None, two: float | None) -> Result:
    texts = ["not recorded" if x is None else render(x, spelling) for x in (one, two)]
    if one is None or two is None:
        return Result(name=name, one=texts[0], two=texts[1], note=NOTHING)
    same = abs(one - two) <= _ROUNDING * max(abs(one), abs(two))
    return Result(name=name, one=texts[0], two=texts[1], note=SAME if same else "")


def _time(name: str, one: Mapping[str, Any], two: Mapping[str, Any], places: set[str]) -> Result:
    """Two medians, shown and never ranked: nothing tells what a program differs from itself by."""
    samples = [x.get("timing_s", {}).get("samples", []) for x in (one, two)]
    if not all(samples):
        return Result(name=name, one="not recorded", two="not recorded", note=NOTHING)
    texts = [render(statistics.median(found), "seconds(2)") for found in samples]
    note = UNRANKED if "cpu" in places else NO_TWINS
    return Result(name=name, one=texts[0], two=texts[1], note=note)


def _as_written(one: Record, two: Record, _alike: bool) -> Iterator[Result]:
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


METERS: Mapping[str, Callable[[Record, Record, bool], Iterator[Result]]] = {
    precision.SCHEMA: _of_precision,
    timing.SCHEMA: _of_timing,
    representations.SCHEMA: _of_representations,
    sweep.SCHEMA: _of_sweep,
}
"""What is read off two records of one schema; of others, every number as written."""
