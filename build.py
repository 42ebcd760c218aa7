#!/usr/bin/env python3
"""Assay: recorded runs become a site in which every number can be traced to its record.

This file is the table of contents: it knows every stage and hands values on, and what a stage
does lies in report/. Each command imports what it needs, so that an unchanged build is answered
before any of it is loaded.
"""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Mapping
    from pathlib import Path

    from report.archive.profiles import Capture
    from report.cache import Cache
    from report.evidence import Evidence
    from report.folder import Copied
    from report.numbers.profile_compare import ProfileComparison
    from report.voice import Voice

ROOT = os.path.dirname(os.path.realpath(__file__))


def build(options: Namespace, voice: Voice) -> int:
    """Build the site from recorded runs and written content."""
    import gc

    from report.cache import Cache
    from report.command_line import CACHE
    from report.folder import publish
    from report.inputs import fingerprint
    from report.marker import is_current

    inputs = fingerprint(ROOT, str(options.content), options.allow_stale)
    if is_current(options.out, inputs):
        voice.unchanged(options.out)
        return 0
    gc.set_threshold(100_000)  # nearly all that a build makes lives until its end
    with voice:
        site, evidence = render(options, Cache(CACHE), voice)
        voice.stage("Publishing")
        publish(site, options.out, inputs)
    voice.site("built", site, evidence, options.out)
    return 0


def check(options: Namespace, voice: Voice) -> int:
    """Make every check of a build, links included, and write nothing."""
    from report.cache import ReadOnlyCache
    from report.command_line import CACHE

    with voice:
        site, evidence = render(options, ReadOnlyCache(CACHE), voice)
    voice.site("checked", site, evidence)
    return 0


def render(
    options: Namespace, cache: Cache, voice: Voice
) -> tuple[Mapping[str, bytes | Copied], Mapping[str, Evidence]]:
    """What the site holds, by path, and the evidence it stands on."""
    from report.archive import bundle, records, verifier
    from report.command_line import CONTENT, LAB, LOCK, TEMPLATES
    from report.content import load_content
    from report.evidence import verify_all
    from report.figures.gallery import draw
    from report.figures.runtime import RUNTIME, runtime
    from report.numbers.study import work_out
    from report.pages.site import figure_files, render_site
    from report.tables import set_tables

    voice.stage("Verifying records")
    recorded = records.load_all(options.records)
    evidence = verify_all(recorded, LAB, options.allow_stale, options.content / "lab")
    voice.historic(evidence)

    voice.stage("Reading content")
    content = load_content(options.content, CONTENT)
    voice.drafts(content.reports)
    study = work_out(evidence, content)

    voice.stage("Drawing figures")
    figures = draw(study, content, cache, options.jobs)
    tables = set_tables(study, content)

    voice.stage("Packing archives")
    archives = {
        bundle.WORKSPACE: bundle.practice_workspace(LAB, evidence.values(), LOCK, cache),
        bundle.ARTIFACTS: bundle.artifacts(figure_files(figures), evidence.values(), cache),
        verifier.PLACE: verifier.assemble(TEMPLATES),
        bundle.STAND_ALONE: bundle.stand_alone(),
    }

    voice.stage("Setting pages")
    site = render_site(content, study, evidence, figures, tables, TEMPLATES, cache, archives)
    site[RUNTIME] = runtime(cache)
    return site, evidence


def figure(options: Namespace, voice: Voice) -> int:
    """Draw one figure again, from any run folder whose manifest holds."""
    from report.command_line import CONTENT, LAB, write
    from report.content import load_content
    from report.evidence import verify_all
    from report.exhibit import spoken
    from report.figures.gallery import draw_one
    from report.numbers.study import work_out
    from report.pages.exhibits import FigureFiles
    from report.record import load_record

    with voice:
        voice.stage("Verifying the run")
        evidence = verify_all([load_record(options.evidence, "run")], LAB, allow_stale=True)
        voice.historic(evidence)

        voice.stage("Drawing")
        content = load_content(options.content, CONTENT)
        study = work_out(evidence, content)
        drawn = draw_one(options.name, study, content)
        files = FigureFiles(figure=drawn).all()
        write(options.out, files[f"figures/{drawn.name}{options.out.suffix}"])
    voice.result(f"{options.out}: {spoken(drawn.title, study.values.lookup)}")
    return 0


