"""Is the record what this compiler does, and does the lab end well when something is missing?"""

import importlib.util
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from lab import preflight
from lab.kit import backend, fits, lowering, targets
from lab.kit.child import Compiler
from lab.kit.faults import BackendMissing, UsageFault
from lab.kit.policies import CPU_POLICIES, POLICIES
from lab.kit.redaction import Redactor
from lab.kit.run_folder import RunFolder, imported_sources

PROJECT = Path(__file__).resolve().parents[2]
RECORD = PROJECT / "lab/records/preflight-tpu"
GENERATIONS = tuple(targets.GENERATIONS)

TABLE = """
fp32-default | 64 f32 | 128 f32 | 64 bf16 | 64 bf16 | 32 bf16 | 16 bf16 | 16 bf16
fp32-high | 128 hi.f32 64 low.f32 | 128 hi.f32 64 low.f32 | 256 hi.f32 128 low.f32 | 384 f32 \
| 192 f32 | 96 f32 | 96 f32
fp32-highest | 320 hi.f32 64 low.f32 | 320 hi.f32 64 low.f32 | 320 hi.f32 64 low.f32 | 768 f32 \
| 384 f32 | 192 f32 | 192 f32
bf16 | 64 f32 | 128 f32 | 64 bf16 | 64 bf16 | 32 bf16 | 16 bf16 | 16 bf16
bf16-highest | 64 f32 | 128 f32 | 64 bf16 | 64 bf16 | 32 bf16 | 16 bf16 | 16 bf16
f16 | 64 f32 | 128 f32 | 128 f32 | 128 f32 | 64 f32 | 32 f32 | 32 f32
int8 | 64 f32 | 128 f32 | 128 f32 | 32 s8 | 16 s8 | 8 s8 | 32 f32
uint8 | 64 f32 | 128 f32 | 128 f32 | 32 u8 | 16 u8 | 8 u8 | 32 f32
int4 | 64 f32 | 128 f32 | 128 f32 | 32 s8 | 16 s8 | 8 s8 | 32 f32
bf16-int8 | 64 f32 | 128 f32 | 64 bf16 | 64 bf16 | 32 bf16 | 16 bf16 | 16 bf16
bf16-int4 | 64 f32 | 128 f32 | 64 bf16 | 64 bf16 | 32 bf16 | 16 bf16 | 16 bf16
e4m3fn | 64 f32 | 128 f32 | 128 f32 | 128 f32 | 64 f32 | 32 f32 | 8 f8e4m3fn
e5m2 | 64 f32 | 128 f32 | 128 f32 | 32 f8e5m2.bf16 | 16 f8e5m2.bf16 | 8 f8e5m2.bf16 | 8 f8e5m2
e4m3b11fnuz | 64 f32 | 128 f32 | 128 f32 | 32 f8e4m3b11.bf16 | 16 f8e4m3b11.bf16 \
| 8 f8e4m3b11.bf16 | 32 f32
fp4 | 64 f32 | 128 f32 | 128 f32 | 128 f32 | 64 f32 | 32 f32 | 32 f32
"""
"""Matrix instructions of a 256 x 256 x 256 product, by policy and generation."""

needs_compiler = pytest.mark.skipif(
    importlib.util.find_spec("libtpu") is None,
    reason="the TPU compiler is not installed; it is optional",
)


def cells() -> list[tuple[str, str, dict[str, int]]]:
    found = []
    for line in TABLE.strip().splitlines():
        policy, *row = (each.strip() for each in line.split("|"))
        for generation, cell in zip(GENERATIONS, row, strict=True):
            words = cell.split()
            counts = dict(zip(words[1::2], map(int, words[::2]), strict=True))
            found.append((policy, generation, counts))
    return found


@pytest.fixture(scope="module")
def report() -> Any:
    return json.loads((RECORD / "report.json").read_text())


@pytest.mark.parametrize(("policy", "generation", "counts"), cells())
def test_each_cell_of_the_matrix_instruction_table(
    report: Any, policy: str, generation: str, counts: dict[str, int]
) -> None:
    cell = report["instructions"]["shapes"]["256x256x256"][policy][generation]

    assert cell["counts"] == counts
    assert cell["unrecognized"] == []
    assert cell["level"] == "matrix-instruction"


