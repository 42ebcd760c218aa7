"""The page of one sweep record: ceilings and points, what bends where, and every program."""

from collections.abc import Iterator, Sequence
from typing import Any

from markupsafe import Markup

from report.evidence import Evidence
from report.exhibit import code, literal
from report.notation import NBSP, prefixed
from report.numbers.placing import FLOOR_TIMES
from report.numbers.sweep import SweepRun, Timed
from report.numbers.worked_sweep import SLOWER, Curve, Row, SweepStudy, study_sweep
from report.pages.desk import Heading
from report.pages.exhibits import Context, table_context
from report.pages.press import Press
from report.pages.prose import Galley
from report.pages.record_page import Steps, common, flat, page_of, program_text

FIGURES = ("batch-sweep", "traffic-models")
"""On the page of the run that they were drawn from."""
TABLES = {
    "asked": ("asked",),
    "ceilings": ("ceilings", "floor", "caches"),
    "probe": ("streams", "squares"),
    "points": ("points",),
    "times": ("times",),
    "traffic": ("traffic",),
    "elsewhere": ("elsewhere",),
    "texts": ("texts",),
}
"""The record's tables by the part of the page that shows them."""

SECTIONS = {
    "words": "What bends where",
    "sweep": "The sweep",
    "ceilings": "Ceilings of this device",
    "traffic": "Bytes by three accounts",
    "elsewhere": "Other records under these ceilings",
    "request": "Request",
    "environment": "Environment",
    "programs": "Programs",
    "files": "Files and hashes",
}


def set_sweep(press: Press, evidence: Evidence, run: SweepRun, steps: Steps) -> None:
    """Set `records/<name>.html` of a sweep."""
    record = evidence.record
    study = study_sweep(run)
    page = page_of(
        evidence,
        steps,
        "sweep",
        description=(
            f"The record {record.name}: one product at growing batch, under the rates that its"
            " own device was seen to reach."
        ),
        deck=(
            f"One run of the lab {code(str(record.config['lab']))}, byte for byte as written: a"
            " product at growing batch, and a probe of what its device can do."
        ),
        facts=(
            ("Device", literal(run.device)),
            ("Processor", literal(run.machine.cpu_model)),
            ("Recorded", literal(run.recorded_at)),
            ("JAX", literal(run.setting.jax)),
        ),
    )
    galley = press.galley(page.path)
    shown = figures(press, run, galley)
    body: dict[str, Any] = {
        "request": list(flat(record.report["request"])),
        "words": [
            Markup(galley.inline(sentence, f"page {page.path}", lint=False))
            for sentence in in_words(study)
        ],
        "figures": shown,
        "parts": {
            part: [item for name in names for item in table(press, f"{run.name}-{name}", galley)]
            for part, names in TABLES.items()
        },
        "printed": [
            {
                "id": timed.id,
                "texts": [
                    program_text(name, artifact, record, page.path)
                    for name, artifact in (
                        ("StableHLO, as requested", timed.program.stablehlo),
                        ("Optimized HLO", timed.program.hlo),
                    )
                ],
            }
            for timed in printed(study)
        ],
    }
    galley.headings += [
        Heading(level=2, id=anchor, text=text)
        for anchor, text in SECTIONS.items()
        if anchor != "elsewhere" or body["parts"]["elsewhere"]
    ]
    press.set(page, galley, **body, **common(evidence, galley))


def figures(press: Press, run: SweepRun, galley: Galley) -> dict[str, Markup]:
    """The figures drawn from this run, where the site has them."""
    if press.study.featured(SweepRun) is not run:
        return {}
    there = [name for name in FIGURES if name in press.desk.exhibits.names("fig")]
    return {
        name: Markup(press.desk.exhibits.place("fig", name, number, galley))
        for number, name in enumerate(there, 1)
    }


def table(press: Press, name: str, galley: Galley) -> Iterator[Context]:
    if name in press.desk.exhibits.names("tab"):
        yield table_context(press.desk.exhibits.table(name), 0, galley)


def printed(study: SweepStudy) -> list[Timed]:
    """Neighbours of which the smaller batch is slower, since their texts say why; or the first."""
    pairs = [pair for curve in study.curves for pair in curve.reversals]
    chosen = [row.timed for pair in pairs for row in pair] or [study.rows[0].timed]
    return list(dict.fromkeys(chosen))


def in_words(study: SweepStudy) -> Iterator[str]:
    """What the numbers say, policy by policy, in sentences with their values."""
    yield _floor(study)
    yield _spread(study)
    for curve in study.curves:
        name = curve.policy.upper()
        yield f"**{name}.** {' '.join(_curve(study, curve))}"