def run(options: Namespace, voice: Voice) -> int:
    """Measure: a lab into a new run folder, or a record again, in its place."""
    from report.archive import records, runs
    from report.command_line import LABS, next_command, usage

    lab = options.target.replace("-", "_")
    if lab in LABS:
        part = runs.part_of(options.lab_options)
        if part and not options.run_dir:
            usage("--distributed needs --run-dir, the same for every process.")
        folder = options.run_dir or runs.next_folder(lab)
        code = runs.measure(lab, options.lab_options, folder)
        if code == 0:
            keep = next_command(options, "record", folder / part, "--as", "NAME")
            voice.result(f"To keep it: {keep}")
        return code

    known = records.find(options.target, options.records)
    if options.lab_options or options.run_dir:
        usage(f"{options.target} is a record: it is measured with its recorded options.")
    lab, recorded = runs.request(known, LABS)
    with records.changing(options.records):
        code = runs.measure(lab, recorded, records.stage(options.target, options.records))
        if code == 0:
            records.put(options.target, options.records)
            voice.result(f"{known} was measured again. Next: {next_command(options, 'check')}")
        return code


def record(options: Namespace, voice: Voice) -> int:
    """Keep a run as a record; rename or remove one."""
    from report.archive import records
    from report.archive.start import next_step
    from report.command_line import LAB, next_command, usage

    step: tuple[str, ...] = ("check",)
    shelf = options.records
    if options.rename:
        old, new = options.rename
        records.rename(old, new, shelf)
        told = f"{old} is now {new}."
    elif options.remove:
        records.remove(options.remove, shelf)
        told = f"{options.remove} was removed."
    elif options.run and options.name:
        kept = {"replace": options.replace, "allow_stale": options.allow_stale}
        own = options.content / "lab"
        evidence = records.add(options.run, options.name, shelf, LAB, **kept, own=own)
        told = f"{shelf / options.name}: kept, {evidence.level}."
        step = next_step(options.name, options.content, evidence)
    else:
        usage("record takes RUN_DIR --as NAME, or --rename OLD NEW, or --remove NAME.")
    if options.allow_stale:
        step = ("check", "--allow-stale")
    voice.result(f"{told} Next: {next_command(options, *step)}")
    return 0


def release(options: Namespace, voice: Voice) -> int:
    """Put a report and all it stands on into one folder, to be signed, checked and built again."""
    from report.archive import one_page, records, sources
    from report.archive import release as releases
    from report.archive import status as status_list
    from report.cache import NullCache
    from report.command_line import CONTENT, LAB, TEMPLATES
    from report.content import load_content
    from report.evidence import verify_all
    from report.figures.gallery import draw, drawn_from
    from report.figures.runtime import RUNTIME, runtime
    from report.numbers.study import work_out
    from report.pages.preflight_page import EXHIBITS
    from report.pages.site import render_site
    from report.tables import set_tables

    cache = NullCache()  # nothing that was kept is signed
    with voice:
        voice.stage("Verifying records")
        recorded = {record.name: record for record in records.load_all(options.records)}
        content = load_content(options.content, CONTENT)
        edition = releases.choose(content, options.report, recorded)
        chosen = [recorded[name] for name in edition.records]
        evidence = verify_all(chosen, LAB, own=options.content / "lab")
        source = sources.gather(edition.report.slug, options.content)
        voice.left_out(source.left_out)
        known = status_list.read(options.status) if options.status else None
        releases.check_place(options.out / edition.name, source.files, evidence)

        voice.stage("Drawing figures")
        study = work_out(evidence, edition.content)
        shown = drawn_from(edition.report.record, study, edition.content) | {*EXHIBITS["fig"]}
        figures = draw(study, edition.content, cache, options.jobs, only=shown)
        tables = set_tables(study, edition.content)

        voice.stage("Setting pages")
        rooms = (edition.content, study, evidence, figures, tables, TEMPLATES, cache)
        pages = render_site(*rooms, imprint=edition)
        pages[RUNTIME] = runtime(cache)

        voice.stage("Writing the release")
        files = releases.assemble(edition, pages, study, evidence, source.files, known)
        folder = releases.write(files, edition.name, options.out)
        one_page.write(folder, edition.report.slug, files)
    told = releases.summary(folder, edition)
    voice.result(told, outcome="released", release=str(folder), missing=edition.missing)
    return 0


