"""Is a signers file understood as OpenSSH understands it, and never more generously?"""

import base64
import shutil
import subprocess
from datetime import UTC, datetime
from pathlib import Path

import pytest

from report.archive.verify import Trust, time_of
from tests.archive.ground import AUTHOR, HARDWARE, REVIEWER, key_blob, sshsig

NAMESPACE = "assay/report/author/v1"
MESSAGE = b"a list\n"
KEY = base64.b64encode(key_blob(AUTHOR)).decode()
OTHER = base64.b64encode(key_blob(REVIEWER)).decode()
TOUCH = base64.b64encode(key_blob(AUTHOR, HARDWARE)).decode()
LINE = f"ssh-ed25519 {KEY}"

FILES = {
    "plain": f"lab {LINE}",
    "with a comment": f"# signers\n\nlab {LINE} a comment with words\n",
    "several names": f"lab,other@example.org {LINE}",
    "quoted name": f'"lab" {LINE}',
    "tabs": f"lab\t{LINE}",
    "windows lines": f"lab {LINE}\r\n",
    "indented": f"   lab {LINE}",
    "the namespace": f'lab namespaces="{NAMESPACE}" {LINE}',
    "one of the namespaces": f'lab namespaces="git,{NAMESPACE}" {LINE}',
    "a pattern": f'lab namespaces="assay/*" {LINE}',
    "any namespace": f'lab namespaces="*" {LINE}',
    "a refusing pattern": f'lab namespaces="!{NAMESPACE},*" {LINE}',
    "a late refusing pattern": f'lab namespaces="*,!{NAMESPACE}" {LINE}',
    "another namespace": f'lab namespaces="git" {LINE}',
    "no namespace": f'lab namespaces="" {LINE}',
    "capitals": f'lab Namespaces="{NAMESPACE}" {LINE}',
    "namespaces twice": f'lab namespaces="git",namespaces="{NAMESPACE}" {LINE}',
    "an open end": f'lab valid-after="20200101" {LINE}',
    "a window": f'lab valid-after="20200101Z",valid-before="20400101Z" {LINE}',
    "run out": f'lab valid-before="20200101Z" {LINE}',
    "not yet": f'lab valid-after="20400101Z" {LINE}',
    "minutes": f'lab valid-before="204001011200" {LINE}',
    "seconds": f'lab valid-before="20400101120059Z" {LINE}',
    "an hour alone": f'lab valid-before="2040010112" {LINE}',
    "nine digits": f'lab valid-before="204001011" {LINE}',
    "Z and again": f'lab valid-before="20400101ZZ" {LINE}',
    "a space in a day": f'lab valid-before="204001 1" {LINE}',
    "no day": f'lab valid-before="20201301" {LINE}',
    "options twice over": f'lab valid-after="20200101",Valid-After="20200102" {LINE}',
    "an unknown option": f"lab no-touch-required {LINE}",
    "an authority": f"lab cert-authority {LINE}",
    "another key": f"lab ssh-ed25519 {OTHER}",
    "two keys": f"lab ssh-ed25519 {OTHER}\nlab {LINE}",
    "another type": f"lab sk-ssh-ed25519@openssh.com {KEY}",
    "the type of another": f"lab ssh-ed25519 {TOUCH}",
    "no type": f"lab {KEY}",
    "no key": "lab ssh-ed25519",
    "cut off": f"lab ssh-ed25519 {KEY[:-4]}",
    "no padding": f"lab ssh-ed25519 {KEY[:-1]}!",
    "no name": LINE,
    "empty": "",
}


def ours(signers: str) -> str:
    try:
        said = str(Trust([], signers).judge(key_blob(AUTHOR), NAMESPACE)["said"])
    except ValueError:
        return "refused"
    return said.partition(" says that key is ")[2] or said.split(" ", maxsplit=1)[0]


def ssh_keygen_says_good(signers: str, folder: Path) -> bool:
    (folder / "signers").write_bytes(signers.encode())
    (folder / "sig").write_bytes(sshsig(AUTHOR, MESSAGE, NAMESPACE))
    command = ["ssh-keygen", "-Y", "verify", "-f", "signers", "-I", "lab", "-n", NAMESPACE]
    done = subprocess.run(
        [*command, "-s", "sig"], cwd=folder, input=MESSAGE, capture_output=True, check=False
    )
    return done.returncode == 0


@pytest.mark.skipif(not shutil.which("ssh-keygen"), reason="no ssh-keygen: install OpenSSH")
@pytest.mark.parametrize("signers", FILES.values(), ids=FILES)
def test_whom_it_trusts_ssh_keygen_trusts(signers, tmp_path):
    if ours(signers) == "Signed":
        assert ssh_keygen_says_good(signers, tmp_path)


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("plain", "Signed"),
        ("with a comment", "Signed"),
        ("quoted name", "Signed"),
        ("a pattern", "Signed"),
        ("capitals", "Signed"),
        ("a window", "Signed"),
        ("two keys", "Signed"),
        ("no namespace", "not for this role."),
        ("another namespace", "not for this role."),
        ("run out", "expired."),
        ("not yet", "not yet valid."),
        ("another key", "The"),  # list is signed by a key you have not pinned
        ("a late refusing pattern", "refused"),
        ("an authority", "refused"),
        ("another type", "refused"),
        ("options twice over", "refused"),
        ("no padding", "refused"),
        ("no day", "refused"),
        ("minutes", "Signed"),
        ("seconds", "Signed"),
        ("an hour alone", "refused"),
        ("nine digits", "refused"),
        ("Z and again", "refused"),
        ("a space in a day", "refused"),
    ],
)
def test_what_is_said_of_a_key(name, said):
    assert ours(FILES[name]) == said


def test_a_pattern_gives_no_name():
    for principals in ("*", "lab?", "!other,*"):
        judged = Trust([], f"{principals} {LINE}").judge(key_blob(AUTHOR), NAMESPACE)
        assert judged["good"]
        assert judged["name"] is None


def test_a_revoked_key_is_revoked_however_it_is_written():
    for line in (f"ssh-ed25519 {KEY}", f"ssh-ed25519 {KEY} lost", f"# x\nssh-ed25519 {KEY}"):
        judged = Trust([], f"lab {LINE}", line).judge(key_blob(AUTHOR), NAMESPACE)
        assert not judged["good"]
        assert judged["said"].endswith("revoked.")
    with pytest.raises(ValueError, match="signer"):
        Trust([], "", "SSHKRL\n\0binary")


@pytest.mark.parametrize(
    ("day", "seconds"), [("20260131Z", 0), ("202601310102Z", 3720), ("20260131010203Z", 3723)]
)
def test_a_day_in_utc_is_the_same_everywhere(day, seconds):
    assert time_of(day) == 1769817600 + seconds
    assert (
        time_of(day[:-1])
        == datetime.fromtimestamp(1769817600 + seconds, UTC).replace(tzinfo=None).timestamp()
    )
