"""Tables of a preflight: matrix instructions, ceilings, small batches, bytes, and what fits.

Every number is a compiler's word or follows from a shape. No cell holds a measurement, and
bytes that were counted differently never stand in one column.
"""

from collections.abc import Iterator, Mapping, Sequence

from report.content import Content
from report.exhibit import Cell, Column, Table, literal
from report.ladder import Rung
from report.notation import NBSP, render
from report.numbers.ceilings import FORMATS, Verdict, shown
from report.numbers.lowering import (
    BATCH_ONE,
    GENERATIONS,
    LESSON,
    POLICIES,
    SMALL_BATCH,
    SQUARE,
    Ledger,
    LedgerRow,
    Preflight,
    Schedule,
)
from report.numbers.study import Study
from report.specs import Chip, Spec
from report.tables.reference import printed, short_name

STATIC = "A static count of one compiler’s output for one shape: not a time, not a measurement."
LEDGER_SHOWN = (
    (f"int8-scaled-{LESSON}", None),
    (f"int8-scaled-{BATCH_ONE}", None),
    (f"fp32-default-{LESSON}", None),
    (f"bf16-{LESSON}", None),
    (f"bf16-int4-{LESSON}", "w"),
)
"""Products of the ledger's short form, whole or one operand of them."""


def tables(study: Study, content: Content) -> tuple[Table, ...]:
    """What the preflight record has to show, or the ceilings alone when there is none."""
    run = study.featured(Preflight)
    made = [ceilings_table(study.ceilings, content.chips, run)]
    if run is not None:
        made += [matrix_table(run), small_batch_table(run), ledger_table(run)]
    return tuple(made)


def matrix_table(run: Preflight) -> Table:
    """Policy by generation: operand types of the matrix instructions, with the level of each."""
    return Table(
        name="matrix-instructions",
        title="Matrix instructions, by policy and generation",
        caption=(
            f"One product of 256 × 256 × 256. {STATIC} Units differ in size and pace, so compare "
            "within a column only."
        ),
        columns=(
            Column(head="Operands, as requested"),
            *(Column(head=generation_name(name)) for name in run.generations),
        ),
        rows=tuple(
            (
                Cell(text=policy_name(policy)),
                *(schedule_cell(run, SQUARE, policy, name) for name in run.generations),
            )
            for policy in run.matrix
        ),
        sources=(run.source,),
    )


def schedule_cell(run: Preflight, shape: str, policy: str, target: str) -> Cell:
    """Counts by operand type, and the rung on which they stand."""
    schedule = run.schedule(policy, target, shape)
    if schedule is None:
        return Cell(text="not asked")
    return Cell(
        text=counts_text(schedule),
        kind="estimated" if schedule.counts is not None else None,
        note=level_note(schedule),
    )


def counts_text(schedule: Schedule) -> str:
    if schedule.counts == {}:
        return "none"
    return literal(shown(schedule))


def level_note(schedule: Schedule) -> str:
    """The level of evidence, and how the compiler ended when not well."""
    if schedule.rung is None:
        return literal(f"no level: {schedule.reason or 'no schedule was written'}")
    ended = "" if schedule.compiler == "compiled" else f"; the compiler then {schedule.compiler}"
    unknown = ", ".join(schedule.unrecognized)
    return literal(
        f"level: {schedule.rung.words}" + ended + (f"; unrecognized: {unknown}" if unknown else "")
    )


def ceilings_table(
    verdicts: Sequence[Verdict], chips: Mapping[str, Chip], run: Preflight | None
) -> Table:
    """Format by generation: what is documented, what the matrix unit is given, what is drawn."""
    cited = [spec.source for verdict in verdicts for spec in verdict.documented.readings]
    return Table(
        name="ceilings",
        title="Documented rates, and whether a matrix instruction bears them out",
        caption=(
            "A roofline’s flat ceiling is drawn solid only where the rate of the official page and "
            "the compiler’s matrix instruction are of the same format. Otherwise it is greyed, "
            "with the reason. Documents that say FP8 name no variant."
        ),
        columns=(
            Column(head="Format and generation"),
            Column(head="Documented rate of a chip"),
            Column(head="Matrix instructions"),
            Column(head="Ceiling"),
        ),
        rows=tuple(_ceiling_row(verdict, chips, run) for verdict in verdicts),
        row_ids=tuple(f"ceiling-{verdict.format}-{verdict.chip}" for verdict in verdicts),
        sources=tuple(dict.fromkeys([*([run.source] if run else []), *cited])),
        stack=True,
    )


