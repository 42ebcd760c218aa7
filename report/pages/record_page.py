"""The page of one precision run: everything a sceptic asks for, and the files to check it with.

Also what the pages of all records share; `compiled_page` has the other kind of record.
"""

import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from report import exhibit
from report.errors import EvidenceMismatch, Fault
from report.evidence import Evidence
from report.exhibit import Cell, Scalar, literal, shown, table_of, valued
from report.numbers.cluster import Cluster
from report.numbers.precision import CASES, PrecisionRun, Result, Timing
from report.numbers.profile import Profile
from report.numbers.qualification import verdict
from report.numbers.run import Artifact
from report.pages.anchors import relative
from report.pages.desk import Heading
from report.pages.exhibits import Context, size, table_context
from report.pages.press import Page, Press
from report.pages.prose import Galley
from report.record import Record, VerifiedFile

MAX_TEXT = 60_000
"""Characters of a program that are shown on the page; longer ones are linked."""

Rows = Sequence[tuple[Cell, ...]]
Steps = Sequence[tuple[str, str, str, str]]
"""The records before and after: way, word, path and name."""


def set_record(press: Press, evidence: Evidence, run: PrecisionRun, steps: Steps) -> None:
    """Set `records/<name>.html` of a precision run."""
    record = evidence.record
    page = page_of(
        evidence,
        steps,
        "record",
        description=f"The recorded run {record.name}: what was asked, where it ran, what came out.",
        deck=(
            f"One run of the lab {code(record.config['lab']).text}, byte for byte as written, with"
            " what was asked, where it ran, what came out, and every file."
        ),
        facts=(
            ("Device", literal(run.setting.device_kind)),
            *((("Share", run.cluster.extent),) if run.cluster else ()),
            ("Recorded", literal(run.setting.recorded_at)),
            ("JAX", literal(run.setting.jax)),
        ),
    )
    galley = press.galley(page.path)
    absent = {"trace": record.trace is None, "cluster": run.cluster is None}
    galley.headings += [heading for heading in SECTIONS if not absent.get(heading.id)]

    def table(name: str, title: str, columns: str, rows: Rows, ids: Sequence[str] = ()) -> Context:
        return record_table(galley, name, title, columns=columns, rows=rows, ids=ids)

    results = run.results
    ids = [result.id for result in results]
    body: dict[str, Any] = {
        "request": list(flat(record.report["request"])),
        "requested": table(
            "requested",
            "Arithmetic as requested. Whether the program does it is read from its text, below.",
            "Result|Operand|Accumulator|Output|Precision",
            [requested(result) for result in results],
        ),
        "inputs": table(
            "inputs",
            "Operands and reference",
            "Case|X|W|SHA-256 of both|>Norm of the FP64 reference",
            [inputs(run.name, case, record.report) for case in CASES],
        ),
        "errors": table(
            "errors",
            "Error against an FP64 product of the original FP32 inputs",
            "Result|>Relative L2|>Largest absolute|>SQNR|>Full relative L2",
            [errors(run.name, result) for result in results],
            ids,
        ),
        "stored": table(
            "stored",
            "Bytes of the operands as stored",
            "Result|>Values|>Scales|>Stored",
            [stored(run.name, result) for result in results],
            [f"{each}-bytes" for each in ids],
        ),
        "compiler": table(
            "compiler",
            "Bytes of each program by the compiler’s own account: its figures, not measurements",
            "Result|>Arguments|>Output|>Alias|>Temporary|>Generated code|>Peak",
            [memory(run.name, result) for result in results],
            [f"{each}-compiler" for each in ids],
        ),
        "quantization": table(
            "quantization",
            "One scale for each row of X and each column of W, and what became of the values",
            "Result|>Smallest scale|>Largest scale|>Zero|>Underflow|>Clipped|>Largest sum",
            [quantization(run.name, result) for result in results if result.quantization],
            [f"{result.id}-quantization" for result in results if result.quantization],
        ),
        "timing": table(
            "timing",
            "Wall time of warmed, synchronized calls on this machine. No policy is ranked by it.",
            "Result|>Samples|>Minimum|>Median|>Maximum|Steadiness",
            [
                timing(code(each.id), each.timing, f"{run.name}#/results/{each.id}/timing_s")
                for each in results
            ],
            [f"{each}-timing" for each in ids],
        ),
        "floor": table(
            "floor",
            "The floor under these times: what a sample costs with next to nothing to compute",
            "What was called|>Samples|>Minimum|>Median|>Maximum|Steadiness",
            [
                timing(shown(text), times, f"{run.name}#/timing_floor_s/{name}")
                for text, times, name in (
                    ("Empty call: the dispatch floor", run.floor.empty_call, "empty_call"),
                    ("No call: the clock itself", run.floor.clock, "clock"),
                )
            ],
            ["timing_floor_s", "timing_floor_s-clock"],
        ),
        "samples": [
            {"id": name, "text": ", ".join(f"{sample!r}" for sample in times.samples)}
            for name, times in (
                *((result.id, result.timing) for result in results),
                ("empty_call", run.floor.empty_call),
                ("clock", run.floor.clock),
            )
        ],
        "programs": list(programs(results, record, page.path)),
        "trace": trace(press.study.traces.get(record.name), record),
        "cluster": processes(run.cluster, table) if run.cluster else None,
    }
    press.set(page, galley, **body, **common(evidence, galley))


