"""The machine and the software a run was made with, without what would identify a person.

A field that is not known is null, and `<field>_reason` beside it says why.
"""

import ctypes
import importlib.metadata
import os
import platform
import re
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lab.kit.backend import CONFIG
from lab.kit.machine import Machine, told

if TYPE_CHECKING:
    import jax

SCHEMA = "assay/environment/1"

PACKAGES = ("jax", "jaxlib", "numpy", "ml_dtypes")

THREAD_SETTINGS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NPROC")

FLAGS = (
    "XLA_FLAGS",
    "LIBTPU_INIT_ARGS",
    "JAX_PLATFORMS",
    "JAX_ENABLE_X64",
    "JAX_DEFAULT_MATMUL_PRECISION",
    "JAX_NUMPY_DTYPE_PROMOTION",
    "JAX_DISABLE_JIT",
    "JAX_CPU_ENABLE_ASYNC_DISPATCH",
    "JAX_CPU_COLLECTIVES_IMPLEMENTATION",
    "JAX_NUM_CPU_DEVICES",
    "JAX_COMPILATION_CACHE_DIR",
    "XLA_PYTHON_CLIENT_PREALLOCATE",
    "XLA_PYTHON_CLIENT_MEM_FRACTION",
    "CUDA_VISIBLE_DEVICES",
    "TPU_VISIBLE_CHIPS",
)
"""Settings from outside that change what is compiled or run. No others are read."""

MAX_SETTING = 4_000
"""Characters kept of one setting."""

SECRET = re.compile(r"(?i)([\w-]*(?:token|secret|passw|credential|api_?key)[\w-]*)=[^\s,;]+")
"""An assignment inside a setting whose name says that its value is nobody else's business."""

BLAS_LIBRARIES = ("numpy.libs/*openblas*", "numpy/.dylibs/*openblas*")
"""Where NumPy's wheels keep it, beside NumPy."""

BLAS_THREADS = ("scipy_openblas_get_num_threads64_", "openblas_get_num_threads")


def flags() -> dict[str, str | None]:
    """The settings made outside, None where not set; read them before JAX starts."""
    return {name: _without_secrets(os.environ.get(name)) for name in FLAGS}


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

    machine = Machine()
    load_after = load_average()
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
        **told("device_memory", _device_memory(device)),
        "versions": versions(),
        "blas": blas(),
        "cpu": machine.processor(),
        "threads": machine.affinity()
        | {name: _without_secrets(os.environ.get(name)) for name in THREAD_SETTINGS},
        "limits": machine.limits(),
        "clock": machine.clock(),
        "virtual_machine": machine.virtual_machine(),
        "load_average": {
            "before": load_before,
            "after": load_after,
            "reason": None if load_after else "the system does not tell its load",
        },
        "flags": {**flags_outside, **CONFIG},
        "operating_system": {
            "system": platform.system(),
            # The numbers only: what follows them may name a build machine.
            "release": "".join(re.findall(r"^[\d.]+", platform.release())),
            "machine": platform.machine(),
        },
        "recorded_at": datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
    }


def versions() -> dict[str, object]:
    """Python's and each library's; libtpu, the TPU compiler, is optional."""
    try:
        libtpu, reason = importlib.metadata.version("libtpu"), None
    except importlib.metadata.PackageNotFoundError:
        libtpu, reason = None, "not installed"
    return {
        "python": platform.python_version(),
        **{name: importlib.metadata.version(name) for name in PACKAGES},
        **told("libtpu", (libtpu, reason)),
    }


def blas() -> dict[str, object]:
    """The library behind NumPy's own products, as NumPy was built with it, and its threads."""
    import numpy as np

    try:
        built: Any = np.show_config(mode="dicts")
        told_of = built["Build Dependencies"]["blas"]
        found = {key: str(value)[:MAX_SETTING] for key, value in told_of.items()}
    except (KeyError, TypeError, AttributeError):
        found = {}
    reason = None if found.get("name") else "this NumPy does not tell"
    place = Path(np.__file__).parents[1]
    return {
        **told("name", (found.get("name"), reason)),
        "version": found.get("version"),
        "configuration": found.get("openblas configuration"),
        **told("threads", _blas_threads(place)),
    }


def _blas_threads(place: Path) -> tuple[int | None, str | None]:
    """How many threads the OpenBLAS that NumPy has loaded would use."""
    for pattern in BLAS_LIBRARIES:
        for library in sorted(place.glob(pattern)):
            try:
                loaded = ctypes.CDLL(str(library))
            except OSError:
                continue
            for name in BLAS_THREADS:
                if hasattr(loaded, name):
                    return int(getattr(loaded, name)()), None
    return None, "the library is not one that tells"


def _device_memory(device: "jax.Device") -> tuple[dict[str, int] | None, str | None]:
    """The device's own memory counters, or None and why."""
    try:
        stats = device.memory_stats()
    except Exception as problem:  # each backend raises its own kind
        return None, f"the device does not report its memory: {problem}"
    if not stats:
        return None, f"the {device.platform} backend does not report its memory"
    return dict(stats), None


def _without_secrets(text: str | None) -> str | None:
    """A setting, cut where very long, with the values of secret assignments left out."""
    if text is None:
        return None
    return SECRET.sub(r"\1=<secret>", text[:MAX_SETTING])
