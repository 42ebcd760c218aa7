"""The tables of a profile page. Each is bounded, and its title says of how many it shows which."""

from collections.abc import Mapping, Sequence

from report.exhibit import Cell, literal
from report.notation import render
from report.numbers.measures import NS_PER_S, measure
from report.numbers.profile import Operation, Plane, Profile, ProgramRun
from report.numbers.profile_compare import ProfileComparison
from report.numbers.qualification import identity
from report.numbers.values import anchor
from report.pages.exhibits import Context
from report.pages.profile_programs import ProgramText
from report.pages.prose import Galley
from report.pages.record_page import code, record_table, shown

STEPS, LANES, OPERATIONS, GAPS, PAIRS = 40, 40, 30, 15, 40
"""Rows of each table; the summary has the others."""

VIEWS: Mapping[str, str] = {
    "host": "host: dispatch and waiting",
    "steps": "steps",
    "modules": "programs",
    "ops": "operations",
    "async": "transfers under way",
    "stream": "kernels",
    "annotation": "annotations",
    "host-op": "operations on host threads",
    "python": "Python frames",
    "other": "other",
}
CATEGORIES: Mapping[str, str] = {
    "matrix": "matrix product",
    "collective": "collective",
    "copy": "copy",
    "transfer": "transfer",
    "compile": "compilation",
    "other": "other",
    "": "its name does not tell",
}
KINDS = {"between-steps": "between steps", "between-operations": "between operations"}


def planes(profile: Profile, galley: Galley) -> Context:
    """Every plane of every file, the empty ones too."""
    rows = [
        (
            code(plane.name),
            shown(plane.kind),
            shown(identity(plane) if plane.kind == "device" else "—"),
            shown(f"{plane.lines:,}"),
            shown(f"{plane.events:,}"),
            shown(f"{plane.zero_duration:,}"),
            _busy(profile, plane),
        )
        for plane in profile.planes
    ]
    return record_table(
        galley,
        "planes",
        f"All {len(profile.planes)} planes. A device that is not here was not captured.",
        columns="Plane|Kind|Device|>Lines|>Events|>Of no duration|>Busy, of its own span",
        rows=rows,
    )


def _busy(profile: Profile, plane: Plane) -> Cell:
    if plane.kind != "device":
        return shown("—")
    if not plane.events:
        return shown("no events", "measured")
    return _derived(profile, f"devices/{plane.id}/busy_share", "percent(1)")


def steps(profile: Profile, programs: Mapping[str, ProgramText], galley: Galley) -> Context:
    """The first steps of the capture; each leads to the program it ran."""
    several = {plane.host for plane in profile.planes if plane.kind == "host"}
    rows = []
    for step in profile.steps[:STEPS]:
        busy = [share.busy_ns for share in step.devices]
        first = [share.first_ns for share in step.devices]
        host = profile.plane(step.plane).host if len(several) > 1 else ""
        rows.append(
            (
                Cell(text=f"{'—' if step.number is None else step.number}", note=literal(host)),
                code(step.inner or step.name),
                _time(step.start_ns),
                Cell(
                    text=_seconds(step.duration_ns),
                    kind="measured",
                    note="" if step.complete else "may be cut by the end of the capture",
                ),
                _time(step.operations_busy_ns),
                _time(max(busy, default=None)),
                _time(min(first, default=None)),
                _program(step.programs, programs.get(step.inner)),
            )
        )
    return record_table(
        galley,
        "steps",
        f"{_of(len(rows), len(profile.steps))}. A step is an annotation on the host.",
        columns=(
            "Step|Inner name|>Starts|>Lasts|>Host operations|>Busiest device|>Until device work"
            "|Program"
        ),
        rows=rows,
        ids=[f"step-{at}" for at in range(len(rows))],
    )


def _program(ran: Sequence[ProgramRun], text: ProgramText | None) -> Cell:
    """The programs a step ran; a link where the record’s own text has the same name."""
    if not ran:
        return shown("not in the capture")
    names = ", ".join(dict.fromkeys(program.module or "unnamed" for program in ran))
    ids = ", ".join(program.program_id for program in ran if program.program_id)
    note = f"program {ids}" if ids else ""
    if text is None:
        return Cell(text=code(names).text, note=literal(note))
    if text.module not in {program.module for program in ran}:
        note = f"{note}; the record’s text is of {text.module}".removeprefix("; ")
        return Cell(text=code(names).text, note=literal(note))
    return Cell(text=literal(names), href=text.href, note=literal(note))


def lanes(profile: Profile, galley: Galley) -> Context:
    """Lines with the union of their events, and the sum that must not be taken for it."""
    found = [line for line in profile.lines if line.events]
    names = {plane.id: plane.name for plane in profile.planes}
    rows = [
        (
            Cell(text=code(names[line.plane]).text, note=literal(line.name)),
            shown(VIEWS[line.view]),
            shown(f"{line.events:,}"),
            _derived(profile, f"lines/{line.id.replace('/', '-')}/busy_s", "seconds(1)"),
            _derived(profile, f"lines/{line.id.replace('/', '-')}/busy_share", "percent(1)"),
            Cell(text=_seconds(line.sum_ns), kind="measured"),
            shown(f"{line.depth:,}"),
        )
        for line in found[:LANES]
    ]
    return record_table(
        galley,
        "lanes",
        f"{_of(len(rows), len(found))} with events. Busy is a union: no moment counts twice.",
        columns=(
            "Lane|Shows|>Events|>Busy|>Of its span|>Sum of durations, no time of its own|>Nested"
        ),
        rows=rows,
    )


