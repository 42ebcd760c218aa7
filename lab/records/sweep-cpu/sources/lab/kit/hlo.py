"""Reads HLO text: every matrix product in it, wherever it stands, and the types it is given.

A product may stand in ENTRY, in a fusion, a loop or any computation that is called from there;
on a TPU it is printed as a convolution. The text is untrusted: it is read in linear time, with
bounds, and what cannot be read is refused by name. Counts are static: a loop body counts once.
"""

import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

from lab.kit.faults import UsageFault

MAX_TEXT = 64 * 2**20
MAX_INSTRUCTIONS = 1_000_000
MAX_INSTRUCTION_TEXT = 4 * 2**20
MAX_DEPTH = 200
MAX_EXACT = 2**53 - 1
MAX_STEPS = 64
"""How far a value is followed through conversions and calls to where it is stored."""

NO_DOT = "no dot found"
NO_ENTRY = "no entry computation; totals not available"
CUT = "the text is cut or damaged; totals not available"

# Every pattern below takes time linear in the text, also where it fails.
_STRING = re.compile(r'"(?:[^"\\\n]|\\.)*"?')
_COMMENT = re.compile(r"/\*[^*\n]{0,200}\*/|(?:^|(?<=\s))//.*$", re.MULTILINE)
_MLIR = re.compile(
    r"^[ \t]*(?:module\b|func\.func\b|#\w{1,40} =|%\w{1,40} = (?:stablehlo|mhlo|func)\.)", re.M
)
_HEADER = re.compile(r"\s*(ENTRY\s+)?%?([\w.\-]+)\s*(?:\(|\{\s*$)")
_INSTRUCTION = re.compile(r"\s*(ROOT\s+)?%?([\w.\-]+)\s+=\s+")
_ARRAY = re.compile(r"\b([a-z]\w{0,31})\[([^\[\]]*)\](\{[^{}]*\})?")
_NAME = re.compile(r"%?([\w.\-]+)")
_LABELS = re.compile(r"\bdim_labels=([a-z0-9?]{1,32})_([a-z0-9?]{1,32})->([a-z0-9?]{1,32})")
_OPCODE = re.compile(r"\s*([a-z][\w\-]*)\(")
_CALLED = re.compile(
    r"\b(?:calls|to_apply|body|condition|branch_computations|called_computations|"
    r"true_computation|false_computation|select|scatter)=(\{[^{}]*\}|%?[\w.\-]+)"
)
_BRACKET = re.compile(r"[()\[\]{}]")

_PRODUCTS = {"dot", "convolution", "ragged-dot"}

_THROUGH = {"bitcast", "copy", "transpose", "reshape", "copy-start", "copy-done", "convert"}
"""Operations that pass a value on, if need be in another type or order."""


class UnreadableProgram(UsageFault):
    """A text that is not HLO, or is too large or too deep to be read."""

    kind = "program"


