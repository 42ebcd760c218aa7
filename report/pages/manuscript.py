"""Manuscripts: Markdown read strictly, with every place that other pages can point at.

CommonMark with tables, `{role}` texts, `$math$` and `:::{directive}` fences. What
CommonMark would quietly mend or drop is a fault here, with file and line.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache
from html import unescape

from markdown_it import MarkdownIt
from markdown_it.rules_block.table import escapedSplit
from markdown_it.token import Token
from markdown_it.tree import SyntaxTreeNode
from mdit_py_plugins.colon_fence import colon_fence_plugin
from mdit_py_plugins.dollarmath import dollarmath_plugin
from mdit_py_plugins.myst_role import myst_role_plugin

from report.errors import Fault, did_you_mean
from report.pages.anchors import NOUNS, Anchor, AnchorKind

MAX_CHARACTERS = 400_000
MAX_BLOCK_CHARACTERS = 20_000
MAX_DEPTH = 16

DIRECTIVE = re.compile(r"\{(?P<name>[a-z]+)\}\s*(?P<rest>.*)", re.DOTALL)
_CONTROL = re.compile(
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069\ufeff]"
)
_NAME = re.compile(r"[a-z0-9][a-z0-9-]*")


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
            if found := _CONTROL.search(unescape(line)):
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
                return []
            if token.type in {"colon_fence", "fence"}:
                self.check_closed(token, lines[begin:end], begin + first_line)
            if token.type == "tr_open":
                self.check_cells(token, lines, first_line)
            if token.type != "colon_fence":
                out.append(token)
                continue
            out.append(Token("directive_open", "", 1, map=token.map, info=token.info, block=True))
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
        wanted, found = (len(_cells(lines[at - first_line])) for at in (header, line))
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
            elif node.type == "fence" and (match := DIRECTIVE.fullmatch(node.info.strip())):
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


def parse_inline(text: str) -> SyntaxTreeNode:
    """One line of Markdown as an inline node."""
    return SyntaxTreeNode(_markdown().parseInline(text)).children[0]


def _formulas_in(text: str) -> int:
    return sum(node.type == "math_inline" for node in parse_inline(text).walk())


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
