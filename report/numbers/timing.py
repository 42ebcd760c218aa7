"""A timing run as typed values: every sample in order, and what each process says of it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, pairwise
from statistics import median

from report.errors import EvidenceMismatch, Fault
from report.evidence import Evidence
from report.numbers.distinction import Distinction, Interval, Timed, aa_band, bootstrap, tell_apart
from report.numbers.implied import sqnr_follows
from report.numbers.precision import (
    OPERAND_BYTES,
    POLICIES,
    REQUESTED,
    Policy,
    PrecisionRun,
    read_stored,
)
from report.numbers.reading import Fields
from report.numbers.run import (
    Artifact,
    MeasuredRun,
    Run,
    agree_with_setting,
    documents,
    read_artifact,
    read_scope,
    read_setting,
    source_of,
)
from report.numbers.steadiness import (
    BLOCKS,
    Outliers,
    Steadiness,
    Trend,
    blocks_of,
    outliers_of,
    together,
    trend_of,
)

SCHEMA = "assay/timing/1"
LAB = "timing_study"
TWINS = ("first", "second")
EMPTY, CLOCK = "empty-call", "clock"
SERIES = (*(f"{policy}-{twin}" for policy in POLICIES for twin in TWINS), EMPTY, CLOCK)
"""Everything that takes turns in a process: each program twice, an empty one, and no call."""

MAX_PROCESSES = 64
"""More are a fault, and are not looked for: a number alone must not keep a build busy."""

FLOORS_ABOVE = 10
"""A throughput may be claimed from this many times the dispatch floor."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """What the lab was asked for: X is batch × features, W features × outputs."""

    platform: str
    batch: int
    features: int
    outputs: int
    steps: int
    """Samples of each series in each process."""
    processes: int
    dispatch: str
    """`sync` or `async`: whether a CPU call waits for its result itself."""
    order_seed: int
    seed: int

    @property
    def shape(self) -> str:
        return f"{self.batch} × {self.features} × {self.outputs}"

    @property
    def operations(self) -> int:
        """2mkn: one multiplication and one addition each."""
        return 2 * self.batch * self.features * self.outputs


@dataclass(frozen=True, slots=True, kw_only=True)
class Series:
    """What one process measured of one compilation, in the order taken."""

    samples_ns: tuple[int, ...]

    @property
    def minimum_s(self) -> float:
        return min(self.samples_ns) / 1e9

    @property
    def maximum_s(self) -> float:
        return max(self.samples_ns) / 1e9

    @property
    def outliers(self) -> Outliers:
        return outliers_of(self.samples_ns)

    @property
    def median_s(self) -> float:
        return median(self.samples_ns) / 1e9

    @property
    def trend(self) -> Trend:
        return trend_of(self.samples_ns)


@dataclass(frozen=True, slots=True, kw_only=True)
class Process:
    """One process: how it was warmed up, and all its series by name."""

    number: int
    warm_calls: int
    """Calls of each series before its first sample."""
    warm_trends: Mapping[str, Trend]
    """The trend of each series over the last stretch of the warm-up."""
    load: float | None
    """Runnable processes of the machine when it began, over a minute."""
    outputs: Mapping[str, str]
    """SHA-256 of the output of each compilation, by the name of its series."""
    series: Mapping[str, Series]

    def settled(self, policy: Policy) -> bool:
        """Whether a program no longer drifted when the warm-up ended."""
        return self.warm_trends[f"{policy}-first"].steadiness is not Steadiness.DRIFTING


@dataclass(frozen=True, slots=True, kw_only=True)
class Program:
    """One program that was timed, with the error of its own output."""

    policy: Policy
    relative_l2_error: float | None
    relative_l2_error_reason: str
    stablehlo: Artifact
    hlo: Artifact
    stored_bytes: int
    """Bytes of both operands with their scales."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TimingRun(MeasuredRun):
    """One recorded run of the timing lab."""

    request: Request
    clock: str
    """What the system calls the clock."""
    programs: Mapping[Policy, Program]
    processes: tuple[Process, ...]
    accuracy: str
    """The precision record that holds the same programs, checked by the lab; empty for none."""

    @property
    def extent(self) -> str:
        return f"{self.request.shape}, {len(self.processes)} processes"

    def medians_s(self, series: str) -> tuple[float, ...]:
        """The median of one series in each process."""
        return tuple(process.series[series].median_s for process in self.processes)

    def median_s(self, series: str) -> float:
        """The median process."""
        return median(self.medians_s(series))

    def interval_s(self, series: str) -> Interval:
        """95 % bootstrap interval of that median, over processes."""
        return bootstrap(self.medians_s(series))

    @property
    def floor_s(self) -> float:
        """The dispatch floor: an empty program, called and waited for."""
        return self.median_s(EMPTY)

    @property
    def tick_s(self) -> float:
        """The smallest step between two readings, as the clock's own samples show it."""
        seen = sorted(
            {
                ns
                for process in self.processes
                for name in (CLOCK, EMPTY)
                for ns in process.series[name].samples_ns
            }
        )
        return min((b - a for a, b in pairwise(seen)), default=max(seen[0], 1)) / 1e9

    def steadiness(self, policy: Policy) -> Steadiness:
        """Over all processes, and over the ends of their warm-ups."""
        if not all(process.settled(policy) for process in self.processes):
            return Steadiness.DRIFTING
        return together([each.series[f"{policy}-first"].trend for each in self.processes])

    def timed(self, policy: Policy) -> Timed:
        """One program with its twin, ready to be told apart from another."""
        return Timed(
            hlo_sha256=self.programs[policy].hlo.sha256,
            medians_s=self.medians_s(f"{policy}-first"),
            twin_ratios=tuple(
                ratio for process in self.processes for ratio in twin_ratios(process, policy)
            ),
            steadiness=self.steadiness(policy),
            resolution_s=self.tick_s,
        )

    def band(self, policy: Policy) -> Interval:
        """The A/A band of one program."""
        return aa_band(self.timed(policy))

    def reach(self, policy: Policy) -> float:
        """How far its A/A band reaches beyond 1."""
        return self.band(policy).high - 1

    def flagged(self, policy: Policy) -> int:
        """Its samples outside Tukey's fences, process by process."""
        name = f"{policy}-first"
        return sum(len(process.series[name].outliers.outside) for process in self.processes)

    @property
    def loosest(self) -> Policy:
        """The program whose A/A band reaches furthest."""
        return max(POLICIES, key=self.reach)

    @property
    def widest(self) -> Policy:
        """The program whose processes differ the most."""
        return max(POLICIES, key=lambda policy: self.interval_s(f"{policy}-first").spread)

    def resolution_s(self, policy: Policy) -> float:
        """The smallest difference in this program's time that can be claimed.

        The largest of: a step of the timer, the A/A band's reach, and half of what the
        processes differ by.
        """
        middle, interval = self.median_s(f"{policy}-first"), self.interval_s(f"{policy}-first")
        return max(
            self.tick_s,
            middle * self.reach(policy),
            (interval.high - interval.low) / 2,
        )

    def floors(self, policy: Policy) -> float | None:
        """How many dispatch floors a program takes; None when the floor is not seen."""
        return self.median_s(f"{policy}-first") / self.floor_s if self.floor_s else None

    def throughput_per_s(self, policy: Policy) -> float | None:
        """Operations a second, or None under ten dispatch floors: that would time the call."""
        floors = self.floors(policy)
        if floors is None or floors < FLOORS_ABOVE:
            return None
        return self.request.operations / self.median_s(f"{policy}-first")

    @property
    def pairs(self) -> Mapping[tuple[Policy, Policy], Distinction]:
        """Each program against each that stands before it."""
        timed = {policy: self.timed(policy) for policy in POLICIES}
        return {
            (later, earlier): tell_apart(timed[later], timed[earlier], paired=True)
            for earlier, later in combinations(POLICIES, 2)
        }


