"""What follows from a representations run: what repairs mend and cost, and how bounds held."""

from fractions import Fraction

from report.exhibit import Kind
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

ANATOMY = (
    "fp32",
    "bf16",
    "fp16",
    "e4m3fn-scaled",
    "e5m2-scaled",
    "w8",
    "int8-row-column",
    "int8-groups-16",
    "int8-smoothing",
    "w4",
    "int4-groups-32",
)
"""One or two of each family, whose error parts are drawn; the record's page has all."""
PARTS = ("representation", "accumulation", "rescale")
OVER_REST = r"e_{\mathrm{repr}} / (e_{\mathrm{acc}} + e_{\mathrm{resc}})"


def work_out_representations(run: RepresentationsRun, note: Workings) -> None:
    """Write down `study#/representations/<run>/…`."""
    base, results = f"representations/{run.name}", f"{run.name}#/results"
    for policy in run.policies:
        _growth(run, policy, f"{base}/{policy}", note)
        _beyond_representation(run.result(BALANCED, policy), f"{base}/{policy}", results, note)
        _bytes(run, policy, f"{base}/{policy}", note)
    for policy in (name for name in REPAIRS if name in run.policies and ORDINARY in run.policies):
        _repair(run, policy, f"{base}/{policy}", note)
    _mending(run, f"{base}/repairs", note)
    _anatomy(run, f"{base}/anatomy", results, note)
    _bounds(run, f"{base}/bounds", note)
    _outlier_bounds(run, f"{base}/bounds/outlier", note)


def comparable(run: RepresentationsRun) -> list[str]:
    """Codes without a repair and with each one, where bytes and both errors are known."""
    return [
        name
        for name in (ORDINARY, *REPAIRS)
        if name in run.policies
        and run.stored(name)
        and all(run.result(case, name).error.value is not None for case in (BALANCED, OUTLIER))
    ]


def mending(run: RepresentationsRun) -> list[str]:
    """The repairs that lower the outlier's error."""
    errors = {name: run.result(OUTLIER, name).error.value or 0.0 for name in comparable(run)}
    return [name for name, error in errors.items() if error < errors.get(ORDINARY, 0.0)]


def anatomies(run: RepresentationsRun) -> list[Result]:
    """The results whose parts are drawn: of the outlier, one or two policies of each family."""
    chosen = [name for name in ANATOMY if name in run.policies] or list(run.policies)
    return [found for name in chosen if (found := run.result(OUTLIER, name)).found is not None]


def least_over_rest(run: RepresentationsRun) -> tuple[float, Result] | None:
    """Of those that narrow an operand, how far storing it outweighs all else at the least."""
    found = [(weight, result) for result in anatomies(run) if (weight := over_rest(result))]
    return min(found, key=lambda each: each[0], default=None)


def over_rest(result: Result) -> float | None:
    """How many times larger the representation's error is than all that the program added."""
    if result.status != "measured" or result.found is None:
        return None
    stored, summed, rescaled = (getattr(result.found.anatomy, part).value for part in PARTS)
    rest = None if summed is None or rescaled is None else summed + rescaled
    return stored / rest if stored and rest else None


def outlier_certificates(run: RepresentationsRun) -> list[tuple[Result, Certificate]]:
    """What programs gave of the outlier, with the bounds that hold for it."""
    return [
        (result, result.found.certificate)
        for result in run.of_case(OUTLIER)
        if result.status == "measured" and result.found and result.found.certificate
    ]


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
    if result.status != "measured" or result.found is None:
        return
    weight = over_rest(result)
    note.derive(
        f"{base}/representation_over_rest",
        weight,
        OVER_REST,
        *(f"{results}/{result.id}/anatomy/{part}" for part in PARTS),
        kind="measured",
        reason="" if weight else "a part is zero or undefined",
    )


def _anatomy(run: RepresentationsRun, base: str, results: str, note: Workings) -> None:
    """The least of these among the policies whose parts are drawn."""
    if least := least_over_rest(run):
        weight, result = least
        note.derive(
            f"{base}/least_over_rest",
            weight,
            rf"\min_{{\mathrm{{policies}}}}\, {OVER_REST}",
            *(f"{results}/{result.id}/anatomy/{part}" for part in PARTS),
            kind="measured",
        )


def _mending(run: RepresentationsRun, base: str, note: Workings) -> None:
    """How many repairs there are, and how many of them lower the outlier's error."""
    errors = [error_pointer(run, run.result(OUTLIER, name)) for name in comparable(run)]
    if ORDINARY in comparable(run):
        note.derive(f"{base}/tried", len(errors) - 1, r"\text{number of repairs}")
        formula = r"|\{e_{\mathrm{rel}}^{\mathrm{repaired}} < e_{\mathrm{rel}}\}|"
        note.derive(f"{base}/mending", len(mending(run)), formula, *errors, kind="measured")


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


def _outlier_bounds(run: RepresentationsRun, base: str, note: Workings) -> None:
    """The same of the outlier alone, which is drawn."""
    held = outlier_certificates(run)
    counts: tuple[tuple[str, str, Kind], ...] = (
        ("outputs", r"\sum n", "computed"),
        ("exceeded", r"\sum n_{|e| > B}", "measured"),
    )
    for count, formula, kind in counts:
        pointers = (f"{run.name}#/results/{result.id}/bound/{count}" for result, _ in held)
        total = sum(getattr(found, count) for _, found in held)
        note.derive(f"{base}/{count}", total, formula, *pointers, kind=kind)
