"""Is what people write read as they mean it, and refused when it could mean two things?"""

import os
from dataclasses import replace
from datetime import date
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from report.content import Content, DecisionReport, Document, load_content
from report.content.strict import MAX_BYTES, read_yaml
from report.content.writings import load_reports
from report.errors import ContentFault, Fault
from tests.conftest import PROJECT

CONTENT = Path(__file__).resolve().parents[2] / "content"

LESSON = """---
title: A lesson
deck: It teaches.
order: 2
description: A lesson that teaches.
---
# First

Body.
"""

REPORT = """title: A report
number: 1
date: 2026-11-30
record: precision-cpu
target:
  metric: precision-cpu#/results/outlier-int8/relative_l2_error
  comparator: "<="
  threshold: 0.01
  statement: At most one percent.
workload: {modality: A product., latency target: null}
hardware: {backend: "{value}`precision-cpu/environment#/platform/actual; text`"}
precision_policy: {weights: INT8}
evidence: null
interpretation: {a question of our own: Answered.}
scope: {platform: CPU arithmetic reference.}
decision: {outcome: adopt, statement: Adopt.}
"""


@pytest.fixture(scope="module")
def content() -> Content:
    return load_content(CONTENT)


def written(folder: Path, path: str, text: str | bytes) -> Path:
    file = folder / "content" / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(text if isinstance(text, bytes) else text.encode())
    return folder / "content"


def plain(text: str) -> object:
    """YAML as plain Python values, or the faults it has."""
    faults: list[Fault] = []
    root = read_yaml(text, "it.yaml", faults)

    def value(node):
        if isinstance(node.value, list):
            return [value(item) for item in node.value]
        if isinstance(node.value, dict):
            return {key: value(item) for key, item in node.value.items()}
        return node.value

    return value(root) if root else faults


def test_pictures_beside_the_texts_are_passed_over(tmp_path):
    folder = written(tmp_path, "lessons/a.md", LESSON)
    alone = load_content(folder)

    written(tmp_path, "media/page.png", b"\x89PNG\r\n\x1a\n\xff")

    assert load_content(folder) == alone


def test_the_content_of_the_project_is_sound(content):
    assert [lesson.slug for lesson in content.lessons] == ["choose-measure-profile"]
    assert "accumulator" in content.glossary
    assert all(report.record for report in content.reports.values())


def test_the_worked_examples_are_given(content):
    given_ = content.models["lesson"]

    assert given_.parameters == 300_000_000
    assert sum(given_.training_state.values()) == 18
    assert (given_.kv_cache.kv_heads, given_.kv_cache.value_bytes) == (8, 2)
    assert given_.roofline.m == (1, 64)
    assert given_.roofline.chip in content.chips


def test_plain_yaml_means_what_it_says():
    text = """
text: 3D torus
quoted: "no"
block: >-
  two
  lines
whole: -12
decimal: 0.25
power: 4.59e+14
nothing: null
yes or no: [true, false]
day: 2026-01-31
empty:
"""
    assert plain(text) == {
        "text": "3D torus",
        "quoted": "no",
        "block": "two lines",
        "whole": -12,
        "decimal": 0.25,
        "power": 4.59e14,
        "nothing": None,
        "yes or no": [True, False],
        "day": date(2026, 1, 31),
        "empty": None,
    }


@pytest.mark.parametrize(
    "doubtful",
    [
        "Yes",
        "off",
        "True",
        "NULL",
        "010",
        "-0777",
        "0o17",
        "0b1",
        "12:30",
        "4:1",
        "1_000",
        "1,000",
        "1e3",
        "1E3",
        "+5",
        ".5",
        "5.",
        "1.2.3",
        ".inf",
        "-.Inf",
        ".nan",
        "1.0e+999",
        "2026-1-31",
        "2026-02-30",
        "2026-01-31T10:00:00Z",
        "=",
        "<<",
    ],
)
def test_a_doubtful_scalar_is_refused_with_its_line_unless_quoted(doubtful):
    found = plain(f"first: 1\nkey: {doubtful}\n")

    assert isinstance(found, list), found
    assert all(fault.where == "it.yaml:2" for fault in found)
    assert doubtful in found[0].found
    assert plain(f'key: "{doubtful}"') == {"key": doubtful}