def _ceiling_row(
    verdict: Verdict, chips: Mapping[str, Chip], run: Preflight | None
) -> tuple[Cell, ...]:
    name = FORMATS[verdict.format][0]
    level = Rung.MATRIX_INSTRUCTION.words
    return (
        Cell(text=f"{name}, {chips[verdict.chip].name.removeprefix('TPU ')}"),
        _documented_cell(verdict.documented),
        Cell(
            text=literal(verdict.instructions),
            kind="estimated",
            href=f"records/{run.name}.html#instructions-{SQUARE}-{verdict.format}",
            note=level,
        )
        if run and verdict.instructions
        else Cell(text="not read"),
        Cell(text="solid" if verdict.solid else "grey", note=literal(verdict.reason)),
    )


def _documented_cell(spec: Spec) -> Cell:
    others = [
        f"{printed(other.value)} in [{short_name(other.reference.id)}]({other.source.href})"
        for other in spec.alternatives
        if other.value is not None
    ]
    also = f"also {', '.join(others)}" if others else ""
    if spec.value is None:
        return Cell(text="not listed", note=also or literal(spec.reason))
    return Cell(
        text=printed(spec.value),
        kind="documented",
        href=spec.source.href,
        note=also or literal(spec.note),
    )


def small_batch_table(run: Preflight) -> Table:
    """What the matrix unit is given when there are few rows."""
    rows = []
    for shape, words in ((BATCH_ONE, "1 × 127 × 65"), (SMALL_BATCH, "8 × 128 × 64")):
        for policy in run.schedules.get(shape, {}):
            cells = (schedule_cell(run, shape, policy, name) for name in run.generations)
            rows.append((Cell(text=policy_name(policy), note=words), *cells))
    return Table(
        name="small-batches",
        title="Matrix instructions when there are few rows",
        caption=(
            "Rows × contraction × columns stand under each policy. Where there is none, the "
            f"product uses no matrix instruction at all. {STATIC}"
        ),
        columns=(
            Column(head="Operands, and shape"),
            *(Column(head=generation_name(name)) for name in run.generations),
        ),
        rows=tuple(rows),
        sources=(run.source,),
    )


LEDGER_COLUMNS = (
    Column(head="Bytes of"),
    Column(head="Elements", numeric=True),
    Column(head="Ideal, packed", numeric=True),
    Column(head="NumPy array on the host", numeric=True),
    Column(head="Argument, CPU compiler", numeric=True),
    Column(head="Tiled, TPU compilers"),
)
"""Each says how its bytes were counted; none is "the size"."""


def ledger_table(run: Preflight) -> Table:
    """The lesson's products: the same operands in bytes, counted in every way."""
    rows: list[tuple[Cell, ...]] = []
    for id_, operand in LEDGER_SHOWN:
        ledger = run.ledgers.get(id_)
        if ledger is None:
            continue
        href = f"records/{run.name}.html#ledger-{id_}"
        if operand is None:
            rows.append(ledger_total(ledger, href))
        else:
            chosen = (row for row in ledger.operands if row.operand == operand)
            rows += [ledger_row(row, href) for row in chosen]
    return Table(
        name="byte-ledger",
        title="One operand, many byte counts",
        caption=(
            "A column says how it was counted, and columns are not exchangeable. Ideal bits are "
            "packed without padding; NumPy gives INT4 a byte each; tiled bytes are padded to the "
            "tiles of each TPU generation. Outputs are not included."
        ),
        columns=LEDGER_COLUMNS,
        rows=tuple(rows),
        sources=(run.source,),
        stack=True,
    )


def ledger_total(ledger: Ledger, href: str = "") -> tuple[Cell, ...]:
    """All operands of one product."""
    policy, _, shape = ledger.id.rpartition("-")
    scales = f", of which {ledger.scale_bytes:,} are scales" if ledger.scale_bytes else ""
    cpu = ledger.argument.get("cpu")
    tiled = {name: size for name, size in ledger.argument.items() if name != "cpu"}
    return (
        Cell(
            text=f"{policy_name(policy)}, all operands",
            note=f"{by(shape)}{scales}",
            href=href or None,
        ),
        _bytes(sum(row.elements for row in ledger.operands), "computed"),
        _bytes(ledger.ideal_bytes, "computed"),
        _bytes(ledger.nbytes, "computed"),
        _bytes(cpu, "estimated", "not compiled for the CPU"),
        tiled_cell(tiled),
    )


OPERANDS = {
    "x": "X",
    "w": "W",
    "x_scales": "scales of X",
    "w_scales": "scales of W",
    "output": "output",
}


def ledger_row(row: LedgerRow, href: str = "") -> tuple[Cell, ...]:
    """One operand, or the output, of one product."""
    shape = " × ".join(map(str, row.shape))
    return (
        Cell(text=f"{OPERANDS[row.operand]}, {literal(row.dtype)}", note=shape, href=href or None),
        _bytes(row.elements, "computed"),
        _bytes(row.ideal_bytes, "computed"),
        _bytes(row.nbytes, "computed"),
        _bytes(row.argument, "estimated", row.argument_reason),
        tiled_cell(row.tiled),
    )


