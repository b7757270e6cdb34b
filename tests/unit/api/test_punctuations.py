"""Punctuations (S17a): which matches come earlier, what is let go of, and what is refused."""

from datetime import UTC, datetime
from random import Random
from typing import Any

import pyarrow as pa
import pytest

import cepheid as cep
from cepheid import BindError, InputError, ParseError, Query, UsageError

THEFTS = "PATTERN SEQ(Shelf a, !(Register n), Exit c) WHERE [tag] WITHIN 100 milliseconds RETURN a.tag AS tag"
ENGINES = pytest.mark.parametrize("engine", ["plain", "compiled", "interpreted"])


def rows(*events: tuple[int, str, Any]) -> list[dict[str, Any]]:
    return [{"ts": ts, "type": kind, "tag": tag} for ts, kind, tag in events]


TWO = rows((1, "Shelf", 7), (2, "Shelf", 8), (5, "Exit", 8), (6, "Exit", 7))


def tags(matches: Any) -> list[Any]:
    return [row["tag"] for row in matches.to_pylist()]


# Keys.


@ENGINES
def test_that_a_key_is_given_before_the_others(engine: str) -> None:
    s = Query(THEFTS).session(engine=engine)
    s.push(TWO)
    assert tags(s.punctuate(6, {"tag": 8})) == [8]
    assert tags(s.punctuate(6, {"tag": 7})) == []  # the Exit is at that time
    assert tags(s.punctuate(7, {"tag": 7})) == [7]
    assert tags(s.close()) == []


@ENGINES
def test_that_an_absence_of_a_key_is_decided(engine: str) -> None:
    q = Query("PATTERN SEQ(Shelf a, !(Exit n)) WHERE [tag] WITHIN 100 milliseconds RETURN a.tag AS tag")
    s = q.session(engine=engine)
    s.push(TWO[:2])
    s.advance(3)
    assert s.stats.runs == 2
    assert tags(s.punctuate(100, {"tag": 7})) == []
    assert tags(s.punctuate(101, {"tag": 7})) == [7]
    assert s.stats.runs == 1
    assert tags(s.advance(102)) == [8]


@ENGINES
def test_that_the_matches_of_a_call_are_in_order_though_partitions_were_ahead(engine: str) -> None:
    s = Query(THEFTS).session(engine=engine)
    s.push(TWO)
    s.punctuate(4, {"tag": 8})  # its Shelf is gone over before that of the other
    assert tags(s.advance(9)) == [8, 7]
    s.push(rows((10, "Shelf", 1), (11, "Shelf", 2), (20, "Exit", 1), (21, "Exit", 2)))
    s.punctuate(21, {"tag": 1})
    s.push(rows((15, "Shelf", 2)))
    assert [(row["match_start"], row["tag"]) for row in s.close().to_pylist()] == [(11, 2), (15, 2)]


@ENGINES
def test_that_a_partition_that_is_ahead_ends_no_run_of_another(engine: str) -> None:
    s = Query(THEFTS.replace("100", "20")).session(engine=engine)
    s.push(rows((10, "Shelf", 1), (50, "Shelf", 2), (60, "Exit", 2)))
    s.advance(11)
    assert tags(s.punctuate(1_000, {"tag": 2})) == [2]
    s.push(rows((25, "Exit", 1)))
    assert tags(s.close()) == [1]


@ENGINES
def test_that_absences_are_given_in_order_though_partitions_were_ahead(engine: str) -> None:
    q = Query("PATTERN SEQ(Shelf a, !(Exit n)) WHERE [tag] WITHIN 20 milliseconds RETURN a.tag AS tag")
    s = q.session(engine=engine)
    s.push(rows((4, "Shelf", 1), (5, "Shelf", 2), (5, "Shelf", 0)))
    assert tags(s.punctuate(6, {"tag": 1})) == []
    assert tags(s.punctuate(6, {"tag": 2})) == []
    s.advance(6)
    s = q.restore(s.snapshot(), engine=engine)
    assert tags(s.advance(100)) == [1, 0, 2]