def test_an_abort_is_recorded_beside_what_was_read(report: Any) -> None:
    rows = report["instructions"]["shapes"]["256x256x256"]

    for policy in ("int8", "bf16-int8"):
        assert rows[policy]["v4"]["compiler"] == "aborted"
        assert rows[policy]["v4"]["exit_code"] == 134
        assert "Check failed" in rows[policy]["v4"]["message"]


def test_batch_one_uses_no_matrix_instruction_on_v5e(report: Any) -> None:
    shapes = report["instructions"]["shapes"]

    assert shapes["1x127x65"]["bf16"]["v5e"]["matrix_instructions"] == 0
    assert shapes["8x128x64"]["bf16"]["v5e"]["counts"] == {"f32": 1}
    assert report["programs"]["bf16-1x127x65"]["targets"]["v5e"]["got"]["finding"] == "no dot found"


@pytest.mark.parametrize(
    ("program", "ideal", "argument", "output"),
    [
        ("fp32-highest-64x128x64", 65_536, 65_536, 32_768),
        ("bf16-highest-64x128x64", 32_768, 32_768, 32_768),
        ("int8-scaled-64x128x64", 16_896, 17_408, 32_768),
        ("fp32-highest-1x127x65", 33_528, 37_376, 512),
        ("bf16-highest-1x127x65", 16_764, 18_944, 512),
        ("int8-scaled-1x127x65", 8_646, 10_752, 512),
    ],
)
def test_ideal_and_tiled_bytes_on_v5e(
    report: Any, program: str, ideal: int, argument: int, output: int
) -> None:
    totals = report["ledger"][program]["totals"]

    assert totals["ideal_bytes"] == ideal
    assert totals["argument"]["v5e"] == argument
    assert totals["output"]["v5e"] == output


def test_int4_weights_are_three_numbers(report: Any) -> None:
    row = report["ledger"]["bf16-int4-64x128x64"]["operands"]["w"]

    assert (row["elements"], row["ideal_bits"]) == (8_192, 32_768)
    assert (row["nbytes"], row["argument"], row["tiled"]["v5e"]) == (8_192, 4_096, 4_096)


def test_operands_add_up_to_what_the_compiler_takes_for_them(report: Any) -> None:
    for entry in report["programs"].values():
        for compiled in entry["targets"].values():
            if compiled["status"] == "compiled":
                assert compiled["tiled_sum_is_argument"]


@pytest.mark.parametrize(
    ("generation", "usable", "devices"),
    [
        ("v2", "7.48G", 8),
        ("v3", "15.48G", 8),
        ("v4", "15.25G", 8),
        ("v5e", "15.75G", 4),
        ("v5p", "95.74G", 4),
        ("v6e", "31.25G", 4),
        ("tpu7x", "94.75G", 8),
    ],
)
def test_each_generation_says_what_memory_a_device_has(
    report: Any, generation: str, usable: str, devices: int
) -> None:
    target = report["targets"][generation]

    assert target["usable_memory"]["as_printed"] == usable
    assert target["devices"] == devices


@pytest.mark.parametrize(
    ("policy", "converts", "temporary", "accumulator"),
    [
        ("fp32-default", 0, 0, "f32"),
        ("bf16", 0, 0, "f32"),
        ("bf16-bf16", 3, 81_920, "f32"),
        ("bf16-unspecified", 3, 81_920, "f32"),
        ("f16", 2, 65_536, "f32"),
        ("int8", 0, 0, "s32"),
        ("int8-unspecified", 0, 0, "s8"),
        ("int8-float32", 2, 65_536, "f32"),
        ("fp32-int8", 1, 32_768, "f32"),
        ("fp32-int4", 1, 32_768, "f32"),
        ("fp32-int2", 1, 32_768, "f32"),
        *((policy, 2, 65_536, "f32") for policy in ("e4m3fn", "e5m2", "e4m3", "e4m3b11fnuz")),
        *((policy, 2, 65_536, "f32") for policy in ("e4m3fnuz", "e5m2fnuz", "e3m4", "e4m3-e5m2")),
        ("e8m0fnu", 2, 65_536, "f32"),
    ],
)
def test_what_a_cpu_makes_of_each_request(
    report: Any, policy: str, converts: int, temporary: int, accumulator: str
) -> None:
    compiled = report["programs"][f"{policy}-64x128x64"]["targets"]["cpu"]

    assert sum(each["count"] for each in compiled["got"]["converts"]) == converts
    assert compiled["memory_bytes"]["temporary"] == temporary
    assert [dot["accumulator"] for dot in compiled["got"]["dots"]] == [accumulator]


