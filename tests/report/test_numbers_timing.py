"""A timing run read as typed values, what follows from it, and what becomes of a wrong one.

Its times are replaced by made-up ones wherever an answer depends on them.
"""

import re
from dataclasses import replace
from functools import cache

import pytest

from report.errors import EvidenceMismatch
from report.figures import strips, verdicts
from report.numbers.distinction import Verdict
from report.numbers.least_time import work_out_least_times
from report.numbers.placing import Ceilings, ceilings_of
from report.numbers.precision import PrecisionRun
from report.numbers.run import Run
from report.numbers.steadiness import Steadiness, Trend
from report.numbers.study import work_out
from report.numbers.sweep import SweepRun
from report.numbers.timing import CLOCK, EMPTY, SERIES, Series, TimingRun, read_timing
from report.numbers.worked_timing import UNDER_FLOORS, claim, work_out_timing
from report.numbers.workings import Workings
from report.tables import timing as tables
from tests.report.numbers_ground import content, edited, evidence, study

RUN = "timing-cpu"
QUIET = Trend(s=0, values=10)
US = 1_000


@cache
def recorded() -> TimingRun:
    return read_timing(evidence()[RUN])


def made_up(**medians_us: float | tuple[float, ...]) -> TimingRun:
    """The recorded run with level samples: one time a series, or one for each process."""
    times = {EMPTY: 4.0, CLOCK: 0.1} | {name.replace("_", "-"): t for name, t in medians_us.items()}
    run = recorded()

    def samples(name: str, place: int) -> Series:
        told = times.get(name, times.get(name.partition("-")[0], 20.0))
        us = told[place] if isinstance(told, tuple) else told
        # Every other one is a nanosecond longer, so that a step of the clock is seen.
        return Series(samples_ns=tuple(round(us * US) + (i % 2 if us else 0) for i in range(100)))

    processes = tuple(
        replace(
            process,
            warm_trends=dict.fromkeys(SERIES, QUIET),
            series={name: samples(name, place) for name in SERIES},
        )
        for place, process in enumerate(run.processes)
    )
    return replace(run, processes=processes)


def values_of(run: TimingRun) -> dict[str, object]:
    note = Workings()
    work_out_timing(run, note)
    start = f"study#/timing/{run.name}/"
    return {pointer.removeprefix(start): value.number for pointer, value in note.values.items()}


def test_the_recorded_run_holds_what_was_asked_for():
    run = recorded()

    assert len(run.processes) == run.request.processes >= 3
    for process in run.processes:
        assert set(process.series) == set(SERIES)
        assert {len(each.samples_ns) for each in process.series.values()} == {run.request.steps}
        assert process.warm_calls >= 1_000
    assert run.scope.statement.endswith("Not a TPU result.")


def test_the_timed_programs_are_those_of_the_accuracy_record():
    precision = evidence()["precision-cpu"].record.report["results"]

    for policy, program in recorded().programs.items():
        assert program.hlo.sha256 == precision[f"balanced-{policy}"]["program"]["hlo_sha256"]
        assert program.relative_l2_error == precision[f"balanced-{policy}"]["relative_l2_error"]


def test_every_value_stands_at_its_pointer_with_a_reason_where_there_is_none():
    known = study().values

    base = f"study#/timing/{RUN}"
    assert str(known[f"{base}/verdict/int8-vs-fp32"].number) in set(Verdict)
    assert known[f"{base}/programs/int8/median_s"].number == recorded().median_s("int8-first")
    for pointer in (pointer for pointer in known if pointer.startswith(base)):
        assert known[pointer].number is not None or known[pointer].reason
        shapes = pointer.endswith(("/least_s", "/pairs"))
        assert known[pointer].kind == ("computed" if shapes else "measured")


def test_a_faster_program_is_told_only_of_this_device():
    run = made_up(fp32=20.0, bf16=10.0, int8=20.001)

    found = values_of(run)

    assert found["verdict/bf16-vs-fp32"] == "takes less time here"
    assert found["ratio/bf16-vs-fp32"] == pytest.approx(0.5, rel=1e-3)
    assert found["verdict/int8-vs-fp32"] == "not distinguishable"
    assert found["verdict/int8-vs-bf16"] == "takes more time here"
    figure = verdicts.draw(run)
    assert run.scope.statement in figure.caption
    assert "nothing of another device" in figure.caption


