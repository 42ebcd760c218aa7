"""A replay read as typed values: are its verdicts worked out again, or taken on trust?"""

import math
from dataclasses import replace

import pytest

from report.errors import EvidenceMismatch
from report.exhibit import spoken
from report.numbers.replay import WORDS, Replay, format_tolerance, read_replay, steps
from report.tables import replay as tables
from tests.report.numbers_ground import edited, evidence, study

RUN = "replay-published"
BF16 = "/fields/balanced-bf16/relative_l2_error"
FIELDS = "/fields/balanced-bf16"
PEAK = "/fields/balanced-bf16/max_abs_error"
EXACT = "/fields/balanced-bf16/input_sha256"


def faults(edits: dict[str, object]) -> dict[str, str]:
    """What is said of a replay with these edits, by place."""
    with pytest.raises(EvidenceMismatch) as caught:
        read_replay(edited(RUN, edits))
    return {
        fault.where.removeprefix(RUN).removeprefix(
            "/report.json"
        ): f"{fault.found}, {fault.expected}"
        for fault in caught.value.faults
    }


def changed(**fields: object) -> Replay:
    return replace(read_replay(evidence()[RUN]), **fields)  # type: ignore[arg-type]


def test_the_recorded_replay_reads_as_it_was_written():
    run = read_replay(evidence()[RUN])

    assert run.replayed.foreign
    assert run.replayed.file is not None
    assert run.replayed.as_published is False
    assert run.shape == (64, 128, 64)
    assert len(run.fields) == len(run.splits) == len(run.repeats) == 6
    assert run.scope.statement == "CPU arithmetic reference. Not a TPU result."
    for group in run.fields.values():
        assert group["input_sha256"].verdict == "exact"
        assert group["median_s"].verdict == "not comparable"


@pytest.mark.parametrize(
    ("one", "two", "expected"),
    [
        (0.0, -0.0, 0),
        (5e-324, -5e-324, 2),
        (1.0, math.nextafter(1.0, 0.0), 1),
        (2.2250738585072014e-308, 2.225073858507201e-308, 1),
        (-1.0, 1.0, 2 * (1023 << 52)),
    ],
)
def test_steps_are_counted_across_zero_and_through_subnormals(one, two, expected):
    assert steps(one, two) == steps(two, one) == expected


def test_the_tolerance_is_that_of_the_format():
    assert format_tolerance("balanced-bf16", 128) == 2 * math.sqrt(128) * 2**-24
    assert format_tolerance("outlier-int8", 128) == format_tolerance("outlier-int8", 2) == 2**-22


