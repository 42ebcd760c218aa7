"""Prose: the house's Markdown, read strictly and set as HTML.

CommonMark with tables, `{role}` texts, `$math$` and `:::{directive}` fences. Raw HTML,
images and anything a page's policy would drop are faults. Every fault names file and
line, and a document tells all of its faults at once.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from html import escape
from typing import Protocol

from markdown_it import MarkdownIt
from markdown_it.rules_block.table import escapedSplit
from markdown_it.token import Token
from markdown_it.tree import SyntaxTreeNode
from mdit_py_plugins.colon_fence import colon_fence_plugin
from mdit_py_plugins.dollarmath import dollarmath_plugin
from mdit_py_plugins.myst_role import myst_role_plugin

from report.errors import ContentFault, Fault, did_you_mean
from report.notation import Printable
from report.pages.anchors import NOUNS, Anchor, AnchorKind, Anchors, relative
from report.pages.code import LANGUAGES, UnknownLanguage, highlight
from report.pages.math import FormulaFault, to_mathml
from report.pages.roles import ROLES, RoleFault, Use

MAX_CHARACTERS = 400_000
MAX_BLOCK_CHARACTERS = 20_000
MAX_DEPTH = 16
CODE_MEASURE = 62
"""Characters of code that the text column holds; a block with longer lines is set across the margin."""

UNITS = (
    "%|percent|bytes?|k?B|[KMGT]i?B|[kKMGTP]?FLOPs?|[kKMGTP]?OPs?|seconds?|milliseconds?"
    "|microseconds?|[mµun]?s|[mk]?W|[kMG]?Hz|dB"
)
NUMBER_WITH_UNIT = re.compile(
    rf"(?<![\w.,\-])(?:\d[\d.,\u2009\u202f]*)[ \u00a0\u2009\u202f\-]?(?:{UNITS})(?:/s)?(?![\w/])"
)
_RAW_HTML = re.compile(r"<(?:[a-zA-Z/!?][^>]*>?)")
_CONTROL = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069\ufeff]")
_DIRECTIVE = re.compile(r"\{(?P<name>[a-z]+)\}\s*(?P<rest>.*)", re.DOTALL)
_CHECKPOINT = re.compile(r"(?P<id>[a-z0-9-]+)\s+[—–-]\s+(?P<question>.+)", re.DOTALL)
_CODE_INFO = re.compile(r'(?P<language>[a-z]+)(?:\s*\{title="(?P<title>[^"]*)"\})?')
_CHOICE = re.compile(r"\([ x]\) +")
_GLUED = re.compile(r"^[.,;:!?)\]’”]+")
_NAME = re.compile(r"[a-z0-9][a-z0-9-]*")


class Pieces(Protocol):
    """The macros of the templates that prose needs; each returns markup."""

    def equation(self, **context: object) -> str: ...
    def code(self, **context: object) -> str: ...
    def note(self, **context: object) -> str: ...
    def checkpoint(self, **context: object) -> str: ...
    def aside(self, **context: object) -> str: ...


class Exhibits(Protocol):
    """Sets a figure or a table on a page; knows which there are."""

    def names(self, kind: AnchorKind) -> Sequence[str]: ...
    def place(self, kind: AnchorKind, name: str, number: int, galley: "Galley") -> str: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Manuscript:
    """One document as parsed: its tree, and the places it will have on `page`."""

    path: str
    page: str
    tree: SyntaxTreeNode
    anchors: tuple[Anchor, ...]
    faults: tuple[Fault, ...]
    formulas: int
    """Formulas in the source. The page must have as many math elements."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Heading:
    level: int
    id: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """One printed value: which element of which page says what about which pointer."""

    page: str
    id: str
    pointer: str
    format: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Desk:
    """What all pages share while they are set."""

    anchors: Anchors
    values: "Lookup"
    terms: Mapping[str, str]
    """Anchor on the glossary page, by the term in lower case."""
    pieces: Pieces
    exhibits: Exhibits


class Lookup(Protocol):
    """Finds the value behind a pointer; `report.numbers.values.Values` does."""

    def lookup(self, pointer: str) -> "Known": ...
    def resolve_href(self, pointer: str) -> str: ...


