"""How a number is printed: one rule a format, rounding half-even on the decimal text.

A float stands for the shortest decimal text that reads back to it (`repr`), and that
text is rounded, once. The vectors in `tests/report/notation_vectors.json` say the same
to any other implementation. What a number is, and where it came from, is known elsewhere.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from decimal import ROUND_HALF_EVEN, Context, Decimal, Inexact

from report.errors import ContentFault, did_you_mean
from report.units import MixedUnits, Quantity, parse_unit

Printable = int | float | Decimal | str | Quantity | None
"""What a value role may point at."""

NOT_RECORDED = "not recorded"
NBSP = "\u00a0"
MINUS = "\u2212"

_SUPERSCRIPT = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
_CALL = re.compile(r"(?P<name>[a-z_]+)(?:\((?P<arguments>[^()]*)\))?")
_WIDE = Context(prec=400, rounding=ROUND_HALF_EVEN)
"""Holds any float exactly, so that nothing is rounded before the last step."""


class UnknownFormat(ContentFault):
    """A format that nobody defined, or one called with the wrong arguments."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Format:
    """One way to print a value: its parameters by name, an example, and what does it."""

    parameters: tuple[str, ...]
    example: str
    apply: Callable[..., str]
    optional: bool = False
    """The name alone will do, without parameters."""


def render(value: Printable, spelling: str, *, reason: str = "") -> str:
    """Print `value` as `spelling`, such as `percent(2)`, says; a missing one needs its `reason`."""
    apply = _parse(spelling)
    if value is None:
        if not reason:
            raise ContentFault("A missing value must say why it is missing.")
        return NOT_RECORDED
    return apply(value)


def prints_exactly(value: Printable, spelling: str) -> bool:
    """Whether `spelling` prints all of `value`, with nothing rounded away."""
    _WIDE.clear_flags()
    render(value, spelling)
    return not _WIDE.flags[Inexact]


def with_prefix(value: float, unit: str) -> str:
    """Three digits with the decimal prefix that suits them: 41.0 GB/s, 8.40 GFLOP/s, 512 B/s."""
    return render(value, prefixed(value, unit))


def prefixed(value: float, unit: str) -> str:
    """The format that prints `value` so, such as `quantity(GB/s, 1)`."""
    prefix = next((p for p in "PTGMk" if value >= float(parse_unit(p + unit).factor)), "")
    amount = value / float(parse_unit(prefix + unit).factor)
    return f"quantity({prefix}{unit}, {2 if amount < 10 else 1 if amount < 100 else 0})"


def check_format(spelling: str) -> None:
    """Raise `UnknownFormat` unless `spelling` names a format with the arguments it takes."""
    _parse(spelling)


def _parse(spelling: str) -> Callable[[Printable], str]:
    call = _CALL.fullmatch(spelling.strip())
    name = call["name"] if call else spelling.strip()
    known = FORMATS.get(name)
    if call is None or known is None:
        raise UnknownFormat(f"There is no format {spelling!r}.", hint=did_you_mean(name, FORMATS))
    written = [part.strip() for part in (call["arguments"] or "").split(",") if part.strip()]
    usage = f"{name}({', '.join(known.parameters)})" if known.parameters else name
    if not written and known.optional:
        return known.apply
    if len(written) != len(known.parameters):
        raise UnknownFormat(
            f"The format {spelling!r} is written {usage}.", hint=f"For example: {known.example}."
        )
    arguments: list[str | int] = []
    for parameter, text in zip(known.parameters, written, strict=True):
        if parameter == "unit":
            arguments.append(parse_unit(text).symbol)
        elif re.fullmatch("[0-9]|1[0-9]", text):
            arguments.append(int(text))
        else:
            raise UnknownFormat(f"The format {spelling!r} wants digits from 0 to 19, not {text!r}.")
    return lambda value: known.apply(value, *arguments)


def _fixed(value: Printable, digits: int) -> str:
    return _grouped(_round(_number(value), digits))


def _percent(value: Printable, digits: int) -> str:
    return f"{_grouped(_round(_number(value).scaleb(2, _WIDE), digits))}{NBSP}%"


def _integer(value: Printable) -> str:
    number = _number(value)
    if number != number.to_integral_value():
        raise ContentFault(
            f"{value} is not a whole number.", hint="Use fixed(n), or compute a whole number."
        )
    return _grouped(_round(number, 0))


def _scientific(value: Printable, digits: int) -> str:
    number = _number(value)
    if not number:
        return "0"
    exponent = Context(prec=digits + 1, rounding=ROUND_HALF_EVEN).plus(number).adjusted()
    mantissa = _round(number.scaleb(-exponent, _WIDE), digits)
    return f"{_grouped(mantissa)}{NBSP}×{NBSP}{_power(10, exponent)}"


def _error(value: Printable) -> str:
    number = _number(value)
    return (
        _percent(number, 2)
        if abs(number) >= Decimal("1e-4") or not number
        else _scientific(number, 1)
    )


