"""What tests of numbers, figures and tables stand on: this project's records and content."""

import copy
from dataclasses import replace
from functools import cache
from hashlib import sha256
from pathlib import Path

from report.content import Content, load_content
from report.evidence import Evidence, verify_manifest
from report.numbers.study import Study, work_out
from report.record import load_record

ROOT = Path(__file__).parents[2]


@cache
def evidence() -> dict[str, Evidence]:
    """Every record of this project, its own files verified."""
    folders = sorted((ROOT / "lab" / "records").iterdir())
    return {folder.name: verify_manifest(load_record(folder)) for folder in folders}


@cache
def content() -> Content:
    return load_content(ROOT / "content")


@cache
def study() -> Study:
    return work_out(evidence(), content())


def edited(name: str, edits: dict[str, object]) -> Evidence:
    """The record `name` with values of its report replaced, by JSON pointer."""
    found = evidence()[name]
    report = copy.deepcopy(dict(found.record.report))
    for pointer, value in edits.items():
        *parents, last = pointer.removeprefix("/").split("/")
        inner = report
        for key in parents:
            inner = inner[key]
        inner[last] = value
    other = sha256(repr(edits).encode()).hexdigest()
    return replace(found, record=replace(found.record, report=report, manifest_sha256=other))
