"""Counts by blocks of nodes: the same as node by node, and as what is known without a graph."""

import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import cepheid as cep
from cepheid.engine.matches import counts
from cepheid.engine.matches.graph import MatchGraph
from cepheid.kernel import counting_blocks
from cepheid.kernel.match_store import MatchArrays, NodeArrays

PATTERNS = ["SEQ(A a, B+ b[], C c)", "SEQ(A+ a[], B b)", "SEQ(A? a, B+ b[], C c)"]
Outcomes = list[bool]


@pytest.fixture
def by_blocks(monkeypatch: pytest.MonkeyPatch) -> Outcomes:
    """Whether each count that was asked for was by blocks."""
    outcomes: Outcomes = []
    count: Callable[[MatchGraph], int | None] = counts._count_by_blocks

    def counted(graph: MatchGraph) -> int | None:
        found = count(graph)
        outcomes.append(found is not None)
        return found

    monkeypatch.setattr(counts, "_count_by_blocks", counted)
    monkeypatch.setattr(counts, "_windows_overlap", lambda graph: True)  # whether it pays or not
    return outcomes


def stream(seed: int, size: int, types: str = "ABBC") -> list[dict[str, Any]]:
    choice = random.Random(seed)
    return [{"ts": t, "type": choice.choice(types)} for t in range(size)]


@pytest.mark.filterwarnings("ignore::cepheid.CepheidWarning")
@pytest.mark.parametrize("window", ["", "WITHIN 20 events", "WITHIN 150 seconds"])
@pytest.mark.parametrize("pattern", PATTERNS)
def test_a_count_by_blocks_is_that_of_the_plain_engine(pattern: str, window: str, by_blocks: Outcomes) -> None:
    query = cep.Query(f"PATTERN {pattern} {window}")
    for seed in range(3):
        events = stream(seed, 300)
        assert query.match(events, engine="compiled").count() == query.match(events, engine="plain").count()
    assert by_blocks == [True] * 3


def test_a_long_window_has_the_count_that_is_known(by_blocks: Outcomes) -> None:
    events = stream(7, 6000, "A" + "B" * 40 + "C")
    expected = 0
    for end, event in enumerate(events):
        between = 0
        for other in reversed(events[max(0, end - 1999) : end]) if event["type"] == "C" else ():
            between += other["type"] == "B"
            expected += 2**between - 1 if other["type"] == "A" else 0
    assert (
        cep.Query("PATTERN SEQ(A a, B+ b[], C c) WITHIN 2000 events").match(events, engine="compiled").count()
        == expected
    )
    assert by_blocks == [True]


def test_matches_that_are_one_event_or_share_a_root(by_blocks: Outcomes) -> None:
    graph = a_graph(roots=[counts.NIL, 2, 2, counts.NIL, 2], lows=[0, 0, 0, 1, 1])
    assert counts.count_graph(graph) == 1 + 2 + 2 + 1 + 1
    assert by_blocks == [True]


def test_windows_that_do_not_begin_in_order_are_counted_by_nodes(by_blocks: Outcomes) -> None:
    assert counts.count_graph(a_graph(roots=[2, 2], lows=[1, 0])) == 1 + 2
    assert by_blocks == [False]


def test_a_frontier_that_is_too_large_is_counted_by_nodes(by_blocks: Outcomes) -> None:
    starts = counting_blocks.BLOCK + 10  # each is referred to by a node of its own, long after
    none = np.full(starts, counts.NIL, np.uint32)
    later = np.arange(starts, dtype=np.uint32)
    tops = np.arange(2 * starts, dtype=np.uint32)[starts - 1 : -1]
    tops[0] = counts.NIL
    n_next, n_alt = np.concatenate([none, later]), np.concatenate([none, tops])
    zeros = np.zeros(2 * starts, np.int64)
    matches = MatchArrays(np.array([2 * starts - 1], np.uint32), zeros[:1], zeros[:1])
    graph = MatchGraph(NodeArrays(zeros, n_next, n_alt, zeros), matches, 1, compiled=True, dense=True)
    assert counts.count_graph(graph) == starts
    assert by_blocks == [False]


def a_graph(roots: list[int], lows: list[int]) -> MatchGraph:
    """Two starts, at 0 and 1, and what follows both."""
    n_next = np.array([counts.NIL, counts.NIL, 1], np.uint32)
    n_alt = np.array([counts.NIL, counts.NIL, 0], np.uint32)
    nodes = NodeArrays(np.zeros(3, np.int64), n_next, n_alt, np.array([0, 1, 1]))
    matches = MatchArrays(np.array(roots, np.uint32), np.zeros(len(roots), np.int64), np.array(lows))
    return MatchGraph(nodes, matches, len(roots), compiled=True, dense=True)
