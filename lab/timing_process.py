"""One process of the timing lab: every program compiled twice, and all timed side by side.

The programs are those of the precision lab, so a time and an error belong to the same HLO.
The lab starts this module afresh for each process; it is of no use by hand.
"""

import base64
import hashlib
import io
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import numpy as np

from lab.kit import backend, environment, quantizers
from lab.kit.accuracy import compare, reference_product
from lab.kit.faults import CheckFailed
from lab.kit.fresh_process import serve
from lab.kit.interleaved import Call, draw_orders, take, warm_up
from lab.kit.precision_product import (
    KEPT_OUTPUT_BYTES,
    POLICIES,
    Operands,
    Problem,
    Program,
    compile_product,
    make_inputs,
    prepare,
    requested_types,
)
from lab.kit.scope import scope_of

if TYPE_CHECKING:
    import jax

CASE = "balanced"
TWINS = ("first", "second")
"""Two compilations of the same program. They differ in nothing but the order they came in."""
EMPTY, CLOCK = "empty-call", "clock"
COMPILED = "/jax/core/compile/backend_compile_duration"
"""What JAX calls the event of one compilation."""


def measure(asked: Mapping[str, Any], tell: Callable[[str], None]) -> dict[str, Any]:
    """Compile, warm up and take the samples; what the lab needs to know of it, as JSON."""
    flags, load_before = environment.flags(), environment.load_average()
    device = start(asked["platform"], asked["dispatch"])
    timer = describe_timer()
    problem = Problem(**{key: asked[key] for key in SHARED})
    quantizers.require_int32_room(problem.features)
    inputs = make_inputs(problem)[CASE]
    reference = reference_product(inputs.x, inputs.w)
    calls: dict[str, Call] = {}
    programs: dict[str, dict[str, Any]] = {}
    for policy in POLICIES:
        tell(f"compile {policy} twice")
        operands = prepare(inputs, policy)
        twins = {twin: compile_afresh(policy, operands, device) for twin in TWINS}
        outputs = {twin: np.asarray(program.run()) for twin, program in twins.items()}
        calls |= {f"{policy}-{twin}": program.finish for twin, program in twins.items()}
        programs[policy] = {
            "requested": requested_types(policy),
            "stored_bytes": operands.stored_bytes,
            "compiler_memory_bytes": twins["first"].memory_bytes,
            "stablehlo": {twin: program.stablehlo for twin, program in twins.items()},
            "hlo": {twin: program.hlo for twin, program in twins.items()},
            "output_sha256": {twin: sha256(array.tobytes()) for twin, array in outputs.items()},
            "output": as_npy(outputs["first"]),
            "shape": list(outputs["first"].shape),
            "dtype": str(outputs["first"].dtype),
            "accuracy": asdict(compare(outputs["first"], reference)),
        }
    calls |= floor_calls(device)
    orders = draw_orders(tuple(calls), asked["order_seed"], asked["process"])
    tell("warm up")
    watched = [f"{policy}-first" for policy in POLICIES]
    warm_calls, warm_trends = warm_up(calls, orders, watched)
    tell(f"take {asked['steps']:,} samples of each, after {warm_calls:,} warm calls")
    samples = take(calls, orders, asked["steps"])
    return {
        "scope": scope_of(device),
        "environment": environment.describe(
            requested=asked["platform"],
            device=device,
            flags_outside=flags,
            load_before=load_before,
        ),
        "inputs": {
            "sha256": inputs.sha256,
            "x_shape": list(inputs.x.shape),
            "w_shape": list(inputs.w.shape),
        },
        "programs": programs,
        "timer": timer,
        "orders": orders,
        "warm_up": {"calls": warm_calls, "trends": warm_trends},
        "samples_ns": samples,
    }


SHARED = ("batch", "features", "outputs", "seed")
"""What the product and the request have in common."""


def start(platform: str, dispatch: str) -> "jax.Device":
    """Start JAX with the dispatch that was asked for, and with no compiled program at hand."""
    # How calls are handed over is part of this lab's request; the other options stay the lab's.
    backend.CONFIG["jax_cpu_enable_async_dispatch"] = dispatch == "async"
    device = backend.start(platform)

    import jax

    # A second compilation that is read from a cache would be the first one again.
    jax.config.update("jax_enable_compilation_cache", False)  # type: ignore[no-untyped-call]
    return device


def compile_afresh(name: str, operands: Operands, device: "jax.Device") -> Program:
    """Compile, with operands of its own on the device; refuse an executable that was there."""
    import jax

    compilations: list[float] = []

    def count(event: str, duration: float, **_: object) -> None:
        if event == COMPILED:
            compilations.append(duration)

    jax.clear_caches()  # type: ignore[no-untyped-call]
    jax.monitoring.register_event_duration_secs_listener(count)
    try:
        program = compile_product(name, operands, device)
    finally:
        jax.monitoring.unregister_event_duration_listener(count)
    if len(compilations) != 1:
        raise CheckFailed(f"{name} was compiled {len(compilations)} times, not once, for its twin")
    return program


def floor_calls(device: "jax.Device") -> dict[str, Call]:
    """What a sample costs when there is next to nothing to compute: one call, and the clock."""
    import jax

    scalar = jax.device_put(np.float32(0), device)
    empty = jax.jit(lambda value: value).lower(scalar).compile()
    return {EMPTY: lambda: empty(scalar).block_until_ready(), CLOCK: lambda: None}


def describe_timer() -> dict[str, object]:
    """The clock that times, as the system describes it; one that can go back is refused."""
    clock = time.get_clock_info("perf_counter")
    if not clock.monotonic:
        raise CheckFailed(f"{clock.implementation} can go back, so it times nothing")
    return {"implementation": clock.implementation, "resolution_s": clock.resolution}


def as_npy(array: np.ndarray[Any, Any]) -> str | None:
    """The bytes of a .npy file as base64, or None for an array too large to keep."""
    if array.nbytes > KEPT_OUTPUT_BYTES:
        return None
    buffer = io.BytesIO()
    np.save(buffer, array, allow_pickle=False)
    return base64.b64encode(buffer.getvalue()).decode()


def sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


if __name__ == "__main__":
    sys.exit(serve(measure))
