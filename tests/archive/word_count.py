"""A lab of someone's own, in plain Python: it counts words, and writes a run folder."""

import json
import sys
from hashlib import sha256
from pathlib import Path

REPORT = {
    "schema": "assay/word_count/1",
    "lab": "word_count",
    "request": {"repeats": 1000},
    "scope": {
        "platform": "cpu",
        "statement": "CPU word count. Not a TPU result.",
        "single_device": True,
    },
    "results": {
        "words": len(("the quick brown fox " * 1000).split()),
        "accuracy": 0.9375,
        "wall_s": 0.000125,
        "estimated": {"text_bytes": 20_000},
        "lap/one": [1, 2, 3],
    },
}
ENVIRONMENT = {
    "schema": "assay/environment/1",
    "recorded_at": "2026-11-30T01:02:03Z",
    "devices": {"used": {"platform": "cpu", "kind": "cpu"}},
    "redacted": [],
}


def write(folder: Path, environment: object = ENVIRONMENT, **changes: object) -> Path:
    """A run folder at `folder`; `changes` are fields of its report, and None takes one out."""
    report = {key: value for key, value in (REPORT | changes).items() if value is not None}
    config = {"schema": "assay/config/1", "lab": "word_count", "options": report.get("request", {})}
    files = {
        "config.json": text(config),
        "environment.json": text(environment),
        "report.json": text(report),
        "sources/lab/word_count.py": Path(__file__).read_bytes(),
    }
    listed = [f"{sha256(data).hexdigest()}  {name}\n" for name, data in sorted(files.items())]
    files["manifest.sha256"] = "".join(listed).encode()
    for name, data in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(data)
    return folder


def text(value: object) -> bytes:
    return (json.dumps(value, sort_keys=True, indent=1) + "\n").encode()


if __name__ == "__main__":
    write(Path(sys.argv[1]))
