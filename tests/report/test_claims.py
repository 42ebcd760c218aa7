"""What pages print in figures and in words, against the records and the study behind it."""

import json
import re
from decimal import Decimal
from pathlib import Path

import pytest

from report.notation import render
from report.numbers.comparing import compare
from report.numbers.distinction import Verdict
from report.numbers.steadiness import Steadiness
from report.numbers.timing import FLOORS_ABOVE
from tests.archive.unclaimed import unclaimed
from tests.report.numbers_ground import ROOT, content, evidence, study

DOCUMENTS = {
    "": "report.json",
    "config": "config.json",
    "environment": "environment.json",
    "trace": "trace/summary.json",
}


SPELLINGS = ("error", "scientific(2)", "fixed(0)", "quantity(B, 0)", "decibel(1)", "seconds(2)")
"""How a record's page prints errors, largest errors, counts, bytes, decibels and times."""


@pytest.fixture(scope="module")
def claims(built: Path) -> list[dict[str, str]]:
    return json.loads((built / "site/claims.json").read_text("utf-8"))["claims"]


@pytest.fixture(scope="module")
def lesson() -> str:
    return (ROOT / "content/lessons/choose-measure-profile.md").read_text("utf-8")


def published(site: Path, pointer: str) -> object:
    """The value at a pointer into a record, read from the files that the site publishes."""
    document, _, path = pointer.partition("#/")
    record, _, part = document.partition("/")
    value = json.loads((site / "records" / record / DOCUMENTS[part]).read_text("utf-8"))
    for key in path.split("/"):
        value = value[int(key)] if isinstance(value, list) else value[key]
    return value / 1e9 if path.endswith("_ns") else value


def test_no_number_is_evidence_that_cannot_be_checked(built: Path):
    assert list(unclaimed(built / "site")) == []


def test_a_number_that_is_marked_or_in_a_title_and_no_claim_is_found(tmp_path: Path):
    claims = [{"page": "a.html", "id": "v-1"}]
    (tmp_path / "claims.json").write_text(json.dumps({"claims": claims}), "utf-8")
    (tmp_path / "a.html").write_text(
        '<div id="fig-x"><p class="ft">INT8 at v5e: 64 \u00d7 128, and 2.45 %</p>'
        '<span class="v measured" id="v-1">3.1</span>'
        '<span class="v estimated"><span class="v part" id="v-1">8</span> on v5e, 9 on v6e</span>'
        '<span class="v computed" id="v-2">7</span><span class="v given">6</span></div>'
        '<p class="ft"><svg><path d="M0"/></svg>errs by 2.7</p>',
        "utf-8",
    )

    assert list(unclaimed(tmp_path)) == [
        ("a.html", "fig-x", "INT8 at v5e: 64 \u00d7 128, and 2.45 %"),
        ("a.html", "fig-x", "[claimed] on v5e, 9 on v6e"),
        ("a.html", "fig-x", "7"),
        ("a.html", "fig-x", "errs by 2.7"),
    ]


def test_a_time_in_a_profile_is_claimed_of_its_nanoseconds(claims):
    page = "profiles/precision-cpu.html"
    told = {each["pointer"]: each["text"] for each in claims if each["page"] == page}

    assert told["precision-cpu/trace#/steps/0/duration_ns"] == "58.5\u00a0µs"
    assert told["precision-cpu/trace#/gaps/0/start_ns"] == "58.467\u00a0µs"


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


REPAIRED = ("int8-groups-16", "int8-smoothing", "int8-feature-fp32")


def anatomy(name: str, part: str = "total") -> float:
    return number(f"representations-cpu#/results/{name}/anatomy/{part}")


def test_what_the_lesson_says_in_words_of_the_remedies():
    plain, e4m3fn = anatomy("outlier-int8-row-column"), anatomy("outlier-e4m3fn-scaled")
    threshold = content().reports["precision-cpu"].target.threshold
    base = "study#/representations/representations-cpu"
    extra = {name: number(f"{base}/{name}/extra_bytes") for name in REPAIRED}

    assert threshold == pytest.approx(0.01)
    assert all(anatomy(f"outlier-{name}") < threshold < plain for name in REPAIRED)
    assert all(anatomy(f"outlier-int8-groups-{size}") > threshold for size in (32, 64))
    assert anatomy("outlier-int8-smoothing") < anatomy("balanced-int8-row-column")
    assert e4m3fn == pytest.approx(plain, rel=0.05), "about that of plain INT8"
    assert min(REPAIRED, key=lambda name: anatomy(f"outlier-{name}")) == min(extra, key=extra.get)


def test_what_the_lesson_says_in_words_of_the_parts_of_an_error():
    base = "study#/representations/representations-cpu"
    narrow = ("bf16", "fp16", "e4m3fn-scaled", "w8", "int8-row-column", "w4", "int4-groups-32")
    row = "representations-cpu#/results/subnormal_row-fp32"
    whole = number("representations-cpu#/request/outputs")

    assert all(number(f"{base}/{name}/representation_over_rest") > 1000 for name in narrow)
    assert anatomy("outlier-fp32", "accumulation") == anatomy("outlier-fp32")
    assert anatomy("outlier-int8-row-column", "accumulation") == 0, "sums of integers are exact"
    assert number(f"{row}/counters/output/flushed") == whole, "one whole row"
    nearest = number("representations-cpu#/results/outlier-int8-static/bound/worst_ratio")
    assert nearest == number(f"{base}/bounds/worst_ratio"), "a static scale comes nearest"
    assert anatomy("subnormal_row-fp32") == pytest.approx(anatomy("balanced-fp32"), rel=0.01)


