"""Whole queries that come, go and change while a session runs (S17): edges that a user meets."""

from collections import Counter
from datetime import UTC, date, datetime, timedelta
from typing import Any

import pyarrow as pa
import pytest

import cepheid as cep

EACH = "PATTERN A a WHERE a.x > {} RETURN a.x AS x"
SESSIONS: list[dict[str, Any]] = [{}, {"speculate": 0}, {"speculate": "all"}]


def at(*events: tuple[Any, int]) -> list[dict[str, Any]]:
    return [{"ts": t, "type": "A", "x": x} for t, x in events]


def xs(found: Any, name: str = "query 1") -> list[int]:
    return [row["x"] for row in found.outputs[name].to_pylist()] if name in found.outputs else []


def standing(calls: list[Any], name: str = "query 1") -> list[int]:
    """The x of the matches that stand after some calls."""
    found: Counter[int] = Counter()
    for call in calls:
        for row in call.outputs[name].to_pylist() if name in call.outputs else ():
            found[row["x"]] += -1 if row.get("op") == "-" else 1
    return sorted((+found).elements())


def empty(time: pa.DataType) -> pa.Table:
    return pa.table({"ts": pa.array([], time), "type": pa.array([], pa.string()), "x": pa.array([], pa.int64())})


# Times.


def test_a_time_between_two_ticks_is_after_the_earlier_one() -> None:
    """The lifetime (0.5 s, 2.5 s] of a column in seconds has the events at 1 and 2."""
    events = pa.table({"ts": pa.array([0, 1, 2, 3], pa.timestamp("s")), "type": ["A"] * 4, "x": [0, 1, 2, 3]})
    half = datetime(1970, 1, 1, 0, 0, 0, 500_000)
    change = cep.add_query("more", EACH.format(-1), at=half, until=half + timedelta(seconds=2))
    assert xs(cep.Query(EACH.format(-1)).match(events, changes=[change]), "more") == [1, 2]


def test_a_time_that_is_none_is_not_called_a_watermark() -> None:
    with pytest.raises(cep.UsageError, match="at can't be 'noon'"):
        cep.Query(EACH.format(0)).match(at((1, 1)), changes=[cep.remove_query("query 1", at="noon")])


# Before the first event.

MOMENTS = [
    (pa.int64(), [1, 2, 3, 4]),
    (pa.date32(), [date(2026, 1, k) for k in (1, 2, 3, 4)]),
    (pa.timestamp("us", "UTC"), [datetime(2026, 1, k, tzinfo=UTC) for k in (1, 2, 3, 4)]),
    (pa.timestamp("ns"), [datetime(2026, 1, k) for k in (1, 2, 3, 4)]),
]


@pytest.mark.parametrize("options", SESSIONS)
@pytest.mark.parametrize(("type_", "times"), MOMENTS)
@pytest.mark.parametrize("columns", [True, False])
def test_changes_before_the_first_event_hold_from_the_beginning(
    options: dict[str, Any], type_: pa.DataType, times: list[Any], columns: bool
) -> None:
    query = cep.Query(EACH.format(0))
    session: Any = query.session(lateness=0, **options)
    session.push(empty(type_) if columns else [])
    with session.changing() as change:
        change.replace("query 1", EACH.format(1))
        change.add("more", EACH.format(2))
    events = at(*zip(times, (1, 2, 3, 4), strict=True))
    session = query.restore(session.snapshot())
    calls = [session.push(events[:2]), session.push(events[2:])]
    log = session.changes
    session = query.restore(session.snapshot())
    calls.append(session.close())
    assert (standing(calls), standing(calls, "more")) == ([2, 3, 4], [3, 4])
    found = query.match(events, changes=log)
    assert (xs(found), xs(found, "more")) == ([2, 3, 4], [3, 4])


