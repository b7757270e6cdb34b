"""Automata that change while a session runs (S17): what is refused, what is kept, what is given."""

import pickle
from datetime import UTC, datetime
from typing import Any

import pyarrow as pa
import pytest

import cepheid as cep
from cepheid.engine.stream import speculation

TEXT = """
    AUTOMATON q0 -> q2
    REGISTER  n INT = 0
    ARC         q0 -> q1 WHEN e.x = 1
    ARC more:   q1 -> q1 WHEN e.x = 2 SET n = r.n + 1
    ARC done:   q1 -> q2 WHEN e.x = 3
"""


def query() -> cep.Query:
    return cep.Query(TEXT, type=None)


def at(*events: tuple[int, int]) -> list[dict[str, Any]]:
    return [{"ts": t, "x": x} for t, x in events]


def ends(matches: Any) -> list[tuple[int, int, int]]:
    return [(m["match_start"], m["match_end"], m["n"]) for m in matches]


def test_a_run_goes_on_when_an_arc_is_replaced() -> None:
    session = query().session(lateness=0, speculate="all")
    session.push(at((1, 1), (2, 2)))
    with session.changing() as change:
        change.remove_arc("done")
        change.add_arc("q1", "q2", "e.x = 4", name="done")
    assert len(change.result) == 0
    assert ends(session.push(at((3, 4))).added) == [(1, 3, 1)]


def test_a_change_in_the_past_takes_a_match_back() -> None:
    session = query().session(lateness=10, speculate="all")
    assert ends(session.push(at((1, 1), (2, 2), (3, 3))).added) == [(1, 3, 1)]
    assert ends(session.remove_arc("done", at=2).removed) == [(1, 3, 1)]
    assert ends(session.add_arc("q1", "q2", "e.x = 3", name="done", at=2).added) == [(1, 3, 1)]


def test_a_lifetime_begins_after_at_and_ends_with_until() -> None:
    log = [cep.remove_arc("done", at=2), cep.add_arc("q1", "q2", "e.x = 3", at=4, until=6, n="r.n + 10")]
    for t, wanted in [(2, [(1, 2, 0)]), (3, []), (4, []), (5, [(1, 5, 10)]), (6, [(1, 6, 10)]), (7, [])]:
        assert ends(query().match(at((1, 1), (t, 3)), changes=log)) == wanted


def test_what_is_refused_alters_nothing() -> None:
    session = query().session(lateness=2, speculate="all")
    session.push(at((1, 1), (5, 2)))
    with pytest.raises(cep.UsageError, match="CEP608"):
        session.remove_arc("done", at=2)
    with pytest.raises(cep.PatternError, match="CEP228"):
        session.change(cep.remove_arc("more"), cep.remove_arc("nothing"))
    with pytest.raises(cep.PatternError, match="CEP228"):
        session.add_arc("q1", "q2", "e.x = 9", name="done")
    assert session.changes == []
    assert ends(session.push(at((6, 3))).added) == [(1, 6, 1)]


def test_a_session_that_waits_takes_no_change_before_its_events() -> None:
    session = query().session(lateness=10)
    session.push(at((1, 1), (5, 2)))
    with pytest.raises(cep.UsageError, match="before events that have come"):
        session.remove_arc("done", at=3)
    session.remove_arc("done", at=5)
    assert ends(session.push(at((6, 3)))) == []
    assert ends(session.close()) == []


def test_before_the_first_push_nothing_changes() -> None:
    with pytest.raises(cep.UsageError, match="CEP606"):
        query().session().remove_arc("done")


def test_a_change_of_match_needs_a_time() -> None:
    with pytest.raises(cep.UsageError, match="CEP603"):
        query().match(at((1, 1)), changes=[cep.remove_arc("done")])
    with pytest.raises(cep.UsageError, match="CEP603"):
        query().match(at((1, 1)), changes=["done"])  # type: ignore[list-item]


def test_a_snapshot_has_the_log() -> None:
    session = query().session(lateness=0, speculate="all")
    session.push(at((1, 1), (2, 2)))
    session.change(cep.remove_arc("done"), cep.add_arc("q1", "q2", "e.x = 4 AND r.n < 5", name="done", n="r.n * 2"))
    restored = query().restore(session.snapshot())
    assert restored.changes == session.changes
    assert ends(restored.push(at((3, 4))).added) == ends(session.push(at((3, 4))).added) == [(1, 3, 2)]


