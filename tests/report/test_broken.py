"""Does each broken input earn its message? One folder a fault, in `tests/broken/`.

A case holds a `content/` folder, or a `record/` and the `lab/` that is said to have made it,
and in `expected.txt` all that a person is told: summary, every fault, hint. No text, no fault.
"""

from pathlib import Path

import pytest

from report.content import load_content
from report.errors import ContentFault, EvidenceMismatch, ReportError
from report.evidence import verify
from report.record import load_record

BROKEN = Path(__file__).resolve().parents[1] / "broken"
CASES = sorted(case.name for case in BROKEN.iterdir() if case.is_dir())
CONTENT = {name for name in CASES if (BROKEN / name / "content").is_dir()}


def told_about(case: Path) -> ReportError | None:
    """What loading the case raises."""
    try:
        if (case / "content").is_dir():
            load_content(case / "content")
        else:
            verify(load_record(case / "record"), case / "lab")
    except ReportError as error:
        return error
    return None


@pytest.mark.parametrize("name", CASES)
def test_a_broken_input_earns_its_message(name):
    error = told_about(BROKEN / name)

    told = f"{error}\n{error.hint}".strip() if error else ""
    assert told == (BROKEN / name / "expected.txt").read_text(encoding="utf-8").strip()
    if error:
        assert type(error) is (ContentFault if name in CONTENT else EvidenceMismatch)
        assert error.exit_code == (8 if name in CONTENT else 7)
