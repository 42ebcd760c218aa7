"""The site as a whole: what is on every page, where links lead, and who hears of a fault."""

import json
import re
from dataclasses import replace
from hashlib import sha256
from posixpath import dirname, join, normpath
from urllib.parse import unquote, urlsplit

import pytest

from report.content import load_content
from report.errors import ContentFault, EvidenceMismatch
from report.evidence import verify_all
from report.exhibit import Drawing, Figure, Table
from report.figures.gallery import entries
from report.notation import render
from report.numbers.precision import PrecisionRun
from report.numbers.study import work_out
from report.pages.exhibits import bit_strip, to_csv
from report.pages.finished import read_page
from report.pages.links import check_links
from report.pages.record_kinds import PURPOSES, SETTERS
from report.pages.record_page import listing, told_and_untold
from report.pages.reference import ARCHIVES, MOST_UNFOLDED
from report.pages.site import RUNTIME, render_site
from report.record import load_record
from report.source import Source
from report.tables import set_tables
from tests.conftest import PROJECT
from tests.report.shelf import Shelf

LESSON = "lessons/choose-measure-profile.html"
SVG = '<svg class="chart {}" role="img" aria-label="a" viewBox="0 0 9 9"></svg>'


def drawing(name: str) -> Figure:
    """A figure without its chart: the renderer is tested elsewhere, and is slow to start."""
    return Figure(
        name=name,
        title=f"What {name} found.",
        reading="Read $x$ from the left.",
        caption="It reaches no further.",
        alt_text="a",
        kind="measured",
        drawing=Drawing(
            wide=SVG.format("wide"),
            narrow=SVG.format("narrow"),
            svg=b"<svg/>",
            png=b"",
            vega_lite=b"{}",
        ),
        table=Table(name=name, title=name, caption="", columns=(), rows=()),
        data=({"policy": "int8</script>", "error": 0.1},),
        sources=(
            Source(name="report.json", href="records/precision-cpu/report.json", sha256="0" * 64),
        ),
        draws=f"python build.py figure {name} --evidence DIR --out FILE",
    )


@pytest.fixture(scope="module")
def parts():
    """What pages are set from, out of this project, charts left blank; a page is set once."""
    folders = sorted((PROJECT / "lab" / "records").iterdir())
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
def site(parts):
    return render_site(**parts, archives=dict.fromkeys(ARCHIVES, b"a zip"))


@pytest.fixture(scope="module")
def pages(site):
    return {
        path: data.decode()
        for path, data in site.items()
        if path.endswith(".html") and path not in ARCHIVES
    }


def with_lesson(parts, text: str):
    """The parts with `text` at the end of the first lesson, and the line at which it stands."""
    content = parts["content"]
    first, *rest = content.lessons
    body = f"{first.body.rstrip()}\n\n{text}\n"
    lessons = (replace(first, body=body, sha256=sha256(body.encode()).hexdigest()), *rest)
    line = first.first_line + body.count("\n") - 1
    return parts | {"content": replace(content, lessons=lessons)}, f"{first.path}:{line}"


def test_the_pages_a_reader_expects_are_there(pages, parts):
    wanted = {"index", "chips", "formats", "preflight", "records", "glossary", "workings"}
    wanted |= {"downloads", "search"}
    wanted |= {f"records/{name}" for name in parts["evidence"]}
    wanted |= {f"profiles/{name}" for name in parts["study"].traces}
    wanted |= {f"lessons/{lesson.slug}" for lesson in parts["content"].lessons}
    wanted |= {f"reports/{slug}" for slug in parts["content"].reports}
    wanted |= {f"decisions/{note.slug}" for note in parts["content"].decisions}

    assert {f"{name}.html" for name in wanted} == set(pages)


def test_every_page_can_be_reached_from_the_first(pages):
    reached, waiting = set(), ["index.html"]
    while waiting:
        path = waiting.pop()
        if path in reached:
            continue
        reached.add(path)
        for address in read_page(pages[path]).links:
            parts = urlsplit(address)
            target = normpath(join(dirname(path), unquote(parts.path)))
            if not parts.scheme and target in pages:
                waiting.append(target)

    assert reached == set(pages)


