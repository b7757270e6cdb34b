"""Sessions: when matches are given, the end, programs, statistics."""

import dataclasses
from random import Random
from typing import Any

import pytest

from cepheid import Matches, Query, UsageError

PAIR = "PATTERN SEQ(A a, B b)"
THEFT = "PATTERN SEQ(A a, !(B b)) WITHIN 10"


def event(time: Any, kind: str, **attributes: Any) -> dict[str, Any]:
    return {"ts": time, "type": kind, **attributes}


def ends(matches: Matches) -> list[Any]:
    """The times at which the matches start and end."""
    return [(m["match_start"], m["match_end"]) for m in matches.to_pylist()]


# When matches are given


def test_an_event_counts_once_the_watermark_is_past_it() -> None:
    session = Query(PAIR).session()
    assert ends(session.push([event(1, "A"), event(2, "B")])) == []
    assert ends(session.advance(2)) == []
    assert ends(session.advance(3)) == [(1, 2)]
    assert ends(session.close()) == []


def test_lateness_moves_the_watermark_with_each_push() -> None:
    session = Query(PAIR).session(lateness=2)
    assert ends(session.push([event(2, "B"), event(1, "A")])) == []
    assert ends(session.push([event(4, "C")])) == []  # the watermark is 2, and another event of that time may come
    assert ends(session.push([event(5, "C")])) == [(1, 2)]


def test_without_lateness_nothing_is_given_before_the_end() -> None:
    session = Query(PAIR).session()
    assert ends(session.push([event(1, "A")])) + ends(session.push([event(900, "B")])) == []
    assert ends(session.close()) == [(1, 900)]


def test_the_order_of_arrival_does_not_matter_before_the_watermark() -> None:
    session = Query(PAIR).session()
    session.push([event(3, "B")])
    session.push([event(2, "A"), event(1, "B")])
    assert ends(session.advance(4)) == [(2, 3)]


def test_ties_are_broken_by_content_across_pushes() -> None:
    for query, expected in [(PAIR, [(1, 1)]), ("PATTERN SEQ(B b, A a)", [])]:
        session = Query(query).session(lateness=0)
        session.push([event(1, "B")])
        session.push([event(1, "A")])
        assert ends(session.close()) == expected


def test_ties_are_broken_by_order_by_across_pushes() -> None:
    session = Query(PAIR, order_by="n").session(lateness=0)
    session.push([event(1, "A", n=2)])
    session.push([event(1, "B", n=1), event(1, "B", n=3)])
    assert [m["b"]["n"] for m in session.close()] == [3]


def test_simultaneous_events_across_pushes() -> None:
    session = Query(f"{PAIR} TIES SIMULTANEOUS").session(lateness=0)
    session.push([event(1, "A")])
    assert ends(session.push([event(1, "B")])) == []
    assert ends(session.push([event(2, "B")])) + ends(session.close()) == [(1, 2)]


def test_a_call_gives_its_matches_in_order() -> None:
    session = Query(PAIR).session()
    session.push([event(4, "B"), event(3, "B"), event(2, "A"), event(1, "A")])
    assert ends(session.advance(4)) == [(1, 3), (2, 3)]
    assert ends(session.close()) == [(1, 4), (2, 4)]


def test_matches_stay_what_they_were() -> None:
    session = Query("PATTERN SEQ(A a, B+ b[]) WITHIN 10").session(lateness=0)
    session.push([event(1, "A"), event(2, "B")])
    first = session.push([event(3, "B")])
    second = session.push([event(4, "B")])
    session.close()
    assert [[b["ts"] for b in m["b"]] for m in first] == [[2]]
    assert [[b["ts"] for b in m["b"]] for m in second] == [[2, 3], [3]]
    assert first.count() == len(first) == 1
    assert second.count() == len(second) == 2


def test_sessions_of_a_query_know_nothing_of_each_other() -> None:
    query = Query(PAIR)
    one, other = query.session(), query.session()
    one.push([event(1, "A")])
    other.push([event(2, "B")])
    assert ends(one.close()) + ends(other.close()) == []


@pytest.mark.parametrize("engine", ["auto", "interpreted", "plain", "compiled", "reference"])
def test_engines(engine: str) -> None:
    if engine == "reference":
        with pytest.raises(UsageError, match="engine"):
            Query(PAIR).session(engine=engine)
        return
    session = Query(PAIR).session(engine=engine)
    session.push([event(1, "A"), event(2, "B")])
    assert ends(session.close()) == [(1, 2)]


