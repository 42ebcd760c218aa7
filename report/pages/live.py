"""Live figures: their specifications as classic scripts.

A page opened from disk cannot fetch, so each specification is a script that assigns one
object, which the page loads when a reader touches a control.
"""

from report.exhibit import Figure
from report.pages.search import script_safe


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
