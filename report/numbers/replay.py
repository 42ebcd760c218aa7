"""A replay as typed values: a recorded run worked out again, with a verdict for every field.

The lab's verdicts are not taken on trust: distances, differences, tolerances and counts are
worked out again here from the two numbers, and a replay that says otherwise is refused.
"""

import math
import re
import struct
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, get_args

from report.errors import Fault
from report.evidence import Evidence
from report.numbers.implied import ROUNDED, sqnr_follows, triangle_closes
from report.numbers.precision import CASES, POLICIES
from report.numbers.reading import Fields
from report.numbers.run import (
    Artifact,
    MeasuredRun,
    agree_with_setting,
    documents,
    read_scope,
    read_setting,
    source_of,
)
from report.record import Record, parse_json

SCHEMA = "assay/replay/1"
FOREIGN = "foreign/report.json"
RESULTS = tuple(f"{case}-{policy}" for case in CASES for policy in POLICIES)

Word = Literal["exact", "ulp", "within tolerance", "not comparable", "differs"]
WORDS: tuple[Word, ...] = get_args(Word)

READINGS = ("relative_l2_error", "max_abs_error", "sqnr_db")
EQUAL = ("input_sha256", "stored_bytes", "scale_bytes", "output_dtype")
"""Fields that have to be equal wherever both are known."""
OF_INPUTS = (*READINGS, "output", "max_abs_accumulator")
"""Fields that cannot be compared where the inputs are not the same."""
MEMORY = ("argument", "output", "temporary", "alias", "generated_code", "peak")
KEYS = (
    *EQUAL,
    *OF_INPUTS,
    "stablehlo_sha256",
    "hlo_sha256",
    *(f"{kind}_bytes" for kind in MEMORY),
    "median_s",
)
"""All that is told of one result; a largest sum of INT8 alone."""

SETTING: Mapping[str, tuple[str, ...]] = {
    "platform": ("platform", "actual"),
    "device_kind": ("devices", "used", "kind"),
    "devices": ("devices", "count"),
    "processes": ("devices", "process_count"),
    "system": ("operating_system", "system"),
    "machine": ("operating_system", "machine"),
    "cpu": ("cpu", "model"),
    "instruction_sets": ("cpu", "isa"),
    "python": ("versions", "python"),
    "jax": ("versions", "jax"),
    "jaxlib": ("versions", "jaxlib"),
    "numpy": ("versions", "numpy"),
}
"""Facts of a machine and its software, with their place in environment.json."""

FOREIGN_SETTING: Mapping[str, str] = {
    "platform": "platform",
    "device_kind": "device_kind",
    "devices": "global_device_count",
    "processes": "process_count",
    "system": "host_system",
    "python": "python_version",
    "jax": "jax_version",
    "numpy": "numpy_version",
}
"""The same facts, as a foreign report names them; it tells no other."""
MS = 1e3
"""Milliseconds in a second."""

GIVEN: Mapping[str, tuple[str, ...]] = {
    "relative_l2_error": ("relative_l2_error",),
    "max_abs_error": ("max_absolute_error",),
    "stored_bytes": ("stored_operand_bytes",),
    "output_dtype": ("output_dtype",),
    "input_sha256": ("input_sha256",),
    "argument_bytes": ("compiler_memory_estimate", "argument_size_in_bytes"),
    "output_bytes": ("compiler_memory_estimate", "output_size_in_bytes"),
    "temporary_bytes": ("compiler_memory_estimate", "temp_size_in_bytes"),
    "alias_bytes": ("compiler_memory_estimate", "alias_size_in_bytes"),
}
"""Fields of a foreign result, with their place in it."""

_DIGEST = re.compile("[0-9a-f]{64}")

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
class Replay(MeasuredRun):
    """One recorded run, worked out again."""

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
    report, environment, config = documents(evidence)
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
            name: {key: _field(name, key, each) for key, each in fields.within(name).entries()}
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
    _setting_agrees(report.within("setting"), record)
    for name in results:
        _complete(name, fields.within(name))
        _here_agrees(name, fields.within(name), files)
        _tolerances_hold(name, replay, features, fields.within(name))
        if "input_sha256" in replay.fields[name]:
            _same_inputs_are_compared(replay.fields[name], fields.within(name))
        _bound_holds(replay, name, report.within("accumulation").within(name))
    absent = [name for name in RESULTS if name not in results]
    report.within("replayed").agree("results_missing", absent, "those that are not here")
    _agree_with_config(report, config)
    if replay.replayed.file and not report.faults:
        _foreign_agrees(replay, record, fields)
    report.agree("schema", SCHEMA, "a replay")
    report.finish(record.name, lab="replay")
    return replay