def operations(profile: Profile, programs: Mapping[str, ProgramText], galley: Galley) -> Context:
    """The longest by their own time; each leads to its line of HLO where that is known."""
    whole = profile.work_ns
    ranked = sorted(profile.work, key=lambda op: -op.self_ns)
    rows = [
        (
            _operation(op, programs),
            Cell(text=code(op.module).text if op.module else literal("not in the capture")),
            _does(op, programs),
            shown(f"{op.count:,}"),
            _time(op.self_ns),
            shown(render(op.self_ns / whole, "percent(1)") if whole else "—", "measured"),
            _time(op.max_ns),
        )
        for op in ranked[:OPERATIONS]
    ]
    views = {op.view for op in ranked}
    left = sum(told.count for view, told in profile.operations_left_out.items() if view in views)
    return record_table(
        galley,
        "operations",
        f"{_of(len(rows), len(ranked) + left)}, by their own time, without what ran inside them.",
        columns="Operation|Program|Does|>Times|>Own time|>Of all operations|>Longest",
        rows=rows,
    )


def _text_of(op: Operation, programs: Mapping[str, ProgramText]) -> ProgramText | None:
    """A program of the record with this name that holds this operation."""
    name = op.hlo_op or op.name
    return next(
        (text for text in programs.values() if text.module == op.module and name in text.lines),
        None,
    )


def _operation(op: Operation, programs: Mapping[str, ProgramText]) -> Cell:
    text = _text_of(op, programs)
    if text is None:
        return code(op.name)
    return Cell(
        text=literal(op.name), href=text.href, note=literal(text.lines[op.hlo_op or op.name])
    )


def _does(op: Operation, programs: Mapping[str, ProgramText]) -> Cell:
    """What its name tells, and the matrix instructions that the same product is given."""
    words = CATEGORIES[op.category] + (", rematerialized" if op.rematerialized else "")
    text = _text_of(op, programs)
    if text is None or not text.instructions:
        return shown(words)
    return Cell(
        text=literal(words),
        href=text.instructions,
        note="how matrix units take this product, by the compilers’ schedules",
    )


def gaps(profile: Profile, galley: Galley) -> list[Context]:
    """The longest of each kind."""
    names = {plane.id: plane.name for plane in profile.planes}
    made = []
    for kind, words in KINDS.items():
        found = [gap for gap in profile.gaps if gap.kind == kind]
        total = profile.gap_totals.get(kind)
        if not found:
            continue
        rows = [
            (
                code(names[gap.plane]),
                _time(gap.start_ns),
                _time(gap.duration_ns),
                code(gap.after or "—"),
                code(gap.before or "—"),
                shown("—" if gap.step is None else f"{gap.step}"),
            )
            for gap in found[:GAPS]
        ]
        made.append(
            record_table(
                galley,
                f"gaps-{kind}",
                f"Gaps {words}: {_of(len(rows), total.count if total else len(found))}.",
                columns="Plane|>Starts|>Lasts|After|Before|>In step",
                rows=rows,
            )
        )
    return made


def compiles(profile: Profile, galley: Galley) -> Context | None:
    if not profile.compiles:
        return None
    said = {True: "inside the steps", False: "outside the steps", None: "no steps to tell by"}
    rows = [
        (
            code(found.name or "unnamed"),
            _time(found.start_ns),
            _time(found.duration_ns),
            shown(said[found.in_window]),
        )
        for found in profile.compiles[:GAPS]
    ]
    count = len(profile.compiles) + profile.compiles_left_out.count
    return record_table(
        galley,
        "compiles",
        f"Compilations: {_of(len(rows), count)}.",
        columns="Compilation|>Starts|>Lasts|Where",
        rows=rows,
    )


def differences(comparison: ProfileComparison, galley: Galley) -> Context | None:
    if not comparison.differences:
        return None
    one, two = comparison.names
    return record_table(
        galley,
        "differences",
        "All that differs between the two, besides time",
        columns=f"Field|Factor|{literal(one)}|{literal(two)}",
        rows=[
            (code(each.field), shown(each.factor), shown(each.one), shown(each.two))
            for each in comparison.differences
        ],
    )


def pairs(comparison: ProfileComparison, galley: Galley) -> Context | None:
    if not comparison.pairs:
        return None
    one, two = comparison.names
    rows = [
        (
            code(pair.step.label),
            _time(pair.step.duration_ns),
            _time(pair.other.duration_ns),
            shown("—" if pair.ratio is None else render(pair.ratio, "fixed(3)"), "measured"),
        )
        for pair in comparison.pairs[:PAIRS]
    ]
    return record_table(
        galley,
        "pairs",
        f"{_of(len(rows), len(comparison.pairs))} steps that both have, the first left out",
        columns=f"Step|>{literal(one)}|>{literal(two)}|>Ratio",
        rows=rows,
    )


def _derived(profile: Profile, path: str, spelling: str) -> Cell:
    """A derived number with a link to its working."""
    found = measure(profile)[path]
    if found.number is None:
        return Cell(text=literal("—"), note=literal(found.reason))
    pointer = f"study#/trace/{profile.name}/{path}"
    return Cell(
        text=literal(render(found.number, spelling)),
        kind="measured",
        href=f"workings.html#{anchor(pointer)}",
    )


def _time(ns: int | None) -> Cell:
    return shown("—") if ns is None else shown(_seconds(ns), "measured")


def _seconds(ns: int) -> str:
    return render(ns / NS_PER_S, "seconds(1)")


def _of(some: int, whole: int) -> str:
    return f"{some:,}" if some == whole else f"{some:,} of {whole:,}"
