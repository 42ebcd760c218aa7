"""A release and its verifier in a second engine, where the system has Firefox; no network."""

import json
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from report.archive import verifier
from report.archive.one_page import MATCH
from tests.archive.conftest import NAME, pin_of
from tests.conftest import PROJECT, tree
from tests.pages.firefox import FIREFOX, Firefox, running

pytestmark = [
    pytest.mark.skipif(not FIREFOX, reason="no Firefox on this system"),
    pytest.mark.skipif(not shutil.which("ssh-keygen"), reason="no ssh-keygen: install OpenSSH"),
]
VERDICT = """new Promise(done => {
  const shown = show;
  show = (verdict, chosen) => { shown(verdict, chosen); done(verdict); };
  byId("pin").value = %s;
  byId("check").click();
})"""


@pytest.fixture(scope="module")
def firefox(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Firefox]:
    with running(tmp_path_factory.mktemp("firefox")) as browser:
        yield browser


def test_every_page_of_a_release_opens_with_its_figures(firefox: Firefox, released: Path):
    folder = released / "releases" / NAME
    pages = [n for n in tree(folder) if n.endswith(".html") and not n.startswith("source/")]
    assert len(pages) > 6
    drawn = {}
    for name in pages:
        firefox.open((folder / name).as_uri())
        drawn[name] = firefox.run("document.querySelectorAll('svg.chart').length")
        assert firefox.complaints() == [], name
    assert drawn["reports/precision-cpu.html"] >= 2


def test_the_one_page_checks_itself(firefox: Firefox, released: Path):
    firefox.open((released / "releases" / f"{NAME}.html").as_uri())

    said = firefox.run(
        """new Promise(done => {
          const said = () => document.getElementById("self-check").innerText;
          const look = () => said().length > 100 ? done(said()) : setTimeout(look, 50);
          look();
        })"""
    )

    assert said == MATCH
    assert firefox.complaints() == []


@pytest.mark.parametrize("altered", [False, True])
def test_the_verifier_page_reaches_the_verdict_of_the_script(
    firefox: Firefox, released: Path, tmp_path, altered
):
    page = tmp_path / verifier.NAME
    page.write_bytes(verifier.assemble(PROJECT / "templates"))
    packed = tmp_path / f"{NAME}.zip"
    content = (released / "releases" / packed.name).read_bytes()
    if altered:
        at = content.rindex(b'"schema"', 0, content.rindex(b"claims.json"))
        content = content[:at] + b'"Schema"' + content[at + 8 :]
    packed.write_bytes(content)
    firefox.open(page.as_uri())
    firefox.choose("#zip", packed)

    verdict = firefox.run(VERDICT % json.dumps(pin_of(released / "key")))

    assert verdict["exit"] == (10 if altered else 0), verdict
    assert firefox.complaints() == []
