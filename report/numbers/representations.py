"""A representations run as typed values: policies, what each stores, and each error's parts."""

import math
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

from report.evidence import Evidence
from report.numbers.implied import ROUNDED, bytes_add_up, peak_fits, triangle_closes
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

SCHEMA = "assay/representations/1"
LAB = "representations"

CASE_NAMES: Mapping[str, str] = {
    "balanced": "Balanced",
    "outlier": "Outlier",
    "heavy_tailed": "Heavy-tailed",
    "zero_row": "Zero row",
    "subnormal_row": "Subnormal row",
}
CASES = tuple(CASE_NAMES)
"""In the order in which they are read; a run has all of them."""
OUTLIER, BALANCED = "outlier", "balanced"

NAMES: Mapping[str, str] = {
    "fp32": "FP32",
    "bf16": "BF16",
    "fp16": "FP16",
    "e4m3fn-scaled": "E4M3FN scaled",
    "e4m3fn": "E4M3FN",
    "e5m2-scaled": "E5M2 scaled",
    "e5m2": "E5M2",
    "e4m3b11fnuz-scaled": "E4M3B11 scaled",
    "e4m3b11fnuz": "E4M3B11",
    "e4m3b11fnuz-nan": "E4M3B11 to NaN",
    "w8": "INT8 weights",
    "int8-tensor": "INT8 per tensor",
    "int8-row-column": "INT8 row/column",
    "int8-row-column-half": "INT8 peak at 127.5",
    "int8-groups-64": "INT8 groups of 64",
    "int8-groups-32": "INT8 groups of 32",
    "int8-groups-16": "INT8 groups of 16",
    "int8-smoothing": "INT8 smoothed",
    "int8-feature-fp32": "INT8 + FP32 feature",
    "int8-static": "INT8 static",
    "w4": "INT4 weights",
    "int4-row-column": "INT4 row/column",
    "int4-groups-32": "INT4 groups of 32",
}
"""The lab's own policies in reading order, by the names that charts and tables have room for."""

ORDINARY = "int8-row-column"
"""The policy whose outlier the lesson diagnoses."""
REPAIRS = (
    "int8-groups-64",
    "int8-groups-32",
    "int8-groups-16",
    "int8-smoothing",
    "int8-feature-fp32",
)
"""Policies that may mend it."""

PARTS = (
    "weights",
    "activations",
    "accumulators",
    "reductions",
    "gradients",
    "optimizer_state",
    "cache",
)
SETTINGS = (
    "granularity",
    "axis",
    "tile",
    "scale_type",
    "bound",
    "zero_point",
    "rounding",
    "saturation",
    "calibration",
    "calibration_sha256",
)
REASONS = ("clipped", "saturated", "flushed", "nonfinite")
PERCENTILES = (0, 1, 5, 25, 50, 75, 95, 99, 100)
"""Ranks at which the ratios of error and bound are told."""

BITS: Mapping[str, int] = {"float32": 32, "bfloat16": 16, "float16": 16, "int8": 8, "int4": 4}
"""What a stored code takes; a format of eight bits that is not listed is a float8."""
FLOAT32_BYTES = 4
INT32_BITS = 31
"""Beside the sign."""
EXACT_IN_FLOAT32 = 2**24
"""Every whole number up to this is a float32; the next one is not."""

Status = Literal["measured", "reference", "refused"]
"""A program ran; none did, but its codes were multiplied on the host; nothing was evaluated."""
STATUSES: tuple[Status, ...] = ("measured", "reference", "refused")


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """What the lab was asked for: X is batch × features, W features × outputs."""

    platform: str
    batch: int
    features: int
    outputs: int
    seed: int