# Negation


def test_a_negation_at_the_end_fires_from_advance() -> None:
    session = Query(THEFT).session()
    session.push([event(1, "A"), event(5, "A"), event(12, "B")])
    assert ends(session.advance(10)) == []
    assert ends(session.advance(11)) == [(1, 1)]  # no event before 1 + 10 can come any more
    assert ends(session.advance(100)) == []
    assert ends(session.close()) == []


def test_a_negation_at_the_end_fires_from_push_too() -> None:
    session = Query(THEFT).session(lateness=0)
    assert ends(session.push([event(1, "A")])) == []
    assert ends(session.push([event(10, "C")])) == []
    assert ends(session.push([event(11, "C")])) == [(1, 1)]


def test_a_negation_at_the_end_fires_at_the_end_of_the_stream() -> None:
    session = Query(THEFT).session(lateness=0)
    session.push([event(1, "A"), event(2, "C")])
    assert ends(session.close()) == [(1, 1)]


def test_a_negation_at_the_end_of_a_window_of_events() -> None:
    session = Query("PATTERN SEQ(A a, !(B b)) WITHIN 2 events").session(lateness=0)
    assert ends(session.push([event(1, "A"), event(2, "C"), event(3, "B")])) == [(1, 1)]
    assert ends(session.push([event(4, "A"), event(5, "B")])) == []
    assert ends(session.close()) == []


def test_a_witness_that_comes_out_of_order() -> None:
    session = Query("PATTERN SEQ(A a, !(B b), C c) WITHIN 10").session()
    session.push([event(1, "A"), event(3, "C")])
    session.push([event(2, "B")])
    assert ends(session.close()) == []


def test_a_witness_from_before_the_first_event() -> None:
    session = Query("PATTERN SEQ(!(B b), A a) WITHIN 10").session(lateness=0)
    session.push([event(1, "B")])
    session.push([event(10, "A")])
    session.push([event(11, "A")])
    assert ends(session.close()) == [(11, 11)]


# The end


def test_a_session_that_is_closed_takes_nothing_more() -> None:
    session = Query(PAIR).session()
    session.push([event(1, "A"), event(2, "B")])
    assert len(session.close()) == 1
    for call in (lambda: session.push([event(3, "A")]), lambda: session.advance(9), session.close, session.snapshot):
        with pytest.raises(UsageError, match="the session is closed"):
            call()
    assert session.stats.matches == 1


def test_closing_what_was_given_nothing() -> None:
    matches = Query(PAIR).session().close()
    assert (len(matches), matches.count(), matches.to_pylist()) == (0, 0, [])


# Composition

PROGRAM = """
    PATTERN SEQ(A a, B b) WHERE [id] RETURN a.id AS id INTO Pair;
    FROM Pair PATTERN SEQ(Pair p, Pair q)
"""
PAIRS = [event(t, k, id=i) for t, k, i in [(1, "A", 1), (2, "B", 1), (3, "A", 2), (5, "B", 2)]]


def test_a_program_in_one_session() -> None:
    session = Query(PROGRAM).session(lateness=0)
    session.push(PAIRS[:2])
    given = session.push(PAIRS[2:3])
    assert ends(given.outputs["Pair"]) == [(1, 2)]
    assert ends(given) == ends(given.outputs["query 2"]) == []
    session = Query(PROGRAM).restore(session.snapshot())
    session.push(PAIRS[3:])
    given = session.advance(6)
    assert ends(given.outputs["Pair"]) == [(3, 5)]
    assert ends(given) == ends(given.outputs["query 2"]) == [(1, 5)]
    assert [match["q"]["id"] for match in given] == [2]


def test_a_negation_at_the_end_of_a_composition() -> None:
    """A pair is complete when the window of its own negation is over, and has its own, earlier time."""
    program = """
        PATTERN SEQ(A a, !(B b)) WITHIN 10 RETURN a.ts AS at INTO Alone;
        FROM Alone PATTERN SEQ(Alone p, !(Alone q)) WITHIN 5
    """
    events = [event(1, "A"), event(4, "A"), event(20, "A"), event(22, "B")]
    session = Query(program).session(lateness=0)
    found = [match for one in events for match in ends(session.push([one]))] + ends(session.close())
    assert found == ends(Query(program).match(events, engine="reference")) == [(4, 4)]


