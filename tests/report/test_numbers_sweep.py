"""Sweeps: intensities as the lesson has them, rates only where they may be claimed, no foreign
ceilings, and every point left where it was measured."""

from dataclasses import replace

import pytest

from report.errors import EvidenceMismatch
from report.numbers.kinds import read_run
from report.numbers.placing import ForeignCeilings, ceilings_of, place, points_of
from report.numbers.precision import POLICIES, PrecisionRun
from report.numbers.sweep import Cache, SweepRun
from report.numbers.sweep_pointers import kind, section, unit
from report.numbers.traffic import tile_in, tiled_bytes, traffic_of
from report.numbers.worked_elsewhere import work_out_elsewhere
from report.numbers.worked_sweep import study_sweep, work_out_sweep
from report.numbers.workings import Workings
from tests.report.numbers_ground import edited, study
from tests.report.sweep_ground import (
    CACHED,
    CACHES,
    FLOOR_S,
    MACHINE,
    MATRIX,
    MEMORY,
    alike,
    elsewhere,
    sweep,
    timed,
    timing,
    values_of,
)

SECOND = {1: 1.0, 64: 2.0}
"""Slow enough for any rate to be claimed."""


def placed(run, name):
    return next(row for row in study_sweep(run).rows if row.timed.id == name).placed


def point_lasting(seconds, m=64, policy="fp32", **given):
    return placed(sweep(alike({m: seconds}), **given), f"{policy}-m{m}")


@pytest.mark.parametrize(
    ("name", "intensity"),
    [("bf16-m1", 0.99708), ("bf16-m64", 53.8947)],
)
def test_intensities_are_those_of_the_lesson(name, intensity):
    point = placed(sweep(alike(SECOND)), name).point

    assert point.intensity == pytest.approx(intensity, rel=1e-5)


@pytest.mark.parametrize(
    ("policy", "moved", "intensity", "unit"),
    [
        ("fp32", 81_920, 12.8, "FLOP/B"),
        ("bf16", 49_152, 64 / 3, "FLOP/B"),
        ("int8", 33_280, 31.507692307692307, "OP/B"),
    ],
)
def test_the_labs_product_moves_at_least_its_operands_and_its_output(
    policy, moved, intensity, unit
):
    base = f"study#/precision/precision-cpu/traffic/{policy}"
    values = study().values

    assert values[f"{base}/bytes"].number == moved
    assert values[f"{base}/intensity"].number == pytest.approx(intensity, rel=1e-12)
    assert values[f"{base}/intensity"].unit == unit


def test_every_precision_record_has_its_least_traffic():
    for name in study().of(PrecisionRun):
        assert f"study#/precision/{name}/traffic/int8/intensity" in study().values


def test_ceilings_are_the_best_of_the_probe_each_from_the_rows_it_may_come_from():
    ceilings = ceilings_of(sweep(alike(SECOND)))

    assert ceilings.memory.per_s == pytest.approx(MEMORY)
    assert ceilings.memory.median_per_s == pytest.approx(MEMORY / 2)
    assert ceilings.memory.row == "triad-65536kib"
    assert ceilings.cached.per_s == pytest.approx(CACHED)
    assert ceilings.cached.row == "triad-1024kib"
    assert {p: c.per_s for p, c in ceilings.matrix.items()} == pytest.approx(MATRIX)
    assert ceilings.ridge("bf16") == pytest.approx(40)


def test_each_row_of_the_probe_that_claims_a_rate_has_its_best_and_its_median():
    values, probe = values_of(sweep(alike(SECOND))), "study#/sweep/known/probe"
    found = {
        name: values[f"{probe}/{name}"].number
        for name in ("triad-65536kib/per_s", "triad-65536kib/median_per_s")
    }

    assert list(found.values()) == pytest.approx([MEMORY, MEMORY / 2])
    assert values[f"{probe}/int8-square-1024/per_s"].number == pytest.approx(MATRIX["int8"])
    assert values[f"{probe}/int8-square-1024/per_s"].unit == "OP/s"
    assert values[f"{probe}/copy-1024kib/median_per_s"].unit == "B/s"


def test_a_row_of_the_probe_below_the_floor_has_no_rate():
    values = values_of(sweep(alike(SECOND), floor_s=1e-3))

    assert "study#/sweep/known/probe/triad-1024kib/per_s" not in values
    assert "study#/sweep/known/probe/triad-65536kib/per_s" in values