class Known(Protocol):
    """The parts of a value that prose prints."""

    @property
    def printable(self) -> Printable: ...
    @property
    def kind(self) -> str: ...
    @property
    def reason(self) -> str: ...


# ---------------------------------------------------------------- reading


@cache
def _markdown() -> MarkdownIt:
    return (
        MarkdownIt("commonmark", {"html": False, "maxNesting": 100})
        .enable("table")
        .disable("text_join")
        .use(colon_fence_plugin)
        .use(myst_role_plugin)
        .use(
            dollarmath_plugin,
            allow_digits=False,
            allow_space=False,
            allow_labels=False,
            double_inline=True,
        )
    )


def read(text: str, *, path: str, page: str, first_line: int = 1) -> Manuscript:
    """Parse `text`, whose first line is line `first_line` of `path`; faults are collected."""
    reader = _Reader(path=path, page=page)
    reader.check_characters(text, first_line)
    tokens = [] if reader.faults else reader.tokens(text, first_line, 0)
    tree = SyntaxTreeNode(tokens)
    reader.survey(tree)
    return Manuscript(
        path=path,
        page=page,
        tree=tree,
        anchors=tuple(reader.anchors),
        faults=tuple(reader.faults),
        formulas=reader.formulas,
    )


@dataclass(slots=True)
class _Reader:
    """Parses one document, counting what is numbered."""

    path: str
    page: str
    faults: list[Fault] = field(default_factory=list)
    anchors: list[Anchor] = field(default_factory=list)
    counts: dict[AnchorKind, int] = field(default_factory=dict)
    formulas: int = 0

    def fault(self, line: int, found: str, remedy: str = "") -> None:
        self.faults.append(Fault(where=f"{self.path}:{line}", found=found, remedy=remedy))

    def check_characters(self, text: str, first_line: int) -> None:
        if len(text) > MAX_CHARACTERS:
            self.fault(first_line, f"{len(text):,} characters", f"at most {MAX_CHARACTERS:,}")
            return
        for number, line in enumerate(text.split("\n"), first_line):
            if found := _CONTROL.search(line):
                self.fault(number, f"control character U+{ord(found[0]):04X}", "remove it")
            if len(line) > MAX_BLOCK_CHARACTERS:
                self.fault(number, f"a line of {len(line):,} characters", "break it")

    def tokens(self, text: str, first_line: int, depth: int) -> list[Token]:
        """Tokens of `text` with lines of the file; colon fences opened and read in turn."""
        if depth > MAX_DEPTH:
            self.fault(first_line, "fences nested too deep", f"at most {MAX_DEPTH}")
            return []
        lines = text.split("\n")
        out: list[Token] = []
        for token in _markdown().parse(text):
            begin, end = token.map or (0, 0)
            if token.map:
                token.map = [begin + first_line, end + first_line]
            if token.level > MAX_DEPTH:
                self.fault(begin + first_line, "blocks nested too deep", f"at most {MAX_DEPTH}")
                return out
            if token.type in {"colon_fence", "fence"}:
                self.check_closed(token, lines[begin:end], begin + first_line)
            if token.type == "tr_open":
                self.check_cells(token, lines, first_line)
            if token.type != "colon_fence":
                out.append(token)
                continue
            shared = {"map": token.map, "info": token.info, "block": True}
            out.append(Token("directive_open", "", 1, **shared))
            out += self.tokens(token.content, begin + first_line + 1, depth + 1)
            out.append(Token("directive_close", "", -1))
        return out

    def check_closed(self, token: Token, lines: Sequence[str], line: int) -> None:
        last = lines[-1].strip().lstrip("> ") if len(lines) > 1 else ""
        if not last or set(last) != {token.markup[0]} or len(last) < len(token.markup):
            self.fault(line, f"{token.markup}{token.info.strip()} is never closed")

    def check_cells(self, token: Token, lines: Sequence[str], first_line: int) -> None:
        """A row with more or fewer cells than its header, which CommonMark hides."""
        line = (token.map or [first_line])[0]
        header = line
        while header > first_line and "|" in lines[header - 1 - first_line]:
            header -= 1
        wanted, found = (
            len(_cells(lines[at - first_line])) for at in (header, line)
        )
        if found != wanted:
            self.fault(
                line,
                f"this table row has {found} cells, its header {wanted}",
                r"in a cell write \| for a bar, and \vert inside a formula",
            )

    def survey(self, tree: SyntaxTreeNode) -> None:
        slugs: set[str] = set()
        for node in tree.walk():
            if node.type == "math_inline":
                self.formulas += 1
            elif node.type == "directive":
                self.formulas += _formulas_in(node.info)
            elif node.type == "heading":
                text = plain_text(node)
                slug = base = slugify(text)
                for n in range(1, 1000):
                    if slug not in slugs:
                        break
                    slug = f"{base}-{n}"
                slugs.add(slug)
                node.meta["id"] = slug
                self.anchors.append(
                    Anchor(kind="sec", name=slug, page=self.page, id=slug, label=text)
                )
            elif node.type == "fence" and (match := _DIRECTIVE.fullmatch(node.info.strip())):
                self.survey_fence(node, match["name"], match["rest"].strip())

    def survey_fence(self, node: SyntaxTreeNode, name: str, label: str) -> None:
        line = line_of(node)
        kinds: dict[str, AnchorKind] = {"figure": "fig", "table": "tab", "math": "eq"}
        if name == "math":
            self.formulas += 1
            for _, text in symbol_lines(node.content):
                self.formulas += 1 + _formulas_in(text)
            if not label:
                return
        if name not in kinds:
            self.fault(line, f"{{{name}}} is not a fence", did_you_mean(name, kinds))
        elif not _NAME.fullmatch(label):
            self.fault(line, f"{{{name}}} {label!r}: not a name", "lower case, digits, hyphens")
        elif any(a.kind == kinds[name] and a.name == label for a in self.anchors):
            self.fault(line, f"{{{name}}} {label} stands on this page twice")
        else:
            kind = kinds[name]
            number = self.counts[kind] = self.counts.get(kind, 0) + 1
            self.anchors.append(
                Anchor(
                    kind=kind,
                    name=label,
                    page=self.page,
                    id=f"{kind}-{label}",
                    label=f"{NOUNS[kind]} {number}",
                    number=number,
                )
            )


