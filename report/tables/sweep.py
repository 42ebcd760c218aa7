"""All tables of one sweep record: its ceilings, the probe behind them, and every point."""

from collections.abc import Iterator, Mapping

from report.exhibit import Cell, Table, code, literal, shown, table_of
from report.notation import render, with_prefix
from report.numbers.placing import (
    Ceiling,
    ForeignCeilings,
    Placed,
    claims_rate,
    place,
    points_of_precision,
)
from report.numbers.precision import POLICIES, PrecisionRun, Timing
from report.numbers.run import Artifact, Run
from report.numbers.sweep import WORK, SweepRun, Timed
from report.numbers.traffic import MODELS
from report.numbers.worked_sweep import Row, SweepStudy, study_sweep

USES = {"sweep": "the sweep", "matrix": "square products"}
BELOW = "below the floor: no rate claimed"


def tables(run: SweepRun, runs: Mapping[str, Run]) -> Iterator[Table]:
    """Every table, its name beginning with the record's. `runs` are all records' runs."""
    study = study_sweep(run)
    yield asked(run)
    yield ceilings(study)
    yield floor(run)
    yield caches(run)
    yield streams(study)
    yield squares(study)
    yield points(study)
    yield times(study)
    yield traffic(study)
    yield texts(run)
    if others := elsewhere(study, runs):
        yield others


def asked(run: SweepRun) -> Table:
    """The arithmetic as requested. What was made of it is read from each program's text."""
    rows = [
        (
            shown(f"{policy.upper()}, {USES[use]}"),
            shown(each.operand),
            shown(each.accumulator),
            shown(each.precision or "not set"),
            shown("FP32, by row and column" if each.scaled else "none"),
        )
        for use, by_policy in run.asked.items()
        for policy, each in by_policy.items()
    ]
    return table_of(
        f"{run.name}-asked",
        "Arithmetic as requested",
        "Policy|Operands|Accumulator|Precision|Rescaled",
        rows,
    )


def ceilings(study: SweepStudy) -> Table:
    """Each ceiling with the row of the probe that it is from, or why there is none."""
    found, base = study.ceilings, f"workings.html#study-sweep-{study.run.name}".lower()

    def cells(
        name: str, ceiling: Ceiling | None, unit: str, href: str, reason: str
    ) -> tuple[Cell, ...]:
        if ceiling is None:
            return (Cell(text=name), Cell(text="none"), Cell(text="none"), Cell(text=reason))
        return (
            Cell(text=name),
            Cell(text=with_prefix(ceiling.per_s, unit), kind="measured", href=f"{base}-{href}"),
            Cell(text=with_prefix(ceiling.median_per_s, unit), kind="measured"),
            Cell(text=code(ceiling.row), href=f"records/{study.run.name}.html#{ceiling.row}"),
        )

    rows = [
        cells(
            "Memory: arrays well beyond the caches",
            *(found.memory, "B/s", "memory-bytes-per-s", found.memory_reason),
        ),
        cells(
            "In cache: arrays that fit in the last level",
            *(found.cached, "B/s", "cached-bytes-per-s", found.cached_reason),
        ),
    ]
    rows += [
        cells(
            f"Square products, {policy.upper()}",
            *(found.matrix.get(policy), f"{WORK[policy]}/s", f"{policy}-matrix-per-s", BELOW),
        )
        for policy in POLICIES
    ]
    return table_of(
        f"{study.run.name}-ceilings",
        "Ceilings that this device reached in the probe: no documented peaks",
        "Ceiling|>Best sample|>Median of that row|From",
        rows,
    )


def floor(run: SweepRun) -> Table:
    rows = [
        _times("Empty call: the dispatch floor", run.floor.empty_call),
        _times("No call: the clock itself", run.floor.clock),
    ]
    return table_of(
        f"{run.name}-floor",
        "The floor under every time: what a sample costs with next to nothing to compute",
        "What was called|>Samples|>Minimum|>Median|>Maximum",
        rows,
    )


def caches(run: SweepRun) -> Table:
    rows = [
        (
            shown(f"Level {cache.level}"),
            Cell(text=render(cache.bytes, "bytes"), kind="measured"),
            shown(f"{cache.cores}"),
        )
        for cache in run.caches
    ]
    if not rows:
        rows = [(shown("not known"), shown(run.caches_reason), shown("not known"))]
    return table_of(
        f"{run.name}-caches",
        "Data caches, as the operating system tells them",
        "Cache|>Size|>Cores that share it",
        rows,
    )


