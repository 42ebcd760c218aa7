"""Reference tables: what each chip and each number format is, as documented, with its sources.

Numbers are printed as their sources have them. Where sources disagree every value stands,
and where none states a value the reason does.
"""

import re
from collections.abc import Iterable, Mapping

from report.content import Content
from report.exhibit import Cell, Column, Table, number, valued
from report.notation import NBSP, render
from report.numbers.stated import documented_text, stated
from report.numbers.study import Study
from report.source import Source
from report.specs import Chip, Documented, NumberFormat, Reference, Spec
from report.units import Quantity

STANDINGS = {
    "A": "official and dated, or run here",
    "B": "official, an undated or older copy",
    "C": "its developers’ own source",
    "D": "second-hand",
}
"""How far to trust a document, by its grade."""

_MARKDOWN = re.compile(r"([\\`*_\[\]<>$&])")


def tables(study: Study, content: Content) -> tuple[Table, ...]:
    """Every table of documented figures."""
    return (
        chips_table(content.chips),
        counting_units_table(study, content.chips),
        support_table(content.chips),
        remarks_table(content.chips),
        documents_table(content.references),
        formats_table(content.formats),
    )


def chips_table(chips: Mapping[str, Chip]) -> Table:
    """Rates, memory and topology of one physical chip, a row a generation."""
    heads = {
        "peak_bf16": "Peak BF16",
        "peak_int8": "Peak INT8",
        "peak_fp8": "Peak FP8",
        "hbm_capacity": "HBM",
        "hbm_bandwidth": "HBM bandwidth",
        "topology": "Topology at scale",
    }
    return Table(
        name="chips",
        title="What is documented for one physical chip",
        caption=(
            "In each source’s own units: GB is not GiB, and OP is not FLOP. Peaks are dense and "
            "say nothing of end-to-end speed. A value after “also” is another source’s."
        ),
        columns=(
            Column(head="Generation"),
            *(Column(head=head, numeric=field != "topology") for field, head in heads.items()),
            Column(head="Page, and day checked"),
        ),
        rows=tuple(
            (
                Cell(text=plain(chip.name)),
                *(_spec_cell(chip, field) for field in heads),
                _page_cell(chip),
            )
            for chip in chips.values()
        ),
        row_ids=tuple(chips),
        sources=_sources(chips, heads),
        stack=True,
    )


def counting_units_table(study: Study, chips: Mapping[str, Chip]) -> Table:
    """Chips, TensorCores, JAX devices, hosts, and what the number in a name counts."""
    fields = ("tensorcores", "jax_devices", "chips_per_vm", "chips_per_host")
    return Table(
        name="counting-units",
        title="What is counted: chip, TensorCore, JAX device, host",
        caption=(
            "Memory for each JAX device is the chip’s, divided by its devices. Never infer a mesh "
            "from a suffix: ask the machine."
        ),
        columns=(
            Column(head="Generation"),
            Column(head="TensorCores a chip", numeric=True),
            Column(head="JAX devices a chip", numeric=True),
            Column(head="HBM a JAX device", numeric=True),
            Column(head="Chips a VM", numeric=True),
            Column(head="Chips a host", numeric=True),
            Column(head="The number in a name"),
        ),
        rows=tuple(
            (
                Cell(text=plain(chip.name)),
                *(_spec_cell(chip, field) for field in fields[:2]),
                _memory_cell(study, chip),
                *(_spec_cell(chip, field) for field in fields[2:]),
                Cell(text=plain(chip.suffix_rule)),
            )
            for chip in chips.values()
        ),
        sources=_sources(chips, fields),
        stack=True,
    )


def support_table(chips: Mapping[str, Chip]) -> Table:
    """Operand formats that a matrix unit is documented to take, and frameworks that run."""
    fields = ("matrix_operands", "frameworks")
    return Table(
        name="support",
        title="Matrix operands and frameworks, by generation",
        caption=(
            "A format listed here is accepted by the operation; that a compiled program uses it "
            "is for its own text and profile to show."
        ),
        columns=(
            Column(head="Generation"),
            Column(head="Operands of a matrix product"),
            Column(head="Frameworks"),
        ),
        rows=tuple(
            (Cell(text=plain(chip.name)), *(_spec_cell(chip, field) for field in fields))
            for chip in chips.values()
        ),
        sources=_sources(chips, fields),
        stack=True,
    )


def remarks_table(chips: Mapping[str, Chip]) -> Table:
    """What a reader of the chips table should know beside its figures."""
    return Table(
        name="remarks",
        title="Beside the figures",
        caption="What else the documents say, and what does not fit together.",
        columns=(Column(head="Generation"), Column(head="To know")),
        rows=tuple(
            (Cell(text=plain(chip.name)), Cell(text=plain(" ".join(chip.notes))))
            for chip in chips.values()
            if chip.notes
        ),
        stack=True,
    )


def documents_table(references: Mapping[str, Reference]) -> Table:
    """Every document that chips and formats cite: which copy was read, how, and its standing."""
    return Table(
        name="documents",
        title="The documents, and how each was read",
        caption=(
            "Vendors change their pages, so each copy has its edition and the day it was checked. "
            "A figure is as good as the document that it comes from."
        ),
        columns=(
            Column(head="Document"),
            Column(head="Edition"),
            Column(head="Checked"),
            Column(head="How it was read"),
            Column(head="Standing"),
        ),
        rows=tuple(
            (
                Cell(text=plain(found.source.name), href=found.source.href),
                Cell(text=plain(found.edition)),
                Cell(text=found.source.checked.isoformat() if found.source.checked else ""),
                Cell(text=plain(found.how_read)),
                Cell(text=STANDINGS[found.grade]),
            )
            for found in references.values()
        ),
        stack=True,
    )


