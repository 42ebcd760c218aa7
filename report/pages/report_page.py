"""The page of a decision report: six parts, what was decided, and what nobody recorded."""

import re
from dataclasses import replace
from typing import Any

from markupsafe import Markup

from report.content import DecisionReport
from report.errors import ContentFault, Fault, UsageFault
from report.exhibit import Cell, shown
from report.notation import render
from report.numbers.comparing import compare
from report.numbers.lowering import Preflight
from report.numbers.meters import Reading
from report.numbers.values import Values
from report.pages.anchors import NOUNS, Anchor, Anchors, relative
from report.pages.desk import Heading
from report.pages.exhibits import Context
from report.pages.press import Page, Press
from report.pages.prose import Galley
from report.pages.record_page import code, record_table
from report.pages.verdict import OUTCOMES, measured_of, superseded, verdict_of

PARTS = {
    "workload": "Workload",
    "hardware": "Hardware",
    "precision_policy": "Precision policy",
    "evidence": "Evidence",
    "interpretation": "Interpretation",
    "scope": "Scope",
}


def path_of(report: DecisionReport) -> str:
    return f"reports/{report.slug}.html"


def add_anchors(report: DecisionReport, figures: dict[str, Any], anchors: Anchors) -> None:
    """Number the figures that the report shows: those drawn from its record."""
    for number, name in enumerate(figures_of(report, figures), 1):
        anchors.add(
            Anchor(
                kind="fig",
                name=name,
                page=path_of(report),
                id=f"fig-{name}",
                label=f"{NOUNS['fig']} {number}",
                number=number,
            )
        )


def figures_of(report: DecisionReport, figures: dict[str, Any]) -> list[str]:
    folder = f"records/{report.record}/"
    return [
        name
        for name, figure in figures.items()
        if any(source.href.startswith(folder) for source in figure.sources)
    ]


def label(fact: str) -> str:
    """A fact's key as words: `jax_devices` is `JAX devices`."""
    words = fact.replace("_", " ")
    for name in ("jax", "kv"):
        words = re.sub(rf"\b{name}\b", name.upper(), words)
    return words[:1].upper() + words[1:]


def cited(press: Press, galley: Galley, report: DecisionReport) -> tuple[str, ...]:
    """The record that a report rests on, its baseline, and every other whose values it prints."""
    named = galley.cited | ({report.baseline.record} if report.baseline else set())
    return (report.record, *(name for name in press.evidence if name in named - {report.record}))


def comparison_of(press: Press, report: DecisionReport, galley: Galley) -> Context | None:
    """The record beside its baseline: every difference, and what may be credited to the factor.

    A factor that is the same in both, and one that an adopted decision rests on although more
    differs, contradict the report.
    """
    declared = report.baseline
    if declared is None:
        return None
    baseline = press.evidence.get(declared.record)
    if baseline is None:
        press.faults.append(
            Fault(
                where=f"{report.path} baseline.record",
                found=declared.record,
                expected=" or ".join(press.evidence),
            )
        )
        return None
    one, two = baseline.record, press.evidence[report.record].record
    try:
        found = compare(one, two, declared.factor)
    except UsageFault as fault:
        where = f"{report.path} baseline.factor"
        press.faults.append(Fault(where=where, found=declared.factor, remedy=fault.hint))
        return None
    if not found.changed or (report.decision.outcome == "adopt" and not found.credited):
        press.faults.append(
            Fault(
                where=f"{report.path} baseline.factor",
                found=found.verdict(),
                expected=f"records that differ in {declared.factor} and in nothing else",
                remedy="Measure again with one thing changed, or do not adopt on this comparison.",
            )
        )
    galley.headings.append(Heading(level=2, id="baseline", text="Beside its baseline"))
    rows = [
        (
            code(each.field),
            shown(each.factor),
            _field(press, one.name, each.field, each.one),
            _field(press, two.name, each.field, each.two),
        )
        for each in found.differences
    ]
    results = [
        (
            shown(each.name),
            *(_reading(press, side) for side in (each.one, each.two)),
            shown(each.words),
        )
        for each in found.results
    ]
    names = f"{one.name}|{two.name}"
    return {
        "factor": declared.factor,
        "baseline": one.name,
        "href": relative(f"records/{one.name}.html", galley.page),
        "credited": found.credited,
        "verdict": found.verdict(),
        "differ": f"{len(rows)} recorded {'field differs' if len(rows) == 1 else 'fields differ'}",
        "differences": record_table(
            galley, "differences", "Every difference", columns=f"Field|Factor|{names}", rows=rows
        ),
        "results": record_table(
            galley, "results", "What was measured", columns=f"Result|{names}|Note", rows=results
        ),
    }


def _field(press: Press, record: str, field: str, text: str) -> Cell:
    """A recorded field, which the page claims where it stands in the record just so."""
    part, _, path = field.partition("/")
    apart = part in ("environment", "config")
    pointer = f"{record}/{part}#/{path}" if apart else f"{record}#/{field}"
    try:
        value = press.study.values.lookup(pointer)
        spelling = "text" if isinstance(value.printable, str) else "full"
        if render(value.printable, spelling, reason=value.reason) == text:
            return Cell(text=text, kind=value.kind, pointer=pointer, format=spelling)
    except ContentFault:
        pass
    return shown(text)


