"""The release as a research object: RO-Crate 1.2 metadata, for catalogues.

Hand-written, since it is a page of JSON. It says nothing that release.json and the manifest do
not say, asks no clock, and names only profiles that it keeps to.
https://www.researchobject.org/ro-crate/specification/1.2/
"""

from collections.abc import Mapping
from hashlib import sha256
from typing import Any

NAME = "ro-crate-metadata.json"
_SPEC = "https://w3id.org/ro/crate/1.2"
_LICENSE = "https://spdx.org/licenses/Apache-2.0"
_KINDS = {
    "css": "text/css",
    "csv": "text/csv",
    "html": "text/html",
    "js": "text/javascript",
    "json": "application/json",
    "md": "text/markdown",
    "npy": "application/octet-stream",
    "png": "image/png",
    "py": "text/x-python",
    "svg": "image/svg+xml",
    "txt": "text/plain",
    "woff2": "font/woff2",
    "yaml": "application/yaml",
}


def describe(about: Mapping[str, Any], files: Mapping[str, bytes]) -> dict[str, Any]:
    """The metadata of a release: `about` is its release.json, `files` everything listed so far."""
    page = f"reports/{about['report']}.html"
    builder = about["builder"]
    root = {
        "@id": "./",
        "@type": "Dataset",
        "name": about["title"],
        "description": f"Decision report {about['number']}, {about['status']}, with its records,"
        f" data and sources. {about['scope']['statement']}",
        "datePublished": about["date"],
        "license": {"@id": _LICENSE},
        "identifier": about["release"],
        "mainEntity": {"@id": page},
        "hasPart": [{"@id": path} for path in sorted(files)],
        "mentions": [{"@id": "#build"}, *({"@id": f"#run-{name}"} for name in about["records"])],
    }
    build = {
        "@id": "#build",
        "@type": "CreateAction",
        "name": "The pages were built from the records",
        "instrument": {"@id": "#builder"},
        "object": [{"@id": f"records/{name}/report.json"} for name in about["records"]],
        "result": {"@id": page},
        "actionStatus": {"@id": "http://schema.org/CompletedActionStatus"},
    }
    software = {
        "@id": "#builder",
        "@type": "SoftwareApplication",
        "name": builder["name"],
        "softwareRequirements": [
            f"{name} {version}" for name, version in builder["libraries"].items() if version
        ],
        "version": builder["lock"][:12],
        "url": "source/build.py",
    }
    licence = {"@id": _LICENSE, "@type": "CreativeWork", "name": "Apache License 2.0"}
    descriptor = {
        "@id": NAME,
        "@type": "CreativeWork",
        "name": "The same facts for catalogues",
        "conformsTo": {"@id": _SPEC},
        "about": {"@id": "./"},
    }
    graph = [descriptor, root, licence, software, build]
    graph += [_run(name, files) for name in about["records"]]
    graph += [_file(path, data) for path, data in sorted(files.items())]
    return {"@context": f"{_SPEC}/context", "@graph": graph}


def _run(record: str, files: Mapping[str, bytes]) -> dict[str, Any]:
    sources = f"records/{record}/sources/"
    return {
        "@id": f"#run-{record}",
        "@type": "CreateAction",
        "name": f"The lab measured {record}",
        "instrument": [{"@id": path} for path in sorted(files) if path.startswith(sources)],
        "object": {"@id": f"records/{record}/config.json"},
        "result": [
            {"@id": f"records/{record}/report.json"},
            {"@id": f"records/{record}/environment.json"},
        ],
        "actionStatus": {"@id": "http://schema.org/CompletedActionStatus"},
    }


def _file(path: str, data: bytes) -> dict[str, Any]:
    kind = _KINDS.get(path.rsplit(".", 1)[-1], "application/octet-stream")
    return {
        "@id": path,
        "@type": "File",
        "name": path.rsplit("/", 1)[-1],
        "contentSize": str(len(data)),
        "encodingFormat": kind,
        "sha256": sha256(data).hexdigest(),
    }