@pytest.mark.parametrize("options", [*SESSIONS, {"speculate": 3}, {"speculate": "all", "engine": "reference"}])
def test_an_end_that_is_told_before_the_first_event(options: dict[str, Any]) -> None:
    absent = "PATTERN SEQ(A a, !(B b)) WITHIN 5 milliseconds RETURN a.x AS x"
    query = cep.Query(absent)
    session: Any = query.session(lateness=2, **options)
    session.push(empty(pa.int64()))
    session.add("more", absent, at=0, until=7)
    session.remove("query 1", at=4)
    calls = [session.push(at((1, 1), (2, 2))), session.push(at((3, 3), (6, 6))), session.push(at((20, 20)))]
    log = session.changes
    calls.append(session.close())
    assert (standing(calls), standing(calls, "more")) == ([], [1, 2])
    found = query.match(at(*((t, t) for t in (1, 2, 3, 6, 20))), changes=log)
    assert (xs(found), xs(found, "more")) == ([], [1, 2])


# What a text takes over.


def test_a_text_takes_over_from_the_query_that_it_replaces() -> None:
    query = cep.Query(EACH.format(0))
    session = query.session(lateness=0)
    session.push(at((1, 1)))
    own = cep.Query(
        "PATTERN A a WHERE twice(a.x) > k RETURN a.x AS x",
        params={"k": 4},
        functions={"twice": lambda x: 2 * x},
        order_by="x",
    )
    session.add("more", own)
    session.replace("more", "PATTERN A a WHERE twice(a.x) > k + 2 RETURN a.x AS x", at=2)
    calls = [session.push(at((2, 3), (3, 3), (4, 4))), session.close()]
    assert standing(calls, "more") == [3, 4]


def test_a_text_takes_over_from_a_query_that_is_added_in_the_same_call() -> None:
    query = cep.Query(EACH.format(0))
    log = [
        cep.add_query("more", cep.Query("PATTERN A a WHERE a.x > k RETURN a.x AS x", params={"k": 1}), at=0),
        cep.replace_query("more", "PATTERN A a WHERE a.x > k + 2 RETURN a.x AS x", at=2),
    ]
    assert xs(query.match(at((1, 2), (2, 2), (3, 3), (4, 4)), changes=log), "more") == [2, 2, 4]


def test_changes_are_a_list() -> None:
    with pytest.raises(cep.UsageError, match="is no list of changes"):
        cep.Query(EACH.format(0)).match(at((1, 1)), changes=cep.remove_query("query 1", at=1))  # type: ignore[arg-type]


# Snapshots.


@pytest.mark.parametrize("options", SESSIONS)
def test_a_snapshot_with_functions_of_an_added_query(options: dict[str, Any]) -> None:
    """The query that restores it has them too; without them, the error says so."""
    text, functions = EACH.format(0), {"twice": lambda x: 2 * x}
    session: Any = cep.Query(text).session(lateness=0, **options)
    session.push(at((1, 1)))
    session.add("more", cep.Query("PATTERN A a WHERE twice(a.x) > 4 RETURN a.x AS x", functions=functions))
    blob = session.snapshot()
    with pytest.raises(cep.BindError, match="CEP303"):
        cep.Query(text).restore(blob)
    again: Any = cep.Query(text, functions=functions).restore(blob)
    calls = [again.push(at((2, 2), (3, 3))), again.close()]
    assert standing(calls, "more") == [3]
    with pytest.raises(cep.UsageError, match="CEP607"):
        cep.Query(EACH.format(1), functions=functions).restore(blob)


def test_a_function_that_is_another_one_needs_another_name() -> None:
    """Both are needed: the old one judges the events up to `at`, late ones too."""
    text = "PATTERN A a WHERE f(a.x) > 5 RETURN a.x AS x"
    query = cep.Query(text, functions={"f": lambda x: x})
    session: Any = query.session(lateness=10, speculate="all", engine="plain")
    session.push(at((1, 1), (2, 9)))
    with pytest.raises(cep.PatternError, match="the function 'f' is another one"):
        session.replace("query 1", cep.Query(text, functions={"f": lambda x: 100 * x}))
    session.replace("query 1", cep.Query(text.replace("f(", "g("), functions={"g": lambda x: 100 * x}))
    assert xs(session.push(at((1, 2), (3, 3)))) == [3]


# Streams that count their events.


def numbered(*events: tuple[int, int]) -> list[dict[str, Any]]:
    return [{"ts": 10 * n, "type": "A", "x": x, "n": n} for n, x in events]


