"""The machine and the software a run was made with, without what would identify a person."""

import importlib.metadata
import os
import platform
import re
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from lab.kit.backend import CONFIG

if TYPE_CHECKING:
    import jax

SCHEMA = "assay/environment/1"

PACKAGES = ("jax", "jaxlib", "numpy", "ml_dtypes")

ARITHMETIC_ISA = re.compile(
    r"avx\w*|amx\w*|fma|f16c|sse4_[12]|asimd\w*|sve\w*|sme2?|bf16|i8mm|fphp"
)
"""Instruction sets that arithmetic may depend on, as Linux names them."""

THREAD_SETTINGS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")

FLAGS = ("XLA_FLAGS", "JAX_PLATFORMS", "LIBTPU_INIT_ARGS")


def flags() -> dict[str, str | None]:
    """The compiler and platform flags set outside; read them before JAX starts."""
    return {name: os.environ.get(name) for name in FLAGS}


def load_average() -> list[float] | None:
    """The mean number of runnable processes over 1, 5 and 15 minutes."""
    try:
        return list(os.getloadavg())
    except (AttributeError, OSError):
        return None


def describe(
    *,
    requested: str,
    device: "jax.Device",
    flags_outside: Mapping[str, str | None],
    load_before: Sequence[float] | None,
) -> dict[str, object]:
    """environment.json as it stands when a run ends, but for what was redacted."""
    import jax

    memory, memory_reason = _device_memory(device)
    return {
        "schema": SCHEMA,
        "platform": {"requested": requested, "actual": device.platform},
        "devices": {
            "count": jax.device_count(),
            "local_count": jax.local_device_count(),
            "process_count": jax.process_count(),
            "process_index": jax.process_index(),
            "used": {
                "id": device.id,
                "kind": device.device_kind,
                "platform": device.platform,
            },
            "kinds": sorted({each.device_kind for each in jax.devices()}),
        },
        "device_memory": memory,
        "device_memory_reason": memory_reason,
        "versions": {"python": platform.python_version()}
        | {name: importlib.metadata.version(name) for name in PACKAGES},
        "cpu": _cpu(),
        "threads": {
            "usable_cores": _usable_cores(),
            **{name: os.environ.get(name) for name in THREAD_SETTINGS},
        },
        "load_average": {"before": load_before, "after": load_average()},
        "flags": {**flags_outside, **CONFIG},
        "operating_system": {
            "system": platform.system(),
            # The numbers only: what follows them may name a build machine.
            "release": "".join(re.findall(r"^[\d.]+", platform.release())),
            "machine": platform.machine(),
        },
        "recorded_at": datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
    }


def _device_memory(device: "jax.Device") -> tuple[dict[str, int] | None, str | None]:
    """The device's own memory counters, or None and why."""
    try:
        stats = device.memory_stats()
    except Exception as problem:  # each backend raises its own kind
        return None, f"the device does not report its memory: {problem}"
    if not stats:
        return None, f"the {device.platform} backend does not report its memory"
    return dict(stats), None


def _cpu() -> dict[str, object]:
    """Model name, arithmetic instruction sets and logical cores."""
    fields: dict[str, str] = {}
    try:
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            key, _, value = line.partition(":")
            fields.setdefault(key.strip(), value.strip())
    except OSError:
        pass
    isa = fields.get("flags", fields.get("Features", "")).split()
    return {
        "model": fields.get("model name") or platform.processor() or platform.machine(),
        "isa": sorted(name for name in isa if ARITHMETIC_ISA.fullmatch(name)),
        "logical_cores": os.cpu_count(),
    }


def _usable_cores() -> int | None:
    """Cores this process may run on; None where the system does not say."""
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:
        return None
