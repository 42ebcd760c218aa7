"""Ten years on, with no network: does a release still open, show every figure, and verify?"""

import datetime
import json
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

from report.archive import verify as verifier
from report.archive.one_page import MATCH, MISMATCH
from tests.archive.conftest import NAME, REPORT, faked_clock, pin_of
from tests.conftest import tree
from tests.pages.conftest import RECORD_VIOLATIONS

pytestmark = pytest.mark.skipif(
    not shutil.which("ssh-keygen"), reason="no ssh-keygen: install OpenSSH"
)
LATER = datetime.datetime(2036, 12, 1, tzinfo=datetime.UTC)


@pytest.fixture(scope="module")
def signed(released: Path) -> Path:
    return released / "releases" / NAME


@pytest.fixture
def context(browser):
    context = browser.new_context(offline=True)
    context.clock.install(time=LATER)
    context.add_init_script(RECORD_VIOLATIONS)
    yield context
    context.close()


def complaints(page) -> list[str]:
    """What the page asks for outside its folder, and whatever it says on the console."""
    told: list[str] = []
    page.on("console", lambda message: told.append(message.text))
    page.on("pageerror", lambda error: told.append(str(error)))
    page.on("requestfailed", lambda request: told.append(f"failed {request.url}"))
    page.on(
        "request",
        lambda request: request.url.startswith(("file:", "data:")) or told.append(request.url),
    )
    return told


@pytest.mark.browser
def test_every_page_opens_with_all_its_figures(signed, context):
    pages = [n for n in tree(signed) if n.endswith(".html") and not n.startswith("source/")]
    assert len(pages) > 6
    for name in pages:
        page = context.new_page()
        told = complaints(page)
        page.goto((signed / name).as_uri(), wait_until="load")
        drawn = page.locator("svg.chart").count()
        assert told == []
        assert page.evaluate("window.policyViolations") == []
        assert page.evaluate("new Date().getFullYear()") == LATER.year
        assert NAME in page.locator(".imprint").first.inner_text()
        if name == f"reports/{REPORT}.html":
            assert drawn >= 2
        page.close()


@pytest.mark.browser
@pytest.mark.parametrize(
    ("damaged", "into"),
    [
        ("", ""),
        (r'(id="v-1"[^>]*>)2', r"\g<1>3"),
        ('id="v-1"', 'id="w-1"'),
        ('(id="self-hashes">){', r"\1"),
        ('id="self-claims"', 'id="claims"'),
    ],
    ids=["whole", "a number", "an id", "the hashes", "the claims"],
)
def test_the_one_page_checks_itself_and_says_how_little_that_shows(
    signed, context, damaged, into, tmp_path
):
    whole = signed.with_name(f"{NAME}.html").read_text(encoding="utf-8")
    text = re.sub(damaged, into, whole, count=1)
    assert (text != whole) == bool(damaged)
    (tmp_path / "page.html").write_text(text, encoding="utf-8")
    page = context.new_page()
    told = complaints(page)

    page.goto((tmp_path / "page.html").as_uri(), wait_until="load")
    said = page.locator("#self-check")
    page.wait_for_function("document.getElementById('self-check').textContent.length > 100")

    assert said.inner_text() == (MISMATCH if damaged else MATCH)
    assert told == []
    assert page.evaluate("window.policyViolations") == []
    assert page.locator("svg.chart").count() >= 2


def test_it_verifies_with_the_clock_ten_years_on(signed, released):
    trust = verifier.Trust([pin_of(released / "key")], at=f"{LATER:%Y%m%d}")

    told = verifier.verify(str(signed), trust)

    assert told["exit"] == 0
    assert "Status unknown after 2026-" in told["notes"][-1]


def test_it_verifies_in_a_process_whose_clock_is_ten_years_on(signed, released, tmp_path):
    """And a key that has run out by then is found out, with no --at to say when."""
    environment = faked_clock()
    command = [sys.executable, "-I", "-S", verifier.__file__, signed]
    asked = [sys.executable, "-I", "-S", "-c", "import time; print(time.gmtime().tm_year)"]
    year = time.gmtime().tm_year

    def run(*words: object) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [str(word) for word in words],
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )

    public = " ".join(Path(f"{released / 'key'}.pub").read_text(encoding="utf-8").split()[:2])
    signers = tmp_path / "signers"
    signers.write_text(f'a valid-before="{year + 5}0101Z" {public}\n', encoding="utf-8")

    assert int(run(*asked).stdout) >= year + 9
    assert run(*command, "--key", pin_of(released / "key")).returncode == 0
    late = run(*command, "--signers", signers)
    assert late.returncode == 11
    assert "expired" in late.stdout


def test_a_key_that_has_run_out_says_so_and_a_date_from_elsewhere_helps(signed, released):
    public = " ".join(Path(f"{released / 'key'}.pub").read_text(encoding="utf-8").split()[:2])
    signers = f'lab@example.org valid-before="20301231Z" {public}\n'

    later = verifier.verify(str(signed), verifier.Trust([], signers, at=f"{LATER:%Y%m%d}"))
    stamped = verifier.verify(str(signed), verifier.Trust([], signers, at="20270101"))

    assert later["exit"] == 11
    assert "expired" in later["sentence"]
    assert stamped["exit"] == 0
    assert "Signed by lab@example.org" in stamped["sentence"]


def test_it_verifies_with_the_network_taken_away(signed, released):
    alone = ["unshare", "--map-root-user", "--net"]
    if not shutil.which("unshare") or subprocess.run([*alone, "true"], check=False).returncode:
        pytest.skip("no network namespaces here")
    command = [sys.executable, "-I", "-S", verifier.__file__, signed, "--json"]
    key = pin_of(released / "key")
    done = subprocess.run([*alone, *command, "--key", key], capture_output=True, check=False)

    assert done.returncode == 0
    assert json.loads(done.stdout)["tier"] == "trusted"
