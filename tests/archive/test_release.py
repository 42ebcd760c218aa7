"""A real release: does it hold what it needs, refuse what it must, and name every altered byte?"""

import io
import json
import os
import re
import shutil
import stat
import subprocess
import sys
import time
import zipfile
from collections.abc import Callable
from functools import cache, partial
from hashlib import sha256
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator

from report.archive import one_page, rebuild
from report.archive import verify as verifier
from report.archive.release import check_sizes, opened
from report.archive.seal import ssh_sign
from report.archive.verifier import assemble
from report.errors import ContentFault
from tests.archive.conftest import NAME, REPORT, make_key, pin_of
from tests.archive.unclaimed import unclaimed
from tests.conftest import PROJECT, copy_project, tree

pytestmark = pytest.mark.skipif(
    not shutil.which("ssh-keygen"), reason="no ssh-keygen: install OpenSSH"
)


def verdict(release: Path, *pins: str) -> dict:
    """What the stand-alone verifier says of a folder, and build.py of a zip, as a reader asks."""
    given = [part for pin in pins for part in ("--key", pin)]
    alone = [sys.executable, "-I", "-S", verifier.__file__]
    command = alone if release.is_dir() else [sys.executable, PROJECT / "build.py", "verify"]
    done = subprocess.run(
        [*command, release, *given, "--json"],
        capture_output=True,
        text=True,
        encoding="utf-8",
        check=False,
    )
    told = json.loads(done.stdout)
    assert done.returncode == told["exit"], done.stderr
    return told


def relist(release: Path) -> None:
    """Make the list say what is there now, as whoever signs anew would."""
    files = {k: v for k, v in tree(release).items() if not k.startswith(("signatures", "MANIFEST"))}
    listing = [f"{sha256(data).hexdigest()}  {name}\n" for name, data in sorted(files.items())]
    (release / "MANIFEST.sha256").write_text("".join(listing), encoding="utf-8", newline="\n")


@pytest.fixture(scope="module")
def house(released: Path) -> Path:
    return released


@pytest.fixture(scope="module")
def pin(house: Path) -> str:
    return pin_of(house / "key")


@pytest.fixture(scope="module")
def signed(house: Path) -> Path:
    return house / "releases" / NAME


@pytest.fixture
def copy(signed: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(signed, tmp_path / NAME))


# What it holds ---------------------------------------------------------------------------


def test_it_is_trusted_as_folder_and_as_zip(signed, pin):
    for form in (signed, signed.with_name(f"{NAME}.zip")):
        told = verdict(form, pin)
        assert told["exit"] == 0
        assert told["claims"] == len(json.loads((signed / "claims.json").read_bytes())["claims"])
        assert told["claims"] > 20


def test_it_has_the_pages_the_report_needs_and_no_others(signed):
    pages = {name for name in tree(signed) if name.endswith(".html") and name[:7] != "source/"}
    about = json.loads((signed / "release.json").read_bytes())
    records = {f"records/{name}.html" for name in about["records"]}
    captured = [name for name in about["records"] if (signed / "records" / name / "trace").is_dir()]

    assert pages - records == {
        *(f"profiles/{name}.html" for name in captured),
        *(f"{name}.html" for name in ("index", "records", "chips", "formats", "preflight")),
        *("workings.html", "glossary.html", f"reports/{REPORT}.html"),
    }
    for page in pages:
        text = (signed / page).read_text(encoding="utf-8")
        assert NAME in text
        assert "DRAFT" not in text


def test_everything_it_lists_is_itself(signed):
    files = tree(signed)
    listed = dict(
        reversed(line.split("  ")) for line in files["MANIFEST.sha256"].decode().splitlines()
    )

    assert listed == {
        name: sha256(data).hexdigest()
        for name, data in files.items()
        if name != "MANIFEST.sha256" and not name.startswith("signatures/")
    }
    crate = json.loads(files["ro-crate-metadata.json"])["@graph"]
    hashes = {entity["@id"]: entity["sha256"] for entity in crate if entity["@type"] == "File"}
    assert hashes == {k: v for k, v in listed.items() if k != "ro-crate-metadata.json"}
    assert files["verify.py"] == Path(verifier.__file__).read_bytes()


@pytest.fixture(scope="module")
def schema() -> Draft202012Validator:
    text = Path(verifier.__file__).with_name("release.schema.json").read_text(encoding="utf-8")
    Draft202012Validator.check_schema(json.loads(text))
    return Draft202012Validator(json.loads(text))


