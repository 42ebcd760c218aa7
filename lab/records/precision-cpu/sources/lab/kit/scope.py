"""How far a run's numbers reach: the sentence that must stand above them."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import jax


def scope_of(device: "jax.Device") -> dict[str, object]:
    """The platform, and what may be said of what was measured on `device`."""
    import jax

    devices, processes = jax.device_count(), jax.process_count()
    share = f"One device of {devices}" + (f" over {processes} processes" if processes > 1 else "")
    if device.platform != "cpu":
        statement = f"Measured on {device.device_kind}. {share}."
    elif processes == 1:
        statement = "CPU arithmetic reference. Not a TPU result."
    else:
        statement = f"CPU arithmetic reference. Not a TPU result. {share}."
    return {"platform": device.platform, "statement": statement, "single_device": True}
