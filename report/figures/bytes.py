"""Bytes of the stored operands under each policy, scales apart; live in the product's shape."""

import altair as alt

from report.exhibit import Cell, Column, Control, Figure, Scalar, Table, number, valued
from report.figures import theme
from report.figures.render import render as draw_both
from report.numbers.precision import OPERAND_BYTES, POLICIES, SCALE_BYTES, Policy, PrecisionRun

NAME = "bytes-by-policy"


def draw(run: PrecisionRun) -> Figure:
    """One bar a policy; the live figure works the same formula for any shape."""
    totals = {policy: run.result("balanced", policy).stored.total for policy in POLICIES}
    int8 = run.result("balanced", "int8").stored
    at = f"study#/precision/{run.name}"
    share = number(f"{at}/scale_share", "percent(2)")
    fraction = number(f"{at}/int8_vs_fp32_bytes", "percent(1)")
    alt_text = (
        "Bars of stored operand bytes. "
        + "; ".join(f"{policy.upper()} {totals[policy]:,} bytes" for policy in POLICIES)
        + f", of which {int8.scales:,} bytes are scales."
    )
    return Figure(
        name=NAME,
        title=f"INT8 stores {fraction} of the FP32 bytes; its scales are {share} of them.",
        reading=(
            "A bar counts the bytes of $X$ and $W$ as the program is given them, values first and "
            "then the FP32 scales that INT8 needs."
        ),
        caption=(
            "Stored operands only: no output, no original arrays, no temporaries, so not a peak "
            "of memory. A shorter bar is no forecast of a faster run."
        ),
        alt_text=alt_text,
        kind="computed",
        drawing=draw_both(
            NAME,
            _chart(run, narrow=False),
            _chart(run, narrow=True),
            alt_text=alt_text,
            controls=_controls(run),
        ),
        table=_table(run),
        data=tuple(_rows(run)),
        sources=(run.source,),
        draws=f"python build.py figure {NAME} --evidence DIR --out FILE",
    )


def _rows(run: PrecisionRun) -> list[dict[str, Scalar]]:
    return [
        {
            "policy": policy,
            "value_bytes": stored.values,
            "scale_bytes": stored.scales,
            "total_bytes": stored.total,
        }
        for policy in POLICIES
        for stored in [run.result("balanced", policy).stored]
    ]


def _table(run: PrecisionRun) -> Table:
    def row(policy: Policy) -> tuple[Cell, ...]:
        stored = run.result("balanced", policy).stored
        href = f"records/{run.name}.html#balanced-{policy}-bytes"
        at = f"{run.name}#/results/balanced-{policy}/stored_bytes"
        sizes = {"values": stored.values, "scales": stored.scales, "total": stored.total}
        return (
            Cell(text=policy.upper()),
            *(
                valued(f"{at}/{part}", size, "integer", "computed", href=href)
                for part, size in sizes.items()
            ),
        )

    return Table(
        name=f"{NAME}-data",
        title="Stored operand bytes, as drawn",
        caption="",
        columns=(
            Column(head="Operands"),
            *(Column(head=f"{part}, bytes", numeric=True) for part in ("Values", "Scales", "All")),
        ),
        rows=tuple(row(policy) for policy in POLICIES),
        sources=(run.source,),
    )


def _controls(run: PrecisionRun) -> tuple[Control, ...]:
    """The run's own shape at first; sliders reach what the lab accepts, by doubling if they can."""
    names = {"m": "Rows of X, $m$", "k": "Contraction, $k$", "n": "Columns of W, $n$"}
    shape = _shape(run)
    powers = all(value.bit_count() == 1 for value in shape.values())
    return tuple(
        Control(
            signal=signal, label=names[signal], value=value, minimum=1, maximum=2048, log2=powers
        )
        for signal, value in shape.items()
    )


def _shape(run: PrecisionRun) -> dict[str, int]:
    return {"m": run.request.batch, "k": run.request.features, "n": run.request.outputs}


