"""A run over several processes: who took part, and whether all of them got the same outputs.

Process 0 gathers what the others tell; a run in which one of them is missing is refused.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from report.numbers.reading import Fields
from report.numbers.run import Setting


@dataclass(frozen=True, slots=True, kw_only=True)
class Process:
    """One process of the run, with its devices by their global numbers."""

    index: int
    device: int
    """The one that it measured on."""
    local_devices: tuple[int, ...]
    manifest_sha256: str
    """Of its own run folder; empty for process 0, whose manifest lists this very report."""
    outputs: Mapping[str, str]
    """SHA-256 of the bytes of each output."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Cluster:
    """The processes of one distributed run, as one of them saw it."""

    index: int
    processes: int
    devices: int
    agree: Mapping[str, bool]
    """Whether all processes got the same bytes, by result."""
    gathered: tuple[Process, ...]
    """All of them, in process 0; none in the others."""

    @property
    def extent(self) -> str:
        """What one of its results stands for."""
        return f"one device of {self.devices} over {self.processes} processes"

    @property
    def verdict(self) -> str:
        """Whether the outputs agree, in one sentence."""
        if all(self.agree.values()):
            return f"All {self.processes} processes got the same bytes in every result."
        apart = ", ".join(name for name, agrees in self.agree.items() if not agrees)
        return f"The processes did not all get the same bytes in {apart}."


def read_cluster(report: Fields, setting: Setting, results: Sequence[str]) -> Cluster | None:
    """The processes of a distributed run; None for a run of one process."""
    if not report.has("cluster"):
        if setting.processes > 1:
            found = f"{report.found.get('cluster')!r}"
            report.fault("cluster", found, f"who the {setting.processes} processes were")
        return None
    fields = report.within("cluster")
    count, index = fields.count("processes"), fields.count("index")
    fields.agree("processes", setting.processes, "as in environment.json")
    devices = fields.counts("global_devices")
    if len(devices) != setting.devices or len(set(devices)) != len(devices):
        found = f"{len(set(devices))} different numbers"
        fields.fault("global_devices", found, f"{setting.devices}, as in environment.json")
    agree = fields.within("outputs_agree")
    cluster = Cluster(
        index=index,
        processes=count,
        devices=len(devices),
        agree={name: agree.flag(name) for name in results},
        gathered=_gathered(fields, results) if fields.has("gathered") else (),
    )
    if not cluster.gathered:
        fields.name("gathered_reason")
        if index == 0:
            fields.fault("gathered", "nothing", "what process 0 heard from the others")
    else:
        _complete(cluster, fields, devices)
    return cluster


def _gathered(fields: Fields, results: Sequence[str]) -> tuple[Process, ...]:
    return tuple(
        Process(
            index=each.count("index"),
            device=each.count("device"),
            local_devices=each.counts("local_devices"),
            manifest_sha256=each.optional_text("manifest_sha256"),
            outputs={name: each.within("outputs").text(name) for name in results},
        )
        for each in fields.objects("gathered")
    )


def _complete(cluster: Cluster, fields: Fields, devices: Sequence[int]) -> None:
    """Every process once, each with devices of its own that make up all of them."""
    found = [each.index for each in cluster.gathered]
    whole = list(range(min(cluster.processes, cluster.devices)))  # each has a device of its own
    if found != whole or cluster.processes > cluster.devices:
        told = f"the processes {found}"[:60]
        missing = ", ".join(str(index) for index in whole if index not in found)
        fields.fault(
            "gathered",
            f"{told}, so no process {missing}" if missing else told,
            f"0 to {cluster.processes - 1}, once and in order",
        )
    owned = [device for each in cluster.gathered for device in each.local_devices]
    if sorted(owned) != sorted(devices):
        told = f"the devices {owned}"[:60]
        fields.fault("gathered/local_devices", told, "each of global_devices once")
    for place, each in enumerate(cluster.gathered):
        if each.device not in each.local_devices:
            own = f"one of {list(each.local_devices)}"
            fields.fault(f"gathered/{place}/device", f"{each.device}", own)
        if bool(each.manifest_sha256) != (each.index != 0):
            expected = "one for each but process 0"
            fields.fault(f"gathered/{place}/manifest_sha256", each.manifest_sha256, expected)
    for name, agrees in cluster.agree.items():
        same = len({each.outputs[name] for each in cluster.gathered}) == 1
        if agrees != same:
            expected = f"{same}, as the gathered digests say"
            fields.fault(f"outputs_agree/{name}", f"{agrees}", expected)
