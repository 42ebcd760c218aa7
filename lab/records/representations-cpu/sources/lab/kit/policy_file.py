"""A precision policy as a file: what each part of a model is stored and summed in, and how.

    name = "int8-row-column"
    title = "INT8, a scale per row and column"

    [parts]
    weights = "int8"
    activations = "int8"
    accumulators = "int32"
    reductions = "float32"
    gradients = "none"          # one product has none, nor the two below
    optimizer_state = "none"
    cache = "none"

    [quantization]
    granularity = "row-column"  # none, tensor, row-column or group
    axis = "features"           # what shares a scale runs along it; all for one a tensor
    tile = "none"               # features in a group
    scale_type = "float32"
    bound = "largest"           # the peak's code: the largest, or half a step beyond it
    zero_point = "none"
    rounding = "nearest-even"
    saturation = "saturate"     # or nan, or infinity
    calibration = "none"        # a case whose scales all other cases are given
    calibration_sha256 = "none" # of the rows that are calibrated on

    [outliers]                  # may be left out
    smoothing = 0.5             # alpha: how much of a feature's peak W takes over from X
    keep_float32 = [0]          # features that are not quantized

Every key but those of the last table must be there, and no other may be. All that is wrong
with all files is said at once.
"""

import hashlib
import re
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from lab.kit.faults import CheckFailed, UsageFault
from lab.kit.number_formats import FORMATS, NumberFormat

SHIPPED = Path(__file__).resolve().parents[1] / "policies"

MAX_FILES, MAX_BYTES = 64, 16_384
MAX_SHOWN = 200
"""Characters of a place that a refusal repeats."""

PARTS = (
    "weights",
    "activations",
    "accumulators",
    "reductions",
    "gradients",
    "optimizer_state",
    "cache",
)

SETTINGS = (
    "granularity",
    "axis",
    "tile",
    "scale_type",
    "bound",
    "zero_point",
    "rounding",
    "saturation",
    "calibration",
    "calibration_sha256",
)

OUTLIERS = ("smoothing", "keep_float32")

NO_SUCH_PART = ("gradients", "optimizer_state", "cache")
"""What one product does not have."""

NAME = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)*")
DIGEST = re.compile(r"[0-9a-f]{64}")

NONE = "none"


