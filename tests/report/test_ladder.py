"""The evidence ladder: what words presume, and whether their evidence bears them."""

import pytest

from report.errors import ContentFault
from report.ladder import NATIVE, RUNGS, Rung, as_read, calls_it_measured, leads_on, read_statement
from report.numbers.statements import hold
from report.numbers.values import Values


def schedule(counts, level="matrix-instruction", **other):
    return {"counts": counts, "counts_reason": None, "level": level, **other}


@pytest.fixture
def values():
    """A preflight record with just what statements look at."""
    square = {
        "int8": {
            "v5e": schedule({"s8": 32}),
            "v4": schedule({"f32": 128}),
            "v6e": schedule({"s8": 8, "unrecognized": 2}),
            "tpu7x": {"counts": None, "counts_reason": "no schedule was written", "level": None},
        },
        "bf16": {"v3": schedule({"f32": 128}), "v5e": schedule({"bf16": 64})},
        "e5m2": {"v6e": schedule({"f8e5m2.bf16": 8})},
    }
    report = {
        "schema": "assay/preflight/1",
        "instructions": {
            "shapes": {"256x256x256": square, "1x127x65": {"int8": {"v5e": schedule({})}}}
        },
        "programs": {
            "int8-64x128x64": {
                "requested": {"level": "requested"},
                "targets": {
                    "v5e": {"level": "optimized-hlo", "memory_bytes": {"peak": 57344}},
                    "v4": {"level": "stablehlo"},
                },
            }
        },
    }
    return Values({}, {"compiled": report})


@pytest.mark.parametrize(
    ("words", "least"),
    [
        ("asks for INT8", Rung.REQUESTED),
        ("lowered with INT8 operands", Rung.STABLEHLO),
        ("converts both operands to FP32", Rung.OPTIMIZED_HLO),
        ("native INT8 on v5e", Rung.MATRIX_INSTRUCTION),
        ("no matrix instruction on v5e", Rung.MATRIX_INSTRUCTION),
        ("runs in INT8", Rung.MEASURED_ON_DEVICE),
        ("compiled, and faster in INT8", Rung.MEASURED_ON_DEVICE),
    ],
)
def test_words_presume_a_rung(words, least):
    assert read_statement(words).least is least


def test_rungs_are_ordered_as_evidence_grows():
    assert list(RUNGS) == [
        "requested",
        "stablehlo",
        "optimized-hlo",
        "matrix-instruction",
        "measured-on-device",
    ]
    assert sorted(RUNGS.values()) == list(RUNGS.values())
    assert Rung.MATRIX_INSTRUCTION.pips == "●●●●○"


@pytest.mark.parametrize("words", ["INT8 on v5e", "natively INT8", "multiplied as INT8 somewhere"])
def test_words_that_cannot_be_held_to_anything_are_refused(words):
    with pytest.raises(ContentFault) as caught:
        read_statement(words)

    assert "native FORMAT on TARGET" in caught.value.hint


@pytest.mark.parametrize(
    ("words", "path", "rung"),
    [
        ("native INT8 on v5e", "instructions/shapes/256x256x256/int8/v5e", "matrix-instruction"),
        ("no native int8 on v4", "instructions/shapes/256x256x256/int8/v4", "matrix-instruction"),
        ("no native E5M2 on v6e", "instructions/shapes/256x256x256/e5m2/v6e", "matrix-instruction"),
        ("no matrix instruction on v5e", "instructions/shapes/1x127x65/int8/v5e", None),
        ("keeps INT8 operands", "programs/int8-64x128x64/targets/v5e", "optimized-hlo"),
        ("asks for INT8", "programs/int8-64x128x64", "requested"),
    ],
)
def test_a_statement_stands_on_its_evidence(values, words, path, rung):
    found = hold(words, f"compiled#/{path}", values).rung

    assert found is (RUNGS[rung] if rung else Rung.MATRIX_INSTRUCTION)


