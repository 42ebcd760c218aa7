"""A representations run as values: what is read, what is refused, what follows."""

import pytest

from report.errors import EvidenceMismatch
from report.numbers.kinds import featured
from report.numbers.representations import (
    CASES,
    NAMES,
    ORDINARY,
    REPAIRS,
    RepresentationsRun,
    read_representations,
)
from report.numbers.study import work_out
from tests.report.numbers_ground import content, edited, evidence, study

RECORD = "representations-cpu"
OUTLIER = "/results/outlier-int8-row-column"


def run() -> RepresentationsRun:
    return study().of(RepresentationsRun)[RECORD]


def test_the_lessons_policies_and_cases_are_all_there():
    assert tuple(run().policies) == tuple(NAMES)
    assert tuple(run().cases) == CASES
    assert set(run().results) == {f"{case}-{policy}" for case in CASES for policy in NAMES}
    assert run().complete
    assert featured(study().runs, RepresentationsRun) is run()


def test_the_repairs_mend_what_the_lesson_diagnoses():
    errors = [run().result("outlier", policy).error.value for policy in (ORDINARY, *REPAIRS)]

    expected = (0.0245321988, 0.018028293, 0.013241092, 0.009393338, 0.006513943, 0.0032761055)
    assert errors == [pytest.approx(value, rel=1e-5) for value in expected]


@pytest.mark.parametrize("policy", REPAIRS)
def test_what_a_repair_costs_is_written_down_with_its_formula(policy):
    base = f"study#/representations/{RECORD}/{policy}"
    stored, plain = run().stored(policy), run().stored(ORDINARY)
    extra, share, mends = (
        study().values.lookup(f"{base}/{name}") for name in ("extra_bytes", "extra_share", "mends")
    )

    assert extra.number == stored.total - plain.total
    assert extra.unit == "B"
    assert share.number == pytest.approx(extra.number / plain.total)
    assert mends.number > 1
    assert all(value.formula and value.inputs for value in (extra, share, mends))
    assert mends.kind == "measured"


def test_every_output_of_a_program_is_within_its_bound():
    base = f"study#/representations/{RECORD}/bounds"

    assert study().values.lookup(f"{base}/share_under").number == 1
    assert 0 < study().values.lookup(f"{base}/worst_ratio").number <= 1


def test_where_no_program_ran_nothing_is_called_measured():
    for result in run().results.values():
        if result.status != "reference":
            continue
        growth = f"study#/representations/{RECORD}/{result.policy}/outlier_growth"
        assert study().values.lookup(growth).kind == "computed"
        assert result.found.anatomy.total.value is None
        assert result.error == result.found.anatomy.representation


@pytest.mark.parametrize(
    ("pointer", "kind", "unit", "place"),
    [
        (f"{OUTLIER}/anatomy/total", "measured", "", "anatomy-outlier-int8-row-column"),
        (f"{OUTLIER}/anatomy/representation", "computed", "", "anatomy-outlier-int8-row-column"),
        (f"{OUTLIER}/anatomy/rescale", "measured", "", "anatomy-outlier-int8-row-column"),
        (f"{OUTLIER}/bound/worst_ratio", "measured", "", "bound-outlier-int8-row-column"),
        (f"{OUTLIER}/bound/relative_l2", "computed", "", "bound-outlier-int8-row-column"),
        (f"{OUTLIER}/bound/parts/rescale", "computed", "", "bound-outlier-int8-row-column"),
        (f"{OUTLIER}/stored_bytes/total", "computed", "B", "bytes-int8-row-column"),
        (
            f"{OUTLIER}/integer_range/headroom_bits",
            "computed",
            "bit",
            "range-outlier-int8-row-column",
        ),
        (f"{OUTLIER}/counters/x/clipped", "computed", "", "counters-outlier-int8-row-column"),
        (f"{OUTLIER}/counters/output/flushed", "measured", "", "counters-outlier-int8-row-column"),
        ("/policies/int8-static/calibration", "given", "", "policy-int8-static"),
        (
            "/programs/bf16/compiler_memory_bytes/temporary",
            "estimated",
            "B",
            "program-bf16",
        ),
        ("/request/features", "given", "", "request"),
        ("/reference/outlier/norm", "computed", "", "inputs"),
    ],
)
def test_a_pointer_tells_origin_unit_and_place(pointer, kind, unit, place):
    found = study().values.lookup(f"{RECORD}#{pointer}")

    assert (found.kind, found.unit) == (kind, unit)
    assert study().values.place_of(found.pointer) == f"records/{RECORD}.html#{place}"


def test_what_was_refused_says_why():
    refused = run().result("balanced", "int8-static")

    assert refused.status == "refused"
    assert refused.found is None
    assert "64 of 64 rows" in refused.error.reason


