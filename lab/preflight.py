"""The preflight lab: what a TPU compiler would do with a program, with no TPU.

It compiles and never runs. Every number is a fact about a compiler's output for one program:
none is a measurement of a device. Without a program of the user's it makes the lesson's record.
"""

import argparse
import hashlib
import math
import platform
import signal
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from types import FrameType
from typing import Any

import ml_dtypes  # noqa: F401  (NumPy knows narrow types by name once this is imported)
import numpy as np

from lab.kit import backend, decode, environment, fits, hlo, schedule, targets
from lab.kit.child import Compiler
from lab.kit.faults import CompileRefused, LabFault, UsageFault
from lab.kit.policies import CPU_POLICIES, POLICIES, Policy, arguments
from lab.kit.redaction import Redactor
from lab.kit.run_folder import RunFolder
from lab.kit.targets import Target

LAB = "preflight"
STATEMENT = (
    "Compiled for TPU generations with no TPU. Facts about a compiler's output, not measurements."
)
SCHEDULE_NOTE = (
    "Experimental. A static count of one compiler's output for one shape: not a time and not a "
    "measurement. Units differ in size, so compare within a generation only."
)

Product = tuple[int, int, int]
"""Rows of X, length of the contraction, columns of W."""

LESSON: Product = (64, 128, 64)
BATCH_ONE: Product = (1, 127, 65)
SMALL_BATCH: Product = (8, 128, 64)
SQUARE: Product = (256, 256, 256)
SHAPES = (LESSON, BATCH_ONE, SMALL_BATCH, SQUARE)
CAPACITY: Product = (2**20, 2**15, 128)
"""FP32 operands of 128 GiB: more than any generation has, so that each says what it has."""

BATCH_ONE_TEXTS = ("fp32-highest", "bf16-highest", "int8-scaled")
"""Whose HLO is kept as text at batch one. At the lesson's shape all are; elsewhere, their hash."""

SMALL_POLICIES = ("fp32-default", "bf16", "int8", "int8-scaled")
"""Whose schedule is also read at small shapes."""

STAIRCASE_POLICIES = ("fp32-default", "bf16", "int8", "int4")
STAIRCASE = tuple(
    sorted(
        {1, 2, 3, *(size + step for size in (4, 8, 16, 32, 64, 128, 256) for step in (-1, 0, 1))}
    )
)
"""Sizes on both sides of every power of two at which a tile may end."""

LIMIT_S = 120.0
EXAMPLE = """\
examples (standing alone, preflight is `python -m lab.preflight`):
  preflight --run-dir runs/preflight-tpu
  preflight --program my_module:step --targets v5e,v6e,tpu7x
  preflight --program my_module:step --targets v5e:4x4 --max batch
how a program gives its arguments: see lab/kit/program.py
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """What a run is asked to do."""

    targets: tuple[str, ...]
    program: str | None
    batch: int | None
    largest: str | None
    """What to search the largest of: `batch`, or nothing."""
    up_to: int
    multiple_of: int
    schedule: bool
    limit_s: float


def main(given: Sequence[str] | None = None) -> int:
    """Run the lab from a command line and return its exit code."""
    request, path = parse(given)
    signal.signal(signal.SIGTERM, _interrupt)
    with Compiler(limit_s=request.limit_s) as compiler:
        try:
            program = load(request, compiler) if request.program else None
            folder = RunFolder.create(path, Redactor.of_this_machine())
        except LabFault as fault:
            print(f"refused: {fault}", file=sys.stderr)
            return fault.exit_code
        print(f"{LAB}: writing {path}", file=sys.stderr)
        try:
            compiled = preflight(request, folder, compiler, program)
        except BaseException as problem:  # every end leaves a folder that says how it came about
            return folder.fail(problem)
    return 0 if compiled else CompileRefused.exit_code


@dataclass(frozen=True, slots=True, kw_only=True)
class UsersProgram:
    """A program of the user's that is there and can be imported."""

    reference: str
    source_sha256: str | None


