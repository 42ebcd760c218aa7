"""Chip sheets, number formats and the givens of worked examples, from their YAML."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from report.content.form import Form
from report.content.shelf import forms
from report.errors import Fault
from report.source import Source
from report.specs import (
    CHIP_FIELDS,
    Chip,
    Documented,
    Encoding,
    NumberFormat,
    Reference,
    Spec,
    documented_figures,
)
from report.units import UNITS, Quantity, parse_quantity

_NOWHERE = Reference(
    id="",
    source=Source(name="", href=""),
    publisher="",
    edition="",
    grade="",
    how_read="",
)
"""Stands in for a reference that is not there; the fault beside it keeps it from leaving."""

_NOTHING = parse_quantity("0 B")


@dataclass(frozen=True, slots=True, kw_only=True)
class KvCacheGiven:
    """The key-value cache of a worked example."""

    batch: int
    tokens: int
    layers: int
    kv_heads: int
    head_dim: int
    value_bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class RooflineGiven:
    """The matrix product of a worked example: m×k by k×n, on one chip, in one format."""

    m: tuple[int, ...]
    k: int
    n: int
    x_bytes: int
    w_bytes: int
    y_bytes: int
    chip: str
    format: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Model:
    """What worked examples are given: chosen, not measured."""

    id: str
    title: str
    parameters: int
    training_state: Mapping[str, int]
    """Bytes a parameter, part by part."""
    kv_cache: KvCacheGiven
    roofline: RooflineGiven


def load_chips(
    folder: Path, faults: list[Fault]
) -> tuple[Mapping[str, Reference], Mapping[str, Chip]]:
    """The documents of `folder/sources.yaml` by id, and every chip sheet, oldest first."""
    sheets = {text.slug: form for text, form in forms(folder, faults)}
    sources = sheets.pop("sources", None)
    references = {id: _reference(id, sources.form(id)) for id in sources} if sources else {}
    chips = [_chip(id, form, references) for id, form in sheets.items()]
    return references, {chip.id: chip for chip in sorted(chips, key=_generation)}


def load_formats(
    folder: Path, references: Mapping[str, Reference], faults: list[Fault]
) -> Mapping[str, NumberFormat]:
    """Every number format of `folder`, floats first, widest first."""
    formats = [_format(text.slug, form, references) for text, form in forms(folder, faults)]
    ordered = sorted(
        formats, key=lambda f: (f.bias is None, -f.bits, -f.exponent, f.bias or 0, f.id)
    )
    return {number_format.id: number_format for number_format in ordered}


def load_models(
    folder: Path,
    chips: Mapping[str, Chip],
    formats: Mapping[str, NumberFormat],
    faults: list[Fault],
) -> Mapping[str, Model]:
    """The givens of worked examples, by name."""
    return {
        text.slug: _model(text.slug, form, tuple(chips), tuple(formats))
        for text, form in forms(folder, faults)
    }


def _reference(id: str, form: Form) -> Reference:
    address = form.text("address")
    if address and not re.fullmatch(r"https://[!-~]+", address):
        form.fault(form.line_of("address"), "address", address, "an https address")
    reference = Reference(
        id=id,
        source=Source(name=form.text("title"), href=address, checked=form.day("checked")),
        publisher=form.text("publisher"),
        edition=form.text("edition"),
        grade=form.choice("grade", ("A", "B", "C", "D")),
        how_read=form.text("how_read"),
    )
    form.close()
    return reference


def _generation(chip: Chip) -> tuple[int, str]:
    """v2 before v5e before v5p before tpu7x."""
    number = re.search("[0-9]+", chip.id)
    return (int(number[0]) if number else 0, chip.id)


def _chip(id: str, form: Form, references: Mapping[str, Reference]) -> Chip:
    specs = form.form("specs")
    chip = Chip(
        id=id,
        name=form.text("name"),
        page=_cited(form, "page", references),
        device_kinds=form.texts("device_kinds"),
        suffix_rule=form.text("suffix_rule"),
        notes=form.texts("notes", optional=True),
        specs={field: _spec(field, specs.form(field), references) for field in CHIP_FIELDS},
    )
    specs.close()
    form.close()
    return chip


def _spec(field: str, form: Form, references: Mapping[str, Reference]) -> Spec:
    absent = form.is_null("value")
    spec = Spec(
        field=field,
        value=None if absent else _documented(form, CHIP_FIELDS[field]),
        as_documented="" if absent else form.text("as_documented"),
        reference=_cited(form, "source", references),
        note=form.text("note", ""),
        reason=form.text("reason") if absent else "",
        alternatives=tuple(_spec(field, item, references) for item in form.forms("alternatives")),
    )
    form.close()
    return spec


def _documented(form: Form, kind: str) -> Documented:
    if kind == "count":
        return form.integer("value", minimum=1)
    if kind == "counts":
        return form.integers("value")
    if kind == "names":
        return form.texts("value")
    if kind == "text":
        return form.text("value")
    return _quantity(form, kind)


def _quantity(form: Form, base: str) -> Quantity:
    found = form.read("value", lambda text: parse_quantity(text, scope="chip"), _NOTHING)
    if found is not _NOTHING and (found.unit.base != base or found.amount <= 0):
        known = ", ".join(symbol for symbol, unit in UNITS.items() if unit.base == base)
        expected = f"a positive amount of one of {known}"
        form.fault(form.line_of("value"), "value", found.label, expected)
    return found


def _cited(form: Form, key: str, references: Mapping[str, Reference]) -> Reference:
    name = form.text(key)
    if name and name not in references:
        form.unknown(key, name, references)
    return references.get(name, _NOWHERE)


def _format(id: str, form: Form, references: Mapping[str, Reference]) -> NumberFormat:
    encoding = Encoding(form.choice("encoding", [encoding.value for encoding in Encoding]))
    integer = encoding is Encoding.INTEGER
    bits = form.form("bits")
    number_format = NumberFormat(
        id=id,
        name=form.text("name"),
        dtype=form.text("dtype"),
        encoding=encoding,
        sign=bits.integer("sign", minimum=1, maximum=1),
        exponent=0 if integer else bits.integer("exponent", minimum=2, maximum=8),
        fraction=bits.integer("fraction", minimum=1, maximum=31 if integer else 23),
        bias=None if integer else form.integer("bias", minimum=1, maximum=127),
        specials=form.text("specials"),
        offers=form.text("offers"),
        handle=form.text("handle"),
        reference=_cited(form, "source", references),
    )
    bits.close()
    documented = form.form("documented")
    form.close()
    if form.sound:  # else the figures would be of other bits
        _compare_figures(number_format, documented)
    return number_format


def _compare_figures(number_format: NumberFormat, form: Form) -> None:
    """The documented figures, hexadecimal for floats, must be what the bits give."""
    for name, computed in documented_figures(number_format).items():
        if number_format.bias is None:
            documented: float | None = form.integer(name, minimum=-(2**31), maximum=2**31)
            expected = f"{computed}, as its bits give"
        else:
            documented = _hexadecimal(form, name)
            expected = f"{computed!r} = {float(computed or 0).hex()}, as its bits give"
        if documented is not None and documented != computed:
            form.fault(form.line_of(name), name, f"{documented!r}", expected)
    form.close()


def _hexadecimal(form: Form, key: str) -> float | None:
    text = form.text(key)
    try:
        return float.fromhex(text) if text else None
    except (ValueError, OverflowError):
        form.fault(form.line_of(key), key, text, "a hexadecimal float, such as 0x1.cp+8")
        return None


def _model(id: str, form: Form, chips: tuple[str, ...], formats: tuple[str, ...]) -> Model:
    training_state = form.form("training_state")
    model = Model(
        id=id,
        title=form.text("title"),
        parameters=form.integer("parameters", minimum=1),
        training_state={
            part: training_state.integer(part, minimum=0, maximum=64) for part in training_state
        },
        kv_cache=_kv_cache(form.form("kv_cache")),
        roofline=_roofline(form.form("roofline"), chips, formats),
    )
    form.close()
    return model


def _kv_cache(form: Form) -> KvCacheGiven:
    given = KvCacheGiven(
        batch=form.integer("batch", minimum=1),
        tokens=form.integer("tokens", minimum=1),
        layers=form.integer("layers", minimum=1),
        kv_heads=form.integer("kv_heads", minimum=1),
        head_dim=form.integer("head_dim", minimum=1),
        value_bytes=form.integer("value_bytes", minimum=1),
    )
    form.close()
    return given


def _roofline(form: Form, chips: tuple[str, ...], formats: tuple[str, ...]) -> RooflineGiven:
    given = RooflineGiven(
        m=form.integers("m"),
        k=form.integer("k", minimum=1),
        n=form.integer("n", minimum=1),
        x_bytes=form.integer("x_bytes", minimum=1),
        w_bytes=form.integer("w_bytes", minimum=1),
        y_bytes=form.integer("y_bytes", minimum=1),
        chip=form.text("chip"),
        format=form.text("format"),
    )
    for key, name, known in (("chip", given.chip, chips), ("format", given.format, formats)):
        if name and name not in known:
            form.unknown(key, name, known)
    form.close()
    return given
