"""The TPU generations a program can be compiled for without one, and how each is asked for."""

import importlib.metadata
import importlib.util
import re
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from lab.kit.faults import BackendMissing, UsageFault

INSTALL = ".venv/bin/pip install --require-hashes -r tpu.lock"
"""The one command that adds the TPU compiler."""

ENVIRONMENT: Mapping[str, str] = MappingProxyType(
    {
        "JAX_PLATFORMS": "cpu",  # nothing runs; a TPU beside us is left alone
        "TPU_SKIP_MDS_QUERY": "1",  # no metadata server to wait for
        "ALLOW_MULTIPLE_LIBTPU_LOAD": "1",  # or concurrent children fail on a lock file
        "TPU_STDERR_LOG_LEVEL": "3",
        "TPU_MIN_LOG_LEVEL": "3",
    }
)
"""What a process that loads the TPU compiler is given."""

SET_ASIDE = ("XLA_FLAGS", "LIBTPU_INIT_ARGS")
"""Flags from outside that would change what is compiled; children do not inherit them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Generation:
    """One TPU generation as the compiler names it."""

    name: str
    topology: str
    """The smallest topology that this compiler accepts: one host."""
    device_kind: str
    chips: int
    devices: int
    """JAX devices in `topology`. Two to a chip where each core is its own device."""


GENERATIONS: Mapping[str, Generation] = MappingProxyType(
    {
        each.name: each
        for each in (
            Generation(name="v2", topology="v2:2x2", device_kind="TPU v2", chips=4, devices=8),
            Generation(name="v3", topology="v3:2x2", device_kind="TPU v3", chips=4, devices=8),
            Generation(name="v4", topology="v4:2x2x1", device_kind="TPU v4", chips=4, devices=8),
            Generation(
                name="v5e", topology="v5e:2x2", device_kind="TPU v5 lite", chips=4, devices=4
            ),
            Generation(name="v5p", topology="v5p:2x2x1", device_kind="TPU v5", chips=4, devices=4),
            Generation(
                name="v6e", topology="v6e:2x2", device_kind="TPU v6 lite", chips=4, devices=4
            ),
            Generation(
                name="tpu7x", topology="tpu7x:2x2x1", device_kind="TPU7x", chips=4, devices=8
            ),
        )
    }
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """What to compile for: `cpu`, a generation, or a named slice of one such as `v5e:4x4`."""

    name: str
    generation: Generation | None
    """None for the CPU of this machine."""
    topology: str | None


def parse_target(text: str) -> Target:
    """Read a target's name, or refuse it with the names there are."""
    name = text.strip().lower()
    if name == "cpu":
        return Target(name=name, generation=None, topology=None)
    short, _, layout = name.partition(":")
    generation = GENERATIONS.get(short)
    if generation is None or (":" in name and not re.fullmatch(r"\d{1,4}(x\d{1,4}){1,2}", layout)):
        raise UsageFault(
            f"{text!r} is no target; name cpu, {', '.join(GENERATIONS)}, or a slice such as v5e:4x4"
        )
    return Target(
        name=name, generation=generation, topology=name if layout else generation.topology
    )


def require_compiler() -> dict[str, str]:
    """The installed TPU compiler and the version that jax pins; refuse when they differ."""
    pinned = _pinned()
    if importlib.util.find_spec("libtpu") is None:
        raise BackendMissing(
            "the TPU compiler is not installed. It is optional: about 140 MB to fetch and 660 MB "
            f"on disk, under Google Cloud's terms of service. To add it: {INSTALL}"
        )
    installed = importlib.metadata.version("libtpu")
    if not _matches(installed, pinned):
        raise BackendMissing(
            f"libtpu {installed} is installed, and this jax compiles with {pinned}; "
            f"another version may refuse or misprint programs. To replace it: {INSTALL}"
        )
    return {"installed": installed, "pinned": pinned}


def _pinned() -> str:
    """The libtpu version in jax's own requirements, such as `0.0.42.*`."""
    for requirement in importlib.metadata.requires("jax") or []:
        if found := re.match(r"libtpu\s*==\s*([\w.*]+)", requirement):
            return found[1]
    raise BackendMissing("this jax names no libtpu version to compile with")


def _matches(installed: str, pinned: str) -> bool:
    if pinned.endswith(".*"):
        return f"{installed}.".startswith(pinned[:-1])
    return installed == pinned