def test_int8_without_an_accumulator_is_flagged(report: Any) -> None:
    compiled = report["programs"]["int8-unspecified-64x128x64"]["targets"]["cpu"]

    assert [dot["wraps"] for dot in compiled["got"]["dots"]] == [True]


@pytest.mark.parametrize("policy", ["int4", "uint4", "int2", "fp4"])
def test_a_cpu_refuses_narrow_products_in_its_own_words(report: Any, policy: str) -> None:
    compiled = report["programs"][f"{policy}-64x128x64"]["targets"]["cpu"]

    assert compiled["status"] == "refused"
    assert "custom element sizes" in compiled["refusal"]["message"]


def test_the_record_holds_no_guess_of_a_time_and_no_path() -> None:
    text = (RECORD / "report.json").read_text()

    assert "optimal_seconds" not in text
    assert "site-packages" not in text
    for path in (RECORD / "programs").iterdir():
        assert "FileNames" not in path.read_text()


def test_kept_texts_are_those_that_were_hashed(report: Any) -> None:
    manifest = dict(
        reversed(line.split("  ", 1))
        for line in (RECORD / "manifest.sha256").read_text().splitlines()
    )
    for entry in report["programs"].values():
        for compiled in entry["targets"].values():
            for kind in ("stablehlo", "hlo"):
                if compiled.get(kind):
                    assert manifest[compiled[kind]] == compiled[f"{kind}_sha256"]


def fitting(up_to: int) -> Any:
    def compiles(batch: int) -> Mapping[str, Any]:
        if batch <= up_to:
            return {"status": "compiled", "memory_bytes": {"peak": batch}}
        return {"status": "refused", "message": "RESOURCE_EXHAUSTED: no room", "sizes": None}

    return compiles


@pytest.mark.parametrize("answer", [0, 1, 2, 3, 7, 8, 9, 100, 127, 1_000])
def test_the_largest_batch_is_found(answer: int) -> None:
    found = fits.largest(fitting(answer), 1_000)

    assert found["largest"] == answer
    assert found["limited_by_search"] == (answer == 1_000)
    assert (found["refusal"] is None) == (answer == 1_000)


def test_only_multiples_are_tried_where_a_batch_is_shared_out() -> None:
    found = fits.largest(fitting(103), 1_000, multiple_of=8)

    assert found["largest"] == 96
    assert all(probe["batch"] % 8 == 0 for probe in found["probes"])  # type: ignore[attr-defined]


def test_another_failure_ends_the_search_with_its_reason() -> None:
    found = fits.largest(lambda _: {"status": "refused", "message": "no such op"}, 8)

    assert found["largest"] is None
    assert found["largest_reason"] == "batch 1: refused: no such op"


@pytest.mark.parametrize(
    ("message", "needed", "available"),
    [
        (
            "Ran out of memory on HBM, the total memory required for HLO temporaries (24.66G) "
            "exceeds available HBM (15.75G).",
            "24.66G",
            "15.75G",
        ),
        ("Ran out of memory in memory space hbm. Used 20.00G of 15.75G hbm.", "20.00G", "15.75G"),
    ],
)
def test_both_sizes_of_a_refusal_are_read(message: str, needed: str, available: str) -> None:
    found = lowering.refused_sizes(message)

    assert found is not None
    assert found["needed"]["as_printed"] == needed
    assert found["available"] == {"as_printed": available, "bytes": 16_911_433_728}


def test_a_refusal_without_sizes_has_none() -> None:
    assert lowering.refused_sizes("INVALID_ARGUMENT: no") is None


@pytest.mark.parametrize("reported", [None, [], {}, [{}]])
def test_a_cost_that_is_not_reported_is_none(reported: object) -> None:
    class Compiled:
        def cost_analysis(self) -> object:
            return reported

    assert lowering.cost(Compiled()) is None


