"""Sums over intervals, against a slow count of single nanoseconds."""

from hypothesis import given
from hypothesis import strategies as st

from lab.kit.intervals import TOLERANCE_NS, Spans, length, nest

MICROSECOND = TOLERANCE_NS

events = st.lists(st.tuples(st.integers(0, 60), st.integers(0, 30)), max_size=12)


def in_order(found: list[tuple[int, int]]) -> tuple[list[int], list[int]]:
    ordered = sorted(found, key=lambda event: (event[0], -event[1]))
    return [start for start, _ in ordered], [duration for _, duration in ordered]


@given(events)
def test_busy_time_counts_no_instant_twice(found: list[tuple[int, int]]) -> None:
    starts, durations = in_order(found)
    spans = Spans((start, start + d) for start, d in zip(starts, durations, strict=True))

    covered = {t for start, d in found for t in range(start, start + d)}
    assert spans.total == len(covered)
    assert length(spans.within(10, 40)) == len(covered & set(range(10, 40)))


@given(st.recursive(st.just([]), lambda inner: st.lists(inner, max_size=3), max_leaves=12))
def test_self_times_of_nested_events_sum_to_the_busy_time(tree: list[object]) -> None:
    starts: list[int] = []
    durations: list[int] = []

    def lay(node: list[object], start: int) -> int:
        """Lay a node and its children out, 5 µs before each child and after the last."""
        at = len(starts)
        starts.append(start)
        durations.append(0)
        end = start + 5 * MICROSECOND
        for child in node:
            assert isinstance(child, list)
            end = lay(child, end) + 5 * MICROSECOND
        durations[at] = end - start
        return end

    end = lay(tree, 0)
    nesting = nest(starts, durations)

    assert sum(nesting.self_ns) == end
    assert min(nesting.self_ns) > 0
    assert nesting.overlapping == 0
    assert nesting.parents.count(-1) == 1


@given(events)
def test_no_event_has_less_than_nothing_or_more_than_itself(found: list[tuple[int, int]]) -> None:
    starts, durations = in_order([(a * MICROSECOND, b * MICROSECOND) for a, b in found])
    nesting = nest(starts, durations)

    assert all(0 <= own <= d for own, d in zip(nesting.self_ns, durations, strict=True))


def test_a_child_may_end_a_microsecond_after_its_parent_and_no_more() -> None:
    within = nest([0, 5_000], [10_000, 6_000])
    beyond = nest([0, 5_000], [10_000, 6_001])

    assert (list(within.parents), within.overlapping) == ([-1, 0], 0)
    assert list(within.self_ns) == [5_000, 6_000]
    assert (list(beyond.parents), beyond.overlapping) == ([-1, -1], 1)
    assert list(beyond.self_ns) == [10_000, 6_001]
    assert list(beyond.first_overlaps) == [1]


def test_neighbours_that_touch_or_overlap_by_rounding_are_not_nested() -> None:
    nesting = nest([0, 9_500, 30_000], [10_000, 20_500, 10])

    assert list(nesting.parents) == [-1, -1, -1]
    assert nesting.overlapping == 0


def test_parallel_children_are_taken_from_their_parent_once() -> None:
    nesting = nest([0, 10_000, 20_000], [100_000, 40_000, 40_000])

    assert nesting.overlapping == 1
    assert list(nesting.self_ns) == [50_000, 40_000, 40_000]


def test_thousands_of_parallel_events_stay_quick_and_flat() -> None:
    nesting = nest(range(0, 4_000_000, 1_000), [10_000_000 + at for at in range(4_000)])

    assert set(nesting.parents) == {-1}
    assert nesting.overlapping == 3_999
