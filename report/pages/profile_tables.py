"""The tables of a profile page. Each is bounded, and its title says of how many it shows which."""

from collections.abc import Callable, Mapping, Sequence

from report.exhibit import Cell, literal, shown, valued
from report.numbers.measures import LONGEST, NS_PER_S, Measure
from report.numbers.profile import (
    Operation,
    Plane,
    Profile,
    ProgramRun,
    Span,
    Step,
    shortened,
)
from report.numbers.profile_compare import ProfileComparison
from report.numbers.qualification import identity
from report.numbers.values import anchor
from report.numbers.worked_trace import PAIRS
from report.pages.exhibits import Context
from report.pages.profile_programs import HloLine, ProgramText
from report.pages.prose import Galley
from report.pages.record_page import code, record_table

Measures = Mapping[str, Measure]

STEPS, LANES, OPERATIONS, GAPS = 40, 24, LONGEST, 12
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


def planes(profile: Profile, measures: Measures, galley: Galley) -> Context:
    """Every plane of every file, the empty ones too."""
    rows = [
        (
            code(plane.name),
            shown(plane.kind),
            shown(identity(plane) if plane.kind == "device" else "—"),
            shown(f"{plane.lines:,}"),
            shown(f"{plane.events:,}"),
            shown(f"{plane.zero_duration:,}"),
            _busy(profile, measures, plane),
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


def _busy(profile: Profile, measures: Measures, plane: Plane) -> Cell:
    if plane.kind != "device":
        return shown("—")
    if not plane.events:
        return shown("no events", "measured")
    return _derived(profile, measures, f"devices/{plane.id}/busy_share", "percent(1)")


def steps(profile: Profile, programs: Mapping[str, ProgramText], galley: Galley) -> Context:
    """The first steps of the capture; each leads to the program it ran."""
    several = len({plane.host for plane in profile.planes if plane.kind == "host"}) > 1
    at = f"{profile.name}/trace#/steps"
    columns: list[tuple[str, Callable[[int, Step], Cell], bool]] = [
        (
            "Step",
            lambda _, step: _number(step, profile.plane(step.plane).host if several else ""),
            True,
        ),
        ("Inner name", lambda _, step: code(step.inner or step.name), True),
        (">Starts", lambda nth, step: _start(f"{at}/{nth}", step), True),
        (">Lasts", lambda nth, step: _lasts(f"{at}/{nth}", step), True),
        (
            ">Host operations",
            lambda nth, step: _time(f"{at}/{nth}/operations_busy_ns", step.operations_busy_ns),
            any(step.operations_busy_ns is not None for step in profile.steps),
        ),
        (
            ">Busiest device",
            lambda nth, step: _of_devices(f"{at}/{nth}", step, "busy_ns", max),
            any(step.devices for step in profile.steps),
        ),
        (
            ">Until device work",
            lambda nth, step: _of_devices(f"{at}/{nth}", step, "first_ns", min),
            any(step.devices for step in profile.steps),
        ),
        ("Program", lambda _, step: _program(step.programs, programs.get(step.inner)), True),
    ]
    kept = [(head, cell) for head, cell, told in columns if told]
    shown_steps = profile.steps[:STEPS]
    count = len(profile.steps) + profile.steps_left_out.count
    return record_table(
        galley,
        "steps",
        f"Steps: {_of(len(shown_steps), count)}. A step is an annotation on the host.",
        columns="|".join(head for head, _ in kept),
        rows=[tuple(cell(nth, step) for _, cell in kept) for nth, step in enumerate(shown_steps)],
        ids=[f"step-{nth}" for nth in range(len(shown_steps))],
    )


def _number(step: Step, host: str) -> Cell:
    return Cell(text="—" if step.number is None else f"{step.number}", note=literal(host))


def _lasts(at: str, step: Step) -> Cell:
    note = "" if step.complete else "may be cut by the end of the capture"
    return _time(f"{at}/duration_ns", step.duration_ns, note)


def _of_devices(at: str, step: Step, field: str, choose: Callable[..., tuple[int, int]]) -> Cell:
    """The largest or smallest of one time that each device tells of a step."""
    told = [(getattr(share, field), nth) for nth, share in enumerate(step.devices)]
    if not told:
        return shown("—")
    ns, nth = choose(told)
    return _time(f"{at}/devices/{nth}/{field}", ns)


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


def lanes(profile: Profile, measures: Measures, galley: Galley) -> Context:
    """Lines with the union of their events, and the sum that must not be taken for it."""
    names = {plane.id: plane.name for plane in profile.planes}
    devices = {plane.id for plane in profile.device_planes}
    found = [(at, line) for at, line in enumerate(profile.lines) if line.events]
    found.sort(key=lambda placed: (placed[1].plane not in devices, -placed[1].events))
    rows = [
        (
            Cell(text=code(names[line.plane]).text, note=literal(line.name)),
            shown(VIEWS[line.view]),
            shown(f"{line.events:,}"),
            _derived(profile, measures, f"lines/{line.id.replace('/', '-')}/busy_s", "seconds(1)"),
            _derived(
                profile, measures, f"lines/{line.id.replace('/', '-')}/busy_share", "percent(1)"
            ),
            _time(f"{profile.name}/trace#/lines/{at}/sum_ns", line.sum_ns),
            shown(f"{line.depth:,}"),
        )
        for at, line in found[:LANES]
    ]
    return record_table(
        galley,
        "lanes",
        f"Lanes with events: {_of(len(rows), len(found))}. Busy is a union: no moment counts"
        " twice.",
        columns=(
            "Lane|Shows|>Events|>Busy|>Of its span|>Durations added up, which counts time again"
            "|>Nested"
        ),
        rows=rows,
    )


def operations(
    profile: Profile, measures: Measures, programs: Mapping[str, ProgramText], galley: Galley
) -> Context:
    """The longest by their own time; each leads to its line of HLO where that is known."""
    ranked, place = profile.ranked_work, f"{profile.name}/trace#/operations"
    texts = _texts(profile, programs)
    rows = [
        (
            _operation(op, texts.get((op.module, op.program_id))),
            Cell(text=code(op.module).text if op.module else literal("not in the capture")),
            _does(op, texts.get((op.module, op.program_id))),
            shown(f"{op.count:,}"),
            _time(f"{place}/{at}/{profile.own_field}", op.self_ns),
            _derived(profile, measures, f"operations/{at}/share", "percent(1)"),
            _time(f"{place}/{at}/max_ns", op.max_ns),
        )
        for at, op in ranked[:OPERATIONS]
    ]
    views = {op.view for _, op in ranked}
    left = sum(told.count for view, told in profile.operations_left_out.items() if view in views)
    return record_table(
        galley,
        "operations",
        f"Operations: {_of(len(rows), len(ranked) + left)}, by their own time, without what ran"
        " inside them.",
        columns="Operation|Program|Does|>Times|>Own time|>Of all operations|>Longest",
        rows=rows,
    )


def _texts(
    profile: Profile, programs: Mapping[str, ProgramText]
) -> dict[tuple[str, str], ProgramText]:
    """The record's text of each program that ran in a step of the same inner name."""
    return {
        (ran.module, ran.program_id): text
        for step in profile.steps
        if (text := programs.get(step.inner))
        for ran in step.programs
        if ran.module == text.module
    }


def _line(op: Operation, text: ProgramText | None) -> HloLine | None:
    return text.lines.get(op.hlo_op or op.name) if text else None


def _operation(op: Operation, text: ProgramText | None) -> Cell:
    line = _line(op, text)
    if text is None or line is None:
        return Cell(text=code(op.label).text, note=literal("" if op.name == op.label else op.name))
    return Cell(text=literal(op.name), href=text.href, note=literal(line.text))


def _does(op: Operation, text: ProgramText | None) -> Cell:
    """What its name tells, and what its line of HLO adds."""
    words = CATEGORIES[op.category] + (", rematerialized" if op.rematerialized else "")
    line = _line(op, text)
    if text is None or line is None or not line.product:
        return shown(words)
    if not text.instructions:
        return Cell(text=literal(words), note=literal(f"its HLO: {line.product}"))
    return Cell(
        text="matrix instructions for this product, as TPU compilers schedule it",
        href=text.instructions,
        note=literal(f"{words}; its HLO: {line.product}"),
    )


def gaps(profile: Profile, galley: Galley) -> list[Context]:
    """The longest of each kind."""
    names = {plane.id: plane.name for plane in profile.planes}
    made = []
    for kind, words in KINDS.items():
        found = [(at, gap) for at, gap in enumerate(profile.gaps) if gap.kind == kind]
        total = profile.gap_totals.get(kind)
        if not found:
            continue
        rows = [
            (
                code(names[gap.plane]),
                _start(f"{profile.name}/trace#/gaps/{at}", gap),
                _time(f"{profile.name}/trace#/gaps/{at}/duration_ns", gap.duration_ns),
                code(shortened(gap.after) or "—"),
                code(shortened(gap.before) or "—"),
                shown("—" if gap.step is None else f"{gap.step}"),
            )
            for at, gap in found[:GAPS]
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
            _start(f"{profile.name}/trace#/compiles/{at}", found),
            _time(f"{profile.name}/trace#/compiles/{at}/duration_ns", found.duration_ns),
            shown(said[found.in_window]),
        )
        for at, found in enumerate(profile.compiles[:GAPS])
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


def pairs(profile: Profile, comparison: ProfileComparison, galley: Galley) -> Context | None:
    if not comparison.pairs:
        return None
    one, two = comparison.names
    at = f"study#/trace/{profile.name}/pairs"
    rows = [
        (
            code(pair.step.label),
            _time(f"{at}/{nth}/one_s", pair.step.duration_ns),
            _time(f"{at}/{nth}/other_s", pair.other.duration_ns),
            shown("—")
            if pair.ratio is None
            else valued(f"{at}/{nth}/ratio", pair.ratio, "fixed(3)", "measured"),
        )
        for nth, pair in enumerate(comparison.pairs[:PAIRS])
    ]
    return record_table(
        galley,
        "pairs",
        f"Steps that both have, the first left out: {_of(len(rows), len(comparison.pairs))}",
        columns=f"Step|>{literal(one)}|>{literal(two)}|>Ratio",
        rows=rows,
    )


def _derived(profile: Profile, measures: Measures, path: str, spelling: str) -> Cell:
    """A derived number with a link to its working."""
    found = measures[path]
    if found.number is None:
        return Cell(text=literal("—"), note=literal(found.reason))
    pointer = f"study#/trace/{profile.name}/{path}"
    href = f"workings.html#{anchor(pointer)}"
    return valued(pointer, found.number, spelling, "measured", href=href)


def _time(pointer: str, ns: int | None, note: str = "") -> Cell:
    if ns is None:
        return shown("—")
    return valued(pointer, ns / NS_PER_S, "seconds(1)", "measured", note=note)


def _start(at: str, span: Span) -> Cell:
    """When something starts, told finely enough to tell neighbours apart."""
    return valued(f"{at}/start_ns", span.start_ns / NS_PER_S, "seconds(3)", "measured")


def _of(some: int, whole: int) -> str:
    return f"{some:,}" if some == whole else f"{some:,} of {whole:,}"
