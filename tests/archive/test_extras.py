"""What a release may carry besides: does it serve the tools of others, where they are here?"""

import base64
import json
import os
import re
import shutil
import subprocess
import time
import zipfile
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from report.archive import rocrate
from tests.archive.conftest import NAME, faked_clock, pin_of
from tests.archive.test_release import verdict
from tests.conftest import Done, tree

pytestmark = pytest.mark.skipif(
    not shutil.which("ssh-keygen"), reason="no ssh-keygen: install OpenSSH"
)

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


needs_openssl = pytest.mark.skipif(
    not shutil.which("openssl"), reason="no openssl: install OpenSSL"
)
SIGNATURE, STAMP = "signatures/author.sig", "signatures/author.sig.tsr"
CHECK = ("ts", "-verify", "-data", f"{NAME}/{SIGNATURE}", "-in", f"{NAME}/{STAMP}")
CHECK += ("-CAfile", "tsa.pem")


@pytest.fixture
def stamped(released, tmp_path) -> Path:
    """A release with a stamp by an authority of our own, whose certificate ends in 30 days.

    RFC 3161: https://www.rfc-editor.org/rfc/rfc3161
    """
    release = Path(shutil.copytree(released / "releases" / NAME, tmp_path / NAME))
    (tmp_path / "tsa.cnf").write_text(AUTHORITY, encoding="utf-8")
    (tmp_path / "serial").write_text("01\n", encoding="utf-8")
    configured = ("-config", "tsa.cnf")
    for words in (
        (
            *("req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", "tsa.key", "-days", "30"),
            *("-out", "tsa.pem", "-subj", "/CN=test", "-extensions", "stamping", *configured),
        ),
        ("ts", "-query", "-data", f"{NAME}/{SIGNATURE}", "-sha512", "-cert", "-out", "query"),
        (
            *("ts", "-reply", "-queryfile", "query", "-signer", "tsa.pem"),
            *("-inkey", "tsa.key", "-out", f"{NAME}/{STAMP}", *configured),
        ),
    ):
        done = openssl(tmp_path, *words)
        assert done.returncode == 0, done.stderr
    return release


def as_the_text_says(release: Path, environment: dict[str, str] | None = None) -> Done:
    """The recipe of VERIFY.txt for a time stamp, with the authority's certificate at hand."""
    text = (release / "VERIFY.txt").read_text(encoding="utf-8").partition("\n6. ")[2]
    commands = "\n".join(line[5:] for line in text.splitlines() if line.startswith("     "))
    return subprocess.run(
        ["sh", "-euc", commands.replace("TSA.pem", "../tsa.pem")],
        cwd=release,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )


@needs_openssl
def test_a_time_stamp_over_the_signature_holds_and_is_no_part_of_what_was_signed(released, stamped):
    assert openssl(stamped.parent, *CHECK).returncode == 0

    told = verdict(stamped, pin_of(released / "key"))

    assert told["exit"] == 0
    assert f"Not covered by the signature: {STAMP}" in told["notes"]
    (stamped / SIGNATURE).write_bytes((stamped / SIGNATURE).read_bytes() + b"\n")
    assert openssl(stamped.parent, *CHECK).returncode != 0
    assert as_the_text_says(stamped).returncode != 0


@needs_openssl
def test_a_time_stamp_is_judged_at_its_own_time_as_the_text_says(stamped):
    later = ("-attime", str(int(time.time()) + 3653 * 86400))

    done = as_the_text_says(stamped)

    assert done.returncode == 0, done.stderr
    assert done.stdout.strip().endswith("GMT\nVerification: OK")
    assert openssl(stamped.parent, *CHECK, *later).returncode != 0, "when the certificate has ended"


@needs_openssl
def test_a_time_stamp_holds_ten_years_on_as_the_text_says(stamped):
    environment = faked_clock()

    done = as_the_text_says(stamped, environment)

    assert done.returncode == 0, done.stderr
    late = subprocess.run(
        ["openssl", *CHECK], cwd=stamped.parent, env=environment, capture_output=True, check=False
    )
    assert late.returncode != 0
    assert b"expired" in late.stderr