@given(st.text(max_size=80))
def test_any_text_is_read_or_refused_never_worse(text):
    faults: list[Fault] = []

    assert (read_yaml(text, "it.yaml", faults) is None) == bool(faults)


@given(content_bytes=st.binary(max_size=200))
def test_any_bytes_are_read_or_refused_never_worse(tmp_path_factory, content_bytes):
    folder = written(tmp_path_factory.getbasetemp(), "glossary/terms.yaml", content_bytes)
    try:
        load_content(folder)
    except ContentFault as error:
        assert error.faults


def test_a_deep_document_is_refused_before_it_is_built():
    found = plain("{a: " * 100_000)

    assert isinstance(found, list)
    assert "too deep" in found[0].found


def test_a_document_of_too_many_values_is_refused():
    found = plain("- x\n" * 30_000)

    assert isinstance(found, list)
    assert "too much" in found[0].found


def test_a_lesson_keeps_its_place_in_its_file(tmp_path):
    (document,) = load_content(written(tmp_path, "lessons/a-lesson.md", LESSON)).lessons

    assert isinstance(document, Document)
    assert document.title == "A lesson"
    assert document.front["order"] == 2
    assert document.path == "content/lessons/a-lesson.md"
    assert LESSON.split("\n")[document.first_line - 1] == "# First"
    assert document.body == "# First\n\nBody.\n"


def test_line_endings_change_the_digest_and_not_the_text(tmp_path):
    (unix,) = load_content(written(tmp_path / "a", "lessons/one.md", LESSON)).lessons
    crlf = LESSON.replace("\n", "\r\n")
    (windows,) = load_content(written(tmp_path / "b", "lessons/one.md", crlf)).lessons

    assert windows.body == unix.body
    assert windows.sha256 != unix.sha256


def test_lessons_come_in_their_order(tmp_path):
    written(tmp_path, "lessons/a.md", LESSON.replace("order: 2", "order: 10"))
    written(tmp_path, "lessons/c.md", LESSON.replace("order: 2", "order: 9"))
    content = load_content(
        written(tmp_path, "lessons/b.md", LESSON.replace("order: 2", "order: 9"))
    )

    assert [lesson.slug for lesson in content.lessons] == ["b", "c", "a"]


def test_a_rule_in_the_body_does_not_end_the_front_matter(tmp_path):
    text = LESSON + "\n---\n\nMore.\n"
    (document,) = load_content(written(tmp_path, "lessons/one.md", text)).lessons

    assert document.body.endswith("\n---\n\nMore.\n")


def test_links_and_folders_among_content_are_refused(tmp_path):
    secret = tmp_path / "secret"
    secret.write_text("- term: secret\n")
    folder = written(tmp_path, "lessons/.hidden", "passed over")
    (folder / "glossary").mkdir()
    (folder / "glossary" / "terms.yaml").symlink_to(secret)
    (folder / "formats" / "deep.yaml").mkdir(parents=True)
    os.mkfifo(folder / "lessons" / "pipe.md")

    with pytest.raises(ContentFault) as caught:
        load_content(folder)

    assert sorted(fault.where for fault in caught.value.faults) == [
        "content/formats/deep.yaml",
        "content/glossary/terms.yaml",
        "content/lessons/pipe.md",
    ]
    assert {fault.found for fault in caught.value.faults} == {"not a plain file"}


def test_a_huge_file_is_refused_unread(tmp_path):
    folder = written(tmp_path, "glossary/terms.yaml", b"#" * (MAX_BYTES + 1))

    with pytest.raises(ContentFault, match="too large"):
        load_content(folder)


