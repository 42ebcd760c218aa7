"""What the command lines of all labs share."""

import argparse
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from types import FrameType

from lab.kit.backend import PLATFORMS


def run(main: Callable[[], int]) -> None:
    """Leave with the exit code of `main`. A SIGTERM ends it as Ctrl-C does."""
    signal.signal(signal.SIGTERM, _interrupt)
    sys.exit(main())


def parser_of(lab: str, description: str, example: str) -> argparse.ArgumentParser:
    """The parser of a lab's command line; options are never abbreviated."""
    return argparse.ArgumentParser(
        prog=f"python -m lab.{lab}",
        description=description,
        epilog=example,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )


def add_place(parser: argparse.ArgumentParser, folder: str) -> None:
    """Where to measure, and the folder for the run: by default runs/`folder`-PLATFORM."""
    parser.add_argument(
        "--platform",
        choices=PLATFORMS,
        default="cpu",
        help="where to measure; if it is missing the run fails (default: cpu)",
    )
    parser.add_argument(
        "--run-dir",
        type=Path,
        metavar="DIR",
        help=f"new folder for the run (default: runs/{folder}-PLATFORM)",
    )


def add_shape(parser: argparse.ArgumentParser, largest: int) -> None:
    """The shape of Y = X·W, each dimension at most `largest`."""
    for name, metavar, default, told in (
        ("batch", "M", 64, "rows of X"),
        ("features", "K", 128, "columns of X"),
        ("outputs", "N", 64, "columns of W"),
    ):
        parser.add_argument(
            f"--{name}",
            type=whole_number(largest),
            default=default,
            metavar=metavar,
            help=f"{told} (default: {default})",
        )


def refuse_large(
    parser: argparse.ArgumentParser, batch: int, features: int, outputs: int, largest: int
) -> None:
    """Exit with code 2 unless the product has at most `largest` multiply positions."""
    product = batch * features * outputs
    if product > largest:
        parser.error(
            f"batch x features x outputs is {product:,}; this lab takes at most {largest:,}"
        )


def whole_number(maximum: int, *, low: int = 1) -> Callable[[str], int]:
    """An argparse type: plain digits, from `low` to `maximum`."""

    def read(text: str) -> int:
        digits = text.isascii() and text.isdecimal() and len(text) <= 9
        if not digits or not low <= int(text) <= maximum:
            told = f"{text!r} is not a whole number from {low} to {maximum}"
            raise argparse.ArgumentTypeError(told)
        return int(text)

    return read


def _interrupt(_signal: int, _frame: FrameType | None) -> None:
    raise KeyboardInterrupt
