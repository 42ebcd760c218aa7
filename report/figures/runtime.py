"""The chart runtime that live figures load: the renderer's own script, for any page to run.

It is built once per version of the renderer, and wrapped in a function, since the bundle
leaks its names. `assayVega.embed` is all that it leaves behind.
"""

from hashlib import sha256

from report.cache import Store
from report.inputs import version

RUNTIME = "assets/vega.js"
"""Its path in the site."""

_SNIPPET = "window.assayVega = {embed: vegaEmbed};"


def runtime(cache: Store) -> bytes:
    """The script, from the cache or from the renderer."""
    made_from = f"runtime {version('vl-convert-python')} {_SNIPPET}"
    key = sha256(made_from.encode()).hexdigest()
    if (found := cache.get(key)) is not None:
        return found
    from vl_convert import javascript_bundle  # noqa: PLC0415 (slow to start, seldom needed)

    script = f"(function(){{{javascript_bundle(_SNIPPET)}}})();\n".encode()
    cache.put(key, script)
    return script