def _cells(line: str) -> list[str]:
    return escapedSplit(line.strip().removeprefix("|").removesuffix("|"))


def _formulas_in(text: str) -> int:
    tokens = [child for token in _markdown().parseInline(text) for child in token.children or []]
    return sum(token.type == "math_inline" for token in tokens)


def line_of(node: SyntaxTreeNode) -> int:
    """The node's first line, or that of the nearest ancestor that has one."""
    at: SyntaxTreeNode | None = node
    while at is not None and not at.is_root:
        if at.map:
            return at.map[0]
        at = at.parent
    return 1


def plain_text(node: SyntaxTreeNode) -> str:
    """The words of a node, without markup; formulas as their TeX."""
    return "".join(
        child.content if child.type not in {"softbreak", "hardbreak"} else " "
        for child in node.walk()
        if not child.children and child.type != "inline"
    ).strip()


def slugify(text: str) -> str:
    """An anchor of lower-case letters, digits and hyphens; `section` when none is left."""
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-") or "section"


def symbol_lines(content: str) -> Iterator[tuple[str, str]]:
    """(TeX, text) pairs below the `---` of a math fence."""
    _, found, symbols = content.partition("\n---\n")
    if found:
        for line in filter(str.strip, symbols.split("\n")):
            tex, _, text = line.partition(" : ")
            yield tex.strip(), text.strip()


# ---------------------------------------------------------------- setting


