"""A sweep run as typed values: the device's own probed rates, and one product at growing batch."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from report.evidence import Evidence
from report.numbers.precision import (
    OPERAND_BYTES,
    POLICIES,
    REQUESTED,
    SCALE_BYTES,
    Policy,
    StoredBytes,
    Timing,
    TimingFloor,
    read_stored,
    read_timing,
)
from report.numbers.reading import Fields
from report.numbers.roofline import Work
from report.numbers.run import (
    Artifact,
    CompilerMemory,
    Machine,
    MeasuredRun,
    agree_with_setting,
    documents,
    read_artifact,
    read_memory,
    read_scope,
    read_setting,
    source_of,
)

SCHEMA = "assay/sweep/1"
LAB = "batch_sweep"

WORK: Mapping[Policy, Work] = {"fp32": "FLOP", "bf16": "FLOP", "int8": "OP"}
"""What each policy's products are counted in."""
KERNELS: Mapping[str, int] = {"copy": 2, "scale": 2, "triad": 3}
"""The streaming kernels, each with the arrays it reads and writes."""
OUTPUT_BYTES = 4
"""An output element: FP32, or INT32 where a square of INT8 is left unscaled."""
MAX_SAMPLES = 1_000_000
USES = ("sweep", "matrix")
DISPATCH = ("synchronous", "asynchronous")


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """What the lab was asked for: X is m × features for each m of `batches`."""

    platform: str
    batches: tuple[int, ...]
    features: int
    outputs: int
    arrays_kib: tuple[int, ...]
    squares: tuple[int, ...]
    rounds: int
    samples: int
    """Timed calls of each program in each round."""
    seed: int
    dispatch: str
    """Whether a call returns at once or with its result ready. Every sample waits for it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """The arithmetic that a policy's program requests, by NumPy's and ml_dtypes' names."""

    operand: str
    accumulator: str
    precision: str
    """As JAX spells it; empty where it is left out."""
    scaled: bool
    """Whether the result is rescaled in FP32 by row and by column."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Cache:
    """One data cache of the processor, and how many cores share it."""

    level: int
    bytes: int
    cores: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Convert:
    """A change of element type that the compiled program makes."""

    source: str
    target: str
    elements: int
    count: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Program:
    """One compiled program that was timed, and its compiler's own account of it."""

    id: str
    timing: Timing
    memory: CompilerMemory
    accessed_bytes: int | None
    """Bytes that the compiler's cost analysis counts as accessed: an estimate."""
    accessed_reason: str
    stablehlo: Artifact
    hlo: Artifact


@dataclass(frozen=True, slots=True, kw_only=True)
class Stream:
    """One streaming kernel at one array size."""

    kernel: str
    array_bytes: int
    program: Program

    @property
    def id(self) -> str:
        return self.program.id

    @property
    def moved_bytes(self) -> int:
        """Each array once, which is also the working set."""
        return KERNELS[self.kernel] * self.array_bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class Timed:
    """One matrix product, X of m×k by W of k×n, as compiled and timed."""

    policy: Policy
    m: int
    k: int
    n: int
    stored: StoredBytes
    rescale_flop: int
    """FP32 multiplications by scales, counted apart: they are no part of the product."""
    relative_l2_error: float | None
    relative_l2_error_reason: str
    products: tuple[str, ...]
    """Each product in the optimized HLO: its operands' types, such as `s8 × s8 → s32`."""
    calls: tuple[str, ...]
    """Library calls whose inside the text does not show."""
    converts: tuple[Convert, ...]
    program: Program

    @property
    def id(self) -> str:
        return self.program.id

    @property
    def work(self) -> Work:
        return WORK[self.policy]

    @property
    def operations(self) -> int:
        """F = 2mkn, one multiplication and one addition each."""
        return 2 * self.m * self.k * self.n

    @property
    def output_bytes(self) -> int:
        return OUTPUT_BYTES * self.m * self.n

    @property
    def converted_weights(self) -> Convert | None:
        """A conversion of all of W before it is multiplied, if the compiled program makes one."""
        return next((c for c in self.converts if c.elements == self.k * self.n), None)


