"""A replay as typed values: a recorded run worked out again, with a verdict for every field.

The lab's verdicts are not taken on trust: distances, differences, tolerances and counts are
worked out again here from the two numbers, and a replay that says otherwise is refused.
"""

import math
import struct
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, get_args

from report.evidence import Evidence
from report.numbers.precision import CASES, POLICIES
from report.numbers.reading import Fields
from report.numbers.run import (
    Artifact,
    Scope,
    Setting,
    agree_with_setting,
    read_scope,
    read_setting,
    source_of,
)
from report.numbers.workings import Workings
from report.source import Source

SCHEMA = "assay/replay/1"
FOREIGN = "foreign/report.json"
RESULTS = tuple(f"{case}-{policy}" for case in CASES for policy in POLICIES)

Word = Literal["exact", "ulp", "within tolerance", "not comparable", "differs"]
WORDS: tuple[Word, ...] = get_args(Word)

NORM_ULPS = 4
"""Steps that the norm of an error may move when its squares are added in another order."""
UNIT_ROUNDOFF = 2.0**-24
"""Of float32, rounding to nearest."""

Scalar = int | float | str | tuple[str, ...] | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """One field, as recorded and as found when it was worked out again."""

    recorded: Scalar
    here: Scalar
    verdict: Word
    why: str
    ulp: int | None
    """Numbers that lie between the two, of the field's format; None for what is no number."""
    difference: float | None
    tolerance: float | None
    """The largest difference allowed; None where no more than a few ulp lay between."""

    @property
    def words(self) -> str:
        """The verdict as a reader says it."""
        return f"{self.ulp} ulp" if self.verdict == "ulp" else self.verdict


@dataclass(frozen=True, slots=True, kw_only=True)
class Split:
    """Relative L2 norms of one result's error: of rounding the operands, then of adding up."""

    representation: float | None
    here: float | None
    """Of the sums made here."""
    recorded: float | None
    """Of the recorded sums; None where no output was kept."""
    at_least: float | None
    """What the recorded sums lie from exact ones at the least: |total − representation|."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Repeats:
    """How many different outputs one program gave, over so many runs."""

    runs: int
    distinct: int
    pinned: int | None
    """The same on one core; None where that could not be asked."""
    pinned_reason: str
    same: bool | None
    """Whether one core gave the bytes that all of them gave; None where it was not asked."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Replayed:
    """What was replayed, and how far its source is known."""

    foreign: bool
    """Numbers by somebody else, whose lab is not held."""
    name: str
    sha256: str
    """Of the foreign file, or of the record's manifest."""
    file: Artifact | None
    """The foreign file as kept, byte for byte."""
    recorded_at: str
    seed_recorded: bool
    lab_changes: tuple[str, ...]
    origin: str
    """Where a foreign file was published; empty when nobody told."""
    published_sha256: str
    """The digest that its publisher gives; empty when nobody told."""
    absent: tuple[str, ...]
    """Results that it does not hold."""

    @property
    def as_published(self) -> bool | None:
        """Whether the bytes are those published; None where the published digest is not told."""
        return self.sha256 == self.published_sha256 if self.published_sha256 else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Replay:
    """One recorded run, worked out again."""

    name: str
    source: Source
    level: str
    scope: Scope
    setting: Setting
    shape: tuple[int, int, int]
    """batch, features, outputs"""
    replayed: Replayed
    machine: Mapping[str, Comparison]
    """Facts of the two machines and their software."""
    fields: Mapping[str, Mapping[str, Comparison]]
    """By result, then by field."""
    splits: Mapping[str, Split]
    repeats: Mapping[str, Repeats]

    @property
    def recorded_at(self) -> str:
        return self.setting.recorded_at

    @property
    def device(self) -> str:
        return self.setting.device_kind

    @property
    def made(self) -> str:
        return f"replayed on {self.device}"

    @property
    def extent(self) -> str:
        what = "a published run" if self.replayed.foreign else self.replayed.name
        return f"{what} worked out again, {' × '.join(map(str, self.shape))}"

    def count(self, word: Word) -> int:
        """How many fields earned a verdict."""
        return sum(
            each.verdict == word for group in self.fields.values() for each in group.values()
        )

    @property
    def verdict(self) -> str:
        """How the replay came out, in one clause."""
        if differing := self.count("differs"):
            return (
                f"{differing} {'field lies' if differing == 1 else 'fields lie'} beyond tolerance"
            )
        compared = sum(self.count(word) for word in WORDS[:3])
        if not compared:
            return "nothing could be compared"
        if self.count("exact") == compared:
            return f"all {compared} fields that can be compared are exact"
        return f"all {compared} fields that can be compared are exact or within tolerance"

    @property
    def steady(self) -> str:
        """Whether each program gave the same bytes every time, in one clause."""
        counts = [n for each in self.repeats.values() for n in (each.distinct, each.pinned) if n]
        unsteady = sum(max(each.distinct, each.pinned or 1) > 1 for each in self.repeats.values())
        if not unsteady:
            runs = next(iter(self.repeats.values())).runs
            cores = ", and again on one core" if all(e.same for e in self.repeats.values()) else ""
            return f"each program gave the same bytes in each of its {runs} runs{cores}"
        return f"{unsteady} of {len(self.repeats)} programs gave up to {max(counts)} outputs"


