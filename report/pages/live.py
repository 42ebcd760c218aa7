"""Live figures: the chart runtime and the specifications, as classic scripts.

A page opened from disk cannot fetch, so each specification is a script that assigns one
object. The runtime is built from the chart renderer's own bundle, once per version.
"""

from hashlib import sha256
from importlib.metadata import version
from typing import Protocol

from report.exhibit import Figure
from report.pages.search import script_safe

_SNIPPET = "window.assayVega = {embed: vegaEmbed};"


class Shelf(Protocol):
    """A store of bytes by key; `report.cache` has one."""

    def get(self, key: str) -> bytes | None: ...
    def put(self, key: str, data: bytes) -> None: ...


def runtime(cache: Shelf) -> bytes:
    """The script that defines `assayVega.embed`, wrapped, since the bundle leaks its names."""
    made_by = f"vega-runtime {version('vl-convert-python')} {_SNIPPET}"
    key = sha256(made_by.encode()).hexdigest()
    if (found := cache.get(key)) is not None:
        return found
    from vl_convert import javascript_bundle

    script = f"(function(){{{javascript_bundle(_SNIPPET)}}})();\n".encode()
    cache.put(key, script)
    return script


def specifications(figure: Figure) -> dict[str, bytes]:
    """The wide and the narrow specification of a live figure, by site path."""
    live = figure.drawing.live
    if live is None:
        return {}
    return {
        f"assets/live/{name}.js": (
            f'(window.assaySpecs=window.assaySpecs||{{}})["{name}"]={script_safe(text)};\n'.encode()
        )
        for name, text in ((figure.name, live.wide), (f"{figure.name}-narrow", live.narrow))
    }