def test_that_several_columns_make_a_key() -> None:
    q = Query("PATTERN SEQ(Shelf a, Exit b) WHERE [tag] PARTITION BY shop WITHIN 100 milliseconds RETURN a.tag AS tag")
    s = q.session()
    s.push([{**row, "shop": shop} for row in TWO for shop in ("x", "y")])
    assert tags(s.punctuate(9, {"tag": 7, "shop": "x"})) == [7]
    assert tags(s.punctuate(9, {"shop": "y"})) == [8, 7]  # every tag of the shop
    assert tags(s.punctuate(9, "e.shop = 'x' AND e.tag > 7")) == [8]


def test_that_a_key_may_be_null_where_it_is_one() -> None:
    q = Query("PATTERN SEQ(Shelf a, Exit b) PARTITION BY tag WITHIN 100 milliseconds RETURN b.tag AS tag")
    s = q.session()
    s.push([*TWO, *rows((3, "Shelf", None), (4, "Exit", None))])
    assert tags(s.punctuate(9, {"tag": None})) == [None]


def test_that_a_key_and_a_predicate_add_up() -> None:
    s = Query(THEFTS).session()
    s.push(TWO)
    assert tags(s.punctuate(9, {"tag": 7, "type": "Register"})) == []
    assert tags(s.punctuate(9, {"tag": 7, "type": "Exit"})) == []
    assert tags(s.punctuate(9, "e.type = 'Shelf'")) == [7]


def test_that_stacks_become_runs_when_a_partition_is_ahead() -> None:
    q = Query(
        "PATTERN SEQ(A a, B b, C c) WHERE [tag] AND b.x > a.x AND c.x > b.x WITHIN 400 milliseconds RETURN a.tag AS tag"
    )
    chance = Random(1)
    kinds = chance.choices("ABC", [50, 50, 1], k=8_000)
    events = [{"ts": t, "type": k, "tag": t % 3, "x": chance.randrange(100)} for t, k in enumerate(kinds)]
    waiting, s = q.session(), q.session()
    for session in (waiting, s):
        session.push(events)
        session.advance(7_000)
    assert s.stats.plan == "stacks"
    early = s.punctuate(7_900, {"tag": 1}).to_pylist()
    assert s.stats.plan == "automaton"
    rest = waiting.close().to_pylist()
    assert early == [row for row in rest if row["tag"] == 1 and row["match_end"] < 7_900]
    assert s.close().to_pylist() == [row for row in rest if row not in early]


# Predicates.


def test_that_a_query_goes_on_when_all_that_it_can_take_is_promised() -> None:
    s = Query(THEFTS).session(lateness=50)
    s.push(TWO)
    assert tags(s.punctuate(20, "e.type IN ('Shelf', 'Register')")) == []
    assert tags(s.punctuate(20, cep.var("e").type == "Exit")) == [8, 7]
    assert s.push(rows((3, "Door", 1))).count() == 0  # which does nothing
    assert s.stats.events == 5


@pytest.mark.parametrize(
    "promise",
    ["e.temp > 90", "e.floor <= 3", "e.floor = 3 AND e.temp >= 95", "e.floor IN (2, 3)", "e.floor != 4 OR e.temp = 1"],
)
def test_that_promises_follow_from_conditions(promise: str) -> None:
    q = Query("PATTERN SEQ(R a, R b) WHERE a.floor = 3 AND a.temp > 95 AND b.floor = 3 AND b.temp > 95", type="type")
    s = q.session()
    s.push([{"ts": t, "type": "R", "floor": 3, "temp": 99} for t in (1, 2)])
    assert s.punctuate(3, promise).count() == 1


@pytest.mark.parametrize("promise", ["e.temp > 96", "e.floor < 3", "e.floor = 3 AND e.temp = 99", "e.floor IN (1, 2)"])
def test_that_other_promises_have_no_effect(promise: str) -> None:
    q = Query("PATTERN SEQ(R a, R b) WHERE a.floor = 3 AND a.temp > 95 AND b.floor = 3 AND b.temp > 95", type="type")
    s = q.session()
    s.push([{"ts": t, "type": "R", "floor": 3, "temp": 99} for t in (1, 2)])
    assert s.punctuate(3, promise).count() == 0
    assert s.close().count() == 1