@pytest.mark.parametrize("reported", [{"flops": -1}, [{"flops": -1.0}], {"flops": float("inf")}])
def test_a_cost_of_minus_one_is_none(reported: object) -> None:
    class Compiled:
        def cost_analysis(self) -> object:
            return reported

    found = lowering.cost(Compiled())
    assert found is not None
    assert found["flop"] is None


@pytest.mark.parametrize("name", ["v9", "v5e:", "v5e:4", "v5e:axb", "v5e:4x4x4x4", "", "gpu"])
def test_an_unknown_target_is_refused_with_the_known_ones(name: str) -> None:
    with pytest.raises(UsageFault, match="tpu7x"):
        targets.parse_target(name)


def test_a_slice_is_its_own_target() -> None:
    target = targets.parse_target("V5e:4x4")

    assert (target.name, target.topology) == ("v5e:4x4", "v5e:4x4")
    assert preflight.chips_of(target) == 16


def test_a_missing_compiler_names_the_one_command(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda _: None)

    folder = tmp_path / "run"
    assert preflight.main(["--targets", "v5e", "--run-dir", str(folder)]) == 3
    failure = json.loads((folder / "failure.json").read_text())
    assert ".venv/bin/pip install --require-hashes -r tpu.lock" in failure["message"]
    assert not (folder / "report.json").exists()


@needs_compiler
def test_another_version_of_the_compiler_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(targets, "_pinned", lambda: "0.0.1.*")

    with pytest.raises(BackendMissing, match=r"0\.0\.1\.\*"):
        targets.require_compiler()


def test_the_locked_compiler_is_the_one_that_jax_pins() -> None:
    locked = (PROJECT / "tpu.lock").read_text().split()[0].removeprefix("libtpu==")

    assert targets._matches(locked, targets._pinned())


@pytest.mark.lab
def test_a_cpu_compiles_in_a_child_and_refuses_without_ending_it() -> None:
    with Compiler(limit_s=60) as compiler:
        asked = {"target": "cpu", "shape": (64, 128, 64)}
        refused = compiler.compile(asked | {"policy": POLICIES["int4"].as_json()})
        compiled = compiler.compile(asked | {"policy": CPU_POLICIES["bf16-bf16"].as_json()})

    assert refused["status"] == "refused"
    assert compiled["memory_bytes"]["temporary"] == 81_920


PROGRAMS = """
import os, sys, time
import jax

def step(w, x):
    return x @ w

def step_arguments(batch=8):
    return (
        jax.ShapeDtypeStruct((32, 16), "bfloat16"),
        jax.ShapeDtypeStruct((batch, 32), "bfloat16"),
    )

def aborts(x):
    os.abort()

def hangs(x):
    time.sleep(600)

def raises(x):
    raise ValueError("no such luck")

aborts_arguments = hangs_arguments = raises_arguments = lambda: (
    jax.ShapeDtypeStruct((4, 4), "float32"),
)

def exits(x):
    sys.exit("enough")

def leaves(x):
    os._exit(3)

def silent(x):
    raise ValueError

exits_arguments = leaves_arguments = silent_arguments = raises_arguments

bare = numbers = listed = uncallable = step

def bare_arguments():
    return jax.ShapeDtypeStruct((4, 4), "float32")

def numbers_arguments():
    return (jax.ShapeDtypeStruct((4, 4), "float32"), 3)

def listed_arguments():
    return list(step_arguments())

uncallable_arguments = step_arguments()

sharded = step
sharded_mesh = {"data": 2, "model": 2}

def sharded_arguments(mesh, batch=8):
    from jax.sharding import NamedSharding, PartitionSpec
    w, x = step_arguments(batch)
    over = NamedSharding(mesh, PartitionSpec("data"))
    return w, jax.ShapeDtypeStruct(x.shape, x.dtype, sharding=over)
"""


@pytest.fixture
def my_module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    (tmp_path / "my_module.py").write_text(PROGRAMS)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    return "my_module"


