"""Events by partition and time: sorted, merged, found and dropped, by plain Python and compiled."""

from typing import Any

import numpy as np
import pytest

from cepheid.engine.encoding.instants import last_of_instants
from cepheid.kernel.compile import run_on_arrays
from cepheid.kernel.partition_order import PLACES

either = pytest.mark.parametrize("native", [False, True])


def events(seed: int, count: int, partitions: int, times: int) -> tuple[Any, Any]:
    rng = np.random.default_rng(seed)
    return rng.integers(-times, times + 1, count), rng.integers(0, partitions, count).astype(np.uint32)


def arranged(chosen: Any, time: Any, partition: Any, *, native: bool) -> Any:
    found = np.asarray(chosen, np.uint32)
    spare, heads = np.zeros(len(found), np.uint32), np.zeros(PLACES, np.uint32)
    run_on_arrays("sort_events", found, len(found), time, partition, spare, heads, native=native)
    return found


@either
@pytest.mark.parametrize("count", [0, 1, 2, 50, 700])
@pytest.mark.parametrize("partitions", [1, 3, 5_000])
@pytest.mark.parametrize("times", [0, 5, 10**6, 2**62])
def test_events_are_sorted_by_partition_and_time_and_stay_in_place_otherwise(
    count: int, partitions: int, times: int, native: bool
) -> None:
    time, partition = events(count, count, partitions, times)
    found = arranged(np.arange(count), time, partition, native=native)
    assert found.tolist() == np.lexsort((time, partition)).tolist()


@either
def test_times_that_are_farther_apart_than_an_integer_is_wide(native: bool) -> None:
    time = np.array([2**63 - 1, -(2**63), 0, 2**63 - 1, -(2**63) + 1])
    assert arranged(np.arange(5), time, np.zeros(5, np.uint32), native=native).tolist() == [1, 4, 2, 0, 3]


@either
@pytest.mark.parametrize("seed", range(20))
def test_sorted_events_are_merged_after_those_of_their_time(seed: int, native: bool) -> None:
    time, partition = events(seed, 200, 1 + seed % 4, 10 + 40 * seed)
    size = seed * 10
    order = np.empty(200, np.uint32)
    order[:size] = arranged(np.arange(size), time, partition, native=native)
    fresh = arranged(np.arange(size, 200), time, partition, native=native)
    ties = run_on_arrays("merge_events", order, size, fresh, len(fresh), time, partition, native=native)
    assert order.tolist() == np.lexsort((time, partition)).tolist()
    known = list(zip(partition.tolist(), time.tolist(), strict=True))
    assert (ties > 0) == (len(set(known[size:])) < 200 - size or bool(set(known[:size]) & set(known[size:])))


@either
def test_the_first_event_that_is_not_before_a_time(native: bool) -> None:
    time, partition = np.array([1, 3, 3, 8, 2, 2, 9]), np.array([0, 0, 0, 0, 2, 2, 5], np.uint32)
    order = np.arange(7, dtype=np.uint32)
    for low in range(8):
        for own in range(-1, 7):
            for when in range(11):
                wanted = [k for k in range(low, 7) if (int(partition[k]), time[k]) >= (own, when)]
                found = run_on_arrays("first_event", order, low, 7, time, partition, own, when, native=native)
                assert found == (wanted[0] if wanted else 7)


@either
def test_events_that_are_gone_leave_no_gap(native: bool) -> None:
    order, there = np.array([3, 1, 0, 2], np.uint32), np.array([1, 0, 1, 0], np.uint8)
    assert run_on_arrays("drop_events", order, 4, there, native=native) == 2
    assert order[:2].tolist() == [0, 2]


@either
@pytest.mark.parametrize("seed", range(8))
def test_which_events_are_the_last_of_their_partition_at_their_time(seed: int, native: bool) -> None:
    chance = np.random.default_rng(seed)
    count, partitions = int(chance.integers(1, 60)), int(chance.integers(1, 5))
    time = np.sort(chance.integers(0, 12, count))
    partition = chance.integers(0, partitions, count).astype(np.uint32)
    found = np.zeros(count, np.uint8)
    given = count, time, partition, partitions, np.zeros(partitions, np.uint32), found
    run_on_arrays("mark_instants", *given, native=native)
    pairs = list(zip(time.tolist(), partition.tolist(), strict=True))
    expected = [2 if pairs.count(one) == 1 else int(one not in pairs[k + 1 :]) for k, one in enumerate(pairs)]
    assert found.tolist() == expected
    assert last_of_instants(time, partition).tolist() == expected