# OpenSSF Model Signing -------------------------------------------------------------------

BUNDLE = "signatures/oms.sigstore.json"


def make_p256(folder: Path) -> None:
    """A P-256 key KEY.pem, and its public half KEY.pub."""
    curve = ("-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-256")
    assert openssl(folder, "genpkey", *curve, "-out", "KEY.pem").returncode == 0
    assert openssl(folder, "pkey", "-in", "KEY.pem", "-pubout", "-out", "KEY.pub").returncode == 0


@pytest.fixture
def exported(released, tmp_path, assay) -> Path:
    """A signed release with the export, made with a key that only openssl is told of."""
    make_p256(tmp_path)
    release = Path(shutil.copytree(released / "releases" / NAME, tmp_path / NAME))
    done = assay(released, "sign", release, "--oms", tmp_path / "KEY.pem", "--json")
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert told["key"] == sha256((tmp_path / "KEY.pub").read_bytes()).hexdigest()
    return release


@needs_openssl
def test_the_export_signs_the_files_of_the_manifest_and_changes_none(released, exported):
    """DSSE: https://github.com/secure-systems-lab/dsse/blob/v1.0.0/protocol.md"""
    bundle = json.loads((exported / BUNDLE).read_bytes())
    envelope = bundle["dsseEnvelope"]
    payload = base64.b64decode(envelope["payload"], validate=True)
    told = json.loads(payload)
    lines = (exported / "MANIFEST.sha256").read_text(encoding="ascii").splitlines()

    assert bundle["mediaType"] == "application/vnd.dev.sigstore.bundle.v0.3+json"
    assert told["_type"] == "https://in-toto.io/Statement/v1"
    assert told["predicateType"] == "https://model_signing/signature/v1.0"
    resources = told["predicate"]["resources"]
    assert {each["algorithm"] for each in resources} == {"sha256"}
    assert [f"{each['digest']}  {each['name']}" for each in resources] == lines
    raw = b"".join(bytes.fromhex(line[:64]) for line in lines)
    assert told["subject"] == [{"name": NAME, "digest": {"sha256": sha256(raw).hexdigest()}}]

    kind, folder = envelope["payloadType"].encode(), exported.parent
    message = b" ".join([b"DSSEv1", b"%d" % len(kind), kind, b"%d" % len(payload), payload])
    (folder / "sig").write_bytes(base64.b64decode(envelope["signatures"][0]["sig"]))
    check = ("dgst", "-sha256", "-verify", "KEY.pub", "-signature", "sig", "message")
    for signed, holds in ((message, True), (message.replace(b"index.html", b"Index.html"), False)):
        (folder / "message").write_bytes(signed)
        assert (openssl(folder, *check).returncode == 0) is holds

    files = tree(exported)
    assert {path: data for path, data in files.items() if path != BUNDLE} == tree(
        released / "releases" / NAME
    )
    with zipfile.ZipFile(exported.with_name(f"{NAME}.zip")) as packed:
        assert packed.read(f"{NAME}/{BUNDLE}") == files[BUNDLE]


@needs_openssl
def test_the_verifier_names_the_export_and_gives_it_no_weight(released, exported):
    pin = pin_of(released / "key")
    for form in (exported, exported.with_name(f"{NAME}.zip")):
        told = verdict(form, pin)
        assert told["exit"] == 0
        assert f"Not covered by the signature: {BUNDLE}" in told["notes"]
    (exported / "signatures" / "author.sig").unlink()
    assert verdict(exported, pin)["exit"] == 11


