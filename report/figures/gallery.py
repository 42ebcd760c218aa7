"""All figures in reading order: drawn when something changed, taken from the cache when not.

A figure depends on a few parts of the study, on the code and font that draw it, and on the
renderer's version. Those make its key; the renderer is imported only when a key is new.
"""

import signal
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache as once
from hashlib import sha256
from importlib import import_module
from pathlib import Path

from report.cache import Store
from report.content import Content
from report.errors import UsageFault, did_you_mean
from report.exhibit import Figure
from report.figures.pack import pack, unpack
from report.inputs import version
from report.numbers.lowering import Preflight
from report.numbers.precision import PrecisionRun
from report.numbers.profile import Profile
from report.numbers.representations import RepresentationsRun
from report.numbers.run import Run
from report.numbers.study import Study, digest_of
from report.numbers.sweep import SweepRun
from report.numbers.timeline import lay_out
from report.numbers.timing import TimingRun

_HERE = Path(__file__).parent
_FONTS = sorted((_HERE.parents[1] / "templates" / "fonts").glob("*.ttf"))
_CODE = (
    *sorted(_HERE.glob("*.py")),
    *sorted(_HERE.with_name("numbers").glob("*.py")),
    *(_HERE.with_name(f"{name}.py") for name in ("exhibit", "ladder", "notation", "specs")),
    *(_HERE.with_name(f"{name}.py") for name in ("evidence", "record", "source", "units")),
)
"""What works out a drawing from records and the parts of the study: these tell what, not how."""
TIMELINE = "timeline"
"""The module that draws a capture, and how the names of its figures begin."""
_RENDERERS = ("altair", "vl-convert-python")


@dataclass(frozen=True, slots=True)
class Capture:
    """The profile of one record."""

    record: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One figure: the module that draws it, and what its `draw` takes.

    A need is a part of the study or content by name, a kind of run, which is the featured one,
    or the capture of one record.
    """

    name: str
    module: str
    needs: tuple[str | type[Run] | Capture, ...]


FIGURES = (
    Entry(name="memory-budget", module="memory", needs=("memory",)),
    Entry(name="kv-cache", module="kv_cache", needs=("kv_cache",)),
    Entry(name="instruction-matrix", module="instructions", needs=(Preflight,)),
    Entry(name="padding-staircase", module="staircase", needs=(Preflight,)),
    Entry(name="what-fits", module="fits", needs=(Preflight,)),
    Entry(name="error-by-policy", module="error", needs=(PrecisionRun, "formats")),
    Entry(name="quantization-step", module="step", needs=("quantization_step",)),
    Entry(name="outlier-repair", module="repair", needs=(RepresentationsRun,)),
    Entry(name="error-anatomy", module="anatomy", needs=(RepresentationsRun,)),
    Entry(name="bound-ratios", module="bound_ratios", needs=(RepresentationsRun,)),
    Entry(name="bytes-by-policy", module="bytes", needs=(PrecisionRun,)),
    Entry(name="sample-strips", module="strips", needs=(TimingRun,)),
    Entry(name="timing-verdicts", module="verdicts", needs=(TimingRun,)),
    Entry(name="roofline", module="roofline", needs=("roofline",)),
    Entry(name="batch-sweep", module="batch_sweep", needs=(SweepRun,)),
    Entry(name="traffic-models", module="traffic_models", needs=(SweepRun,)),
)
"""In the order in which the lesson shows them."""


def entries(study: Study) -> tuple[Entry, ...]:
    """The figures of every site, and the timeline of each capture."""
    timelines = (
        Entry(name=f"{TIMELINE}-{record}", module=TIMELINE, needs=(Capture(record),))
        for record, profile in study.traces.items()
        if lay_out(profile)
    )
    return (*FIGURES, *timelines)


def drawn_from(record: str, study: Study, content: Content) -> frozenset[str]:
    """Names of the figures that are drawn from a record's run or capture, known before they are."""
    return frozenset(
        entry.name
        for entry in entries(study)
        for part in _parts(entry, study, content)
        if getattr(getattr(part, "run", part), "name", "") == record
    )