@pytest.mark.parametrize(
    ("edits", "told"),
    [
        ({f"{OUTLIER}/stored_bytes/total": 1}, "the sum of its parts"),
        ({f"{OUTLIER}/bound/share_under": 0.5}, "the share it counts"),
        ({f"{OUTLIER}/bound/worst_ratio": 1.5}, "what 0 beyond 1 allow"),
        ({f"{OUTLIER}/anatomy/total": -0.1}, "zero or more"),
        ({f"{OUTLIER}/anatomy/total": None}, "a name on one line"),
        ({f"{OUTLIER}/status": "reference"}, "measured where a program was compiled"),
        ({f"{OUTLIER}/status": "fine"}, "one of measured, reference, refused"),
        ({f"{OUTLIER}/counters/x/clipped": 9000}, "at most 8192"),
        ({f"{OUTLIER}/counters/x/clipped_share": 0.3}, "its share"),
        ({f"{OUTLIER}/input_sha256": "0"}, "as of its case"),
        ({f"{OUTLIER}/rows": [-1.0]}, "a list of finite numbers"),
        ({f"{OUTLIER}/output/sha256": "0" * 64}, "a file of this run"),
        ({f"{OUTLIER}/output": {}}, "a name on one line"),
        ({f"{OUTLIER}/anatomy/total": 0.03}, "at most 0.02453"),
        ({f"{OUTLIER}/anatomy/representation": 0.02}, "at most 0.02"),
        ({f"{OUTLIER}/anatomy/rescale": 0.1}, "at most 0.04906"),
        ({f"{OUTLIER}/anatomy/denominator": 1.0}, "the norm of the reference"),
        ({f"{OUTLIER}/max_abs_error": 9.0}, "from the relative error"),
        ({f"{OUTLIER}/max_abs_error": 1e-9}, "from the relative error"),
        ({f"{OUTLIER}/rows": [0.02] * 64}, "the total of all rows"),
        ({f"{OUTLIER}/rows": [0.02]}, "64, one a row of X"),
        ({f"{OUTLIER}/counters/w/values": 8191}, "from the requested shape"),
        ({f"{OUTLIER}/counters/output/values": 1}, "from the requested shape"),
        ({f"{OUTLIER}/counters/output/flushed": 4097}, "at most 4096"),
        ({f"{OUTLIER}/stored_bytes/x_codes": 4096}, "8192 values of 8 bits"),
        ({f"{OUTLIER}/stored_bytes/other": 4}, "what smoothing and kept features need"),
        ({f"{OUTLIER}/bound/outputs": 4095}, "4096"),
        ({f"{OUTLIER}/bound/unbounded": 1}, "4096"),
        ({f"{OUTLIER}/bound/percentiles/p50": 0.0}, "ratios that grow with the rank"),
        ({f"{OUTLIER}/bound/percentiles/p100": 0.9}, "the worst ratio"),
        ({f"{OUTLIER}/bound/percentiles": {}}, "a finite number, or null with a reason"),
        ({f"{OUTLIER}/integer_range": None}, "for sums in int32"),
        ({f"{OUTLIER}/integer_range/headroom_bits": 20.0}, "from the largest sum"),
        ({f"{OUTLIER}/integer_range/float32_exact": False}, "True, from the largest sum"),
        ({f"{OUTLIER}/integer_range/max_abs_accumulator": 2**25}, "from the largest sum"),
        ({"/inputs/balanced/x/shape": [64, 127]}, "as requested"),
        ({"/policies/bf16/granularity": "tensor"}, "'none', as in policies/bf16.toml"),
        ({"/policies/bf16/title": "Exact"}, "as in policies/bf16.toml"),
        ({"/policies/bf16/parts/weights": "float32"}, "'bfloat16', as in policies/bf16.toml"),
        ({"/policies/int8-groups-32/tile": 16}, "32, as in policies/int8-groups-32.toml"),
        ({"/policies/int8-smoothing/smoothing": 0.4}, "0.5, as in policies/int8-smoothing.toml"),
        ({"/policies/int8-static/calibration": None}, "as in policies/int8-static.toml"),
        ({"/policies/int8-feature-fp32/keep_float32": [1]}, "[0], as in policies/int8-feat"),
        ({"/scope/single_device": False}, "takes one device"),
        ({"/programs/bf16/hlo": "programs/none.txt"}, "a file of this run"),
        ({"/policies/bf16/name": "bf17"}, "as it is listed"),
        ({"/policies/bf16/parts/cache": None}, "a name on one line"),
        ({"/request/batch": 63}, "as in report.json"),
        ({"/results/extra": {}}, "only balanced-fp32"),
        ({"/lab": "precision_profile"}, "the lab that makes such a report"),
        ({"/scope/statement": "A TPU result."}, "what may be said of that device"),
    ],
)
def test_a_contradiction_is_refused_by_its_place(edits, told):
    with pytest.raises(EvidenceMismatch) as caught:
        read_representations(edited(RECORD, edits))

    pointer = next(iter(edits))
    assert any(told in f"{f.expected}" for f in caught.value.faults)
    assert "python build.py run representations" in caught.value.hint
    if pointer.startswith("/results/outlier"):
        assert all(OUTLIER.split("/")[2] in fault.where for fault in caught.value.faults)


def test_a_policy_of_the_users_own_stands_after_the_labs():
    record = edited(RECORD, {})
    report = dict(record.record.report)
    for key in ("policies", "programs"):
        report[key] = dict(report[key])
    report["policies"]["aaa"] = report["policies"]["bf16"] | {"name": "aaa", "title": "Mine"}
    report["programs"]["aaa"] = report["programs"]["bf16"]
    report["results"] = dict(report["results"]) | {
        f"{case}-aaa": report["results"][f"{case}-bf16"] | {"policy": "aaa"} for case in CASES
    }
    changed = edited(RECORD, {key: report[key[1:]] for key in ("/policies", "/programs")})
    changed.record.report["results"] = report["results"]

    with pytest.raises(EvidenceMismatch) as caught:
        read_representations(changed)

    # Nothing is wrong but that the run holds no file for it.
    assert [fault.expected for fault in caught.value.faults] == ["the file of every policy"]


def test_a_study_without_such_a_record_has_no_such_numbers():
    bare = work_out({"precision-cpu": evidence()["precision-cpu"]}, content())

    assert bare.featured(RepresentationsRun) is None
    assert not [pointer for pointer in bare.values if "/representations/" in pointer]
