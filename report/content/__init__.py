"""What people write, read strictly: the only reader of YAML and front matter.

    content/chips, formats, models     sheets with units, addresses and dates
    content/lessons, decisions         Markdown with front matter
    content/glossary, reports          terms, and decision reports in six parts

Every fault of every file is told at once. Nothing is executed, followed or guessed.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from report.content.sheets import (
    KvCacheGiven,
    Model,
    RooflineGiven,
    load_chips,
    load_formats,
    load_models,
)
from report.content.writings import (
    DECISION_EXTRAS,
    DECISION_KEYS,
    LESSON_EXTRAS,
    LESSON_KEYS,
    REPORT_FACTS,
    Decision,
    DecisionReport,
    Document,
    Target,
    Term,
    load_documents,
    load_glossary,
    load_reports,
)
from report.errors import ContentFault, Fault, raise_if_any
from report.specs import Chip, NumberFormat, Reference

__all__ = [
    "REPORT_FACTS",
    "Content",
    "Decision",
    "DecisionReport",
    "Document",
    "KvCacheGiven",
    "Model",
    "RooflineGiven",
    "Target",
    "Term",
    "load_content",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Content:
    """Everything a site is written from, checked."""

    references: Mapping[str, Reference]
    chips: Mapping[str, Chip]
    formats: Mapping[str, NumberFormat]
    models: Mapping[str, Model]
    lessons: tuple[Document, ...]
    glossary: Mapping[str, Term]
    reports: Mapping[str, DecisionReport]
    decisions: tuple[Document, ...]


def load_content(folder: Path, shared: Path | None = None) -> Content:
    """Read the content folder, or raise one `ContentFault` that names every fault in it.

    Reference sheets and the glossary come from `shared` where `folder` has none.
    """
    if not folder.is_dir():
        raise ContentFault(f"There is no content folder {folder}.")
    faults: list[Fault] = []

    def place(name: str) -> Path:
        return folder / name if shared is None or (folder / name).is_dir() else shared / name

    references, chips = load_chips(place("chips"), faults)
    formats = load_formats(place("formats"), references, faults)
    content = Content(
        references=references,
        chips=chips,
        formats=formats,
        models=load_models(place("models"), chips, formats, faults),
        lessons=load_documents(folder / "lessons", LESSON_KEYS, LESSON_EXTRAS, faults),
        glossary=load_glossary(place("glossary"), faults),
        reports=load_reports(folder / "reports", faults),
        decisions=load_documents(folder / "decisions", DECISION_KEYS, DECISION_EXTRAS, faults),
    )
    raise_if_any(ContentFault, f"{folder.name} cannot be used as it is:", faults)
    return content