def test_no_folder_is_a_fault_and_an_empty_one_is_not(tmp_path):
    with pytest.raises(ContentFault, match="no content folder"):
        load_content(tmp_path / "nowhere")
    assert load_content(tmp_path).lessons == ()


def report_of(folder: Path, text: str = REPORT) -> DecisionReport:
    return load_content(written(folder, "reports/r.yaml", text)).reports["r"]


@pytest.mark.parametrize(
    ("place", "text"),
    [
        ("1 title", REPORT.replace("A report", "FP16 softmax takes 3.7 ms and errs by 17 %")),
        ("1 title", REPORT.replace("A report", "INT8 is 3x faster, 12 times smaller")),
        ("10 workload", REPORT.replace("modality:", "error of 0.17 in 3.7 ms:")),
    ],
)
def test_a_number_is_not_typed_where_a_text_is_printed_as_it_stands(tmp_path, place, text):
    with pytest.raises(ContentFault) as caught:
        report_of(tmp_path, text)

    assert [fault.where for fault in caught.value.faults] == [f"content/reports/r.yaml:{place}"] * 2
    assert all("is typed" in fault.found for fault in caught.value.faults)
    assert "{value}`pointer; format`" in caught.value.faults[0].remedy


def test_a_role_in_a_title_is_refused_for_what_it_is(tmp_path):
    title = "The error is {value}`a#/b; percent(1)`"

    with pytest.raises(ContentFault) as caught:
        report_of(tmp_path, REPORT.replace("title: A report", f"title: {title}"))

    (fault,) = caught.value.faults
    assert "{value}`a#/b; percent(1)`, which is printed as it stands" in fault.found


@pytest.mark.parametrize("key", ["title", "description", "eyebrow"])
def test_what_a_lesson_says_of_itself_types_no_number(tmp_path, key):
    lines = [line for line in LESSON.splitlines() if not line.startswith(f"{key}:")]
    text = "\n".join([lines[0], f"{key}: It errs by 17 %.", *lines[1:]])

    with pytest.raises(ContentFault, match=rf"a\.md:2 {key}: the number '17 %' is typed"):
        load_content(written(tmp_path, "lessons/a.md", text))


@pytest.mark.parametrize(
    "title",
    [
        "INT8 for one matrix product, on hold",
        "FP8 on v5e misses its target in one of 3 cases",
        "A product of 64 × 128 × 64 on 8x TPU v5e, 30 November 2026",
        "Llama-3.1 8B under JAX 0.10: W8A8 with groups of 16",
    ],
)
def test_a_title_may_name_shapes_formats_and_versions(tmp_path, title):
    assert report_of(tmp_path, REPORT.replace("A report", f'"{title}"')).title == title


@pytest.mark.parametrize(
    ("written_", "meant"),
    [("modalty", "modality"), ("Modality", "modality"), ("latency_target", "latency target")],
)
def test_a_misspelt_fact_is_told_beside_the_one_that_is_missing(tmp_path, written_, meant):
    text = REPORT.replace("modality: A product., latency target: null", f"{written_}: Text.")

    with pytest.raises(ContentFault) as caught:
        report_of(tmp_path, text)

    (fault,) = caught.value.faults
    assert fault.where == "content/reports/r.yaml:10 workload"
    assert fault.found == f"the fact {written_!r}, while {meant!r} is missing"
    assert f"Did you mean {meant}?" in fault.remedy


def test_a_fact_of_ones_own_may_resemble_one_that_is_answered(tmp_path):
    text = REPORT.replace("modality: A product.", "modality: A product., modalities: Two.")

    assert report_of(tmp_path, text).parts["workload"]["modalities"] == "Two."


