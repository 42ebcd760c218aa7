"""All tables of one preflight record's page: what was asked, and everything that came back."""

from collections import Counter
from collections.abc import Iterator, Sequence

from report.exhibit import Cell, Kind, Table, code, literal, shown, table_of
from report.notation import render
from report.numbers.lowering import (
    BATCH_ONE,
    LESSON,
    Compiled,
    Dot,
    Ledger,
    Operand,
    Preflight,
    Program,
)
from report.numbers.run import Artifact
from report.tables import compiled as short

IN_PARTS = (LESSON, BATCH_ONE)
"""Shapes whose products are shown operand by operand; of others only the totals are."""


def tables(run: Preflight) -> Iterator[Table]:
    """Every table, its name beginning with the record's."""
    if run.policies:
        yield policies(run)
    if run.targets:
        yield targets(run)
    yield from matrices(run)
    yield from lowered(run)
    yield from ledgers(run)
    yield from memory(run)
    yield from (short.fits_table(run, name) for name in run.fits)
    yield from texts(run)


def policies(run: Preflight) -> Table:
    rows = [
        (
            Cell(text=code(policy.name)),
            shown(policy.lhs),
            shown(policy.rhs),
            shown(policy.accumulator or "left to JAX"),
            shown(policy.precision or "not set"),
            shown("FP32, by row and column" if policy.scaled else "none"),
        )
        for policy in run.policies.values()
    ]
    columns = "Policy|X|W|Accumulator|Precision|Rescaled"
    return table_of(f"{run.name}-policies", "Policies: types as requested", columns, rows)


def targets(run: Preflight) -> Table:
    """Topologies, and the memory of a device in the compiler's words."""
    rows = [
        (
            shown(short.generation_name(target.slug)),
            shown(target.topology),
            shown(target.device_kind),
            shown(f"{target.chips}"),
            shown(f"{target.devices}"),
            Cell(
                text=literal(target.usable_memory.as_printed),
                kind="estimated",
                note=literal(target.refusal),
            )
            if target.usable_memory
            else shown(target.usable_memory_reason or "not recorded"),
        )
        for target in run.targets.values()
    ]
    return table_of(
        f"{run.name}-targets",
        "Targets, and the memory that one JAX device has by the compiler’s own refusal",
        "Generation|Topology|Device kind|>Chips|>JAX devices|Usable memory of a device",
        rows,
        [f"target-{slug}" for slug in run.targets],
    )


def matrices(run: Preflight) -> Iterator[Table]:
    """One table a shape: policy by generation, with the level of evidence in each cell."""
    for shape, by_policy in run.schedules.items():
        columns = list(dict.fromkeys(target for row in by_policy.values() for target in row))
        rows = [
            (
                shown(short.policy_name(policy)),
                *(short.schedule_cell(run, shape, policy, target) for target in columns),
            )
            for policy in by_policy
        ]
        yield table_of(
            f"{run.name}-instructions-{shape or 'programs'}",
            f"One product of {short.by(shape)}" if shape else "As compiled",
            "|".join(["Operands", *map(short.generation_name, columns)]),
            rows,
            [f"instructions-{shape or 'programs'}-{policy}" for policy in by_policy],
        )


def lowered(run: Preflight) -> Iterator[Table]:
    """Requested and got, one table a shape."""
    columns = (
        "Program|Requested|On|Multiplied as|Summed in, and output|Conversions inserted"
        "|>Temporary bytes|Level"
    )
    groups: dict[str, list[tuple[str, Program]]] = {}
    for kind, programs in (("programs", run.programs), ("steps", run.steps)):
        for program in programs.values():
            groups.setdefault(program.shape, []).append((kind, program))
    for shape, members in groups.items():
        rows: list[tuple[Cell, ...]] = []
        ids: list[str] = []
        for kind, program in members:
            made = list(got_rows(program))
            rows += made
            ids += [f"{kind}-{program.id}", *("" for _ in made[1:])][: len(made)]
        title = f"Products of {short.by(shape)}" if shape else "Programs by reference"
        yield table_of(f"{run.name}-got-{shape or 'programs'}", title, columns, rows, ids)


def got_rows(program: Program) -> Iterator[tuple[Cell, ...]]:
    """One row for targets whose texts say the same."""
    asked = program.requested
    requested = "; ".join(dict.fromkeys(map(_types, asked.dots))) if asked else ""
    groups: dict[tuple[str, ...], list[str]] = {}
    for target, compiled in program.targets.items():
        groups.setdefault(got_words(compiled), []).append(target)
    for (multiplied, result, inserted, temporary, level), on in groups.items():
        yield (
            Cell(text=code(program.policy or program.id)),
            shown(requested or "not read"),
            shown(short.names(on)),
            shown(multiplied),
            shown(result),
            shown(inserted),
            Cell(text=temporary, kind="estimated" if temporary[:1].isdigit() else None),
            shown(level),
        )


def got_words(compiled: Compiled) -> tuple[str, str, str, str, str]:
    """Multiplied types, results, insertions, temporaries and level, in words."""
    temporary = f"{compiled.temporary:,}" if compiled.temporary is not None else "none recorded"
    level = compiled.rung.words
    if compiled.status != "compiled":
        return compiled.status, "–", "–", temporary, level
    if compiled.got is None:
        return f"text not read: {compiled.got_reason}", "–", "–", temporary, level
    dots = compiled.got.dots
    types = "; ".join(dict.fromkeys(" × ".join(dot.operands) for dot in dots))
    results = "; ".join(dict.fromkeys(_sum(dot) for dot in dots))
    inserted = ", ".join(each.words for each in compiled.inserted) or "none"
    if compiled.got.opaque:
        inserted += f"; custom calls: {', '.join(compiled.got.opaque)}"
    return types or compiled.got.finding, results or "–", inserted, temporary, level


