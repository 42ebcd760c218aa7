"""What a command says: progress and faults on standard error, results on standard output.

On a terminal progress is a moving line, in a log one plain line a stage. A program that asks
with `--json` reads its answer, a refusal too, from standard output.
"""

import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Self

from report.errors import ReportError
from report.evidence import Evidence
from report.exhibit import Table

if TYPE_CHECKING:
    from rich.progress import Progress

    from report.content import DecisionReport


class Voice:
    """One command speaking. As a context, it shows that work is going on."""

    def __init__(self, as_json: bool = False) -> None:
        self._as_json = as_json
        self._bar: Progress | None = None

    def __enter__(self) -> Self:
        if sys.stderr.isatty():
            from rich.console import Console
            from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

            self._bar = Progress(
                TextColumn("{task.description}", markup=False),
                BarColumn(),
                TimeElapsedColumn(),
                console=Console(stderr=True),
                transient=True,
            )
            self._bar.add_task("", total=None)
            self._bar.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._bar:
            self._bar.stop()
            self._bar = None

    def stage(self, name: str) -> None:
        """Say what is going on now."""
        if self._bar:
            self._bar.update(self._bar.task_ids[0], description=name)
        else:
            print(f"{name} ...", file=sys.stderr, flush=True)

    def historic(self, evidence: Mapping[str, Evidence]) -> None:
        """Say which records hold although another lab than today's made them."""
        for name, proof in evidence.items():
            if proof.level == "historic":
                self.note(f"{name} is historic: its manifest holds, another lab made it.")

    def drafts(self, reports: Mapping[str, "DecisionReport"]) -> None:
        """Say which reports are drafts, and what nobody has recorded yet."""
        for name, report in reports.items():
            if report.missing:
                self.note(f"{name} is a draft. Not recorded: {', '.join(report.missing)}.")

    def left_out(self, places: Sequence[str]) -> None:
        """Say which files do not go into a release, for their endings."""
        if places:
            self.note(f"Not taken into source/, where they do not belong: {', '.join(places)}.")

    def note(self, told: str) -> None:
        """Say something on the side."""
        print(told, file=sys.stderr)

    def result(self, told: str, **facts: object) -> None:
        """Say how it ended: `told` to a person, `facts` to a program."""
        answer = json.dumps(facts, sort_keys=True, indent=1) if self._as_json else told
        print(answer, flush=True)

    def reading(
        self, before: Sequence[str], tables: Sequence[Table], after: Sequence[str], **facts: object
    ) -> None:
        """Say an answer with tables: words and columns to a person, facts to a program."""
        if self._as_json:
            self.result("", **facts)
            return
        print(*before, sep="\n")
        for table in tables:
            print(f"\n{table.title}")
            if sys.stdout.isatty():
                self._draw(table)
            else:
                print(*_columns(table), sep="\n")
        print("", *after, sep="\n", flush=True)

    def _draw(self, table: Table) -> None:
        from rich import box
        from rich.console import Console
        from rich.table import Table as Drawn
        from rich.text import Text

        drawn = Drawn(box=box.SIMPLE_HEAD)
        for column in table.columns:
            drawn.add_column(column.head, justify="right" if column.numeric else "left")
        for row in table.rows:
            drawn.add_row(*(Text(cell.text) for cell in row))
        Console().print(drawn)

    def unchanged(self, out: Path) -> None:
        """Say that the site is what its inputs make."""
        told = f"Nothing changed: {out / 'index.html'} is what these inputs make."
        self.result(told, outcome="unchanged", site=str(out))

    def site(
        self,
        outcome: str,
        site: Mapping[str, object],
        evidence: Mapping[str, Evidence],
        out: Path | None = None,
    ) -> None:
        """Say what was built, and where; or, without `out`, that all is well."""
        pages = sum(name.endswith(".html") for name in site)
        levels = {name: proof.level for name, proof in evidence.items()}
        records = "1 record" if len(levels) == 1 else f"{len(levels)} records"
        made = f"{pages} pages, {records} verified."
        self.result(
            f"{out / 'index.html'}: {made}" if out else f"All is well: {made} Nothing was written.",
            outcome=outcome,
            pages=pages,
            files=len(site),
            records=levels,
            site=str(out) if out else None,
        )

    def refuse(self, refusal: ReportError) -> int:
        """Say every fault and what to do; return the exit code of its kind."""
        if self._as_json:
            faults = [
                {"where": f.where, "found": f.found, "expected": f.expected, "remedy": f.remedy}
                for f in refusal.faults
            ]
            with suppress(OSError):  # nobody can read it; the exit code still tells
                self.result(
                    "",
                    outcome="refused",
                    kind=refusal.kind,
                    exit=refusal.exit_code,
                    summary=refusal.summary,
                    faults=faults,
                    hint=refusal.hint,
                )
        text = f"{refusal}\n{refusal.hint}".rstrip()
        if sys.stderr.isatty():
            from rich.console import Console
            from rich.text import Text

            styled = Text(text)
            styled.stylize("bold red", 0, len(refusal.summary))
            styled.highlight_regex(r"python build\.py [^\n;]*|make [a-z]+", "bold green")
            Console(stderr=True, soft_wrap=True).print(styled)
        else:
            self.note(text)
        return refusal.exit_code


def _columns(table: Table) -> Iterator[str]:
    """The table as lines of plain text."""
    lines = [
        [column.head for column in table.columns],
        *([cell.text for cell in row] for row in table.rows),
    ]
    widths = [max(len(line[at]) for line in lines) for at in range(len(table.columns))]
    for line in lines:
        cells = [
            text.rjust(width) if column.numeric else text.ljust(width)
            for text, width, column in zip(line, widths, table.columns, strict=True)
        ]
        yield "  ".join(cells).rstrip()