def test_each_series_of_each_process_has_its_ends_its_median_and_what_was_flagged():
    run = made_up()
    series = dict(run.processes[1].series)
    series["bf16-first"] = Series(samples_ns=(20_000, 20_002) * 49 + (9_000_000, 19_998))
    run = replace(
        run,
        processes=(run.processes[0], replace(run.processes[1], series=series), *run.processes[2:]),
    )

    found = values_of(run)

    base = "series/2/bf16-first"
    assert found[f"{base}/minimum_s"] == 19.998e-6
    assert found[f"{base}/median_s"] == pytest.approx(20.001e-6)
    assert found[f"{base}/maximum_s"] == 9e-3
    assert found[f"{base}/flagged"] == found["programs/bf16/flagged"] == 1
    assert found["series/1/bf16-first/flagged"] == found["programs/fp32/flagged"] == 0


def test_the_pairs_that_are_told_are_counted():
    assert values_of(made_up(fp32=20.0, bf16=10.0, int8=20.001))["pairs_told"] == 2
    assert values_of(made_up())["pairs_told"] == 0
    assert values_of(made_up())["pairs"] == 3


def test_the_reach_of_a_band_is_what_twins_differ_by():
    run = made_up(fp32=20.0, bf16_first=17.0, bf16_second=21.0)
    figure = strips.draw(run)

    assert values_of(run)["programs/bf16/aa_reach"] == pytest.approx(4 / 17, rel=1e-2)
    assert f"study#/timing/{RUN}/programs/bf16/aa_reach" in figure.title, "the widest one"


def test_identical_programs_are_never_ranked():
    run = made_up(fp32=20.0, bf16=10.0)
    programs = dict(run.programs) | {
        "bf16": replace(run.programs["bf16"], hlo=run.programs["fp32"].hlo)
    }

    found = replace(run, programs=programs).pairs["bf16", "fp32"]

    assert found.verdict is Verdict.SAME_PROGRAM


def test_twins_that_differ_hide_a_difference_between_programs():
    run = made_up(fp32=20.0, bf16_first=17.0, bf16_second=21.0)

    assert run.pairs["bf16", "fp32"].verdict is Verdict.INSIDE
    assert run.band("bf16").high == pytest.approx(21 / 17, rel=1e-3)


@pytest.mark.parametrize("place", ["samples", "warm-up"])
def test_a_program_that_drifts_is_not_compared(place):
    run = made_up(fp32=20.0, bf16=10.0)
    last = run.processes[-1]
    if place == "samples":
        series = dict(last.series) | {
            "bf16-first": Series(samples_ns=tuple(range(12_000, 9_000, -30)))
        }
        last = replace(last, series=series)
    else:
        trends = dict(last.warm_trends) | {"bf16-first": Trend(s=-23, values=10)}
        last = replace(last, warm_trends=trends)

    run = replace(run, processes=(*run.processes[:-1], last))

    assert run.steadiness("bf16") is Steadiness.DRIFTING
    assert run.steadiness("fp32") is Steadiness.STEADY
    assert run.pairs["bf16", "fp32"].verdict is Verdict.UNSTEADY
    assert run.pairs["int8", "fp32"].verdict is Verdict.INSIDE
    assert "BF16 drifted" in strips.draw(run).title


def test_no_throughput_is_claimed_under_ten_dispatch_floors():
    low, high = made_up(fp32=39.9, bf16=40.1, int8=400.0), recorded().request.operations

    assert low.throughput_per_s("fp32") is None
    assert low.throughput_per_s("bf16") == pytest.approx(high / 40.1e-6, rel=1e-3)
    note = Workings()
    work_out_timing(low, note)
    base = f"study#/timing/{RUN}/programs"
    assert note.values[f"{base}/fp32/throughput_per_s"].reason == UNDER_FLOORS
    assert note.values[f"{base}/bf16/throughput_per_s"].unit == "FLOP/s"
    assert note.values[f"{base}/int8/throughput_per_s"].unit == "OP/s"


def test_a_clock_that_saw_nothing_gives_no_ratio_and_no_throughput():
    run = made_up(fp32=0.0, bf16=0.0, int8=0.0, empty_call=0.0, clock=0.0)

    assert {run.throughput_per_s(policy) for policy in run.programs} == {None}
    assert {found.ratio for found in run.pairs.values()} == {None}
    assert not any(found.verdict.ranks for found in run.pairs.values())
    assert strips.draw(run).data
    assert verdicts.draw(run).data
    assert all(
        cell.text
        for table in tables.tables(run, study().values)
        for row in table.rows
        for cell in row
    )


