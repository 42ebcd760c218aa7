"""A profile's page: qualified before any number, linked to its evidence, true of any capture."""

import json
import re
from dataclasses import replace

import pytest

from report.archive.profiles import read
from report.archive.verify import look_up, reads_as
from report.errors import UsageFault
from report.exhibit import Figure
from report.figures.timeline import draw
from report.notation import render
from report.numbers.profile_compare import compare
from report.numbers.profile_rules import RULES
from report.numbers.study import work_out
from report.numbers.trace import read_trace
from report.pages.finished import read_page
from report.pages.lone_profile import render_profile
from report.source import Source
from tests.conftest import PROJECT
from tests.report.numbers_ground import content, evidence, study
from tests.report.profiles import Capture, Event, on_device, steady
from tests.report.test_site import pages, parts, site  # noqa: F401 (fixtures)

STEPS = steady(6, first=70)
OPERATIONS = on_device(STEPS, Event("dot.1", 30, 50, "matrix"), Event("copy.2", 85, 5, "copy"))
TPU = Capture(
    steps=STEPS,
    devices={"/device:TPU:0": OPERATIONS, "/device:TPU:1": OPERATIONS, "/device:TPU:2": ()},
    gaps=[Event("dot.1", 90, 40)],
    compiles=[Event("backend_compile", 3, 4)],
)
CASES = {
    "tpu": TPU,
    "cpu": Capture(steps=STEPS, platform="cpu"),
    "no steps": Capture(devices={"/device:TPU:0": OPERATIONS}),
    "one step": Capture(steps=STEPS[:1], devices={"/device:TPU:0": ()}),
    "apart": Capture(steps=STEPS, devices={"/device:TPU:0": OPERATIONS}, comparable=False),
    "unknown device": Capture(
        steps=STEPS, devices={"/device:TPU:0": OPERATIONS}, device_type="TPU v99"
    ),
    "hosts": Capture(
        steps=STEPS, devices={"/device:TPU:0": OPERATIONS}, hosts=2, late=60, missing=[2]
    ),
}


def lone(
    capture: Capture,
    figure: Figure | None = None,
    against: Capture | None = None,
    names: tuple[str, str] = ("one", "two"),
):
    """The folder that `build.py trace PATH --out DIR` makes, by path."""
    summary = Source(name="host0.xplane.pb: summary.json", href="summary.json")
    profile = replace(capture.profile("capture"), source=summary)
    comparison = None
    if against:
        other = against.profile("capture")
        comparison = compare(profile, other, names=names, factor="program")
    return render_profile(
        *(profile, "host0.xplane.pb", json.dumps(capture.summary()).encode(), figure, comparison),
        content=content(),
        study=work_out({}, content()),
        templates=PROJECT / "templates",
    )


@pytest.mark.parametrize("name", CASES)
def test_every_kind_of_capture_makes_a_page_that_holds_together(name):
    page = lone(CASES[name])["index.html"].decode()

    found = read_page(page)
    assert found.banned == []
    assert page.index('id="qualification"') < page.index('class="v measured"')
    for rule in RULES:
        assert f'id="rule-{rule.id}"' in page
    assert not re.search(
        r"\bnan\b|\bNone\b(?! of)|\{\w+\}", "".join(s.text for s in found.sections)
    )


def test_scope_and_device_stand_above_every_number():
    page = lone(TPU)["index.html"].decode()

    top = page.partition('class="v measured"')[0]
    assert "2 with events: 2 × TPU v6 Lite (v6e, one chip a plane)" in top
    assert "No record vouches" in top


def test_a_cpu_capture_never_looks_like_a_devices():
    page = lone(CASES["cpu"])["index.html"].decode()

    assert "Not a result of any accelerator" in page.partition('class="v measured"')[0]
    assert "No device lane in this capture" in page
    assert "How busy a device was is not told: there is no device lane in this capture." in page
    assert "0.0\u00a0% of the time, on average" not in page


def test_a_missing_process_is_named():
    assert "Anything of process 2" in lone(CASES["hosts"])["index.html"].decode()


def test_an_unknown_device_is_no_chip_of_ours():
    page = lone(CASES["unknown device"])["index.html"].decode()

    assert "TPU v99 (unknown chip" in page


def test_a_rule_that_fires_shows_where_and_what_to_try():
    page = lone(TPU)["index.html"].decode()
    rule = page.partition('id="rule-compile"')[2].partition("</dl>")[0]

    assert "<span>fires</span>" in rule
    assert "backend_compile" in rule and "from 3.00\u00a0µs, for 4.00\u00a0µs" in rule
    assert "One experiment" in rule


def test_the_folder_is_whole_and_carries_the_figure_and_the_summary():
    summary = Source(name="summary.json", href="summary.json")
    files = lone(TPU, draw(replace(TPU.profile("capture"), source=summary)))

    assert {"index.html", "workings.html", "claims.json", "summary.json"} <= set(files)
    assert "figures/timeline-capture.svg" in files
    assert 'id="fig-timeline-capture"' in files["index.html"].decode()
    assert not any(path.startswith(("records/", "lessons/")) for path in files)