FALL = "PATTERN SEQ(A a, A b) WHERE strict_contiguity {{ b.x {} a.x }} RETURN b.x AS x"


def test_queries_that_come_and_change_go_over_no_gap_either() -> None:
    query = cep.Query(FALL.format(">"))
    session: Any = query.session(sequence="n")
    session.push(numbered((1, 1), (2, 2)))
    session.replace("query 1", FALL.format("<"))
    session.add("more", FALL.format("!="))
    calls = [session.push(numbered((3, 9), (5, 5), (6, 4)))]
    assert (standing(calls), standing(calls, "more")) == ([4], [4])
    session = query.restore(session.snapshot())
    calls.append(session.push(numbered((4, 7))))
    assert (standing(calls), standing(calls, "more")) == ([4, 5, 7], [4, 5, 7])
    events = numbered((1, 1), (2, 2), (3, 9), (5, 5), (6, 4))
    found = query.match(events, sequence="n", changes=session.changes)
    assert (xs(found), xs(found, "more")) == ([2, 4], [4])


def test_a_query_that_may_skip_can_not_be_added_where_events_are_counted() -> None:
    session: Any = cep.Query(FALL.format(">")).session(sequence="n")
    session.push(numbered((1, 1)))
    with pytest.raises(cep.CepheidError, match="CEP223"):
        session.add("more", "PATTERN SEQ(A a, A b) RETURN b.x AS x")
    assert session.changes == []


# Columns that have a type at last.


def test_a_column_gets_its_type_after_the_sessions_own_query_was_removed() -> None:
    query = cep.Query(EACH.format(0))
    session: Any = query.session(lateness=0, speculate="all")
    session.push([{"ts": 1, "type": "A", "x": None}])
    session.add("more", EACH.format(1))
    session.remove("query 1", at=2)
    calls = [session.push(at((2, 2), (3, 3)))]
    session.add("last", EACH.format(2), at=3)
    calls.append(session.push(at((3, 4), (4, 5))))
    assert (standing(calls), standing(calls, "more"), standing(calls, "last")) == ([2], [2, 3, 4, 5], [5])


def test_a_program_with_an_automaton_says_that_it_can_not_change() -> None:
    text = """
        AUTOMATON s -> f REGISTER n INT = 0 ARC s -> f WHEN e.x > 1 SET n = e.x RETURN r.n AS x INTO Up;
        FROM Up PATTERN Up u WHERE u.x > 2 RETURN u.x AS x
    """
    session = cep.Query(text).session(lateness=0)
    session.push(at((1, 1)))
    with pytest.raises(cep.PatternError, match="a program with an automaton can't be replaced one by one"):
        session.replace("query 2", "FROM Up PATTERN Up u WHERE u.x > 3 RETURN u.x AS x")


# Events at the very time of a change, which come after it.

ENGINES = ["plain", "interpreted", "auto"]


@pytest.mark.parametrize("options", SESSIONS)
@pytest.mark.parametrize("engine", ENGINES)
def test_an_event_at_the_time_of_a_change_is_judged_as_before(options: dict[str, Any], engine: str) -> None:
    """Lifetimes are (at, until]: a tie that comes after the change is still one of before."""
    query = cep.Query(EACH.format(0))
    session: Any = query.session(lateness=0, engine=engine, **options)
    calls = [session.push(at((5, 1)))]
    session.add("more", EACH.format(0))
    session.replace("query 1", EACH.format(10))
    calls.append(session.push(at((5, 2), (6, 11), (6, 3))))
    session.replace("query 1", EACH.format(20))
    session.remove("more")
    calls += [session.push(at((6, 12))), session.push(at((7, 21), (7, 13))), session.close()]
    assert (standing(calls), standing(calls, "more")) == ([1, 2, 11, 12, 21], [3, 11, 12])


