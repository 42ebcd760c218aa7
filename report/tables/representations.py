"""Every representation on every case: errors and bytes, error parts, bounds, counters, policies."""

from collections.abc import Iterator
from functools import partial

from report.exhibit import Cell, Kind, Table, code, literal, number, table_of, valued
from report.notation import NBSP
from report.numbers.representations import (
    CASE_NAMES,
    PARTS,
    Counters,
    PolicyFile,
    Ratio,
    RepresentationsRun,
    Result,
)
from report.numbers.worked_representations import bytes_pointer, error_pointer

NO_PROGRAM = "codes alone"
"""Under a number that no program gave."""

_wide = partial(table_of, stack=False)
"""A table of many narrow columns, which scrolls sideways on a phone."""


def tables(run: RepresentationsRun) -> Iterator[Table]:
    """Every table of the record's page, its name beginning with the record's."""
    yield errors(run, f"{run.name}-errors")
    yield stored(run, f"{run.name}-bytes")
    yield policies(run, f"{run.name}-policies")
    yield settings(run)
    for case in run.cases:
        yield anatomy(run, case)
        yield bounds(run, case)
        yield counters(run, case)
    yield ranges(run)


def lesson_tables(run: RepresentationsRun) -> Iterator[Table]:
    """Those that the lesson shows as well, by names of their own."""
    yield errors(run, "representations", linked=True)
    yield stored(run, "representation-bytes", linked=True)
    yield policies(run, "policy-parts", linked=True)


def errors(run: RepresentationsRun, name: str, *, linked: bool = False) -> Table:
    """One row a policy, one column a case, and what the policy stores."""
    rows = [
        (
            _name(run, policy, f"error-{policy.name}" if linked else ""),
            *(error_cell(run, run.result(case, policy.name)) for case in run.cases),
            _size(run, policy.name),
        )
        for policy in run.policies.values()
    ]
    return _wide(
        name,
        f"{len(run.policies)} representations, the same inputs",
        "|".join(["Operands", *(f">{CASE_NAMES[case]}" for case in run.cases), ">Stored bytes"]),
        rows,
        ids=[] if linked else [f"error-{policy}" for policy in run.policies],
        caption=(
            f"Relative L2 error of one {run.shape} product against FP64. Where no program ran, the"
            f" number is that of the {NO_PROGRAM}, multiplied in FP64."
        ),
        sources=(run.source,) if linked else (),
    )


def error_cell(run: RepresentationsRun, result: Result) -> Cell:
    """The error that counts, or why there is none."""
    error = result.error
    if result.status == "refused":
        return Cell(text="refused", note=literal(_short(result.reason)))
    href = f"records/{run.name}.html#anatomy-{result.id}"
    kind: Kind = "measured" if result.status == "measured" else "computed"
    note = NO_PROGRAM if result.status == "reference" else ""
    if error.value is None:
        return Cell(text="no number", note=literal(error.reason), href=href)
    return valued(error_pointer(run, result), error.value, "error", kind, note=note, href=href)


def _short(reason: str) -> str:
    """A refusal's first clause; the whole of it stands in the table of its case."""
    return reason.partition(", so ")[0]


def stored(run: RepresentationsRun, name: str, *, linked: bool = False) -> Table:
    """Bytes of the operands, part by part."""
    rows = []
    for policy in run.policies.values():
        found = run.stored(policy.name)
        name_cell = _name(run, policy, f"bytes-{policy.name}" if linked else "")
        parts = ("x_codes", "w_codes", "scales", "other", "total")
        if found is None:
            rows.append((name_cell, *(_plain("nowhere followed") for _ in parts)))
            continue
        at = {part: bytes_pointer(run, policy.name, part) for part in parts}
        cells = (valued(at[part], getattr(found, part), "integer", "computed") for part in parts)
        rows.append((name_cell, *cells))
    return _wide(
        name,
        "Bytes of the operands as stored",
        "Operands|>Codes of X|>Codes of W|>Scales|>Other|>All",
        rows,
        ids=[] if linked else [f"bytes-{policy}" for policy in run.policies],
        caption=(
            "Four-bit codes count two to a byte. Other: a smoothing vector, or features in FP32."
            " No output, no temporaries."
        ),
        sources=(run.source,) if linked else (),
    )


