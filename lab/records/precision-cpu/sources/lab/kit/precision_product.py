"""The precision lab's product in three formats: its inputs, its operands, its programs.

Other labs time it, or run it again, and must get the same programs to the byte.
"""

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from lab.kit import quantizers
from lab.kit.compiler_memory import memory_bytes
from lab.kit.faults import CompileRefused

if TYPE_CHECKING:
    import jax

SEED = 17
OUTLIER_FEATURE, OUTLIER_FACTOR = 0, 30.0
CASES = ("balanced", "outlier")
POLICIES = ("fp32", "bf16", "int8")
PRECISION = "HIGHEST"

MAX_DIMENSION, MAX_PRODUCT = 2048, 16_777_216
KEPT_OUTPUT_BYTES = 2**20
"""Outputs up to this size are kept, so that a reader can work out the errors again."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """The product Y = X·W: X is batch x features, W is features x outputs."""

    batch: int
    features: int
    outputs: int
    seed: int = SEED
    outlier_feature: int = OUTLIER_FEATURE
    outlier_factor: float = OUTLIER_FACTOR


@dataclass(frozen=True, slots=True, kw_only=True)
class Inputs:
    """The FP32 operands of one case."""

    x: NDArray[np.float32]
    w: NDArray[np.float32]

    @property
    def sha256(self) -> str:
        """Over the bytes of X, then those of W."""
        return hashlib.sha256(self.x.tobytes() + self.w.tobytes()).hexdigest()


@dataclass(frozen=True, slots=True, kw_only=True)
class Operands:
    """What a policy stores of X and W: values, and for INT8 their scales."""

    values: tuple[NDArray[Any], NDArray[Any]]
    scales: tuple[NDArray[np.float32], ...] = ()
    quantization: Mapping[str, object] | None = None

    @property
    def stored_bytes(self) -> dict[str, int]:
        x_values, w_values = (array.nbytes for array in self.values)
        x_scales, w_scales = (array.nbytes for array in self.scales) if self.scales else (0, 0)
        values, scales = x_values + w_values, x_scales + w_scales
        return {
            "x_values": x_values,
            "w_values": w_values,
            "x_scales": x_scales,
            "w_scales": w_scales,
            "values": values,
            "scales": scales,
            "total": values + scales,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Program:
    """One compiled product with its operands already on the device."""

    run: Callable[[], "jax.Array"]
    stablehlo: str
    hlo: str
    memory_bytes: Mapping[str, int | None]

    def finish(self) -> None:
        """Run once and wait for the result."""
        self.run().block_until_ready()


def make_inputs(problem: Problem) -> dict[str, Inputs]:
    """Both cases: X from a normal distribution, then W from the same generator over √features."""
    generator = np.random.default_rng(problem.seed)
    x = generator.normal(size=(problem.batch, problem.features)).astype(np.float32)
    w = generator.normal(size=(problem.features, problem.outputs)) / np.sqrt(problem.features)
    with_outlier = x.copy()
    with_outlier[:, problem.outlier_feature] *= np.float32(problem.outlier_factor)
    w = w.astype(np.float32)
    return {"balanced": Inputs(x=x, w=w), "outlier": Inputs(x=with_outlier, w=w)}


def prepare(inputs: Inputs, policy: str) -> Operands:
    """Narrow the operands on the host, outside everything that is timed."""
    quantizers.require_finite(inputs.x, "X")
    quantizers.require_finite(inputs.w, "W")
    if policy == "fp32":
        return Operands(values=(inputs.x, inputs.w))
    if policy == "bf16":
        rounded = quantizers.round_to_bfloat16
        return Operands(values=(rounded(inputs.x, "X"), rounded(inputs.w, "W")))
    x = quantizers.quantize_int8(inputs.x, axis=1)
    w = quantizers.quantize_int8(inputs.w, axis=0)
    return Operands(
        values=(x.codes, w.codes),
        scales=(x.scales, w.scales),
        quantization={
            "x_scales": x.scales.ravel().tolist(),
            "w_scales": w.scales.ravel().tolist(),
            "zero_rows": {"x": x.zero_rows, "w": w.zero_rows},
            "underflow_rows": {"x": x.underflow_rows, "w": w.underflow_rows},
            "clipped": {"x": x.clipped, "w": w.clipped},
            "max_abs_accumulator": quantizers.largest_accumulator(x.codes, w.codes),
        },
    )


def requested_types(policy: str) -> dict[str, str]:
    """What the program asks for. What the compiler made of it stands in its HLO."""
    operand = {"fp32": "float32", "bf16": "bfloat16", "int8": "int8"}[policy]
    accumulator = "int32" if policy == "int8" else "float32"
    return {
        "operand": operand,
        "accumulator": accumulator,
        "output": "float32",
        "precision": PRECISION,
    }


def compile_product(name: str, operands: Operands, device: "jax.Device") -> Program:
    """Compile ahead of time with the operands as arguments, so nothing can be folded away."""
    import jax

    arguments = [jax.device_put(array, device) for array in (*operands.values, *operands.scales)]
    product = int8_product if operands.scales else float_product
    try:
        lowered = jax.jit(product).lower(*arguments)
        compiled = lowered.compile()
    except Exception as problem:  # each backend raises its own kind
        raise CompileRefused(f"{name}: {problem}") from problem
    return Program(
        run=lambda: compiled(*arguments),
        stablehlo=lowered.as_text(),
        hlo=compiled.as_text() or "",
        memory_bytes=memory_bytes(compiled),
    )


def float_product(x: "jax.Array", w: "jax.Array") -> "jax.Array":
    """X·W with FP32 accumulation and output."""
    return dot(x, w, "float32")


def int8_product(
    x: "jax.Array", w: "jax.Array", x_scales: "jax.Array", w_scales: "jax.Array"
) -> "jax.Array":
    """X·W accumulated in INT32, then rescaled in FP32 by row and by column."""
    return dot(x, w, "int32").astype("float32") * x_scales * w_scales


def dot(x: "jax.Array", w: "jax.Array", accumulator: str) -> "jax.Array":
    """Contract the last axis of X with the first of W."""
    from jax import lax

    return lax.dot_general(
        x,
        w,
        dimension_numbers=(((1,), (0,)), ((), ())),
        precision=lax.Precision[PRECISION],
        preferred_element_type=accumulator,
    )