@dataclass(frozen=True, slots=True, kw_only=True)
class CaseInputs:
    """One set of operands."""

    name: str
    description: str
    sha256: str
    """Of X, then W."""
    rows_sha256: str
    """Of the rows of X, in any order: what a policy that is calibrated on them names."""
    norm: float
    """‖Y‖₂ of their FP64 product: the denominator of every error."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyFile:
    """One policy as its file has it; None stands for `none`."""

    name: str
    title: str
    parts: Mapping[str, str]
    granularity: str
    axis: str
    tile: int | None
    scale_type: str
    bound: str
    zero_point: str
    rounding: str
    saturation: str
    calibration: str
    """The case whose scales are given to all others; empty for none."""
    calibration_sha256: str
    smoothing: float | None
    keep_float32: tuple[int, ...]
    file: Artifact

    @property
    def short(self) -> str:
        return NAMES.get(self.name, self.name)


@dataclass(frozen=True, slots=True, kw_only=True)
class Compiled:
    """What was asked of the compiler for one policy, and what it answered."""

    x: str
    w: str
    accumulator: str
    output: str
    precision: str
    status: str
    """`compiled`, `refused`, or `none` where no case allowed the policy."""
    message: str
    """Why there is no program, in the compiler's own words; empty where there is one."""
    memory: CompilerMemory | None
    stablehlo: Artifact | None
    hlo: Artifact | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Ratio:
    """A number, or why there is none."""

    value: float | None
    reason: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Anatomy:
    """Norms of one error and of its parts, all over the norm of the FP64 product."""

    total: Ratio
    representation: Ratio
    """Exact product of what is stored, against the exact product: worked out, not measured."""
    accumulation: Ratio
    rescale: Ratio


@dataclass(frozen=True, slots=True, kw_only=True)
class Certificate:
    """Errors against the bounds that were worked out before anything ran."""

    outputs: int
    unbounded: int
    """Outputs that NaN or infinity among the operands leaves without a bound."""
    exceeded: int
    worst: Ratio
    """The largest of error / bound."""
    percentiles: Mapping[int, float | None]
    width: Ratio
    """‖bound‖ / ‖reference‖: no empty promise is small against it."""

    @property
    def share_under(self) -> float:
        return (self.outputs - self.exceeded) / self.outputs

    @property
    def holds(self) -> bool:
        return not self.exceeded


@dataclass(frozen=True, slots=True, kw_only=True)
class IntegerRange:
    """The largest sum of integer codes, and the room that was left."""

    max_abs_accumulator: int
    headroom_bits: float
    longest_contraction: int
    float32_exact: bool
    """Whether converting each sum to float32 rounds nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Counters:
    """What became of an operand's values."""

    values: int
    clipped: int
    saturated: int
    flushed: int
    nonfinite: int

    @property
    def any(self) -> bool:
        return any(getattr(self, reason) for reason in REASONS)


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredBytes:
    """Bytes of the operands as stored, four-bit codes two to a byte."""

    x_codes: int
    w_codes: int
    x_scales: int
    w_scales: int
    other: int
    """The smoothing vector, and features kept in FP32."""

    @property
    def codes(self) -> int:
        return self.x_codes + self.w_codes

    @property
    def scales(self) -> int:
        return self.x_scales + self.w_scales

    @property
    def total(self) -> int:
        return self.codes + self.scales + self.other


@dataclass(frozen=True, slots=True, kw_only=True)
class Evaluated:
    """What is known of a policy on a case that it could be followed on."""

    anatomy: Anatomy
    largest: Ratio
    """The largest absolute error; without a value where no program ran."""
    certificate: Certificate | None
    certificate_reason: str
    """Why there is none."""
    rows: tuple[float | None, ...]
    """The error of each row of X over the row's own norm; empty where they are too many."""
    integers: IntegerRange | None
    x: Counters
    w: Counters
    output_flushed: int
    """Outputs that are zero although the exact product of what is stored is not."""
    stored: StoredBytes
    output: Artifact | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """One policy on one case."""

    case: str
    policy: str
    status: Status
    reason: str
    """Why nothing ran, or why nothing was evaluated; empty where a program ran."""
    found: Evaluated | None
    """None where nothing was evaluated."""

    @property
    def id(self) -> str:
        return f"{self.case}-{self.policy}"

    @property
    def error(self) -> Ratio:
        """The error that counts: measured where a program ran, else of the codes alone."""
        if self.found is None:
            return Ratio(value=None, reason=self.reason)
        parts = self.found.anatomy
        return parts.total if self.status == "measured" else parts.representation


