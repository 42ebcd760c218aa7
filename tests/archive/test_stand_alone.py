"""Does the verifier stand alone: one file, any Python from 3.8 on, the standard library only?"""

import ast
import json
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from decimal import Decimal
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from report.archive import verify as verifier
from report.errors import ContentFault
from report.notation import FORMATS, render
from report.units import UNITS
from tests.archive.ground import AUTHOR, pin
from tests.archive.make_fixtures import FIXTURES

SOURCE = Path(verifier.__file__)
NBSP = "\u00a0"
VECTORS = json.loads(
    (Path(__file__).parents[1] / "report/notation_vectors.json").read_text(encoding="utf-8")
)["vectors"]


def python(minor: int) -> str | None:
    """A Python 3.`minor` that runs, or nothing."""
    found = shutil.which(f"python3.{minor}")
    works = (
        found and not subprocess.run([found, "-c", ""], capture_output=True, check=False).returncode
    )
    return found if works else None


def test_it_imports_the_standard_library_alone():
    tree = ast.parse(SOURCE.read_text(encoding="utf-8"))
    names = {alias.name for n in ast.walk(tree) if isinstance(n, ast.Import) for alias in n.names}
    names |= {str(n.module) for n in ast.walk(tree) if isinstance(n, ast.ImportFrom)}

    assert {name.split(".")[0] for name in names} <= sys.stdlib_module_names


def test_its_grammar_is_that_of_python_3_8():
    ast.parse(SOURCE.read_text(encoding="utf-8"), feature_version=(3, 8))


@pytest.mark.parametrize("minor", range(8, 15))
def test_it_runs_under_each_python_that_is_here(minor, tmp_path):
    found = python(minor)
    if found is None:
        pytest.skip(f"no Python 3.{minor} here")
    for fixture, code in (
        ("trusted", 0),
        ("changed", 10),
        ("target-met", 0),
        ("target-of-an-exact-number", 0),
        ("judged-of-another-result", 10),
        ("release-too-long", 10),
    ):
        release = tmp_path / fixture / "tiny-1"
        with zipfile.ZipFile(FIXTURES / fixture / "release.zip") as packed:
            packed.extractall(release.parent)
        done = subprocess.run(
            [found, "-I", "-S", SOURCE, release, "--key", pin(AUTHOR)],
            capture_output=True,
            text=True,
            encoding="utf-8",
            check=False,
        )
        assert done.returncode == code, done.stderr


def test_a_reader_can_read_all_of_it():
    assert len(SOURCE.read_text(encoding="utf-8").splitlines()) < 400


@pytest.mark.parametrize(("value", "spelling", "text"), VECTORS)
def test_what_the_pages_print_reads_as_the_number(value, spelling, text):
    number = int(value) if value.lstrip("-").isdigit() else float(value)
    printed = text.replace(" ", NBSP)

    assert verifier.reads_as(printed, number), spelling
    for other in altered(printed):
        assert not holds(other, number), other


def altered(text: str) -> Iterator[str]:
    """The text with another last digit, and of a unit a thousand times as large."""
    mantissa, space, unit = text.partition(NBSP)
    if mantissa[-1].isdecimal():
        yield f"{mantissa[:-1]}{(int(mantissa[-1]) + 2) % 10}{space}{unit}"
    if any(digit in mantissa for digit in "123456789") and not unit.startswith("×"):
        yield f"{mantissa}{NBSP}k{unit}"


def holds(text: str, value: object) -> bool:
    try:
        return verifier.reads_as(text, value)
    except verifier.REFUSED:
        return False


@given(
    st.one_of(
        st.floats(allow_nan=False, allow_infinity=False),
        st.integers(-(10**30), 10**30),
        st.decimals(allow_nan=False, allow_infinity=False, places=6, min_value=-(10**9)),
    ),
    st.sampled_from(
        [
            *("fixed(3)", "ratio(2)", "percent(1)", "scientific(4)", "error", "integer"),
            *("power_of_two", "seconds(2)", "seconds(0)", "decibel(1)", "bytes", "bytes(GiB, 2)"),
            *("quantity(TFLOP/s, 1)", "quantity(µs, 3)", "documented"),
        ]
    ),
)
def test_whatever_the_pages_print_reads_as_the_number(number, spelling):
    try:
        printed = render(number, spelling)
    except ContentFault:
        return
    assert verifier.reads_as(printed, number)


@pytest.mark.parametrize(
    ("text", "holds"),
    [
        *(("58.5 µs", True), ("58,467 ns", True), ("58,467", True)),
        *(("58.4 µs", False), ("58,467 s", False), ("58,468", False), ("0.000058", False)),
    ],
)
def test_a_whole_number_under_a_name_that_ends_in_ns_may_be_printed_as_a_time(text, holds):
    steps = {"steps": [{"duration_ns": 58467}]}
    found = verifier.look_up(
        {"records/run/trace/summary.json": steps}.get, "run/trace#/steps/0/duration_ns"
    )

    assert verifier.reads_as(text.replace(" ", NBSP), found) is holds


@given(
    st.floats(0.001, 1e6).flatmap(lambda one: st.tuples(st.just(one), st.floats(0.001, 1e6))),
    st.integers(0, 6),
)
def test_a_text_that_another_number_prints_is_refused(numbers, digits):
    one, two = numbers
    text = render(two, f"fixed({digits})")
    apart = abs(Decimal(repr(one)) - Decimal(repr(two))) > Decimal(1).scaleb(-digits)

    assert not (apart and verifier.reads_as(text, one))


def test_it_knows_every_format_of_the_pages():
    for name, known in FORMATS.items():
        spelling = name if known.optional or not known.parameters else None
        arguments = ", ".join("GB" if p == "unit" else "1" for p in known.parameters)
        value = "x" if name == "text" else 1
        printed = render(value, spelling or f"{name}({arguments})")
        assert verifier.reads_as(printed, value)


def test_it_knows_every_unit_of_the_pages():
    for symbol, unit in UNITS.items():
        assert verifier.UNITS[symbol] == (Fraction(unit.factor), unit.base)
