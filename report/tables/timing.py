"""All tables of one timing record's page: programs, verdicts, processes, floor and series."""

from collections.abc import Iterator, Mapping

from report.exhibit import Cell, Kind, Table, literal, number, shown, span, table_of, valued
from report.numbers.distinction import Interval
from report.numbers.precision import POLICIES, Policy
from report.numbers.timing import CLOCK, EMPTY, SERIES, Process, TimingRun
from report.numbers.values import Value
from report.numbers.worked_timing import UNDER_FLOORS, UNSEEN, claim, series_path


def tables(run: TimingRun, values: Mapping[str, Value]) -> Iterator[Table]:
    """Every table, its name beginning with the record's."""
    yield programs(run, values)
    yield verdicts(run)
    yield floor(run)
    yield processes(run)
    yield series(run)


def programs(run: TimingRun, values: Mapping[str, Value]) -> Table:
    """A row a program: its time and its error, of one and the same HLO."""
    rows = [_program(run, policy, values) for policy in POLICIES]
    return table_of(
        f"{run.name}-programs",
        "Each program’s time and error: one text, one hash",
        "Program|>Time that may be claimed|>Median, 95 % interval|Steadiness|>A/A band"
        "|>Times the floor|>Least time|>Throughput|>Relative L2 error",
        rows,
        [f"program-{policy}" for policy in POLICIES],
    )


def _program(run: TimingRun, policy: Policy, values: Mapping[str, Value]) -> tuple[Cell, ...]:
    program, name = run.programs[policy], f"{policy}-first"
    floors, throughput = run.floors(policy), run.throughput_per_s(policy)
    resolution = run.resolution_s(policy)
    unit = "OP/s" if policy == "int8" else "FLOP/s"
    refused = UNSEEN if floors is None else UNDER_FLOORS
    path = f"study#/timing/{run.name}/programs/{policy}"
    return (
        Cell(
            text=policy.upper(),
            href=f"records/{run.name}.html#text-{policy}",
            note=f"HLO `{program.hlo.sha256[:8]}`",
        ),
        valued(
            f"{path}/claim",
            claim(run.median_s(name), resolution),
            "text",
            "measured",
            note=f"to {number(f'{path}/claimed_to', 'text')}",
        ),
        _time(f"{path}/median_s", run.median_s(name), note=_span_s(path, run.interval_s(name))),
        shown(run.steadiness(policy).value),
        Cell(text=f"± {number(f'{path}/aa_reach', 'percent(1)')}", kind="measured"),
        Cell(text="none", kind="measured")
        if floors is None
        else valued(f"{path}/floors", floors, "fixed(1)", "measured"),
        _least(run, policy, values),
        Cell(text="not claimed", note=refused)
        if throughput is None
        else valued(f"{path}/throughput_per_s", throughput, f"quantity(G{unit}, 1)", "measured"),
        valued(
            f"{run.name}#/programs/{policy}/relative_l2_error",
            program.relative_l2_error,
            "error",
            "measured",
            program.relative_l2_error_reason,
            note=literal(program.relative_l2_error_reason),
        ),
    )


def _least(run: TimingRun, policy: Policy, values: Mapping[str, Value]) -> Cell:
    """The least time that documented ceilings leave, and a flag on a time below it."""
    path = f"study#/timing/{run.name}/programs/{policy}"
    least, believed = values[f"{path}/least_s"], values[f"{path}/believed"]
    if not isinstance(least.number, float):
        return Cell(text="not known", note=literal(least.reason))
    return _time(f"{path}/least_s", least.number, "computed", note=str(believed.number))


def verdicts(run: TimingRun) -> Table:
    """A row a pair, with the verdict in words."""
    base = f"study#/timing/{run.name}"
    rows = [
        (
            shown(f"{one.upper()} against {two.upper()}"),
            valued(
                f"{base}/ratio/{one}-vs-{two}",
                found.ratio,
                "fixed(3)",
                "measured",
                UNSEEN,
                note=UNSEEN if found.ratio is None else "",
            ),
            Cell(
                text=span(f"{base}/ratio_{{}}/{one}-vs-{two}") if found.interval else "none",
                kind="measured",
            ),
            Cell(text=span(f"{base}/aa_{{}}/{one}-vs-{two}"), kind="measured"),
            shown(found.verdict.value),
        )
        for (one, two), found in run.pairs.items()
    ]
    return table_of(
        f"{run.name}-verdicts",
        "What may be said of two programs, on this device and of no other",
        "Pair|>Ratio of times|>95 % interval, over processes|>A/A band|Verdict",
        rows,
        [f"verdict-{one}-vs-{two}" for one, two in run.pairs],
    )


