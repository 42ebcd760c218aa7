"""What people may write in a document, what it becomes, and every refusal with its line."""

import re
import time
from collections.abc import Mapping
from pathlib import Path

import pytest

from report.errors import ContentFault
from report.exhibit import Cell, Column, Table
from report.numbers.values import Value, Values
from report.pages.anchors import Anchor, Anchors
from report.pages.desk import Desk
from report.pages.exhibits import Shelf
from report.pages.manuscript import read
from report.pages.press import environment
from report.pages.prose import Galley
from tests.conftest import PROJECT

PAGE = "lessons/a.html"
TABLE = Table(
    name="formats",
    title="Formats",
    caption="Bit by bit.",
    columns=(Column(head="Format"), Column(head="Largest", numeric=True)),
    rows=((Cell(text="BF16", bits=(1, 8, 7)), Cell(text="3.4", kind="computed")),),
    row_ids=("bf16",),
)
KNOWN = {
    value.pointer: value
    for value in (
        Value(pointer="study#/share", number=0.0303, kind="computed", formula="s"),
        Value(pointer="study#/none", number=None, kind="measured", reason="norm is zero"),
    )
}
DOCUMENTS: Mapping[str, Mapping[str, object]] = {
    "run": {
        "schema": "assay/precision/1",
        "results": {"int8": {"relative_l2_error": 0.0245321}},
    }
}


@pytest.fixture(scope="session")
def pieces():
    return environment(PROJECT / "templates").get_template("pieces.html").module


@pytest.fixture
def set_text(pieces):
    """Set Markdown on a page of a small site; returns its galley and its HTML."""

    def setter(text: str, first_line: int = 1) -> tuple[Galley, str]:
        manuscript = read(text, path="a.md", page=PAGE, first_line=first_line)
        anchors = Anchors()
        for anchor in manuscript.anchors:
            anchors.add(anchor)
        anchors.add(Anchor(kind="page", name="chips", page="chips.html", id="", label="Chips"))
        anchors.add(
            Anchor(kind="eq", name="far", page="lessons/b.html", id="eq-far", label="Equation 4")
        )
        desk = Desk(
            anchors=anchors,
            values=Values(KNOWN, DOCUMENTS),
            terms={"unit roundoff": "g-unit-roundoff"},
            pieces=pieces,
            exhibits=Shelf(figures={}, tables={"formats": TABLE}, made={}, pieces=pieces),
        )
        galley = Galley(desk=desk, page=PAGE)
        return galley, galley.blocks(manuscript)

    return setter


def words(html: str) -> str:
    return re.sub(r"\s+", " ", re.sub(r"<[^>]+>", "", html)).strip()


# What it becomes


def test_a_value_links_to_where_it_is_from_and_makes_a_claim(set_text):
    galley, html = set_text("It is {value}`run#/results/int8/relative_l2_error; percent(2)`.")

    assert '<a class="v measured" id="v-1" href="../records/run.html#int8"' in html
    assert "2.45\u00a0%</a>" in html
    (claim,) = galley.claims
    assert (claim.pointer, claim.format) == ("run#/results/int8/relative_l2_error", "percent(2)")


def test_a_number_in_a_text_that_tells_its_kind_makes_the_same_claim_without_a_link(set_text):
    galley, html = set_text("It is {number}`run#/results/int8/relative_l2_error; percent(2)`.")

    assert '<span class="v part" id="v-1">2.45\u00a0%</span>' in html
    (claim,) = galley.claims
    assert (claim.pointer, claim.format, claim.text) == (
        "run#/results/int8/relative_l2_error",
        "percent(2)",
        "2.45\u00a0%",
    )


def test_a_missing_value_prints_that_it_is_missing_and_why(set_text):
    _, html = set_text("It is {value}`study#/none; fixed(1)`.")

    assert "not recorded" in html
    assert "norm is zero" in html


def test_a_chosen_number_is_marked_and_claims_nothing(set_text):
    galley, html = set_text("Take {given}`16 GB`.")

    assert 'class="v given"' in html
    assert galley.claims == []


def test_references_print_the_place_and_lead_there(set_text):
    _, html = set_text(
        "{ref}`eq:own`, {ref}`eq:far`, {ref}`tab:formats`, {ref}`sec:a-part`, {ref}`page:chips`."
        "\n\n## A part\n\n```{math} own\na = b\n```\n\n```{table} formats\n```\n"
    )

    assert '<a class="ref" href="#eq-own">Equation 1</a>' in html
    assert '<a class="ref" href="b.html#eq-far">Equation 4</a>' in html
    assert '<a class="ref" href="#tab-formats">Table 1</a>' in html
    assert '<a class="ref" href="#a-part">A part</a>' in html
    assert '<a class="ref" href="../chips.html">Chips</a>' in html


