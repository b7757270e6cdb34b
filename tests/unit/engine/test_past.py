"""What a session that speculates holds of the events before the watermark, where windows are long."""

from random import Random
from typing import Any

import pyarrow as pa
import pytest

from cepheid import Query
from cepheid.engine.stream import partition_replay, past
from cepheid.testing.outcomes import to_json

THEFTS = "PATTERN SEQ(Shelf a, !(Register b), Exit c) WHERE [tag] WITHIN 12 hours"
SCHEMA = pa.schema({"ts": pa.int64(), "type": pa.string(), "tag": pa.int64(), "x": pa.int64()})


@pytest.fixture(autouse=True)
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is not needed is looked for early, a few events at a time."""
    monkeypatch.setattr(partition_replay, "FEW", 0)
    monkeypatch.setattr(past, "MANY", 7)


def visit(tag: int) -> list[dict[str, Any]]:
    """What happens to a thing in a shop, one each minute: every tenth stays on its shelf."""
    begin = 4 * tag
    if tag % 10 == 0:
        return [{"ts": begin, "type": "Shelf", "tag": tag, "x": 0}]
    return [{"ts": begin + k, "type": type, "tag": tag, "x": k} for k, type in enumerate(["Shelf", "Register", "Exit"])]


def held(session: Any) -> int:
    """How many events there are once all is let go of that can be."""
    session.snapshot()
    return int(session.engine.own.way.events.count)


@pytest.mark.parametrize("engine", ["plain", "compiled"])
def test_that_only_open_runs_are_held_of_a_long_window(engine: str) -> None:
    session = Query(THEFTS, unit="min").session(engine=engine, lateness=20, speculate="all")
    counts = []
    for first in range(0, 600, 20):
        rows = [row for tag in range(first, first + 20) for row in visit(tag)]
        session.push(pa.Table.from_pylist(rows, schema=SCHEMA))
        if first % 100 == 80:
            counts.append(held(session))
    # Since the watermark: the last five things, with three events each, and the Exit of the one before.
    # In the 12 hours before it there were 180 things, and every tenth of these is on its shelf.
    assert counts == [16 + 10, 16 + 18, 16 + 18, 16 + 18, 16 + 18, 16 + 18]


def test_that_a_session_does_not_look_again_for_what_is_not_there() -> None:
    """Where every event is in a run that goes on, all are needed: to find that out again and again takes time."""
    query = Query("PATTERN SEQ(A a, B b) WITHIN 1000", unit="min")
    session = query.session(engine="plain", lateness=5, speculate="all")
    for t in range(800):
        session.push([{"ts": t, "type": "A"}])
    assert session.engine.own.way.events.count == 800  # type: ignore[attr-defined]
    assert session.stats.steps < 1200


QUERIES = [
    "SEQ(Shelf a, !(Register b), Exit c) WHERE [tag] WITHIN 60",
    "SEQ(Shelf a, !(Register b), Exit c) WHERE [tag] AND b.x >= a.x WITHIN 60",
    "SEQ(Shelf a, Register+ b[], Exit c) WHERE skip_till_next_match { [tag] AND b[i].x >= a.x } WITHIN 60",
    "SEQ(ANY(Shelf, Register) a, ANY(Register, Exit) b, Exit c) WHERE skip_till_next_match { [tag] AND b.x > a.x }"
    " WITHIN 60",
    "SEQ(Shelf a, Exit c) WHERE skip_till_next_match { [tag] } WITHIN 9 events",
    "SEQ(!(Register b), Shelf a, Exit c) WHERE [tag] WITHIN 60",
]


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("text", QUERIES)
def test_that_the_changes_are_those_of_the_reference(text: str, seed: int) -> None:
    chance = Random(seed)
    query = Query(f"PATTERN {text}")
    one = query.session(engine="plain", lateness=12, speculate="all")
    other = query.session(engine="reference", lateness=12, speculate="all")
    looked = 0
    come: list[dict[str, Any]] = []
    for begin in range(0, 120, 4):
        rows = [
            {"ts": begin + 12 - lag, "type": chance.choice(["Shelf", "Register", "Exit"]), "tag": tag, "x": lag % 3}
            for tag, lag in ((chance.randint(0, 5), chance.choice([0, 0, 0, 1, 4, 11])) for _ in range(4))
        ]
        gone = [row for row in come if row["ts"] >= begin + 4 and chance.random() > 0.7]
        come = rows
        wanted, found = (
            session.revise(*(pa.Table.from_pylist(some, schema=SCHEMA) for some in (gone, rows)))
            for session in (other, one)
        )
        assert sorted(map(to_json, found)) == sorted(map(to_json, wanted))
        looked += one.engine.own.way.past.steps  # type: ignore[attr-defined]
        if begin % 40 == 36:
            one = query.restore(one.snapshot())
    assert sorted(map(to_json, one.close())) == sorted(map(to_json, other.close()))
    assert (looked > 0) == ("SEQ(!" not in text)  # what must be absent before a run is not in it


def test_that_a_session_without_events_is_written_down() -> None:
    query = Query("PATTERN SEQ(A a, B b) WHERE a.s = b.s WITHIN 10")
    session = query.session(speculate="all")
    session.push(pa.schema({"ts": pa.int64(), "type": pa.string(), "s": pa.string()}).empty_table())
    session.advance(5)
    again = query.restore(session.snapshot())
    changes = again.push([{"ts": 5, "type": "A", "s": "u"}, {"ts": 6, "type": "B", "s": "u"}])
    assert [(row["op"], row["match_start"], row["match_end"]) for row in changes] == [("+", 5, 6)]