@pytest.mark.parametrize(
    ("edits", "place", "told"),
    [
        ({f"{BF16}/here": 0.5}, f"{BF16}/ulp", "the steps between the two"),
        ({f"{BF16}/here": 0.5}, f"{BF16}/difference", "the two subtracted"),
        ({f"{BF16}/verdict": "exact"}, f"{BF16}/verdict", "which follows from the two"),
        ({f"{BF16}/verdict": "fine"}, f"{BF16}/verdict", "one of exact"),
        ({f"{BF16}/tolerance": 1.0}, f"{BF16}/tolerance", "1.349e-06"),
        ({f"{BF16}/recorded": None}, f"{BF16}/verdict", "for a missing value"),
        ({f"{BF16}/recorded": True}, f"{BF16}/recorded", "a number, a text, or null"),
        (
            {"/fields/balanced-fp32/stored_bytes/here": 1},
            "/fields/balanced-fp32/stored_bytes/verdict",
            "'differs'",
        ),
        ({"/fields/balanced-fp32/median_s/why": ""}, "/fields/balanced-fp32/median_s/why", "why"),
        ({"/counts/exact": 99}, "/counts/exact", "the number of such fields"),
        ({"/replayed/sha256": "0" * 64}, "/replayed/sha256", "the SHA-256 of foreign/report.json"),
        ({"/replayed/source_held": True}, "/replayed/source_held", "only for one"),
        (
            {"/accumulation/balanced-bf16/recorded_at_least": 1e-12},
            "/accumulation/balanced-bf16/recorded_at_least",
            "the total less the representation error",
        ),
        (
            {"/determinism/balanced-bf16/free/distinct": 2},
            "/determinism/balanced-bf16/free/distinct",
            "the number of its digests",
        ),
        # A number written as a whole one, or as a text, is still held against its distance.
        ({f"{BF16}/here": 0}, f"{BF16}/ulp", "the steps between the two"),
        ({f"{BF16}/here": "0.0023"}, f"{BF16}/here", "a number"),
        ({f"{PEAK}/tolerance": 1.0}, f"{PEAK}/tolerance", "from its format"),
        ({f"{EXACT}/why": "certified"}, f"{EXACT}/why", "nothing"),
        (
            {f"{EXACT}/verdict": "not comparable", f"{EXACT}/why": "so"},
            f"{EXACT}/verdict",
            "since both are known",
        ),
        (
            {f"{BF16}/verdict": "not comparable", f"{BF16}/why": "so"},
            f"{BF16}/verdict",
            "their inputs are the same",
        ),
        (
            {"/fields/balanced-bf16/sqnr_db/here": 99.0},
            "/fields/balanced-bf16/sqnr_db/here",
            "52.5",
        ),
        (
            {"/fields/balanced-bf16/hlo_sha256/here": "0" * 64},
            "/fields/balanced-bf16/hlo_sha256/here",
            "the program kept in this run",
        ),
        ({"/fields/balanced-bf16/trust": {}}, "/fields/balanced-bf16/trust", "no replay tells"),
        ({"/fields/balanced-bf16/median_s": None}, "/fields/balanced-bf16/median_s", "an object"),
        (
            {"/fields/balanced-bf16/median_s/here": 1e-5},
            "/fields/balanced-bf16/median_s/here",
            "not timed",
        ),
        (
            {"/fields/balanced-bf16/median_s/recorded": 1e-5},
            "/fields/balanced-bf16/median_s/recorded",
            "as in foreign/report.json",
        ),
        ({"/setting/jax/recorded": "9.9"}, "/setting/jax/recorded", "as in foreign/report.json"),
        ({"/setting/jax/here": "9.9"}, "/setting/jax/here", "as in environment.json"),
        ({"/setting/vendor": {}}, "/setting/vendor", "no replay tells"),
        ({"/request/batch": 63}, "/foreign/report.json/dimensions/batch", "as was replayed"),
        ({"/request/seed": 18}, "/config.json/seed", "as in report.json"),
        ({"/replayed/origin": "https://example.org"}, "/config.json/options/origin", "example.org"),
        ({"/replayed/published_sha256": "abc"}, "/replayed/published_sha256", "64 lower-case"),
        ({"/replayed/recorded_at": "2020"}, "/foreign/report.json/executed_at", "as was replayed"),
        ({"/replayed/results_missing": ["balanced-fp32"]}, "/replayed/results_missing", "not here"),
        (
            {"/accumulation/balanced-bf16/here": 1.0},
            "/accumulation/balanced-bf16/here",
            "which is total and representation together",
        ),
        (
            {"/accumulation/balanced-bf16/recorded": 0.0},
            "/accumulation/balanced-bf16/recorded",
            "no output was recorded",
        ),
        (
            {"/determinism/balanced-bf16/pinned/repeats": 2},
            "/determinism/balanced-bf16/pinned/repeats",
            "as often as",
        ),
        (
            {"/determinism/balanced-bf16/free/repeats": 0},
            "/determinism/balanced-bf16/free/distinct",
            "one a run at most",
        ),
        (
            {"/determinism/balanced-bf16/free/sha256": ["same"]},
            "/determinism/balanced-bf16/free/sha256",
            "the SHA-256 of each output",
        ),
        ({"/scope/single_device": False}, "/scope/single_device", "takes one device"),
        ({"/fields": {}}, "/fields", "one or more of"),
        ({"/scope/statement": "Measured on TPU v5e."}, "/scope/statement", "that device"),
        ({"/schema": "assay/replay/2"}, "/schema", "a replay"),
    ],
)
def test_a_replay_that_contradicts_itself_is_refused(edits, place, told):
    found = faults(edits)

    assert told in found[place], found


def test_all_faults_are_told_at_once():
    found = faults({"/counts/exact": 99, f"{BF16}/verdict": "exact", "/replayed/name": 7})

    assert {"/counts/exact", f"{BF16}/verdict", "/replayed/name"} <= found.keys()


def with_verdict(word: str) -> Replay:
    """The replay as if one of its fields had earned `word`, and all others `exact`."""
    run = read_replay(evidence()[RUN])
    group = dict(run.fields["balanced-bf16"])
    exact = group["input_sha256"]
    every = {
        name: {key: replace(each, verdict="exact") for key, each in fields.items()}
        for name, fields in run.fields.items()
    }
    every["balanced-bf16"]["input_sha256"] = replace(exact, verdict=word)
    return replace(run, fields=every)


@pytest.mark.parametrize(
    ("word", "told"),
    [
        ("exact", "fields that can be compared are exact"),
        ("ulp", "are exact or within tolerance"),
        ("within tolerance", "are exact or within tolerance"),
        ("not comparable", "fields that can be compared are exact"),
        ("differs", "1 field lies beyond tolerance"),
    ],
)
def test_every_outcome_has_its_sentence(word, told):
    assert told in with_verdict(word).verdict
    assert told in tables.errors(with_verdict(word), name="errors").title


