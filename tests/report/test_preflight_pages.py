"""Preflight on pages: no statement above its evidence, nothing called measured, all of it shown."""

import json
import re
from dataclasses import replace

import pytest

from report.content import load_content
from report.errors import ContentFault
from report.evidence import verify_all
from report.figures.gallery import entries
from report.numbers.lowering import GENERATIONS, POLICIES
from report.numbers.statements import hold
from report.numbers.study import work_out
from report.pages.site import render_site
from report.record import load_record
from report.tables import set_tables
from tests.conftest import PROJECT
from tests.report.numbers_ground import evidence
from tests.report.shelf import Shelf
from tests.report.test_site import LESSON, drawing, with_lesson

RECORD = "preflight-tpu"
CELLS = f"{RECORD}#/instructions/shapes/256x256x256"
PRINTED = f"{{value}}`{RECORD}#/programs/int8-64x128x64/targets/v5e/memory_bytes/peak; bytes`"
BANNER = "Compiler facts for TPU targets, made on a CPU. Nothing ran on a TPU."


def site_parts(names):
    """What pages are set from, with these records alone and charts left blank."""
    folders = [PROJECT / "lab" / "records" / name for name in names]
    evidence = verify_all(map(load_record, folders), PROJECT / "lab", allow_stale=True)
    content = load_content(PROJECT / "content")
    study = work_out(evidence, content)
    return {
        "content": content,
        "study": study,
        "evidence": evidence,
        "figures": {entry.name: drawing(entry.name) for entry in entries(study)},
        "tables": set_tables(study, content),
        "templates": PROJECT / "templates",
        "cache": Shelf(),
    }


@pytest.fixture(scope="module")
def parts():
    return site_parts(sorted(evidence()))


@pytest.fixture(scope="module")
def site(parts):
    return render_site(**parts)


@pytest.fixture(scope="module")
def pages(site):
    return {path: data.decode() for path, data in site.items() if path.endswith(".html")}


def refused(parts):
    with pytest.raises(ContentFault) as caught:
        render_site(**parts)
    return caught.value.faults


TOO_MUCH = {
    f"It is {{claim}}`native INT8 on v5e; {RECORD}#/programs/int8-64x128x64/targets/v5e`.": (
        "needs evidence at the level matrix instruction"
    ),
    f"It is {{claim}}`native INT8 on TPU7x; {CELLS}/int8/tpu7x`.": (
        "not what the compiler's schedule shows"
    ),
    f"It {{claim}}`runs in INT8; {CELLS}/int8/v5e`.": (
        "needs evidence at the level measured on device"
    ),
    "It has native INT8.": "'native' claims arithmetic",
    "It multiplies **natively**.": "'natively' claims arithmetic",
    "It is native-INT8.": "'native' claims arithmetic",
    "It is nat**ive** INT8.": "'native' claims arithmetic",
    "It is *in* hardware.": "'in hardware' claims arithmetic",
    "It is nat\u200bive INT8.": "'native' claims arithmetic",
    f"Measured on a device. The schedule has {{claim}}`native INT8 on v5e; {CELLS}/int8/v5e`.": (
        "'Measured' in a sentence"
    ),
    "It runs in-hardware.": "'in-hardware' claims arithmetic",
    "It has hardware INT8.": "'hardware' claims arithmetic",
    f"A measurement: {PRINTED}.": "'measurement' in a sentence",
    f"Not only estimated, it was measured as {PRINTED}.": "'measured' in a sentence",
    f"We measured {PRINTED} there.": "'measured' in a sentence",
    f"Its measurement, on v5e, is {PRINTED}.": "'measurement' in a sentence",
    f"Timed, it shows {{claim}}`native INT8 on v5e; {CELLS}/int8/v5e`.": "'Timed' in a sentence",
    "It is {claim}`native INT8 on v5e`.": "names no evidence",
}
JUST_ENOUGH = (
    f"The schedule shows {{claim}}`native INT8 on v5e; {CELLS}/int8/v5e`.",
    f"No measurement: {PRINTED} by the compiler.",
    f"It was measured. The compiler says {PRINTED}.",
    "It was measured at {value}`precision-cpu#/results/balanced-int8/relative_l2_error; error`.",
)


def test_a_lesson_that_says_more_than_its_evidence_does_not_build(parts):
    changed, last = with_lesson(parts, "\n\n".join(TOO_MUCH))
    path, _, line = last.rpartition(":")

    faults = refused(changed)

    places = [f"{path}:{int(line) - 2 * back}" for back in reversed(range(len(TOO_MUCH)))]
    assert [fault.where for fault in faults] == places
    for fault, found in zip(faults, TOO_MUCH.values(), strict=True):
        assert found in fault.found


