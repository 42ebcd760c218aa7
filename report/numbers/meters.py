"""What is read off two records of one lab: each result of either, and what may be said of the pair.

Errors are told apart beyond rounding. Times are told apart only where a noise floor was measured
beside them, as the timing lab does.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from report.evidence import verify_manifest
from report.notation import NOT_RECORDED, render
from report.numbers import precision, representations, sweep, timing
from report.numbers.distinction import Distinction, Interval, Verdict, tell_apart
from report.numbers.own import escaped, leaves_of, sections_of
from report.numbers.own_pointers import is_timed
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
EQUAL = "the same"
SAME = Verdict.INSIDE.value
UNRANKED = "not ranked: times of a CPU"
NO_FLOOR = "not ranked: no noise floor is known"
DIFFERS = "differs; no noise floor is known"
OTHER = "differs"
NO_TWINS = "not ranked: no twin was timed beside it"
NOTHING = "nothing to compare"
STATUS_WORDS: Mapping[representations.Status, str] = {
    "measured": "one of a program",
    "reference": "one of codes alone",
    "refused": "one refused",
}
LONGEST = 60
"""Characters of a recorded text that are printed beside another."""
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


ABSENT = Reading(text=NOT_RECORDED)
NOWHERE = Reading(text="—")


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """What one record has under one name, which may be null, or not `there` at all."""

    record: str
    there: bool = True
    pointer: str = ""
    value: Any = None
    reason: str = ""
    """Why it is null, where the lab says so."""

    def reading(self, spelling: str) -> Reading:
        if self.value is None:
            return ABSENT if self.there else NOWHERE
        text = render(self.value, spelling)
        return Reading(text=text, pointer=self.pointer, format=spelling)


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """One result of both, and why the two are not to be told apart, if so."""

    name: str
    one: Reading
    two: Reading
    note: str = ""
    found: str = ""
    """What the two differ by, where that was measured: their ratio, and the noise floor."""
    same: bool = False
    """Their values do not differ, but for rounding, whether or not anything may be said of them."""

    @property
    def differs(self) -> bool:
        """Whether the two are told apart, or just not the same and nobody knows how surely."""
        return self.note in ("", DIFFERS, OTHER)

    @property
    def words(self) -> str:
        return "; ".join(part for part in (self.note, self.found) if part)


Pair = tuple[Record, Record]


def read_off(one: Record, two: Record, *, alike: bool) -> Iterator[Result]:
    """Every result that either has, of two records of one lab; none of two labs.

    `alike`: nothing that was asked for or run on differs.
    """
    schema = one.report.get("schema")
    if schema == two.report.get("schema"):
        yield from METERS.get(str(schema), _as_written)(one, two, alike)


def _of_precision(one: Record, two: Record, _alike: bool) -> Iterator[Result]:
    """Errors, stored bytes and times; the lab times no twins."""
    note = UNRANKED if "cpu" in {platform_of(one), platform_of(two)} else NO_TWINS
    pair = one, two
    for name in _either(*(each.report.get("results", {}) for each in pair)):
        for metric, spelling in RESULTS.items():
            yield _numbers(f"{name} {metric}", spelling, pair, "results", name, metric)
        yield _stored(name, pair, "results")
        yield _unranked(name, pair, note)


def _of_timing(one: Record, two: Record, alike: bool) -> Iterator[Result]:
    """Errors, stored bytes, and times held against what twins differ by."""
    left, right = (read_timing(verify_manifest(record)) for record in (one, two))
    for policy in POLICIES:
        yield _error(policy, (one, two), "programs")
        yield _stored(policy, (one, two), "programs")
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
        same=one.timed(policy) == two.timed(policy),
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
    """Bytes of each policy, and its error on each case."""
    left, right = (read_representations(verify_manifest(each)) for each in (one, two))
    for policy in _either(left.policies, right.policies):
        found = [_bytes(run, policy) for run in (left, right)]
        yield _beside(f"{policy} stored bytes", "bytes", *found)
        for case in _either(left.cases, right.cases):
            name = f"{case}-{policy}"
            if name in left.results or name in right.results:
                yield _error_of(name, left, right)


def _bytes(run: RepresentationsRun, policy: str) -> Found:
    if policy not in run.policies:
        return Found(record=run.name, there=False)
    found = run.stored(policy)
    if found is None:
        return Found(record=run.name)
    return Found(record=run.name, pointer=bytes_pointer(run, policy), value=found.total)


def _error_of(name: str, one: RepresentationsRun, two: RepresentationsRun) -> Result:
    """Two errors, as long as both come from programs or both from codes alone."""
    runs, refused = (one, two), Reading(text="refused")
    results = [run.results.get(name) for run in runs]
    told = _beside(
        f"{name} relative_l2_error",
        RESULTS["relative_l2_error"],
        *(_found_error(run, result) for run, result in zip(runs, results, strict=True)),
    )
    first, second = results
    if first is None or second is None:
        return told
    how = [STATUS_WORDS[each.status] for each in (first, second)]
    return replace(
        told,
        one=told.one if first.found else refused,
        two=told.two if second.found else refused,
        note=told.note
        if first.status == second.status
        else f"not compared: {how[0]}, and {how[1]}",
        same=told.same and first.status == second.status,
    )


def _found_error(run: RepresentationsRun, result: representations.Result | None) -> Found:
    if result is None:
        return Found(record=run.name, there=False)
    error = result.error
    pointer = error_pointer(run, result)
    return Found(record=run.name, pointer=pointer, value=error.value, reason=error.reason)


def _of_sweep(one: Record, two: Record, _alike: bool) -> Iterator[Result]:
    """Errors, stored bytes and times of each point; the lab times no twins."""
    pair = one, two
    points = [{each.id for each in read_sweep(verify_manifest(record)).points} for record in pair]
    for name in _either(*(each.report["results"] for each in pair)):
        if name in points[0] | points[1]:
            yield _error(name, pair, "results")
            yield _stored(name, pair, "results")
            yield _unranked(name, pair, NO_TWINS)


def platform_of(record: Record) -> str:
    return str(record.report.get("scope", {}).get("platform"))


def _either(one: Iterable[str], two: Iterable[str]) -> list[str]:
    """The names that either has, in the order written."""
    return list(dict.fromkeys([*one, *two]))


def _error(name: str, pair: Pair, part: str) -> Result:
    error = "relative_l2_error"
    return _numbers(f"{name} {error}", RESULTS[error], pair, part, name, error)


def _stored(name: str, pair: Pair, part: str) -> Result:
    return _numbers(f"{name} stored bytes", "bytes", pair, part, name, "stored_bytes", "total")


def _unranked(name: str, pair: Pair, note: str) -> Result:
    """Two medians, shown and never ranked: nothing tells what a program differs from itself by."""
    keys = ("results", name, "timing_s", "median")
    found = _numbers(f"{name} median time", "seconds(2)", pair, *keys)
    return replace(found, note=note) if found.note in ("", SAME) else found


def _numbers(name: str, spelling: str, pair: Pair, *keys: str) -> Result:
    """The number at `keys` in both."""
    return _beside(name, spelling, *(_at(record, keys) for record in pair))


def _at(record: Record, keys: Sequence[str]) -> Found:
    """What stands at `keys`, which is null as soon as one of them is."""
    fields: Any = record.report
    reason = ""
    for key in keys:
        if not isinstance(fields, Mapping) or key not in fields:
            return Found(record=record.name, there=fields is None, reason=reason)
        reason = str(fields.get(f"{key}_reason") or reason)
        fields = fields[key]
    pointer = "/".join([f"{record.name}#", *map(escaped, keys)])
    return Found(record=record.name, pointer=pointer, value=fields, reason=reason)


def _beside(name: str, spelling: str, one: Found, two: Found) -> Result:
    """Two numbers; the same when rounding alone tells them apart."""
    note = _incomplete(one, two)
    same = _equal(one, two)
    if not note:
        same = abs(one.value - two.value) <= _ROUNDING * max(abs(one.value), abs(two.value))
        note = SAME if same else ""
    readings = one.reading(spelling), two.reading(spelling)
    return Result(name=name, one=readings[0], two=readings[1], note=note, same=same)


def _equal(one: Found, two: Found) -> bool:
    """Whether both say just the same, if only that there is no value, and why."""
    return (one.there, one.value, one.reason) == (two.there, two.value, two.reason)


def _incomplete(one: Found, two: Found) -> str:
    """Why two are not a pair of values; empty when they are."""
    missing = [each for each in (one, two) if each.value is None]
    if not missing:
        return ""
    reasons = {each.record: each.reason for each in missing if each.reason}
    if one.there != two.there:
        told = f"only {(one if one.there else two).record} has it"
    elif len(missing) == 2 and len(set(reasons.values())) == 1:
        return f"{NOTHING}: {next(iter(reasons.values()))}"
    else:
        told = NOTHING
    return "; ".join([told, *(f"{record}: {reason}" for record, reason in reasons.items())])


def _as_written(one: Record, two: Record, _alike: bool) -> Iterator[Result]:
    """Results of labs that are not known here: both as written, and nothing ranked by them."""
    left, right = (dict(_leaves(record)) for record in (one, two))
    for path in _either(left, right):
        a, b = (
            found.get(path, Found(record=record.name, there=False))
            for found, record in ((left, one), (right, two))
        )
        note = _incomplete(a, b) or _told_apart(path, a.value, b.value)
        readings = _written(a), _written(b)
        yield Result(name=path[1:], one=readings[0], two=readings[1], note=note, same=_equal(a, b))


def _leaves(record: Record) -> Iterator[tuple[str, Found]]:
    """What was found, by its pointer in report.json."""
    for part in sections_of(record.report):
        if part not in ("scope", "inputs"):
            for leaf in leaves_of({part: record.report[part]}):
                yield (
                    leaf.path,
                    Found(
                        record=record.name,
                        pointer=f"{record.name}#{leaf.path}",
                        value=leaf.value,
                        reason=leaf.reason,
                    ),
                )


def _told_apart(path: str, one: object, two: object) -> str:
    """A number that was timed needs a noise floor to be ranked; of others none is recorded."""
    if one == two:
        return EQUAL
    if isinstance(one, bool | str | list) or isinstance(two, bool | str | list):
        return OTHER
    return NO_FLOOR if is_timed(path.split("/")) else DIFFERS


def _written(found: Found) -> Reading:
    """A value as a claim of it is printed; a long text is cut, and stands nowhere just so."""
    value = found.value
    if isinstance(value, bool):
        return replace(found, value="yes" if value else "no").reading("text")
    if isinstance(value, list):
        return replace(found, value=f"{len(value):,} values").reading("text")
    if not isinstance(value, str):
        return found.reading("full")
    line = " ".join(value.split())
    if line == value and len(line) <= LONGEST:
        return found.reading("text")
    return Reading(text=line if len(line) <= LONGEST else f"{line[: LONGEST - 1]}…")


METERS: Mapping[str, Callable[[Record, Record, bool], Iterator[Result]]] = {
    precision.SCHEMA: _of_precision,
    timing.SCHEMA: _of_timing,
    representations.SCHEMA: _of_representations,
    sweep.SCHEMA: _of_sweep,
}
"""What is read off two records of one schema; of others, every value as written."""
