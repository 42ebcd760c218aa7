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
from tests.archive.ground import (
    ATTACKER,
    AUTHOR,
    NAMESPACE,
    STRANGER,
    as_json,
    sealed,
    signers_line,
    sshsig,
    status_list,
    tiny,
    zipped,
)
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
    assert done.stdout == (
        "Could not check: it is not a folder. Unpack a zip first, or use build.py verify.\n"
    )


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (["x", "--key", "nonsense"], "'nonsense' is no fingerprint: SHA256: and 43 characters"),
        (["x", "--key", "SHA256:abc"], "'SHA256:abc' is no fingerprint: SHA256: and 43 characters"),
        (["x", "--signers", "/nope"], "No such file or directory"),
        ([], "required: RELEASE"),
        (["x", "--at", "May"], "--at: 'May' is no day: write YYYYMMDD"),
        (["x", "--at", "20261301"], "--at: '20261301' is no day: write YYYYMMDD"),
    ],
)
def test_a_mistyped_command_ends_with_2(given, said):
    done = subprocess.run(
        [sys.executable, "-I", "-S", VERIFIER, *given], capture_output=True, text=True, check=False
    )
    assert done.returncode == 2
    assert said in done.stderr


@pytest.mark.parametrize("option", ["--signers", "--revoked"])
@pytest.mark.parametrize(
    ("text", "line"),
    [
        (b"# mine\nlab ssh-ed25519 AAA\n", "lab ssh-ed25519 AAA"),
        (b'a valid-after="May" ssh-ed25519 AAAA', 'a valid-after="May" ssh-ed25519 AAAA'),
        (b"ssh-ed25519 AAAAA", "ssh-ed25519 AAAAA"),
        (b"SSHKRL\n\xff\0", "SSHKRL"),
        (b"\xff\0", r"\u{fffd}\u{0}"),
    ],
)
def test_a_line_that_cannot_be_read_is_shown_with_its_option(option, text, line, tmp_path):
    (tmp_path / "mine").write_bytes(text)

    assert refused(option, tmp_path / "mine") == f"{option}: this line is no signer: {line}"


@pytest.mark.parametrize("option", ["--signers", "--revoked"])
def test_links_in_a_circle_are_named(option, tmp_path):
    (tmp_path / "there").symlink_to("back")
    (tmp_path / "back").symlink_to("there")

    assert str(tmp_path) in refused(option, tmp_path / "there")


class Refused(Exception):
    """What `answer` raises here in place of an end with 2."""


def refuse(found: str) -> None:
    raise Refused(found)


def refused(option: str, place: Path) -> str:
    """What is said of a file that cannot be used."""
    parser = argparse.ArgumentParser()
    verifier.add_options(parser.add_argument)
    with pytest.raises(Refused) as caught:
        verifier.answer(parser.parse_args(["x", option, str(place)]), refuse)
    return str(caught.value)


def forged(folder: Path) -> Path:
    """A release signed by another, who put their own key and a status list inside, and a link."""
    inside = signers_line("Eve", ATTACKER, "author").encode()
    files = sealed(tiny(), author=ATTACKER) | {"signatures/allowed_signers": inside}
    (folder / "eve.zip").write_bytes(zipped(files))
    for name, data in files.items():
        (folder / "tiny-1" / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / "tiny-1" / name).write_bytes(data)
    (folder / "mine").symlink_to("tiny-1/signatures/allowed_signers")
    (folder / "same").symlink_to("tiny-1")
    return folder


@pytest.mark.parametrize("option", ["--signers", "--revoked", "--status"])
@pytest.mark.parametrize(
    ("release", "given"),
    [
        (".", "signatures/allowed_signers"),
        ("../tiny-1", "signatures/none/../allowed_signers"),
        (".", "../mine"),
        ("../same", "signatures/allowed_signers"),
        ("../eve.zip", "../eve.zip"),
    ],
)
def test_whom_to_trust_is_not_taken_from_the_release(option, release, given, tmp_path, monkeypatch):
    monkeypatch.chdir(forged(tmp_path) / "tiny-1")
    parser = argparse.ArgumentParser()
    verifier.add_options(parser.add_argument)
    parser.add_argument("--status", action="append")
    options = parser.parse_args([release, option, given])

    with pytest.raises(Refused, match="inside the release: trust must come from outside it"):
        verifier.answer(options, refuse, unzip.find)


def test_a_signers_file_beside_a_release_is_the_readers_own(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(forged(tmp_path))
    Path("tiny-1.signers").write_text(signers_line("lab", AUTHOR), encoding="utf-8")
    parser = argparse.ArgumentParser()
    verifier.add_options(parser.add_argument)

    code = verifier.answer(parser.parse_args(["tiny-1", "--signers", "tiny-1.signers"]), refuse)

    assert code == 11
    assert "a key you have not pinned" in capsys.readouterr().out


def a_list(folder: Path, name: str, seed: bytes, state: str | None, **changes: object) -> str:
    told = json.loads(status_list(sealed(tiny()), state)) | changes
    place = folder / name
    place.write_bytes(as_json(told))
    signature = sshsig(seed, place.read_bytes(), NAMESPACE.format("status"))
    place.with_name(f"{name}.sig").write_bytes(signature)
    return str(place)


def test_of_several_status_lists_the_newest_of_each_signer_counts(tmp_path, monkeypatch, capsys):
    """Whoever may take a release back is heard, and no list hides another of the same number."""
    monkeypatch.chdir(tmp_path)
    for name, data in sealed(tiny()).items():
        (tmp_path / "tiny-1" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "tiny-1" / name).write_bytes(data)
    signers = signers_line("lab@example.org", AUTHOR, "author", "status")
    signers += signers_line("office@example.org", STRANGER, "status")
    Path("signers").write_text(signers, encoding="utf-8")
    gone = a_list(tmp_path, "gone.json", STRANGER, "withdrawn", number=1)
    fine = a_list(tmp_path, "fine.json", AUTHOR, None, number=3)
    again = a_list(tmp_path, "again.json", AUTHOR, "withdrawn", number=3)
    parser = argparse.ArgumentParser()
    verifier.add_options(parser.add_argument)
    parser.add_argument("--status", action="append")

    for lists, code in (((fine,), 0), ((gone,), 11), ((gone, fine), 11), ((fine, again), 12)):
        for order in (lists, lists[::-1]):
            asked = [text for each in order for text in ("--status", each)]
            options = parser.parse_args(["tiny-1", "--signers", "signers", *asked])
            assert verifier.answer(options, refuse, None, with_lists(options.status)) == code
    assert "status lists 3 and 3 contradict each other" in capsys.readouterr().out