@pytest.mark.parametrize(
    ("seconds", "resolution_s", "told"),
    [
        (9.87e-6, 2e-7, "9.9 µs"),
        (9.87e-6, 3e-6, "10 µs"),
        (17.16e-6, 5e-7, "17.2 µs"),
        (1.23456e-3, 1e-9, "1.234560 ms"),
        (1.23456e-3, 2e-5, "1.23 ms"),
        (4.2e-6, 5e-5, "under 50 µs"),
        (0.0, 1e-9, "0 s"),
    ],
)
def test_a_claim_has_no_more_digits_than_can_be_told(seconds, resolution_s, told):
    assert claim(seconds, resolution_s).replace("\u00a0", " ") == told


def test_the_claim_is_as_coarse_as_the_processes_differ():
    run = made_up(fp32=(20.0, 22.0, 24.0))

    assert run.resolution_s("fp32") == pytest.approx(2e-6)
    assert values_of(run)["programs/fp32/claim"] == "22\u00a0µs"
    assert values_of(run)["programs/fp32/claimed_to"] == "2\u00a0µs"


def test_outliers_are_shown_and_stay_in_the_run():
    run = made_up()
    series = dict(run.processes[0].series)
    series["fp32-first"] = Series(samples_ns=(20_000, 20_001) * 49 + (9_000_000, 20_000))
    run = replace(run, processes=(replace(run.processes[0], series=series), *run.processes[1:]))

    rows = [row for row in strips.draw(run).data if row["furthest_flagged_over_median"]]

    assert [(row["policy"], row["process"], row["flagged"]) for row in rows] == [("fp32", 1, 1)]
    assert max(run.processes[0].series["fp32-first"].samples_ns) == 9_000_000


WRONG: dict[str, tuple[object, str]] = {
    "/schema": ("assay/timing/2", ""),
    "/request/steps": (999, "999, one a step"),
    "/request/dispatch": ("async", "as was asked for"),
    "/processes/1/samples_ns/clock": ([1, -1], "a list of whole numbers"),
    "/processes/1/samples_ns/fp32-first": ([1.5] * 1000, "a list of whole numbers"),
    "/processes/2/orders": ([["clock"]], "each once"),
    "/processes/3/warm_up/trends/int8-first": ("up", "a whole number"),
    "/programs/int8/input_sha256": ("0" * 64, "the digest of the inputs"),
    "/programs/int8/program/hlo_sha256": ("0" * 64, "a file of this run"),
    "/programs/bf16/stored_bytes/total": (1, "the sum of its parts"),
    "/programs/bf16/stored_bytes/w_values": (1, "the sum of its parts"),
    "/programs/bf16/sqnr_db": (1.0, "from the relative error"),
    "/programs/int8/requested/operand": ("int4", "what int8 asks for"),
    "/request/processes": (2**53 - 1, "from 1 to 64"),
    "/scope/single_device": (False, "takes one device"),
    "/programs/fp16": ({}, "only fp32, bf16, int8"),
    "/accuracy/hlo_sha256/fp32": ("0" * 64, "the program timed"),
    "/scope/statement": ("Measured on TPU v5e.", "what may be said of that device"),
}


@pytest.mark.parametrize("pointer", [pointer for pointer in WRONG if pointer != "/schema"])
def test_what_contradicts_itself_is_refused_by_place(pointer):
    value, expected = WRONG[pointer]

    with pytest.raises(EvidenceMismatch) as caught:
        read_timing(edited(RUN, {pointer: value}))

    assert any(expected in fault.expected for fault in caught.value.faults)
    assert "build.py run timing_study" in caught.value.hint


def test_all_contradictions_are_told_at_once():
    edits = {pointer: value for pointer, (value, _) in WRONG.items() if pointer.startswith("/pro")}

    with pytest.raises(EvidenceMismatch) as caught:
        read_timing(edited(RUN, edits))

    told = {fault.where for fault in caught.value.faults}
    assert len(told) >= len(edits)


