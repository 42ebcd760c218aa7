"""What follows from a preflight: padding, conversions and how much fits, each with its formula."""

from collections.abc import Iterator
from fractions import Fraction

from report.numbers.ceilings import instructions_at
from report.numbers.lowering import (
    BATCH_ONE,
    GENERATIONS,
    LESSON,
    NATIVE,
    SQUARE,
    Ledger,
    Preflight,
    Program,
)
from report.numbers.padding import SIDES, Point, jump, points, worst
from report.numbers.workings import Workings

PADDED = ("fp32-default", "bf16", "int8", "int8-scaled", "int4")
"""Policies whose padding is worked out."""


def work_out_lowering(run: Preflight, note: Workings) -> None:
    """Write down `study#/lowering/<run>/…`; all of it rests on a compiler's word."""
    _padding(run, note)
    _staircase(run, note)
    _generations(run, note)
    _operands(run, note)
    for program in run.fits:
        _fits(run, program, note)


def elements_at(run: Preflight, ledger: Ledger) -> str:
    """Where the elements of all operands stand: once for all products that have as many."""
    same = (each for each in run.ledgers.values() if _elements(each) == _elements(ledger))
    return f"study#/{_base(run)}/elements/{next(same).id}"


def packed_at(run: Preflight, group: str, program: Program, target: str) -> str:
    """Where the packed bytes of all arguments stand: once for all targets that have the same."""
    compiled = program.targets
    same = (at for at in compiled if compiled[at].arguments == compiled[target].arguments)
    return f"study#/{_base(run)}/packed/{group}/{program.id}/{next(same)}"


def _base(run: Preflight) -> str:
    return f"lowering/{run.name}"


def _padding(run: Preflight, note: Workings) -> None:
    """How many times its packed bytes a product takes, for each generation."""
    for id_, ledger in run.ledgers.items():
        if id_.rpartition("-")[0] not in PADDED or not id_.endswith((LESSON, BATCH_ONE)):
            continue
        for target in GENERATIONS:
            tiled = ledger.argument.get(target)
            if tiled is not None:
                note.derive(
                    f"{_base(run)}/padding/{id_}/{target}",
                    Fraction(tiled, ledger.ideal_bytes),
                    r"M_{\mathrm{tiled}} / M_{\mathrm{ideal}}",
                    f"{run.name}#/ledger/{id_}/totals/argument/{target}",
                    f"{run.name}#/ledger/{id_}/totals/ideal_bytes",
                    kind="estimated",
                )


def _staircase(run: Preflight, note: Workings) -> None:
    """The step that is told of, and the most padding there is."""
    found = points(run)
    if step := jump(found):
        before, after = step
        note.derive(
            f"{_base(run)}/staircase/jump",
            Fraction(after.tiled, before.tiled),
            r"M_{\mathrm{after}} / M_{\mathrm{before}}",
            after.tiled_at,
            before.tiled_at,
            kind="estimated",
        )
    if most := worst(found):
        sides = r"\, ".join(SIDES[most.dimension][1])
        note.derive(
            f"{_base(run)}/staircase/worst",
            most.padding,
            rf"M_{{\mathrm{{tiled}}}} / ({most.bits}\, {sides} / 8)",
            most.tiled_at,
            *_lengths(run, most),
            kind="estimated",
        )


def _lengths(run: Preflight, point: Point) -> Iterator[str]:
    """Where the lengths of an operand's sides stand."""
    for side in SIDES[point.dimension][1]:
        base = f"{run.name}#/staircase/base/{'mkn'.index(side)}"
        yield point.size_at if side == point.dimension else base


def _generations(run: Preflight, note: Workings) -> None:
    """How many there are, and how many do this or that."""
    base = f"{_base(run)}/generations"
    if run.generations:
        note.derive(
            f"{base}/recorded",
            len(run.generations),
            r"\text{generations that were compiled for}",
            *(f"{run.name}#/targets/{target}/generation" for target in run.generations),
        )
    for format_ in NATIVE:
        if row := run.matrix.get(format_):
            note.derive(
                f"{base}/{format_}",
                sum(schedule.multiplies(format_) for schedule in row.values()),
                rf"\text{{generations whose matrix instructions take {format_} as itself}}",
                *(f"{instructions_at(run, SQUARE, format_, target)}/level" for target in row),
                kind="estimated",
            )
    if row := run.schedules.get(BATCH_ONE, {}).get("int8"):
        note.derive(
            f"{base}/idle_at_batch_one",
            sum(schedule.counts == {} for schedule in row.values()),
            r"\text{generations that use no matrix instruction at batch one}",
            *(f"{instructions_at(run, BATCH_ONE, 'int8', target)}/level" for target in row),
            kind="estimated",
        )


def _operands(run: Preflight, note: Workings) -> None:
    """Sums over all operands of a product, and over all arguments of a program by reference."""
    for ledger in run.ledgers.values():
        if (pointer := elements_at(run, ledger)) not in note.values:
            note.derive(
                pointer.removeprefix("study#/"),
                ledger.elements,
                r"\sum_i N_i",
                *(
                    f"{run.name}#/ledger/{ledger.id}/operands/{row.operand}/elements"
                    for row in ledger.operands
                ),
            )
    for group, programs in (("programs", run.programs), ("steps", run.steps)):
        for program in (each for each in programs.values() if not each.shape):
            for target, compiled in program.targets.items():
                pointer = packed_at(run, group, program, target)
                if compiled.packed_bytes is not None and pointer not in note.values:
                    here = f"{run.name}#/{group}/{program.id}/targets/{target}/arguments"
                    note.derive(
                        pointer.removeprefix("study#/"),
                        compiled.packed_bytes,
                        r"\sum_i M_i",
                        *(f"{here}/{at}/ideal_bytes" for at in range(len(compiled.arguments))),
                        unit="B",
                    )


def _elements(ledger: Ledger) -> list[int]:
    return [row.elements for row in ledger.operands]


def _fits(run: Preflight, program: str, note: Workings) -> None:
    """The formula's bytes at the largest batch, and how far the compiler's peak lies above them."""
    study = run.fits[program]
    here, base = f"{run.name}#/fits/{program}", f"{_base(run)}/fits/{program}"
    for target, fit in study.targets.items():
        count, peak = study.formula_bytes(target), fit.memory.peak if fit.memory else None
        if count is None:
            continue
        formula = note.derive(
            f"{base}/{target}/formula",
            count,
            r"B\, M_{\mathrm{sequence}}",
            f"{here}/targets/{target}/largest",
            f"{here}/formula_cache_bytes_per_sequence",
            unit="B",
        )
        if peak is None:
            continue
        peak_at = f"{here}/targets/{target}/memory_bytes/peak"
        note.derive(
            f"{base}/{target}/above_formula",
            peak - count,
            r"M_{\mathrm{peak}} - M_{\mathrm{formula}}",
            peak_at,
            formula,
            unit="B",
            kind="estimated",
        )
        if count:
            note.derive(
                f"{base}/{target}/over_formula",
                Fraction(peak, count),
                r"M_{\mathrm{peak}} / M_{\mathrm{formula}}",
                peak_at,
                formula,
                kind="estimated",
            )