def test_a_replay_of_nothing_says_so():
    run = read_replay(evidence()[RUN])
    nothing = {"balanced-fp32": {"median_s": run.fields["balanced-fp32"]["median_s"]}}

    assert replace(run, fields=nothing).verdict == "nothing could be compared"


def test_more_than_one_output_is_shown():
    run = read_replay(evidence()[RUN])
    repeats = dict(run.repeats)
    repeats["outlier-fp32"] = replace(repeats["outlier-fp32"], distinct=3)

    unsteady = replace(run, repeats=repeats)

    assert unsteady.steady == "1 of 6 programs gave up to 3 outputs"
    assert "up to 3 outputs" in tables.repeats(unsteady, name="repeats").title


def test_where_no_core_can_be_pinned_the_table_says_why():
    run = read_replay(evidence()[RUN])
    reason = "this system cannot pin a process to a core"
    repeats = {
        name: replace(each, pinned=None, pinned_reason=reason, same=None)
        for name, each in run.repeats.items()
    }

    table = tables.repeats(replace(run, repeats=repeats), name="repeats")

    assert {row[3].text for row in table.rows} == {"not available"}
    assert {row[3].note for row in table.rows} == {reason}


def said(text: str) -> str:
    return spoken(text, study().values.lookup)


def test_without_an_output_only_a_bound_is_printed():
    cells = {row[0].text: row[3] for row in tables.accumulation(read_replay(evidence()[RUN])).rows}

    assert said(cells["`balanced-bf16`"].text) == "at least 2.05\u00a0×\u00a010⁻⁹"
    assert said(cells["`outlier-bf16`"].text) == "at least 1.54\u00a0×\u00a010⁻⁸"
    assert cells["`outlier-bf16`"].kind == "computed"


def test_what_is_compared_is_printed_to_its_last_digit():
    table = tables.errors(read_replay(evidence()[RUN]), name="errors", fields=["relative_l2_error"])
    rows = {row[0].text: [said(cell.text) for cell in row[1:4]] for row in table.rows}

    assert rows["`balanced-fp32`"] == [
        "2.085142441345975e-07",
        "2.0851424413459753e-07",
        "1 ulp",
    ]
    assert rows["`outlier-int8`"] == ["0.02453219942225819", "0.024532199422258188", "1 ulp"]


def test_numbers_of_others_are_never_measured_here():
    values = study().values

    for field in ("relative_l2_error", "max_abs_error", "median_s", "stored_bytes"):
        assert values.lookup(f"{RUN}#/fields/outlier-bf16/{field}/recorded").kind == "documented"
    assert values.lookup(f"{RUN}#/fields/outlier-bf16/relative_l2_error/here").kind == "measured"
    assert values.lookup(f"{RUN}#/fields/outlier-bf16/temporary_bytes/here").kind == "estimated"
    assert values.lookup(f"{RUN}#/fields/outlier-bf16/relative_l2_error/ulp").kind == "computed"
    median = values.lookup(f"{RUN}#/fields/outlier-bf16/median_s/recorded")
    assert (median.unit, values.lookup(f"{RUN}#/fields/outlier-bf16/median_s/here").number) == (
        "s",
        None,
    )


def test_verdicts_can_be_cited_in_words():
    values, run = study().values, read_replay(evidence()[RUN])

    assert values[f"study#/replay/{RUN}/verdict"].number == run.verdict
    assert values[f"study#/replay/{RUN}/steady"].number == run.steady
    assert values[f"study#/replay/{RUN}/differs"].number == run.count("differs")
    assert sum(values[f"study#/replay/{RUN}/{w.replace(' ', '_')}"].number for w in WORDS) == sum(
        len(group) for group in run.fields.values()
    )
    for name, group in run.fields.items():
        words = values[f"study#/replay/{RUN}/{name}/relative_l2_error"].number
        assert words == group["relative_l2_error"].words
    bound = values[f"study#/replay/{RUN}/outlier-bf16/accumulation_at_least"]
    assert bound.number == pytest.approx(1.54e-8, rel=5e-3)
    assert bound.kind == "computed"


def test_every_number_of_a_replay_has_its_place_on_the_page():
    values = study().values
    ids = {row for table in tables.tables(read_replay(evidence()[RUN])) for row in table.row_ids}
    report = evidence()[RUN].record.report

    for name, group in report["fields"].items():
        for key in group:
            place = values.place_of(f"{RUN}#/fields/{name}/{key}/here")
            assert place == f"records/{RUN}.html#{name}-{key}"
            assert f"{name}-{key}" in ids
        for group_name in ("accumulation", "determinism"):
            place = values.place_of(f"{RUN}#/{group_name}/{name}")
            assert place.partition("#")[2] in ids
    assert ids >= {f"machine-{key}" for key in report["setting"]}