def _bytes(count: int | None, kind: str, reason: str = "") -> Cell:
    if count is None:
        return Cell(text="not recorded", note=literal(reason))
    return Cell(text=f"{count:,}", kind="computed" if kind == "computed" else "estimated")


def tiled_cell(by_target: Mapping[str, int | None]) -> Cell:
    """Targets with the same bytes together: `10,752 on v4 to TPU7x, 12,288 on v2, v3`."""
    return Cell(text=grouped(by_target), kind="estimated")


def grouped(by_target: Mapping[str, int | None]) -> str:
    groups: dict[int | None, list[str]] = {}
    for target, size in by_target.items():
        groups.setdefault(size, []).append(target)
    if len(groups) == 1 and (size := next(iter(groups))) is not None:
        return f"{size:,} on all"
    return "; ".join(
        f"{'not compiled' if size is None else f'{size:,}'} on {names(targets)}"
        for size, targets in groups.items()
    )


def names(targets: Sequence[str]) -> str:
    """Neighbouring generations as a range: `v4 to TPU7x`."""
    parts = []
    for run in _runs(targets):
        first, last = generation_name(run[0]), generation_name(run[-1])
        parts.append(f"{first} to {last}" if len(run) > 2 else ", ".join(map(generation_name, run)))
    return ", ".join(parts)


def _runs(targets: Sequence[str]) -> Iterator[list[str]]:
    places = {name: at for at, name in enumerate(GENERATIONS)}
    run: list[str] = []
    for target in targets:
        follows = run and places.get(target, -9) == places.get(run[-1], -99) + 1
        if run and not follows:
            yield run
            run = []
        run.append(target)
    if run:
        yield run


def fits_table(run: Preflight, program: str) -> Table:
    """Formula, compiler and runtime in three columns that are never merged."""
    study = run.fits[program]
    per = study.formula_bytes_per_batch
    rows = []
    for target, fit in study.targets.items():
        described = run.targets.get(target)
        memory = described.usable_memory if described else None
        least = fit.refusal.needed if fit.refusal else None
        rows.append(
            (
                Cell(text=generation_name(target)),
                Cell(
                    text=memory.as_printed if memory else "not recorded",
                    kind="estimated" if memory else None,
                    note="" if memory or not described else described.usable_memory_reason,
                ),
                Cell(
                    text=f"{fit.largest:,}" if fit.largest is not None else "not found",
                    kind="estimated" if fit.largest is not None else None,
                    note=literal(fit.reason)
                    or ("the search ended here" if fit.limited_by_search else ""),
                ),
                _size_cell(
                    fit.largest * per if per and fit.largest is not None else None, "computed"
                ),
                _size_cell(fit.memory.peak if fit.memory else None, "estimated"),
                Cell(text="not recorded", note="nothing was run"),
                Cell(
                    text=f"needs {least.as_printed}" if least else "none",
                    kind="estimated" if least else None,
                    note=f"one more in the batch, of {fit.refusal.available.as_printed}"
                    if fit.refusal and fit.refusal.available and not fit.reason
                    else "",
                ),
            )
        )
    return Table(
        name=f"{run.name}-fits-{program}",
        title=f"The largest batch of {program} that compiles, for one JAX device",
        caption=(
            "Formula, compiler and runtime are three accounts of memory and stay three columns. "
            "The formula counts the cache alone; the compiler’s peak counts everything the program "
            "holds at once; a runtime peak needs a device."
        ),
        columns=(
            Column(head="Generation"),
            Column(head="Usable, as the compiler prints it", numeric=True),
            Column(head="Largest batch", numeric=True),
            Column(head="Formula: cache", numeric=True),
            Column(head="Compiler: peak", numeric=True),
            Column(head="Runtime: peak", numeric=True),
            Column(head="The next batch", numeric=True),
        ),
        rows=tuple(rows),
        sources=(run.source,),
        stack=True,
    )


def _size_cell(count: int | None, kind: str) -> Cell:
    if count is None:
        return Cell(text="not recorded")
    return Cell(
        text=render(count, "bytes(GiB, 2)"),
        kind="computed" if kind == "computed" else "estimated",
        note=f"{count:,}{NBSP}B",
    )


def policy_name(policy: str) -> str:
    return POLICIES.get(policy, policy)


def generation_name(target: str) -> str:
    """`tpu7x` is TPU7x; others are named as they are, a slice by its topology."""
    return {"tpu7x": "TPU7x", "cpu": "CPU"}.get(target, target)


def by(shape: str) -> str:
    return shape.replace("x", " × ")