@pytest.mark.lab
def test_an_abort_and_a_time_limit_are_answers(my_module: str) -> None:
    with Compiler(limit_s=30) as compiler:
        aborted = compiler.compile({"target": "cpu", "reference": f"{my_module}:aborts"})
        raised = compiler.compile({"target": "cpu", "reference": f"{my_module}:raises"})
        compiler.limit_s = 1
        stopped = compiler.compile({"target": "cpu", "reference": f"{my_module}:hangs"})
        compiler.limit_s = 30
        compiled = compiler.compile({"target": "cpu", "reference": f"{my_module}:step"})

    assert (aborted["status"], aborted["exit_code"]) == ("aborted", 134)
    assert (raised["status"], raised["message"]) == ("not lowered", "no such luck")
    assert stopped["status"] == "stopped"
    assert compiled["status"] == "compiled"


@pytest.mark.lab
@pytest.mark.parametrize(
    ("program", "words"), [("nothing", "has no nothing"), ("uncallable", "not a callable")]
)
def test_what_is_no_program_is_said_so(my_module: str, program: str, words: str) -> None:
    with Compiler(limit_s=60) as compiler:
        found = compiler.compile({"describe": True, "reference": f"{my_module}:{program}"})

    assert found["status"] == "not lowered"
    assert words in found["message"]


@pytest.mark.lab
def test_a_program_that_ends_the_process_or_says_nothing_is_described_all_the_same(
    my_module: str,
) -> None:
    asked = {"target": "cpu"}
    with Compiler(limit_s=60) as compiler:
        exits = compiler.compile(asked | {"reference": f"{my_module}:exits"})
        silent = compiler.compile(asked | {"reference": f"{my_module}:silent"})
        leaves = compiler.compile(asked | {"reference": f"{my_module}:leaves"})

    assert (exits["status"], exits["error"]) == ("not lowered", "SystemExit")
    assert exits["message"] == "the program ended Python itself, by sys.exit('enough')"
    assert silent["message"] == "ValueError, without a message"
    assert (leaves["status"], leaves["exit_code"]) == ("aborted", 3)
    assert leaves["message"] == "its process ended with code 3, without a word"


@pytest.mark.lab
def test_arguments_that_are_no_tuple_of_shapes_are_refused_with_what_to_return(
    my_module: str,
) -> None:
    asked = {"target": "cpu"}
    with Compiler(limit_s=60) as compiler:
        bare = compiler.compile(asked | {"reference": f"{my_module}:bare"})
        numbers = compiler.compile(asked | {"reference": f"{my_module}:numbers"})
        listed = compiler.compile(asked | {"reference": f"{my_module}:listed"})

    assert (bare["status"], bare["error"]) == ("not lowered", "usage")
    assert "return a tuple of its arguments, and not a ShapeDtypeStruct" in bare["message"]
    assert "hold an int" in numbers["message"]
    assert listed["status"] == "compiled"


@pytest.mark.lab
@pytest.mark.parametrize(
    ("program", "words"),
    [
        ("my_module:nothing", "has no nothing"),
        ("no_such_module:step", "No module named"),
        ("my_module", "module:function"),
    ],
)
def test_a_program_that_is_not_there_is_a_fault_of_usage_and_leaves_no_folder(
    my_module: str,
    tmp_path: Path,
    program: str,
    words: str,
    capfd: pytest.CaptureFixture[str],
) -> None:
    assert my_module
    folder = tmp_path / "runs" / "run"
    given = ["--program", program, "--targets", "cpu", "--run-dir", str(folder)]

    assert preflight.main(given) == 2
    assert words in capfd.readouterr().err
    assert not folder.parent.exists()


def test_a_refused_request_speaks_of_no_command_that_was_not_typed(
    capfd: pytest.CaptureFixture[str],
) -> None:
    with pytest.raises(SystemExit) as caught:
        preflight.parse(["--targets", "v9"])
    told = capfd.readouterr().err

    assert caught.value.code == 2
    assert told.startswith("refused: 'v9' is no target; name cpu")
    assert "python -m" not in told


def test_the_usage_text_names_the_lab_and_no_way_to_start_it(
    capfd: pytest.CaptureFixture[str],
) -> None:
    with pytest.raises(SystemExit):
        preflight.parse(["--batch", "none"])

    assert capfd.readouterr().err.startswith("usage: preflight [-h]")