def test_that_contiguous_queries_and_automata_need_promises_about_all_events() -> None:
    strict = Query("PATTERN SEQ(A a, B b) WHERE strict_contiguity { b.x > a.x }")
    automaton = Query("AUTOMATON p -> q ARC p -> s ON A ARC s -> q ON B")
    for q in (strict, automaton):
        s = q.session()
        s.push([{"ts": 1, "type": "A", "x": 1}, {"ts": 2, "type": "B", "x": 2}])
        assert s.punctuate(3, "e.type IN ('A', 'B')").count() == 0
        assert s.punctuate(3, "e.type = 'C' OR e.ts > 0 OR e.ts <= 0").count() == 0  # which is not seen to be all
        assert s.punctuate(3, "e.ts >= 0 OR TRUE").count() == 1


@ENGINES
def test_that_a_run_that_can_not_end_is_given_up(engine: str) -> None:
    s = Query(THEFTS).session(engine=engine)
    s.push(rows(*((t, "Shelf", t) for t in range(50))))
    s.advance(50)
    assert s.stats.runs == 50
    s.punctuate(130, "e.type = 'Exit'")  # the windows of the first 31 are over by then
    assert s.stats.runs == 19
    s.push(rows((130, "Exit", 40), (130, "Exit", 20)))
    assert tags(s.close()) == [40]


def test_that_state_is_let_go_of() -> None:
    s = Query(THEFTS).session(engine="interpreted")
    s.push(rows(*((t, "Shelf", 7) for t in range(50))))
    s.advance(50)
    before = s.stats.state_bytes
    s.punctuate(1_000, {"tag": 7})
    assert (s.stats.runs, s.stats.state_bytes) == (0, 0)
    assert before > 10_000


# Sessions that speculate.


@pytest.mark.parametrize("speculate", ["all", 3, 0])
def test_that_final_moves(speculate: object) -> None:
    s = Query(THEFTS).session(speculate=speculate, lateness=50)
    assert s.push(TWO).final == -44
    assert s.punctuate(20, "e.type IN ('Shelf', 'Register')").final == -44
    changes = s.punctuate(20, {"type": "Exit"})
    assert changes.final == 20
    assert tags(changes.added) == ([] if speculate == "all" else [8, 7])
    assert s.push(rows((25, "Shelf", 1))).final == 20
    assert s.advance(21).final == 21


def test_that_a_key_lets_go_of_events_that_speculation_keeps() -> None:
    s = Query(THEFTS).session(speculate="all", lateness=10_000)
    s.push(rows(*((t, "Shelf", t % 2) for t in range(20_000))))
    before = s.stats.state_bytes
    assert not s.punctuate(19_000, {"tag": 0})
    assert before - s.stats.state_bytes > 200_000
    assert tags(s.push(rows((19_050, "Exit", 0))).added) == [0] * 49


def test_that_retractions_leave_promises_without_effect_but_for_late_rows() -> None:
    s = Query(THEFTS).session(speculate="all", lateness=50)
    s.push(TWO)
    s.retract(TWO[:1])
    assert s.punctuate(20, "e.type IN ('Shelf', 'Register', 'Exit')").final == -44
    with pytest.raises(InputError, match="break a promise"):
        s.retract(TWO[1:2])


# Late events.


def test_that_an_event_that_breaks_a_promise_is_late() -> None:
    s = Query(THEFTS).session()
    s.push(TWO)
    s.punctuate(20, {"tag": 7})
    message = r"2 of 3 events break a promise, the first in row 1 \(9\): no event with tag = 7 comes before 20"
    with pytest.raises(InputError, match=message):
        s.push(rows((9, "Exit", 8), (9, "Exit", 7), (8, "Door", 7)))
    assert s.stats.events == 4
    assert s.push(rows((20, "Exit", 7))).count() == 0


@pytest.mark.parametrize("speculate", [None, "all"])
def test_that_late_events_are_dropped_or_collected(speculate: object) -> None:
    s = Query(THEFTS).session(late="collect", speculate=speculate)
    s.push(TWO)
    s.punctuate(20, {"tag": 7})
    s.push(rows((9, "Exit", 8), (9, "Exit", 7), (8, "Door", 7)))
    assert s.stats.late == 2
    assert s.stats.events == 5
    assert s.late_events.to_pylist() == rows((9, "Exit", 7), (8, "Door", 7))
    s.advance(30)  # which passes the promise
    with pytest.raises(UsageError):
        s.advance(29)
    assert s.push(rows((30, "Shelf", 7))) is not None
    assert s.stats.late == 2


