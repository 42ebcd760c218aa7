"""Can someone with a run of their own reach a signed release by following the README?"""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from report.archive import records, runs
from report.archive.start import next_step, start
from report.errors import EvidenceMismatch
from report.evidence import verify, verify_all, verify_manifest
from report.notation import render
from report.numbers.factors import FACTORS
from report.numbers.kinds import read_run
from report.numbers.values import Values
from report.record import load_record
from tests.archive import word_count
from tests.archive.conftest import make_key, pin_of
from tests.archive.test_release import verdict
from tests.conftest import PROJECT, Command, tree

pytestmark = pytest.mark.skipif(
    not shutil.which("ssh-keygen"), reason="no ssh-keygen: install OpenSSH"
)


def answer(report: Path) -> None:
    """Fill in what `check` asks for, as a person would."""
    text = report.read_text(encoding="utf-8")
    text = text.replace("title: null ", "title: INT8 for one row, on hold ")
    text = text.replace("date: null ", "date: 2026-12-02 ")
    text = text.replace("    - null", "    - A finer scale has been measured.")
    text = text.replace("platform: null", "platform: CPU arithmetic reference.")
    report.write_text(re.sub(r": null\b", ': "None: not asked here."', text), encoding="utf-8")


def test_a_run_of_ones_own_becomes_a_signed_release(house, assay: Command, tmp_path):
    run = house / "lab/records/precision-batch-one"  # another shape, as a run folder
    steps = [
        ("record", run, "--as", "one-row", "--content", "mine"),
        ("new", "report", "one-row", "--record", "one-row", "--content", "mine"),
    ]
    for step in steps:
        done = assay(house, *step)
        assert done.returncode == 0, done.stderr
    report = house / "mine/reports/one-row.yaml"

    done = assay(house, "check", "--content", "mine")
    assert done.returncode == 8
    for field in ("title", "date", "target.statement", "decision.statement", "decision.until"):
        assert field in done.stderr
    text = report.read_text(encoding="utf-8")
    assert "platform: CPU arithmetic reference. Not a TPU result." in text

    answer(report)
    for step in (
        ("check", "--content", "mine"),
        ("release", "one-row", "--content", "mine"),
        ("sign", "releases/one-row-1", "--key", make_key(tmp_path / "key"), "--principal", "me"),
        ("rebuild", "releases/one-row-1"),
    ):
        done = assay(house, *step)
        assert done.returncode == 0, done.stderr
    assert verdict(house / "releases/one-row-1.zip", pin_of(tmp_path / "key"))["exit"] == 0


def test_a_run_of_a_lab_that_nobody_here_knows_becomes_a_signed_release(
    house, assay: Command, tmp_path
):
    mine = house / "theirs"
    (mine / "lab").mkdir(parents=True)
    shutil.copy(word_count.__file__, mine / "lab")
    run = word_count.write(tmp_path / "run")
    for step in (
        ("record", run, "--as", "words"),
        ("new", "report", "words", "--record", "words"),
    ):
        done = assay(house, *step, "--content", "theirs")
        assert done.returncode == 0, done.stderr
    report = mine / "reports/words.yaml"
    text = report.read_text(encoding="utf-8")
    assert "metric: words#/results/accuracy" in text
    assert "int8" not in text
    answer(report)
    text = report.read_text(encoding="utf-8").replace("format: error ", "format: percent(1) ")
    counted = "What was counted: {value}`words#/results/words; integer` words in"
    counted = f"{counted} {{value}}`words#/results/wall_s; seconds(1)`."
    report.write_text(re.sub(r"extent: .*", f'extent: "{counted}"', text), encoding="utf-8")

    for step in (
        ("check", "--content", "theirs"),
        ("release", "words", "--content", "theirs"),
        ("sign", "releases/words-1", "--key", make_key(tmp_path / "key"), "--principal", "me"),
        ("rebuild", "releases/words-1"),
    ):
        done = assay(house, *step)
        assert done.returncode == 0, done.stderr

    told = verdict(house / "releases/words-1", pin_of(tmp_path / "key"))
    assert (told["exit"], told["claims"] >= 3) == (0, True)
    page = (house / "releases/words-1/reports/words.html").read_text(encoding="utf-8")
    assert "93.8\u00a0%" in page
    assert "CPU word count. Not a TPU result." in page
    own = (house / "releases/words-1/records/words.html").read_text(encoding="utf-8")
    assert "These pages do not know this lab" in own
    assert "0.000125" in own
    assert 'id="at/results/wall_s"' in own
    first = (house / "releases/words-1/index.html").read_text(encoding="utf-8")
    assert 'href="records/words.html#at/results/accuracy"' in first
    assert "CPU word count. Not a TPU result." in first