def _replayed(fields: Fields, files: Mapping[str, str]) -> Replayed:
    foreign = fields.choice("kind", ("record", "foreign")) == "foreign"
    sha256 = _digest(fields, "sha256")
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
        recorded_at=fields.words("recorded_at"),
        seed_recorded=fields.flag("seed_recorded"),
        lab_changes=fields.texts("lab_changes"),
        origin=fields.words("origin"),
        published_sha256=_digest(fields, "published_sha256")
        if fields.has("published_sha256")
        else "",
        absent=fields.texts("results_missing"),
    )


def _digest(fields: Fields, key: str) -> str:
    """A SHA-256 in lower-case digits."""
    found = fields.text(key)
    if not _DIGEST.fullmatch(found):
        fields.fault(key, f"{found!r:.60}", "a SHA-256, 64 lower-case hexadecimal digits")
    return found


def _complete(name: str, fields: Fields) -> None:
    """Every field that a replay tells of a result, and no other."""
    known = [key for key in KEYS if key != "max_abs_accumulator" or name.endswith("-int8")]
    for key in known:
        if key not in fields.found:
            fields.fault(key, "missing", "a verdict for every field")
    for extra in sorted(fields.found.keys() - set(known)):
        fields.fault(extra, "one that no replay tells", f"only {', '.join(known)}")


def _here_agrees(name: str, fields: Fields, files: Mapping[str, str]) -> None:
    """Programs are those kept in this run, and the two readings of one error are alike."""
    for kind in ("stablehlo", "hlo"):
        kept = files.get(f"programs/{name}.{kind}.txt")
        fields.within(f"{kind}_sha256").agree("here", kept, "the program kept in this run")
    error = fields.within("relative_l2_error").found.get("here")
    sqnr = fields.within("sqnr_db").found
    here = Fields({"sqnr_db": sqnr.get("here"), "sqnr_db_reason": sqnr.get("here_reason")}, "")
    sqnr_follows(here, error if isinstance(error, float) else None)
    for fault in here.faults:
        fields.within("sqnr_db").fault("here", fault.found, fault.expected)


def _setting_agrees(fields: Fields, record: Record) -> None:
    """What stands under `here` is what environment.json says of this machine."""
    for key, place in SETTING.items():
        found: Any = record.environment
        for part in place:
            found = found.get(part) if isinstance(found, Mapping) else None
        fields.within(key).agree("here", found, "as in environment.json")
    for extra in sorted(fields.found.keys() - SETTING.keys()):
        fields.fault(extra, "one that no replay tells", f"only {', '.join(SETTING)}")


def _agree_with_config(report: Fields, config: Fields) -> None:
    """config.json asks for what report.json answers."""
    replayed, options = report.within("replayed"), config.within("options")
    report.agree("lab", "replay", "the lab that replays")
    config.agree("lab", "replay", "the lab that replays")
    config.agree("seed", report.within("request").found.get("seed"), "as in report.json")
    options.agree("platform", report.within("request").found.get("platform"), "as in report.json")
    options.agree("record", replayed.found.get("name"), "what was replayed")
    for key in ("origin", "published_sha256"):
        options.agree(key, replayed.found.get(key), "as in report.json")


