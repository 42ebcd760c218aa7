"""The page of one representations run: every policy on every case, and each error's parts."""

from collections.abc import Iterator
from typing import Any

from markupsafe import Markup

from report.evidence import Evidence
from report.exhibit import Cell, code, literal, valued
from report.exhibit import shown as shown_cell
from report.notation import render
from report.numbers.representations import CASE_NAMES, RepresentationsRun
from report.numbers.run import Artifact
from report.pages.desk import Heading
from report.pages.exhibits import Context, table_context
from report.pages.press import Press
from report.pages.prose import Galley
from report.pages.record_page import Steps, common, flat, page_of, record_table
from report.pages.record_page import code as code_cell

FIGURES = ("outlier-repair", "error-anatomy", "bound-ratios")
"""Drawn of the featured run; they stand on its page."""

SECTIONS = {
    "request": "Request",
    "environment": "Environment",
    "inputs": "Inputs",
    "results": "Every representation, the same inputs",
    "anatomy": "What each error is made of",
    "bounds": "Bounds, worked out before anything ran",
    "counters": "What became of the values",
    "policies": "Policies",
    "programs": "Programs and refusals",
    "files": "Files and hashes",
}


def set_representations(
    press: Press,
    evidence: Evidence,
    run: RepresentationsRun,
    steps: Steps,
) -> None:
    """Set `records/<name>.html` of a representations run."""
    record = evidence.record
    page = page_of(
        evidence,
        steps,
        "representations",
        description=(
            f"The record {record.name}: one product under {len(run.policies)} precision policies,"
            " with the parts and the bound of every error."
        ),
        deck=(
            f"One run of the lab {code(str(record.config['lab']))}, byte for byte as written: one "
            "product under every policy, each error’s parts, and how far it could have gone."
        ),
        facts=(
            ("Device", literal(run.device)),
            ("Recorded", literal(run.recorded_at)),
            ("JAX", literal(run.setting.jax)),
            ("Policies", f"{len(run.policies)}, on {len(run.cases)} cases"),
        ),
    )
    galley = press.galley(page.path)
    galley.headings += [Heading(level=2, id=anchor, text=text) for anchor, text in SECTIONS.items()]
    body: dict[str, Any] = {
        "request": list(flat(record.report["request"])),
        "inputs": inputs(run, galley),
        "verdicts": verdicts(run),
        "errors": one(press, run, "errors", galley),
        "bytes": one(press, run, "bytes", galley),
        "anatomy": by_case(press, run, "anatomy", galley),
        "bounds": by_case(press, run, "bound", galley),
        "counters": by_case(press, run, "counters", galley),
        "ranges": one(press, run, "ranges", galley),
        "range_words": list(range_words(run)),
        "policies": [one(press, run, name, galley) for name in ("policies", "settings")],
        "figures": figures(press, run, galley),
        "requested": requested(run, galley),
        "refusals": list(refusals(run)),
        "texts": texts(run, galley),
    }
    press.set(page, galley, **body, **common(evidence, galley))


def one(press: Press, run: RepresentationsRun, part: str, galley: Galley) -> Context:
    """One of the record's tables."""
    return table_context(press.desk.exhibits.table(f"{run.name}-{part}"), 0, galley)


def by_case(
    press: Press, run: RepresentationsRun, part: str, galley: Galley
) -> list[dict[str, Any]]:
    """A table for each case, the outlier's open since the lesson speaks of it."""
    return [
        {
            "title": CASE_NAMES[case],
            "open": case == "outlier",
            "table": one(press, run, f"{part}-{case}", galley),
        }
        for case in run.cases
    ]


def figures(press: Press, run: RepresentationsRun, galley: Galley) -> dict[str, Markup]:
    """The figures that are drawn of this run, numbered as they stand."""
    if press.study.featured(RepresentationsRun) != run:
        return {}
    there = [name for name in FIGURES if name in press.desk.exhibits.names("fig")]
    return {
        name: Markup(press.desk.exhibits.place("fig", name, number, galley))
        for number, name in enumerate(there, 1)
    }


def inputs(run: RepresentationsRun, galley: Galley) -> Context:
    rows = [
        (
            shown_cell(CASE_NAMES[case.name]),
            shown_cell(case.description),
            code_cell(case.sha256),
            valued(f"{run.name}#/reference/{case.name}/norm", case.norm, "fixed(3)", "computed"),
        )
        for case in run.cases.values()
    ]
    return record_table(
        galley,
        "inputs",
        "Operands, and the norm that every error is divided by",
        columns="Case|What it holds|SHA-256 of X, then W|>Norm of the FP64 product",
        rows=rows,
    )


