"""Reference tables: units as documented, every source, and a reason for what is not listed."""

import re

from report.exhibit import Cell, Table, spoken
from report.tables import reference, set_tables
from tests.report.numbers_ground import content, study

TABLES = set_tables(study(), content())


def cell(table: str, row: str, head: str) -> Cell:
    found = TABLES[table]
    column = [column.head for column in found.columns].index(head)
    return next(cells[column] for cells in found.rows if cells[0].text == row)


def plain(text: str) -> str:
    return text.replace("\u00a0", " ")


def test_every_table_is_whole():
    for name, table in TABLES.items():
        assert table.name == name
        assert table.rows
        assert all(len(row) == len(table.columns) for row in table.rows)
        assert all(text.text for row in table.rows for text in row)
        assert not table.row_ids or len(table.row_ids) == len(table.rows)


def test_units_stand_as_documented():
    assert plain(cell("chips", "TPU v5e", "HBM").text) == "16 GB"
    assert plain(cell("chips", "TPU v5p", "HBM").text) == "95 GiB"
    assert plain(cell("chips", "TPU v5e", "Peak INT8").text) == "393 TOP/s"
    assert plain(cell("chips", "TPU v6e (Trillium)", "Peak INT8").text) == "1836 TOP/s"
    assert plain(cell("chips", "TPU7x (Ironwood)", "Peak FP8").text) == "4614 TFLOP/s"
    assert plain(cell("chips", "TPU v5p", "Peak FP8").text) == "459 TFLOP/s"


def test_where_sources_disagree_both_values_stand_with_their_addresses():
    found = cell("chips", "TPU v5e", "HBM bandwidth")

    assert plain(found.text) == "800 GiB/s"
    assert found.href == "https://docs.cloud.google.com/tpu/docs/v5e"
    assert "819 GB/s in [v5e earlier](https://" in plain(found.note)


def test_what_is_not_listed_says_why():
    for table in TABLES.values():
        for row in table.rows:
            for found in row:
                assert found.text != "not listed" or found.note


def test_every_chip_has_its_page_and_the_day_it_was_checked():
    for row in TABLES["chips"].rows:
        assert row[-1].href is not None
        assert re.fullmatch(r"checked \d{4}-\d{2}-\d{2}", row[-1].note)


def test_memory_of_a_device_is_an_explicit_share_of_the_chip():
    found = cell("counting-units", "TPU7x (Ironwood)", "HBM a JAX device")

    assert plain(found.text) == "96 GiB"
    assert found.href == "workings.html#study-counting-tpu7x-hbm-per-device"


def test_formats_show_their_bits_and_figures():
    assert cell("formats", "BF16", "Format").bits == (1, 8, 7)
    assert cell("formats", "INT8", "Format").bits == (8,)
    assert cell("formats", "BF16", "Unit roundoff").text == "2⁻⁸"
    assert cell("formats", "FP32", "Unit roundoff").text == "2⁻²⁴"
    assert cell("formats", "FP8 E4M3FN", "Largest").text == "448"
    span, roundoff = (
        cell("formats", *at) for at in (("INT8", "Largest"), ("BF16", "Unit roundoff"))
    )
    look_up = study().values.lookup
    assert spoken(span.text, look_up) == "−128 to 127"
    assert spoken(span.note, look_up) == "symmetric: ±127"
    assert plain(spoken(roundoff.note, look_up)) == "0.39 %"


def test_rows_are_anchored_where_values_lead():
    values = study().values
    anchors: dict[str, Table] = {"chips": TABLES["chips"], "formats": TABLES["formats"]}

    for pointer in values:
        page, _, row = values.resolve_href(pointer).partition(".html#")
        if page in anchors:
            assert row in anchors[page].row_ids


def test_documents_cannot_smuggle_markup():
    """What is printed as it is stated is never read as Markdown; all else is made literal."""
    stated = cell("support", "TPU v5e", "Operands of a matrix product")

    assert "float8_e5m2" in stated.text
    assert stated.pointer == "chips#/v5e/matrix_operands"
    assert reference.plain("float8_e5m2 <b>") == "float8\\_e5m2 \\<b\\>"


def test_nothing_that_was_written_of_a_chip_is_left_unshown():
    """A remark stands beside the other sources' values, not in their place."""
    shown = plain(" ".join(c.note + c.text for t in TABLES.values() for row in t.rows for c in row))
    shown = shown.replace("\\", "")

    for chip in content().chips.values():
        for remark in (*chip.notes, *(spec.note for spec in chip.specs.values())):
            assert remark in shown, chip.id


def test_every_document_tells_its_copy_and_its_standing():
    rows = {row[0].href: [found.text for found in row] for row in TABLES["documents"].rows}

    for found in content().references.values():
        assert found.source.href in rows
    assert rows["https://arxiv.org/abs/2304.01433"][-1] == "second-hand"
    assert rows["https://docs.cloud.google.com/tpu/docs/v5e"][2] == "2026-11-29"
