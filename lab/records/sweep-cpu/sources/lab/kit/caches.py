"""The data caches of the processor this runs on, as the operating system tells them."""

from pathlib import Path

LINUX = Path("/sys/devices/system/cpu/cpu0/cache")
"""Where Linux lists the caches of the first core, one folder each."""

NOT_TOLD = "this system does not tell its caches"


def data_caches(folder: Path = LINUX) -> tuple[list[dict[str, int]] | None, str | None]:
    """Level, bytes and sharing cores of each data cache, the first level first; or why not."""
    found = []
    try:
        for index in sorted(folder.glob("index[0-9]*")):
            kind, level, size, cores = (
                (index / name).read_text().strip()
                for name in ("type", "level", "size", "shared_cpu_list")
            )
            if kind in {"Data", "Unified"}:
                found.append(
                    {"level": int(level), "bytes": _bytes(size), "cores": _count(cores)},
                )
    except (OSError, ValueError):
        return None, NOT_TOLD
    if not found:
        return None, NOT_TOLD
    return sorted(found, key=lambda each: (each["level"], each["bytes"])), None


def _bytes(text: str) -> int:
    """`1024K` or `32M` in bytes."""
    unit = {"K": 2**10, "M": 2**20, "G": 2**30}.get(text[-1:])
    return int(text[:-1]) * unit if unit else int(text)


def _count(text: str) -> int:
    """How many cores a list such as `0-3,8` names."""
    ranges = (part.partition("-") for part in text.split(","))
    return sum(int(last or first) - int(first) + 1 for first, _, last in ranges)
