"""Memory budgets: the bytes a workload asks for before it runs.

Padding, temporaries, activations and fragmentation are left to measurement.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from report.errors import ContentFault, Fault


def weight_bytes(parameters: int, bits: int) -> int:
    """Bytes of `parameters` weights of `bits` bits each, packed: P·b/8, rounded up to a byte."""
    _positive(parameters=parameters, bits=bits)
    return -(-parameters * bits // 8)


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainingState:
    """Bytes of one unsharded training state, part by part."""

    parameters: int
    """P, the number of trained weights."""
    bytes_per_parameter: Mapping[str, int]
    """Part (`master`, `gradients`, …) to the bytes it keeps for each parameter."""

    @property
    def width(self) -> int:
        """Bytes a parameter, all parts together."""
        return sum(self.bytes_per_parameter.values())

    @property
    def parts(self) -> Mapping[str, int]:
        """Part to bytes, in the order given."""
        return {part: self.parameters * each for part, each in self.bytes_per_parameter.items()}

    @property
    def total(self) -> int:
        return sum(self.parts.values())


@dataclass(frozen=True, slots=True, kw_only=True)
class KvCache:
    """Keys and values of a dense, unpadded cache: 2·B·T·L·H_kv·D_h·b bytes."""

    batch: int
    """B, active sequences."""
    tokens: int
    """T, cached tokens of each sequence."""
    layers: int
    """L, layers that keep a cache growing with the context."""
    kv_heads: int
    """H_kv: key/value heads, which grouped-query attention makes fewer than query heads."""
    head_dim: int
    """D_h: its own number in a model's configuration, not always width over heads."""
    element_bytes: int
    """b: bytes of one stored element."""

    def __post_init__(self) -> None:
        _positive(
            batch=self.batch,
            tokens=self.tokens,
            layers=self.layers,
            kv_heads=self.kv_heads,
            head_dim=self.head_dim,
            element_bytes=self.element_bytes,
        )

    @property
    def bytes_per_token(self) -> int:
        """Bytes that one more token of one sequence adds."""
        return 2 * self.layers * self.kv_heads * self.head_dim * self.element_bytes

    @property
    def total(self) -> int:
        return self.batch * self.tokens * self.bytes_per_token


def _positive(**counts: int) -> None:
    """Refuse every count below one, all at once."""
    faults = [
        Fault(where=name, found=f"{count}", expected="a whole number of at least 1")
        for name, count in counts.items()
        if count < 1
    ]
    if faults:
        raise ContentFault("A memory budget needs whole, positive sizes:", faults)
