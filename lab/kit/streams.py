"""Streaming kernels: how fast bytes move when there is next to nothing to compute.

Copy, scale and triad are those of McCalpin's STREAM (https://www.cs.virginia.edu/stream/ref.html),
as JAX programs on FP32 arrays. Bytes are counted as STREAM counts them: each array that is read
once, the one that is written once. What a cache reads before it is written over is not counted.

The destination is an argument that the program may overwrite, so that no call has to find new
memory. Every array is an argument; the values are whole numbers, so that results are exact.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from lab.kit.faults import CheckFailed

if TYPE_CHECKING:
    import jax

ITEM = 4
"""Bytes of an FP32 element."""

FACTOR = 3

CHECKED_EVERY = 4099
"""Results are compared at every so many elements, a prime, and at both ends."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Kernel:
    """What is written, and from how many arrays."""

    name: str
    reads: int
    operations: tuple[str, ...]
    """What the compiled program must still do, by HLO's names; any one of them is enough."""

    def bytes_moved(self, array_bytes: int) -> int:
        return (self.reads + 1) * array_bytes


KERNELS = (
    Kernel(name="copy", reads=1, operations=("copy", "copy-start")),
    Kernel(name="scale", reads=1, operations=("multiply",)),
    Kernel(name="triad", reads=2, operations=("add",)),
)


def function(kernel: Kernel) -> Any:
    """The program: a ← b, a ← 3b or a ← b + 3c, where a is there to be written over."""
    import jax.numpy as jnp

    factor = np.float32(FACTOR)
    return {
        "copy": lambda _, b: jnp.copy(b),
        "scale": lambda _, b: factor * b,
        "triad": lambda _, b, c: b + factor * c,
    }[kernel.name]


def lower(kernel: Kernel, elements: int, device: "jax.Device") -> Any:
    """The kernel for arrays of this length, lowered for `device`."""
    import jax
    from jax.sharding import SingleDeviceSharding

    array: Any = jax.ShapeDtypeStruct
    given = array((elements,), "float32", sharding=SingleDeviceSharding(device))
    jitted = jax.jit(function(kernel), donate_argnums=0, keep_unused=True)
    return jitted.lower(*[given] * (kernel.reads + 1))


class Arrays:
    """The three arrays of one length, on the device; kernels write the first one."""

    def __init__(self, elements: int, device: "jax.Device") -> None:
        import jax

        index = np.arange(elements, dtype=np.int32)
        self._sources = [((index + step) % 1021).astype(np.float32) for step in (1, 5)]
        """Whole numbers under 1,021, so that b + 3c is exact in FP32."""
        self.destination = jax.device_put(np.zeros(elements, np.float32), device)
        self._read = [jax.device_put(source, device) for source in self._sources]

    def run(self, kernel: Kernel, compiled: Any) -> None:
        """Run once and wait. The program takes the old destination and gives the new one."""
        written = compiled(self.destination, *self._read[: kernel.reads])
        self.destination = written.block_until_ready()

    def require_right(self, kernel: Kernel) -> None:
        """Refuse a destination that does not hold what the kernel has to write there."""
        b, c = self._sources
        expected: NDArray[np.float32] = {
            "copy": b,
            "scale": FACTOR * b,
            "triad": b + FACTOR * c,
        }[kernel.name]
        found = np.asarray(self.destination)
        places = np.unique([*range(0, found.size, CHECKED_EVERY), found.size - 1])
        wrong = places[found[places] != expected[places]]
        if wrong.size:
            raise CheckFailed(
                f"{kernel.name}: element {wrong[0]} is {found[wrong[0]]}, not {expected[wrong[0]]}"
            )