def test_a_time_beside_the_error_of_another_program_is_refused_with_both_hashes():
    precision = {"precision-cpu": evidence()["precision-cpu"]}
    programs = evidence()[RUN].record.report["programs"]
    swapped = {"/programs/int8/program": programs["bf16"]["program"]}
    other = recorded().programs["bf16"].hlo.sha256
    alone = edited(RUN, swapped | {"/accuracy": None})
    beside = edited(RUN, swapped | {"/accuracy/hlo_sha256/int8": other})

    work_out({RUN: alone, **precision}, content())
    with pytest.raises(EvidenceMismatch) as caught:
        work_out({RUN: beside, **precision}, content())

    (fault,) = caught.value.faults
    assert fault.found == other
    assert recorded().programs["int8"].hlo.sha256 in fault.expected


def test_a_missing_process_is_named():
    report = dict(evidence()[RUN].record.report)
    processes = {number: each for number, each in report["processes"].items() if number != "2"}

    with pytest.raises(EvidenceMismatch) as caught:
        read_timing(edited(RUN, {"/processes": processes}))

    assert any(fault.where.endswith("/processes/2") for fault in caught.value.faults)


def test_a_record_page_says_of_ten_samples_whether_they_are_steady():
    known = study().values

    for name, each in study().of(PrecisionRun).items():
        for result in each.results:
            told = known[f"study#/precision/{name}/steadiness/{result.id}"].number
            assert told == result.timing.trend.steadiness.value
            assert told in set(Steadiness)


def test_the_strips_have_a_step_for_every_stretch_and_their_numbers_in_words():
    figure = strips.draw(recorded())

    policies = {row["policy"] for row in figure.data}
    assert policies == {"fp32", "bf16", "int8"}
    assert len(re.findall(r"A/A band", figure.alt_text)) == len(policies)


def believed(run: TimingRun, policy: str, *beside: Run) -> tuple[object, object, str]:
    """The least time of a program, what is said of its time, and the reason for neither."""
    note = Workings()
    work_out_timing(run, note)
    work_out_least_times({each.name: each for each in (run, *beside)}, content().chips, note)
    base = f"study#/timing/{RUN}/programs/{policy}"
    least, word = note.values[f"{base}/least_s"], note.values[f"{base}/believed"]
    return least.number, word.number, word.reason


def test_a_time_under_the_least_time_of_its_chip_is_flagged():
    v5e = replace(recorded().setting, platform="tpu", device_kind="TPU v5 lite")
    run = replace(made_up(fp32=1.0, bf16=0.01, int8=1.0), setting=v5e)

    # 49,152 bytes through 819 GB/s or 800 GiB/s, whichever is documented higher.
    least, word, _ = believed(run, "bf16")
    assert least == pytest.approx(49_152 / (800 * 2**30))
    assert word == "shorter than the documented ceilings allow, so not believed"
    assert believed(run, "int8")[1] == "no shorter than the ceilings allow"
    reason = "no ceilings of this TPU v5 lite are known for FP32"
    assert believed(run, "fp32") == (None, None, reason)


def test_a_cpu_is_held_against_its_own_probe_and_no_chip():
    sweep = study().featured(SweepRun)
    assert sweep is not None
    here = replace(
        recorded().setting,
        **{key: getattr(sweep.machine, key) for key in ("platform", "device_kind", "cpu_model")},
    )
    elsewhere = replace(here, cpu_model="another processor")
    ceilings = ceilings_of(sweep)

    for policy in ("fp32", "bf16", "int8"):
        assert believed(made_up(), policy)[:2] == (None, None)
        assert believed(replace(made_up(), setting=elsewhere), policy, sweep)[:2] == (None, None)
        slow, fast = (
            replace(made_up(fp32=us, bf16=us, int8=us), setting=here) for us in (9e5, 1e-3)
        )
        least, word, _ = believed(slow, policy, sweep)
        assert least == pytest.approx(
            max(
                slow.request.operations / ceilings.matrix[policy].per_s,
                (slow.programs[policy].stored_bytes + 16_384) / slope_of(ceilings),
            )
        )
        assert word == "no shorter than the ceilings allow"
        assert "the time is wrong" in str(believed(fast, policy, sweep)[1])


def slope_of(ceilings: Ceilings) -> float:
    """Bytes a second of a working set as small as the lesson's product."""
    slope, _ = ceilings.slope(81_920)
    assert slope is not None
    return slope.per_s