def test_the_page_claims_the_values_it_prints():
    files = lone(TPU)
    claims = json.loads(files["claims.json"])["claims"]

    told = {claim["pointer"] for claim in claims if claim["page"] == "index.html"}
    assert "study#/trace/capture/first_step_ratio" in told
    assert {claim["page"] for claim in claims} == {"index.html", "workings.html"}
    for claim in claims:
        page = files[claim["page"]].decode()
        assert f'id="{claim["id"]}"' in page
        assert claim["text"] in page


@pytest.mark.parametrize("name", CASES)
def test_each_time_in_a_table_can_be_looked_up_in_the_summary_beside_the_page(name):
    files = lone(CASES[name])
    told = [
        (claim["pointer"], claim["text"])
        for claim in json.loads(files["claims.json"])["claims"]
        if claim["pointer"].startswith("capture/trace#/")
    ]

    assert told or not CASES[name].steps
    for pointer, text in told:
        value = look_up(lambda _: json.loads(files["summary.json"]), pointer)
        assert reads_as(text, value), pointer


def test_two_profiles_are_set_side_by_side_with_a_verdict():
    other = Capture(steps=STEPS, devices={"/device:TPU:0": OPERATIONS}, module="jit_other")
    page = lone(TPU, against=other)["index.html"].decode()

    comparison = page.partition('id="comparison"')[2]
    assert "Not credited to program, since more differs: device/planes" in comparison
    assert "ratio 1.000" in comparison
    claims = json.loads(lone(TPU, against=other)["claims.json"])["claims"]
    told = {each["pointer"]: each["text"] for each in claims if each["page"] == "index.html"}
    assert told["study#/trace/capture/pairs/0/ratio"] == "1.000"
    assert told["study#/trace/capture/pairs/0/other_s"] == "100.0\u00a0µs"


# Records ---------------------------------------------------------------------------------


def test_the_name_of_a_file_heads_its_column_as_it_is_spelled_on_a_phone_too():
    text = lone(TPU, against=TPU, names=("a_b|<c>.xplane.pb", "two"))["index.html"].decode()

    assert text.count('data-h="a_b|&lt;c&gt;.xplane.pb"') == len(STEPS) - 1
    assert '<th scope="col" class="r">a_b|&lt;c&gt;.xplane.pb</th>' in text


def test_no_control_sign_of_a_files_name_reaches_a_terminal_or_a_page(tmp_path):
    path = tmp_path / "a\x1b[31mb.trace.json"
    path.write_text('[{"ph": "X", "name": "a", "pid": 1, "tid": 1, "ts": 0, "dur": 5}]')
    missing = tmp_path / "c\x1b[31md"

    assert read(path, lambda _: None).label == r"a\x1b[31mb.trace.json"
    with pytest.raises(UsageFault) as caught:
        read(missing, lambda _: None)
    assert "\x1b" not in str(caught.value)
    assert "[31md does not exist" in str(caught.value)


def test_each_record_with_a_capture_leads_to_its_profile(pages):  # noqa: F811
    for name in study().traces:
        assert f'href="../profiles/{name}.html"' in pages[f"records/{name}.html"]
        assert f"The profile of {name}" in pages[f"profiles/{name}.html"]


def test_a_step_leads_to_its_program_and_an_operation_to_its_line(pages):  # noqa: F811
    page = pages["profiles/precision-cpu.html"]
    steps = page.partition('id="step-2"')[2].partition("</tr>")[0]

    assert 'href="../records/precision-cpu.html#program-' in steps
    operations = page.partition('id="tab-operations"')[2].partition("</table>")[0]
    assert "fusion(" in operations
    assert 'href="../records/precision-cpu.html#program-' in operations


def test_a_product_leads_to_the_matrix_instructions_that_it_is_given(pages):  # noqa: F811
    operations = pages["profiles/precision-cpu.html"].partition('id="tab-operations"')[2]

    assert 'href="../records/preflight-tpu.html#instructions-64x128x64-int8"' in operations


def test_recorded_profiles_print_their_own_numbers(pages):  # noqa: F811
    for name in study().traces:
        ratio = study().values.lookup(f"study#/trace/{name}/first_step_ratio")
        assert (
            render(ratio.printable, "fixed(2)", reason=ratio.reason)
            in (pages[f"profiles/{name}.html"])
        )


def test_a_summary_of_an_earlier_lab_is_no_profile_and_says_so():
    found = evidence()["precision-cpu"]
    earlier = dict(found.record.trace or {}) | {"schema": "assay/trace-summary/1"}

    assert read_trace(replace(found, record=replace(found.record, trace=earlier))) is None
