"""What a person types, and what comes of it: sites, refusals, kills and exit codes."""

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.conftest import PROJECT, Command, copy_project, tree

RECORD = "lab/records/precision-cpu"
RECORDS = sorted(os.listdir(PROJECT / "lab/records"))
LESSON = "content/lessons/choose-measure-profile.md"


def flip(path: Path) -> None:
    """Change one byte in the middle of a file."""
    data = bytearray(path.read_bytes() or b"?")
    data[len(data) // 2] ^= 1
    path.write_bytes(data)


def edit(source: Path) -> None:
    """Add a line to a Python file, as an editor would."""
    source.write_text(source.read_text(encoding="utf-8") + "# edited\n", encoding="utf-8")


def say_more(house: Path, text: str) -> None:
    with (house / LESSON).open("a", encoding="utf-8") as lesson:
        lesson.write(f"\n{text}\n")


# Building


def test_a_build_says_where_the_site_is(assay: Command, house: Path):
    say_more(house, "One sentence more.")

    done = assay(house)

    assert done.returncode == 0, done.stderr
    assert "site/index.html" in done.stdout
    assert f"{len(RECORDS)} records verified" in done.stdout
    assert "One sentence more." in (house / "site/lessons/choose-measure-profile.html").read_text(
        "utf-8"
    )


def test_an_unchanged_build_is_answered_before_any_library_is_loaded(house: Path):
    def loaded() -> set[str]:
        done = subprocess.run(
            [sys.executable, "-X", "importtime", "build.py"],
            cwd=house,
            capture_output=True,
            text=True,
            check=True,
        )
        assert done.stdout.startswith("Nothing changed")
        return {line.split("|")[-1].strip() for line in done.stderr.splitlines()}

    reading, at_a_glance = loaded(), loaded()

    heavy = {"altair", "jinja2", "yaml", "rich", "pygments", "argparse", "dataclasses", "pathlib"}
    assert heavy & reading == set()
    assert "report.marker" in reading
    assert (heavy | {"hashlib"}) & at_a_glance == set()
    ours = {name for name in at_a_glance if name.startswith("report")}
    assert ours == {"report", "report.inputs", "report.glance"}


@pytest.mark.parametrize("name", ["site/index.html", "report/voice.py", LESSON])
def test_no_edit_hides_behind_its_size_and_time(assay: Command, house: Path, name: str):
    for _ in range(2):
        assert assay(house).stdout.startswith("Nothing changed")
    before = (house / name).stat()
    text = (house / name).read_bytes()
    changed = text.replace(b"the", b"eht", 1)
    assert changed != text
    (house / name).write_bytes(changed)
    os.utime(house / name, ns=(before.st_atime_ns, before.st_mtime_ns))

    done = assay(house)

    assert done.returncode == 0, done.stderr
    assert not done.stdout.startswith("Nothing changed")


@pytest.mark.parametrize(
    "change",
    [
        lambda house: say_more(house, "Changed."),
        lambda house: flip(house / "site/index.html"),
        lambda house: (house / "site/index.html").unlink(),
        lambda house: edit(house / "report/source.py"),
    ],
    ids=["content", "a page flipped", "a page missing", "the generator"],
)
def test_any_change_is_noticed_and_built(
    assay: Command, house: Path, change: Callable[[Path], None]
):
    change(house)

    done = assay(house, "--json")

    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["outcome"] == "built"
    assert json.loads(assay(house, "--json").stdout)["outcome"] == "unchanged"


def test_a_check_writes_nothing_at_all(assay: Command, tmp_path: Path):
    house = copy_project(tmp_path / "house")
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    before = tree(tmp_path)

    done = assay(house, "check", "--json", TMPDIR=str(scratch), PYTHONDONTWRITEBYTECODE="")

    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert told["outcome"] == "checked"
    assert told["records"] == dict.fromkeys(RECORDS, "current")
    assert tree(tmp_path) == before
    assert not list(tmp_path.rglob("__pycache__"))


def test_a_project_of_ones_own_needs_a_record_and_a_report(assay: Command, house: Path):
    mine, out = house / "mine", house / "mine-site"
    records = sorted(os.listdir(house / "lab/records"))
    for name in records:
        kept_as = "mine" if name == "precision-cpu" else name
        kept = assay(house, "record", f"lab/records/{name}", "--as", kept_as, "--content", mine)
        assert kept.returncode == 0, kept.stderr
    report = (house / "content/reports/precision-cpu.yaml").read_text(encoding="utf-8")
    (mine / "reports").mkdir()
    (mine / "reports/ours.yaml").write_text(report.replace("precision-cpu", "mine"), "utf-8")
    place = ("--content", mine, "--out", out)

    done = assay(house, *place)

    assert done.returncode == 0, done.stderr
    assert f"{len(records)} records verified" in done.stdout
    assert (out / "reports/ours.html").is_file()
    assert (out / "records/mine.html").is_file()
    assert assay(house, *place).stdout.startswith("Nothing changed")
    with (house / "content/glossary/terms.yaml").open("a", encoding="utf-8") as glossary:
        glossary.write("# the house's sheets are inputs too\n")
    assert assay(house, *place).stdout.startswith(str(out))


@pytest.mark.parametrize("suffix", ["svg", "png", "csv", "json"])
def test_a_published_figure_is_drawn_again_from_its_record(assay: Command, house: Path, suffix):
    out = house / f"again.{suffix}"

    done = assay(house, "figure", "error-by-policy", "--evidence", RECORD, "--out", out)

    assert done.returncode == 0, done.stderr
    assert out.read_bytes() == (house / f"site/figures/error-by-policy.{suffix}").read_bytes()


@pytest.mark.parametrize("name", ["My Run", "chips", "run#2", "ünï.1"])
def test_a_run_folder_may_be_called_anything(assay: Command, house: Path, name: str):
    run = shutil.copytree(house / RECORD, house / "runs" / name)

    drawn = assay(house, "figure", "error-by-policy", "--evidence", run, "--out", "again.svg")
    kept = assay(house, "record", run, "--as", "precision-mine")

    assert (drawn.returncode, kept.returncode) == (0, 0), drawn.stderr + kept.stderr
    published = (house / "site/figures/error-by-policy.svg").read_bytes()
    assert (house / "again.svg").read_bytes() == published
    assert tree(house / "lab/records/precision-mine") == tree(run)


def test_a_figure_of_a_historic_run_says_so(assay: Command, house: Path):
    edit(house / "lab/precision_profile.py")

    done = assay(house, "figure", "error-by-policy", "--evidence", RECORD, "--out", "again.svg")

    assert done.returncode == 0, done.stderr
    assert "historic" in done.stderr
    assert (house / "again.svg").is_file()


# Refusals


def test_every_changed_file_of_every_record_is_named_and_the_site_stays(
    assay: Command, house: Path
):
    before = tree(house / "site")
    records = [path for path in (house / "lab/records").rglob("*") if path.is_file()]
    changed = [path for path in records if path.name != "manifest.sha256"]
    for path in changed:
        flip(path)

    done = assay(house)

    assert done.returncode == 7
    for path in changed:
        assert path.relative_to(house / "lab/records").as_posix() in done.stderr
    assert tree(house / "site") == before


@pytest.mark.parametrize(
    "name",
    [
        "report.json",
        "config.json",
        "environment.json",
        "manifest.sha256",
        "outputs/balanced-int8.npy",
        "programs/outlier-bf16.hlo.txt",
        "sources/lab/precision_profile.py",
        "trace/summary.json",
    ],
)
def test_one_flipped_byte_in_any_kind_of_file_is_found(assay: Command, house: Path, name: str):
    flip(house / RECORD / name)

    done = assay(house, "check")

    # A changed line of the manifest may still be a line: then its file is what differs.
    found = "precision-cpu/" if name == "manifest.sha256" else f"precision-cpu/{name}"
    assert done.returncode == 7
    assert found in done.stderr
    assert "precision-batch-one/" not in done.stderr


def test_edited_sources_missing_and_added_files_are_told_together(assay: Command, house: Path):
    before = tree(house / "site")
    edit(house / "lab/precision_profile.py")
    (house / RECORD / "outputs/balanced-bf16.npy").unlink()
    (house / RECORD / "notes.txt").write_text("added", encoding="utf-8")

    done = assay(house, "--json")

    assert done.returncode == 7
    told = json.loads(done.stdout)
    where = {fault["where"] for fault in told["faults"]}
    assert where >= {
        "lab/precision_profile.py",
        "precision-cpu/outputs/balanced-bf16.npy",
        "precision-cpu/notes.txt",
    }
    assert "python build.py run precision-cpu" in told["hint"]
    assert tree(house / "site") == before


def test_stale_records_can_be_taken_as_historic(assay: Command, house: Path):
    edit(house / "lab/precision_profile.py")

    done = assay(house, "check", "--allow-stale")

    assert "precision-cpu is historic" in done.stderr


def test_faults_of_content_have_a_place_and_the_site_stays(assay: Command, house: Path):
    before = tree(house / "site")
    say_more(
        house, "It takes {value}`precision-cpu#/results/balanced-int9/timing_s/median; seconds(3)`."
    )

    done = assay(house)

    assert done.returncode == 8
    assert f"{LESSON}:" in done.stderr or "lessons/choose-measure-profile.md:" in done.stderr
    assert "balanced-int8" in done.stderr
    assert tree(house / "site") == before


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_a_folder_that_cannot_be_written_is_a_plain_message(assay: Command, house, tmp_path):
    shut = tmp_path / "shut"
    shut.mkdir(mode=0o500)

    done = assay(house, "--out", shut / "site")

    assert done.returncode == 2
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("closed", ["stdout", "stderr"])
def test_a_closed_stream_stops_no_check(house: Path, closed: str):
    script = f"import os; os.close({1 if closed == 'stdout' else 2}); "
    script += "import sys; os.execv(sys.executable, [sys.executable, 'build.py', 'check'])"

    done = subprocess.run(
        [sys.executable, "-c", script], cwd=house, capture_output=True, text=True, check=False
    )

    assert done.returncode == 0, done.stderr


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is always full")
def test_a_full_disk_is_a_plain_message(house: Path):
    with open("/dev/full", "w", encoding="utf-8") as full:  # noqa: PTH123  a device
        done = subprocess.run(
            [sys.executable, "build.py"],
            cwd=house,
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
    assert done.returncode == 2
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    "arguments",
    [
        ["bulid"],
        ["build", "--jobs", "0"],
        ["--ou", "elsewhere"],
        ["record"],
        ["figure", "error-by-policy", "--evidence", RECORD, "--out", "x.pdf"],
        ["figure", "eror-by-policy", "--evidence", RECORD, "--out", "x.svg"],
        ["--out", ""],
        ["--out", "base.lock/site"],
        ["--out", "base.lock"],
        ["--content", "nowhere"],
        ["check", "--content", "base.lock"],
        [b"--out=caf\xe9"],
        [b"--content=caf\xe9"],
    ],
    ids=repr,
)
def test_what_cannot_be_understood_is_refused_plainly(house: Path, arguments: list[str | bytes]):
    done = subprocess.run(
        [sys.executable, "build.py", *arguments], cwd=house, capture_output=True, check=False
    )

    assert done.returncode in (2, 8), done.stderr.decode()
    assert b"Traceback" not in done.stderr
    assert done.stderr.strip()


def test_the_readme_names_every_command_that_answers_programs(assay: Command, house: Path):
    readme = (PROJECT / "README.md").read_text("utf-8")
    _, _, table = readme.partition("## Commands")
    rows, _, told = table.partition("Each has `--help` with an example.")
    commands = [
        name
        for cell in re.findall(r"^\| (`.+?) \|", rows, re.MULTILINE)
        for name in re.findall("`([a-z ]+)`", cell)
    ]
    answering = [
        name for name in commands if "--json" in assay(house, *name.split(), "--help").stdout
    ]

    named, _, _ = told.partition("answer programs with `--json`")
    assert sorted(re.findall("`([a-z]+)`", named)) == sorted(answering)
    assert "verify" in answering


@pytest.mark.parametrize("command", ["build", "check", "figure", "run", "record"])
def test_every_command_has_help_with_an_example(assay: Command, house: Path, command: str):
    done = assay(house, command, "--help")

    assert done.returncode == 0
    assert f"example:\n  python build.py {command} " in done.stdout.replace(
        "build.py --", "build.py build --"
    )


def test_without_its_libraries_it_names_the_command_that_sets_them_up(house: Path):
    shutil.rmtree(house / "site")

    done = subprocess.run(
        [sys.executable, "-I", "-S", "build.py"],
        cwd=house,
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode == 3
    assert "make site" in done.stderr