def sign(options: Namespace, voice: Voice) -> int:
    """Sign a release with your own ssh-keygen, or with openssl for OpenSSF Model Signing."""
    from report.archive import oms, seal

    if options.oms:
        exported = oms.export(options.release, options.oms)
        voice.result(exported.told, outcome="exported", key=exported.fingerprint)
        return 0
    signed = seal.sign(options.release, options.key, options.principal, options.role)
    voice.result(signed.told, outcome="signed", role=options.role, key=signed.fingerprint)
    return 0


def verify(options: Namespace, _: Voice) -> int:
    """Check a release, folder or zip: files, signers, numbers. Exit codes 0, 10, 11, 12."""
    from report.archive import unzip
    from report.archive.status import with_lists
    from report.archive.verify import answer
    from report.command_line import usage

    more = with_lists(options.status) if options.status else None
    return answer(options, usage, unzip.find, more)


def rebuild(options: Namespace, voice: Voice) -> int:
    """Build a release again from its own sources and records, and compare every byte."""
    from report.archive.rebuild import rebuild as build_again

    with voice:
        voice.stage("Building again")
        rebuilt = build_again(options.release)
    voice.result(f"{options.release}: {rebuilt.told}", files=rebuilt.files, own_code=rebuilt.own)
    return 0


def status(options: Namespace, voice: Voice) -> int:
    """Say in a signed list that a release is superseded or withdrawn."""
    from report.archive.status import Change, declare

    change = Change(
        state=options.state, reason=options.reason, date=options.date, by=options.by or ""
    )
    voice.result(declare(options.list, options.release, change, options.key))
    return 0


def compare(options: Namespace, voice: Voice) -> int:
    """Set two records or releases side by side; credit one factor only if one alone differs."""
    from report.archive.compare import find_both
    from report.numbers.comparing import compare as set_beside

    one, two = find_both(options.one, options.two, options.records)
    comparison = set_beside(one, two, options.factor or "")
    voice.result(comparison.told(), **comparison.facts())
    return comparison.exit_code


def trace(options: Namespace, voice: Voice) -> int:
    """Qualify a profile and read it, with no server: in words, as JSON or CSV, as a page."""
    from report.archive import profiles
    from report.command_line import usage, write
    from report.numbers.profile_compare import compare as compare_profiles
    from report.pages.exhibits import to_csv
    from report.tables import profile as answer

    profiles.check_factor(options.factor or "")
    if options.repeat and not options.against:
        usage("--repeat is a second capture of the profile that --against names.")
    with voice:
        voice.stage("Reading the profile")
        found = profiles.read(options.path, voice.stage)
        comparison = None
        if options.against:
            voice.stage("Reading the other profile")
            other = profiles.read(options.against, voice.stage)
            repeat = None
            if options.repeat:
                voice.stage("Reading its repeat")
                repeat = profiles.read(options.repeat, voice.stage)
                profiles.check_repeat(other, repeat)
            comparison = compare_profiles(
                found.profile,
                other.profile,
                names=(found.label, other.label),
                factor=options.factor or "",
                also=profiles.recorded_differences(found, other, options.factor or ""),
                repeat=repeat.profile if repeat else None,
            )
        if options.csv:
            write(options.csv, to_csv(list(answer.rows(found.profile))))
        if options.out:
            publish_profile(found, comparison, options.out, voice)
    before, after = answer.words(found.profile, comparison)
    if options.out:
        after.append(f"The page: {options.out / 'index.html'}")
    facts = answer.facts(found.profile, comparison)
    voice.reading(before, list(answer.tables(found.profile)), after, **facts)
    return comparison.exit_code if comparison else 0


def publish_profile(
    found: Capture, comparison: ProfileComparison | None, out: Path, voice: Voice
) -> None:
    """The page of one profile as a folder of its own, in one step, like a site."""
    from hashlib import sha256

    from report.cache import Cache
    from report.command_line import CACHE, CONTENT, TEMPLATES
    from report.content import load_content
    from report.figures.gallery import draw_timeline
    from report.figures.runtime import RUNTIME, runtime
    from report.folder import publish
    from report.numbers.study import work_out
    from report.pages.lone_profile import render_profile

    cache = Cache(CACHE)
    voice.stage("Drawing the timeline")
    figure = draw_timeline(found.profile, cache)
    content = load_content(CONTENT)

    voice.stage("Setting the page")
    files = render_profile(
        *(found.profile, found.label, found.summary, figure, comparison),
        content=content,
        study=work_out({}, content),
        templates=TEMPLATES,
        cache=cache,
    )
    files[RUNTIME] = runtime(cache)

    voice.stage("Publishing")
    publish(files, out, sha256(found.summary).hexdigest())


