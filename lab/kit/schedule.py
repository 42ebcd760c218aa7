"""Experimental: which arithmetic a TPU's matrix unit is given, from the final schedule.

The compiler writes its schedule when asked by an undocumented flag. Matrix-multiply
instructions are counted there by operand type. The counts are static, for one shape and one
compiler; they are no times and no measurements, and units of different size are not compared
by them. A mnemonic that is not known here is `unrecognized`, never a guess.
"""

import hashlib
import re
import tempfile
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from lab.kit.child import Compiler
from lab.kit.faults import UsageFault

FLAGS = "--xla_jf_dump_to={folder} --xla_jf_dump_llo_text=true"
FINAL = re.compile(r"\d+-(?P<name>.+)-\d+-final_bundles\.txt")
MAX_SCHEDULE_BYTES = 64 * 2**20

FAMILIES = {
    "f32": "float path, not full FP32 multiplication",
    "hi.f32": "upper part of FP32 split into BF16 passes",
    "low.f32": "lower part of FP32 split into BF16 passes",
    "bf16": "BF16",
    "s8": "signed 8-bit integer",
    "u8": "unsigned 8-bit integer",
    "f8e4m3fn": "FP8 E4M3FN",
    "f8e5m2": "FP8 E5M2",
    "f8e5m2.bf16": "FP8 E5M2 storage feeding BF16 arithmetic",
    "f8e4m3b11.bf16": "FP8 E4M3B11FNUZ storage feeding BF16 arithmetic",
}
"""Operand types as mnemonics spell them, and what is known of each."""

UNRECOGNIZED = "unrecognized"

_MODIFIERS = {"mubr", "dwg", "gmra", "vlgmr", "msk", "msra", "msrb", "mrb"}
_UNIT = re.compile(r"mxu\d+")
_HELPERS = {"vmatpush", "vmatpush1", "vmatpush2", "vmatpush3", "vmatprep", "vdwg", "vpop"}
"""Instructions that load operands or take results; they multiply nothing."""

# An instruction stands after "{", "=" or ";;"; names of values begin with "%".
_MNEMONIC = re.compile(r"(?:[{=]|;;)[ \t]*([a-z]\w{0,40}(?:\.\w{1,40}){0,12})")


def of_program(request: Mapping[str, Any], *, limit_s: float) -> dict[str, object]:
    """Compile in a child that writes its schedule, and count. An abort is recorded, and what
    was written before it is read all the same.
    """
    with tempfile.TemporaryDirectory() as scratch:
        if any(character.isspace() for character in scratch):
            raise UsageFault(f"the compiler takes no folder with a space: {scratch}; set TMPDIR")
        flags = {"LIBTPU_INIT_ARGS": FLAGS.format(folder=scratch)}
        with Compiler(limit_s=limit_s, flags=flags) as compiler:
            answer = compiler.compile(request)
        texts = read_folder(Path(scratch))
    ended = {"compiler": answer["status"]}
    if answer["status"] != "compiled":
        ended |= {key: answer[key] for key in ("exit_code", "message") if key in answer}
    return ended | summarize(texts)


def read_folder(folder: Path) -> dict[str, str]:
    """The final schedule of each part of a program, by the part's name."""
    texts: dict[str, str] = {}
    for path in sorted(folder.glob("*-final_bundles.txt")):
        found = FINAL.fullmatch(path.name)
        if not found or found["name"].endswith("schedule-analysis"):
            continue
        name = found["name"]
        while name in texts:
            name += "'"
        with path.open("rb") as file:
            data = file.read(MAX_SCHEDULE_BYTES + 1)
        if len(data) > MAX_SCHEDULE_BYTES:
            raise UsageFault(f"{path.name}: more than {MAX_SCHEDULE_BYTES:,} bytes of schedule")
        texts[name] = data.decode("utf-8", "replace")
    return texts


def summarize(texts: Mapping[str, str]) -> dict[str, object]:
    """Counts by operand type over a program's parts, and a hash of what was read."""
    if not texts:
        return {
            "level": None,
            "counts": None,
            "counts_reason": "the compiler wrote no schedule",
            "matrix_instructions": None,
            "unrecognized": [],
            "schedule_sha256": None,
        }
    counts: Counter[str] = Counter()
    unknown: set[str] = set()
    for text in texts.values():
        part, names = count(text)
        counts += part
        unknown |= names
    digest = hashlib.sha256()
    for name in sorted(texts):
        digest.update(f"{name}\n{texts[name]}\n".encode())
    return {
        "level": "matrix-instruction",
        "counts": dict(sorted(counts.items())),
        "counts_reason": None,
        "matrix_instructions": counts.total(),
        "unrecognized": sorted(unknown),
        "schedule_sha256": digest.hexdigest(),
    }


def count(text: str) -> tuple[Counter[str], set[str]]:
    """Matrix multiplications by operand type, and the mnemonics that are not known."""
    counts: Counter[str] = Counter()
    unknown: set[str] = set()
    for found in _MNEMONIC.finditer(_without_comments(text)):
        family = operand_type(found[1])
        if family is None:
            continue
        counts[family] += 1
        if family == UNRECOGNIZED:
            unknown.add(found[1])
    return counts, unknown


def operand_type(mnemonic: str) -> str | None:
    """What a mnemonic multiplies: `vmatmul.bf16.gmra.mxu0` → `bf16`; None if nothing."""
    head, *rest = mnemonic.split(".")
    on_unit = head.startswith("vmat") or any(map(_UNIT.fullmatch, rest))
    if not on_unit or head in _HELPERS:
        return None
    kept = [each for each in rest if each not in _MODIFIERS and not _UNIT.fullmatch(each)]
    family = ".".join(kept)
    return family if head == "vmatmul" and family in FAMILIES else UNRECOGNIZED


def _without_comments(text: str) -> str:
    first, *rest = text.split("/*")
    return first + " ".join(part.partition("*/")[2] for part in rest)