def _power_of_two(value: Printable) -> str:
    number = _number(value)
    # The float itself, not its shortest text: 2⁻²⁴ is not 5.960464477539063e-08.
    exact = value if isinstance(value, float) else number
    numerator, denominator = exact.as_integer_ratio() if number > 0 else (0, 1)
    if numerator.bit_count() != 1 or denominator.bit_count() != 1:
        raise ContentFault(f"{value} is not a power of two.")
    return _power(2, numerator.bit_length() - denominator.bit_length())


def _seconds(value: Printable, digits: int) -> str:
    number = _number(value)
    for symbol in ("ns", "µs", "ms"):
        rounded = _round(_WIDE.divide(number, parse_unit(symbol).factor), digits)
        if number and abs(rounded) < 1000:
            return f"{_grouped(rounded)}{NBSP}{symbol}"
    return f"{_grouped(_round(number, digits))}{NBSP}s"


def _bytes(value: Printable, symbol: str = "B", digits: int = 0) -> str:
    if parse_unit(symbol).base != "B":
        raise MixedUnits(
            f"A number of bytes cannot be given in {symbol}.", hint="Use quantity(unit, n)."
        )
    return _integer(value) + f"{NBSP}B" if symbol == "B" else _quantity(value, symbol, digits)


def _quantity(value: Printable, symbol: str, digits: int) -> str:
    """A plain number counts the unit's base (bytes, FLOP per second); a `Quantity` is converted."""
    unit = parse_unit(symbol)
    if isinstance(value, Quantity):
        amount = value.to(symbol).amount
    else:
        amount = _WIDE.divide(_number(value), unit.factor)
    return f"{_grouped(_round(amount, digits))}{NBSP}{symbol}"


def _decibel(value: Printable, digits: int) -> str:
    return f"{_fixed(value, digits)}{NBSP}dB"


def _text(value: Printable) -> str:
    if not isinstance(value, str):
        raise ContentFault(
            f"{value} is a number, not a text.", hint="Give it a number format, such as fixed(2)."
        )
    return value


def _documented(value: Printable) -> str:
    """Exactly as the source has it: never regrouped, never rounded."""
    if isinstance(value, Quantity):
        return value.label.replace(" ", NBSP)
    return value if isinstance(value, str) else f"{_number(value):f}"


def _full(value: Printable) -> str:
    """All digits there are: whole numbers grouped, others as the shortest text that reads back."""
    if isinstance(value, int):
        return _integer(value)
    return repr(value) if isinstance(value, float) else _documented(value)


FORMATS: Mapping[str, Format] = {
    "fixed": Format(parameters=("n",), example="fixed(2) prints 53.89", apply=_fixed),
    "ratio": Format(parameters=("n",), example="ratio(2) prints 2.68", apply=_fixed),
    "percent": Format(parameters=("n",), example="percent(2) prints 2.45 %", apply=_percent),
    "scientific": Format(
        parameters=("n",), example="scientific(1) prints 2.1 × 10⁻⁷", apply=_scientific
    ),
    "error": Format(parameters=(), example="error prints 2.45 % or 2.1 × 10⁻⁷", apply=_error),
    "integer": Format(parameters=(), example="integer prints 65,536", apply=_integer),
    "power_of_two": Format(parameters=(), example="power_of_two prints 2⁻⁸", apply=_power_of_two),
    "seconds": Format(parameters=("n",), example="seconds(2) prints 16.60 µs", apply=_seconds),
    "decibel": Format(parameters=("n",), example="decibel(1) prints 40.8 dB", apply=_decibel),
    "bytes": Format(
        parameters=("unit", "n"),
        example="bytes prints 65,536 B, and bytes(GiB, 1) prints 1.5 GiB",
        apply=_bytes,
        optional=True,
    ),
    "quantity": Format(
        parameters=("unit", "n"), example="quantity(GB, 1) prints 1.2 GB", apply=_quantity
    ),
    "text": Format(parameters=(), example="text prints the words themselves", apply=_text),
    "full": Format(parameters=(), example="full prints 53.89473684210527", apply=_full),
    "documented": Format(parameters=(), example="documented prints 197 TFLOP/s", apply=_documented),
}


def _number(value: Printable) -> Decimal:
    if isinstance(value, bool) or not isinstance(value, int | float | Decimal):
        raise ContentFault(
            f"{value!r} is not a number.", hint="Use the format text, or documented for a quantity."
        )
    number = Decimal(repr(value)) if isinstance(value, float) else Decimal(value)
    if not number.is_finite() or abs(number.adjusted()) > 350:
        raise ContentFault(f"{value!r} cannot be printed as a number.")
    return number


def _round(number: Decimal, digits: int) -> Decimal:
    return number.quantize(Decimal(1).scaleb(-digits), context=_WIDE)


def _grouped(number: Decimal) -> str:
    """With thousands separated by commas and a true minus sign; never a negative zero."""
    text = f"{number.copy_abs():,f}"
    return MINUS + text if number < 0 else text


def _power(base: int, exponent: int) -> str:
    return f"{base}{str(exponent).translate(_SUPERSCRIPT)}"
