"""A report of one's own, started: every field explained, and what a record knows filled in.

What the record cannot know stays null, and `check` tells of it.
"""

import re
from collections.abc import Iterator
from pathlib import Path
from textwrap import fill

from report.archive import records
from report.archive.records import NAME
from report.errors import ContentFault, UsageFault
from report.evidence import Evidence
from report.numbers.factors import fields_of, known_factors
from report.numbers.own import escaped, numbers_of, sections_of
from report.record import Record, load_record

_RECORD = "YOUR-RECORD"
"""Stands where the record's name belongs until there is one; `check` tells that it is no record."""


def start(name: str, content: Path, shelf: Path, record: str = "") -> Path:
    """Write `content/reports/<name>.yaml`, which must not be there yet, and return its path."""
    if not NAME.fullmatch(name):
        raise UsageFault(f"{name!r} cannot name a report.", hint="Use a-z, 0-9 and hyphens.")
    found = load_record(records.find(record, shelf)) if record else None
    path = content / "reports" / f"{name}.yaml"
    path.parent.mkdir(parents=True, exist_ok=True)
    form = _TEMPLATE.replace("# FACTORS", _factors(found))
    text = re.sub("RECORD(?![A-Z])", record or _RECORD, fitted(form, found))
    if found:
        text = text.replace(_COVERED, covered_by(found))
    for fact, told in known_of(found).items() if found else ():
        text = re.sub(f"(?m)^  {fact}: null +", f"  {fact}: {told}   ", text, count=1)
    try:
        with path.open("x", encoding="utf-8", newline="\n") as file:
            file.write(text)
    except FileExistsError:
        raise UsageFault(f"{path} is already there and stays as it is.") from None
    return path


def _factors(record: Record | None) -> str:
    """Every factor, as a comment."""
    fields = (field for field, _ in fields_of(record)) if record else iter(())
    example = next((field for field in fields if field.startswith("request/")), "request/batch")
    told = f"{known_factors(example)}. The page names every difference."
    return fill(told, 100, initial_indent="# ", subsequent_indent="# ", break_on_hyphens=False)


def fitted(text: str, record: Record | None) -> str:
    """The form for a record of any lab: what points at nothing in it becomes null, or goes.

    The metric becomes the first number of the results, when the one in the form is not there.
    """
    if record is None:
        return text
    if not _is_there(record, f"RECORD#{_METRIC};"):
        text = text.replace(_METRIC, next(_measured(record), "/results/…"))

    def fit(fact: re.Match[str]) -> str:
        if _is_there(record, fact[0]):
            return fact[0]
        if fact["name"] in _OPTIONAL:
            return ""
        comment = re.search(" +# .*", fact[0])
        return f"  {fact['name']}: null{comment[0] if comment else _ASKED}\n"

    return _FACT.sub(fit, text)


def _measured(record: Record) -> Iterator[str]:
    """A pointer at each number of the report that was not asked for."""
    for part in sections_of(record.report):
        if part != "scope":
            yield from (f"/{escaped(part)}{path}" for path in numbers_of(record.report[part]))


def _is_there(record: Record, text: str) -> bool:
    """Whether the record has all that `text` points at."""
    try:
        for document, pointer in re.findall("RECORD(?:/([a-z]+))?#(/[^;` ]+)", text):
            record.at(document or "report", pointer)
    except ContentFault:
        return False
    return True


def known_of(record: Record) -> dict[str, str]:
    """Facts that follow from where a run was made, as YAML texts."""
    scope = record.report.get("scope", {})
    known = {"platform": str(scope.get("statement", "null"))}
    if scope.get("platform") == "cpu":
        known["generation"] = "None. The run used a CPU, and no TPU took part."
        known["chips"] = '"None: a CPU"'
    else:
        kind = f"{{value}}`{record.name}/environment#/devices/used/kind; text`"
        known["generation"] = f'"{kind}"'
    if scope.get("single_device"):
        known["topology"] = '"None: one device"'
    return known


def covered_by(record: Record) -> str:
    """What the manifest of a record covers, by the files that it lists, as a YAML text."""
    parts = dict.fromkeys(path.partition("/")[0] for path in record.manifest)
    *most, last = [_FILES.get(part, part if part.isalpha() else f"`{part}`") for part in parts]
    told = f"The manifest of the record covers its {', '.join(most)} and {last}."
    return fill(told, 100, initial_indent=">-\n    ", subsequent_indent="    ")


def next_step(name: str, content: Path, evidence: Evidence) -> tuple[str, ...]:
    """What to do with a new record: start a report, when none names it and one could stand on it.

    Nothing was run where only a compiler spoke, so no report rests on that.
    """
    reports = content / "reports"
    named = re.compile(rf"(?<![\w-]){re.escape(name)}(?![\w-])")
    texts = (path.read_text("utf-8", errors="replace") for path in reports.glob("*.yaml"))
    taken = (reports / f"{name}.yaml").exists() or any(map(named.search, texts))
    if taken or evidence.record.report.get("lab") == "preflight":
        return ("check",)
    return ("new", "report", name, "--record", name)


_FILES = {
    "config.json": "configuration",
    "environment.json": "environment",
    "report.json": "results",
    "foreign": "published report",
}
"""What a reader calls a file or a folder of a run, where that is not its name."""
_COVERED = "null                  # what the record's manifest covers"
_FACT = re.compile(r"^  (?P<name>[A-Za-z][A-Za-z -]*): .*\n(?:    .*\n)*", re.MULTILINE)
"""A fact of the form, with the lines that go on with it."""
_OPTIONAL = ("numerical error", "stored operands")
"""Facts of the form that no report must answer."""
_ASKED = "               # values of your record, or a sentence"
_METRIC = "/results/outlier-int8/relative_l2_error"

