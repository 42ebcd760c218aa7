"""Manifests: the SHA-256 of each file beside its path, as `sha256sum --check` reads them."""

import hashlib
from collections.abc import Mapping

NAME = "manifest.sha256"


def manifest(files: Mapping[str, bytes]) -> bytes:
    """One line a file, `hash  path`, sorted by path, LF; a manifest does not list itself."""
    lines = [
        f"{hashlib.sha256(data).hexdigest()}  {path}\n"
        for path, data in sorted(files.items())
        if path != NAME
    ]
    return "".join(lines).encode()
