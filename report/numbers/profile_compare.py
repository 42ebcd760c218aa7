"""Two profiles side by side: what differs, and what a difference in time may be credited to.

Steps are paired by name, number and inner name, the first of each capture left out. Their ratios
are the noise floor as well: when the middle half of them lies on both sides of one, the two
captures are not distinguishable. When more than the declared factor differs, all of it is named
and nothing is credited.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import median, quantiles

from report.errors import NumericalFailure
from report.notation import render
from report.numbers.comparing import Difference
from report.numbers.measures import NS_PER_S
from report.numbers.meters import NO_FLOOR, SAME, UNRANKED
from report.numbers.profile import Profile, Step

FACTORS = ("device", "program", "steps", "versions", "profiler", "processes")
"""What one may mean to change, as far as a profile shows it."""

FOLLOWS: Mapping[str, tuple[str, ...]] = {
    **dict.fromkeys(("shape", "lab", "versions"), ("program",)),
    "platform": ("device", "program", "profiler"),
    "device": ("platform", "program"),
}
"""What a profile cannot help showing when a factor changes, also one that only records know."""

LEAST_PAIRS = 5
"""Fewer ratios than this have no middle half to speak of."""
ABSENT = "—"

_PASSING = ("start", "stop", "time", "process_id", "pid")
"""In the name of a plane's statistic that is another one each time."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Pair:
    """The same step in both captures."""

    step: Step
    """As the first has it."""
    other: Step

    @property
    def ratio(self) -> float | None:
        return self.other.duration_ns / self.step.duration_ns if self.step.duration_ns else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """One time of all paired steps: its medians, the middle half of the ratios, and a verdict."""

    name: str
    pairs: int
    one_ns: float
    two_ns: float
    low: float | None
    middle: float | None
    high: float | None
    note: str
    """Why the two are not told apart, or not ranked; empty when they are."""

    @property
    def told(self) -> str:
        times = " against ".join(
            render(each / NS_PER_S, "seconds(2)") for each in (self.one_ns, self.two_ns)
        )
        if self.middle is None or self.low is None or self.high is None:
            return f"{self.name}: {times}, {self.note}"
        ratios = [render(each, "fixed(3)") for each in (self.middle, self.low, self.high)]
        told = f"{self.name}: {times}, ratio {ratios[0]} (middle half {ratios[1]} to {ratios[2]})"
        return f"{told}, {self.note}" if self.note else told


@dataclass(frozen=True, slots=True, kw_only=True)
class ProfileComparison:
    """Two captures side by side."""

    names: tuple[str, str]
    factor: str
    differences: tuple[Difference, ...]
    pairs: tuple[Pair, ...]
    unpaired: tuple[tuple[str, ...], tuple[str, ...]]
    """Steps that only one of them has."""
    results: tuple[Result, ...]

    @property
    def unexplained(self) -> tuple[Difference, ...]:
        """Differences that the declared factor does not bring about."""
        allowed = {self.factor, *FOLLOWS.get(self.factor, ())}
        return tuple(each for each in self.differences if each.factor not in allowed)

    @property
    def credited(self) -> bool:
        """Whether the declared factor, and nothing else, differs."""
        changed = any(each.factor == self.factor for each in self.differences)
        return changed and not self.unexplained and bool(self.pairs)

    @property
    def exit_code(self) -> int:
        """That of a failed check when a factor was declared and cannot be credited."""
        return 0 if self.credited or not self.factor else NumericalFailure.exit_code

    @property
    def verdict(self) -> str:
        if not self.factor:
            return "No factor was declared, so nothing is credited."
        if not self.pairs:
            return "No step is in both, so there is nothing to compare."
        if not any(each.factor == self.factor for each in self.differences):
            return f"The declared factor, {self.factor}, is the same in both: nothing to credit."
        if self.unexplained:
            others = ", ".join(each.field for each in self.unexplained)
            return f"Not credited to {self.factor}, since more differs: {others}."
        told = [result.name for result in self.results if not result.note]
        if not told:
            notes = " and ".join(dict.fromkeys(result.note for result in self.results))
            return f"Only {self.factor} differs, and the steps are {notes}."
        return f"Only {self.factor} differs: {' and '.join(told)} may be credited to it."


def compare(
    one: Profile,
    two: Profile,
    *,
    names: tuple[str, str],
    factor: str = "",
    also: Sequence[Difference] = (),
    repeat: Profile | None = None,
) -> ProfileComparison:
    """Set two captures side by side; `also` are differences that are known from elsewhere.

    `repeat` captures what `two` does once more. What these differ by is the noise floor: two
    captures of one program differ by more than the steps of either. Without it nothing is ranked.
    """
    pairs, unpaired = _pair(one, two)
    return ProfileComparison(
        names=names,
        factor=factor,
        differences=(*differences(one, two), *also),
        pairs=pairs,
        unpaired=unpaired,
        results=tuple(_results(one, two, pairs, repeat)),
    )


def differences(one: Profile, two: Profile) -> tuple[Difference, ...]:
    """What two captures show of the conditions they were made under, where they differ."""
    left, right = dict(_fields(one)), dict(_fields(two))
    return tuple(
        Difference(
            factor=field.partition("/")[0],
            field=field,
            one=left.get(field, ABSENT),
            two=right.get(field, ABSENT),
        )
        for field in sorted(left.keys() | right.keys())
        if left.get(field) != right.get(field)
    )


