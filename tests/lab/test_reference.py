"""Does the lab still give the numbers of the published reference run?"""

import json
import math
import platform
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

pytestmark = pytest.mark.lab

INPUT_SHA256 = {
    "balanced": "2a60a6fffbe58b36068d5b6bd4e205f4cc7a1dbf59b023e8922e2a36c1697032",
    "outlier": "5eddbc8a013fe228d81b118f53fd60da4c7af1c0e06c28d49a4a4f04ca6b92c4",
}

# Relative L2 and largest absolute error on x86-64.
ERRORS = {
    "balanced-fp32": (2.085142441345975e-07, 1.7137972085912168e-06),
    "balanced-bf16": (0.002346107973183381, 0.010926312794761472),
    "balanced-int8": (0.009144665180392765, 0.03519680292078681),
    "outlier-fp32": (2.7970962344286246e-07, 7.767985149342849e-06),
    "outlier-bf16": (0.002323381264723236, 0.049849996876874414),
    "outlier-int8": (0.02453219942225819, 0.4229305310098015),
}

STORED_BYTES = {"fp32": (65_536, 0), "bf16": (32_768, 0), "int8": (16_384, 512)}
"""Of both operands: values, scales."""

COMPILER_BYTES = {
    "fp32": (65_536, 16_384, 0, 0),
    "bf16": (32_768, 16_384, 0, 0),
    "int8": (16_896, 16_384, 16_384, 0),
}
"""Argument, output, temporary (INT8: the INT32 accumulator), alias."""

ACCUMULATORS = {"balanced-int8": 110_961, "outlier-int8": 84_760}


@dataclass(frozen=True, slots=True, kw_only=True)
class Golden:
    """A value and the test that another one is as good."""

    value: object
    holds: Callable[[object], bool]


def exactly(value: object) -> Golden:
    return Golden(value=value, holds=lambda found: found == value)


def within(value: float, *, relative: float = 0.0, absolute: float = 0.0) -> Golden:
    return Golden(
        value=value,
        holds=lambda found: (
            isinstance(found, float)
            and math.isclose(found, value, rel_tol=relative, abs_tol=absolute)
        ),
    )


def goldens() -> dict[str, Golden]:
    """Every reproducible field of the reference run, by its place in report.json."""
    fields = {f"inputs/{case}/sha256": exactly(digest) for case, digest in INPUT_SHA256.items()}
    for name, (relative_l2, largest) in ERRORS.items():
        case, policy = name.split("-")
        at = f"results/{name}"
        fields[f"{at}/input_sha256"] = exactly(INPUT_SHA256[case])
        if policy == "bf16":
            fields[f"{at}/relative_l2_error"] = within(relative_l2, absolute=2e-8)
        elif policy == "int8":
            ulps = 4 * math.ulp(relative_l2) / relative_l2
            fields[f"{at}/relative_l2_error"] = within(relative_l2, relative=ulps)
            fields[f"{at}/quantization/max_abs_accumulator"] = exactly(ACCUMULATORS[name])
        elif platform.machine() in ("x86_64", "AMD64"):
            fields[f"{at}/relative_l2_error"] = within(relative_l2, relative=1e-12)
            fields[f"{at}/max_abs_error"] = within(largest, relative=1e-12)
        if policy == "int8":
            fields[f"{at}/max_abs_error"] = within(largest, relative=1e-12)
        values, scales = STORED_BYTES[policy]
        fields[f"{at}/stored_bytes/values"] = exactly(values)
        fields[f"{at}/stored_bytes/scales"] = exactly(scales)
        fields[f"{at}/stored_bytes/total"] = exactly(values + scales)
        kinds = ("argument", "output", "temporary", "alias")
        for kind, size in zip(kinds, COMPILER_BYTES[policy], strict=True):
            fields[f"{at}/compiler_memory_bytes/{kind}"] = exactly(size)
    return fields


def differences(report: Mapping[str, object], expected: Mapping[str, Golden]) -> list[str]:
    """A line for each field that is not as it should be, with both values."""
    lines = []
    for pointer, golden in expected.items():
        found: object = report
        for key in pointer.split("/"):
            found = found.get(key, "missing") if isinstance(found, Mapping) else "missing"
        if not golden.holds(found):
            lines.append(f"{pointer}: expected {golden.value!r}, found {found!r}")
    return lines


