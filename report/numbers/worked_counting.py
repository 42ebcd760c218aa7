"""What a name or a chip counts: chips, TensorCores and JAX devices."""

import re
from collections.abc import Mapping

from report.numbers.workings import Workings
from report.specs import Chip
from report.units import Quantity


def work_out_counting(chips: Mapping[str, Chip], note: Workings) -> None:
    """Write down `study#/counting/…`: memory a device, and what an accelerator's name holds."""
    for chip in chips.values():
        devices = chip.specs["jax_devices"].value
        capacity = chip.specs["hbm_capacity"].quantity
        if isinstance(devices, int) and isinstance(capacity, Quantity):
            note.derive(
                f"counting/{chip.id}/hbm_per_device",
                capacity.per("device", of=devices),
                r"M_{\mathrm{chip}} / N_{\mathrm{devices}}",
                f"chips#/{chip.id}/hbm_capacity",
                f"chips#/{chip.id}/jax_devices",
            )
    _cores_in_a_name("v5p-8", chips, note)


def _cores_in_a_name(name: str, chips: Mapping[str, Chip], note: Workings) -> None:
    """For a generation whose names count TensorCores, as v5p's do."""
    parsed = re.fullmatch(r"(?P<chip>[a-z0-9]+)-(?P<cores>[0-9]+)", name)
    if parsed is None or parsed["chip"] not in chips:
        return
    each = chips[parsed["chip"]].specs["tensorcores"].value
    if not isinstance(each, int):
        return
    cores = note.derive(
        f"counting/{name}/tensorcores", int(parsed["cores"]), rf"\text{{the number in {name}}}"
    )
    note.derive(
        f"counting/{name}/chips",
        int(parsed["cores"]) // each,
        r"N_{\mathrm{cores}} / N_{\mathrm{cores\ per\ chip}}",
        cores,
        f"chips#/{parsed['chip']}/tensorcores",
    )
