"""What follows from one capture, each number with its formula and the fields it came from.

A share has one time above its line and one below. Busy time is a union, and the time of
operations is their own, so no share passes 100 %.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import median, quantiles

from report.numbers.profile import Profile, Span, Step, own_ns

NS_PER_S = 1_000_000_000
LONGEST = 24
"""Operations that have a share of their own."""

SHARES: Mapping[str, tuple[tuple[str, ...], str]] = {
    "matrix_share": (("matrix",), "matrix products"),
    "movement_share": (("copy", "transfer"), "copies and transfers"),
    "collective_share": (("collective",), "collectives"),
    "untold_share": (("",), "operations whose names do not tell"),
}
"""Shares of the time of all operations: which categories, and what they are called."""

NO_OPERATIONS = "no operation is in this capture"
NO_STEPS = "no whole step is in this capture"
ONE_STEP = "there is only one step"
APART = "host and device times come from clocks that cannot be compared"


@dataclass(frozen=True, slots=True, kw_only=True)
class Measure:
    """One number, or the reason why there is none."""

    number: int | float | None
    formula: str
    inputs: tuple[str, ...] = ()
    """Pointers into the summary, without its name: `lines/0/busy_ns`."""
    unit: str = ""
    reason: str = ""


def measure(profile: Profile) -> Mapping[str, Measure]:
    """Every derived number of a capture, by its path below `study#/trace/<name>/`."""
    return dict(
        [
            *_counts(profile),
            *_steps(profile),
            *_lines(profile),
            *_devices(profile),
            *_operations(profile),
            *_gaps(profile),
        ]
    )


Measures = Iterator[tuple[str, Measure]]


def _counts(profile: Profile) -> Measures:
    counts = {
        "steps": len(profile.steps),
        "planes": len(profile.planes),
        "device_planes": len(profile.device_planes),
        "device_planes_with_events": len(profile.busy_planes),
        "device_planes_with_busy_time": sum(
            bool(plane.span_ns) and plane.work in plane.busy_ns for plane in profile.busy_planes
        ),
        "events": profile.events,
        "compiles_in_steps": sum(found.in_window is True for found in profile.compiles),
    }
    for name, count in counts.items():
        words = name.replace("_", " ")
        yield name, Measure(number=count, formula=rf"\text{{number of {words}}}")


def _steps(profile: Profile) -> Measures:
    times = profile.times
    whole = [at for at, _ in profile.whole_steps]
    each = tuple(f"steps/{at}/duration_ns" for at in whole)
    steady = times.steady_ns if times else None
    alone = ONE_STEP if times else NO_STEPS
    yield (
        "first_step_s",
        Measure(
            number=times.first_ns / NS_PER_S if times else None,
            formula="d_0",
            inputs=each[:1],
            unit="s",
            reason="" if times else NO_STEPS,
        ),
    )
    yield (
        "step_median_s",
        Measure(
            number=times.median_ns / NS_PER_S if times else None,
            formula=r"\mathrm{median}(d_0, d_1, \dots)",
            inputs=each,
            unit="s",
            reason="" if times else NO_STEPS,
        ),
    )
    yield (
        "step_steady_s",
        Measure(
            number=None if steady is None else steady / NS_PER_S,
            formula=r"\mathrm{median}(d_1, d_2, \dots)",
            inputs=each[1:],
            unit="s",
            reason=alone if steady is None else "",
        ),
    )
    ratio = times.first_ratio if times else None
    yield (
        "first_step_ratio",
        Measure(
            number=ratio,
            formula=r"d_0 / \mathrm{median}(d_1, d_2, \dots)",
            inputs=each,
            reason=alone if ratio is None else "",
        ),
    )
    spread = _spread(times.durations_ns[1:]) if times else None
    yield (
        "step_spread",
        Measure(
            number=spread,
            formula=r"(q_3 - q_1) / \mathrm{median}(d_1, d_2, \dots)",
            inputs=each[1:],
            reason="a spread takes three steps after the first" if spread is None else "",
        ),
    )
    told = [at for at in whole if profile.steps[at].operations_busy_ns is not None]
    busy = sum(profile.steps[at].operations_busy_ns or 0 for at in told)
    lasted = sum(profile.steps[at].duration_ns for at in told)
    yield (
        "host_operations_share",
        Measure(
            number=busy / lasted if lasted else None,
            formula=r"\sum o_i / \sum d_i",
            inputs=tuple(f"steps/{at}/operations_busy_ns" for at in told),
            reason="" if lasted else "no operation ran on a host thread in these steps",
        ),
    )


def _spread(durations: Sequence[int]) -> float | None:
    """Between the quartiles, as a share of the median."""
    if len(durations) < 3:
        return None
    low, middle, high = quantiles(durations, n=4, method="inclusive")
    return (high - low) / middle if middle else None


def _lines(profile: Profile) -> Measures:
    for at, line in enumerate(profile.lines):
        place = f"lines/{line.id.replace('/', '-')}"
        inputs = tuple(f"lines/{at}/{key}" for key in ("busy_ns", "first_ns", "last_ns"))
        yield (
            f"{place}/busy_s",
            Measure(number=line.busy_ns / NS_PER_S, formula="u", inputs=inputs[:1], unit="s"),
        )
        yield f"{place}/busy_share", _share(line.busy_ns, line.span_ns, "u / (t_1 - t_0)", inputs)


def _devices(profile: Profile) -> Measures:
    """How busy each device was; an empty plane has no share, and is averaged into none."""
    in_steps = []
    for at, plane in enumerate(profile.planes):
        if plane not in profile.busy_planes:
            continue
        view = plane.work
        inputs = (f"planes/{at}/busy/{view}", f"planes/{at}/first_ns", f"planes/{at}/last_ns")
        place = f"devices/{plane.id}"
        busy = plane.busy_ns.get(view)
        yield f"{place}/busy_share", _share(busy, plane.span_ns, "u / (t_1 - t_0)", inputs)
        shares = [
            (f"steps/{nth}/devices", _busy_in(step, plane.id), step.duration_ns)
            for nth, step in profile.whole_steps
            if profile.host_device_comparable
        ]
        measured = _share(
            sum(busy for _, busy, _ in shares),
            sum(lasted for _, _, lasted in shares),
            r"\sum u_i / \sum d_i",
            tuple(pointer for pointer, _, _ in shares),
            reason=_no_share(profile),
        )
        yield f"{place}/step_share", measured
        in_steps += [] if measured.number is None else [measured.number]
    yield (
        "device_step_share",
        Measure(
            number=sum(in_steps) / len(in_steps) if in_steps else None,
            formula=r"\mathrm{mean}_p \left( \sum u_i / \sum d_i \right)",
            reason="" if in_steps else _no_share(profile),
        ),
    )
    waits = [wait.duration_ns / step.duration_ns for step, wait in waits_of(profile)]
    yield (
        "device_wait_share",
        Measure(
            number=median(waits) if waits else None,
            formula=r"\mathrm{median}(w_1 / d_1, w_2 / d_2, \dots)",
            reason="" if waits else _no_share(profile),
        ),
    )


def waits_of(profile: Profile) -> list[tuple[Step, Span]]:
    """Each whole step but the first, with the time in it before any device worked."""
    steps = [step for _, step in profile.whole_steps if step.devices and step.duration_ns]
    return [
        (
            step,
            Span(
                start_ns=step.start_ns,
                duration_ns=min(share.first_ns for share in step.devices),
            ),
        )
        for step in steps[1:] or steps
    ]


def _busy_in(step: Step, plane: str) -> int:
    return max((share.busy_ns for share in step.devices if share.plane == plane), default=0)


def _no_share(profile: Profile) -> str:
    if profile.blind:
        return profile.blind
    return APART if not profile.host_device_comparable else NO_STEPS


def _operations(profile: Profile) -> Measures:
    """Shares of the time of all operations, in the one view that is counted."""
    whole, reason = profile.work_ns, NO_OPERATIONS
    for name, (categories, _) in SHARES.items():
        found = [op for op in profile.work if op.category in categories]
        yield name, _share(own_ns(found), whole, r"\sum s_c / \sum s", (), reason=reason)
    for at, op in profile.ranked_work[:LONGEST]:
        own = (f"operations/{at}/{profile.own_field}",)
        measured = _share(op.self_ns, whole, r"s / \sum s", own, reason=reason)
        yield f"operations/{at}/share", measured
    again = [op for op in profile.work if op.rematerialized]
    yield (
        "rematerialized_share",
        _share(own_ns(again), whole, r"\sum s_r / \sum s", (), reason=reason),
    )


def _gaps(profile: Profile) -> Measures:
    for kind, total in profile.gap_totals.items():
        at, longest = max(
            ((at, gap.duration_ns) for at, gap in enumerate(profile.gaps) if gap.kind == kind),
            key=lambda found: found[1],
            default=(0, None),
        )
        place = f"gaps/{kind}"
        yield f"{place}/count", Measure(number=total.count, formula=r"\text{number of gaps}")
        yield (
            f"{place}/longest_s",
            Measure(
                number=None if longest is None else longest / NS_PER_S,
                formula=r"\max g_i",
                inputs=() if longest is None else (f"gaps/{at}/duration_ns",),
                unit="s",
                reason="there is none" if longest is None else "",
            ),
        )
    between = profile.gap_totals.get("between-steps")
    window = profile.window.duration_ns if profile.window else 0
    total_ns = between.total_ns if between else None
    yield (
        "between_steps_share",
        _share(
            total_ns,
            window,
            r"\sum g_i / T",
            ("gaps_summary/between-steps/total_ns", "window/duration_ns"),
            reason="no time between steps is told",
        ),
    )


def _share(
    part: int | None,
    whole: int | None,
    formula: str,
    inputs: tuple[str, ...],
    reason: str = "it holds no time",
) -> Measure:
    """Never more than one: both were unions, told in nanoseconds by clocks that round."""
    if part is None or not whole:
        return Measure(number=None, formula=formula, reason=reason)
    return Measure(number=min(part / whole, 1.0), formula=formula, inputs=inputs)