def _foreign_agrees(replay: Replay, record: Record, fields: Fields) -> None:
    """What is said to be recorded is what the foreign file says, which is kept beside it."""
    where, faults = f"{record.name}/{FOREIGN}", list[Fault]()
    parsed = parse_json(record.file(FOREIGN).read_bytes(), where, faults)
    fields.faults.extend(faults)
    foreign = Fields(parsed if isinstance(parsed, dict) else {}, where, fields.faults)
    for key, size in zip(("batch", "features", "outputs"), replay.shape, strict=True):
        foreign.within("dimensions").agree(key, size, "as was replayed")
    given = {
        f"{each.text('case')}-{each.text('mode')}": each for each in foreign.objects("results")
    }
    foreign.agree("executed_at", replay.replayed.recorded_at, "as was replayed")
    for key, fact in replay.machine.items():
        place = FOREIGN_SETTING.get(key, "")
        if fact.recorded != foreign.found.get(place):
            expected = f"{foreign.found.get(place)!r:.60}, as in {FOREIGN}"
            found = f"{fact.recorded!r:.60}"
            fields.faults.append(
                Fault(
                    where=f"{record.name}/report.json/setting/{key}/recorded",
                    found=found,
                    expected=expected,
                )
            )
    for name, group in replay.fields.items():
        if name not in given:
            fields.fault(name, "a result", f"none: {FOREIGN} does not hold it")
            continue
        told: dict[str, object] = {
            key: given[name].within(place[0]).found.get(place[1])
            if len(place) > 1
            else given[name].found.get(place[0])
            for key, place in GIVEN.items()
        }
        told["median_s"] = given[name].number("median_ms") / MS
        for key, each in group.items():
            if each.recorded != told.get(key):
                expected = f"{told.get(key)!r:.60}, as in {FOREIGN}"
                fields.fault(f"{name}/{key}/recorded", f"{each.recorded!r:.60}", expected)


def _field(result: str, key: str, fields: Fields) -> Comparison:
    """One field of one result, of the type that it has and with a verdict that it may have."""
    found = _comparison(fields)
    both = None not in (found.recorded, found.here)
    if key in READINGS:
        for side in ("recorded", "here"):
            value = getattr(found, side)
            if value is not None and not isinstance(value, int | float):
                fields.fault(side, f"{value!r:.60}", "a number")
        if both and found.ulp is None and found.verdict != "not comparable":
            fields.fault("ulp", "missing", "the steps between two numbers")
    elif found.ulp is not None and key != "output":
        fields.fault("ulp", f"{found.ulp}", f"none: {key} of {result} is no reading")
    if key == "median_s":
        fields.agree("here", None, "a replay is not timed")
    compared = key in EQUAL or (key not in OF_INPUTS and found.recorded == found.here)
    if found.verdict == "not comparable" and both and compared:
        fields.fault("verdict", repr(found.verdict), "a verdict, since both are known")
    return found


