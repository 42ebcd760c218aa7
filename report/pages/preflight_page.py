"""The page that makes a preflight readable: the ladder, the exhibits, and how to make your own."""

from collections.abc import Iterator, Mapping

from markupsafe import Markup

from report.exhibit import literal
from report.ladder import Rung
from report.numbers.ceilings import FORMATS
from report.numbers.lowering import Preflight
from report.pages.anchors import NOUNS, Anchor, AnchorKind, Anchors
from report.pages.code import highlight
from report.pages.desk import Heading
from report.pages.press import Page, Press
from report.pages.prose import Galley
from report.pages.roles import RUNGS

PATH = "preflight.html"
TITLE = "Preflight: compiled, with no TPU"

EXHIBITS: Mapping[AnchorKind, tuple[str, ...]] = {
    "fig": ("instruction-matrix", "padding-staircase", "what-fits"),
    "tab": ("ceilings", "small-batches", "byte-ledger"),
}
"""What stands on the page, numbered in this order."""

SECTIONS = {
    "ladder": "How far each fact reaches",
    "instructions": "What the matrix unit is given",
    "ceilings": "Where documents and the compiler disagree",
    "small-batches": "Small batches",
    "bytes": "Bytes, column by column",
    "fits": "What fits",
    "evidence": "The evidence",
    "your-program": "Your own program",
}
WITHOUT_RECORD = ("ladder", "ceilings", "your-program")

PROGRAM = """\
import jax

def step(weights, tokens):
    return tokens @ weights

def step_arguments(batch=8):
    bf16 = "bfloat16"
    return (
        jax.ShapeDtypeStruct((1024, 1024), bf16),
        jax.ShapeDtypeStruct((batch, 1024), bf16),
    )

# Only for a program over several devices, whose arguments may then take mesh:
# step_mesh = {"data": 4, "model": 4}
# Only if jax.jit needs any:
# step_options = {"donate_argnums": (1,)}
"""
COMMANDS = """\
python build.py preflight my_module:step --targets v5e,v6e,tpu7x
python build.py preflight my_module:step --targets v5e --schedule
python build.py fits my_module:step --targets v5e:4x4 --max batch
python build.py record runs/preflight-1 --as my-step
"""
INSTALL = "make tpu"


def add_preflight_anchors(press_names: Mapping[AnchorKind, list[str]], anchors: Anchors) -> None:
    """Number the exhibits of the page that are there."""
    for kind, wanted in EXHIBITS.items():
        there = [name for name in wanted if name in press_names[kind]]
        for number, name in enumerate(there, 1):
            anchors.add(
                Anchor(
                    kind=kind,
                    name=name,
                    page=PATH,
                    id=f"{kind}-{name}",
                    label=f"{NOUNS[kind]} {number}",
                    number=number,
                )
            )


def conflicts(press: Press, galley: Galley) -> Iterator[Markup]:
    """Each documented rate whose format the compiler does not multiply, both with sources."""
    for verdict in press.study.ceilings:
        if verdict.solid or verdict.documented.quantity is None or not verdict.refuted:
            continue
        name, spec = FORMATS[verdict.format]
        chip = press.content.chips[verdict.chip]
        yield Markup(
            galley.inline(
                f"**{name} on {chip.name}.** Documented: {{value}}`chips#/{verdict.chip}/{spec};"
                f" documented` ([{verdict.documented.reference.label}]"
                f"({verdict.documented.source.href})). Compiled:"
                f" {{claim}}`no native {verdict.format} on {verdict.chip}; {verdict.pointer}`."
                f" {verdict.reason}",
                f"page {PATH}",
                lint=False,
            )
        )


def set_preflight(press: Press) -> None:
    """Set `preflight.html`, with its exhibits when there is a record."""
    run = press.study.featured(Preflight)
    page = Page(
        path=PATH,
        kind="preflight",
        title=TITLE,
        description=(
            "What each TPU generation’s compiler makes of a program, recorded with no TPU: matrix"
            " instructions, padding, memory and refusals, each with its level of evidence."
        ),
        eyebrow="Compiler facts",
        deck=(
            "The TPU compiler needs no TPU. Here it says what it makes of the lesson’s products on"
            " each generation, and how to ask it about a program of your own."
        ),
        facts=(
            ("Targets", literal(", ".join(run.targets))),
            ("Compiler", literal(f"libtpu {run.compiler}")),
            ("JAX", literal(run.jax)),
            ("Programs", f"{len(run.programs)}"),
        )
        if run
        else (),
        records=(run.name,) if run else (),
        contents=True,
    )
    galley = press.galley(PATH)
    shown: dict[str, Markup] = {}
    for kind, names in EXHIBITS.items():
        for name in names:
            if name in press.desk.exhibits.names(kind):
                number = press.desk.anchors.find(f"{kind}:{name}", PATH).number
                shown[name] = Markup(press.desk.exhibits.place(kind, name, number, galley))
    if run:
        fits = f"{run.name}-fits-{next(iter(run.fits))}"
        shown["fits"] = Markup(press.desk.exhibits.place("tab", fits, 0, galley))
    galley.headings += [
        Heading(level=2, id=anchor, text=text)
        for anchor, text in SECTIONS.items()
        if run or anchor in WITHOUT_RECORD
    ]
    press.set(
        page,
        galley,
        rungs=[
            {
                "name": rung.words,
                "pips": rung.pips,
                "text": f"{RUNGS[rung][:1].upper()}{RUNGS[rung][1:]}.",
            }
            for rung in Rung
        ],
        conflicts=list(conflicts(press, galley)),
        exhibits=shown,
        record={"name": run.name, "href": f"records/{run.name}.html"} if run else None,
        program=Markup(highlight(PROGRAM, "python")),
        commands=Markup(highlight(COMMANDS, "sh")),
        install=Markup(highlight(INSTALL, "sh")),
    )
