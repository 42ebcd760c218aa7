"""Prose: a manuscript set as HTML on its page.

Raw HTML, images, typed numbers with units and anything else that a page must not hold
are faults. Every fault names file and line, and a page tells all of its faults at once.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from html import escape

from markdown_it.tree import SyntaxTreeNode
from markupsafe import Markup

from report.content.typed import NOT_TEXT, typed_numbers
from report.errors import ContentFault, Fault, did_you_mean
from report.ladder import NATIVE, as_read, calls_it_measured, leads_on
from report.pages.anchors import NOUNS, AnchorKind
from report.pages.code import LANGUAGES, UnknownLanguage, highlight
from report.pages.desk import Claim, Desk, Heading, Stated
from report.pages.manuscript import (
    DIRECTIVE,
    MAX_BLOCK_CHARACTERS,
    Manuscript,
    line_of,
    parse_inline,
    plain_text,
    read,
    symbol_lines,
)
from report.pages.math import FormulaFault, to_mathml
from report.pages.roles import ROLES, RoleFault, Use

CODE_MEASURE = 62
"""Characters of code that the text column holds; longer lines are set across the margin."""

_UNMADE = re.compile(r"\]\(\S*|^\[[^\]]+\]:.*|\{[a-z]+\}`", re.MULTILINE)
"""What is left of a link or a role that Markdown could not make one of."""
PLAIN = re.compile(r"[^\\`*_{}\[\]$<&!~\n]*")
"""Text in which Markdown has nothing to find."""
_RAW_HTML = re.compile(r"<(?:[a-zA-Z/!?][^>]*>?)")
_CHECKPOINT = re.compile(r"(?P<id>[a-z0-9-]+)\s+[—–-]\s+(?P<question>.+)", re.DOTALL)
_CODE_INFO = re.compile(r'(?P<language>[a-z]+)(?:\s*\{title="(?P<title>[^"]*)"\})?')
_CHOICE = re.compile(r"\([ x]\) +")
_SILENT_MATH = '<math aria-hidden="true"'
_NUMERAL = re.compile(r"[-−]?[\d.,]+")
"""A formula that is no more than a number."""
_FACT = NOT_TEXT
"""Stands for a compiler's fact in the words of a sentence."""
_SENTENCE = re.compile(r"(?<=[.!?;])\s+")
_GLUED = re.compile(r"^[.,;:!?)\]’”]+")


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
    statements: list[Stated] = field(default_factory=list)
    """What the page says about arithmetic, each held against its evidence."""
    exhibits: list[str] = field(default_factory=list)
    """Figures set on the page, in order."""
    notes: int = 0
    formulas: int = 0
    """Formulas set from the document in hand; those of exhibits are not the document's."""
    path: str = ""

    @property
    def cited(self) -> set[str]:
        """What pointers of the page's numbers and statements name, records among it.

        A number that was worked out names its record further on: `study#/timing/timing-cpu/…`.
        """
        pointers = [claim.pointer for claim in self.claims]
        pointers += [stated.pointer for stated in self.statements]
        return {part for pointer in pointers for part in re.split("[#/]+", pointer)}

    def blocks(self, manuscript: Manuscript) -> str:
        """A whole document, each second-level heading opening a section."""
        self.path = manuscript.path
        self.faults += manuscript.faults
        self.formulas = 0
        parts: list[str] = []
        close = ""
        for node, html in self._siblings(manuscript.tree.children):
            if node.type == "heading" and node.tag == "h2":
                parts.append(f"{close}<section>")
                close = "</section>\n"
            elif not parts:
                parts.append('<div class="part">')
                close = "</div>\n"
            parts.append(html)
        parts.append(close)
        if not self.faults and self.formulas != manuscript.formulas:
            self.fault(
                1,
                f"{manuscript.formulas} formulas in the source became {self.formulas} on the page",
            )
        return "\n".join(parts)

    def text(self, markdown: str, where: str) -> str:
        """Paragraphs and lists of a short text from YAML, with roles."""
        line = self._stand_at(where)
        manuscript = read(markdown, path=self.path, page=self.page, first_line=line)
        self.faults += manuscript.faults
        return "\n".join(html for _, html in self._siblings(manuscript.tree.children))

    def inline(self, markdown: str, where: str, *, lint: bool = True) -> str:
        """One line of text, with roles; `lint=False` for texts that code has worked out."""
        line = self._stand_at(where)
        if PLAIN.fullmatch(markdown):
            if lint:
                self._check_numbers(markdown, line)
            return self._words(markdown, line)
        return self._inline(parse_inline(markdown), line, lint=lint)

    def claim(self, pointer: str, spelling: str, text: str) -> Claim:
        """Note that the page prints `text` for the value at `pointer`."""
        made = Claim(
            page=self.page,
            id=f"v-{len(self.claims) + 1}",
            pointer=pointer,
            format=spelling,
            text=text,
        )
        self.claims.append(made)
        return made

    def fault(self, line: int, found: str, remedy: str = "") -> None:
        self.faults.append(Fault(where=f"{self.path}:{line}", found=found, remedy=remedy))

    def _stand_at(self, where: str) -> int:
        """Take `where` (`file:line`, or a place without lines) as what faults name; its line."""
        path, _, line = where.rpartition(":")
        self.path, number = (path, int(line)) if line.isdigit() else (where, 1)
        return number

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
            paragraph=Markup(text),
            body=Markup(self._body(note)),
            rest=Markup("\n".join(self._block(node) for node in rest)),
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
            self.fault(
                line, f"a heading of level {level}", "the page's title is level 1; use 2 to 4"
            )
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

    def _set_hr(self, _: SyntaxTreeNode) -> str:
        return "<hr>"

    def _set_table(self, node: SyntaxTreeNode) -> str:
        head, *bodies = node.children
        heads = [self._cell_text(cell) for cell in head.children[0].children]
        right = [_to_right(cell) for cell in head.children[0].children]
        words = [plain_text(cell) for cell in head.children[0].children]
        top = "".join(
            _head(text, word, numeric)
            for text, word, numeric in zip(heads, words, right, strict=True)
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
            cells.append(
                f'<td{kind} data-h="{escape(head)}"><div>{self._cell_text(cell)}</div></td>'
            )
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
        if match := DIRECTIVE.fullmatch(info):
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
            code=Markup(code),
            title=match["title"] or LANGUAGES[match["language"]],
            id=f"code-{line}",
            broad=max(map(len, node.content.split("\n"))) > CODE_MEASURE,
        )

    def _equation(self, node: SyntaxTreeNode, label: str) -> str:
        line = line_of(node)
        tex = node.content.partition("\n---\n")[0].strip()
        number = next(
            (
                a.number
                for a in self.desk.anchors.on(self.page)
                if (a.kind, a.name) == ("eq", label)
            ),
            0,
        )
        symbols = []
        for symbol, text in symbol_lines(node.content):
            if not text:
                self.fault(line, f"symbol line {symbol!r}", "write `TeX : what it means`")
            meaning = self._inline(parse_inline(text), line)
            symbols.append((Markup(self._math(symbol, line)), Markup(meaning)))
        return self.desk.pieces.equation(
            id=f"eq-{label}" if label else "",
            number=number,
            math=Markup(self._math(tex, line, display=True)),
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
        match = DIRECTIVE.fullmatch(node.info.strip())
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

    def _lone_note(self, node: SyntaxTreeNode, _: str) -> str:
        self.notes += 1
        return self.desk.pieces.note(
            number=self.notes, paragraph="", body=Markup(self._body(node)), rest=""
        )

    def _aside(self, node: SyntaxTreeNode, name: str, label: str) -> str:
        return self.desk.pieces.aside(name=name, label=label, body=Markup(self._body(node)))

    def _checkpoint(self, node: SyntaxTreeNode, rest: str) -> str:
        line = line_of(node)
        match = _CHECKPOINT.fullmatch(rest)
        if match is None:
            self.fault(line, f"checkpoint {rest!r}", "write `{checkpoint} id — question`")
            return ""
        answers = [child for child in node.children if _is_directive(child, "answer")]
        if len(answers) != 1:
            self.fault(
                line, f"{len(answers)} answers", "write one :::{answer} inside, with fewer colons"
            )
            return ""
        body: list[SyntaxTreeNode] = []
        choices: list[str] = []
        for child in node.children:
            if child.type == "bullet_list" and _CHOICE.match(plain_text(child)):
                choices += [self._choice(item) for item in child.children]
            elif child is not answers[0]:
                body.append(child)
        return self.desk.pieces.checkpoint(
            id=match["id"],
            question=Markup(self._inline(parse_inline(match["question"]), line)),
            body=Markup("\n".join(html for _, html in self._siblings(body))),
            choices=[(f"c{n}", Markup(text)) for n, text in enumerate(choices, 1)],
            answer=Markup(self._body(answers[0])),
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
        if lint and (found := _UNMADE.search(_as_text(node))):
            remedy = "mend it, or write it as `code`"
            self.fault(line, f"{found[0]!r:.60}, which came to no link and no role", remedy)
        if lint:
            self._check_sentences(node, line)
            self._check_numbers("".join(map(_as_typed, _leaves(node))), line)
        parts: list[str] = []
        for child in node.children:
            if child.type == "softbreak":
                line += 1
            parts.append(self._span(child, line))
        return _glue(parts)

    def _check_sentences(self, node: SyntaxTreeNode, line: int) -> None:
        """What the words say once they are read together, whatever marks stand between them.

        Arithmetic is claimed with evidence alone, and a sentence that shows a compiler's fact, or
        leads on to it, must not call it a measurement.
        """
        plain = "".join(
            "\n" if leaf.type == "softbreak" else leaf.content if leaf.type == "text" else _FACT
            for leaf in _leaves(node)
        )
        plain = as_read(plain)
        if found := NATIVE.search(plain.replace("\n", " ")):
            self.fault(
                line + plain.count("\n", 0, found.start()),
                f"{found[0]!r} claims arithmetic without evidence",
                "write {claim}`native FORMAT on TARGET; POINTER`, with a matrix instruction there",
            )
        text = as_read("".join(map(self._as_words, _leaves(node))))
        before = ""
        for sentence in _SENTENCE.split(text):
            word = calls_it_measured(sentence) or leads_on(before, sentence)
            before = sentence
            if _FACT in sentence and word:
                self.fault(
                    line,
                    f"{word!r} in a sentence that shows a compiler’s fact, which is no measurement",
                    "say what the compiler does, or give the measured value a sentence of its own",
                )

    def _check_numbers(self, text: str, line: int) -> None:
        """Numbers that look measured are printed from where they stand, never typed."""
        for found in typed_numbers(text):
            self.fault(
                line + text.count("\n", 0, found.start()),
                f"the number {' '.join(found[0].split())!r} is typed",
                "point at its value: {value}`pointer; format`, mark what you chose {given}`…`, or "
                "write a name, such as that of a version, as `code`",
            )

    def _as_words(self, node: SyntaxTreeNode) -> str:
        """A leaf of a paragraph as plain words; a compiler's fact is a mark among them."""
        if node.type == "softbreak":
            return " "
        if node.type != "myst_role":
            return node.content
        name, text = str(node.meta["name"]), node.content.strip()
        if name == "claim":
            return f"{text.partition(';')[0]} {_FACT}"
        if name not in {"value", "number"}:
            return text
        try:
            value = self.desk.values.lookup(text.rpartition(";")[0].strip())
        except ContentFault:  # told when the role is set
            return ""
        return _FACT if value.kind == "estimated" else " "

    def _span(self, node: SyntaxTreeNode, line: int) -> str:
        match node.type:
            case "text":
                return self._words(node.content, line)
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
                inner = "".join(self._span(child, line) for child in node.children)
                return f"<{node.type}>{inner}</{node.type}>"
            case "code_inline":
                return f"<code>{escape(node.content)}</code>"
            case "math_inline":
                return self._math(node.content, line)
            case "math_inline_double":
                self.fault(line, "$$ inside a paragraph", "use $…$, or a ```{math} fence")
                return ""
            case "link":
                return self._link(node, line)
            case "image":
                self.fault(line, "an image", "draw it as a figure: ```{figure} name")
                return ""
            case "myst_role":
                return self._role(node, line)
        self.fault(line, f"{node.type.replace('_', ' ')} has no place in a text")
        return ""

    def _words(self, text: str, line: int) -> str:
        if found := _RAW_HTML.search(text):
            self.fault(line, f"raw HTML {found[0]!r}", r"write it as `code`, or \< for the sign")
        return escape(text)

    def _math(self, tex: str, line: int, *, display: bool = False) -> str:
        self.formulas += 1
        try:
            return to_mathml(tex, display=display)
        except FormulaFault as error:
            self.fault(line, error.found, error.remedy)
            return ""

    def _link(self, node: SyntaxTreeNode, line: int) -> str:
        address = str(node.attrs.get("href", ""))
        if any(child.type in {"link", "myst_role"} for child in node.walk() if child is not node):
            self.fault(line, "a role inside a link", "let the role stand alone: it links by itself")
        if re.match(r"[a-z][a-z0-9+.-]*:|//", address, re.IGNORECASE):
            if not address.startswith("https://"):
                self.fault(line, f"a link to {address!r}", "use https, or a path inside the site")
        elif address.startswith("/"):
            self.fault(line, f"an absolute link {address!r}", "write it relative to this page")
        self.links.setdefault(address, f"{self.path}:{line}")
        inner = "".join(self._span(child, line) for child in node.children)
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


def _leaves(node: SyntaxTreeNode) -> Iterator[SyntaxTreeNode]:
    return (each for each in node.walk() if not each.children and each is not node)


def _as_typed(leaf: SyntaxTreeNode) -> str:
    """A leaf of a paragraph as somebody typed it, where it is text or a number."""
    if leaf.type in {"softbreak", "hardbreak"}:
        return "\n"
    is_number = leaf.type == "math_inline" and _NUMERAL.fullmatch(leaf.content)
    return leaf.content if is_number or leaf.type.startswith("text") else NOT_TEXT


def _as_text(node: SyntaxTreeNode) -> str:
    """What of an inline node is plain text; an ellipsis stands for all else."""
    return "".join(
        {"text": child.content, "softbreak": "\n"}.get(child.type, "…") for child in node.children
    )


def _is_directive(node: SyntaxTreeNode, name: str) -> bool:
    return node.type == "directive" and node.info.strip().startswith(f"{{{name}}}")


def _is_note(nodes: Sequence[SyntaxTreeNode], at: int) -> bool:
    return at < len(nodes) and _is_directive(nodes[at], "note")


def _to_right(cell: SyntaxTreeNode) -> bool:
    return "right" in str(cell.attrs.get("style", ""))


def _head(text: str, words: str, numeric: bool) -> str:
    """A column's head; an empty corner is no head, and a formula alone is also said in words."""
    if not text:
        return "<td></td>"
    if text.startswith("<math"):
        text = f'<span class="vh">{escape(words)}</span>{text.replace("<math", _SILENT_MATH, 1)}'
    return f'<th scope="col"{_class("r" if numeric else "")}>{text}</th>'


def _class(name: str) -> str:
    return f' class="{name}"' if name else ""


def _glue(parts: Sequence[str]) -> str:
    """Join; punctuation after a formula stays on the formula's line."""
    out: list[str] = []
    for part in parts:
        rest = part
        if out and out[-1].endswith("</math>") and (mark := _GLUED.match(part)):
            out[-1] = f'<span class="nb">{out[-1]}{mark[0]}</span>'
            rest = part[mark.end() :]
        out.append(rest)
    return "".join(out)
