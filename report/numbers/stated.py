"""What documents state and examples are given: `chips#/`, `formats#/` and `models#/`."""

from collections.abc import Mapping

from report.content import Model
from report.numbers.workings import Workings
from report.specs import Chip, Documented, NumberFormat, Spec, documented_figures
from report.units import Quantity


def state_chips(chips: Mapping[str, Chip], note: Workings) -> None:
    """Each documented field of each chip, and each other reading of it."""
    for chip in chips.values():
        for field, spec in chip.specs.items():
            _state_spec(f"chips#/{chip.id}/{field}", spec, note)
            for index, other in enumerate(spec.alternatives):
                _state_spec(f"chips#/{chip.id}/{field}/alternatives/{index}", other, note)


def state_formats(formats: Mapping[str, NumberFormat], note: Workings) -> None:
    """The documented bits of each format, and the figures that follow from them."""
    for format_ in formats.values():
        base = f"formats#/{format_.id}"
        note.state(f"{base}/name", format_.name, "documented")
        for name in ("bits", "sign", "exponent", "fraction"):
            note.state(f"{base}/{name}", getattr(format_, name), "documented", unit="bit")
        figures = dict(documented_figures(format_)) | {"symmetric_bound": format_.symmetric_bound}
        for name, figure in figures.items():
            if figure is not None:
                note.state(f"{base}/{name}", figure, "computed")


def state_models(models: Mapping[str, Model], note: Workings) -> None:
    """The sizes that worked examples are given."""
    for model in models.values():
        base = f"models#/{model.id}"
        note.state(f"{base}/parameters", model.parameters, "given")
        for part, width in model.training_state.items():
            note.state(f"{base}/training_state/{part}", width, "given", unit="B")
        cache, product = model.kv_cache, model.roofline
        for name in ("batch", "tokens", "layers", "kv_heads", "head_dim", "value_bytes"):
            note.state(f"{base}/kv_cache/{name}", getattr(cache, name), "given", unit=_unit(name))
        for index, m in enumerate(product.m):
            note.state(f"{base}/roofline/m/{index}", m, "given")
        for name in ("k", "n", "x_bytes", "w_bytes", "y_bytes", "chip", "format"):
            note.state(f"{base}/roofline/{name}", getattr(product, name), "given", unit=_unit(name))


def documented_text(value: object) -> str:
    """Counts and names in words: `1, 4 or 8`, `JAX and PyTorch`."""
    if not isinstance(value, tuple):
        return str(value)
    joiner = " and " if any(isinstance(item, str) for item in value) else " or "
    parts = [f"{item:,}" if isinstance(item, int) else str(item) for item in value]
    return joiner.join(filter(None, [", ".join(parts[:-1]), parts[-1]]))


def _state_spec(pointer: str, spec: Spec, note: Workings) -> None:
    note.state(pointer, stated(spec.value), "documented", reason=spec.reason)


def stated(value: Documented | None) -> Quantity | int | str | None:
    """A documented value as it can be pointed at and printed: several are one text."""
    return value if isinstance(value, Quantity | int | str | None) else documented_text(value)


def _unit(name: str) -> str:
    return "B" if name.endswith("_bytes") else ""
