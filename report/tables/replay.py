"""Tables of a replay: every field of two runs side by side, with how near they come and why.

Numbers stand here at full precision, since what is compared is their last digits. What was
replayed is *documented*, whoever measured it: only what was worked out here is ours.
"""

from collections.abc import Iterator, Mapping, Sequence

from report.exhibit import Cell, Kind, Table, code, literal, number, shown, table_of, valued
from report.numbers import replay_pointers
from report.numbers.replay import Comparison, Replay, Scalar
from report.numbers.study import Study

LABELS: Mapping[str, str] = {
    "input_sha256": "SHA-256 of the inputs",
    "relative_l2_error": "Relative L2 error",
    "max_abs_error": "Largest absolute error",
    "sqnr_db": "SQNR, dB",
    "output": "Every element of the output",
    "output_dtype": "Type of the output",
    "max_abs_accumulator": "Largest integer sum",
    "stored_bytes": "Operands as stored, bytes",
    "scale_bytes": "Scales among them, bytes",
    "stablehlo_sha256": "SHA-256 of the StableHLO",
    "hlo_sha256": "SHA-256 of the optimized HLO",
    "argument_bytes": "Compiler: arguments, bytes",
    "output_bytes": "Compiler: output, bytes",
    "temporary_bytes": "Compiler: temporary, bytes",
    "alias_bytes": "Compiler: alias, bytes",
    "generated_code_bytes": "Compiler: generated code, bytes",
    "peak_bytes": "Compiler: peak, bytes",
    "median_s": "Median time, s",
}
"""What the fields are called on a page, in the order in which they stand there."""

ERRORS = ("relative_l2_error", "max_abs_error")

FOREIGN = (
    "The published numbers are foreign evidence: somebody else measured them, with a lab whose "
    "source is not held here. Times are not compared."
)


def short_tables(study: Study) -> Iterator[Table]:
    """What a lesson shows of the featured replay."""
    run = study.featured(Replay)
    if run is not None:
        yield errors(run, name="errors-replayed", fields=("relative_l2_error",))
        yield repeats(run, name="outputs-repeated")


def tables(run: Replay) -> Iterator[Table]:
    """Every table of one replay's page, its name beginning with the record's."""
    yield errors(run, name=f"{run.name}-errors")
    columns = f"Fact|{whose(run)}|Here|Verdict"
    rows = [
        (
            Cell(text=literal(key.replace("_", " ").capitalize())),
            _value(f"{run.name}#/setting/{key}/recorded", field.recorded, "documented"),
            _value(f"{run.name}#/setting/{key}/here", field.here, "computed"),
            _verdict(field),
        )
        for key, field in run.machine.items()
    ]
    ids = [f"machine-{key}" for key in run.machine]
    yield table_of(f"{run.name}-machine", "The two machines and their software", columns, rows, ids)
    for result, group in run.fields.items():
        given = {key: group[key] for key in ordered(group) if group[key].recorded is not None}
        absent = {key: group[key] for key in ordered(group) if group[key].recorded is None}
        yield table_of(
            f"{run.name}-fields-{result}",
            f"{result}, field by field",
            f"Field|>{whose(run)}|>Here|>Distance|Verdict",
            [_row(run, result, key) for key in given],
            [f"{result}-{key}" for key in given],
        )
        if absent:
            yield table_of(
                f"{run.name}-absent-{result}",
                f"{result}: what was not recorded, so that nothing can be compared with it",
                "Field|>Here",
                [(_label(key), _here(run, result, key)) for key in absent],
                [f"{result}-{key}" for key in absent],
            )
    yield accumulation(run)
    yield repeats(run, name=f"{run.name}-repeats")


def ordered(group: Mapping[str, Comparison]) -> Sequence[str]:
    """The fields of one result, as a reader asks for them."""
    known = [key for key in LABELS if key in group]
    return [*known, *sorted(group.keys() - set(known))]


def errors(run: Replay, *, name: str, fields: Sequence[str] = ERRORS) -> Table:
    """The errors alone: both numbers, the distance, the verdict.

    A single one of them is named in the title, and not in each row.
    """
    single = LABELS[fields[0]] if len(fields) == 1 else ""
    rows = []
    for result in run.fields:
        for key in fields:
            label = Cell(text=code(result), note="" if single else LABELS[key])
            rows.append((label, *_row(run, result, key)[1:]))
    of = "the published run" if run.replayed.foreign else run.replayed.name
    return table_of(
        name,
        f"{single or 'Error'}s of {of}, and of the same products worked out again: {run.verdict}",
        f"Result|>{whose(run)}|>Here|>Distance|Verdict",
        rows,
        caption=FOREIGN if run.replayed.foreign else "",
    )


