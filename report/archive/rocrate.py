"""The release as a research object: RO-Crate 1.2 metadata, for catalogues.

Hand-written, since it is a page of JSON. It says nothing that release.json and the manifest do
not say, asks no clock, and names only profiles that it keeps to.
https://www.researchobject.org/ro-crate/specification/1.2/
"""

import json
import re
from collections.abc import Mapping
from hashlib import sha256
from typing import Any

NAME = "ro-crate-metadata.json"
_SPEC = "https://w3id.org/ro/crate/1.2"
_SPDX = "https://spdx.org/licenses/"
_OWN = {"@id": f"{_SPDX}Apache-2.0", "@type": "CreativeWork", "name": "Apache License 2.0"}
"""The licence of Assay's own code, which is no word on a report made with it."""
_FONTS = {
    "@id": f"{_SPDX}OFL-1.1",
    "@type": "CreativeWork",
    "name": "SIL Open Font License 1.1",
}
"""The licence of the typefaces, each with its text beside it."""
_RUNTIME = {"@id": f"{_SPDX}BSD-3-Clause", "@type": "CreativeWork", "name": "BSD 3-Clause License"}
"""The licence of the chart runtime: Vega, Vega-Lite and Vega-Embed, as vl-convert bundles them."""
_NONE = {
    "@id": "#no-license",
    "@type": "CreativeWork",
    "name": "No licence is claimed",
    "description": "The author of the report states no licence, so none is claimed here.",
}
_LICENSED = {
    r"(source/templates|assets)/fonts/.*\.(woff2|ttf)$": _FONTS,
    r"(source/templates|assets)/fonts/ofl-": None,
    r"assets/vega\.js$": _RUNTIME,
    r"source/(?!content/)|verify\.py$": _OWN,
}
"""Whose licence a file has, by the first pattern that its path begins with, if not the report's."""
_BUILDER = re.compile(r"source/(build\.py$|report/|templates/)")
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
    licence = _licence(about["license"])
    licences = (_OWN, _FONTS, _RUNTIME, licence)
    builder = about["builder"]
    root = {
        "@id": "./",
        "@type": "Dataset",
        "name": about["title"],
        "description": f"Decision report {about['number']}, {about['status']}, with its records,"
        f" data and sources. {about['scope']['statement']}",
        "datePublished": about["date"],
        "license": _reference(licence),
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
        "version": _version(files),
        "url": "source/build.py",
        "license": _reference(_OWN),
    }
    descriptor = {
        "@id": NAME,
        "@type": "CreativeWork",
        "name": "The same facts for catalogues",
        "conformsTo": {"@id": _SPEC},
        "about": {"@id": "./"},
    }
    graph = [descriptor, root, *{each["@id"]: each for each in licences}.values()]
    graph += [software, build]
    graph += [_run(name, files) for name in about["records"]]
    graph += [_file(path, data) for path, data in sorted(files.items())]
    return {"@context": f"{_SPEC}/context", "@graph": graph}


def _licence(stated: str | None) -> dict[str, Any]:
    """The report's own licence, as its author states it, or that none is stated."""
    if not stated:
        return _NONE
    place = stated if stated.startswith("https://") else f"{_SPDX}{stated}"
    known = {each["@id"]: each for each in (_OWN, _FONTS, _RUNTIME)}
    return known.get(place, {"@id": place, "@type": "CreativeWork", "name": stated})


def _reference(entity: Mapping[str, Any]) -> dict[str, Any]:
    return {"@id": entity["@id"]}


def _version(files: Mapping[str, bytes]) -> str:
    """A digest of the code that builds: of the lines that sha256sum gives for its files."""
    listed = (
        f"{sha256(data).hexdigest()}  {path}\n"
        for path, data in sorted(files.items())
        if _BUILDER.match(path)
    )
    return f"sha256:{sha256(''.join(listed).encode()).hexdigest()}"


def _run(record: str, files: Mapping[str, bytes]) -> dict[str, Any]:
    sources = f"records/{record}/sources/"
    lab = json.loads(files[f"records/{record}/report.json"])["lab"]
    return {
        "@id": f"#run-{record}",
        "@type": "CreateAction",
        "name": f"The lab {lab} wrote the record {record}",
        "instrument": [{"@id": path} for path in sorted(files) if path.startswith(sources)],
        "object": {"@id": f"records/{record}/config.json"},
        "result": [
            {"@id": f"records/{record}/report.json"},
            {"@id": f"records/{record}/environment.json"},
        ],
        "actionStatus": {"@id": "http://schema.org/CompletedActionStatus"},
    }


def _file(path: str, data: bytes) -> dict[str, Any]:
    licence = next((each for start, each in _LICENSED.items() if re.match(start, path)), None)
    kind = _KINDS.get(path.rsplit(".", 1)[-1], "application/octet-stream")
    return {
        "@id": path,
        "@type": "File",
        "name": path.rsplit("/", 1)[-1],
        "contentSize": str(len(data)),
        "encodingFormat": kind,
        "sha256": sha256(data).hexdigest(),
    } | ({"license": _reference(licence)} if licence else {})
