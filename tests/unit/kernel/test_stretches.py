"""Which events are gone over again, by plain Python and compiled."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from cepheid.kernel.compile import run_on_arrays
from cepheid.kernel.stretches import APPENDED, CUT, OPEN, SKIPPED, WHOLE

either = pytest.mark.parametrize("native", [False, True])


@dataclass
class Found:
    events: list[int]
    skip: list[int]
    recent: list[int]
    parts: list[tuple[int, int, int]]  # partition, end, kind
    seen: list[int]


def found(partitions: list[str], *, reach: int = -1, timed: bool = False, native: bool) -> Found:
    """The parts of partitions. A letter for each time: an event that is known, Quiet, New or Gone, or `.` for none."""
    given = [(k, at, letter) for k, word in enumerate(partitions) for at, letter in enumerate(word) if letter != "."]
    partition, time = np.array([one[0] for one in given], np.uint32), np.array([one[1] for one in given], np.int64)
    letters = np.array([one[2] for one in given])
    there, seen, quiet = ((letters != "G"), (letters != "N"), (letters == "Q"))
    flags = [flag.astype(np.uint8) for flag in (there, seen, quiet)]
    fresh, gone = (np.flatnonzero(letters == letter).astype(np.uint32) for letter in "NG")
    size = len(given)
    events, skip, recent = np.zeros(size, np.uint32), np.zeros(size, np.int64), np.zeros(size, np.uint8)
    owners, ends, kinds = np.zeros(size, np.int64), np.zeros(size, np.int64), np.zeros(size, np.uint8)
    order = np.arange(size, dtype=np.uint32)
    asked = fresh, len(fresh), gone, len(gone), int(timed), reach
    made: list[Any] = [events, skip, recent, owners, ends, kinds]
    parts = run_on_arrays("find_parts", order, size, time, partition, *flags, *asked, *made, native=native)
    total = int(ends[parts - 1]) if parts else 0
    lists = [a[:total].tolist() for a in (events, skip, recent)]
    return Found(
        *lists, list(zip(*(a[:parts].tolist() for a in (owners, ends, kinds)), strict=True)), flags[1].tolist()
    )


@either
def test_new_events_after_all_others_go_on(native: bool) -> None:
    one = found(["kk", "kkNN", "N"], native=native)
    assert (one.events, one.skip, one.recent) == ([4, 5, 6], [0, 0, 0], [1, 1, 1])
    assert one.parts == [(1, 2, APPENDED), (2, 3, APPENDED)]
    assert all(one.seen)


@either
def test_a_stretch_goes_from_a_quiet_event_to_a_quiet_one_and_on_to_the_next_change(native: bool) -> None:
    one = found(["kQkkNkQkkQkNkQk"], native=native)
    assert one.events == list(range(2, 15))
    # After event 6 go on with event 10, after event 13 there is nothing left to do.
    assert one.skip == [0, 0, 0, 0, 8, 0, 0, 8, 0, 0, 0, 13, 0]
    assert one.recent == [0, 0, *[1] * 11]
    assert one.parts == [(0, 13, OPEN)]


@either
def test_what_follows_an_event_that_is_gone_has_changed(native: bool) -> None:
    one = found(["QkGQkQk"], native=native)
    assert one.events == [1, 3, 4, 5, 6]
    assert one.skip == [0, 0, 0, 5, 0]
    assert one.parts == [(0, 5, OPEN)]


@either
def test_where_the_last_events_are_gone_a_partition_goes_on_after_the_last_quiet_one(native: bool) -> None:
    assert found(["kQGG"], native=native).parts == [(0, 0, WHOLE)]
    one = found(["QNkQkQkG"], native=native)
    assert (one.events, one.skip) == ([1, 2, 3, 4, 5, 6], [0, 0, 5, 0, 5, 0])
    assert one.parts == [(0, 6, WHOLE)]


@either
def test_a_window_of_time_before_and_after(native: bool) -> None:
    one = found(["kkkkNkGkkkk", "N", "kkGkk"], reach=3, timed=True, native=native)
    assert one.events == [2, 3, 4, 5, 7, 8, 11, 12, 13, 15, 16]
    assert one.recent == [0, 0, 1, 1, 1, 1, 1, 0, 0, 1, 1]
    assert one.parts == [(0, 6, CUT), (1, 7, APPENDED), (2, 11, WHOLE)]


@either
def test_a_window_of_events_before_and_after(native: bool) -> None:
    one = found(["k.k.k.Nk..k.kk"], reach=2, native=native)
    assert (one.events, one.recent) == ([1, 2, 3, 4, 5], [0, 0, 1, 1, 1])
    assert one.parts == [(0, 5, CUT)]
    assert found(["k.k.k.Nk..k"], reach=2, native=native).parts == [(0, 5, WHOLE)]


@pytest.mark.parametrize("seed", range(30))
def test_plain_python_and_machine_code_find_the_same(seed: int) -> None:
    rng = np.random.default_rng(seed)
    partitions = ["".join(rng.choice(list("kkkQQNG."), rng.integers(0, 30))) for _ in range(1 + seed % 5)]
    for reach, timed in ((-1, False), (2, False), (3, True)):
        assert found(partitions, reach=reach, timed=timed, native=True) == found(
            partitions, reach=reach, timed=timed, native=False
        )


@either
def test_what_is_left_behind(native: bool) -> None:
    events, left = np.array([4, 2, 3, 0], np.uint32), np.array([1, 0, SKIPPED, 1], np.uint8)
    quiet, changed = np.zeros(5, np.uint8), np.zeros(5, np.uint8)
    ends, kinds = np.array([1, 3, 4]), np.array([APPENDED, OPEN, OPEN], np.uint8)
    recent = np.array([1, 0, 1, 1], np.uint8)
    assert run_on_arrays("note_parts", events, left, 4, recent, quiet, changed, ends, kinds, 3, native=native) == 3
    assert (quiet.tolist(), changed.tolist()) == ([1, 0, 0, 0, 1], [1, 0, 0, 0, 1])
    assert kinds.tolist() == [APPENDED, CUT, WHOLE]