@pytest.mark.parametrize("options", [*SESSIONS, {"speculate": 2}])
@pytest.mark.parametrize("engine", ENGINES)
def test_what_is_under_way_goes_on_with_conditions_of_another_form(options: dict[str, Any], engine: str) -> None:
    text = "PATTERN SEQ(A a, A b, A c) WHERE skip_till_any_match {{ {} }} WITHIN 9 milliseconds RETURN c.x AS x"
    query = cep.Query(text.format("b.x > a.x"))
    session: Any = query.session(lateness=0, engine=engine, **options)
    calls = [session.push(at((1, 1), (2, 2), (3, 0)))]
    session.replace("query 1", text.format("c.x > a.x + b.x AND c.x != 4"))
    calls += [session.push(at((4, 4), (5, 5))), session.push(at((20, 0))), session.close()]
    # 1, 2, 0 by the old conditions; with c = 5: 1, 2 of before, and 0, 4, but not 1, 4, as 5 is not more than 1 + 4.
    assert standing(calls) == [0, 5, 5]


@pytest.mark.parametrize("options", [*SESSIONS, {"speculate": 3}, {"speculate": "all", "engine": "reference"}])
def test_an_absence_that_is_not_over_when_its_query_ends(options: dict[str, Any]) -> None:
    """It was not decided by then: no match is given, and one that was given is taken back."""
    query = cep.Query(EACH.format(0))
    session: Any = query.session(lateness=0, **options)
    session.push(at((0, 0)))
    session.add("more", "PATTERN SEQ(A a, !(B b)) WITHIN 5 milliseconds RETURN a.x AS x")
    calls = [session.push(at((1, 1))), session.push(at((3, 3))), session.push(at((6, 6))), session.remove("more", at=7)]
    calls += [session.push(at((7, 7))), session.push(at((8, 8))), session.push(at((30, 30))), session.close()]
    assert standing(calls, "more") == [1]


@pytest.mark.parametrize("options", SESSIONS)
@pytest.mark.parametrize("engine", ENGINES)
def test_an_added_query_has_its_own_roles_of_columns(options: dict[str, Any], engine: str) -> None:
    """An automaton that knows no types, and a query beside it that does; and another order of ties."""
    query = cep.Query("AUTOMATON s -> f ARC s -> f WHEN e.x > 0 RETURN first.x AS x", type=None)
    session: Any = query.session(lateness=0, engine=engine, **options)
    calls = [session.push(at((0, 0)))]
    session.add("typed", EACH.format(0).replace("A a", "B a"))
    session.add("more", cep.Query("PATTERN B a RETURN a.x AS x"))
    session.add("first", cep.Query("PATTERN SEQ(A a, B b) WHERE strict_contiguity {} RETURN b.x AS x", order_by="x"))
    calls.append(session.push([{"ts": 1, "type": type_, "x": x} for type_, x in [("A", 2), ("A", 4), ("B", 3)]]))
    calls.append(session.close())
    found = {name: standing(calls, name) for name in ("query 1", "typed", "more", "first")}
    assert found == {"query 1": [2, 3, 4], "typed": [2, 3, 4], "more": [3], "first": [3]}


@pytest.mark.parametrize(
    "options", [{"speculate": "all"}, {"speculate": 3}, {"speculate": "all", "engine": "reference"}]
)
def test_a_query_that_is_added_in_the_call_that_removes_the_sessions_own(options: dict[str, Any]) -> None:
    """It has the events that have come since `at`, which the other one gives up."""
    query = cep.Query(EACH.format(0))
    session: Any = query.session(lateness=2, **options)
    calls = [session.push(at((4, 4), (5, 5), (6, 6)))]
    with session.changing() as change:
        change.remove("query 1", at=4)
        change.add("more", EACH.format(1), at=4)
    calls += [change.result, session.push(at((7, 7))), session.push(at((20, 0))), session.close()]
    assert (standing(calls), standing(calls, "more")) == ([4], [5, 6, 7])


@pytest.mark.parametrize("more", [{}, {"speculate": "all"}, {"engine": "interpreted"}])
def test_a_query_of_cesar_may_be_replaced_by_itself(more: dict[str, Any]) -> None:
    text = "CESAR SELECT[x > 1](A) ;[id = id](B)"
    session = cep.Query(text).session(lateness=0, **more)
    session.push([{"ts": 1, "type": "A", "id": 1, "x": 2}])
    assert not len(session.replace("query 1", text))
    assert len(session.push([{"ts": 2, "type": "B", "id": 1, "x": 2}, {"ts": 3, "type": "C", "id": 1, "x": 2}]))
