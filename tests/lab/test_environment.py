"""Does a record say on what machine it was made, and say so when it does not know?"""

import json
from collections.abc import Mapping
from pathlib import Path

import pytest

from lab.kit import environment, machine
from lab.kit.machine import Machine

CPUINFO = """\
processor\t: 0
model name\t: Example CPU @ 2.00GHz
flags\t\t: fpu sse4_1 avx avx2 fma avx512f avx512_bf16 avx512_vnni amx_tile amx_bf16 hypervisor

processor\t: 1
model name\t: Another
flags\t\t: fpu
"""


def place(root: Path, files: Mapping[str, str]) -> Machine:
    """A Linux machine whose system tells no more than these files."""
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return Machine(root=root, sysctl=lambda _: None, system="Linux", architecture="x86_64")


@pytest.fixture(autouse=True)
def four_cores(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine.os, "cpu_count", lambda: 4)


def test_the_processor_is_named_with_what_multiplies_narrow_types(tmp_path: Path) -> None:
    cpu = "sys/devices/system/cpu/cpu"
    found = place(
        tmp_path,
        {
            "proc/cpuinfo": CPUINFO,
            **{
                f"{cpu}{core}/topology/thread_siblings_list": f"{core // 2 * 2}-{core // 2 * 2 + 1}"
                for core in range(4)
            },
            f"{cpu}0/cpufreq/scaling_governor": "performance\n",
            f"{cpu}1/cpufreq/scaling_governor": "powersave\n",
        },
    ).processor()

    assert found["model"] == "Example CPU @ 2.00GHz"
    assert found["isa"] == [
        *("amx_bf16", "amx_tile", "avx", "avx2", "avx512_bf16", "avx512_vnni", "avx512f"),
        *("fma", "sse4_1"),
    ]
    assert found["narrow_isa"] == {
        "avx512_bf16": True,
        "avx512_vnni": True,
        "avx_vnni": False,
        "amx_tile": True,
        "amx_bf16": True,
        "amx_int8": False,
    }
    assert (found["logical_cores"], found["physical_cores"]) == (4, 2)
    assert found["governor"] == "performance, powersave"


def test_an_arm_processor_is_asked_for_its_own_instructions(tmp_path: Path) -> None:
    (tmp_path / "proc").mkdir()
    (tmp_path / "proc/cpuinfo").write_text("Features\t: fp asimd asimddp bf16\n")
    found = Machine(
        root=tmp_path, sysctl=lambda _: None, system="Linux", architecture="aarch64"
    ).processor()

    assert found["narrow_isa"] == {"asimddp": True, "bf16": True, "i8mm": False, "sme": False}


def test_a_mac_tells_by_sysctl(tmp_path: Path) -> None:
    facts = {
        "machdep.cpu.brand_string": "Apple M9",
        "hw.physicalcpu": "3",
        "hw.optional.arm.FEAT_BF16": "1",
        "hw.optional.arm.FEAT_I8MM": "0",
        "kern.hv_vmm_present": "0",
    }
    mac = Machine(root=tmp_path, sysctl=facts.get, system="Darwin", architecture="arm64")
    found = mac.processor()

    assert (found["model"], found["physical_cores"]) == ("Apple M9", 3)
    assert found["isa"] == ["bf16"]
    assert found["narrow_isa"] == {"asimddp": False, "bf16": True, "i8mm": False, "sme": False}
    assert mac.virtual_machine()["present"] is False


def test_what_a_system_does_not_tell_is_null_with_a_reason(tmp_path: Path) -> None:
    nothing = place(tmp_path, {})
    told = nothing.processor() | nothing.limits() | nothing.clock() | nothing.virtual_machine()

    for name in ("isa", "physical_cores", "governor", "cpu_cores", "memory_bytes", "source"):
        assert told[name] is None, name
        assert told[f"{name}_reason"], name
    assert (told["present"], told["present_reason"]) == (None, "the processor does not tell")
    assert told["narrow_isa"] is None


@pytest.mark.parametrize(
    ("files", "cores", "memory"),
    [
        (
            {
                "proc/self/cgroup": "0::/a/b\n",
                "sys/fs/cgroup/a/b/cpu.max": "max 100000",
                "sys/fs/cgroup/a/cpu.max": "150000 100000",
                "sys/fs/cgroup/cpu.max": "max 100000",
                "sys/fs/cgroup/a/b/memory.max": "1073741824",
                "sys/fs/cgroup/a/memory.max": "max",
            },
            (1.5, None),
            (1073741824, None),
        ),
        (
            {
                "proc/self/cgroup": "4:memory:/x\n3:cpu,cpuacct:/x\n0::/\n",
                "sys/fs/cgroup/cpu/x/cpu.cfs_quota_us": "200000",
                "sys/fs/cgroup/cpu/x/cpu.cfs_period_us": "100000",
                "sys/fs/cgroup/cpu/cpu.cfs_quota_us": "-1",
                "sys/fs/cgroup/cpu/cpu.cfs_period_us": "100000",
                "sys/fs/cgroup/memory/x/memory.limit_in_bytes": "9223372036854771712",
            },
            (2.0, None),
            (None, "no limit is set"),
        ),
        (
            {"proc/self/cgroup": "0::/../outside\n", "sys/fs/cgroup/cpu.max": "50000 100000"},
            (0.5, None),
            (None, "no limit can be read"),
        ),
        (
            {"proc/self/cgroup": "0::/\n", "sys/fs/cgroup/cpu.max": "5 0"},
            (None, "no limit can be read"),
            (None, "no limit can be read"),
        ),
    ],
)
def test_the_smallest_limit_of_the_control_groups_holds(
    tmp_path: Path, files: Mapping[str, str], cores: object, memory: object
) -> None:
    found = place(tmp_path, files).limits()

    assert (found["cpu_cores"], found["cpu_cores_reason"]) == cores
    assert (found["memory_bytes"], found["memory_bytes_reason"]) == memory


