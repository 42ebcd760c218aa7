"""A sweep's figures, tables and words, for every outcome: nothing claimed that was not measured."""

import re
from xml.etree import ElementTree

import pytest

from report.figures import batch_sweep, traffic_models
from report.figures.panels import Panel, Span
from report.notation import prefixed, with_prefix
from report.numbers.precision import POLICIES
from report.numbers.sweep import Cache, Convert
from report.numbers.worked_sweep import study_sweep
from report.pages.sweep_page import in_words
from report.tables import sweep as tables
from tests.report.numbers_ground import study
from tests.report.sweep_ground import FLOOR_S, alike, elsewhere, said, sweep, values_of
from tests.report.test_figures import _labels

CLAIMED = {1: 1e-3, 2: 1e-3, 64: 4e-3, 512: 30e-3}
SHORT = {1: 5 * FLOOR_S, 2: 5 * FLOOR_S, 64: 5 * FLOOR_S}
MIXED = {1: 5 * FLOOR_S, 2: 1e-3, 64: 4e-3}
OVER = {1: 1e-3, 512: 1e-3}
REVERSED = {1: 3e-3, 2: 1e-3, 4: 2e-3}
CONVERTS = {"bf16-m1": [Convert(source="bf16", target="f32", elements=2**20, count=1)]}
ACCESSED = {"bf16-m1": 10_508_288, "bf16-m2": 2_109_440}

RUNS = {
    "claimed": sweep(alike(CLAIMED)),
    "short": sweep(alike(SHORT)),
    "mixed": sweep(alike(MIXED)),
    "over": sweep(alike(OVER)),
    "reversed": sweep(alike(REVERSED), converts=CONVERTS, accessed=ACCESSED),
    "no ceilings": sweep(alike({1: 100.0, 8: 200.0}), floor_s=1.0),
    "unknown caches": sweep(alike(CLAIMED), caches=()),
    "no memory": sweep(alike(CLAIMED), arrays_kib=(1024,)),
    "one batch": sweep(alike({1: 1e-3})),
    "a clock that stood still": sweep(alike({1: 0.0, 2: 0.0})),
}


def text(words):
    return words.replace("\u00a0", " ")


@pytest.mark.parametrize("name", RUNS)
@pytest.mark.parametrize("module", [batch_sweep, traffic_models], ids=lambda m: m.NAME)
def test_a_figure_can_be_drawn_of_every_outcome(module, name):
    figure = module.draw(RUNS[name])

    assert figure.title.endswith(".")
    assert re.search(r"\d", said(figure.title, RUNS[name]))
    assert "Not a TPU result." in said(figure.caption, RUNS[name])
    assert len(figure.data) == len(figure.table.rows) == len(RUNS[name].points)
    for drawing in (figure.drawing.wide, figure.drawing.narrow):
        root = ElementTree.fromstring(drawing)
        for left, right, baseline in _labels(root):
            assert left >= -2
            assert right <= float(root.attrib["width"]) + 2
            assert 0 < baseline <= float(root.attrib["height"])


def test_the_title_gives_the_rates_and_the_share_that_follow_from_the_times():
    run = RUNS["claimed"]

    assert said(batch_sweep.draw(run).title, run) == (
        "From m = 1 to 512, FP32 goes from 2.10 GFLOP/s to 35.8 GFLOP/s, 18 % of the rate that "
        "square products reached on the same device."
    )


def test_a_sweep_without_a_claim_says_so_and_draws_no_point():
    figure = batch_sweep.draw(RUNS["short"])

    assert said(figure.title, RUNS["short"]) == (
        "No rate of this sweep may be claimed: every call is shorter than 10.0 µs."
    )
    assert "<circle" not in figure.drawing.wide
    assert all(row["per_s"] is None and row["share"] is None for row in figure.data)


