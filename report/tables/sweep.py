"""All tables of one sweep record: its ceilings, the probe behind them, and every point."""

from collections.abc import Iterator, Mapping, Sequence

from report.exhibit import Cell, Kind, Table, code, literal, shown, table_of, valued
from report.notation import prefixed
from report.numbers.placing import Ceiling, Placed
from report.numbers.precision import POLICIES, Timing
from report.numbers.run import Artifact, Run
from report.numbers.sweep import WORK, Stream, SweepRun, Timed
from report.numbers.traffic import MODELS
from report.numbers.values import worked_at
from report.numbers.worked_elsewhere import elsewhere as placed_elsewhere
from report.numbers.worked_sweep import Row, SweepStudy, study_sweep

USES = {"sweep": "the sweep", "matrix": "square products"}
BELOW = "below the floor: no rate claimed"
UNTOLD = "this compiler does not tell"


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
    found = study.ceilings

    def cells(
        name: str, ceiling: Ceiling | None, unit: str, path: str, reason: str
    ) -> tuple[Cell, ...]:
        if ceiling is None:
            return (Cell(text=name), Cell(text="none"), Cell(text="none"), Cell(text=reason))
        median = f"{study.base}/probe/{ceiling.row}/median_per_s"
        return (
            Cell(text=name),
            _per_s(f"{study.base}/{path}", ceiling.per_s, unit),
            _per_s(median, ceiling.median_per_s, unit),
            Cell(text=code(ceiling.row), href=f"records/{study.run.name}.html#{ceiling.row}"),
        )

    rows = [
        cells(
            "Memory: arrays well beyond the caches",
            *(found.memory, "B/s", "memory_bytes_per_s", found.memory_reason),
        ),
        cells(
            "In cache: arrays that fit in the last level",
            *(found.cached, "B/s", "cached_bytes_per_s", found.cached_reason),
        ),
    ]
    rows += [
        cells(
            f"Square products, {policy.upper()}",
            *(found.matrix.get(policy), f"{WORK[policy]}/s", f"{policy}/matrix_per_s", BELOW),
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
        _times(text, f"{run.name}#/timing_floor_s/{part}", timing)
        for text, part, timing in (
            ("Empty call: the dispatch floor", "empty_call", run.floor.empty_call),
            ("No call: the clock itself", "clock", run.floor.clock),
        )
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
            valued(f"{run.name}#/caches/{index}/bytes", cache.bytes, "bytes", "measured"),
            shown(f"{cache.cores}"),
        )
        for index, cache in enumerate(run.caches)
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
            *(
                valued(
                    f"{study.run.name}#/probe/stream/{each.id}/{part}", size, "bytes", "computed"
                )
                for part, size in (
                    ("array_bytes", each.array_bytes),
                    ("moved_bytes", each.moved_bytes),
                )
            ),
            *_rates(each, study),
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
            *_rates(each, study),
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

    def cells(row: Row) -> tuple[Cell, ...]:
        base, placed, timed = f"{study.base}/{row.timed.id}", row.placed, row.timed
        return (
            Cell(text=code(timed.id)),
            _intensity(f"{base}/intensity", placed),
            _rate(f"{base}/per_s", placed),
            _bound(f"{base}/bound_per_s", placed),
            _share(f"{base}/share", placed),
            Cell(text=placed.words),
            valued(
                f"{study.run.name}#/results/{timed.id}/relative_l2_error",
                timed.relative_l2_error,
                "error",
                "measured",
                timed.relative_l2_error_reason,
            ),
        )

    return table_of(
        f"{study.run.name}-points",
        "The sweep: what each batch reached, and what bounds it",
        "Point|>Intensity|>Rate|>Its bound|>Share|Where it lies|>Relative L2 error",
        [cells(row) for row in study.rows],
        [row.timed.id for row in study.rows],
    )


def times(study: SweepStudy) -> Table:
    results = f"{study.run.name}#/results"
    rows = [
        (
            *_times(code(each.id), f"{results}/{each.id}/timing_s", each.program.timing),
            shown(_work(each)),
        )
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

    def cells(row: Row) -> tuple[Cell, ...]:
        recorded, timed = f"{study.run.name}#/results/{row.timed.id}", row.timed
        return (
            Cell(text=code(timed.id)),
            valued(f"{recorded}/stored_bytes/total", timed.stored.total, "bytes", "computed"),
            *(_count(study, row, model) for model in MODELS),
            valued(
                f"{recorded}/compiler_memory_bytes/temporary",
                timed.program.memory.temporary,
                "bytes",
                "estimated",
                UNTOLD,
            ),
            shown(_converted(timed)),
        )

    return table_of(
        f"{study.run.name}-traffic",
        "Three accounts of the bytes that a point moves, and what its program converts",
        "Point|>Stored operands|>Least|>Tiled|>Compiler|>Temporary|Converted first",
        [cells(row) for row in study.rows],
        [f"{row.timed.id}-bytes" for row in study.rows],
    )


def texts(run: SweepRun) -> Table:
    timed: dict[str, Sequence[Stream | Timed]] = {
        "probe/stream": run.streams,
        "probe/matrix": run.squares,
        "results": run.points,
    }
    programs = [(part, each.program) for part, there in timed.items() for each in there]
    rows = [
        (
            Cell(text=code(each.id)),
            Cell(text=_link(run, each.stablehlo)),
            Cell(text=_link(run, each.hlo)),
            valued(
                f"{run.name}#/{part}/{each.id}/compiler_memory_bytes/peak",
                each.memory.peak,
                "bytes",
                "estimated",
                UNTOLD,
            ),
        )
        for part, each in programs
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
    for each in placed_elsewhere(study, runs):
        if each.refused:
            nothing = (shown("none") for _ in range(3))
            rows.append((Cell(text=code(each.record)), *nothing, shown(each.refused)))
        for placed in each.placed:
            traffic = f"study#/precision/{each.record}/traffic/{placed.point.policy}"
            base = f"{study.base}/elsewhere/{placed.point.id}"
            rows.append(
                (
                    Cell(text=code(placed.point.id)),
                    _intensity(f"{traffic}/intensity", placed),
                    _rate(f"{base}/per_s", placed),
                    _share(f"{base}/share", placed),
                    Cell(text=placed.words),
                )
            )
    if not rows:
        return None
    return table_of(
        f"{study.run.name}-elsewhere",
        "Products of other records under these ceilings",
        "Record and result|>Intensity|>Rate|>Share|Where it lies",
        rows,
    )


def _worked(pointer: str, number: float, spelling: str, kind: Kind, note: str = "") -> Cell:
    """A number with a link to how it was worked out."""
    return valued(pointer, number, spelling, kind, href=worked_at(pointer), note=note)


def _per_s(pointer: str, per_s: float, unit: str, note: str = "") -> Cell:
    return _worked(pointer, per_s, prefixed(per_s, unit), "measured", note)


def _intensity(pointer: str, placed: Placed) -> Cell:
    point = placed.point
    return _worked(pointer, point.intensity, f"quantity({point.work}/B, 2)", "computed")


def _rate(pointer: str, placed: Placed) -> Cell:
    if placed.per_s is None:
        return Cell(text="no rate claimed")
    return _per_s(pointer, placed.per_s, f"{placed.point.work}/s")


def _bound(pointer: str, placed: Placed) -> Cell:
    if placed.bound_per_s is None:
        return shown("none")
    return _per_s(pointer, placed.bound_per_s, f"{placed.point.work}/s", placed.limit)


def _share(pointer: str, placed: Placed) -> Cell:
    if placed.share is None:
        return Cell(text="none")
    return _worked(pointer, placed.share, "percent(0)", "measured")


def _rates(row: Stream | Timed, study: SweepStudy) -> tuple[Cell, ...]:
    """Best and median rate, where they may be claimed, and the median time in any case."""
    rates = study.probe.get(row.id)
    part, unit = ("stream", "B/s") if isinstance(row, Stream) else ("matrix", f"{row.work}/s")
    recorded = f"{study.run.name}#/probe/{part}/{row.id}"
    median = row.program.timing.median
    time = valued(f"{recorded}/timing_s/median", median, "seconds(1)", "measured")
    if rates is None:
        return (shown("none"), Cell(text="none", note=BELOW), time)
    base = f"{study.base}/probe/{row.id}"
    return (
        _per_s(f"{base}/per_s", rates.per_s, unit),
        _per_s(f"{base}/median_per_s", rates.median_per_s, unit),
        time,
    )


def _count(study: SweepStudy, row: Row, model: str) -> Cell:
    count = row.traffic.bytes_of(model)
    if count is None:
        why = row.traffic.tiled_reason if model == "tiled" else row.traffic.compiler_reason
        return Cell(text="not known", note=literal(why))
    kind: Kind = "estimated" if model == "compiler" else "computed"
    return valued(study.counted(row, model), count, "bytes", kind)


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


def _times(name: str, pointer: str, timing: Timing) -> tuple[Cell, ...]:
    return (
        Cell(text=name),
        shown(f"{len(timing.samples)}"),
        *(
            valued(f"{pointer}/{part}", getattr(timing, part), "seconds(2)", "measured")
            for part in ("minimum", "median", "maximum")
        ),
    )


def _link(run: SweepRun, text: Artifact) -> str:
    """A link as the record's own page writes it."""
    return f"[{literal(text.sha256[:12])}]({run.name}/{text.path})"
