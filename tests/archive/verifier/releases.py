"""A small release, made and signed at test time with the reader's own tools."""

import hashlib
import json
import shutil
import subprocess
import zipfile
from collections.abc import Mapping
from pathlib import Path

AUTHOR = "assay/report/author/v1"
REVIEWER = "assay/report/reviewer/v1"
STATUS = "assay/report/status/v1"

PAGE = (
    "<!doctype html><title>Report</title>"
    '<p>The error is <a class="v measured" id="v-1" href="#">2.45\u00a0%</a> of the norm, and '
    '<span class="v" id="v-2">95\u00a0GiB</span> is what the chip holds, and a step lasts '
    '<span class="v" id="v-3">58.5\u00a0µs</span>: <span class="v" id="v-4">58,467</span> ns.</p>'
)

CLAIMS = [
    ("v-1", "cpu#/results/int8/error", "percent(2)", "2.45\u00a0%"),
    ("v-2", "chips#/v5p/hbm", "documented", "95\u00a0GiB"),
    ("v-3", "cpu#/results/int8/step_ns", "seconds(1)", "58.5\u00a0µs"),
    ("v-4", "cpu#/results/int8/step_ns", "integer", "58,467"),
]


def small_release() -> dict[str, bytes]:
    """Every file of a whole release but its list and its signatures."""

    def text(value: object) -> bytes:
        return json.dumps(value, ensure_ascii=False).encode()

    claims = [
        {"page": "index.html", "id": i, "pointer": p, "format": f, "text": t}
        for i, p, f, t in CLAIMS
    ]
    about = {"report": "tiny", "number": 1, "status": "FINAL", "status_list": None}
    target = {"metric": "cpu#/results/int8/error", "comparator": "<=", "threshold": 0.05}
    about |= {"result": "PASSED", "claims": [target | {"measured": 0.02452, "passed": True}]}
    return {
        "index.html": PAGE.encode(),
        "assets/assay.css": b"p { margin: 0 }\n",
        "claims.json": text({"schema": "assay/claims/1", "claims": claims, "statements": []}),
        "data/chips.json": text(
            {"schema": "assay/values/1", "values": {"/v5p/hbm": {"exact": "95", "unit": "GiB"}}}
        ),
        "records/cpu/report.json": text(
            {"results": {"int8": {"error": 0.02452, "step_ns": 58467}}}
        ),
        "release.json": text(
            {"schema": "assay/release/1", "release": "tiny-1", "date": "2026-11-30", **about}
        ),
    }


def listed(files: Mapping[str, bytes]) -> bytes:
    return "".join(
        f"{hashlib.sha256(data).hexdigest()}  {name}\n" for name, data in sorted(files.items())
    ).encode()


def write(folder: Path, files: Mapping[str, bytes]) -> Path:
    for name, data in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(data)
    return folder


def write_release(folder: Path, files: Mapping[str, bytes]) -> Path:
    """`files` and the list of them, unsigned."""
    return write(folder, {**files, "MANIFEST.sha256": listed(files)})


class Key:
    """A key pair of ssh-keygen's."""

    def __init__(self, folder: Path, kind: str = "ed25519") -> None:
        self.file = folder / f"key-{kind}"
        command = ["ssh-keygen", "-q", "-t", kind, "-N", "", "-C", "a test", "-f", self.file]
        subprocess.run(command, check=True)
        self.public = self.file.with_suffix(".pub").read_text().strip()
        told = subprocess.run(
            ["ssh-keygen", "-lf", self.file], check=True, capture_output=True, text=True
        )
        self.fingerprint = told.stdout.split()[1]

    def sign(self, message: bytes, namespace: str) -> bytes:
        command = ["ssh-keygen", "-q", "-Y", "sign", "-f", self.file, "-n", namespace]
        return subprocess.run(command, input=message, check=True, capture_output=True).stdout

    def seal(self, release: Path, role: str = "author") -> None:
        """Sign the list of a release for one role."""
        signature = self.sign((release / "MANIFEST.sha256").read_bytes(), f"assay/report/{role}/v1")
        write(release / "signatures", {f"{role}.sig": signature})


def zipped(folder: Path, method: int = zipfile.ZIP_STORED) -> Path:
    """The release as a zip beside it, under one top folder."""
    place = folder.with_suffix(".zip")
    with zipfile.ZipFile(place, "w", method) as archive:
        for path in sorted(folder.rglob("*")):
            if path.is_file():
                archive.write(path, Path("tiny-1") / path.relative_to(folder))
    return place


def copied(release: Path, to: Path) -> Path:
    return Path(shutil.copytree(release, to))