MAIN = {
    "cpu.model",
    "cpu.physical_cores",
    "devices.used.kind",
    "load_average.before",
    "operating_system.system",
    "recorded_at",
    "versions.jax",
    "versions.libtpu",
    "versions.numpy",
    "versions.python",
    "virtual_machine.present",
}
"""Fields of environment.json that are shown unasked; the others are one step away."""


def page_of(
    evidence: Evidence,
    steps: Steps,
    kind: str,
    *,
    description: str,
    deck: str,
    facts: Sequence[tuple[str, str]],
) -> Page:
    """The page of one record: `facts`, then how far it may be believed, and how large it is."""
    record = evidence.record
    return Page(
        path=f"records/{record.name}.html",
        kind=kind,
        title=record.name,
        description=description,
        eyebrow="Record",
        deck=deck,
        facts=(
            *facts,
            ("Evidence", level_in_words(evidence)),
            ("Files", f"{len(record.files)}"),
        ),
        records=(record.name,),
        contents=True,
        steps=steps,
    )


def common(evidence: Evidence, galley: Galley) -> dict[str, Any]:
    """What stands on the page of every record: environment, files, manifest and level."""
    record = evidence.record
    environment = {k: v for k, v in record.environment.items() if k not in {"schema", "redacted"}}
    fields = told_and_untold(environment)
    return {
        "environment": {**fields, "main": [one for one in fields["known"] if one[0] in MAIN]},
        "redacted": list(record.environment.get("redacted", [])),
        "files": record_table(
            galley,
            "files",
            f"{len(record.files)} files, as listed in the manifest",
            columns="File|>Size|SHA-256",
            rows=[file_row(record, file.path, file.size, file.sha256) for file in record.files],
        ),
        "manifest": {
            "href": relative(f"records/{record.name}/manifest.sha256", galley.page),
            "sha256": record.manifest_sha256,
        },
        "report": relative(f"records/{record.name}/report.json", galley.page),
        "changes": [change.path for change in evidence.lab_changes],
        "level": evidence.level,
    }


def record_table(
    galley: Galley,
    name: str,
    title: str,
    *,
    columns: str,
    rows: Rows,
    ids: Sequence[str] = (),
) -> Context:
    """A table of recorded values; a column whose head begins with > is numeric."""
    made = table_of(name, title, columns, rows, ids)
    return table_context(made, 0, galley)


SECTIONS = [
    Heading(level=2, id=anchor, text=text)
    for anchor, text in (
        ("request", "Request"),
        ("cluster", "Processes"),
        ("environment", "Environment"),
        ("inputs", "Inputs and reference"),
        ("results", "Results"),
        ("programs", "Programs"),
        ("trace", "Trace"),
        ("files", "Files and hashes"),
    )
]


def level_in_words(evidence: Evidence) -> str:
    if evidence.level == "current":
        return "current: its files and today’s lab sources match"
    return "historic: its files match, made by an earlier lab"


def code(text: str) -> Cell:
    """Recorded text in code type."""
    return Cell(text=exhibit.code(text))


def flat(value: Any, name: str = "") -> Iterator[tuple[str, str]]:
    """Nested JSON as dotted names and printed values, nothing left out."""
    for keys, text in leaves(value, (name,) if name else ()):
        yield ".".join(keys), text