def test_points_below_the_floor_are_named_and_left_out():
    run = RUNS["mixed"]
    figure = batch_sweep.draw(run)

    caption = said(figure.caption, run)
    assert "(10.0 µs) claims no rate: FP32 m = 1, BF16 m = 1, INT8 m = 1" in caption
    assert said(figure.title, run).startswith("From m = 2 to 64")


def test_points_above_the_ceilings_are_named_and_not_clipped():
    run = RUNS["over"]
    figure = batch_sweep.draw(run)

    assert "Above every ceiling of the probe: FP32 m = 512" in figure.caption
    assert "nothing is clipped" in figure.caption
    row = next(row for row in figure.data if (row["policy"], row["m"]) == ("fp32", 512))
    assert row["per_s"] == pytest.approx(2 * 512 * 2**20 / 1e-3)
    assert row["per_s"] > row["matrix_per_s"]


def test_integer_rates_are_never_written_in_flop():
    drawn = batch_sweep.draw(RUNS["claimed"])
    cells = [row[2] for row in drawn.table.rows if row[0].text.startswith("INT8")]

    assert cells
    assert all("OP/s" in cell.text and "FLOP" not in cell.text for cell in cells)
    assert all("OP/s" in cell.format for cell in cells)


def test_the_traffic_title_says_what_the_compiler_counts_and_why():
    run = RUNS["reversed"]

    assert said(traffic_models.draw(run).title, run) == (
        "At m = 1 the compiler counts 5.0 times the least traffic for BF16, since its program "
        "first converts all weights from bf16 to f32."
    )


def test_the_traffic_title_without_a_compiler_or_caches_claims_less():
    told, unknown = RUNS["claimed"], RUNS["unknown caches"]

    assert said(traffic_models.draw(told).title, told) == (
        "This compiler tells no bytes; plain tiles would move at most 2.2 times the least traffic."
    )
    assert said(traffic_models.draw(unknown).title, unknown) == (
        "Of 12 products only the least traffic is known."
    )


def test_a_compiler_that_counts_the_least_is_said_to():
    least = 4 * (1024 + 2**20 + 1024)
    run = sweep(alike({1: 1e-3}), accessed={"fp32-m1": least * 26 // 25})

    assert said(traffic_models.draw(run).title, run) == (
        "The compiler counts at most 1.04 times the least traffic."
    )


def test_the_tiled_model_says_whose_it_is_and_in_which_memory():
    caption = said(traffic_models.draw(RUNS["claimed"]).caption, RUNS["claimed"])

    assert "our own model, after [Lam, Rothberg and Wolf]" in caption
    assert "256 × 256 in every policy" in caption
    assert "1,048,576 bytes of a level 2 cache" in caption


def words(name):
    return text(" ".join(in_words(study_sweep(RUNS[name]))))


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("claimed", "Every point of this sweep lasts that long."),
        ("short", "points; integer` points are shorter and claim none."),
        ("short", "No batch claims a rate."),
        ("one batch", "One batch claims a rate, m = 1"),
        ("claimed", "From m = 64 on, each doubling of the rows takes at least 1.5 times as long"),
        ("one batch", "At no batch of the sweep does time begin to grow with the rows for good."),
        ("claimed", "the matrix rate takes over from the bytes at m = 64"),
        ("claimed", "The median of `fp32-m1` is {value}`study#/sweep/known/spread; ratio(2)`"),
        ("no ceilings", "By its ceilings no batch leaves the slope."),
        (
            "reversed",
            "The product at m = 1 takes longer than that at m = 2: its fastest call is slower",
        ),
        ("reversed", "weights from bf16 to f32; that at m = 2 does not."),
        ("reversed", "The two texts convert the same, so they do not say why."),
        ("over", "Above every ceiling of the probe: m = 512."),
    ],
)
def test_the_words_follow_the_numbers(name, said):
    assert said in words(name)