_TEMPLATE = """\
# A decision report in six parts. Write sentences; Markdown is understood. A fact that is null
# prints as "not recorded" and makes the report a draft, which nobody can sign. Where a fact does
# not apply, say so and why: "None: inference only".
#
# A number from the record is never typed. Point at it, and say how it prints:
#   {value}`RECORD#/results/outlier-int8/relative_l2_error; error`
# A number that you chose is marked as given: {given}`1 %`
# What looks measured is refused where it is typed: a number with a unit, a decimal, 1e-3, 3x,
# 12 times smaller. Counts, shapes, dates, names and versions may stand: one of 3 cases, 64 × 128,
# Python 3.12, Llama-3.1. The title and the names of facts take no roles; say it in words there.

title: null            # one line: what was found or decided
number: 1              # of this report; each release of it takes the next number
date: null             # the day you declare, such as 2026-01-31
# license: CC-BY-4.0   # of the report, if you state one: an SPDX identifier or an https:// address
record: RECORD         # the run it rests on: python build.py record RUN_DIR --as NAME

# What had to hold, declared before measuring. The build compares; you do not.
target:
  metric: RECORD#/results/outlier-int8/relative_l2_error   # a pointer into the record
  comparator: "<="     # one of < <= > >=
  threshold: 0.01      # in the metric's own unit
  format: error        # how both print: error, fixed(2), percent(1), seconds(3), bytes, decibel(1)
  statement: null      # the target as a sentence, and when it was set

workload:
  modality: null              # text, speech, vision, a synthetic product, ...
  objective: null             # what this is meant to find out
  batch and sequence: >-      # shapes, and their distribution where there is one
    {value}`RECORD#/request/batch; integer` rows, a contraction of
    {value}`RECORD#/request/features; integer`, {value}`RECORD#/request/outputs; integer` outputs
  mode: null                  # training, prefill, decode, one operation, ...
  quality metric: null        # what is judged, against what
  latency target: null        # or: "None: accuracy alone is asked"

hardware:
  generation: null            # such as TPU v5e; or: "None: a CPU, and no TPU took part"
  chips: null                 # how many chips
  hosts: "{value}`RECORD/environment#/devices/process_count; integer` process"
  JAX devices: >-
    {value}`RECORD/environment#/devices/count; integer`, of which the lab uses the first local one
  topology: null              # such as 2x2; or: "None: one device"
  backend: "{value}`RECORD/environment#/platform/actual; text`, as requested"
  versions: >-
    JAX {value}`RECORD/environment#/versions/jax; text`, jaxlib
    {value}`RECORD/environment#/versions/jaxlib; text`, NumPy
    {value}`RECORD/environment#/versions/numpy; text`, Python
    {value}`RECORD/environment#/versions/python; text`

# The representation of each part; "None: ..." where there is no such part.
precision_policy:
  weights: "{value}`RECORD#/results/balanced-int8/requested/operand; text` as requested"
  activations: "{value}`RECORD#/results/balanced-int8/requested/operand; text` as requested"
  accumulators: "{value}`RECORD#/results/balanced-int8/requested/accumulator; text` as requested"
  reductions: null            # such as partial sums over chips; FP32 or less
  gradients: null             # or: "None: inference only"
  optimizer state: null       # or: "None: inference only"
  inference cache: null       # the key-value cache, if there is one

evidence:
  hashes: null                  # what the record's manifest covers
  numerical error: >-
    INT8 {value}`RECORD#/results/balanced-int8/relative_l2_error; error`, BF16
    {value}`RECORD#/results/balanced-bf16/relative_l2_error; error`; with the outlier, INT8
    {value}`RECORD#/results/outlier-int8/relative_l2_error; error`, BF16
    {value}`RECORD#/results/outlier-bf16/relative_l2_error; error`
  stored operands: >-
    INT8 {value}`RECORD#/results/balanced-int8/stored_bytes/total; bytes`, FP32
    {value}`RECORD#/results/balanced-fp32/stored_bytes/total; bytes`
  held-out task quality: null   # on data that nobody tuned on; or why there is none
  synchronized timing: >-       # what was timed, and whether it may be compared
    {value}`RECORD#/results/balanced-int8/timing_s/samples; text` a result, each waited for;
    none is compared here
  memory: >-                    # measured, or the compiler's estimate: say which
    A compiler's estimate, temporaries of the INT8 program:
    {value}`RECORD#/results/balanced-int8/compiler_memory_bytes/temporary; bytes`
  trace: null                   # what a profile showed; or: "None was captured"

interpretation:
  hypothesis: null              # why the figures came out so
  what changed: null            # the one factor between the compared cases
  target met: null              # yes or no, in words; the build prints the comparison itself

scope:
  devices: "{value}`RECORD/environment#/devices/used/kind; text`, one device"
  extent: null                  # one operation, one model, one request
  platform: null                # begins with CPU, GPU or TPU, as the record has it
  left to qualify: null         # what has to be shown before anyone relies on it

decision:
  outcome: hold                 # hold, adopt or reject; adopt only when the target is met
  statement: null               # what is decided, in one sentence
  until:                        # only on hold: what must happen first
    - null

# To set it beside the run that it is compared with, name that run and the one thing you changed:
# FACTORS
# baseline:
#   record: the-run-before
#   factor: shape

# To take the place of an earlier release, name it and the SHA-256 of its MANIFEST.sha256:
# supersedes:
#   release: mine-1
#   manifest: 0000000000000000000000000000000000000000000000000000000000000000
"""