def _sum(dot: Dot) -> str:
    """Type of the sum, and of what it is converted to at once; a narrow integer one wraps."""
    converted = f" → {dot.output}" if dot.output != dot.accumulator else ""
    return f"{dot.accumulator}{converted}{', wraps' if dot.wraps else ''}"


def _types(dot: Dot) -> str:
    """Operands as given, and as they are multiplied where JAX itself asks to convert them."""
    stored, multiplied = (" × ".join(types) for types in (dot.stored, dot.operands))
    converted = f", as {multiplied}" if multiplied != stored else ""
    return f"{stored}{converted} → {dot.accumulator}"


def ledgers(run: Preflight) -> Iterator[Table]:
    """Every product's bytes, one table a shape, the lesson's first."""
    groups: dict[str, list[Ledger]] = {}
    for ledger in run.ledgers.values():
        groups.setdefault(ledger.id.rpartition("-")[2], []).append(ledger)
    for shape in sorted(groups, key=lambda shape: shape != LESSON):
        rows: list[tuple[Cell, ...]] = []
        ids: list[str] = []
        for ledger in groups[shape]:
            parts = (*ledger.operands, ledger.output) if shape in IN_PARTS else ()
            rows += [short.ledger_total(ledger), *map(short.ledger_row, parts)]
            ids += [f"ledger-{ledger.id}", *("" for _ in parts)]
        yield Table(
            name=f"{run.name}-ledger-{shape}",
            title=f"Bytes of products of {short.by(shape)}",
            caption="",
            columns=short.LEDGER_COLUMNS,
            rows=tuple(rows),
            row_ids=tuple(ids),
            stack=True,
        )


def memory(run: Preflight) -> Iterator[Table]:
    """Bytes of programs by reference: in all, target by target, and operand by operand."""
    programs = (*run.programs.values(), *run.steps.values())
    for program in (each for each in programs if not each.shape):
        rows = [
            (
                shown(short.generation_name(target)),
                _ideal_bytes(compiled.arguments),
                *(
                    _count(size, "estimated")
                    for size in (
                        compiled.memory.argument,
                        compiled.memory.output,
                        compiled.memory.temporary,
                        compiled.memory.peak,
                    )
                ),
            )
            for target, compiled in program.targets.items()
            if compiled.memory
        ]
        if rows:
            yield table_of(
                f"{run.name}-memory-{program.id}",
                f"Bytes of {literal(program.id)} on one device, by each compiler’s account",
                "Target|>Arguments, packed|>Arguments, as compiled|>Output|>Temporary|>Peak",
                rows,
            )
        if operands := list(operand_rows(program)):
            yield table_of(
                f"{run.name}-memory-{program.id}-operands",
                f"Operands and results of {literal(program.id)} on one device, packed and tiled",
                "Operand|>How many|>Elements|>Ideal, packed|Tiled",
                operands,
            )


def _ideal_bytes(arguments: Sequence[Operand]) -> Cell:
    sizes = [size for each in arguments if (size := each.ideal_bytes) is not None]
    whole = bool(arguments) and len(sizes) == len(arguments)
    return _count(sum(sizes), "computed") if whole else shown("not read")


def operand_rows(program: Program) -> Iterator[tuple[Cell, ...]]:
    """One row for arrays that every compiler lays out alike."""
    for role in ("arguments", "results"):
        found: dict[int, dict[str, Operand]] = {}
        for target, compiled in program.targets.items():
            for place, each in enumerate(getattr(compiled, role)):
                found.setdefault(place, {})[target] = each
        alike = Counter(tuple(by_target.items()) for by_target in found.values())
        for by_target, count in alike.items():
            first = by_target[0][1]
            yield (
                Cell(text=code(first.shape), note="" if role == "arguments" else "result"),
                shown(f"{count:,}"),
                _count(first.elements, "computed"),
                _count(first.ideal_bytes, "computed"),
                _tiled(by_target),
            )


def _tiled(by_target: Sequence[tuple[str, Operand]]) -> Cell:
    known = {target: size for target, each in by_target if (size := each.tiled_bytes) is not None}
    return short.tiled_cell(known) if known else shown("not told by the layout")


def _count(size: int | None, kind: Kind) -> Cell:
    return shown("not recorded") if size is None else Cell(text=f"{size:,}", kind=kind)


def texts(run: Preflight) -> Iterator[Table]:
    """Links to every text that is kept, each compiled one with the time that compiling took."""
    rows = []
    for program in (*run.programs.values(), *run.steps.values()):
        asked = {text.path: text for c in program.targets.values() if (text := c.stablehlo)}
        compiled = [
            f"{_link(run, each.hlo, short.generation_name(target))} {_took(each)}".strip()
            for target, each in program.targets.items()
            if each.hlo
        ]
        if asked or compiled:
            requested = (_link(run, text, text.sha256[:12]) for text in asked.values())
            rows.append(
                (
                    Cell(text=code(program.id)),
                    Cell(text=", ".join(requested) or "hash alone"),
                    Cell(text=", ".join(compiled) or "hash alone"),
                )
            )
    if rows:
        columns = "Program|StableHLO|Optimized HLO, and how long the compiling machine took"
        yield table_of(f"{run.name}-texts", "Texts that are kept", columns, rows)


def _link(run: Preflight, text: Artifact, name: str) -> str:
    """A link as the record's own page writes it."""
    return f"[{literal(name)}]({run.name}/{text.path})"


def _took(compiled: Compiled) -> str:
    seconds = compiled.compile_s
    return "" if seconds is None else f"({render(seconds, 'seconds(0)')})"
