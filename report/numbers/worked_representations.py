"""What follows from a representations run: what repairs mend and cost, and how bounds held."""

from fractions import Fraction

from report.numbers.representations import (
    BALANCED,
    ORDINARY,
    OUTLIER,
    REPAIRS,
    Certificate,
    RepresentationsRun,
    Result,
)
from report.numbers.workings import Workings


def work_out_representations(run: RepresentationsRun, note: Workings) -> None:
    """Write down `study#/representations/<run>/…`."""
    base, results = f"representations/{run.name}", f"{run.name}#/results"
    for policy in run.policies:
        _growth(run, policy, f"{base}/{policy}", note)
        _beyond_representation(run.result(BALANCED, policy), f"{base}/{policy}", results, note)
        _bytes(run, policy, f"{base}/{policy}", note)
    for policy in (name for name in REPAIRS if name in run.policies and ORDINARY in run.policies):
        _repair(run, policy, f"{base}/{policy}", note)
    _bounds(run, f"{base}/bounds", note)


def error_pointer(run: RepresentationsRun, result: Result) -> str:
    """Where the error that counts stands in the record."""
    part = "total" if result.status == "measured" else "representation"
    return f"{run.name}#/results/{result.id}/anatomy/{part}"


def _growth(run: RepresentationsRun, policy: str, base: str, note: Workings) -> None:
    """How the outlier multiplies a policy's error."""
    plain, spread = run.result(BALANCED, policy), run.result(OUTLIER, policy)
    if plain.found is None or spread.found is None:
        return
    above, below = spread.error.value, plain.error.value
    note.derive(
        f"{base}/outlier_growth",
        above / below if above is not None and below else None,
        r"e_{\mathrm{rel}}' / e_{\mathrm{rel}}",
        error_pointer(run, spread),
        error_pointer(run, plain),
        kind="measured" if spread.status == "measured" else "computed",
        reason="" if above is not None and below else "an error of the two is zero or undefined",
    )


def _beyond_representation(result: Result, base: str, results: str, note: Workings) -> None:
    """How many times larger the representation's error is than all that the program added."""
    if result.status != "measured" or result.found is None:
        return
    parts = result.found.anatomy
    values = (parts.representation.value, parts.accumulation.value, parts.rescale.value)
    stored, summed, rescaled = values
    rest = None if summed is None or rescaled is None else summed + rescaled
    note.derive(
        f"{base}/representation_over_rest",
        stored / rest if stored and rest else None,
        r"e_{\mathrm{repr}} / (e_{\mathrm{acc}} + e_{\mathrm{resc}})",
        *(f"{results}/{result.id}/anatomy/{p}" for p in PARTS),
        kind="measured",
        reason="" if stored and rest else "a part is zero or undefined",
    )


PARTS = ("representation", "accumulation", "rescale")


def _bytes(run: RepresentationsRun, policy: str, base: str, note: Workings) -> None:
    """What a policy stores, against FP32."""
    stored, whole = run.stored(policy), run.stored("fp32") if "fp32" in run.policies else None
    if stored is None or whole is None or policy == "fp32":
        return
    note.derive(
        f"{base}/vs_fp32_bytes",
        Fraction(stored.total, whole.total),
        r"M / M_{\mathrm{fp32}}",
        bytes_pointer(run, policy),
        bytes_pointer(run, "fp32"),
    )


def bytes_pointer(run: RepresentationsRun, policy: str, part: str = "total") -> str:
    """Where a policy's bytes, or a part of them, are recorded first."""
    case = next(case for case in run.cases if run.result(case, policy).found)
    return f"{run.name}#/results/{case}-{policy}/stored_bytes/{part}"


def _repair(run: RepresentationsRun, policy: str, base: str, note: Workings) -> None:
    """How far a repair lowers the outlier's error, and what it costs in bytes."""
    before, after = run.result(OUTLIER, ORDINARY), run.result(OUTLIER, policy)
    stored, plain = run.stored(policy), run.stored(ORDINARY)
    if before.found is None or after.found is None or stored is None or plain is None:
        return
    high, low = before.error.value, after.error.value
    note.derive(
        f"{base}/mends",
        high / low if high and low else None,
        r"e_{\mathrm{rel}} / e_{\mathrm{rel}}^{\mathrm{repaired}}",
        error_pointer(run, before),
        error_pointer(run, after),
        kind="measured",
        reason="" if high and low else "an error of the two is zero or undefined",
    )
    extra = note.derive(
        f"{base}/extra_bytes",
        stored.total - plain.total,
        r"M^{\mathrm{repaired}} - M",
        bytes_pointer(run, policy),
        bytes_pointer(run, ORDINARY),
        unit="B",
    )
    note.derive(
        f"{base}/extra_share",
        Fraction(stored.total - plain.total, plain.total),
        r"(M^{\mathrm{repaired}} - M) / M",
        extra,
        bytes_pointer(run, ORDINARY),
    )


def _bounds(run: RepresentationsRun, base: str, note: Workings) -> None:
    """How many outputs stayed within their bound: policy by policy, and all that programs gave."""
    held: dict[str, list[tuple[str, Certificate]]] = {}
    for result in run.results.values():
        if result.status == "measured" and result.found and result.found.certificate:
            pointer = f"{run.name}#/results/{result.id}/bound"
            held.setdefault(result.policy, []).append((pointer, result.found.certificate))
    if not held:
        return
    outputs, beyond = [], []
    for policy, certificates in held.items():
        outputs.append(
            note.derive(
                f"{base}/{policy}/outputs",
                sum(each.outputs for _, each in certificates),
                r"\sum_{\mathrm{cases}} n",
                *(f"{pointer}/outputs" for pointer, _ in certificates),
            )
        )
        beyond.append(
            note.derive(
                f"{base}/{policy}/exceeded",
                sum(each.exceeded for _, each in certificates),
                r"\sum_{\mathrm{cases}} n_{|e| > B}",
                *(f"{pointer}/exceeded" for pointer, _ in certificates),
                kind="measured",
            )
        )
    every = [pair for certificates in held.values() for pair in certificates]
    count = sum(each.outputs for _, each in every)
    exceeded = sum(each.exceeded for _, each in every)
    total = note.derive(f"{base}/outputs", count, r"\sum n", *outputs)
    note.derive(
        f"{base}/share_under",
        Fraction(count - exceeded, count),
        r"1 - \sum n_{|e| > B} / \sum n",
        total,
        *beyond,
        kind="measured",
    )
    known = [(each.worst.value, pointer) for pointer, each in every if each.worst.value is not None]
    if known:
        worst, pointer = max(known)
        note.derive(
            f"{base}/worst_ratio",
            worst,
            r"\max |e| / B",
            f"{pointer}/worst_ratio",
            kind="measured",
        )