def verdicts(run: RepresentationsRun) -> list[str]:
    """The whole run in sentences that count."""
    results = list(run.results.values())
    measured = [each for each in results if each.status == "measured"]
    reference = [each for each in results if each.status == "reference"]
    refused = [each for each in results if each.status == "refused"]
    told = [
        f"{len(measured)} of {len(results)} results come from a program that ran on {run.device}."
    ]
    if reference:
        names = ", ".join(dict.fromkeys(run.policies[each.policy].short for each in reference))
        told.append(
            f"{len(reference)} have no program, since this compiler refused it ({names}): their"
            " codes were multiplied on the host instead, so nothing about them is measured."
        )
    if refused:
        names = ", ".join(dict.fromkeys(run.policies[each.policy].short for each in refused))
        told.append(
            f"{len(refused)} were refused before anything was multiplied ({names}); the tables say"
            " why."
        )
    held = [each.found.certificate for each in measured if each.found and each.found.certificate]
    outputs = sum(each.outputs for each in held)
    broken = sum(each.exceeded for each in held)
    if held:
        told.append(
            f"All {outputs:,} outputs that have a bound stay within it."
            if not broken
            else f"{broken:,} of {outputs:,} outputs break their bound: some program is wrong."
        )
    return told


def range_words(run: RepresentationsRun) -> Iterator[str]:
    """A warning for each policy whose sums float32 cannot hold exactly."""
    past: dict[str, list[str]] = {}
    for result in run.results.values():
        found = result.found.integers if result.found else None
        if found and not found.float32_exact:
            past.setdefault(run.policies[result.policy].short, []).append(CASE_NAMES[result.case])
    for policy, cases in past.items():
        yield (
            f"{policy}: a sum passes 16,777,216 ({', '.join(cases)}), the last whole number up to"
            " which float32 holds all; converting it rounds, and the bound allows for that."
        )


def requested(run: RepresentationsRun, galley: Galley) -> Context:
    rows = []
    for name, program in run.programs.items():
        memory = program.memory
        rows.append(
            (
                shown_cell(run.policies[name].short),
                shown_cell(f"{program.x} × {program.w}"),
                shown_cell(program.accumulator),
                shown_cell(STATUS_WORDS[program.status]),
                *(
                    shown_cell(render(size, "bytes", reason="this compiler does not tell"))
                    if memory
                    else shown_cell("–")
                    for size in ((memory.argument, memory.temporary) if memory else (None, None))
                ),
            )
        )
    return record_table(
        galley,
        "requested",
        "Arithmetic as requested, and whether this compiler took it",
        columns="Operands|X × W|Accumulator|Here|>Arguments|>Temporary",
        rows=rows,
        ids=[f"program-{name}" for name in run.programs],
    )


STATUS_WORDS = {
    "compiled": "compiled",
    "refused": "refused by the compiler",
    "none": "no case allowed it",
}


def refusals(run: RepresentationsRun) -> Iterator[dict[str, str]]:
    """What the compiler said to each policy that it did not take."""
    for name, program in run.programs.items():
        if program.message:
            yield {
                "policy": run.policies[name].short,
                "status": STATUS_WORDS[program.status],
                "message": program.message,
            }


def texts(run: RepresentationsRun, galley: Galley) -> Context:
    """Where each text lies, once, with the policies that share it: too many to print them all."""
    shared: dict[tuple[Artifact, Artifact], list[str]] = {}
    for name, program in run.programs.items():
        if program.stablehlo and program.hlo:
            shared.setdefault((program.stablehlo, program.hlo), []).append(run.policies[name].short)
    return record_table(
        galley,
        "texts",
        "Texts of the programs, each once",
        columns="Operands|StableHLO, as requested|Optimized HLO",
        rows=[
            (
                shown_cell("; ".join(names)),
                *(
                    Cell(
                        text=code(artifact.path.rpartition("/")[2]),
                        note=code(artifact.sha256[:12]),
                        href=f"records/{run.name}/{artifact.path}",
                    )
                    for artifact in pair
                ),
            )
            for pair, names in shared.items()
        ],
    )
