"""The page of a run whose lab is not known here: every field that it wrote, and its files."""

from typing import Any

from report.evidence import Evidence
from report.exhibit import code, literal
from report.numbers.own import OwnRun, sections_of
from report.numbers.own_pointers import place
from report.pages.desk import Heading
from report.pages.press import Press
from report.pages.record_page import Steps, common, flat, page_of


def set_own(press: Press, evidence: Evidence, run: OwnRun, steps: Steps) -> None:
    """Set `records/<name>.html` of a run of any lab."""
    record = evidence.record
    page = page_of(
        evidence,
        steps,
        "own",
        description=f"The recorded run {record.name}: every field that its lab wrote.",
        deck=(
            f"One run of the lab {code(run.lab)}, byte for byte as written. These pages do not know"
            " this lab: they print what it wrote, and work nothing out from it."
        ),
        facts=(
            ("Device", literal(run.device)),
            ("Recorded", literal(run.recorded_at)),
        ),
    )
    galley = press.galley(page.path)
    parts = [
        {"id": place(name), "name": name, "fields": list(flat(record.report[name]))}
        for name in sections_of(record.report)
    ]
    named = [(part["id"], str(part["name"]).replace("_", " ").capitalize()) for part in parts]
    places = [("request", "Request"), ("environment", "Environment"), *named]
    places.append(("files", "Files and hashes"))
    galley.headings += [Heading(level=2, id=str(id_), text=text) for id_, text in places]
    body: dict[str, Any] = {
        "request": [("schema", str(record.report["schema"])), *flat(record.report["request"])],
        "parts": [{**part, "title": text} for part, (_, text) in zip(parts, named, strict=True)],
    }
    press.set(page, galley, **body, **common(evidence, galley))
