"""What the operating system says of the machine: processor, cores, limits, clock.

What it does not say is None with a reason beside it, never a guess. Reads are small and
bounded: Linux tells in /proc and /sys, macOS by `sysctl`, and elsewhere little is known. Nothing
here names a host, a user or a control group.
"""

import math
import os
import platform
import re
import subprocess
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

MAX_BYTES = 64 * 2**10
"""Read of one file; the first processor of /proc/cpuinfo fits in it many times."""
MAX_TEXT = 200
"""Characters kept of a name."""
MAX_CORES = 4_096
UNLIMITED_BYTES = 2**60
"""From here on a memory limit stands for none: the kernel's largest number, less a page."""
CLOCK_READINGS = 10_000

ARITHMETIC_ISA = re.compile(
    r"avx\w*|amx\w*|fma|f16c|sse4_[12]|asimd\w*|sve\w*|sme2?|bf16|i8mm|fphp"
)
"""Instruction sets that arithmetic may depend on, as Linux names them."""

NARROW_ISA = {
    "x86": ("avx512_bf16", "avx512_vnni", "avx_vnni", "amx_tile", "amx_bf16", "amx_int8"),
    "arm": ("asimddp", "bf16", "i8mm", "sme"),
}
"""Those that multiply narrow types, each named whether it is there or not."""

ARM_ON_MACOS = {"DotProd": "asimddp", "BF16": "bf16", "I8MM": "i8mm", "SME": "sme"}
"""What `sysctl hw.optional.arm.FEAT_…` calls them."""

Answer = tuple[object, str | None]
"""A value, or None and why it is not known."""


def sysctl(name: str) -> str | None:
    """One of macOS's own facts as text; None where there is no such tool or fact."""
    try:
        done = subprocess.run(["sysctl", "-n", name], capture_output=True, timeout=5, check=True)
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout[:MAX_BYTES].decode("utf-8", "replace").strip() or None