def _reading(press: Press, read: Reading) -> Cell:
    """What a record says, which the page claims where it stands in the record just so."""
    if not read.pointer:
        return shown(read.text)
    kind = press.study.values.lookup(read.pointer).kind
    return Cell(text=read.text, kind=kind, pointer=read.pointer, format=read.format)


def foreign(values: Values, report: DecisionReport, pointer: str, key: str) -> list[Fault]:
    """A fault when the value that `key` cites does not come from the report's own record.

    So it must be for the target and for the machine; evidence may cite any record.
    """
    records = values.records_of(pointer)
    if report.record in records:
        return []
    return [
        Fault(
            where=f"{report.path} {key}",
            found=f"{pointer}, of {' and '.join(sorted(records)) or 'no record'}",
            expected=f"a value of {report.record}, the record that the report rests on",
            remedy="Point into that record, or name under record the one that is meant.",
        )
    ]


def of_metric(values: Values, report: DecisionReport) -> list[Fault]:
    """What keeps the target's metric from being a measurement of the report's own record."""
    where, metric = f"{report.path} target.metric", report.target.metric
    try:
        kind = values.lookup(metric).kind
    except ContentFault as error:
        return [Fault(where=where, found=error.summary, remedy=error.hint)]
    faults = foreign(values, report, metric, "target.metric")
    if kind == "estimated":
        expected = "what was measured, or worked out from it"
        faults.append(
            Fault(where=where, found=f"{metric}, a compiler’s estimate", expected=expected)
        )
    return faults


def set_report(press: Press, report: DecisionReport, figures: dict[str, Any]) -> None:
    """Set `reports/<slug>.html`, or add a fault when the report contradicts its evidence."""
    evidence = press.evidence.get(report.record)
    if evidence is None:
        press.faults.append(
            Fault(
                where=f"{report.path} record",
                found=f"no record is called {report.record!r}",
                expected=" or ".join(press.evidence) or "a recorded run",
            )
        )
        return
    run = press.study.runs[report.record]
    if isinstance(run, Preflight):
        press.faults.append(
            Fault(
                where=f"{report.path} record",
                found=f"{report.record}, in which a compiler spoke and nothing was run",
                expected="a record of measurements; cite a compiler’s facts in the evidence",
            )
        )
        return
    page = Page(
        path=path_of(report),
        kind="report",
        title=report.title,
        description=f"Decision report {report.number}: {report.title}.",
        eyebrow=f"Decision report {report.number} · {report.date.isoformat()}",
        facts=(
            ("Outcome", OUTCOMES[report.decision.outcome]),
            ("Status", report.status.capitalize()),
            ("Evidence", f"[{report.record}](../records/{report.record}.html)"),
            ("Manifest", f"sha256 `{evidence.record.manifest_sha256[:12]}`"),
            *superseded(report),
        ),
        records=(report.record,),
        contents=True,
        steps=(("back", "Record", f"records/{report.record}.html", report.record),),
    )
    galley = press.galley(page.path)
    values = press.study.values
    press.faults += of_metric(values, report)
    press.faults += report.contradictions(
        measured=measured_of(press, report), platform=run.scope.platform
    )

    def text(markdown: str, key: str) -> Markup:
        first = len(galley.claims)
        html = galley.text(markdown.strip(), f"{report.path} {key}")
        if key.startswith("hardware."):
            for claim in galley.claims[first:]:
                if values.records_of(claim.pointer):
                    press.faults += foreign(values, report, claim.pointer, key)
        return Markup(html)

    galley.headings.append(Heading(level=2, id="decision", text="Decision"))
    verdict = verdict_of(press, report, galley)
    parts = []
    for number, (part, facts) in enumerate(report.parts.items(), 1):
        galley.headings.append(Heading(level=2, id=part, text=f"{number} {PARTS[part]}"))
        parts.append(
            {
                "id": part,
                "number": number,
                "name": PARTS[part],
                "facts": [
                    {
                        "name": label(fact),
                        "text": text(answer, f"{part}.{fact}") if answer else "",
                    }
                    for fact, answer in facts.items()
                ],
                "figures": [
                    Markup(
                        press.desk.exhibits.place(
                            "fig",
                            name,
                            press.desk.anchors.find(f"fig:{name}", page.path).number,
                            galley,
                        )
                    )
                    for name in figures_of(report, figures)
                ]
                if part == "evidence"
                else [],
            }
        )
    record = evidence.record
    against = comparison_of(press, report, galley)
    galley.headings.append(Heading(level=2, id="basis", text="What this report stands on"))
    press.set(
        replace(page, records=cited(press, galley, report)),
        galley,
        against=against,
        status=report.status,
        missing=[name.replace("_", " ").replace(".", ": ", 1) for name in report.missing],
        verdict=verdict,
        supersedes=report.supersedes,
        parts=parts,
        number=report.number,
        date=report.date.isoformat(),
        digest=report.sha256,
        record={
            "name": record.name,
            "href": relative(f"records/{record.name}.html", page.path),
            "sha256": record.manifest_sha256,
            "level": evidence.level,
        },
    )