def test_a_lesson_that_says_what_its_evidence_shows_builds(parts):
    changed, _ = with_lesson(parts, "\n\n".join(JUST_ENOUGH))

    assert LESSON in render_site(**changed)


def test_every_statement_is_published_with_its_pointer_and_level(parts, site, pages):
    published = json.loads(site["claims.json"])["statements"]

    assert {each["page"] for each in published} >= {LESSON, "preflight.html"}
    for each in published:
        assert f'id="{each["id"]}"' in pages[each["page"]]
        ground = hold(each["text"], each["pointer"], parts["study"].values)
        assert ground.rung.slug == each["level"]


def test_a_report_is_held_to_the_same(parts):
    content = parts["content"]
    slug, report = next(iter(content.reports.items()))
    evidence = report.parts["evidence"] | {
        "level of the arithmetic": "It runs natively.",
        "memory": f"We measured {PRINTED}.",
    }
    changed = replace(report, parts=report.parts | {"evidence": evidence})

    faults = refused(parts | {"content": replace(content, reports={slug: changed})})

    assert {fault.where.rpartition(".")[2].partition(":")[0] for fault in faults} == {
        "level of the arithmetic",
        "memory",
    }


def test_a_report_cannot_rest_on_a_compilers_word_alone(parts):
    content = parts["content"]
    slug, report = next(iter(content.reports.items()))
    reports = {slug: replace(report, record=RECORD)}

    (fault,) = refused(parts | {"content": replace(content, reports=reports)})

    assert "a compiler spoke" in fault.found


def test_a_target_is_not_met_by_an_estimate(parts):
    content = parts["content"]
    slug, report = next(iter(content.reports.items()))
    metric = f"{RECORD}#/programs/int8-64x128x64/targets/v5e/memory_bytes/peak"
    reports = {slug: replace(report, target=replace(report.target, metric=metric))}

    faults = refused(parts | {"content": replace(content, reports=reports)})

    assert any("a compiler’s estimate" in fault.found for fault in faults)


@pytest.mark.parametrize("path", ["preflight.html", f"records/{RECORD}.html", LESSON])
def test_pages_that_show_compiler_facts_say_so_at_their_top(pages, path):
    assert BANNER in pages[path]


def test_no_value_on_the_preflight_pages_is_marked_as_measured(pages):
    for path in ("preflight.html", f"records/{RECORD}.html"):
        body = pages[path].partition("<main")[2].partition("</main>")[0]
        tables = re.sub(r"<figure>.*?</figure>", "", body, flags=re.S)  # blank test figures
        assert 'class="v measured"' not in tables, path


def test_each_cell_of_the_matrix_has_its_level(pages):
    section = pages[f"records/{RECORD}.html"].partition('id="instructions"')[2]
    table = section.partition('id="tab-preflight-tpu-instructions-256x256x256"')[2]
    cells = re.findall(r"<td.*?</td>", table.partition("</table>")[0], flags=re.S)

    assert len(cells) == 17 * 7
    assert all("level: matrix instruction" in cell for cell in cells)


def test_formula_compiler_and_runtime_are_three_columns(pages):
    table = pages["preflight.html"].partition(f'id="tab-{RECORD}-fits-decode-step"')[2]
    heads = re.findall(r'<th scope="col"[^>]*>(.*?)</th>', table.partition("</thead>")[0])

    assert {"Formula: cache", "Compiler: peak", "Runtime: peak"} <= set(heads)
    assert table.partition("</table>")[0].count("nothing was run") == 7


def test_int8_on_v4_stands_with_both_sources(pages):
    conflicts = pages["preflight.html"].partition('id="ceilings"')[2].partition("</ul>")[0]
    (line,) = (line for line in conflicts.split("<li>") if "INT8 on TPU v4" in line)

    assert "https://docs.cloud.google.com/tpu/docs/v4" in line
    assert "275" in line
    assert f'href="records/{RECORD}.html#instructions-256x256x256-int8"' in line


def test_refusals_stand_in_the_compilers_own_words(pages):
    assert "Failed after operand_upcaster" in pages[f"records/{RECORD}.html"]
    assert "exceeds available HBM (15.75G)" in pages[f"records/{RECORD}.html"]


def test_a_site_without_a_preflight_has_the_page_and_says_how_to_make_one():
    parts = site_parts(["precision-batch-one", "precision-cpu"])
    content = replace(parts["content"], lessons=(), reports={})

    site = render_site(**(parts | {"content": content}))
    html = site["preflight.html"].decode()

    assert "There is no preflight record here yet" in html
    assert "make tpu" in re.sub(r"<[^>]*>", "", html)
    assert "not read" in html


