"""A run over several processes: is every one of them there, and does the page say so?"""

import copy
from dataclasses import replace

import pytest

from report.errors import EvidenceMismatch
from report.evidence import Evidence
from report.numbers.precision import PrecisionRun, read_precision
from tests.report.numbers_ground import evidence

RUN = "precision-cpu"
STATEMENT = "CPU arithmetic reference. Not a TPU result. One device of 4 over 2 processes."


def distributed(**edits: object) -> Evidence:
    """The recorded run as process 0 of two would have written it, with parts replaced."""
    found = evidence()[RUN]
    report = copy.deepcopy(dict(found.record.report))
    environment = copy.deepcopy(dict(found.record.environment))
    environment["devices"] |= {"count": 4, "process_count": 2}
    outputs = {name: f"{number}" * 64 for number, name in enumerate(sorted(report["results"]))}
    processes = [
        {
            "index": index,
            "device": 2048 * index,
            "local_devices": [2048 * index, 2048 * index + 1],
            "manifest_sha256": "c" * 64 if index else None,
            "outputs": dict(outputs),
        }
        for index in (0, 1)
    ]
    report["scope"]["statement"] = STATEMENT
    report["cluster"] = {
        "index": 0,
        "processes": 2,
        "global_devices": [0, 1, 2048, 2049],
        "outputs_agree": dict.fromkeys(outputs, True),
        "gathered": processes,
    } | edits
    return replace(found, record=replace(found.record, report=report, environment=environment))


def run_of(proof: Evidence) -> PrecisionRun:
    return read_precision(proof)


def faults(proof: Evidence) -> str:
    with pytest.raises(EvidenceMismatch) as caught:
        read_precision(proof)
    return str(caught.value)


def test_a_run_of_one_process_has_no_cluster():
    run = run_of(evidence()[RUN])

    assert run.cluster is None
    assert run.scope.statement == "CPU arithmetic reference. Not a TPU result."
    assert run.extent == "64 × 128 × 64"


def test_a_run_over_two_processes_says_how_much_of_it_one_number_is():
    run = run_of(distributed())

    assert run.cluster is not None
    assert run.cluster.extent == "one device of 4 over 2 processes"
    assert run.scope.statement == STATEMENT
    assert run.extent == "64 × 128 × 64, one device of 4 over 2 processes"
    assert [each.index for each in run.cluster.gathered] == [0, 1]
    assert run.cluster.verdict == "All 2 processes got the same bytes in every result."


def test_a_missing_process_is_named_by_its_index():
    proof = distributed()
    proof.record.report["cluster"]["gathered"].pop()

    assert "no process 1" in faults(proof)


@pytest.mark.parametrize(
    ("edits", "told"),
    [
        ({"gathered": None, "gathered_reason": "process 0 gathers"}, "what process 0 heard"),
        ({"processes": 3}, "2, as in environment.json"),
        ({"processes": 2**53 - 1}, "2, as in environment.json"),
        ({"global_devices": [0, 1, 2048]}, "4, as in environment.json"),
        ({"gathered": "both"}, "a list of objects"),
        ({"outputs_agree": {}}, "true or false"),
    ],
)
def test_processes_that_do_not_add_up_are_refused(edits, told):
    assert told in faults(distributed(**edits))


@pytest.mark.parametrize(
    ("key", "value", "told"),
    [
        ("index", 0, "the processes [0, 0], so no process 1"),
        ("index", 7, "no process 1"),
        ("local_devices", [0, 1], "each of global_devices once"),
        ("device", 5, "one of [2048, 2049]"),
        ("manifest_sha256", None, "one for each but process 0"),
    ],
)
def test_a_process_that_cannot_be_is_refused(key, value, told):
    proof = distributed()
    proof.record.report["cluster"]["gathered"][1][key] = value

    assert told in faults(proof)


def test_outputs_that_do_not_agree_are_shown_and_not_hidden():
    proof = distributed()
    proof.record.report["cluster"]["gathered"][1]["outputs"]["outlier-fp32"] = "f" * 64

    assert "False, as the gathered digests say" in faults(proof)
    proof.record.report["cluster"]["outputs_agree"]["outlier-fp32"] = False
    cluster = run_of(proof).cluster
    assert cluster is not None
    assert cluster.verdict == "The processes did not all get the same bytes in outlier-fp32."


def test_the_folder_of_another_process_says_who_gathers():
    proof = distributed(index=1, gathered=None, gathered_reason="process 0 gathers")
    cluster = run_of(proof).cluster

    assert cluster is not None
    assert cluster.gathered == ()
    assert cluster.index == 1


def test_several_processes_and_no_word_of_them_are_refused():
    proof = distributed()
    proof.record.report["cluster"] = None

    assert "who the 2 processes were" in faults(proof)