@pytest.mark.parametrize("until", ["", "[]", "[null]", "\n    - null"])
def test_waiting_for_nothing_is_one_fault_on_hold_and_none_otherwise(tmp_path, until):
    decision = f"decision:\n  outcome: hold\n  statement: Hold.\n  until: {until}\n"
    text = REPORT.replace("decision: {outcome: adopt, statement: Adopt.}\n", decision)

    with pytest.raises(ContentFault) as caught:
        report_of(tmp_path, text)

    (fault,) = caught.value.faults
    assert fault.where.endswith("decision.until")
    assert fault.found == "on hold, and until nothing"
    adopted = report_of(tmp_path, text.replace("outcome: hold", "outcome: adopt"))
    assert adopted.decision.until == ()


@pytest.mark.parametrize("day", ["30.11.2026", "2026.11.30"])
def test_a_date_of_another_form_is_answered_with_ours(tmp_path, day):
    with pytest.raises(ContentFault) as caught:
        report_of(tmp_path, REPORT.replace("2026-11-30", day))

    (fault,) = caught.value.faults
    assert fault.found == f"{day}, which is neither a number nor a date"
    assert "2026-01-31" in fault.remedy


def test_facts_that_nobody_recorded_make_a_draft(tmp_path):
    report = report_of(tmp_path)

    assert report.status == "DRAFT"
    assert "workload.latency target" in report.missing
    assert "evidence.trace" in report.missing
    assert report.parts["interpretation"]["a question of our own"] == "Answered."
    assert report.parts["workload"]["modality"] == "A product."


def test_adopting_what_misses_its_target_contradicts_the_evidence(tmp_path):
    report = report_of(tmp_path)

    assert report.contradictions(measured=0.0093, platform="cpu") == ()
    (missed,) = report.contradictions(measured=0.0245, platform="cpu")
    assert "adopt" in missed.found
    assert "0.0245" in missed.found
    (unknown,) = report.contradictions(measured=None, platform="cpu")
    assert "None" in unknown.found


@pytest.mark.parametrize(
    ("words", "measured", "right"),
    [
        ("Yes, it is.", 0.0093, True),
        ("yes", 0.0245, False),
        ("No. It is above.", 0.0245, True),
        ("NO", 0.0093, False),
        ("No value was found.", None, True),
        ("Yes.", None, False),
        ("Nobody asked.", 0.0245, True),
    ],
)
def test_a_yes_or_no_must_be_what_the_comparison_gives(tmp_path, words, measured, right):
    text = REPORT.replace("adopt, statement", "hold, until: [A model], statement")
    report = report_of(tmp_path, text)
    parts = {**report.parts, "interpretation": {"target met": words}}

    found = replace(report, parts=parts).contradictions(measured=measured, platform="cpu")

    assert [fault.where.partition(" ")[2] for fault in found] == (
        [] if right else ["interpretation.target met"]
    )


def test_holding_back_is_no_contradiction(tmp_path):
    text = REPORT.replace("adopt, statement", "hold, until: [A model], statement")

    assert report_of(tmp_path, text).contradictions(measured=0.0245, platform="cpu") == ()


@pytest.mark.parametrize(
    ("fact", "text", "right"),
    [
        ("generation", "TPU v5e", False),
        ("generation", "None. A CPU, and no TPU took part.", True),
        ("chips", "4 v5e chips", False),
        ("chips", "One CPU", True),
        ("topology", "2x2", True),
        ("chips", "One Trillium", False),
        ("generation", "Ironwood", False),
        ("JAX devices", "8 TPU v5e", False),
        ("JAX devices", "{given}`8` TPU v5e", False),
        ("JAX devices", "{value}`preflight-tpu#/request/targets; text` of v5e", False),
        ("JAX devices", "{value}`of-a-tpu/environment#/devices/count; integer`", True),
        ("hosts", "A v5litepod-8", False),
        ("hosts", "One CPU host", True),
        ("processor", "A TPU v4", False),
        ("backend", "As asked, a TPU", False),
        ("backend", "None of a TPU", True),
        ("title", "INT8 on TPU v5e", False),
        ("title", "None of three remedies helps on v6e", False),
        ("title", "What a CPU can say of INT8 on v5e", True),
        ("title", "Policy v2 keeps INT8", True),
    ],
)
def test_a_device_that_did_not_run_labels_no_report(tmp_path, fact, text, right):
    report = report_of(tmp_path, REPORT)
    if fact == "title":
        report, place = replace(report, title=text), "title"
    else:
        hardware = {**report.parts["hardware"], fact: text}
        report = replace(report, parts={**report.parts, "hardware": hardware})
        place = f"hardware.{fact}"

    found = report.contradictions(measured=0.0093, platform="cpu")

    assert [fault.where.partition(" ")[2] for fault in found] == ([] if right else [place])
    asked = {each.where for each in report.contradictions(measured=0.0093, platform="compiler")}
    assert not any(where.endswith(place) for where in asked)


