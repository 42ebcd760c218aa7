"""Strict JSON from a file that somebody else wrote: bounded, and with nothing to interpret."""

import json
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NoReturn

from lab.kit.faults import LabFault

MAX_DEPTH = 32
MAX_INTEGER = 2**53 - 1
"""Larger whole numbers do not survive a reader that knows only float64."""


class NotEvidence(LabFault):
    """A recorded file is not what it should be."""

    exit_code = 7
    kind = "evidence"


def read(path: Path, *, limit: int) -> tuple[bytes, dict[str, Any]]:
    """The bytes of a plain file of at most `limit` bytes, and the JSON object they hold."""
    try:
        if not path.is_file() or path.is_symlink():
            raise NotEvidence(f"{path} is not a plain file")
        with path.open("rb") as file:
            content = file.read(limit + 1)
    except OSError as problem:
        raise NotEvidence(f"{path} cannot be read: {problem.strerror}") from None
    if len(content) > limit:
        raise NotEvidence(f"{path} has more than {limit:,} bytes")
    return content, parse(content, str(path))


def parse(content: bytes, where: str) -> dict[str, Any]:
    """The JSON object in `content`, or a refusal: no key twice, no NaN, nothing huge or deep."""
    try:
        value = json.loads(
            content.decode(),
            parse_constant=_constant,
            parse_int=_integer,
            parse_float=_decimal,
            object_pairs_hook=_mapping,
        )
    except UnicodeDecodeError as problem:
        raise NotEvidence(f"{where} is not UTF-8, at byte {problem.start:,}") from None
    except json.JSONDecodeError as problem:
        at = f"line {problem.lineno}, column {problem.colno}"
        raise NotEvidence(f"{where} is not JSON: {problem.msg.lower()} at {at}") from None
    except RecursionError:
        raise NotEvidence(f"{where} is nested deeper than {MAX_DEPTH} levels") from None
    except ValueError as problem:
        raise NotEvidence(f"{where} is not strict JSON: {problem}") from None
    if _depth(value) > MAX_DEPTH:
        raise NotEvidence(f"{where} is nested deeper than {MAX_DEPTH} levels")
    if not isinstance(value, dict):
        raise NotEvidence(f"{where} holds no JSON object")
    return value


def _constant(text: str) -> NoReturn:
    raise ValueError(f"the number {text}")


def _integer(text: str) -> int:
    if len(text) > 17 or abs(int(text)) > MAX_INTEGER:
        raise ValueError(f"the number {text[:24]} is too large")
    return int(text)


def _decimal(text: str) -> float:
    if not math.isfinite(number := float(text)):
        raise ValueError(f"the number {text[:24]} is too large")
    return number


def _mapping(pairs: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, value in pairs:
        if key in found:
            raise ValueError(f"the key {key[:40]!r} twice in one object")
        found[key] = value
    return found


def _depth(value: object) -> int:
    """Levels of objects and lists, walked without recursion."""
    deepest, waiting = 0, [(value, 1)]
    while waiting:
        here, depth = waiting.pop()
        inner = here.values() if isinstance(here, dict) else here if isinstance(here, list) else ()
        if isinstance(here, dict | list):
            deepest = max(deepest, depth)
        waiting.extend((each, depth + 1) for each in inner)
    return deepest