def read_replay(evidence: Evidence) -> Replay:
    """The typed replay, or EvidenceMismatch naming every field that is missing or contradictory."""
    record = evidence.record
    report = Fields(record.report, f"{record.name}/report.json")
    environment = Fields(
        record.environment, f"{record.name}/environment.json", faults=report.faults
    )
    request = report.within("request")
    files = {file.path: file.sha256 for file in record.files}
    fields = report.within("fields")
    results = [name for name in RESULTS if fields.has(name)]
    features = request.count("features")
    replay = Replay(
        name=record.name,
        source=source_of(evidence),
        level=evidence.level,
        scope=read_scope(report.within("scope")),
        setting=read_setting(environment),
        shape=(request.count("batch"), features, request.count("outputs")),
        replayed=_replayed(report.within("replayed"), files),
        machine={key: _comparison(each) for key, each in report.within("setting").entries()},
        fields={
            name: {key: _comparison(each) for key, each in fields.within(name).entries()}
            for name in results
        },
        splits={name: _split(report.within("accumulation").within(name)) for name in results},
        repeats={name: _repeats(report.within("determinism").within(name)) for name in results},
    )
    if not results:
        report.fault("fields", "no result", f"one or more of {', '.join(RESULTS)}")
    for group in ("fields", "accumulation", "determinism"):
        for extra in sorted(report.within(group).found.keys() - set(results)):
            report.fault(f"{group}/{extra}", "no result of this replay", ", ".join(results))
    for word in WORDS:
        report.within("counts").agree(word, replay.count(word), "the number of such fields")
    agree_with_setting(replay.setting, report, environment)
    for name in results:
        _tolerances_hold(name, replay, features, fields.within(name))
        _bound_holds(replay, name, report.within("accumulation").within(name))
    report.agree("schema", SCHEMA, "a replay")
    report.finish(record.name, lab="replay")
    return replay


def _replayed(fields: Fields, files: Mapping[str, str]) -> Replayed:
    foreign = fields.choice("kind", ("record", "foreign")) == "foreign"
    sha256 = fields.text("sha256")
    file = None
    if foreign:
        file = Artifact(path=FOREIGN, sha256=sha256)
        fields.agree("file", FOREIGN, "where a foreign report is kept")
        if files.get(FOREIGN) != sha256:
            fields.fault("sha256", f"{sha256:.12}", f"the SHA-256 of {FOREIGN} in this record")
    fields.agree("source_held", not foreign, "held for a record, and only for one")
    return Replayed(
        foreign=foreign,
        name=fields.name("name"),
        sha256=sha256,
        file=file,
        recorded_at=fields.optional_text("recorded_at"),
        seed_recorded=fields.flag("seed_recorded"),
        lab_changes=fields.texts("lab_changes"),
        origin=fields.optional_text("origin"),
        published_sha256=fields.optional_text("published_sha256"),
        absent=fields.texts("results_missing"),
    )


def _comparison(fields: Fields) -> Comparison:
    recorded, here = (_scalar(fields, key) for key in ("recorded", "here"))
    verdict = fields.choice("verdict", WORDS)
    number = "ulp" in fields.found
    found = Comparison(
        recorded=recorded,
        here=here,
        verdict=next(word for word in WORDS if word == verdict),
        why=fields.text("why"),
        ulp=fields.count("ulp") if number else None,
        difference=fields.number("difference") if number else None,
        tolerance=fields.number("tolerance") if "tolerance" in fields.found else None,
    )
    _agree_with_numbers(found, fields)
    return found


def _scalar(fields: Fields, key: str) -> Scalar:
    value = fields.found.get(key)
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, list):
        return fields.texts(key)
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        fields.fault(key, f"{value!r:.60}", "a number, a text, or null")
        return None
    return value


def _agree_with_numbers(found: Comparison, fields: Fields) -> None:
    """The verdict must follow from what stands beside it."""
    equal = found.recorded == found.here
    if found.verdict == "not comparable":
        if not found.why:
            fields.fault("why", "nothing", "why it is not comparable")
        return
    if None in (found.recorded, found.here):
        fields.fault("verdict", repr(found.verdict), "'not comparable', for a missing value")
        return
    expected: Word = "exact" if equal else "differs"
    if isinstance(found.recorded, float) and isinstance(found.here, float):
        fields.agree("ulp", steps(found.recorded, found.here), "the steps between the two")
        fields.agree("difference", abs(found.recorded - found.here), "the two subtracted")
    if not equal and found.ulp is not None:
        if isinstance(found.recorded, float) and found.ulp <= NORM_ULPS:
            expected = "ulp"
        elif found.tolerance is not None and (found.difference or 0.0) <= found.tolerance:
            expected = "within tolerance"
    if found.verdict != expected:
        fields.fault("verdict", repr(found.verdict), f"{expected!r}, which follows from the two")


