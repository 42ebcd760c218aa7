"""The rebuild proof: a release's own sources, over its own records, must give the same bytes.

The code in source/ runs, so this is for a release whose signer is trusted. Changed code agrees
with what it printed, so the answer says where it is not the code that is here. It runs in a folder
of its own, as another process, with the libraries that are installed here; where those differ from
the ones that release.json names, the refusal says so.
"""

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from report.archive.release import SIGNATURES, about, installed, opened
from report.archive.verify import Release
from report.archive.verify import folder as contents
from report.errors import Fault, SealBroken, raise_if_any

_ROOT = Path(__file__).resolve().parents[2]
_NAMED = 3
"""Files that are named when the code of a release is another."""
_DERIVED = ("MANIFEST.sha256", "ro-crate-metadata.json", "release.json")
"""What differs whenever anything else does."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rebuilt:
    """What came out the same, and whose code made it so."""

    files: int
    page: str
    """The report as one page, beside the folder; empty for none."""
    own: tuple[str, ...]
    """Files of the release's code that are not as they are here."""

    @property
    def told(self) -> str:
        """What the proof is worth: a release whose code was changed agrees with itself."""
        same = f"the same {self.files} files, byte for byte"
        same += f", and {self.page} beside it" if self.page else ""
        if not self.own:
            return f"{same}, by the same code as here."
        some = ", ".join(self.own[:_NAMED]) + (", …" if len(self.own) > _NAMED else "")
        count = f"{len(self.own)} {'file of it is' if len(self.own) == 1 else 'files of it are'}"
        return (
            f"{same}, by the code in the release; {count} not"
            f" as here ({some}). That its numbers follow from its records is shown by code that you"
            " know, not by its own."
        )


def rebuild(folder: Path) -> Rebuilt:
    """What came out the same, or `SealBroken` naming each file that did not.

    The report as one page is compared too where it lies beside the folder.
    """
    release = opened(folder)
    told = about(release)
    if not _says_its_builder(told):
        raise SealBroken(f"{folder}: release.json does not say what built it.")
    page = folder.absolute().with_name(f"{told['release']}.html")
    beside = {page.name: page.read_bytes()} if page.is_file() else {}
    with TemporaryDirectory(prefix="assay-rebuild-") as scratch:
        again = build_again(release, told, Path(scratch))
        new = Path(scratch, "out", page.name)
        page_again = {page.name: new.read_bytes()} if beside and new.is_file() else {}
    released = {path: release.read(path) for path in release.files if not _is_signature(path)}
    raise_if_any(
        SealBroken,
        f"{folder} does not come out the same:",
        compare(released, again) + compare(beside, page_again),
        hint="\n".join(differences(told["builder"])) or "The same libraries are installed here.",
    )
    return Rebuilt(files=len(again), page="".join(beside), own=tuple(foreign(release)))


def _says_its_builder(told: Mapping[str, Any]) -> bool:
    builder = told.get("builder")
    return (
        isinstance(builder, dict)
        and isinstance(builder.get("libraries"), dict)
        and isinstance(builder.get("python"), str)
        and isinstance(told.get("status_list", 0), dict | None)
    )


def foreign(release: Release) -> Iterator[str]:
    """Files of the code that builds which are not, byte for byte, the ones that are here.

    Any file beside build.py may take the place of a library, so all but the content are asked.
    """
    for path in sorted(release.listed):
        below = path.removeprefix("source/")
        if path.startswith("source/") and not path.startswith("source/content/"):
            here = _ROOT / below
            if not here.is_file() or here.read_bytes() != release.read(path):
                yield below


def build_again(release: Release, told: Mapping[str, Any], scratch: Path) -> dict[str, bytes]:
    """Every file that the release's own code makes from its own records, by path."""
    project = scratch / "source"
    for path in release.listed:
        top, _, below = path.partition("/")
        if top == "source":
            _put(project / below, release.read(path))
        elif top == "records" and "/" in below:
            _put(project / "lab/records" / below, release.read(path))
    command = [sys.executable, project / "build.py", "release", told["report"]]
    command += ["--out", scratch / "out", "--jobs", "1"]
    if told["status_list"]:
        known = {"schema": "assay/status/1", "releases": [], **told["status_list"]}
        _put(scratch / "status.json", json.dumps(known).encode())
        command += ["--status", scratch / "status.json"]
    done = subprocess.run(
        command, cwd=project, capture_output=True, text=True, encoding="utf-8", check=False
    )
    if done.returncode:
        raise SealBroken(
            f"The sources of {told['release']} do not build: exit code {done.returncode}.",
            [Fault(where="", found=line) for line in done.stderr.splitlines()[-12:]],
            hint="\n".join(differences(told["builder"])),
        )
    made = Release()
    made.open(contents(os.fspath(scratch / "out" / told["release"])))
    return {path: made.read(path) for path in made.files}


def compare(released: Mapping[str, bytes], again: Mapping[str, bytes]) -> list[Fault]:
    """Each file that differs, with the first place where it does; causes before consequences."""
    faults = []
    for path in sorted(released.keys() | again.keys(), key=lambda path: (path in _DERIVED, path)):
        one, two = released.get(path), again.get(path)
        if one is None or two is None:
            found = "not in the release" if one is None else "not made again"
            faults.append(Fault(where=path, found=found))
        elif one != two:
            faults.append(Fault(where=path, found=_first_difference(one, two)))
    return faults


def differences(builder: Mapping[str, Any]) -> list[str]:
    """Where the libraries here are not the ones that the release was built with."""
    here = {name: installed(name) for name in builder["libraries"]}
    told = [
        f"{name} {pinned} built it; {here[name] or 'none'} is installed here."
        for name, pinned in builder["libraries"].items()
        if here[name] != pinned
    ]
    python = f"{sys.version_info[0]}.{sys.version_info[1]}"
    if python != builder["python"]:
        told.append(f"Python {builder['python']} built it; this is {python}.")
    return told


def _first_difference(one: bytes, two: bytes) -> str:
    at = next((i for i, (a, b) in enumerate(zip(one, two, strict=False)) if a != b), None)
    if at is None:
        return f"{len(one):,} bytes released, {len(two):,} made again"
    line = one.count(b"\n", 0, at) + 1
    return f"differs from byte {at:,} on, in line {line:,}"


def _put(place: Path, data: bytes) -> None:
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_bytes(data)


def _is_signature(path: str) -> bool:
    return path.startswith(f"{SIGNATURES}/")
