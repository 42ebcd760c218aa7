"""Figures: safe to inline, the same each time, true to their numbers, drawn for both widths."""

import ast
import dataclasses
import json
import math
import re
import subprocess
import sys
from functools import cache
from io import BytesIO
from xml.etree import ElementTree

import altair as alt
import pytest
import vl_convert as vlc
from PIL import Image

from report.errors import ContentFault, UsageFault
from report.exhibit import Figure, spoken
from report.figures import gallery, theme
from report.figures import render as rendering
from report.figures.axes import decades, on_log_axis
from report.figures.pack import pack, unpack
from report.figures.render import LARGEST_SPEC, render
from report.figures.svg import inline
from report.notation import render as printed
from report.numbers.study import work_out
from tests.report.numbers_ground import ROOT, content, edited, evidence, study
from tests.report.shelf import Shelf

NAMES = [entry.name for entry in gallery.FIGURES]
LIVE = ["memory-budget", "kv-cache", "bytes-by-policy", "roofline"]


SHELF = Shelf()
"""Every figure, once they are drawn."""


@cache
def drawn() -> dict[str, Figure]:
    return dict(gallery.draw(study(), content(), SHELF))


@pytest.mark.parametrize("name", NAMES)
def test_an_inline_drawing_holds_nothing_that_a_page_must_not(name):
    drawing = drawn()[name].drawing

    for text, width in ((drawing.wide, 600), (drawing.narrow, 330)):
        root = ElementTree.fromstring(text)
        assert root.attrib["width"] == str(width)
        assert root.attrib["class"].startswith("chart ")
        assert root.attrib["aria-label"] == drawn()[name].alt_text
        for element in list(root.iter())[1:]:
            allowed = {"g", "path", "line", "text", "rect", "circle"}
            assert element.tag in allowed
            assert not {"id", "style", "class", "href", "role"} & element.attrib.keys()
        assert set(re.findall(r'(?:fill|stroke)="([^"]*)"', text)) <= {
            "none",
            *(f"var(--{token})" for token in theme.LIGHT),
        }


@pytest.mark.parametrize("name", NAMES)
def test_no_label_leaves_the_drawing(name):
    """Text as measured with the shipped font stays within the drawing, give or take a pixel."""
    drawing = drawn()[name].drawing

    for text in (drawing.wide, drawing.narrow):
        root = ElementTree.fromstring(text)
        width, height = float(root.attrib["width"]), float(root.attrib["height"])
        for left, right, baseline in _labels(root):
            assert left >= -2
            assert right <= width + 2
            assert 0 < baseline <= height


@pytest.mark.parametrize("name", NAMES)
def test_files_stand_alone_in_real_colours(name):
    drawing = drawn()[name].drawing
    svg = ElementTree.fromstring(drawing.svg)

    assert b"var(--" not in drawing.svg + drawing.vega_lite
    assert theme.LIGHT["paper"].encode() in drawing.svg
    assert svg.attrib["font-family"].startswith("'Assay Sans'")
    with Image.open(BytesIO(drawing.png)) as png:
        assert png.size == (1200, 2 * int(svg.attrib["height"]))
        assert len(png.convert("RGB").getcolors(1 << 24)) > 20
    assert json.loads(drawing.vega_lite)["config"]["font"] == theme.FONT


@pytest.mark.parametrize("name", NAMES)
def test_a_figure_says_what_it_shows(name):
    figure = drawn()[name]

    assert figure.title.endswith(".")
    assert re.search(r"\d", said(figure.title))
    assert re.search(r"\d", figure.alt_text)
    assert figure.table.rows
    assert figure.data
    assert len({tuple(row) for row in figure.data}) == 1
    assert all(len(row) == len(figure.table.columns) for row in figure.table.rows)


def said(text: str) -> str:
    """The text of a figure as a page prints it, its spaces plain."""
    return spoken(text, study().values.lookup).replace("\u00a0", " ")


def test_the_figures_titles_state_the_lessons_findings():
    titles = {name: said(figure.title) for name, figure in drawn().items()}

    assert "multiplies the INT8 error by 2.7" in titles["error-by-policy"]
    assert "25.8 % of the FP32 bytes; its scales are 3.03 %" in titles["bytes-by-policy"]
    assert "11.4 times coarser" in titles["quantization-step"]
    assert "from 0.997 to 53.9 FLOP per byte" in titles["roofline"]
    assert "0.6 GB in BF16 need 5.4 GB" in titles["memory-budget"]
    assert "4,096 tokens the cache holds 1.5 GiB" in titles["kv-cache"]
    assert "Groups of 16" in titles["outlier-repair"]
    assert "outlier’s 2.45 % down to 0.94 %, 0.65 % and 0.33 %" in titles["outlier-repair"]
    assert "at least 1,014 times" in titles["error-anatomy"]
    assert titles["error-anatomy"].endswith("add (FP16).")
    assert "All 88,896 outputs" in titles["bound-ratios"]
    assert "INT8 static, uses 97.8 % of it" in titles["bound-ratios"]


