"""What is left of a program once it is compiled: nothing that is timed may have been removed.

A compiler may work out ahead what depends on no argument, or drop what nobody reads. Its text
tells. All of this is static: a fact about the optimized HLO, not about what ran.
"""

from collections import Counter
from collections.abc import Sequence
from typing import Any

from lab.kit import hlo
from lab.kit.faults import CheckFailed

LEVEL = "optimized-hlo"


def elementwise(name: str, text: str, *, elements: int, any_of: Sequence[str]) -> dict[str, object]:
    """What a program does to every element; refused if it no longer does any of `any_of`."""
    module = _read(name, text)
    operations = Counter(
        each.opcode
        for computation in module.reached()
        for each in computation.instructions
        if each.opcode in any_of and any(shape.elements == elements for shape in each.shapes)
    )
    if not operations:
        raise CheckFailed(
            f"{name}: the compiled program holds no {' or '.join(any_of)} of {elements:,} elements"
        )
    return {
        "level": LEVEL,
        "operations": dict(sorted(operations.items())),
        "largest_constant": _largest_constant(name, module, elements),
    }


def product(name: str, text: str, *, positions: int, smallest: int) -> dict[str, Any]:
    """The products of a program and what it converts; refused if the multiplications are gone.

    `positions` is the multiply positions asked for, `smallest` the elements of the smaller
    operand: a constant of that size would be an operand worked out ahead. Where the product is a
    call into a library, its name is all that can be told.
    """
    module = _read(name, text)
    summary: dict[str, Any] = hlo.summarize(module)
    work = summary["flop"]
    if not summary["dots"] and not summary["opaque"]:
        raise CheckFailed(f"{name}: the compiled program holds no matrix product")
    if work is not None and work < 2 * positions:
        raise CheckFailed(
            f"{name}: the compiled program does {work:,} operations, not {2 * positions:,}"
        )
    return {
        "level": LEVEL,
        "products": [
            {key: dot[key] for key in ("opcode", "operands", "stored", "accumulator")}
            for dot in summary["dots"]
        ],
        "operations": work,
        "operations_reason": summary["flop_reason"],
        "converts": summary["converts"],
        "calls": summary["opaque"],
        "largest_constant": _largest_constant(name, module, smallest),
    }


def _read(name: str, text: str) -> hlo.Module:
    try:
        module = hlo.read(text)
    except hlo.UnreadableProgram as problem:
        raise CheckFailed(f"{name}: the compiled program cannot be read: {problem}") from problem
    if reason := module.totals_reason:
        raise CheckFailed(f"{name}: the compiled program cannot be judged: {reason}")
    return module


def _largest_constant(name: str, module: hlo.Module, limit: int) -> int:
    """Elements of the largest constant; refused when an operand of `limit` elements fits in it."""
    sizes = [
        shape.elements
        for computation in module.reached()
        for each in computation.instructions
        if each.opcode == "constant"
        for shape in each.shapes
    ]
    largest = max(sizes, default=0)
    if largest >= max(2, limit):
        raise CheckFailed(
            f"{name}: a constant of {largest:,} elements: the compiler worked the answer out ahead"
        )
    return largest