def test_that_promises_are_in_a_snapshot_until_the_watermark_passes_them() -> None:
    q = Query(THEFTS)
    s = q.session()
    s.push(TWO)
    s.punctuate(20, {"tag": 7})
    s.punctuate(30, "e.type = 'Exit'")
    again = q.restore(s.snapshot())
    for event in ((19, "Shelf", 7), (29, "Exit", 1)):
        with pytest.raises(InputError, match="break a promise"):
            again.push(rows(event))
    again.advance(20)
    assert again.push(rows((20, "Shelf", 7))).count() == 0
    assert len(again.engine.promises.save()["promises"]) == 1
    again.advance(30)
    assert again.engine.promises.save() == {}


def test_that_declared_types_do_not_make_a_promise_about_events_that_lack_a_column() -> None:
    q = Query("PATTERN SEQ(Shelf a, Exit b)", types={"Shelf": ["tag"], "Exit": []})
    s = q.session()
    s.push([{"ts": 1, "type": "Shelf", "tag": 7}, {"ts": 2, "type": "Exit", "tag": None}])
    s.punctuate(20, "e.tag = 7")
    assert s.push([{"ts": 3, "type": "Exit", "tag": None}]).count() == 0
    assert s.close().count() == 2


# Times.


def test_that_before_is_a_time_as_the_column_has_it() -> None:
    at = datetime(2026, 3, 14, 12, tzinfo=UTC)
    s = Query(THEFTS).session()
    s.push([{**row, "ts": at.replace(microsecond=1000 * row["ts"])} for row in TWO])
    assert tags(s.punctuate("2026-03-14T12:00:00.006+00:00", {"tag": 8})) == [8]
    with pytest.raises(UsageError, match="5 can't be a time of this stream"):
        s.punctuate(5, {"tag": 8})


def test_that_what_is_promised_before_the_watermark_is_nothing_new() -> None:
    s = Query(THEFTS).session()
    s.push(TWO)
    s.advance(5)
    assert s.punctuate(5, {"tag": 8}).count() == 0
    assert s.engine.promises.save() == {}


# Misuse.


@pytest.mark.parametrize(
    ("where", "error", "message"),
    [
        ({}, UsageError, "punctuate is given no column"),
        ({"tga": 1}, BindError, "unknown column 'tga'"),
        ({"tag": "x"}, BindError, "CEP305"),
        ({"tag": object()}, BindError, "can't be used in a query"),
        (5, UsageError, "5 does not say which events"),
        ("e.tga = 1", BindError, "unknown column 'tga'"),
        ("e.tag", BindError, "not a condition"),
        ("tag = 1", BindError, "unknown name 'tag'"),
        ("e.tag = r.tag", BindError, "is on one event to come"),
        ("e.tag = a.tag", BindError, "is on one event to come"),
        ("e[1].tag = 1", BindError, "is on one event to come"),
        ("count(e[]) > 1", BindError, "is on one event to come"),
        ("TRUE", UsageError, "reads no column"),
        ("e.tag =", ParseError, "CEP102"),
        (cep.var("a").tag == 1, BindError, "is on one event to come"),
    ],
)
@pytest.mark.parametrize("speculate", [None, "all"])
def test_that_misuse_is_told_and_alters_nothing(where: Any, error: Any, message: str, speculate: object) -> None:
    s = Query(THEFTS).session(speculate=speculate)
    s.push(TWO)
    before = s.snapshot()
    with pytest.raises(error, match=message):
        s.punctuate(20, where)
    assert s.snapshot() == before


def test_that_a_session_must_be_open_and_have_events() -> None:
    s = Query(THEFTS).session()
    with pytest.raises(UsageError, match="before the first event"):
        s.punctuate(1, {"tag": 7})
    s.push(
        pa.table({"ts": pa.array([], pa.int64()), "type": pa.array([], pa.string()), "tag": pa.array([], pa.int64())})
    )
    with pytest.raises(UsageError, match="before the first event"):
        s.punctuate(1, {"tag": 7})
    s.push(TWO)
    for before in ("noon", 1.5, None, True):
        with pytest.raises(UsageError, match="can't be a time of this stream"):
            s.punctuate(before, {"tag": 7})
    s.close()
    with pytest.raises(UsageError, match="the session is closed"):
        s.punctuate(1, {"tag": 7})


