"""Tables of a preflight: matrix instructions, ceilings, small batches, bytes, and what fits.

Every number is a compiler's word or follows from a shape. No cell holds a measurement, and
bytes that were counted differently never stand in one column.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence

from report.content import Content
from report.exhibit import Cell, Column, Kind, Table, literal, number, table_of, valued
from report.ladder import Rung
from report.numbers.ceilings import FORMATS, Verdict, counted, instructions_at
from report.numbers.lowering import (
    BATCH_ONE,
    CPU,
    GENERATIONS,
    LESSON,
    POLICIES,
    SMALL_BATCH,
    SQUARE,
    Fit,
    Ledger,
    LedgerRow,
    Preflight,
    Schedule,
    Target,
)
from report.numbers.stated import stated
from report.numbers.study import Study
from report.numbers.worked_lowering import elements_at
from report.specs import Chip
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
        text=counted(schedule, instructions_at(run, shape, policy, target)),
        kind="estimated" if schedule.counts is not None else None,
        note=level_note(schedule),
    )


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
    return table_of(
        "ceilings",
        "Documented rates, and whether a matrix instruction bears them out",
        "Format and generation|Documented rate of a chip|Matrix instructions|Ceiling",
        (_ceiling_row(verdict, chips, run) for verdict in verdicts),
        [f"ceiling-{verdict.format}-{verdict.chip}" for verdict in verdicts],
        caption=(
            "A roofline’s flat ceiling is drawn solid only where the rate of the official page and "
            "the compiler’s matrix instruction are of the same format. Otherwise it is greyed, "
            "with the reason. Documents that say FP8 name no variant."
        ),
        sources=tuple(dict.fromkeys([*([run.source] if run else []), *cited])),
    )


def _ceiling_row(
    verdict: Verdict, chips: Mapping[str, Chip], run: Preflight | None
) -> tuple[Cell, ...]:
    name = FORMATS[verdict.format][0]
    return (
        Cell(text=f"{name}, {chips[verdict.chip].name.removeprefix('TPU ')}"),
        _documented_cell(verdict),
        _instructions_cell(verdict, run),
        Cell(text="solid" if verdict.solid else "grey", note=literal(verdict.reason)),
    )


def _instructions_cell(verdict: Verdict, run: Preflight | None) -> Cell:
    schedule = run.schedule(verdict.format, verdict.chip) if run else None
    if run is None or schedule is None or not verdict.pointer:
        return Cell(text="not read")
    return Cell(
        text=counted(schedule, verdict.pointer),
        kind="estimated",
        href=f"records/{run.name}.html#instructions-{SQUARE}-{verdict.format}",
        note=Rung.MATRIX_INSTRUCTION.words,
    )


def _documented_cell(verdict: Verdict) -> Cell:
    spec, field = verdict.documented, FORMATS[verdict.format][1]
    others = [
        f"{printed(other.value)} in [{short_name(other.reference.id)}]({other.source.href})"
        for other in spec.alternatives
        if other.value is not None
    ]
    also = f"also {', '.join(others)}" if others else ""
    if spec.value is None:
        return Cell(text="not listed", note=also or literal(spec.reason))
    return valued(
        f"chips#/{verdict.chip}/{field}",
        stated(spec.value),
        "documented",
        "documented",
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
            rows.append(ledger_total(run, ledger, href))
        else:
            chosen = (row for row in ledger.operands if row.operand == operand)
            rows += [ledger_row(run, ledger, row, href) for row in chosen]
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


def ledger_total(run: Preflight, ledger: Ledger, href: str = "") -> tuple[Cell, ...]:
    """All operands of one product."""
    policy, _, shape = ledger.id.rpartition("-")
    here = f"{run.name}#/ledger/{ledger.id}/totals"
    scales = number(f"{here}/scale_bytes", "integer")
    tiled = {name: size for name, size in ledger.argument.items() if name != CPU}
    return (
        Cell(
            text=f"{policy_name(policy)}, all operands",
            note=by(shape) + (f", of which {scales} are scales" if ledger.scale_bytes else ""),
            href=href or None,
        ),
        count(elements_at(run, ledger), ledger.elements, "computed"),
        count(f"{here}/ideal_bytes", ledger.ideal_bytes, "computed"),
        count(f"{here}/nbytes", ledger.nbytes, "computed"),
        count(
            f"{here}/argument/{CPU}",
            ledger.argument.get(CPU),
            "estimated",
            "not compiled for the CPU",
        ),
        tiled_cell(tiled, lambda target: f"{here}/argument/{target}"),
    )


OPERANDS = {
    "x": "X",
    "w": "W",
    "x_scales": "scales of X",
    "w_scales": "scales of W",
    "output": "output",
}


def ledger_row(run: Preflight, ledger: Ledger, row: LedgerRow, href: str = "") -> tuple[Cell, ...]:
    """One operand, or the output, of one product."""
    shape = " × ".join(map(str, row.shape))
    place = row.operand if row is ledger.output else f"operands/{row.operand}"
    here = f"{run.name}#/ledger/{ledger.id}/{place}"
    return (
        Cell(text=f"{OPERANDS[row.operand]}, {literal(row.dtype)}", note=shape, href=href or None),
        count(f"{here}/elements", row.elements, "computed"),
        count(f"{here}/ideal_bytes", row.ideal_bytes, "computed"),
        count(f"{here}/nbytes", row.nbytes, "computed"),
        count(f"{here}/argument", row.argument, "estimated", row.argument_reason),
        tiled_cell(row.tiled, lambda target: f"{here}/tiled/{target}"),
    )


def count(pointer: str, found: int | None, kind: Kind, reason: str = "") -> Cell:
    """A whole number, or that it was not recorded and why."""
    if found is None:
        return Cell(text="not recorded", note=literal(reason))
    return valued(pointer, found, "integer", kind)


def tiled_cell(by_target: Mapping[str, int | None], at: Callable[[str], str]) -> Cell:
    """Targets with the same bytes together: `10,752 on v4 to TPU7x; 12,288 on v2, v3`.

    `at` tells where those of a target stand.
    """
    groups: dict[int | None, list[str]] = {}
    for target, size in by_target.items():
        groups.setdefault(size, []).append(target)
    said = []
    for size, targets in groups.items():
        found = "not compiled" if size is None else number(at(targets[0]), "integer")
        everywhere = len(groups) == 1 and size is not None
        said.append(f"{found} on {'all' if everywhere else literal(names(targets))}")
    return Cell(text="; ".join(said), kind="estimated")


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
    return table_of(
        f"{run.name}-fits-{program}",
        f"The largest batch of {program} that compiles, for one JAX device",
        "Generation|>Usable, as the compiler prints it|>Largest batch|>Formula: cache"
        "|>Compiler: peak|>Runtime: peak|>The next batch",
        (_fits_row(run, program, target) for target in run.fits[program].targets),
        caption=(
            "Formula, compiler and runtime are three accounts of memory and stay three columns. "
            "The formula counts the cache alone; the compiler’s peak counts everything the program "
            "holds at once; a runtime peak needs a device."
        ),
        sources=(run.source,),
    )


def _fits_row(run: Preflight, program: str, target: str) -> tuple[Cell, ...]:
    study = run.fits[program]
    fit, described = study.targets[target], run.targets.get(target)
    here = f"{run.name}#/fits/{program}/targets/{target}"
    worked = f"study#/lowering/{run.name}/fits/{program}/{target}"
    return (
        Cell(text=generation_name(target)),
        usable_cell(run, described) if described else Cell(text="not recorded"),
        valued(
            f"{here}/largest",
            fit.largest,
            "integer",
            "estimated",
            note=literal(fit.reason) or ("the search ended here" if fit.limited_by_search else ""),
        )
        if fit.largest is not None
        else Cell(text="not found", note=literal(fit.reason)),
        _size_cell(f"{worked}/formula", study.formula_bytes(target), "computed"),
        _size_cell(f"{here}/memory_bytes/peak", fit.memory.peak if fit.memory else None),
        Cell(text="not recorded", note="nothing was run"),
        _next_cell(fit, f"{here}/refusal/sizes"),
    )


def _next_cell(fit: Fit, here: str) -> Cell:
    """What one more in the batch needs, and of how much."""
    if not fit.refusal or not fit.refusal.needed:
        return Cell(text="none")
    of = number(f"{here}/available/as_printed", "text")
    return Cell(
        text=f"needs {number(f'{here}/needed/as_printed', 'text')}",
        kind="estimated",
        note="" if fit.reason else f"one more in the batch, of {of}",
    )


def usable_cell(run: Preflight, target: Target, note: str = "") -> Cell:
    """The memory of one JAX device, as the compiler prints it."""
    if target.usable_memory is None:
        return Cell(text="not recorded", note=literal(target.usable_memory_reason))
    return valued(
        f"{run.name}#/targets/{target.slug}/usable_memory/as_printed",
        target.usable_memory.as_printed,
        "text",
        "estimated",
        note=note,
    )


def _size_cell(pointer: str, found: int | None, kind: Kind = "estimated") -> Cell:
    """Bytes in GiB, with the exact number below."""
    if found is None:
        return Cell(text="not recorded")
    return valued(pointer, found, "bytes(GiB, 2)", kind, note=number(pointer, "bytes"))


def policy_name(policy: str) -> str:
    return POLICIES.get(policy, policy)


def generation_name(target: str) -> str:
    """`tpu7x` is TPU7x; others are named as they are, a slice by its topology."""
    return {"tpu7x": "TPU7x", "cpu": "CPU"}.get(target, target)


def by(shape: str) -> str:
    return shape.replace("x", " × ")
