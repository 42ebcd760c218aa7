"""Rooflines: what a dense product could reach at best, and the least time it needs.

A ceiling is a documented rate, so everything here is a bound and nothing a timing.
Scales, padding, temporaries, launches and communication are left out.
"""

from dataclasses import dataclass
from typing import Literal

from report.errors import ContentFault, Fault
from report.source import Source

Work = Literal["FLOP", "OP"]
"""What is counted: floating-point operations, or integer ones. Never added, never compared."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Product:
    """Y = XW with X of m×k and W of k×n; each operand read once, the output written once."""

    m: int
    k: int
    n: int
    x_bytes: int
    """Bytes of one activation, b_x."""
    w_bytes: int
    """Bytes of one weight, b_w."""
    y_bytes: int
    """Bytes of one output, b_y."""
    operand: str = "bf16"
    """The operands' number format, which must be the ceiling's."""

    @property
    def work(self) -> Work:
        return "OP" if self.operand.startswith(("int", "uint")) else "FLOP"

    @property
    def operations(self) -> int:
        """F = 2mkn, one multiplication and one addition each."""
        return 2 * self.m * self.k * self.n

    @property
    def bytes(self) -> int:
        """A_min = mk·b_x + kn·b_w + mn·b_y."""
        return (
            self.m * self.k * self.x_bytes
            + self.k * self.n * self.w_bytes
            + self.m * self.n * self.y_bytes
        )

    @property
    def intensity(self) -> float:
        """I = F / A_min, operations per byte."""
        return self.operations / self.bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class Ceiling:
    """One documented rate, in the source's words and unit, and in base units a second."""

    pointer: str
    """Where the documented value stands, such as `chips#/v5e/peak_bf16`."""
    per_s: float
    label: str
    """Amount and unit as pages print them, such as `800 GiB/s`."""
    as_documented: str
    """The source's own words, such as `800 GiBps`."""
    edition: str
    """Title and edition of the document."""
    source: Source


@dataclass(frozen=True, slots=True, kw_only=True)
class Bound:
    """The least time of one product, and what sets it."""

    compute_s: float
    memory_s: float

    @property
    def ideal_s(self) -> float:
        """max(F/C, A_min/B_w): no launch, no waiting, not an expected latency."""
        return max(self.compute_s, self.memory_s)

    @property
    def limit(self) -> Literal["compute", "memory"]:
        return "compute" if self.compute_s >= self.memory_s else "memory"


@dataclass(frozen=True, slots=True, kw_only=True)
class Roofline:
    """The two ceilings of one physical chip for one operand format."""

    chip: str
    operand: str
    work: Work
    peak: Ceiling
    """C, operations a second."""
    bandwidth: Ceiling
    """B_w, bytes of HBM a second."""

    def __post_init__(self) -> None:
        if not (self.peak.per_s > 0 and self.bandwidth.per_s > 0):
            raise ContentFault(
                f"The roofline of {self.chip} needs two ceilings above zero.",
                [Fault(where=self.chip, found=f"{self.peak.per_s}, {self.bandwidth.per_s}")],
            )

    @property
    def ridge(self) -> float:
        """Operations per byte at which the ceilings meet."""
        return self.peak.per_s / self.bandwidth.per_s

    def attainable_per_s(self, intensity: float) -> float:
        """The lower ceiling at `intensity` operations per byte."""
        return min(self.peak.per_s, intensity * self.bandwidth.per_s)

    def bound(self, product: Product) -> Bound:
        """The least time of `product`, or ContentFault when the ceiling is not for its operands."""
        self._accept(product)
        return Bound(
            compute_s=product.operations / self.peak.per_s,
            memory_s=product.bytes / self.bandwidth.per_s,
        )

    def exceeded_by(self, product: Product, seconds: float) -> float:
        """How many times over its ceiling a measured time claims to be; at most 1 is possible.

        Above 1, the measurement or the documented rate is wrong: show it so, never clip it.
        """
        return self.bound(product).ideal_s / seconds

    def _accept(self, product: Product) -> None:
        if (product.work, product.operand) == (self.work, self.operand):
            return
        raise ContentFault(
            f"No ceiling of {self.chip} fits this product.",
            [
                Fault(
                    where=f"roofline of {self.chip}",
                    found=f"{product.operand} operands, counted in {product.work}",
                    expected=f"{self.operand} operands, counted in {self.work}",
                    remedy="Name the documented peak for that operation and format, or draw none.",
                )
            ],
        )