def streams(study: SweepStudy) -> Table:
    rows = [
        (
            Cell(text=code(each.id)),
            Cell(text=render(each.array_bytes, "bytes"), kind="computed"),
            Cell(text=render(each.moved_bytes, "bytes"), kind="computed"),
            *_rates(each.moved_bytes, "B/s", each.program.timing, study),
        )
        for each in study.run.streams
    ]
    return table_of(
        f"{study.run.name}-streams",
        "Streaming kernels, FP32: bytes moved count each array once",
        "Kernel|>One array|>Bytes moved|>Best|>Median|>Median time",
        rows,
        [each.id for each in study.run.streams],
    )


def squares(study: SweepStudy) -> Table:
    rows = [
        (
            Cell(text=code(each.id)),
            shown(", ".join(each.products) or ", ".join(each.calls)),
            *_rates(each.operations, f"{each.work}/s", each.program.timing, study),
        )
        for each in study.run.squares
    ]
    return table_of(
        f"{study.run.name}-squares",
        "Square products, by policy and side; types as the optimized HLO multiplies them",
        "Product|Multiplied as|>Best|>Median|>Median time",
        rows,
        [each.id for each in study.run.squares],
    )


def points(study: SweepStudy) -> Table:
    """Every point with its rate, its bound and where it lies."""
    base = f"workings.html#study-sweep-{study.run.name}".lower()
    rows = [
        (
            Cell(text=code(row.timed.id)),
            Cell(
                text=_intensity(row.placed),
                kind="computed",
                href=f"{base}-{row.timed.id}-intensity",
            ),
            _rate(row.placed, f"{base}-{row.timed.id}-per-s"),
            _bound(row.placed),
            _share(row.placed, f"{base}-{row.timed.id}-share"),
            Cell(text=row.placed.words),
            Cell(
                text=render(
                    row.timed.relative_l2_error,
                    "error",
                    reason=row.timed.relative_l2_error_reason,
                ),
                kind="measured",
            ),
        )
        for row in study.rows
    ]
    return table_of(
        f"{study.run.name}-points",
        "The sweep: what each batch reached, and what bounds it",
        "Point|>Intensity|>Rate|>Its bound|>Share|Where it lies|>Relative L2 error",
        rows,
        [row.timed.id for row in study.rows],
    )


def times(study: SweepStudy) -> Table:
    rows = [
        (*_times(code(each.id), each.program.timing), shown(_work(each)))
        for each in study.run.points
    ]
    return table_of(
        f"{study.run.name}-times",
        "Wall time of warmed, synchronized calls. No policy is ranked by it.",
        "Point|>Samples|>Minimum|>Median|>Maximum|>Work",
        rows,
        [f"{each.id}-timing" for each in study.run.points],
    )


def traffic(study: SweepStudy) -> Table:
    """Bytes by each account, beside what was stored and what the program needs besides."""
    rows = [
        (
            Cell(text=code(row.timed.id)),
            Cell(text=render(row.timed.stored.total, "bytes"), kind="computed"),
            *(_count(row, model) for model in MODELS),
            Cell(
                text=render(
                    row.timed.program.memory.temporary,
                    "bytes",
                    reason="this compiler does not tell",
                ),
                kind="estimated",
            ),
            shown(_converted(row.timed)),
        )
        for row in study.rows
    ]
    return table_of(
        f"{study.run.name}-traffic",
        "Three accounts of the bytes that a point moves, and what its program converts",
        "Point|>Stored operands|>Least|>Tiled|>Compiler|>Temporary|Converted first",
        rows,
        [f"{row.timed.id}-bytes" for row in study.rows],
    )


def texts(run: SweepRun) -> Table:
    products = (*run.squares, *run.points)
    programs = [*(each.program for each in run.streams), *(each.program for each in products)]
    rows = [
        (
            Cell(text=code(each.id)),
            Cell(text=_link(run, each.stablehlo)),
            Cell(text=_link(run, each.hlo)),
            Cell(
                text=render(each.memory.peak, "bytes", reason="this compiler does not tell"),
                kind="estimated",
            ),
        )
        for each in programs
    ]
    return table_of(
        f"{run.name}-texts",
        "The text of every timed program, by the beginning of its SHA-256",
        "Program|StableHLO|Optimized HLO|>Peak bytes, by the compiler",
        rows,
    )


