"""Timed programs against the least time that their device's documented ceilings leave them.

A time below it was not awaited, or not measured on that device, or the documented rate is
wrong: it is flagged, never clipped. A device without documented ceilings flags nothing.
"""

from collections.abc import Mapping
from enum import StrEnum

from report.numbers.precision import OPERAND_BYTES, POLICIES, Policy
from report.numbers.roofline import Product, Roofline
from report.numbers.timing import TimingRun
from report.numbers.worked_roofline import rooflines_of
from report.numbers.workings import Workings
from report.specs import Chip, chip_of_device

OUTPUT_BYTES = 4
"""An FP32 output, whatever the operands."""


class Believed(StrEnum):
    """A measured time against its least, in words."""

    ABOVE = "no shorter than the ceilings allow"
    BELOW = "shorter than the ceilings allow, so not believed"


def work_out_least_times(
    runs: Mapping[str, TimingRun], chips: Mapping[str, Chip], note: Workings
) -> None:
    """Write down each program's `least_s`, and whether its time is `believed`."""
    for run in runs.values():
        chip = chip_of_device(run.setting.device_kind, chips)
        for policy in POLICIES:
            rooflines = rooflines_of(chip, policy) if chip else ()
            _program(run, policy, rooflines, note)


def _program(
    run: TimingRun, policy: Policy, rooflines: tuple[Roofline, ...], note: Workings
) -> None:
    """By the highest documented ceilings, which forbid the least."""
    path = f"timing/{run.name}/programs/{policy}"
    request = run.request
    product = Product(
        m=request.batch,
        k=request.features,
        n=request.outputs,
        x_bytes=OPERAND_BYTES[policy],
        w_bytes=OPERAND_BYTES[policy],
        y_bytes=OUTPUT_BYTES,
        operand=policy,
    )
    roof = min(rooflines, key=lambda each: each.bound(product).ideal_s, default=None)
    reason = f"no ceilings of {run.setting.device_kind} are documented for {policy.upper()}"
    least = roof.bound(product).ideal_s if roof else None
    bound = note.derive(
        f"{path}/least_s",
        least,
        r"\max(2mkn / C,\; A_{\min} / B_w)",
        *((roof.peak.pointer, roof.bandwidth.pointer) if roof else ()),
        unit="s",
        reason="" if roof else reason,
    )
    median = run.median_s(f"{policy}-first")
    told = None
    if least is not None:
        told = (Believed.BELOW if median < least else Believed.ABOVE).value
    note.derive(
        f"{path}/believed",
        told,
        r"\tilde{t} \ge t_{\min}",
        f"study#/{path}/median_s",
        bound,
        kind="measured",
        reason="" if roof else reason,
    )
