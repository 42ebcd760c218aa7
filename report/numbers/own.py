"""A run of a lab that these pages know nothing of: where it happened, and its numbers as written.

Its report.json has a schema `assay/<lab>/1`, a `request`, a `scope` and whatever it measured.
Nothing is worked out from it, no figure is drawn of it, and no lesson cites it; its values can be
pointed at, and a decision report can stand on it.
"""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from report.errors import EvidenceMismatch, Fault, raise_if_any
from report.evidence import Evidence
from report.numbers.own_pointers import place
from report.numbers.reading import Fields
from report.numbers.run import Scope, documents, read_scope, recorded_at, source_of
from report.source import Source
from report.specs import PLATFORMS

NOT_TPU = "Not a TPU result."
"""Must stand in the statement of a run on anything else."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnRun:
    """One run, with the few facts that any record must tell."""

    name: str
    source: Source
    level: str
    scope: Scope
    recorded_at: str
    device: str
    lab: str

    @property
    def made(self) -> str:
        return f"recorded on {self.device}"

    @property
    def extent(self) -> str:
        return f"a run of {self.lab}"


def read_own(evidence: Evidence, taken: Collection[str] = ()) -> OwnRun:
    """The run, or EvidenceMismatch naming every fact that is missing or contradicts another.

    `taken` are the names of labs that are known here, which write another schema.
    """
    record = evidence.record
    report, environment, config = documents(evidence)
    lab = report.name("lab")
    _check_name(lab, report, config, taken)
    _check_parts(report)
    scope = read_scope(report.within("scope"))
    report.within("request")
    used = environment.within("devices").within("used")
    platform = used.choice("platform", PLATFORMS)
    report.within("scope").agree("platform", platform, "the platform of the device that ran")
    _check_statement(scope, report.within("scope"))
    environment.texts("redacted")
    run = OwnRun(
        name=record.name,
        source=source_of(evidence),
        level=evidence.level,
        scope=scope,
        recorded_at=recorded_at(environment),
        device=used.name("kind"),
        lab=lab,
    )
    first: dict[str, Fault] = {}
    for fault in report.faults:
        first.setdefault(fault.where, fault)
    raise_if_any(
        EvidenceMismatch,
        f"{record.name} does not tell what every record must:",
        list(first.values()),
        hint="What a run folder of your own holds is in README.md.",
    )
    return run


def _check_name(lab: str, report: Fields, config: Fields, taken: Collection[str]) -> None:
    """All documents name one lab, and not one that is known here."""
    if lab in taken:
        report.fault("lab", f"{lab!r}, a lab of Assay, which writes another schema", "a new name")
    elif lab:
        report.agree("schema", f"assay/{lab}/1", "the lab beside it")
        config.agree("lab", lab, "as in report.json")


def _check_parts(report: Fields) -> None:
    """Each part has a section of the page, with an id of its own."""
    parts: dict[str, str] = {}
    for name in sections_of(report.found):
        twin = parts.setdefault(place(name), name)
        if twin != name:
            report.fault(name, f"in letters and digits the same as {twin!r}", "another name")


def _check_statement(scope: Scope, fields: Fields) -> None:
    """The sentence above every number must name the platform, and never suggest a TPU."""
    first = scope.platform.upper()
    if not scope.statement.startswith(first):
        fields.fault(
            "statement", f"{scope.statement!r:.60}", f"a sentence that begins with {first}"
        )
    elif scope.platform != "tpu" and NOT_TPU not in scope.statement:
        fields.fault("statement", f"{scope.statement!r:.60}", f"a text that says: {NOT_TPU}")


def numbers_of(value: object, path: str = "") -> Mapping[str, int | float]:
    """Every number below `value`, by its pointer from there, in the order written."""
    return {
        leaf.path: leaf.value
        for leaf in leaves_of(value, path)
        if isinstance(leaf.value, int | float) and not isinstance(leaf.value, bool)
    }


@dataclass(frozen=True, slots=True, kw_only=True)
class Leaf:
    """One value that is not made of named others."""

    path: str
    """Its pointer."""
    value: Any
    reason: str = ""
    """Why it is null, where the lab says so."""


def leaves_of(value: object, path: str = "", reason: object = None) -> Iterator[Leaf]:
    """Every value below `value`, in the order written; a list of plain values is one of them.

    A name with `_reason` beside the name itself tells of that, and is none by itself.
    """
    if isinstance(value, list) and any(isinstance(item, list | Mapping) for item in value):
        value = {str(place): item for place, item in enumerate(value)}
    if not isinstance(value, Mapping):
        yield Leaf(path=path, value=value, reason=reason if isinstance(reason, str) else "")
        return
    for key, inner in value.items():
        if not (key.endswith("_reason") and key.removesuffix("_reason") in value):
            why = value.get(f"{key}_reason")
            yield from leaves_of(inner, f"{path}/{escaped(str(key))}", why)


def escaped(key: str) -> str:
    """A key as a JSON pointer writes it."""
    return key.replace("~", "~0").replace("/", "~1")


def sections_of(report: Mapping[str, Any]) -> list[str]:
    """The parts of a report that its page sets one by one, in the order written."""
    return [key for key in report if key not in {"schema", "lab", "request"}]