# Statistics


def test_stats() -> None:
    session = Query(f"{PAIR} WITHIN 10").session(lateness=0, late="drop")
    assert (session.stats.events, session.stats.matches, session.stats.late) == (0, 0, 0)
    session.push([event(1, "A"), event(2, "B")])
    session.push([event(3, "B"), event(1, "B")])
    session.close()
    stats = session.stats
    assert (stats.events, stats.matches, stats.late) == (3, 2, 1)
    assert (stats.plan, stats.replans, stats.tests) == ("automaton", 0, 0)
    told = "events runs merged state_bytes matches late plan replans tests steps debts"
    assert [f.name for f in dataclasses.fields(stats)] == told.split()
    with pytest.raises(dataclasses.FrozenInstanceError):
        stats.events = 0


def test_stats_are_those_of_a_moment() -> None:
    session = Query(PAIR).session(lateness=0)
    before = session.stats
    session.push([event(1, "A"), event(2, "A"), event(3, "C")])
    assert before.events == before.runs == 0
    assert (session.stats.runs, session.stats.merged) == (1, 1)  # two runs that will behave alike


@pytest.mark.parametrize(
    "query",
    [
        "PATTERN SEQ(A a, B b) WITHIN 10",
        "PATTERN SEQ(A a, B b) WITHIN 10 events",
        "PATTERN SEQ(A a, !(C c), B b) WITHIN 10",
        "PATTERN SEQ(A a, !(B b)) WITHIN 10",
        "PATTERN SEQ(!(B b), A a) WITHIN 10",
        "PATTERN SEQ(A a, B+ b[]) WHERE skip_till_next_match { [k] } WITHIN 10",
        "PATTERN SEQ(A a, B b) PARTITION BY k WITHIN 10",
    ],
)
def test_state_is_bounded_by_the_window(query: str) -> None:
    session = Query(query).session(lateness=0)
    sizes = []
    for start in range(0, 2000, 20):
        kinds = ["AABC"[t % 4] for t in range(start, start + 20)]
        session.push([event(start + n, kind, k=(start + n) // 40) for n, kind in enumerate(kinds)])
        sizes.append(session.stats.state_bytes)
    assert max(sizes[50:]) <= 2 * max(sizes[:50])


def test_that_queries_of_a_program_share_partitions_when_one_changes_its_plan() -> None:
    """A query reads the kept events again, with keys whose partitions were dropped: the other must make room."""
    query = Query("""
        PATTERN SEQ(X a, Y+ x[], C c) WHERE [id] WITHIN 100 seconds RETURN a.ts AS t INTO P;
        PATTERN SEQ(A a, B b, C c) WHERE [id] AND a.ts + 1 < c.ts WITHIN 60 RETURN a.ts AS t, c.ts AS v
    """)
    chance = Random(0)
    kinds = [("X", 0), *(("C", 3000 + k) for k in range(50)), *(("B", 1000 + k) for k in range(60))]
    kinds += [(chance.choices("ABC", [10, 10, 0.3])[0], 2000 + k // 3) for k in range(400)]
    events = [{"ts": t, "type": kind, "id": key} for t, (kind, key) in enumerate(kinds, start=1)]
    session = query.session(engine="plain")
    found = []
    for at in range(0, len(events), 10):
        session.push(events[at : at + 10])
        found += session.advance(min(at + 11, len(events))).to_pylist()
    assert session.stats.replans == 1
    found += session.close().to_pylist()
    assert sorted(map(repr, found)) == sorted(map(repr, query.match(events, engine="reference").to_pylist()))


def test_that_no_matches_have_the_type_that_a_function_turned_out_to_return() -> None:
    query = Query(
        "PATTERN SEQ(A a, B b) WITHIN 10 RETURN f(a.x) AS y INTO P; FROM P PATTERN SEQ(P p, P r) WITHIN 100",
        functions={"f": lambda x: None if x is None else x * 2},
    )
    session = query.session(engine="plain")
    for time in range(1, 30):
        pushed = session.push([event(time, "AB"[time % 2], x=time)])
        given = session.advance(time)
    assert pushed.to_arrow().schema == given.to_arrow().schema
    assert pushed.to_arrow().schema.field("p").type.field("y").type == "int64"
