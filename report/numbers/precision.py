"""A precision run as typed values: what was asked, what came back, how far it can be trusted."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from report.evidence import Evidence
from report.numbers.reading import Fields
from report.source import Source

Case = Literal["balanced", "outlier"]
Policy = Literal["fp32", "bf16", "int8"]

SCHEMA = "assay/precision/1"
CASES: tuple[Case, ...] = ("balanced", "outlier")
POLICIES: tuple[Policy, ...] = ("fp32", "bf16", "int8")

OPERAND_BYTES: Mapping[Policy, int] = {"fp32": 4, "bf16": 2, "int8": 1}
SCALE_BYTES = 4
"""An FP32 scale: one for each row of X and each column of W."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Scope:
    """Where the run happened, and the sentence that must stand above its results."""

    platform: str
    statement: str
    single_device: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """What the lab was asked for: X is batch × features, W features × outputs."""

    platform: str
    batch: int
    features: int
    outputs: int
    steps: int
    seed: int
    outlier_feature: int
    outlier_factor: float
    trace: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Inputs:
    """One case's operands, by digest, and row 0 of X."""

    sha256: str
    example_row: tuple[float, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Requested:
    """The arithmetic that was requested, which is not the arithmetic that ran."""

    operand: str
    accumulator: str
    output: str
    precision: str


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredBytes:
    """Bytes of the operands as stored; scales stand apart, outputs are not counted."""

    x_values: int
    w_values: int
    x_scales: int
    w_scales: int

    @property
    def values(self) -> int:
        return self.x_values + self.w_values

    @property
    def scales(self) -> int:
        return self.x_scales + self.w_scales

    @property
    def total(self) -> int:
        return self.values + self.scales

    @property
    def scale_share(self) -> float:
        """Scales over everything stored, 0 to 1."""
        return self.scales / self.total


@dataclass(frozen=True, slots=True, kw_only=True)
class CompilerMemory:
    """The compiler's own account of one program, in bytes. Estimates, not measurements."""

    argument: int
    output: int
    temporary: int
    alias: int
    generated_code: int
    peak: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Quantization:
    """One scale per row of X and per column of W, and the largest integer the dot reached."""

    x_scales: tuple[float, ...]
    w_scales: tuple[float, ...]
    max_abs_accumulator: int

    @property
    def headroom_bits(self) -> float:
        """Doublings left before an INT32 accumulator would wrap."""
        return 31 - math.log2(self.max_abs_accumulator) if self.max_abs_accumulator else 31.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Timing:
    """Wall time of warmed, synchronized calls, in seconds."""

    samples: tuple[float, ...]
    median: float
    minimum: float
    maximum: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Artifact:
    """A file of the run, by its path in the run folder."""

    path: str
    sha256: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """One policy on one case."""

    case: Case
    policy: Policy
    requested: Requested
    relative_l2_error: float | None
    """‖Ŷ − Y‖₂ / ‖Y‖₂ against the FP64 product of the original FP32 values."""
    relative_l2_error_reason: str
    max_abs_error: float
    sqnr_db: float | None
    sqnr_db_reason: str
    stored: StoredBytes
    memory: CompilerMemory
    quantization: Quantization | None
    timing: Timing
    stablehlo: Artifact
    hlo: Artifact
    output: Artifact

    @property
    def id(self) -> str:
        return f"{self.case}-{self.policy}"


@dataclass(frozen=True, slots=True, kw_only=True)
class PrecisionRun:
    """One recorded run of the precision lab."""

    name: str
    source: Source
    """The run's report.json, with its digest."""
    level: str
    """`current` when made by today's lab, else `historic`."""
    scope: Scope
    request: Request
    inputs: Mapping[Case, Inputs]
    reference_norms: Mapping[Case, float]
    """‖Y‖₂ of the FP64 product, by case."""
    results: tuple[Result, ...]

    def result(self, case: Case, policy: Policy) -> Result:
        return next(r for r in self.results if (r.case, r.policy) == (case, policy))


def read_precision(evidence: Evidence) -> PrecisionRun:
    """The typed run, or EvidenceMismatch naming every field that is missing or contradictory."""
    record = evidence.record
    report = Fields(record.report, f"{record.name}/report.json")
    results = report.within("results")
    inputs = report.within("inputs")
    run = PrecisionRun(
        name=record.name,
        source=Source(
            name=f"{record.name}/report.json",
            href=f"records/{record.name}/report.json",
            sha256=next((f.sha256 for f in record.files if f.path == "report.json"), None),
        ),
        level=evidence.level,
        scope=_scope(report.within("scope")),
        request=_request(report.within("request")),
        inputs={case: _inputs(inputs.within(case)) for case in CASES},
        reference_norms={
            case: report.within("reference").within(case).number("norm") for case in CASES
        },
        results=tuple(
            _result(results.within(f"{case}-{policy}"), case, policy)
            for case in CASES
            for policy in POLICIES
        ),
    )
    for result in run.results:
        _agree_with_shape(result, run.request, results.within(result.id).within("stored_bytes"))
    if report.text("schema") != SCHEMA:
        report.fault("schema", f"{report.found.get('schema')!r:.60}", repr(SCHEMA))
    report.finish(record.name)
    return run


def _scope(fields: Fields) -> Scope:
    return Scope(
        platform=fields.text("platform"),
        statement=fields.text("statement"),
        single_device=fields.flag("single_device"),
    )


def _request(fields: Fields) -> Request:
    return Request(
        platform=fields.text("platform"),
        batch=fields.count("batch"),
        features=fields.count("features"),
        outputs=fields.count("outputs"),
        steps=fields.count("steps"),
        seed=fields.count("seed"),
        outlier_feature=fields.count("outlier_feature"),
        outlier_factor=fields.number("outlier_factor"),
        trace=fields.flag("trace"),
    )


def _inputs(fields: Fields) -> Inputs:
    return Inputs(sha256=fields.text("sha256"), example_row=fields.numbers("example_row"))


def _result(fields: Fields, case: Case, policy: Policy) -> Result:
    error, error_reason = fields.optional_number("relative_l2_error")
    sqnr, sqnr_reason = fields.optional_number("sqnr_db")
    for key, expected in (("case", case), ("policy", policy)):
        if (found := fields.text(key)) != expected:
            fields.fault(key, repr(found), repr(expected))
    if error is not None and error < 0:
        fields.fault("relative_l2_error", f"{error}", "zero or more")
    requested, program, output = map(fields.within, ("requested", "program", "output"))
    return Result(
        case=case,
        policy=policy,
        requested=Requested(
            operand=requested.text("operand"),
            accumulator=requested.text("accumulator"),
            output=requested.text("output"),
            precision=requested.text("precision"),
        ),
        relative_l2_error=error,
        relative_l2_error_reason=error_reason,
        max_abs_error=fields.number("max_abs_error"),
        sqnr_db=sqnr,
        sqnr_db_reason=sqnr_reason,
        stored=_stored(fields.within("stored_bytes")),
        memory=_memory(fields.within("compiler_memory_bytes")),
        quantization=(
            _quantization(fields.within("quantization")) if fields.has("quantization") else None
        ),
        timing=_timing(fields.within("timing_s")),
        stablehlo=_artifact(program, "stablehlo", "stablehlo_sha256"),
        hlo=_artifact(program, "hlo", "hlo_sha256"),
        output=_artifact(output, "file", "sha256"),
    )


def _stored(fields: Fields) -> StoredBytes:
    stored = StoredBytes(
        x_values=fields.count("x_values"),
        w_values=fields.count("w_values"),
        x_scales=fields.count("x_scales"),
        w_scales=fields.count("w_scales"),
    )
    sums = {"values": stored.values, "scales": stored.scales, "total": stored.total}
    for key, worked_out in sums.items():
        if (found := fields.count(key)) != worked_out:
            fields.fault(key, f"{found}", f"{worked_out}, the sum of its parts")
    if not stored.total:
        fields.fault("total", "0", "at least one stored byte")
    return stored


def _agree_with_shape(result: Result, request: Request, fields: Fields) -> None:
    """What is stored must be what X (m×k) and W (k×n) need at the operand's width."""
    width = OPERAND_BYTES[result.policy]
    scale = SCALE_BYTES if result.policy == "int8" else 0
    expected = {
        "x_values": request.batch * request.features * width,
        "w_values": request.features * request.outputs * width,
        "x_scales": request.batch * scale,
        "w_scales": request.outputs * scale,
    }
    for key, size in expected.items():
        if (found := getattr(result.stored, key)) != size:
            fields.fault(key, f"{found}", f"{size}, from the requested shape")


def _memory(fields: Fields) -> CompilerMemory:
    return CompilerMemory(
        argument=fields.count("argument"),
        output=fields.count("output"),
        temporary=fields.count("temporary"),
        alias=fields.count("alias"),
        generated_code=fields.count("generated_code"),
        peak=fields.count("peak"),
    )


def _quantization(fields: Fields) -> Quantization:
    return Quantization(
        x_scales=fields.numbers("x_scales"),
        w_scales=fields.numbers("w_scales"),
        max_abs_accumulator=fields.count("max_abs_accumulator"),
    )


def _timing(fields: Fields) -> Timing:
    timing = Timing(
        samples=fields.numbers("samples"),
        median=fields.number("median"),
        minimum=fields.number("minimum"),
        maximum=fields.number("maximum"),
    )
    if not timing.samples:
        fields.fault("samples", "none", "every sample that was taken")
    return timing


def _artifact(fields: Fields, path: str, sha256: str) -> Artifact:
    return Artifact(path=fields.text(path), sha256=fields.text(sha256))
