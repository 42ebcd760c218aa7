"""A preflight run as typed values: what was asked of a compiler, and what it made of it.

Everything here is a fact about a compiler's output. Bytes that follow from shapes are
computed, all others are the compiler's estimates; nothing was run, so nothing is measured.
"""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from report.evidence import Evidence
from report.ladder import RUNGS, Rung
from report.numbers.reading import Fields
from report.numbers.run import Artifact, CompilerMemory, Scope, documents, recorded_at, source_of
from report.source import Source

SCHEMA = "assay/preflight/1"

GENERATIONS = ("v2", "v3", "v4", "v5e", "v5p", "v6e", "tpu7x")
"""In the order in which they appeared; JSON keeps no order of keys."""
CPU = "cpu"

POLICIES: Mapping[str, str] = {
    "fp32-default": "FP32, default",
    "fp32-high": "FP32, high",
    "fp32-highest": "FP32, highest",
    "bf16": "BF16",
    "bf16-highest": "BF16, highest",
    "f16": "FP16",
    "int8": "INT8",
    "int8-scaled": "INT8, rescaled",
    "uint8": "UINT8",
    "int4": "INT4",
    "uint4": "UINT4",
    "bf16-int8": "BF16 × INT8",
    "bf16-int4": "BF16 × INT4",
    "e4m3fn": "FP8 E4M3FN",
    "e5m2": "FP8 E5M2",
    "e4m3b11fnuz": "FP8 E4M3B11FNUZ",
    "fp4": "FP4 E2M1",
}
"""The lesson's policies, in the order in which they are shown, and what they are called."""

LESSON, BATCH_ONE, SMALL_BATCH, SQUARE = "64x128x64", "1x127x65", "8x128x64", "256x256x256"
"""Rows of X × length of the contraction × columns of W."""

NATIVE: Mapping[str, frozenset[str]] = {
    "bf16": frozenset({"bf16"}),
    "int8": frozenset({"s8"}),
    "uint8": frozenset({"u8"}),
    "e4m3fn": frozenset({"f8e4m3fn"}),
    "e5m2": frozenset({"f8e5m2"}),
    "fp32": frozenset(),
    "fp16": frozenset(),
    "int4": frozenset(),
    "uint4": frozenset(),
    "e4m3b11fnuz": frozenset(),
    "fp4": frozenset(),
}
"""Operand types of matrix instructions that multiply a format as itself, by format.

`f32` is the float path of a matrix unit and not FP32 multiplication; `f8e5m2.bf16` multiplies
BF16. A format with none has no instruction that is known to us.
"""

STATEMENT = "Compiler facts for TPU targets, made on a CPU. Nothing ran on a TPU."
"""What must stand above every number of a preflight."""

FLOAT_PATH = "f32"
"""A matrix unit's path for floats, which multiplies narrower than FP32; how, it does not say."""

_KEY = re.compile(r"[\w.+-]+")
"""What may name a program, a target or a type, so that a pointer to it can be written anywhere."""

_STATUS = ("compiled", "refused", "not lowered", "aborted", "stopped")


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """The types of one product as requested, in NumPy's names."""

    name: str
    lhs: str
    rhs: str
    accumulator: str
    """Empty when none was requested."""
    precision: str
    scaled: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Size:
    """Bytes as the compiler printed them, and as exact as that print is."""

    as_printed: str
    bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """One topology that was compiled for."""

    slug: str
    generation: str
    topology: str
    device_kind: str
    chips: int
    devices: int
    usable_memory: Size | None
    """Of one JAX device, by the compiler's own refusal of a program that is far too large."""
    usable_memory_reason: str
    refusal: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Dot:
    """One product in a program's text, in HLO's names of types."""

    computation: str
    opcode: str
    lhs: str
    rhs: str
    """Types and shapes, such as `bf16[64,128]`."""
    operands: tuple[str, ...]
    """Types that are multiplied."""
    stored: tuple[str, ...]
    """Types of the same operands before any conversion."""
    accumulator: str
    """Type of the product's result; a unit may accumulate wider, and HLO does not say."""
    output: str
    flop: int | None
    wraps: bool
    """An integer result too narrow for its sum, which wraps without a word."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Convert:
    """Conversions of one kind, counted."""

    source: str
    to: str
    elements: int | None
    """None where the size of one is not known."""
    count: int

    @property
    def words(self) -> str:
        return f"{self.count} × {self.source} → {self.to}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """What a program's text holds."""

    rung: Rung
    dots: tuple[Dot, ...]
    converts: tuple[Convert, ...]
    opaque: tuple[str, ...]
    """Custom calls, whose inside no text shows."""

    @property
    def finding(self) -> str:
        """No dot in a text is just that; it is no cost of zero."""
        return f"{len(self.dots)} found" if self.dots else "no dot found"


