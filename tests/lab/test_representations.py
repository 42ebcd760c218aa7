"""The representations lab as it is run: its record, its refusals, its own policies."""

import hashlib
import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from lab import representations
from lab.kit import cases, policy_file, products
from lab.kit.cases import Inputs
from lab.kit.faults import CompileRefused
from lab.kit.redaction import Redactor
from lab.kit.representation import represent
from lab.kit.run_folder import RunFolder
from lab.representations import bound_of

pytestmark = pytest.mark.lab

Lab = Callable[..., subprocess.CompletedProcess[str]]

CHOSEN = ("fp32", "int8-row-column", "int8-static", "int4-row-column", "e4m3b11fnuz-nan", "w4")


@pytest.fixture(scope="module")
def made(run_lab: Lab, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run with some of the lab's policies and one of a user's own."""
    place = tmp_path_factory.mktemp("representations")
    own = policy_file.SHIPPED / "int8-groups-32.toml"
    text = own.read_text().replace("int8-groups-32", "mine").replace("tile = 32", "tile = 8")
    (place / "mine.toml").write_text(text)
    chosen = ",".join([*CHOSEN, str(place / "mine.toml")])
    done = run_lab("representations", "--run-dir", place / "run", "--policies", chosen)
    assert done.returncode == 0, done.stderr
    assert "balanced-int8-static" in done.stdout
    return place / "run"


@pytest.fixture(scope="module")
def report(made: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((made / "report.json").read_text())
    return found


def test_the_manifest_lists_every_file(made: Path) -> None:
    lines = (made / "manifest.sha256").read_text().splitlines()
    listed = {line[66:]: line[:64] for line in lines}
    found = {
        path.relative_to(made).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in made.rglob("*")
        if path.is_file() and path.name != "manifest.sha256"
    }

    assert listed == found


def test_every_policy_is_there_with_every_case(report: dict[str, Any]) -> None:
    policies = [*CHOSEN, "mine"]

    assert report["schema"] == "assay/representations/1"
    assert set(report["policies"]) == set(policies)
    assert set(report["results"]) == {
        f"{case}-{policy}" for case in report["inputs"] for policy in policies
    }


def test_policies_are_copied_and_those_of_the_lab_are_sources(made: Path) -> None:
    for name in CHOSEN:
        shipped = (policy_file.SHIPPED / f"{name}.toml").read_bytes()
        assert (made / "policies" / f"{name}.toml").read_bytes() == shipped
        assert (made / "sources/lab/policies" / f"{name}.toml").read_bytes() == shipped
    assert (made / "policies/mine.toml").is_file()
    assert not (made / "sources/lab/policies/mine.toml").exists()


def test_errors_can_be_worked_out_again_from_what_is_kept(
    made: Path, report: dict[str, Any]
) -> None:
    for name in ("balanced-fp32", "outlier-int8-row-column", "heavy_tailed-mine"):
        found = report["results"][name]
        kept = report["inputs"][found["case"]]
        x, w, output = (
            np.load(made / file).astype(np.float64)
            for file in (kept["x"]["file"], kept["w"]["file"], found["output"]["file"])
        )
        error = np.linalg.norm(output - x @ w) / np.linalg.norm(x @ w)

        assert found["anatomy"]["total"] == pytest.approx(error, rel=1e-9)


def test_a_user_s_own_policy_is_followed(report: dict[str, Any]) -> None:
    mine = report["results"]["outlier-mine"]

    # Sixteen groups of eight features: a scale for each, of each row and column.
    assert mine["scales"]["x"]["count"] == 64 * 16
    assert mine["stored_bytes"]["scales"] == 2 * 64 * 16 * 4
    assert (
        mine["anatomy"]["total"] < report["results"]["outlier-int8-row-column"]["anatomy"]["total"]
    )


def test_static_scales_are_refused_where_their_rows_come_back(report: dict[str, Any]) -> None:
    for case, shared in (("balanced", 64), ("zero_row", 63), ("subnormal_row", 63)):
        found = report["results"][f"{case}-int8-static"]
        assert found["status"] == "refused"
        assert f"{shared} of 64 rows" in found["status_reason"]
    clipped = report["results"]["outlier-int8-static"]["counters"]["x"]
    assert (clipped["clipped"], clipped["values"]) == (61, 8192)


def test_what_does_not_compile_is_kept_as_a_refusal_with_the_codes_own_arithmetic(
    report: dict[str, Any],
) -> None:
    program = report["programs"]["int4-row-column"]
    found = report["results"]["outlier-int4-row-column"]
    if program["status"] == "compiled":
        assert found["status"] == "measured"
        return

    assert program["message"]
    assert found["status"] == "reference"
    assert found["status_reason"] == "reference arithmetic of the codes, no program ran"
    assert found["anatomy"]["representation"] == pytest.approx(0.2994124289, rel=1e-6)
    assert found["anatomy"]["total"] is None
    assert found["output"]["file"] is None


def test_a_result_that_is_no_number_says_why(report: dict[str, Any]) -> None:
    found = report["results"]["outlier-e4m3b11fnuz-nan"]

    assert found["anatomy"]["total"] is None
    assert "values of X became NaN or infinity" in found["anatomy"]["total_reason"]
    assert found["counters"]["output"]["nonfinite"] == found["bound"]["unbounded"]


def test_every_null_stands_beside_its_reason(report: dict[str, Any]) -> None:
    assert list(unexplained(report["results"])) == []


def unexplained(value: Any, where: str = "") -> Any:
    if isinstance(value, dict):
        for key, inner in value.items():
            explained = key.endswith("_reason") or value.get(f"{key}_reason")
            if inner is None and not explained:
                yield f"{where}/{key}"
            if key != "rows":  # a row of zeros has no relative error
                yield from unexplained(inner, f"{where}/{key}")


def test_every_output_is_within_its_bound(report: dict[str, Any]) -> None:
    held = [bound for each in report["results"].values() if (bound := bound_of(each))]

    assert len(held) == 5 * (len(CHOSEN) + 1) - 3
    assert all(each["exceeded"] == 0 and each["share_under"] == 1 for each in held)


def test_packed_codes_are_what_four_bit_programs_are_given(report: dict[str, Any]) -> None:
    program = report["programs"]["w4"]
    stored = report["results"]["balanced-w4"]["stored_bytes"]

    assert stored["w_codes"] == 4096
    assert program["compiler_memory_bytes"]["argument"] == stored["total"]


def test_a_wrong_kernel_ends_with_exit_code_five_and_a_whole_record(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    right = products.Program.run

    def scale_dropped(program: products.Program, operands: Any) -> products.Measured:
        measured = right(program, operands)
        return products.Measured(output=measured.output * 2, accumulators=None)

    monkeypatch.setattr(products.Program, "run", scale_dropped)
    folder = tmp_path / "run"
    arguments = ["--run-dir", str(folder), "--batch", "8", "--policies", "int8-row-column"]

    assert representations.main(arguments) == 5
    assert "beyond their bound: balanced-int8-row-column" in capsys.readouterr().err
    report = json.loads((folder / "report.json").read_text())
    assert report["results"]["balanced-int8-row-column"]["bound"]["exceeded"] > 0
    assert (folder / "manifest.sha256").is_file()


def test_a_zero_reference_has_no_relative_error(tmp_path: Path) -> None:
    inputs = Inputs(
        x=np.ones((2, 4), np.float32), w=np.zeros((4, 3), np.float32), description="zero"
    )
    operands = represent(inputs, policy_file.load(["int8-row-column"])[0])
    folder = RunFolder.create(tmp_path / "run", Redactor.of_this_machine())
    found: Any = representations.result("zero", operands, np.zeros((2, 3)), None, folder)

    assert found["anatomy"]["representation"] is None
    assert found["anatomy"]["representation_reason"] == "the reference norm is zero"
    assert found["codes_bound"]["exceeded"] == 0
    assert list(unexplained({"zero": found})) == []


def test_a_program_the_compiler_refuses_ends_one_policy_and_not_the_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> products.Program:
        raise CompileRefused("no such dot")

    monkeypatch.setattr(products, "compile_product", refuse)
    folder = tmp_path / "run"

    assert representations.main(["--run-dir", str(folder), "--policies", "bf16"]) == 0
    report = json.loads((folder / "report.json").read_text())
    assert report["programs"]["bf16"]["message"] == "no such dot"
    assert report["results"]["balanced-bf16"]["status"] == "reference"


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["--batch", "0"], "'0' is not a whole number from 1 to 2048"),
        (["--features", "2049"], "from 1 to 2048"),
        (["--batch", "2048", "--features", "2048", "--outputs", "5"], "is 20,971,520"),
        (["--batch", "2048", "--features", "4", "--outputs", "129"], "is 264,192"),
        (["--polices", "fp32"], "unrecognized arguments"),
    ],
)
def test_a_request_out_of_bounds_is_refused(
    arguments: list[str], told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as caught:
        representations.parse(arguments)

    assert caught.value.code == 2
    assert told in capsys.readouterr().err


def test_policies_are_refused_before_a_folder_is_made(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "run"

    assert representations.main(["--run-dir", str(folder), "--policies", "fp33"]) == 2
    assert "did you mean fp32" in capsys.readouterr().err
    assert not folder.exists()


def test_a_folder_that_is_there_stays_untouched(tmp_path: Path) -> None:
    (tmp_path / "mine").write_text("mine")

    assert representations.main(["--run-dir", str(tmp_path), "--policies", "fp32"]) == 2
    assert [path.name for path in tmp_path.iterdir()] == ["mine"]


def test_a_shape_that_groups_do_not_divide_refuses_those_policies_alone(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    arguments = ["--features", "100", "--policies", "int8-groups-16,int8-row-column"]

    assert representations.main(["--run-dir", str(folder), "--batch", "2", *arguments]) == 0
    report = json.loads((folder / "report.json").read_text())
    refused = report["results"]["balanced-int8-groups-16"]
    assert "100 features are no whole number of groups of 16" in refused["status_reason"]
    assert report["programs"]["int8-groups-16"]["status"] == "none"
    assert report["results"]["balanced-int8-row-column"]["status"] == "measured"


def test_what_was_asked_for_is_recorded_as_it_can_be_asked_again(made: Path) -> None:
    config = json.loads((made / "config.json").read_text())

    assert config["options"]["policies"] == [*CHOSEN, "mine"]
    assert config["seed"] == cases.SEED
