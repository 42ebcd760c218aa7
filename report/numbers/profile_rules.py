"""Hypotheses from a capture: what is seen in it, what might explain that, and what to try next.

Each rule is one row of the lesson's table. It fires on evidence, which it shows; it stays quiet
when the evidence speaks against it; and it says so when the capture does not hold what it needs.
None of them is a diagnosis: each ends in one experiment that changes one thing.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from report.notation import render
from report.numbers.measures import (
    NO_OPERATIONS,
    NO_STEPS,
    SHARES,
    Measure,
    waits_of,
)
from report.numbers.profile import Operation, Placed, Profile, Step

Outcome = Literal["fires", "does not fire", "lacks data"]

WAITS = 0.2
"""Share of a step before any device works, from which a gap is called long."""
MATRIX, BUSY = 0.5, 0.5
"""Shares of matrix products in a device's operations, and of its operations in the steps."""
MOVES = 0.2
COMMUNICATES = 0.1
SKEWED = 0.2
"""By how much one step may last longer on one host than on another."""
REPEATS = 0.05
UNTOLD = 0.5
"""Share of operations whose names do not tell, from which nothing is said of the others."""
SHOWN = 8
"""Intervals that are shown for one rule."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """One interval that made a rule fire."""

    words: str
    place: Placed


@dataclass(frozen=True, slots=True, kw_only=True)
class Judgement:
    """How one rule came out on one capture."""

    outcome: Outcome
    told: str
    """One sentence; `{name}` stands for a derived number, by its path and format in `numbers`."""
    numbers: Mapping[str, tuple[str, str]]
    seen: tuple[Seen, ...] = ()
    not_shown: int = 0
    """Intervals beyond those in `seen`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """One row of the table."""

    id: str
    observation: str
    fires_when: str
    hypothesis: str
    experiment: str
    judge: Callable[[Profile, Mapping[str, Measure]], Judgement]


def judge(profile: Profile, measures: Mapping[str, Measure]) -> Sequence[tuple[Rule, Judgement]]:
    """Every rule with its judgement, in the order of the table."""
    return [(rule, rule.judge(profile, measures)) for rule in RULES]


def _lacks(reason: str) -> Judgement:
    return Judgement(outcome="lacks data", told=f"{reason[:1].upper()}{reason[1:]}.", numbers={})


def _waits(profile: Profile, measures: Mapping[str, Measure]) -> Judgement:
    share = measures["device_wait_share"]
    if share.number is None:
        return _lacks(share.reason)
    waits = waits_of(profile)
    long = [
        Seen(
            words=f"step {step.label}, until the first device work",
            place=Placed(
                plane=step.plane,
                line=step.line,
                start_ns=wait.start_ns,
                duration_ns=wait.duration_ns,
            ),
        )
        for step, wait in waits
        if wait.duration_ns > WAITS * step.duration_ns
    ]
    return _judged(
        share.number > WAITS,
        "In the median step, {share} of the time passes before any device works.",
        {"share": ("device_wait_share", "percent(1)")},
        long,
    )


def _compiles(profile: Profile, _: Mapping[str, Measure]) -> Judgement:
    if not profile.steps:
        return _lacks(NO_STEPS)
    if not any(plane.kind == "host" and plane.events for plane in profile.planes):
        return _lacks("compilation runs on the host, and no host lane is in this capture")
    inside = [Seen(words=found.name, place=found) for found in profile.compiles if found.in_window]
    return _judged(
        bool(inside),
        "Compilations in the measured steps: {count}.",
        {"count": ("compiles_in_steps", "integer")},
        inside,
    )


def _multiplies(profile: Profile, measures: Mapping[str, Measure]) -> Judgement:
    if lacking := _no_device_work(profile, measures):
        return _lacks(lacking)
    share, busy = measures["matrix_share"].number, measures["device_step_share"]
    if share is None or busy.number is None:
        return _lacks(busy.reason or NO_OPERATIONS)
    return _judged(
        share >= MATRIX and busy.number >= BUSY,
        "Matrix products take {share} of the device’s own time in operations, and devices run"
        " operations in {busy} of the steps. How near this comes to the chip’s peak, a profile"
        " does not tell.",
        {"share": ("matrix_share", "percent(1)"), "busy": ("device_step_share", "percent(1)")},
        _longest(op for op in profile.work if op.category == "matrix"),
    )


def _moves(profile: Profile, measures: Mapping[str, Measure]) -> Judgement:
    if lacking := _no_device_work(profile, measures):
        return _lacks(lacking)
    categories, _ = SHARES["movement_share"]
    share = measures["movement_share"].number
    return _judged(
        share is not None and share >= MOVES,
        "Copies and transfers, waiting for them included, take {share} of the device’s own time in"
        " operations. What a fused"
        " operation moves, and how large the batch was, a profile does not tell.",
        {"share": ("movement_share", "percent(1)")},
        _longest(op for op in profile.work if op.category in categories),
    )