def floor(run: TimingRun) -> Table:
    """What a sample costs with next to nothing to compute, and the step of the clock."""
    names = (
        (EMPTY, "floor", "Empty program: the dispatch floor"),
        (CLOCK, "clock", "No call: the clock read twice"),
    )
    base = f"study#/timing/{run.name}"
    rows = [
        (
            shown(text),
            _time(f"{base}/{part}/median_s", run.median_s(name)),
            Cell(text=_span_s(f"{base}/{part}", run.interval_s(name)), kind="measured"),
            valued(f"{base}/{part}/spread", run.interval_s(name).spread, "percent(1)", "measured"),
        )
        for name, part, text in names
    ]
    step = valued(f"{base}/timer_step_s", run.tick_s, "seconds(0)", "measured")
    rows.append((shown("Smallest step between two readings"), step, shown("–"), shown("–")))
    return table_of(
        f"{run.name}-floor",
        "The floor under these times",
        "What was timed|>Median|>95 % interval|>Spread of processes",
        rows,
        [EMPTY, CLOCK, "timer-step"],
    )


def processes(run: TimingRun) -> Table:
    """A row a process: load, warm-up, and each program’s median."""
    rows = [
        (
            shown(f"{process.number}"),
            Cell(text="not recorded", kind="measured")
            if process.load is None
            else valued(
                f"{run.name}#/processes/{process.number}/load_average/before/0",
                process.load,
                "fixed(1)",
                "measured",
            ),
            Cell(text=f"{process.warm_calls:,}", note=_settled(process)),
            *(
                _time(
                    f"study#/{series_path(run, process, f'{policy}-first')}/median_s",
                    process.series[f"{policy}-first"].median_s,
                    note=_outputs(process, policy),
                )
                for policy in POLICIES
            ),
        )
        for process in run.processes
    ]
    base = f"study#/timing/{run.name}/programs"
    spreads = {policy: run.interval_s(f"{policy}-first").spread for policy in POLICIES}
    rows.append(
        (
            shown("Spread"),
            shown("–"),
            shown("–"),
            *(
                valued(f"{base}/{policy}/spread", spread, "percent(1)", "measured")
                for policy, spread in spreads.items()
            ),
        )
    )
    return table_of(
        f"{run.name}-processes",
        "Processes: each started afresh, each with its own compilations",
        "Process|>Load before|>Warm calls of each|" + "|".join(f">{p.upper()}" for p in POLICIES),
        rows,
        [*(f"process-{process.number}" for process in run.processes), ""],
    )


def _settled(process: Process) -> str:
    drifting = [policy.upper() for policy in POLICIES if not process.settled(policy)]
    return f"{', '.join(drifting)} still drifted" if drifting else "no program still drifted"


def _outputs(process: Process, policy: Policy) -> str:
    """Whether both compilations gave the same bits."""
    same = process.outputs[f"{policy}-first"] == process.outputs[f"{policy}-second"]
    return "" if same else "twins’ outputs differ"


def series(run: TimingRun) -> Table:
    """A row for everything that took turns in every process; outliers flagged, none dropped."""
    rows = []
    ids = []
    for process in run.processes:
        for name in SERIES:
            found, path = process.series[name], f"study#/{series_path(run, process, name)}"
            outliers, trend = found.outliers, found.trend
            rows.append(
                (
                    Cell(text=f"`{name}`"),
                    shown(f"{process.number}"),
                    _time(f"{path}/minimum_s", found.minimum_s),
                    _time(f"{path}/median_s", found.median_s),
                    _time(f"{path}/maximum_s", found.maximum_s),
                    valued(
                        f"{path}/flagged",
                        len(outliers.outside),
                        "integer",
                        "measured",
                        note=f"{len(outliers.far):,} far",
                    ),
                    Cell(text=trend.steadiness.value, kind="measured", note=trend.told),
                )
            )
            ids.append(f"series-{process.number}-{name}")
    return table_of(
        f"{run.name}-series",
        f"{len(rows)} series of {run.request.steps:,} samples, each alone",
        "Series|>Process|>Minimum|>Median|>Maximum|>Flagged|Steadiness",
        rows,
        ids,
    )


def _time(pointer: str, seconds: float, kind: Kind = "measured", *, note: str = "") -> Cell:
    return valued(pointer, seconds, _digits(seconds), kind, note=note)


def _digits(seconds: float) -> str:
    return "seconds(2)" if seconds >= 1e-6 else "seconds(0)"


def _span_s(path: str, interval: Interval) -> str:
    """Both ends of an interval of times, which stand at `path`."""
    low = number(f"{path}/low_s", _digits(interval.low))
    return f"{low} to {number(f'{path}/high_s', _digits(interval.high))}"