def test_what_it_claims_is_as_its_schema_says(signed, schema):
    about = json.loads((signed / "release.json").read_bytes())

    schema.validate(about)
    published = json.loads((signed / "release.schema.json").read_bytes())
    assert published == schema.schema
    for path, value in (
        ("scope/statement", "TPU v5e, one chip."),
        ("assurance", "certified"),
        ("status", "DONE"),
        ("claims/0/kind", "estimated"),
        ("date", "today"),
    ):
        other = json.loads(json.dumps(about))
        here = other
        *parents, last = path.split("/")
        for key in parents:
            here = here[int(key) if key.isdecimal() else key]
        here[last] = value
        assert not schema.is_valid(other), path
    for name in about:
        assert not schema.is_valid({k: v for k, v in about.items() if k != name}), name


BANNED = re.compile(
    r"certif|tamper|padlock|authentic|trustworth|\U0001f512|\U0001f510|✓|✔|\bverified by\b",
    re.IGNORECASE,
)


def test_no_page_promises_more_than_a_signature_shows(signed):
    """Words that were agreed to appear nowhere, and the ones that must."""
    pages = {
        name: re.sub(r"<script.*?</script>|<svg.*?</svg>", "", data.decode(), flags=re.DOTALL)
        for name, data in tree(signed).items()
        if name.endswith(".html") and not name.startswith("source/")
    }
    pages["verify.html"] = assemble(PROJECT / "templates").decode()
    pages["VERIFY.txt"] = (signed / "VERIFY.txt").read_text(encoding="utf-8")
    pages["slip"] = signed.with_name(f"{NAME}.fingerprint.txt").read_text(encoding="utf-8")

    for name, text in pages.items():
        assert not BANNED.search(text), (name, BANNED.search(text))
    for name in ("verify.html", "VERIFY.txt", "slip"):
        plain = re.sub(r"\s+", " ", pages[name])
        for words in ("measurements are right", "the latest report", "when it was signed"):
            assert words in plain.replace("When it was", "when it was"), (name, words)
    report = re.sub(r"\s+", " ", pages[f"reports/{REPORT}.html"])
    assert "It does not prove that a measurement was right." in report


def test_the_zip_is_stored_with_fixed_order_dates_and_modes(signed):
    with zipfile.ZipFile(signed.with_name(f"{NAME}.zip")) as archive:
        members = archive.infolist()
    assert [member.filename for member in members] == sorted(m.filename for m in members)
    for member in members:
        assert member.compress_type == zipfile.ZIP_STORED
        assert member.date_time == (1980, 1, 1, 0, 0, 0)
        assert member.external_attr >> 16 == stat.S_IFREG | 0o644
    assert {m.filename for m in members} == {f"{NAME}/{path}" for path in tree(signed)}


def test_openssh_and_coreutils_alone_verify_it_as_the_text_says(copy, house):
    public = " ".join((house / "key.pub").read_text(encoding="utf-8").split()[:2])
    signers = copy.parent / "signers"
    line = f'lab@example.org namespaces="assay/report/author/v1" {public}\n'
    signers.write_text(line, encoding="utf-8")
    text, _, _ = (copy / "VERIFY.txt").read_text(encoding="utf-8").partition("\n4. ")
    commands = "\n".join(line[5:] for line in text.splitlines() if line.startswith("     "))
    commands = commands.replace("-f signers -I NAME", f"-f '{signers}' -I lab@example.org")
    commands = re.sub(r"python3.*", "true", commands)

    def run() -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            ["sh", "-euc", commands], cwd=copy, capture_output=True, text=True, check=False
        )

    assert run().returncode == 0, run().stderr + run().stdout
    (copy / ".hidden").touch()
    assert run().returncode != 0


# Signing ---------------------------------------------------------------------------------


def test_signing_adds_a_signature_and_changes_no_page(signed, assay, tmp_path):
    other = copy_project(tmp_path / "other")
    assert assay(other, "release", REPORT, TZ="Asia/Tokyo", umask=0o077).returncode == 0
    unsigned = tree(other / "releases" / NAME)

    assert {k: v for k, v in tree(signed).items() if k not in unsigned}.keys() == {
        "signatures/author.sig"
    }
    assert {k: v for k, v in tree(signed).items() if k in unsigned} == unsigned
    made = [path for path in (other / "releases").rglob("*") if not path.is_symlink()]
    for path in made:
        wanted = 0o755 if path.is_dir() else 0o644
        assert stat.S_IMODE(path.stat().st_mode) == wanted, path
    assert {path.name for path in made if path.parent == other / "releases"} == {
        *(NAME, f"{NAME}.zip", f"{NAME}.html")
    }


SLIP = """\
FINGERPRINTS OF A RELEASE

Release   precision-cpu-1
Title     INT8 for one matrix product, on hold
Date      2026-11-30, declared by the author

SHA-256 of its list of files, MANIFEST.sha256
  {digest}
{digest_in_groups}

Signed as author by lab@example.org
  {author}
{author_in_groups}

Signed as reviewer by reader@example.org
  {reviewer}
{reviewer_in_groups}

Read out by phone, sign by sign. In a key's letters, capitals count.

How to check, with a verify.py that did not come with the release:

  python3 -I -S verify.py precision-cpu-1 \\
    --key {author} \\
    --key {reviewer}
"""