def _communicates(profile: Profile, measures: Mapping[str, Measure]) -> Judgement:
    lacking = _no_device_work(profile, measures)
    skewed = [*_skews(profile)]
    if lacking and not skewed:
        return _lacks(lacking)
    share = None if lacking else measures["collective_share"].number
    hosts = (
        f"Steps that last over {_percent(SKEWED)} longer on one host than on another:"
        f" {len(skewed)}."
        if len(profile.hosts) > 1
        else "One host is in this capture, so nothing is said of skew between hosts."
    )
    return _judged(
        bool(skewed) or (share is not None and share >= COMMUNICATES),
        f"Nothing is said of collectives: {lacking}. {hosts}"
        if lacking
        else f"Collectives take {{share}} of the device’s own time in operations. {hosts}",
        {} if lacking else {"share": ("collective_share", "percent(1)")},
        [*_longest(op for op in profile.work if op.category == "collective" and share), *skewed],
    )


def _repeats(profile: Profile, measures: Mapping[str, Measure]) -> Judgement:
    share = measures["rematerialized_share"]
    if share.number is None:
        return _lacks(share.reason)
    return _judged(
        share.number >= REPEATS,
        "Operations that bear the name of a rematerialization take {share} of the time in"
        " operations. Whether that is more than before, only a second profile shows.",
        {"share": ("rematerialized_share", "percent(1)")},
        _longest(op for op in profile.work if op.rematerialized),
    )


def _no_device_work(profile: Profile, measures: Mapping[str, Measure]) -> str:
    """Why nothing can be said of what devices worked on; empty when something can."""
    if profile.blind:
        return profile.blind
    untold = measures["untold_share"]
    if untold.number is None:
        return untold.reason
    if untold.number > UNTOLD:
        return "most names in this capture do not tell what an operation does"
    return ""


def _skews(profile: Profile) -> Iterable[Seen]:
    """Steps of one number that last far longer on one host than on another."""
    hosts = {plane.id: plane.host for plane in profile.planes}
    by_number: dict[tuple[str, int | None], list[Step]] = {}
    for step in profile.steps:
        if step.complete:
            by_number.setdefault((step.name, step.number), []).append(step)
    for (_, number), steps in by_number.items():
        longest = max(steps, key=lambda step: step.duration_ns)
        shortest = min(steps, key=lambda step: step.duration_ns)
        apart = hosts.get(longest.plane) != hosts.get(shortest.plane)
        if apart and longest.duration_ns > (1 + SKEWED) * shortest.duration_ns:
            yield Seen(words=f"step {number} on {hosts.get(longest.plane)}", place=longest)


def _longest(operations: Iterable[Operation]) -> list[Seen]:
    """The longest interval of each operation, the operations that took most time first."""
    found = sorted(operations, key=lambda op: -op.self_ns)
    return [Seen(words=op.label, place=op.longest) for op in found if op.longest]


def _judged(
    fires: bool, told: str, numbers: Mapping[str, tuple[str, str]], seen: Sequence[Seen]
) -> Judgement:
    """Intervals are evidence for what fires; a rule that stays quiet has none to show."""
    return Judgement(
        outcome="fires" if fires else "does not fire",
        told=told,
        numbers=numbers,
        seen=tuple(seen[:SHOWN]) if fires else (),
        not_shown=max(0, len(seen) - SHOWN) if fires else 0,
    )


def _percent(share: float) -> str:
    return render(share, "percent(0)")


RULES = (
    Rule(
        id="wait",
        observation="Long gap before device work",
        fires_when=f"over {_percent(WAITS)} of the median step passes before any device works",
        hypothesis="Input preparation or dispatch may starve the device.",
        experiment=(
            "Run the same steps on batches that are ready beforehand, and time the loader alone."
        ),
        judge=_waits,
    ),
    Rule(
        id="compile",
        observation="Compilation during measured steps",
        fires_when="any compilation starts in the window of the steps",
        hypothesis="A shape, a static argument or the function itself may change between steps.",
        experiment=(
            "Hold all of these still but one, and read which compilations JAX logs"
            " (`JAX_LOG_COMPILES=1`)."
        ),
        judge=_compiles,
    ),
    Rule(
        id="matrix",
        observation="Large matrix activity on a busy device",
        fires_when=(
            f"matrix products take at least {_percent(MATRIX)} of the time in operations, and"
            f" operations at least {_percent(BUSY)} of the steps"
        ),
        hypothesis="Arithmetic may limit this region.",
        experiment=(
            "Change the precision recipe alone, to one that the chip supports, and check the"
            " quality of the result."
        ),
        judge=_multiplies,
    ),
    Rule(
        id="movement",
        observation="Heavy data movement",
        fires_when=(
            f"copies and transfers take at least {_percent(MOVES)} of the time in operations"
        ),
        hypothesis="Memory traffic or launch overhead may dominate, above all at a small batch.",
        experiment="Change the batch alone, within what latency and memory allow.",
        judge=_moves,
    ),
    Rule(
        id="communication",
        observation="Long collectives, or hosts that disagree",
        fires_when=(
            f"collectives take at least {_percent(COMMUNICATES)} of the time in operations, or a"
            f" step lasts over {_percent(SKEWED)} longer on one host than on another"
        ),
        hypothesis="Communication, or a host that arrives late, may hold the others up.",
        experiment=(
            "Capture every host in the same window, and change one axis of the device mesh."
        ),
        judge=_communicates,
    ),
    Rule(
        id="rematerialization",
        observation="Recomputation after rematerialization",
        fires_when=(
            f"operations named as rematerialized take at least {_percent(REPEATS)} of the time"
        ),
        hypothesis="Saving memory may cost this much additional work.",
        experiment=(
            "Switch rematerialization off at the same shape, and compare peak memory and step time."
        ),
        judge=_repeats,
    ),
)
"""In the order of the lesson's table."""
