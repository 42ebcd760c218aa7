"""What the names of planes and lines mean, alike for every file format."""

import re

from lab.kit.profile_events import Kind, View

DEVICE = re.compile(r"/device:([A-Za-z]+):(\d+)")
"""One device. A SparseCore's plane, "/device:TPU:0 SparseCore 1", is a part of one."""

MODULE = re.compile(r"(.+)\((\d+)\)")
"""An event of the modules' line: a program's name and its id."""

PYTHON_FRAME = "$"
"""How the names of JAX's Python tracer begin."""

_DEVICE_VIEWS: dict[str, View] = {
    "Steps": "steps",
    "XLA Modules": "modules",
    "XLA Ops": "ops",
    "Async XLA Ops": "async",
}


def plane_kind(name: str) -> Kind:
    if DEVICE.fullmatch(name) and not name.startswith("/device:CUSTOM"):
        return "device"
    if name == "/host:metadata":
        return "metadata"
    if name.startswith("/host:"):
        return "host"
    return "environment" if name == "Task Environment" else "other"


def line_view(kind: Kind, name: str) -> View:
    """Modules, operations and asynchronous copies are views of one device's one time."""
    if kind == "host":
        return "host"
    if kind != "device":
        return "other"
    if re.match(r"stream\b", name, re.IGNORECASE):
        return "stream"
    return _DEVICE_VIEWS.get(name, "annotation")


def device_of(name: str) -> tuple[str | None, int | None]:
    """(platform, ordinal) of a device plane's name."""
    found = DEVICE.fullmatch(name)
    if not found:
        return None, None
    platform = found[1].lower()
    return platform if platform in ("tpu", "gpu") else None, int(found[2])