def test_the_clock_is_named_with_its_resolution(tmp_path: Path) -> None:
    source = "sys/devices/system/clocksource/clocksource0/current_clocksource"
    found = place(tmp_path, {source: "tsc\n"}).clock()

    assert found["source"] == "tsc"
    assert isinstance(found["resolution_s"], float)
    assert isinstance(found["tick_s"], float)
    assert 0 < found["tick_s"] < 0.1


def test_a_tick_divides_every_step(monkeypatch: pytest.MonkeyPatch) -> None:
    readings = iter([100, 130, 130, 180])
    monkeypatch.setattr(machine, "CLOCK_READINGS", 4)
    monkeypatch.setattr(machine.time, "perf_counter_ns", lambda: next(readings))

    assert machine.tick_ns() == 10


def test_a_virtual_machine_names_its_maker(tmp_path: Path) -> None:
    found = place(
        tmp_path, {"proc/cpuinfo": CPUINFO, "sys/class/dmi/id/sys_vendor": "QEMU\n"}
    ).virtual_machine()

    assert (found["present"], found["maker"]) == (True, "QEMU")


def test_a_real_machine_does_not_name_its_maker(tmp_path: Path) -> None:
    found = place(
        tmp_path, {"proc/cpuinfo": "flags : fpu\n", "sys/class/dmi/id/sys_vendor": "Somebody"}
    ).virtual_machine()

    assert (found["present"], found["maker"]) == (False, None)


def test_only_the_beginning_of_a_huge_file_is_read(tmp_path: Path) -> None:
    model = "x" * machine.MAX_BYTES
    found = place(tmp_path, {"proc/cpuinfo": f"model name : {model}\nflags : avx\n"}).processor()

    assert found["model"] == "x" * machine.MAX_TEXT
    assert found["isa"] is None


def test_affinity_is_told_in_ranges() -> None:
    assert machine.ranges([0, 1, 2, 3, 8, 10, 11]) == "0-3,8,10-11"
    assert machine.ranges([]) == ""


def test_a_system_without_affinity_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(machine.os, "sched_getaffinity", raising=False)
    found = Machine(system="Darwin").affinity()

    assert (found["usable_cores"], found["affinity"]) == (None, None)
    assert found["affinity_reason"] == "Darwin does not tell on which cores a process runs"


def test_settings_outside_the_list_are_never_read_and_secrets_are_left_out(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("XLA_FLAGS", "--xla_a=1 --xla_auth_token=abc123 --xla_b=2")
    monkeypatch.setenv("LIBTPU_INIT_ARGS", "x" * 10_000)
    monkeypatch.setenv("JAX_SECRET_OF_MINE", "abc123")
    monkeypatch.delenv("JAX_ENABLE_X64", raising=False)
    found = environment.flags()

    assert found["XLA_FLAGS"] == "--xla_a=1 --xla_auth_token=<secret> --xla_b=2"
    assert len(found["LIBTPU_INIT_ARGS"] or "") == environment.MAX_SETTING
    assert found["JAX_ENABLE_X64"] is None
    assert "abc123" not in json.dumps(found)


@pytest.mark.lab
def test_numpys_own_products_are_told_with_their_library() -> None:
    found = environment.blas()

    assert found["name"]
    assert found["threads"] is None or found["threads"] >= 1  # type: ignore[operator]
    assert (found["threads"] is None) == (found["threads_reason"] is not None)


def test_a_numpy_that_does_not_tell_its_library_is_no_crash(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    import numpy as np

    monkeypatch.setattr(np, "show_config", lambda **_: None)
    monkeypatch.setattr(np, "__file__", str(tmp_path / "numpy/__init__.py"))
    found = environment.blas()

    assert (found["name"], found["name_reason"]) == (None, "this NumPy does not tell")
    assert (found["threads"], found["threads_reason"]) == (
        None,
        "the library is not one that tells",
    )


def test_libtpu_is_told_or_said_to_be_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    def version(name: str) -> str:
        if name == "libtpu":
            raise environment.importlib.metadata.PackageNotFoundError
        return "1.2.3"

    monkeypatch.setattr(environment.importlib.metadata, "version", version)
    found = environment.versions()

    assert (found["libtpu"], found["libtpu_reason"]) == (None, "not installed")
    assert found["jaxlib"] == "1.2.3"