def _comparison(fields: Fields) -> Comparison:
    verdict = fields.choice("verdict", WORDS)
    number = "ulp" in fields.found
    recorded, here = (
        float(value) if number and isinstance(value, int) else value
        for value in (_scalar(fields, key) for key in ("recorded", "here"))
    )
    found = Comparison(
        recorded=recorded,
        here=here,
        verdict=next(word for word in WORDS if word == verdict),
        why=fields.words("why"),
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
    if found.verdict == "exact" and found.why:
        fields.fault("why", f"{found.why!r:.60}", "nothing: what is exact says it all")
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
    """A tolerance is what its format promises, or a few ulp of the recorded number.

    Of elements it is that of the relative error, times the largest of the reference. That is not
    told, but it is at most the norm, which is at most √N times the largest error over the
    relative one.
    """
    group, relative = replay.fields[name], format_tolerance(name, features)
    here, peak = (_number(group.get(key)) for key in READINGS[:2])
    limits: dict[str, tuple[float, float]] = {"relative_l2_error": (relative, relative)}
    if here:
        decibel = 20 * math.log10(1 + relative / here)
        element = relative * peak * math.sqrt(replay.shape[0] * replay.shape[2]) / here
        limits |= {
            "sqnr_db": (decibel, decibel),
            "max_abs_error": (0.0, element),
            "output": (0.0, element),
        }
    for key, (least, most) in limits.items():
        found = group.get(key)
        if found is None or found.tolerance is None:
            continue
        few = NORM_ULPS * math.ulp(found.recorded) if isinstance(found.recorded, float) else 0.0
        if not math.isclose(found.tolerance, few, rel_tol=ROUNDED) and not (
            least * (1 - ROUNDED) <= found.tolerance <= most * (1 + ROUNDED)
        ):
            promised = f"{most:.4g}" if least else f"at most {most:.4g}"
            told = f"{few:.4g}, a few ulp, or {promised}, from its format"
            fields.within(key).fault("tolerance", f"{found.tolerance}", told)


def _same_inputs_are_compared(group: Mapping[str, Comparison], fields: Fields) -> None:
    """What rests on inputs that are the same has a verdict wherever both sides are known."""
    if group["input_sha256"].verdict != "exact":
        return
    for key in OF_INPUTS:
        found = group.get(key)
        if found is None or found.verdict != "not comparable" or key == "output":
            continue
        if None not in (found.recorded, found.here):
            told = "a verdict, since both are known and their inputs are the same"
            fields.within(key).fault("verdict", repr(found.verdict), told)


def _number(found: Comparison | None) -> float:
    """What was found here of a reading; zero where there is none."""
    return found.here if found and isinstance(found.here, float) else 0.0


def format_tolerance(result: str, features: int) -> float:
    """How far two relative errors of one result may lie apart on two machines."""
    if result.endswith("-int8"):
        return 4 * UNIT_ROUNDOFF
    return 2 * math.sqrt(features) * UNIT_ROUNDOFF


def _split(fields: Fields) -> Split:
    values = {
        key: fields.number(key) if fields.has(key) else fields.optional_number(key)[0]
        for key in ("representation", "here", "recorded", "recorded_at_least")
    }
    return Split(
        representation=values["representation"],
        here=values["here"],
        recorded=values["recorded"],
        at_least=values["recorded_at_least"],
    )


def _bound_holds(replay: Replay, name: str, fields: Fields) -> None:
    """Totals and parts are sides of triangles, of which the recorded total is one."""
    split, error = replay.splits[name], replay.fields[name].get("relative_l2_error")
    if error is None or split.representation is None:
        return
    kept, inputs = (replay.fields[name].get(key) for key in ("output", "input_sha256"))
    if split.recorded is not None and (kept is None or kept.recorded is None):
        fields.fault("recorded", f"{split.recorded}", "null, since no output was recorded")
    if isinstance(error.here, float):
        sides = {"total": error.here, "representation": split.representation, "here": split.here}
        triangle_closes(fields, sides)
    if isinstance(error.recorded, float) and inputs and inputs.verdict == "exact":
        sides = {
            "total": error.recorded,
            "representation": split.representation,
            "recorded": split.recorded,
        }
        triangle_closes(fields, sides)
    if isinstance(error.recorded, float):
        expected = abs(error.recorded - split.representation)
        fields.agree("recorded_at_least", expected, "the total less the representation error")


def _repeats(fields: Fields) -> Repeats:
    free, pinned = fields.within("free"), fields.optional_within("pinned")
    runs = free.count("repeats")
    for each in filter(None, (free, pinned)):
        digests = each.texts("sha256")
        each.agree("distinct", len(set(digests)), "the number of its digests")
        each.agree("repeats", runs, "as often as without a limit to one core")
        if len(set(digests)) != len(digests) or not all(map(_DIGEST.fullmatch, digests)):
            each.fault("sha256", f"{digests!r:.60}", "the SHA-256 of each output, each once")
        if not 1 <= len(digests) <= runs:
            each.fault("distinct", f"{len(digests)}", f"from 1 to {runs}, one a run at most")
    digest_sets = [set(each.texts("sha256")) for each in (free, pinned) if each]
    return Repeats(
        runs=runs,
        distinct=free.count("distinct"),
        pinned=pinned.count("distinct") if pinned else None,
        pinned_reason="" if pinned else fields.name("pinned_reason"),
        same=digest_sets[0] == digest_sets[1] if pinned else None,
    )


def steps(one: float, two: float) -> int:
    """How many steps of float64 lead from `one` to `two`; 0 and −0 are one place."""
    places = []
    for number in (one, two):
        bits: int = struct.unpack("<q", struct.pack("<d", number))[0]
        places.append(bits if bits >= 0 else -(bits & 0x7FFF_FFFF_FFFF_FFFF))
    return abs(places[0] - places[1])