@dataclass(frozen=True, slots=True, kw_only=True)
class SweepRun(MeasuredRun):
    """One recorded run of the sweep lab."""

    request: Request
    asked: Mapping[str, Mapping[Policy, Asked]]
    """What the sweep's products and the probe's squares request, under `sweep` and `matrix`."""
    caches: tuple[Cache, ...]
    """Data caches, the first level first; empty where they are not known."""
    caches_reason: str
    floor: TimingFloor
    machine: Machine
    """Where both ceilings and points were measured."""
    streams: tuple[Stream, ...]
    squares: tuple[Timed, ...]
    points: tuple[Timed, ...]
    """By policy, then by growing batch."""

    @property
    def extent(self) -> str:
        batches, request = self.request.batches, self.request
        rows = f"{batches[0]} to {batches[-1]}" if len(batches) > 1 else f"{batches[0]}"
        return f"{rows} rows × {request.features} × {request.outputs}"

    @property
    def last_cache(self) -> str:
        """The pointer to the size of the largest cache, where any is known."""
        index = max(range(len(self.caches)), key=lambda at: self.caches[at].bytes)
        return f"{self.name}#/caches/{index}/bytes"

    @property
    def probe(self) -> tuple[Stream | Timed, ...]:
        """Every row of the probe."""
        return (*self.streams, *self.squares)

    def of(self, policy: Policy) -> tuple[Timed, ...]:
        """The points of one policy, by growing batch."""
        return tuple(point for point in self.points if point.policy == policy)


def read_sweep(evidence: Evidence) -> SweepRun:
    """The typed run, or EvidenceMismatch naming every field that is missing or contradictory."""
    record = evidence.record
    report, environment, config = documents(evidence)
    request = _request(report.within("request"))
    probe, floor = map(report.within, ("probe", "timing_floor_s"))
    rows = Rows(
        files={file.path: file.sha256 for file in record.files},
        samples=min(request.rounds * request.samples, MAX_SAMPLES),
    )
    run = SweepRun(
        name=record.name,
        source=source_of(evidence),
        level=evidence.level,
        scope=read_scope(report.within("scope")),
        setting=read_setting(environment),
        request=request,
        asked={
            use: {
                policy: _asked(report.within("policies").within(use), policy, use)
                for policy in POLICIES
            }
            for use in USES
        },
        caches=_caches(report),
        caches_reason="" if report.has("caches") else report.name("caches_reason"),
        floor=TimingFloor(
            clock=rows.timing(floor.within("clock")),
            empty_call=rows.timing(floor.within("empty_call")),
        ),
        machine=_machine(probe.within("machine")),
        streams=tuple(
            rows.stream(probe.within("stream"), kernel, kib)
            for kib in request.arrays_kib
            for kernel in KERNELS
        ),
        squares=tuple(
            rows.timed(probe.within("matrix"), f"{policy}-square-{side}", policy, (side,) * 3)
            for policy in POLICIES
            for side in request.squares
        ),
        points=tuple(
            rows.timed(
                report.within("results"),
                f"{policy}-m{m}",
                policy,
                (m, request.features, request.outputs),
            )
            for policy in POLICIES
            for m in request.batches
        ),
    )
    agree_with_setting(run.setting, report, environment)
    _agree_on_machine(run, _machine(report.within("machine")), report)
    _agree_with_config(report, config)
    _agree_on_inputs(request, report.within("inputs"))
    _nothing_else(run, report)
    if report.text("schema") != SCHEMA:
        report.fault("schema", f"{report.found.get('schema')!r:.60}", repr(SCHEMA))
    report.finish(record.name, lab=LAB)
    return run


