"""Several processes that measure side by side, as one distributed run.

JAX's own runtime joins them (`jax.distributed`), with Gloo for collectives between CPUs. What
they tell one another goes through it: output digests through an all-gather, and each one's facts
through the key-value store of its coordination service. No disk is shared.

That runtime aborts a process in two cases, without naming anyone: when another one is missing at
the start, and when the coordinator, process 0, is gone. So process 0 calls the roll first, over
plain TCP on the address that JAX uses right after; and those connections stay open, so that
process 0 sees the others leave before it goes itself.
"""

import json
import os
import socket
import sys
import time
from collections.abc import Container, Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from typing import Any, NoReturn

import numpy as np

from lab.kit.faults import BackendMissing, UsageFault

MAX_PROCESSES = 1024
MAX_LINE = 4096
"""Bytes of one line of the roll call."""
STRANGER_S = 5.0
"""How long a connection may take to say who it is."""
LINGER_S = 10.0
"""How long process 0, when it failed, stays for others that may be about to say the same."""
MAX_FACTS = 2**20
"""Characters that one process may tell of itself."""
LOOPBACK = ("127.", "localhost:", "[::1]:")


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where one process stands among those of a run."""

    coordinator: str
    """HOST:PORT at which process 0 can be reached by all of them."""
    processes: int
    index: int
    timeout_s: int
    """How long to wait for the others, each time there is something to wait for."""

    @property
    def address(self) -> tuple[str, int]:
        host, _, port = self.coordinator.rpartition(":")
        return host.strip("[]"), int(port)

    @property
    def on_loopback(self) -> bool:
        return self.coordinator.startswith(LOOPBACK)


class Member:
    """This process, as one of those of a run."""

    def __init__(self, place: Place) -> None:
        self.place = place
        self._lines = ExitStack()
        self._others: list[socket.socket] = []
        """In process 0, a connection to each of the others that lasts as long as it does."""

    def call_the_roll(self, asked: str) -> None:
        """Return when every process is there and was asked for the same; else name who is not."""
        deadline = time.monotonic() + self.place.timeout_s
        if self.place.index == 0:
            answer = self._hear_all(asked, deadline)
        else:
            answer = self._report_to_first(asked, deadline)
        if answer.get("missing"):
            raise BackendMissing(_missing(answer["missing"], self.place))
        if answer.get("wrong"):
            raise UsageFault(str(answer["wrong"]))

    def _hear_all(self, asked: str, deadline: float) -> dict[str, Any]:
        """Process 0: wait for the others, tell them all how it came out, and return that too."""
        place, answer = self.place, dict[str, Any]()
        present: set[int] = set()
        with _listen(place) as listener:
            while len(present) < place.processes - 1 and not answer:
                listener.settimeout(max(deadline - time.monotonic(), 0.001))
                try:
                    caller, _ = listener.accept()
                except TimeoutError:
                    absent = [i for i in range(1, place.processes) if i not in present]
                    answer = {"missing": absent}
                    break
                told = _line_from(caller, min(deadline, time.monotonic() + STRANGER_S))
                index = told.get("process")
                if type(index) is not int or index < 1:  # a stranger on this port
                    caller.close()
                    continue
                if wrong := _wrong(place, asked, told, present):
                    answer = {"wrong": wrong}
                present.add(index)
                self._others.append(self._lines.enter_context(caller))
        # Nobody is told before the port is free, since JAX listens there next.
        for caller in self._others:
            with suppress(OSError):
                caller.sendall(_as_line(answer or {"go": True}))
        return answer

    def _report_to_first(self, asked: str, deadline: float) -> dict[str, Any]:
        """Any other process: find process 0, say who is there, and wait for its word."""
        place = self.place
        told = {"process": place.index, "processes": place.processes, "asked": asked}
        while (left_s := deadline - time.monotonic()) > 0:
            with suppress(OSError):
                first = socket.create_connection(place.address, timeout=left_s)
                with ExitStack() as line:
                    line.enter_context(first)
                    first.sendall(_as_line(told))
                    # Process 0 may have begun to wait later, so its word may come later too.
                    if answer := _line_from(first, deadline + place.timeout_s):
                        self._lines = line.pop_all()
                        return answer
            time.sleep(min(0.1, left_s))
        return {"missing": [0]}

    def join(self, platform: str) -> None:
        """Start JAX's runtime among the processes, before any device is looked for."""
        import jax

        place = self.place
        options: dict[str, str | bool] = {
            # A process that is lost later is named here, instead of taking the others with it.
            "jax_enable_recoverability": True,
            # The lab answers SIGTERM itself.
            "jax_enable_preemption_service": False,
        }
        if platform == "cpu":
            options["jax_cpu_collectives_implementation"] = "gloo"
        for option, value in options.items():
            jax.config.update(option, value)  # type: ignore[no-untyped-call]
        try:
            jax.distributed.initialize(
                place.coordinator,
                place.processes,
                place.index,
                cluster_detection_method="deactivate",
                initialization_timeout=place.timeout_s,
                coordinator_bind_address=place.coordinator if place.on_loopback else None,
            )
        except (RuntimeError, ValueError) as problem:
            raise BackendMissing(f"the processes could not be joined: {problem}") from None

    def describe(self, device: Any) -> dict[str, Any]:
        """This process among the others, and its devices, by their global numbers."""
        import jax

        return {
            "index": self.place.index,
            "processes": self.place.processes,
            "device": device.id,
            "local_devices": [each.id for each in jax.local_devices()],
            "global_devices": [each.id for each in jax.devices()],
        }

    def exchange_digests(self, digests: Mapping[str, str]) -> list[dict[str, str]]:
        """The SHA-256 digests of every process, by process: an all-gather over all devices."""
        from jax.experimental import multihost_utils

        self.tell("ready", {})
        self.hear("ready")
        rows = np.array([list(bytes.fromhex(digest)) for digest in digests.values()], np.uint8)
        try:
            gathered = np.asarray(multihost_utils.process_allgather(rows))
        except RuntimeError as problem:
            raise BackendMissing(f"the processes could not gather: {problem}") from None
        return [
            {name: bytes(row).hex() for name, row in zip(digests, process, strict=True)}
            for process in gathered
        ]

    def tell(self, topic: str, facts: Mapping[str, Any]) -> None:
        """Leave `facts` where every process finds them."""
        text = json.dumps(facts, sort_keys=True)
        if len(text) > MAX_FACTS:
            raise ValueError(f"{len(text):,} characters are too many to tell")
        _store().key_value_set(f"assay/{topic}/{self.place.index}", text)

    def hear(self, topic: str) -> list[dict[str, Any]]:
        """What every other process told, or a refusal that names each that did not in time."""
        place = self.place
        deadline = time.monotonic() + place.timeout_s
        others = [index for index in range(place.processes) if index != place.index]
        heard = {index: _wait_for(f"assay/{topic}/{index}", deadline) for index in others}
        if missing := [index for index, text in heard.items() if text is None]:
            raise BackendMissing(_missing(missing, place))
        return [json.loads(text) for text in heard.values() if text is not None]

    def leave(self, code: int) -> NoReturn:
        """End this process at once, process 0 after all the others: its files are on the disk."""
        sys.stdout.flush()
        sys.stderr.flush()
        deadline = time.monotonic() + (LINGER_S if code else self.place.timeout_s)
        with suppress(KeyboardInterrupt):
            for other in self._others:
                _line_from(other, deadline)  # nothing is said any more; it ends with its process
        os._exit(code)  # JAX's own way out asks a coordinator that may be gone, and then aborts


