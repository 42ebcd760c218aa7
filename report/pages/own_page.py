"""The page of a run whose lab is not known here: every field that it wrote, and its files."""

from collections.abc import Iterator, Mapping
from typing import Any

from report.evidence import Evidence
from report.exhibit import code, literal
from report.numbers.own import OwnRun, escaped, sections_of
from report.numbers.own_pointers import place, row
from report.pages.desk import Heading
from report.pages.exhibits import Context
from report.pages.press import Press
from report.pages.record_page import Steps, common, leaves, page_of

Keys = tuple[str, ...]
MOST_TOGETHER = 24
"""Entries of a list that stand open; a longer one begins folded under its name."""
MOST_OPEN = 60
"""Rows of one part that stand open."""


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
    report, used = record.report, set[str]()
    parts = [part_of(name, report[name], used) for name in sections_of(report)]
    places = [("request", "Request"), ("environment", "Environment")]
    places += [(part["id"], part["title"]) for part in parts]
    places.append(("files", "Files and hashes"))
    galley.headings += [Heading(level=2, id=id_, text=text) for id_, text in places]
    asked = part_of("request", report["request"], used)
    body: dict[str, Any] = {"schema": report["schema"], "request": asked, "parts": parts}
    press.set(page, galley, **body, **common(evidence, galley))


def part_of(name: str, value: Any, used: set[str]) -> Context:
    """One part of a report as rows of its page; long lists apart. `used` are the ids so far."""
    lists = dict(long_lists(value, (name,)))
    rows: dict[Keys, list[Context]] = {(): [], **{keys: [] for keys in lists}}
    for keys, text in leaves(value, (name,)):
        shelf = next((keys[:n] for n in range(1, len(keys) + 1) if keys[:n] in lists), ())
        named = [row([escaped(key) for key in keys[:n]]) for n in range(2, len(keys) + 1)]
        ids = [id_ for id_ in dict.fromkeys(named) if id_ and id_ not in used]
        used.update(ids)
        rows[shelf].append({"ids": ids, "name": ".".join(keys[1:]) or name, "text": text})
    return {
        "id": place(name),
        "name": name,
        "title": name.replace("_", " ").capitalize(),
        "rows": rows[()],
        "lists": [
            {"name": ".".join(keys[1:]) or name, "entries": f"{count:,}", "rows": rows[keys]}
            for keys, count in lists.items()
        ],
        "count": f"{sum(map(len, rows.values())):,}",
        "folded": len(rows[()]) + len(lists) > MOST_OPEN,
    }


def long_lists(value: Any, keys: Keys) -> Iterator[tuple[Keys, int]]:
    """The keys of each list that begins folded, and how many entries it has."""
    if isinstance(value, list) and len(value) > MOST_TOGETHER:
        yield keys, len(value)
    elif isinstance(value, Mapping | list):
        items = value.items() if isinstance(value, Mapping) else enumerate(value)
        for key, inner in items:
            yield from long_lists(inner, (*keys, str(key)))
