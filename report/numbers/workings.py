"""The notebook in which derived numbers are written down, each with its formula and inputs."""

from decimal import Decimal
from fractions import Fraction

from report.exhibit import Kind
from report.numbers.values import Number, Value
from report.units import Quantity


class Workings:
    """Collects values under their pointers; writing one twice is a bug."""

    def __init__(self) -> None:
        self.values: dict[str, Value] = {}

    def derive(
        self,
        path: str,
        number: int | float | Fraction | str | Quantity | None,
        formula: str,
        *inputs: str,
        unit: str = "",
        kind: Kind = "computed",
        reason: str = "",
    ) -> str:
        """Write down `study#/<path>` and return its pointer, so that others may build on it."""
        pointer = f"study#/{path}"
        self._write(pointer, number, kind, unit=unit, formula=formula, inputs=inputs, reason=reason)
        return pointer

    def state(
        self,
        pointer: str,
        number: int | float | Decimal | str | Quantity | None,
        kind: Kind,
        *,
        unit: str = "",
        reason: str = "",
    ) -> None:
        """Write down a value that was documented or given."""
        self._write(pointer, number, kind, unit=unit, formula="", inputs=(), reason=reason)

    def _write(
        self,
        pointer: str,
        number: int | float | Decimal | Fraction | str | Quantity | None,
        kind: Kind,
        *,
        unit: str,
        formula: str,
        inputs: tuple[str, ...],
        reason: str,
    ) -> None:
        if pointer in self.values:
            raise ValueError(f"{pointer} is written down twice")
        quantity = number if isinstance(number, Quantity) else None
        self.values[pointer] = Value(
            pointer=pointer,
            number=_number(number),
            kind=kind,
            unit=unit or (str(quantity.unit) if quantity else ""),
            reason=reason,
            formula=formula,
            inputs=inputs,
            quantity=quantity,
        )


def _number(number: int | float | Decimal | Fraction | str | Quantity | None) -> Number:
    if isinstance(number, Quantity):
        return number.amount
    if isinstance(number, Fraction):
        return int(number) if number.denominator == 1 else float(number)
    return number
