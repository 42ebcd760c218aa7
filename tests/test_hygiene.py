"""Nothing committed or published tells of the machine, its user or where it fetches from."""

import getpass
import os
import re
import socket
import subprocess
from pathlib import Path

import pytest
from PIL import Image

from tests.conftest import PROJECT, opens_a_browser, tree

COMMON = {"root", "user", "runner", "ubuntu", "debian", "localhost", "builder", "admin", "home"}
REGISTRIES = ["pypi" + ".org", "python" + "hosted.org", "registry.npm" + "js", "proxy.go" + "lang"]


def identities(*places: Path) -> list[str]:
    """What would give this machine away, as far as it is not an everyday word."""
    home = str(Path.home())
    names = {socket.gethostname(), socket.gethostname().split(".")[0], getpass.getuser()}
    found = [name for name in sorted(names) if len(name) > 3 and name.lower() not in COMMON]
    return [*found, f"{home}/", *(f"{place}/" for place in places if str(place) not in ("/", home))]


def telling(files: dict[str, bytes], wanted: list[str]) -> list[str]:
    pattern = re.compile(b"|".join(re.escape(os.fsencode(text)) for text in wanted))
    return [
        f"{path}: {found[0]!r}" for path, data in files.items() if (found := pattern.search(data))
    ]


def test_the_site_names_no_host_no_user_and_no_path_of_its_build(built: Path):
    wanted = [*identities(PROJECT, built, built.parent), *REGISTRIES]

    assert telling(tree(built / "site"), wanted) == []


def test_no_tracked_file_names_this_machine_or_a_package_registry():
    if not (PROJECT / ".git").exists():
        pytest.skip("not a clone")
    listed = subprocess.run(
        ["git", "ls-files", "-z"], cwd=PROJECT, capture_output=True, check=True
    ).stdout
    files = {
        name: (PROJECT / name).read_bytes()
        for name in os.fsdecode(listed).split("\0")
        if name and (PROJECT / name).is_file()
    }

    assert telling(files, [*identities(PROJECT), *REGISTRIES]) == []


def test_the_site_holds_no_absolute_link_and_no_style_attribute(built: Path):
    wrong = []
    for page in (built / "site").rglob("*.html"):
        text = page.read_text(encoding="utf-8")
        wrong += [
            f"{page.name}: {found}"
            for found in re.findall(
                r"""(?:src|href)="(?:/|http:|file:)[^"]*"|<[^>]* style=""", text
            )
        ]
    assert wrong == []


def test_the_picture_of_the_readme_is_there_and_small():
    readme = (PROJECT / "README.md").read_text("utf-8")
    (pictured,) = re.findall(r"!\[[^\]]{40,}\]\(([^)]+)\)", readme)

    with Image.open(PROJECT / pictured) as picture:
        assert (picture.format, picture.size) == ("PNG", (1280, 800))
    assert (PROJECT / pictured).stat().st_size <= 200_000


def test_what_opens_a_browser_is_marked_so(request: pytest.FixtureRequest):
    for item in request.session.items:
        assert opens_a_browser(item) == (item.get_closest_marker("browser") is not None), (
            item.nodeid
        )