@dataclass(frozen=True, slots=True, kw_only=True)
class Operand:
    """An argument or a result as compiled."""

    shape: str
    elements: int | None
    """None where a dimension is not known, and then its bytes are not either."""
    ideal_bytes: int | None
    tiled_bytes: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Refusal:
    """How a compilation ended otherwise, in the compiler's own words."""

    error: str
    message: str
    cut: bool
    """The message was longer, and only its beginning is kept."""
    needed: Size | None
    available: Size | None
    exit_code: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Compiled:
    """One program on one target."""

    status: str
    fits: bool | None
    rung: Rung
    stablehlo: Artifact | None
    hlo: Artifact | None
    """Texts that are kept; of others the hash alone is."""
    memory: CompilerMemory | None
    """Per device; the peak is the compiler's own."""
    flop: float | None
    bytes_accessed: float | None
    """The compiler's account of work and traffic."""
    compile_s: float | None
    """Wall time of the machine that compiled; no property of the target."""
    got: Reading | None
    got_reason: str
    inserted: tuple[Convert, ...]
    """Conversions in the compiled text that were not requested."""
    arguments: tuple[Operand, ...]
    results: tuple[Operand, ...]
    refusal: Refusal | None

    @property
    def temporary(self) -> int | None:
        return self.memory.temporary if self.memory else None

    @property
    def packed_bytes(self) -> int | None:
        """Of all arguments, without padding; None where those of one are not known."""
        known = [size for each in self.arguments if (size := each.ideal_bytes) is not None]
        return sum(known) if known and len(known) == len(self.arguments) else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Program:
    """One program, as requested and on every target it was compiled for."""

    id: str
    policy: str
    """Empty for a program that is named by reference."""
    shape: str
    """Such as `64x128x64`; empty for a program by reference."""
    reference: str
    requested: Reading | None
    targets: Mapping[str, Compiled]


@dataclass(frozen=True, slots=True, kw_only=True)
class Schedule:
    """Matrix instructions of one program on one target, by operand type."""

    compiler: str
    """How the compiler ended: an abort after the schedule was written is read all the same."""
    message: str
    rung: Rung | None
    """None when no schedule was written."""
    counts: Mapping[str, int] | None
    """Static counts; {} when the program uses no matrix instruction at all."""
    reason: str
    unrecognized: tuple[str, ...]

    @property
    def total(self) -> int | None:
        return None if self.counts is None else sum(self.counts.values())

    @property
    def families(self) -> frozenset[str]:
        return frozenset(self.counts or {})

    def multiplies(self, format: str) -> bool:
        """Whether every matrix instruction takes `format` as itself, and there is one."""
        return bool(self.families) and self.families <= NATIVE[format]

    def multiplies_other_than(self, format: str) -> bool:
        """Whether no matrix instruction takes `format` as itself, as far as they say.

        The float path does not say what it multiplies, so it may be BF16, but no integer or FP8.
        """
        unclear = {"unrecognized", *({FLOAT_PATH} if format == "bf16" else ())}
        return bool(self.families) and not (unclear | NATIVE[format]) & self.families


