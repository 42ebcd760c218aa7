"""A figure as bytes and back: what the cache keeps, and what drawing processes return.

JSON, so that a damaged or foreign entry can be misread but never executed.
"""

import json
from base64 import b64decode, b64encode
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from datetime import date
from typing import Any

from report.exhibit import Cell, Column, Control, Drawing, Figure, Live, Table
from report.source import Source


def pack(figure: Figure) -> bytes:
    """The figure as JSON; drawings as base64, dates as ISO text."""
    return json.dumps(_plain(figure), ensure_ascii=False, separators=(",", ":")).encode()


def unpack(data: bytes) -> Figure:
    """The figure that `pack` made into `data`."""
    found = json.loads(data)
    drawing = found["drawing"]
    live = drawing["live"]
    return Figure(
        **found
        | {
            "drawing": Drawing(
                **drawing
                | {name: b64decode(drawing[name]) for name in ("svg", "png", "vega_lite")}
                | {"live": _live(live) if live else None}
            ),
            "table": _table(found["table"]),
            "data": tuple(found["data"]),
            "sources": _sources(found["sources"]),
        }
    )


def _live(found: dict[str, Any]) -> Live:
    controls = (
        Control(**control | {"options": tuple(tuple(pair) for pair in control["options"])})
        for control in found["controls"]
    )
    return Live(wide=found["wide"], narrow=found["narrow"], controls=tuple(controls))


def _table(found: dict[str, Any]) -> Table:
    return Table(
        **found
        | {
            "columns": tuple(Column(**column) for column in found["columns"]),
            "rows": tuple(
                tuple(Cell(**cell | {"bits": tuple(cell["bits"])}) for cell in row)
                for row in found["rows"]
            ),
            "row_ids": tuple(found["row_ids"]),
            "sources": _sources(found["sources"]),
        }
    )


def _sources(found: list[dict[str, Any]]) -> tuple[Source, ...]:
    return tuple(
        Source(
            **source
            | {"checked": date.fromisoformat(source["checked"]) if source["checked"] else None}
        )
        for source in found
    )


def _plain(value: object) -> object:
    if is_dataclass(value) and not isinstance(value, type):
        return {field.name: _plain(getattr(value, field.name)) for field in fields(value)}
    if isinstance(value, Mapping):
        return {key: _plain(inner) for key, inner in value.items()}
    if isinstance(value, tuple):
        return [_plain(inner) for inner in value]
    if isinstance(value, bytes):
        return b64encode(value).decode()
    return value.isoformat() if isinstance(value, date) else value
