"""Start JAX on the platform that was asked for, or refuse. It never falls back."""

import importlib.util
import os
import re
import subprocess
import sys
from typing import TYPE_CHECKING

from lab.kit.faults import BackendMissing, UsageFault

if TYPE_CHECKING:
    import jax

PLATFORMS = ("cpu", "gpu", "tpu")

PLUGINS = {"cpu": ("cpu",), "gpu": ("cuda", "rocm"), "tpu": ("tpu",)}
"""What JAX calls each platform, in the order tried. `gpu` alone would demand both plugins."""

CONFIG: dict[str, bool | int] = {
    # On a CPU the hand-over between threads costs more than a small product, and is mostly noise.
    "jax_cpu_enable_async_dispatch": False,
    # A debugging switch in the environment would leave nothing to compile.
    "jax_disable_jit": False,
    # Programs name no source files and lines, so their text depends on the program alone.
    "jax_traceback_in_locations_limit": 0,
}
"""JAX options the lab sets, as recorded in environment.json."""


COMPLAINT = re.compile(r"^[EF]\d{4} [^\n\]]{1,200}\] ([^\n]{1,500})", re.MULTILINE)
"""A line in which XLA says what is wrong, without its time and process number."""


def start(platform: str) -> "jax.Device":
    """Return the first local device of `platform`, in a process that has not used JAX yet."""
    require_readable_flags()
    reasons = []
    os.environ["JAX_PLATFORMS"] = PLUGINS[platform][0]
    if importlib.util.find_spec("libtpu") is None:
        # Without the TPU runtime there is no metadata server worth waiting for.
        os.environ.setdefault("TPU_SKIP_MDS_QUERY", "1")

    import jax

    for option, value in CONFIG.items():
        jax.config.update(option, value)  # type: ignore[no-untyped-call]
    for plugin in PLUGINS[platform]:
        jax.config.update("jax_platforms", plugin)  # type: ignore[no-untyped-call]
        try:
            device = jax.local_devices()[0]
        except (RuntimeError, AssertionError, IndexError) as problem:
            reasons.append(f"{plugin}: {problem or 'no such device'}")
            continue
        if device.platform == platform:
            return device
        reasons.append(f"{plugin}: JAX started on {device.platform}")
    raise BackendMissing(f"no {platform} here, and no fallback ({'; '.join(reasons)})")


def require_readable_flags() -> None:
    """Refuse an XLA_FLAGS that XLA cannot read, for which it would abort this process.

    A child process on the CPU is asked, and only where the setting is there at all.
    """
    if not (flags := os.environ.get("XLA_FLAGS")):
        return
    asked = subprocess.run(
        [sys.executable, "-c", "import jax; jax.devices()"],
        env={**os.environ, "JAX_PLATFORMS": "cpu"},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        check=False,
    )
    complaints = COMPLAINT.findall(asked.stderr.decode("utf-8", "replace"))
    if asked.returncode and complaints:
        told = "; ".join(complaints[:3])
        raise UsageFault(f"XLA refused XLA_FLAGS, set outside to {flags[:500]!r}: {told}")
