"""The compiler's own account of a program's memory, in bytes: estimates, not measurements."""

from collections.abc import Mapping
from typing import Any

MEMORY = (
    ("argument", "argument_size_in_bytes"),
    ("output", "output_size_in_bytes"),
    ("temporary", "temp_size_in_bytes"),
    ("alias", "alias_size_in_bytes"),
    ("generated_code", "generated_code_size_in_bytes"),
    ("peak", "peak_memory_in_bytes"),
)


def memory_bytes(compiled: Any) -> dict[str, int | None]:
    """Each figure by its name; None where this compiler has none."""
    stats = compiled.memory_analysis()
    return {name: getattr(stats, attribute, None) for name, attribute in MEMORY}


def no_figure(figures: Mapping[str, int | None]) -> str | None:
    """Why some of the compiler's figures are null, or None when it gave them all."""
    missing = [name for name, size in figures.items() if size is None]
    return f"the compiler reports no figure for {', '.join(missing)}" if missing else None
