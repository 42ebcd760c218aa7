"""Compiles one program for one target and says what the compiler made of it. Nothing runs.

As a program of its own (`python -m lab.kit.lowering FD`) it answers requests, one JSON line
each, on an inherited pipe: a compiler may abort the process it works in, so it works in a child.
"""

import json
import os
import re
import sys
import time
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

from lab.kit import policies, program
from lab.kit.backend import CONFIG
from lab.kit.faults import LabFault
from lab.kit.targets import parse_target

MAX_MESSAGE = 4_000
"""Characters kept of a refusal."""

MEMORY = (
    ("argument", "argument_size_in_bytes"),
    ("output", "output_size_in_bytes"),
    ("temporary", "temp_size_in_bytes"),
    ("alias", "alias_size_in_bytes"),
    ("generated_code", "generated_code_size_in_bytes"),
    ("peak", "peak_memory_in_bytes"),
)

COST = (
    ("flop", "flops"),
    ("bytes_accessed", "bytes accessed"),
    ("transcendental", "transcendentals"),
)

SIZES = (
    re.compile(r"Used ([\d.]{1,20}[KMGT]?) of ([\d.]{1,20}[KMGT]?) hbm"),
    re.compile(r"\(([\d.]{1,20}[KMGT]?)\) exceeds available \w+ \(([\d.]{1,20}[KMGT]?)\)"),
)
"""How the TPU compiler says what a program needs and what there is."""


def answer(request: Mapping[str, Any]) -> dict[str, object]:
    """Compile what is asked for: a policy's product, or a program of the user's by reference."""
    if request.get("describe"):
        return described(request["reference"])
    started = time.perf_counter()
    try:
        lowered = lower(request)
    except LabFault as fault:
        return {"status": "not lowered", "message": str(fault), "error": fault.kind}
    except (Exception, SystemExit) as problem:  # the user's own code may raise anything
        return {"status": "not lowered", **_words(problem)}
    found: dict[str, object] = {
        "stablehlo": lowered.as_text(),
        "requested_hlo": lowered.as_text(dialect="hlo"),
        "lower_s": time.perf_counter() - started,
    }
    started = time.perf_counter()
    try:
        compiled = lowered.compile()
    except Exception as problem:  # each backend raises its own kind
        refused = _words(problem)
        return found | {
            "status": "refused",
            "compile_s": time.perf_counter() - started,
            **refused,
            "sizes": refused_sizes(refused["message"]),
        }
    return found | {
        "status": "compiled",
        "compile_s": time.perf_counter() - started,
        "hlo": compiled.as_text() or "",
        "memory_bytes": memory_bytes(compiled),
        "cost": cost(compiled),
    }


def described(reference: str) -> dict[str, object]:
    """What a program of the user's is, without compiling it."""
    try:
        found = program.load(reference)
        return {
            "status": "described",
            "takes_batch": found.takes_batch,
            "source_sha256": found.source_sha256,
        }
    except LabFault as fault:
        return {"status": "not lowered", "message": str(fault), "error": fault.kind}
    except (Exception, SystemExit) as problem:  # importing runs the user's own code
        return {"status": "not lowered", **_words(problem)}


def lower(request: Mapping[str, Any]) -> Any:
    """The program of a request, lowered for its target."""
    import jax

    target = parse_target(request["target"])
    devices = topology(target.topology) if target.topology else jax.local_devices()
    if reference := request.get("reference"):
        return program.load(reference).lower(devices, request.get("batch"))
    from jax.sharding import SingleDeviceSharding

    policy = policies.Policy(**request["policy"])
    placed = SingleDeviceSharding(devices[0])
    abstract: Any = jax.ShapeDtypeStruct
    given = [
        abstract(shape, dtype, sharding=placed)
        for shape, dtype in policies.arguments(policy, tuple(request["shape"]))
    ]
    return jax.jit(policies.product(policy)).lower(*given)


@cache
def topology(name: str) -> Sequence[Any]:
    """The devices of a TPU topology that is not here."""
    from jax.experimental import topologies

    found = topologies.get_topology_desc(platform="tpu", topology_name=name)
    return tuple(found.devices)


def memory_bytes(compiled: Any) -> dict[str, int | None] | None:
    """The compiler's own figures for one device, in bytes; None where it has none."""
    stats = compiled.memory_analysis()
    if stats is None:
        return None
    return {name: getattr(stats, attribute, None) for name, attribute in MEMORY}


def cost(compiled: Any) -> dict[str, float | None] | None:
    """The compiler's own counts; None where it reports none, or -1.

    It also guesses a time. That guess is the same for unlike programs and is left out.
    """
    try:
        found = compiled.cost_analysis()
    except Exception:  # some backends have no such analysis
        return None
    if isinstance(found, list):  # as older versions of JAX return it
        found = found[0] if found else None
    if not found:
        return None
    values = {name: found.get(key) for name, key in COST}
    return {
        name: float(value) if value is not None and 0 <= value < float("inf") else None
        for name, value in values.items()
    }


def refused_sizes(message: str) -> dict[str, dict[str, object]] | None:
    """What a refused program needs and what there is, as printed and in bytes; None if not said.

    The compiler prints two decimals, so the bytes are as exact as that.
    """
    for pattern in SIZES:
        if found := pattern.search(message):
            needed, available = found.groups()
            return {
                "needed": {"as_printed": needed, "bytes": _printed_bytes(needed)},
                "available": {"as_printed": available, "bytes": _printed_bytes(available)},
            }
    return None


def _printed_bytes(text: str) -> int | None:
    scale = {"K": 2**10, "M": 2**20, "G": 2**30, "T": 2**40}.get(text[-1], 1)
    try:
        return round(float(text.rstrip("KMGT")) * scale)
    except ValueError:
        return None


def _words(problem: BaseException) -> dict[str, Any]:
    """A refusal in the compiler's own words, cut where it is very long."""
    if isinstance(problem, SystemExit):
        text = f"the program ended Python itself, by sys.exit({problem.code!r})"
    else:
        text = str(problem) or f"{type(problem).__name__}, without a message"
    return {
        "error": type(problem).__name__,
        "message": text[:MAX_MESSAGE],
        "cut": len(text) > MAX_MESSAGE,
    }


def serve(answers: int) -> None:
    """Answer each request on standard input until it ends."""
    import jax

    for option, value in CONFIG.items():
        jax.config.update(option, value)  # type: ignore[no-untyped-call]
    with os.fdopen(answers, "w", encoding="utf-8") as out:
        for line in sys.stdin:
            out.write(f"{json.dumps(answer(json.loads(line)))}\n")
            out.flush()


if __name__ == "__main__":
    serve(int(sys.argv[1]))