def draw(
    study: Study,
    content: Content,
    cache: Store,
    jobs: int = 1,
    only: Collection[str] | None = None,
) -> Mapping[str, Figure]:
    """Every figure that the study can fill, by name; the missing ones on up to `jobs` processes.

    `only` names those that are wanted; each figure is the same without the others.
    """
    wanted = [entry for entry in entries(study) if only is None or entry.name in only]
    parts = {entry: _parts(entry, study, content) for entry in wanted}
    filled = [entry for entry in parts if None not in parts[entry]]
    keys = {entry: _key(entry, _depends(entry, parts[entry], study)) for entry in filled}
    packed = {entry: data for entry in filled if (data := cache.get(keys[entry])) is not None}
    cold = {entry: parts[entry] for entry in filled if entry not in packed}
    for entry, data in zip(cold, _draw_cold(cold, jobs), strict=True):
        cache.put(keys[entry], data)
        packed[entry] = data
    return {entry.name: unpack(packed[entry]) for entry in filled}


def draw_one(name: str, study: Study, content: Content) -> Figure:
    """The figure `name`, drawn now; UsageFault for an unknown name or a study without its data.

    `timeline` alone is that of the one capture there is.
    """
    known = {entry.name: entry for entry in entries(study)}
    if name == TIMELINE:
        if not study.traces:
            raise UsageFault("The figure timeline needs a run with a capture, made with --trace.")
        name = f"{TIMELINE}-{next(iter(study.traces))}"
    entry = known.get(name)
    if entry is None:
        raise UsageFault(f"There is no figure {name!r}.", hint=did_you_mean(name, known))
    parts = _parts(entry, study, content)
    if None in parts:
        raise UsageFault(f"The figure {name} needs a record that is not here.")
    return unpack(_draw(entry, parts))


def draw_timeline(profile: Profile, cache: Store) -> Figure | None:
    """The timeline of one capture that is in no study; None when it has no lane to draw."""
    if lay_out(profile) is None:
        return None
    entry = Entry(name=f"{TIMELINE}-{profile.name}", module=TIMELINE, needs=())
    key = _key(entry, [profile])
    if (found := cache.get(key)) is None:
        found = _draw(entry, (profile,))
        cache.put(key, found)
    return unpack(found)


def _parts(entry: Entry, study: Study, content: Content) -> tuple[object, ...]:
    return tuple(_part(need, study, content) for need in entry.needs)


def _part(need: str | type[Run] | Capture, study: Study, content: Content) -> object:
    if isinstance(need, Capture):
        return study.traces[need.record]
    if isinstance(need, type):
        return study.featured(need)
    return content.formats if need == "formats" else getattr(study, need)


def _depends(entry: Entry, parts: tuple[object, ...], study: Study) -> list[object]:
    """What the drawing is made from; a run stands as the files that it was read from."""
    return [
        study.stamps[run.name] if isinstance(need, type) and (run := study.featured(need)) else part
        for need, part in zip(entry.needs, parts, strict=True)
    ]


def _key(entry: Entry, depends: Sequence[object]) -> str:
    """Everything that the drawing depends on."""
    return sha256(f"figure {entry.name} {digest_of(depends)} {_renderer()}".encode()).hexdigest()


@once
def _renderer() -> str:
    """Digest of the drawing code and fonts, with the versions of the libraries."""
    digest = sha256()
    for path in (*_CODE, *_FONTS):
        digest.update(sha256(path.read_bytes()).digest())
    return " ".join([digest.hexdigest(), *(f"{name} {version(name)}" for name in _RENDERERS)])


def _draw_cold(cold: Mapping[Entry, tuple[object, ...]], jobs: int) -> list[bytes]:
    """Packed drawings, in order. Each process starts its own renderer, which costs most."""
    workers = min(jobs, len(cold) // 2)
    if workers < 2:
        return [_draw(entry, parts) for entry, parts in cold.items()]
    from concurrent.futures import ProcessPoolExecutor  # noqa: PLC0415 (slow, seldom needed)
    from multiprocessing import get_context  # noqa: PLC0415

    with ProcessPoolExecutor(workers, mp_context=get_context("spawn")) as pool:
        with _started_deaf_to_ctrl_c():
            drawn = pool.map(_draw, cold, cold.values())
        return list(drawn)


@contextmanager
def _started_deaf_to_ctrl_c() -> Iterator[None]:
    """Processes started in here leave Ctrl-C to their parent, which then says one line."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _draw(entry: Entry, parts: tuple[object, ...]) -> bytes:
    figure: Figure = import_module(f"report.figures.{entry.module}").draw(*parts)
    return pack(figure)
