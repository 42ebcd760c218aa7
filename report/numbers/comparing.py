"""Two records side by side: what differs, and what a difference may be credited to.

Keep the baseline and change one factor. When more than the declared factor differs, the
differences are still shown, all of them, and the result is credited to nothing.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from report.errors import NumericalFailure
from report.numbers.factors import brings_about, check_factor, factor_of, fields_of, is_known
from report.numbers.meters import Result, read_off
from report.record import Record

_WIDEST = 60
"""Characters of one value in a terminal's table."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """One field that is not the same: its factor, and both values as text."""

    factor: str
    field: str
    one: str
    two: str
    follows: bool = False
    """It cannot help changing with the declared factor."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """Two records side by side."""

    names: tuple[str, str]
    factor: str
    differences: tuple[Difference, ...]
    results: tuple[Result, ...]

    @property
    def unexplained(self) -> tuple[Difference, ...]:
        """Differences that the declared factor does not bring about."""
        return tuple(d for d in self.differences if d.factor != self.factor and not d.follows)

    @property
    def changed(self) -> bool:
        """Whether the declared factor differs at all, between records of one lab."""
        return not self._labs and any(
            difference.factor == self.factor for difference in self.differences
        )

    @property
    def credited(self) -> bool:
        """Whether what the results differ by, if anything, may be credited to the factor."""
        return self.changed and not self.unexplained

    @property
    def _labs(self) -> tuple[str, str] | None:
        """The schemas of both, when they differ."""
        found = [(each.one, each.two) for each in self.differences if each.field == "schema"]
        return found[0] if found else None

    def told(self) -> str:
        """Both columns, differences before results, and what may be concluded."""
        fields = [(d.field, d.factor, d.one, d.two) for d in self.differences]
        results = [(r.name, str(r.one), str(r.two), r.words) for r in self.results]
        parts = [
            _columns([("Field", "Factor", *self.names), *fields]) if fields else "",
            _columns([("Result", *self.names, ""), *results]) if results else "",
            self.verdict(),
        ]
        return "\n\n".join(part for part in parts if part)

    def verdict(self) -> str:
        """What may be concluded, in a sentence."""
        factors = ", ".join(dict.fromkeys(each.factor for each in self.differences))
        if self._labs:
            one, two = self._labs
            return f"They are of two labs, {one} and {two}: no result stands beside the other’s."
        if not self.differences:
            same = all(each.same for each in self.results)
            found = "and no result does" if same else "so none explains what the results differ by"
            return f"No recorded field differs, {found}: nothing to credit."
        if not self.factor:
            told = "No factor was declared, so nothing is credited: say --factor NAME."
            return f"{told} What differs: {factors}."
        if not self.changed:
            told = f"The declared factor, {self.factor}, is the same in both: nothing to credit."
            return f"{told} What differs: {factors}."
        if self.unexplained:
            others = ", ".join(difference.field for difference in self.unexplained)
            return f"Not credited to {self.factor}, since more differs: {others}."
        return self._credit()

    def _credit(self) -> str:
        """What may be credited to the one factor that differs, as true as the rows allow."""
        brought = [each.field for each in self.differences if each.follows]
        also = f" ({', '.join(brought)} also {'differs' if len(brought) == 1 else 'differ'})"
        only = f"Only {self.factor} was changed{also if brought else ''}"
        if any(not each.note for each in self.results):
            return f"{only}: results that are told apart may be credited to it."
        if any(each.differs for each in self.results):
            far = "as far as they repeat, which no noise floor tells"
            return f"{only}: results that differ may be credited to it {far}."
        return f"{only}, and no result is told apart, so none is credited to it."

    def facts(self) -> dict[str, object]:
        return {
            "names": self.names,
            "factor": self.factor or None,
            "credited": self.credited,
            "verdict": self.verdict(),
            "differences": [[d.factor, d.field, d.one, d.two] for d in self.differences],
            "results": [[r.name, str(r.one), str(r.two), r.words] for r in self.results],
        }

    @property
    def exit_code(self) -> int:
        """That of a failed check when a factor was declared and cannot be credited."""
        return 0 if self.credited or not self.factor else NumericalFailure.exit_code


def compare(one: Record, two: Record, factor: str = "") -> Comparison:
    """Set two records side by side; their results too, when they are of one lab."""
    left, right = dict(fields_of(one)), dict(fields_of(two))
    fields = sorted(left.keys() | right.keys())
    if factor:
        check_factor(factor, fields)
    known = is_known(one) and is_known(two)
    return Comparison(
        names=(one.name, two.name),
        factor=factor,
        differences=tuple(
            Difference(
                factor=factor if field == factor else factor_of(field),
                field=field,
                one=left.get(field, "—"),
                two=right.get(field, "—"),
                follows=bool(factor) and brings_about(factor, field, known=known),
            )
            for field in fields
            if left.get(field) != right.get(field)
        ),
        results=tuple(read_off(one, two, alike=left == right)),
    )


def _columns(rows: Sequence[tuple[str, ...]]) -> str:
    """Rows as aligned text; the last column ends where it ends."""
    cut = [[_cut(text) for text in row[:-1]] + [row[-1]] for row in rows]
    widths = [max(map(len, column)) for column in zip(*cut, strict=True)]
    return "\n".join(_line(row, widths) for row in cut)


def _line(row: Iterable[str], widths: Iterable[int]) -> str:
    return "  ".join(f"{text:{width}}" for text, width in zip(row, widths, strict=True)).rstrip()


def _cut(text: str) -> str:
    return text if len(text) <= _WIDEST else f"{text[: _WIDEST - 1]}…"
