"""Does the verifier say what was agreed, of every release that anybody might hand a reader?"""

import argparse
import json
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from report.archive import unzip
from report.archive import verify as verifier
from report.archive.status import with_lists
from tests.archive.make_fixtures import FIXTURES, write

NAMES = sorted(folder.name for folder in FIXTURES.iterdir())
VERIFIER = Path(verifier.__file__)


def arguments(fixture: Path) -> list[str]:
    given = []
    for pinned in (fixture / "pin.txt").read_text(encoding="utf-8").split():
        given += ["--key", pinned]
    for option, name in (
        ("--signers", "allowed_signers"),
        ("--revoked", "revoked"),
        ("--status", "status.json"),
    ):
        if (fixture / name).exists():
            given += [option, str(fixture / name)]
    at = json.loads((fixture / "expect.json").read_text(encoding="utf-8")).get("at")
    return [*given, *(["--at", at] if at else [])]


def verdict_on(release: Path, fixture: Path, capsys) -> dict[str, object]:
    parser = argparse.ArgumentParser()
    verifier.add_options(parser.add_argument)
    parser.add_argument("--status", action="append")
    options = parser.parse_args([str(release), *arguments(fixture), "--json"])
    more = with_lists(options.status) if options.status else None
    code = verifier.answer(options, pytest.fail, unzip.find, more)
    verdict = json.loads(capsys.readouterr().out)
    assert code == verdict["exit"]
    return verdict


def told(verdict: dict[str, object]) -> dict[str, object]:
    faults = [[fault["file"], fault["what"]] for fault in verdict["faults"]]
    return {name: verdict[name] for name in ("exit", "tier", "sentence", "notes")} | {
        "faults": faults
    }


def expected(fixture: Path) -> dict[str, object]:
    expect = json.loads((fixture / "expect.json").read_text(encoding="utf-8"))
    return {name: expect[name] for name in ("exit", "tier", "sentence", "notes", "faults")}


@pytest.mark.parametrize("name", NAMES)
def test_a_zip_has_the_verdict_that_was_agreed(name, capsys):
    fixture = FIXTURES / name
    assert told(verdict_on(fixture / "release.zip", fixture, capsys)) == expected(fixture)


@pytest.mark.parametrize("name", NAMES)
def test_a_folder_has_the_verdict_of_its_zip(name, tmp_path, capsys):
    fixture = FIXTURES / name
    if json.loads((fixture / "expect.json").read_text(encoding="utf-8")).get("folder") is False:
        pytest.skip("no folder can hold this")
    with zipfile.ZipFile(fixture / "release.zip") as archive:
        archive.extractall(tmp_path)
    inside = tmp_path / "tiny-1"

    verdict = verdict_on(inside if inside.is_dir() else tmp_path, fixture, capsys)

    assert told(verdict) == expected(fixture)


def test_every_exit_code_has_its_fixtures():
    codes = [expected(FIXTURES / name)["exit"] for name in NAMES]
    assert set(codes) == {0, 10, 11, 12}


def test_the_fixtures_are_what_their_script_writes(tmp_path):
    write(tmp_path / "again")
    again = {
        p.relative_to(tmp_path / "again"): p.read_bytes()
        for p in (tmp_path / "again").rglob("*")
        if p.is_file()
    }

    assert again == {
        p.relative_to(FIXTURES): p.read_bytes() for p in FIXTURES.rglob("*") if p.is_file()
    }


def test_the_stand_alone_verifier_asks_for_a_zip_to_be_unpacked():
    command = [sys.executable, "-I", "-S", VERIFIER, FIXTURES / "trusted" / "release.zip"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)

    assert done.returncode == 12
    assert done.stdout.startswith("Could not check: [Errno 20] Not a directory")


@pytest.mark.parametrize(
    "given", [["x", "--key", "nonsense"], ["x", "--signers", "/nope"], [], ["x", "--at", "May"]]
)
def test_a_mistyped_command_ends_with_2(given):
    done = subprocess.run(
        [sys.executable, "-I", "-S", VERIFIER, *given], capture_output=True, check=False
    )
    assert done.returncode == 2