def test_every_page_has_the_policy_and_nothing_it_would_drop(pages):
    for path, html in pages.items():
        assert "default-src 'none'; script-src 'self'; style-src 'self'" in html, path
        assert read_page(html).banned == [], path
        assert not re.search(r"<script(?! src=| type=\"application/json\")", html), path
        assert "<style" not in html, path


def test_no_page_tells_where_it_was_built(pages):
    for path, html in pages.items():
        assert str(PROJECT) not in html, path
        assert "file:" not in html, path


def test_pages_with_recorded_numbers_say_on_what_they_were_measured(pages):
    for path, html in pages.items():
        if 'class="v measured"' in html.partition("<main")[2].partition("</main")[0]:
            top = html.partition('class="v measured"')[0]
            assert "CPU arithmetic reference. Not a TPU result." in top, path


def test_each_claim_is_the_text_of_its_element(site, pages):
    claims = json.loads(site["claims.json"])["claims"]

    assert len(claims) > 50
    for claim in claims:
        found = re.search(rf'id="{claim["id"]}"[^>]*>([^<]*)</(?:a|span)>', pages[claim["page"]])
        assert found, claim
        assert found[1].replace("&#x27;", "'").replace("&amp;", "&") == claim["text"]


def test_the_same_parts_give_the_same_bytes(site, parts):
    anew = parts | {"cache": Shelf()}
    assert render_site(**anew, archives=dict.fromkeys(ARCHIVES, b"a zip")) == site


def test_record_files_are_the_recorded_files(site, parts):
    for name, proof in parts["evidence"].items():
        for file in proof.record.files:
            assert site[f"records/{name}/{file.path}"] == proof.record.file(file.path)
            assert site[f"records/{name}/{file.path}"].sha256 == file.sha256
        assert f"records/{name}/manifest.sha256" in site


def test_figure_data_in_the_page_is_the_published_file(site, pages):
    published = site["figures/error-by-policy.json"].decode()
    embedded = re.search(
        r'<script type="application/json" id="data-error-by-policy">(.*?)</script>',
        pages[LESSON],
        re.DOTALL,
    )

    assert embedded is not None
    assert embedded[1] == published
    assert json.loads(published) == [{"policy": "int8</script>", "error": 0.1}]


def test_a_link_that_leads_nowhere_is_named_by_file_and_line(parts):
    changed, where = with_lesson(parts, "See [chips](../chip.html).")

    with pytest.raises(ContentFault) as caught:
        render_site(**changed)

    assert [fault.where for fault in caught.value.faults] == [where]
    assert "chip.html" in caught.value.faults[0].found


def test_an_anchor_that_is_not_there_is_named_too(parts):
    changed, where = with_lesson(parts, "See [v9](../chips.html#v9).")

    with pytest.raises(ContentFault) as caught:
        render_site(**changed)

    assert [fault.where for fault in caught.value.faults] == [where]


def test_faults_of_a_lesson_and_of_a_report_come_out_together(parts):
    changed, where = with_lesson(parts, "It uses 16 GB.")
    content = changed["content"]
    slug, report = next(iter(content.reports.items()))
    adopted = replace(report, decision=replace(report.decision, outcome="adopt", until=()))
    changed["content"] = replace(content, reports={slug: adopted})

    with pytest.raises(ContentFault) as caught:
        render_site(**changed)

    places = [fault.where for fault in caught.value.faults]
    assert where in places
    assert f"{report.path} decision.outcome" in places


def test_a_report_on_a_record_that_is_not_there_is_refused(parts):
    content = parts["content"]
    slug, report = next(iter(content.reports.items()))
    changed = replace(content, reports={slug: replace(report, record="precision-tpu")})

    with pytest.raises(ContentFault) as caught:
        render_site(**(parts | {"content": changed}))

    assert any("precision-tpu" in fault.found for fault in caught.value.faults)


def faults_with(parts, /, **changes):
    """What is said of the report with `changes`: place, and what was found there."""
    content = parts["content"]
    slug, report = next(iter(content.reports.items()))
    changed = replace(content, reports={slug: replace(report, **changes)})
    try:
        render_site(**(parts | {"content": changed}))
    except ContentFault as error:
        return {(f.where.partition(" ")[2], f.found) for f in error.faults}
    return set()


