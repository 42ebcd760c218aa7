"""The shelf of records: a run becomes a record, and a record is replaced, renamed or removed.

Every change is prepared beside the records and takes effect in one rename, so that a kill
leaves the old record or the new one, whole. What a kill leaves half-prepared is cleared by
the next change.
"""

import fcntl
import os
import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from report.archive import manifest
from report.errors import UsageFault, did_you_mean
from report.evidence import Evidence, verify_all, verify_manifest
from report.folder import RESERVED, exchange
from report.numbers.study import read_all
from report.record import Record, load_record

NAME = re.compile(r"[a-z0-9][a-z0-9-]{0,62}")
TAKEN = frozenset({"study", "chips", "formats", "models"})
"""Names that a pointer already uses for something else."""

_STAGING, _RETIRED = ".new", ".old"


def folders(records: Path) -> list[Path]:
    """The record folders under `records`, by name; what is being prepared is not among them."""
    if not records.is_dir():
        return []
    return sorted(f for f in records.iterdir() if not f.name.startswith(".") and f.is_dir())


def load_all(records: Path) -> list[Record]:
    """Every record, as written."""
    return [load_record(folder) for folder in folders(records)]


def find(name: str, records: Path) -> Path:
    """The folder of a record, or a fault that lists near names."""
    known = [folder.name for folder in folders(records)]
    if name not in known:
        summary = f"There is no record named {name!r} in {records}."
        raise UsageFault(summary, hint=did_you_mean(name, known))
    return records / name


def add(
    run: Path,
    name: str,
    records: Path,
    lab: Path,
    *,
    replace: bool = False,
    allow_stale: bool = False,
    own: Path | None = None,
) -> Evidence:
    """Copy a finished run onto the shelf as `name`, once all has been checked that a build checks.

    With `allow_stale`, a run made by another lab is kept too, as historic evidence. `own` is the
    reader's own lab.
    """
    _check_name(name)
    record = load_record(run)
    proofs = verify_all([record], lab, allow_stale=allow_stale, own=own, kept=False)
    read_all(proofs)
    with changing(records):
        target = records / name
        if os.path.lexists(target) and not replace:
            raise UsageFault(
                f"{target} is already there and stays as it is.",
                hint="Choose another name, or say --replace.",
            )
        staged = stage(name, records)
        for path in (*(file.path for file in record.files), manifest.NAME):
            copy = staged / path
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(run / path, copy, follow_symlinks=False)
        put(name, records)
    return proofs[record.name]


def rename(old: str, new: str, records: Path) -> None:
    """Give a record another name; nothing inside it changes."""
    _check_name(new)
    with changing(records):
        source = find(old, records)
        if os.path.lexists(records / new):
            raise UsageFault(f"{records / new} is already there and stays as it is.")
        source.rename(records / new)


def remove(name: str, records: Path) -> None:
    """Take a record off the shelf."""
    with changing(records):
        _retire(find(name, records))


@contextmanager
def changing(records: Path) -> Iterator[None]:
    """Hold the shelf for one change, with nothing left over from a change that was killed."""
    records.mkdir(parents=True, exist_ok=True)
    handle = os.open(records, os.O_RDONLY)
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise UsageFault(
                f"Another command is changing {records}.", hint="Wait for it, then try again."
            ) from None
        _clear(records)
        try:
            yield
        finally:
            _clear(records)
    finally:
        os.close(handle)


def stage(name: str, records: Path) -> Path:
    """Where the next content of record `name` is prepared; the folder is not there yet."""
    (records / _STAGING).mkdir()
    return records / _STAGING / name


def put(name: str, records: Path) -> None:
    """Verify what was staged as `name` and let it take its place; the old one goes."""
    staged, target = records / _STAGING / name, records / name
    verify_manifest(load_record(staged))
    if target.is_symlink() or target.is_file():
        raise UsageFault(f"{target} is not a folder, so it is not a record; it stays as it is.")
    if target.exists() and exchange(staged, target):
        return
    if target.exists():
        _retire(target)
    staged.rename(target)


def _retire(folder: Path) -> None:
    retired = folder.parent / _RETIRED
    retired.mkdir()
    folder.rename(retired / folder.name)


def _clear(records: Path) -> None:
    """Remove what a change left over. A record whose successor never took its place comes back."""
    staging, retired = records / _STAGING, records / _RETIRED
    for old in folders(retired):
        if (staging / old.name).is_dir() and not (records / old.name).exists():
            old.rename(records / old.name)
    for leftover in (staging, retired):
        if leftover.is_dir():
            shutil.rmtree(leftover)


def _check_name(name: str) -> None:
    if not NAME.fullmatch(name) or name in TAKEN or RESERVED.fullmatch(name):
        taken = "study, chips, formats and models are taken, and con, nul and the like by Windows"
        raise UsageFault(
            f"{name!r} cannot name a record.", hint=f"Use a-z, 0-9 and hyphens; {taken}."
        )