@dataclass(frozen=True, slots=True, kw_only=True)
class LedgerRow:
    """The bytes of one operand, column by column. No column is "the size"."""

    operand: str
    dtype: str
    shape: tuple[int, ...]
    elements: int
    ideal_bits: int
    nbytes: int
    """Of the NumPy array on the host, where INT4 takes a byte each."""
    argument: int | None
    """As the CPU's compiler takes it."""
    argument_reason: str
    tiled: Mapping[str, int | None]
    """As each TPU target's compiler does, padded to its tiles."""

    @property
    def ideal_bytes(self) -> int:
        return -(-self.ideal_bits // 8)


@dataclass(frozen=True, slots=True, kw_only=True)
class Ledger:
    """The bytes of one product."""

    id: str
    operands: tuple[LedgerRow, ...]
    output: LedgerRow
    scale_bytes: int
    argument: Mapping[str, int | None]
    """All operands as each compiler takes them, by target."""

    @property
    def elements(self) -> int:
        return sum(row.elements for row in self.operands)

    @property
    def ideal_bytes(self) -> int:
        return sum(row.ideal_bytes for row in self.operands)

    @property
    def nbytes(self) -> int:
        return sum(row.nbytes for row in self.operands)


@dataclass(frozen=True, slots=True, kw_only=True)
class Staircase:
    """Tiled bytes as one dimension of the base product grows."""

    base: tuple[int, int, int]
    sizes: tuple[int, ...]
    steps: Mapping[str, Mapping[str, Mapping[str, tuple[tuple[int, ...] | None, ...]]]]
    """By policy, dimension (m, k, n) and target: bytes of X, W and the output for each size."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Fit:
    """The largest batch that compiles for one target."""

    largest: int | None
    reason: str
    searched_to: int
    limited_by_search: bool
    memory: CompilerMemory | None
    """At the largest batch."""
    refusal: Refusal | None
    """Of the smallest batch that was too large."""
    probes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class FitStudy:
    """How much of a program fits, target by target. Formula and compiler stand apart."""

    program: str
    inputs: Mapping[str, int]
    formula_bytes_per_batch: int | None
    """What the budget's formula says one more in the batch takes; None when it has no formula."""
    targets: Mapping[str, Fit]

    def formula_bytes(self, target: str) -> int | None:
        """What the formula says the largest batch takes."""
        largest, each = self.targets[target].largest, self.formula_bytes_per_batch
        return None if largest is None or each is None else largest * each


@dataclass(frozen=True, slots=True, kw_only=True)
class Preflight:
    """One recorded run of the preflight lab."""

    name: str
    source: Source
    """The run's report.json, with its digest."""
    level: str
    """`current` when made by today's lab, else `historic`."""
    scope: Scope
    program: str
    """The user's program by reference; empty for the lesson's record."""
    compiler: str
    """The version of the TPU compiler; empty when none was needed."""
    recorded_at: str
    """UTC, such as 2026-11-30T01:02:03Z."""
    jax: str
    targets: Mapping[str, Target]
    policies: Mapping[str, Policy]
    programs: Mapping[str, Program]
    ledgers: Mapping[str, Ledger]
    families: Mapping[str, str]
    """What each operand type of a matrix instruction is known to mean."""
    schedules: Mapping[str, Mapping[str, Mapping[str, Schedule]]]
    """By shape, policy and target; a user's program has the shape "" and itself as policy."""
    staircase: Staircase | None
    steps: Mapping[str, Program]
    fits: Mapping[str, FitStudy]

    @property
    def device(self) -> str:
        return "no device"

    @property
    def made(self) -> str:
        return "compiled on a CPU, with nothing run"

    @property
    def extent(self) -> str:
        return f"{len(self.programs)} programs compiled"

    @property
    def generations(self) -> tuple[str, ...]:
        return tuple(self.targets)

    @property
    def matrix(self) -> Mapping[str, Mapping[str, Schedule]]:
        """Policy by target at the square shape: the matrix-instruction table."""
        return self.schedules.get(SQUARE, {})

    @property
    def complete(self) -> bool:
        """Whether it holds all that the lesson shows, for at least one generation."""
        fits = [fit.largest for study in self.fits.values() for fit in study.targets.values()]
        asked = self.matrix.keys() >= {"int8", "e4m3fn"}
        return bool(asked and self.staircase and self.staircase.sizes and any(fits))

    def schedule(self, policy: str, target: str, shape: str = SQUARE) -> Schedule | None:
        return self.schedules.get(shape, {}).get(policy, {}).get(target)


def read_preflight(evidence: Evidence) -> Preflight:
    """The typed run, or EvidenceMismatch naming every field that is missing or contradictory."""
    record = evidence.record
    report, environment, config = documents(evidence)
    request, compiler = report.within("request"), report.within("compiler")
    libtpu = compiler.optional_within("libtpu")
    files = {file.path: file.sha256 for file in record.files}
    scope = report.within("scope")
    instructions = _part(report, "instructions")
    staircase, steps = _part(report, "staircase"), _part(report, "steps")
    run = Preflight(
        name=record.name,
        source=source_of(evidence),
        level=evidence.level,
        scope=Scope(
            platform=scope.name("platform"),
            statement=STATEMENT if scope.text("statement") else "",
            single_device=scope.flag("single_device"),
        ),
        program=request.optional_text("program"),
        compiler=libtpu.name("installed") if libtpu else "",
        recorded_at=recorded_at(environment),
        jax=environment.within("versions").name("jax"),
        targets={
            slug: _target(fields, slug)
            for slug, fields in _in_order(report.within("targets"), GENERATIONS)
        },
        policies={name: _policy(fields, name) for name, fields in _entries(report, "policies")},
        programs=_programs(report.within("programs"), files),
        ledgers={id_: _ledger(fields, id_) for id_, fields in _entries(report, "ledger")},
        families=_families(instructions),
        schedules=_schedules(instructions),
        staircase=_staircase(staircase) if staircase else None,
        steps=_programs(steps, files) if steps else {},
        fits={name: _fits(fields, name) for name, fields in _entries(report, "fits")},
    )
    if report.text("schema") != SCHEMA:
        report.fault("schema", f"{report.found.get('schema')!r:.60}", repr(SCHEMA))
    scope.agree("platform", "compiler", "since nothing was run")
    _agree_with_request(request, config.within("options"))
    config.agree("lab", report.name("lab"), "as in report.json")
    environment.texts("redacted")
    report.finish(record.name, lab="preflight")
    return run


def _agree_with_request(request: Fields, options: Fields) -> None:
    """What was asked for is well formed, and config.json asks for the same."""
    request.texts("targets")
    request.optional_count("batch")
    request.count("up_to")
    request.flag("schedule")
    request.number("limit_s")
    for key, value in request.found.items():
        options.agree(key, value, "as in report.json")


def _part(report: Fields, key: str) -> Fields | None:
    """A part that only some runs have."""
    return report.within(key) if key in report.found else None


def _entries(report: Fields, key: str) -> list[tuple[str, Fields]]:
    part = _part(report, key)
    return _in_order(part, tuple(POLICIES)) if part else []


def _in_order(fields: Fields, known: Sequence[str]) -> list[tuple[str, Fields]]:
    """The entries under known names first, in their order; then the others, by name."""
    _check_keys(fields)
    places = {name: at for at, name in enumerate(known)}

    def place(entry: tuple[str, Fields]) -> tuple[int, str]:
        name = entry[0]
        stem = next((n for n in (name, name.rpartition("-")[0]) if n in places), "")
        return places.get(stem, len(places)), name

    return sorted(fields.entries(), key=place)


def _check_keys(fields: Fields) -> None:
    for name in fields.found:
        if not _KEY.fullmatch(name):
            fields.fault(name, f"{name!r:.60}", "a name of letters, digits and . _ + - alone")


def _target(fields: Fields, slug: str) -> Target:
    memory = fields.optional_within("usable_memory")
    return Target(
        slug=slug,
        generation=fields.name("generation"),
        topology=fields.name("topology"),
        device_kind=fields.name("device_kind"),
        chips=fields.count("chips"),
        devices=fields.count("devices"),
        usable_memory=_size(memory) if memory else None,
        usable_memory_reason=fields.optional_text("usable_memory_reason"),
        refusal=fields.optional_text("refusal"),
    )


def _size(fields: Fields) -> Size:
    return Size(as_printed=fields.name("as_printed"), bytes=fields.count("bytes"))


def _policy(fields: Fields, name: str) -> Policy:
    return Policy(
        name=name,
        lhs=fields.name("lhs"),
        rhs=fields.name("rhs"),
        accumulator=fields.optional_text("accumulator"),
        precision=fields.optional_text("precision"),
        scaled=fields.flag("scaled"),
    )


def _programs(part: Fields, files: Mapping[str, str]) -> dict[str, Program]:
    """Programs by id: those of a policy in the order of policies, the lesson's shape first."""
    shapes = (LESSON, BATCH_ONE, SMALL_BATCH, SQUARE)
    programs = [_program(fields, id_, files) for id_, fields in _in_order(part, tuple(POLICIES))]
    known = {shape: at for at, shape in enumerate(shapes)}
    programs.sort(key=lambda program: known.get(program.shape, len(known)))
    return {program.id: program for program in programs}


def _program(fields: Fields, id_: str, files: Mapping[str, str]) -> Program:
    requested = fields.optional_within("requested")
    by_policy = "policy" in fields.found
    return Program(
        id=id_,
        policy=fields.name("policy") if by_policy else "",
        shape="x".join(map(str, fields.counts("shape"))) if by_policy else "",
        reference="" if by_policy else fields.name("reference"),
        requested=_reading(requested) if requested else None,
        targets={
            target: _compiled(entry, files)
            for target, entry in _in_order(fields.within("targets"), (CPU, *GENERATIONS))
        },
    )


def _compiled(fields: Fields, files: Mapping[str, str]) -> Compiled:
    status = fields.choice("status", _STATUS)
    compiled = status == "compiled"
    memory, refusal = fields.optional_within("memory_bytes"), fields.optional_within("refusal")
    cost = fields.optional_within("cost")
    got = fields.optional_within("got") if compiled else None
    rung = _rung(fields)
    if compiled is (refusal is not None):
        fields.fault("refusal", "null" if refusal is None else "a refusal", "one unless compiled")
    if rung is not None and rung > (Rung.OPTIMIZED_HLO if compiled else Rung.STABLEHLO):
        fields.fault("level", repr(rung.slug), "no level above what was compiled")
    return Compiled(
        status=status,
        fits=fields.flag("fits") if fields.has("fits") else None,
        rung=rung or Rung.REQUESTED,
        stablehlo=_artifact(fields, "stablehlo", files),
        hlo=_artifact(fields, "hlo", files),
        memory=_memory(memory) if memory else None,
        flop=_number(cost, "flop"),
        bytes_accessed=_number(cost, "bytes_accessed"),
        compile_s=_number(fields, "compile_s"),
        got=_reading(got) if got else None,
        got_reason=fields.optional_text("got_reason") if compiled else "",
        inserted=_converts(fields, "inserted") if compiled and fields.has("inserted") else (),
        arguments=_operands(fields, "arguments") if got else (),
        results=_operands(fields, "results") if got else (),
        refusal=_refusal(refusal) if refusal else None,
    )


def _rung(fields: Fields) -> Rung | None:
    """The evidence level of an entry, which a compiler's word never lifts to a measurement."""
    level = fields.choice("level", tuple(RUNGS))
    if RUNGS[level] is Rung.MEASURED_ON_DEVICE:
        fields.fault("level", repr(level), "a level that a compiler can reach: nothing was run")
        return None
    return RUNGS[level]


def _artifact(fields: Fields, key: str, files: Mapping[str, str]) -> Artifact | None:
    """A text that is kept, which must be among the record's files and be what was hashed."""
    if not fields.has(key):
        return None
    kept = Artifact(path=fields.text(key), sha256=fields.text(f"{key}_sha256"))
    if files.get(kept.path) != kept.sha256:
        found = "another text" if kept.path in files else "no such file"
        fields.fault(key, f"{kept.path!r:.60}, {found}", "a file of the record with its SHA-256")
    return kept


def _number(fields: Fields | None, key: str) -> float | None:
    return fields.number(key) if fields and fields.has(key) else None


def _memory(fields: Fields) -> CompilerMemory:
    return CompilerMemory(
        argument=fields.count("argument"),
        output=fields.count("output"),
        temporary=fields.count("temporary"),
        alias=fields.count("alias"),
        generated_code=fields.count("generated_code"),
        peak=fields.count("peak"),
    )


def _reading(fields: Fields) -> Reading:
    return Reading(
        rung=_rung(fields) or Rung.REQUESTED,
        dots=tuple(map(_dot, fields.objects("dots"))),
        converts=_converts(fields, "converts"),
        opaque=fields.texts("opaque") if "opaque" in fields.found else (),
    )


def _dot(fields: Fields) -> Dot:
    dot = Dot(
        computation=fields.text("computation"),
        opcode=fields.name("opcode"),
        lhs=fields.name("lhs"),
        rhs=fields.name("rhs"),
        operands=fields.texts("operands"),
        stored=fields.texts("stored"),
        accumulator=fields.name("accumulator"),
        output=fields.name("output"),
        flop=fields.optional_count("flop"),
        wraps=fields.flag("wraps"),
    )
    for key, types in (("operands", dot.operands), ("stored", dot.stored)):
        if len(types) != 2:
            fields.fault(key, f"{len(types)} types", "two, one for each operand")
    return dot


def _converts(fields: Fields, key: str) -> tuple[Convert, ...]:
    """Conversions, those between the same types together."""
    counts: Counter[tuple[str, str]] = Counter()
    elements: dict[tuple[str, str], int | None] = {}
    for each in fields.objects(key):
        types = (each.name("from"), each.name("to"))
        counts[types] += each.count("count")
        so_far, size = elements.get(types, 0), each.optional_count("elements")
        if so_far is None or size is None:
            elements[types] = None
        else:
            elements[types] = so_far + size * each.count("count")
    return tuple(
        Convert(source=types[0], to=types[1], elements=elements[types], count=count)
        for types, count in counts.items()
    )


def _operands(fields: Fields, key: str) -> tuple[Operand, ...]:
    return tuple(
        Operand(
            shape=each.name("shape"),
            elements=each.optional_count("elements"),
            ideal_bytes=each.optional_count("ideal_bytes"),
            tiled_bytes=each.optional_count("tiled_bytes"),
        )
        for each in fields.objects(key)
    )


def _refusal(fields: Fields) -> Refusal:
    sizes = fields.optional_within("sizes") if "sizes" in fields.found else None
    return Refusal(
        error=fields.optional_text("error") if "error" in fields.found else "",
        message=fields.optional_text("message"),
        cut=fields.flag("cut") if fields.has("cut") else False,
        needed=_size(sizes.within("needed")) if sizes else None,
        available=_size(sizes.within("available")) if sizes else None,
        exit_code=fields.optional_count("exit_code") if fields.has("exit_code") else None,
    )


def _families(instructions: Fields | None) -> dict[str, str]:
    if instructions is None or "families" not in instructions.found:
        return {}
    families = instructions.within("families")
    return {name: families.text(name) for name in families.found}


def _schedules(
    instructions: Fields | None,
) -> dict[str, dict[str, dict[str, Schedule]]]:
    if instructions is None:
        return {}
    if "programs" in instructions.found:
        shapes = {"": instructions.within("programs")}
    else:
        shapes = dict(_in_order(instructions.within("shapes"), ()))
    return {
        shape: {
            policy: {
                target: _schedule(fields) for target, fields in _in_order(targets, GENERATIONS)
            }
            for policy, targets in _in_order(policies, tuple(POLICIES))
        }
        for shape, policies in shapes.items()
    }


def _schedule(fields: Fields) -> Schedule:
    if written := fields.optional_within("counts"):
        _check_keys(written)
    counts = {name: written.count(name) for name in sorted(written.found)} if written else None
    rung = _rung(fields) if fields.has("level") else None
    total = fields.optional_count("matrix_instructions")
    if total != (None if counts is None else sum(counts.values())):
        fields.fault("matrix_instructions", f"{total}", "the sum of counts, or null with them")
    if (counts is None) is (rung is not None) or rung not in (None, Rung.MATRIX_INSTRUCTION):
        fields.fault(
            "level", f"{fields.found.get('level')!r:.40}", "matrix-instruction, if counted"
        )
    return Schedule(
        compiler=fields.name("compiler"),
        message=fields.text("message") if fields.has("message") else "",
        rung=rung,
        counts=counts,
        reason=fields.optional_text("counts_reason"),
        unrecognized=fields.texts("unrecognized"),
    )


def _ledger(fields: Fields, id_: str) -> Ledger:
    operands = fields.within("operands")
    totals = fields.within("totals")
    ledger = Ledger(
        id=id_,
        operands=tuple(
            _ledger_row(operands.within(name), name)
            for name in ("x", "w", "x_scales", "w_scales")
            if name in operands.found
        ),
        output=_ledger_row(fields.within("output"), "output"),
        scale_bytes=totals.count("scale_bytes"),
        argument=_by_target(totals.within("argument")),
    )
    for key, worked_out in (("ideal_bytes", ledger.ideal_bytes), ("nbytes", ledger.nbytes)):
        if (found := totals.count(key)) != worked_out:
            totals.fault(key, f"{found}", f"{worked_out}, the sum of its operands")
    return ledger


def _ledger_row(fields: Fields, operand: str) -> LedgerRow:
    row = LedgerRow(
        operand=operand,
        dtype=fields.name("dtype"),
        shape=fields.counts("shape"),
        elements=fields.count("elements"),
        ideal_bits=fields.count("ideal_bits"),
        nbytes=fields.count("nbytes"),
        argument=fields.optional_count("argument"),
        argument_reason=fields.optional_text("argument_reason"),
        tiled=_by_target(fields.within("tiled")),
    )
    if (found := fields.count("ideal_bytes")) != row.ideal_bytes:
        fields.fault("ideal_bytes", f"{found}", f"{row.ideal_bytes}, from its bits")
    for target, tiled in row.tiled.items():
        if tiled is not None and tiled < row.ideal_bytes:
            fields.fault(f"tiled/{target}", f"{tiled}", f"at least {row.ideal_bytes}, unpadded")
    return row


def _by_target(fields: Fields) -> dict[str, int | None]:
    _check_keys(fields)
    order = {name: at for at, name in enumerate((CPU, *GENERATIONS))}
    names = sorted(fields.found, key=lambda name: (order.get(name, len(order)), name))
    return {name: fields.optional_count(name) for name in names}


def _staircase(fields: Fields) -> Staircase:
    base, sizes = fields.counts("base"), fields.counts("sizes")
    if len(base) != 3:
        fields.fault("base", f"{len(base)} sizes", "three: m, k and n")
        base = (0, 0, 0)
    steps = {
        policy: {
            dimension: {
                target: _steps(by_target, target, len(sizes))
                for target in (name for name in GENERATIONS if name in by_target.found)
            }
            for dimension in "mkn"
            for by_target in (by_dimension.within(dimension),)
        }
        for policy, by_dimension in _in_order(fields.within("policies"), tuple(POLICIES))
    }
    return Staircase(base=(base[0], base[1], base[2]), sizes=sizes, steps=steps)


def _steps(fields: Fields, target: str, sizes: int) -> tuple[tuple[int, ...] | None, ...]:
    """Bytes of X, W and the output at each size; None where the compiler refused."""
    found = fields.found.get(target)
    steps = found if isinstance(found, list) else []
    right = len(steps) == sizes and all(
        step is None
        or (
            isinstance(step, list)
            and len(step) == 3
            and all(type(size) is int and size >= 0 for size in step)
        )
        for step in steps
    )
    if not right:
        fields.fault(target, f"{len(steps)} steps", f"{sizes}, each three byte counts or null")
        return ()
    return tuple(tuple(step) if step is not None else None for step in steps)


def _fits(fields: Fields, program: str) -> FitStudy:
    inputs = fields.within("inputs") if "inputs" in fields.found else None
    formula = "formula_cache_bytes_per_sequence"
    return FitStudy(
        program=program,
        inputs={key: inputs.count(key) for key in sorted(inputs.found)} if inputs else {},
        formula_bytes_per_batch=fields.count(formula) if formula in fields.found else None,
        targets={
            target: _fit(entry)
            for target, entry in _in_order(fields.within("targets"), GENERATIONS)
        },
    )


def _fit(fields: Fields) -> Fit:
    memory, refusal = fields.optional_within("memory_bytes"), fields.optional_within("refusal")
    return Fit(
        largest=fields.optional_count("largest"),
        reason=fields.optional_text("largest_reason"),
        searched_to=fields.count("searched_to"),
        limited_by_search=fields.flag("limited_by_search"),
        memory=_memory(memory) if memory else None,
        refusal=_refusal(refusal) if refusal else None,
        probes=len(fields.objects("probes")),
    )