@pytest.mark.parametrize(
    ("words", "path", "found"),
    [
        pytest.param(
            "native INT8 on v5e",
            "programs/int8-64x128x64/targets/v5e",
            "reaches optimized HLO",
            id="native arithmetic on optimized HLO",
        ),
        pytest.param(
            "keeps INT8 operands",
            "programs/int8-64x128x64/targets/v4",
            "reaches StableHLO",
            id="a compiler's doing on StableHLO",
        ),
        pytest.param(
            "runs in INT8",
            "instructions/shapes/256x256x256/int8/v5e",
            "needs evidence at the level measured on device",
            id="a run on a schedule",
        ),
        pytest.param(
            "native INT8 on v4",
            "instructions/shapes/256x256x256/int8/v4",
            "not what the compiler's schedule shows",
            id="another format's instructions",
        ),
        pytest.param(
            "native INT8 on v4",
            "instructions/shapes/256x256x256/int8/v5e",
            "was compiled for v5e",
            id="another generation's instructions",
        ),
        pytest.param(
            "no native INT8 on v5e",
            "instructions/shapes/256x256x256/int8/v5e",
            "not what the compiler's schedule shows",
            id="a denial of what is there",
        ),
        pytest.param(
            "native INT8 on v6e",
            "instructions/shapes/256x256x256/int8/v6e",
            "not what the compiler's schedule shows",
            id="an unrecognized instruction is no INT8",
        ),
        pytest.param(
            "no native INT8 on v6e",
            "instructions/shapes/256x256x256/int8/v6e",
            "not what the compiler's schedule shows",
            id="nor is it certain to be none",
        ),
        pytest.param(
            "no native BF16 on v3",
            "instructions/shapes/256x256x256/bf16/v3",
            "not what the compiler's schedule shows",
            id="the float path may multiply BF16",
        ),
        pytest.param(
            "no matrix instruction on v5e",
            "instructions/shapes/256x256x256/int8/v5e",
            "not what the compiler's schedule shows",
            id="instructions that are there",
        ),
        pytest.param(
            "native FP8 on v5e",
            "instructions/shapes/256x256x256/int8/v5e",
            "no format that matrix instructions are known by",
            id="a family of formats",
        ),
        pytest.param(
            "no native INT8 on TPU7x",
            "instructions/shapes/256x256x256/int8/tpu7x",
            "no schedule was written",
            id="no schedule",
        ),
        pytest.param(
            "asks for INT8",
            "programs/int8-64x128x64/targets/v5e/memory_bytes",
            "no evidence about arithmetic",
            id="bytes",
        ),
        pytest.param("asks for INT8", "programs/absent", "There is no 'absent'", id="nothing"),
    ],
)
def test_a_statement_above_its_evidence_is_refused(values, words, path, found):
    with pytest.raises(ContentFault) as caught:
        hold(words, f"compiled#/{path}", values)

    assert found in caught.value.summary


def test_no_value_of_a_preflight_is_a_measurement():
    report = {
        "schema": "assay/preflight/1",
        "programs": {"p": {"targets": {"v5e": {"compile_s": 0.1, "hlo_sha256": "ab"}}}},
        "ledger": {"p": {"totals": {"ideal_bytes": 1, "argument": {"v5e": 2}}}},
        "request": {"batch": 8},
    }
    documents = {"compiled": report, "compiled/environment": {"schema": "x", "cpu": {"cores": 2}}}
    values = Values({}, documents)
    kinds = {
        "#/programs/p/targets/v5e/compile_s": "estimated",
        "#/programs/p/targets/v5e/hlo_sha256": "computed",
        "#/ledger/p/totals/ideal_bytes": "computed",
        "#/ledger/p/totals/argument/v5e": "estimated",
        "#/request/batch": "given",
        "/environment#/cpu/cores": "given",
    }

    assert {path: values.lookup(f"compiled{path}").kind for path in kinds} == kinds


@pytest.mark.parametrize(
    ("sentence", "word"),
    [
        ("We measured 12 bytes", "measured"),
        ("A measurement of 12 bytes", "measurement"),
        ("No measurement: 12 bytes by the compiler", ""),
        ("The compiler says 12 bytes", ""),
        ("It is not measured, and takes 12 bytes", ""),
    ],
)
def test_a_sentence_that_calls_a_fact_measured_is_known_by_its_word(sentence, word):
    assert calls_it_measured(sentence) == word


@pytest.mark.parametrize(
    "text",
    [
        "nat\u200bive",
        "nat\u00adive",
        "n\u2060ative",
        "nativ\ufe0fe",
        "ｎａｔｉｖｅ",
        "in\u00a0hardware",
    ],
)
def test_a_word_is_read_as_it_looks(text):
    assert NATIVE.search(as_read(f"It is {text} on v5e"))


@pytest.mark.parametrize(
    ("sentence", "following", "word"),
    [
        ("Measured on one device.", "12 bytes of temporaries.", "Measured"),
        ("We measured the program.", "It takes 12 bytes.", "measured"),
        ("Times were not measured.", "It takes 12 bytes.", ""),
        ("We measured errors.", "The compiler says 12 bytes.", ""),
        ("", "It takes 12 bytes.", ""),
    ],
)
def test_a_sentence_that_leads_on_to_a_fact_is_known_by_its_word(sentence, following, word):
    assert leads_on(sentence, following) == word