def test_a_term_is_found_in_the_plural_and_listed(set_text):
    galley, html = set_text("Many {term}`Unit roundoffs`, one {term}`bound <unit roundoff>`.")

    assert html.count('href="#g-unit-roundoff"') == 2
    assert list(galley.terms) == ["unit roundoff"]


def test_an_equation_is_numbered_and_its_symbols_listed(set_text):
    _, html = set_text("```{math} scale\ns_i = a\n---\ns_i : scale of row $i$, FP32\n```")

    assert 'id="eq-scale"' in html
    assert ">(1)</a>" in html
    assert "scale of row" in html


def test_punctuation_stays_with_its_formula(set_text):
    _, html = set_text("So $x$, then.")

    assert re.search(r'<span class="nb"><math[^>]*>.*?</math>,</span>', html)


def test_money_is_not_mathematics(set_text):
    _, html = set_text("Alice has $10, and Bob gives Eve $10; US$1.2 an hour, and $x$ is one.")

    assert html.count("<math") == 1


def test_a_note_stands_beside_its_paragraph(set_text):
    _, html = set_text("A claim.\n\n:::{note}\nA doubt.\n:::\n\nMore.\n\n## Next\n")

    noted = html[html.index('class="noted"') : html.index("<h2")]
    assert words(noted.partition(">")[2]) == "A claim.1 1 A doubt.↑ More."
    assert 'href="#note-1-from"' in noted


def test_a_checkpoint_keeps_its_answer_closed_and_its_choices_open(set_text):
    _, html = set_text(
        "::::{checkpoint} one — What is $m$?\n- ( ) small\n- (x) large\n\n"
        ":::{answer}\nIt is large.\n:::\n::::"
    )

    assert '<div class="check" id="check-one"' in html
    assert html.count('type="radio"') == 2
    assert "(x)" not in html
    assert "It is large." in html[html.index("<details>") :]


def test_alignment_is_a_class_and_rows_are_named(set_text):
    _, html = set_text("| a | b |\n| --- | ---: |\n| FP32 | 1 |")

    assert '<th scope="col" class="r">b</th>' in html
    assert '<th scope="row">FP32</th>' in html
    assert "style=" not in html


def test_code_is_marked_with_classes_and_escaped(set_text):
    _, html = set_text('```python {title="Check"}\nassert 1 < 2\n```')

    assert "&lt;" in html
    assert '<span class="k">assert</span>' in html
    assert "style=" not in html
    assert ">Check</span>" in html


def test_headings_with_one_name_get_two_anchors(set_text):
    galley, html = set_text("## Results\n\na\n\n## Results\n\nb\n\n## 🙂\n")

    assert [heading.id for heading in galley.headings] == ["results", "results-1", "section"]
    assert 'id="results-1"' in html


def test_windows_line_ends_make_no_difference(set_text):
    text = "## A\n\nOne\ntwo $x$.\n"

    assert set_text(text)[1] == set_text(text.replace("\n", "\r\n"))[1]


def test_every_formula_of_the_source_is_on_the_page(set_text):
    galley, html = set_text(
        "$a$ and $b$\n\n```{math} c\nc\n---\nd : what $e$ is\n```\n\n"
        "::::{checkpoint} q — How big is $f$?\n:::{answer}\n$g$\n:::\n::::\n"
    )

    assert galley.faults == []
    assert html.count("<math") == 7


# What is refused, with file and line

