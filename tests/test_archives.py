"""What a reader takes away: an archive that is the same bytes each time, and works alone."""

import io
import os
import subprocess
import sys
import zipfile
from hashlib import sha256
from pathlib import Path

import pytest

from report.archive import verifier
from report.archive.bundle import ARTIFACTS, STAND_ALONE, WORKSPACE, pack
from report.errors import ContentFault
from report.pages.reference import ARCHIVES
from tests.conftest import tree


def members(archive: Path | bytes) -> list[zipfile.ZipInfo]:
    with zipfile.ZipFile(io.BytesIO(archive) if isinstance(archive, bytes) else archive) as opened:
        return opened.infolist()


def test_the_downloads_page_tells_of_the_archives_that_there_are():
    assert set(ARCHIVES) == {WORKSPACE, ARTIFACTS, STAND_ALONE, verifier.PLACE}


def test_an_archive_depends_on_its_files_alone():
    files = {"b/two.txt": b"2", "a.txt": b"1"}

    packed = pack(files)

    assert packed == pack(dict(reversed(files.items())))
    for member in members(packed):
        assert member.compress_type == zipfile.ZIP_STORED
        assert member.date_time == (1980, 1, 1, 0, 0, 0)
        assert member.create_system == 3
        assert member.external_attr >> 16 == 0o100644
        assert member.extra == b""
    assert [member.filename for member in members(packed)] == ["a.txt", "b/two.txt"]


@pytest.mark.parametrize(
    "name",
    ["../up", "/root", "a//b", "Loud.txt", "a b", "é", "a/../b", ".hidden", "a\\b", "con:", ""],
)
def test_a_name_that_would_not_unpack_everywhere_is_refused(name: str):
    with pytest.raises(ContentFault) as caught:
        pack({name: b"", "fine.txt": b""})

    assert [fault.where for fault in caught.value.faults] == [name]


@pytest.mark.parametrize("archive", [WORKSPACE, ARTIFACTS])
def test_an_archive_unpacks_into_one_folder_whose_manifest_holds(built: Path, tmp_path, archive):
    with zipfile.ZipFile(built / "site" / archive) as opened:
        opened.extractall(tmp_path)
    (folder,) = tmp_path.iterdir()

    checked = subprocess.run(
        ["sha256sum", "--check", "--strict", "--quiet", "manifest.sha256"], cwd=folder, check=False
    )

    assert checked.returncode == 0
    listed = (folder / "manifest.sha256").read_text("utf-8").splitlines()
    assert len(listed) == len(tree(folder)) - 1


@pytest.mark.parametrize("archive", [WORKSPACE, ARTIFACTS])
def test_the_downloads_page_prints_size_and_hash_of_the_file_on_disk(built: Path, archive):
    page = (built / "site/downloads.html").read_text("utf-8")
    file = (built / "site" / archive).read_bytes()

    entry = page.partition(f'href="{archive}"')[2].partition("</li>")[0]

    assert f"{len(file):,}\u00a0B" in entry
    assert f"<code>{sha256(file).hexdigest()}</code>" in entry


def test_the_artifacts_are_the_files_of_the_site(built: Path):
    site = tree(built / "site")
    with zipfile.ZipFile(built / "site" / ARTIFACTS) as opened:
        packed = {
            name.removeprefix("assay-artifacts/"): opened.read(name) for name in opened.namelist()
        }
    del packed["manifest.sha256"]

    assert packed.items() <= site.items()
    assert "figures/error-by-policy.png" in packed
    assert "records/precision-cpu/report.json" in packed


@pytest.mark.lab
def test_the_practice_workspace_measures_and_checks_alone(built: Path, tmp_path: Path):
    with zipfile.ZipFile(built / "site" / WORKSPACE) as opened:
        opened.extractall(tmp_path)
    workspace = tmp_path / "practice-workspace"
    alone = {**os.environ, "PYTHONPATH": "", "JAX_PLATFORMS": "cpu"}
    small = ["--batch", "2", "--features", "7", "--outputs", "3", "--steps", "1"]

    for command in (
        ["lab.check_precision"],
        ["lab.precision_profile", "--platform", "cpu", "--run-dir", "runs/mine", *small],
    ):
        done = subprocess.run(
            [sys.executable, "-m", *command],
            cwd=workspace,
            env=alone,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr

    assert (workspace / "runs/mine/report.json").is_file()
    copied = (workspace / "runs/mine/sources/lab/precision_profile.py").read_bytes()
    assert copied == (built / "lab/precision_profile.py").read_bytes()