def test_points_above_the_memory_slope_are_explained_by_the_cache():
    run = sweep(alike({1: 1e-4, 512: 1.0}))
    said = text(" ".join(in_words(study_sweep(run))))

    assert "Above the memory slope: m = 1." in said
    assert "{value}`known#/caches/2/bytes; bytes`, so it need not come from memory" in said


def test_points_that_claim_nothing_are_counted():
    values = values_of(RUNS["mixed"])

    assert values["study#/sweep/known/unclaimed"].number == 3
    assert values["study#/sweep/known/points"].number == 9


def test_every_record_stands_under_the_ceilings_of_its_own_device_alone():
    run = study().runs["sweep-cpu"]
    own = tables.elsewhere(study_sweep(run), study().runs)
    foreign = tables.elsewhere(study_sweep(elsewhere(RUNS["claimed"], "Other CPU")), study().runs)

    assert len(own.rows) == 2 * 3 * 2
    assert not any("refused" in row[-1].text for row in own.rows)
    assert len(foreign.rows) == 2
    for row in foreign.rows:
        assert row[-1].text.startswith("refused&#58; measured on ")
        assert "Other CPU" in row[-1].text


@pytest.mark.parametrize("name", RUNS)
def test_tables_hold_every_row_of_the_run(name):
    run = RUNS[name]
    made = {table.name.removeprefix("known-"): table for table in tables.tables(run, {})}

    assert list(made["points"].row_ids) == [each.id for each in run.points]
    assert made["points"].row_ids[0] == "fp32-m" + str(run.request.batches[0])
    assert len(made["streams"].rows) == len(run.streams)
    assert len(made["squares"].rows) == len(POLICIES)
    assert len(made["texts"].rows) == len(run.streams) + len(run.squares) + len(run.points)
    assert "elsewhere" not in made
    for table in made.values():
        assert all(len(row) == len(table.columns) for row in table.rows)


def test_caches_that_are_not_known_are_said_to_be():
    made = {t.name: t for t in tables.tables(RUNS["unknown caches"], {})}

    assert made["known-caches"].rows[0][1].text == "this system does not tell its caches"
    assert made["known-traffic"].rows[0][3].text == "not known"


def test_tiles_that_differ_by_policy_are_each_named():
    run = sweep(alike({1: 1.0}), caches=(Cache(level=2, bytes=8 * 64**2, cores=1),))

    assert "32 × 32 in FP32, 64 × 64 in BF16, 64 × 64 in INT8" in traffic_models.draw(run).caption


def test_what_fits_in_no_cache_has_no_tile():
    run = sweep(alike({1: 1.0}), caches=(Cache(level=1, bytes=4, cores=1),))

    assert "No tiled count: no cache holds a tile." in traffic_models.draw(run).caption


@pytest.mark.parametrize(
    ("value", "printed"),
    [
        (0.0, "0.00 B/s"),
        (999.0, "999 B/s"),
        (1000.0, "1.00 kB/s"),
        (41.04e9, "41.0 GB/s"),
        (8.43e9, "8.43 GB/s"),
        (2e18, "2,000 PB/s"),
    ],
)
def test_rates_are_printed_with_the_prefix_that_suits_them(value, printed):
    assert text(with_prefix(value, "B/s")) == printed
    assert prefixed(value, "B/s").startswith("quantity(")


def test_a_line_is_cut_where_it_leaves_its_panel():
    span = Span(low=1.0, high=100.0, ticks={})
    panel = Panel(left=0, top=0, width=200, height=100, across=span, up=span)

    assert panel.line([(0.1, 0.1), (1000.0, 1000.0)]) == [
        pytest.approx({"x": 0, "y": 100}),
        pytest.approx({"x": 200, "y": 0}),
    ]
    assert panel.line([(1.0, 200.0), (100.0, 200.0)]) == []
    assert panel.line([(1.0, 10.0), (10000.0, 10.0)])[1] == pytest.approx({"x": 200, "y": 50})
