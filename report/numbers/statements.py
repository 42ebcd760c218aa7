"""Statements about arithmetic, held against the evidence they point at.

A statement stands when its evidence reaches the rung its words presume and, where it names a
format, when the matrix instructions that were read say so. Anything else stops the build.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

from report.errors import ContentFault, did_you_mean
from report.ladder import RUNGS, Rung, Statement, read_statement
from report.numbers.lowering import FLOAT_PATH, NATIVE


class Records(Protocol):
    """Finds recorded objects; `report.numbers.values.Values` does."""

    def recorded_object(self, pointer: str) -> tuple[list[str], Mapping[str, object]]: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Ground:
    """What a statement stands on."""

    pointer: str
    rung: Rung
    target: str
    """The generation or slice it was compiled for; empty when it is of none."""
    counts: Mapping[str, int] | None
    """Matrix instructions by operand type, where they were read."""


def hold(words: str, pointer: str, records: Records) -> Ground:
    """The ground under `words`, or ContentFault saying how far the evidence reaches."""
    statement = read_statement(words)
    ground = stand(pointer, records)
    if ground.rung < statement.least:
        raise ContentFault(
            f"{words!r} needs evidence at the level {statement.least.words}; {pointer} reaches"
            f" {ground.rung.words}.",
            hint="Say no more than that level shows, or point at evidence that reaches further.",
        )
    if statement.target:
        _hold_arithmetic(statement, ground)
    return ground


def stand(pointer: str, records: Records) -> Ground:
    """How far the evidence at `pointer` reaches, or ContentFault when it has no level."""
    keys, found = records.recorded_object(pointer)
    level = found.get("level")
    requested = found.get("requested")
    if isinstance(level, str) and level in RUNGS:
        rung = RUNGS[level]
    elif "counts_reason" in found and level is None:
        raise ContentFault(f"{pointer} reaches no level: {found['counts_reason']}.")
    elif keys[0] == "results" and isinstance(found.get("program"), dict):
        rung = Rung.OPTIMIZED_HLO
    elif isinstance(requested, dict):
        rung = Rung.REQUESTED
    else:
        raise ContentFault(
            f"{pointer} is no evidence about arithmetic.",
            hint="Point at a program, at one of its targets, or at a schedule of instructions.",
        )
    counts = found.get("counts")
    return Ground(
        pointer=pointer,
        rung=rung,
        target=keys[-1] if len(keys) > 2 else "",
        counts=counts if isinstance(counts, dict) else None,
    )


def _hold_arithmetic(statement: Statement, ground: Ground) -> None:
    words, found = statement.words, ground.counts
    if found is None:
        raise ContentFault(
            f"{words!r} points at no matrix instructions.",
            hint="Point at …#/instructions/shapes/SHAPE/POLICY/TARGET.",
        )
    if statement.target != ground.target:
        raise ContentFault(
            f"{words!r} speaks of {statement.target}, and {ground.pointer} was compiled for"
            f" {ground.target}."
        )
    if statement.format and statement.format not in NATIVE:
        raise ContentFault(
            f"{words!r} names no format that matrix instructions are known by.",
            hint=did_you_mean(statement.format, NATIVE),
        )
    natives = NATIVE.get(statement.format, frozenset())
    shown = ", ".join(f"{count} {name}" for name, count in found.items()) or "none"
    if not statement.format:
        stands = not found
    elif statement.denies:
        unclear = {"unrecognized", *({FLOAT_PATH} if statement.format == "bf16" else ())}
        stands = not (unclear | natives) & found.keys()
    else:
        stands = bool(found) and found.keys() <= natives
    if not stands:
        raise ContentFault(
            f"{words!r} is not what the compiler's schedule shows.",
            hint=f"Matrix instructions at {ground.pointer}: {shown}.",
        )
