"""Which ceilings may be drawn: a documented rate, and a matrix instruction of the same format.

A rate that a document gives is not yet the rate of what a compiler emits. A ceiling is solid
only where both speak of one format; otherwise it is greyed, with the reason in words.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from report.exhibit import literal, number
from report.numbers.lowering import FLOAT_PATH, NATIVE, SQUARE, Preflight, Schedule
from report.specs import Chip, Spec

FORMATS: Mapping[str, tuple[str, str]] = {
    "bf16": ("BF16", "peak_bf16"),
    "int8": ("INT8", "peak_int8"),
    "e4m3fn": ("FP8 E4M3FN", "peak_fp8"),
    "e5m2": ("FP8 E5M2", "peak_fp8"),
}
"""Format as a policy, its name, and the documented rate. Documents say FP8 and name no variant."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """What is known of one format's ceiling on one generation."""

    chip: str
    format: str
    documented: Spec
    """The rate on the official page, or why there is none, with the other readings."""
    pointer: str
    """Where its matrix instructions stand in the record; empty when none were read."""
    solid: bool
    refuted: bool
    """The instructions that were read multiply another format, by what is known of them."""
    reason: str
    """Why it is not solid; empty when it is."""

    @property
    def readings(self) -> tuple[Spec, ...]:
        return tuple(spec for spec in self.documented.readings if spec.quantity is not None)


def judge(chips: Mapping[str, Chip], run: Preflight | None) -> tuple[Verdict, ...]:
    """Every format on every chip, format by format."""
    return tuple(
        _verdict(chip, format_, chip.specs[spec], run)
        for format_, (_, spec) in FORMATS.items()
        for chip in chips.values()
    )


def _verdict(chip: Chip, format_: str, documented: Spec, run: Preflight | None) -> Verdict:
    schedule = run.schedule(format_, chip.id) if run else None
    read = schedule is not None and schedule.counts is not None
    solid = (
        documented.quantity is not None and schedule is not None and (schedule.multiplies(format_))
    )
    return Verdict(
        chip=chip.id,
        format=format_,
        documented=documented,
        pointer=instructions_at(run, SQUARE, format_, chip.id) if run and read else "",
        solid=solid,
        refuted=schedule is not None and schedule.multiplies_other_than(format_),
        reason="" if solid else _reason(format_, documented, schedule),
    )


def shown(schedule: Schedule) -> str:
    """Counts by operand type, such as `320 hi.f32 + 64 low.f32`."""
    if schedule.counts is None:
        return "not read"
    return " + ".join(f"{count} {name}" for name, count in schedule.counts.items()) or "none"


def counted(schedule: Schedule, pointer: str) -> str:
    """The same for an exhibit, each count a number that a verifier finds below `pointer`."""
    return " + ".join(
        f"{number(f'{pointer}/counts/{name}', 'integer')} {literal(name)}"
        for name in schedule.counts or {}
    ) or shown(schedule)


def instructions_at(run: Preflight, shape: str, policy: str, target: str) -> str:
    """Where the record has them; a user's program has no shape."""
    place = f"shapes/{shape}" if shape else "programs"
    return f"{run.name}#/instructions/{place}/{policy}/{target}"


def _reason(format_: str, documented: Spec, schedule: Schedule | None) -> str:
    name = FORMATS[format_][0]
    if schedule is None or schedule.counts is None:
        found = f"no matrix instruction was read for {name}"
    elif schedule.multiplies(format_):
        found = ""
    elif schedule.families == {FLOAT_PATH} and format_ == "bf16":
        found = f"the compiler names its float path for {name}, and not what that path multiplies"
    else:
        found = f"the compiler gives the matrix unit {_in_words(schedule)} for {name}"
    parts = ["the official page gives no rate" if documented.quantity is None else "", found]
    told = ", and ".join(part for part in parts if part)
    return f"{told[:1].upper()}{told[1:]}."


def _in_words(schedule: Schedule) -> str:
    words = {
        "f32": "its float path",
        "f8e5m2.bf16": "E5M2 storage for BF16 arithmetic",
        "f8e4m3b11.bf16": "E4M3B11FNUZ storage for BF16 arithmetic",
        "s8": "signed 8-bit integers",
        "u8": "unsigned 8-bit integers",
    }
    natives = {family: name for name, families in NATIVE.items() for family in families}
    named = [words.get(name, natives.get(name, name).upper()) for name in schedule.families]
    return " and ".join(sorted(named)) or "nothing"
