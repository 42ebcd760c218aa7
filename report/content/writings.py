"""Lessons and decisions (Markdown with front matter), the glossary, and decision reports."""

import operator
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Literal, cast

from report.content.form import Form
from report.content.shelf import Text, forms, lists, texts
from report.content.strict import Scalar, read_yaml
from report.errors import ContentFault, Fault, near_names
from report.notation import prints_exactly
from report.specs import PLATFORMS

Outcome = Literal["hold", "adopt", "reject"]

_FENCE = "---"
_LICENSE = re.compile(r'https://[^\s<>"]+|(?!LicenseRef)[A-Za-z0-9][A-Za-z0-9.+-]*')
"""A licence of the SPDX list, https://spdx.org/licenses/, or wherever its text can be read."""

LESSON_KEYS = {"title": str, "deck": str, "description": str, "order": int}
LESSON_EXTRAS = {"eyebrow": str, "minutes": int}
DECISION_KEYS = {"title": str, "description": str, "order": int}
DECISION_EXTRAS = {"date": date}

REPORT_FACTS: Mapping[str, tuple[str, ...]] = {
    "workload": (
        "modality",
        "objective",
        "batch and sequence",
        "mode",
        "quality metric",
        "latency target",
    ),
    "hardware": (
        "generation",
        "chips",
        "hosts",
        "JAX devices",
        "topology",
        "backend",
        "versions",
    ),
    "precision_policy": (
        "weights",
        "activations",
        "accumulators",
        "reductions",
        "gradients",
        "optimizer state",
        "inference cache",
    ),
    "evidence": (
        "hashes",
        "held-out task quality",
        "synchronized timing",
        "memory",
        "trace",
    ),
    "interpretation": ("hypothesis", "what changed", "target met"),
    "scope": ("devices", "extent", "platform", "left to qualify"),
}
"""What each part of a decision report must answer, if only with null. It may answer more."""

