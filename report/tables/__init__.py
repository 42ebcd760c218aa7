"""Reference tables: what is documented, and what compilers made of the lesson's products."""

from collections.abc import Mapping

from report.content import Content
from report.exhibit import Table
from report.numbers.lowering import Preflight
from report.numbers.replay import Replay
from report.numbers.representations import RepresentationsRun
from report.numbers.study import Study
from report.numbers.sweep import SweepRun
from report.numbers.timing import TimingRun
from report.tables import (
    compiled,
    compiled_record,
    reference,
    replay,
    representations,
    sweep,
    timing,
)


def set_tables(study: Study, content: Content) -> Mapping[str, Table]:
    """Every reference table, by name."""
    tables = [*reference.tables(study, content), *compiled.tables(study, content)]
    for run in study.of(Preflight).values():
        tables += compiled_record.tables(run)
    for represented in study.of(RepresentationsRun).values():
        tables += representations.tables(represented)
    if shown := study.featured(RepresentationsRun):
        tables += representations.lesson_tables(shown)
    tables += replay.short_tables(study)
    for replayed in study.of(Replay).values():
        tables += replay.tables(replayed)
    for swept in study.of(SweepRun).values():
        tables += sweep.tables(swept, study.runs)
    for timed in study.of(TimingRun).values():
        tables += timing.tables(timed, study.values)
    return {table.name: table for table in tables}
