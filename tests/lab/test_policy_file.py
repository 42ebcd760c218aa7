"""Policies as files: what is missing, unknown or contradictory is refused by name, all at once."""

import tomllib
from pathlib import Path
from typing import Any

import pytest

from lab.kit import policy_file
from lab.kit.faults import UsageFault

pytestmark = pytest.mark.lab

SHIPPED = sorted(policy_file.SHIPPED.glob("*.toml"))
INT8 = (policy_file.SHIPPED / "int8-row-column.toml").read_text()


def written(folder: Path, text: str, name: str = "int8-row-column") -> str:
    path = folder / f"{name}.toml"
    path.write_text(text)
    return str(path)


def refusal(*places: str) -> str:
    with pytest.raises(UsageFault) as caught:
        policy_file.load(places)
    assert caught.value.exit_code == 2
    return str(caught.value)


def test_every_policy_of_the_lab_is_one_it_can_follow() -> None:
    loaded = policy_file.load([])

    assert [policy.name for policy in loaded] == [path.stem for path in SHIPPED]


@pytest.mark.parametrize(
    ("table", "key"),
    [
        *(("parts", key) for key in policy_file.PARTS),
        *(("quantization", key) for key in policy_file.SETTINGS),
    ],
)
def test_a_missing_part_is_refused_by_its_name(table: str, key: str, tmp_path: Path) -> None:
    lines = [line for line in INT8.splitlines() if not line.startswith(f"{key} = ")]

    told = refusal(written(tmp_path, "\n".join(lines)))

    assert f"int8-row-column.toml: {table}.{key}: missing" in told


def test_all_faults_of_all_files_are_told_at_once(tmp_path: Path) -> None:
    (tmp_path / "one.toml").write_text(INT8.replace('cache = "none"\n', ""))
    (tmp_path / "two.toml").write_text(
        INT8.replace("int8-row-column", "two").replace('"int8"', '"int9"') + "colour = 1\n"
    )
    (tmp_path / "three.toml").write_text("[parts\n")

    told = refusal(str(tmp_path))

    for fault in (
        "one.toml: name: 'int8-row-column', expected 'one'",
        "one.toml: parts.cache: missing",
        "two.toml: quantization.colour: unknown",
        "three.toml: not TOML",
    ):
        assert fault in told


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ('weights = "int8"', 'weights = "int9"', "parts.weights: 'int9', expected float32 or"),
        ('cache = "none"', 'cache = "int8"', "one product has no such part"),
        ('"int32"', '"float32"', "parts.accumulators: 'float32', expected 'int32'"),
        ('tile = "none"', "tile = 32", "quantization.tile: 32, for granularity 'row-column'"),
        ('tile = "none"', "tile = true", "quantization.tile: True, expected a number"),
        ('axis = "features"', 'axis = "all"', "quantization.axis: 'all', expected 'features'"),
        ('"nearest-even"', '"floor"', "quantization.rounding: 'floor', expected nearest-even"),
        ('zero_point = "none"', "zero_point = 3", "quantization.zero_point: 3, expected none"),
        ('"saturate"', '"nan"', "quantization.saturation: 'nan'; int8 has saturate"),
        ('calibration = "none"', 'calibration = "balanced"', "both, or neither"),
        ('sha256 = "none"', 'sha256 = "abc"', "expected 64 hexadecimal digits, or none"),
        ('granularity = "row-column"', 'granularity = "none"', "but integers need scales"),
        (
            'activations = "int8"',
            'activations = "float32"',
            "expected 'float32' for float32 × int8",
        ),
        ("[quantization]", "[outliers]\nsmoothing = 2\n\n[quantization]", "a number from 0 to 1"),
        ("[quantization]", "[outliers]\nkeep_float32 = [0, 0]\n\n[quantization]", "each once"),
        ("[quantization]", "[outliers]\nhide = 1\n\n[quantization]", "outliers.hide: unknown"),
        ("[parts]", "[part]", "part: not a key of a policy"),
        ("[parts]", "[part]", "[parts]: missing, with its keys weights"),
        ("title =", "heading =", "title: missing"),
    ],
)
def test_what_this_lab_cannot_follow_is_refused(
    old: str, new: str, told: str, tmp_path: Path
) -> None:
    assert old in INT8

    assert told in refusal(written(tmp_path, INT8.replace(old, new)))


def test_outliers_are_mended_only_where_both_operands_have_scales(tmp_path: Path) -> None:
    text = (policy_file.SHIPPED / "w8.toml").read_text() + "\n[outliers]\nsmoothing = 0.5\n"

    assert "[outliers]: only where both operands have scales" in refusal(
        written(tmp_path, text, "w8")
    )


def test_a_mistyped_name_is_answered_with_near_ones() -> None:
    assert "did you mean int8-tensor" in refusal("int8-tenser")


@pytest.mark.parametrize("content", [b"\xff\xfe", b"a = [" * 3000, b"x" * 20_000])
def test_a_file_that_is_no_policy_is_refused(content: bytes, tmp_path: Path) -> None:
    (tmp_path / "odd.toml").write_bytes(content)

    assert "odd.toml: " in refusal(str(tmp_path / "odd.toml"))


def test_the_same_policy_twice_and_an_empty_folder_are_refused(tmp_path: Path) -> None:
    assert "fp32 is there twice" in refusal("fp32", "fp32")
    assert "a folder without policy files" in refusal(str(tmp_path))


def test_what_a_policy_says_is_what_its_file_says() -> None:
    for path in SHIPPED:
        tables: dict[str, Any] = tomllib.loads(path.read_text())
        policy = policy_file.load([str(path)])[0]
        told = policy.as_json()

        assert policy.parts == tables["parts"]
        for key, value in tables["quantization"].items():
            assert told[key] == (None if value == "none" and key not in TEXTS else value)


TEXTS = ("granularity", "axis", "scale_type", "bound", "zero_point", "rounding", "saturation")
"""Settings whose `none` is a word; of the others it stands for nothing."""


def test_a_number_too_long_to_read_is_no_toml(tmp_path: Path) -> None:
    (tmp_path / "long.toml").write_text(f"tile = {'9' * 5_000}\n", encoding="utf-8")

    with pytest.raises(UsageFault, match=r"long\.toml: not TOML"):
        policy_file.load([str(tmp_path / "long.toml")])


@pytest.mark.parametrize("place", ["a" * 5_000, "a/" * 3_000, "a\0b"])
def test_a_place_that_no_system_holds_is_refused_shortly(place: str) -> None:
    with pytest.raises(UsageFault) as refusal:
        policy_file.load([place])

    assert len(str(refusal.value)) < 500


def test_a_file_name_does_not_drive_the_terminal(tmp_path: Path) -> None:
    (tmp_path / "a\x1b[31m.toml").write_text("", encoding="utf-8")

    with pytest.raises(UsageFault) as refusal:
        policy_file.load([str(tmp_path)])

    assert "\x1b" not in str(refusal.value)