@needs_openssl
def test_openssl_alone_checks_the_export_as_the_text_says(exported):
    text = (exported / "VERIFY.txt").read_text(encoding="utf-8")
    recipe = text[text.index("with OpenSSL:") : text.index("\n6. ")]
    commands = "\n".join(line[5:] for line in recipe.splitlines() if line.startswith("     "))
    commands = commands.replace("KEY.pub", "../KEY.pub")

    def run() -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            ["sh", "-euc", commands], cwd=exported, capture_output=True, text=True, check=False
        )

    done = run()
    assert (done.returncode, done.stdout) == (0, "Verified OK\n"), done.stderr
    make_p256(exported.parent)  # another key
    assert run().returncode != 0


@needs_openssl
@pytest.mark.skipif(
    not shutil.which("model_signing"),
    reason="no model_signing: pip install model-signing pyOpenSSL",
)
def test_the_official_program_accepts_the_export_and_refuses_an_altered_release(exported):
    command = ["model_signing", "verify", "key", ".", "--signature", BUNDLE]
    command += ["--public_key", "../KEY.pub", "--no-ignore-git-paths"]

    def run() -> subprocess.CompletedProcess[str]:
        return subprocess.run(command, cwd=exported, capture_output=True, text=True, check=False)

    assert run().returncode == 0, run().stderr
    for name in (".gitignore", "index.html"):
        before = tree(exported).get(name)
        (exported / name).write_bytes((before or b"") + b"\n")
        done = run()
        assert done.returncode != 0
        assert name in done.stdout + done.stderr
        (exported / name).write_bytes(before) if before else (exported / name).unlink()


@needs_openssl
def test_what_cannot_be_exported_is_refused_and_nothing_is_written(released, tmp_path, assay):
    release = Path(shutil.copytree(released / "releases" / NAME, tmp_path / NAME))
    make_p256(tmp_path)
    openssl(tmp_path, "genpkey", "-algorithm", "ed25519", "-out", "other.pem")
    good, before = tmp_path / "KEY.pem", tree(release)
    for words, code, said in (
        (("--oms", tmp_path / "other.pem"), 2, "is no P-256 key"),
        (("--oms", tmp_path / "absent.pem"), 2, "openssl pkey refused"),
        (("--oms", good, "--key", released / "key"), 2, "--oms alone"),
        ((), 2, "--oms alone"),
    ):
        done = assay(released, "sign", release, *words)
        assert done.returncode == code, done.stderr
        assert said in done.stderr
        assert "Traceback" not in done.stderr
    assert tree(release) == before
    (release / "index.html").write_bytes(b"")
    assert assay(released, "sign", release, "--oms", good).returncode == 9
    assert not (release / BUNDLE).exists()


# RO-Crate --------------------------------------------------------------------------------

CONTEXT = os.environ.get("RO_CRATE_CONTEXT", "")
"""The published context of RO-Crate 1.2 as a file, for a machine without a network."""

OFFLINE = """
import io, pathlib, sys
import requests
from rocrate_validator.cli import cli
from rocrate_validator.utils.document_loader import install_document_loader

context = pathlib.Path(sys.argv.pop(1)).read_bytes()

def send(self, request, **_):
    if request.url != "https://w3id.org/ro/crate/1.2/context":
        raise requests.ConnectionError(f"{request.url} is not supplied")
    answer = requests.Response()
    answer.request, answer.url, answer.status_code = request, request.url, 200
    answer.headers["Content-Type"] = "application/ld+json"
    answer.raw = io.BytesIO(context)
    return answer

requests.adapters.HTTPAdapter.send = send
install_document_loader()
cli()
"""
"""The validator, to which that file is the whole web."""


SPDX = "https://spdx.org/licenses/"
LICENCES = {
    None: "#no-license",
    "CC-BY-4.0": f"{SPDX}CC-BY-4.0",
    "Apache-2.0": f"{SPDX}Apache-2.0",
    "https://example.org/terms": "https://example.org/terms",
}


def crate_of(release: Path, stated: str | None) -> dict[str, Any]:
    """The metadata of a release, had its author stated this licence."""
    about = json.loads((release / "release.json").read_bytes()) | {"license": stated}
    files = {k: v for k, v in tree(release).items() if not k.startswith("signatures/")}
    del files["MANIFEST.sha256"], files["ro-crate-metadata.json"]
    return rocrate.describe(about, files)


