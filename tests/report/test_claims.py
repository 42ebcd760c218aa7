"""What pages print in figures and in words, against the records and the study behind it."""

import json
import re
from decimal import Decimal
from pathlib import Path

import pytest

from report.notation import render
from tests.report.numbers_ground import content, study

DOCUMENTS = {
    "": "report.json",
    "config": "config.json",
    "environment": "environment.json",
    "trace": "trace/summary.json",
}


SPELLINGS = ("error", "scientific(2)", "fixed(0)", "quantity(B, 0)")
"""How a record's page prints errors, largest errors, counts and bytes."""


@pytest.fixture(scope="module")
def claims(built: Path) -> list[dict[str, str]]:
    return json.loads((built / "site/claims.json").read_text("utf-8"))["claims"]


def published(site: Path, pointer: str) -> object:
    """The value at a pointer into a record, read from the files that the site publishes."""
    document, _, path = pointer.partition("#/")
    record, _, part = document.partition("/")
    value = json.loads((site / "records" / record / DOCUMENTS[part]).read_text("utf-8"))
    for key in path.split("/"):
        value = value[int(key)] if isinstance(value, list) else value[key]
    return value


def test_each_claim_on_a_record_can_be_made_again_from_the_published_files(built, claims):
    recorded = [claim for claim in claims if claim["pointer"].startswith("precision-")]

    assert len(recorded) > 40
    for claim in recorded:
        value = published(built / "site", claim["pointer"])
        assert render(value, claim["format"], reason="none") == claim["text"], claim


def test_each_other_claim_is_its_value_in_its_format(claims):
    others = [claim for claim in claims if not claim["pointer"].startswith("precision-")]

    assert len(others) > 40
    for claim in others:
        value = study().values.lookup(claim["pointer"])
        assert render(value.printable, claim["format"], reason=value.reason) == claim["text"], claim


def test_the_link_of_a_recorded_number_leads_to_the_row_that_shows_it(built: Path, claims):
    """Printed there in another format perhaps, but the same number."""
    for claim in claims:
        pointer, site = claim["pointer"], built / "site"
        if not pointer.startswith("precision-") or "#/results/" not in pointer:
            continue
        page, _, row = study().values.resolve_href(pointer).partition("#")
        html = (site / page).read_text("utf-8")
        (found,) = re.findall(rf'<tr id="{row}">(.*?)</tr>', html, re.DOTALL)
        value = published(site, pointer)
        spellings = {render(value, how, reason="none") for how in (*SPELLINGS, claim["format"])}
        assert any(f">{spelling}<" in found for spelling in spellings), claim


def number(pointer: str) -> float:
    found = study().values.lookup(pointer).number
    assert isinstance(found, int | float | Decimal), pointer
    return float(found)


def error(name: str) -> float:
    return number(f"precision-cpu#/results/{name}/relative_l2_error")


def test_what_the_lesson_says_in_words_of_the_errors():
    roundoff = number("formats#/bf16/unit_roundoff")

    assert max(error("balanced-bf16"), error("outlier-bf16")) < roundoff, "BF16 stays below u"
    assert error("outlier-bf16") == pytest.approx(error("balanced-bf16"), rel=0.05), "undisturbed"
    assert 0 < error("balanced-fp32") < error("balanced-bf16") / 1000, "small and not zero"
    assert error("outlier-int8") > 2 * error("balanced-int8"), "INT8 does care"


def test_what_the_lesson_says_in_words_of_sums_and_scales():
    shares = [
        number(f"study#/precision/{run}/scale_share")
        for run in ("precision-cpu", "precision-batch-one")
    ]
    worst = number("study#/precision/precision-cpu/worst_accumulator")
    one = "precision-batch-one#/results/balanced-int8"

    assert shares[1] == pytest.approx(shares[0], rel=0.02), "it hardly moves"
    assert shares[1] == pytest.approx(4 / 127, rel=0.05), "about 4/k"
    assert worst < 2**24, "FP32 holds every integer up to 2^24, and the worst sum is smaller"
    assert number(f"{one}/compiler_memory_bytes/temporary") >= 4 * 127 * 65, "four bytes a code"


def test_what_the_lesson_says_in_words_of_the_roofline():
    roof = "study#/roofline"
    drawn, other, v6e = (
        number(f"{roof}/{at}") for at in ("ridge", "ridge_alternative", "v6e/ridge")
    )
    limit = number(f"{roof}/intensity_limit")
    work, bound = (
        number(f"{roof}/m64/{k}") / number(f"{roof}/m1/{k}") for k in ("flop", "ideal_s")
    )
    rows = [number(f"{roof}/rows_at_ridge{which}") for which in ("", "_alternative")]

    assert number(f"{roof}/m64/intensity") < min(drawn, other) / 4, "far left of the ridge"
    assert max(drawn, other) < limit < v6e, "above this ridge; no batch reaches that of v6e"
    assert rows[1] - rows[0] > 100, "by more than a hundred rows"
    assert work == 64 and bound < 1.5, "the work grows sixty-fourfold, the bound by far less"
    assert 2**30 / 10**9 > 1.07, "GB/s and GiB/s differ by more than seven percent"


def test_what_the_lesson_says_in_words_of_the_chips():
    chips = content().chips
    operands = {name: str(chip.specs["matrix_operands"].value) for name, chip in chips.items()}

    assert number("chips#/v5p/peak_fp8") == number("chips#/v5p/peak_bf16")
    assert number("chips#/tpu7x/peak_fp8") == 2 * number("chips#/tpu7x/peak_bf16"), "here it does"
    assert number("chips#/v4/peak_int8") == number("chips#/v4/peak_bf16"), "no higher peak there"
    assert all("int8 × int8" not in operands[name] for name in ("v4", "tpu7x"))
    assert all("float16" not in words(text) for text in operands.values())
    assert chips["v5p"].specs["peak_int8"].value is None
    assert chips["tpu7x"].specs["peak_int8"].value is None


def words(operands: str) -> set[str]:
    return set(operands.replace(",", " ").replace(";", " ").split())


def test_what_the_lesson_says_in_words_of_the_compiled_programs(built: Path):
    def program(record: str) -> str:
        folder = built / "site" / "records" / record
        return (folder / "programs/balanced-int8.hlo.txt").read_text("utf-8")

    kept, converted = program("precision-cpu"), program("precision-batch-one")

    assert "s32[64,64]{1,0} dot(%param_0, %param_1)" in kept, "INT8 operands up to the dot"
    assert "convert(%param_0)" not in kept
    for shape in ("1,127", "127,65"):
        assert f"s32[{shape}]{{1,0}} convert(" in converted, "it first converts both to INT32"
