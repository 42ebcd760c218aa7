"""The page of one profile: qualified first, then read from outside in, then questioned.

Every number in a sentence is a value with its pointer; every list is bounded and says by how much.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from markupsafe import Markup

from report.exhibit import literal
from report.notation import render
from report.numbers.measures import NS_PER_S, measure
from report.numbers.profile import Placed, Profile
from report.numbers.profile_compare import ProfileComparison
from report.numbers.profile_rules import RULES, Judgement, Rule, judge
from report.numbers.qualification import cannot_show, cautions, devices, verdict
from report.numbers.run import Scope
from report.pages import profile_tables as tables
from report.pages.anchors import NOUNS, Anchor, Anchors, relative
from report.pages.desk import Heading
from report.pages.exhibits import Context, size
from report.pages.press import Page, Press
from report.pages.profile_programs import ProgramText, programs_of
from report.pages.prose import Galley

SECTIONS = {
    "qualification": "May it be believed?",
    "timeline": "Over time, outside in",
    "steps": "Steps",
    "lanes": "Lanes",
    "operations": "Operations",
    "gaps": "Gaps",
    "hypotheses": "Hypotheses, not diagnoses",
    "comparison": "Against another profile",
    "files": "The files",
}
LEVELS = {"ok": "holds", "note": "note", "warning": "warning"}


def path_of(record: str) -> str:
    return f"profiles/{record}.html"


def figure_of(record: str) -> str:
    """The timeline’s name among the figures."""
    return f"timeline-{record}"


def add_profile_anchors(
    profiles: Mapping[str, Profile], figures: Mapping[str, Any], anchors: Anchors
) -> None:
    """Each page, and the one figure on it."""
    for record in profiles:
        page, name = path_of(record), figure_of(record)
        label = f"The profile of {record}"
        anchors.add(
            Anchor(kind="page", name=page.removesuffix(".html"), page=page, id="", label=label)
        )
        if name in figures:
            add_figure_anchor(name, page, anchors)


def add_figure_anchor(name: str, page: str, anchors: Anchors) -> None:
    anchors.add(
        Anchor(
            kind="fig",
            name=name,
            page=page,
            id=f"fig-{name}",
            label=f"{NOUNS['fig']} 1",
            number=1,
        )
    )


def set_profiles(press: Press) -> None:
    """Set `profiles/<record>.html` for each record with a capture."""
    for record, profile in press.study.traces.items():
        page = Page(
            path=path_of(record),
            kind="profile",
            title=f"The profile of {record}",
            records=(record,),
            steps=(("back", "The record", f"records/{record}.html", record),),
            contents=True,
            **about(profile),
        )
        set_profile(press, page, profile, programs_of(press.study, press.evidence[record]))


def about(profile: Profile) -> dict[str, Any]:
    """What a page says of a profile before its body."""
    return {
        "description": f"A profiler capture, qualified and read: {devices(profile)}",
        "eyebrow": "Profile",
        "deck": literal(verdict(profile)),
        "facts": (
            ("Steps", f"{len(profile.steps):,}"),
            ("Device planes", f"{len(profile.device_planes):,}"),
            ("Events", f"{profile.events:,}"),
            ("Read by", literal(profile.reader)),
        ),
    }


def lone_scope(profile: Profile) -> Scope:
    """What must stand above a capture that no record vouches for."""
    if not profile.busy_planes:
        return Scope(
            platform=profile.platform or "host",
            statement="Times of a host alone. Not a result of any accelerator.",
            single_device=True,
        )
    told = {plane.device.platform for plane in profile.busy_planes if plane.device}
    return Scope(
        platform=profile.platform or (told.pop() if len(told) == 1 else "") or "device",
        statement=f"{devices(profile)} No record vouches for where it was made, or how.",
        single_device=len(profile.busy_planes) == 1,
    )


def set_profile(
    press: Press,
    page: Page,
    profile: Profile,
    programs: Mapping[str, ProgramText],
    comparison: ProfileComparison | None = None,
) -> None:
    """Set one profile page."""
    galley = press.galley(page.path)
    values = _Values(galley, profile)
    name = figure_of(profile.name)
    figure = ""
    if name in press.desk.exhibits.names("fig"):
        figure = press.desk.exhibits.place("fig", name, 1, galley)
    body: dict[str, Any] = {
        "devices": devices(profile),
        "findings": [
            {"level": found.level, "word": LEVELS[found.level], "text": found.words}
            for found in (*cautions(profile), *_others(profile))
        ],
        "planes": tables.planes(profile, values.measures, galley),
        "cannot": list(cannot_show(profile)),
        "figure": Markup(figure),
        "no_lane": profile.note,
        "steps": tables.steps(profile, programs, galley) if profile.steps else None,
        "first_step": values.first_step(),
        "lanes": tables.lanes(profile, values.measures, galley),
        "busy": values.busy(),
        "operations": tables.operations(profile, values.measures, programs, galley),
        "shares": values.shares(),
        "gaps": tables.gaps(profile, galley),
        "compiles": tables.compiles(profile, galley),
        "rules": [_rule(rule, found, values) for rule, found in values.judgements()],
        "tally": values.tally(),
        "comparison": _comparison(profile, comparison, galley) if comparison else None,
        "files": _files(profile, page.path),
    }
    absent = {anchor for anchor in ("comparison", "gaps") if not body[anchor]}
    galley.headings += [
        Heading(level=2, id=anchor, text=text)
        for anchor, text in SECTIONS.items()
        if anchor not in absent
    ]
    press.set(page, galley, sections=SECTIONS, **body)


class _Values:
    """Sentences of one page, with their numbers set as values."""

    def __init__(self, galley: Galley, profile: Profile) -> None:
        self.galley, self.profile = galley, profile
        self.measures = measure(profile)

    def set(self, text: str) -> Markup:
        return Markup(self.galley.inline(text, f"page {self.galley.page}", lint=False))

    def value(self, path: str, spelling: str) -> str:
        """The role that prints a derived number of this capture."""
        return f"{{value}}`study#/trace/{self.profile.name}/{path}; {spelling}`"

    def first_step(self) -> Markup:
        times = self.profile.times
        if times is None:
            return self.set("No whole step is in this capture, so no time of a step is told.")
        first, middle, steady, ratio = (
            self.value("first_step_s", "seconds(1)"),
            self.value("step_median_s", "seconds(1)"),
            self.value("step_steady_s", "seconds(1)"),
            self.value("first_step_ratio", "fixed(2)"),
        )
        if times.first_ratio is None:
            return self.set(f"The one whole step lasts {first}.")
        return self.set(
            f"The first step lasts {first}. The median of all steps is {middle}; without the first"
            f" it is {steady}, so that the first takes {ratio} times as long as the others. State"
            " which of the two you mean."
        )

    def busy(self) -> Markup:
        share = self.measures["device_step_share"]
        host = self.measures["host_operations_share"]
        if share.number is not None:
            return self.set(
                f"Inside the steps, devices run operations for"
                f" {self.value('device_step_share', 'percent(1)')} of the time, on average over"
                f" the {len(self.profile.busy_planes)} device planes that hold events."
            )
        told = f"How busy a device was is not told: {share.reason}."
        if host.number is not None:
            told += (
                " Operations that the CPU ran on host threads cover"
                f" {self.value('host_operations_share', 'percent(1)')} of the steps; the rest is"
                " dispatch, waiting and the runtime."
            )
        return self.set(told)

    def shares(self) -> Markup:
        if self.measures["untold_share"].number is None:
            return self.set("No operation of a compiled program is in this capture.")
        parts = ", ".join(
            f"{words} {self.value(path, 'percent(1)')}"
            for path, words in (
                ("matrix_share", "matrix products"),
                ("movement_share", "copies and transfers"),
                ("collective_share", "collectives"),
                ("untold_share", "operations whose names do not tell"),
            )
        )
        clock = (
            " Times here are by the device’s own clock; those over time are by the host’s."
            if self.profile.device_clock
            else ""
        )
        return self.set(f"Of the time that operations take themselves: {parts}.{clock}")

    def judgements(self) -> Sequence[tuple[Rule, Judgement]]:
        return judge(self.profile, self.measures)

    def tally(self) -> str:
        found = [judgement.outcome for _, judgement in self.judgements()]
        counts = {outcome: found.count(outcome) for outcome in ("fires", "does not fire")}
        lacking = found.count("lacks data")
        return (
            f"Of {len(RULES)} rules, {counts['fires']} fire, {counts['does not fire']} do not, and"
            f" {lacking} lack their data."
        )

    def told(self, judgement: Judgement) -> Markup:
        numbers = {
            key: self.value(path, spelling) for key, (path, spelling) in judgement.numbers.items()
        }
        return self.set(judgement.told.format_map(numbers))


def _others(profile: Profile) -> Iterator[Any]:
    careful = cautions(profile)
    yield from (found for found in profile.findings if found not in careful)


def _rule(rule: Rule, found: Judgement, values: _Values) -> Context:
    return {
        "id": f"rule-{rule.id}",
        "observation": rule.observation,
        "outcome": found.outcome,
        "fires_when": rule.fires_when,
        "told": values.told(found),
        "seen": [
            {"words": seen.words, "where": where(seen.place, values.profile)} for seen in found.seen
        ],
        "not_shown": found.not_shown,
        "hypothesis": rule.hypothesis,
        "experiment": values.set(rule.experiment),
    }


def where(place: Placed, profile: Profile) -> str:
    """An interval in words: from when, how long, on which plane."""
    start, lasts = (
        render(ns / NS_PER_S, "seconds(2)") for ns in (place.start_ns, place.duration_ns)
    )
    return f"from {start}, for {lasts}, on {profile.plane(place.plane).name}"


def _comparison(profile: Profile, comparison: ProfileComparison, galley: Galley) -> Context:
    one, two = comparison.names
    alone = [
        f"Only in {name}: {', '.join(labels)}."
        for name, labels in zip(comparison.names, comparison.unpaired, strict=True)
        if labels
    ]
    return {
        "names": f"{one} and {two}",
        "verdict": comparison.verdict,
        "results": [result.told for result in comparison.results],
        "alone": alone,
        "differences": tables.differences(comparison, galley),
        "pairs": tables.pairs(profile, comparison, galley),
    }


def _files(profile: Profile, page: str) -> Context:
    return {
        "summary": {
            "href": relative(profile.source.href, page),
            "name": profile.source.name,
            "sha256": profile.source.sha256 or "",
        },
        "read": [
            {
                "name": file.name,
                "format": file.format,
                "size": size(file.bytes),
                "sha256": file.sha256,
                "events": f"{file.events:,}",
            }
            for file in profile.files
        ],
        "aside": [{"name": name, "why": why} for name, why in profile.aside],
    }