def twin_ratios(process: Process, policy: Policy) -> list[float]:
    """Block by block, the median of the first compilation over that of the second."""
    first, second = (
        [median(block) for block in blocks_of(process.series[f"{policy}-{twin}"].samples_ns)]
        for twin in TWINS
    )
    return [a / b for a, b in zip(first, second, strict=True) if a and b]


def read_timing(evidence: Evidence) -> TimingRun:
    """The typed run, or EvidenceMismatch naming every field that is missing or contradictory."""
    record = evidence.record
    report, environment, config = documents(evidence)
    files = {file.path: file.sha256 for file in record.files}
    request = _request(report.within("request"))
    programs, processes = report.within("programs"), report.within("processes")
    input_sha256 = report.within("inputs").text("sha256")
    accuracy = report.optional_within("accuracy")
    run = TimingRun(
        name=record.name,
        source=source_of(evidence),
        level=evidence.level,
        scope=read_scope(report.within("scope")),
        setting=read_setting(environment),
        request=request,
        clock=report.within("timer").name("implementation"),
        programs={
            policy: _program(programs.within(policy), policy, files, input_sha256)
            for policy in POLICIES
        },
        processes=tuple(
            _process(processes.within(str(number)), number, request)
            for number in range(1, min(request.processes, MAX_PROCESSES) + 1)
        ),
        accuracy=accuracy.name("record") if accuracy else "",
    )
    agree_with_setting(run.setting, report, environment)
    _only(programs, POLICIES)
    _only(processes, [str(process.number) for process in run.processes])
    for policy, program in run.programs.items():
        _agree_with_shape(program, request, programs.within(policy))
        if accuracy:
            accuracy.within("hlo_sha256").agree(policy, program.hlo.sha256, "the program timed")
    for key in ("platform", "batch", "features", "outputs", "steps", "processes", "dispatch"):
        config.within("options").agree(key, getattr(request, key), "as in report.json")
    config.agree("seed", request.seed, "as in report.json")
    config.agree("lab", LAB, "the lab that times")
    report.agree("lab", LAB, "the lab that times")
    if run.setting.platform == "cpu":
        flag = "jax_cpu_enable_async_dispatch"
        environment.within("flags").agree(flag, request.dispatch == "async", "as was asked for")
    report.finish(record.name, lab=LAB)
    return run