def in_groups(text: str, size: int, line: int) -> str:
    groups = [text[at : at + size] for at in range(0, len(text), size)]
    lines = [groups[at : at + line] for at in range(0, len(groups), line)]
    return "\n".join(f"    {' '.join(each)}" for each in lines)


def test_a_slip_to_print_names_the_list_and_every_signer(house, copy, pin, tmp_path, assay):
    place = copy.with_name(f"{NAME}.fingerprint.txt")
    shutil.copy(house / "releases" / place.name, place)
    key = make_key(tmp_path / "reader")
    digest, theirs = sha256((copy / "MANIFEST.sha256").read_bytes()).hexdigest(), pin_of(key)

    words = ("--key", key, "--principal", "reader@example.org", "--role", "reviewer")
    done = assay(house, "sign", copy, *words)

    assert done.returncode == 0, done.stderr
    assert str(place) in done.stdout
    text = place.read_text(encoding="utf-8")
    assert text.startswith(
        SLIP.format(
            digest=digest,
            digest_in_groups=in_groups(digest, 8, 4),
            author=pin,
            author_in_groups=in_groups(pin[7:], 4, 8),
            reviewer=theirs,
            reviewer_in_groups=in_groups(theirs[7:], 4, 8),
        )
    )
    assert max(map(len, text.splitlines())) <= 72
    assert len(text.splitlines()) <= 50  # one sheet
    assert "This slip is worth what the way it reached you is worth." in text
    command = re.search(r"verify\.py .*(?:\n    --key .*)+", text)
    asked = command[0].replace("\\\n", "").split()[2:] if command else []
    assert verdict(copy, *asked[1::2])["exit"] == 0
    assert not {path for path in tree(copy) if "fingerprint" in path}


def test_a_slip_says_no_name_that_it_was_not_given(house, copy, tmp_path, assay):
    """The slip of another list, or of nobody, tells nothing of who signed this one."""
    place = copy.with_name(f"{NAME}.fingerprint.txt")
    text = (house / "releases" / place.name).read_text(encoding="utf-8")
    digest = sha256((copy / "MANIFEST.sha256").read_bytes()).hexdigest()
    key, words = make_key(tmp_path / "reader"), ("--principal", "b@c", "--role", "reviewer")
    for earlier in (text.replace(digest, "0" * 64), "", "\0\xff"):
        place.write_text(earlier, encoding="latin-1")
        assert assay(house, "sign", copy, "--key", key, *words).returncode == 0
        told = place.read_text(encoding="utf-8")
        assert "Signed as author by (a name not known here)\n" in told
        assert "Signed as reviewer by b@c\n" in told


def test_a_release_is_signed_from_inside_its_folder(house, copy):
    command = [sys.executable, house / "build.py", "sign", ".", "--key", house / "key"]

    done = subprocess.run(
        [*command, "--principal", "a@b"], cwd=copy, capture_output=True, text=True, check=False
    )

    assert done.returncode == 0, done.stderr
    assert (copy.parent / f"{NAME}.zip").exists()
    assert (copy.parent / f"{NAME}.fingerprint.txt").exists()


def test_the_private_key_is_read_by_ssh_keygen_alone(house, copy, tmp_path, assay):
    """The key that is named is nowhere: only this ssh-keygen knows what is meant by it."""
    tools = tmp_path / "tools"
    tools.mkdir()
    stub = tools / "ssh-keygen"
    real = shutil.which("ssh-keygen")
    stub.write_text(
        "#!/bin/sh\n"
        f'printf "%s\\n" "$@" > "{tmp_path}/argv"\n'
        f'exec "{real}" "$1" "$2" "$3" "{house / "key"}" "$5" "$6"\n',
        encoding="utf-8",
    )
    stub.chmod(0o755)
    path = f"{tools}{os.pathsep}{os.environ['PATH']}"
    key = tmp_path / "not-there"

    done = assay(
        house, "sign", copy, "--key", key, "--principal", "a@b", "--role", "reviewer", PATH=path
    )

    assert done.returncode == 0, done.stderr
    argv = (tmp_path / "argv").read_text(encoding="utf-8").split("\n")
    assert argv[:-1] == ["-Y", "sign", "-f", str(key), "-n", "assay/report/reviewer/v1"]
    assert "one person's word, not two" in done.stdout
    notes = verdict(copy, pin_of(house / "key"))["notes"]
    assert "One person signed as author and as reviewer: this is one word, not two." in notes


