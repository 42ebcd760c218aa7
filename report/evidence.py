"""The one door: a record whose files and sources still match becomes evidence.

*Current* evidence was measured by the lab as it is today. *Historic* evidence has a manifest
that holds, but an earlier lab made it: it may be shown as such, never cited as today's result.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from shlex import quote
from typing import Literal

from report.errors import EvidenceMismatch, Fault, raise_if_any
from report.record import MAX_JSON_BYTES, Record, printable

Level = Literal["current", "historic"]

_SOURCES = "sources/lab/"
"""Where a run keeps byte copies of the lab modules that made it."""

_FAILED = "A run that failed is no evidence:"
_RESTORE = "Restore the record's files, from version control or from whoever made it."
_MEND = "Run it again, or mend it and write its manifest anew: README.md says what a run holds."


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceChange:
    """A lab source that is not what it was when a record was made."""

    path: str
    """Relative to the lab."""
    recorded: str
    found: str | None
    """Today's SHA-256; `None` when the file is gone."""
    line_endings_only: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """A record whose manifest holds. The type is the proof; nobody checks twice."""

    record: Record
    level: Level
    lab_changes: tuple[SourceChange, ...]
    """Sources that have changed since; empty for current evidence."""


def verify(record: Record, lab: Path) -> Evidence:
    """`record` as current evidence, or `EvidenceMismatch` naming every file that differs."""
    return verify_all([record], lab)[record.name]


def verify_manifest(record: Record, lab: Path | None = None) -> Evidence:
    """`record` as historic evidence: its own files match, whatever the lab is today."""
    summary, hint = f"{record.name} is not what was recorded:", _RESTORE
    if record.failed:
        summary, hint = _FAILED, "Run it again."
    raise_if_any(EvidenceMismatch, summary, file_faults(record), hint=hint)
    changes = tuple(source_changes(record, lab)) if lab else ()
    return Evidence(record=record, level="historic", lab_changes=changes)


def verify_all(
    records: Iterable[Record],
    lab: Path,
    allow_stale: bool = False,
    own: Path | None = None,
    *,
    kept: bool = True,
) -> dict[str, Evidence]:
    """Every record as evidence, by name, or one `EvidenceMismatch` with the faults of all.

    With `allow_stale`, a record that an earlier lab made comes out as historic. A source that
    `lab` does not have is looked for in `own`, the reader's own lab. What is not yet `kept` is a
    run that asks to become a record.
    """
    evidence: dict[str, Evidence] = {}
    failed: list[Fault] = []
    altered: list[Fault] = []
    stale: list[Fault] = []
    to_run: list[str] = []
    to_measure: list[str] = []
    for record in records:
        if record.failed:
            failed += file_faults(record)
            to_run.append(run_again(record, lab))
            continue
        altered += file_faults(record)
        changes = tuple(source_changes(record, lab, own))
        if changes and not allow_stale:
            stale += [_stale_fault(record, change, lab, own) for change in changes]
            to_measure.append(run_again(record, lab))
        level: Level = "historic" if changes else "current"
        evidence[record.name] = Evidence(record=record, level=level, lab_changes=changes)
    kinds = (
        (failed, _FAILED, f"Run it again: {'; '.join(to_run)}"),
        (altered, "Records are not what was recorded:", _RESTORE if kept else _MEND),
        (
            stale,
            "Records were measured with other sources:",
            f"Restore these files, or measure again: {'; '.join(to_measure)}",
        ),
    )
    summaries = [summary for faults, summary, _ in kinds if faults]
    summary = summaries[0] if len(summaries) == 1 else "Records do not match:"
    raise_if_any(
        EvidenceMismatch,
        summary if kept else "The run cannot become a record:",
        [*failed, *altered, *stale],
        hint="\n".join(hint for faults, _, hint in kinds if faults),
    )
    return evidence