@dataclass(frozen=True, slots=True, kw_only=True)
class RepresentationsRun(MeasuredRun):
    """One recorded run of the representations lab."""

    request: Request
    cases: Mapping[str, CaseInputs]
    policies: Mapping[str, PolicyFile]
    """In reading order."""
    programs: Mapping[str, Compiled]
    results: Mapping[str, Result]
    """By id."""

    @property
    def extent(self) -> str:
        shape = f"{self.request.batch} × {self.request.features} × {self.request.outputs}"
        return f"{len(self.policies)} policies on {len(self.cases)} cases of {shape}"

    @property
    def shape(self) -> str:
        return f"{self.request.batch} × {self.request.features} × {self.request.outputs}"

    @property
    def complete(self) -> bool:
        """Whether the lesson's policies are all there, with the errors that it compares."""
        wanted = (ORDINARY, *REPAIRS)
        return all(
            name in self.policies and all(self.result(case, name).error.value for case in CASES[:2])
            for name in wanted
        )

    def result(self, case: str, policy: str) -> Result:
        return self.results[f"{case}-{policy}"]

    def stored(self, policy: str) -> StoredBytes | None:
        """What a policy stores, which no case changes; None where it was nowhere followed."""
        found = (self.result(case, policy).found for case in self.cases)
        return next((each.stored for each in found if each), None)

    def of_case(self, case: str) -> Iterator[Result]:
        """The results of one case, in reading order."""
        return (self.result(case, policy) for policy in self.policies)


def read_representations(evidence: Evidence) -> RepresentationsRun:
    """The typed run, or EvidenceMismatch naming every field that is missing or contradictory."""
    record = evidence.record
    report, environment, config = documents(evidence)
    files = {file.path: file.sha256 for file in record.files}
    policies, results = report.within("policies"), report.within("results")
    inputs, reference = report.within("inputs"), report.within("reference")
    names = sorted(policies.found, key=_reading_order)
    run = RepresentationsRun(
        name=record.name,
        source=source_of(evidence),
        level=evidence.level,
        scope=read_scope(report.within("scope")),
        setting=read_setting(environment),
        request=_request(report.within("request")),
        cases={
            case: _case(case, inputs.within(case), reference.within(case).number("norm"))
            for case in CASES
        },
        policies={name: _policy(name, policies.within(name), files) for name in names},
        programs={name: _compiled(report.within("programs").within(name), files) for name in names},
        results={
            f"{case}-{name}": _result(results.within(f"{case}-{name}"), case, name, files)
            for case in CASES
            for name in names
        },
    )
    for fields, known in (
        (results, list(run.results)),
        (inputs, CASES),
        (reference, CASES),
        (report.within("programs"), names),
    ):
        for extra in sorted(fields.found.keys() - set(known)):
            fields.fault(extra, "one that this lab does not make", f"only {', '.join(known[:9])}")
    if not names:
        report.fault("policies", "none", "at least one policy")
    _agree(run, report, config)
    for name, policy in run.policies.items():
        if policy.file.sha256:
            _agree_with_file(
                policies.within(name), record.file(policy.file.path).read_bytes(), policy
            )
    agree_with_setting(run.setting, report, environment)
    if report.text("schema") != SCHEMA:
        report.fault("schema", f"{report.found.get('schema')!r:.60}", repr(SCHEMA))
    report.finish(record.name, lab=LAB)
    return run


def _reading_order(name: str) -> tuple[int, str]:
    """The lab's own policies as listed above, then all others by name."""
    known = list(NAMES)
    return (known.index(name) if name in known else len(known), name)


def _request(fields: Fields) -> Request:
    return Request(
        platform=fields.text("platform"),
        batch=fields.count("batch"),
        features=fields.count("features"),
        outputs=fields.count("outputs"),
        seed=fields.count("seed"),
    )


def _case(name: str, fields: Fields, norm: float) -> CaseInputs:
    return CaseInputs(
        name=name,
        description=fields.name("description"),
        sha256=fields.text("sha256"),
        rows_sha256=fields.text("rows_sha256"),
        norm=norm,
    )


