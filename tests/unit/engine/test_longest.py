"""One match per incident (S24), and when a session gives it."""

from typing import Any

import pytest

from cepheid import Query
from cepheid.testing.outcomes import to_json

ENGINES = ["reference", "interpreted", "plain", "compiled"]


def readings() -> list[dict[str, Any]]:
    """60 sensors of which six die: their last twenty readings fall from 20 to 1."""
    dying = range(3, 60, 10)
    return [
        {"ts": 60 * t + s, "type": "R", "sensor": s, "x": 40 - t if s in dying and t >= 20 else 20 + t % 2}
        for t in range(40)
        for s in range(60)
    ]


DYING = """
    PATTERN R{5,} r[]
    WHERE   partition_contiguity { [sensor] AND r[i].x < r[i-1].x }
    WITHIN  1 hour
    RETURN  r[1].sensor AS sensor, r.LEN AS n, r[r.LEN].x AS last
"""


@pytest.mark.parametrize("engine", ENGINES)
def test_that_a_sensor_that_dies_is_one_match(engine: str) -> None:
    found = Query(DYING + "OUTPUT LONGEST").match(readings(), engine=engine).to_pylist()
    assert [(m["sensor"], m["n"], m["last"]) for m in found] == [(s, 21, 1) for s in range(3, 60, 10)]
    assert len(Query(DYING).match(readings(), engine=engine)) == 6 * sum(range(1, 18))


@pytest.mark.parametrize("engine", ENGINES)
def test_that_of_simultaneous_composite_events_one_may_be_free(engine: str) -> None:
    """Two pairs end at 7: one begins at 4, within the match that is given, the other at 6, after it."""
    query = Query("""
        PATTERN SEQ(A a, B b) WHERE [k] RETURN a.k AS k INTO Pair;
        FROM Pair PATTERN SEQ(Pair p, Pair q) WITHIN 4 OUTPUT LONGEST TIES SIMULTANEOUS
    """)
    pairs = [(1, 2), (3, 5), (4, 7), (6, 7), (8, 9)]
    events = [{"ts": pair[n], "type": "AB"[n], "k": k} for k, pair in enumerate(pairs) for n in (0, 1)]
    found = query.match(events, engine=engine)
    assert [(m["match_start"], m["match_end"]) for m in found] == [(1, 5), (6, 9)]


def advances(text: str, rows: str, engine: str) -> list[list[str]]:
    """What a session gives at each event, its type and time being written as in `A1 B2`, and when it is closed."""
    session = Query(text).session(engine=engine, lateness=0)
    events = [{"ts": int(row[1:]), "type": row[0]} for row in rows.split()]
    calls = [session.push([event]).to_pylist() for event in events] + [session.close().to_pylist()]
    return [[f"{m['match_start']}-{m['match_end']}" for m in call] for call in calls]


@pytest.mark.parametrize("engine", ENGINES[1:])
@pytest.mark.parametrize(
    ("query", "rows", "expected"),
    [
        # Contiguity ends it.
        (
            "PATTERN SEQ(A a, B+ b[]) WHERE strict_contiguity { }",
            "A1 B2 B3 C4 A5 B6 C7 C8",
            [[], [], [], [], ["1-3"], [], [], ["5-6"], []],
        ),
        # A run of the window ends with it.
        (
            "PATTERN SEQ(A a, B+ b[]) WITHIN 4",
            "A1 B2 B3 C4 C5 B6",
            [[], [], [], [], ["1-3"], [], []],
        ),
        # An earlier start may still become a match, and then it is the first.
        (
            "PATTERN SEQ(ANY(A, X) a, B b) WHERE skip_till_next_match { a.type = 'A' OR b.ts > 6 }",
            "X1 A2 B3 C4 B7 C8",
            [[], [], [], [], [], ["1-7"], []],
        ),
        # It waits for what must be absent.
        (
            "PATTERN SEQ(A a, B b, !(X n)) WITHIN 4",
            "A1 B2 A3 B4 C5 C6 X7",
            [[], [], [], [], ["1-4"], [], [], []],
        ),
        # A window of events ends with its last event.
        (
            "PATTERN SEQ(A a, B+ b[]) WITHIN 3 events",
            "A1 B2 B3 C4 C5",
            [[], [], [], ["1-3"], [], []],
        ),
        # What starts before the last match has ended and cooled down holds nobody up.
        (
            "PATTERN SEQ(A a, B b) WHERE skip_till_next_match { }",
            "A1 B2 A3 A5 B6 C7",
            [[], [], ["1-2"], [], [], ["3-6"], []],
        ),
    ],
)
def test_that_a_match_is_given_when_no_event_can_change_the_choice(
    engine: str, query: str, rows: str, expected: list[list[str]]
) -> None:
    assert advances(f"{query} OUTPUT LONGEST", rows, engine) == expected


def test_that_a_run_in_the_cooldown_holds_nobody_up() -> None:
    query = "PATTERN SEQ(A a, B b) WHERE skip_till_next_match { } OUTPUT LONGEST COOLDOWN 4"
    for engine in ENGINES[1:]:
        assert advances(query, "A1 B2 A3 A6 B7 C8", engine) == [[], [], ["1-2"], [], [], ["6-7"], []]


@pytest.mark.parametrize("engine", ENGINES[1:])
@pytest.mark.parametrize("output", ["LONGEST COOLDOWN 6", "NON_OVERLAP COOLDOWN 6"])
def test_that_a_session_that_is_restored_remembers_the_cooldown(engine: str, output: str) -> None:
    query = Query(f"PATTERN SEQ(A a, B b) WHERE [k] WITHIN 3 OUTPUT {output}")
    events = [{"ts": t, "type": "AB"[t % 2], "k": t // 40} for t in range(80)]
    session, found = query.session(engine=engine, lateness=0), []
    for event in events:
        found += session.push([event]).to_pylist()
        session = query.restore(session.snapshot())
    found += session.close().to_pylist()
    assert sorted(map(to_json, found)) == sorted(map(to_json, query.match(events, engine="reference").to_pylist()))
    assert [m["match_start"] for m in found][:4] == [0, 8, 16, 24]


@pytest.mark.parametrize("engine", ["plain", "interpreted"])
def test_a_run_that_a_witness_has_refuted_holds_nothing_back(engine: str) -> None:
    """Its next event would come after what must be absent before it."""
    text = """
        PATTERN SEQ(A a, !(A n), ANY(A, C) b) WHERE skip_till_any_match { TRUE } WITHIN 4 events OUTPUT LONGEST
    """
    session = Query(text).session(engine=engine)
    session.push([{"ts": 2, "type": "A"}, {"ts": 9, "type": "A"}])
    assert [(m["match_start"], m["match_end"]) for m in session.advance(10)] == [(2, 9)]
