"""Whole queries that come, go and change while a session runs (S17): the corners, one by one."""

import random
from collections import Counter
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest

import cepheid as cep
from cepheid.testing.outcomes import to_json

PAIRS = "PATTERN SEQ(A a, B b) WHERE a.x > {0} AND b.x > {0} WITHIN 10 milliseconds"
ALONE = "PATTERN SEQ(A a, !(B b)) WITHIN 10 milliseconds"


def event(ts: int, kind: str, x: int = 5) -> dict[str, Any]:
    return {"ts": ts, "type": kind, "x": x}


def ends(found: Any, name: str) -> list[tuple[int, int]]:
    return [(m["match_start"], m["match_end"]) for m in found.outputs[name]]


def test_an_added_query_sees_the_events_after_it() -> None:
    s = cep.Query(PAIRS.format(0)).session(lateness=0)
    s.push([event(1, "A"), event(2, "A")])
    s.add("more", "PATTERN SEQ(A a, A b) WITHIN 10 milliseconds")
    found = s.push([event(3, "A"), event(4, "A"), event(5, "A")])
    assert ends(found, "more") == [(3, 4)]
    assert ends(s.close(), "more") == [(3, 5), (4, 5)]


@pytest.mark.parametrize(("at", "given"), [(10, []), (11, [(1, 1)]), (12, [(1, 1)])])
def test_a_removed_query_gives_absences_that_were_decided(at: int, given: list[tuple[int, int]]) -> None:
    events = [event(1, "A"), event(at, "C")]
    query = cep.Query(PAIRS.format(0))
    log = [cep.add_query("alone", ALONE, at=0), cep.remove_query("alone", at=at)]
    for engine in ("reference", "plain", "interpreted"):
        assert ends(query.match(events, changes=log, engine=engine), "alone") == given
    for options in ({}, {"speculate": "all"}, {"speculate": 0}, {"speculate": 3}):
        s: Any = query.session(lateness=0, **options)
        s.push([event(0, "C")])
        s.add("alone", ALONE)
        stands = []
        calls = [(s.push, events), (s.remove, "alone"), (s.push, [event(90, "C")])]
        for given_now in (*(call(argument) for call, argument in calls), s.close()):
            found = given_now.outputs.get("alone")
            stands += [] if found is None else list(found.added if options else found)
            for row in [] if found is None or not options else found.removed:
                stands.remove(row)
        assert [(m["match_start"], m["match_end"]) for m in stands] == given


def test_the_own_query_can_go_and_others_stay() -> None:
    s = cep.Query(PAIRS.format(0)).session(lateness=0, speculate="all")
    s.push([event(1, "A")])
    s.push([event(3, "A")])
    s.remove("query 1", at=3)
    s.add("late", PAIRS.format(0), at=3)
    s.push([event(4, "A")])
    found = s.push([event(5, "B")])
    assert [(m["match_start"], m["match_end"]) for m in found.outputs["late"].added] == [(4, 5)]
    assert len(found) == 0
    s.add("back", PAIRS.format(0), at=5)


def test_conditions_are_those_of_the_time_of_the_event() -> None:
    s = cep.Query(PAIRS.format(0)).session(lateness=5)
    s.push([event(1, "A", 1), event(2, "A", 3)])
    s.replace("query 1", PAIRS.format(2), at=4)
    s.push([event(3, "B", 1), event(5, "A", 1), event(6, "B", 1), event(7, "B", 3)])
    assert ends(s.close(), "query 1") == [(1, 3), (2, 3), (1, 7), (2, 7)]


@pytest.mark.parametrize("speculate", [None, 0, 3, "all"])
def test_conditions_of_another_form_keep_what_was_begun(speculate: Any) -> None:
    s: Any = cep.Query(PAIRS.format(0)).session(lateness=0, speculate=speculate)
    s.push([event(1, "A", 7), event(2, "A", 8), event(3, "C")])
    s.replace("query 1", "PATTERN SEQ(A a, B b) WHERE b.x = a.x WITHIN 10 milliseconds")
    given = list(s.push([event(4, "B", 8)]))
    assert [(m["match_start"], m["match_end"]) for m in given + list(s.close())] == [(2, 4)]


def test_an_automaton_gets_other_arcs() -> None:
    text = "AUTOMATON a -> c REGISTER n INT = 0 ARC a -> b SET n = e.x ARC b -> c WHEN e.x > r.n + {}"
    s = cep.Query(text.format(0), type=None).session(lateness=0)
    s.push([{"ts": 1, "x": 1}])
    s.replace("query 1", text.format(5))
    s.push([{"ts": 2, "x": 3}, {"ts": 3, "x": 9}])
    assert [(m["match_start"], m["match_end"]) for m in s.close()] == [(2, 3)]


def test_an_end_of_the_window_can_be_added() -> None:
    s = cep.Query("AUTOMATON a -> c ARC a -> b WHEN e.x = 1 ARC b -> c WHEN e.x = 2 WITHIN 5", type=None).session()
    s.push([{"ts": 1, "x": 1}, {"ts": 2, "x": 0}])
    s.advance(2)
    s.add_arc("b", "c", at_end=True, name="over", at=0 + 2)
    s.push([{"ts": 3, "x": 1}])
    assert [(m["match_start"], m["match_end"]) for m in s.advance(50)] == [(3, 3)]