def _fields(profile: Profile) -> Iterator[tuple[str, str]]:
    """What a capture shows of the conditions it was made under; nothing that was timed."""
    yield "device/platform", profile.platform or "not told"
    types = Counter(
        plane.device.type if plane.device and plane.device.type else "a device of unknown type"
        for plane in profile.busy_planes
    )
    told = ", ".join(f"{count} × {name}" for name, count in sorted(types.items()))
    yield "device/planes", told or "none"
    yield "processes/hosts", f"{len(profile.hosts)}"
    yield "processes/present", _listed(profile.processes)
    yield "processes/missing", _listed(profile.missing_processes)
    yield "steps/count", f"{len(profile.steps)}"
    yield "steps/names", ", ".join(dict.fromkeys(step.inner or step.name for step in profile.steps))
    yield "profiler/formats", ", ".join(sorted({file.format for file in profile.files}))
    frames = any(line.view == "python" and line.events for line in profile.lines)
    yield "profiler/python frames", "recorded" if frames else "not recorded"
    for plane in profile.planes:
        factor = {"metadata": "versions", "environment": "profiler"}.get(plane.kind)
        for name, text in plane.stats.items():
            if factor and not any(passing in name for passing in _PASSING):
                yield f"{factor}/{name}", text
    modules: dict[str, dict[str, int]] = {}
    for step in profile.steps:
        ran = modules.setdefault(step.inner or step.name, {})
        for program in step.programs:
            ran[program.module or "unnamed"] = program.operations
    for inner, ran in modules.items():
        programs = ", ".join(f"{module} ({count} operations)" for module, count in ran.items())
        yield f"program/{inner}", programs or "not told"


def _listed(numbers: Sequence[int]) -> str:
    return ", ".join(map(str, numbers)) or "none"


def _pair(
    one: Profile, two: Profile
) -> tuple[tuple[Pair, ...], tuple[tuple[str, ...], tuple[str, ...]]]:
    """Whole steps of one key, the first of each capture left out when there are others."""
    left, right = _by_key(one), _by_key(two)
    both = [key for key in left if key in right]
    firsts = {next(iter(found)) for found in (left, right) if found}
    kept = [key for key in both if key not in firsts] or both
    pairs = tuple(Pair(step=left[key], other=right[key]) for key in kept)
    alone = tuple(
        tuple(step.label for key, step in found.items() if key not in others)
        for found, others in ((left, right), (right, left))
    )
    return pairs, (alone[0], alone[1])


def _by_key(profile: Profile) -> dict[tuple[str, int | None, str], Step]:
    found: dict[tuple[str, int | None, str], Step] = {}
    for step in profile.steps:
        if step.complete:
            found.setdefault(step.key, step)
    return found


def _device_ns(step: Step) -> int | None:
    return sum(share.busy_ns for share in step.devices) if step.devices else None


TIMES: Mapping[str, Callable[[Step], int | None]] = {
    "the time of steps on the host": lambda step: step.duration_ns,
    "the busy time of devices in steps": _device_ns,
    "the time of operations on host threads": lambda step: step.operations_busy_ns,
}


def _results(
    one: Profile, two: Profile, pairs: Sequence[Pair], repeat: Profile | None
) -> Iterator[Result]:
    on_cpu = "cpu" in {one.platform, two.platform} or not (one.sees_devices and two.sees_devices)
    again = _pair(two, repeat)[0] if repeat else ()
    for name, time in TIMES.items():
        if told := _told(pairs, time):
            yield _result(name, told, on_cpu, _reach(_told(again, time)))


def _told(pairs: Sequence[Pair], time: Callable[[Step], int | None]) -> tuple[tuple[int, int], ...]:
    """One time of both steps of each pair that tells it."""
    both = [(time(pair.step), time(pair.other)) for pair in pairs]
    return tuple((a, b) for a, b in both if a is not None and b is not None and a > 0)


def _middle_half(told: Sequence[tuple[int, int]]) -> tuple[float, float, float] | None:
    """Quartiles of the ratios; None of too few."""
    if len(told) < LEAST_PAIRS:
        return None
    low, middle, high = quantiles([b / a for a, b in told], n=4, method="inclusive")
    return low, middle, high


def _reach(again: Sequence[tuple[int, int]]) -> float | None:
    """The noise floor, as a ratio of at least one, either way; None without a repeat."""
    half = _middle_half(again)
    if half is None or half[0] <= 0:
        return None
    return max(half[2], 1 / half[0])


def _result(
    name: str, told: Sequence[tuple[int, int]], on_cpu: bool, reach: float | None
) -> Result:
    half = _middle_half(told)
    low, middle, high = half or (None, None, None)
    note = UNRANKED if on_cpu else ""
    if low is None or high is None:
        note = f"{SAME}: {len(told)} paired steps have no noise floor"
    elif low <= (reach or 1) and high >= 1 / (reach or 1):
        note = SAME
    elif not on_cpu and reach is None:
        note = NO_FLOOR
    return Result(
        name=name,
        pairs=len(told),
        one_ns=median(a for a, _ in told),
        two_ns=median(b for _, b in told),
        low=low,
        middle=middle,
        high=high,
        note=note,
    )
