"""The page of one replay: what was replayed, and how near each field came."""

from collections.abc import Sequence
from typing import Any

from report.evidence import Evidence
from report.exhibit import code, literal
from report.numbers.replay import WORDS, Replay
from report.pages.anchors import relative
from report.pages.desk import Heading
from report.pages.exhibits import Context, table_context
from report.pages.press import Press
from report.pages.prose import Galley
from report.pages.record_page import Steps, common, page_of

SECTIONS = {
    "verdict": "Verdict",
    "replayed": "What was replayed",
    "fields": "Field by field",
    "accumulation": "Where the errors come from",
    "determinism": "The same bytes every time?",
    "machine": "The two machines",
    "environment": "Environment",
    "files": "Files and hashes",
}


def set_replay(press: Press, evidence: Evidence, run: Replay, steps: Steps) -> None:
    """Set `records/<name>.html` of a replay."""
    record, replayed = evidence.record, run.replayed
    subject = "The published run" if replayed.foreign else f"The record {code(replayed.name)}"
    page = page_of(
        evidence,
        steps,
        "replay",
        description=f"The record {record.name}: a run worked out again, field by field.",
        deck=(
            f"{subject}, compared with this machine: inputs made again, products run again, "
            f"{run.verdict}."
        ),
        facts=(
            ("Replayed", "foreign evidence" if replayed.foreign else literal(replayed.name)),
            ("Device here", literal(run.device)),
            ("Recorded", literal(run.recorded_at)),
            ("JAX", literal(run.setting.jax)),
        ),
    )
    galley = press.galley(page.path)
    galley.headings += [Heading(level=2, id=id_, text=text) for id_, text in SECTIONS.items()]
    body: dict[str, Any] = {
        "foreign": replayed.foreign,
        "verdict": f"{run.verdict[0].upper()}{run.verdict[1:]}.",
        "counts": [
            ("within a few ulp" if word == "ulp" else word, run.count(word)) for word in WORDS
        ],
        "errors": _table(press, f"{run.name}-errors", galley),
        "replayed": list(described(run)),
        "published": replayed.as_published,
        "origin": replayed.origin,
        "address": replayed.origin if replayed.origin.startswith("https://") else "",
        "kept": relative(f"records/{record.name}/{replayed.file.path}", page.path)
        if replayed.file
        else "",
        "results": [
            {
                "id": result,
                "given": _table(press, f"{run.name}-fields-{result}", galley),
                "absent": _table(press, f"{run.name}-absent-{result}", galley),
            }
            for result in run.fields
        ],
        "accumulation": _table(press, f"{run.name}-accumulation", galley),
        "repeats": _table(press, f"{run.name}-repeats", galley),
        "steady": run.steady,
        "machine": _table(press, f"{run.name}-machine", galley),
    }
    press.set(page, galley, **body, **common(evidence, galley))


def _table(press: Press, name: str, galley: Galley) -> Context | None:
    """One of the record's tables, or None where it has no such table."""
    if name not in press.desk.exhibits.names("tab"):
        return None
    return table_context(press.desk.exhibits.table(name), 0, galley)


def described(run: Replay) -> Sequence[tuple[str, str]]:
    """What was replayed, fact by fact."""
    replayed = run.replayed
    product = " × ".join(map(str, run.shape))
    facts = [
        ("kind", "a report that others published" if replayed.foreign else "a record of this lab"),
        ("name", replayed.name),
        ("batch × features × outputs", product),
        ("recorded at", replayed.recorded_at or "not recorded"),
        ("sha256", replayed.sha256),
    ]
    if replayed.foreign:
        facts.append(("published sha256", replayed.published_sha256 or "not told"))
    seed = "recorded" if replayed.seed_recorded else "not recorded: this lab’s own was tried"
    facts.append(("seed", seed))
    if replayed.lab_changes:
        facts.append(("lab modules changed since", ", ".join(replayed.lab_changes)))
    if replayed.absent:
        facts.append(("results not in it", ", ".join(replayed.absent)))
    return facts