def _policy(name: str, fields: Fields, files: Mapping[str, str]) -> PolicyFile:
    parts = fields.within("parts")
    fields.agree("name", name, "as it is listed")
    path = f"policies/{name}.toml"
    digest = files.get(path, "")
    if not digest:
        fields.fault("name", f"no {path} in the run", "the file of every policy")
    tile = fields.optional_count("tile")
    return PolicyFile(
        name=name,
        title=fields.name("title"),
        parts={part: parts.name(part) for part in PARTS},
        granularity=fields.name("granularity"),
        axis=fields.name("axis"),
        tile=tile,
        scale_type=fields.name("scale_type"),
        bound=fields.name("bound"),
        zero_point=fields.name("zero_point"),
        rounding=fields.name("rounding"),
        saturation=fields.name("saturation"),
        calibration=fields.optional_text("calibration"),
        calibration_sha256=fields.optional_text("calibration_sha256"),
        smoothing=fields.number("smoothing") if fields.has("smoothing") else None,
        keep_float32=fields.counts("keep_float32"),
        file=Artifact(path=path, sha256=digest),
    )


def _agree_with_file(fields: Fields, content: bytes, policy: PolicyFile) -> None:
    """What the report says of a policy is what its file says, in which `none` stands for null."""
    where = f"as in {policy.file.path}"
    try:
        told = tomllib.loads(content.decode())
    except (ValueError, RecursionError):  # what is no UTF-8 and what is no TOML are ValueErrors
        fields.fault("name", policy.name, f"a file that can be read, {policy.file.path}")
        return
    parts, settings, outliers = (
        found if isinstance(found := told.get(table), dict) else {}
        for table in ("parts", "quantization", "outliers")
    )
    for key in ("name", "title"):
        fields.agree(key, told.get(key), where)
    for part in PARTS:
        fields.within("parts").agree(part, parts.get(part), where)
    for key in SETTINGS:
        found = settings.get(key)
        nothing = found == "none" and key in {"tile", "calibration", "calibration_sha256"}
        fields.agree(key, None if nothing else found, where)
    alpha = outliers.get("smoothing")
    fields.agree("smoothing", float(alpha) if isinstance(alpha, int) else alpha, where)
    fields.agree("keep_float32", outliers.get("keep_float32", []), where)


def _compiled(fields: Fields, files: Mapping[str, str]) -> Compiled:
    requested = fields.within("requested")
    status = fields.choice("status", ("compiled", "refused", "none"))
    made = status == "compiled"
    return Compiled(
        x=requested.name("x"),
        w=requested.name("w"),
        accumulator=requested.name("accumulator"),
        output=requested.name("output"),
        precision=requested.name("precision"),
        status=status,
        message="" if made else fields.text("message"),
        memory=read_memory(fields.within("compiler_memory_bytes")) if made else None,
        stablehlo=read_artifact(fields, "stablehlo", "stablehlo_sha256", files) if made else None,
        hlo=read_artifact(fields, "hlo", "hlo_sha256", files) if made else None,
    )


def _result(fields: Fields, case: str, policy: str, files: Mapping[str, str]) -> Result:
    for key, expected in (("case", case), ("policy", policy)):
        fields.agree(key, expected, "as it is listed")
    status = next(s for s in STATUSES if s == fields.choice("status", STATUSES))
    return Result(
        case=case,
        policy=policy,
        status=status,
        reason="" if status == "measured" else fields.name("status_reason"),
        found=None if status == "refused" else _evaluated(fields, status, files),
    )


def _evaluated(fields: Fields, status: Status, files: Mapping[str, str]) -> Evaluated:
    measured = status == "measured"
    parts, counters = fields.within("anatomy"), fields.within("counters")
    output = fields.within("output")
    key = "bound" if measured else "codes_bound"
    held = fields.optional_within(key)
    reason = ""
    if held is None:
        reason = fields.name("bound_reason") if measured else parts.name("representation_reason")
    return Evaluated(
        anatomy=Anatomy(
            total=_ratio(parts, "total"),
            representation=_ratio(parts, "representation"),
            accumulation=_ratio(parts, "accumulation"),
            rescale=_ratio(parts, "rescale"),
        ),
        largest=_ratio(fields, "max_abs_error")
        if measured
        else Ratio(value=None, reason=fields.name("status_reason")),
        certificate=_certificate(held) if held else None,
        certificate_reason=reason,
        rows=_rows(fields) if measured else (),
        integers=_integers(fields.within("integer_range")) if fields.has("integer_range") else None,
        x=_counters(counters.within("x")),
        w=_counters(counters.within("w")),
        output_flushed=counters.within("output").count("flushed") if measured else 0,
        stored=_stored(fields.within("stored_bytes")),
        output=read_artifact(output, "file", "sha256", files) if output.has("file") else None,
    )


