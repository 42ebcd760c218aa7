"""The page of one preflight record: what compilers were asked, and all that they answered."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from report.evidence import Evidence
from report.exhibit import code, literal
from report.numbers.lowering import BATCH_ONE, LESSON, SQUARE, Preflight
from report.pages.desk import Heading
from report.pages.exhibits import Context, table_context
from report.pages.press import Press
from report.pages.prose import Galley
from report.pages.record_page import Steps, common, flat, page_of, program_text

PRINTED = (f"int8-{LESSON}", f"int8-scaled-{BATCH_ONE}")
"""Programs whose texts for one target are printed on the page; others are a click away."""
PRINTED_TARGET = "v5e"
OPEN = f"instructions-{SQUARE}"
"""The table of matrix instructions that other pages lead to; the others begin folded."""

SECTIONS = {
    "request": "Request",
    "targets": "Compiler and targets",
    "environment": "Environment",
    "instructions": "Matrix instructions",
    "programs": "Requested and got",
    "ledger": "Byte ledger",
    "fits": "What fits",
    "texts": "Texts",
    "files": "Files and hashes",
}


def set_compiled(press: Press, evidence: Evidence, run: Preflight, steps: Steps) -> None:
    """Set `records/<name>.html` of a preflight."""
    record = evidence.record
    page = page_of(
        evidence,
        steps,
        "compiled",
        description=f"The record {record.name}: programs as compilers take them, with nothing run.",
        deck=(
            f"One run of the lab {code(str(record.config['lab']))}, byte for byte as written: what "
            "compilers made of programs for targets that were not there."
        ),
        facts=(
            ("Targets", literal(", ".join(run.targets) or "the CPU")),
            ("Compiler", literal(f"libtpu {run.compiler}" if run.compiler else "XLA, for the CPU")),
            ("Recorded", literal(run.recorded_at)),
            ("JAX", literal(run.jax)),
        ),
    )
    galley = press.galley(page.path)
    compiler = {key: value for key, value in record.report["compiler"].items() if key != "libtpu"}
    body: dict[str, Any] = {
        "request": list(flat(record.report["request"])),
        "policies": tables(press, run, "policies", galley),
        "compiler": [
            ("TPU compiler", f"libtpu {run.compiler}" if run.compiler else "none was needed"),
            *flat(compiler),
        ],
        "targets": tables(press, run, "targets", galley),
        "note": str(record.report.get("instructions", {}).get("note", "")),
        "families": list(run.families.items()),
        "instructions": opened(tables(press, run, "instructions-", galley)),
        "lowered": tables(press, run, "got-", galley),
        "refusals": list(refusals(run)),
        "ledgers": [
            *tables(press, run, "ledger-", galley),
            *tables(press, run, "memory-", galley),
        ],
        "fits": tables(press, run, "fits-", galley),
        "printed": list(printed(run, evidence, page.path)),
        "texts": tables(press, run, "texts", galley),
    }
    absent = {
        name
        for name, part in (
            ("instructions", "instructions"),
            ("ledger", "ledgers"),
            ("fits", "fits"),
        )
        if not body[part]
    }
    galley.headings += [
        Heading(level=2, id=anchor, text=text)
        for anchor, text in SECTIONS.items()
        if anchor not in absent
    ]
    press.set(page, galley, **body, **common(evidence, galley))


def tables(press: Press, run: Preflight, prefix: str, galley: Galley) -> list[Context]:
    """The record's tables whose names begin so, each with a place for links to it."""
    found = []
    for name in press.desk.exhibits.names("tab"):
        part = name.removeprefix(f"{run.name}-")
        if part != name and part.startswith(prefix):
            context = table_context(press.desk.exhibits.table(name), 0, galley)
            found.append({"place": part, "title": context["plain_title"], "table": context})
    return found


def opened(found: Sequence[Context]) -> list[Context]:
    """Tables that begin folded, save the one that is led to, or the first."""
    shown = next((item for item in found if item["place"] == OPEN), found[0]) if found else None
    return [{**item, "open": item is shown} for item in found]


def refusals(run: Preflight) -> Iterator[Mapping[str, str]]:
    """Every refusal once, with the targets that gave it."""
    for program in (*run.programs.values(), *run.steps.values()):
        said: dict[tuple[str, str], list[str]] = {}
        for target, compiled in program.targets.items():
            if compiled.refusal is not None:
                cut = " …" if compiled.refusal.cut else ""
                message = (compiled.refusal.message or "without a word") + cut
                said.setdefault((compiled.status, message), []).append(target)
        for (status, message), on in said.items():
            yield {
                "program": program.id,
                "targets": ", ".join(on),
                "status": status,
                "message": message,
            }


def printed(run: Preflight, evidence: Evidence, page: str) -> Iterator[Context]:
    """A few texts in full: what was requested, and what one compiler made of it."""
    chosen = [run.programs[id_] for id_ in PRINTED if id_ in run.programs]
    for program in chosen or list(run.programs.values())[:1]:
        target = (
            PRINTED_TARGET if PRINTED_TARGET in program.targets else next(iter(program.targets), "")
        )
        if not target:
            continue
        compiled = program.targets[target]
        artifacts = {
            "StableHLO, as requested": compiled.stablehlo,
            f"Optimized HLO for {target}": compiled.hlo,
        }
        yield {
            "id": program.id,
            "texts": [
                program_text(name, artifact, evidence.record, page)
                for name, artifact in artifacts.items()
                if artifact
            ],
        }