def load(request: Request, compiler: Compiler) -> UsersProgram:
    """The user's program, or a refusal that says what is missing; before a folder is made."""
    reference = request.program or ""
    print(f"{LAB}: loading {reference}", file=sys.stderr, flush=True)
    loaded = compiler.compile({"describe": True, "reference": reference})
    if loaded["status"] != "described":
        raise UsageFault(f"{reference}: {loaded['message']}")
    if (request.batch is not None or request.largest) and not loaded["takes_batch"]:
        raise UsageFault(f"{reference}_arguments takes no batch")
    return UsersProgram(reference=reference, source_sha256=loaded["source_sha256"])


def preflight(
    request: Request, folder: RunFolder, compiler: Compiler, program: UsersProgram | None
) -> bool:
    """Make the whole run in `folder`; return whether anything compiled."""
    flags, load_before = environment.flags(), environment.load_average()
    folder.write_json(
        "config.json",
        {"schema": "assay/config/1", "lab": LAB, "options": asdict(request), "seed": None},
    )
    folder.copy_sources(Path(__file__))
    chosen = [targets.parse_target(name) for name in request.targets]
    with folder.stage("find the TPU compiler"):
        needed = any(each.topology for each in chosen)
        libtpu = targets.require_compiler() if needed else None
    device = backend.start("cpu")
    run = Run(folder=folder, compiler=compiler, request=request, targets=chosen)
    report = users_program(run, program) if program else lesson(run)
    with folder.stage("write the report"):
        folder.write_json(
            "report.json",
            {
                "schema": "assay/preflight/1",
                "lab": LAB,
                "scope": {"platform": "compiler", "statement": STATEMENT, "single_device": False},
                "request": asdict(request),
                "compiler": {
                    "libtpu": libtpu,
                    "environment": dict(targets.ENVIRONMENT),
                    "set_aside": list(targets.SET_ASIDE),
                    "python": platform.python_version(),
                },
                **report,
            },
        )
        described = environment.describe(
            requested="cpu", device=device, flags_outside=flags, load_before=load_before
        )
        described = folder.redactor.mapping(described, "environment.json")
        folder.write_json("environment.json", described | {"redacted": folder.redactor.done})
        folder.seal()
    programs: Any = report["programs"]
    return any(
        entry["status"] == "compiled"
        for each in programs.values()
        for entry in each["targets"].values()
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """What every part of a run works with."""

    folder: RunFolder
    compiler: Compiler
    request: Request
    targets: Sequence[Target]

    @property
    def tpus(self) -> list[Target]:
        return [each for each in self.targets if each.topology]


def lesson(run: Run) -> dict[str, object]:
    """The lesson's products, their bytes and schedules, and how many sequences' cache fits."""
    return {
        "targets": describe_targets(run),
        "policies": {
            each.name: each.as_json() for each in (*POLICIES.values(), *CPU_POLICIES.values())
        },
        "programs": (programs := products(run)),
        "ledger": {
            name: ledger(POLICIES[entry["policy"]], tuple(entry["shape"]), entry["targets"])
            for name, entry in programs.items()
            if entry["policy"] in POLICIES
        },
        "instructions": instructions(run),
        "staircase": staircase(run),
        **cache_fits(run),
    }


def users_program(run: Run, program: UsersProgram) -> dict[str, object]:
    """One program of the user's on every target, and the largest batch if asked for."""
    reference = program.reference
    name = slug(reference.partition(":")[2])
    entry = compile_everywhere(run, name, reference, run.targets, run.request.batch)
    entry["source_sha256"] = program.source_sha256
    report: dict[str, object] = {"targets": describe_targets(run), "programs": {name: entry}}
    if run.request.largest:
        report["fits"] = {name: {"targets": search(run, reference, run.tpus)}}
    if run.request.schedule:
        found = {}
        for target in run.tpus:
            with run.folder.stage(f"read the schedule of {name} for {target.name}"):
                asked = {"target": target.name, "reference": reference, "batch": run.request.batch}
                found[slug(target.name)] = schedule.of_program(asked, limit_s=run.request.limit_s)
        report["instructions"] = {"note": SCHEDULE_NOTE, "programs": {name: found}}
    return report


def describe_targets(run: Run) -> dict[str, object]:
    """Each TPU target: how it was asked for, and the memory its compiler says a device has."""
    described: dict[str, object] = {}
    for target in run.tpus:
        generation = target.generation
        if generation is None:
            continue
        with run.folder.stage(f"ask {target.name} how much memory it has"):
            asked = {
                "target": target.name,
                "policy": POLICIES["fp32-default"].as_json(),
                "shape": CAPACITY,
            }
            answer = run.compiler.compile(asked)
        sizes = answer.get("sizes")
        described[slug(target.name)] = {
            "generation": generation.name,
            "topology": target.topology,
            "device_kind": generation.device_kind,
            "chips": chips_of(target),
            "devices": chips_of(target) * generation.devices // generation.chips,
            "usable_memory": sizes["available"] if sizes else None,
            "usable_memory_reason": None if sizes else "the compiler did not say",
            "refusal": answer.get("message"),
        }
    return described


def chips_of(target: Target) -> int:
    """Chips in a topology such as v5e:4x4."""
    return math.prod(int(part) for part in (target.topology or ":1").partition(":")[2].split("x"))


def products(run: Run) -> dict[str, dict[str, Any]]:
    """Every policy at every shape on every target; the CPU's own at the lesson's shape."""
    everything: dict[str, dict[str, Any]] = {}
    for shape in SHAPES:
        for policy in POLICIES.values():
            everything |= compile_product(run, policy, shape, run.targets)
    cpu = [each for each in run.targets if not each.topology]
    for policy in CPU_POLICIES.values():
        everything |= compile_product(run, policy, LESSON, cpu)
    return everything


def compile_product(
    run: Run, policy: Policy, shape: Product, chosen: Sequence[Target]
) -> dict[str, dict[str, Any]]:
    """One policy at one shape, by its name."""
    name = f"{policy.name}-{by(shape)}"
    kept = shape == LESSON or (shape == BATCH_ONE and policy.name in BATCH_ONE_TEXTS)
    found: dict[str, Any] = {}
    texts = Texts(run.folder, name, kept)
    with run.folder.stage(f"compile {name}"):
        for target in chosen:
            asked = {"target": target.name, "policy": policy.as_json(), "shape": shape}
            answer = run.compiler.compile(asked)
            found[slug(target.name)] = describe_answer(answer, texts, slug(target.name))
    return {name: {"policy": policy.name, "shape": list(shape), **texts.common, "targets": found}}


def compile_everywhere(
    run: Run,
    name: str,
    reference: str,
    chosen: Sequence[Target],
    batch: int | None,
) -> dict[str, Any]:
    """A program by reference on each target."""
    found: dict[str, Any] = {}
    texts = Texts(run.folder, name, True)
    for target in chosen:
        with run.folder.stage(f"compile {name} for {target.name}"):
            asked = {"target": target.name, "reference": reference, "batch": batch}
            answer = run.compiler.compile(asked)
            found[slug(target.name)] = describe_answer(answer, texts, slug(target.name))
            print(f"    {told(found[slug(target.name)])}", file=sys.stderr)
    return {"reference": reference, "batch": batch, **texts.common, "targets": found}


class Texts:
    """Where the texts of one program go: each different text once, or only its hash."""

    def __init__(self, folder: RunFolder, name: str, kept: bool) -> None:
        self._folder, self._name, self._kept = folder, name, kept
        self._written: dict[str, tuple[str | None, str]] = {}
        self.common: dict[str, object] = {"requested": None}
        """What was asked for, from the first target that could be asked."""

    def keep(self, text: str, target: str, kind: str) -> dict[str, object]:
        """Write a text free of paths and names; return its name, if kept, and its SHA-256."""
        if text not in self._written:
            shared = kind == "stablehlo" and not any(
                name and name.endswith(f".{kind}.txt") for name, _ in self._written.values()
            )
            name = f"programs/{self._name}{'' if shared else f'.{target}'}.{kind}.txt"
            if self._kept:
                self._written[text] = name, self._folder.write_program(name, text)
            else:
                clean = self._folder.redactor.text(text, f"{name} (hash)", names=False)
                self._written[text] = None, hashlib.sha256(clean.encode()).hexdigest()
        name_kept, sha256 = self._written[text]
        return {kind: name_kept, f"{kind}_sha256": sha256}

    def asked(self, module: hlo.Module) -> None:
        if self.common["requested"] is None:
            summary = hlo.summarize(module)
            self.common["requested"] = {
                "level": "requested",
                "dots": summary["dots"],
                "converts": summary["converts"],
            }


def describe_answer(answer: Mapping[str, Any], texts: Texts, target: str) -> dict[str, object]:
    """What one compilation gave, as it stands in the report."""
    described: dict[str, object] = {
        "status": answer["status"],
        "fits": fits.verdict(answer),
        "level": {"compiled": "optimized-hlo", "not lowered": "requested"}.get(
            answer["status"], "stablehlo"
        ),
        "lower_s": answer.get("lower_s"),
        "compile_s": answer.get("compile_s"),
        "memory_bytes": answer.get("memory_bytes"),
        "cost": answer.get("cost"),
        "refusal": None,
    }
    requested = None
    if "requested_hlo" in answer:
        requested, _ = read_if_possible(answer["requested_hlo"])
        if requested:
            texts.asked(requested)
        described |= texts.keep(answer["stablehlo"], target, "stablehlo")
    if answer["status"] != "compiled":
        return described | {
            "refusal": {
                key: answer.get(key) for key in ("error", "message", "sizes", "exit_code", "cut")
            }
        }
    described |= texts.keep(answer["hlo"], target, "hlo")
    got, reason = read_if_possible(answer["hlo"])
    described |= {"got": None, "got_reason": reason, "inserted": None}
    if got is None:
        return described
    tiled = [each.tiled_bytes for each in got.parameters]
    known = [each for each in tiled if each is not None]
    argument = (answer["memory_bytes"] or {}).get("argument")
    return described | {
        "got": hlo.summarize(got),
        "inserted": hlo.counted(hlo.inserted(requested, got)) if requested else None,
        "arguments": [describe_shape(each) for each in got.parameters],
        "results": [describe_shape(each) for each in got.results],
        "tiled_sum_is_argument": len(known) == len(tiled) and sum(known) == argument,
    }


def read_if_possible(text: str) -> tuple[hlo.Module | None, str | None]:
    """A module, or why its text is not read: a real program's may be too large."""
    try:
        return hlo.read(text), None
    except hlo.UnreadableProgram as fault:
        return None, str(fault)


def describe_shape(shape: hlo.Shape) -> dict[str, object]:
    return {
        "shape": str(shape),
        "elements": shape.elements,
        "ideal_bytes": shape.ideal_bytes,
        "tiled_bytes": shape.tiled_bytes,
    }


def ledger(policy: Policy, shape: Product, compiled: Mapping[str, Any]) -> dict[str, object]:
    """The bytes of one product, operand by operand and column by column.

    `argument` is what the CPU compiler takes for it, `tiled` what each TPU compiler does. No
    column is "the size".
    """
    names = ("x", "w", "x_scales", "w_scales")
    rows: dict[str, dict[str, object]] = {}
    for index, (dims, dtype) in enumerate(arguments(policy, shape)):
        rows[names[index]] = _row(dims, dtype, "arguments", index, compiled)
    m, _, n = shape
    output = "float32" if policy.scaled else policy.accumulator or policy.lhs
    operands = list(rows.values())
    scales = [row for name, row in rows.items() if name.endswith("scales")]
    return {
        "operands": rows,
        "output": _row((m, n), output, "results", 0, compiled),
        "totals": {
            "ideal_bytes": sum(_int(row["ideal_bytes"]) for row in operands),
            "nbytes": sum(_int(row["nbytes"]) for row in operands),
            "scale_bytes": sum(_int(row["ideal_bytes"]) for row in scales),
            "argument": {
                target: (entry["memory_bytes"] or {}).get("argument")
                for target, entry in compiled.items()
            },
            "output": {
                target: (entry["memory_bytes"] or {}).get("output")
                for target, entry in compiled.items()
            },
        },
    }


def _row(
    dims: tuple[int, ...], dtype: str, kind: str, index: int, compiled: Mapping[str, Any]
) -> dict[str, object]:
    width = _bits(dtype)
    elements = math.prod(dims)
    tiled = {
        target: entry[kind][index]["tiled_bytes"] if kind in entry else None
        for target, entry in compiled.items()
    }
    argument = tiled.pop("cpu", None)
    return {
        "dtype": dtype,
        "shape": list(dims),
        "elements": elements,
        "ideal_bits": elements * width,
        "ideal_bytes": -(-elements * width // 8),
        "nbytes": elements * np.dtype(dtype).itemsize,
        "argument": argument,
        "argument_reason": None if argument is not None else "not compiled for the CPU",
        "tiled": tiled,
    }


def _bits(dtype: str) -> int:
    """Bits of one element by NumPy's or ml_dtypes' name: int4 4, float4_e2m1fn 4."""
    digits = dtype.removeprefix("bfloat").removeprefix("float").removeprefix("uint")
    return int(digits.removeprefix("int").partition("_")[0])


def _int(value: object) -> int:
    return value if isinstance(value, int) else 0


def instructions(run: Run) -> dict[str, object]:
    """The matrix-instruction table, and whether small shapes use the matrix unit at all."""
    shapes: dict[str, dict[str, dict[str, object]]] = {}
    asked = [(SQUARE, list(POLICIES))]
    asked += [(shape, list(SMALL_POLICIES)) for shape in (LESSON, SMALL_BATCH, BATCH_ONE)]
    for shape, names in asked:
        rows: dict[str, dict[str, object]] = {}
        for name in names:
            row: dict[str, object] = {}
            with run.folder.stage(f"read the schedules of {name} at {by(shape)}"):
                for target in run.tpus:
                    request = {
                        "target": target.name,
                        "policy": POLICIES[name].as_json(),
                        "shape": shape,
                    }
                    row[slug(target.name)] = schedule.of_program(
                        request, limit_s=run.request.limit_s
                    )
            rows[name] = row
        shapes[by(shape)] = rows
    return {"note": SCHEDULE_NOTE, "families": schedule.FAMILIES, "shapes": shapes}


def staircase(run: Run) -> dict[str, object]:
    """Tiled bytes of X, W and the output as one dimension of the lesson's product grows."""
    steps: dict[str, dict[str, dict[str, object]]] = {}
    for name in STAIRCASE_POLICIES:
        policy = POLICIES[name]
        with run.folder.stage(f"climb the staircase of {name}"):
            steps[name] = {
                dimension: {
                    slug(target.name): [
                        _step(run, policy, target, index, size) for size in STAIRCASE
                    ]
                    for target in run.tpus
                }
                for index, dimension in enumerate("mkn")
            }
    return {
        "base": list(LESSON),
        "sizes": list(STAIRCASE),
        "columns": ["x", "w", "output"],
        "policies": steps,
    }


def _step(
    run: Run, policy: Policy, target: Target, index: int, size: int
) -> list[int | None] | None:
    """Tiled bytes of X, W and the output with one dimension replaced; None if refused."""
    shape = [size if axis == index else length for axis, length in enumerate(LESSON)]
    answer = run.compiler.compile(
        {"target": target.name, "policy": policy.as_json(), "shape": shape}
    )
    if answer["status"] != "compiled":
        return None
    module = hlo.read(answer["hlo"])
    return [each.tiled_bytes for each in (*module.parameters[:2], *module.results[:1])]


def cache_fits(run: Run) -> dict[str, object]:
    """How many sequences' KV cache a device holds, by formula and by compiler."""
    reference = f"{decode.__name__}:step"
    entry = compile_everywhere(run, "decode-step", reference, run.tpus, decode.BATCH)
    extra = {"decode-step": entry}
    if any(each.name == "v5e" for each in run.tpus):
        slice_of_16 = [targets.parse_target("v5e:4x4")]
        extra["decode-step-sharded"] = compile_everywhere(
            run, "decode-step-sharded", f"{decode.__name__}:sharded_step", slice_of_16, decode.BATCH
        )
    per_sequence = 2 * decode.LAYERS * decode.TOKENS * decode.KV_HEADS * decode.HEAD_DIM * 2
    return {
        "steps": extra,
        "fits": {
            "decode-step": {
                "inputs": {
                    "layers": decode.LAYERS,
                    "tokens": decode.TOKENS,
                    "kv_heads": decode.KV_HEADS,
                    "head_dim": decode.HEAD_DIM,
                    "bytes": 2,
                },
                "formula_cache_bytes_per_sequence": per_sequence,
                "targets": search(run, reference, run.tpus),
            }
        },
    }


def search(run: Run, reference: str, chosen: Sequence[Target]) -> dict[str, object]:
    """The largest batch that compiles, per target."""
    found: dict[str, object] = {}
    for target in chosen:
        with run.folder.stage(f"find the largest batch for {target.name}"):

            def compiles(batch: int, name: str = target.name) -> Mapping[str, Any]:
                return run.compiler.compile(
                    {"target": name, "reference": reference, "batch": batch}
                )

            result = fits.largest(compiles, run.request.up_to, multiple_of=run.request.multiple_of)
            found[slug(target.name)] = result
            print(f"    {target.name}: {result['largest']}", file=sys.stderr)
    return found


def told(entry: Mapping[str, Any]) -> str:
    """One compilation in one line."""
    if entry["status"] != "compiled":
        return f"{entry['status']}: {entry['refusal']['message']}"
    memory = entry["memory_bytes"] or {}
    argument, peak = (_told_bytes(memory.get(name)) for name in ("argument", "peak"))
    return f"compiled: {argument} of arguments, {peak} at the peak"


def _told_bytes(count: int | None) -> str:
    return "unknown bytes" if count is None else f"{count:,} B"


def by(shape: Sequence[int]) -> str:
    return "x".join(map(str, shape))


def slug(name: str) -> str:
    """A name as a key and in file names: `v5e:4x4` is `v5e-4x4`, `my_step` is `my-step`."""
    return name.lower().replace(":", "-").replace("_", "-")


def parse(given: Sequence[str] | None) -> tuple[Request, Path]:
    """Read the command line; a request that cannot be run exits with code 2."""
    parser = argparse.ArgumentParser(
        prog=LAB,
        description="Compile for TPU generations, with no TPU, and record what the compiler does.",
        epilog=EXAMPLE,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    everything = ",".join(("cpu", *targets.GENERATIONS))
    parser.add_argument(
        "--targets", default=everything, metavar="LIST", help=f"comma-separated ({everything})"
    )
    parser.add_argument(
        "--program", metavar="MODULE:FUNCTION", help="a program of your own (default: the lesson's)"
    )
    parser.add_argument("--batch", type=_positive, metavar="N", help="batch given to its arguments")
    parser.add_argument(
        "--max", dest="largest", choices=("batch",), help="search the largest that compiles"
    )
    parser.add_argument(
        "--up-to", type=_positive, default=65_536, metavar="N", help="where the search ends (65536)"
    )
    parser.add_argument(
        "--multiple-of", type=_positive, default=1, metavar="N", help="try only its multiples (1)"
    )
    parser.add_argument(
        "--schedule", action="store_true", help="experimental: read the matrix instructions too"
    )
    parser.add_argument(
        "--limit", dest="limit_s", type=float, default=LIMIT_S, metavar="S", help="per compilation"
    )
    parser.add_argument("--run-dir", type=Path, metavar="DIR", help="new folder (runs/preflight)")
    options = vars(parser.parse_args(given))
    path = options.pop("run_dir") or Path("runs", "preflight")
    names = tuple(dict.fromkeys(filter(None, options.pop("targets").lower().split(","))))
    try:
        for name in names:
            targets.parse_target(name)
        if not names:
            raise UsageFault("name at least one target")
        if options["multiple_of"] > options["up_to"]:
            raise UsageFault("--multiple-of is more than --up-to")
        if options["program"] is None and (options["batch"] or options["largest"]):
            raise UsageFault("--batch and --max go with --program")
        if not 0 < options["limit_s"] <= 86_400:
            raise UsageFault("--limit is from 0 to 86,400 seconds")
    except UsageFault as fault:  # without usage: whoever called us may have one of their own
        print(f"refused: {fault}", file=sys.stderr)
        sys.exit(fault.exit_code)
    return Request(targets=names, **options), path


def _positive(text: str) -> int:
    if not (text.isascii() and text.isdecimal() and len(text) <= 9 and int(text)):
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number from 1")
    return int(text)


def _interrupt(_signal: int, _frame: FrameType | None) -> None:
    raise KeyboardInterrupt


if __name__ == "__main__":
    sys.exit(main())