def run_again(record: Record, lab: Path) -> str:
    """What measures a record again, or makes a run that is no record yet."""
    shelf, name = record.folder.parent, quote(record.folder.name)
    own = "" if shelf.parent == lab else f" --content {quote(str(shelf.parent))}"
    if not _is_of(record, lab):
        again = "run your program again"
        keep = f", then python build.py record RUN_DIR --as {name} --replace{own}"
        return f"{again}{keep}" if shelf.name == "records" else again
    if shelf.name != "records":
        return f"python build.py run {quote(_lab_of(record))}"
    return f"python build.py run {name}{own}"


def _lab_of(record: Record) -> str:
    return str(record.config.get("lab") or record.report.get("lab") or "LAB")


def _is_of(record: Record, lab: Path) -> bool:
    """Whether `lab` has the program that made a record; one that tells no program may be its."""
    name = _lab_of(record)
    return name == "LAB" or (name.isidentifier() and (lab / f"{name}.py").exists())


def file_faults(record: Record) -> list[Fault]:
    """Everything by which the record's files differ from its manifest, each named apart."""
    faults = list(record.faults)
    if record.failed:
        return faults
    found = {file.path: file for file in record.files}
    for path, recorded in record.manifest.items():
        where = f"{record.name}/{path}"
        if path not in found:
            faults.append(Fault(where=where, found="missing", expected="a file, as listed"))
        elif found[path].sha256 != recorded:
            how = _how_changed(record.folder / path, recorded, found[path].sha256)
            faults.append(Fault(where=where, found=how, expected=f"SHA-256 {recorded:.12}"))
    if record.manifest:
        faults += [
            Fault(
                where=f"{record.name}/{printable(path)}",
                found="added: the manifest does not list it",
                expected="only files that the manifest lists",
            )
            for path in sorted(found.keys() - record.manifest.keys())
        ]
        if not any(path.startswith(_SOURCES) for path in record.manifest):
            faults.append(
                Fault(
                    where=f"{record.name}/{_SOURCES.rstrip('/')}",
                    found="no sources in the manifest",
                    expected="a copy of the lab that measured",
                )
            )
    return faults


def source_changes(record: Record, lab: Path, own: Path | None = None) -> Iterator[SourceChange]:
    """Sources recorded for `record` that differ from `lab`, or from one's `own`, today."""
    for path, recorded in record.manifest.items():
        if not path.startswith(_SOURCES):
            continue
        name = path.removeprefix(_SOURCES)
        today = lab / name
        if own and not today.exists():
            today = own / name
        if today.is_symlink() or not today.is_file():
            yield SourceChange(path=name, recorded=recorded, found=None)
            continue
        content = today.read_bytes()
        found = sha256(content).hexdigest()
        if found != recorded:
            yield SourceChange(
                path=name,
                recorded=recorded,
                found=found,
                line_endings_only=_same_but_line_endings(content, recorded),
            )


def _stale_fault(record: Record, change: SourceChange, lab: Path, own: Path | None = None) -> Fault:
    is_own = own and not _is_of(record, lab) and not (lab / change.path).exists()
    if change.found is None:
        found = "missing"
    else:
        found = f"SHA-256 {change.found:.12}"
        if change.line_endings_only:
            found += ", which differs only by its line endings"
    return Fault(
        where=f"{own if is_own else lab.name}/{change.path}",
        found=found,
        expected=f"SHA-256 {change.recorded:.12}, the source that measured {record.name}",
        remedy=f"The run has it, in {_SOURCES}{change.path}." if is_own else "",
    )


def _how_changed(path: Path, recorded: str, found: str) -> str:
    changed = f"changed since its manifest was written, to SHA-256 {found:.12}"
    if path.stat().st_size <= MAX_JSON_BYTES and _same_but_line_endings(
        path.read_bytes(), recorded
    ):
        changed += ", and differs only by its line endings"
    return changed


def _same_but_line_endings(content: bytes, recorded: str) -> bool:
    """Whether the recorded bytes come back when line endings are all LF or all CRLF."""
    unix = content.replace(b"\r\n", b"\n")
    return recorded in (
        sha256(unix).hexdigest(),
        sha256(unix.replace(b"\n", b"\r\n")).hexdigest(),
    )
