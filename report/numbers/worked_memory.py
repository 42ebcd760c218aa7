"""The lesson's memory budgets, worked out from its given model."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction

from report.content import Model
from report.numbers.memory import KvCache, TrainingState, weight_bytes
from report.numbers.precision import SCALE_BYTES
from report.numbers.workings import Workings
from report.source import Source
from report.specs import Chip, NumberFormat

CONTEXTS: Mapping[str, tuple[Fraction, str]] = {
    "/half_context": (Fraction(1, 2), r"\lfloor T / 2 \rfloor"),
    "": (Fraction(1), "T"),
    "/doubled_context": (Fraction(2), "(2T)"),
    "/quadrupled_context": (Fraction(4), "(4T)"),
}
"""Contexts beside the worked one: how a path names them, how many times as long, and in TeX."""
WEIGHT_FORMATS = ("fp32", "bf16", "int8", "int4")


@dataclass(frozen=True, slots=True, kw_only=True)
class Capacity:
    """Documented HBM of one chip."""

    label: str
    """In the source's unit, such as `16 GB`."""
    bytes: int
    source: Source


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryStudy:
    """Weights at four widths and one training state, in bytes."""

    model: str
    weights: Mapping[str, int]
    """Format to bytes of all weights."""
    bits: Mapping[str, int]
    """Format to bits of one weight."""
    state: TrainingState
    chip: str
    """The chip that the lesson works with."""
    names: Mapping[str, str]
    capacities: Mapping[str, Capacity]
    """HBM of one chip, for those that document it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CacheStudy:
    """One key/value cache in BF16, and the same one in INT8 without its scales."""

    model: str
    bf16: KvCache
    int8: KvCache
    contexts: Mapping[str, Mapping[str, KvCache]]
    """Both again at each context that holds a token, by its name in a path."""


def work_out_memory(
    model: Model, chips: Mapping[str, Chip], formats: Mapping[str, NumberFormat], note: Workings
) -> MemoryStudy:
    """Write down `study#/memory/…` and return what the figure draws."""
    given = f"models#/{model.id}"
    bits = {name: formats[name].bits for name in WEIGHT_FORMATS}
    weights = {name: weight_bytes(model.parameters, width) for name, width in bits.items()}
    pointers = {
        name: note.derive(
            f"memory/weights/{name}/bytes",
            total,
            r"M_{\mathrm{weights}} = P \, b / 8",
            f"{given}/parameters",
            f"formats#/{name}/bits",
            unit="B",
        )
        for name, total in weights.items()
    }
    state = TrainingState(parameters=model.parameters, bytes_per_parameter=model.training_state)
    width = note.derive(
        "memory/training_state/bytes_per_parameter",
        state.width,
        r"\textstyle\sum_{\mathrm{parts}} b_{\mathrm{part}}",
        *(f"{given}/training_state/{part}" for part in state.bytes_per_parameter),
        unit="B",
    )
    total = note.derive(
        "memory/training_state/bytes",
        state.total,
        r"M_{\mathrm{state}} = P \textstyle\sum_{\mathrm{parts}} b_{\mathrm{part}}",
        f"{given}/parameters",
        width,
        unit="B",
    )
    for part, size in state.parts.items():
        note.derive(
            f"memory/training_state/{part}/bytes",
            size,
            r"P \, b_{\mathrm{part}}",
            f"{given}/parameters",
            f"{given}/training_state/{part}",
            unit="B",
        )
    note.derive(
        "memory/training_state/over_bf16_weights",
        Fraction(state.total, weights["bf16"]),
        r"M_{\mathrm{state}} / M_{\mathrm{weights}}",
        total,
        pointers["bf16"],
    )
    return MemoryStudy(
        model=model.id,
        weights=weights,
        bits=bits,
        state=state,
        chip=model.roofline.chip,
        names={id_: chip.name for id_, chip in chips.items()},
        capacities={
            id_: Capacity(label=found.label, bytes=int(found.base()), source=spec.source)
            for id_, chip in chips.items()
            if (found := (spec := chip.specs["hbm_capacity"]).quantity)
        },
    )


def work_out_cache(model: Model, note: Workings) -> CacheStudy:
    """Write down `study#/kv_cache/…` and return what the figure draws."""
    given, shape = f"models#/{model.id}/kv_cache", model.kv_cache
    bf16 = KvCache(
        batch=shape.batch,
        tokens=shape.tokens,
        layers=shape.layers,
        kv_heads=shape.kv_heads,
        head_dim=shape.head_dim,
        element_bytes=shape.value_bytes,
    )
    int8 = replace(bf16, element_bytes=1)
    layers = tuple(f"{given}/{name}" for name in ("layers", "kv_heads", "head_dim"))
    held = (f"{given}/batch", f"{given}/tokens")
    per_token = note.derive(
        "kv_cache/bytes_per_token",
        bf16.bytes_per_token,
        r"2 L H_{kv} D_h b_{kv}",
        *layers,
        f"{given}/value_bytes",
        unit="B",
    )
    contexts = {}
    for context, (times, tokens) in CONTEXTS.items():
        longer = int(bf16.tokens * times)
        if not longer:
            continue
        at = {name: replace(each, tokens=longer) for name, each in (("bf16", bf16), ("int8", int8))}
        full = rf"M_{{\mathrm{{KV}}}} = 2 B {tokens} L H_{{kv}} D_h b_{{kv}}"
        note.derive(
            f"kv_cache/bf16{context}/bytes", at["bf16"].total, full, *held, per_token, unit="B"
        )
        note.derive(
            f"kv_cache/int8{context}/bytes",
            at["int8"].total,
            full + r",\ b_{kv} = 1",
            *held,
            *layers,
            unit="B",
        )
        contexts[context] = at
    scales = SCALE_BYTES * int8.total // int8.head_dim
    scale_bytes = note.derive(
        "kv_cache/int8/scale_bytes", scales, r"2 B T L H_{kv} \cdot 4", *held, *layers[:2], unit="B"
    )
    note.derive(
        "kv_cache/int8/scale_share",
        Fraction(scales, scales + int8.total),
        r"M_{\mathrm{scales}} / (M_{\mathrm{scales}} + M_{\mathrm{entries}})",
        scale_bytes,
        "study#/kv_cache/int8/bytes",
    )
    return CacheStudy(model=model.id, bf16=bf16, int8=int8, contexts=contexts)
