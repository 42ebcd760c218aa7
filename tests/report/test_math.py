"""TeX becomes MathML that browsers draw, checkers accept and the pages' policy keeps."""

import re

import pytest

from report.pages.math import FormulaFault, to_mathml


def test_a_formula_carries_its_tex():
    assert to_mathml("u = 2^{-8}").startswith('<math data-tex="u = 2^{-8}">')


def test_a_display_formula_is_a_block():
    assert 'display="block"' in to_mathml(r"F = 2mkn", display=True)


@pytest.mark.parametrize(
    "tex",
    [
        r"\begin{aligned}a &= b\\ c &= d\end{aligned}",
        r"f = \begin{cases}1 & x > 0\\ 0 & x = 0\end{cases}",
        r"a\!b",
        r"\widehat{Y}_{ij} = s_i\,t_j \sum_k q(X_{ik})",
        r"{\textstyle\sum_k} x_k",
    ],
)
def test_no_style_attribute_is_left(tex):
    assert "style=" not in to_mathml(tex, display=True).replace("displaystyle=", "")


def test_alignment_becomes_a_class():
    assert 'class="to-right no-right"' in to_mathml(r"\begin{aligned}a &= b\end{aligned}")


def test_an_accent_over_a_letter_stands_above_it():
    assert '<mover class="accent"><mi>Y</mi><mo stretchy="false">ˆ</mo></mover>' in to_mathml(
        r"\widehat{Y}"
    )


def test_text_in_a_formula_is_escaped():
    markup = to_mathml(r"\text{<img src=x>}")

    assert "<img" not in markup
    assert "&lt;img" in markup


def test_thousands_may_be_grouped():
    assert re.sub(r"<[^>]+>", "", to_mathml("300{,}000")) == "300,000"


@pytest.mark.parametrize(
    ("tex", "found"),
    [
        ("", "empty"),
        (r"\frac{a}{", "character 9"),
        ("x_{", "character 3"),
        (r"\href{javascript:alert(1)}{x}", r"\href"),
        (r"\color{red}{x}", r"\color"),
        (r"\boxed{x}", "menclose"),
        (r"\nosuchcommand", "nosuchcommand"),
        ("a % b", "bare %"),
        ("{" * 2000 + "}" * 2000, "nested 2000 deep"),
        ("x" * 5000, "5000 characters"),
    ],
)
def test_what_a_reader_would_miss_is_refused(tex, found):
    with pytest.raises(FormulaFault) as caught:
        to_mathml(tex)

    assert found in str(caught.value)


def test_a_percent_sign_may_be_written():
    assert "%" in to_mathml(r"50\,\%")
