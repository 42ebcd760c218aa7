"""What follows from recorded runs: ratios, shares, headroom, and one row quantized again."""

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from statistics import median

from report.numbers.precision import CASES, INT32_MAX, POLICIES, Case, PrecisionRun, Result
from report.numbers.quantizer import BOUND, QuantizedRow, float32, quantize
from report.numbers.worked_traffic import work_out_traffic
from report.numbers.workings import Workings

WINDOW = 2
"""Values that the outlier row stores as codes from −2 to 2 are drawn."""


@dataclass(frozen=True, slots=True, kw_only=True)
class QuantizationStep:
    """Row 0 of X as the lab's quantizer stores it, without and with the outlier feature."""

    run: PrecisionRun
    feature: int
    """The feature that becomes the outlier."""
    row: tuple[float, ...]
    """The balanced row; the outlier row differs in `feature` alone."""
    balanced: QuantizedRow
    outlier: QuantizedRow
    median_ratio: float
    """How many times the step widens, in the median row of X."""

    @property
    def cases(self) -> Mapping[Case, QuantizedRow]:
        return {"balanced": self.balanced, "outlier": self.outlier}

    @property
    def drawn(self) -> list[int]:
        """Indices of the ordinary features near zero, which are the same in both rows."""
        codes = enumerate(self.outlier.codes)
        return [at for at, code in codes if abs(code) <= WINDOW and at != self.feature]

    def distinct(self, case: Case) -> int:
        """On how many different numbers they land."""
        return len({self.cases[case].codes[at] for at in self.drawn})

    def rounding(self, case: Case) -> float:
        """How far the farthest of them lands from its value."""
        restored = self.cases[case].restored
        return max((abs(float(restored[at]) - self.row[at]) for at in self.drawn), default=0.0)


def work_out_tiny_row(note: Workings) -> None:
    """Write down `study#/tiny_row/…`: the row [0, 1, −2] in exact arithmetic."""
    row = (0, 1, -2)
    stored = quantize(row)
    scale = note.derive("tiny_row/scale", stored.scale, r"s = \max_k |x_k| / 127 = 2/127")
    codes = [
        note.derive(
            f"tiny_row/codes/{index}",
            code,
            rf"q = \mathrm{{round}}({value} / s)",
            scale,
        )
        for index, (value, code) in enumerate(zip(row, stored.codes, strict=True))
    ]
    restored = note.derive(
        "tiny_row/reconstructed", stored.restored[1], r"\hat{x} = s \, q", scale, codes[1]
    )
    note.derive(
        "tiny_row/relative_error",
        abs(stored.restored[1] - row[1]) / row[1],
        r"|\hat{x} - 1|",
        restored,
    )


def work_out_integer_range(note: Workings) -> None:
    """Write down the longest INT8 contraction that cannot wrap an INT32 accumulator."""
    note.derive(
        "precision/int32_longest_contraction",
        INT32_MAX // BOUND**2,
        r"\lfloor (2^{31} - 1) / 127^2 \rfloor",
    )


def work_out_precision(run: PrecisionRun, note: Workings) -> None:
    """Write down `study#/precision/<run>/…`."""
    base, results = f"precision/{run.name}", f"{run.name}#/results"
    fp32, int8 = run.result("balanced", "fp32"), run.result("balanced", "int8")
    note.derive(
        f"{base}/scale_share",
        Fraction(int8.stored.scales, int8.stored.total),
        r"M_{\mathrm{scales}} / M_{\mathrm{total}}",
        f"{results}/{int8.id}/stored_bytes/scales",
        f"{results}/{int8.id}/stored_bytes/total",
    )
    for policy in POLICIES[1:]:
        result = run.result("balanced", policy)
        note.derive(
            f"{base}/{policy}_vs_fp32_bytes",
            Fraction(result.stored.total, fp32.stored.total),
            rf"M_{{\mathrm{{{policy}}}}} / M_{{\mathrm{{fp32}}}}",
            f"{results}/{result.id}/stored_bytes/total",
            f"{results}/{fp32.id}/stored_bytes/total",
        )
    note.derive(
        f"{base}/worst_accumulator",
        BOUND**2 * run.request.features,
        r"127^2 K",
        f"{run.name}#/request/features",
    )
    for case in CASES:
        _quantized(base, results, run.result(case, "int8"), note)
    for result in run.results:
        samples = f"{results}/{result.id}/timing_s/samples"
        s = note.derive(
            f"{base}/trend/{result.id}",
            result.timing.trend.s,
            r"S = \sum_{i<j} \mathrm{sign}(t_j - t_i)",
            samples,
            kind="measured",
        )
        note.derive(
            f"{base}/steadiness/{result.id}",
            result.timing.trend.steadiness.value,
            r"|S| \text{ against its two-sided 5 \% limit}",
            s,
            kind="measured",
        )
    _outlier(run, base, results, note)
    work_out_traffic(run, note)