def test_a_report_on_ones_own_lab_is_set_beside_its_baseline(house, assay: Command, tmp_path):
    """Its one changed field is credited as far as the rows allow, and a null is told with it."""
    mine = house / "theirs"
    (mine / "lab").mkdir(parents=True)
    shutil.copy(word_count.__file__, mine / "lab")
    found = {**word_count.REPORT["results"], "words": None, "words_reason": "it did not end"}
    before = {"results": {**found, "accuracy": 0.5}, "request": {"repeats": 500}}
    word_count.write(tmp_path / "words")
    word_count.write(tmp_path / "before", **before)
    for step in (
        ("record", tmp_path / "words", "--as", "words"),
        ("record", tmp_path / "before", "--as", "before"),
        ("new", "report", "words", "--record", "words"),
    ):
        done = assay(house, *step, "--content", "theirs")
        assert done.returncode == 0, done.stderr
    report = mine / "reports/words.yaml"
    assert "field, such as request/repeats." in report.read_text(encoding="utf-8")
    answer(report)
    with report.open("a", encoding="utf-8") as file:
        file.write("baseline:\n  record: before\n  factor: request/repeats\n")

    done = assay(house, "release", "words", "--content", "theirs")
    assert done.returncode == 0, done.stderr

    page = (house / "releases/words-1/reports/words.html").read_text(encoding="utf-8")
    assert "Only request/repeats was changed: results that differ may be credited to it" in page
    assert "1 recorded field differs" in page
    assert "nothing to compare; before: it did not end" in page
    assert assay(house, "verify", "releases/words-1").returncode == 11


def test_values_of_an_unknown_lab_say_what_their_names_say(tmp_path):
    (tmp_path / "lab").mkdir()
    shutil.copy(word_count.__file__, tmp_path / "lab")
    evidence = verify(load_record(word_count.write(tmp_path / "words")), tmp_path / "lab")
    values = Values({}, {"words": evidence.record.report})
    found = {
        path: (values.lookup(f"words#/{path}").kind, values.lookup(f"words#/{path}").unit)
        for path in ("results/words", "results/wall_s", "results/estimated/text_bytes")
    }

    assert read_run(evidence).extent == "a run of word_count"
    assert found == {
        "results/words": ("measured", ""),
        "results/wall_s": ("measured", "s"),
        "results/estimated/text_bytes": ("estimated", "B"),
    }
    assert values.place_of("words#/results/wall_s") == "records/words.html#at/results/wall_s"
    assert render(values.lookup("words#/results/lap~1one").number, "text") == "3 values"


@pytest.mark.parametrize(
    "scope",
    [
        {"platform": "tpu", "statement": "TPU v5e, one chip.", "single_device": True},
        {"platform": "cpu", "statement": "Fast. Not a TPU result.", "single_device": True},
        {"platform": "cpu", "statement": "CPU word count.", "single_device": True},
        {},
    ],
    ids=["another platform", "no platform first", "nothing of TPUs", "nothing"],
)
def test_a_run_of_an_unknown_lab_says_where_it_ran(scope, tmp_path):
    (tmp_path / "lab").mkdir()
    shutil.copy(word_count.__file__, tmp_path / "lab")
    run = word_count.write(tmp_path / "words", scope=scope)

    with pytest.raises(EvidenceMismatch, match="what every record must"):
        read_run(verify(load_record(run), tmp_path / "lab"))


