"""The page of a run of any lab: does a number lead to its row, and do long lists begin folded?"""

import re

import pytest

from report.numbers.own_pointers import section
from report.pages.own_page import MOST_OPEN, MOST_TOGETHER, part_of
from report.pages.press import breakable

RESULTS = {
    "plain": 1.5,
    "nested": {"relative_l2_error": 0.1, "a/b": 1, "a~b": 2, "a b": 3, "50%": 4, "a.b": 5},
    "few": [1, 2, 3],
    "grid": [[1, 2], [3, 4]],
    "by_batch": {"8": 0.5, "16": 0.25},
    "steps": [{"wall_s": 0.5, "loss": 2}, {"wall_s": 0.25, "loss": 1}],
    "none": None,
    "empty": {},
}


def ids_of(part) -> list[str]:
    shelves = [part["rows"], *(each["rows"] for each in part["lists"])]
    return [id_ for rows in shelves for row in rows for id_ in row["ids"]]


@pytest.mark.parametrize(
    ("pointer", "text"),
    [
        ("results/plain", "1.5"),
        ("results/nested/relative_l2_error", "0.1"),
        ("results/nested/a~1b", "1"),
        ("results/nested/a~0b", "2"),
        ("results/nested/a b", "3"),
        ("results/nested/50%", "4"),
        ("results/nested/a.b", "5"),
        ("results/few/2", "1, 2, 3"),
        ("results/grid/1/0", "1, 2"),
        ("results/by_batch/8", "0.5"),
        ("results/steps/1/wall_s", "0.25"),
        ("results/none", "not set"),
        ("results/nested", "0.1"),
        ("results/steps", "0.5"),
    ],
)
def test_a_pointer_leads_to_the_row_of_its_value_or_to_where_its_list_begins(pointer, text):
    part = part_of("results", RESULTS, set())
    place = section("", pointer.split("/"))

    assert [row["text"] for row in part["rows"] if place in row["ids"]] == [text]
    assert not re.search(r"\s|%", place)


def test_no_two_rows_of_a_page_have_one_id():
    used = set()
    ids = [*ids_of(part_of("results", RESULTS, used)), *ids_of(part_of("more", RESULTS, used))]

    assert len(ids) == len(set(ids))
    assert set(ids) == used


def test_whole_parts_and_other_documents_lead_to_their_sections():
    assert section("", ["results"]) == "part-results"
    assert section("", ["samples", "3"]) == "part-samples"
    assert section("", ["schema"]) == "request"
    assert section("config", ["lab"]) == "request"
    assert section("environment", ["cpu", "model"]) == "environment"


def test_a_long_list_begins_folded_under_its_name():
    steps = [{"loss": at} for at in range(MOST_TOGETHER + 1)]
    part = part_of("results", {"best": 1, "steps": steps, "few": steps[1:]}, set())

    assert [(each["name"], each["entries"]) for each in part["lists"]] == [
        ("steps", str(MOST_TOGETHER + 1))
    ]
    assert [row["name"] for row in part["lists"][0]["rows"]][-1] == f"steps.{MOST_TOGETHER}.loss"
    assert [row["name"] for row in part["rows"]][:2] == ["best", "few.0.loss"]
    assert len(part["rows"]) == 1 + MOST_TOGETHER
    assert not part["folded"]


def test_a_part_of_very_many_rows_begins_folded_as_a_whole():
    few = part_of("results", {f"policy-{at}": at for at in range(MOST_OPEN)}, set())
    many = part_of("results", {f"policy-{at}": at for at in range(MOST_OPEN + 1)}, set())

    assert (few["folded"], many["folded"]) == (False, True)
    assert many["count"] == str(MOST_OPEN + 1)


def test_a_name_breaks_after_its_words_and_stays_escaped():
    assert breakable("a_b.c/d-e") == "a_<wbr>b.<wbr>c/<wbr>d-e"
    assert breakable("wall_s<") == "wall_<wbr>s&lt;"
    assert breakable("last_") == "last_"