@dataclass(frozen=True, slots=True, kw_only=True)
class Machine:
    """Where a system tells of itself."""

    root: Path = Path("/")
    """Below which /proc and /sys are looked for."""
    sysctl: Callable[[str], str | None] = sysctl
    system: str = platform.system()
    architecture: str = platform.machine()

    def processor(self) -> dict[str, object]:
        """Model, instruction sets, cores and frequency governor."""
        isa, isa_reason = self._isa()
        model = self._cpuinfo().get("model name") or self._fact("machdep.cpu.brand_string")
        return {
            "model": (model or platform.processor() or self.architecture)[:MAX_TEXT],
            "isa": isa,
            "narrow_isa": None if isa is None else {each: each in isa for each in self._narrow()},
            "isa_reason": isa_reason,
            "logical_cores": os.cpu_count(),
            **told("physical_cores", self._physical_cores()),
            **told("governor", self._governor()),
        }

    def affinity(self) -> dict[str, object]:
        """The cores this process may run on: how many, and which, as `0-3,8`."""
        try:
            cores = sorted(os.sched_getaffinity(0))
        except (AttributeError, OSError):
            reason = f"{self.system or 'this system'} does not tell on which cores a process runs"
            return {"usable_cores": None, **told("affinity", (None, reason))}
        return {"usable_cores": len(cores), **told("affinity", (ranges(cores), None))}

    def limits(self) -> dict[str, object]:
        """What the control group grants: processor time in cores, memory in bytes."""
        groups = dict(self._control_groups())
        if not groups:
            reason = "no control group is told of here"
            return {**told("cpu_cores", (None, reason)), **told("memory_bytes", (None, reason))}
        return {
            **told("cpu_cores", _smallest(self._cpu_limits(groups))),
            **told("memory_bytes", _smallest(self._memory_limits(groups))),
        }

    def clock(self) -> dict[str, object]:
        """What times are read from, the resolution it claims and the tick that was seen, in s."""
        info = time.get_clock_info("perf_counter")
        source = self._read("sys/devices/system/clocksource/clocksource0/current_clocksource")
        reason = None if source else "the system does not name its clock source"
        return {
            **told("source", (source, reason)),
            "read_by": info.implementation,
            "resolution_s": info.resolution,
            "tick_s": tick_ns() / 1e9,
        }

    def virtual_machine(self) -> dict[str, object]:
        """Whether a hypervisor runs below, and its maker where it is told."""
        flags = self._cpuinfo().get("flags")
        maker = self._read("sys/hypervisor/type")
        present: bool | None = True if maker else None
        if flags is not None:
            present = present or "hypervisor" in flags.split()
        elif (fact := self._fact("kern.hv_vmm_present")) is not None:
            present = fact == "1"
        if present:
            maker = maker or self._read("sys/class/dmi/id/sys_vendor")
            maker = maker[:MAX_TEXT] if maker else None
        reason = "the processor does not tell" if present is None else None
        unnamed = None if maker else "not told" if present else "there is none that tells"
        return {**told("present", (present, reason)), **told("maker", (maker, unnamed))}

    def _read(self, name: str) -> str | None:
        """The beginning of a small text file; None if it is not there or empty."""
        try:
            with (self.root / name).open("rb") as file:
                return file.read(MAX_BYTES).decode("utf-8", "replace").strip() or None
        except OSError:
            return None

    def _fact(self, name: str) -> str | None:
        return self.sysctl(name) if self.system == "Darwin" else None

    def _cpuinfo(self) -> dict[str, str]:
        """Fields of the first processor in /proc/cpuinfo."""
        fields: dict[str, str] = {}
        for line in (self._read("proc/cpuinfo") or "").splitlines():
            key, _, value = line.partition(":")
            fields.setdefault(key.strip(), value.strip())
        return fields

    def _isa(self) -> tuple[list[str] | None, str | None]:
        fields = self._cpuinfo()
        names = fields.get("flags", fields.get("Features", "")).split()
        if self.system == "Darwin":
            intel = f"{self._fact('machdep.cpu.features') or ''} " + (
                self._fact("machdep.cpu.leaf7_features") or ""
            )
            names = intel.lower().replace("sse4.", "sse4_").split()
            for feature, name in ARM_ON_MACOS.items():
                if self._fact(f"hw.optional.arm.FEAT_{feature}") == "1":
                    names.append(name)
        if not names:
            return None, "the system does not tell the processor's instruction sets"
        return sorted({name for name in names if ARITHMETIC_ISA.fullmatch(name)}), None

    def _narrow(self) -> tuple[str, ...]:
        arm = self.architecture.lower().startswith(("arm", "aarch"))
        return NARROW_ISA["arm" if arm else "x86"]

    def _physical_cores(self) -> Answer:
        """Groups of logical cores that share one core."""
        folder = "sys/devices/system/cpu"
        siblings = {
            self._read(f"{folder}/cpu{core}/topology/thread_siblings_list")
            for core in range(min(os.cpu_count() or 0, MAX_CORES))
        } - {None}
        if siblings:
            return len(siblings), None
        if (fact := self._fact("hw.physicalcpu")) and fact.isdecimal():
            return int(fact), None
        return None, "the system does not tell which logical cores share one core"

    def _governor(self) -> Answer:
        """The policy that sets the frequency of the cores; several, if they differ."""
        folder = "sys/devices/system/cpu"
        found = {
            governor[:MAX_TEXT]
            for core in range(min(os.cpu_count() or 0, MAX_CORES))
            if (governor := self._read(f"{folder}/cpu{core}/cpufreq/scaling_governor"))
        }
        if found:
            return ", ".join(sorted(found)), None
        return None, "the system tells of no frequency governor"

    def _control_groups(self) -> Iterator[tuple[str, tuple[str, ...]]]:
        """For `cpu`, `memory` (version 1) and `` (version 2), folders from this group upwards."""
        mount = "sys/fs/cgroup"
        for line in (self._read("proc/self/cgroup") or "").splitlines():
            _, _, rest = line.partition(":")
            controllers, _, path = rest.partition(":")
            steps = [step for step in path.split("/") if step]
            if ".." in steps:  # outside of what this process is shown
                steps = []
            for controller in controllers.split(","):
                if controller in ("cpu", "memory", ""):
                    base = f"{mount}/{controller}" if controller else mount
                    yield (
                        controller,
                        tuple(
                            "/".join((base, *steps[:depth])) for depth in range(len(steps), -1, -1)
                        ),
                    )

    def _cpu_limits(self, groups: dict[str, tuple[str, ...]]) -> Iterator[float | None]:
        for folder in groups.get("cpu", ()):
            quota = self._read(f"{folder}/cpu.cfs_quota_us")
            yield _cores(quota, self._read(f"{folder}/cpu.cfs_period_us"))
        for folder in groups.get("", ()):
            quota, _, period = (self._read(f"{folder}/cpu.max") or "").partition(" ")
            yield _cores(quota, period)

    def _memory_limits(self, groups: dict[str, tuple[str, ...]]) -> Iterator[float | None]:
        for folder in groups.get("memory", ()):
            yield _bytes(self._read(f"{folder}/memory.limit_in_bytes"))
        for folder in groups.get("", ()):
            yield _bytes(self._read(f"{folder}/memory.max"))


def told(name: str, answer: Answer) -> dict[str, object]:
    """A value and, beside it, why it is not known; None where it is."""
    value, reason = answer
    return {name: value, f"{name}_reason": reason}


def ranges(numbers: Iterable[int]) -> str:
    """Whole numbers in ascending order, runs drawn together: 0-3,8."""
    runs: list[list[int]] = []
    for number in numbers:
        if runs and number == runs[-1][1] + 1:
            runs[-1][1] = number
        else:
            runs.append([number, number])
    return ",".join(str(low) if low == high else f"{low}-{high}" for low, high in runs)


def tick_ns() -> int:
    """The nanoseconds of which every advance of the clock seen here was a multiple."""
    readings = [time.perf_counter_ns() for _ in range(CLOCK_READINGS)]
    return math.gcd(*(after - before for before, after in pairwise(readings)))


def _smallest(limits: Iterable[float | None]) -> Answer:
    """A group lies within those above it, so that the smallest limit holds."""
    found = [limit for limit in limits if limit is not None]
    if not found:
        return None, "no limit can be read"
    smallest = min(found)
    return (None, "no limit is set") if smallest == math.inf else (smallest, None)


def _cores(quota: str | None, period: str | None) -> float | None:
    """Processor time a period, as a number of cores; infinite without a limit."""
    if quota in ("max", "-1"):
        return math.inf
    if quota and period and quota.isdecimal() and period.isdecimal() and int(period):
        return int(quota) / int(period)
    return None


def _bytes(text: str | None) -> float | None:
    """A limit in bytes; infinite where there is none."""
    if text == "max":
        return math.inf
    if text and text.isdecimal() and len(text) < 20:
        return int(text) if int(text) < UNLIMITED_BYTES else math.inf
    return None