# Programs, and queries that change.


def test_that_programs_go_on_by_predicates_and_not_by_keys() -> None:
    program = Query(
        "PATTERN SEQ(A a, B b) WHERE [tag] WITHIN 50 ms RETURN a.tag AS tag INTO Pair;"
        "FROM Pair PATTERN SEQ(Pair p, Pair q) RETURN p.tag AS first, q.tag AS tag"
    )
    s = program.session()
    s.push(rows((1, "A", 7), (2, "B", 7), (3, "A", 8), (4, "B", 8)))
    assert s.punctuate(20, {"tag": 7}).count() == 0
    found = s.punctuate(20, "e.type IN ('A', 'B')")
    assert {name: tags(one) for name, one in found.outputs.items()} == {"Pair": [7, 8], "query 2": [8]}


def test_that_a_change_holds_after_what_is_promised() -> None:
    s = Query("AUTOMATON p -> q ARC up: p -> q WHEN e.x > 5", type=None).session()
    s.push([{"ts": 1, "x": 9}])
    assert s.punctuate(50, "e.x > 0 OR TRUE").count() == 1
    with pytest.raises(UsageError, match="the change at 20 is before the time of a promise, 50"):
        s.remove_arc("up", at=20)
    s.remove_arc("up")
    s.push([{"ts": 50, "x": 9}, {"ts": 51, "x": 9}])
    assert [row["match_end"] for row in s.close().to_pylist()] == [50]


@pytest.mark.parametrize("speculate", [None, 0, "all"])
def test_that_a_query_that_is_added_does_not_miss_events_of_another(speculate: object) -> None:
    s = Query(THEFTS).session(speculate=speculate)
    s.push(TWO)
    s.add("doors", "PATTERN SEQ(Door a, Exit b) WHERE [tag] RETURN a.tag AS tag")  # at 6
    s.punctuate(50, "e.type IN ('Shelf', 'Register', 'Exit')")  # the doors are still to come
    found = [s.push(rows((20, "Door", 3), (50, "Exit", 3))), s.close()]
    assert [tag for one in found for tag in tags(one.outputs["doors"])] == [3]


@pytest.mark.parametrize("speculate", [None, "all"])
def test_that_queries_come_and_change_after_what_is_promised(speculate: object) -> None:
    s = Query(THEFTS).session(speculate=speculate)
    s.push(TWO)
    s.punctuate(50, {"tag": 7})
    with pytest.raises(UsageError, match="the change at 20 is before the time of a promise, 50"):
        s.add("doors", "PATTERN Door a RETURN a.tag AS tag", at=20)
    with pytest.raises(UsageError, match="can't be replaced before the watermark has passed promises"):
        s.replace("query 1", THEFTS.replace("[tag]", "[tag] AND a.tag > 7"))
    s.add("doors", "PATTERN Door a RETURN a.tag AS tag")
    found = [s.push(rows((50, "Door", 1), (51, "Door", 2))), s.close()]
    assert [tag for one in found for tag in tags(one.outputs["doors"])] == [2]


def test_that_a_query_that_was_replaced_is_promised_nothing() -> None:
    s = Query(THEFTS).session()
    s.push(TWO)
    s.replace("query 1", THEFTS.replace("[tag]", "[tag] AND a.tag > 7"))
    assert s.punctuate(50, {"tag": 8}).count() == 0
    with pytest.raises(InputError, match="break a promise"):
        s.push(rows((49, "Exit", 8)))
    again = Query(THEFTS).restore(s.snapshot())
    with pytest.raises(InputError, match="break a promise"):
        again.push(rows((49, "Exit", 8)))
    assert tags(again.close()) == [8, 7]


@ENGINES
def test_that_registers_are_kept_where_partitions_are_ahead(engine: str) -> None:
    query = Query("""
        AUTOMATON idle -> sold REGISTER n BIGINT = 0
        ARC idle -> shelf SET n = e.tag ARC shelf -> sold SET n = r.n + 1
        PARTITION BY tag WITHIN 9 milliseconds
    """)
    s = query.session(engine=engine)
    s.push(TWO)
    assert [row["n"] for row in s.punctuate(9, {"tag": 8}).to_pylist()] == [9]
    assert [row["n"] for row in s.advance(9).to_pylist()] == [8]
