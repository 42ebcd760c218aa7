"""Figures and tables as pages show them: numbered, linked to their files and their source."""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from math import log2
from typing import Any

from markupsafe import Markup, escape

from report.exhibit import Cell, Column, Control, Figure, Scalar, Table
from report.pages.anchors import AnchorKind, relative
from report.pages.prose import Galley
from report.pages.roles import KINDS
from report.source import Source

Context = dict[str, Any]
"""What one template macro receives."""

BIT_PITCH, BIT_WIDTH, BIT_HEIGHT = 5, 4, 11
"""Pixels of one bit in a bit strip."""
DENSE = 7
"""Columns from which a table is set smaller."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FigureFiles:
    """The files published for one figure, by site path."""

    figure: Figure

    def path(self, suffix: str) -> str:
        return f"figures/{self.figure.name}.{suffix}"

    @property
    def data(self) -> bytes:
        """The rows behind the drawing as JSON, safe inside a script element as it stands."""
        rows = json.dumps([dict(row) for row in self.figure.data], ensure_ascii=False, indent=1)
        for sign in "<>&\u2028\u2029":
            rows = rows.replace(sign, f"\\u{ord(sign):04x}")
        return (rows + "\n").encode()

    def all(self) -> dict[str, bytes]:
        drawing = self.figure.drawing
        return {
            self.path("svg"): drawing.svg,
            self.path("png"): drawing.png,
            self.path("csv"): to_csv(self.figure.data),
            self.path("json"): self.data,
            self.path("vl.json"): drawing.vega_lite,
        }


def to_csv(rows: Sequence[Mapping[str, Scalar]]) -> bytes:
    """The rows as CSV (RFC 4180) in UTF-8; a missing value is an empty field."""
    if not rows:
        return b""
    names = list(rows[0])
    lines = [names, *([_csv_text(row.get(name)) for name in names] for row in rows)]
    return "".join(",".join(map(_csv_field, line)) + "\r\n" for line in lines).encode()


def _csv_text(value: Scalar) -> str:
    return "" if value is None else value if isinstance(value, str) else repr(value)


def _csv_field(text: str) -> str:
    """Quoted where needed; a text that a spreadsheet would run as a formula starts with a space."""
    if text[:1] in {"=", "@", "+"} or (text[:1] == "-" and not _is_number(text)):
        text = " " + text
    return '"' + text.replace('"', '""') + '"' if set(text) & set(',"\r\n') else text


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def size(count: int) -> str:
    """A file's size, such as `5.4 kB`."""
    if count < 1000:
        return f"{count}\u00a0B"
    if count < 999_950:
        return f"{count / 1000:.1f}\u00a0kB"
    return f"{count / 1e6:.1f}\u00a0MB"


def figure_context(figure: Figure, number: int, galley: Galley, made: Mapping[str, str]) -> Context:
    """Everything the figure macro places; `made` tells how each record was, by record."""
    where = f"figure {figure.name}"
    files = FigureFiles(figure=figure)
    published = files.all()
    data = published[files.path("json")]
    page = galley.page

    def link(suffix: str, text: str) -> Context:
        path = files.path(suffix)
        return {"text": text, "href": relative(path, page), "size": size(len(published[path]))}

    live = figure.drawing.live
    return {
        "id": f"fig-{figure.name}",
        "name": figure.name,
        "number": number,
        "title": _inline(galley, figure.title, where),
        "reading": _inline(galley, figure.reading, where),
        "caption": _inline(galley, figure.caption, where),
        "kind": figure.kind,
        "kind_title": KINDS[figure.kind],
        "wide": Markup(figure.drawing.wide),
        "narrow": Markup(figure.drawing.narrow),
        "links": [
            link("svg", "SVG"),
            link("png", "PNG"),
            link("csv", "CSV"),
            link("json", "JSON"),
            link("vl.json", "Vega-Lite"),
        ],
        "data": {
            "id": f"data-{figure.name}",
            "name": f"{figure.name}.json",
            "text": Markup(data.decode()),
            "sha256": sha256(data).hexdigest(),
            "size": size(len(data)),
        },
        "sources": [_source(source, page, made) for source in figure.sources],
        "draws": figure.draws.split(),
        "table": table_context(figure.table, 0, galley, inside=True),
        "live": None
        if live is None
        else {
            "wide": relative(f"assets/live/{figure.name}.js", page),
            "narrow": relative(f"assets/live/{figure.name}-narrow.js", page),
            "runtime": relative("assets/vega.js", page),
            "controls": [_control(control, figure.name, galley) for control in live.controls],
        },
    }


