"""What every recorded run has, whatever its lab measured: where it happened, and its files."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

from report.evidence import Evidence
from report.numbers.reading import Fields
from report.source import Source
from report.specs import PLATFORMS

_TIME = re.compile(r"\d{4}-[01]\d-[0-3]\dT[0-2]\d:[0-5]\d:[0-6]\dZ")


@dataclass(frozen=True, slots=True, kw_only=True)
class Scope:
    """Where the run happened, and the sentence that must stand above its results."""

    platform: str
    statement: str
    single_device: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Machine:
    """What two measurements must share before one may be read as a share of the other."""

    platform: str
    device_kind: str
    cpu_model: str

    def __str__(self) -> str:
        return f"{self.device_kind} ({self.platform}, {self.cpu_model})"


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """On what, when and with which JAX the run was made, as its environment says."""

    platform: str
    device_kind: str
    devices: int
    processes: int
    """Processes of one run that these devices belonged to; one, unless it was distributed."""
    recorded_at: str
    """UTC, such as 2026-11-30T01:02:03Z."""
    jax: str
    cpu_model: str
    """The processor that the device is, or that it sits beside."""

    @property
    def machine(self) -> Machine:
        return Machine(
            platform=self.platform, device_kind=self.device_kind, cpu_model=self.cpu_model
        )

    @property
    def statement(self) -> str:
        """The sentence that must stand above whatever was measured there."""
        over = f" over {self.processes} processes" if self.processes > 1 else ""
        share = f"One device of {self.devices}{over}."
        if self.platform != "cpu":
            return f"Measured on {self.device_kind}. {share}"
        cpu = "CPU arithmetic reference. Not a TPU result."
        return f"{cpu} {share}" if over else cpu


@dataclass(frozen=True, slots=True, kw_only=True)
class CompilerMemory:
    """The compiler's own account of one program, in bytes. Estimates, not measurements.

    A figure that this compiler does not give is None.
    """

    argument: int | None
    output: int | None
    temporary: int | None
    alias: int | None
    generated_code: int | None
    peak: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Artifact:
    """A file of the run, by its path in the run folder; the manifest has the same digest."""

    path: str
    sha256: str


class Run(Protocol):
    """One recorded run as typed values, of whatever kind."""

    @property
    def name(self) -> str: ...

    @property
    def source(self) -> Source:
        """The run's report.json, with its digest."""

    @property
    def level(self) -> str:
        """`current` when made by today's lab, else `historic`."""

    @property
    def scope(self) -> Scope: ...

    @property
    def recorded_at(self) -> str:
        """UTC, such as 2026-11-30T01:02:03Z."""

    @property
    def device(self) -> str:
        """The kind of device it ran on, or that there was none."""

    @property
    def made(self) -> str:
        """How its numbers came to be, for the foot of a figure."""

    @property
    def extent(self) -> str:
        """What it covers, in a few words, for the list of records."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MeasuredRun:
    """What each run has that one of our labs measured on a device: a `Run`, but for its extent."""

    name: str
    source: Source
    level: str
    scope: Scope
    setting: Setting

    @property
    def recorded_at(self) -> str:
        return self.setting.recorded_at

    @property
    def device(self) -> str:
        return self.setting.device_kind

    @property
    def made(self) -> str:
        return f"measured on {self.device}"


def documents(evidence: Evidence) -> tuple[Fields, Fields, Fields]:
    """A run's report, environment and config, whose faults are told together."""
    record = evidence.record
    report = Fields(record.report, f"{record.name}/report.json")
    environment = Fields(
        record.environment, f"{record.name}/environment.json", faults=report.faults
    )
    config = Fields(record.config, f"{record.name}/config.json", faults=report.faults)
    return report, environment, config


def source_of(evidence: Evidence) -> Source:
    """The run's report.json, with its digest."""
    name = evidence.record.name
    files = {file.path: file.sha256 for file in evidence.record.files}
    return Source(
        name=f"{name}/report.json",
        href=f"records/{name}/report.json",
        sha256=files.get("report.json"),
    )


def read_scope(fields: Fields) -> Scope:
    """The scope that a report states for itself."""
    return Scope(
        platform=fields.text("platform"),
        statement=fields.text("statement"),
        single_device=fields.flag("single_device"),
    )


def read_setting(fields: Fields) -> Setting:
    """Where a run happened, from its environment.json."""
    devices, versions = fields.within("devices"), fields.within("versions")
    used = devices.within("used")
    setting = Setting(
        platform=used.text("platform"),
        device_kind=used.name("kind"),
        devices=devices.count("count"),
        processes=devices.count("process_count"),
        recorded_at=recorded_at(fields),
        jax=versions.name("jax"),
        cpu_model=fields.within("cpu").name("model"),
    )
    fields.texts("redacted")
    if setting.platform not in PLATFORMS:
        used.fault("platform", f"{setting.platform!r:.60}", " or ".join(PLATFORMS))
    return setting


def recorded_at(environment: Fields) -> str:
    """When the run was recorded, UTC."""
    time = environment.text("recorded_at")
    if not _TIME.fullmatch(time):
        environment.fault("recorded_at", f"{time!r:.60}", "a time such as 2026-11-30T01:02:03Z")
    return time


def agree_with_setting(setting: Setting, report: Fields, environment: Fields) -> None:
    """What stands above the results must be true of the machine that measured them."""
    platform, ran = setting.platform, "the platform of the device that ran"
    if platform not in PLATFORMS:  # a fault already
        return
    for key in ("requested", "actual"):
        environment.within("platform").agree(key, platform, ran)
    report.within("request").agree("platform", platform, ran)
    scope = report.within("scope")
    scope.agree("platform", platform, ran)
    scope.agree("statement", setting.statement, "what may be said of that device")
    scope.agree("single_device", True, "every lab that measures takes one device")


def read_memory(fields: Fields) -> CompilerMemory:
    """The compiler's figures for one program."""
    return CompilerMemory(
        argument=fields.optional_count("argument"),
        output=fields.optional_count("output"),
        temporary=fields.optional_count("temporary"),
        alias=fields.optional_count("alias"),
        generated_code=fields.optional_count("generated_code"),
        peak=fields.optional_count("peak"),
    )


def read_artifact(fields: Fields, path: str, sha256: str, files: Mapping[str, str]) -> Artifact:
    """A file of the run as the report names it, which must be one that was verified."""
    artifact = Artifact(path=fields.text(path), sha256=fields.text(sha256))
    if files.get(artifact.path) != artifact.sha256:
        fields.fault(
            path, f"{artifact.path!r:.60}", f"a file of this run with the {sha256} beside it"
        )
    return artifact
