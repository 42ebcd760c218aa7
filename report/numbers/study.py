"""Everything worked out for one build, in one value: what figures, tables and pages are made of."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, fields, is_dataclass
from datetime import date
from decimal import Decimal
from enum import Enum
from fractions import Fraction
from hashlib import sha256

from report.content import Content
from report.errors import ContentFault, EvidenceMismatch
from report.evidence import Evidence
from report.numbers.ceilings import Verdict, judge
from report.numbers.kinds import R, featured, of_kind, read_run, work_out_runs
from report.numbers.least_time import work_out_least_times
from report.numbers.lowering import Preflight
from report.numbers.precision import PrecisionRun
from report.numbers.profile import Profile
from report.numbers.run import Run
from report.numbers.stated import state_chips, state_formats, state_models
from report.numbers.timing import agree_on_programs
from report.numbers.trace import read_trace
from report.numbers.values import Values
from report.numbers.worked_counting import work_out_counting
from report.numbers.worked_elsewhere import work_out_elsewhere
from report.numbers.worked_memory import (
    CacheStudy,
    MemoryStudy,
    work_out_cache,
    work_out_memory,
)
from report.numbers.worked_precision import (
    QuantizationStep,
    step_of,
    work_out_integer_range,
    work_out_tiny_row,
)
from report.numbers.worked_roofline import RooflineStudy, work_out_roofline
from report.numbers.worked_trace import work_out_trace
from report.numbers.workings import Workings

MODEL = "lesson"
"""The model whose sizes the worked examples take."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Study:
    """One build's numbers. Picklable, so that figures can be drawn in other processes."""

    runs: Mapping[str, Run]
    """Every recorded run, by record."""
    traces: Mapping[str, Profile]
    """Every capture, by the record that it belongs to."""
    ceilings: tuple[Verdict, ...]
    """Which documented rates a matrix instruction of the same format bears out."""
    memory: MemoryStudy
    kv_cache: CacheStudy
    roofline: RooflineStudy
    quantization_step: QuantizationStep | None
    values: Values
    stamps: Mapping[str, str]
    """What stands for a whole run: its name, the SHA-256 of its manifest, and its level."""
    digest: str
    """SHA-256 of every value above, so that two studies can be told apart."""

    def of(self, kind: type[R]) -> dict[str, R]:
        """The runs of one kind, by record."""
        return of_kind(self.runs, kind)

    def featured(self, kind: type[R]) -> R | None:
        """The run of a kind that the lesson shows; None when no record has all of it."""
        return featured(self.runs, kind)


def work_out(evidence: Mapping[str, Evidence], content: Content) -> Study:
    """Derive every number of the site, or refuse with every fault of a record at once."""
    model = content.models.get(MODEL)
    if model is None:
        raise ContentFault(
            f"content/models/{MODEL}.yaml is missing.", hint="It gives the worked examples' sizes."
        )
    note = Workings()
    state_chips(content.chips, note)
    state_formats(content.formats, note)
    state_models(content.models, note)

    memory = work_out_memory(model, content.chips, content.formats, note)
    cache = work_out_cache(model, note)
    runs, traces = read_all(evidence)
    ceilings = judge(content.chips, featured(runs, Preflight))
    roofline = work_out_roofline(model, content.chips, ceilings, note)
    work_out_counting(content.chips, note)
    work_out_tiny_row(note)
    work_out_integer_range(note)

    agree_on_programs(runs)
    work_out_runs(runs, note)
    work_out_least_times(runs, content.chips, note)
    work_out_elsewhere(runs, note)
    for trace in traces.values():
        work_out_trace(trace, note)
    shown = featured(runs, PrecisionRun)
    step = step_of(shown, note) if shown else None

    values = Values(note.values, _documents(evidence))
    return Study(
        runs=runs,
        traces=traces,
        ceilings=ceilings,
        memory=memory,
        kv_cache=cache,
        roofline=roofline,
        quantization_step=step,
        values=values,
        stamps={
            name: f"{name} {each.record.manifest_sha256} {each.level}"
            for name, each in evidence.items()
        },
        digest=digest_of(
            [list(note.values.values()), {n: e.record.manifest_sha256 for n, e in evidence.items()}]
        ),
    )


def read_all(
    evidence: Mapping[str, Evidence],
) -> tuple[dict[str, Run], dict[str, Profile]]:
    """Every run and capture, by record, or one refusal with the faults of all."""
    runs: dict[str, Run] = {}
    traces: dict[str, Profile] = {}
    refusals: list[EvidenceMismatch] = []
    for name, found in sorted(evidence.items()):
        try:
            runs[name] = read_run(found)
        except EvidenceMismatch as refusal:
            refusals.append(refusal)
        try:
            if trace := read_trace(found):
                traces[name] = trace
        except EvidenceMismatch as refusal:
            refusals.append(refusal)
    if refusals:
        raise EvidenceMismatch(
            " ".join(dict.fromkeys(refusal.summary for refusal in refusals)),
            [fault for refusal in refusals for fault in refusal.faults],
            hint=refusals[0].hint,
        )
    return runs, traces


def digest_of(value: object) -> str:
    """SHA-256 of any value made of dataclasses, mappings, sequences and plain numbers."""
    text = json.dumps(_plain(value), sort_keys=True, separators=(",", ":"))
    return sha256(text.encode()).hexdigest()


def _plain(value: object) -> object:
    if is_dataclass(value) and not isinstance(value, type):
        return {field.name: _plain(getattr(value, field.name)) for field in fields(value)}
    if isinstance(value, Mapping):
        return {str(key): _plain(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(inner) for inner in value]
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, Decimal | Fraction | date):
        return str(value)
    if value is None or isinstance(value, str | int | float):
        return value
    raise TypeError(f"{type(value).__name__} has no digest")


def _documents(evidence: Mapping[str, Evidence]) -> dict[str, Mapping[str, object]]:
    """Recorded documents by the part of a pointer that stands before its #."""
    documents: dict[str, Mapping[str, object]] = {}
    for name, found in evidence.items():
        record = found.record
        documents[name] = record.report
        documents[f"{name}/environment"] = record.environment
        documents[f"{name}/config"] = record.config
        if record.trace is not None:
            documents[f"{name}/trace"] = record.trace
    return documents