def test_the_roofline_cites_both_bandwidths_and_calls_itself_a_bound():
    figure = drawn()["roofline"]

    assert "Bounds, not timings" in figure.caption
    for reading in ("800 GiB/s", "819 GB/s", "197 TFLOP/s"):
        assert reading in figure.caption
        assert reading in figure.drawing.svg.decode()
    assert "copy of 2026-08-26" in figure.drawing.wide
    assert [row["as_documented"] for row in figure.data] == ["800 GiBps"] * 2 + ["819 GBps"] * 2


@pytest.mark.parametrize("name", LIVE)
def test_a_live_figure_at_its_defaults_is_the_static_one(name):
    figure = drawn()[name]
    live = figure.drawing.live
    assert live is not None

    for variant, text in (("wide", live.wide), ("narrow", live.narrow)):
        vega = json.loads(text)
        again = inline(vlc.vega_to_svg(vega), alt_text=figure.alt_text, variant=variant)
        assert again == getattr(figure.drawing, variant)
        signals = {signal["name"]: signal for signal in vega["signals"]}
        assert "summary" in signals
        for control in live.controls:
            assert signals[control.signal]["value"] == control.value
            if control.options:
                assert control.value in [value for value, _ in control.options]
            else:
                assert control.minimum <= float(control.value) <= control.maximum


def test_every_chart_is_valid_vega_lite(monkeypatch):
    monkeypatch.setattr(rendering, "_specification", lambda _, chart: chart.to_dict(validate=True))

    for name in NAMES:
        gallery.draw_one(name, study(), content())


def test_only_the_figures_of_the_brief_are_live():
    assert [name for name in NAMES if drawn()[name].drawing.live] == LIVE


def test_drawing_again_gives_the_same_bytes_in_other_processes_too():
    again = gallery.draw(study(), content(), Shelf(), jobs=2)

    assert again == drawn()


@pytest.mark.parametrize("record", sorted(evidence()))
def test_the_figures_of_a_record_are_known_before_they_are_drawn(record):
    known = gallery.drawn_from(record, study(), content())

    assert known == {
        name
        for name, figure in drawn().items()
        if any(source.href.startswith(f"records/{record}/") for source in figure.sources)
    }


def test_a_figure_is_the_same_without_the_others():
    only = gallery.drawn_from("sweep-cpu", study(), content())

    alone = gallery.draw(study(), content(), Shelf(), only=only)

    assert alone == {name: drawn()[name] for name in drawn() if name in only} != {}


def test_a_second_build_takes_every_figure_from_the_cache(monkeypatch):
    first = drawn()
    monkeypatch.setattr(gallery, "_draw", _never)

    assert gallery.draw(study(), content(), SHELF) == first


def test_a_changed_record_redraws_only_what_it_feeds(monkeypatch):
    drawn()
    shelf = Shelf(SHELF)
    redrawn = []
    draw_one = gallery._draw
    monkeypatch.setattr(
        gallery, "_draw", lambda entry, parts: redrawn.append(entry.name) or draw_one(entry, parts)
    )
    error = 3e-7
    changes = {"relative_l2_error": error, "sqnr_db": -20 * math.log10(error)}
    place = "/results/balanced-fp32"
    run = edited("precision-cpu", {f"{place}/{key}": value for key, value in changes.items()})

    gallery.draw(work_out(evidence() | {"precision-cpu": run}, content()), content(), shelf)

    assert set(redrawn) <= {"error-by-policy", "quantization-step", "bytes-by-policy"}
    assert "error-by-policy" in redrawn


def test_a_cached_figure_is_keyed_by_all_the_code_that_works_it_out():
    imported = {
        node.module
        for path in (ROOT / "report" / "figures").glob("*.py")
        for node in ast.walk(ast.parse(path.read_bytes()))
        if isinstance(node, ast.ImportFrom) and str(node.module).startswith("report.")
    }
    keyed = {".".join(path.relative_to(ROOT).with_suffix("").parts) for path in gallery._CODE}
    only_data_and_faults = {f"report.{name}" for name in ("cache", "content", "errors", "inputs")}

    assert imported - keyed <= only_data_and_faults | {"report.figures"}
    assert {"report.numbers.roofline", "report.numbers.memory", "report.specs"} <= keyed


