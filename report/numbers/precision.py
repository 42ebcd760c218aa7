"""A precision run as typed values: what was asked, what came back, how far it can be trusted."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from statistics import median
from typing import Literal

from report.evidence import Evidence
from report.numbers.cluster import Cluster, read_cluster
from report.numbers.implied import bytes_add_up, peak_fits, sqnr_follows
from report.numbers.reading import Fields
from report.numbers.run import (
    Artifact,
    CompilerMemory,
    MeasuredRun,
    agree_with_setting,
    documents,
    read_artifact,
    read_memory,
    read_scope,
    read_setting,
    source_of,
)
from report.numbers.steadiness import Trend, trend_of
from report.record import Record

Case = Literal["balanced", "outlier"]
Policy = Literal["fp32", "bf16", "int8"]

SCHEMA = "assay/precision/1"
CASES: tuple[Case, ...] = ("balanced", "outlier")
POLICIES: tuple[Policy, ...] = ("fp32", "bf16", "int8")

OPERAND_BYTES: Mapping[Policy, int] = {"fp32": 4, "bf16": 2, "int8": 1}
REQUESTED: Mapping[Policy, tuple[str, str]] = {
    "fp32": ("float32", "float32"),
    "bf16": ("bfloat16", "float32"),
    "int8": ("int8", "int32"),
}
"""The types that each policy asks for: of the operands and of the accumulator."""
INT32_MAX = 2**31 - 1
SCALE_BYTES = 4
"""An FP32 scale: one for each row of X and each column of W."""


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
class Quantization:
    """One scale per row of X and per column of W, and the largest integer the dot reached."""

    x_scales: tuple[float, ...]
    w_scales: tuple[float, ...]
    max_abs_accumulator: int
    zero_rows: int
    """Rows of X and columns of W that hold only zeros; their scale is one."""
    underflow_rows: int
    """Those too small for a normal FP32 scale; scale one, codes zero."""
    clipped: int
    """Values that rounded beyond ±127 and were held there."""

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

    @property
    def trend(self) -> Trend:
        """Whether the calls still became faster or slower while they were timed."""
        return trend_of(self.samples)


@dataclass(frozen=True, slots=True, kw_only=True)
class TimingFloor:
    """What a sample costs when there is next to nothing to compute, in seconds."""

    clock: Timing
    """Reading the clock twice."""
    empty_call: Timing
    """Dispatching a program that returns its one number, and waiting for it."""


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
    output: Artifact | None
    """None for an output too large to keep."""

    @property
    def id(self) -> str:
        return f"{self.case}-{self.policy}"


@dataclass(frozen=True, slots=True, kw_only=True)
class PrecisionRun(MeasuredRun):
    """One recorded run of the precision lab."""

    request: Request
    inputs: Mapping[Case, Inputs]
    reference_norms: Mapping[Case, float]
    """‖Y‖₂ of the FP64 product, by case."""
    floor: TimingFloor
    results: tuple[Result, ...]
    cluster: Cluster | None
    """The processes of a distributed run; None for a run of one."""

    @property
    def extent(self) -> str:
        shape = f"{self.request.batch} × {self.request.features} × {self.request.outputs}"
        return f"{shape}, {self.cluster.extent}" if self.cluster else shape

    def result(self, case: Case, policy: Policy) -> Result:
        return next(r for r in self.results if (r.case, r.policy) == (case, policy))


def read_precision(evidence: Evidence) -> PrecisionRun:
    """The typed run, or EvidenceMismatch naming every field that is missing or contradictory."""
    record = evidence.record
    report, environment, config = documents(evidence)
    results = report.within("results")
    setting = read_setting(environment)
    inputs, floor = report.within("inputs"), report.within("timing_floor_s")
    files = {file.path: file.sha256 for file in record.files}
    run = PrecisionRun(
        name=record.name,
        source=source_of(evidence),
        level=evidence.level,
        scope=read_scope(report.within("scope")),
        setting=setting,
        request=_request(report.within("request")),
        inputs={case: _inputs(inputs.within(case)) for case in CASES},
        reference_norms={
            case: report.within("reference").within(case).number("norm") for case in CASES
        },
        floor=TimingFloor(
            clock=read_timing(floor.within("clock")),
            empty_call=read_timing(floor.within("empty_call")),
        ),
        results=tuple(
            _result(results.within(f"{case}-{policy}"), case, policy, files)
            for case in CASES
            for policy in POLICIES
        ),
        cluster=read_cluster(report, setting, [f"{c}-{p}" for c in CASES for p in POLICIES]),
    )
    for result in run.results:
        _agree_with_shape(result, run.request, results.within(result.id).within("stored_bytes"))
        _agree_with_case(result, run, results.within(result.id))
    agree_with_setting(run.setting, report, environment)
    _agree_with_request(run, record, report, config)
    for fields, known in (
        (results, [result.id for result in run.results]),
        (inputs, CASES),
        (report.within("reference"), CASES),
        (floor, ["clock", "empty_call"]),
    ):
        for extra in sorted(fields.found.keys() - set(known)):
            fields.fault(extra, "one that this lab does not make", f"only {', '.join(known)}")
    for case in CASES:
        _operands_agree(run.request, inputs.within(case))
    if (lab := report.text("lab")) != config.text("lab"):
        config.fault("lab", f"{config.found.get('lab')!r:.60}", f"{lab!r:.60}, as in report.json")
    if report.text("schema") != SCHEMA:
        report.fault("schema", f"{report.found.get('schema')!r:.60}", repr(SCHEMA))
    report.finish(record.name)
    return run


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


def _result(fields: Fields, case: Case, policy: Policy, files: Mapping[str, str]) -> Result:
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
        stored=read_stored(fields.within("stored_bytes")),
        memory=read_memory(fields.within("compiler_memory_bytes")),
        quantization=(
            _quantization(fields.within("quantization")) if fields.has("quantization") else None
        ),
        timing=read_timing(fields.within("timing_s")),
        stablehlo=read_artifact(program, "stablehlo", "stablehlo_sha256", files),
        hlo=read_artifact(program, "hlo", "hlo_sha256", files),
        output=_kept(output, files),
    )


def read_stored(fields: Fields) -> StoredBytes:
    """The parts, and the sums that must follow from them."""
    stored = StoredBytes(
        x_values=fields.count("x_values"),
        w_values=fields.count("w_values"),
        x_scales=fields.count("x_scales"),
        w_scales=fields.count("w_scales"),
    )
    bytes_add_up(fields, {"values": stored.values, "scales": stored.scales, "total": stored.total})
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


def _operands_agree(request: Request, fields: Fields) -> None:
    """X and W must have the shapes that were asked for."""
    shapes = {
        "x_shape": (request.batch, request.features),
        "w_shape": (request.features, request.outputs),
    }
    for key, shape in shapes.items():
        if (found := fields.counts(key)) != shape:
            fields.fault(key, f"{list(found)}", f"{list(shape)}, as requested")


def _agree_with_request(run: PrecisionRun, record: Record, report: Fields, config: Fields) -> None:
    """config.json asks for what report.json answers, and so do the operands and the trace."""
    request = run.request
    config.agree("seed", request.seed, "as in report.json")
    for key in ("platform", "batch", "features", "outputs", "steps", "trace"):
        config.within("options").agree(key, getattr(request, key), "as in report.json")
    for case in CASES:
        inputs = report.within("inputs").within(case)
        if len(run.inputs[case].example_row) != request.features:
            found = f"{len(run.inputs[case].example_row)} numbers"
            inputs.fault("example_row", found, f"{request.features}, a row of X")
    if request.trace != (record.trace is not None):
        found = "no trace/summary.json" if request.trace else "a trace/summary.json"
        report.fault("request/trace", f"{request.trace}, and {found}", "both or neither")


def _agree_with_case(result: Result, run: PrecisionRun, fields: Fields) -> None:
    """A result has its case's inputs, its policy's arithmetic, and a sample for each step."""
    request, int8 = run.request, result.policy == "int8"
    sqnr_follows(fields, result.relative_l2_error)
    peak_fits(
        fields,
        result.max_abs_error,
        result.relative_l2_error,
        run.reference_norms[result.case],
        request.batch * request.outputs,
    )
    fields.agree("input_sha256", run.inputs[result.case].sha256, "the digest of its inputs")
    for key, expected in zip(("operand", "accumulator"), REQUESTED[result.policy], strict=True):
        fields.within("requested").agree(key, expected, f"what {result.policy} asks for")
    if len(result.timing.samples) != request.steps:
        found = f"{len(result.timing.samples)} samples"
        fields.fault("timing_s/samples", found, f"{request.steps}, one a step")
    if int8 != (result.quantization is not None):
        found = "null" if int8 else "a quantization"
        fields.fault("quantization", found, "scales for int8, and only for int8")
    elif result.quantization is not None:
        scales = {"x_scales": request.batch, "w_scales": request.outputs}
        for key, count in scales.items():
            found_scales = getattr(result.quantization, key)
            if len(found_scales) != count or min(found_scales, default=0) <= 0:
                found = f"{len(found_scales)} scales, the smallest {min(found_scales, default=0)}"
                fields.fault(f"quantization/{key}", found, f"{count} scales above zero")
        if result.quantization.max_abs_accumulator > INT32_MAX:
            found = f"{result.quantization.max_abs_accumulator}"
            fields.fault("quantization/max_abs_accumulator", found, f"at most {INT32_MAX}")


def _quantization(fields: Fields) -> Quantization:
    return Quantization(
        x_scales=fields.numbers("x_scales"),
        w_scales=fields.numbers("w_scales"),
        max_abs_accumulator=fields.count("max_abs_accumulator"),
        zero_rows=_of_both(fields.within("zero_rows")),
        underflow_rows=_of_both(fields.within("underflow_rows")),
        clipped=_of_both(fields.within("clipped")),
    )


def _of_both(fields: Fields) -> int:
    return fields.count("x") + fields.count("w")


def read_timing(fields: Fields) -> Timing:
    """Every sample, and the summary that must follow from them."""
    timing = Timing(
        samples=fields.numbers("samples"),
        median=fields.number("median"),
        minimum=fields.number("minimum"),
        maximum=fields.number("maximum"),
    )
    if not timing.samples or min(timing.samples) < 0:
        fields.fault("samples", "none, or a negative one", "every sample that was taken")
        return timing
    ordered = sorted(timing.samples)
    fields.agree("minimum", ordered[0], "the smallest sample")
    fields.agree("median", median(ordered), "the median of the samples")
    fields.agree("maximum", ordered[-1], "the largest sample")
    return timing


def _kept(output: Fields, files: Mapping[str, str]) -> Artifact | None:
    """The raw output, or None for one that the lab left out and said why."""
    if output.has("file"):
        return read_artifact(output, "file", "sha256", files)
    output.text("file_reason")
    return None