def test_a_share_is_the_rate_over_the_lower_ceiling_at_its_intensity():
    work, seconds = 2 * 512 * 1024 * 1024, 20e-3
    values, here = values_of(sweep(alike({512: seconds}))), "study#/sweep/known"
    point = {
        name: values[f"{here}/fp32-m512/{name}"].number
        for name in ("per_s", "bound_per_s", "share")
    }

    assert point["per_s"] == pytest.approx(work / seconds)
    assert point["bound_per_s"] == MATRIX["fp32"]
    assert point["share"] == pytest.approx(work / seconds / MATRIX["fp32"])
    assert values[f"{here}/fp32/best_over_matrix"].number == pytest.approx(point["share"])


def test_what_the_compiler_counts_at_most_is_an_estimate_and_the_tiles_are_computed():
    least = 2 * (1024 + 1024 * 1024) + 4 * 1024
    values = values_of(sweep(alike({1: 1.0}), accessed={"bf16-m1": 5 * least}))
    counted = values["study#/sweep/known/compiler_over_least"]

    assert (counted.number, counted.kind) == (5, "estimated")
    assert counted.inputs == (
        "known#/results/bf16-m1/compiler_accessed_bytes",
        "study#/sweep/known/bf16-m1/minimum_bytes",
    )
    assert values["study#/sweep/known/tiled_over_least"].kind == "computed"
    untold = values_of(sweep(alike({1: 1.0})))["study#/sweep/known/compiler_over_least"]
    assert (untold.number, untold.reason) == (None, "the compiler reports no bytes accessed")


def test_products_of_other_records_have_the_rates_that_may_be_claimed():
    """The lab's BF16 product of 64 × 128 × 64, as if it had lasted a millisecond."""
    lasting = {"bf16": timing(1e-3), "fp32": timing(9 * FLOOR_S), "int8": timing(9 * FLOOR_S)}
    recorded = study().runs["precision-cpu"]
    run = replace(
        recorded,
        floor=replace(recorded.floor, empty_call=timing(FLOOR_S)),
        setting=replace(recorded.setting, device_kind="cpu", cpu_model=MACHINE.cpu_model),
        results=tuple(replace(each, timing=lasting[each.policy]) for each in recorded.results),
    )
    note = Workings()
    work_out_elsewhere({"known": sweep(alike(SECOND)), run.name: run}, note)
    base = "study#/sweep/known/elsewhere/precision-cpu/balanced-bf16"

    assert {pointer.rpartition("-")[2] for pointer in note.values} == {"bf16/per_s", "bf16/share"}
    assert note.values[f"{base}/per_s"].number == pytest.approx(2 * 64 * 128 * 64 / 1e-3)
    bound = min(MATRIX["bf16"], 64 / 3 * CACHED)
    assert note.values[f"{base}/share"].number == pytest.approx(2 * 64 * 128 * 64 / 1e-3 / bound)


def test_memory_is_not_measured_with_arrays_that_are_not_well_beyond_the_caches():
    ceilings = ceilings_of(sweep(alike(SECOND), arrays_kib=(1024, 32_768)))

    assert ceilings.memory is None
    assert "33,554,432 bytes" in ceilings.memory_reason
    assert "67,108,864" in ceilings.memory_reason
    assert ceilings.ridge("fp32") is None


def test_without_known_caches_the_largest_arrays_count_as_memory_and_nothing_as_cached():
    ceilings = ceilings_of(sweep(alike(SECOND), caches=()))

    assert ceilings.memory.row == "triad-65536kib"
    assert ceilings.cached is None
    assert (
        ceilings.cached_reason == "the caches are not known: this system does not tell its caches"
    )


def test_a_stream_below_the_floor_makes_no_ceiling():
    ceilings = ceilings_of(sweep(alike(SECOND), floor_s=1e-3))

    assert ceilings.cached is None
    assert "below the dispatch floor" in ceilings.cached_reason


@pytest.mark.parametrize(
    ("times", "claimed"), [(9.99, False), (10.0, True), (10.01, True), (0.0, False)]
)
def test_no_rate_is_claimed_under_ten_times_the_dispatch_floor(times, claimed):
    found = point_lasting(times * FLOOR_S, m=1)

    assert (found.per_s is not None) == claimed
    assert (found.verdict == "unclaimed") == (not claimed)
    assert (found.share is None) == (not claimed)


def test_a_time_of_zero_claims_nothing_also_above_a_floor_of_zero():
    assert point_lasting(0.0, floor_s=0.0).verdict == "unclaimed"


