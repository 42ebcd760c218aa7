"""The representations record on its page: every result in plain words, whatever came out."""

import re
from functools import cache

import pytest

from report.exhibit import spoken
from report.figures import gallery
from report.numbers.representations import CASES, RepresentationsRun
from report.numbers.study import work_out
from report.pages.record_kinds import SETTERS
from report.pages.representations_page import SECTIONS, range_words, verdicts
from report.pages.site import render_site
from report.tables import set_tables
from tests.report.numbers_ground import content, edited, evidence, study
from tests.report.test_preflight_pages import site_parts

RECORD = "representations-cpu"
PAGE = f"records/{RECORD}.html"


def changed(edits: dict[str, object]) -> RepresentationsRun:
    """The run with some of its numbers replaced."""
    return work_out({RECORD: edited(RECORD, edits)}, content()).of(RepresentationsRun)[RECORD]


@cache
def page() -> str:
    return render_site(**site_parts(sorted(evidence())))[PAGE].decode()


def plain(html: str) -> str:
    text = re.sub(r"<[^>]+>", " ", html).replace("\u00a0", " ").replace("&nbsp;", " ")
    return re.sub(r"\s+", " ", text)


def test_the_kind_has_its_page():
    assert RepresentationsRun in SETTERS


@pytest.mark.parametrize("section", SECTIONS)
def test_every_section_stands_on_the_page(section):
    assert f'<h2 id="{section}">' in page()


def test_the_scope_stands_above_the_results():
    text = plain(page())

    assert text.index("CPU arithmetic reference. Not a TPU result.") < text.index("0.94 %")


def test_every_place_that_a_pointer_leads_to_is_there():
    run = study().of(RepresentationsRun)[RECORD]
    ids = set(re.findall(r'id="([^"]+)"', page()))
    places = set()
    for result in run.results.values():
        base = f"{RECORD}#/results/{result.id}"
        keys = ["status"]
        if result.found:
            keys += ["anatomy/total", "counters/x/clipped", "stored_bytes/total", "scales"]
            keys += ["bound", "codes_bound", "max_abs_error", "output", "rows", "integer_range"]
            keys += ["integer_range/headroom_bits"] if result.found.integers else []
        places |= {study().values.place_of(f"{base}/{key}") for key in keys}
    for policy in run.policies:
        places |= {
            study().values.place_of(f"{RECORD}#/policies/{policy}/bound"),
            study().values.place_of(f"{RECORD}#/programs/{policy}/hlo"),
        }
    places |= {study().values.place_of(f"{RECORD}#/{key}/x") for key in ("inputs", "request")}
    places.add(study().values.place_of(f"{RECORD}#/scope/statement"))

    assert {place.partition("#")[2] for place in places} <= ids


def test_refusals_stand_in_plain_words_and_in_the_compilers_own():
    text = plain(page())
    run = study().of(RepresentationsRun)[RECORD]

    assert "64 of 64 rows to evaluate on are rows that the scales were calibrated on" in text
    assert "values of X became NaN or infinity" in text
    for name, program in run.programs.items():
        if program.status == "refused":
            assert f"{run.policies[name].short}: refused by the compiler" in text
            assert "no program ran" in text


def test_the_figures_stand_beside_what_they_show():
    for name in ("outlier-repair", "error-anatomy", "bound-ratios"):
        assert f'id="fig-{name}"' in page()


def test_the_verdict_counts_what_was_measured_and_what_was_not():
    told = verdicts(study().of(RepresentationsRun)[RECORD])
    results = study().of(RepresentationsRun)[RECORD].results.values()
    measured = sum(result.status == "measured" for result in results)

    assert told[0].startswith(f"{measured} of {len(results)} results come from a program")
    assert told[-1].endswith("outputs that have a bound stay within it.")


BROKEN = {
    "/results/outlier-int8-smoothing/bound/exceeded": 4,
    "/results/outlier-int8-smoothing/bound/share_under": 4092 / 4096,
    "/results/outlier-int8-smoothing/bound/worst_ratio": 7.5,
    "/results/outlier-int8-smoothing/bound/percentiles/p100": 7.5,
}


def test_a_broken_bound_is_said_in_every_place():
    broken = work_out({RECORD: edited(RECORD, BROKEN)}, content())
    verdict = verdicts(broken.of(RepresentationsRun)[RECORD])[-1]
    figure = gallery.draw_one("bound-ratios", broken, content())
    table = set_tables(broken, content())[f"{RECORD}-bound-outlier"]
    share = broken.values.lookup(f"study#/representations/{RECORD}/bounds/share_under")

    assert verdict.startswith("4 of ")
    assert "break their bound" in verdict
    assert figure.title.endswith("outputs break their bound: INT8 smoothed.")
    said = [row[1].text for row in table.rows if "smoothed" in row[0].text]
    assert said == ["broken by 4 of 4,096 outputs"]
    assert share.number < 1


def with_error(policy: str, error: float) -> dict[str, object]:
    """Edits by which all rows of the outlier's case have this error, all of it representation."""
    place = f"/results/outlier-{policy}"
    parts = (f"{place}/anatomy/total", f"{place}/anatomy/representation")
    return dict.fromkeys(parts, error) | {
        f"{place}/rows": [error] * 64,
        f"{place}/max_abs_error": 4 * error,
    }


def test_titles_say_what_came_out_and_not_what_was_hoped_for():
    none = {
        place: value
        for policy in (
            "int8-groups-64",
            "int8-groups-32",
            "int8-groups-16",
            "int8-smoothing",
            "int8-feature-fp32",
        )
        for place, value in with_error(policy, 0.03).items()
    }
    some = none | with_error("int8-smoothing", 0.01)
    titles = []
    for edits in (none, some):
        found = work_out({RECORD: edited(RECORD, edits)}, content())
        title = gallery.draw_one("outlier-repair", found, content()).title
        titles.append(spoken(title, found.values.lookup).replace("\u00a0", " "))

    assert titles[0] == "None of 5 repairs lowers the outlier’s 2.45 %."
    assert titles[1] == (
        "1 of 5 repairs lower the outlier’s 2.45 %; the best, INT8 smoothed, to 1.00 %."
    )


def test_sums_that_float32_cannot_hold_are_warned_of():
    place = "/results/outlier-int8-tensor/integer_range"
    run = changed(
        {
            f"{place}/max_abs_accumulator": 2**25,
            f"{place}/headroom_bits": 31 - 25.0,
            f"{place}/float32_exact": False,
        }
    )

    assert list(range_words(study().of(RepresentationsRun)[RECORD])) == []
    (told,) = range_words(run)
    assert told.startswith("INT8 per tensor: a sum passes 16,777,216 (Outlier)")


def test_every_case_has_its_tables():
    tables = set_tables(study(), content())

    for case in CASES:
        for part in ("anatomy", "bound", "counters"):
            assert len(tables[f"{RECORD}-{part}-{case}"].rows) == len(
                study().of(RepresentationsRun)[RECORD].policies
            )


def test_four_bit_codes_are_counted_packed():
    table = set_tables(study(), content())["representation-bytes"]
    row = next(row for row in table.rows if row[0].text.startswith("INT4") and "row" in row[0].text)

    assert [cell.text for cell in row[1:]] == ["4,096", "4,096", "512", "0", "8,704"]