def test_signing_again_leaves_the_release_as_it_is(house, copy, pin, tmp_path, assay):
    before = {k: v for k, v in tree(copy).items() if not k.startswith("signatures/")}
    key = make_key(tmp_path / "newer")

    done = assay(house, "sign", copy, "--key", key, "--principal", "a@b")

    assert done.returncode == 0, done.stderr
    assert {k: v for k, v in tree(copy).items() if not k.startswith("signatures/")} == before
    assert verdict(copy, pin)["exit"] == 11
    assert verdict(copy, pin_of(key))["exit"] == 0


def test_another_kind_of_key_is_refused_with_what_to_do(house, copy, tmp_path, assay):
    key = tmp_path / "ecdsa"
    command = ["ssh-keygen", "-q", "-t", "ecdsa", "-N", "", "-C", "", "-f", str(key)]
    subprocess.run(command, check=True)
    before = tree(copy)

    done = assay(house, "sign", copy, "--key", key, "--principal", "a@b")

    assert done.returncode == 2
    assert "Ed25519" in done.stderr
    assert tree(copy) == before


def test_a_changed_release_is_not_signed(house, copy, assay):
    (copy / "index.html").write_bytes(b"")

    done = assay(house, "sign", copy, "--key", house / "key", "--principal", "a@b")

    assert done.returncode == 9
    assert "index.html: changed" in done.stderr


def test_a_release_that_prints_what_its_data_do_not_say_is_not_signed(house, copy, assay):
    page = copy / f"reports/{REPORT}.html"
    page.write_text(page.read_text("utf-8").replace("2.45\u00a0%</a>", "2.05\u00a0%</a>"), "utf-8")
    relist(copy)

    done = assay(house, "sign", copy, "--key", house / "key", "--principal", "a@b")

    assert done.returncode == 9
    assert f"reports/{REPORT}.html: prints or claims what its data do not say" in done.stderr


def test_a_draft_that_calls_itself_final_is_not_signed(house, copy, assay):
    page = copy / "chips.html"
    text = page.read_text("utf-8")
    assert '<p class="imprint">' in text
    page.write_text(text.replace('<p class="imprint">', '<p class="imprint draft">'), "utf-8")
    relist(copy)

    done = assay(house, "sign", copy, "--key", house / "key", "--principal", "a@b")

    assert done.returncode == 9
    assert "chips.html: a page of a draft" in done.stderr


def test_a_folder_that_no_zip_can_name_is_not_half_signed(house, signed, tmp_path, assay):
    place = Path(shutil.copytree(signed, tmp_path / "My Release"))
    shutil.rmtree(place / "signatures")

    done = assay(house, "sign", place, "--key", house / "key", "--principal", "a@b")

    assert done.returncode == 2
    assert f"Call it {NAME}." in done.stderr
    assert not (place / "signatures").exists()


def test_a_signing_that_was_stopped_is_done_again_and_leaves_nothing(house, copy, pin, assay):
    shutil.rmtree(copy / "signatures")
    (copy / "signatures").mkdir()
    copy.with_name(f"{NAME}.author.sig.part").write_bytes(b"half")

    done = assay(house, "sign", copy, "--key", house / "key", "--principal", "a@b")

    assert done.returncode == 0, done.stderr
    assert {path.name for path in (copy / "signatures").iterdir()} == {"author.sig"}
    assert not list(copy.parent.glob("*.part"))
    assert verdict(copy, pin)["exit"] == 0


@pytest.mark.parametrize("principal", ["*", "lab?", "!lab", "a b"])
def test_a_principal_is_one_name(house, copy, assay, principal):
    done = assay(house, "sign", copy, "--key", house / "key", "--principal", principal)

    assert done.returncode == 2
    assert "is no one name of a signers file" in done.stderr


def test_what_a_verifier_would_not_read_is_refused_before_it_is_written():
    fine = {"data/study.json": verifier.MAX_JSON, "records/a/trace/x.pb": verifier.MAX_FILE}
    check_sizes(fine)

    with pytest.raises(ContentFault) as refused:
        check_sizes(
            {path: size + 1 for path, size in fine.items()}
            | {f"records/a/{n}": 60 << 20 for n in range(5)}
        )

    assert [fault.where for fault in refused.value.faults] == [*fine, "in all", "in all"]
    with pytest.raises(ContentFault, match="bytes of JSON to look up in"):
        check_sizes({f"records/{n}/report.json": verifier.MAX_JSON for n in range(3)})
    with pytest.raises(ContentFault, match="5,001 files"):
        check_sizes({f"{n}.txt": 1 for n in range(5001)})