def elsewhere(study: SweepStudy, runs: Mapping[str, Run]) -> Table | None:
    """Precision records' products under these ceilings: refused unless from the same device."""
    rows: list[tuple[Cell, ...]] = []
    for name, run in runs.items():
        if not isinstance(run, PrecisionRun):
            continue
        try:
            placed = [place(study.ceilings, point) for point in points_of_precision(run)]
        except ForeignCeilings as refusal:
            fault = refusal.faults[0]
            words = f"refused: {fault.found}, not on {fault.expected}"
            nothing = (shown("none") for _ in range(3))
            rows.append((Cell(text=code(name)), *nothing, shown(words)))
            continue
        rows += [
            (
                Cell(text=code(each.point.id)),
                Cell(text=_intensity(each), kind="computed"),
                _rate(each),
                _share(each),
                Cell(text=each.words),
            )
            for each in placed
        ]
    if not rows:
        return None
    return table_of(
        f"{study.run.name}-elsewhere",
        "Products of other records under these ceilings",
        "Record and result|>Intensity|>Rate|>Share|Where it lies",
        rows,
    )


def _intensity(placed: Placed) -> str:
    return f"{render(placed.point.intensity, 'fixed(2)')} {placed.point.work}/B"


def _rate(placed: Placed, href: str | None = None) -> Cell:
    if placed.per_s is None:
        return Cell(text="no rate claimed", href=href)
    rate = with_prefix(placed.per_s, f"{placed.point.work}/s")
    return Cell(text=rate, kind="measured", href=href)


def _bound(placed: Placed) -> Cell:
    if placed.bound_per_s is None:
        return shown("none")
    bound = with_prefix(placed.bound_per_s, f"{placed.point.work}/s")
    return Cell(text=bound, kind="measured", note=placed.limit)


def _share(placed: Placed, href: str | None = None) -> Cell:
    if placed.share is None:
        return Cell(text="none", href=href)
    return Cell(text=render(placed.share, "percent(0)"), kind="measured", href=href)


def _rates(amount: int, unit: str, timing: Timing, study: SweepStudy) -> tuple[Cell, ...]:
    """Best and median rate, where they may be claimed, and the median time in any case."""
    time = Cell(text=render(timing.median, "seconds(1)"), kind="measured")
    if not claims_rate(timing, study.ceilings.floor_s):
        return (shown("none"), Cell(text="none", note=BELOW), time)
    best, median = (
        Cell(text=with_prefix(amount / seconds, unit), kind="measured")
        for seconds in (timing.minimum, timing.median)
    )
    return (best, median, time)


def _count(row: Row, model: str) -> Cell:
    count = row.traffic.bytes_of(model)
    if count is None:
        why = row.traffic.tiled_reason if model == "tiled" else row.traffic.compiler_reason
        return Cell(text="not known", note=literal(why))
    return Cell(
        text=render(count, "bytes"), kind="estimated" if model == "compiler" else "computed"
    )


def _converted(timed: Timed) -> str:
    """Conversions in the compiled program, such as all 1,048,576 weights from bf16 to f32."""
    weights = timed.k * timed.n
    said = [
        f"{'all ' if each.elements == weights else ''}{each.elements * each.count:,} "
        f"{each.source} to {each.target}"
        for each in timed.converts
    ]
    return ", ".join(said) or "nothing"


def _work(timed: Timed) -> str:
    rescaled = f" and {timed.rescale_flop:,} FLOP to rescale" if timed.rescale_flop else ""
    return f"{timed.operations:,} {timed.work}{rescaled}"


def _times(name: str, timing: Timing) -> tuple[Cell, ...]:
    return (
        Cell(text=name),
        shown(f"{len(timing.samples)}"),
        *(
            Cell(text=render(seconds, "seconds(2)"), kind="measured")
            for seconds in (timing.minimum, timing.median, timing.maximum)
        ),
    )


def _link(run: SweepRun, text: Artifact) -> str:
    """A link as the record's own page writes it."""
    return f"[{literal(text.sha256[:12])}]({run.name}/{text.path})"