def test_a_point_under_its_ceilings_is_a_share_of_the_lower_one():
    work = 2 * 512 * 1024 * 1024
    found = point_lasting(2 * work / MATRIX["fp32"], m=512)

    assert (found.verdict, found.limit) == ("under", "matrix rate")
    assert found.share == pytest.approx(0.5)


def test_a_point_above_the_memory_slope_in_cache_is_read_against_the_cached_slope():
    moved = 4 * (1024 + 1024 * 1024 + 1024)
    found = point_lasting(2 * moved / CACHED, m=1)

    assert (found.verdict, found.limit) == ("cached", "in cache")
    assert found.share == pytest.approx(0.5)
    assert found.per_s == pytest.approx(5 * found.memory_per_s)
    assert "fits in cache" in found.words


def test_a_working_set_beyond_the_caches_is_read_against_memory():
    small = (Cache(level=1, bytes=2**20, cores=1),)
    moved = 4 * (1024 + 1024 * 1024 + 1024)
    found = point_lasting(2 * moved / MEMORY, m=1, caches=small)

    assert (found.verdict, found.limit) == ("under", "memory")
    assert found.share == pytest.approx(0.5)


@pytest.mark.parametrize(
    ("m", "seconds", "caches", "limit"),
    [
        (512, 1e-3, CACHES, "matrix rate"),
        (1, 1.1e-5, CACHES, "in cache"),
        (1, 1.1e-5, (Cache(level=1, bytes=2**20, cores=1),), "memory"),
    ],
)
def test_a_point_above_every_ceiling_stays_where_it_was_measured(m, seconds, caches, limit):
    found = point_lasting(seconds, m=m, caches=caches)

    assert (found.verdict, found.limit) == ("over", limit)
    assert found.per_s == pytest.approx(2 * m * 1024 * 1024 / seconds)
    assert found.per_s > found.bound_per_s
    assert found.share > 1
    assert "too low for it, or the time wrong" in found.words


def test_a_point_without_any_ceiling_is_said_to_have_none():
    found = point_lasting(100.0, floor_s=1.0)

    assert found.verdict == "alone"
    assert (found.bound_per_s, found.share) == (None, None)


def test_a_point_from_another_device_is_refused_with_both_named():
    run = sweep(alike(SECOND))
    point = points_of(elsewhere(run, "Other CPU"))[0]

    with pytest.raises(ForeignCeilings) as caught:
        place(ceilings_of(run), point)

    assert "Other CPU" in caught.value.faults[0].found
    assert MACHINE.cpu_model in caught.value.faults[0].expected


@pytest.mark.parametrize("key", ["device_kind", "cpu_model", "platform"])
def test_a_record_with_foreign_ceilings_is_refused_with_both_named(key):
    with pytest.raises(EvidenceMismatch) as caught:
        read_run(edited("sweep-cpu", {f"/probe/machine/{key}": "something else"}))

    fault = next(f for f in caught.value.faults if f.where.endswith("report.json/machine"))
    assert "something else" in f"{fault.found} {fault.expected}"
    assert "points from" in fault.found
    assert "ceilings are from" in fault.expected


def bend_of(*seconds):
    times = {2**at: each for at, each in enumerate(seconds)}
    return study_sweep(sweep(alike(times))).curves[0]


@pytest.mark.parametrize(
    ("seconds", "bend"),
    [
        ((1, 1, 1, 2, 4), 4),
        ((1, 2, 4, 8, 16), 1),
        ((1, 1, 1, 1, 1), None),
        ((1, 4, 4, 8, 16), 4),
        ((1, 2, 4, 8, 9), None),
        ((1,), None),
        ((0, 0, 0), None),
        ((0, 1, 2), 2),
    ],
)
def test_a_curve_bends_where_time_begins_to_grow_for_good(seconds, bend):
    found = bend_of(*seconds).bend

    assert (found.timed.m if found else None) == bend


def test_a_step_of_several_doublings_is_judged_by_each():
    curve = study_sweep(sweep(alike({1: 1.0, 2: 1.0, 32: 8.0}))).curves[0]

    assert curve.bend.timed.m == 2
    assert study_sweep(sweep(alike({1: 1.0, 2: 1.0, 32: 4.0}))).curves[0].bend is None


def test_a_smaller_batch_is_called_slower_only_if_its_fastest_call_is():
    assert [(a.timed.m, b.timed.m) for a, b in bend_of(3, 2, 4).reversals] == [(1, 2)]
    assert bend_of(2, 2, 4).reversals == ()