class CannotFollow(CheckFailed):
    """Inputs on which a policy has no fair or no possible result. The others go on."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """One policy, checked: its parts agree with one another, and this lab can follow it."""

    name: str
    title: str
    parts: Mapping[str, str]
    granularity: str
    axis: str
    tile: int | None
    scale_type: str
    bound: str
    zero_point: str
    rounding: str
    saturation: str
    calibration: str | None
    calibration_sha256: str | None
    smoothing: float | None
    keep_float32: tuple[int, ...]
    text: str
    """The file, as it was read."""

    @property
    def x(self) -> NumberFormat:
        return FORMATS[self.parts["activations"]]

    @property
    def w(self) -> NumberFormat:
        return FORMATS[self.parts["weights"]]

    @property
    def integer(self) -> bool:
        """Whether the product is summed in integers."""
        return self.x.integer and self.w.integer

    def scaled(self, number_format: NumberFormat) -> bool:
        """Whether operands of this format have scales."""
        return self.granularity != NONE and number_format.name != "float32"

    def as_json(self) -> dict[str, object]:
        told = asdict(self)
        text = told.pop("text")
        return told | {
            "keep_float32": list(self.keep_float32),
            "sha256": hashlib.sha256(text.encode()).hexdigest(),
        }


def load(places: Sequence[str]) -> list[Policy]:
    """The policies at `places`: names of shipped ones, files, or folders of files.

    None of them asks for all that are shipped. One `UsageFault` tells all faults of all files.
    """
    faults: list[str] = []
    policies: dict[str, Policy] = {}
    paths = [path for place in places or [str(SHIPPED)] for path in _found(place, faults)]
    if len(paths) > MAX_FILES:
        raise UsageFault(f"{len(paths)} policy files; this lab takes at most {MAX_FILES}")
    for path in paths:
        found = list[str]()
        policy = _read(path, found)
        if policy and policy.name in policies:
            found.append(f"{policy.name} is there twice")
        faults += [f"{_shown(path.name)}: {fault}" for fault in found]
        if policy:
            policies.setdefault(policy.name, policy)
    if faults:
        raise UsageFault("\n  ".join(["policies that cannot be followed:", *faults]))
    return list(policies.values())


def _found(place: str, faults: list[str]) -> list[Path]:
    """The files at `place`, or none with what is wrong with it."""
    told: list[str] = []
    try:
        found = _files(place, told)
    except (OSError, ValueError) as problem:  # longer than a path may be, or with a NUL in it
        found = []
        told.append(f"{getattr(problem, 'strerror', None) or problem}")
    faults += [f"{_shown(place[:MAX_SHOWN])}: {fault}" for fault in told]
    return found


def _shown(name: str) -> str:
    """A name without what a terminal might act on."""
    return name if name.isprintable() else ascii(name)


def _files(place: str, faults: list[str]) -> list[Path]:
    path = Path(place)
    if NAME.fullmatch(place) and not path.exists():
        shipped = SHIPPED / f"{place}.toml"
        if shipped.is_file():
            return [shipped]
        near = get_close_matches(place, [each.stem for each in SHIPPED.glob("*.toml")], n=3)
        known = f"did you mean {' or '.join(near)}?" if near else f"see {SHIPPED.name}/"
        faults.append(f"no policy of this lab, no file and no folder; {known}")
        return []
    if path.is_dir():
        if found := sorted(path.glob("*.toml")):
            return found
        faults.append("a folder without policy files (NAME.toml)")
        return []
    if path.is_file():
        return [path]
    faults.append("no such file")
    return []


def _read(path: Path, faults: list[str]) -> Policy | None:
    """The policy in one file, or None with what is wrong with it."""
    try:
        with path.open("rb") as file:
            content = file.read(MAX_BYTES + 1)
        if len(content) > MAX_BYTES:
            faults.append(f"more bytes than a policy has at most, {MAX_BYTES:,}")
            return None
        text = content.decode()
        tables = tomllib.loads(text)
    except OSError as problem:
        faults.append(f"cannot be read: {problem.strerror}")
        return None
    except (ValueError, RecursionError) as problem:  # not UTF-8, no TOML, or too long a number
        faults.append(f"not TOML: {problem}")
        return None
    if path.stem != tables.get("name"):
        faults.append(f"name: {tables.get('name')!r}, expected {path.stem!r}, as the file is named")
    return parse(tables, text, faults)


def parse(tables: Mapping[str, Any], text: str, faults: list[str]) -> Policy | None:
    """The policy that `tables` hold, or None with every fault added to `faults`."""
    before = len(faults)
    faults += _shape(tables)
    if len(faults) > before:
        return None
    parts, settings = tables["parts"], tables["quantization"]
    outliers = tables.get("outliers", {})
    faults += _values(tables["name"], tables["title"], parts, settings, outliers)
    if len(faults) > before:
        return None
    faults += _agreement(parts, settings, outliers)
    if len(faults) > before:
        return None
    return Policy(
        name=tables["name"],
        title=tables["title"],
        parts=dict(parts),
        granularity=settings["granularity"],
        axis=settings["axis"],
        tile=_none(settings["tile"]),
        scale_type=settings["scale_type"],
        bound=settings["bound"],
        zero_point=settings["zero_point"],
        rounding=settings["rounding"],
        saturation=settings["saturation"],
        calibration=_none(settings["calibration"]),
        calibration_sha256=_none(settings["calibration_sha256"]),
        smoothing=float(outliers["smoothing"]) if "smoothing" in outliers else None,
        keep_float32=tuple(outliers.get("keep_float32", ())),
        text=text,
    )


def _none(value: Any) -> Any:
    return None if value == NONE else value


def _shape(tables: Mapping[str, Any]) -> Iterator[str]:
    """What is missing, and what nobody knows."""
    expected: Mapping[str, Sequence[str]] = {"parts": PARTS, "quantization": SETTINGS}
    for key in ("name", "title"):
        if key not in tables:
            yield f"{key}: missing"
    for key in tables:
        if key not in ("name", "title", "outliers", *expected):
            yield f"{key}: not a key of a policy"
    for name in (*expected, *(["outliers"] if "outliers" in tables else [])):
        table = tables.get(name)
        if table is None:
            yield f"[{name}]: missing, with its keys {', '.join(expected[name])}"
        elif not isinstance(table, dict):
            yield f"{name}: expected a table, [{name}]"
        else:
            known = expected.get(name, OUTLIERS)
            if name in expected:
                yield from (f"{name}.{key}: missing" for key in known if key not in table)
            for key in table:
                if key not in known:
                    yield f"{name}.{key}: unknown; known are {', '.join(known)}"


def _one_of(*words: str) -> Callable[[Any], str | None]:
    def check(value: Any) -> str | None:
        return None if isinstance(value, str) and value in words else " or ".join(words)

    return check


def _tile(value: Any) -> str | None:
    whole = isinstance(value, int) and not isinstance(value, bool) and value > 0
    return None if whole or value == NONE else "a number of features, or none"


def _digest(value: Any) -> str | None:
    fine = isinstance(value, str) and (value == NONE or DIGEST.fullmatch(value))
    return None if fine else "64 hexadecimal digits, or none"


def _case(value: Any) -> str | None:
    return None if isinstance(value, str) and value else "the name of a case, or none"


def _printable(value: Any) -> str | None:
    fine = isinstance(value, str) and value.isprintable() and 0 < len(value) <= 80
    return None if fine else "one line of at most 80 characters"


def _plain_name(value: Any) -> str | None:
    fine = isinstance(value, str) and NAME.fullmatch(value) and len(value) <= 40
    return None if fine else "lower-case letters, digits and single hyphens, at most 40"


def _exponent(value: Any) -> str | None:
    number = isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value <= 1
    return None if number else "a number from 0 to 1"


def _features(value: Any) -> str | None:
    fine = (
        isinstance(value, list) and 0 < len(value) <= 64 and len(set(map(str, value))) == len(value)
    )
    fine = fine and all(type(each) is int and each >= 0 for each in value)
    return None if fine else "a list of feature numbers, each once"


_CHECKS: Mapping[str, Callable[[Any], str | None]] = {
    "weights": _one_of(*FORMATS),
    "activations": _one_of(*FORMATS),
    "accumulators": _one_of("int32", "float32"),
    "reductions": _one_of("float32"),
    **{part: _one_of(NONE) for part in NO_SUCH_PART},
    "granularity": _one_of(NONE, "tensor", "row-column", "group"),
    "axis": _one_of(NONE, "all", "features"),
    "tile": _tile,
    "scale_type": _one_of(NONE, "float32"),
    "bound": _one_of(NONE, "largest", "largest-and-half"),
    "zero_point": _one_of(NONE),
    "rounding": _one_of("nearest-even"),
    "saturation": _one_of("saturate", "nan", "infinity"),
    "calibration": _case,
    "calibration_sha256": _digest,
    "smoothing": _exponent,
    "keep_float32": _features,
}


def _values(
    name: Any,
    title: Any,
    parts: Mapping[str, Any],
    settings: Mapping[str, Any],
    outliers: Mapping[str, Any],
) -> Iterator[str]:
    """Values that this lab cannot follow, one by one."""
    for key, value, check in (("name", name, _plain_name), ("title", title, _printable)):
        if expected := check(value):
            yield f"{key}: {value!r:.60}, expected {expected}"
    for table, values in (("parts", parts), ("quantization", settings), ("outliers", outliers)):
        for key, value in values.items():
            if expected := _CHECKS[key](value):
                why = " (one product has no such part)" if key in NO_SUCH_PART else ""
                yield f"{table}.{key}: {value!r:.60}, expected {expected}{why}"


def _agreement(
    parts: Mapping[str, str], settings: Mapping[str, Any], outliers: Mapping[str, Any]
) -> Iterator[str]:
    """Values that contradict one another."""
    formats = [FORMATS[parts["activations"]], FORMATS[parts["weights"]]]
    names = " × ".join(each.name for each in formats)
    narrow = [each for each in formats if each.name != "float32"]
    sums = "int32" if all(each.integer for each in formats) else "float32"
    if parts["accumulators"] != sums:
        yield f"parts.accumulators: {parts['accumulators']!r}, expected {sums!r} for {names}"
    if settings["granularity"] == NONE:
        yield from _without_scales(settings, formats, names)
    else:
        yield from _with_scales(settings, narrow, names)
    for each in dict.fromkeys(narrow):
        if settings["saturation"] not in each.overflows:
            known = " or ".join(each.overflows)
            yield f"quantization.saturation: {settings['saturation']!r}; {each.name} has {known}"
    if (settings["calibration"] == NONE) != (settings["calibration_sha256"] == NONE):
        yield "quantization.calibration and calibration_sha256: both, or neither"
    in_both = settings["granularity"] != NONE and len(narrow) == len(formats)
    for what, asked in (
        ("quantization.granularity: 'group'", settings["granularity"] == "group"),
        ("[outliers]", bool(outliers)),
    ):
        if asked and not in_both:
            yield f"{what}: only where both operands have scales ({names})"
    if settings["calibration"] != NONE and outliers:
        yield "[outliers]: not with scales that are calibrated beforehand"


def _without_scales(
    settings: Mapping[str, Any], formats: Sequence[NumberFormat], names: str
) -> Iterator[str]:
    if any(each.integer for each in formats):
        yield f"quantization.granularity: 'none', but integers need scales ({names})"
    for key in ("axis", "tile", "scale_type", "bound", "calibration"):
        if settings[key] != NONE:
            yield f"quantization.{key}: {settings[key]!r}, expected 'none' where nothing is scaled"


def _with_scales(
    settings: Mapping[str, Any], narrow: Sequence[NumberFormat], names: str
) -> Iterator[str]:
    granularity = settings["granularity"]
    if not narrow:
        yield f"quantization.granularity: {granularity!r}, but float32 has no scales"
    expected = {
        "axis": "all" if granularity == "tensor" else "features",
        "scale_type": "float32",
    }
    for key, value in expected.items():
        if settings[key] != value:
            yield f"quantization.{key}: {settings[key]!r}, expected {value!r} for {granularity!r}"
    if settings["bound"] == NONE:
        yield "quantization.bound: 'none', but scales need one"
    if settings["bound"] == "largest-and-half" and not all(each.integer for each in narrow):
        yield f"quantization.bound: 'largest-and-half' is for integers ({names})"
    if (granularity == "group") == (settings["tile"] == NONE):
        yield f"quantization.tile: {settings['tile']!r}, for granularity {granularity!r}"
