"""All tables of one preflight record's page: what was asked, and everything that came back."""

from collections.abc import Iterator, Mapping

from report.exhibit import Cell, Table, code, literal, shown, table_of
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
from report.numbers.worked_lowering import packed_at
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
            short.usable_cell(run, target, literal(target.refusal)),
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
            made = list(got_rows(program, f"{run.name}#/{kind}/{program.id}/targets"))
            rows += made
            ids += [f"{kind}-{program.id}", *("" for _ in made[1:])][: len(made)]
        title = f"Products of {short.by(shape)}" if shape else "Programs by reference"
        yield table_of(f"{run.name}-got-{shape or 'programs'}", title, columns, rows, ids)


def got_rows(program: Program, here: str) -> Iterator[tuple[Cell, ...]]:
    """One row for targets, at `here`, whose texts say the same."""
    asked = program.requested
    requested = "; ".join(dict.fromkeys(map(_types, asked.dots))) if asked else ""
    groups: dict[tuple[int | None, tuple[str, ...]], list[str]] = {}
    for target, compiled in program.targets.items():
        groups.setdefault((compiled.temporary, got_words(compiled)), []).append(target)
    for (temporary, (multiplied, result, inserted, level)), on in groups.items():
        yield (
            Cell(text=code(program.policy or program.id)),
            shown(requested or "not read"),
            shown(short.names(on)),
            shown(multiplied),
            shown(result),
            shown(inserted),
            shown("none recorded")
            if temporary is None
            else short.count(f"{here}/{on[0]}/memory_bytes/temporary", temporary, "estimated"),
            shown(level),
        )


def got_words(compiled: Compiled) -> tuple[str, str, str, str]:
    """Multiplied types, results, insertions and level, in words."""
    level = compiled.rung.words
    if compiled.status != "compiled":
        return compiled.status, "–", "–", level
    if compiled.got is None:
        return f"text not read: {compiled.got_reason}", "–", "–", level
    dots = compiled.got.dots
    types = "; ".join(dict.fromkeys(" × ".join(dot.operands) for dot in dots))
    results = "; ".join(dict.fromkeys(_sum(dot) for dot in dots))
    inserted = ", ".join(each.words for each in compiled.inserted) or "none"
    if compiled.got.opaque:
        inserted += f"; custom calls: {', '.join(compiled.got.opaque)}"
    return types or compiled.got.finding, results or "–", inserted, level


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
            rows.append(short.ledger_total(run, ledger))
            rows += [short.ledger_row(run, ledger, part) for part in parts]
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
    for group, programs in (("programs", run.programs), ("steps", run.steps)):
        for program in (each for each in programs.values() if not each.shape):
            name, title = f"{run.name}-memory-{program.id}", literal(program.id)
            here = f"{run.name}#/{group}/{program.id}/targets"
            if rows := list(memory_rows(program, here, run, group)):
                yield table_of(
                    name,
                    f"Bytes of {title} on one device, by each compiler’s account",
                    "Target|>Arguments, packed|>Arguments, as compiled|>Output|>Temporary|>Peak",
                    rows,
                )
            if operands := list(operand_rows(program, here)):
                yield table_of(
                    f"{name}-operands",
                    f"Operands and results of {title} on one device, packed and tiled",
                    "Operand|>How many|>Elements|>Ideal, packed|Tiled",
                    operands,
                )


def memory_rows(
    program: Program, here: str, run: Preflight, group: str
) -> Iterator[tuple[Cell, ...]]:
    """One row for each target that it was compiled for."""
    for target, compiled in program.targets.items():
        if memory := compiled.memory:
            packed, told = compiled.packed_bytes, f"{here}/{target}/memory_bytes"
            yield (
                shown(short.generation_name(target)),
                shown("not read")
                if packed is None
                else short.count(packed_at(run, group, program, target), packed, "computed"),
                short.count(f"{told}/argument", memory.argument, "estimated"),
                short.count(f"{told}/output", memory.output, "estimated"),
                short.count(f"{told}/temporary", memory.temporary, "estimated"),
                short.count(f"{told}/peak", memory.peak, "estimated"),
            )


def operand_rows(program: Program, here: str) -> Iterator[tuple[Cell, ...]]:
    """One row for arrays that every compiler lays out alike; `here` stand the targets."""
    for role in ("arguments", "results"):
        found: dict[int, dict[str, Operand]] = {}
        for target, compiled in program.targets.items():
            for place, each in enumerate(getattr(compiled, role)):
                found.setdefault(place, {})[target] = each
        alike: dict[tuple[tuple[str, Operand], ...], list[int]] = {}
        for place, by_target in found.items():
            alike.setdefault(tuple(by_target.items()), []).append(place)
        for operands, places in alike.items():
            yield operand_row(dict(operands), len(places), role, here, places[0])


def operand_row(
    by_target: Mapping[str, Operand], times: int, role: str, here: str, place: int
) -> tuple[Cell, ...]:
    """An array that is there so many `times`, first at `place`."""

    def at(target: str) -> str:
        return f"{here}/{target}/{role}/{place}"

    target, first = next(iter(by_target.items()))
    tiled = {name: size for name, o in by_target.items() if (size := o.tiled_bytes) is not None}
    return (
        Cell(text=code(first.shape), note="" if role == "arguments" else "result"),
        shown(f"{times:,}"),
        short.count(f"{at(target)}/elements", first.elements, "computed"),
        short.count(f"{at(target)}/ideal_bytes", first.ideal_bytes, "computed"),
        short.tiled_cell(tiled, lambda target: f"{at(target)}/tiled_bytes")
        if tiled
        else shown("not told by the layout"),
    )


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
