"""A profiler capture of a few named steps, and a summary that pages can read.

Nothing is timed here: a capture changes what it measures.
"""

import gzip
import tempfile
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lab.kit import xspace
from lab.kit.faults import CheckFailed
from lab.kit.redaction import Redactor
from lab.kit.run_folder import RunFolder

if TYPE_CHECKING:
    from jax.profiler import ProfileData

SCHEMA = "assay/trace-summary/1"

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
    space = next(data for name, data in files.items() if name.endswith(".xplane.pb"))
    summary = summarize(space, [step.inner for step in steps], platform=platform)
    for name, data in files.items():
        folder.write(name, data)
    folder.write_json("trace/summary.json", summary | {"files": sorted(files)})


def summarize(space: bytes, inner_names: Sequence[str], *, platform: str) -> dict[str, Any]:
    """Planes and steps of a serialized XSpace; refuse one that lacks an expected step."""
    from jax.profiler import ProfileData

    if not space:
        raise CheckFailed("the trace file is empty")
    with warnings.catch_warnings():
        # From Python 3.13 on, jaxlib's reader aborts the process where warnings are errors.
        warnings.simplefilter("ignore", DeprecationWarning)
        data = ProfileData.from_serialized_xspace(space)
        planes = _planes(data)
        steps = _steps(data, inner_names)
    if not planes:
        raise CheckFailed("the trace holds no plane")
    if not any(plane["events"] for plane in planes):
        raise CheckFailed("the trace holds no event")
    found = [(step["number"], step["inner"]) for step in steps]
    expected = list(enumerate(inner_names))
    if found != expected:
        raise CheckFailed(f"the trace holds the steps {found}, not {expected}")
    devices = [plane["name"] for plane in planes if str(plane["name"]).startswith("/device:")]
    if platform != "cpu" and not devices:
        raise CheckFailed(
            f"the run says {platform}, but its trace shows no device; "
            "the profiler may lack the permission, or the plugin, to see one"
        )
    return {
        "schema": SCHEMA,
        "planes": planes,
        "device_planes": devices,
        "note": _note(len(devices)),
        "steps": steps,
    }


def _planes(data: "ProfileData") -> list[dict[str, object]]:
    """Each plane's name, with how many lines and events it holds."""
    return [
        {
            "name": plane.name,
            "lines": sum(1 for _ in plane.lines),
            "events": sum(1 for line in plane.lines for _ in line.events),
        }
        for plane in data.planes
    ]


def _note(devices: int) -> str:
    if devices:
        return f"Device planes in this file: {devices}. Other devices, if any, were not captured."
    return (
        "No device lane: on a CPU the operations run, and are recorded, on host threads. "
        "A lane that is absent says nothing about how busy a device was."
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """One host event, in nanoseconds; `step` is its step number, if it is a step."""

    name: str
    start_ns: float
    duration_ns: float
    step: int | None

    def holds(self, other: "Event") -> bool:
        return (
            self is not other
            and self.start_ns <= other.start_ns
            and other.start_ns + other.duration_ns <= self.start_ns + self.duration_ns
        )


def _host_events(data: "ProfileData") -> Iterator[Event]:
    """Every event of the host planes. Only a step's stats are read: reading them is slow."""
    for plane in data.planes:
        if not plane.name.startswith("/host:"):
            continue
        for line in plane.lines:
            for event in line.events:
                name = event.name
                yield Event(
                    name=name,
                    start_ns=event.start_ns,
                    duration_ns=event.duration_ns,
                    step=dict(event.stats).get("step_num") if name == STEP else None,
                )


def _steps(data: "ProfileData", inner_names: Sequence[str]) -> list[dict[str, object]]:
    """The outer steps in time order, each with its inner name and what ran inside it.

    Times are nanoseconds from the start of the first step, on the profiler's clock.
    """
    events = sorted(_host_events(data), key=lambda event: (event.start_ns, -event.duration_ns))
    outer = [event for event in events if event.name == STEP]
    steps: list[dict[str, object]] = []
    for step in outer:
        inside = [event.name for event in events if step.holds(event)]
        inner = [name for name in inside if name in inner_names]
        steps.append(
            {
                "number": step.step,
                "name": STEP,
                "inner": inner[0] if len(inner) == 1 else None,
                "start_ns": round(step.start_ns - outer[0].start_ns),
                "duration_ns": round(step.duration_ns),
                "contains": list(dict.fromkeys(name for name in inside if name not in inner)),
            }
        )
    return steps


def _redacted_tree(scratch: Path, redactor: Redactor) -> dict[str, bytes]:
    """The profiler's tree by its name in the run folder, free of names and paths."""
    runs = [path for path in scratch.glob("plugins/profile/*") if path.is_dir()]
    spaces = list(scratch.rglob("*.xplane.pb"))
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
    for ending in (".xplane.pb", ".trace.json.gz"):
        if name.endswith(ending):
            return f"host0{ending}"
    return name


def _redacted(data: bytes, name: str, redactor: Redactor) -> bytes:
    if name.endswith(".json.gz"):
        text = redactor.text(gzip.decompress(data).decode(), name)
        return gzip.compress(text.encode(), mtime=0)
    return xspace.rewrite(
        data, lambda content, is_text: redactor.same_length(content, name, names=is_text)
    )
