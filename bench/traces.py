"""What it costs to read a profile: MB per second and peak memory, against the floor.

Two profiles are made in a scratch folder: an XSpace of about 100 MB, and a trace of a million
events as JSON. Each reading is a process of its own. The floor of an XSpace is `ProfileData`
walking every event and keeping none; the rival for JSON is `json.load`, which keeps them all.
Nothing is asserted: a shared machine is no place for it.
"""

import argparse
import json
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]

DEVICES = 4
NAMES = 200

FLOOR = """
import warnings
warnings.simplefilter("ignore")
from jax.profiler import ProfileData
total = 0.0
for plane in ProfileData.from_file(sys.argv[1]).planes:
    for line in plane.lines:
        for event in line.events:
            total += event.duration_ns
"""
IMPORTS = "import jax.profiler"
PLAIN = "import json\nwith open(sys.argv[1]) as file: json.load(file)"
OURS = """
from pathlib import Path
from lab.trace import Asked, summary_of, write
summary = summary_of(Path(sys.argv[1]), Asked())
out = Path(sys.argv[1] + ".summary")
out.unlink(missing_ok=True)
write(out, summary)
"""
PEAK = """
import resource
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024)
"""


def main() -> None:
    """Make both profiles, read each in every way, and print one line for each."""
    parser = argparse.ArgumentParser(prog="bench/traces.py", description=__doc__)
    parser.add_argument("--megabytes", type=int, default=100, help="of the XSpace; default: 100")
    parser.add_argument("--events", type=int, default=1_000_000, help="of the JSON; a million")
    request = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="assay-bench-") as folder:
        space, trace = Path(folder) / "made.xplane.pb", Path(folder) / "made.trace.json"
        count = make_space(space, request.megabytes * 10**6)
        make_trace(trace, request.events)
        print(f"{'':34}{'seconds':>9}{'MB/s':>8}{'peak MB':>9}")
        tell(f"XSpace, {count:,} events", space)
        measure("  JAX imported, nothing read", IMPORTS, space)
        measure("  ProfileData alone, the floor", FLOOR, space)
        measure("  our summary", OURS, space)
        tell(f"JSON, {request.events:,} events", trace)
        measure("  json.load", PLAIN, trace)
        measure("  our summary", OURS, trace)


def tell(name: str, path: Path) -> None:
    print(f"{name} in {path.stat().st_size / 1e6:.0f} MB")


def measure(name: str, code: str, path: Path) -> None:
    begin = time.perf_counter()
    done = subprocess.run(
        [sys.executable, "-c", f"import sys\n{code}\n{PEAK}", str(path)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    seconds = time.perf_counter() - begin
    if done.returncode:
        sys.exit(f"{name.strip()} failed:\n{done.stderr}")
    peak = int(done.stdout.split()[-1]) / 1e6
    rate = path.stat().st_size / 1e6 / seconds
    print(f"{name:34}{seconds:>9.2f}{rate:>8.1f}{peak:>9.0f}", flush=True)


def make_space(path: Path, size: int) -> int:
    """Write an XSpace of some devices, each with modules and nested operations; count its events.

    The fields are those of xplane.proto in openxla/xprof.
    """
    chance = random.Random(17)
    metadata = b"".join(
        field(4, number(1, each) + field(2, number(1, each) + field(2, name.encode())))
        for each, name in enumerate(["", *(f"%fusion.{n} = f32[8] fusion()" for n in range(NAMES))])
        if each
    )
    stats = b"".join(
        field(5, number(1, each) + field(2, number(1, each) + field(2, name)))
        for each, name in enumerate((b"", b"device_offset_ps", b"device_duration_ps"))
        if each
    )
    events = 0
    with path.open("wb") as file:
        for device in range(DEVICES):
            parts, length, clock = [], 0, 0
            while length < size // DEVICES:
                parent = chance.randrange(20_000_000, 60_000_000)
                for offset, duration in ((0, parent), (1_000_000, parent // 3)):
                    at = clock + offset
                    told = field(4, number(1, 1) + number(3, at))
                    told += field(4, number(1, 2) + number(3, duration))
                    name = number(1, chance.randrange(1, NAMES + 1))
                    parts.append(field(4, name + number(2, at) + number(3, duration) + told))
                    length += len(parts[-1])
                    events += 1
                clock += parent + chance.randrange(1, 5_000_000)
            line = field(3, number(1, 1) + field(2, b"XLA Ops") + b"".join(parts))
            head = number(1, device) + field(2, f"/device:TPU:{device}".encode())
            file.write(field(1, head + line + metadata + stats))
    return events


def make_trace(path: Path, count: int) -> None:
    """Write trace events of one thread, every second one within the one before it."""

    def events() -> Iterator[str]:
        chance = random.Random(17)
        clock = 1_000_000.0
        for at in range(count):
            inner = at % 2
            event = {
                "ph": "X",
                "pid": 1,
                "tid": 2,
                "ts": round(clock + inner, 3),
                "dur": 10.125 if inner else 30.5,
                "name": f"fusion.{chance.randrange(NAMES)}",
                "args": {"hlo_module": "jit_step", "run_id": str(at // 1000)},
            }
            clock += 40 * inner
            yield json.dumps(event)

    with path.open("w", encoding="utf-8") as file:
        file.write('{"displayTimeUnit":"ns","traceEvents":[\n')
        for at, text in enumerate(events()):
            file.write(f",\n{text}" if at else text)
        file.write("\n]}\n")


def number(field_number: int, value: int) -> bytes:
    """A field that holds a whole number."""
    return varint(field_number << 3) + varint(value)


def field(field_number: int, content: bytes) -> bytes:
    """A field that holds text, bytes or a message."""
    return varint(field_number << 3 | 2) + varint(len(content)) + content


def varint(value: int) -> bytes:
    found = bytearray()
    while value > 0x7F:
        found.append(value & 0x7F | 0x80)
        value >>= 7
    found.append(value)
    return bytes(found)


if __name__ == "__main__":
    main()
