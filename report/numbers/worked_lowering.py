"""What follows from a preflight: padding, conversions and how much fits, each with its formula."""

from fractions import Fraction

from report.numbers.lowering import BATCH_ONE, GENERATIONS, LESSON, NATIVE, Preflight
from report.numbers.workings import Workings

PADDED = ("fp32-default", "bf16", "int8", "int8-scaled", "int4")
"""Policies whose padding is worked out."""


def work_out_lowering(run: Preflight, note: Workings) -> None:
    """Write down `study#/lowering/<run>/…`; all of it rests on a compiler's word."""
    base = f"lowering/{run.name}"
    for id_, ledger in run.ledgers.items():
        if id_.rpartition("-")[0] not in PADDED or not id_.endswith((LESSON, BATCH_ONE)):
            continue
        for target in GENERATIONS:
            tiled = ledger.argument.get(target)
            if tiled is not None:
                note.derive(
                    f"{base}/padding/{id_}/{target}",
                    Fraction(tiled, ledger.ideal_bytes),
                    r"M_{\mathrm{tiled}} / M_{\mathrm{ideal}}",
                    f"{run.name}#/ledger/{id_}/totals/argument/{target}",
                    f"{run.name}#/ledger/{id_}/totals/ideal_bytes",
                    kind="estimated",
                )
    for format_ in NATIVE:
        row = run.matrix.get(format_)
        if row:
            note.derive(
                f"{base}/generations/{format_}",
                sum(schedule.multiplies(format_) for schedule in row.values()),
                rf"\text{{generations whose matrix instructions take {format_} as itself}}",
                *(f"{run.name}#/instructions/shapes/256x256x256/{format_}/{t}/level" for t in row),
                kind="estimated",
            )
    if run.schedules.get(BATCH_ONE, {}).get("int8"):
        row = run.schedules[BATCH_ONE]["int8"]
        note.derive(
            f"{base}/generations/idle_at_batch_one",
            sum(schedule.counts == {} for schedule in row.values()),
            r"\text{generations that use no matrix instruction at batch one}",
            *(f"{run.name}#/instructions/shapes/{BATCH_ONE}/int8/{t}/level" for t in row),
            kind="estimated",
        )
    for program in run.fits:
        _fits(run, program, base, note)


def _fits(run: Preflight, program: str, base: str, note: Workings) -> None:
    """The formula's bytes at the largest batch, and how far the compiler's peak lies above them."""
    study = run.fits[program]
    if study.formula_bytes_per_batch is None:
        return
    here = f"{run.name}#/fits/{program}"
    for target, fit in study.targets.items():
        peak = fit.memory.peak if fit.memory else None
        if fit.largest is None or peak is None:
            continue
        formula = note.derive(
            f"{base}/fits/{program}/{target}/formula",
            fit.largest * study.formula_bytes_per_batch,
            r"B\, M_{\mathrm{sequence}}",
            f"{here}/targets/{target}/largest",
            f"{here}/formula_cache_bytes_per_sequence",
            unit="B",
        )
        note.derive(
            f"{base}/fits/{program}/{target}/above_formula",
            peak - fit.largest * study.formula_bytes_per_batch,
            r"M_{\mathrm{peak}} - M_{\mathrm{formula}}",
            f"{here}/targets/{target}/memory_bytes/peak",
            formula,
            unit="B",
            kind="estimated",
        )
