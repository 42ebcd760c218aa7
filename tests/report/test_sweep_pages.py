"""A sweep on pages: its scope above it, a place for every value, and nothing hidden on a phone."""

import re
from dataclasses import replace

import pytest

from report.numbers.study import work_out
from report.pages.site import render_site
from report.pages.sweep_page import SECTIONS
from report.tables import set_tables
from tests.report.numbers_ground import evidence
from tests.report.test_preflight_pages import site_parts

RECORD = "sweep-cpu"
PAGE = f"records/{RECORD}.html"


@pytest.fixture(scope="module")
def parts():
    return site_parts(sorted(evidence()))


@pytest.fixture(scope="module")
def page(parts):
    return render_site(**parts)[PAGE].decode()


def test_the_page_has_its_scope_above_its_numbers(page):
    scope = page.index("Not a TPU result.")

    assert scope < page.index('id="words"')
    assert scope < page.index('class="v measured"')


def test_every_section_is_there_and_in_the_contents(page):
    for anchor, title in SECTIONS.items():
        assert f'<h2 id="{anchor}">{title}' in page
        assert f'href="#{anchor}"' in page


def test_both_figures_stand_on_the_page_of_their_run(page):
    assert 'id="fig-batch-sweep"' in page
    assert 'id="fig-traffic-models"' in page


def test_a_site_without_the_figures_sets_the_page_all_the_same(parts):
    figures = {
        name: figure
        for name, figure in parts["figures"].items()
        if name not in {"batch-sweep", "traffic-models"}
    }
    content = replace(parts["content"], lessons=())
    page = render_site(**parts | {"figures": figures, "content": content})[PAGE].decode()

    assert "fig-batch-sweep" not in page
    assert 'id="fp32-m1"' in page


@pytest.mark.parametrize(
    "path",
    [
        "results/bf16-m1/operations",
        "results/bf16-m1/timing_s/median",
        "results/bf16-m1/compiler_accessed_bytes",
        "results/int8-m512/stored_bytes/total",
        "results/int8-m512/kept/converts/0/elements",
        "probe/stream/triad-262144kib/timing_s/minimum",
        "probe/matrix/bf16-square-1024/operations",
        "probe/machine/cpu_model",
        "caches/0/bytes",
        "timing_floor_s/empty_call/median",
        "request/rounds",
        "order/0",
        "inputs/sweep/sha256",
    ],
)
def test_a_value_s_place_is_on_the_page(path, parts, page):
    place = parts["study"].values.place_of(f"{RECORD}#/{path}")
    site_path, _, anchor = place.partition("#")

    assert site_path == PAGE
    assert f'id="{anchor}"' in page


def test_every_worked_out_value_has_its_place_among_the_workings(parts):
    pages = render_site(**parts)
    workings = pages["workings.html"].decode()

    for value in parts["study"].values.derived:
        if value.pointer.startswith("study#/sweep/"):
            anchor = parts["study"].values.place_of(value.pointer).partition("#")[2]
            assert f'id="{anchor}"' in workings


def test_no_integer_rate_is_called_flop(page):
    rows = re.findall(r'<tr id="int8-m\d+">.*?</tr>', page, re.DOTALL)

    assert len(rows) == 10
    for row in rows:
        assert "OP" in row
        assert not re.search(r"\dG?FLOP/", row.replace("\u00a0", ""))


def test_the_words_on_the_page_come_from_values(page):
    words = page[page.index('id="words"') : page.index('id="sweep"')]

    assert 'class="v measured"' in words
    assert "{value}" not in words


def test_a_record_from_another_processor_is_refused_on_the_page_with_both_named(parts):
    found = dict(parts["evidence"])
    record = found["precision-cpu"].record
    environment = dict(record.environment)
    environment["cpu"] = environment["cpu"] | {"model": "Quite Another CPU"}
    found["precision-cpu"] = replace(
        found["precision-cpu"], record=replace(record, environment=environment)
    )
    study = work_out(found, parts["content"])
    tables = set_tables(study, parts["content"])
    changed = {"evidence": found, "study": study, "tables": tables, "cache": None}
    page = render_site(**parts | changed)[PAGE]
    row = re.search(r"<tr>(?:(?!</tr>).)*refused(?:(?!</tr>).)*</tr>", page.decode(), re.DOTALL)

    assert "Quite Another CPU" in row[0]
    assert study.runs[RECORD].machine.cpu_model in row[0]