def _wrong(place: Place, asked: str, told: Mapping[str, Any], present: Container[int]) -> str:
    """What is wrong with how a process was started; empty when nothing is."""
    index, counted = told["process"], told.get("processes")
    if counted != place.processes:
        return f"process {index} counts {counted!r:.20} processes, process 0 {place.processes}"
    if index >= place.processes:
        return f"there is a process {index}, of {place.processes} counted from 0"
    if index in present:
        return f"two processes call themselves {index}"
    if told.get("asked") != asked:
        return f"process {index} was asked for another measurement than process 0"
    return ""


def _listen(place: Place) -> socket.socket:
    """A socket at the coordinator's port; on the loopback alone where that is its address."""
    host, port = place.address
    waiting = place.processes
    try:
        if place.on_loopback:
            family = socket.AF_INET6 if ":" in host else socket.AF_INET
            return socket.create_server((host, port), family=family, backlog=waiting)
        if socket.has_dualstack_ipv6():
            family = socket.AF_INET6
            return socket.create_server(
                ("", port), family=family, backlog=waiting, dualstack_ipv6=True
            )
        return socket.create_server(("", port), backlog=waiting)
    except OSError as problem:
        told = f"process 0 cannot listen on port {port}: {problem.strerror or problem}"
        raise UsageFault(told) from None


def _line_from(connection: socket.socket, deadline: float) -> dict[str, Any]:
    """One JSON object on a line; empty when none comes, or something else does."""
    data = b""
    try:
        while not data.endswith(b"\n") and len(data) < MAX_LINE:
            connection.settimeout(max(deadline - time.monotonic(), 0.001))
            if not (part := connection.recv(MAX_LINE)):
                break
            data += part
        found = json.loads(data)
    except (OSError, ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def _as_line(value: Mapping[str, object]) -> bytes:
    return f"{json.dumps(value)}\n".encode()


def _wait_for(key: str, deadline: float) -> str | None:
    """The text under `key`, or None at the deadline. In short waits, so that Ctrl-C is heard."""
    while True:
        left_s = deadline - time.monotonic()
        try:
            text: str = _store().blocking_key_value_get(key, max(int(min(left_s, 1) * 1000), 1))
        except RuntimeError:
            if left_s <= 0:
                return None
        else:
            return text


def _store() -> Any:
    """The key-value store of the coordination service, which JAX offers its own libraries."""
    from jax._src import distributed

    return distributed.global_state.client


def _missing(absent: Sequence[int], place: Place) -> str:
    noun = "process" if len(absent) == 1 else "processes"
    named = ", ".join(map(str, absent))
    return f"{noun} {named} of {place.processes} gave no sign within {place.timeout_s} s"