def formats_table(formats: Mapping[str, NumberFormat]) -> Table:
    """Bit layouts and the figures that follow from them, a row a format."""
    return Table(
        name="formats",
        title="Number formats, bit by bit",
        caption=(
            "Figures are worked out from the bits and compared with the documentation. Unit "
            "roundoff $u$ is the largest relative error of rounding one number to the format. An "
            "integer has none: its step is its scale."
        ),
        columns=(
            Column(head="Format"),
            Column(head="Largest", numeric=True),
            Column(head="Smallest normal", numeric=True),
            Column(head="Unit roundoff", numeric=True),
            Column(head="What it offers"),
            Column(head="What you must handle"),
        ),
        rows=tuple(_format_row(found) for found in formats.values()),
        row_ids=tuple(formats),
        sources=tuple(dict.fromkeys(found.reference.source for found in formats.values())),
        stack=True,
    )


def _format_row(found: NumberFormat) -> tuple[Cell, ...]:
    name = Cell(text=plain(found.name), bits=found.layout, note=plain(found.specials))
    words = (Cell(text=plain(found.offers)), Cell(text=plain(found.handle)))
    at = f"formats#/{found.id}"
    if found.integer_range is not None:
        low, high, bound = (
            number(f"{at}/{end}", "integer") for end in ("minimum", "maximum", "symmetric_bound")
        )
        span = Cell(text=f"{low} to {high}", kind="computed", note=f"symmetric: ±{bound}")
        return (name, span, Cell(text="one step"), Cell(text="half a step"), *words)
    largest, normal, roundoff = found.max_finite, found.smallest_normal, found.unit_roundoff
    size = "scientific(2)" if (largest or 0.0) >= 1e6 else "integer"
    error = number(f"{at}/unit_roundoff", "error")
    return (
        name,
        valued(f"{at}/max_finite", largest, size, "computed"),
        valued(f"{at}/smallest_normal", normal, "power_of_two", "computed"),
        valued(f"{at}/unit_roundoff", roundoff, "power_of_two", "computed", note=error),
        *words,
    )


def _spec_cell(chip: Chip, field: str) -> Cell:
    """The value with its source, then every other value with a link to its own, and a remark."""
    spec = chip.specs[field]
    also, remark = _also(spec), plain(spec.note)
    if spec.value is None:
        reason = [plain(spec.reason), also[:1].upper() + also[1:], remark]
        return Cell(text="not listed", note=_sentences(reason))
    return valued(
        f"chips#/{chip.id}/{field}",
        stated(spec.value),
        "documented",
        "documented",
        href=spec.source.href,
        note=_sentences([also, remark]) if remark else also,
    )


def _sentences(parts: Iterable[str]) -> str:
    """The parts that say something, each ended by a full stop."""
    return " ".join(part if part.endswith(".") else f"{part}." for part in parts if part)


def _also(spec: Spec) -> str:
    """Such as: also 820 GB/s in [JAX table](https://…), whose full title the table lists."""
    others: dict[str, Spec] = {}
    for other in spec.alternatives:
        text = printed(other.value)
        if other.value != spec.value:
            others.setdefault(text, other)
    said = [
        f"{text} in [{short_name(other.reference.id)}]({other.source.href})"
        for text, other in others.items()
    ]
    return f"also {', '.join(said)}" if said else ""


def short_name(reference: str) -> str:
    """`jax-table` in words."""
    named = reference.replace("-", " ").replace("jax", "JAX").replace("xprof", "XProf")
    return named.replace("tpu7x", "TPU7x").replace("machines", "TPU machines")


def printed(value: Documented) -> str:
    if isinstance(value, Quantity):
        return render(value, "documented")
    return plain(documented_text(value))


def _page_cell(chip: Chip) -> Cell:
    page = chip.page
    checked = page.source.checked
    return Cell(
        text=plain(page.label),
        href=page.source.href,
        note=f"checked {checked.isoformat()}" if checked else "day of checking not recorded",
    )


def _memory_cell(study: Study, chip: Chip) -> Cell:
    pointer = f"study#/counting/{chip.id}/hbm_per_device"
    if pointer not in study.values:
        return Cell(text="not listed", note="Memory or device count is not documented.")
    capacity, href = study.values[pointer].printable, study.values.resolve_href(pointer)
    return valued(pointer, capacity, "documented", "computed", href=href)


def _sources(chips: Mapping[str, Chip], fields: Iterable[str]) -> tuple[Source, ...]:
    """Every source that a table cites, once, in order of its first use."""
    cited = [
        reading.source
        for chip in chips.values()
        for field in fields
        for reading in (chip.specs[field], *chip.specs[field].alternatives)
    ]
    return tuple(dict.fromkeys(cited))


def plain(text: str) -> str:
    """Text that means itself in Markdown, with its units kept on one line."""
    return re.sub(r"(\d) (?=[A-Za-z]{1,3}\b)", rf"\1{NBSP}", _MARKDOWN.sub(r"\\\1", text))
