"""Before any number of a capture: what it holds, whether that may be believed, what it hides."""

from collections import Counter
from collections.abc import Iterator

from report.numbers.profile import Finding, Plane, Profile


def verdict(profile: Profile) -> str:
    """One sentence on what the capture holds and how it must be read."""
    warnings = cautions(profile)
    read = (
        f"Read it with care: {_counted(len(warnings), 'warning')}, below."
        if warnings
        else "Nothing in it speaks against reading it."
    )
    return f"{holds(profile)} {read}"


def holds(profile: Profile) -> str:
    """Device planes by name of type, steps, hosts: what is there, and what is not."""
    steps = _counted(len(profile.steps) + profile.steps_left_out.count, "step")
    hosts = _counted(len(profile.hosts), "host")
    return f"{devices(profile)} {steps if profile.steps else 'No step'} from {hosts}."


def devices(profile: Profile) -> str:
    """Which devices the files show; never how many there were."""
    planes, busy = profile.device_planes, profile.busy_planes
    if not planes:
        return "No device lane in this capture: it says nothing about device time."
    known = f"{_counted(len(planes), 'device plane')} in this capture"
    known += f", {len(busy)} with events" if len(busy) < len(planes) else ""
    types = Counter(identity(plane) for plane in busy or planes)
    told = "; ".join(f"{count} × {name}" for name, count in types.items())
    return f"{known}: {told}."


def identity(plane: Plane) -> str:
    """A device as its file spells it, the chip that this names, and what one plane is."""
    device = plane.device
    if device is None or not device.type:
        return "a device whose type the file does not tell"
    chip = device.chip or "unknown chip"
    per = f", one {device.shows} a plane" if device.shows else ""
    return f"{device.type} ({chip}{per})"


def cautions(profile: Profile) -> tuple[Finding, ...]:
    return tuple(found for found in profile.findings if found.level == "warning")


def cannot_show(profile: Profile) -> Iterator[str]:
    """What no reading of this capture can answer."""
    if profile.blind and profile.busy_planes:
        yield f"How long any device worked: {profile.blind}."
    elif profile.blind:
        yield (
            "How long any device worked. Operations that a CPU ran stand on host threads, beside"
            " the runtime’s own work; a lane that is absent says nothing of how busy it was."
        )
    elif profile.host_device_comparable is False:
        yield (
            "How far devices lag behind the host. Their times come from clocks that do not meet,"
            " so no gap between the two is worked out."
        )
    if not profile.steps:
        yield "What one step takes: no step was annotated."
    if profile.missing_processes:
        listed = ", ".join(map(str, profile.missing_processes))
        yield f"Anything of process {listed}, which is not in these files."
    if profile.lost_events:
        yield f"{profile.lost_events:,} events that the profiler says it lost."
    yield "How near an operation comes to the peak of a chip: a profile holds times, not work."
    yield "What the program takes without a profiler: a capture slows what it looks at."


def _counted(count: int, noun: str) -> str:
    return f"{count:,} {noun}{'' if count == 1 else 's'}"