@dataclass(slots=True)
class Galley:
    """One page while it is set: what has been numbered, claimed and found wrong so far."""

    desk: Desk
    page: str
    faults: list[Fault] = field(default_factory=list)
    claims: list[Claim] = field(default_factory=list)
    headings: list[Heading] = field(default_factory=list)
    terms: dict[str, str] = field(default_factory=dict)
    """Terms used on the page: anchor on the glossary page, by term."""
    links: dict[str, str] = field(default_factory=dict)
    """Where each hand-written link stands (`file:line`), by its address."""
    exhibits: list[str] = field(default_factory=list)
    """Figures set on the page, in order."""
    notes: int = 0
    formulas: int = 0
    """Formulas set from the document in hand; those of exhibits are not the document's."""
    path: str = ""

    def blocks(self, manuscript: Manuscript) -> str:
        """A whole document, each second-level heading opening a section."""
        self.path = manuscript.path
        self.faults += manuscript.faults
        self.formulas = 0
        parts: list[str] = []
        open_section = False
        for node, html in self._siblings(manuscript.tree.children):
            if node.type == "heading" and node.tag == "h2":
                parts.append("</section>\n<section>" if open_section else "<section>")
                open_section = True
            elif not parts:
                parts.append('<section class="opening">')
                open_section = True
            parts.append(html)
        if open_section:
            parts.append("</section>")
        if not self.faults and self.formulas != manuscript.formulas:
            self.fault(
                1, f"{manuscript.formulas} formulas in the source became {self.formulas} on the page"
            )
        return "\n".join(parts)

    def text(self, markdown: str, where: str) -> str:
        """Paragraphs and lists of a short text from YAML, with roles."""
        path, _, line = where.rpartition(":")
        numbered = path if line.isdigit() else ""
        manuscript = read(
            markdown,
            path=numbered or where,
            page=self.page,
            first_line=int(line) if numbered else 1,
        )
        self.path = manuscript.path
        self.faults += manuscript.faults
        return "\n".join(html for _, html in self._siblings(manuscript.tree.children))

    def inline(self, markdown: str, where: str, *, lint: bool = True) -> str:
        """One line of text, with roles; `lint=False` for texts that code has worked out."""
        path, _, line = where.rpartition(":")
        self.path = path if line.isdigit() else where
        tree = SyntaxTreeNode(_markdown().parseInline(markdown))
        return self._inline(tree.children[0], int(line) if line.isdigit() else 1, lint=lint)

    def fault(self, line: int, found: str, remedy: str = "") -> None:
        self.faults.append(Fault(where=f"{self.path}:{line}", found=found, remedy=remedy))

    # ------------------------------------------------------------ blocks

    def _siblings(self, nodes: Sequence[SyntaxTreeNode]) -> Iterator[tuple[SyntaxTreeNode, str]]:
        """Nodes and their HTML; a note is set beside the paragraphs around it."""
        at = 0
        while at < len(nodes):
            if nodes[at].type == "paragraph" and _is_note(nodes, at + 1):
                last = at + 1
                while (
                    last + 1 < len(nodes)
                    and last < at + 3
                    and nodes[last + 1].type == "paragraph"
                    and not _is_note(nodes, last + 2)
                ):
                    last += 1
                yield nodes[at], self._noted(nodes[at], nodes[at + 1], nodes[at + 2 : last + 1])
                at = last + 1
                continue
            yield nodes[at], self._block(nodes[at])
            at += 1

    def _noted(
        self,
        paragraph: SyntaxTreeNode,
        note: SyntaxTreeNode,
        rest: Sequence[SyntaxTreeNode],
    ) -> str:
        self.notes += 1
        number = self.notes
        text = "".join(self._inline(child, line_of(child)) for child in paragraph.children)
        return self.desk.pieces.note(
            number=number,
            paragraph=_markup(text),
            body=_markup(self._body(note)),
            rest=_markup("\n".join(self._block(node) for node in rest)),
        )

    def _block(self, node: SyntaxTreeNode) -> str:
        setter = getattr(self, f"_set_{node.type}", None)
        if setter is None:
            self.fault(line_of(node), f"{node.type.replace('_', ' ')} has no place on a page")
            return ""
        html: str = setter(node)
        return html

    def _body(self, node: SyntaxTreeNode) -> str:
        return "\n".join(html for _, html in self._siblings(node.children))

    def _set_paragraph(self, node: SyntaxTreeNode) -> str:
        text = "".join(self._inline(child, line_of(child)) for child in node.children)
        hidden = node.nester_tokens is not None and node.nester_tokens.opening.hidden
        return text if hidden else f"<p>{text}</p>"

    def _set_heading(self, node: SyntaxTreeNode) -> str:
        level, line = int(node.tag[1]), line_of(node)
        if level not in (2, 3, 4):
            self.fault(line, f"a heading of level {level}", "the page's title is level 1; use 2 to 4")
        text = "".join(self._inline(child, line) for child in node.children)
        anchor = str(node.meta["id"])
        self.headings.append(Heading(level=level, id=anchor, text=plain_text(node)))
        link = f'<a class="hash" href="#{anchor}" aria-label="Link to this section">#</a>'
        return f'<h{level} id="{anchor}">{text}{link}</h{level}>'

    def _set_bullet_list(self, node: SyntaxTreeNode) -> str:
        return f"<ul>{self._items(node)}</ul>"

    def _set_ordered_list(self, node: SyntaxTreeNode) -> str:
        start = node.attrs.get("start", 1)
        opening = "<ol>" if start == 1 else f'<ol start="{int(start)}">'
        return f"{opening}{self._items(node)}</ol>"

    def _items(self, node: SyntaxTreeNode) -> str:
        return "".join(f"<li>{self._body(item)}</li>" for item in node.children)

    def _set_blockquote(self, node: SyntaxTreeNode) -> str:
        return f"<blockquote>{self._body(node)}</blockquote>"

    def _set_hr(self, node: SyntaxTreeNode) -> str:
        return "<hr>"

    def _set_table(self, node: SyntaxTreeNode) -> str:
        head, *bodies = node.children
        heads = [self._cell_text(cell) for cell in head.children[0].children]
        right = [_to_right(cell) for cell in head.children[0].children]
        words = [plain_text(cell) for cell in head.children[0].children]
        top = "".join(
            f'<th scope="col"{_class("r" if numeric else "")}>{text}</th>'
            for text, numeric in zip(heads, right, strict=True)
        )
        rows = "".join(
            f"<tr>{self._cells(row, words, right)}</tr>" for body in bodies for row in body.children
        )
        label = escape(", ".join(filter(None, words)))
        kind = "numbers" if all(right[1:]) else "broad" if len(heads) > 2 else "words"
        return (
            f'<div class="tbl {kind}"><div class="scroll" tabindex="0" role="group"'
            f' aria-label="Table: {label}"><table class="stack"><thead><tr>{top}</tr></thead>'
            f"<tbody>{rows}</tbody></table></div></div>"
        )

    def _cells(self, row: SyntaxTreeNode, heads: Sequence[str], right: Sequence[bool]) -> str:
        first, *rest = row.children
        cells = [f'<th scope="row">{self._cell_text(first)}</th>']
        for cell, head, numeric in zip(rest, heads[1:], right[1:], strict=True):
            kind = _class("r" if numeric else "full")
            cells.append(f'<td{kind} data-h="{escape(head)}">{self._cell_text(cell)}</td>')
        return "".join(cells)

    def _cell_text(self, cell: SyntaxTreeNode) -> str:
        return "".join(self._inline(child, line_of(child)) for child in cell.children)

    def _set_code_block(self, node: SyntaxTreeNode) -> str:
        self.fault(line_of(node), "code by indentation", "use a ``` fence that names its language")
        return ""

    def _set_math_block(self, node: SyntaxTreeNode) -> str:
        self.fault(line_of(node), "a $$ block", "use a ```{math} fence; a label there numbers it")
        return ""

    def _set_fence(self, node: SyntaxTreeNode) -> str:
        info, line = node.info.strip(), line_of(node)
        if match := _DIRECTIVE.fullmatch(info):
            name, label = match["name"], match["rest"].strip()
            if name == "math":
                return self._equation(node, label)
            return self._exhibit(node, "fig" if name == "figure" else "tab", label)
        match = _CODE_INFO.fullmatch(info)
        if match is None:
            self.fault(line, f"code fence {info!r}", 'write a language, then {title="…"} if any')
            return ""
        try:
            code = highlight(node.content, match["language"])
        except UnknownLanguage as error:
            self.fault(line, str(error))
            return ""
        return self.desk.pieces.code(
            code=_markup(code),
            title=match["title"] or LANGUAGES[match["language"]],
            id=f"code-{line}",
            broad=max(map(len, node.content.split("\n"))) > CODE_MEASURE,
        )

    def _equation(self, node: SyntaxTreeNode, label: str) -> str:
        line = line_of(node)
        tex = node.content.partition("\n---\n")[0].strip()
        number = next(
            (a.number for a in self.desk.anchors.on(self.page) if (a.kind, a.name) == ("eq", label)),
            0,
        )
        symbols = []
        for symbol, text in symbol_lines(node.content):
            if not text:
                self.fault(line, f"symbol line {symbol!r}", "write `TeX : what it means`")
            tree = SyntaxTreeNode(_markdown().parseInline(text))
            meaning = self._inline(tree.children[0], line) if tree.children else ""
            symbols.append((_markup(self._math(symbol, line)), _markup(meaning)))
        return self.desk.pieces.equation(
            id=f"eq-{label}" if label else "",
            number=number,
            math=_markup(self._math(tex, line, display=True)),
            symbols=symbols,
        )

    def _exhibit(self, node: SyntaxTreeNode, kind: AnchorKind, name: str) -> str:
        line = line_of(node)
        known = self.desk.exhibits.names(kind)
        if node.content.strip():
            self.fault(line, f"text inside the {NOUNS[kind].lower()} fence", "leave it empty")
        if name not in known:
            found = f"no {NOUNS[kind].lower()} is called {name!r}"
            self.fault(line, found, did_you_mean(name, known))
            return ""
        number = self.desk.anchors.find(f"{kind}:{name}", self.page).number
        path, formulas = self.path, self.formulas
        html = self.desk.exhibits.place(kind, name, number, self)
        self.path, self.formulas = path, formulas
        return html

    def _set_directive(self, node: SyntaxTreeNode) -> str:
        match = _DIRECTIVE.fullmatch(node.info.strip())
        setters = {
            "note": self._lone_note,
            "scope": lambda n, _: self._aside(n, "scope", "Scope"),
            "warning": lambda n, _: self._aside(n, "warning", "Take care"),
            "checkpoint": self._checkpoint,
        }
        if match is None or match["name"] not in setters:
            name = match["name"] if match else node.info.strip()
            self.fault(line_of(node), f"no block is called {name!r}", did_you_mean(name, setters))
            return ""
        return setters[match["name"]](node, match["rest"].strip())

    def _lone_note(self, node: SyntaxTreeNode, rest: str) -> str:
        self.notes += 1
        return self.desk.pieces.note(
            number=self.notes, paragraph="", body=_markup(self._body(node)), rest=""
        )

    def _aside(self, node: SyntaxTreeNode, name: str, label: str) -> str:
        return self.desk.pieces.aside(name=name, label=label, body=_markup(self._body(node)))

    def _checkpoint(self, node: SyntaxTreeNode, rest: str) -> str:
        line = line_of(node)
        match = _CHECKPOINT.fullmatch(rest)
        if match is None:
            self.fault(line, f"checkpoint {rest!r}", "write `{checkpoint} id — question`")
            return ""
        answers = [child for child in node.children if _is_directive(child, "answer")]
        if len(answers) != 1:
            self.fault(line, f"{len(answers)} answers", "write one :::{answer} inside, with fewer colons")
            return ""
        body: list[SyntaxTreeNode] = []
        choices: list[str] = []
        for child in node.children:
            if child.type == "bullet_list" and _CHOICE.match(plain_text(child)):
                choices += [self._choice(item) for item in child.children]
            elif child is not answers[0]:
                body.append(child)
        question = SyntaxTreeNode(_markdown().parseInline(match["question"]))
        return self.desk.pieces.checkpoint(
            id=match["id"],
            question=_markup(self._inline(question.children[0], line)),
            body=_markup("\n".join(html for _, html in self._siblings(body))),
            choices=[(f"c{n}", _markup(text)) for n, text in enumerate(choices, 1)],
            answer=_markup(self._body(answers[0])),
        )

    def _choice(self, item: SyntaxTreeNode) -> str:
        html = _CHOICE.sub("", self._body(item), count=1)
        return html.removeprefix("<p>").removesuffix("</p>")

    # ------------------------------------------------------------ inline

    def _inline(self, node: SyntaxTreeNode, line: int, *, lint: bool = True) -> str:
        """The children of an inline node; `line` is where its first line stands."""
        if len(node.content) > MAX_BLOCK_CHARACTERS:
            self.fault(line, f"a paragraph of {len(node.content):,} characters", "break it up")
            return ""
        parts: list[str] = []
        for child in node.children:
            if child.type == "softbreak":
                line += 1
            parts.append(self._span(child, line, lint))
        return _glue(parts)

    def _span(self, node: SyntaxTreeNode, line: int, lint: bool) -> str:
        match node.type:
            case "text":
                return self._words(node.content, line, lint)
            case "text_special":
                if node.markup in (r"\(", r"\["):
                    remedy = "write $…$ for a formula, or a ```{math} fence"
                    self.fault(line, rf"\{node.content}", remedy)
                return escape(node.content)
            case "softbreak":
                return "\n"
            case "hardbreak":
                return "<br>"
            case "em" | "strong":
                inner = "".join(self._span(child, line, lint) for child in node.children)
                return f"<{node.type}>{inner}</{node.type}>"
            case "code_inline":
                return f"<code>{escape(node.content)}</code>"
            case "math_inline":
                return self._math(node.content, line)
            case "math_inline_double":
                self.fault(line, "$$ inside a paragraph", "use $…$, or a ```{math} fence")
                return ""
            case "link":
                return self._link(node, line, lint)
            case "image":
                self.fault(line, "an image", "draw it as a figure: ```{figure} name")
                return ""
            case "myst_role":
                return self._role(node, line)
        self.fault(line, f"{node.type.replace('_', ' ')} has no place in a text")
        return ""

    def _words(self, text: str, line: int, lint: bool) -> str:
        if found := _RAW_HTML.search(text):
            self.fault(line, f"raw HTML {found[0]!r}", r"write it as `code`, or \< for the sign")
        if lint and (found := NUMBER_WITH_UNIT.search(text)):
            self.fault(
                line,
                f"the number {found[0]!r} is typed",
                "point at its value: {value}`pointer; format`, or mark it {given}`…`",
            )
        return escape(text)

    def _math(self, tex: str, line: int, *, display: bool = False) -> str:
        self.formulas += 1
        try:
            return to_mathml(tex, display=display)
        except FormulaFault as error:
            self.fault(line, error.found, error.remedy)
            return ""

    def _link(self, node: SyntaxTreeNode, line: int, lint: bool) -> str:
        address = str(node.attrs.get("href", ""))
        if any(child.type in {"link", "myst_role"} for child in node.walk() if child is not node):
            self.fault(line, "a role inside a link", "let the role stand alone: it links by itself")
        if re.match(r"[a-z][a-z0-9+.-]*:|//", address, re.IGNORECASE):
            if not address.startswith("https://"):
                self.fault(line, f"a link to {address!r}", "use https, or a path inside the site")
        elif address.startswith("/"):
            self.fault(line, f"an absolute link {address!r}", "write it relative to this page")
        self.links.setdefault(address, f"{self.path}:{line}")
        inner = "".join(self._span(child, line, lint) for child in node.children)
        return f'<a href="{escape(address)}">{inner}</a>'

    def _role(self, node: SyntaxTreeNode, line: int) -> str:
        name = str(node.meta["name"])
        role = ROLES.get(name)
        if role is None:
            self.fault(line, f"no role is called {name!r}", did_you_mean(name, ROLES))
            return ""
        try:
            return role(Use(text=node.content.strip(), galley=self))
        except (RoleFault, ContentFault) as error:
            hint = getattr(error, "hint", "")
            self.fault(line, getattr(error, "summary", str(error)), hint)
            return ""


def _is_directive(node: SyntaxTreeNode, name: str) -> bool:
    return node.type == "directive" and node.info.strip().startswith(f"{{{name}}}")


def _is_note(nodes: Sequence[SyntaxTreeNode], at: int) -> bool:
    return at < len(nodes) and _is_directive(nodes[at], "note")


def _to_right(cell: SyntaxTreeNode) -> bool:
    return "right" in str(cell.attrs.get("style", ""))


def _class(name: str) -> str:
    return f' class="{name}"' if name else ""


def _glue(parts: Sequence[str]) -> str:
    """Join; punctuation after a formula stays on the formula's line."""
    out: list[str] = []
    for part in parts:
        if out and out[-1].endswith("</math>") and (mark := _GLUED.match(part)):
            out[-1] = f'<span class="nb">{out[-1]}{mark[0]}</span>'
            part = part[mark.end() :]
        out.append(part)
    return "".join(out)


def _markup(html: str) -> str:
    """`html`, marked as already escaped for the templates."""
    from markupsafe import Markup

    return Markup(html)