@pytest.mark.lab
def test_flags_that_xla_cannot_read_are_named_before_it_would_abort(
    run_lab: Any, tmp_path: Path
) -> None:
    folder = tmp_path / "run"
    done = run_lab(
        "preflight", "--targets", "cpu", "--run-dir", folder,
        XLA_FLAGS="--xla_no_such_flag=1 --xla_cpu_multi_thread_eigen=true",
    )  # fmt: skip

    assert done.returncode == 2
    failure = json.loads((folder / "failure.json").read_text())
    assert failure["kind"] == "usage"
    assert "XLA refused XLA_FLAGS" in failure["message"]
    assert "Unknown flag in XLA_FLAGS: --xla_no_such_flag=1" in failure["message"]


@pytest.mark.lab
def test_flags_that_xla_reads_are_let_through(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XLA_FLAGS", "--xla_cpu_multi_thread_eigen=true")

    backend.require_readable_flags()


def test_a_compiler_without_a_memory_analysis_is_described_all_the_same(tmp_path: Path) -> None:
    class Compiled:
        def memory_analysis(self) -> None:
            return None

    folder = RunFolder.create(tmp_path / "run", Redactor(hosts=[], users=[], folders=[]))
    answer = {
        "status": "compiled",
        "memory_bytes": lowering.memory_bytes(Compiled()),
        "stablehlo": "",
        "hlo": "HloModule m\n\nENTRY main {\n  ROOT x = f32[8] parameter(0)\n}\n",
    }
    described = preflight.describe_answer(answer, preflight.Texts(folder, "x", True), "cpu")

    assert described["memory_bytes"] is None
    assert described["tiled_sum_is_argument"] is False
    assert preflight.told(described) == (
        "compiled: unknown bytes of arguments, unknown bytes at the peak"
    )


@pytest.mark.lab
def test_a_program_that_does_not_compile_anywhere_has_a_report_and_exit_code_4(
    my_module: str, tmp_path: Path
) -> None:
    folder = tmp_path / "run"
    given = ["--program", f"{my_module}:raises", "--targets", "cpu", "--run-dir", str(folder)]

    assert preflight.main(given) == 4
    entry = json.loads((folder / "report.json").read_text())["programs"]["raises"]
    assert entry["targets"]["cpu"]["refusal"]["message"] == "no such luck"


@needs_compiler
@pytest.mark.lab
def test_a_users_program_compiles_for_a_slice_and_its_largest_batch_is_searched(
    my_module: str, tmp_path: Path
) -> None:
    folder = tmp_path / "run"
    given = ["--program", f"{my_module}:sharded", "--targets", "v5e:2x2", "--run-dir", str(folder)]
    search = ["--max", "batch", "--up-to", "16", "--multiple-of", "2"]

    assert preflight.main([*given, *search]) == 0
    report = json.loads((folder / "report.json").read_text())
    compiled = report["programs"]["sharded"]["targets"]["v5e-2x2"]
    assert [each["shape"] for each in compiled["arguments"]] == ["bf16[32,16]", "bf16[4,32]"]
    assert report["fits"]["sharded"]["targets"]["v5e-2x2"]["largest"] == 16
    assert report["targets"]["v5e-2x2"]["devices"] == 4


@needs_compiler
@pytest.mark.lab
@pytest.mark.parametrize(("policy", "generation"), [("int8", "v5e"), ("int8", "v4")])
def test_the_installed_compiler_still_gives_the_recorded_instructions(
    report: Any, policy: str, generation: str
) -> None:
    from lab.kit import schedule

    asked = {"target": generation, "policy": POLICIES[policy].as_json(), "shape": (256, 256, 256)}
    found = schedule.of_program(asked, limit_s=120)

    recorded = report["instructions"]["shapes"]["256x256x256"][policy][generation]
    assert (found["compiler"], found["counts"]) == (recorded["compiler"], recorded["counts"])


def test_the_record_keeps_the_modules_that_only_its_child_runs() -> None:
    copied = {
        path.relative_to(RECORD / "sources").as_posix()
        for path in (RECORD / "sources").rglob("*.py")
    }
    imported = imported_sources(PROJECT / "lab/preflight.py")

    assert "lab/kit/lowering.py" in copied
    assert copied == {path.relative_to(PROJECT).as_posix() for path in imported}