def test_devices_in_scope_and_a_host_of_a_tpu_are_held_to_what_ran(tmp_path):
    report = report_of(tmp_path)
    hardware = {**report.parts["hardware"], "backend": "TPU", "hosts": "One, with a Xeon CPU"}
    scope = {"platform": "TPU", "devices": "One CPU"}
    parts = {**report.parts, "hardware": hardware, "scope": {**report.parts["scope"], **scope}}

    (fault,) = replace(report, parts=parts).contradictions(measured=0.0093, platform="tpu")

    assert fault.where.endswith("scope.devices")
    assert "names a CPU" in fault.found


def test_a_title_is_not_told_to_begin_with_none(tmp_path):
    report = replace(report_of(tmp_path), title="INT8 on TPU v5e")

    (fault,) = report.contradictions(measured=0.0093, platform="cpu")

    assert fault.remedy == "Name the CPU in it as well, or leave the TPU out."


def test_a_backend_that_begins_with_another_platform_is_one_fault(tmp_path):
    report = report_of(tmp_path)
    parts = {**report.parts, "hardware": {**report.parts["hardware"], "backend": "TPU v5e"}}

    (fault,) = replace(report, parts=parts).contradictions(measured=0.0093, platform="cpu")

    assert fault.found == "a claim about TPU"


def test_the_shipped_report_names_no_device_that_did_not_run():
    faults = []
    (report,) = load_reports(PROJECT / "content/reports", faults).values()

    assert report.contradictions(measured=0.0245, platform="cpu") == ()
    assert faults == []


@pytest.mark.parametrize(
    ("threshold", "spelling", "right"),
    [
        ("0.0149", "percent(0)", False),
        ("0.0149", "percent(2)", True),
        ("0.00000123", "error", False),
        ("0.0000012", "error", True),
        ("1234", "scientific(2)", False),
        ("1230", "scientific(2)", True),
        ("0.00001234", "seconds(0)", False),
        ("0.00001234", "seconds(2)", True),
        ("1000", "bytes(GB, 2)", False),
        ("1.5", "integer", False),
        ("0.123456789", "full", True),
    ],
)
def test_a_threshold_prints_all_its_digits(tmp_path, threshold, spelling, right):
    target = f"threshold: {threshold}\n  format: {spelling}"

    if right:
        report_of(tmp_path, REPORT.replace("threshold: 0.01", target))
    else:
        with pytest.raises(ContentFault) as caught:
            report_of(tmp_path, REPORT.replace("threshold: 0.01", target))
        assert "target.threshold" in str(caught.value)


def test_a_claim_about_another_platform_contradicts_the_evidence(tmp_path):
    text = REPORT.replace("CPU arithmetic reference.", "TPU, one device.")
    (claim,) = report_of(tmp_path, text).contradictions(measured=0.0093, platform="cpu")

    assert claim.where.endswith("scope.platform")
    assert claim.found == "a claim about TPU"
    assert "CPU" in claim.expected


@pytest.mark.parametrize(
    ("comparator", "met"), [("<", False), ("<=", True), (">", False), (">=", True)]
)
def test_a_target_means_what_its_comparator_says(tmp_path, comparator, met):
    report = report_of(tmp_path, REPORT.replace('"<="', f'"{comparator}"'))

    assert report.target.met_by(0.01) is met
