"""Files as people leave them in a content folder: named, bounded, decoded, hashed.

Symbolic links, odd names, foreign files and undecodable bytes are faults. Hidden files
(an editor's, a system's) are passed over: content is written by hand, not evidence.
"""

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

from report.content.form import Form, entries
from report.content.strict import MAX_BYTES, read_yaml
from report.errors import Fault

_NAME = re.compile(r"[a-z0-9][a-z0-9._-]*")


@dataclass(frozen=True, slots=True, kw_only=True)
class Text:
    """One file: where faults place it, its name without ending, its text with LF, its digest."""

    path: str
    slug: str
    text: str
    sha256: str
    """Of the bytes on disk, whatever their line endings."""


def texts(folder: Path, ending: str, faults: list[Fault]) -> Iterator[Text]:
    """Every file of `folder`, in the order of its names; a folder that is not there is empty."""
    if not folder.is_dir():
        return
    for entry in sorted(os.scandir(folder), key=lambda found: found.name):
        path = f"{folder.parent.name}/{folder.name}/{entry.name}"
        if entry.name.startswith("."):
            continue
        if entry.is_symlink() or not entry.is_file():
            faults.append(Fault(where=path, found="not a plain file", expected=f"a {ending} file"))
        elif not _NAME.fullmatch(entry.name) or not entry.name.endswith(ending):
            expected = f"a name of a-z, 0-9, '.', '_' and '-' that ends in {ending}"
            faults.append(
                Fault(where=path, found="a name that has no place here", expected=expected)
            )
        else:
            text = _read(Path(entry.path), path, faults)
            if text is not None:
                yield Text(
                    path=path,
                    slug=entry.name.removesuffix(ending),
                    text=text.decode().replace("\r\n", "\n").replace("\r", "\n"),
                    sha256=sha256(text).hexdigest(),
                )


def forms(folder: Path, faults: list[Fault]) -> Iterator[tuple[Text, Form]]:
    """Every YAML file of `folder`, each one mapping, in the order of its names."""
    for text in texts(folder, ".yaml", faults):
        root = read_yaml(text.text, text.path, faults)
        if root is not None:
            yield text, Form(root, text.path, faults)


def lists(folder: Path, faults: list[Fault]) -> Iterator[tuple[Text, list[Form]]]:
    """Every YAML file of `folder`, each one list of mappings, in the order of its names."""
    for text in texts(folder, ".yaml", faults):
        root = read_yaml(text.text, text.path, faults)
        if root is not None:
            yield text, entries(root, text.path, faults)


def _read(file: Path, path: str, faults: list[Fault]) -> bytes | None:
    """The file's bytes, known to be UTF-8, or `None` with a fault."""
    with file.open("rb") as stream:
        content = stream.read(MAX_BYTES + 1)
    if len(content) > MAX_BYTES:
        faults.append(Fault(where=path, found="too large", expected=f"at most {MAX_BYTES:,} bytes"))
        return None
    if content.startswith(b"\xef\xbb\xbf"):
        remedy = "Save it as UTF-8 without a BOM."
        faults.append(Fault(where=f"{path}:1", found="a byte order mark (BOM)", remedy=remedy))
        return None
    try:
        content.decode()
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        found = f"the byte 0x{content[error.start]:02X}, which is not UTF-8"
        faults.append(Fault(where=f"{path}:{line}", found=found, remedy="Save it as UTF-8."))
        return None
    return content
