"""The programs of represented operands: one product, compiled ahead of time for one device."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from lab.kit.compiler_memory import memory_bytes
from lab.kit.faults import CompileRefused
from lab.kit.packing import pack
from lab.kit.representation import Represented

if TYPE_CHECKING:
    import jax

PRECISION = "HIGHEST"
"""Asked of every dot: a TPU would otherwise narrow float32 operands to bfloat16."""

MAX_MESSAGE = 2_000
"""Characters kept of a compiler's refusal."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """What one product gave."""

    output: NDArray[np.float32]
    accumulators: NDArray[Any] | None
    """What the sums held before they were rescaled, (groups, batch, outputs); None without scales,
    and where the program that also returns them gives another output."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Program:
    """A compiled product, and the same product that returns its accumulators as well."""

    product: Any
    with_accumulators: Any | None
    device: "jax.Device"
    stablehlo: str
    hlo: str
    memory_bytes: Mapping[str, int | None]

    def run(self, operands: Represented) -> Measured:
        import jax

        given = [
            None if each is None else jax.device_put(each, self.device)
            for each in arguments(operands)
        ]
        output = np.asarray(self.product(*given))
        if self.with_accumulators is None:
            return Measured(output=output, accumulators=None)
        again, accumulators = map(np.asarray, self.with_accumulators(*given))
        same = np.array_equal(output, again, equal_nan=True)
        return Measured(output=output, accumulators=accumulators if same else None)


def compile_product(operands: Represented, device: "jax.Device") -> Program:
    """Compile for operands of these shapes and types, or `CompileRefused` in XLA's own words."""
    import jax
    from jax.sharding import SingleDeviceSharding

    placed = SingleDeviceSharding(device)
    abstract: Any = jax.ShapeDtypeStruct
    shapes = [
        None if each is None else abstract(each.shape, each.dtype, sharding=placed)
        for each in arguments(operands)
    ]
    product, with_accumulators = programs(operands)
    try:
        lowered = jax.jit(product).lower(*shapes)
        compiled = lowered.compile()
        both = jax.jit(with_accumulators).lower(*shapes).compile() if operands.rescaled else None
    except Exception as problem:  # each backend raises its own kind
        raise CompileRefused(str(problem)[:MAX_MESSAGE]) from problem
    return Program(
        product=compiled,
        with_accumulators=both,
        device=device,
        stablehlo=lowered.as_text(),
        hlo=compiled.as_text() or "",
        memory_bytes=memory_bytes(compiled),
    )


def arguments(operands: Represented) -> tuple[NDArray[Any] | None, ...]:
    """What the program takes: codes as they are stored, scales, and kept features.

    Four-bit codes come packed, two to a byte. One group is no group.
    """
    x, w = operands.x, operands.w
    codes = [
        pack(each.codes) if each.number_format.bits == 4 else each.codes.reshape(shape)
        for each, shape in zip((x, w), code_shapes(operands), strict=True)
    ]
    if operands.groups > 1:
        scales = [None if x.scales is None else x.scales.transpose(1, 0, 2), w.scales]
    else:
        scales = [
            None if each is None else each.reshape(each.shape[0] * each.shape[1], each.shape[2])
            for each in (x.scales, w.scales)
        ]
    return (*codes, *scales, operands.x_kept, operands.w_kept)


def code_shapes(operands: Represented) -> tuple[tuple[int, ...], tuple[int, ...]]:
    x, w = operands.x.codes.shape, operands.w.codes.shape
    return (x, w) if operands.groups > 1 else ((x[0], x[2]), (w[1], w[2]))


def programs(operands: Represented) -> tuple[Any, Any]:
    """The product as a function of `arguments`, and one that also returns the sums it was made of.

    Sums are rescaled, then added over groups, then the kept features' product is added.
    """
    from jax import numpy as jnp

    packed = [each.number_format.bits == 4 for each in (operands.x, operands.w)]
    shapes = code_shapes(operands)
    accumulator = "int32" if operands.integer else "float32"

    def with_accumulators(*given: Any) -> tuple[Any, Any]:
        x, w, x_scales, w_scales, x_kept, w_kept = given
        codes = [
            unpacked(each, shape) if four_bits else each
            for each, shape, four_bits in zip((x, w), shapes, packed, strict=True)
        ]
        sums = dot(*codes, accumulator)
        result = sums.astype("float32")
        for scales in (x_scales, w_scales):
            if scales is not None:
                result = result * scales
        if result.ndim == 3:
            result = jnp.sum(result, axis=0)
        if x_kept is not None:
            result = result + dot(x_kept, w_kept, "float32")
        return result, sums if sums.ndim == 3 else sums[None]

    def product(*given: Any) -> Any:
        return with_accumulators(*given)[0]

    return product, with_accumulators


def unpacked(stored: Any, shape: tuple[int, ...]) -> Any:
    """Four-bit codes from bytes that hold two each, on the device."""
    from jax import numpy as jnp

    halves = jnp.stack([stored & 0xF, stored >> 4], axis=1).ravel()[: math.prod(shape)]
    return ((halves ^ 8).astype("int8") - 8).astype("int4").reshape(shape)


def dot(x: Any, w: Any, accumulator: str) -> Any:
    """Contract features: of (batch, features) and (features, outputs), or group by group."""
    from jax import lax

    grouped = x.ndim == 3
    return lax.dot_general(
        x,
        w,
        dimension_numbers=(((2,), (1,)), ((1,), (0,))) if grouped else (((1,), (0,)), ((), ())),
        precision=lax.Precision[PRECISION],
        preferred_element_type=accumulator,
    )
