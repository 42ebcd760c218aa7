"""What a build depends on, as one digest: files by path and content, and library versions.

A build asks this before anything else, unless a glance tells that nothing changed. So it takes
what Python has at hand and imports none of the libraries whose versions it tells.
"""

import os
import sys

PARTS = ("build.py", "report", "templates", "lab", "content", "base.lock", "all.lock", "tpu.lock")
"""What a site is made from; the records are in the lab, unless content of one's own has them."""

ROOT = os.path.dirname(os.path.dirname(os.path.realpath(__file__)))
_VERSIONS: list[str] = []
_KNOWN: dict[tuple[str, str, bool], str] = {}


def fingerprint(root: str, content: str, allow_stale: bool = False) -> str:
    """SHA-256, in hexadecimal, of everything that a build of `content` in project `root` reads.

    Worked out once in a process: what changes after that is for the next build to find.
    """
    asked = (root, content, allow_stale)
    if asked not in _KNOWN:
        _KNOWN[asked] = _digest(f"{versions(root)} {allow_stale}", places(root, content))
    return _KNOWN[asked]


def machinery(templates: str) -> str:
    """SHA-256 of what makes a site: this code, templates and library versions; no content."""
    return _digest(str(_installed()), [("report", f"{ROOT}/report"), ("templates", templates)])


def places(root: str, content: str) -> list[tuple[str, str]]:
    """Every file or folder that a build reads, with its label."""
    found = [(part, f"{root}/{part}") for part in PARTS]
    if os.path.realpath(content) != os.path.realpath(f"{root}/content"):
        found.append(("own", content))
    return found


def hidden(name: str) -> bool:
    """Whether a file or folder is no input: hidden ones, and what Python keeps."""
    return name.startswith(".") or name == "__pycache__"


def version(name: str) -> str:
    """The version of a library, from the folder name of its metadata where it is locked."""
    wanted = name.replace("-", "_").lower()
    for each in _installed()[1:]:
        found, _, number = each.removesuffix(".dist-info").partition("-")
        if found.lower() == wanted:
            return number
    from importlib import metadata  # noqa: PLC0415  as slow to import as ten of these folders

    return metadata.version(name)


def _installed() -> list[str]:
    if not _VERSIONS:
        _VERSIONS.extend(versions(ROOT))
    return _VERSIONS


def _digest(begin: str, found: list[tuple[str, str]]) -> str:
    from hashlib import sha256  # noqa: PLC0415  a glance does without

    digest = sha256(begin.encode())
    for label, place in found:
        for path in files_under(place):
            with open(place + path, "rb", buffering=0) as file:
                data = file.readall()
            name = f"{label}{path}".encode("utf-8", "surrogateescape")
            digest.update(b"\0%d %b %d\0" % (len(name), name, len(data)))
            digest.update(data)
    return digest.hexdigest()


def files_under(place: str, below: str = "") -> list[str]:
    """Paths of the files in folder `place`, sorted, each with its leading slash.

    A file is its own only path, "".
    """
    if not below and os.path.isfile(place):
        return [""]
    found = []
    with os.scandir(place + below) as entries:
        for entry in entries:
            if hidden(entry.name):
                continue
            path = f"{below}/{entry.name}"
            found += files_under(place, path) if entry.is_dir() else [path]
    return sorted(found)


def versions(root: str) -> list[str]:
    """The Python and the locked libraries that a build would use."""
    python = f"python{sys.version_info[0]}.{sys.version_info[1]}"
    places = sys.path
    if os.path.isdir(f"{root}/.venv/lib"):
        python = max(name for name in os.listdir(f"{root}/.venv/lib") if name[:6] == "python")
        places = [f"{root}/.venv/lib/{python}/site-packages"]
    with open(f"{root}/base.lock", encoding="utf-8") as lock:
        locked = {line.split("==")[0].replace("-", "_") for line in lock if "==" in line}
    folder = next((place for place in places if os.path.isdir(f"{place}/altair")), None)
    names = os.listdir(folder) if folder else []
    found = [n for n in names if n.endswith(".dist-info") and n.split("-")[0].lower() in locked]
    return [python, *sorted(found)]