@dataclass(frozen=True, slots=True, kw_only=True)
class Shape:
    """An array's element type, dimensions, and how it lies in memory if the text says so."""

    dtype: str
    dims: tuple[int, ...]
    minor_to_major: tuple[int, ...] = ()
    tiles: tuple[tuple[int, ...], ...] = ()
    stored_bits: int | None = None
    sized: bool = True
    """False where a dimension is not a plain number, such as `?`; it then stands as 0."""

    def __str__(self) -> str:
        sizes = (str(size) if size or self.sized else "?" for size in self.dims)
        return f"{self.dtype}[{','.join(sizes)}]"

    @property
    def elements(self) -> int | None:
        """How many there are; None where a dimension is not known."""
        return math.prod(self.dims) if self.sized else None

    @property
    def ideal_bytes(self) -> int | None:
        """Bytes with every element packed at its own width; None for an unknown type."""
        width, elements = bits(self.dtype), self.elements
        return None if width is None or elements is None else -(-elements * width // 8)

    @property
    def tiled_bytes(self) -> int | None:
        """Bytes with every tile filled up, as the layout asks; None where it cannot be told."""
        width = self.stored_bits or bits(self.dtype)
        if width is None or not self.sized:
            return None
        if sorted(self.minor_to_major) != list(range(len(self.dims))):
            return None
        if not all(tile and all(tile) for tile in self.tiles):
            return None
        if not self.stored_bits:
            width = max(8, width)
        extents = [self.dims[axis] for axis in reversed(self.minor_to_major)]
        for tile in self.tiles:
            extents = [1] * (len(tile) - len(extents)) + extents
            kept, tail = extents[: len(extents) - len(tile)], extents[len(extents) - len(tile) :]
            counts = (-(-extent // size) for extent, size in zip(tail, tile, strict=True))
            extents = [*kept, *counts, *tile]
        return -(-math.prod(extents) * width // 8)


@dataclass(frozen=True, slots=True, kw_only=True)
class Instruction:
    """One line of a computation. `operands` and `called` are names."""

    name: str
    opcode: str
    shapes: tuple[Shape, ...]
    """One for an array, several for a tuple."""
    operands: tuple[str, ...]
    called: tuple[str, ...]
    attributes: str
    """What follows the operands, without strings and comments."""
    target: str | None
    """Which routine a custom call names."""
    index: int | None
    """Which parameter this is."""
    root: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Computation:
    name: str
    entry: bool
    instructions: tuple[Instruction, ...]

    @property
    def root(self) -> Instruction | None:
        return next((each for each in self.instructions if each.root), None)


@dataclass(frozen=True, slots=True, kw_only=True)
class Convert:
    """A change of element type."""

    source: str
    target: str
    elements: int | None

    @property
    def order(self) -> tuple[str, str, int]:
        return self.source, self.target, -1 if self.elements is None else self.elements


@dataclass(frozen=True, slots=True, kw_only=True)
class Dot:
    """One matrix product as the text has it."""

    name: str
    computation: str
    opcode: str
    lhs: Shape
    rhs: Shape
    accumulator: str
    """The product's own result type. A unit may accumulate wider inside; HLO does not say."""
    stored: tuple[str, str]
    """Operand types before any conversion on the way to the product."""
    delivered: str
    """The result's type after a conversion that directly follows."""
    precision: str | None
    flop: int | None
    """Two operations per multiply-add; None for a convolution that is not a plain product."""

    @property
    def wraps(self) -> bool:
        """Whether an integer result is no wider than the operands, so that sums wrap."""
        width = bits(self.delivered)
        operands = [bits(dtype) for dtype in self.stored]
        integers = all(is_integer(dtype) for dtype in (*self.stored, self.delivered))
        return integers and width is not None and width <= max(each or 0 for each in operands)

    def as_json(self) -> dict[str, object]:
        return {
            "name": self.name,
            "computation": self.computation,
            "opcode": self.opcode,
            "lhs": str(self.lhs),
            "rhs": str(self.rhs),
            "operands": [self.lhs.dtype, self.rhs.dtype],
            "stored": list(self.stored),
            "accumulator": self.accumulator,
            "output": self.delivered,
            "precision": self.precision,
            "flop": self.flop if self.flop is None or self.flop <= MAX_EXACT else None,
            "wraps": self.wraps,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Module:
    """A program as read. `cut` says that its text ended early or does not hang together."""

    computations: Mapping[str, Computation]
    parameters: tuple[Shape, ...]
    results: tuple[Shape, ...]
    cut: bool

    @property
    def entry(self) -> Computation | None:
        return next((each for each in self.computations.values() if each.entry), None)

    @property
    def totals_reason(self) -> str | None:
        """Why counts and sums over this text would mislead; None when they would not."""
        if self.entry is None:
            return NO_ENTRY
        return CUT if self.cut else None

    def reached(self) -> tuple[Computation, ...]:
        """ENTRY and every computation called from it, each once; all of them without an ENTRY."""
        if self.entry is None:
            return tuple(self.computations.values())
        found = {self.entry.name: self.entry}
        waiting = [self.entry]
        while waiting:
            for instruction in waiting.pop().instructions:
                for name in instruction.called:
                    if name in self.computations and name not in found:
                        found[name] = self.computations[name]
                        waiting.append(found[name])
        return tuple(found.values())


def read(text: str) -> Module:
    """Read a whole module, or as much of it as there is."""
    if len(text) > MAX_TEXT:
        raise UnreadableProgram(f"{len(text):,} characters of HLO; at most {MAX_TEXT:,} are read")
    if "\0" in text:
        raise UnreadableProgram("not HLO: the text holds a NUL character")
    if not text.lstrip().startswith("HloModule") and _MLIR.search(text[: 2**16]):
        raise UnreadableProgram("MLIR (such as StableHLO), not HLO text; this reader takes HLO")
    computations: dict[str, Computation] = {}
    cut = False
    current: list[Instruction] | None = None
    name, entry, count = "", False, 0
    for line, broken in _statements(text):
        cut |= broken
        header = None if _INSTRUCTION.match(line) else _HEADER.match(line)
        if header and line.rstrip().endswith("{"):
            cut |= current is not None or header[2] in computations
            name, entry, current = header[2], bool(header[1]), []
        elif current is not None and line.lstrip().startswith("}"):
            computations[name] = Computation(name=name, entry=entry, instructions=tuple(current))
            current = None
        elif current is not None and (instruction := _instruction(line)):
            count += 1
            if count > MAX_INSTRUCTIONS:
                raise UnreadableProgram(f"more than {MAX_INSTRUCTIONS:,} instructions")
            current.append(instruction)
        elif current is not None and line.strip():
            cut = True
    if current is not None:
        cut = True
        computations[name] = Computation(name=name, entry=entry, instructions=tuple(current))
    if not computations:
        raise UnreadableProgram("not HLO: no computation found")
    parameters, results = _signature(computations.values())
    return Module(computations=computations, parameters=parameters, results=results, cut=cut)


def summarize(module: Module) -> dict[str, object]:
    """The products of a module, the conversions in it, and what its calls hide, as JSON."""
    found, unread = _products(module)
    reason = module.totals_reason
    flops = [each.flop for each in found]
    total = sum(flop for flop in flops if flop)
    if reason is None and not found and not unread:
        reason = NO_DOT
    if reason is None and (unread or None in flops):
        reason = "the work of a product is not known"
    if reason is None and total > MAX_EXACT:
        reason = f"more than {MAX_EXACT:,}, which JSON does not hold exactly"
    finding = f"{len(found)} found" if found or unread else NO_DOT
    return {
        "level": "optimized-hlo",
        "dots": [each.as_json() for each in found],
        "finding": f"{finding}, {len(unread)} not readable" if unread else finding,
        "converts": counted(converts(module)),
        "opaque": sorted(
            {
                each.target or "custom call without a name"
                for computation in module.reached()
                for each in computation.instructions
                if each.opcode == "custom-call"
            }
        ),
        "flop": None if reason else total,
        "flop_reason": reason,
    }


def dots(module: Module) -> list[Dot]:
    """Every product in the computations that ENTRY reaches."""
    return _products(module)[0]


def _products(module: Module) -> tuple[list[Dot], list[str]]:
    """The products that ENTRY reaches, and the names of those whose operands are not there."""
    tracer = _Tracer(module)
    found, unread = [], []
    for computation in module.reached():
        for each in computation.instructions:
            if each.opcode not in _PRODUCTS:
                continue
            if dot := _dot(computation, each, tracer):
                found.append(dot)
            else:
                unread.append(each.name)
    return found, unread


def converts(module: Module) -> list[Convert]:
    """Every change of element type in the computations that ENTRY reaches."""
    found = []
    for computation in module.reached():
        shapes = {each.name: each.shapes for each in computation.instructions}
        for each in computation.instructions:
            source = shapes.get(each.operands[0], ()) if each.operands else ()
            if each.opcode == "convert" and len(source) == len(each.shapes) == 1:
                found.append(
                    Convert(
                        source=source[0].dtype,
                        target=each.shapes[0].dtype,
                        elements=each.shapes[0].elements,
                    )
                )
    return found


def inserted(requested: Module, got: Module) -> list[Convert]:
    """Conversions that the compiled program has and the requested one has not."""
    surplus = Counter(converts(got))
    surplus.subtract(Counter(converts(requested)))
    return sorted(surplus.elements(), key=lambda each: each.order)


def counted(found: Iterable[Convert]) -> list[dict[str, object]]:
    """Conversions of one kind as one JSON row."""
    rows = sorted(Counter(found).items(), key=lambda row: row[0].order)
    return [
        {"from": each.source, "to": each.target, "elements": each.elements, "count": count}
        for each, count in rows
    ]


def bits(dtype: str) -> int | None:
    """Bits of one element: s8 8, bf16 16, f8e4m3fn 8, f4e2m1fn 4, pred 8."""
    if dtype == "pred":
        return 8
    width = re.match(r"(?:bf|f|s|u|c)(\d+)", dtype)
    return int(width[1]) if width and 0 < int(width[1]) <= 128 else None


def is_integer(dtype: str) -> bool:
    return re.fullmatch(r"[su]\d+", dtype) is not None


def array_shape(text: str) -> Shape | None:
    """`bf16[64,128]{1,0:T(8,128)(2,1)}` as a shape; None if the text is no array's."""
    found = _ARRAY.match(text)
    return _shape(found) if found else None


def _statements(text: str) -> Iterator[tuple[str, bool]]:
    """Statements without strings and comments, each whole, and whether one was left open.

    An instruction may run over several lines: until its brackets close and no comma follows.
    """
    parts: list[str] = []
    depth = size = 0
    for raw in _COMMENT.sub("", _keep_targets(text)).splitlines():
        starts = _INSTRUCTION.match(raw)
        if parts and starts:
            yield " ".join(parts), True
            parts, depth, size = [], 0, 0
        if not parts and not starts:
            yield raw, False
            continue
        parts.append(raw)
        size += len(raw)
        depth = _depth_after(raw, depth)
        if size > MAX_INSTRUCTION_TEXT:
            raise UnreadableProgram(
                f"one instruction of more than {MAX_INSTRUCTION_TEXT:,} characters"
            )
        if depth <= 0 and not raw.rstrip().endswith(","):
            yield " ".join(parts), depth < 0
            parts, depth, size = [], 0, 0
    if parts:
        yield " ".join(parts), True


def _keep_targets(text: str) -> str:
    """Empty every string but a custom call's target, which is made a bare word."""
    text = re.sub(r'\bcustom_call_target="([\w.$\-]{1,200})"', r"custom_call_target=\1", text)
    return _STRING.sub('""', text)


def _depth_after(text: str, depth: int) -> int:
    for found in _BRACKET.finditer(text):
        depth += 1 if found[0] in "([{" else -1
        if depth > MAX_DEPTH:
            raise UnreadableProgram(f"brackets nested deeper than {MAX_DEPTH}")
    return depth


def _instruction(line: str) -> Instruction | None:
    """One instruction; None for a line that is none."""
    start = _INSTRUCTION.match(line)
    if not start:
        return None
    at = start.end()
    if line.startswith("(", at):
        stop = _closing(line, at)
    else:
        array = _ARRAY.match(line, at)
        stop = array.end() if array else line.find(" ", at)
    opcode = _OPCODE.match(line, stop) if stop > at else None
    if not opcode:
        return None
    close = _closing(line, opcode.end() - 1)
    inside, attributes = line[opcode.end() : close - 1], line[close:]
    names: list[str] = []
    index = None
    if opcode[1] == "parameter":
        index = int(inside) if inside.strip().isdecimal() and len(inside) < 9 else None
    elif opcode[1] != "constant":
        words = (part.split() for part in _split(inside))
        names = [found[1] for each in words if each and (found := _NAME.fullmatch(each[-1]))]
    called = [
        name.strip().lstrip("%")
        for found in _CALLED.finditer(attributes)
        for name in found[1].strip("{}").split(",")
    ]
    target = re.search(r"custom_call_target=([\w.$\-]+)", attributes)
    return Instruction(
        name=start[2],
        opcode=opcode[1],
        shapes=tuple(map(_shape, _ARRAY.finditer(line, at, stop))),
        operands=tuple(names),
        called=tuple(called),
        attributes=attributes,
        target=target[1] if target else None,
        index=index,
        root=bool(start[1]),
    )


def _closing(text: str, start: int) -> int:
    """The position after the bracket that closes the one at `start`; the end if none does."""
    depth = 0
    for found in _BRACKET.finditer(text, start):
        depth += 1 if found[0] in "([{" else -1
        if depth == 0:
            return found.end()
    return len(text)


def _split(text: str) -> Iterator[str]:
    """The parts between commas outside all brackets."""
    depth = start = 0
    for found in re.finditer(r"[()\[\]{},]", text):
        if found[0] == ",":
            if depth == 0:
                yield text[start : found.start()]
                start = found.end()
        else:
            depth += 1 if found[0] in "([{" else -1
    yield text[start:]


def _shape(found: re.Match[str]) -> Shape:
    sizes = [each.strip().lstrip("<=") for each in found[2].split(",") if each.strip()]
    plain = [size.isdecimal() and len(size) < 19 for size in sizes]
    order, _, rest = (found[3] or "{}")[1:-1].partition(":")
    tiles = re.search(r"T((?:\([^()]*\))+)", rest)
    width = re.search(r"E\((\d{1,3})\)", rest)
    return Shape(
        dtype=found[1],
        dims=tuple(int(size) if ok else 0 for size, ok in zip(sizes, plain, strict=True)),
        sized=all(plain),
        minor_to_major=_numbers(order),
        tiles=tuple(map(_numbers, re.findall(r"\(([^()]*)\)", tiles[1]))) if tiles else (),
        stored_bits=int(width[1]) if width else None,
    )


def _numbers(text: str) -> tuple[int, ...]:
    """Whole numbers between commas; nothing if one of them is something else."""
    parts = [part.strip() for part in text.split(",")]
    whole = all(part.isdecimal() and 0 < len(part) < 10 for part in parts)
    return tuple(map(int, parts)) if whole else ()


def _signature(computations: Iterable[Computation]) -> tuple[tuple[Shape, ...], tuple[Shape, ...]]:
    """The arrays ENTRY takes, by parameter number, and those it gives back."""
    entry = next((each for each in computations if each.entry), None)
    if entry is None:
        return (), ()
    given = sorted(
        (each for each in entry.instructions if each.index is not None),
        key=lambda each: each.index or 0,
    )
    parameters = tuple(shape for each in given for shape in each.shapes)
    return parameters, entry.root.shapes if entry.root else ()


def _dot(computation: Computation, instruction: Instruction, tracer: "_Tracer") -> Dot | None:
    """The product an instruction makes; None if its operands are not to be found."""
    shapes = [tracer.shape(computation.name, name) for name in instruction.operands[:2]]
    if len(shapes) != 2 or None in shapes or len(instruction.shapes) != 1:
        return None
    lhs, rhs = (each for each in shapes if each)
    precision = re.search(r"operand_precision=\{([\w, ]*)\}", instruction.attributes)
    result = instruction.shapes[0]
    stored = [tracer.stored(computation.name, name) for name in instruction.operands[:2]]
    return Dot(
        name=instruction.name,
        computation=computation.name,
        opcode=instruction.opcode,
        lhs=lhs,
        rhs=rhs,
        accumulator=result.dtype,
        stored=(stored[0] or lhs.dtype, stored[1] or rhs.dtype),
        delivered=tracer.delivered(computation.name, instruction) or result.dtype,
        precision=precision[1] if precision else None,
        flop=_flop(instruction, lhs, rhs, result),
    )


def _flop(instruction: Instruction, lhs: Shape, rhs: Shape, result: Shape) -> int | None:
    """2·(elements of the result)·(length of the contraction); None where the text tells neither."""
    attributes, made = instruction.attributes, result.elements
    if made is None or not (lhs.sized and rhs.sized):
        return None
    if instruction.opcode == "dot":
        axes = re.search(r"lhs_contracting_dims=\{([\d, ]*)\}", attributes)
        numbers = _numbers(axes[1]) if axes else ()
        unread = axes is None or (axes[1].strip() and not numbers)
        if unread or any(axis >= len(lhs.dims) for axis in numbers):
            return None
        return 2 * made * math.prod(lhs.dims[axis] for axis in numbers)
    length = _convolution_length(attributes, lhs, rhs, result)
    return None if length is None else 2 * made * length


def _convolution_length(attributes: str, lhs: Shape, rhs: Shape, result: Shape) -> int | None:
    """The contraction of a product printed as a convolution; None for any other convolution.

    Each window axis must stand for one axis of a product: of size one, a batch axis, an axis
    that is contracted whole, or an axis of the kernel alone.
    """
    labels = _LABELS.search(attributes)
    if not labels or "group_count=" in attributes:
        return None
    shapes = (lhs, rhs, result)
    if any(
        not len(set(text)) == len(text) == len(shape.dims)
        for text, shape in zip(labels.groups(), shapes, strict=True)
    ):
        return None
    given: dict[str, int] = dict(zip(labels[1], lhs.dims, strict=True))
    kernel: dict[str, int] = dict(zip(labels[2], rhs.dims, strict=True))
    out: dict[str, int] = dict(zip(labels[3], result.dims, strict=True))
    if "i" not in kernel:
        return None
    window = {
        name: value.split("x")
        for name, value in re.findall(r"([a-z_]{1,20})=([\dx_\-]{1,99})", _window(attributes))
    }
    length = kernel["i"]
    for axis, label in enumerate(sorted(label for label in kernel if label.isdecimal())):
        if label not in given or label not in out:
            return None
        settings = {name: values[axis] for name, values in window.items() if axis < len(values)}
        contracted = _contracted(kernel[label], given[label], out[label], settings)
        if contracted is None:
            return None
        length *= contracted
    return length


def _contracted(size: int, given: int, out: int, settings: Mapping[str, str]) -> int | None:
    """How many terms a window axis adds to each sum; None if it is no axis of a product."""
    stride, pad = settings.get("stride", "1"), settings.get("pad", "0_0")
    dilated = settings.get("lhs_dilate", "1")
    if settings.get("rhs_dilate", "1") != "1":
        return None
    if pad == "0_0" and dilated == str(size) and stride == str(max(1, size - 1)):
        return 1 if given == out == size else None  # a batch axis: one term each
    if stride != "1" or dilated != "1":
        return None
    if pad == "0_0" and (size == 1 or (given == size and out == 1)):
        return size  # contracted whole
    if pad == f"{size - 1}_{size - 1}" and given == 1 and out == size:
        return 1  # an axis of the kernel alone
    return None


def _window(attributes: str) -> str:
    found = re.search(r"\bwindow=\{([^{}]*)\}", attributes)
    return found[1] if found else ""


class _Tracer:
    """Follows values through conversions, fusions and calls, a bounded number of steps."""

    def __init__(self, module: Module) -> None:
        self._module = module
        self._named = {
            name: {each.name: each for each in computation.instructions}
            for name, computation in module.computations.items()
        }

    @cached_property
    def _callers(self) -> dict[str, list[tuple[str, Instruction]]]:
        callers: dict[str, list[tuple[str, Instruction]]] = {}
        for name, computation in self._module.computations.items():
            for each in computation.instructions:
                for called in each.called:
                    callers.setdefault(called, []).append((name, each))
        return callers

    @cached_property
    def _users(self) -> dict[tuple[str, str], list[Instruction]]:
        users: dict[tuple[str, str], list[Instruction]] = {}
        for name, computation in self._module.computations.items():
            for each in computation.instructions:
                for operand in each.operands:
                    users.setdefault((name, operand), []).append(each)
        return users

    def shape(self, computation: str, name: str) -> Shape | None:
        found = self._named[computation].get(name)
        return found.shapes[0] if found and found.shapes else None

    def stored(self, computation: str, name: str) -> str | None:
        """The type of the value before it was converted or passed on."""
        dtype = None
        for _ in range(MAX_STEPS):
            each = self._named.get(computation, {}).get(name)
            if each is None or not each.shapes:
                break
            dtype = each.shapes[0].dtype
            caller = self._only_caller(computation)
            if each.opcode in _THROUGH and each.operands:
                name = each.operands[0]
            elif each.opcode in ("fusion", "call") and (root := self._root(each)):
                computation, name = each.called[0], root.name
            elif each.index is not None and caller and each.index < len(caller[1].operands):
                computation, name = caller[0], caller[1].operands[each.index]
            else:
                break
        return dtype

    def delivered(self, computation: str, instruction: Instruction) -> str | None:
        """The type of a result once the conversions that alone use it are done."""
        each = instruction
        for _ in range(MAX_STEPS):
            users = self._users.get((computation, each.name), [])
            caller = self._only_caller(computation)
            if len(users) == 1 and users[0].opcode in _THROUGH and not each.root:
                each = users[0]
            elif len(users) == 1 and users[0].opcode == "fusion" and not each.root:
                inner = self._parameter(users[0], users[0].operands.index(each.name))
                after = self._users.get((users[0].called[0], inner.name), []) if inner else []
                if len(after) != 1 or inner is None or after[0].opcode not in _THROUGH:
                    break
                computation, each = users[0].called[0], inner
            elif each.root and caller and caller[1].opcode in ("fusion", "call"):
                dtype = each.shapes[0].dtype
                computation, each = caller
                if len(each.shapes) != 1 or each.shapes[0].dtype != dtype:
                    return dtype
            else:
                break
        return each.shapes[0].dtype if each.shapes else None

    def _only_caller(self, computation: str) -> tuple[str, Instruction] | None:
        callers = self._callers.get(computation, [])
        return (
            callers[0] if len(callers) == 1 and callers[0][1].opcode in ("fusion", "call") else None
        )

    def _root(self, instruction: Instruction) -> Instruction | None:
        called = (
            self._module.computations.get(instruction.called[0]) if instruction.called else None
        )
        return called.root if called else None

    def _parameter(self, instruction: Instruction, index: int) -> Instruction | None:
        called = (
            self._module.computations.get(instruction.called[0]) if instruction.called else None
        )
        found = called.instructions if called else ()
        return next((each for each in found if each.index == index), None)