def leaves(value: Any, keys: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], str]]:
    """The same, each with the keys that lead to it; a list of plain values is one of them."""
    if isinstance(value, Mapping) and value:
        for key, inner in value.items():
            yield from leaves(inner, (*keys, str(key)))
    elif isinstance(value, list) and not any(isinstance(inner, (list, dict)) for inner in value):
        yield keys, ", ".join(_scalar(inner) for inner in value) or "none"
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            yield from leaves(inner, (*keys, str(index)))
    else:
        yield keys, _scalar(value)


def told_and_untold(environment: Mapping[str, Any]) -> Context:
    """Fields of environment.json as `flat` has them; those that are null apart, with reasons."""
    known: list[tuple[str, str]] = []
    unknown: list[tuple[str, str]] = []
    _sort_out(environment, "", known, unknown)
    return {"known": known, "unknown": unknown}


def _sort_out(
    value: Mapping[str, Any],
    above: str,
    known: list[tuple[str, str]],
    unknown: list[tuple[str, str]],
) -> None:
    for key, inner in value.items():
        name = f"{above}.{key}" if above else key
        stem = key.removesuffix("_reason")
        if stem != key and stem in value and None in (inner, value[stem]):
            continue  # told with what it explains, or there is nothing to explain
        if inner is None:
            unknown.append((name, str(value.get(f"{key}_reason") or _scalar(None))))
        elif isinstance(inner, Mapping) and inner:
            _sort_out(inner, name, known, unknown)
        else:
            known += flat(inner, name)


def _scalar(value: Scalar) -> str:
    if value is None:
        return "not set"
    if isinstance(value, bool):
        return "yes" if value else "no"
    return str(value)


def requested(result: Result) -> tuple[Cell, ...]:
    asked = result.requested
    return (
        code(result.id),
        shown(asked.operand),
        shown(asked.accumulator),
        shown(asked.output),
        shown(asked.precision),
    )


def inputs(record: str, case: str, report: Mapping[str, Any]) -> tuple[Cell, ...]:
    found, norm = report["inputs"][case], report["reference"][case]["norm"]
    return (
        shown(case),
        shown(" × ".join(map(str, found["x_shape"]))),
        shown(" × ".join(map(str, found["w_shape"]))),
        code(found["sha256"]),
        valued(f"{record}#/reference/{case}/norm", norm, "fixed(3)", "computed"),
    )


def errors(record: str, result: Result) -> tuple[Cell, ...]:
    found, at = result.relative_l2_error, f"{record}#/results/{result.id}"
    why, no_ratio = result.relative_l2_error_reason, result.sqnr_db_reason
    return (
        code(result.id),
        valued(f"{at}/relative_l2_error", found, "error", "measured", why),
        valued(f"{at}/max_abs_error", result.max_abs_error, "scientific(2)", "measured"),
        valued(f"{at}/sqnr_db", result.sqnr_db, "decibel(1)", "measured", no_ratio),
        code(repr(found)) if found is not None else shown("not recorded"),
    )


def stored(record: str, result: Result) -> tuple[Cell, ...]:
    found, at = result.stored, f"{record}#/results/{result.id}/stored_bytes"
    return (
        code(result.id),
        valued(f"{at}/values", found.values, "bytes", "computed"),
        valued(f"{at}/scales", found.scales, "bytes", "computed"),
        valued(f"{at}/total", found.total, "bytes", "computed"),
    )


def memory(record: str, result: Result) -> tuple[Cell, ...]:
    told, at = result.memory, f"{record}#/results/{result.id}/compiler_memory_bytes"
    parts = {
        "argument": told.argument,
        "output": told.output,
        "alias": told.alias,
        "temporary": told.temporary,
        "generated_code": told.generated_code,
        "peak": told.peak,
    }
    why = "this compiler does not tell"
    return (
        code(result.id),
        *(
            valued(f"{at}/{part}", count, "bytes", "estimated", why)
            for part, count in parts.items()
        ),
    )