ENVIRONMENT, SCOPE = word_count.ENVIRONMENT, word_count.REPORT["scope"]
SCOPED = ("", "/platform", "/statement", "/single_device")
UNTOLD = {
    "a scope that is no object": ({"scope": "cpu"}, *(f"report.json/scope{k}" for k in SCOPED)),
    "no request": ({"request": None}, "report.json/request"),
    "another platform": (
        {"scope": {**SCOPE, "platform": "gpu", "statement": "GPU. Not a TPU result."}},
        "report.json/scope/platform",
    ),
    "no word of TPUs": ({"scope": {**SCOPE, "statement": "CPU."}}, "report.json/scope/statement"),
    "no kind of device": (
        {"environment": {**ENVIRONMENT, "devices": {"used": {"platform": "cpu"}}}},
        "environment.json/devices/used/kind",
    ),
    "a time of another form": (
        {"environment": {**ENVIRONMENT, "recorded_at": "30.11.2026"}},
        "environment.json/recorded_at",
    ),
    "nothing of redaction": (
        {"environment": {k: v for k, v in ENVIRONMENT.items() if k != "redacted"}},
        "environment.json/redacted",
    ),
    "a known lab's name": ({"lab": "timing_study"}, "report.json/lab"),
    "another lab's schema": ({"schema": "assay/letter_count/1"}, "report.json/schema"),
    "another lab's config": (
        {"lab": "letter_count", "schema": "assay/letter_count/1"},
        "config.json/lab",
    ),
    "parts of one id": ({"a b": 1, "a-b": 2}, "report.json/a-b"),
}


def keep(run: Path, shelf: Path) -> EvidenceMismatch:
    """What `record` refuses a run of word_count with, having kept nothing."""
    (shelf / "lab").mkdir(parents=True)
    shutil.copy(word_count.__file__, shelf / "lab")
    with pytest.raises(EvidenceMismatch) as caught:
        records.add(run, "words", shelf / "records", PROJECT / "lab", own=shelf / "lab")
    assert not (shelf / "records").exists()
    return caught.value


@pytest.mark.parametrize("case", UNTOLD)
def test_a_run_that_no_page_could_show_is_not_kept(tmp_path, case):
    changes, *places = UNTOLD[case]

    refusal = keep(word_count.write(tmp_path / "run", **changes), tmp_path / "mine")

    assert [fault.where for fault in refusal.faults] == [f"run/{place}" for place in places]


def test_all_that_a_run_does_not_tell_is_told_at_once(tmp_path):
    run = word_count.write(tmp_path / "run", environment={**ENVIRONMENT, "redacted": 1}, scope=None)

    places = {fault.where for fault in keep(run, tmp_path / "mine").faults}

    scope = {f"run/report.json/scope{key}" for key in SCOPED}
    assert places == {"run/environment.json/redacted", *scope}


def test_a_run_that_is_not_whole_was_never_recorded_and_is_to_be_mended(tmp_path):
    run = word_count.write(tmp_path / "run", schema="assay/Word Count/1")
    (run / "config.json").unlink()

    refusal = keep(run, tmp_path / "mine")

    assert refusal.summary == "The run cannot become a record:"
    assert refusal.hint.startswith("Run it again, or mend it")
    schema, config = refusal.faults
    assert schema.expected == "assay/<lab>/1, the lab's name in a-z and _"
    assert (config.where, config.found) == ("run/config.json", "missing")


def test_a_program_of_ones_own_that_changed_is_run_and_recorded_again_by_hand(tmp_path):
    lab, own = PROJECT / "lab", tmp_path / "lab"
    record = load_record(word_count.write(tmp_path / "records/words"))
    own.mkdir()
    (own / "word_count.py").write_text("# edited\n", encoding="utf-8")

    with pytest.raises(EvidenceMismatch) as caught:
        verify_all([record], lab, own=own)

    assert caught.value.hint == (
        "Restore these files, or measure again: run your program again, then "
        f"python build.py record RUN_DIR --as words --replace --content {tmp_path}"
    )
    (fault,) = caught.value.faults
    assert fault.where == f"{own}/word_count.py"
    assert fault.remedy == "The run has it, in sources/lab/word_count.py."
    with pytest.raises(EvidenceMismatch, match="cannot be measured again") as refused:
        runs.request(record.folder, {})
    assert refused.value.hint.endswith(f"--as words --replace --content {tmp_path}")