def test_the_times_of_changes_are_those_of_the_time_column() -> None:
    from datetime import datetime

    moment = datetime(2026, 1, 1, 12)
    events = [{"ts": moment.replace(minute=m), "x": x} for m, x in [(0, 1), (1, 3)]]
    assert len(query().match(events, changes=[cep.remove_arc("done", at=moment)])) == 0
    session = query().session(lateness="1 minute", speculate="all")
    session.push(events[:1])
    session.remove_arc("done", at=moment)
    assert [change.at for change in session.changes] == [moment]


def test_a_change_before_the_first_event_holds_for_all_whatever_the_time() -> None:
    query = cep.Query("AUTOMATON a -> b ARC up: a -> b WHEN e.x > 5", type=None)
    events = [{"ts": datetime(1960, 1, 1, tzinfo=UTC), "x": 3}]
    session = query.session()
    session.push(pa.Table.from_pylist(events).schema.empty_table())
    session.add_arc("a", "b", "e.x = 3")
    assert len(query.match(events, changes=session.changes)) == 1


def test_a_misspelt_state_is_told() -> None:
    session = query().session(lateness=0)
    session.push(at((1, 1)))
    with pytest.warns(cep.CepheidWarning, match="CEP014: .* begins in the state 'Q1', .*; did you mean 'q1'?"):
        session.add_arc("Q1", "q2", "e.x = 5")
    with pytest.warns(cep.CepheidWarning, match="CEP014: .* ends in the state 'other', .*; add the arcs that lead on"):
        query().match(at((1, 1)), changes=[cep.add_arc("q1", "other", "e.x = 5", at=0)])
    both = [cep.add_arc("q1", "other", "e.x = 5", at=0), cep.add_arc("other", "q2", at=0)]
    assert len(query().match(at((1, 1), (2, 5), (3, 9)), changes=both)) == 1


@pytest.mark.parametrize("options", [{}, {"speculate": "all"}])
def test_a_session_does_not_grow_with_its_changes(options: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    """Of arcs that are over, one of each shape is kept."""
    monkeypatch.setattr(speculation, "FEW_EVENTS", 16)
    monkeypatch.setattr(speculation, "BYTES_PER_EVENT", 2**20)
    session: Any = query().session(lateness=2, **options)
    for t in range(0, 600, 3):
        session.push(at((t, 1), (t + 1, 2), (t + 2, 3)))
        session.change(cep.remove_arc("done"), cep.add_arc("q1", "q2", f"e.x = {3 + t % 2}", name="done"))
    assert len(session.changes) == 400
    arcs = session.engine.pipeline.cache.program.queries[0].query.pattern.arcs
    assert len(arcs) < 40
    assert [arc.until for arc in arcs if arc.name == "done"][-1] is None


@pytest.mark.parametrize("engine", ["plain", "interpreted"])
@pytest.mark.parametrize("speculate", [None, 0, "all"])
def test_runs_are_kept_where_no_arc_leads_on_yet(engine: str, speculate: Any) -> None:
    text = "AUTOMATON s -> f ARC s -> m WHEN e.x = 1 ARC m -> f WHEN e.x = 2 WITHIN 50"
    session: Any = cep.Query(text, type=None).session(lateness=0, engine=engine, speculate=speculate)
    given = []
    for call in (
        lambda: session.push(at((1, 1))),
        lambda: session.push(at((2, 2))),
        lambda: session.add_arc("f", "f", "e.x > 2", at=2),
        lambda: session.push(at((4, 7))),
        session.close,
    ):
        given += [(m["match_start"], m["match_end"]) for m in call()]
    assert given == [(1, 2), (1, 4)]


def test_a_query_that_was_pickled_changes_too() -> None:
    """As on Spark, where types are no longer the same objects."""
    text = "AUTOMATON a -> b REGISTER n INT = 0 ARC a -> a SET n = r.n + 1 ARC a -> b AT END WITHIN 2 events"
    query = cep.Query(text, type=None)
    session = pickle.loads(pickle.dumps(query)).session(lateness=0)
    session.push(at((1, 1)))
    session.add_arc("a", "b", "e.x > 5", name="more")
    given = [*session.push(at((2, 1), (3, 7))), *session.close()]
    expected = list(query.match(at((1, 1), (2, 1), (3, 7)), changes=session.changes, engine="reference"))
    assert sorted(map(str, given)) == sorted(map(str, expected))
    assert len(given) == 5