def quantization(record: str, result: Result) -> tuple[Cell, ...]:
    """Scales by where the smallest and the largest stand; counts are those of X and W together."""
    found, at = result.quantization, f"{record}#/results/{result.id}/quantization"
    assert found is not None
    scales = {
        f"{at}/{operand}_scales/{index}": scale
        for operand, each in (("x", found.x_scales), ("w", found.w_scales))
        for index, scale in enumerate(each)
    }
    counts = {
        "zero_rows": found.zero_rows,
        "underflow_rows": found.underflow_rows,
        "clipped": found.clipped,
    }
    largest = found.max_abs_accumulator
    return (
        code(result.id),
        *(
            valued(place, scales[place], "scientific(3)", "measured")
            for place in (min(scales, key=scales.__getitem__), max(scales, key=scales.__getitem__))
        ),
        *(
            valued(f"study#/precision/{record}/{result.id}/{name}", count, "integer", "measured")
            for name, count in counts.items()
        ),
        valued(f"{at}/max_abs_accumulator", largest, "integer", "measured"),
    )


def timing(name: Cell, times: Timing, at: str) -> tuple[Cell, ...]:
    """A row of times, recorded in seconds at the pointer `at`."""
    return (
        name,
        shown(str(len(times.samples))),
        *(
            valued(f"{at}/{part}", seconds, "seconds(2)", "measured")
            for part, seconds in (
                ("minimum", times.minimum),
                ("median", times.median),
                ("maximum", times.maximum),
            )
        ),
        Cell(text=times.trend.steadiness.value, kind="measured", note=times.trend.told),
    )


def programs(results: Sequence[Result], record: Record, page: str) -> Iterator[Context]:
    """Each program as requested and as compiled, once, with the results that ran it."""
    shared: dict[tuple[str, str], list[Result]] = {}
    for result in results:
        shared.setdefault((result.stablehlo.sha256, result.hlo.sha256), []).append(result)
    for first, *others in shared.values():
        texts = (("StableHLO, as requested", first.stablehlo), ("Optimized HLO", first.hlo))
        yield {
            "id": first.id,
            "results": [first.id, *(result.id for result in others)],
            "texts": [program_text(name, artifact, record, page) for name, artifact in texts],
        }


def program_text(name: str, artifact: Artifact, record: Record, page: str) -> Context:
    """One text of a program, with its words when they are not too many."""
    return {
        "name": name,
        "href": relative(f"records/{record.name}/{artifact.path}", page),
        "path": artifact.path,
        "digest": artifact.sha256[:12],
        "sha256": artifact.sha256,
        "text": listing(record.file(artifact.path)),
    }


def listing(path: Path | VerifiedFile) -> str:
    """A program's text, or nothing when it is too long, or holds what a page cannot print.

    Bytes that are no text are an `EvidenceMismatch`.
    """
    content = path.read_bytes()
    try:
        text = content.decode()
    except UnicodeDecodeError as error:
        found = f"the byte 0x{content[error.start]:02X} at {error.start:,}, which is not UTF-8"
        raise EvidenceMismatch(
            "A recorded program is no text:",
            [Fault(where=os.fspath(path), found=found, expected="a program as text, in UTF-8")],
            hint="Restore that file from whoever made the run, or measure again.",
        ) from None
    plain = all(line.isprintable() for line in text.replace("\t", " ").split("\n"))
    return text if plain and len(text) <= MAX_TEXT else ""


def trace(profile: Profile | None, record: Record) -> Context | None:
    """What its capture holds, in a sentence; a page of its own has all of it."""
    if record.trace is None:
        return None
    page = f"records/{record.name}.html"
    href = relative(f"profiles/{record.name}.html", page) if profile else ""
    return {"verdict": verdict(profile) if profile else "", "href": href}


def processes(cluster: Cluster, table: Any) -> Context:
    """Who took part in a distributed run, with whose folder belongs to whom."""
    rows = [
        (
            shown(f"{each.index}"),
            shown(f"{each.device}"),
            shown(", ".join(map(str, each.local_devices))),
            code(each.manifest_sha256) if each.manifest_sha256 else shown("of this record itself"),
        )
        for each in cluster.gathered
    ]
    columns = "Process|>Measured on device|Its devices|SHA-256 of its manifest"
    return {
        "index": cluster.index,
        "count": cluster.processes,
        "extent": cluster.extent,
        "verdict": cluster.verdict,
        "table": table("processes", "All processes of the run", columns, rows) if rows else None,
    }


def file_row(record: Record, path: str, count: int, digest: str) -> tuple[Cell, ...]:
    link = Cell(text=f"`{path}`", href=f"records/{record.name}/{path}")
    return (link, shown(size(count)), code(digest))