def test_a_program_by_reference_shows_its_bytes_in_all_and_operand_by_operand(pages):
    page = pages[f"records/{RECORD}.html"]
    report = json.loads((PROJECT / f"lab/records/{RECORD}/report.json").read_text("utf-8"))
    compiled = report["steps"]["decode-step-sharded"]["targets"]["v5e-4x4"]

    start = f'id="tab-{RECORD}-memory-decode-step-sharded'
    table = page.split(f'{start}"')[1].split("</table>")[0]
    for name in ("argument", "output", "temporary", "peak"):
        assert f"{compiled['memory_bytes'][name]:,}" in table
    operands = page.split(f'{start}-operands"')[1].split("</table>")[0]
    for each in (*compiled["arguments"], *compiled["results"]):
        assert each["shape"] in operands
        assert f"{each['ideal_bytes']:,}" in operands
        assert f"{each['tiled_bytes']:,}" in operands


@pytest.fixture(scope="module")
def claimed(site):
    """The pointer of each number on the record's page, by its element."""
    found = json.loads(site["claims.json"])["claims"]
    return {
        each["id"]: each["pointer"] for each in found if each["page"].endswith(f"{RECORD}.html")
    }


def rows_of(pages, table):
    """The rows of a table of the record's page: each a list of cells."""
    html = pages[f"records/{RECORD}.html"].partition(f'id="tab-{RECORD}-{table}"')[2]
    body = html.partition("<tbody>")[2].partition("</tbody>")[0]
    return [
        re.findall(r"<t[hd].*?</t[hd]>", row, flags=re.S)
        for row in re.findall(r"<tr.*?</tr>", body, flags=re.S)
    ]


def pointers(cell, claimed):
    return [claimed[found] for found in re.findall(r'id="(v-\d+)"', cell)]


def test_each_count_of_the_matrix_is_that_of_its_own_row_and_column(pages, claimed):
    rows = rows_of(pages, "instructions-256x256x256")

    for policy, (_, *cells) in zip(POLICIES, rows, strict=True):
        for target, cell in zip(GENERATIONS, cells, strict=True):
            for pointer in pointers(cell, claimed):
                assert pointer.startswith(f"{CELLS}/{policy}/{target}/counts/")
                assert f"</span> {pointer.rpartition('/')[2]}" in cell


def test_each_size_of_the_ledger_is_that_of_its_own_operand(pages, claimed):
    parts = ("totals", "operands/x", "operands/w", "operands/x_scales", "operands/w_scales")
    rows = rows_of(pages, "ledger-64x128x64")
    names = [re.sub("<[^>]*>", " ", row[0]) for row in rows]
    first = next(at for at, name in enumerate(names) if name.split()[:2] == ["INT8,", "rescaled,"])

    for part, row in zip((*parts, "output"), rows[first:], strict=False):
        here = f"{RECORD}#/ledger/int8-scaled-64x128x64/{part}"
        elements, ideal, host, cpu, tiled = (pointers(cell, claimed) for cell in row[1:])
        cpu_at, tiled_at = (
            ("argument/cpu", "argument") if part == "totals" else ("argument", "tiled")
        )
        if part != "totals":
            assert elements == [f"{here}/elements"]
        assert (ideal, host) == ([f"{here}/ideal_bytes"], [f"{here}/nbytes"])
        assert cpu == [f"{here}/{cpu_at}"]
        assert {pointer.rpartition("/")[0] for pointer in tiled} == {f"{here}/{tiled_at}"}


def test_what_fits_is_that_of_its_own_generation(pages, claimed):
    for target, row in zip(GENERATIONS, rows_of(pages, "fits-decode-step"), strict=True):
        here = f"{RECORD}#/fits/decode-step/targets/{target}"
        worked = f"study#/lowering/{RECORD}/fits/decode-step/{target}/formula"
        peak, refused = f"{here}/memory_bytes/peak", f"{here}/refusal/sizes"
        assert [pointers(cell, claimed) for cell in row[1:]] == [
            [f"{RECORD}#/targets/{target}/usable_memory/as_printed"],
            [f"{here}/largest"],
            [worked, worked],
            [peak, peak],
            [],
            [f"{refused}/needed/as_printed", f"{refused}/available/as_printed"],
        ]


def test_targets_that_compile_alike_show_what_one_of_them_takes(pages, claimed):
    report = json.loads((PROJECT / f"lab/records/{RECORD}/report.json").read_text("utf-8"))
    rows = rows_of(pages, "got-1x127x65")
    temporary = [(row[6], pointers(row[6], claimed)) for row in rows]

    assert sum(map(len, (found for _, found in temporary))) > 50
    for cell, found in temporary:
        for pointer in found:
            _, program, _, target, *place = pointer.partition("#/")[2].split("/")
            memory = report["programs"][program]["targets"][target]
            assert place == ["memory_bytes", "temporary"]
            assert f">{memory['memory_bytes']['temporary']:,}<" in cell
