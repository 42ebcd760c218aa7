"""What a profile's summary says: steps in order, planes, and how the first step differs."""

from collections.abc import Mapping
from dataclasses import dataclass
from statistics import median

from report.errors import EvidenceMismatch, Fault
from report.evidence import Evidence
from report.numbers.reading import Fields
from report.numbers.workings import Workings


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One annotated step of the capture, in nanoseconds from the first event of its clock."""

    number: int | None
    """As the program numbered it; None where it did not."""
    name: str
    inner: str
    """What stands directly in it, or "" where that is not one thing."""
    start_ns: int
    duration_ns: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Plane:
    """What one device, or the host, recorded: so many events on so many lines."""

    name: str
    lines: int
    events: int


@dataclass(frozen=True, slots=True, kw_only=True)
class TraceSummary:
    """A capture, in order of time."""

    steps: tuple[Step, ...]
    planes: tuple[Plane, ...]
    device_planes: tuple[str, ...]
    note: str


def read_trace(evidence: Evidence) -> TraceSummary | None:
    """The summary of a run's capture, or None when it made none."""
    record = evidence.record
    if record.trace is None:
        return None
    fields = Fields(record.trace, f"{record.name}/trace/summary.json")
    summary = TraceSummary(
        steps=tuple(_step(step) for step in fields.objects("steps")),
        planes=tuple(_plane(plane) for plane in fields.objects("planes")),
        device_planes=fields.texts("device_planes"),
        note=fields.text("note"),
    )
    names = [plane.name for plane in summary.planes]
    for index, device in enumerate(summary.device_planes):
        if device not in names:
            fields.fault(f"device_planes/{index}", f"{device!r:.60}", "one of its planes")
    fields.finish(record.name)
    if not summary.steps or not summary.planes:
        raise EvidenceMismatch(
            f"The trace of {record.name} holds nothing, although the run claims one.",
            [Fault(where=fields.where, found="no steps or no planes", expected="both")],
        )
    return summary


def work_out_trace(run: str, trace: TraceSummary, note: Workings) -> None:
    """Write down `study#/trace/<run>/…`."""
    document = f"{run}/trace#"
    counts: Mapping[str, int] = {
        "steps": len(trace.steps),
        "planes": len(trace.planes),
        "device_planes": len(trace.device_planes),
    }
    for name, count in counts.items():
        note.derive(f"trace/{run}/{name}", count, rf"\text{{number of {name.replace('_', ' ')}}}")
    durations = [step.duration_ns for step in trace.steps]
    others = median(durations[1:]) if len(durations) > 1 else 0
    note.derive(
        f"trace/{run}/first_step_ratio",
        durations[0] / others if others else None,
        r"d_0 / \mathrm{median}(d_1, \dots)",
        *(f"{document}/steps/{index}/duration_ns" for index in range(len(durations))),
        kind="measured",
        reason="" if others else "there is only one step",
    )


def _plane(fields: Fields) -> Plane:
    return Plane(
        name=fields.name("name"), lines=fields.count("lines"), events=fields.count("events")
    )


def _step(fields: Fields) -> Step:
    return Step(
        number=fields.optional_count("number"),
        name=fields.name("name"),
        inner=fields.optional_text("inner"),
        start_ns=fields.count("start_ns"),
        duration_ns=fields.count("duration_ns"),
    )