def test_a_report_names_the_record_that_its_target_and_its_machine_are_of(parts):
    """Else one run would be judged, and another one named, on a page of one title."""
    found = faults_with(parts, record="precision-batch-one", baseline=None)

    metric = "precision-cpu#/results/outlier-int8/relative_l2_error"
    versions = "precision-cpu/environment#/versions/jax"
    assert ("target.metric", f"{metric}, of precision-cpu") in found
    assert ("hardware.versions", f"{versions}, of precision-cpu") in found
    assert {place for place, _ in found} == {
        "target.metric",
        *(f"hardware.{fact}" for fact in ("processor", "hosts", "JAX devices")),
        *(f"hardware.{fact}" for fact in ("backend", "versions")),
    }


@pytest.mark.parametrize(
    ("metric", "found"),
    [
        ("study#/precision/precision-cpu/int8_outlier_ratio", ""),
        ("precision-cpu/environment#/devices/count", ""),
        ("study#/precision/precision-batch-one/int8_outlier_ratio", "precision-batch-one"),
        ("timing-cpu#/request/seed", "timing-cpu"),
        ("study#/timing/timing-cpu/programs/int8/least_s", "sweep-cpu and timing-cpu"),
        ("formats#/bf16/max_finite", "no record"),
    ],
)
def test_a_target_is_of_the_record_or_worked_out_from_it(parts, metric, found):
    (report,) = parts["content"].reports.values()
    target = replace(report.target, metric=metric, format="scientific(1)")

    faults = faults_with(parts, target=target)

    assert faults == ({("target.metric", f"{metric}, of {found}")} if found else set())


def test_what_is_documented_of_a_machine_may_stand_beside_it(parts):
    (report,) = parts["content"].reports.values()
    cited = "None of {value}`chips#/v5e/hbm_capacity; documented`."
    hardware = report.parts["hardware"] | {"chips": cited}
    claimed = hardware | {"chips": "{value}`timing-cpu/environment#/devices/count; integer`"}

    assert faults_with(parts, parts=report.parts | {"hardware": hardware}) == set()
    assert faults_with(parts, parts=report.parts | {"hardware": claimed}) == {
        ("hardware.chips", "timing-cpu/environment#/devices/count, of timing-cpu")
    }


def test_what_a_record_says_is_shown_as_text(parts):
    hostile = "</script><img src=x onerror=alert(1)> *a* {value}`b` $c$ <!-- \\(d\\)"
    name, proof = next(iter(parts["evidence"].items()))
    record = proof.record
    used = record.environment["devices"]["used"] | {"kind": hostile}
    environment = record.environment | {
        "cpu": record.environment["cpu"] | {"model": hostile},
        "devices": record.environment["devices"] | {"used": used},
    }
    said = {"config": record.config | {"lab": hostile}, "report": record.report | {"lab": hostile}}
    changed = replace(proof, record=replace(record, environment=environment, **said))
    evidence = parts["evidence"] | {name: changed}
    study = work_out(evidence, parts["content"])

    site = render_site(**(parts | {"evidence": evidence, "study": study, "cache": None}))
    html = site[f"records/{name}.html"].decode()

    assert "<img" not in html
    shown = "&lt;/script&gt;&lt;img src=x onerror=alert(1)&gt; *a* {value}`b` $c$ &lt;!--"
    assert html.count(shown) >= 4


def test_a_record_shows_the_floor_under_its_times_and_all_that_its_compiler_tells(pages, parts):
    for name in parts["study"].of(PrecisionRun):
        html = pages[f"records/{name}.html"]
        report = parts["evidence"][name].record.report
        assert "its figures, not measurements" in html
        assert "Empty call: the dispatch floor" in html
        for floor in report["timing_floor_s"].values():
            for part in ("minimum", "median", "maximum"):
                assert render(floor[part], "seconds(2)") in html
            assert ", ".join(map(repr, floor["samples"])) in html
        for result, found in report["results"].items():
            row = re.search(rf'<tr id="{result}-compiler">(.*?)</tr>', html, re.DOTALL)
            assert row is not None
            told = found["compiler_memory_bytes"]
            order = ("argument", "output", "alias", "temporary", "generated_code", "peak")
            shown = re.findall(r"([0-9,]+\u00a0B)", row[1])
            assert shown == [render(told[part], "bytes") for part in order]


def test_a_program_that_is_no_text_is_refused(tmp_path):
    program = tmp_path / "balanced-int8.hlo.txt"
    program.write_bytes(b"HloModule jit_f\n\xff\n")

    with pytest.raises(EvidenceMismatch) as caught:
        listing(program)

    (fault,) = caught.value.faults
    assert fault.where == str(program)
    assert fault.found == "the byte 0xFF at 16, which is not UTF-8"