def policies(run: RepresentationsRun, name: str, *, linked: bool = False) -> Table:
    """The seven parts of each policy, as its file has them."""
    heads = ("Weights", "Activations", "Accumulators", "Reductions", "Gradients", "Optimizer state")
    rows = [
        (
            Cell(
                text=literal(policy.title),
                note=code(policy.name),
                href=f"records/{run.name}/{policy.file.path}",
            ),
            *(_plain(policy.parts[part]) for part in PARTS),
        )
        for policy in run.policies.values()
    ]
    return _wide(
        name,
        "Policies, each a file of seven parts",
        "|".join(["Policy", *heads, "Cache"]),
        rows,
        ids=[] if linked else [f"policy-{policy}" for policy in run.policies],
        caption="One product has no gradients, optimizer state or cache, and each policy says so.",
        sources=(run.source,) if linked else (),
    )


def settings(run: RepresentationsRun) -> Table:
    """What else a policy decides: scales, rounding, overflow, calibration, outliers."""
    rows = [
        (
            _name(run, policy),
            _noted(_granularity(policy), f"axis: {policy.axis}"),
            _noted(policy.scale_type, f"bound: {policy.bound}; zero point: {policy.zero_point}"),
            _noted(policy.rounding, f"overflow: {policy.saturation}"),
            _calibration(policy),
            _plain(_outliers(policy)),
        )
        for policy in run.policies.values()
    ]
    return _wide(
        f"{run.name}-settings",
        "How each policy quantizes",
        "Operands|Granularity|Scales|Rounding|Calibrated on|Outliers",
        rows,
    )


def _noted(text: str, note: str) -> Cell:
    return Cell(text=literal(text), note=literal(note))


def _granularity(policy: PolicyFile) -> str:
    return policy.granularity + (f" of {policy.tile}" if policy.tile else "")


def _calibration(policy: PolicyFile) -> Cell:
    if not policy.calibration:
        return _plain("its own inputs" if policy.scale_type != "none" else "nothing")
    return Cell(
        text=literal(f"{policy.calibration} rows"), note=code(policy.calibration_sha256[:12])
    )


def _outliers(policy: PolicyFile) -> str:
    told = []
    if policy.smoothing is not None:
        told.append(f"smoothed, α = {policy.smoothing:g}")
    if policy.keep_float32:
        told.append(f"feature {', '.join(map(str, policy.keep_float32))} in FP32")
    return "; ".join(told) or "nothing"


def anatomy(run: RepresentationsRun, case: str) -> Table:
    """Each error and its parts, all over one denominator."""
    rows = []
    for result in run.of_case(case):
        policy = run.policies[result.policy]
        if result.found is None:
            rows.append((_name(run, policy), *_refused(result, 5)))
            continue
        parts, at = result.found.anatomy, f"{run.name}#/results/{result.id}"
        rows.append(
            (
                _name(run, policy),
                _ratio(f"{at}/anatomy/total", parts.total, "measured"),
                _ratio(f"{at}/anatomy/representation", parts.representation, "computed"),
                _ratio(f"{at}/anatomy/accumulation", parts.accumulation, "measured"),
                _ratio(f"{at}/anatomy/rescale", parts.rescale, "measured"),
                _ratio(f"{at}/max_abs_error", result.found.largest, "measured", "scientific(2)"),
            )
        )
    return _wide(
        f"{run.name}-anatomy-{case}",
        f"{CASE_NAMES[case]}: each error and its parts, over the norm of the exact product",
        "Operands|>Total|>Representation|>Accumulation|>Rescale|>Largest absolute",
        rows,
        ids=[f"anatomy-{result.id}" for result in run.of_case(case)],
    )


def bounds(run: RepresentationsRun, case: str) -> Table:
    """What came out against what was allowed beforehand, and in plain words whether it held."""
    rows = []
    for result in run.of_case(case):
        policy = run.policies[result.policy]
        if result.found is None:
            rows.append((_name(run, policy), *_refused(result, 4)))
            continue
        held = result.found.certificate
        if held is None:
            reason = literal(result.found.certificate_reason)
            rows.append((_name(run, policy), Cell(text="none", note=reason), *_dashes(3)))
            continue
        kind: Kind = "measured" if result.status == "measured" else "computed"
        middle = held.percentiles.get(50)
        bound = "bound" if result.status == "measured" else "codes_bound"
        at = f"{run.name}#/results/{result.id}/{bound}"
        rows.append(
            (
                _name(run, policy),
                Cell(text=bound_words(result), note=unbounded_words(result)),
                _ratio(f"{at}/worst_ratio", held.worst, kind, "fixed(3)"),
                _plain("not recorded")
                if middle is None
                else valued(f"{at}/percentiles/p50", middle, "fixed(3)", kind),
                _ratio(f"{at}/relative_l2", held.width, "computed"),
            )
        )
    return _wide(
        f"{run.name}-bound-{case}",
        f"{CASE_NAMES[case]}: error against its bound, worked out before anything ran",
        "Operands|Verdict|>Worst ratio|>Median ratio|>Bound over reference",
        rows,
        ids=[f"bound-{result.id}" for result in run.of_case(case)],
    )