def new(options: Namespace, voice: Voice) -> int:
    """Start a report of your own: every field explained, what a record knows filled in."""
    from report.archive.start import start
    from report.command_line import CONTENT

    path = start(options.name, options.content, options.records, options.record or "")
    own = "" if options.content == CONTENT else f" --content {options.content}"
    voice.result(f"{path}: answer its fields. What is missing: python build.py check{own}")
    return 0


def preflight(options: Namespace, voice: Voice) -> int:
    """Ask compilers what they make of a program of yours, with no TPU."""
    from report.archive import runs
    from report.command_line import compiling

    folder = options.run_dir or runs.next_folder("preflight")
    code = runs.measure("preflight", compiling(options), folder)
    if code in (0, 4):  # refused by every compiler is an answer too
        voice.result(f"To keep it, with a page: python build.py record {folder} --as NAME")
    return code


def fits(options: Namespace, voice: Voice) -> int:
    """Find the largest batch of a program of yours that compiles, target by target."""
    from report.command_line import usage

    if options.targets == "cpu":
        usage("fits asks TPU compilers, which say what is too large; the CPU's does not.")
    return preflight(options, voice)


def replay(options: Namespace, voice: Voice) -> int:
    """Work a recorded run out again, and say field by field how near it comes."""
    from report.archive import records, runs
    from report.command_line import next_command, replaying

    recorded = runs.to_replay(options.record, options.records, records.find)
    folder = options.run_dir or runs.next_folder("replay")
    code = runs.measure("replay", [str(recorded), *replaying(options)], folder)
    if code in (0, 5):  # a difference is worth keeping too
        keep = next_command(options, "record", folder, "--as", "NAME")
        voice.note(f"To keep it, with a page: {keep}")
    return code


def nothing_changed(arguments: list[str]) -> bool:
    """Whether the site that is asked for is there, made from just these inputs; says so.

    Only a build that says no more than where is answered here; `build` does all others.
    """
    from report.glance import Glance

    words = arguments[1:] if arguments[:1] == ["build"] else arguments
    places = {"--content": f"{ROOT}/content", "--out": f"{ROOT}/site"}
    if len(words) % 2 or not places.keys() >= set(words[::2]):
        return False
    places.update(zip(words[::2], words[1::2], strict=True))
    content, out = places.values()
    try:
        glance = Glance(ROOT, content, out)
        if not glance.unchanged():
            from report.inputs import fingerprint
            from report.marker import is_current

            glance.begin()
            current = is_current(out, fingerprint(ROOT, content))
            glance.end(current)
            if not current:
                return False
        print(f"Nothing changed: {out}/index.html is what these inputs make.", flush=True)
    except (OSError, ValueError):  # the build will name what cannot be read or written
        return False
    return True


def enter_venv() -> None:
    """Go on in .venv, where the locked libraries are; without it, in a Python that has them."""
    venv = f"{ROOT}/.venv"
    python = f"{venv}/bin/python"
    inside = os.path.realpath(sys.prefix) == os.path.realpath(venv)
    if not inside and sys.executable != python and os.access(python, os.X_OK):
        os.execv(python, [python, f"{ROOT}/build.py", *sys.argv[1:]])
    if sys.version_info < (3, 11):
        print("Assay needs Python 3.11 or later. To set it up: make site", file=sys.stderr)
        sys.exit(3)


def main() -> int:
    """Answer at once when nothing changed; else do what was asked, with the locked libraries."""
    arguments = sys.argv[1:]
    if ROOT not in sys.path:
        sys.path.insert(0, ROOT)
    if arguments[:1] == ["check"]:  # which writes nothing, nor do the processes it starts
        sys.dont_write_bytecode = True
        os.environ["PYTHONDONTWRITEBYTECODE"] = "1"
    if sys.version_info >= (3, 11) and nothing_changed(arguments):
        return 0
    enter_venv()
    from report.command_line import answer

    return answer(arguments, COMMANDS)


COMMANDS = (
    *(build, check, figure, run, record, replay, preflight, fits),
    *(trace, compare, new, release, sign, verify, rebuild, status),
)

if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        print("Stopped. Nothing is half-written.", file=sys.stderr)
        sys.exit(130)  # by the shell's convention
