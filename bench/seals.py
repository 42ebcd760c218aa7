"""What it costs to check a release, against the floor: to read and hash the same files.

A release of 50 MB is checked by `verify.py`, and one of 200 files by `verify.html` in Chromium,
folder and zip. Nothing is asserted: a shared machine is no place for it.
"""

import argparse
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from report.archive import verifier
from tests.archive.verifier.conftest import Reader
from tests.archive.verifier.releases import Key, small_release, write, write_release, zipped
from tests.conftest import opened_browser

HASH = (
    "import hashlib, pathlib, sys\n"
    "for path in pathlib.Path(sys.argv[1]).rglob('*'):\n"
    "    path.is_file() and hashlib.sha256(path.read_bytes()).digest()"
)


def main() -> None:
    """Make both releases, check each several times, and print the quickest."""
    parser = argparse.ArgumentParser(prog="bench/seals.py", description=__doc__)
    parser.add_argument("--rounds", type=int, default=3, help="default: 3")
    rounds = parser.parse_args().rounds
    with tempfile.TemporaryDirectory(prefix="assay-bench-") as folder:
        key = Key(Path(folder))
        large = made(Path(folder) / "large", key, files=5, size=10 << 20)
        many = made(Path(folder) / "many", key, files=200, size=200_000)
        checked = [sys.executable, "-I", "-S", ROOT / "report/archive/verify.py", large]
        hashed = [sys.executable, "-I", "-S", "-c", HASH]
        tell("50 MB: hashing alone", rounds, lambda: run([*hashed, large]))
        tell("50 MB: verify.py", rounds, lambda: run([*checked, "--key", key.fingerprint]))
        tell("200 files, 40 MB: hashing alone", rounds, lambda: run([*hashed, many]))
        page = write(Path(folder), {"verify.html": verifier.assemble(ROOT / "templates")})
        with opened_browser() as browser:
            reader = Reader(browser, page / "verify.html", key.fingerprint)
            for form, place in (("a folder", many), ("a zip", zipped(many))):
                tell(f"200 files, 40 MB: verify.html, {form}", rounds, seen(reader, place))


def made(place: Path, key: Key, *, files: int, size: int) -> Path:
    """A signed release with `files` files of noise in it, each of `size` bytes."""
    noise = {f"records/cpu/{n}.npy": random.Random(n).randbytes(size) for n in range(files)}
    release = write_release(place / "tiny-1", small_release() | noise)
    key.seal(release)
    return release


def run(command: list[str | Path]) -> None:
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)


def seen(reader: Reader, place: Path) -> Callable[[], None]:
    def check() -> None:
        if reader.verdict(place)["exit"]:
            sys.exit(f"The release of the bench does not hold: {reader.page.inner_text('main')}")

    return check


def tell(name: str, rounds: int, act: Callable[[], object]) -> None:
    def once() -> float:
        begin = time.perf_counter()
        act()
        return time.perf_counter() - begin

    print(f"{name:44}{min(once() for _ in range(rounds)):8.2f} s", flush=True)


if __name__ == "__main__":
    main()
