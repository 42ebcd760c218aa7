"""Sweeps with known answers: every time is chosen, so every rate, bound and verdict is known."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from report.exhibit import spoken
from report.numbers.precision import POLICIES, Policy, StoredBytes, Timing, TimingFloor
from report.numbers.run import Artifact, CompilerMemory, Machine, Scope, Setting
from report.numbers.sweep import (
    KERNELS,
    SCHEMA,
    Asked,
    Cache,
    Convert,
    Program,
    Request,
    Stream,
    SweepRun,
    Timed,
)
from report.numbers.values import Values
from report.numbers.worked_sweep import work_out_sweep
from report.numbers.workings import Workings
from report.source import Source

FLOOR_S = 1e-6
MACHINE = Machine(platform="cpu", device_kind="cpu", cpu_model="Known CPU")
CACHES = (
    Cache(level=1, bytes=32 * 2**10, cores=1),
    Cache(level=2, bytes=2**20, cores=1),
    Cache(level=3, bytes=16 * 2**20, cores=8),
)
MEMORY, CACHED = 10e9, 100e9
"""Bytes a second of the streams: beyond the caches, and within them."""
MATRIX: Mapping[Policy, float] = {"fp32": 200e9, "bf16": 400e9, "int8": 800e9}
WIDTHS: Mapping[Policy, int] = {"fp32": 4, "bf16": 2, "int8": 1}


def timing(*seconds: float) -> Timing:
    ordered = sorted(seconds)
    return Timing(
        samples=seconds,
        median=ordered[len(ordered) // 2],
        minimum=ordered[0],
        maximum=ordered[-1],
    )


def program(name: str, times: Timing, accessed: int | None = None) -> Program:
    text = Artifact(path=f"programs/{name}.hlo.txt", sha256="0" * 64)
    memory = CompilerMemory(
        argument=None, output=None, temporary=None, alias=None, generated_code=None, peak=None
    )
    return Program(
        id=name,
        timing=times,
        memory=memory,
        accessed_bytes=accessed,
        accessed_reason="" if accessed is not None else "the compiler reports no bytes accessed",
        stablehlo=text,
        hlo=text,
    )


def timed(
    policy: Policy,
    m: int,
    seconds: float,
    *,
    k: int = 1024,
    n: int = 1024,
    accessed: int | None = None,
    converts: Sequence[Convert] = (),
    name: str = "",
) -> Timed:
    width, scaled = WIDTHS[policy], policy == "int8" and not name
    return Timed(
        policy=policy,
        m=m,
        k=k,
        n=n,
        stored=StoredBytes(
            x_values=m * k * width,
            w_values=k * n * width,
            x_scales=4 * m if scaled else 0,
            w_scales=4 * n if scaled else 0,
        ),
        rescale_flop=2 * m * n if scaled else 0,
        relative_l2_error=0.001,
        relative_l2_error_reason="",
        products=("a × b → c",),
        calls=(),
        converts=tuple(converts),
        program=program(name or f"{policy}-m{m}", timing(seconds), accessed),
    )


def sweep(
    seconds: Mapping[Policy, Mapping[int, float]],
    *,
    caches: Sequence[Cache] = CACHES,
    arrays_kib: Sequence[int] = (1024, 65_536),
    accessed: Mapping[str, int] | None = None,
    converts: Mapping[str, Sequence[Convert]] | None = None,
    floor_s: float = FLOOR_S,
    side: int = 1024,
) -> SweepRun:
    """A run whose points last `seconds`, by policy and batch, under the rates above."""
    batches = tuple(next(iter(seconds.values())))
    streams = []
    for kib in arrays_kib:
        for kernel, arrays in KERNELS.items():
            moved = arrays * kib * 2**10
            rate = CACHED if moved <= 16 * 2**20 else MEMORY
            rate *= {"copy": 0.8, "scale": 0.9, "triad": 1.0}[kernel]
            times = timing(moved / rate, 2 * moved / rate, 3 * moved / rate)
            streams.append(
                Stream(
                    kernel=kernel,
                    array_bytes=kib * 2**10,
                    program=program(f"{kernel}-{kib}kib", times),
                )
            )
    squares = tuple(
        timed(
            policy,
            side,
            2 * side**3 / MATRIX[policy],
            k=side,
            n=side,
            name=f"{policy}-square-{side}",
        )
        for policy in POLICIES
    )
    setting = Setting(
        platform="cpu",
        device_kind="cpu",
        devices=1,
        processes=1,
        recorded_at="2026-11-30T00:00:00Z",
        jax="0.10.2",
        cpu_model=MACHINE.cpu_model,
    )
    asked = {
        policy: Asked(operand="o", accumulator="a", precision="", scaled=False)
        for policy in POLICIES
    }
    return SweepRun(
        name="known",
        source=Source(name="known/report.json", href="records/known/report.json", sha256="0" * 64),
        level="current",
        scope=Scope(
            platform="cpu",
            statement="CPU arithmetic reference. Not a TPU result.",
            single_device=True,
        ),
        setting=setting,
        request=Request(
            platform="cpu",
            batches=batches,
            features=1024,
            outputs=1024,
            arrays_kib=tuple(arrays_kib),
            squares=(side,),
            rounds=1,
            samples=1,
            seed=17,
            dispatch="synchronous",
        ),
        asked={"sweep": asked, "matrix": asked},
        caches=tuple(caches),
        caches_reason="" if caches else "this system does not tell its caches",
        floor=TimingFloor(clock=timing(1e-8), empty_call=timing(floor_s)),
        machine=MACHINE,
        streams=tuple(streams),
        squares=squares,
        points=tuple(
            timed(
                policy,
                m,
                lasts,
                accessed=(accessed or {}).get(f"{policy}-m{m}"),
                converts=(converts or {}).get(f"{policy}-m{m}", ()),
            )
            for policy in POLICIES
            for m, lasts in seconds[policy].items()
        ),
    )


def values_of(run: SweepRun) -> Values:
    """What is worked out from a run, and what of its report a figure's words point at."""
    note = Workings()
    work_out_sweep(run, note)
    report = {
        "schema": SCHEMA,
        "results": {each.id: {"shape": [each.m, each.k, each.n]} for each in run.points},
        "caches": [{"bytes": cache.bytes} for cache in run.caches],
    }
    return Values(note.values, {run.name: report})


def said(text: str, run: SweepRun) -> str:
    """The text of a figure as a page prints it, its spaces plain."""
    return spoken(text, values_of(run).lookup).replace("\u00a0", " ")


def alike(times: Mapping[int, float]) -> dict[Policy, Mapping[int, float]]:
    """The same times for every policy."""
    return dict.fromkeys(POLICIES, times)


def elsewhere(run: SweepRun, cpu_model: str) -> SweepRun:
    """The same run, as if its ceilings were from another processor."""
    return replace(run, machine=replace(run.machine, cpu_model=cpu_model))