def step_of(run: PrecisionRun, note: Workings) -> QuantizationStep | None:
    """Quantize row 0 again and write down `study#/quantization_step/…`; None if it cannot be."""
    plain, spread = (run.result(case, "int8").quantization for case in CASES)
    row, outlier_row = (run.inputs[case].example_row for case in CASES)
    if plain is None or spread is None or not row or len(plain.x_scales) != len(spread.x_scales):
        return None
    balanced, outlier = (quantize(values, store=float32) for values in (row, outlier_row))
    scales = [
        note.derive(
            f"quantization_step/{case}",
            stored.scale,
            r"s_0 = \max_k |X_{0k}| / 127",
            f"{run.name}#/results/{case}-int8/quantization/x_scales/0",
        )
        for case, stored in (("balanced", balanced), ("outlier", outlier))
    ]
    note.derive("quantization_step/ratio", outlier.scale / balanced.scale, r"s_0' / s_0", *scales)
    ratio = median(b / a for a, b in zip(plain.x_scales, spread.x_scales, strict=True))
    note.derive(
        "quantization_step/median_ratio",
        ratio,
        r"\mathrm{median}_i \, s_i' / s_i",
        *(f"{run.name}#/results/{case}-int8/quantization/x_scales" for case in CASES),
        kind="measured",
    )
    step = QuantizationStep(
        run=run,
        feature=run.request.outlier_feature,
        row=row,
        balanced=balanced,
        outlier=outlier,
        median_ratio=ratio,
    )
    _landing(step, note)
    return step


def _landing(step: QuantizationStep, note: Workings) -> None:
    """Where the ordinary values of row 0 land, without the outlier and with it."""
    rows = [f"{step.run.name}#/inputs/{case}/example_row" for case in CASES]
    drawn = note.derive(
        "quantization_step/drawn",
        len(step.drawn),
        rf"|\{{k \ne {step.feature} : |q'_k| \le {WINDOW}\}}|",
        *rows,
    )
    for case, row in zip(CASES, rows, strict=True):
        base = f"quantization_step/{case}"
        inputs = (f"study#/{base}", row, drawn)
        note.derive(f"{base}/distinct", step.distinct(case), r"|\{q_k\}|", *inputs)
        formula = r"\max_k |s_0 q_k - X_{0k}|"
        note.derive(f"{base}/rounding", step.rounding(case), formula, *inputs)


def _quantized(base: str, results: str, result: Result, note: Workings) -> None:
    """The room that the largest sum left, and what became of the values of X and W together."""
    found, at = result.quantization, f"{results}/{result.id}/quantization"
    if found is None:
        return
    note.derive(
        f"{base}/headroom_bits/{result.case}",
        found.headroom_bits,
        r"31 - \log_2 \max |a|",
        f"{at}/max_abs_accumulator",
        unit="bit",
        kind="measured",
    )
    for name in ("zero_rows", "underflow_rows", "clipped"):
        both = (f"{at}/{name}/x", f"{at}/{name}/w")
        count, path = getattr(found, name), f"{base}/{result.id}/{name}"
        note.derive(path, count, r"n_X + n_W", *both, kind="measured")


def _outlier(run: PrecisionRun, base: str, results: str, note: Workings) -> None:
    """How the outlier changes each policy's error, relative and absolute, and the reference."""
    norms = run.reference_norms
    reference = _ratio(norms["outlier"], norms["balanced"])
    norm = note.derive(
        f"{base}/reference_norm_ratio",
        reference,
        r"\|Y'\|_2 / \|Y\|_2",
        *(f"{run.name}#/reference/{case}/norm" for case in reversed(CASES)),
        reason="" if reference else "the reference of the balanced case is zero",
    )
    for policy in POLICIES:
        plain, spread = (run.result(case, policy) for case in CASES)
        growth = _ratio(spread.relative_l2_error, plain.relative_l2_error)
        missing = "" if growth else "an error of the two is zero or undefined"
        ratio = note.derive(
            f"{base}/{policy}_outlier_ratio",
            growth,
            r"e_{\mathrm{rel}}' / e_{\mathrm{rel}}",
            *(f"{results}/{r.id}/relative_l2_error" for r in (spread, plain)),
            kind="measured",
            reason=missing,
        )
        note.derive(
            f"{base}/{policy}_outlier_absolute_ratio",
            growth * reference if growth and reference else None,
            r"\|\hat{Y}' - Y'\|_2 / \|\hat{Y} - Y\|_2",
            ratio,
            norm,
            kind="measured",
            reason=missing if growth is None or reference else "the reference norm is zero",
        )


def _ratio(above: float | None, below: float | None) -> float | None:
    return above / below if above and below else None