def test_a_packed_figure_unpacks_to_itself():
    for figure in drawn().values():
        assert unpack(pack(figure)) == figure


def test_one_figure_is_drawn_from_another_record():
    batch_one = {"precision-batch-one": evidence()["precision-batch-one"]}

    figure = gallery.draw_one("error-by-policy", work_out(batch_one, content()), content())

    assert "1 × 127 × 65" in figure.caption
    assert figure.sources[0].name == "precision-batch-one/report.json"


def test_an_unknown_figure_is_answered_with_near_names():
    with pytest.raises(UsageFault) as caught:
        gallery.draw_one("eror-by-policy", study(), content())

    assert "error-by-policy" in caught.value.hint


def test_a_figure_without_its_record_is_refused_or_left_out():
    bare = work_out({}, content())

    with pytest.raises(UsageFault):
        gallery.draw_one("error-by-policy", bare, content())
    assert list(gallery.draw(bare, content(), Shelf())) == ["memory-budget", "kv-cache", "roofline"]


def test_a_zero_and_an_undefined_error_are_named_under_the_log_axis():
    exact = {"relative_l2_error": 0.0, "max_abs_error": 0.0, "sqnr_db": None}
    undefined = {"relative_l2_error": None, "sqnr_db": None}
    changes = {f"/results/balanced-fp32/{key}": value for key, value in exact.items()}
    changes |= {f"/results/outlier-int8/{key}": value for key, value in undefined.items()}
    changes["/results/balanced-fp32/sqnr_db_reason"] = "no error"
    changes["/results/outlier-int8/relative_l2_error_reason"] = "zero reference"
    changes["/results/outlier-int8/sqnr_db_reason"] = "zero reference"
    run = edited("precision-cpu", changes)

    figure = gallery.draw_one(
        "error-by-policy", work_out({"precision-cpu": run}, content()), content()
    )

    assert "FP32 balanced (0.0), INT8 outlier (no value)" in figure.caption
    assert "not recorded" in figure.alt_text


@pytest.mark.parametrize("value", [None, 0, 0.0, -1.0, float("nan"), float("inf"), "1"])
def test_what_a_log_axis_cannot_hold_is_left_out_by_name(value):
    kept, left_out = on_log_axis(
        [{"e": 1e-3, "label": "good"}, {"e": value, "label": "bad"}], "e", "label"
    )

    assert [row["label"] for row in kept] == ["good"]
    assert len(left_out) == 1
    assert left_out[0].startswith("bad (")


def test_decades_cover_the_axis():
    assert decades(4e-8, 0.1) == [1e-7, 1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 0.1]


def layer(text: str, **mark: object) -> alt.LayerChart:
    rows = theme.rows([{"x": 1, "text": text}])
    chart = alt.Chart(rows).mark_text(**mark).encode(x="x:Q", text="text:N")
    return theme.Frame(width=60, height=40).hold(chart)


@pytest.mark.parametrize("sign", ["\x00", "\x02", "\x1b", "\x7f"])
def test_a_control_character_never_reaches_the_renderer(sign):
    with pytest.raises(ContentFault) as caught:
        render("hostile", layer(f"a{sign}b"), layer("fine"), alt_text="")

    assert f"U+{ord(sign):04X}" in caught.value.faults[0].found


def test_addresses_and_images_are_refused():
    linked = layer("fine", href="https://example.org")
    image = alt.layer(alt.Chart(theme.rows([{}])).mark_image(url="https://example.org/a.png"))
    fetched = alt.layer(alt.Chart("https://example.org/a.json").mark_point())

    for chart in (linked, image, fetched):
        with pytest.raises(ContentFault):
            render("hostile", chart, layer("fine"), alt_text="")


def test_a_specification_is_bounded_in_bytes_and_numbers():
    for text in ("x" * LARGEST_SPEC, float("nan")):
        with pytest.raises(ContentFault):
            render("hostile", layer(text), layer("fine"), alt_text="")


def test_markup_in_data_stays_text():
    drawing = render("hostile", layer("</script><b>"), layer("fine"), alt_text='"><script>')

    for text in (drawing.wide, drawing.svg.decode()):
        assert "<script" not in text
        assert "<b>" not in text
        assert "&lt;b&gt;" in text


@pytest.mark.parametrize("zone", ["America/Los_Angeles", "UTC", "Asia/Tokyo"])
def test_a_time_zone_changes_nothing(zone):
    program = (
        "from tests.report.numbers_ground import content, study; "
        "from report.figures.gallery import draw_one; "
        "print(draw_one('kv-cache', study(), content()).drawing.wide)"
    )
    done = subprocess.run(
        [sys.executable, "-c", program],
        cwd=ROOT,
        env={"TZ": zone, "PATH": "", "PYTHONHASHSEED": "7"},
        capture_output=True,
        text=True,
        check=True,
    )

    assert done.stdout.strip() == drawn()["kv-cache"].drawing.wide