def test_that_a_refused_change_alters_nothing() -> None:
    def begun() -> Any:
        s = cep.Query(PAIRS.format(0)).session(lateness=0)
        s.push([event(1, "A"), event(5, "A")])
        s.add("more", ALONE)
        return s

    refused = {
        "CEP229": [
            lambda s: s.add("more", ALONE),
            lambda s: s.add("query 1", ALONE),
            lambda s: s.remove("mora"),
            lambda s: s.replace("more", "PATTERN SEQ(A a, !(B b)) WITHIN 11 milliseconds"),
            lambda s: s.replace("more", "PATTERN SEQ(A a, !(C b)) WITHIN 10 milliseconds"),
            lambda s: s.replace("query 1", PAIRS.format(0) + " RETURN a.x AS x"),
            lambda s: s.replace("query 1", "PATTERN A a RETURN a.x AS x INTO y; FROM y PATTERN y y"),
            lambda s: s.add("x", cep.Query(ALONE, unit="s")),
            lambda s: s.add("x", ALONE, at=9, until=9),
        ],
        "CEP608": [lambda s: s.add("x", ALONE, at=4), lambda s: s.remove("more", at=1)],
        "CEP301": [
            lambda s: s.add("x", "PATTERN A a WHERE a.z > 1"),
            lambda s: s.replace("query 1", PAIRS.format("a.z")),
        ],
        "CEP102": [lambda s: s.add("x", "PATTERN SEQ(")],
        "CEP603": [lambda s: s.add("", ALONE), lambda s: s.change("x"), lambda s: s.add("x", ALONE, at="soon")],
    }
    for code, calls in refused.items():
        for call in calls:
            s, same = begun(), begun()
            with pytest.raises(cep.CepheidError) as error:
                call(s)
            assert error.value.code == code
            assert s.changes == same.changes or len(s.changes) == len(same.changes)
            for one in (s, same):
                one.push([event(7, "B")])
            assert [list(x) for x in s.close().outputs.values()] == [list(x) for x in same.close().outputs.values()]


@pytest.mark.parametrize("speculate", [None, 0, "all"])
@pytest.mark.parametrize("output", ["OUTPUT NON_OVERLAP", "OUTPUT LONGEST"])
def test_constants_change_where_matches_are_chosen(output: str, speculate: Any) -> None:
    text = f"PATTERN SEQ(A a, B+ b[]) WHERE b[].x > {{}} WITHIN 10 milliseconds {output}"
    s: Any = cep.Query(text.format(0)).session(lateness=0, speculate=speculate)
    s.push([event(1, "A"), event(2, "B", 3)])
    s.replace("query 1", text.format(4))
    s.push([event(3, "B", 3), event(4, "B", 5), event(5, "A"), event(6, "B", 4), event(7, "B", 9)])
    s.push([event(90, "C")])
    s.close()
    expected = cep.Query(text.format(0)).match(
        [event(1, "A"), event(2, "B", 3), event(4, "B", 5), event(5, "A"), event(7, "B", 9)]
    )
    log = s.changes
    events = [event(t, k, x) for t, k, x in [(1, "A", 5), (2, "B", 3), (3, "B", 3), (4, "B", 5), (5, "A", 5)]]
    events += [event(6, "B", 4), event(7, "B", 9), event(90, "C")]
    found = cep.Query(text.format(0)).match(events, changes=log, engine="reference")
    assert list(found) == list(expected)
    assert s.stats.matches == len(expected)


def test_that_conditions_of_another_form_may_be_refused() -> None:
    for text, why in (
        ("PATTERN SEQ(A a, B b) WHERE a.x > {} WITHIN 10 milliseconds OUTPUT NON_OVERLAP", "OUTPUT NON_OVERLAP"),
        ("PATTERN SEQ(!(C c), A a, B b) WHERE a.x > {} WITHIN 10 milliseconds", "absent before"),
    ):
        s = cep.Query(text.format(1)).session(lateness=0)
        s.push([event(1, "A")])
        with pytest.raises(cep.CepheidError, match=why):
            s.replace("query 1", text.format("0 AND b.x > a.x"))
        s.push([event(2, "B")])
        assert ends(s.close(), "query 1") == [(1, 2)]


def test_snapshots_have_queries_that_were_added() -> None:
    params = {
        "i": 3, "f": 0.1, "s": "it's", "b": True, "d": date(2026, 1, 2), "t": datetime(2026, 1, 2, 3, tzinfo=UTC),
        "w": timedelta(hours=1), "c": Decimal("1.50"), "l": [1, 2], "n": None,
    }  # fmt: skip
    query = cep.Query(PAIRS.format(0), functions={"twice": lambda x: 2 * x})
    s = query.session(lateness=0)
    s.push([event(1, "A")])
    s.add(
        "more",
        cep.Query(
            "PATTERN SEQ(A a, B b) WHERE twice(b.x) > i WITHIN 1 hour",
            params=params,
            functions={"twice": lambda x: 2 * x},
        ),
    )
    s.push([event(2, "A")])
    again: Any = query.restore(s.snapshot())
    assert [change.name for change in again.changes] == ["more"]
    assert again.changes[0].query.params == params
    again.push([event(3, "B", 1), event(4, "B", 2)])
    assert ends(again.close(), "more") == [(2, 4)]


