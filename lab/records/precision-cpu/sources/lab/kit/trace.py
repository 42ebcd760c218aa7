"""A profiler capture of a few named steps, and a summary that pages can read.

Nothing is timed here: a capture changes what it measures.
"""

import gzip
import hashlib
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lab.kit import xspace, xspace_reader
from lab.kit.faults import CheckFailed
from lab.kit.profile_events import Profile, Source
from lab.kit.profile_findings import Asked
from lab.kit.profile_summary import summarize
from lab.kit.profile_tidy import tidy
from lab.kit.redaction import Redactor
from lab.kit.run_folder import RunFolder

HOST, XSPACE = "host0", ".xplane.pb"

STEP = "precision_case"
"""The name of every outer step; what runs inside is named after its case and policy."""

HOST_LEVEL, PYTHON_LEVEL = 2, 0
"""Host events without Python frames, which would slow the steps and name source files."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One step to capture: an inner name, and a call that returns when its result is ready."""

    inner: str
    call: Callable[[], None]


def capture(folder: RunFolder, steps: Sequence[Step], *, platform: str) -> None:
    """Capture `steps` once, warmed, and write the redacted tree and its summary under trace/."""
    import jax

    options = jax.profiler.ProfileOptions()
    options.host_tracer_level = HOST_LEVEL
    options.python_tracer_level = PYTHON_LEVEL
    for step in steps:
        step.call()
    with tempfile.TemporaryDirectory() as scratch:
        jax.profiler.start_trace(scratch, create_perfetto_trace=True, profiler_options=options)
        try:
            for number, step in enumerate(steps):
                with (
                    jax.profiler.StepTraceAnnotation(STEP, step_num=number),
                    jax.profiler.TraceAnnotation(step.inner),
                ):
                    step.call()
        finally:
            jax.profiler.stop_trace()  # type: ignore[no-untyped-call]
        files = _redacted_tree(Path(scratch), folder.redactor)
    name = next(name for name in files if name.endswith(XSPACE))
    asked = Asked(platform=platform, step_name=STEP, inner=[step.inner for step in steps])
    summary = summarize_xspace(files[name], asked, folder.redactor)
    for each, data in files.items():
        folder.write(each, data)
    folder.write_json("trace/summary.json", summary | {"files": sorted(files)})


def summarize_xspace(space: bytes, asked: Asked, redactor: Redactor) -> dict[str, Any]:
    """The summary of a serialized XSpace; refuse one that is empty, or lacks what was asked for."""
    if not space:
        raise CheckFailed("the trace file is empty")
    profile = Profile(reader=xspace_reader.READER, version=xspace_reader.need_jax())
    profile.sources.append(
        Source(
            name=f"{HOST}{XSPACE}",
            format="xspace",
            bytes=len(space),
            sha256=hashlib.sha256(space).hexdigest(),
            host=HOST,
        )
    )
    xspace_reader.read_xspace(space, profile, 0, tell=lambda _: None)
    if not profile.planes:
        raise CheckFailed("the trace holds no plane")
    if not any(plane.events for plane in profile.planes):
        raise CheckFailed("the trace holds no event")
    tidy(profile)
    return summarize(profile, asked, redactor)


def _redacted_tree(scratch: Path, redactor: Redactor) -> dict[str, bytes]:
    """The profiler's tree by its name in the run folder, free of names and paths."""
    runs = [path for path in scratch.glob("plugins/profile/*") if path.is_dir()]
    spaces = list(scratch.rglob(f"*{XSPACE}"))
    if len(runs) != 1 or len(spaces) != 1:
        raise CheckFailed(f"expected one captured run with one XSpace, found {len(runs)} runs")
    files = {}
    for path in sorted(runs[0].iterdir()):
        name = f"trace/{path.relative_to(scratch).parent.as_posix()}/{_neutral_name(path.name)}"
        if not name.endswith(path.name):
            redactor.note(name, "host name in the file name")
        files[name] = _redacted(path.read_bytes(), name, redactor)
    return files


def _neutral_name(name: str) -> str:
    """`<host>.xplane.pb` as `host0.xplane.pb`."""
    for ending in (XSPACE, ".trace.json.gz"):
        if name.endswith(ending):
            return f"{HOST}{ending}"
    return name


def _redacted(data: bytes, name: str, redactor: Redactor) -> bytes:
    if name.endswith(".json.gz"):
        text = redactor.text(gzip.decompress(data).decode(), name)
        return gzip.compress(text.encode(), mtime=0)
    return xspace.rewrite(
        data, lambda content, is_text: redactor.same_length(content, name, names=is_text)
    )