REFUSED = {
    "raw HTML": ("a <b>c</b>", 1, "raw HTML"),
    "a script": ("x\n\n<script>alert(1)</script>", 3, "raw HTML"),
    "a comment": ("a <!-- b -->", 1, "raw HTML"),
    "an image": ("![a](https://example.org/a.png)", 1, "an image"),
    "an insecure link": ("[a](http://example.org)", 1, "http://example.org"),
    "an absolute link": ("[a](/etc/passwd)", 1, "absolute link"),
    "a typed number": ("line one\nuses 16,896 bytes", 2, "'16,896 bytes' is typed"),
    "a typed share": ("about 2.45 % more", 1, "'2.45 %' is typed"),
    "a typed rate": ("at 197 TFLOP/s", 1, "is typed"),
    "a typed time": ("in 16.6 µs", 1, "is typed"),
    "TeX parentheses": (r"The number \(P\) of", 1, r"\("),
    "TeX brackets": ("\\[\nM = P\n\\]", 1, r"\["),
    "a $$ block": ("a\n\n$$\nx\n$$", 3, "$$"),
    "a broken formula": (r"the $\frac{a}{$ here", 1, "formula, character"),
    "an unknown role": ("{valeu}`a#/b; text`", 1, "no role is called 'valeu'"),
    "an unknown pointer": ("{value}`run#/results/int4/x; text`", 1, "'int4'"),
    "an unknown format": ("{value}`study#/share; percentage(2)`", 1, "percentage"),
    "a value without a format": ("{value}`study#/share`", 1, "no format"),
    "an unknown reference": ("{ref}`fig:nothing`", 1, "fig:nothing"),
    "an unknown term": ("{term}`unit roundup`", 1, "unit roundup"),
    "an unknown table": ("a\n\n```{table} format\n```", 3, "format"),
    "a full table fence": ("```{table} formats\ntext\n```", 1, "leave it empty"),
    "an unknown block": (":::{sidebar}\na\n:::", 1, "sidebar"),
    "an unclosed block": ("a\n\n:::{note}\nb", 3, "never closed"),
    "an unclosed fence": ("```python\na = 1", 1, "never closed"),
    "an unknown language": ("```klingon\na\n```", 1, "klingon"),
    "code by indentation": ("a\n\n    b = 1", 3, "indentation"),
    "too many cells": ("| a | b |\n| --- | --- |\n| $P(A|B)$ | x |", 3, "3 cells, its header 2"),
    "too few cells": ("| a | b |\n| --- | --- |\n| x |", 3, "1 cells, its header 2"),
    "a first-level heading": ("# Title", 1, "level 1"),
    "an equation twice": ("```{math} a\nx\n```\n\n```{math} a\ny\n```", 5, "twice"),
    "a checkpoint without an answer": (":::{checkpoint} a — b?\nc\n:::", 1, "0 answers"),
    "a NUL": ("a\n\nb\0c", 3, "U+0000"),
    "text that turns around": ("a \u202e b", 1, "U+202E"),
    "deep nesting": ("".join(f"{'  ' * n}- a\n" for n in range(40)), 8, "nested too deep"),
    "deep quotes": ("> " * 60 + "a", 1, "nested too deep"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_a_fault_names_its_file_its_line_and_what_was_found(set_text, name):
    text, line, found = REFUSED[name]

    galley, _ = set_text(text, first_line=101)

    assert f"a.md:{line + 100}" in [fault.where for fault in galley.faults]
    assert any(found in fault.found + fault.remedy for fault in galley.faults), galley.faults


def test_all_faults_come_out_together(set_text):
    galley, _ = set_text("uses 1 GB\n\n{ref}`fig:x`\n\n<i>a</i>\n")

    assert [fault.where for fault in galley.faults] == ["a.md:1", "a.md:3", "a.md:5"]


TYPED = {
    "was 0.17, and": "0.17",
    "the speedup 3.2": "3.2",
    "a 1.4e-3 error": "1.4e-3",
    "an error of 2e-5": "2e-5",
    "of 2.4 × 10⁻³": "2.4 × 10⁻³",
    "near 10⁻⁷": "10⁻⁷",
    "about .5 of it": ".5",
    "off by −3.7 ms": "−3.7 ms",
    "off by -3.7 ms": "-3.7 ms",
    "from 3-5 ms": "5 ms",
    "errs by 17 per cent": "17 per cent",
    "1,024 tokens/s": "1,024 tokens/s",
    "300 steps per second": "300 steps per second",
    "in 12 000 bytes": "12 000 bytes",
    "it is 3x faster": "3x",
    "is 3× as fast": "3×",
    "12 times smaller": "12 times smaller",
    "3 times the error": "3 times the",
    "grew 5-fold": "5-fold",
    "a factor of 12": "factor of 12",
    "takes **3.7** ms": "3.7 ms",
    "takes 3.7\nms": "3.7 ms",
    "errs by 17 \\%": "17 %",
    "takes $3.7$ ms": "3.7 ms",
    "a [0.17](b.html) error": "0.17",
    "Python 3.12 took 3.7 ms": "3.7 ms",
}


@pytest.mark.parametrize("text", TYPED)
def test_what_looks_measured_is_never_typed(set_text, text):
    found = [fault.found for fault in set_text(text)[0].faults]

    assert found == [f"the number {TYPED[text]!r} is typed"]


def test_every_typed_number_of_a_paragraph_is_told_with_its_line(set_text):
    galley, _ = set_text("first 0.17 and 3 ms,\nthen 12 times smaller")

    assert [(fault.where, fault.found.split("'")[1]) for fault in galley.faults] == [
        ("a.md:1", "0.17"),
        ("a.md:1", "3 ms"),
        ("a.md:2", "12 times smaller"),
    ]


@pytest.mark.parametrize(
    "text",
    [
        "FP32 stays",
        "v5p-8 has four",
        "in 2026 it, on 2026-01-31 or 30.11.2026",
        "`16 GB` and `0.17`",
        "3 chips",
        "one of 3 cases; three remedies",
        "64 × 128 × 64, 4x4, 128 x k, $m$ × $n$ or 3 × $k$",
        "8x H100, 4 × v5e or 2x TPU",
        "read once and used 64 times, 20 times over",
        "the same 20 times the same",
        "the 5th to the 95th percentile, p99",
        "Python 3.11 to 3.14, JAX 0.10.2, section 3.1, v2.5, Llama-3.1 8B",
        "10⁹ rows below $2^{31}$, 2/127 or $0.5 + 1$",
        "<https://doi.org/10.1137/1.9780898718027>",
        "W8A8, INT4, E4M3B11FNUZ, TPU7x, SHA-256, x86-64",
        "{given}`17 %` and {given}`3x` faster",
        "{value}`study#/share; percent(1)` more",
    ],
)
def test_numbers_that_are_names_counts_or_code_may_stand(set_text, text):
    assert set_text(text)[0].faults == []


@pytest.mark.parametrize("address", ["javascript:alert(1)", "vbscript:x", "data:text/html,x"])
def test_a_link_that_would_run_never_becomes_one(set_text, address):
    galley, html = set_text(f"[a]({address})")

    assert "<a " not in html
    assert [fault.where for fault in galley.faults] != []


@pytest.mark.parametrize(
    "text", ["[a]: javascript:x", "{value}``", "{ref}``", "{given}` `", "[a](<b> c)", "see [a](b"]
)
def test_what_came_to_no_link_and_no_role_is_a_fault(set_text, text):
    assert set_text(text)[0].faults != []


@pytest.mark.parametrize(
    "spelling", ["bytes", "bytes(GiB, 1)", "quantity(GB, 1)", "seconds(2)", "decibel(1)"]
)
def test_a_ratio_is_never_printed_with_a_unit(set_text, spelling):
    galley, _ = set_text(f"It is {{value}}`run#/results/int8/relative_l2_error; {spelling}`.")

    assert len(galley.faults) == 1


@pytest.mark.parametrize("text", ["`[a](b` and `{value}`", "f(x)[1] (y)", "a]: b"])
def test_brackets_that_promise_no_link_may_stand(set_text, text):
    assert set_text(text)[0].faults == []


@pytest.mark.parametrize("text", ["a &#x202e;b", "a &#8207; b", "a &rlm; b"])
def test_a_control_character_is_found_behind_its_entity(set_text, text):
    assert any("control character" in fault.found for fault in set_text(text)[0].faults)


def test_escaped_signs_stay_signs(set_text):
    galley, html = set_text(r"1 \< 2 and \* and \$")

    assert galley.faults == []
    assert "1 &lt; 2 and * and $" in html


@pytest.mark.parametrize(
    "text", ["](" * 9000, "[a](<b" * 3000, "*a " * 6000, "`" * 9000, "> " * 9000, "| a " * 4000]
)
def test_hostile_text_costs_little_time(set_text, text):
    begin = time.process_time()
    set_text(text)

    assert time.process_time() - begin < 5


def test_the_shipped_lessons_are_read_without_fault():
    for path in sorted((PROJECT / "content" / "lessons").glob("*.md")):
        body = path.read_text("utf-8").split("---\n", 2)[2]
        assert read(body, path=Path(path).name, page=PAGE).faults == ()


def test_an_anchor_that_is_not_there_has_near_names():
    anchors = Anchors()
    anchors.add(Anchor(kind="fig", name="roofline", page="a.html", id="fig-roofline", label="F"))

    with pytest.raises(ContentFault) as caught:
        anchors.find("fig:rooflin", "a.html")

    assert "fig:roofline" in caught.value.hint
