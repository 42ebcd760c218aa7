"""The press: what every page shares (navigation, scope, terms) and the templates that set it."""

import re
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import Any, Protocol

from jinja2 import BytecodeCache, Environment, FileSystemLoader, StrictUndefined, Template
from jinja2.bccache import Bucket
from markupsafe import Markup

from report.cache import Store
from report.content import Content, Document, Term
from report.errors import Fault
from report.evidence import Evidence
from report.inputs import version
from report.numbers.run import Scope
from report.numbers.study import Study
from report.pages.anchors import relative
from report.pages.desk import Claim, Desk, Heading, Stated
from report.pages.finished import FinishedPage
from report.pages.manuscript import slugify
from report.pages.prose import Galley

Context = dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """What a page says of itself, before its body."""

    path: str
    kind: str
    """Class of the body element: lesson, record, report and so on."""
    title: str
    description: str
    eyebrow: str
    deck: str = ""
    """Inline Markdown."""
    facts: Sequence[tuple[str, str]] = ()
    """(name, inline Markdown) pairs under the title."""
    records: Sequence[str] = ()
    """Records whose numbers the page shows; their scope stands at its top."""
    scope: Scope | None = None
    """What stands there for numbers that no record vouches for."""
    contents: bool = False
    """Whether the page has a table of its sections beside it."""
    terms: bool = True
    """Whether the terms it uses are explained at its foot."""
    steps: Sequence[tuple[str, str, str, str]] = ()
    """(way, word, site path, text) of the pages before and after."""


class Imprint(Protocol):
    """The release that the pages belong to; every one of them says so."""

    @property
    def name(self) -> str: ...
    @property
    def date(self) -> str: ...
    @property
    def missing(self) -> Sequence[str]: ...


@dataclass(slots=True)
class Press:
    """Sets pages of one site and remembers what they claim."""

    templates: Environment
    desk: Desk
    content: Content
    study: Study
    evidence: Mapping[str, Evidence]
    nav: Sequence[tuple[str, str]]
    """(text, site path) of the bar."""
    imprint: Imprint | None = None
    alone: bool = False
    """Whether these few pages are all there is, with no site around them."""
    pages: dict[str, str] = field(default_factory=dict)
    titles: dict[str, str] = field(default_factory=dict)
    claims: list[Claim] = field(default_factory=list)
    statements: list[Stated] = field(default_factory=list)
    faults: list[Fault] = field(default_factory=list)
    written: dict[tuple[str, str], str] = field(default_factory=dict)
    """Where a person wrote a link, by page and address."""
    used_on: dict[str, list[str]] = field(default_factory=dict)
    """Pages that use a term."""
    finished: dict[str, FinishedPage] = field(default_factory=dict)
    """Each page as a reader finds it."""

    def galley(self, path: str) -> Galley:
        return Galley(desk=self.desk, page=path)

    def set(self, page: Page, galley: Galley, **body: Any) -> None:
        """Render `page` with its template and keep it, with all that its galley gathered."""
        where = f"page {page.path}"
        facts = [
            {"name": name, "text": Markup(galley.inline(text, where, lint=False))}
            for name, text in page.facts
        ]
        deck = Markup(galley.inline(page.deck, where)) if page.deck else ""
        for term in galley.terms:
            self.used_on.setdefault(term, []).append(page.path)
        terms = self.explain(galley) if page.terms else []
        context: Context = {
            "path": page.path,
            "root": relative("index.html", page.path).removesuffix("index.html"),
            "kind": page.kind,
            "title": page.title if page.path == "index.html" else f"{page.title} · Assay",
            "heading": page.title,
            "description": page.description,
            "eyebrow": page.eyebrow,
            "deck": deck,
            "facts": facts,
            "scopes": self.scopes(page),
            "nav": [
                {"text": text, "href": relative(target, page.path), "current": target == page.path}
                for text, target in self.nav
            ],
            "toc": contents(galley.headings) if page.contents else [],
            "terms": terms,
            "steps": [
                {"way": way, "word": word, "href": relative(target, page.path), "text": text}
                for way, word, target, text in page.steps
            ],
            "digest": self.study.digest[:12],
            "imprint": self.imprint,
            "alone": self.alone,
        }
        self.pages[page.path] = self.template(page.kind).render(page=context, **body)
        self.titles[page.path] = page.title
        self.claims += galley.claims
        self.statements += galley.statements
        self.faults += galley.faults
        self.written.update({(page.path, href): at for href, at in galley.links.items()})

    def scope_of(self, record: str) -> Scope:
        """Where a record was made, and the sentence that must stand above its numbers."""
        return self.study.runs[record].scope

    def template(self, kind: str) -> Template:
        return self.templates.get_template(f"{kind}.html")

    def scopes(self, page: Page) -> list[Context]:
        """One line for each platform whose numbers the page shows."""
        by_statement: dict[tuple[str, str], list[str]] = {}
        if page.scope:
            by_statement[page.scope.platform, page.scope.statement] = []
        for name in page.records:
            scope = self.scope_of(name)
            by_statement.setdefault((scope.platform, scope.statement), []).append(name)
        return [
            {
                "platform": platform.upper(),
                "statement": statement,
                "records": [
                    {
                        "name": name,
                        "href": relative(f"records/{name}.html", page.path),
                        "historic": self.evidence[name].level == "historic",
                    }
                    for name in names
                ],
            }
            for (platform, statement), names in by_statement.items()
        ]

    def explain(self, galley: Galley) -> list[Context]:
        """The terms a page uses with their definitions, and the terms those use in turn."""
        done: dict[str, Context] = {}
        while missing := [name for name in galley.terms if name not in done]:
            for name in missing:
                done[name] = self.define(self.content_term(name), galley)
        return [done[name] for name in sorted(done)]

    def define(self, term: Term, galley: Galley) -> Context:
        anchor = term_anchor(term.term)
        symbol = galley.inline(f"${term.symbol}$", _where(term)) if term.symbol else ""
        return {
            "id": anchor,
            "name": term.term,
            "symbol": Markup(symbol),
            "definition": Markup(galley.inline(term.definition_markdown.strip(), _where(term))),
            "href": relative(f"glossary.html#{anchor}", galley.page),
        }

    def content_term(self, name: str) -> Term:
        return next(term for key, term in self.content.glossary.items() if key.lower() == name)