def _tolerances_hold(name: str, replay: Replay, features: int, fields: Fields) -> None:
    """The tolerance of a relative error is what its format promises, or a few ulp."""
    found = replay.fields[name].get("relative_l2_error")
    if found is None or found.tolerance is None or not isinstance(found.recorded, float):
        return
    allowed = (
        format_tolerance(name, features),
        NORM_ULPS * math.ulp(found.recorded),
    )
    if not any(math.isclose(found.tolerance, each, rel_tol=1e-12) for each in allowed):
        expected = " or ".join(f"{each:.4g}" for each in allowed)
        fields.within("relative_l2_error").fault("tolerance", f"{found.tolerance}", expected)


def format_tolerance(result: str, features: int) -> float:
    """How far two relative errors of one result may lie apart on two machines."""
    if result.endswith("-int8"):
        return 4 * UNIT_ROUNDOFF
    return 2 * math.sqrt(features) * UNIT_ROUNDOFF


def _split(fields: Fields) -> Split:
    values = {
        key: fields.optional_number(key)[0]
        for key in ("representation", "here", "recorded", "recorded_at_least")
    }
    return Split(
        representation=values["representation"],
        here=values["here"],
        recorded=values["recorded"],
        at_least=values["recorded_at_least"],
    )


def _bound_holds(replay: Replay, name: str, fields: Fields) -> None:
    split, error = replay.splits[name], replay.fields[name].get("relative_l2_error")
    if split.at_least is None or split.representation is None or error is None:
        return
    if isinstance(error.recorded, float):
        expected = abs(error.recorded - split.representation)
        fields.agree("recorded_at_least", expected, "the total less the representation error")


def _repeats(fields: Fields) -> Repeats:
    free, pinned = fields.within("free"), fields.optional_within("pinned")
    for each in filter(None, (free, pinned)):
        each.agree("distinct", len(set(each.texts("sha256"))), "the number of its digests")
    digests = [set(each.texts("sha256")) for each in (free, pinned) if each]
    return Repeats(
        runs=free.count("repeats"),
        distinct=free.count("distinct"),
        pinned=pinned.count("distinct") if pinned else None,
        pinned_reason="" if pinned else fields.name("pinned_reason"),
        same=digests[0] == digests[1] if pinned else None,
    )


def steps(one: float, two: float) -> int:
    """How many steps of float64 lead from `one` to `two`; 0 and −0 are one place."""
    places = []
    for number in (one, two):
        bits: int = struct.unpack("<q", struct.pack("<d", number))[0]
        places.append(bits if bits >= 0 else -(bits & 0x7FFF_FFFF_FFFF_FFFF))
    return abs(places[0] - places[1])


def work_out_replay(replay: Replay, note: Workings) -> None:
    """Write down `study#/replay/<run>/…`, verdicts in words included."""
    base, document = f"replay/{replay.name}", f"{replay.name}#"
    for word in WORDS:
        key = word.replace(" ", "_")
        formula = rf"\text{{number of fields whose verdict is: {word}}}"
        note.derive(f"{base}/{key}", replay.count(word), formula, f"{document}/counts/{word}")
    note.derive(
        f"{base}/compared",
        sum(replay.count(word) for word in WORDS if word != "not comparable"),
        r"\text{fields that can be compared}",
        *(f"{document}/counts/{word}" for word in WORDS if word != "not comparable"),
    )
    every = [f"{document}/counts/{word}" for word in WORDS]
    note.derive(f"{base}/verdict", replay.verdict, r"\text{the verdicts, in words}", *every)
    distinct = [f"{document}/determinism/{name}/free/distinct" for name in replay.repeats]
    note.derive(
        f"{base}/steady", replay.steady, r"\text{the numbers of outputs, in words}", *distinct
    )
    note.derive(
        f"{base}/most_outputs",
        max(max(each.distinct, each.pinned or 0) for each in replay.repeats.values()),
        r"\max_p\, (\text{outputs of program } p)",
        *distinct,
        kind="measured",
    )
    for name, group in replay.fields.items():
        for key, field in group.items():
            if field.ulp is not None:
                place = f"{document}/fields/{name}/{key}"
                note.derive(
                    f"{base}/{name}/{key}",
                    field.words,
                    r"\text{the verdict, in words}",
                    f"{place}/recorded",
                    f"{place}/here",
                )
        split = replay.splits[name]
        if split.recorded is None and split.at_least is not None:
            note.derive(
                f"{base}/{name}/accumulation_at_least",
                split.at_least,
                r"|\varepsilon_{\mathrm{recorded}} - \varepsilon_{\mathrm{representation}}|",
                f"{document}/fields/{name}/relative_l2_error/recorded",
                f"{document}/accumulation/{name}/representation",
            )