def _ratio(fields: Fields, key: str) -> Ratio:
    value, reason = fields.optional_number(key)
    if value is not None and value < 0:
        fields.fault(key, f"{value}", "zero or more")
    return Ratio(value=value, reason=reason)


def _certificate(fields: Fields) -> Certificate:
    ranks = fields.within("percentiles")
    certificate = Certificate(
        outputs=fields.count("outputs"),
        unbounded=fields.count("unbounded"),
        exceeded=fields.count("exceeded"),
        worst=_ratio(fields, "worst_ratio"),
        percentiles={rank: _ratio(ranks, f"p{rank}").value for rank in PERCENTILES},
        width=_ratio(fields, "relative_l2"),
    )
    if not certificate.outputs or certificate.exceeded > certificate.outputs:
        fields.fault("outputs", f"{certificate.outputs}", "at least those that exceed their bound")
    elif fields.number("share_under") != certificate.share_under:
        fields.fault("share_under", f"{fields.found.get('share_under')}", "the share it counts")
    worst = certificate.worst.value
    if worst is not None and (worst > 1) != bool(certificate.exceeded):
        fields.fault("worst_ratio", f"{worst}", f"what {certificate.exceeded} beyond 1 allow")
    told = list(certificate.percentiles.values())
    growing = [each for each in told if each is not None]
    if growing != sorted(growing) or None in told[: len(growing)]:
        fields.fault("percentiles", "one below an earlier one", "ratios that grow with the rank")
    if told[-1] != worst:
        ranks.fault(f"p{PERCENTILES[-1]}", f"{told[-1]}", f"{worst}, the worst ratio")
    return certificate


def _rows(fields: Fields) -> tuple[float | None, ...]:
    found = fields.found.get("rows")
    if found is None:
        fields.name("rows_reason")
        return ()
    if isinstance(found, list) and all(
        each is None or (type(each) is float and 0 <= each <= 1e60) for each in found
    ):
        return tuple(found)
    fields.fault("rows", f"{found!r:.60}", "a list of finite numbers, null for a row of zeros")
    return ()


def _integers(fields: Fields) -> IntegerRange:
    found = IntegerRange(
        max_abs_accumulator=fields.count("max_abs_accumulator"),
        headroom_bits=fields.number("headroom_bits"),
        longest_contraction=fields.count("longest_contraction"),
        float32_exact=fields.flag("float32_exact"),
    )
    left = INT32_BITS - math.log2(max(found.max_abs_accumulator, 1))
    if not math.isclose(found.headroom_bits, left, rel_tol=1e-12):
        fields.fault("headroom_bits", f"{found.headroom_bits}", f"{left}, from the largest sum")
    exact = found.max_abs_accumulator <= EXACT_IN_FLOAT32
    fields.agree("float32_exact", exact, "from the largest sum")
    return found


def _counters(fields: Fields) -> Counters:
    counters = Counters(
        values=fields.count("values"),
        clipped=fields.count("clipped"),
        saturated=fields.count("saturated"),
        flushed=fields.count("flushed"),
        nonfinite=fields.count("nonfinite"),
    )
    for reason in REASONS:
        count = getattr(counters, reason)
        if count > counters.values:
            fields.fault(reason, f"{count}", f"at most {counters.values}")
        elif counters.values and fields.number(f"{reason}_share") != count / counters.values:
            fields.fault(f"{reason}_share", f"{fields.found.get(f'{reason}_share')}", "its share")
    return counters


def _stored(fields: Fields) -> StoredBytes:
    stored = StoredBytes(
        x_codes=fields.count("x_codes"),
        w_codes=fields.count("w_codes"),
        x_scales=fields.count("x_scales"),
        w_scales=fields.count("w_scales"),
        other=fields.count("other"),
    )
    bytes_add_up(fields, {"codes": stored.codes, "scales": stored.scales, "total": stored.total})
    return stored


