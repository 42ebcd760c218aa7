"""What goes into a release's source/: all that it takes to build the same again, and no more.

A file goes in for its ending, folder by folder, whether or not git knows it, so that a project
without git gives the same. What else lies there is left out and told, since it may be anybody's
note or key; a build that needs it does not come out the same, and `rebuild` says so. A link
would bring in what lies elsewhere, so it is refused. Hidden files, and what Python keeps, are
passed over.
"""

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from report.errors import ContentFault, Fault, raise_if_any
from report.inputs import hidden

_ROOT = Path(__file__).resolve().parents[2]
_FILES = ("build.py", "base.lock", "all.lock", "pyproject.toml", "LICENSE")
_FOLDERS = ("report", "templates", "lab")
_REFERENCE = ("chips", "formats", "models", "glossary")
"""Folders of content that every report may draw on."""
_ENDINGS = {
    "report": (".py", ".json"),
    "templates": (".html", ".css", ".js"),
    "templates/fonts": (".woff2", ".ttf", ".txt", ".md", ".py"),
    "lab": (".py", ".toml"),
    "content": (".yaml",),
    "content/lab": (".py", ".toml"),
}
"""How the names of those files end that belong in a folder, and in those below it."""
_RECORDS = "lab/records"
"""A release keeps its records in a place of their own."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sources:
    """Files by their path under source/, and what lay beside them and does not belong."""

    files: Mapping[str, Path]
    left_out: tuple[str, ...]


def gather(report: str, content: Path, root: Path = _ROOT) -> Sources:
    """The sources of `report`, which lies in `content`; every link among them is a fault."""
    places = {name: root / name for name in (*_FILES, *_FOLDERS)}
    for name in _REFERENCE:
        own = content / name
        places[f"content/{name}"] = own if own.is_dir() else root / "content" / name
    places["content/lab"] = content / "lab"
    places[f"content/reports/{report}.yaml"] = content / "reports" / f"{report}.yaml"
    found = [each for name, place in places.items() for each in _walk(name, place)]
    raise_if_any(
        ContentFault,
        "A release takes no symbolic links into its sources:",
        [
            Fault(where=str(place), found="a symbolic link", remedy="Put the file itself there.")
            for _, place in found
            if place.is_symlink()
        ],
    )
    taken = {name: place for name, place in found if name in places or _belongs(name, place)}
    left_out = tuple(sorted(str(place) for name, place in found if name not in taken))
    return Sources(files=taken, left_out=left_out)


def _walk(name: str, place: Path) -> Iterator[tuple[str, Path]]:
    """Every file and link at or below `place`, by its path under source/; no link is followed."""
    if place.is_symlink() or not place.is_dir():
        if os.path.lexists(place):
            yield name, place
    elif name != _RECORDS:
        for entry in sorted(place.iterdir()):
            if not hidden(entry.name):
                yield from _walk(f"{name}/{entry.name}", entry)


def _belongs(name: str, place: Path) -> bool:
    folder = max((each for each in _ENDINGS if name.startswith(f"{each}/")), key=len)
    return place.suffix in _ENDINGS[folder] and place.is_file()
