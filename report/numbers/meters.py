"""What is read off two records of one lab: each result of both, and what may be said of the pair.

Errors are told apart beyond rounding. Times are told apart only where a noise floor was measured
beside them, as the timing lab does.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
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
from report.numbers.worked_representations import bytes_pointer, error_pointer
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
class Reading:
    """What one record says: as printed, and where it stands."""

    text: str
    pointer: str = ""
    format: str = ""
    """Empty, as the pointer is, for a text that stands nowhere just so."""

    def __str__(self) -> str:
        return self.text


ABSENT = Reading(text="not recorded")


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """One result of both, and why the two are not to be told apart, if so."""

    name: str
    one: Reading
    two: Reading
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
    note = UNRANKED if "cpu" in {platform_of(one), platform_of(two)} else NO_TWINS
    for name in left:
        if name not in right:
            continue
        told = [
            (f"{each.name}#/results/{name}", each.report["results"][name]) for each in (one, two)
        ]
        for metric, spelling in RESULTS.items():
            yield _numbers(f"{name} {metric}", spelling, told, metric)
        yield _numbers(f"{name} stored bytes", "bytes", told, "stored_bytes", "total")
        yield _unranked(f"{name} median time", note, told)


def _of_timing(one: Record, two: Record, alike: bool) -> Iterator[Result]:
    """Errors, stored bytes, and times held against what twins differ by."""
    left, right = (read_timing(verify_manifest(record)) for record in (one, two))
    for policy in POLICIES:
        told = [
            (f"{each.name}#/programs/{policy}", each.report["programs"][policy])
            for each in (one, two)
        ]
        error = "relative_l2_error"
        yield _numbers(f"{policy} {error}", RESULTS[error], told, error)
        yield _numbers(f"{policy} stored bytes", "bytes", told, "stored_bytes", "total")
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
    first, second = (
        Reading(
            text=claim(run.median_s(f"{policy}-first"), run.resolution_s(policy)),
            pointer=f"study#/timing/{run.name}/programs/{policy}/claim",
            format="text",
        )
        for run in (one, two)
    )
    return Result(
        name=f"{policy} time of a call",
        one=first,
        two=second,
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
    runs = left, right = [read_representations(verify_manifest(each)) for each in (one, two)]
    for policy in (name for name in left.policies if name in right.policies):
        yield _numbers_at(f"{policy} stored bytes", "bytes", *(_bytes(run, policy) for run in runs))
        for case in (name for name in left.cases if name in right.cases):
            yield _error(f"{case}-{policy}", left, right)


def _bytes(run: RepresentationsRun, policy: str) -> tuple[str, int | None]:
    found = run.stored(policy)
    return (bytes_pointer(run, policy), found.total) if found else ("", None)


def _error(name: str, one: RepresentationsRun, two: RepresentationsRun) -> Result:
    """Two errors, as long as both come from programs or both from codes alone."""
    runs, refused = (one, two), Reading(text="refused")
    results = [run.results[name] for run in runs]
    told = _numbers_at(
        f"{name} relative_l2_error",
        RESULTS["relative_l2_error"],
        *(
            (error_pointer(run, result), result.error.value)
            for run, result in zip(runs, results, strict=True)
        ),
    )
    first, second = results
    how = [STATUS_WORDS[each.status] for each in results]
    return Result(
        name=told.name,
        one=told.one if first.found else refused,
        two=told.two if second.found else refused,
        note=told.note
        if first.status == second.status
        else f"not compared: {how[0]}, and {how[1]}",
    )


def _of_sweep(one: Record, two: Record, _alike: bool) -> Iterator[Result]:
    """Errors, stored bytes and times of each point of both; the lab times no twins."""
    points = [
        {point.id for point in read_sweep(verify_manifest(each)).points} for each in (one, two)
    ]
    for name in (name for name in one.report["results"] if name in points[0] & points[1]):
        told = [
            (f"{each.name}#/results/{name}", each.report["results"][name]) for each in (one, two)
        ]
        error = "relative_l2_error"
        yield _numbers(f"{name} {error}", RESULTS[error], told, error)
        yield _numbers(f"{name} stored bytes", "bytes", told, "stored_bytes", "total")
        yield _unranked(f"{name} median time", NO_TWINS, told)


def platform_of(record: Record) -> str:
    return str(record.report.get("scope", {}).get("platform"))


Told = Sequence[tuple[str, Mapping[str, Any]]]
"""What each record says of one result: where it stands, and its fields."""


def _numbers(name: str, spelling: str, told: Told, *keys: str) -> Result:
    """The number at `keys` in both."""
    return _numbers_at(name, spelling, *(_at(pointer, fields, keys) for pointer, fields in told))


def _at(pointer: str, fields: Any, keys: Sequence[str]) -> tuple[str, float | None]:
    for key in keys:
        fields = fields.get(key) if isinstance(fields, Mapping) else None
    return "/".join([pointer, *keys]), fields


def _numbers_at(
    name: str, spelling: str, one: tuple[str, float | None], two: tuple[str, float | None]
) -> Result:
    """Two numbers, each where it stands; the same when rounding alone tells them apart."""
    a, b = one[1], two[1]
    first, second = (
        ABSENT
        if value is None
        else Reading(text=render(value, spelling), pointer=pointer, format=spelling)
        for pointer, value in (one, two)
    )
    if a is None or b is None:
        return Result(name=name, one=first, two=second, note=NOTHING)
    same = abs(a - b) <= _ROUNDING * max(abs(a), abs(b))
    return Result(name=name, one=first, two=second, note=SAME if same else "")


def _unranked(name: str, note: str, told: Told) -> Result:
    """Two medians, shown and never ranked: nothing tells what a program differs from itself by."""
    found = _numbers(name, "seconds(2)", told, "timing_s", "median")
    return found if found.note == NOTHING else replace(found, note=note)


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
            first, second = (
                Reading(text=render(x, "full"), pointer=f"{record.name}#{path}", format="full")
                for record, x in ((one, number), (two, other))
            )
            yield Result(name=path, one=first, two=second, note=note)


METERS: Mapping[str, Callable[[Record, Record, bool], Iterator[Result]]] = {
    precision.SCHEMA: _of_precision,
    timing.SCHEMA: _of_timing,
    representations.SCHEMA: _of_representations,
    sweep.SCHEMA: _of_sweep,
}
"""What is read off two records of one schema; of others, every number as written."""
