"""A key/value cache against its context length, in BF16 and in INT8; live in its shape."""

from dataclasses import replace

import altair as alt

from report.exhibit import Cell, Column, Control, Figure, Scalar, Table, number, valued
from report.figures import theme
from report.figures.render import render as draw_both
from report.notation import render
from report.numbers.memory import KvCache
from report.numbers.values import anchor
from report.numbers.worked_memory import CacheStudy

NAME = "kv-cache"
LONGEST = 16_384
"""Tokens at the right edge, unless the worked context is longer."""
GIB = 2**30
ENTRIES = {"BF16": 2, "INT8": 1}
"""Bytes of one cached element, by policy."""


def draw(study: CacheStudy) -> Figure:
    """Two straight lines through zero, and the worked context marked on both."""
    cache = study.bf16
    at = {"BF16": cache, "INT8": study.int8}
    sizes = {policy: _gib(found.total) for policy, found in at.items()}
    shape = (
        f"{cache.batch} sequences, {cache.layers} layers, {cache.kv_heads} KV heads of "
        f"dimension {cache.head_dim}"
    )
    alt_text = (
        f"Cache size against context length for {shape}: straight lines through zero. At "
        f"{cache.tokens:,} tokens {sizes['BF16']} in BF16 and {sizes['INT8']} in INT8; at twice "
        f"the tokens {_gib(2 * cache.total)} and {_gib(2 * study.int8.total)}."
    )
    return Figure(
        name=NAME,
        title=(
            f"At {number(f'models#/{study.model}/kv_cache/tokens', 'integer')} tokens the cache "
            f"holds {number('study#/kv_cache/bf16/bytes', _spelling(cache.total))}, and each "
            "doubling of the context doubles it."
        ),
        reading=(
            "The slope is what one more token adds for all sequences together. The dotted rule "
            "marks the worked context; both lines start at zero."
        ),
        caption=(
            f"Dense and unpadded, {shape}. Pages, padding, replication and the scales of INT8 come "
            "on top. A smaller cache says nothing of the quality of what is generated."
        ),
        alt_text=alt_text,
        kind="computed",
        drawing=draw_both(
            NAME,
            _chart(cache, narrow=False),
            _chart(cache, narrow=True),
            alt_text=alt_text,
            controls=_controls(cache),
        ),
        table=_table(study),
        data=tuple(_rows(study)),
        sources=(),
    )


def _gib(size: int) -> str:
    return render(size, _spelling(size))


def _spelling(size: int) -> str:
    return f"bytes(GiB, {1 if size % (GIB // 10) == 0 or size * 2 % GIB == 0 else 2})"


def _rows(study: CacheStudy) -> list[dict[str, Scalar]]:
    return [
        {"tokens": int8.tokens, "bf16_bytes": bf16.total, "int8_bytes": int8.total}
        for bf16, int8 in (at.values() for at in study.contexts.values())
    ]


def _table(study: CacheStudy) -> Table:
    def cell(policy: str, context: str, size: int) -> Cell:
        pointer = f"study#/kv_cache/{policy}{context}/bytes"
        href = f"workings.html#{anchor(pointer)}"
        return valued(pointer, size, _spelling(size), "computed", href=href)

    return Table(
        name=f"{NAME}-data",
        title="Cache size by context length",
        caption="",
        columns=(
            Column(head="Tokens of each sequence"),
            Column(head="BF16", numeric=True),
            Column(head="INT8, without scales", numeric=True),
        ),
        rows=tuple(
            (
                Cell(text=f"{at['bf16'].tokens:,}"),
                *(cell(policy, context, found.total) for policy, found in at.items()),
            )
            for context, at in study.contexts.items()
        ),
    )


def _controls(cache: KvCache) -> tuple[Control, ...]:
    def power(signal: str, label: str, maximum: int, minimum: int = 1, unit: str = "") -> Control:
        return Control(
            signal=signal,
            label=label,
            value=getattr(cache, signal),
            minimum=minimum,
            maximum=maximum,
            log2=True,
            unit=unit,
        )

    return (
        power("tokens", "Context, $T$", 2**17, 2048, "tokens"),
        power("batch", "Sequences, $B$", 256),
        power("kv_heads", "KV heads, $H_{kv}$", 64),
        power("head_dim", "Head dimension, $D_h$", 256),
        Control(signal="layers", label="Layers, $L$", value=cache.layers, minimum=1, maximum=128),
    )


