"""What a release may carry besides: does it serve the tools of others, where they are here?"""

import shutil
import subprocess
from pathlib import Path

import pytest

from tests.archive.conftest import NAME, pin_of
from tests.archive.test_release import verdict

pytestmark = pytest.mark.skipif(not shutil.which("ssh-keygen"), reason="no ssh-keygen")

AUTHORITY = """\
[req]
distinguished_name = name
[name]
[stamping]
extendedKeyUsage = critical, timeStamping
[tsa]
default_tsa = here
[here]
serial = serial
crypto_device = builtin
signer_digest = sha256
default_policy = 1.2.3.4
digests = sha256, sha512
ess_cert_id_alg = sha256
"""


def openssl(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["openssl", *words], cwd=folder, capture_output=True, text=True, check=False
    )


@pytest.mark.skipif(not shutil.which("openssl"), reason="no openssl")
def test_a_time_stamp_over_the_signature_holds_and_is_no_part_of_what_was_signed(
    released, tmp_path
):
    """RFC 3161, by an authority of our own: https://www.rfc-editor.org/rfc/rfc3161"""
    release = Path(shutil.copytree(released / "releases" / NAME, tmp_path / NAME))
    (tmp_path / "tsa.cnf").write_text(AUTHORITY, encoding="utf-8")
    (tmp_path / "serial").write_text("01\n", encoding="utf-8")
    signature, token = f"{NAME}/signatures/author.sig", f"{NAME}/signatures/author.sig.tsr"
    configured = ("-config", "tsa.cnf")
    for words in (
        (
            *("req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", "tsa.key", "-days", "30"),
            *("-out", "tsa.pem", "-subj", "/CN=test", "-extensions", "stamping", *configured),
        ),
        ("ts", "-query", "-data", signature, "-sha512", "-cert", "-out", "query"),
        (
            *("ts", "-reply", "-queryfile", "query", "-signer", "tsa.pem"),
            *("-inkey", "tsa.key", "-out", token, *configured),
        ),
        ("ts", "-verify", "-data", signature, "-in", token, "-CAfile", "tsa.pem"),
    ):
        done = openssl(tmp_path, *words)
        assert done.returncode == 0, done.stderr

    told = verdict(release, pin_of(released / "key"))

    assert told["exit"] == 0
    assert "Not covered by the signature: signatures/author.sig.tsr" in told["notes"]
    (tmp_path / signature).write_bytes((tmp_path / signature).read_bytes() + b"\n")
    check = ("ts", "-verify", "-data", signature, "-in", token, "-CAfile", "tsa.pem")
    assert openssl(tmp_path, *check).returncode != 0


@pytest.mark.skipif(not shutil.which("rocrate-validator"), reason="no rocrate-validator")
def test_the_research_object_passes_every_required_check(released):
    command = ["rocrate-validator", "--no-interactive", "validate", "--no-paging"]
    command += ["--requirement-severity", "required", "--profile-identifier", "ro-crate-1.2"]
    done = subprocess.run(
        [*command, released / "releases" / NAME], capture_output=True, text=True, check=False
    )
    if "URLError" in done.stdout + done.stderr:
        pytest.skip("the validator fetches the published contexts, and there is no network")
    assert done.returncode == 0, done.stdout