def _agree(run: RepresentationsRun, report: Fields, config: Fields) -> None:
    """config.json asks for what report.json answers, and no result contradicts its program."""
    config.agree("seed", run.request.seed, "as in report.json")
    config.agree("lab", LAB, "the lab that makes such a report")
    report.agree("lab", LAB, "the lab that makes such a report")
    options = config.within("options")
    for key in ("platform", "batch", "features", "outputs"):
        options.agree(key, getattr(run.request, key), "as in report.json")
    results = report.within("results")
    for result in run.results.values():
        made = run.programs[result.policy].status == "compiled"
        if result.status != "refused" and (result.status == "measured") != made:
            results.within(result.id).fault(
                "status", result.status, "measured where a program was compiled, and only there"
            )
        fields = results.within(result.id)
        fields.agree("input_sha256", run.cases[result.case].sha256, "as of its case")
        if result.found is not None:
            _agree_with_shape(run, result, result.found, fields)
            _agree_on_error(run, result, result.found, fields)
    for case in run.cases:
        _agree_on_operands(run.request, report.within("inputs").within(case))


def _agree_with_shape(
    run: RepresentationsRun, result: Result, found: Evaluated, fields: Fields
) -> None:
    """Counts and bytes are those of X (m×k) and W (k×n), less the features kept in float32."""
    request, policy = run.request, run.policies[result.policy]
    kept = len(policy.keep_float32)
    asked, stored = run.programs[result.policy], fields.within("stored_bytes")
    features = request.features - kept
    for key, rows, name in (("x", request.batch, asked.x), ("w", request.outputs, asked.w)):
        values = rows * features
        fields.within("counters").within(key).agree("values", values, "from the requested shape")
        if bits := BITS.get(name, 8 if name.startswith("float8_") else 0):
            size = -(-values * bits // 8)
            stored.agree(f"{key}_codes", size, f"{values} values of {bits} bits")
    other = FLOAT32_BYTES * kept * (request.batch + request.outputs)
    if policy.smoothing is not None:
        other += FLOAT32_BYTES * features
    stored.agree("other", other, "what smoothing and kept features need")

    outputs = request.batch * request.outputs
    if found.certificate is not None:
        bounded = found.certificate.outputs + found.certificate.unbounded
        if bounded != outputs:
            key = "bound" if result.status == "measured" else "codes_bound"
            fields.fault(f"{key}/outputs", f"{bounded} with those unbounded", f"{outputs}")
    if result.status == "measured":
        counted = fields.within("counters").within("output")
        counted.agree("values", outputs, "from the requested shape")
        if found.output_flushed > outputs:
            counted.fault("flushed", f"{found.output_flushed}", f"at most {outputs}")
        if found.rows and len(found.rows) != request.batch:
            fields.fault("rows", f"{len(found.rows)} errors", f"{request.batch}, one a row of X")
        if found.output is None:
            fields.within("output").name("file_reason")
    integers = found.integers
    if (integers is not None) != (asked.accumulator == "int32"):
        told = "null" if integers is None else "a range"
        fields.fault("integer_range", told, f"for sums in {asked.accumulator}")


def _agree_on_error(
    run: RepresentationsRun, result: Result, found: Evaluated, fields: Fields
) -> None:
    """An error, its parts, its rows and its largest element belong together."""
    norm, parts = run.cases[result.case].norm, found.anatomy
    anatomy = fields.within("anatomy")
    anatomy.agree("denominator", norm, "the norm of the reference of its case")
    if result.status != "measured":
        return
    sides = ("total", "representation", "accumulation", "rescale")
    triangle_closes(anatomy, {side: getattr(parts, side).value for side in sides})
    total, largest = parts.total.value, found.largest.value
    if total is None:
        return
    if largest is not None:
        peak_fits(fields, largest, total, norm, run.request.batch * run.request.outputs)
    rows = [each for each in found.rows if each is not None]
    if not rows:
        return
    low, high = min(rows) * (1 - ROUNDED), max(rows) * (1 + ROUNDED)
    if total < low or (total > high and len(rows) == len(found.rows)):
        told = f"{min(rows):.4g} to {max(rows):.4g}"
        fields.fault("rows", told, f"around {total:.4g}, the total of all rows")


def _agree_on_operands(request: Request, fields: Fields) -> None:
    """X and W have the shapes that were asked for."""
    for key, shape in (
        ("x", [request.batch, request.features]),
        ("w", [request.features, request.outputs]),
    ):
        fields.within(key).agree("shape", shape, "as requested")
