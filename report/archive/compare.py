"""What `compare` compares: a record by name, a run folder, or the record of a release."""

import os
from dataclasses import replace
from pathlib import Path

from report.archive import records
from report.archive.release import about, opened
from report.archive.verify import MANIFEST
from report.errors import UsageFault
from report.evidence import verify_manifest
from report.record import Record, load_record


def find_both(one: str, two: str, shelf: Path) -> tuple[Record, Record]:
    """The records that two names mean; of two that are called alike, each goes by its place."""
    found = find(one, shelf), find(two, shelf)
    if one != two and found[0].name == found[1].name:
        return replace(found[0], name=one), replace(found[1], name=two)
    return found


def find(name: str, shelf: Path) -> Record:
    """A record by name, a run folder, or the record of a release; its manifest holds."""
    place = Path(name)
    if (place / MANIFEST).is_file():
        told = about(opened(place))
        cited = [claim["metric"].partition("#")[0] for claim in told.get("claims", [])]
        known = [*(name for name in cited if name in told["records"]), *told["records"]]
        place = place / "records" / known[0]
    elif not (os.sep in name or place.is_dir()):
        place = _on_shelf(name, shelf)
    record = load_record(place)
    verify_manifest(record)
    return record


def _on_shelf(name: str, shelf: Path) -> Path:
    try:
        return records.find(name, shelf)
    except UsageFault as fault:
        elsewhere = "--content DIR looks in DIR/records; a run elsewhere is named by its folder."
        raise UsageFault(fault.summary, hint=f"{fault.hint} {elsewhere}".strip()) from None
