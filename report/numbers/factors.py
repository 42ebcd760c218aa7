"""What one may mean to change between two runs, and the recorded fields that this changes.

A factor is a name that stands for fields of the labs here, or one recorded field by itself, such
as `request/cols`: so a lab that is not known here has factors too.
"""

from collections.abc import Collection, Iterator, Mapping
from typing import Any

from report.errors import UsageFault
from report.numbers.kinds import KINDS
from report.numbers.own import escaped
from report.record import Record

FACTORS: Mapping[str, tuple[str, ...]] = {
    "platform": ("request/platform", "environment/platform", "environment/devices", "scope"),
    "shape": ("request/batch", "request/batches", "request/features", "request/outputs"),
    "steps": ("request/steps", "request/processes", "request/rounds", "request/samples"),
    "dispatch": ("request/dispatch", "environment/flags/jax_cpu_enable_async_dispatch"),
    "policies": ("request/policies", "sources/lab/policies"),
    "inputs": ("request/seed", "request/outlier_feature", "request/outlier_factor", "inputs"),
    "versions": ("environment/versions", "environment/blas"),
    "machine": tuple(
        f"environment/{part}"
        for part in ("cpu", "operating_system", "threads", "limits", "clock", "virtual_machine")
    ),
    "flags": ("environment/flags",),
    "lab": ("lab", "schema", "sources"),
}
"""Each name, and the recorded fields that belong to it."""

_FOLLOWS: Mapping[str, tuple[str, ...]] = {"shape": ("inputs",), "platform": ("machine", "flags")}
"""What cannot help changing with a factor, apart from what was asked for."""

_PASSING = ("environment/recorded_at", "environment/load_average")
"""Recorded, and different each time; no factor of any result."""
_PASSING_HERE = (
    *_PASSING,
    *(f"request/{part}" for part in ("trace", "accuracy", "limit_s")),
    *(
        f"environment/{part}"
        for part in ("clock/tick_s", "redacted", "device_memory", "device_memory_reason")
    ),
)
"""The same in the labs here, of which it is known."""


def factor_of(field: str) -> str:
    """The name that a field belongs to, or the field itself."""
    named = (name for name, fields in FACTORS.items() if _lies_in(field, fields))
    return next(named, field)


def brings_about(factor: str, field: str, *, known: bool = True) -> bool:
    """Whether `field` cannot help changing with `factor`; what was asked for always can.

    What is asked for in a lab that is `known` here brings about the recorded rest of its factor.
    Of a lab that is not `known` here one thing is told: its inputs are made from its request.
    """
    if field.startswith("request/"):
        return False
    if known or factor in FACTORS:
        group = factor_of(factor)
        asked = (group,) if factor.startswith("request/") else ()
        return factor_of(field) in (*asked, *_FOLLOWS.get(group, ()))
    return factor.startswith("request/") and factor_of(field) == "inputs"


def check_factor(factor: str, fields: Collection[str]) -> None:
    """Raise UsageFault unless `factor` is a name or one of the recorded `fields`."""
    if factor in FACTORS or factor in fields:
        return
    asked = [field for field in fields if field.startswith("request/")]
    meant = [field for field in fields if factor and field.endswith(f"/{factor}")]
    example = next(iter([*meant, *asked, *fields]), "request/batch")
    raise UsageFault(f"There is no factor {factor!r}.", hint=f"Factors: {known_factors(example)}.")


def known_factors(example: str) -> str:
    """Every factor in words, with an example of a recorded field."""
    return f"{', '.join(FACTORS)}, or one recorded field, such as {example}"


def fields_of(record: Record) -> Iterator[tuple[str, str]]:
    """What was asked and on what, as text by field; nothing that was measured."""
    report, known = record.report, is_known(record)
    environment = {key: value for key, value in record.environment.items() if key != "schema"}
    asked = dict(_flat(report.get("request", {}), "request"))
    fields = {
        **dict(_flat(report.get("lab"), "lab")),
        **dict(_flat(report.get("schema"), "schema")),
        **asked,
        **dict(_flat(_inputs(report.get("inputs", {})), "inputs")),
        **dict(_flat(report.get("scope", {}), "scope")),
        **dict(_flat(environment, "environment")),
        **({} if known else _unasked(record.config, asked)),
        **{
            path: digest[:12]
            for path, digest in record.manifest.items()
            if path.startswith("sources/")
        },
    }
    passing = _PASSING_HERE if known else _PASSING
    return ((field, text) for field, text in fields.items() if not _lies_in(field, passing))


def is_known(record: Record) -> bool:
    """Whether these pages know what the record's lab measures."""
    return record.report.get("schema") in KINDS


def _unasked(config: Mapping[str, Any], asked: Mapping[str, str]) -> dict[str, str]:
    """Options that the request of a lab of one's own does not repeat."""
    options = {key: value for key, value in config.items() if key not in ("schema", "lab")}
    return {
        field: text
        for field, text in _flat(options, "config")
        if asked.get(f"request/{field.removeprefix('config/').removeprefix('options/')}") != text
    }


def _inputs(inputs: object) -> object:
    """Each case by its digest; what a lab with one case says of its inputs, as it is."""
    if not isinstance(inputs, Mapping):
        return inputs
    return {
        name: str(case["sha256"])[:12] if isinstance(case, Mapping) and "sha256" in case else case
        for name, case in inputs.items()
    }


def _flat(value: object, path: str) -> Iterator[tuple[str, str]]:
    if isinstance(value, Mapping):
        for key, inner in value.items():
            yield from _flat(inner, f"{path}/{escaped(str(key))}")
    else:
        yield path, str(value)


def _lies_in(field: str, fields: tuple[str, ...]) -> bool:
    return any(field == each or field.startswith(f"{each}/") for each in fields)
