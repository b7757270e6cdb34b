"""Matches that stand, and what takes their place: as multisets, whichever way it is run."""

from collections import Counter

import numpy as np
import pytest

from cepheid.engine.matches.match_table import NONE, MatchTable
from cepheid.engine.matches.standing import Standing

Match = tuple[tuple[int, int], ...]  # events, and what each is bound to
EVENTS = 12


def table(matches: list[Match]) -> MatchTable:
    if not matches:
        return NONE
    rows = np.array([row for match in matches for row, _ in match], np.int64)
    variables = np.array([variable for match in matches for _, variable in match], np.int16)
    offsets = np.cumsum([0, *map(len, matches)])
    return MatchTable(rows, variables, offsets, np.zeros(len(matches), np.int64), (frozenset(),))


def matches(found: MatchTable) -> Counter[Match]:
    pairs = list(zip(found.rows.tolist(), found.variables.tolist(), strict=True))
    return Counter(tuple(pairs[a:b]) for a, b in zip(found.offsets[:-1], found.offsets[1:], strict=True))


def some(rng: np.random.Generator, count: int) -> list[Match]:
    made = []
    for _ in range(count):
        rows = sorted(rng.choice(EVENTS, rng.integers(1, 4), replace=False).tolist())
        made.append(tuple((row, int(rng.integers(2))) for row in rows))
    return made


@pytest.mark.parametrize("native", [False, True])
@pytest.mark.parametrize("seed", range(10))
def test_what_is_gone_and_what_is_new(seed: int, native: bool) -> None:
    rng = np.random.default_rng(seed)
    standing, known = Standing(), Counter[Match]()
    for _ in range(20):
        changed, there = rng.random(EVENTS) < 0.5, rng.random(EVENTS) < 0.9
        again = [match for match in known.elements() if rng.random() < 0.7]  # most are found again
        found = table([*again, *some(rng, int(rng.integers(5)))])
        removed, added = standing.replace(found, changed, there, native=native)
        old = Counter({m: n for m, n in known.items() if changed[m[-1][0]] or not there[m[-1][0]]})
        new = Counter({m: n for m, n in matches(found).items() if changed[m[-1][0]]})
        assert matches(removed) == old - new
        assert matches(added) == new - old
        standing.add(added)
        known += matches(added)
        known -= matches(removed)
        assert matches(standing.all.take(np.flatnonzero(standing.alive))) == known


def test_those_that_are_kept_get_the_new_numbers_of_their_events() -> None:
    standing = Standing()
    one, other = ((2, 0), (5, 1)), ((3, 0), (4, 1))
    standing.add(table([one, other]))
    before = standing.all
    standing.keep(np.array([False, True]))
    standing.renumber(np.arange(EVENTS) - 3)
    assert matches(standing.all) == {((0, 0), (1, 1)): 1}
    assert matches(before) == {one: 1, other: 1}


def test_matches_that_were_taken_back_do_not_pile_up() -> None:
    standing, one, other = Standing(), table([((1, 0),)]), table([((1, 1),)])
    for _ in range(100):
        for found in (one, other):
            _, added = standing.replace(found, np.ones(EVENTS, bool), np.ones(EVENTS, bool), native=False)
            standing.add(added)
    assert len(standing.all) <= 3
