"""What `compare` compares: a record by name, a run folder, or the record of a release."""

import os
from pathlib import Path

from report.archive import records
from report.archive.release import about, opened
from report.archive.verify import MANIFEST
from report.evidence import verify_manifest
from report.record import Record, load_record


def find(name: str, shelf: Path) -> Record:
    """A record by name, a run folder, or the record of a release; its manifest holds."""
    place = Path(name)
    if (place / MANIFEST).is_file():
        told = about(opened(place))
        cited = [claim["metric"].partition("#")[0] for claim in told.get("claims", [])]
        known = [*(name for name in cited if name in told["records"]), *told["records"]]
        place = place / "records" / known[0]
    elif not (os.sep in name or place.is_dir()):
        place = records.find(name, shelf)
    record = load_record(place)
    verify_manifest(record)
    return record