@pytest.mark.parametrize("command", ["sign", "rebuild", "status", "compare"])
@pytest.mark.parametrize("what", ["nothing", "a folder", "a list of nothing known", "a file"])
def test_what_is_no_release_is_refused_in_words(house, tmp_path, assay, command, what):
    place = tmp_path / "x"
    if what == "a file":
        place.write_bytes(b"x")
    elif what != "nothing":
        place.mkdir()
        (place / "note.txt").write_text("x", encoding="utf-8")
        if what != "a folder":
            relist(place)
    key = ("--key", house / "key")
    more = {
        "sign": (place, *key, "--principal", "a"),
        "rebuild": (place,),
        "compare": (place, "precision-cpu"),
        "status": (
            *(tmp_path / "list.json", "--release", place, "--state", "withdrawn"),
            *("--reason", "x", "--date", "2026-12-01", *key),
        ),
    }[command]

    done = assay(house, command, *more)

    assert done.returncode in (2, 7, 9), done.stderr
    assert "Traceback" not in done.stderr
    assert "Errno" not in done.stderr
    if what in {"nothing", "a file"} and command != "compare":
        assert done.returncode == 2


def test_a_draft_says_so_on_every_page_and_is_not_signed(house, assay, tmp_path):
    other = copy_project(tmp_path / "other")
    report = other / f"content/reports/{REPORT}.yaml"
    text = report.read_text(encoding="utf-8")
    report.write_text(re.sub(r"  mode: .*\n", "  mode: null\n", text), encoding="utf-8")

    done = assay(other, "release", REPORT)
    assert done.returncode == 0, done.stderr
    assert "workload.mode" in done.stdout
    release = other / "releases" / NAME
    for name, data in tree(release).items():
        if name.endswith(".html") and not name.startswith("source/"):
            assert b"DRAFT" in data, name
    assert "DRAFT" in release.with_name(f"{NAME}.html").read_text(encoding="utf-8")

    for way in (("--key", house / "key", "--principal", "a@b"), ("--oms", house / "key")):
        done = assay(other, "sign", release, *way)
        assert done.returncode == 9
        assert "DRAFT" in done.stderr
        assert "workload.mode" in done.stderr
    assert not (release / "signatures").exists()
    assert not release.with_name(f"{NAME}.fingerprint.txt").exists()


def test_a_report_that_contradicts_its_evidence_becomes_no_release(assay, tmp_path):
    other = copy_project(tmp_path / "other")
    report = other / f"content/reports/{REPORT}.yaml"
    text = report.read_text(encoding="utf-8")
    adopted = re.sub(r"outcome: hold", "outcome: adopt", text)
    report.write_text(adopted[: adopted.index("  until:")], encoding="utf-8")

    done = assay(other, "release", REPORT)

    assert done.returncode == 8, done.stdout + done.stderr
    assert not (other / "releases").exists()


def test_a_signed_release_is_never_overwritten(house, assay, tmp_path):
    other = Path(shutil.copytree(house, tmp_path / "other", symlinks=True))
    report = other / f"content/reports/{REPORT}.yaml"
    text = report.read_text(encoding="utf-8")
    report.write_text(text.replace("on hold", "still on hold", 1), encoding="utf-8")
    before = tree(other / "releases" / NAME)

    done = assay(other, "release", REPORT)

    assert done.returncode == 2
    assert "next number" in done.stderr
    assert "Drawing" not in done.stderr, "it is refused before anything is built"
    assert tree(other / "releases" / NAME) == before


# The drill -------------------------------------------------------------------------------


Files = dict[str, bytes]
SIGNATURE = "signatures/author.sig"


@pytest.fixture
def drill(pin, monkeypatch) -> Callable[[Files], dict]:
    """What the verifier says of files in memory; what it hashed or checked once, it remembers."""
    for name in ("sha256", "ed25519_holds"):
        monkeypatch.setattr(verifier, name, cache(getattr(verifier, name)))
    trust = verifier.Trust([pin])

    def told(files: Files) -> dict:
        found = [(name, "", partial(io.BytesIO, data)) for name, data in files.items()]
        return verifier.verify("", trust, lambda _: found)

    return told


def faults_of(told: dict) -> set[tuple[str, str]]:
    return {(fault["file"], fault["what"]) for fault in told["faults"]}


def flipped(data: bytes, at: int, bit: int = 0) -> bytes:
    return data[:at] + bytes([data[at] ^ 1 << bit]) + data[at + 1 :] if data else b"\0"


