"""Reference tables: what is documented, and what compilers made of the lesson's products."""

from collections.abc import Mapping

from report.content import Content
from report.exhibit import Table
from report.numbers.lowering import Preflight
from report.numbers.study import Study
from report.tables import compiled, compiled_record, reference


def set_tables(study: Study, content: Content) -> Mapping[str, Table]:
    """Every reference table, by name."""
    tables = [*reference.tables(study, content), *compiled.tables(study, content)]
    for run in study.of(Preflight).values():
        tables += compiled_record.tables(run)
    return {table.name: table for table in tables}
