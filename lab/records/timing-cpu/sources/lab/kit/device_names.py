"""Which chip a device type means, by its whole text.

A prefix would turn "TPU v5 lite" into v5p, whose peak is 2.3 times as high. The strings are
those of JAX's own table, https://github.com/jax-ml/jax/blob/main/jax/_src/tpu_info.py, and the
profiler's, which differ in case only. What is not listed stays unknown.
"""

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True, kw_only=True)
class Chip:
    """A TPU generation, and how many TensorCores one physical chip of it has."""

    name: str
    tensor_cores: int


_V2 = Chip(name="v2", tensor_cores=2)
_V3 = Chip(name="v3", tensor_cores=2)
_V4 = Chip(name="v4", tensor_cores=2)
_V4I = Chip(name="v4i", tensor_cores=1)
_V5E = Chip(name="v5e", tensor_cores=1)
_V5P = Chip(name="v5p", tensor_cores=2)
_V6E = Chip(name="v6e", tensor_cores=1)
_TPU7X = Chip(name="tpu7x", tensor_cores=2)

CHIPS = {
    "tpu v2": _V2,
    "tpu v3": _V3,
    "tpu v4": _V4,
    "tpu v4 lite": _V4I,
    "tpu v5 lite": _V5E,
    "tpu v5e": _V5E,
    "tpu v5": _V5P,
    "tpu v5p": _V5P,
    "tpu v6 lite": _V6E,
    "tpu v6e": _V6E,
    "tpu7": _TPU7X,
    "tpu7x": _TPU7X,
}


def chip_of(device_type: str | None) -> Chip | None:
    """The chip of a device type, matched whole and without regard to case."""
    return None if device_type is None else CHIPS.get(device_type.strip().lower())


def plane_shows(chip: Chip | None, has_megacore: str | None) -> Literal["chip", "core"] | None:
    """Whether one device plane is a whole chip, or one of its cores.

    v4 and v5p can run both cores as one, and say so in the plane's `has_megacore`.
    """
    if chip is None:
        return None
    if chip.tensor_cores == 1:
        return "chip"
    if chip.name in ("v4", "v5p"):
        return None if has_megacore is None else ("chip" if has_megacore == "1" else "core")
    return "core"