def _floor(study: SweepStudy) -> str:
    rest = (
        f"{{value}}`{study.base}/unclaimed; integer` of {{value}}`{study.base}/points; integer` "
        "points are shorter and claim none."
        if study.unclaimed
        else "Every point of this sweep lasts that long."
    )
    return (
        f"**The floor.** A rate is claimed only from a call of at least {FLOOR_TIMES} empty calls, "
        f"{{value}}`{study.base}/claim_s; seconds(1)` here. {rest}"
    )


def _spread(study: SweepStudy) -> str:
    """How far medians lie above what the same call took at its fastest."""
    return (
        "**Medians.** Rates and bends are read from medians. The median of "
        f"{code(study.unsteadiest.timed.id)} is {{value}}`{study.base}/spread; ratio(2)` times "
        "its fastest call, and no point’s lies farther above. Ceilings are fastest calls, so a "
        "machine with other work to do shows lower shares."
    )


def _curve(study: SweepStudy, curve: Curve) -> Iterator[str]:
    if claimed := curve.claimed:
        first, last = claimed[0], claimed[-1]
        if first is last:
            yield f"One batch claims a rate, {_m(first)}: {_rate(study, first)}."
        else:
            yield (f"{_rate(study, first)} at {_m(first)} and {_rate(study, last)} at {_m(last)}.")
    else:
        yield "No batch claims a rate."
    yield _bend(curve)
    yield _ridge(curve)
    yield from _reversals(study.run, curve)
    yield from _above(study, curve)


def _rate(study: SweepStudy, row: Row) -> str:
    pointer = f"{study.base}/{row.timed.id}/per_s"
    return f"{{value}}`{pointer}; {prefixed(row.placed.per_s or 0.0, f'{row.timed.work}/s')}`"


def _bend(curve: Curve) -> str:
    """Where time begins to grow with the rows."""
    bend = curve.bend
    if bend is None:
        return "At no batch of the sweep does time begin to grow with the rows for good."
    if bend is curve.rows[0]:
        return "Time grows with the rows from the first batch on."
    return (
        f"From {_m(bend)} on, each doubling of the rows takes at least {SLOWER} times as "
        "long; the one before it takes less."
    )


def _ridge(curve: Curve) -> str:
    """Where the matrix rate takes over from the bytes, by the probe's ceilings."""
    ridge = curve.ridge
    if ridge is None:
        return "By its ceilings no batch leaves the slope."
    if ridge is curve.rows[0]:
        return "By its ceilings the matrix rate bounds every batch."
    return f"By its ceilings the matrix rate takes over from the bytes at {_m(ridge)}."


def _reversals(run: SweepRun, curve: Curve) -> Iterator[str]:
    """A smaller batch that takes longer, and what its compiled program does for it."""
    for before, after in curve.reversals:
        said = (
            f"The product at {_m(before)} takes longer than that at {_m(after)}: its fastest call "
            "is slower than the median there."
        )
        mine, other = before.timed.converted_weights, after.timed.converted_weights
        if mine and not other:
            kept = f"{run.name}#/results/{before.timed.id}/kept"
            count = f"{kept}/converts/{before.timed.converts.index(mine)}/elements"
            said += (
                f" Its optimized HLO first converts all {{value}}`{count}; integer` weights from "
                f"{literal(mine.source)} to {literal(mine.target)}; that at {_m(after)} "
                "does not."
            )
        else:
            said += " The two texts convert the same, so they do not say why."
        yield said


def _above(study: SweepStudy, curve: Curve) -> Iterator[str]:
    """Points above a ceiling, which are never clipped."""
    cached = [row for row in curve.rows if row.placed.verdict == "cached"]
    if cached and study.ceilings.cache_bytes:
        yield (
            f"Above the memory slope: {_batches(cached)}. All that they touch fits in the "
            f"last-level cache, {{value}}`{study.run.last_cache}; bytes`, so it need not come "
            "from memory."
        )
    over = [row for row in curve.rows if row.placed.verdict == "over"]
    if over:
        yield (
            f"Above every ceiling of the probe: {_batches(over)}. The probe did not reach there "
            "what this device can do, or a time is wrong."
        )


def _batches(rows: Sequence[Row]) -> str:
    return ", ".join(map(_m, rows))


def _m(row: Row) -> str:
    """Which batch, on one line."""
    return f"m{NBSP}={NBSP}{row.timed.m}"
