"""From a step to its program, and from an operation to the line of HLO that it is.

A record's own texts are taken, and only where the profile tells the same name. The record of
compilers adds which matrix instructions the same product is given on each generation.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass

from report.evidence import Evidence
from report.numbers.lowering import Preflight
from report.numbers.precision import PrecisionRun, Result
from report.numbers.study import Study
from report.pages.record_page import listing

_MODULE = re.compile(r"HloModule ([\w.-]+)")
_COMPUTATION = re.compile(r"^(?:ENTRY )?%?(?P<name>[\w.-]+) [^\n]*\{$(?P<body>.*?)^\}", re.M | re.S)
_OPERATION = re.compile(r"^ *(?:ROOT )?%?(?P<name>[\w.-]+) = (?P<rest>.+)$", re.M)
_CALLS = re.compile(r"calls=%?(?P<name>[\w.-]+)")
_PRODUCT = re.compile(r"= (?P<line>\S+ (?:dot|convolution)\(.*)$", re.M)
_ASIDES = re.compile(r", (?:metadata|backend_config|frontend_attributes)=.*")
MAX_LINE = 140
"""Characters of one line of HLO that are shown."""

SAME_PRODUCT: Mapping[str, str] = {"fp32": "fp32-highest", "bf16": "bf16", "int8": "int8"}
"""The lab's policies as the record of compilers calls them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HloLine:
    """One operation as the program's text has it."""

    text: str
    product: str
    """The matrix product that it is, or that its fusion holds; empty when there is none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ProgramText:
    """One compiled program of a record, as its pages show it."""

    module: str
    href: str
    """Where its text stands, from the site's root."""
    lines: Mapping[str, HloLine]
    """By the name of the operation."""
    instructions: str
    """Where the matrix instructions of the same product stand; empty where none were read."""


def programs_of(study: Study, evidence: Evidence) -> dict[str, ProgramText]:
    """The programs of a record by the inner names of the steps that ran them."""
    run = study.runs[evidence.record.name]
    if not isinstance(run, PrecisionRun):
        return {}
    shape = f"{run.request.batch}x{run.request.features}x{run.request.outputs}"
    compilers = study.featured(Preflight)
    shown: dict[tuple[str, str], str] = {}
    found = {}
    for result in run.results:
        digests = (result.stablehlo.sha256, result.hlo.sha256)
        text = listing(evidence.record.file(result.hlo.path))
        module = _MODULE.match(text)
        found[result.id] = ProgramText(
            module=module[1] if module else "",
            href=f"records/{run.name}.html#program-{shown.setdefault(digests, result.id)}",
            lines=_lines(text),
            instructions=_instructions(result, shape, compilers),
        )
    return found


def _instructions(result: Result, shape: str, compilers: Preflight | None) -> str:
    policy = SAME_PRODUCT.get(result.policy, "")
    if compilers is None or policy not in compilers.schedules.get(shape, {}):
        return ""
    return f"records/{compilers.name}.html#instructions-{shape}-{policy}"


def _lines(text: str) -> dict[str, HloLine]:
    """Every operation of a program, and of the computations that its fusions call."""
    bodies = {found["name"]: found["body"] for found in _COMPUTATION.finditer(text)}
    found = {}
    for line in _OPERATION.finditer(text):
        called = _CALLS.search(line["rest"])
        body = bodies.get(called["name"], "") if called else f"= {line['rest']}"
        product = _PRODUCT.search(body)
        found[line["name"]] = HloLine(
            text=_cut(line["rest"]), product=_cut(product["line"]) if product else ""
        )
    return found


def _cut(line: str) -> str:
    """Without what the compiler notes beside the operation, and not too long."""
    line = _ASIDES.sub("", line)
    return line if len(line) <= MAX_LINE else f"{line[: MAX_LINE - 2]} …"