def test_what_the_lesson_says_in_words_of_the_ends_of_formats():
    largest = number("formats#/fp8_e4m3fn/max_finite")
    step = largest / 14  # Its significand is 1.75: fourteen eighths, an eighth being a step.

    assert largest + step / 2 == 464, "half-way to the next step, and 465 beyond it"
    assert number("formats#/fp8_e4m3b11fnuz/max_finite") < largest / 10
    assert "float8_e4m3b11fnuz" in words(str(content().chips["v5p"].specs["matrix_operands"].value))


def test_the_policy_file_in_the_lesson_is_one_of_the_labs(lesson: str):
    title, text = re.search(r'```toml \{title="From (.*?)"\}\n(.*?)```', lesson, re.S).groups()

    assert text in (ROOT / title).read_text("utf-8")


def test_the_lesson_explains_every_verdict_of_a_time(lesson: str):
    section = lesson.partition("### What a time may claim")[2].partition("\n### ")[0].casefold()

    for verdict in set(Verdict) - {Verdict.LONGER}:
        assert f"*{verdict.value}*" in section, verdict
    assert "*takes less time here*, or *more*" in section, "and its opposite"
    assert f"*{Steadiness.DRIFTING.value}*" in section
    assert FLOORS_ABOVE == 10, "under ten times that"


def test_the_two_runs_that_the_lesson_compares_differ_in_more_than_their_shape():
    one, two = (evidence()[name].record for name in ("precision-batch-one", "precision-cpu"))
    found = compare(one, two, "shape")

    assert not found.credited
    assert [each.field for each in found.unexplained] == ["request/steps"]


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


def recorded(built: Path, name: str) -> dict[str, object]:
    return json.loads((built / f"site/records/{name}/report.json").read_text("utf-8"))


def test_each_time_on_a_record_page_is_a_claim_on_its_own_row(built: Path, claims):
    run, page = "precision-cpu", "records/precision-cpu.html"
    told = {each["pointer"]: each["text"] for each in claims if each["page"] == page}
    report = recorded(built, run)
    rows = {
        f"results/{name}/timing_s": each["timing_s"] for name, each in report["results"].items()
    }
    rows |= {f"timing_floor_s/{name}": times for name, times in report["timing_floor_s"].items()}

    assert len(rows) == 8
    for row, times in rows.items():
        for part in ("minimum", "median", "maximum"):
            assert told[f"{run}#/{row}/{part}"] == render(times[part], "seconds(2)")


def test_the_claimed_scales_are_the_smallest_and_the_largest_of_x_and_w(built: Path, claims):
    run = "precision-cpu"
    for name in ("balanced-int8", "outlier-int8"):
        found = recorded(built, run)["results"][name]["quantization"]
        scales = [*found["x_scales"], *found["w_scales"]]
        pointers = [
            each["pointer"]
            for each in claims
            if each["page"] == f"records/{run}.html"
            and each["pointer"].startswith(f"{run}#/results/{name}/quantization/")
        ]
        values = [published(built / "site", pointer) for pointer in pointers]
        assert values == [min(scales), max(scales), found["max_abs_accumulator"]]


def test_both_ends_of_an_interval_are_claimed(claims):
    page, base = "records/timing-cpu.html", "study#/timing/timing-cpu"
    told = {each["pointer"] for each in claims if each["page"] == page}

    for pair in ("bf16-vs-fp32", "int8-vs-fp32", "int8-vs-bf16"):
        for end in ("ratio_low", "ratio_high", "aa_low", "aa_high"):
            assert f"{base}/{end}/{pair}" in told
    for part in ("floor", "clock", "programs/int8"):
        assert {f"{base}/{part}/low_s", f"{base}/{part}/high_s"} <= told


def test_a_bound_that_no_program_met_is_claimed_of_its_codes(built: Path, claims):
    run = "representations-cpu"
    results = recorded(built, run)["results"]
    pointers = {each["pointer"] for each in claims if each["page"] == f"records/{run}.html"}
    alone = [name for name, each in results.items() if each.get("codes_bound")]

    assert alone
    for name in alone:
        assert f"{run}#/results/{name}/codes_bound/worst_ratio" in pointers
        assert f"{run}#/results/{name}/bound/worst_ratio" not in pointers


def test_a_report_claims_both_columns_of_its_baseline(claims):
    here = {
        (claim["pointer"], claim["text"])
        for claim in claims
        if claim["page"] == "reports/precision-cpu.html"
    }

    assert {
        ("precision-batch-one#/request/batch", "1"),
        ("precision-cpu#/request/batch", "64"),
    } < here
    for record in ("precision-batch-one", "precision-cpu"):
        said = render(
            json.loads((ROOT / f"lab/records/{record}/report.json").read_text("utf-8"))["results"][
                "balanced-int8"
            ]["timing_s"]["median"],
            "seconds(2)",
        )
        assert (f"{record}#/results/balanced-int8/timing_s/median", said) in here