def accumulation(run: Replay) -> Table:
    """Where the errors come from, and what is known of the recorded sums."""
    rows = []
    for result, split in run.splits.items():
        at = f"{run.name}#/accumulation/{result}"
        recorded = _norm(f"{at}/recorded", split.recorded, "computed")
        if split.recorded is None and split.at_least is not None:
            recorded = Cell(
                text=f"at least {number(f'{at}/recorded_at_least', 'scientific(2)')}",
                kind="computed",
                note="a bound: no output was kept",
            )
        rows.append(
            (
                Cell(text=code(result)),
                _norm(f"{at}/representation", split.representation, "computed"),
                _norm(f"{at}/here", split.here, "measured"),
                recorded,
            )
        )
    return table_of(
        f"{run.name}-accumulation",
        "Rounding the operands, then adding up: relative L2 norms of the two parts of each error",
        f"Result|>Operands, exact sums|>Sums here|>Sums, {whose(run).lower()}",
        rows,
        [f"{result}-accumulation" for result in run.splits],
        caption=(
            "Without the recorded output only a bound is known: the total error and the operands’ "
            "part are two sides of a triangle, and the third is at least their difference."
        ),
    )


def repeats(run: Replay, *, name: str) -> Table:
    """How many different outputs each program gave."""
    rows = [
        (
            Cell(text=code(result)),
            shown(f"{each.runs}"),
            _outputs(run, result, "free", each.distinct),
            _outputs(run, result, "pinned", each.pinned)
            if each.pinned is not None
            else Cell(text="not available", note=literal(each.pinned_reason)),
            shown(_same(each.same)),
        )
        for result, each in run.repeats.items()
    ]
    return table_of(
        name,
        f"Different outputs of one program: {run.steady}",
        "Program|>Runs|>Different outputs|>On one core|Same bytes on one core",
        rows,
        [f"{result}-determinism" for result in run.repeats],
        caption=f"On {run.device} alone. More than one would be a finding, not a fault.",
    )


def whose(run: Replay) -> str:
    """The head of the column that holds what was replayed."""
    return "Published" if run.replayed.foreign else "Recorded"


def _same(same: bool | None) -> str:
    if same is None:
        return "not available"
    return "yes" if same else "no"


def _outputs(run: Replay, result: str, cores: str, distinct: int) -> Cell:
    pointer = f"{run.name}#/determinism/{result}/{cores}/distinct"
    return valued(pointer, distinct, "integer", "measured")


def _norm(pointer: str, norm: float | None, kind: Kind) -> Cell:
    if norm is None:
        return Cell(text="not recorded")
    return valued(pointer, norm, "scientific(2)", kind)


def _row(run: Replay, result: str, key: str) -> tuple[Cell, ...]:
    field, at = run.fields[result][key], f"{run.name}#/fields/{result}/{key}"
    return (
        _label(key),
        _value(f"{at}/recorded", field.recorded, "documented"),
        _here(run, result, key),
        _distance(at, field),
        _verdict(field),
    )


def _label(key: str) -> Cell:
    return Cell(text=LABELS.get(key, literal(key)))


def _here(run: Replay, result: str, key: str) -> Cell:
    keys, here = ["fields", result, key, "here"], run.fields[result][key].here
    if here is None:
        return Cell(text="not taken")
    return _value(f"{run.name}#/{'/'.join(keys)}", here, replay_pointers.kind("", keys))


def _value(pointer: str, value: Scalar, kind: Kind) -> Cell:
    """A value in full; of a digest the first digits, in code type."""
    if value is None:
        return Cell(text="not recorded")
    if isinstance(value, tuple):
        return Cell(text=literal(", ".join(value)), kind=kind)
    if isinstance(value, str) and len(value) == 64:
        return Cell(text=code(f"{value[:12]}…"), kind=kind)
    return valued(pointer, value, "full", kind)


def _distance(at: str, field: Comparison) -> Cell:
    """Steps of the format between the two, and how much that is."""
    if field.ulp is None or field.difference is None:
        return Cell(text="–")
    if field.ulp == 0:
        return valued(f"{at}/ulp", 0, "integer", "computed")
    note = f"{number(f'{at}/difference', 'scientific(2)')} apart"
    if field.tolerance is not None:
        note += f", {number(f'{at}/tolerance', 'scientific(2)')} allowed"
    return Cell(text=f"{number(f'{at}/ulp', 'integer')} ulp", kind="computed", note=note)


def _verdict(field: Comparison) -> Cell:
    return Cell(text=field.words, note=literal(field.why))