@pytest.mark.parametrize("stated", LICENCES)
def test_a_report_has_the_licence_that_its_author_states_and_no_other(released, stated):
    release = released / "releases" / NAME
    graph = {each["@id"]: each for each in crate_of(release, stated)["@graph"]}

    licence = graph[graph["./"]["license"]["@id"]]
    assert licence["@id"] == LICENCES[stated]
    assert licence["name"] == {
        None: "No licence is claimed",
        "Apache-2.0": "Apache License 2.0",
    }.get(stated, stated)
    listed = (release / "MANIFEST.sha256").read_text("utf-8").splitlines()
    paths = {line[66:] for line in listed} - {"ro-crate-metadata.json"}
    fonts = {path for path in paths if path.endswith((".woff2", ".ttf"))}
    assert {path.partition("/")[0] for path in fonts} == {"source", "assets"}
    texts = {path for path in paths if "/ofl-" in path}
    code = {path for path in paths if re.match("source/(?!content/)|verify.py", path)}
    expected = {"#builder": "Apache-2.0", "assets/vega.js": "BSD-3-Clause"}
    expected |= dict.fromkeys(code - fonts - texts, "Apache-2.0") | dict.fromkeys(fonts, "OFL-1.1")
    told = {path: each["license"] for path, each in graph.items() if "license" in each}
    del told["./"]
    assert told == {path: {"@id": f"{SPDX}{name}"} for path, name in expected.items()}
    assert all(each["@id"] in graph for each in told.values())


def test_the_crate_says_who_wrote_a_record_and_which_code_built_the_pages(released):
    """And credits no lab with a measurement, since a compiler or another's run may speak there."""
    release = released / "releases" / NAME
    graph = {each["@id"]: each for each in crate_of(release, None)["@graph"]}

    assert graph["#run-preflight-tpu"]["name"] == "The lab preflight wrote the record preflight-tpu"
    assert not any("measured" in each["name"] for each in graph.values())
    places = [release / "source/build.py"]
    for folder in ("report", "templates"):
        places += [path for path in (release / "source" / folder).rglob("*") if path.is_file()]
    lines = "".join(
        f"{sha256((release / name).read_bytes()).hexdigest()}  {name}\n"
        for name in sorted(path.relative_to(release).as_posix() for path in places)
    )
    assert graph["#builder"]["version"] == f"sha256:{sha256(lines.encode()).hexdigest()}"


def test_the_shipped_report_states_its_licence(released):
    release = released / "releases" / NAME
    told = json.loads((release / "release.json").read_bytes())["license"]

    assert told == "Apache-2.0"
    assert json.loads((release / "ro-crate-metadata.json").read_bytes()) == crate_of(release, told)


@pytest.mark.parametrize("stated", [None, "Apache-2.0", "https://example.org/terms"])
@pytest.mark.skipif(
    not shutil.which("rocrate-validator"), reason="no rocrate-validator: pip install roc-validator"
)
def test_the_research_object_passes_every_required_check(released, tmp_path, stated):
    release = Path(shutil.copytree(released / "releases" / NAME, tmp_path / NAME))
    metadata = json.dumps(crate_of(release, stated))
    (release / "ro-crate-metadata.json").write_text(metadata, encoding="utf-8")
    command = ["rocrate-validator"]
    if CONTEXT:
        python = Path(str(shutil.which("rocrate-validator"))).with_name("python")
        command = [str(python), "-c", OFFLINE, CONTEXT]
    command += ["--no-interactive", "validate", "--no-paging", "--no-cache"]
    command += ["--requirement-severity", "required", "--profile-identifier", "ro-crate-1.2"]
    done = subprocess.run([*command, release], capture_output=True, text=True, check=False)
    if not CONTEXT and "URLError" in done.stdout + done.stderr:
        pytest.skip("no network: RO_CRATE_CONTEXT may name the published context of 1.2 as a file")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "valid ro-crate-1.2" in done.stdout