def test_the_gallery_is_imported_without_its_renderer():
    program = (
        "import sys, report.figures.gallery; "
        "print(sorted({'altair', 'vl_convert'} & sys.modules.keys()))"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True
    )

    assert done.stdout.strip() == "[]"


def test_study_parts_can_travel_to_another_process():
    for entry in gallery.FIGURES:
        for part in gallery._parts(entry, study(), content()):
            assert part is not None
            assert dataclasses.is_dataclass(part) or isinstance(part, dict)


def _never(*_: object) -> bytes:
    raise AssertionError("drawn again")


def _labels(root: ElementTree.Element) -> list[tuple[float, float, float]]:
    """Left edge, right edge and baseline of every text, by the shipped font's advances."""
    found = []

    def walk(element: ElementTree.Element, looks: dict[str, str]) -> None:
        looks = looks | element.attrib
        if element.tag == "text":
            size = float(looks.get("font-size", "13"))
            width = _advance(element.text or "", size, int(looks.get("font-weight", "400")))
            x = float(element.attrib["x"])
            share = {"start": 0.0, "middle": 0.5, "end": 1.0}[looks.get("text-anchor", "start")]
            found.append((x - share * width, x + (1 - share) * width, float(element.attrib["y"])))
        for child in element:
            walk(child, looks)

    walk(root, {})
    return found


@cache
def _font(weight: int) -> tuple[dict[int, str], dict[str, int], int]:
    from fontTools.ttLib import TTFont
    from fontTools.varLib.instancer import instantiateVariableFont

    font = TTFont(ROOT / "templates" / "fonts" / "assay-sans.ttf")
    fixed = instantiateVariableFont(font, {"wght": min(weight, 700)})
    advances = {name: advance for name, (advance, _) in fixed["hmtx"].metrics.items()}
    return fixed.getBestCmap(), advances, fixed["head"].unitsPerEm


def _advance(text: str, size: float, weight: int) -> float:
    names, advances, units = _font(weight)
    missing = {sign for sign in text if ord(sign) not in names}
    assert not missing, f"the chart font lacks {missing}"
    return sum(advances[names[ord(sign)]] for sign in text) * size / units


def test_a_drawn_file_has_the_weights_that_its_labels_ask_for():
    def ink(weight: int) -> int:
        text = f'<text x="4" y="20" font-family="Assay Sans" font-weight="{weight}">2.45 %</text>'
        drawing = f'<svg xmlns="http://www.w3.org/2000/svg" width="90" height="30">{text}</svg>'
        image = Image.open(BytesIO(vlc.svg_to_png(drawing, scale=4)))
        return sum(image.getchannel("A").tobytes())

    assert rendering.FONTS.is_dir()  # and importing it has registered what it holds
    assert ink(600) == ink(700) > 1.15 * ink(400)


@pytest.mark.parametrize(
    ("figure", "pointers"),
    [
        ("error-by-policy", ["results/balanced-fp32/relative_l2_error"]),
        ("bytes-by-policy", ["results/balanced-int8/stored_bytes/scales"]),
        ("quantization-step", ["study#/quantization_step/outlier"]),
        (
            "outlier-repair",
            ["representations-cpu/int8-smoothing/extra_bytes"],
        ),
        ("error-anatomy", ["anatomy/representation", "anatomy/total"]),
        ("bound-ratios", ["bound/percentiles/p95", "bound/worst_ratio"]),
        ("timing-verdicts", ["study#/timing/timing-cpu/ratio/"]),
        ("sample-strips", ["/series/2/bf16-first/median_s", "/programs/int8/flagged"]),
        ("batch-sweep", ["fp32-m512/intensity", "int8-m64/per_s", "bf16-m512/share"]),
        ("traffic-models", ["minimum_bytes", "tiled_bytes", "/compiler_accessed_bytes"]),
        ("roofline", ["study#/roofline/m64/intensity", "m64/ideal_s_alternative"]),
    ],
)
def test_the_table_under_a_figure_claims_what_was_drawn(figure, pointers):
    cells = [cell for row in drawn()[figure].table.rows for cell in row if cell.pointer]

    for pointer in pointers:
        assert any(pointer in cell.pointer for cell in cells)
    for cell in cells:
        found = study().values.lookup(cell.pointer)
        assert printed(found.printable, cell.format, reason=found.reason) == cell.text
        assert found.kind == cell.kind, cell
