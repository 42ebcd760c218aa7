"""The least traffic of a precision record's product, and what it computes for each byte."""

from report.numbers.precision import POLICIES, PrecisionRun
from report.numbers.sweep import OUTPUT_BYTES, WORK
from report.numbers.workings import Workings


def work_out_traffic(run: PrecisionRun, note: Workings) -> None:
    """Write down the least traffic and the intensity of a precision record's product.

    They are the same in both cases, so they stand by policy: `study#/precision/<run>/traffic/…`.
    """
    request = run.request
    operations = 2 * request.batch * request.features * request.outputs
    shape = [f"{run.name}#/request/{side}" for side in ("batch", "features", "outputs")]
    for policy in POLICIES:
        result = run.result("balanced", policy)
        base, work = f"precision/{run.name}/traffic/{policy}", WORK[policy]
        moved = result.stored.total + OUTPUT_BYTES * request.batch * request.outputs
        traffic = note.derive(
            f"{base}/bytes",
            moved,
            r"A_{\min} = M_{\mathrm{stored}} + 4mn",
            f"{run.name}#/results/{result.id}/stored_bytes/total",
            shape[0],
            shape[2],
            unit="B",
        )
        counted = note.derive(f"{base}/operations", operations, "F = 2mkn", *shape, unit=work)
        note.derive(
            f"{base}/intensity",
            operations / moved,
            r"I = F / A_{\min}",
            counted,
            traffic,
            unit=f"{work}/B",
        )
