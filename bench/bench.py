"""What a build costs: ratios to a bare interpreter start, and milliseconds per item.

Everything is measured here and now, interleaved, in a copy of the project, and printed.
Nothing is asserted: a shared machine is no place for it. Quote ratios, not milliseconds.
"""

import argparse
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from report.archive import records
from report.cache import Cache, NullCache
from report.content import load_content
from report.evidence import verify_all
from report.figures.gallery import draw
from report.folder import publish
from report.numbers.study import work_out
from report.pages.site import render_site
from report.tables import set_tables

PARTS = ("build.py", "report", "lab", "content", "templates", "base.lock", "all.lock", "tpu.lock")
LIBRARIES = ("altair", "jinja2", "markdown_it", "yaml", "pygments", "rich", "vl_convert", "jax")
BARE = "python -c pass"
UNUSUAL = {"PYTHONDONTWRITEBYTECODE", "PYTHONUNBUFFERED"}
"""Settings that would measure something else than a reader's machine does."""
FIGURES = ("figures, drawn anew", "figures, from the cache")

T = TypeVar("T")
Samples = dict[str, list[float]]
"""Milliseconds, by the name of what was measured."""


def main() -> None:
    """Measure in rounds, one of each in a round, so that a busy minute falls on all alike."""
    parser = argparse.ArgumentParser(prog="make bench", description=__doc__)
    parser.add_argument("--rounds", type=int, default=5, help="default: 5")
    rounds = parser.parse_args().rounds
    commands: Samples = {}
    stages: Samples = {}
    with tempfile.TemporaryDirectory(prefix="assay-bench-") as folder:
        house = copy_project(Path(folder) / "house")
        for number in range(rounds):
            print(f"round {number + 1} of {rounds}", file=sys.stderr, flush=True)
            time_commands(house, commands, number)
            time_stages(house, stages)
        tell_commands(commands)
        tell_stages(stages, house / "site")


def copy_project(to: Path) -> Path:
    """A copy that the bench may change; it runs in this very Python."""
    to.mkdir()
    for part in PARTS:
        if (ROOT / part).is_dir():
            ignored = shutil.ignore_patterns("__pycache__", ".*")
            shutil.copytree(ROOT / part, to / part, ignore=ignored)
        else:
            shutil.copy2(ROOT / part, to / part)
    return to


def time_commands(house: Path, samples: Samples, number: int) -> None:
    """Whole commands, each a process of its own."""

    ordinary = {name: text for name, text in os.environ.items() if name not in UNUSUAL}

    def measure(name: str, *command: str) -> None:
        begin = time.perf_counter()
        done = subprocess.run(
            [sys.executable, *command],
            cwd=house,
            env=ordinary,
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode:
            sys.exit(f"{name} could not be measured:\n{done.stderr}")
        samples.setdefault(name, []).append((time.perf_counter() - begin) * 1000)

    measure(BARE, "-c", "pass")
    for jobs in sorted({1, os.cpu_count() or 1}):
        for leftover in ("site", ".cache"):
            shutil.rmtree(house / leftover, ignore_errors=True)
        measure(f"cold build, --jobs {jobs}", "build.py", "--jobs", str(jobs))
    measure("nothing changed, all read again", "build.py")
    measure("nothing changed", "build.py")
    lesson = min((house / "content" / "lessons").glob("*.md"))
    text = lesson.read_text(encoding="utf-8")
    lesson.write_text(f"{text}\nRound {'i' * (number + 1)}.\n", encoding="utf-8")
    measure("one lesson's text changed", "build.py")
    lesson.write_text(text, encoding="utf-8")
    measure("the same, changed back", "build.py")
    measure("check, which keeps nothing", "build.py", "check")
    measure("build.py --help", "build.py", "--help")
    for library in LIBRARIES:
        measure(f"import {library}", "-c", f"import {library}")


def time_stages(house: Path, samples: Samples) -> None:
    """The stages of a build with a warm cache, in this process; imports are not in it."""

    def timed(name: str, call: Callable[[], T]) -> T:
        begin = time.perf_counter()
        result = call()
        samples.setdefault(name, []).append((time.perf_counter() - begin) * 1000)
        return result

    lab, cache = house / "lab", Cache(house / ".cache")
    read = timed("read and hash the records", lambda: records.load_all(lab / "records"))
    evidence = timed("verify them", lambda: verify_all(read, lab))
    content = timed("read the content", lambda: load_content(house / "content"))
    study = timed("work out the numbers", lambda: work_out(evidence, content))
    timed(FIGURES[0], lambda: draw(study, content, NullCache(), 1))
    figures = timed(FIGURES[1], lambda: draw(study, content, cache, 1))
    tables = timed("tables", lambda: set_tables(study, content))
    templates = house / "templates"
    site = timed(
        "pages",
        lambda: render_site(content, study, evidence, figures, tables, templates, cache),
    )
    timed("publish", lambda: publish(site, house / "staged", "bench"))


def tell_commands(samples: Samples) -> None:
    """Each command, and its ratio to a bare start of the interpreter."""
    bare = statistics.median(samples[BARE])
    print(f"{'milliseconds':34}{'median':>9}{'min':>9}{'max':>9}{'bare starts':>14}")
    for name, taken in samples.items():
        middle = statistics.median(taken)
        spread = "".join(f"{value:9.1f}" for value in (middle, min(taken), max(taken)))
        print(f"{name:34}{spread}{middle / bare:14.1f}")


def tell_stages(samples: Samples, site: Path) -> None:
    """Each stage of a warm build, in all and for each item."""
    pages = len(list(site.rglob("*.html")))
    charts = len(list(site.glob("figures/*.svg")))
    files = [file.stat().st_size for file in site.rglob("*") if file.is_file()]
    items = {"pages": ("page", pages)} | dict.fromkeys(FIGURES, ("chart", charts))
    print(f"\n{'in a warm build, milliseconds':34}{'median':>9}")
    for name, taken in samples.items():
        middle = statistics.median(taken)
        item, count = items.get(name, ("", 0))
        each = f"   {middle / count:.1f} a {item}" if count else ""
        print(f"{name:34}{middle:9.1f}{each}")
    print(f"\nSite: {pages} pages, {charts} charts, {len(files)} files, {sum(files) / 1e6:.1f} MB")


if __name__ == "__main__":
    main()