def test_the_form_says_what_the_manifest_of_its_record_covers(tmp_path):
    word_count.write(tmp_path / "records/words")
    own = start("words", tmp_path, tmp_path / "records", "words").read_text("utf-8")
    shelf = PROJECT / "lab/records"
    ours = start("ours", tmp_path, shelf, "precision-cpu").read_text("utf-8")
    alone = start("alone", tmp_path, shelf).read_text("utf-8")

    assert "covers its configuration, environment, results and sources." in " ".join(own.split())
    assert (
        "covers its configuration, environment, outputs, programs, results, sources and trace."
        in " ".join(ours.split())
    )
    assert "  hashes: null  " in alone


def test_a_new_record_is_to_be_reported_until_a_report_names_it(tmp_path):
    run = word_count.write(tmp_path / "run")
    kept = verify_manifest(load_record(run))
    compiled = verify_manifest(load_record(PROJECT / "lab/records/preflight-tpu"))
    reports = tmp_path / "reports"

    assert next_step("words", tmp_path, kept) == ("new", "report", "words", "--record", "words")
    assert next_step("compiled", tmp_path, compiled) == ("check",)
    reports.mkdir()
    (reports / "a.yaml").write_text("record: words-2\n", encoding="utf-8")
    assert next_step("words", tmp_path, kept)[0] == "new"
    (reports / "a.yaml").write_text("record: words  # mine\n", encoding="utf-8")
    assert next_step("words", tmp_path, kept) == ("check",)


def beside(house: Path, **baseline: str) -> Path:
    """Our own report, beside another record."""
    report = house / "content/reports/precision-cpu.yaml"
    lines = "".join(f"  {key}: {value}\n" for key, value in baseline.items())
    text = report.read_text(encoding="utf-8")
    changed = re.sub(r"(?m)^baseline:\n(?:  .*\n)+", f"baseline:\n{lines}", text)
    report.write_text(changed, encoding="utf-8")
    return report


def test_a_report_beside_its_baseline_names_what_differs(house, assay: Command):
    beside(house, record="precision-batch-one", factor="shape")

    done = assay(house, "release", "precision-cpu")

    assert done.returncode == 0, done.stderr
    page = (house / "releases/precision-cpu-1/reports/precision-cpu.html").read_text("utf-8")
    assert "Beside its baseline" in page
    assert "request/steps" in page
    assert "Not credited to shape, since more differs: request/steps" in page
    assert "not ranked: times of a CPU" in page
    assert (house / "releases/precision-cpu-1/records/precision-batch-one.html").is_file()


@pytest.mark.parametrize(
    ("baseline", "found"),
    [
        ({"record": "precision-none", "factor": "shape"}, "baseline.record: precision-none"),
        ({"record": "precision-batch-one", "factor": "luck"}, "baseline.factor: luck"),
        ({"record": "precision-batch-one", "factor": "platform"}, "is the same in both"),
    ],
)
def test_a_baseline_that_contradicts_the_records_builds_nothing(house, assay, baseline, found):
    beside(house, **baseline)
    before = tree(house / "site")

    done = assay(house)

    assert done.returncode == 8
    assert found in done.stderr
    assert tree(house / "site") == before


def test_a_report_that_is_there_stays_as_it_is(house, assay: Command):
    before = (house / "content/reports/precision-cpu.yaml").read_bytes()

    done = assay(house, "new", "report", "precision-cpu")

    assert done.returncode == 2
    assert (house / "content/reports/precision-cpu.yaml").read_bytes() == before


@pytest.mark.parametrize("name", ["My Report", "../x", "", "-x"])
def test_a_name_that_cannot_name_a_release_is_refused(house, assay: Command, name):
    assert assay(house, "new", "report", "--", name).returncode == 2


def test_the_form_names_every_factor(tmp_path):
    form = start("plain", tmp_path, tmp_path).read_text(encoding="utf-8").replace("\n# ", " ")
    told = form.partition("the one thing you changed: ")[2].partition(".")[0]

    assert told == f"{', '.join(FACTORS)}, or one recorded field, such as request/batch"


def test_every_line_of_the_form_explains_itself_or_holds_text(house, assay: Command):
    assert assay(house, "new", "report", "plain", "--content", "own").returncode == 0
    text = (house / "own/reports/plain.yaml").read_text(encoding="utf-8")

    unexplained = [line for line in text.splitlines() if re.search(r": null\s*$", line)]
    assert unexplained == []
    done = assay(house, "check", "--content", "own")
    assert done.returncode == 8
    assert "YOUR-RECORD" not in subprocess.list2cmdline([done.stdout])
