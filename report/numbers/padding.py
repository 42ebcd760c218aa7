"""How tiles pad the operands of one product as a dimension of it grows: steps, not slopes."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from report.numbers.lowering import Preflight

TARGETS = ("v5e", "v5p", "v6e", "v4", "tpu7x", "v3", "v2")
"""The generation that is shown is the first of these that was recorded."""
BITS: Mapping[str, int] = {"fp32-default": 32, "int8": 8, "int4": 4}
"""The policies that are shown, and the width of their operands."""
SIDES: Mapping[str, tuple[str, str]] = {"m": ("X", "mk"), "k": ("X", "mk"), "n": ("W", "kn")}
"""Each dimension with an operand that it is a side of, and that operand's sides."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Point:
    """One operand of one product: its bytes as packed and as tiled."""

    policy: str
    bits: int
    """The width of its elements."""
    dimension: str
    size: int
    ideal: float
    tiled: int
    size_at: str
    tiled_at: str
    """Where these two stand in the record."""

    @property
    def padding(self) -> float:
        """How many times its packed bytes it takes."""
        return self.tiled / self.ideal


def target_of(run: Preflight) -> str:
    """The generation that is shown; empty for none."""
    return next((name for name in TARGETS if name in run.targets), "")


def points(run: Preflight) -> tuple[Point, ...]:
    """Every compiled size for the generation that is shown, policy by policy."""
    stairs, target = run.staircase, target_of(run)
    if stairs is None:
        return ()
    here, found = f"{run.name}#/staircase", []
    for policy, bits in BITS.items():
        for dimension, (operand, sides) in SIDES.items():
            column = "XW".index(operand)
            steps = stairs.steps.get(policy, {}).get(dimension, {}).get(target, ())
            for place, (size, step) in enumerate(zip(stairs.sizes, steps, strict=False)):
                if step is None or not size:
                    continue
                lengths = dict(zip("mkn", stairs.base, strict=True)) | {dimension: size}
                elements = lengths[sides[0]] * lengths[sides[1]]
                found.append(
                    Point(
                        policy=policy,
                        bits=bits,
                        dimension=dimension,
                        size=size,
                        ideal=elements * bits / 8,
                        tiled=step[column],
                        size_at=f"{here}/sizes/{place}",
                        tiled_at=f"{here}/policies/{policy}/{dimension}/{target}/{place}/{column}",
                    )
                )
    return tuple(found)


def jump(points: Sequence[Point]) -> tuple[Point, Point] | None:
    """The step of INT8 in k that adds most, between sizes that differ by one and are not small."""
    chosen = [p for p in points if (p.policy, p.dimension) == ("int8", "k")]
    pairs = [(a, b) for a, b in pairwise(chosen) if b.size - a.size == 1 and a.size >= 64]
    return max(pairs, key=lambda pair: (pair[1].tiled / pair[0].tiled, -pair[0].size), default=None)


def worst(points: Sequence[Point]) -> Point | None:
    """The operand that is padded most."""
    return max(points, key=lambda point: point.padding, default=None)