@dataclass(frozen=True, slots=True, kw_only=True)
class Rows:
    """Reads timed rows: what files there are, and how many samples each row has to hold."""

    files: Mapping[str, str]
    samples: int

    def timing(self, fields: Fields) -> Timing:
        timing = read_timing(fields)
        if len(timing.samples) != self.samples:
            found = f"{len(timing.samples)} samples"
            fields.fault("samples", found, f"{self.samples}, as many as were asked for")
        return timing

    def program(self, fields: Fields, name: str) -> Program:
        text = fields.within("program")
        accessed = fields.optional_count("compiler_accessed_bytes")
        told = accessed is not None or fields.found.get("compiler_accessed_bytes", 0) is not None
        return Program(
            id=name,
            timing=self.timing(fields.within("timing_s")),
            memory=read_memory(fields.within("compiler_memory_bytes")),
            accessed_bytes=accessed,
            accessed_reason="" if told else fields.name("compiler_accessed_bytes_reason"),
            stablehlo=read_artifact(text, "stablehlo", "stablehlo_sha256", self.files),
            hlo=read_artifact(text, "hlo", "hlo_sha256", self.files),
        )

    def stream(self, streams: Fields, kernel: str, kib: int) -> Stream:
        name = f"{kernel}-{kib}kib"
        fields = streams.within(name)
        found = Stream(kernel=kernel, array_bytes=kib * 2**10, program=self.program(fields, name))
        fields.agree("kernel", kernel, "by its name")
        fields.agree("array_bytes", found.array_bytes, "by its name")
        fields.agree("arrays", KERNELS[kernel], f"what {kernel} reads and writes")
        fields.agree("moved_bytes", found.moved_bytes, "each array once")
        return found

    def timed(
        self, products: Fields, name: str, policy: Policy, shape: tuple[int, int, int]
    ) -> Timed:
        fields = products.within(name)
        m, k, n = shape
        kept = fields.within("kept")
        error, reason = fields.optional_number("relative_l2_error")
        found = Timed(
            policy=policy,
            m=m,
            k=k,
            n=n,
            stored=read_stored(fields.within("stored_bytes")),
            rescale_flop=fields.count("rescale_flop"),
            relative_l2_error=error,
            relative_l2_error_reason=reason,
            products=tuple(_product(each) for each in kept.objects("products")),
            calls=kept.texts("calls"),
            converts=tuple(
                Convert(
                    source=each.name("from"),
                    target=each.name("to"),
                    elements=each.count("elements"),
                    count=each.count("count"),
                )
                for each in kept.objects("converts")
            ),
            program=self.program(fields, name),
        )
        fields.agree("policy", policy, "by its name")
        fields.agree("shape", [m, k, n], "as requested")
        fields.agree("work", found.work, f"what {policy} is counted in")
        fields.agree("operations", found.operations, "2mkn")
        rescaled = products.where.endswith("/results") and is_rescaled(policy)
        fields.agree("rescale_flop", 2 * m * n if rescaled else 0, "two scales an output, or none")
        kept.agree("level", "optimized-hlo", "the text it was read from")
        fields.within("output").agree("bytes", found.output_bytes, "m × n elements of 4 bytes")
        _agree_on_bytes(found, fields.within("stored_bytes"))
        if error is not None and error < 0:
            fields.fault("relative_l2_error", f"{error}", "zero or more")
        if not found.products and not found.calls:
            kept.fault("products", "none, and no call", "the product that was timed")
        return found


def _request(fields: Fields) -> Request:
    request = Request(
        platform=fields.text("platform"),
        batches=fields.counts("batches"),
        features=fields.count("features"),
        outputs=fields.count("outputs"),
        arrays_kib=fields.counts("arrays_kib"),
        squares=fields.counts("squares"),
        rounds=fields.count("rounds"),
        samples=fields.count("samples"),
        seed=fields.count("seed"),
        dispatch=fields.choice("dispatch", DISPATCH),
    )
    for key in ("batches", "arrays_kib", "squares"):
        sizes = getattr(request, key)
        if not sizes or list(sizes) != sorted(set(sizes)) or not sizes[0]:
            fields.fault(key, f"{list(sizes)!s:.60}", "sizes from 1, each once, growing")
    for key in ("features", "outputs", "rounds", "samples"):
        if not getattr(request, key):
            fields.fault(key, "0", "at least 1")
    return request


def is_rescaled(policy: Policy) -> bool:
    """Whether the sweep's product has scales to multiply by. The probe's squares have none."""
    return policy == "int8"