def test_the_matrix_rate_takes_over_where_its_ceiling_is_the_lower_one():
    curve = study_sweep(sweep(alike({1: 1.0, 2: 1.0, 4: 1.0, 8: 1.0}))).curves[0]

    assert curve.ridge.timed.m == 8


def test_tiles_are_the_largest_power_of_two_that_fit_in_a_core_s_own_cache():
    assert (tile_in(CACHES, 4).side, tile_in(CACHES, 4).level) == (256, 2)
    assert tile_in((Cache(level=3, bytes=12 * 64**2, cores=4),), 4).side == 64
    assert tile_in((Cache(level=3, bytes=12 * 64**2 - 1, cores=4),), 4).side == 32
    assert tile_in((Cache(level=1, bytes=8, cores=1),), 4) is None
    assert tile_in((), 4) is None


@pytest.mark.parametrize("policy", POLICIES)
def test_tiles_that_cover_a_product_move_the_least(policy):
    product = timed(policy, 64, 1.0)
    found = traffic_of(product, CACHES, "")

    assert tiled_bytes(product, 1024) == found.minimum
    assert tiled_bytes(product, 64) > found.minimum


def test_square_tiles_move_two_cubes_over_their_side_and_the_output():
    side, tile = 512, 32
    product = timed("fp32", side, 1.0, k=side, n=side)

    assert tiled_bytes(product, tile) == 4 * (2 * side**3 // tile + side**2)


def test_a_count_that_is_not_known_has_its_reason_and_is_not_zero():
    found = traffic_of(timed("bf16", 1, 1.0), (), "this system does not tell its caches")

    assert (found.tiled, found.compiler) == (None, None)
    assert found.tiled_reason == "this system does not tell its caches"
    assert found.compiler_reason == "the compiler reports no bytes accessed"


def test_integer_work_is_counted_in_op_and_never_in_flop():
    note = Workings()
    work_out_sweep(sweep(alike(SECOND)), note)
    units = {v.unit for p, v in note.values.items() if "/int8-m" in p or "/int8/" in p}

    assert units & {"OP/B", "OP/s"} == {"OP/B", "OP/s"}
    assert not any("FLOP" in unit for unit in units)


def test_an_unclaimed_rate_is_missing_with_its_reason():
    note = Workings()
    work_out_sweep(sweep(alike({1: 5 * FLOOR_S})), note)
    value = note.values["study#/sweep/known/fp32-m1/per_s"]

    assert value.number is None
    assert value.reason == "below the floor: no rate claimed"


def test_the_spread_is_that_of_the_point_whose_median_lies_farthest_above_its_fastest_call():
    run = sweep(alike(SECOND))
    unsteady = replace(
        run.points[3], program=replace(run.points[3].program, timing=timing(1, 3, 9))
    )
    run = replace(run, points=(*run.points[:3], unsteady, *run.points[4:]))
    note = Workings()
    work_out_sweep(run, note)

    assert study_sweep(run).unsteadiest.timed is unsteady
    assert note.values["study#/sweep/known/spread"].number == 3


def test_all_that_is_worked_out_names_inputs_that_exist():
    values = study().values
    mine = [v for v in values.derived if v.pointer.startswith("study#/sweep/sweep-cpu/")]

    assert len(mine) > 100
    for value in mine:
        for pointer in value.inputs:
            values.lookup(pointer)


@pytest.mark.parametrize(
    ("pointer", "value", "told"),
    [
        ("/results/fp32-m1/operations", 1, "2097152"),
        ("/results/int8-m1/work", "FLOP", "'OP'"),
        ("/results/bf16-m2/stored_bytes/w_values", 1, "2097152"),
        ("/results/bf16-m2/shape", [2, 1024, 1], "as requested"),
        ("/results/bf16-m2/timing_s/median", 5.0, "the median of the samples"),
        ("/results/bf16-m2/timing_s/samples", [1.0], "as many as were asked for"),
        ("/results/bf16-m2/program/hlo_sha256", "0" * 64, "a file of this run"),
        ("/results/bf16-m2/kept/level", "measured-on-device", "'optimized-hlo'"),
        ("/results/bf16-m2/compiler_accessed_bytes", None, "a name on one line"),
        ("/results/bf16-m2/relative_l2_error", -0.001, "zero or more"),
        ("/results/int8-m1/rescale_flop", 4096, "two scales an output"),
        ("/results/bf16-m2/rescale_flop", 4096, "two scales an output"),
        ("/results/bf16-m2/kept/products", [], "the product that was timed"),
        ("/policies/sweep/int8/scaled", False, "as its rows are"),
        ("/policies/matrix/int8/scaled", True, "as its rows are"),
        ("/caches", [{"level": 1, "bytes": 0, "cores": 1}], "from 1"),
        ("/caches", [{"level": 1, "bytes": 4096, "cores": 0}], "from 1"),
        (
            "/caches",
            [{"level": level, "bytes": 4096, "cores": 1} for level in (2, 1)],
            "the first level first",
        ),
        ("/inputs/sweep/x_shape", [1, 1], "the largest batch"),
        ("/results/bf16-m3", {}, "only "),
        ("/results/bf16-m2", None, "an object"),
        ("/probe/stream/triad-256kib/moved_bytes", 1, "each array once"),
        ("/probe/stream/triad-256kib/arrays", 2, "reads and writes"),
        ("/probe/matrix/int8-square-128/operations", 1, "2mkn"),
        ("/policies/sweep/int8/accumulator", "float32", "what int8 asks for"),
        ("/request/batches", [2, 1], "growing"),
        ("/request/dispatch", "lucky", "one of synchronous, asynchronous"),
        ("/request/platform", "tpu", "the platform of the device that ran"),
        ("/request/samples", 21, "as in report.json"),
        ("/order", [], "as requested"),
        ("/order/0", ["clock"], "each program once"),
        ("/caches", None, "a name on one line"),
        ("/lab", "precision_profile", "batch_sweep"),
        ("/scope/statement", "Measured on a TPU.", "what may be said"),
        ("/timing_floor_s/empty_call/minimum", 0.0, "the smallest sample"),
    ],
)
def test_a_report_that_contradicts_itself_is_refused_by_name(pointer, value, told):
    edits = {pointer: value}
    if pointer.startswith("/order/"):
        report = edited("sweep-cpu", {}).record.report
        edits = {"/order": [value, *report["order"][1:]]}
    with pytest.raises(EvidenceMismatch) as caught:
        read_run(edited("sweep-cpu", edits))

    assert "batch run" in caught.value.summary
    assert any(told in str(fault.expected) for fault in caught.value.faults)


def test_the_recorded_run_reads_as_a_sweep_of_every_policy():
    run = study().featured(SweepRun)

    assert run.name == "sweep-cpu"
    assert [row.id for row in run.of("int8")] == [f"int8-m{2**power}" for power in range(10)]
    assert run.machine == run.setting.machine
    assert all(point.products or point.calls for point in run.points)


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("results/int8-m1/operations", ("computed", "OP", "int8-m1")),
        ("results/fp32-m1/operations", ("computed", "FLOP", "fp32-m1")),
        ("results/int8-m1/rescale_flop", ("computed", "FLOP", "int8-m1")),
        ("results/int8-m1/timing_s/median", ("measured", "s", "int8-m1-timing")),
        ("results/int8-m1/timing_s/warm_up_calls/0", ("measured", "", "int8-m1-timing")),
        ("results/int8-m1/stored_bytes/total", ("computed", "B", "int8-m1-bytes")),
        ("results/int8-m1/compiler_accessed_bytes", ("estimated", "B", "int8-m1-bytes")),
        ("results/int8-m1/compiler_memory_bytes/peak", ("estimated", "B", "int8-m1-bytes")),
        ("results/int8-m1/relative_l2_error", ("measured", "", "int8-m1")),
        ("probe/stream/copy-256kib/moved_bytes", ("computed", "B", "copy-256kib")),
        ("probe/stream/copy-256kib/timing_s/minimum", ("measured", "s", "copy-256kib")),
        ("probe/matrix/int8-square-128/operations", ("computed", "OP", "int8-square-128")),
        ("probe/machine/cpu_model", ("measured", "", "ceilings")),
        ("caches/0/bytes", ("measured", "B", "ceilings")),
        ("timing_floor_s/empty_call/median", ("measured", "s", "ceilings")),
        ("request/rounds", ("given", "", "request")),
        ("order/0", ("computed", "", "request")),
    ],
)
def test_a_pointer_has_its_kind_its_unit_and_its_place(path, expected):
    keys = path.split("/")

    assert (kind("sweep-cpu", keys), unit(keys), section("", keys)) == expected