def agree_on_programs(runs: Mapping[str, Run]) -> None:
    """Refuse a timing run whose accuracy record, where it is here, holds another program."""
    faults = [
        Fault(
            where=f"{run.name}/report.json/programs/{policy}/program/hlo_sha256",
            found=program.hlo.sha256,
            expected=f"{recorded.result('balanced', policy).hlo.sha256}, as in {recorded.name}",
        )
        for run in runs.values()
        if isinstance(run, TimingRun)
        and isinstance(recorded := runs.get(run.accuracy), PrecisionRun)
        for policy, program in run.programs.items()
        if program.hlo.sha256 != recorded.result("balanced", policy).hlo.sha256
    ]
    if faults:
        raise EvidenceMismatch(
            "A time and its error must be of one program:",
            faults,
            hint=f"Measure both again, the errors first; then: python build.py run {LAB}",
        )


def _request(fields: Fields) -> Request:
    request = Request(
        platform=fields.text("platform"),
        batch=fields.count("batch"),
        features=fields.count("features"),
        outputs=fields.count("outputs"),
        steps=fields.count("steps"),
        processes=fields.count("processes"),
        dispatch=fields.choice("dispatch", ("sync", "async")),
        order_seed=fields.count("order_seed"),
        seed=fields.count("seed"),
    )
    for key, least, most in (("processes", 1, MAX_PROCESSES), ("steps", 1, 100_000)):
        if not least <= (found := getattr(request, key)) <= most:
            fields.fault(key, f"{found}", f"from {least} to {most:,}")
    return request


def _program(
    fields: Fields, policy: Policy, files: Mapping[str, str], input_sha256: str
) -> Program:
    fields.agree("policy", policy, "as its key")
    fields.agree("input_sha256", input_sha256, "the digest of the inputs")
    error, reason = fields.optional_number("relative_l2_error")
    if error is not None and error < 0:
        fields.fault("relative_l2_error", f"{error}", "zero or more")
    sqnr_follows(fields, error)
    for key, expected in zip(("operand", "accumulator"), REQUESTED[policy], strict=True):
        fields.within("requested").agree(key, expected, f"what {policy} asks for")
    texts = fields.within("program")
    return Program(
        policy=policy,
        relative_l2_error=error,
        relative_l2_error_reason=reason,
        stablehlo=read_artifact(texts, "stablehlo", "stablehlo_sha256", files),
        hlo=read_artifact(texts, "hlo", "hlo_sha256", files),
        stored_bytes=read_stored(fields.within("stored_bytes")).total,
    )


def _process(fields: Fields, number: int, request: Request) -> Process:
    taken, warm_up = fields.within("samples_ns"), fields.within("warm_up")
    load, outputs = fields.within("load_average"), fields.within("output_sha256")
    series = {name: Series(samples_ns=taken.counts(name)) for name in SERIES}
    for name, each in series.items():
        if len(each.samples_ns) != request.steps:
            taken.fault(name, f"{len(each.samples_ns)} samples", f"{request.steps}, one a step")
    _only(taken, SERIES)
    for order in fields.lists("orders"):
        if sorted(map(str, order)) != sorted(SERIES):
            fields.fault("orders", f"{order!r:.60}", "orders of all that was timed, each once")
    trends = warm_up.within("trends")
    loads = load.numbers("before") if load.has("before") else ()
    return Process(
        number=number,
        warm_calls=warm_up.count("calls"),
        warm_trends={name: Trend(s=trends.integer(name), values=BLOCKS) for name in SERIES},
        load=loads[0] if loads else None,
        outputs={
            f"{policy}-{twin}": outputs.within(policy).text(twin)
            for policy in POLICIES
            for twin in TWINS
        },
        series=series,
    )


def _agree_with_shape(program: Program, request: Request, fields: Fields) -> None:
    """What is stored must be what X (m×k) and W (k×n) need at the operand's width."""
    width = OPERAND_BYTES[program.policy]
    values = request.features * (request.batch + request.outputs) * width
    scales = 4 * (request.batch + request.outputs) if program.policy == "int8" else 0
    if program.stored_bytes != values + scales:
        found = f"{program.stored_bytes}"
        fields.fault("stored_bytes/total", found, f"{values + scales}, from the requested shape")


def _only(fields: Fields, known: Sequence[str]) -> None:
    for extra in sorted(fields.found.keys() - set(known)):
        fields.fault(extra, "one that this lab does not make", f"only {', '.join(known)}")
