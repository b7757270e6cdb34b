"""Matches of one length in the order of S9, and parts of matches that are divided between ends."""

import numpy as np
import pytest

from cepheid.engine.matches import sorted_matches
from cepheid.engine.matches.graph import together, whole_ends
from cepheid.engine.matches.join_matches import JoinMatches
from cepheid.kernel.join.output import MatchPositions


def parts_of(table: list[list[int]], origin: int, sizes: list[int]) -> list[MatchPositions]:
    """Positions in parts, each of which counts from an origin of its own."""
    found, at = [], 0
    for size in sizes:
        rows = np.array(table[at : at + size], np.int64).reshape(-1, len(table[0]))
        found.append(MatchPositions(origin, [np.array(rows[:, x] - origin, np.uint32) for x in range(rows.shape[1])]))
        at, origin = at + size, max(0, origin - 1)
    return found


@pytest.mark.parametrize("length", [1, 2, 4])
@pytest.mark.parametrize("base", [0, 90])
def test_the_compiled_order_is_that_of_numpy(length: int, base: int, monkeypatch: pytest.MonkeyPatch) -> None:
    table = np.sort(np.random.default_rng(length).integers(100, 400, (3_000, length)), axis=1).tolist()
    parts = parts_of(table, 100, [1_000, 1_500, 500])
    expected = sorted(table, key=lambda row: (row[-1], row))
    for many in (10**9, 0):
        monkeypatch.setattr(sorted_matches, "MANY", many)
        found = JoinMatches(parts, length, frozenset(), base, ordered=True)
        rows = np.stack(found.columns(length).rows, axis=1) + base
        assert rows.tolist() == expected
        assert (found.all().rows + base).reshape(-1, length).tolist() == expected


def test_the_compiled_order_where_components_come_in_any_order(monkeypatch: pytest.MonkeyPatch) -> None:
    generator = np.random.default_rng(1)
    table = [generator.permutation(60)[:3].tolist() for _ in range(2_000)]
    table = [list(row) for row in dict.fromkeys(map(tuple, table))]

    def rank(row: list[int]) -> tuple[int, list[int], list[int]]:
        return max(row), sorted(row), row

    for many in (10**9, 0):
        monkeypatch.setattr(sorted_matches, "MANY", many)
        columns = JoinMatches(parts_of(table, 0, [len(table)]), 3, frozenset(), 0, ordered=False).columns(3)
        assert np.stack(columns.rows, axis=1).tolist() == sorted(table, key=rank)
        assert columns.first.tolist() == [min(row) for row in sorted(table, key=rank)]


def test_positions_that_do_not_fit_into_one_number(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sorted_matches, "MANY", 0)
    table = [[0, 1, 2**31], [0, 5, 2**31], [0, 2, 2**31 - 1], [3, 4, 9], [2, 2**31, 2**31 + 1]]
    found = JoinMatches(parts_of(table, 0, [5]), 3, frozenset(), 0, ordered=True).columns(3)
    assert np.stack(found.rows, axis=1).tolist() == sorted(table, key=lambda row: (row[-1], row))


@pytest.mark.parametrize("sizes", [[6], [1, 5], [3, 3], [2, 2, 2], [4, 1, 1], [1, 1, 1, 1, 1, 1]])
def test_no_end_is_in_two_parts(sizes: list[int]) -> None:
    ends, shift = [4, 4, 5, 5, 5, 9], 2
    parts, at = [], 0
    for size in sizes:
        words = np.array([word << shift for end in ends[at : at + size] for word in (end - 1, end)])
        parts.append((words, np.arange(size + 1) * 2))
        at += size
    divided = list(whole_ends(parts, lambda words, offsets: words[offsets[1:] - 1] >> shift))
    found = [set((words[offsets[1:] - 1] >> shift).tolist()) for words, offsets in divided]
    assert sum(map(len, found)) == len(set().union(*found))
    for one, other in zip(together(parts), together(divided), strict=True):
        assert one.tolist() == other.tolist()