def test_the_draft_names_what_nobody_recorded(pages, parts):
    report = next(iter(parts["content"].reports.values()))
    html = pages[f"reports/{report.slug}.html"]

    assert ("DRAFT" in html) == bool(report.missing)
    assert html.count('class="missing"') == len(report.missing)


def test_search_text_finds_a_section_by_its_words(site):
    script = site["assets/search-text.js"].decode()
    entries = json.loads(script.removeprefix("window.assaySearchText=").rstrip(";\n"))

    assert "<" not in script
    found = [e for e in entries if e["heading"] == "The quantizer"]
    assert found[0]["href"] == f"{LESSON}#the-quantizer"
    assert "largest entry" in found[0]["text"]


def test_all_links_hold_once_the_other_rooms_have_added_theirs(site):
    check_links(site | {RUNTIME: b""})

    with pytest.raises(ContentFault) as caught:
        check_links({path: data for path, data in site.items() if path not in ARCHIVES})

    assert "practice-workspace.zip" in str(caught.value)


def test_csv_quotes_what_needs_it_and_runs_nothing():
    rows = [{"a": 'x,"y"', "b": None}, {"a": "=1+1", "b": -0.5}]

    assert to_csv(rows).decode() == 'a,b\r\n"x,""y""",\r\n =1+1,-0.5\r\n'


def test_a_bit_strip_draws_each_bit_and_says_them():
    strip = bit_strip((1, 8, 7))

    assert strip.count("<rect") == 16
    assert 'aria-label="Bits: 1 sign, 8 exponent, 7 fraction"' in strip


@pytest.mark.parametrize("template", sorted(p.name for p in (PROJECT / "templates").glob("*.html")))
def test_templates_mark_nothing_as_safe(template):
    text = (PROJECT / "templates" / template).read_text("utf-8")

    assert "|safe" not in text.replace(" ", "")
    assert "autoescape" not in text


def test_what_a_run_could_not_tell_stands_apart_with_its_reason():
    environment = {
        "versions": {"jax": "0.10.2", "libtpu": None, "libtpu_reason": "not installed"},
        "cpu": {"isa": ["avx"], "governor": "powersave", "governor_reason": None},
        "flags": {"XLA_FLAGS": None},
        "clock": {"tick_s": 1e-8, "tick_s_reason": "as seen"},
    }

    assert told_and_untold(environment) == {
        "known": [
            ("versions.jax", "0.10.2"),
            ("cpu.isa", "avx"),
            ("cpu.governor", "powersave"),
            ("clock.tick_s", "1e-08"),
            ("clock.tick_s_reason", "as seen"),
        ],
        "unknown": [("versions.libtpu", "not installed"), ("flags.XLA_FLAGS", "not set")],
    }


def test_every_file_of_a_record_is_in_a_folded_list_below_the_manifest(site, parts):
    record = parts["evidence"]["precision-cpu"].record
    page = site["records/precision-cpu.html"].decode()
    section = page.partition('<h2 id="files">')[2]
    before, _, folded = section.partition("<details")

    assert record.manifest_sha256 in before
    assert all(file.sha256 in folded and file.sha256 not in before for file in record.files)


def test_every_list_of_records_says_what_each_is_for_and_leads_to_its_profile(site, parts):
    assert set(PURPOSES) == set(SETTERS)
    study = parts["study"]
    listed = {page: site[page].decode() for page in ("index.html", "records.html")}
    for page in listed.values():
        for name in parts["evidence"]:
            assert f'href="records/{name}.html"' in page
            assert PURPOSES[type(study.runs[name])] in page
            led = f'href="profiles/{name}.html"' in page
            assert led == (name in study.traces)


def test_workings_of_one_record_are_counted_and_long_lists_begin_folded(site):
    page = site["workings.html"].decode()
    lists = re.findall(r"<details([^>]*)><summary>(\d+) numbers(.*?)</details>", page, re.S)

    assert any("precision-cpu</summary>" in body for _, _, body in lists)
    for how, count, body in lists:
        assert body.count("<tr id=") == int(count)
        assert (" open" not in how) == (int(count) > MOST_UNFOLDED)