def table_context(table: Table, number: int, galley: Galley, *, inside: bool = False) -> Context:
    """Everything the table macro places; a table `inside` a figure has no place of its own."""
    where = f"table {table.name}"
    ids: Sequence[str] = table.row_ids or [""] * len(table.rows)
    if inside:
        ids = [""] * len(table.rows)
    bits = any(cell.bits for row in table.rows for cell in row)
    heads = [_inline(galley, column.head, where) for column in table.columns]
    plain = [head.striptags() for head in heads]
    return {
        "id": f"tab-{table.name}",
        "number": number,
        "title": _inline(galley, table.title, where),
        "plain_title": table.title,
        "caption": _inline(galley, table.caption, where),
        "stack": table.stack,
        "dense": len(table.columns) >= DENSE,
        "annotated": any(cell.note for row in table.rows for cell in row[1:]),
        "bit_key": bits,
        "columns": [
            {"head": head, "numeric": column.numeric}
            for head, column in zip(heads, table.columns, strict=True)
        ],
        "rows": [
            {"id": row_id, "cells": list(_cells(row, table.columns, plain, galley, where))}
            for row, row_id in zip(table.rows, ids, strict=True)
        ],
        "sources": [_source(source, galley.page) for source in table.sources],
    }


def _cells(
    row: Sequence[Cell],
    columns: Sequence[Column],
    heads: Sequence[str],
    galley: Galley,
    where: str,
) -> Iterator[Context]:
    """The cells of a row; on a phone each repeats the head of its column, in plain text."""
    for cell, column, head in zip(row, columns, heads, strict=True):
        yield {
            "id": galley.claim(cell.pointer, cell.format, cell.text).id if cell.pointer else "",
            "text": Markup(escape(cell.text))
            if cell.pointer
            else _inline(galley, cell.text, where),
            "kind": cell.kind or "",
            "title": KINDS[cell.kind] if cell.kind else "",
            "href": relative(cell.href, galley.page) if cell.href else "",
            "note": _inline(galley, cell.note, where),
            "bits": Markup(bit_strip(cell.bits)) if cell.bits else "",
            "numeric": column.numeric,
            "head": head,
        }


def bit_strip(widths: Sequence[int]) -> str:
    """A number format drawn bit by bit: sign, exponent, fraction; or one integer field."""
    names = ("sign", "exponent", "fraction") if len(widths) == 3 else ("integer",)
    classes = [name[0] for name, width in zip(names, widths, strict=True) for _ in range(width)]
    label = ", ".join(f"{width} {name}" for name, width in zip(names, widths, strict=True) if width)
    total = len(classes) * BIT_PITCH - (BIT_PITCH - BIT_WIDTH)
    bits = "".join(
        f'<rect class="b{name}" x="{n * BIT_PITCH}" width="{BIT_WIDTH}" height="{BIT_HEIGHT}"/>'
        for n, name in enumerate(classes)
    )
    return (
        f'<svg class="bits" viewBox="0 0 {total} {BIT_HEIGHT}" width="{total}"'
        f' height="{BIT_HEIGHT}" role="img" aria-label="Bits: {label}">{bits}</svg>'
    )


def _source(source: Source, page: str, made: Mapping[str, str] | None = None) -> Context:
    recorded = re.match(r"records/([^/]+)/", source.href)
    return {
        "made": (made or {}).get(recorded[1], "") if recorded else "",
        "name": source.name,
        "href": relative(source.href, page),
        "digest": source.digest,
        "sha256": source.sha256 or "",
        "checked": source.checked.isoformat() if source.checked else "",
    }


def _control(control: Control, figure: str, galley: Galley) -> Context:
    """A slider or a select. A `log2` slider moves the exponent of its signal's value."""

    def place(signal: float) -> str:
        return f"{log2(signal):g}" if control.log2 else f"{signal:.12g}"

    number = control.value if not isinstance(control.value, str) else None
    return {
        "id": f"{figure}-{control.signal}",
        "signal": control.signal,
        "label": _inline(galley, control.label, f"figure {figure}"),
        "value": control.value if number is None else place(number),
        "shown": control.value if number is None else f"{number:,.12g}",
        "minimum": "" if number is None else place(control.minimum),
        "maximum": "" if number is None else place(control.maximum),
        "step": f"{control.step:g}",
        "log2": control.log2,
        "options": [
            {"value": value, "text": text, "chosen": value == control.value}
            for value, text in control.options
        ],
        "unit": control.unit,
    }


def _inline(galley: Galley, text: str, where: str) -> Markup:
    return Markup(galley.inline(text, where, lint=False)) if text else Markup()


@dataclass(frozen=True, slots=True, kw_only=True)
class Shelf:
    """The figures and tables of one build, and the macros that set them."""

    figures: Mapping[str, Figure]
    tables: Mapping[str, Table]
    made: Mapping[str, str]
    """How each record was made, such as `measured on cpu`, by record."""
    pieces: Any
    """The template module with the macros `figure` and `table`."""

    def names(self, kind: AnchorKind) -> Sequence[str]:
        return list(self.figures if kind == "fig" else self.tables)

    def table(self, name: str) -> Table:
        return self.tables[name]

    def place(self, kind: AnchorKind, name: str, number: int, galley: Galley) -> str:
        if kind == "fig":
            galley.exhibits.append(name)
            return str(
                self.pieces.figure(figure_context(self.figures[name], number, galley, self.made))
            )
        return str(self.pieces.table(table_context(self.tables[name], number, galley)))
