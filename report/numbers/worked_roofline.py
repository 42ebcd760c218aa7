"""The lesson's roofline: documented ceilings of each chip, and one product at two batch sizes."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from report.content import Model
from report.numbers.ceilings import Verdict
from report.numbers.roofline import Ceiling, Product, Roofline, Work
from report.numbers.workings import Workings
from report.specs import Chip, Spec
from report.units import Quantity

_WORK: Mapping[str, Work] = {"FLOP/s": "FLOP", "OP/s": "OP"}


@dataclass(frozen=True, slots=True, kw_only=True)
class RooflineStudy:
    """Rooflines of every chip that documents both ceilings, and the lesson's products."""

    model: str
    """Which model gives the products their sizes."""
    chip: str
    """The chip that the lesson works with."""
    rooflines: Mapping[str, tuple[Roofline, ...]]
    """Chip to its roofline under each reading of its bandwidth, the drawn one first."""
    products: tuple[Product, ...]
    grey: Mapping[str, str]
    """Chips whose flat ceiling is not borne out by a matrix instruction, each with the reason."""

    @property
    def drawn(self) -> Roofline:
        return self.rooflines[self.chip][0]

    @property
    def readings(self) -> tuple[Roofline, ...]:
        """Under each of up to two readings of the chip's bandwidth, the drawn one first."""
        return self.rooflines[self.chip][:2]


def rooflines_of(chip: Chip, operand: str) -> tuple[Roofline, ...]:
    """One roofline for each distinct bandwidth that is documented, or none.

    The peak must be documented for exactly this operand format; no other format's will do.
    """
    peak = chip.specs.get(f"peak_{operand}")
    bandwidth = chip.specs.get("hbm_bandwidth")
    if peak is None or peak.quantity is None or bandwidth is None:
        return ()
    readings: dict[float, Ceiling] = {}
    for path, spec in [("", bandwidth)] + [
        (f"/alternatives/{index}", spec) for index, spec in enumerate(bandwidth.alternatives)
    ]:
        if spec.quantity is not None:
            ceiling = _ceiling(spec, spec.quantity, f"{chip.id}/hbm_bandwidth{path}")
            readings.setdefault(ceiling.per_s, ceiling)
    return tuple(
        Roofline(
            chip=chip.name,
            operand=operand,
            work=_WORK[peak.quantity.unit.base],
            peak=_ceiling(peak, peak.quantity, f"{chip.id}/peak_{operand}"),
            bandwidth=reading,
        )
        for reading in readings.values()
    )


def work_out_roofline(
    model: Model, chips: Mapping[str, Chip], ceilings: Sequence[Verdict], note: Workings
) -> RooflineStudy:
    """Write down `study#/roofline/…` and return what the figure draws."""
    given = model.roofline
    rooflines = {
        id_: found for id_, chip in chips.items() if (found := rooflines_of(chip, given.format))
    }
    products = tuple(
        Product(
            m=m,
            k=given.k,
            n=given.n,
            x_bytes=given.x_bytes,
            w_bytes=given.w_bytes,
            y_bytes=given.y_bytes,
            operand=given.format,
        )
        for m in given.m
    )
    study = RooflineStudy(
        model=model.id,
        chip=given.chip,
        rooflines=rooflines,
        products=products,
        grey={
            verdict.chip: verdict.reason
            for verdict in ceilings
            if verdict.format == given.format and verdict.chip in rooflines and not verdict.solid
        },
    )
    for index, product in enumerate(products):
        _product(study, index, product, note)
    for chip, readings in rooflines.items():
        _ridge(f"roofline/{chip}/ridge", readings[0], note)
    _ridge("roofline/ridge", study.drawn, note)
    shape = [f"models#/{model.id}/roofline/{key}" for key in ("k", "n", "x_bytes", "y_bytes")]
    note.derive(
        "roofline/intensity_limit",
        2 * given.k * given.n / (given.k * given.x_bytes + given.n * given.y_bytes),
        r"\lim_{m \to \infty} I = 2kn / (k b_x + n b_y)",
        *shape,
        unit="FLOP/B",
    )
    for reading, suffix in zip(study.readings, ("", "_alternative"), strict=False):
        if suffix:
            _ridge(f"roofline/ridge{suffix}", reading, note)
        rows = rows_to_reach(reading.ridge, products[0])
        note.derive(
            f"roofline/rows_at_ridge{suffix}",
            rows,
            r"m = \lceil R\,k n b_w / (2kn - R (k b_x + n b_y)) \rceil",
            f"study#/roofline/ridge{suffix}",
            *shape,
            reason="" if rows else "no batch reaches the ridge",
        )
    return study


def rows_to_reach(ridge: float, product: Product) -> int | None:
    """The least m at which a product of this k and n has intensity `ridge`; None if none has."""
    gain = 2 * product.k * product.n - ridge * (
        product.k * product.x_bytes + product.n * product.y_bytes
    )
    return math.ceil(ridge * product.k * product.n * product.w_bytes / gain) if gain > 0 else None


def _ceiling(spec: Spec, quantity: Quantity, path: str) -> Ceiling:
    return Ceiling(
        pointer=f"chips#/{path}",
        per_s=float(quantity.base()),
        label=quantity.label,
        as_documented=spec.as_documented,
        edition=spec.reference.label,
        source=spec.source,
    )


def _product(study: RooflineStudy, index: int, product: Product, note: Workings) -> None:
    """Write down F, A_min, I and the bound of one product on the lesson's chip."""
    base = f"roofline/m{product.m}"
    given = f"models#/{study.model}/roofline"
    shape = (f"{given}/m/{index}", f"{given}/k", f"{given}/n")
    widths = tuple(f"{given}/{side}_bytes" for side in "xwy")
    flop = note.derive(f"{base}/flop", product.operations, "F = 2mkn", *shape, unit="FLOP")
    traffic = note.derive(
        f"{base}/bytes",
        product.bytes,
        r"A_{\min} = mk b_x + kn b_w + mn b_y",
        *shape,
        *widths,
        unit="B",
    )
    note.derive(
        f"{base}/intensity",
        product.intensity,
        r"I = F / A_{\min}",
        flop,
        traffic,
        unit="FLOP/B",
    )
    for reading, suffix in zip(study.readings, ("", "_alternative"), strict=False):
        bound = reading.bound(product)
        ends = [
            note.derive(f"{base}/{name}{suffix}", seconds, formula, *inputs, unit="s")
            for name, seconds, formula, inputs in (
                ("arithmetic_s", bound.compute_s, "F / C", (flop, reading.peak.pointer)),
                (
                    "traffic_s",
                    bound.memory_s,
                    r"A_{\min} / B_w",
                    (traffic, reading.bandwidth.pointer),
                ),
            )
        ]
        note.derive(
            f"{base}/ideal_s{suffix}",
            bound.ideal_s,
            r"t_{\mathrm{ideal}} = \max(F / C,\ A_{\min} / B_w)",
            *ends,
            unit="s",
        )


def _ridge(path: str, reading: Roofline, note: Workings) -> None:
    note.derive(
        path,
        reading.ridge,
        "R = C / B_w",
        reading.peak.pointer,
        reading.bandwidth.pointer,
        unit="FLOP/B",
    )