def _asked(policies: Fields, policy: Policy, use: str) -> Asked:
    fields = policies.within(policy)
    operand, accumulator = REQUESTED[policy]
    for key, expected in (("lhs", operand), ("rhs", operand), ("accumulator", accumulator)):
        fields.agree(key, expected, f"what {policy} asks for")
    fields.agree("scaled", use == "sweep" and is_rescaled(policy), "as its rows are")
    return Asked(
        operand=operand,
        accumulator=accumulator,
        precision=fields.optional_text("precision"),
        scaled=fields.flag("scaled"),
    )


def _caches(report: Fields) -> tuple[Cache, ...]:
    if not report.has("caches"):
        return ()
    found = tuple(
        Cache(level=each.count("level"), bytes=each.count("bytes"), cores=each.count("cores"))
        for each in report.objects("caches")
    )
    if not all(each.level and each.bytes and each.cores for each in found):
        report.fault("caches", "a zero", "levels, bytes and cores from 1")
    if list(found) != sorted(found, key=lambda each: (each.level, each.bytes)):
        report.fault("caches", "another order", "the first level first")
    return found


def _machine(fields: Fields) -> Machine:
    return Machine(
        platform=fields.text("platform"),
        device_kind=fields.name("device_kind"),
        cpu_model=fields.name("cpu_model"),
    )


def _product(fields: Fields) -> str:
    """Types of one product in the text: of its operands, and of its own result."""
    return f"{' × '.join(fields.texts('operands'))} → {fields.name('accumulator')}"


def _agree_on_bytes(timed: Timed, fields: Fields) -> None:
    """What is stored is what X and W need at the policy's width; a square has no scales."""
    width = OPERAND_BYTES[timed.policy]
    scale = SCALE_BYTES if timed.rescale_flop else 0
    for key, size in (
        ("x_values", timed.m * timed.k * width),
        ("w_values", timed.k * timed.n * width),
        ("x_scales", timed.m * scale),
        ("w_scales", timed.n * scale),
    ):
        fields.agree(key, size, "from the shape and the format")


def _agree_on_machine(run: SweepRun, swept: Machine, report: Fields) -> None:
    """Ceilings hold for the device they were measured on, so the points must be from there too."""
    if swept != run.machine:
        report.fault(
            "machine", f"points from {swept}", f"{run.machine}, where the ceilings are from"
        )
    if run.machine != run.setting.machine:
        found = f"ceilings from {run.machine}"
        report.fault("machine", found, f"{run.setting.machine}, as in environment.json")


def _agree_with_config(report: Fields, config: Fields) -> None:
    """config.json asks for what report.json answers."""
    asked = dict(report.within("request").found)
    config.agree("lab", LAB, "the lab that makes such a report")
    report.agree("lab", LAB, "the lab that makes such a report")
    config.agree("seed", asked.pop("seed", None), "as in report.json")
    for key, value in asked.items():
        config.within("options").agree(key, value, "as in report.json")


def _agree_on_inputs(request: Request, inputs: Fields) -> None:
    """One X serves every batch by its first rows."""
    swept = inputs.within("sweep")
    rows = max(request.batches, default=0)
    swept.agree("x_shape", [rows, request.features], "the largest batch that was asked for")
    swept.agree("w_shape", [request.features, request.outputs], "as requested")


def _nothing_else(run: SweepRun, report: Fields) -> None:
    """No row that was not asked for, and in each round every program once."""
    probe = report.within("probe")
    known: Sequence[tuple[Fields, Sequence[str]]] = (
        (probe.within("stream"), [each.id for each in run.streams]),
        (probe.within("matrix"), [each.id for each in run.squares]),
        (report.within("results"), [each.id for each in run.points]),
        (report.within("timing_floor_s"), ["clock", "empty_call"]),
    )
    for fields, names in known:
        for extra in sorted(fields.found.keys() - set(names)):
            fields.fault(extra, "a row that was not asked for", f"only {', '.join(names):.60}")
    everything = sorted(name for _, names in known for name in names)
    order = report.found.get("order")
    if not isinstance(order, list) or len(order) != run.request.rounds:
        report.fault("order", "another number of rounds", f"{run.request.rounds}, as requested")
        return
    for number, names in enumerate(order):
        if not isinstance(names, list) or sorted(map(str, names)) != everything:
            report.fault(f"order/{number}", "another set of programs", "each program once")
