"""Timed programs against the least time that the ceilings of their own device leave them.

Documented ceilings are taken where the chip has them, else those that a sweep probed on the same
machine. A time below is flagged, never clipped: it was not awaited or not measured there, or the
ceiling is too low. A device without known ceilings flags nothing.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from report.numbers.kinds import of_kind
from report.numbers.placing import ceilings_of
from report.numbers.precision import OPERAND_BYTES, POLICIES, Policy
from report.numbers.roofline import Product
from report.numbers.run import Run
from report.numbers.sweep import OUTPUT_BYTES, SweepRun
from report.numbers.timing import TimingRun
from report.numbers.worked_roofline import rooflines_of
from report.numbers.workings import Workings
from report.specs import Chip, chip_of_device


class Believed(StrEnum):
    """A measured time against its least, in words."""

    ABOVE = "no shorter than the ceilings allow"
    BELOW_DOCUMENTED = "shorter than the documented ceilings allow, so not believed"
    BELOW_PROBED = "shorter than the probed ceilings allow: they are too low, or the time is wrong"


@dataclass(frozen=True, slots=True, kw_only=True)
class LeastTime:
    """max(F/C, A/B_w) of one product, and where both ceilings stand."""

    seconds: float
    ceilings: tuple[str, ...]
    below: Believed
    """What a shorter time is called."""


def work_out_least_times(
    runs: Mapping[str, Run], chips: Mapping[str, Chip], note: Workings
) -> None:
    """Write down each program's `least_s`, and whether its time is `believed`."""
    sweeps = of_kind(runs, SweepRun)
    for run in of_kind(runs, TimingRun).values():
        for policy in POLICIES:
            least = documented_least(run, policy, chips) or probed_least(run, policy, sweeps)
            _write_down(run, policy, least, note)


def documented_least(run: TimingRun, policy: Policy, chips: Mapping[str, Chip]) -> LeastTime | None:
    """By the highest documented ceilings, which forbid the least; None where there are none."""
    chip = chip_of_device(run.setting.device_kind, chips)
    product = Product(
        m=run.request.batch,
        k=run.request.features,
        n=run.request.outputs,
        x_bytes=OPERAND_BYTES[policy],
        w_bytes=OPERAND_BYTES[policy],
        y_bytes=OUTPUT_BYTES,
        operand=policy,
    )
    rooflines = rooflines_of(chip, policy) if chip else ()
    roof = min(rooflines, key=lambda each: each.bound(product).ideal_s, default=None)
    if roof is None:
        return None
    return LeastTime(
        seconds=roof.bound(product).ideal_s,
        ceilings=(roof.peak.pointer, roof.bandwidth.pointer),
        below=Believed.BELOW_DOCUMENTED,
    )


def probed_least(
    run: TimingRun, policy: Policy, sweeps: Mapping[str, SweepRun]
) -> LeastTime | None:
    """By what a sweep saw the same machine reach; None where no sweep did."""
    moved = run.programs[policy].stored_bytes
    moved += OUTPUT_BYTES * run.request.batch * run.request.outputs
    for sweep in sweeps.values():
        if sweep.machine != run.setting.machine:
            continue
        ceilings = ceilings_of(sweep)
        matrix, (slope, kind) = ceilings.matrix.get(policy), ceilings.slope(moved)
        if matrix and slope:
            base, part = f"study#/sweep/{sweep.name}", "memory" if kind == "memory" else "cached"
            return LeastTime(
                seconds=max(run.request.operations / matrix.per_s, moved / slope.per_s),
                ceilings=(f"{base}/{policy}/matrix_per_s", f"{base}/{part}_bytes_per_s"),
                below=Believed.BELOW_PROBED,
            )
    return None


def _write_down(run: TimingRun, policy: Policy, least: LeastTime | None, note: Workings) -> None:
    path = f"timing/{run.name}/programs/{policy}"
    reason = f"no ceilings of this {run.setting.device_kind} are known for {policy.upper()}"
    bound = note.derive(
        f"{path}/least_s",
        least.seconds if least else None,
        r"\max(2mkn / C,\; A_{\min} / B_w)",
        *(least.ceilings if least else ()),
        unit="s",
        reason="" if least else reason,
    )
    told = None
    if least:
        below = run.median_s(f"{policy}-first") < least.seconds
        told = (least.below if below else Believed.ABOVE).value
    note.derive(
        f"{path}/believed",
        told,
        r"\tilde{t} \ge t_{\min}",
        f"study#/{path}/median_s",
        bound,
        kind="measured",
        reason="" if least else reason,
    )
