"""The page of one timing run: what may be said of each time, and every reason why not more."""

from collections.abc import Iterator, Mapping
from typing import Any

from markupsafe import Markup

from report.evidence import Evidence
from report.exhibit import Figure, code, literal
from report.numbers.study import Study
from report.numbers.timing import FLOORS_ABOVE, TimingRun
from report.pages.anchors import NOUNS, Anchor, Anchors
from report.pages.desk import Heading
from report.pages.exhibits import Context, table_context
from report.pages.press import Press
from report.pages.prose import Galley
from report.pages.record_page import Steps, common, flat, page_of, program_text

FIGURES = ("timing-verdicts", "sample-strips")
"""Drawn from the featured run, and shown on its page in this order."""

SECTIONS = {
    "request": "Request",
    "verdicts": "What may be said",
    "programs": "Programs",
    "samples": "Samples and processes",
    "floor": "The floor",
    "environment": "Environment",
    "texts": "Texts",
    "files": "Files and hashes",
}


def path_of(run: TimingRun) -> str:
    return f"records/{run.name}.html"


def add_timing_anchors(study: Study, figures: Mapping[str, Figure], anchors: Anchors) -> None:
    """Number the figures on the page of the run that they are drawn from."""
    run = study.featured(TimingRun)
    if run is None:
        return
    for number, name in enumerate((name for name in FIGURES if name in figures), 1):
        anchors.add(
            Anchor(
                kind="fig",
                name=name,
                page=path_of(run),
                id=f"fig-{name}",
                label=f"{NOUNS['fig']} {number}",
                number=number,
            )
        )


def set_timing(press: Press, evidence: Evidence, run: TimingRun, steps: Steps) -> None:
    """Set `records/<name>.html` of a timing run."""
    record = evidence.record
    page = page_of(
        evidence,
        steps,
        "timing",
        description=f"The recorded run {run.name}: how long three products take, and how surely.",
        deck=(
            f"One run of the lab {code(str(record.config['lab']))}, byte for byte as written: each "
            "program timed beside its own twin, in several processes, with what may be claimed."
        ),
        facts=(
            ("Device", literal(run.setting.device_kind)),
            ("Processes", f"{len(run.processes)}, {run.request.steps:,} samples each"),
            ("Dispatch", {"sync": "synchronous", "async": "asynchronous"}[run.request.dispatch]),
            ("Recorded", literal(run.recorded_at)),
            ("JAX", literal(run.setting.jax)),
        ),
    )
    galley = press.galley(page.path)
    galley.headings += [Heading(level=2, id=anchor, text=text) for anchor, text in SECTIONS.items()]
    shown = press.study.featured(TimingRun)
    own = shown is not None and shown.name == run.name
    figures = [name for name in FIGURES if own and name in press.desk.exhibits.names("fig")]
    tables = {
        part: table_context(press.desk.exhibits.table(f"{run.name}-{part}"), 0, galley)
        for part in ("verdicts", "programs", "processes", "floor", "series")
    }
    press.set(
        page,
        galley,
        request=list(flat(record.report["request"])),
        inputs=list(flat(record.report["inputs"])),
        figures={name: _figure(press, name, galley) for name in figures},
        tables=tables,
        floors=FLOORS_ABOVE,
        accuracy=run.accuracy,
        accuracy_page=f"{run.accuracy}.html" if run.accuracy in press.evidence else None,
        spread=_spread(run, galley),
        texts=list(_texts(run, evidence, page.path)),
        **common(evidence, galley),
    )


def _spread(run: TimingRun, galley: Galley) -> Markup:
    """By how much the medians of processes differ, in the program where that is most."""
    pointer = f"study#/timing/{run.name}/programs/{run.widest}/spread"
    return Markup(galley.inline(f"{{value}}`{pointer}; percent(1)`", f"page {galley.page}"))


def _figure(press: Press, name: str, galley: Galley) -> Markup:
    number = press.desk.anchors.find(f"fig:{name}", galley.page).number
    return Markup(press.desk.exhibits.place("fig", name, number, galley))


def _texts(run: TimingRun, evidence: Evidence, page: str) -> Iterator[Context]:
    """Each program as requested and as compiled."""
    for policy, program in run.programs.items():
        texts: Mapping[str, Any] = {
            "StableHLO, as requested": program.stablehlo,
            "Optimized HLO": program.hlo,
        }
        yield {
            "id": policy,
            "texts": [
                program_text(name, artifact, evidence.record, page)
                for name, artifact in texts.items()
            ],
        }
