"""Faults a person can act on: what was expected, what was found, where, what to do.

Each kind of fault has one exit code. A fault that is not one of these is a bug
of ours and shows its traceback.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import ClassVar


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """One thing that is wrong. `where` is `file`, `file:line` or `file:line key`."""

    where: str
    found: str
    expected: str = ""
    remedy: str = ""

    def __str__(self) -> str:
        parts = [f"{self.where}: {self.found}" if self.where else self.found]
        if self.expected:
            parts.append(f"    expected: {self.expected}")
        if self.remedy:
            parts.append(f"    do: {self.remedy}")
        return "\n".join(parts)


class ReportError(Exception):
    """A refusal: a summary, every fault at once, and one hint for all of them."""

    exit_code: ClassVar[int] = 1
    kind: ClassVar[str] = "fault"

    def __init__(self, summary: str, faults: Iterable[Fault] = (), hint: str = "") -> None:
        self.summary = summary
        self.faults: tuple[Fault, ...] = tuple(faults)
        self.hint = hint
        super().__init__(
            "\n".join([summary, *(f"  {line}" for f in self.faults for line in str(f).split("\n"))])
        )


class UsageFault(ReportError):
    """The command line asks for something that cannot be done."""

    exit_code = 2
    kind = "usage"


class BackendMissing(ReportError):
    """A backend, tool or optional package is not here."""

    exit_code = 3
    kind = "missing"


class CompileRefused(ReportError):
    """The compiler refused a program."""

    exit_code = 4
    kind = "compile"


class NumericalFailure(ReportError):
    """A numerical check failed."""

    exit_code = 5
    kind = "numerical"


class TimingUnsteady(ReportError):
    """Timing was not steady, and the caller asked to be strict about it."""

    exit_code = 6
    kind = "timing"


class EvidenceMismatch(ReportError):
    """A record's files or sources are not what the record says."""

    exit_code = 7
    kind = "evidence"


class ContentFault(ReportError):
    """Something a person wrote (YAML, Markdown, a pointer, a formula) is not right."""

    exit_code = 8
    kind = "content"


class SealBroken(ReportError):
    """A release's seal does not hold."""

    exit_code = 9
    kind = "seal"


def raise_if_any(
    error: type[ReportError], summary: str, faults: Sequence[Fault], hint: str = ""
) -> None:
    """Raise `error` with every fault, or return when there is none."""
    if faults:
        raise error(summary, faults, hint)


def near_names(name: str, known: Sequence[str], likeness: float = 0.6) -> list[str]:
    """The nearest of `known`, the best first; a likeness of 1 is the same name."""
    from difflib import get_close_matches  # noqa: PLC0415  slow to import; only a fault needs it

    return get_close_matches(name, known, n=3, cutoff=likeness)


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """A hint with the nearest of `known`, or with a few of them when none is near."""
    names = sorted(known)
    if near := near_names(name, names):
        return f"Did you mean {' or '.join(near)}?"
    return f"Known: {', '.join(names[:12])}{', …' if len(names) > 12 else ''}." if names else ""
