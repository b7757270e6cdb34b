"""Automata put together of a frame and its conditions: what a condition adds to which arc."""

import pyarrow as pa
import pytest

from cepheid import Query
from cepheid.automaton.build import build
from cepheid.automaton.model import Automaton
from cepheid.engine.many.assembled import NotUnitedError, added, assembled, plain
from cepheid.pattern.schema import make_schema

SCHEMA = pa.schema(
    [("ts", pa.int64()), ("type", pa.string()), ("k", pa.int64()), ("x", pa.int64()), ("y", pa.float64())]
)
CHAIN = "PATTERN SEQ(A a, A b, A c) WHERE skip_till_next_match {{ {} }} WITHIN 20"


@pytest.fixture(autouse=True)
def quiet(recwarn: pytest.WarningsRecorder) -> None:
    """A frame without conditions matches every event, of which the query warns."""


def automaton(text: str) -> Automaton:
    query = Query(text).compiled
    return build(query.bind(make_schema(SCHEMA, query.roles))[0])


@pytest.mark.parametrize(
    ("frame", "conditions"),
    [
        (CHAIN, ["a.k = 1", "a.y < 0.5", "b.x > a.x", "c.x > b.x + a.x", "c.k = b.k", "a.x IN (1, 2)"]),
        (CHAIN.replace("A b", "!(A n), A b"), ["a.k = 1", "n.k = a.k", "n.x > 3", "b.x > a.x", "c.y = 0.5"]),
        (CHAIN.replace("A b", "A+ b[]"), ["b[1].k = a.k", "b[i].x > b[i-1].x", "avg(b[].y) > 0.5", "c.x > b.LEN"]),
    ],
)
def test_that_fences_are_unions(frame: str, conditions: list[str]) -> None:
    parts = [automaton(frame.format(condition)) for condition in conditions]
    found = assembled(automaton(frame.format("")), parts)
    whole = automaton(frame.format(" AND ".join(conditions)))
    assert found.arcs == whole.arcs
    assert (found.kills, found.exits, found.live, found.needed) == (whole.kills, whole.exits, whole.live, whole.needed)
    assert set(found.registers) == set(whole.registers)


def test_that_a_chain_of_cesar_is_a_union_and_lasts_as_long_as_the_shortest_allows() -> None:
    frame = "CESAR LET S, T, U := A SELECT[{}](SELECT[{}](SELECT[{}](S) ;[{}] T) ;[{}] U)"
    blocks = [["U.x > T.x", "U.k = 2"], ["T.k = 3"], ["k = 1", "y < 0.5"], ["T.x > S.x", "DUR <= 9"], ["DUR <= 20"]]
    parts = [
        automaton(frame.format(*(condition if n == k else "TRUE" for n in range(5))))
        for k, block in enumerate(blocks)
        for condition in block
    ]
    found = assembled(automaton(frame.format(*["TRUE"] * 5)), parts)
    whole = plain(automaton(frame.format(*(" AND ".join(block) for block in blocks))))
    assert [set(arc.fence) for arc in found.arcs] == [set(arc.fence) for arc in whole.arcs]
    assert [arc.transfer for arc in found.arcs] == [arc.transfer for arc in whole.arcs]
    assert (found.kills, found.exits, found.live, found.needed) == (whole.kills, whole.exits, whole.live, whole.needed)


def test_what_a_condition_adds() -> None:
    frame, part = automaton(CHAIN.format("")), automaton(CHAIN.format("b.x > a.x"))
    tests = [added(one.fence, other.fence) for one, other in zip(frame.arcs, part.arcs, strict=True)]
    assert [len(test) for test in tests] == [0, 1, 0]
    assert not tests[1][0][1].unary


def test_that_a_condition_that_is_false_leaves_nothing() -> None:
    parts = [automaton(CHAIN.format(condition)) for condition in ("a.k = 1", "1 = 2")]
    assert assembled(automaton(CHAIN.format("")), parts) == automaton(CHAIN.format("a.k = 1 AND 1 = 2"))


def test_that_a_condition_that_changes_the_states_is_refused() -> None:
    with pytest.raises(NotUnitedError, match="changes the states"):
        assembled(automaton("PATTERN A a"), [automaton("PATTERN A+ a[]")])


def test_that_conditions_of_cesar_that_may_split_the_stream_are_refused() -> None:
    frame = "CESAR LET S, T, U := A S ;[{}] T ;[{}] U"
    parts = [automaton(frame.format("S.k = T.k", "TRUE")), automaton(frame.format("TRUE", "T.k = U.k"))]
    with pytest.raises(NotUnitedError, match="split the stream"):
        assembled(automaton(frame.format("TRUE", "TRUE")), parts)