def test_one_flipped_bit_in_any_file_is_never_trusted_and_always_named(signed, drill):
    files = tree(signed)
    assert drill(files)["exit"] == 0
    for name in files.keys() - {"MANIFEST.sha256", SIGNATURE}:
        told = drill({**files, name: flipped(files[name], len(files[name]) // 2)})
        assert told["exit"] == 10, name
        assert faults_of(told) == {(name, "changed")}


def test_without_its_list_or_its_signature_it_is_never_trusted(signed, drill):
    files = tree(signed)
    unsigned = {name: data for name, data in files.items() if name != SIGNATURE}
    unlisted = {name: data for name, data in files.items() if name != "MANIFEST.sha256"}
    assert drill(unsigned)["exit"] == 11
    assert drill(unlisted)["exit"] == 12


@pytest.mark.parametrize("what", ["deleted", "renamed", "added", "swapped"])
def test_every_file_deleted_renamed_copied_or_swapped_is_named(signed, drill, what):
    """Some at a time, until each had its turn; swapped is each with another of other bytes."""
    files = tree(signed)
    listed = sorted(files.keys() - {"MANIFEST.sha256", SIGNATURE}, key=lambda name: files[name])
    half = len(listed) // 2
    for begin in range(0, half, 16):
        pairs = [(listed[at], listed[at + half]) for at in range(begin, min(begin + 16, half))]
        if len(listed) % 2 and not begin:
            pairs.append((listed[-1], listed[half - 1]))
        names = dict.fromkeys(name for pair in pairs for name in pair)
        if what == "swapped":
            swapped = {one: files[two] for one, two in pairs if files[one] != files[two]}
            swapped |= {two: files[one] for one, two in pairs if files[one] != files[two]}
            altered, faults = {**files, **swapped}, {(name, "changed") for name in swapped}
            assert len(swapped) > len(names) // 2
        else:
            altered = {k: v for k, v in files.items() if what == "added" or k not in names}
            new = {} if what == "deleted" else {f"{name}.new": files[name] for name in names}
            altered |= new
            faults = {(name, "added") for name in new}
            faults |= {(name, "missing") for name in names if what != "added"}

        told = drill(altered)

        assert told["exit"] == 10
        assert faults_of(told) == faults


def test_a_flipped_bit_in_the_list_or_its_signature_accuses_the_signature(signed, drill):
    """Beside it, the list itself or a file of the very line that was hit; and no other."""
    files = tree(signed)
    manifest, signature = files["MANIFEST.sha256"], files[SIGNATURE]
    for at in range(0, len(signature), 7):
        told = drill({**files, SIGNATURE: flipped(signature, at, at % 8)})
        if told["exit"] == 12:  # it says to be by a key of another type
            assert told["sentence"].startswith("Could not check: the signature is by a key of type")
        else:
            assert told["exit"] == 10
            assert faults_of(told) == {(SIGNATURE, "signature")}, at

    lines = manifest.split(b"\n")
    start = len(b"\n".join(lines[: len(lines) // 2])) + 1
    for at in (0, *range(start, start + 130, 3), len(manifest) - 1):  # a line, and into the next
        altered = flipped(manifest, at, at % 8)
        told = drill({**files, "MANIFEST.sha256": altered})
        hit = set(altered.split(b"\n")) ^ set(lines)
        allowed = {line[66:].decode("latin-1") for line in hit} | {"MANIFEST.sha256", SIGNATURE}
        assert told["exit"] == 10
        assert (SIGNATURE, "signature") in faults_of(told), at
        assert {name for name, _ in faults_of(told)} <= allowed, at


def test_files_deleted_added_renamed_and_swapped_are_named(copy, pin):
    (copy / "chips.html").unlink()
    (copy / ".gitattributes").write_text("* binary\n", encoding="utf-8")
    (copy / "formats.html").rename(copy / "format.html")
    one, two = copy / "data/study.json", copy / "data/chips.json"
    first = one.read_bytes()
    one.write_bytes(two.read_bytes())
    two.write_bytes(first)
    (copy / "empty").mkdir()
    (copy / "link").symlink_to("index.html")
    os.mkfifo(copy / "pipe")

    told = verdict(copy, pin)

    assert told["exit"] == 10
    assert {(fault["file"], fault["what"]) for fault in told["faults"]} == {
        ("chips.html", "missing"),
        (".gitattributes", "added"),
        ("formats.html", "missing"),
        ("format.html", "added"),
        ("data/study.json", "changed"),
        ("data/chips.json", "changed"),
        ("empty/", "empty"),
        ("link", "symlink"),
        ("pipe", "special"),
    }


@pytest.mark.parametrize("keep", [0, 1, 100, 200, -1])
def test_a_truncated_signature_is_named(copy, pin, keep):
    signature = copy / "signatures/author.sig"
    signature.write_bytes(signature.read_bytes()[:keep])

    told = verdict(copy, pin)

    assert told["exit"] == 10
    assert told["faults"] == [{"file": "signatures/author.sig", "what": "signature"}]


def test_a_forged_copy_gets_no_signers_name(copy, pin, tmp_path):
    """The attacker's number, manifest, key and page, and a signers file that praises them."""
    page = copy / f"reports/{REPORT}.html"
    page.write_bytes(page.read_bytes().replace(b"2.45", b"0.45"))
    key = make_key(tmp_path / "attacker")
    public = Path(f"{key}.pub").read_text(encoding="utf-8")
    (copy / "allowed_signers").write_text(f"lab@example.org {public}", encoding="utf-8")
    relist(copy)
    sign = ["ssh-keygen", "-Y", "sign", "-f", key, "-n", "assay/report/author/v1"]
    manifest = (copy / "MANIFEST.sha256").read_bytes()
    done = subprocess.run(sign, input=manifest, capture_output=True, check=True)
    (copy / "signatures/author.sig").write_bytes(done.stdout)

    told = verdict(copy, pin)
    assert told["exit"] == 10  # the claims are derived again
    assert told["author"]["name"] is None
    assert "lab@example.org" not in json.dumps(told)
    assert verdict(copy)["exit"] == 10


def test_every_number_that_a_release_marks_is_a_claim(signed):
    listed = json.loads((signed / "claims.json").read_bytes())["claims"]

    assert list(unclaimed(signed)) == []
    assert {claim["page"] for claim in listed} >= {
        *("index.html", "workings.html", "preflight.html", f"reports/{REPORT}.html"),
        *("records/precision-cpu.html", "records/timing-cpu.html", "profiles/precision-cpu.html"),
    }


def test_the_number_of_a_claim_is_derived_even_when_all_is_signed_anew(copy, house):
    page = copy / f"reports/{REPORT}.html"
    altered = re.sub(rb'(id="v-1"[^>]*>)2', rb"\g<1>3", page.read_bytes())
    assert altered != page.read_bytes()
    page.write_bytes(altered)
    relist(copy)
    listed = (copy / "MANIFEST.sha256").read_bytes()
    signature = ssh_sign(listed, house / "key", "assay/report/author/v1")
    (copy / "signatures/author.sig").write_bytes(signature)

    told = verdict(copy, pin_of(house / "key"))

    assert told["exit"] == 10
    assert told["faults"] == [{"file": f"reports/{REPORT}.html", "what": "claim"}]


# Building again --------------------------------------------------------------------------


def test_it_builds_again_byte_for_byte_from_itself_alone(copy, house, assay):
    page = copy.with_name(f"{NAME}.html")
    shutil.copy(house / "releases" / page.name, page)

    done = assay(house, "rebuild", copy)

    assert done.returncode == 0, done.stderr
    assert f"byte for byte, and {NAME}.html beside it, by the same code as here." in done.stdout


def test_a_rebuild_by_other_code_than_is_here_says_so(signed, tmp_path, monkeypatch):
    here = copy_project(tmp_path / "here")
    with (here / "report/voice.py").open("a", encoding="utf-8") as file:
        file.write("# Another line.\n")
    (here / "templates/home.html").unlink()
    monkeypatch.setattr(rebuild, "_ROOT", here)

    other = tuple(rebuild.foreign(opened(signed)))

    assert other == ("report/voice.py", "templates/home.html")
    told = rebuild.Rebuilt(files=7, page="", own=other).told
    assert "by the code in the release; 2 files of it are not as here (report/voice.py, " in told


def test_a_rebuild_names_what_differs_and_why(copy, house, assay):
    page = copy / "glossary.html"
    page.write_bytes(page.read_bytes().replace(b"Glossary", b"Glossaries", 1))
    about = json.loads((copy / "release.json").read_bytes())
    about["builder"]["libraries"]["jinja2"] = "2.0"
    (copy / "release.json").write_text(json.dumps(about), encoding="utf-8")
    relist(copy)
    altered = (house / "releases" / f"{NAME}.html").read_bytes().replace(b"2.45", b"0.45", 1)
    copy.with_name(f"{NAME}.html").write_bytes(altered)

    done = assay(house, "rebuild", copy)

    assert done.returncode == 9
    assert "glossary.html: differs from byte" in done.stderr
    assert f"{NAME}.html: differs from byte" in done.stderr
    assert "jinja2 2.0 built it" in done.stderr


# Status and self-check -------------------------------------------------------------------


def test_a_withdrawn_release_says_so_and_a_list_is_numbered(house, signed, pin, assay, tmp_path):
    given = ["--release", signed, "--key", house / "key", "--date", "2026-12-01"]
    listed = tmp_path / "status.json"
    for state, more in (("superseded", ["--by", f"{REPORT}-2"]), ("withdrawn", [])):
        done = assay(
            house, "status", listed, "--state", state, "--reason", "Wrong device.", *given, *more
        )
        assert done.returncode == 0, done.stderr
    assert json.loads(listed.read_bytes())["number"] == 2
    done = subprocess.run(
        [
            *(sys.executable, PROJECT / "build.py", "verify"),
            *(signed, "--key", pin, "--status", listed),
        ],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 11
    assert done.stdout.count("withdrawn on 2026-12-01: Wrong device.") == 1
    assert "Status unknown after 2026-12-01." in done.stdout


def test_of_two_lists_the_newer_counts_and_the_older_is_named(house, signed, pin, assay, tmp_path):
    given = ["--release", signed, "--key", house / "key", "--date", "2026-12-01"]
    older, newer = tmp_path / "older.json", tmp_path / "newer.json"
    more = ["--state", "superseded", "--by", f"{REPORT}-2", "--reason", "Measured again."]
    assert assay(house, "status", older, *given, *more).returncode == 0
    for end in ("", ".sig"):
        shutil.copy(f"{older}{end}", f"{newer}{end}")
    more = ["--state", "withdrawn", "--reason", "Wrong device."]
    assert assay(house, "status", newer, *given, *more).returncode == 0

    for lists in ((older, newer), (newer, older)):
        asked = [text for each in lists for text in ("--status", each)]
        done = assay(house, "verify", signed, "--key", pin, *asked)
        assert done.returncode == 11
        assert "withdrawn on 2026-12-01: Wrong device." in done.stdout
        assert "Older, and not asked: status list 1." in done.stdout
    done = assay(house, "verify", signed, "--key", pin, "--status", newer, "--status", newer)
    assert "Older" not in done.stdout
    (tmp_path / "older.json.sig").unlink()
    done = assay(house, "verify", signed, "--key", pin, "--status", older)
    assert done.returncode == 12
    assert "older.json.sig cannot be read" in done.stdout


def test_a_list_by_another_than_the_author_says_for_whom_it_counts(house, signed, assay, tmp_path):
    key, listed = make_key(tmp_path / "other"), tmp_path / "list.json"
    given = ["--release", signed, "--key", key, "--date", "2026-12-01", "--reason", "x"]

    done = assay(house, "status", listed, *given, "--state", "withdrawn")

    assert done.returncode == 0, done.stderr
    assert f"this list is by {pin_of(key)}: it counts only for readers whose" in done.stdout
    superseded = ["--state", "superseded", "--by", "no such"]
    assert assay(house, "status", listed, *given, *superseded).returncode == 2
    (tmp_path / "list.json").write_text('{"releases": {}}', "utf-8")
    done = assay(house, "status", listed, *given, "--state", "withdrawn")
    assert done.returncode == 8
    assert "is no status list" in done.stderr


def test_a_status_list_that_is_not_there_makes_no_release(house, assay, tmp_path):
    asked = ("--status", tmp_path / "none.json", "--out", tmp_path / "out")
    done = assay(house, "release", REPORT, *asked)

    assert done.returncode == 2
    assert "none.json cannot be read" in done.stderr
    assert not (tmp_path / "out").exists()


SELF_CHECK = (
    "Self-check: the data inside this page matches the hash list inside this page. This check is"
    " part of the page, so it shows accidental damage only. It does not show who made the page or"
    " that no one changed page and check together. To check the signer, use a verifier and a key"
    " fingerprint from another source.",
    "Self-check failed: the data inside this page does not match its hash list. Do not rely on the"
    " numbers here.",
    "Self-check not run: this browser lacks a needed function.",
)
"""What a page may say of itself, word for word as it was agreed."""


def test_what_is_said_of_a_release_is_what_was_agreed_word_for_word(signed, pin):
    """Typed here a second time, so that no change of the wording goes unnoticed."""
    assert (one_page.MATCH, one_page.MISMATCH, one_page.NOT_RUN) == SELF_CHECK

    count = len((signed / "MANIFEST.sha256").read_bytes().splitlines())
    assert verdict(signed, pin)["sentence"] == (
        f"All {count} listed files match, no unlisted files. Signed with key {pin} which you"
        " pinned. Not shown: that the measurements are right, that this is the latest report, or"
        " when it was signed."
    )
    assert verdict(signed)["sentence"] == (
        "Files match their list. The list is signed by a key you have not pinned: anyone can make"
        " such a signature."
    )


def test_the_one_page_has_all_inside_and_the_agreed_words(signed):
    page = signed.with_name(f"{NAME}.html").read_text(encoding="utf-8")

    for words in SELF_CHECK:
        assert words in page
    outside = re.findall(r'(?:src|href)="(?!#|https:|data:)[^"]*"', page)
    assert outside == []
    assert "unsafe" not in page[:2000]
    said = page[page.index('id="self-check"') :].split("</p>")[0].lower()
    for banned in ("verified", "authentic", "certified", "tamper", "padlock", "signed by"):
        assert banned not in said


def test_50_megabytes_take_seconds(copy, pin):
    """Most of it is hashing. How long it took is printed, never asserted: machines differ."""
    (copy / "data/large.bin").write_bytes(os.urandom(50 << 20))
    relist(copy)
    begun = time.perf_counter()
    told = verdict(copy, pin)
    print(f"50 MB: {time.perf_counter() - begun:.2f} s")  # noqa: T201
    assert told["faults"] == [{"file": "signatures/author.sig", "what": "signature"}]