_COMPARATORS: Mapping[str, Callable[[float, float], bool]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Document:
    """A Markdown file: its front matter, and its body from `first_line` of the file on."""

    path: str
    """Where faults place it, such as `content/lessons/choose.md`."""
    slug: str
    title: str
    front: Mapping[str, Scalar]
    body: str
    first_line: int
    sha256: str
    """Of the file's bytes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Term:
    """A word the lessons explain once."""

    term: str
    definition_markdown: str
    symbol: str
    """TeX, or empty."""
    path: str
    line: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """What was declared before measuring: a metric, and the value it must keep to."""

    metric: str
    """A pointer, such as `precision-cpu#/results/outlier-int8/relative_l2_error`."""
    comparator: str
    threshold: float
    statement: str
    format: str = "error"
    """How the metric and the threshold print: a number format."""

    def met_by(self, measured: float | None) -> bool:
        """Whether `measured` is as declared; a metric without a value meets no target."""
        return measured is not None and _COMPARATORS[self.comparator](measured, self.threshold)


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """What was decided, and until what."""

    outcome: Outcome
    statement: str
    until: tuple[str, ...]
    """What must happen first; only a decision on hold waits for something."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Baseline:
    """The record that the report's own is compared with: the same, but for one factor."""

    record: str
    factor: str
    """The one thing that was changed on purpose, such as `shape`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Superseded:
    """The earlier release that a report takes the place of."""

    release: str
    """Such as `precision-cpu-1`."""
    manifest: str
    """The SHA-256 of its MANIFEST.sha256."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DecisionReport:
    """Six parts and a decision. A fact that nobody recorded is `None`, and makes it a draft."""

    path: str
    slug: str
    title: str
    date: date
    number: int
    record: str
    """The name of the record it rests on."""
    target: Target
    parts: Mapping[str, Mapping[str, str | None]]
    """Every part of `REPORT_FACTS` in that order; texts are Markdown and may hold value roles."""
    decision: Decision
    sha256: str
    supersedes: Superseded | None = None
    baseline: Baseline | None = None
    license: str | None = None
    """An SPDX identifier or an address; `None` where the author states none."""

    @property
    def missing(self) -> tuple[str, ...]:
        """Facts that nobody recorded, such as `workload.latency_target`."""
        return tuple(
            f"{part}.{fact}"
            for part, facts in self.parts.items()
            for fact, text in facts.items()
            if text is None
        )

    @property
    def status(self) -> Literal["DRAFT", "FINAL"]:
        return "DRAFT" if self.missing else "FINAL"

    def contradictions(self, *, measured: float | None, platform: str) -> tuple[Fault, ...]:
        """What the report says against its evidence: the metric's value and where it was measured.

        A `measured` of `None` is a metric without a value.
        """
        faults = []
        target = self.target
        met = target.met_by(measured)
        if self.decision.outcome == "adopt" and not met:
            faults.append(
                Fault(
                    where=f"{self.path} decision.outcome",
                    found=f"adopt, with {target.metric} at {measured}",
                    expected=f"a metric {target.comparator} {target.threshold}, as declared",
                    remedy="Hold or reject, or measure what meets the target.",
                )
            )
        said = _answered(self.parts["interpretation"].get("target met") or "")
        if said is not None and said != met:
            faults.append(
                Fault(
                    where=f"{self.path} interpretation.target met",
                    found="yes" if said else "no",
                    expected=f"{'yes' if met else 'no'}: {target.metric} is {measured}, and the "
                    f"target {target.comparator} {target.threshold}",
                )
            )
        for part, fact in (("hardware", "backend"), ("scope", "platform")):
            claimed = _platform_claimed(self.parts[part].get(fact) or "")
            if claimed and claimed != platform:
                faults.append(
                    Fault(
                        where=f"{self.path} {part}.{fact}",
                        found=f"a claim about {claimed.upper()}",
                        expected=f"{platform.upper()}, where {self.record} was measured",
                    )
                )
        return (*faults, *self._mislabelled(platform))

    def _mislabelled(self, platform: str) -> Iterator[Fault]:
        """Where the title or the hardware names another kind of device and not the one that ran."""
        if platform not in PLATFORMS:  # nothing was run: a compiler was asked
            return
        facts = {f"hardware.{fact}": text or "" for fact, text in self.parts["hardware"].items()}
        facts["scope.devices"] = self.parts["scope"]["devices"] or ""
        if _platform_claimed(facts["hardware.backend"]):  # and judged by that word
            del facts["hardware.backend"]
        denied = {place for place, text in facts.items() if _first_word(text) == "none"}
        for place, text in {"title": self.title, **facts}.items():
            named = _devices_named(text)
            found = named if place in _DEVICE_PLACES else named - {"cpu"}
            if found and platform not in named and place not in denied:
                other = min(found).upper()
                yield Fault(
                    where=f"{self.path} {place}",
                    found=f"{text!r}, which names a {' and a '.join(sorted(found)).upper()}",
                    expected=f"the {platform.upper()} on which {self.record} was made",
                    remedy=f"Name the {platform.upper()} in it as well, or leave the {other} out."
                    if place == "title"
                    else f"Name it, or begin with None: there was no {other}.",
                )


def load_documents(
    folder: Path, keys: Mapping[str, type], extras: Mapping[str, type], faults: list[Fault]
) -> tuple[Document, ...]:
    """Every Markdown file of `folder`, by its `order` and then its name."""
    found = (_document(text, keys, extras, faults) for text in texts(folder, ".md", faults))
    documents = [document for document in found if document]
    return tuple(sorted(documents, key=lambda document: (_order(document), document.slug)))


def load_glossary(folder: Path, faults: list[Fault]) -> Mapping[str, Term]:
    """Every term of every YAML file of `folder`, in alphabetical order."""
    terms: dict[str, Term] = {}
    for text, entries in lists(folder, faults):
        for entry in entries:
            term = Term(
                term=entry.plain("term"),
                definition_markdown=entry.text("definition"),
                symbol=entry.text("symbol", ""),
                path=text.path,
                line=entry.line,
            )
            entry.close()
            twin = terms.setdefault(term.term.casefold(), term)
            if twin is not term:
                found = f"{term.term!r} a second time"
                expected = f"once; it is already at {twin.path}:{twin.line}"
                entry.fault(entry.line_of("term"), "term", found, expected)
    return {terms[key].term: terms[key] for key in sorted(terms)}


def load_reports(folder: Path, faults: list[Fault]) -> Mapping[str, DecisionReport]:
    """Every decision report of `folder`, by slug."""
    return {text.slug: _report(text, form) for text, form in forms(folder, faults)}


def _document(
    text: Text, keys: Mapping[str, type], extras: Mapping[str, type], faults: list[Fault]
) -> Document | None:
    lines = text.text.split("\n")
    if lines[0] != _FENCE or _FENCE not in lines[1:]:
        expected = "front matter: a first line ---, keys and values, a closing line ---"
        faults.append(Fault(where=f"{text.path}:1", found="no front matter", expected=expected))
        return None
    end = lines.index(_FENCE, 1)
    root = read_yaml("\n".join(lines[1:end]), text.path, faults, first_line=2)
    if root is None:
        return None
    form = Form(root, text.path, faults)
    front = {key: _front_value(form, key, kind) for key, kind in keys.items()}
    front |= {key: _front_value(form, key, kind) for key, kind in extras.items() if key in form}
    form.close()
    return Document(
        path=text.path,
        slug=text.slug,
        title=str(front["title"]),
        front=front,
        body="\n".join(lines[end + 1 :]),
        first_line=end + 2,
        sha256=text.sha256,
    )


def _front_value(form: Form, key: str, kind: type) -> Scalar:
    if kind is int:
        return form.integer(key)
    if kind is date:
        return form.day(key)
    return form.text(key) if key == "deck" else form.plain(key)


def _order(document: Document) -> int:
    return cast("int", document.front.get("order", 0))


def _report(text: Text, form: Form) -> DecisionReport:
    report = DecisionReport(
        path=text.path,
        slug=text.slug,
        title=form.plain("title"),
        date=form.day("date"),
        number=form.integer("number", minimum=1),
        record=form.text("record"),
        target=_target(form.form("target")),
        parts={part: _part(form, part) for part in REPORT_FACTS},
        decision=_decision(form.form("decision")),
        sha256=text.sha256,
        supersedes=_superseded(form.form("supersedes")) if "supersedes" in form else None,
        baseline=_baseline(form.form("baseline")) if "baseline" in form else None,
        license=_license(form),
    )
    platform = report.parts["scope"]["platform"]
    if platform and not _platform_claimed(platform):
        scope = form.form("scope")
        expected = f"a sentence that begins with {', '.join(PLATFORMS).upper()}"
        scope.fault(scope.line_of("platform"), "platform", platform, expected)
    form.close()
    return report


def _part(form: Form, part: str) -> Mapping[str, str | None]:
    """The facts of one part, as written; those that it should answer and does not come last."""
    facts: dict[str, str | None] = {}
    if part in form and not form.is_null(part):
        written = form.form(part)
        facts = {fact: written.text_or_none(fact) for fact in written}
        _check_names(written, REPORT_FACTS[part])
    return facts | {fact: None for fact in REPORT_FACTS[part] if fact not in facts}


def _license(form: Form) -> str | None:
    stated = form.text_or_none("license")
    if stated and not _LICENSE.fullmatch(stated):
        expected = "an SPDX identifier, such as CC-BY-4.0, or an address that begins with https://"
        form.fault(form.line_of("license"), "license", repr(stated), expected)
    return stated


def _check_names(written: Form, asked: Sequence[str]) -> None:
    """A fact of one's own may have any plain name, but no misspelling of one that is missing."""
    missing = {fact.casefold(): fact for fact in asked if fact not in written}
    for fact in written:
        line = written.line_of(fact)
        written.check_plain(fact, line)
        name = fact.casefold().replace("_", " ")
        if fact not in asked and (near := near_names(name, list(missing), likeness=0.8)):
            meant = missing[near[0]]
            found = f"the fact {fact!r}, while {meant!r} is missing"
            remedy = f"Did you mean {meant}? If not, write {meant}: null as well."
            written.fault(line, "", found, remedy=remedy)


def _baseline(form: Form) -> Baseline:
    baseline = Baseline(record=form.text("record"), factor=form.text("factor"))
    form.close()
    return baseline


def _superseded(form: Form) -> Superseded:
    superseded = Superseded(release=form.text("release"), manifest=form.text("manifest"))
    if superseded.manifest and not re.fullmatch("[0-9a-f]{64}", superseded.manifest):
        expected = "the SHA-256 of its MANIFEST.sha256, 64 lower-case digits"
        form.fault(form.line_of("manifest"), "manifest", superseded.manifest, expected)
    form.close()
    return superseded


def _target(form: Form) -> Target:
    target = Target(
        metric=form.text("metric"),
        comparator=form.choice("comparator", tuple(_COMPARATORS)),
        threshold=form.number("threshold"),
        statement=form.text("statement"),
        format=form.text("format", "error"),
    )
    if target.metric and "#/" not in target.metric:
        expected = "a pointer, such as precision-cpu#/results/outlier-int8/relative_l2_error"
        form.fault(form.line_of("metric"), "metric", target.metric, expected)
    try:
        if not prints_exactly(target.threshold, target.format):
            found = f"{target.threshold}, which {target.format} prints rounded"
            remedy = "Use a format with more digits, or full."
            form.fault(form.line_of("threshold"), "threshold", found, remedy=remedy)
    except ContentFault as error:  # of a format that nobody knows, or that prints no such number
        form.fault(form.line_of("threshold"), "threshold", error.summary, remedy=error.hint)
    form.close()
    return target


def _decision(form: Form) -> Decision:
    decision = Decision(
        outcome=cast("Outcome", form.choice("outcome", ("hold", "adopt", "reject"))),
        statement=form.text("statement"),
        until=form.texts("until", optional=True),
    )
    if decision.outcome == "hold" and not decision.until:
        found = "on hold, and until nothing"
        form.fault(form.line, "until", found, "what must happen before the decision is made")
    if decision.outcome != "hold" and decision.until:
        found = f"{decision.outcome}, yet waiting until something"
        form.fault(form.line_of("until"), "until", found, "no condition, or the outcome hold")
    form.close()
    return decision


def _platform_claimed(text: str) -> str:
    """The platform that `text` begins with, such as `cpu`, or nothing."""
    first = _first_word(text)
    return first if first in PLATFORMS else ""


_DEVICE_PLACES = (
    *("title", "scope.devices"),
    *(f"hardware.{fact}" for fact in REPORT_FACTS["hardware"] if fact not in ("hosts", "versions")),
)
"""Where it is said on what a run was made; elsewhere the CPU may be named that every host has."""
_POINTED = re.compile(r"\{(?!given\})\w+\}`[^`]*`")
"""A role that names where something stands; what is given is in the author's own words."""
_DEVICE = re.compile(r"\b(?:(cpu|gpu)|tpu|trillium|ironwood|v[2-9](?:[ep]\b|lite))")


def _devices_named(text: str) -> set[str]:
    """The platforms that `text` names in passing; v5e and its like are TPUs."""
    return {found[1] or "tpu" for found in _DEVICE.finditer(_POINTED.sub("", text).casefold())}


def _answered(text: str) -> bool | None:
    """The yes or no that `text` begins with, if it begins with one."""
    return {"yes": True, "no": False}.get(_first_word(text))


def _first_word(text: str) -> str:
    """In lower case, without what ends it; empty for none."""
    found = re.match(r"\w+", text.strip().casefold())
    return found[0] if found else ""