class _CompiledTemplates(BytecodeCache):
    """Templates as compiled, kept with everything else that is worked out once."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def load_bytecode(self, bucket: Bucket) -> None:
        if (found := self._store.get(self._key(bucket))) is not None:
            bucket.bytecode_from_string(found)

    def dump_bytecode(self, bucket: Bucket) -> None:
        self._store.put(self._key(bucket), bucket.bytecode_to_string())

    def _key(self, bucket: Bucket) -> str:
        made_from = f"template {bucket.key} {bucket.checksum} {version('jinja2')} {sys.version}"
        return sha256(made_from.encode()).hexdigest()


def environment(templates: Path, store: Store | None = None) -> Environment:
    """Jinja, strict: everything escaped, every undefined name an error."""
    made = Environment(
        bytecode_cache=_CompiledTemplates(store) if store is not None else None,
        loader=FileSystemLoader(templates),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters["breakable"] = breakable
    return made


def breakable(name: str) -> Markup:
    """A pointer, or a name of several words, that may break after each of them."""
    return Markup("<wbr>").join(re.split(r"(?<=[/_.])(?=.)", name))


def term_anchor(term: str) -> str:
    return f"g-{slugify(term)}"


def contents(headings: Iterable[Heading]) -> list[Context]:
    """Sections with their subsections, for the list beside a page."""
    parts: list[Context] = []
    for heading in headings:
        entry: Context = {"id": heading.id, "text": heading.text, "parts": []}
        if heading.level == 2:
            parts.append(entry)
        elif heading.level == 3 and parts:
            parts[-1]["parts"].append(entry)
    return parts


def deck_of(document: Document) -> str:
    return str(document.front.get("deck") or document.front.get("description") or "")


def _where(term: Term) -> str:
    return f"{term.path}:{term.line}"
