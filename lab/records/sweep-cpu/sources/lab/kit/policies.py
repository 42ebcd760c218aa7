"""The number formats a product is asked for in: operands, accumulator and precision.

A policy is a request. What a compiler makes of it stands in its HLO and its schedule.
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from types import MappingProxyType
from typing import Any


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """What is asked of one product. Types by NumPy's and ml_dtypes' names."""

    name: str
    lhs: str
    rhs: str
    accumulator: str | None
    """None asks for nothing, and JAX takes the operands' type."""
    precision: str | None = None
    """DEFAULT, HIGH or HIGHEST, as JAX spells it; None leaves it out."""
    scaled: bool = False
    """Whether the result is rescaled in FP32 by row and by column, as quantized codes need."""

    def as_json(self) -> dict[str, object]:
        return asdict(self)


def _alike(name: str, operand: str, accumulator: str, **other: Any) -> Policy:
    return Policy(name=name, lhs=operand, rhs=operand, accumulator=accumulator, **other)


POLICIES: Mapping[str, Policy] = MappingProxyType(
    {
        each.name: each
        for each in (
            _alike("fp32-default", "float32", "float32", precision="DEFAULT"),
            _alike("fp32-high", "float32", "float32", precision="HIGH"),
            _alike("fp32-highest", "float32", "float32", precision="HIGHEST"),
            _alike("bf16", "bfloat16", "float32"),
            _alike("bf16-highest", "bfloat16", "float32", precision="HIGHEST"),
            _alike("f16", "float16", "float32"),
            _alike("int8", "int8", "int32"),
            _alike("uint8", "uint8", "int32"),
            _alike("int4", "int4", "int32"),
            _alike("uint4", "uint4", "int32"),
            Policy(name="bf16-int8", lhs="bfloat16", rhs="int8", accumulator="float32"),
            Policy(name="bf16-int4", lhs="bfloat16", rhs="int4", accumulator="float32"),
            _alike("e4m3fn", "float8_e4m3fn", "float32"),
            _alike("e5m2", "float8_e5m2", "float32"),
            _alike("e4m3b11fnuz", "float8_e4m3b11fnuz", "float32"),
            _alike("fp4", "float4_e2m1fn", "float32"),
            _alike("int8-scaled", "int8", "int32", precision="HIGHEST", scaled=True),
        )
    }
)
"""The lesson's policies. Those named after one format multiply it by itself."""

CPU_POLICIES: Mapping[str, Policy] = MappingProxyType(
    {
        each.name: each
        for each in (
            _alike("bf16-bf16", "bfloat16", "bfloat16"),
            Policy(name="bf16-unspecified", lhs="bfloat16", rhs="bfloat16", accumulator=None),
            Policy(name="int8-unspecified", lhs="int8", rhs="int8", accumulator=None),
            _alike("int8-float32", "int8", "float32"),
            Policy(name="fp32-int8", lhs="float32", rhs="int8", accumulator="float32"),
            Policy(name="fp32-int4", lhs="float32", rhs="int4", accumulator="float32"),
            Policy(name="fp32-int2", lhs="float32", rhs="int2", accumulator="float32"),
            _alike("int2", "int2", "int32"),
            _alike("e4m3", "float8_e4m3", "float32"),
            _alike("e4m3fnuz", "float8_e4m3fnuz", "float32"),
            _alike("e5m2fnuz", "float8_e5m2fnuz", "float32"),
            _alike("e3m4", "float8_e3m4", "float32"),
            Policy(name="e4m3-e5m2", lhs="float8_e4m3fn", rhs="float8_e5m2", accumulator="float32"),
            _alike("e8m0fnu", "float8_e8m0fnu", "float32"),
        )
    }
)
"""Further requests whose answer differs on a CPU; compiled for it alone."""


def arguments(policy: Policy, shape: tuple[int, int, int]) -> list[tuple[tuple[int, ...], str]]:
    """Shape and type of X and W, and of their scales where the policy has some."""
    m, k, n = shape
    operands: list[tuple[tuple[int, ...], str]] = [((m, k), policy.lhs), ((k, n), policy.rhs)]
    scales: list[tuple[tuple[int, ...], str]] = [((m, 1), "float32"), ((1, n), "float32")]
    return [*operands, *scales] if policy.scaled else operands


def product(policy: Policy) -> Any:
    """The function that is compiled: X·W, and the rescaling where the policy has scales."""
    from jax import lax

    def product(x: Any, w: Any, *scales: Any) -> Any:
        result = lax.dot_general(
            x,
            w,
            dimension_numbers=(((1,), (0,)), ((), ())),
            precision=lax.Precision[policy.precision] if policy.precision else None,
            preferred_element_type=policy.accumulator,
        )
        for each in scales:
            result = result.astype("float32") * each
        return result

    return product
