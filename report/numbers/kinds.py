"""Each kind of record, one entry a schema: how it is read, and what is worked out from it.

A new lab adds an entry here, its pointers' grammar in `grammar`, and its page in
`pages/record_kinds`. A run without an entry is read by `own`, which knows nothing of its lab.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

from report.evidence import Evidence
from report.numbers import lowering, precision, replay, representations, sweep, timing
from report.numbers.lowering import Preflight, read_preflight
from report.numbers.own import read_own
from report.numbers.precision import PrecisionRun, read_precision
from report.numbers.replay import Replay, read_replay
from report.numbers.representations import RepresentationsRun, read_representations
from report.numbers.run import Run
from report.numbers.sweep import SweepRun, read_sweep
from report.numbers.timing import TimingRun, read_timing
from report.numbers.worked_lowering import work_out_lowering
from report.numbers.worked_precision import work_out_precision
from report.numbers.worked_replay import work_out_replay
from report.numbers.worked_representations import work_out_representations
from report.numbers.worked_sweep import work_out_sweep
from report.numbers.worked_timing import work_out_timing
from report.numbers.workings import Workings

R = TypeVar("R", bound=Run)


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    """Runs of one lab."""

    run: type[Run]
    lab: str
    """The name of the lab, which no other may take."""
    read: Callable[[Evidence], Run]
    """The typed run, or EvidenceMismatch with every fault."""
    work_out: Callable[[Any, Workings], None]
    """Writes down what follows from one run."""
    featured: str
    """The record that the lesson shows, where it is among several."""
    complete: Callable[[Any], bool] = lambda _: True
    """Whether a run has all that the lesson shows."""


KINDS: Mapping[str, Kind] = {
    precision.SCHEMA: Kind(
        run=PrecisionRun,
        lab="precision_profile",
        read=read_precision,
        work_out=work_out_precision,
        featured="precision-cpu",
    ),
    lowering.SCHEMA: Kind(
        run=Preflight,
        lab="preflight",
        read=read_preflight,
        work_out=work_out_lowering,
        featured="preflight-tpu",
        complete=lambda run: run.complete,
    ),
    representations.SCHEMA: Kind(
        run=RepresentationsRun,
        lab=representations.LAB,
        read=read_representations,
        work_out=work_out_representations,
        featured="representations-cpu",
        complete=lambda run: run.complete,
    ),
    replay.SCHEMA: Kind(
        run=Replay,
        lab="replay",
        read=read_replay,
        work_out=work_out_replay,
        featured="replay-published",
    ),
    sweep.SCHEMA: Kind(
        run=SweepRun,
        lab=sweep.LAB,
        read=read_sweep,
        work_out=work_out_sweep,
        featured="sweep-cpu",
    ),
    timing.SCHEMA: Kind(
        run=TimingRun,
        lab=timing.LAB,
        read=read_timing,
        work_out=work_out_timing,
        featured="timing-cpu",
    ),
}
"""By the schema of report.json."""


def read_run(evidence: Evidence) -> Run:
    """The typed run, or EvidenceMismatch naming all that is missing, contradictory or unknown.

    A run of a lab that has no entry is the reader's own.
    """
    kind = KINDS.get(str(evidence.record.report.get("schema")))
    if kind:
        return kind.read(evidence)
    return read_own(evidence, taken=[known.lab for known in KINDS.values()])


def work_out_runs(runs: Mapping[str, Run], note: Workings) -> None:
    """Write down what follows from each run, kind by kind."""
    for kind in KINDS.values():
        for run in runs.values():
            if isinstance(run, kind.run):
                kind.work_out(run, note)


def of_kind(runs: Mapping[str, Run], kind: type[R]) -> dict[str, R]:
    """The runs of one kind, by record."""
    return {name: run for name, run in runs.items() if isinstance(run, kind)}


def featured(runs: Mapping[str, Run], kind: type[R]) -> R | None:
    """The run that the lesson shows: the named one, or the first; None when none has it all."""
    entry = next(entry for entry in KINDS.values() if entry.run is kind)
    whole = {name: run for name, run in of_kind(runs, kind).items() if entry.complete(run)}
    return whole.get(entry.featured) or next(iter(whole.values()), None)
