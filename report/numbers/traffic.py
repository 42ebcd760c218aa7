"""Three accounts of the bytes that one product moves. None of them was measured.

*Minimum*: each operand read once, the output written once. *Tiled*: output tiles stay in a fast
memory while the operands stream past them, so an operand is read again for each row or column of
tiles. *Compiler*: what the compiler's own cost analysis counts.

The tiled model is ours, after the blocking that Lam, Rothberg and Wolf analysed
(https://doi.org/10.1145/106972.106981). It is not the tiling that a compiler chose, which no
record tells: it says what a plain blocking would move between the fast memory and the rest.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from report.numbers.precision import OPERAND_BYTES
from report.numbers.sweep import OUTPUT_BYTES, Cache, Timed

MODELS = ("minimum", "tiled", "compiler")


@dataclass(frozen=True, slots=True, kw_only=True)
class Tile:
    """A square tile of each operand and of the output, which all fit in one fast memory."""

    side: int
    fast_bytes: int
    level: int
    """Which cache the fast memory is."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Traffic:
    """Bytes of one product by each account; None with its reason where there is none."""

    minimum: int
    tiled: int | None
    tiled_reason: str
    tile: Tile | None
    compiler: int | None
    compiler_reason: str

    def bytes_of(self, model: str) -> int | None:
        return {"minimum": self.minimum, "tiled": self.tiled, "compiler": self.compiler}[model]

    def over_least(self, model: str) -> float | None:
        """How many times the least traffic an account counts."""
        count = self.bytes_of(model)
        return None if count is None else count / self.minimum


def traffic_of(timed: Timed, caches: Sequence[Cache], caches_reason: str) -> Traffic:
    """All three accounts of one timed product."""
    tile = tile_in(caches, OPERAND_BYTES[timed.policy])
    return Traffic(
        minimum=minimum_bytes(timed),
        tiled=tiled_bytes(timed, tile.side) if tile else None,
        tiled_reason="" if tile else (caches_reason or "no cache holds a tile"),
        tile=tile,
        compiler=timed.program.accessed_bytes,
        compiler_reason=timed.program.accessed_reason,
    )


def minimum_bytes(timed: Timed) -> int:
    """A_min: operands and scales as stored, read once; the output written once."""
    return timed.stored.total + timed.output_bytes


def tiled_bytes(timed: Timed, side: int) -> int:
    """A_tiled = M_x ⌈n/t⌉ + M_w ⌈m/t⌉ + M_scales + M_y, for square tiles of side t."""
    stored = timed.stored
    return (
        stored.x_values * -(-timed.n // side)
        + stored.w_values * -(-timed.m // side)
        + stored.scales
        + timed.output_bytes
    )


def tile_in(caches: Sequence[Cache], operand_bytes: int) -> Tile | None:
    """The largest power of two t for which (b_x + b_w + b_y)·t² bytes fit in one core's cache.

    The fast memory is the largest cache that a core has to itself, or else the smallest there is.
    """
    if not caches:
        return None
    own = [cache for cache in caches if cache.cores == 1]
    chosen = max(own, key=lambda each: each.bytes) if own else min(caches, key=lambda c: c.bytes)
    elements = chosen.bytes // (2 * operand_bytes + OUTPUT_BYTES)
    if not elements:
        return None
    side = 1
    while (2 * side) ** 2 <= elements:
        side *= 2
    return Tile(side=side, fast_bytes=chosen.bytes, level=chosen.level)