def _chart(run: PrecisionRun, *, narrow: bool) -> alt.LayerChart:
    if narrow:
        frame = theme.Frame(width=330, height=3 * 62 + 20, left=1, right=8, top=2, bottom=2)
        band, bar, label = 62, 32, 12
    else:
        frame = theme.Frame(width=600, height=3 * 48 + 20, left=104, right=86, top=2, bottom=2)
        band, bar, label = 48, 13, 13
    policies = [
        {"policy": policy.upper(), "row": row, "width": OPERAND_BYTES[policy],
         "scale": SCALE_BYTES if policy == "int8" else 0}
        for row, policy in enumerate(POLICIES)
    ]  # fmt: skip
    base = alt.Chart(theme.rows(policies)).transform_calculate(
        values="datum.width*(m*k+k*n)",
        scales="datum.scale*(m+n)",
        total="datum.values+datum.scales",
        share="datum.total/(4*(m*k+k*n))",
        text=f"format(datum.total,',')+'{theme.NBSP}B'+(datum.row==0?'':"
        f"', '+format(100*datum.share,'.1f')+'{theme.NBSP}% of FP32')",
        scales_text=f"datum.scale?format(datum.scales,',')+'{theme.NBSP}B of FP32 scales, '"
        f"+format(100*datum.scales/datum.total,'.2f')+'{theme.NBSP}% of the total':''",
        each=f"datum.width+'{theme.NBSP}B a value'",
        y=f"{band}*datum.row+{bar}",
        label_y=f"{band}*datum.row+{label}",
        below_y=f"{band}*datum.row+{bar}+22",
    )
    full = alt.Scale(domain={"expr": "[0, max(4*(m*k+k*n), (m*k+k*n+4*(m+n))/0.87)]"}, nice=False)
    x = alt.X("values:Q", scale=full, axis=None)
    end = alt.X("total:Q", scale=full, axis=None)
    y, at_label, below = (
        theme.down(field, frame.plot_height) for field in ("y", "label_y", "below_y")
    )
    bars = base.mark_bar(color=theme.C1, height=18).encode(x=x, x2=alt.datum(0), y=y)
    scales = base.transform_filter("datum.scale>0")
    layers = [
        bars,
        scales.mark_bar(color=theme.C2, height=18).encode(x=end, x2="values:Q", y=y),
        scales.mark_text(color=theme.C2, fontSize=13).encode(
            x=alt.value(0), y=below, text="scales_text:N"
        ),
    ]
    if narrow:
        layers += [
            base.mark_text(**theme.NAME).encode(x=alt.value(0), y=at_label, text="policy:N"),
            base.mark_text(dx=44, **theme.VALUE).encode(x=alt.value(0), y=at_label, text="text:N"),
        ]
    else:
        layers += [
            base.mark_text(**theme.NAME).encode(x=alt.value(-frame.left), y=y, text="policy:N"),
            base.mark_text(align="right", **theme.ASIDE).encode(
                x=alt.value(-12), y=y, text="each:N"
            ),
            base.mark_text(dx=8, **theme.VALUE).encode(x=end, y=y, text="text:N"),
        ]
    return frame.hold(*layers, params=_params(run))


def _params(run: PrecisionRun) -> list[alt.Parameter]:
    shape = [alt.param(name=name, value=value) for name, value in _shape(run).items()]
    int8, fp32 = "(m*k+k*n+4*(m+n))", "(4*(m*k+k*n))"
    summary = (
        f"'At '+m+' × '+k+' × '+n+', INT8 stores '+format({int8},',')+' bytes, '"
        f"+format(100*{int8}/{fp32},'.1f')+'{theme.NBSP}% of FP32; scales are '"
        f"+format(100*4*(m+n)/{int8},'.2f')+'{theme.NBSP}% of them.'"
    )
    return [*shape, alt.param(name="summary", expr=summary)]