def _chart(cache: KvCache, *, narrow: bool) -> alt.LayerChart:
    if narrow:
        frame = theme.Frame(width=330, height=314, left=42, right=20, top=42, bottom=60)
    else:
        frame = theme.Frame(width=600, height=334, left=46, right=96, top=42, bottom=60)
    nbsp = theme.NBSP
    start = replace(cache, tokens=LONGEST).total / GIB

    lines = [
        {"policy": policy, "each": each, "end": end}
        for policy, each in ENTRIES.items()
        for end in (0, 1)
    ]
    size = "2*batch*datum.tokens*layers*kv_heads*head_dim*datum.each/1073741824"
    drawn = alt.Chart(theme.rows(lines)).transform_calculate(
        tokens="datum.end*longest", size=size, text=f"datum.policy+', '+{_gib_text('datum.size')}"
    )
    worked = alt.Chart(
        theme.rows([{"policy": policy, "each": each} for policy, each in ENTRIES.items()])
    ).transform_calculate(
        tokens="tokens",
        size=size,
        text=f"(tokens<longest?'':datum.policy+', ')+{_gib_text('datum.size')}",
        here=f"format(tokens,',')+'{nbsp}tokens'",
        zero="0",
        top="top",
    )
    end_labels = drawn.transform_filter("datum.end==1 && tokens<longest")
    near_edge, steep = "tokens>0.75*longest", "full>0.25*top"
    x = alt.X(
        "tokens:Q",
        scale=alt.Scale(domain={"expr": "[0, longest]"}, nice=False),
        axis=alt.Axis(
            values={"expr": "[0, longest/4, longest/2, 3*longest/4, longest]"},
            title="context length, tokens of each sequence",
            grid=False,
            offset=14,
        ),
    )
    scale = alt.Scale(domain={"expr": "[0, top]"}, nice=False)
    y = alt.Y("size:Q", scale=scale, axis=alt.Axis(tickCount=4, title=None))
    inks = {"BF16": theme.C1, "INT8": theme.C2}
    colour = alt.Color(
        "policy:N", scale=alt.Scale(domain=list(inks), range=list(inks.values())), legend=None
    )
    bf16, int8 = ("datum.policy=='BF16'", "datum.policy=='INT8'")
    layers = [
        worked.transform_filter(bf16)
        .mark_rule(**theme.REFERENCE)
        .encode(x=x, y=alt.Y("zero:Q", scale=scale), y2="top:Q"),
        worked.transform_filter(bf16)
        .mark_text(align=_side(near_edge, "right", "center"), dy=-24, **theme.ASIDE)
        .encode(x=x, y=alt.Y("top:Q", scale=scale), text="here:N"),
        drawn.mark_line().encode(x=x, y=y, color=colour),
        worked.mark_point().encode(x=x, y=y, color=colour),
        worked.transform_filter(bf16)
        .mark_text(
            align="right",
            dx=-11,
            dy=-9,
            **theme.VALUE,
        )
        .encode(x=x, y=y, color=colour, text="text:N"),
        worked.transform_filter(int8)
        .mark_text(
            align=_side(near_edge, "right", "left"),
            dx=alt.ExprRef(f"{near_edge}?-11:11"),
            dy=alt.ExprRef(f"{near_edge} && {steep}?-9:13"),
            **theme.VALUE,
        )
        .encode(x=x, y=y, color=colour, text="text:N"),
        alt.Chart(theme.rows([{"text": "GiB"}]))
        .mark_text(align="right", fontSize=13, color=theme.INK2)
        .encode(x=alt.value(-6), y=alt.value(-20), text="text:N"),
    ]
    if narrow:
        layers += [
            end_labels.transform_filter(which)
            .mark_text(align="right", dx=-4, dy=dy, **theme.VALUE)
            .encode(x=x, y=y, color=colour, text="text:N")
            for which, dy in ((bf16, -14), (int8, alt.ExprRef(f"{steep}?-14:16")))
        ]
    else:
        layers.append(
            end_labels.mark_text(dx=8, **theme.VALUE).encode(x=x, y=y, color=colour, text="text:N")
        )
    return frame.hold(*layers, params=_params(cache, start))


def _side(condition: str, then: str, otherwise: str) -> alt.ExprRef:
    return alt.ExprRef(f"{condition}?'{then}':'{otherwise}'")


def _gib_text(value: str) -> str:
    """Three significant digits and the unit."""
    return f"format({value},'.3~r')+'{theme.NBSP}GiB'"


def _params(cache: KvCache, start: float) -> list[alt.Parameter]:
    shape = {
        "tokens": cache.tokens,
        "batch": cache.batch,
        "kv_heads": cache.kv_heads,
        "head_dim": cache.head_dim,
        "layers": cache.layers,
    }
    bf16 = "2*batch*tokens*layers*kv_heads*head_dim*2/1073741824"
    summary = (
        f"batch+' × '+format(tokens,',')+' tokens, '+layers+' layers, '+kv_heads+' KV heads of '"
        f"+head_dim+': '+{_gib_text(bf16)}+' in BF16, '+{_gib_text(f'{bf16}/2')}+' in INT8.'"
    )
    longest = f"max({LONGEST}, tokens)"
    full = "2*batch*longest*layers*kv_heads*head_dim*2/1073741824"
    return [
        *(alt.param(name=name, value=value) for name, value in shape.items()),
        alt.param(name="longest", expr=longest),
        alt.param(name="full", expr=full),
        alt.param(name="top", expr=f"max({start!r}, full)"),
        alt.param(name="summary", expr=summary),
    ]