def test_that_a_parameter_which_can_not_be_written_is_told() -> None:
    s = cep.Query(PAIRS.format(0)).session(lateness=0)
    s.push([event(1, "A")])
    s.add("more", cep.Query(ALONE, params={"x": object()}))
    with pytest.raises(cep.UsageError, match="can't hold the parameter"):
        s.snapshot()


@pytest.mark.parametrize("zone", [None, UTC])
def test_times_of_changes_are_those_of_the_column(zone: Any) -> None:
    day = datetime(2026, 11, 17, 11, tzinfo=zone)

    def at(minute: int) -> datetime:
        return day + timedelta(minutes=minute)

    rows = [{"ts": at(m), "type": k, "x": x} for m, k, x in [(0, "A", 1), (5, "A", 3), (10, "B", 2), (30, "B", 2)]]
    text = "PATTERN SEQ(A a, B b) WHERE b.x > {} WITHIN 1 hour"
    query = cep.Query(text.format(0))
    log = [cep.replace_query("query 1", text.format(5), at=at(10)), cep.add_query("late", text.format(0), at=at(1))]
    for engine in ("reference", "plain"):
        found = query.match(rows, changes=log, engine=engine)
        assert ends(found, "query 1") == [(at(0), at(10)), (at(5), at(10))]
        assert ends(found, "late") == [(at(5), at(10)), (at(5), at(30))]
    s = query.session()
    s.push(rows[:2])
    s.change(*[change for change in log if isinstance(change, type(log[0]))])
    s.push(rows[2:])
    assert ends(s.close(), "query 1") == [(at(0), at(10)), (at(5), at(10))]
    assert s.changes[0].at == at(10)


@pytest.mark.parametrize("plan", ["automaton", "stacks", "tree", "lazy(c, b, a)"])
@pytest.mark.parametrize("engine", ["plain", "compiled"])
def test_that_other_constants_are_arguments(plan: str, engine: str) -> None:
    """Kernels are taken over from queries of the same shape, with constants of their own."""
    text = (
        "PATTERN SEQ(A a, B b, C c) WHERE [k] AND a.x > {0} AND b.x > a.x + {1} AND c.s != '{2}' "
        "AND c.x < 4 + {0} / {3} WITHIN 60 milliseconds"
    )
    chance = random.Random(7)

    def constants() -> tuple[Any, ...]:
        return chance.randint(-1, 4), chance.randint(0, 2), chance.choice("pq"), chance.choice([1, 2, -1])

    def events(first: int) -> list[dict[str, Any]]:
        return [
            {
                "ts": t, "type": chance.choice("ABC"), "k": chance.randint(0, 1), "s": chance.choice("pqr"),
                "x": chance.choice([None, 0, 1, 2, 3, 4, 5]) if first > 100 else chance.randint(0, 5),
            }
            for t in range(first, first + 20)
        ]  # fmt: skip

    query = cep.Query(text.format(*constants()))
    s: Any = query.session(lateness=0, plan=plan, engine=engine)
    pushed, given = [], Counter[str]()
    for k in range(20):
        pushed += events(20 * k)
        found = s.push(pushed[-20:])
        for name, matches in found.outputs.items():
            given.update(f"{name} {to_json(m)}" for m in matches)
        if k % 3 == 0:
            s.replace("query 1", text.format(*constants()))
        if k % 4 == 0:
            s.add(f"more {k}", text.format(*constants()))
    for name, matches in s.close().outputs.items():
        given.update(f"{name} {to_json(m)}" for m in matches)
    expected = query.match(pushed, changes=s.changes, engine="interpreted")
    assert given == Counter(f"{name} {to_json(m)}" for name, found in expected.outputs.items() for m in found)
    assert len(given) > 50


def test_a_query_that_is_removed_at_once_gives_nothing() -> None:
    s = cep.Query(PAIRS.format(0)).session(lateness=0)
    s.push([event(1, "A")])
    s.add("more", PAIRS.format(0))
    s.remove("more")
    found = s.push([event(2, "A"), event(3, "B"), event(4, "C")])
    assert ends(found, "more") == []
    assert ends(found, "query 1") == [(1, 3), (2, 3)]
    assert "more" not in s.close().outputs
    assert ends(cep.Query(PAIRS.format(0)).match([event(2, "A"), event(3, "B")], changes=s.changes), "more") == []


def test_that_a_query_that_is_added_reads_the_events() -> None:
    s = cep.Query("PATTERN SEQ(A a, B b) WITHIN 5 ms RETURN a.x AS x INTO Up").session(lateness=0)
    s.push([event(1, "A")])
    with pytest.raises(cep.PatternError, match="which the session's own query writes"):
        s.add("more", "FROM Up PATTERN Up u")