def bound_words(result: Result) -> str:
    """Whether the bound held, as a sentence that counts."""
    held = result.found.certificate if result.found else None
    if held is None:
        return "no bound"
    if not held.holds:
        return f"broken by {held.exceeded:,} of {held.outputs:,} outputs"
    what = "outputs" if result.status == "measured" else "products of codes"
    return f"holds for all {held.outputs:,} {what}"


def unbounded_words(result: Result) -> str:
    held = result.found.certificate if result.found else None
    if held is None or not held.unbounded:
        return ""
    return f"{held.unbounded:,} more have none: NaN or infinity went in"


def counters(run: RepresentationsRun, case: str) -> Table:
    """What became of the values of X and of W, and of the outputs."""
    rows = []
    for result in run.of_case(case):
        policy = run.policies[result.policy]
        if result.found is None:
            rows.append((_name(run, policy), *_refused(result, 5)))
            continue
        at = f"{run.name}#/results/{result.id}/counters"
        rows.append(
            (
                _name(run, policy),
                *(
                    _happened(at, reason, result.found.x, result.found.w)
                    for reason in ("clipped", "saturated", "flushed", "nonfinite")
                ),
                _plain("no program ran")
                if result.status != "measured"
                else valued(
                    f"{at}/output/flushed",
                    result.found.output_flushed,
                    "integer",
                    "measured",
                ),
            )
        )
    return _wide(
        f"{run.name}-counters-{case}",
        f"{CASE_NAMES[case]}: what became of the values",
        "Operands|Clipped|Saturated|Flushed to zero|Not finite|>Outputs flushed",
        rows,
        ids=[f"counters-{result.id}" for result in run.of_case(case)],
    )


def _happened(at: str, reason: str, x: Counters, w: Counters) -> Cell:
    """Such as `X 61 (0.74 %)`; a dash where nothing happened."""
    told = [
        f"{name} {number(pointer, 'integer')} ({number(f'{pointer}_share', 'percent(2)')})"
        for name, counters in (("X", x), ("W", w))
        for pointer in [f"{at}/{name.lower()}/{reason}"]
        if getattr(counters, reason)
    ]
    return Cell(text=", ".join(told), kind="computed") if told else _plain("–")


def ranges(run: RepresentationsRun) -> Table:
    """Largest integer sums, and the room they left in INT32 and in float32."""
    rows, ids = [], []
    for result in run.results.values():
        found = result.found.integers if result.found else None
        if found is None:
            continue
        at = f"{run.name}#/results/{result.id}/integer_range"
        exact = "exactly" if found.float32_exact else "rounded: a sum passes 2²⁴"
        rows.append(
            (
                _name(run, run.policies[result.policy]),
                _plain(CASE_NAMES[result.case]),
                valued(
                    f"{at}/max_abs_accumulator", found.max_abs_accumulator, "integer", "computed"
                ),
                valued(f"{at}/headroom_bits", found.headroom_bits, "fixed(2)", "computed"),
                valued(
                    f"{at}/longest_contraction", found.longest_contraction, "integer", "computed"
                ),
                _plain(exact),
            )
        )
        ids.append(f"range-{result.id}")
    return _wide(
        f"{run.name}-ranges",
        "Integer sums, and the room that INT32 left",
        "Operands|Case|>Largest sum|>Headroom, bits|>Longest contraction|To float32",
        rows,
        ids=ids,
    )


def _name(run: RepresentationsRun, policy: PolicyFile, anchor: str = "") -> Cell:
    return Cell(
        text=literal(policy.short.replace(" ", NBSP)),
        href=f"records/{run.name}.html#{anchor}" if anchor else None,
    )


def _plain(text: str) -> Cell:
    return Cell(text=literal(text))


def _size(run: RepresentationsRun, policy: str) -> Cell:
    found = run.stored(policy)
    if found is None:
        return _plain("nowhere followed")
    return valued(bytes_pointer(run, policy), found.total, "integer", "computed")


def _ratio(pointer: str, ratio: Ratio, kind: Kind, spelling: str = "error") -> Cell:
    if ratio.value is None:
        return Cell(text="none", note=literal(ratio.reason))
    return valued(pointer, ratio.value, spelling if ratio.value else "integer", kind)


def _refused(result: Result, columns: int) -> tuple[Cell, ...]:
    return (Cell(text="refused", note=literal(result.reason)), *_dashes(columns - 1))


def _dashes(count: int) -> tuple[Cell, ...]:
    return tuple(_plain("–") for _ in range(count))