def test_a_fresh_run_gives_the_published_numbers(run: Path) -> None:
    report = json.loads((run / "report.json").read_text())

    assert differences(report, goldens()) == []


def test_the_kept_record_gives_the_published_numbers(project: Path) -> None:
    report = json.loads((project / "lab/records/precision-cpu/report.json").read_text())

    assert differences(report, goldens()) == []


def test_every_field_that_differs_is_named_with_both_values(run: Path) -> None:
    report = json.loads((run / "report.json").read_text())
    results = report["results"]
    results["balanced-fp32"]["relative_l2_error"] *= 1 + 1e-11
    results["outlier-int8"]["stored_bytes"]["scales"] = 513
    results["outlier-bf16"]["relative_l2_error"] += 3e-8
    results["balanced-int8"]["relative_l2_error"] = 0.009144665180392765 + 5 * math.ulp(0.0091)
    del results["balanced-bf16"]["compiler_memory_bytes"]["alias"]

    lines = differences(report, goldens())

    assert [line.split(":")[0] for line in lines] == [
        "results/balanced-fp32/relative_l2_error",
        "results/balanced-bf16/compiler_memory_bytes/alias",
        "results/balanced-int8/relative_l2_error",
        "results/outlier-bf16/relative_l2_error",
        "results/outlier-int8/stored_bytes/scales",
    ]
    assert lines[-1] == "results/outlier-int8/stored_bytes/scales: expected 512, found 513"
    assert "found 'missing'" in lines[1]


def test_batch_one_keeps_a_scale_for_its_row_and_for_each_column(project: Path) -> None:
    report = json.loads((project / "lab/records/precision-batch-one/report.json").read_text())

    stored = report["results"]["balanced-int8"]["stored_bytes"]
    assert (stored["x_scales"], stored["w_scales"], stored["total"]) == (4, 4 * 65, 8_646)
    assert report["results"]["balanced-fp32"]["stored_bytes"]["total"] == 33_528
    assert report["request"]["steps"] == 20


def test_errors_follow_from_the_saved_outputs(run: Path) -> None:
    report = json.loads((run / "report.json").read_text())
    generator = np.random.default_rng(17)
    x = generator.normal(size=(64, 128)).astype(np.float32)
    w = (generator.normal(size=(128, 64)) / np.sqrt(128)).astype(np.float32)
    exact = np.einsum("mk,kn->mn", x.astype(np.float64), w.astype(np.float64))
    for policy in ("fp32", "bf16", "int8"):
        result = report["results"][f"balanced-{policy}"]
        output = np.load(run / result["output"]["file"], allow_pickle=False)
        error = np.sqrt(((output - exact) ** 2).sum())
        norm = np.sqrt((exact**2).sum())

        assert result["relative_l2_error"] == pytest.approx(error / norm, rel=1e-9)
        assert result["sqnr_db"] == pytest.approx(20 * np.log10(norm / error), rel=1e-9)
        assert result["max_abs_error"] == pytest.approx(np.abs(output - exact).max(), rel=1e-9)


def test_operands_are_arguments_of_the_compiled_program(run: Path) -> None:
    for name in ERRORS:
        hlo = (run / f"programs/{name}.hlo.txt").read_text()
        stablehlo = (run / f"programs/{name}.stablehlo.txt").read_text()
        element = {"fp32": "f32", "bf16": "bf16", "int8": "i8"}[name.split("-")[1]]
        accumulator = "i32" if element == "i8" else "f32"

        assert " dot(" in hlo
        assert "constant" not in hlo
        assert "precision = [HIGHEST, HIGHEST]" in stablehlo
        assert (
            f"(tensor<64x128x{element}>, tensor<128x64x{element}>) -> tensor<64x64x{accumulator}>"
            in stablehlo
        )


def test_every_sample_is_kept_and_none_is_negative(run: Path) -> None:
    report = json.loads((run / "report.json").read_text())
    for result in (
        *report["results"].values(),
        *({"timing_s": t} for t in report["timing_floor_s"].values()),
    ):
        timing = result["timing_s"]
        assert len(timing["samples"]) == report["request"]["steps"] == 10
        assert min(timing["samples"]) == timing["minimum"] >= 0
        assert max(timing["samples"]) == timing["maximum"] >= timing["median"]
