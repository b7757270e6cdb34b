"""Change sessions: matches at once, taken back when an event comes late or is withdrawn (S15, S16)."""

from datetime import date, datetime, timedelta
from typing import Any

import pandas
import polars
import pyarrow as pa
import pytest

import cepheid as cep
from cepheid.engine.stream import partition_replay, speculation

PAIR = "PATTERN SEQ(A a, B b)"
SAME = "PATTERN SEQ(A a, B b) WHERE [k] WITHIN 10"
CONTIGUOUS = "PATTERN SEQ(A a, B b) WHERE strict_contiguity(a, b) { }"
ALONE = "PATTERN SEQ(A a, !(B b)) WITHIN 10"
EXPLODES = "PATTERN SEQ(A a, B+ b[], C c) WITHIN 1 hour"

Event = dict[str, Any]


def event(time: Any, kind: str, **attributes: Any) -> Event:
    return {"ts": time, "type": kind, **attributes}


def op(sign: Any, time: Any, kind: str, **attributes: Any) -> Event:
    return {"op": sign, "ts": time, "type": kind, **attributes}


def told(changes: cep.Changes) -> list[tuple[str, Any, Any]]:
    """The operation, start and end of each change."""
    return [(row["op"], row["match_start"], row["match_end"]) for row in changes]


def session(text: str, **options: Any) -> cep.Session:
    return cep.Query(text).session(**{"speculate": "all", **options})


# When changes are given


def test_a_match_is_given_at_once() -> None:
    s = session(PAIR)
    assert told(s.push([event(1, "A")])) == []
    assert told(s.push([event(5, "B")])) == [("+", 1, 5)]
    assert told(s.advance(6)) == []
    assert told(s.close()) == []


def test_a_late_event_takes_a_match_back() -> None:
    s = session(CONTIGUOUS)
    assert told(s.push([event(1, "A"), event(5, "B")])) == [("+", 1, 5)]
    assert told(s.push([event(3, "A")])) == [("-", 1, 5), ("+", 3, 5)]
    assert told(s.push([event(4, "C")])) == [("-", 3, 5)]
    assert told(s.retract([event(4, "C")])) == [("+", 3, 5)]


def test_what_a_finite_speculation_sees() -> None:
    """F = W + 3: events before it count, and nothing does while there is no watermark."""
    s = session(PAIR, speculate=3)
    assert told(s.push([event(1, "A"), event(5, "B"), event(7, "B")])) == []
    assert told(s.advance(2)) == []  # another event at 5 may come before F passes it
    assert told(s.advance(3)) == [("+", 1, 5)]
    assert told(s.push([event(4, "B")])) == [("+", 1, 4)]
    assert told(s.push([event(6, "B")])) == []
    assert told(s.retract([event(5, "B")])) == [("-", 1, 5)]
    assert told(s.advance(5)) == [("+", 1, 6), ("+", 1, 7)]
    assert told(s.close()) == []


def test_the_watermark_follows_the_events() -> None:
    s = session(PAIR, speculate=2, lateness=4)
    assert told(s.push([event(1, "A"), event(2, "B")])) == []  # W = -2, F = 0
    assert told(s.push([event(5, "C")])) == [("+", 1, 2)]  # W = 1, F = 3
    assert told(s.push([event(1, "A")])) == [("+", 1, 2)]
    with pytest.raises(cep.InputError, match="CEP408"):
        s.push([event(0, "A")])
    assert told(s.retract([event(2, "B")])) == [("-", 1, 2), ("-", 1, 2)]


def test_the_watermark_follows_retractions() -> None:
    s = session(PAIR, lateness=4)
    s.push([event(1, "A"), event(2, "B")])
    assert s.retract([event(9, "B")]).final == 5
    with pytest.raises(cep.InputError, match="CEP408"):
        s.push([event(4, "B")])
    assert told(s.push([event(9, "B"), event(5, "B")])) == [("+", 1, 5)]


@pytest.mark.parametrize("speculate", ["10 minutes", timedelta(minutes=10), 600])
def test_how_a_speculation_is_written(speculate: object) -> None:
    start = datetime(2024, 1, 1)
    s = cep.Query(PAIR, unit="s").session(speculate=speculate)
    s.push([event(start, "A"), event(start + timedelta(minutes=9), "B")])
    assert told(s.advance(start - timedelta(minutes=1))) == []
    assert len(s.advance(start)) == 1


def test_a_speculation_in_days() -> None:
    s = session("PATTERN A a", speculate="2 days")
    s.push([event(date(2024, 1, day), "A") for day in (1, 2, 3, 4)])
    assert [row["match_end"].day for row in s.advance(date(2024, 1, 1))] == [1, 2]


@pytest.mark.parametrize("speculate", [-1, True, "soon", "ALL", 1.5, object(), timedelta(seconds=-1)])
def test_what_is_no_speculation(speculate: object) -> None:
    with pytest.raises(cep.UsageError, match="speculate"):
        session(PAIR, speculate=speculate)


def test_no_speculation_is_waiting() -> None:
    s = session(PAIR, speculate=0)
    assert told(s.push([event(1, "A"), event(5, "B")])) == []
    assert told(s.advance(5)) == []
    assert told(s.advance(6)) == [("+", 1, 5)]


def test_final_is_the_watermark_where_nothing_waits() -> None:
    s = session(f"{PAIR} WITHIN 10")
    assert s.push([event(1, "A"), event(5, "B")]).final is None
    assert s.advance(4).final == 4
    assert s.push([event(4, "B")]).final == 4


def test_final_is_before_what_may_be_taken_back() -> None:
    s = session(ALONE)
    s.push([event(5, "A")])
    assert s.advance(14).final <= 5  # a B at 14 would undo it
    assert told(s.push([event(14, "B")])) == [("-", 5, 5)]
    s = session(ALONE, speculate=2)
    s.push([event(5, "A")])
    assert s.advance(12).final <= 5
    assert s.advance(16).final > 5


def test_nothing_follows_the_end() -> None:
    s = session(PAIR)
    s.push([event(1, "A"), event(2, "B")])
    assert told(s.close()) == []
    rows = [event(2, "B")]
    for call in (lambda: s.push(rows), lambda: s.retract(rows), lambda: s.revise(rows, rows), s.close, s.snapshot):
        with pytest.raises(cep.UsageError, match="the session is closed"):
            call()


def test_a_session_that_was_given_nothing() -> None:
    changes = session(PAIR).close()
    assert (len(changes), told(changes)) == (0, [])


# Corners


def test_a_late_event_opens_a_partition() -> None:
    s = session(SAME)
    assert told(s.push([event(3, "A", k=5), event(6, "B", k=5)])) == [("+", 3, 6)]
    assert told(s.push([event(4, "B", k=2)])) == []
    assert told(s.push([event(1, "A", k=2)])) == [("+", 1, 4)]
    assert told(s.push([event(2, "A", k=9), event(5, "B", k=9)])) == [("+", 2, 5)]
    assert told(s.retract([event(1, "A", k=2)])) == [("-", 1, 4)]
    assert told(s.retract([event(4, "B", k=2)])) == []
    assert told(s.push([event(4, "B", k=5)])) == [("+", 3, 4)]


@pytest.mark.parametrize("text", [PAIR, f"{PAIR} WITHIN 10", CONTIGUOUS, f"{PAIR} WITHIN 9 OUTPUT NON_OVERLAP"])
def test_the_newest_event_is_withdrawn(text: str) -> None:
    s = session(text)
    assert told(s.push([event(1, "A"), event(5, "B")])) == [("+", 1, 5)]
    assert told(s.retract([event(5, "B")])) == [("-", 1, 5)]
    assert told(s.push([event(6, "B")])) == [("+", 1, 6)]
    assert told(s.retract([event(1, "A"), event(6, "B")])) == [("-", 1, 6)]
    assert told(s.push([event(7, "B")])) == []
    assert told(s.close()) == []


@pytest.mark.parametrize("engine", ["plain", "compiled"])
def test_the_newest_event_is_withdrawn_by_the_call_that_brings_a_late_one(engine: str) -> None:
    """Between the two nothing is under way: what is gone over again does not come to the end of the stream."""
    s = session(CONTIGUOUS, engine=engine)
    assert told(s.push([event(time, "C") for time in (0, 4, 6, 8)] + [event(9, "A")])) == []
    assert told(s.revise([event(9, "A")], [event(2, "C")])) == []
    assert told(s.push([event(10, "B")])) == []


def test_one_of_equal_events_is_withdrawn() -> None:
    s = session(PAIR)
    assert told(s.push([event(1, "A"), event(5, "B"), event(5, "B")])) == [("+", 1, 5)] * 2
    assert told(s.retract([event(5, "B")])) == [("-", 1, 5)]
    assert told(s.push([event(5, "B"), event(1, "A")])) == [("+", 1, 5)] * 3
    assert told(s.retract([event(5, "B"), event(5, "B")])) == [("-", 1, 5)] * 4
    assert told(s.close()) == []


def test_one_of_many_events_of_an_instant_is_withdrawn() -> None:
    """Those before it in the order of their content leave no run, before and now; what follows it still changes."""
    s = session(CONTIGUOUS)
    assert told(s.push([event(1, kind) for kind in ("0", "1", "A", "B")])) == [("+", 1, 1)]
    assert told(s.retract([event(1, "A")])) == [("-", 1, 1)]
    assert told(s.push([event(1, "A"), event(1, "AB"), event(1, "C")])) == []
    assert told(s.retract([event(1, "AB")])) == [("+", 1, 1)]
    assert told(s.close()) == []


def test_a_retraction_looks_at_every_column() -> None:
    s = session(PAIR)
    s.push([event(1, "A", x=1.5), event(5, "B", x=2.5), event(5, "B", x=None), event(5, "B", x=float("nan"))])
    (change,) = s.retract([event(5, "B", x=2.5)])
    assert change["b"] == event(5, "B", x=2.5)
    (change,) = s.retract([event(5, "B", x=None)])
    assert change["b"] == event(5, "B", x=None)
    (change,) = s.retract([event(5, "B", x=float("nan"))])
    assert (change["op"], str(change["b"]["x"])) == ("-", "nan")
    assert told(s.retract([event(1, "A", x=7.5)])) == []


@pytest.mark.parametrize("engine", ["auto", "interpreted", "reference"])
def test_a_null_is_equal_to_one_in_a_dictionary(engine: str) -> None:
    codes, words = pa.array([0, 1], pa.int8()), pa.array(["u", None])
    s = session(PAIR, engine=engine)
    s.push(pa.table({"ts": [1, 5], "type": ["A", "B"], "x": pa.DictionaryArray.from_arrays(codes, words)}))
    null = pa.DictionaryArray.from_arrays(pa.array([None], pa.int8()), words[:1])
    assert told(s.retract(pa.table({"ts": [5], "type": ["B"], "x": null}))) == [("-", 1, 5)]


@pytest.mark.parametrize("engine", ["auto", "plain", "interpreted", "reference"])
def test_a_late_null(engine: str) -> None:
    s = session("PATTERN SEQ(A a, B b) WHERE skip_till_next_match { b.x > a.x } PARTITION BY k", engine=engine)
    assert told(s.push([event(1, "A", k=1, x=1), event(5, "B", k=1, x=2)])) == [("+", 1, 5)]
    assert told(s.push([event(3, "B", k=1, x=None)])) == []
    assert told(s.push([event(4, "B", k=None, x=2)])) == []
    assert told(s.push([event(2, "A", k=None, x=1)])) == [("+", 2, 4)]
    assert told(s.revise([event(5, "B", k=1, x=2)], [event(5, "B", k=1, x=None)])) == [("-", 1, 5)]
    assert told(s.revise([event(3, "B", k=1, x=None)], [event(3, "B", k=1, x=9)])) == [("+", 1, 3)]


def test_a_cascade() -> None:
    """S12: an earlier match hides the next, which no longer hides the one after it, and so on."""
    s = session("PATTERN SEQ(A a, B b) WHERE a.x = b.x WITHIN 10 OUTPUT NON_OVERLAP")
    pairs = [(2, 5), (4, 8), (7, 11), (10, 14)]
    rows = [event(t, kind, x=x) for x, pair in enumerate(pairs) for t, kind in zip(pair, "AB", strict=True)]
    assert told(s.push(rows)) == [("+", 2, 5), ("+", 7, 11)]
    assert told(s.push([event(1, "A", x=9)])) == []
    undone = [("-", 2, 5), ("-", 7, 11), ("+", 1, 3), ("+", 4, 8), ("+", 10, 14)]
    assert told(s.push([event(3, "B", x=9)])) == undone
    redone = [("-", 1, 3), ("-", 4, 8), ("-", 10, 14), ("+", 2, 5), ("+", 7, 11)]
    assert told(s.retract([event(3, "B", x=9)])) == redone


def test_an_absence_is_undone() -> None:
    s = session(ALONE)
    assert told(s.push([event(1, "A")])) == [("+", 1, 1)]
    assert told(s.push([event(5, "B")])) == [("-", 1, 1)]
    assert told(s.push([event(11, "B")])) == []
    assert told(s.retract([event(5, "B")])) == [("+", 1, 1)]
    assert told(s.close()) == []


def test_an_absence_is_given_when_the_speculation_reaches_its_end() -> None:
    s = session(ALONE, speculate=3)
    s.push([event(1, "A")])
    assert told(s.advance(7)) == []
    assert told(s.advance(8)) == [("+", 1, 1)]
    assert told(s.push([event(10, "B")])) == [("-", 1, 1)]
    assert told(s.push([event(12, "A")])) == []
    assert told(s.close()) == [("+", 12, 12)]


def test_an_absence_for_a_while_is_undone() -> None:
    s = session("PATTERN SEQ(A a, B b, !(C c) FOR 5) WITHIN 20")
    assert told(s.push([event(1, "A"), event(10, "B")])) == [("+", 1, 10)]
    assert told(s.push([event(15, "C")])) == []
    assert told(s.push([event(14, "C")])) == [("-", 1, 10)]
    assert told(s.push([event(12, "B")])) == []
    assert told(s.revise([event(14, "C")], [event(17, "C")])) == [("+", 1, 10)]
    assert told(s.retract([event(15, "C")])) == [("+", 1, 12)]


def test_an_event_at_the_watermark_is_not_late() -> None:
    s = session(PAIR)
    s.push([event(1, "A"), event(6, "B")])
    s.advance(5)
    assert told(s.push([event(5, "B")])) == [("+", 1, 5)]
    assert told(s.retract([event(5, "B")])) == [("-", 1, 5)]
    for call in (s.push, s.retract):
        with pytest.raises(cep.InputError, match="CEP408"):
            call([event(4, "B"), event(7, "B")])
    assert told(s.close()) == []


@pytest.mark.parametrize("engine", ["auto", "plain", "interpreted", "reference"])
def test_what_a_late_event_can_change_reaches_two_windows_back(engine: str) -> None:
    """The N rules the match out, eighteen before the M that would: no change."""
    s = session("PATTERN SEQ(!(N n), A a, B b, !(M m)) WITHIN 10", engine=engine)
    assert told(s.push([event(3, "N"), event(10, "A"), event(12, "B")])) == []
    assert told(s.push([event(19, "M")])) == []
    assert told(s.retract([event(19, "M")])) == []
    assert told(s.push([event(19, "M")])) == []
    assert told(s.retract([event(3, "N")])) == []
    assert told(s.retract([event(19, "M")])) == [("+", 10, 12)]
    assert told(s.push([event(2, "N"), event(20, "M")])) == []


def test_other_events_but_the_same_row() -> None:
    """S15.2: what is returned is equal, so nothing changes; it is taken back once nothing gives it."""
    s = session("PATTERN SEQ(A a, B b, C c) WHERE strict_contiguity { } RETURN a.x AS x")
    assert told(s.push([event(1, "A", x=1), event(3, "B", x=3), event(5, "C", x=5)])) == [("+", 1, 5)]
    assert told(s.revise([event(3, "B", x=3)], [event(4, "B", x=4)])) == []
    assert told(s.retract([event(4, "B", x=4)])) == [("-", 1, 5)]


def test_an_identifier_stands_until_it_is_taken_back() -> None:
    """Also where other events took the place of those that it was made from."""
    s = session("PATTERN SEQ(A a, B b, C c) RETURN a.x AS x")
    given = s.push([event(1, "A", x=1), event(3, "B", x=3), event(5, "C", x=5)]).to_arrow(ids=True)
    assert not s.revise([event(3, "B", x=3)], [event(4, "B", x=4)])
    gone = s.retract([event(4, "B", x=4)]).to_arrow(ids=True)
    assert given.column_names == gone.column_names == ["op", "match_id", "match_start", "match_end", "x"]
    assert (gone["op"].to_pylist(), gone["match_id"]) == (["-"], given["match_id"])


# Retractions and debts


def test_a_debt_and_its_payment_are_never_seen() -> None:
    s = session(PAIR)
    assert told(s.retract([event(5, "B")])) == []  # also as the first that comes
    assert told(s.push([event(1, "A")])) == []
    assert told(s.push([event(5, "B")])) == []
    assert told(s.push([event(5, "B")])) == [("+", 1, 5)]


def test_both_in_one_call_cancel() -> None:
    s = session(PAIR, op="op")
    rows = [op("-", 5, "B"), op("+", 1, "A"), op("+", 5, "B"), op("+", 6, "B")]
    assert told(s.push(rows)) == [("+", 1, 6)]


def test_a_revision() -> None:
    s = session(PAIR)
    s.push([event(1, "A", x=1), event(5, "B", x=1)])
    changes = s.revise([event(5, "B", x=1)], [event(5, "B", x=2)])
    assert [(row["op"], row["b"]["x"]) for row in changes] == [("-", 1), ("+", 2)]
    assert told(s.revise([event(5, "B", x=2)], [event(5, "B", x=2)])) == []
    assert told(s.revise([event(8, "B", x=0)], [event(7, "B", x=0)])) == [("+", 1, 7)]  # of an event still to come
    assert told(s.push([event(8, "B", x=0)])) == []


@pytest.mark.parametrize("engine", ["auto", "plain", "interpreted", "reference"])
@pytest.mark.parametrize("few", [0, 4096])
def test_a_retraction_and_the_watermark_in_one_call(few: int, engine: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The event is gone before F passes it."""
    monkeypatch.setattr(speculation, "FEW_EVENTS", few)
    monkeypatch.setattr(partition_replay, "FEW", few)
    s = session("PATTERN B b", speculate=1, lateness=2, op="op", engine=engine)
    assert told(s.push([op("+", 1, "B")])) == []
    assert told(s.push([op("+", 4, "B"), op("-", 1, "B")])) == []
    assert told(s.close()) == [("+", 4, 4)]


@pytest.mark.parametrize("speculate", [None, 0, 2, "all"])
@pytest.mark.parametrize("end", ["advance", "push", "close"])
def test_a_debt_that_is_never_paid_is_an_error(end: str, speculate: object) -> None:
    s = session(PAIR, speculate=speculate, op="op", lateness=10)
    s.push([op("+", 1, "A"), op("+", 5, "B"), op("-", 5, "C")])
    calls = {"advance": lambda: s.advance(6), "push": lambda: s.push([op("+", 16, "A")]), "close": s.close}
    for _ in range(2):
        with pytest.raises(cep.InputError, match="CEP408"):
            calls[end]()
    assert s.stats.late == 0
    s.advance(5)
    s.push([op("+", 5, "C")])
    assert len(calls[end]()) == int(speculate in (None, 0))
    if end != "close":
        assert len(s.close()) == 0


@pytest.mark.parametrize("end", ["advance", "push", "close"])
@pytest.mark.parametrize("late", ["drop", "collect"])
def test_a_debt_that_is_never_paid_is_late(late: str, end: str) -> None:
    s = session(PAIR, op="op", lateness=10, late=late)
    s.push([op("+", 1, "A"), op("+", 5, "B"), op("-", 5, "C")])
    assert s.stats.late == 0
    calls = {"advance": lambda: s.advance(6), "push": lambda: s.push([op("+", 16, "A")]), "close": s.close}
    assert told(calls[end]()) == []
    assert s.stats.late == 1
    set_aside = [(row["ts"], row["type"]) for row in s.late_events.to_pylist()]
    assert set_aside == ([(5, "C")] if late == "collect" else [])


@pytest.mark.parametrize("late", ["drop", "collect"])
def test_a_late_retraction(late: str) -> None:
    s = session(PAIR, late=late)
    s.push([event(1, "A"), event(5, "B"), event(8, "B")])
    s.advance(6)
    assert told(s.retract([event(5, "B"), event(8, "B")])) == [("-", 1, 8)]
    assert s.stats.late == 1
    set_aside = [(row["ts"], row["type"]) for row in s.late_events.to_pylist()]
    assert set_aside == ([(5, "B")] if late == "collect" else [])


def test_a_revision_is_refused_as_a_whole() -> None:
    s = session(PAIR)
    s.push([event(1, "A"), event(5, "B"), event(8, "B")])
    s.advance(6)
    for old, new in [((5, "B"), (7, "B")), ((8, "B"), (5, "B"))]:
        with pytest.raises(cep.InputError, match="CEP408"):
            s.revise([event(*old)], [event(*new)])
    assert told(s.revise([event(8, "B")], [event(6, "B")])) == [("-", 1, 8), ("+", 1, 6)]


def test_a_waiting_session_takes_retractions() -> None:
    """They cancel what still waits, and matches are certain."""
    s = cep.Query(PAIR).session(op="op")
    assert isinstance(s.push([op("+", 1, "A"), op("+", 5, "B"), op("+", 7, "B"), op("-D", 9, "B")]), cep.Matches)
    s.push([op("-", 5, "B")])
    s.push([op("+", 9, "B")])
    assert [m["match_end"] for m in s.advance(10)] == [7]
    with pytest.raises(cep.InputError, match="CEP408"):
        s.retract([event(7, "B")])
    assert len(s.close()) == 0


# The op column


@pytest.mark.parametrize(("insert", "retract"), [("+", "-"), ("+I", "-D"), ("+U", "-U"), ("+", "-D")])
def test_how_an_operation_is_written(insert: str, retract: str) -> None:
    s = session(PAIR, op="change")
    both = [event(1, "A", change=insert), event(5, "B", change=insert), event(6, "B", change=insert)]
    (first, _) = s.push(both)
    assert first["a"] == event(1, "A")  # it is no column of the events
    assert told(s.push([event(5, "B", change=retract)])) == [("-", 1, 5)]
    table = pa.table({"change": [retract, insert], "ts": [6, 4], "type": ["B", "B"]})
    assert told(s.push(table)) == [("-", 1, 6), ("+", 1, 4)]


@pytest.mark.parametrize("value", ["x", "", "I", "-U ", "D", "++", None])
def test_what_is_no_operation(value: object) -> None:
    s = session(PAIR, op="op")
    s.push([op("+", 1, "A")])
    with pytest.raises(cep.InputError) as error:
        s.push([op("+", 5, "B"), op(value, 6, "B"), op("-", 1, "A")])
    assert "row 1" in error.value.message
    assert repr(value) in error.value.message
    assert told(s.push([op("+", 7, "B")])) == [("+", 1, 7)]  # nothing of the batch was taken


def test_an_operation_that_is_no_text() -> None:
    s = session(PAIR, op="op")
    with pytest.raises(cep.InputError, match="op"):
        s.push([op(1, 1, "A")])


@pytest.mark.parametrize("form", [list, pa.Table.from_pylist])
def test_a_column_of_operations_that_is_missing(form: Any) -> None:
    s = session(PAIR, op="op")
    with pytest.raises(cep.CepheidError, match="'op'"):
        s.push(form([event(1, "A")]))
    s.push(form([op("+", 1, "A")]))
    with pytest.raises(cep.CepheidError, match="'op'"):
        s.push(form([event(5, "B")]))
    assert told(s.push(form([op("+", 6, "B")]))) == [("+", 1, 6)]


def test_retract_and_revise_take_rows_without_operations() -> None:
    s = session(PAIR, op="op")
    s.push([op("+", 1, "A"), op("+", 5, "B")])
    assert told(s.retract([event(5, "B")])) == [("-", 1, 5)]
    assert told(s.revise([event(1, "A")], [event(2, "A"), event(3, "B")])) == [("+", 2, 3)]
    with pytest.raises(cep.InputError, match=r"CEP409: the rows that retract is given have the column 'op'"):
        s.retract([op("-", 2, "A")])


@pytest.mark.parametrize("name", ["", 5, "ts", "type"])
def test_what_is_no_column_of_operations(name: object) -> None:
    with pytest.raises(cep.UsageError, match="op"):
        session(PAIR, op=name)


def test_a_query_can_not_read_the_operation() -> None:
    s = session("PATTERN SEQ(A a, B b) WHERE a.op = '+'", op="op")
    with pytest.raises(cep.BindError, match="CEP301"):
        s.push([op("+", 1, "A")])


def test_rows_that_lack_a_column() -> None:
    """As when they are pushed: of dicts it is NULL, of a table an error."""
    s = session(PAIR)
    s.push([event(1, "A", x=1), event(5, "B", x=None), event(5, "B", x=2)])
    (change,) = s.retract([event(5, "B")])
    assert change["b"] == event(5, "B", x=None)
    with pytest.raises(cep.InputError, match=r"CEP409.*lacks x"):
        s.retract(pa.table({"ts": [5], "type": ["B"]}))


def test_rows_with_another_column() -> None:
    s = session(PAIR)
    s.push([event(1, "A"), event(5, "B")])
    for call in (s.retract, s.push, lambda rows: s.revise(rows, [event(6, "B")])):
        with pytest.raises(cep.InputError, match=r"CEP409.*adds x"):
            call([event(5, "B", x=1)])
    assert told(s.retract([event(5, "B")])) == [("-", 1, 5)]


def test_a_session_without_changes_takes_none() -> None:
    s = cep.Query(PAIR).session()
    s.push([event(1, "A")])
    for call in (lambda: s.retract([event(1, "A")]), lambda: s.revise([event(1, "A")], [event(2, "A")])):
        with pytest.raises(cep.UsageError, match=r"speculate=.*op=|op=.*speculate=") as error:
            call()
        assert "session(" in str(error.value)
    s.push([event(5, "B")])
    assert len(s.close()) == 1


def test_events_in_any_form() -> None:
    s = session(PAIR, op="op")
    assert told(s.push([])) == []
    assert told(s.push(polars.DataFrame({"op": ["+", "+"], "ts": [1, 2], "type": ["A", "B"]}))) == [("+", 1, 2)]
    assert told(s.retract(pandas.DataFrame({"ts": [2], "type": ["B"]}))) == [("-", 1, 2)]
    codes = pa.table({"ts": [5], "type": ["B"], "op": pa.array(["+U"]).dictionary_encode()})
    assert told(s.push(codes)) == [("+", 1, 5)]
    assert told(s.push(pa.table({"ts": [5], "type": ["B"], "op": pa.array(["-U"], pa.large_string())}))) == [
        ("-", 1, 5)
    ]
    assert told(s.revise([event(1, "A")], codes.drop_columns("op"))) == []


def test_a_value_that_fits_is_equal() -> None:
    s = session(PAIR)
    s.push([event(1, "A", x=1.5), event(5, "B", x=2.0)])
    assert told(s.retract([event(5, "B", x=2)])) == [("-", 1, 5)]


@pytest.mark.parametrize("engine", ["auto", "plain", "interpreted", "reference"])
@pytest.mark.parametrize("text", [PAIR, "PATTERN SEQ(A a, B b) WHERE b.x > 3 OR a.x IS NULL"])
def test_a_column_gets_its_type_late(text: str, engine: str) -> None:
    """It has only NULL so far, in events that are kept and may be withdrawn."""
    s = session(text, engine=engine)
    assert told(s.push([event(1, "A", x=None), event(4, "B", x=None)])) == [("+", 1, 4)]
    assert told(s.push([event(3, "B", x=5)])) == [("+", 1, 3)]
    (change,) = s.retract([event(4, "B", x=None)])
    assert (change["op"], change["b"]) == ("-", event(4, "B", x=None))
    assert told(s.push([event(2, "A", x=7)])) == [("+", 2, 3)]
    assert told(s.retract([event(1, "A")])) == [("-", 1, 3)]


@pytest.mark.parametrize("engine", ["auto", "plain", "interpreted", "reference"])
@pytest.mark.parametrize("value", [5, 1.5, "u", True, date(2026, 1, 2), [1], {"y": 1}])
def test_an_identifier_stays_when_a_column_gets_its_type_late(value: object, engine: str) -> None:
    s = session("PATTERN SEQ(A a, !(N n), B b) WITHIN 10", engine=engine)
    (added,) = s.push([event(1, "A", x=None), event(4, "B", x=None)]).to_arrow(ids=True)["match_id"].to_pylist()
    (removed,) = s.push([event(3, "N", x=value)]).to_arrow(ids=True)["match_id"].to_pylist()
    assert removed == added


# What changes are


def test_forms() -> None:
    s = session("PATTERN SEQ(A a, B b) WHERE strict_contiguity { } RETURN a.x AS x")
    s.push([event(1, "A", x=7), event(5, "B", x=8)])
    changes = s.push([event(3, "A", x=9)])
    removed, added = {"match_start": 1, "match_end": 5, "x": 7}, {"match_start": 3, "match_end": 5, "x": 9}
    rows = [{"op": "-", **removed}, {"op": "+", **added}]
    assert isinstance(changes, cep.Changes)
    assert isinstance(changes.added, cep.Matches)
    assert (changes.added.to_pylist(), changes.removed.to_pylist()) == ([added], [removed])
    assert changes.to_pylist() == list(changes) == changes.to_arrow().to_pylist() == rows
    assert [list(row) for row in changes] == [["op", "match_start", "match_end", "x"]] * 2
    assert changes.to_arrow().column_names == ["op", "match_start", "match_end", "x"]
    assert changes.to_arrow(ids=True).column_names == ["op", "match_id", "match_start", "match_end", "x"]
    assert changes.to_pandas().to_dict("records") == rows
    assert changes.to_polars().to_dicts() == rows
    assert (len(changes), bool(changes)) == (2, True)
    assert repr(changes).splitlines() == [
        "<2 changes>",
        "op  match_start  match_end  x",
        "-   1            5          7",
        "+   3            5          9",
    ]


def test_no_changes() -> None:
    changes = session("PATTERN SEQ(A a, B b) RETURN a.x AS x").push([event(1, "A", x=7)])
    assert (len(changes), bool(changes), changes.to_pylist(), list(changes)) == (0, False, [], [])
    assert (len(changes.added), len(changes.removed)) == (0, 0)
    names = ["op", "match_start", "match_end", "x"]
    assert changes.to_arrow().column_names == changes.to_polars().columns == list(changes.to_pandas().columns) == names
    assert changes.to_arrow().num_rows == changes.to_arrow(ids=True).num_rows == 0
    assert repr(changes) == "<no changes: op, match_start, match_end, x>"


def test_order() -> None:
    """Those that are taken back first, each by end, then start."""
    s = session("PATTERN SEQ(A a, B b) WHERE strict_contiguity { } PARTITION BY k")
    s.push([event(t, kind, k=k) for k in range(2) for t, kind in [(1 + k, "A"), (9 - k, "B")]])
    changes = s.push([event(7, "A", k=0), event(5, "A", k=1)])
    assert told(changes) == [("-", 2, 8), ("-", 1, 9), ("+", 5, 8), ("+", 7, 9)]


@pytest.mark.parametrize("engine", ["auto", "interpreted", "reference"])
def test_order_of_simultaneous_events(engine: str) -> None:
    """Matches that end at one time are ordered by their starts, also if others were given by another call."""
    s = session(f"{PAIR} TIES SIMULTANEOUS", engine=engine)
    first, last = [event(1, "A", x=0), event(2, "A", x=0)], [event(5, "B", x=0), event(5, "B", x=1)]
    s.push(first)
    expected = [(start, 5, x) for start in (1, 2) for x in (0, 1)]
    added = s.push(last).added
    assert [(m["match_start"], m["match_end"], m["b"]["x"]) for m in added] == expected
    s.push([event(9, "B", x=0)])
    removed = s.retract(first).removed
    assert [(m["match_start"], m["match_end"], m["b"]["x"]) for m in removed] == [*expected, (1, 9, 0), (2, 9, 0)]


def test_changes_stay_what_they_were() -> None:
    s = session(PAIR)
    first = s.push([event(1, "A"), event(5, "B")])
    second = s.retract([event(1, "A")])
    s.push([event(0, "A"), event(4, "C")])
    s.close()
    assert (told(first), told(second)) == ([("+", 1, 5)], [("-", 1, 5)])
    assert first.added[0]["a"] == second.removed[0]["a"] == event(1, "A")


PROGRAM = """
    PATTERN SEQ(A a, B b) WHERE strict_contiguity { } RETURN a.x AS x INTO Pair;
    FROM Pair PATTERN SEQ(Pair p, Pair q) RETURN p.x AS first, q.x AS second
"""


def test_a_program() -> None:
    """S16: a composite event that is taken back is a retraction for the query that reads it."""
    s = session(PROGRAM)
    s.push([event(t, kind, x=t) for t, kind in [(1, "A"), (3, "B"), (5, "A"), (8, "B")]])
    changes = s.push([event(2, "A", x=2)])
    assert list(changes.outputs) == ["Pair", "query 2"]
    assert told(changes.outputs["Pair"]) == [("-", 1, 3), ("+", 2, 3)]
    assert told(changes) == told(changes.outputs["query 2"]) == [("-", 1, 8), ("+", 2, 8)]
    changes = s.retract([event(8, "B", x=8)])
    assert told(changes.outputs["Pair"]) == [("-", 5, 8)]
    assert told(changes) == [("-", 2, 8)]
    assert told(s.close()) == []


# Snapshots


@pytest.mark.parametrize("speculate", [0, 3, "all"])
def test_a_snapshot_has_everything(speculate: int | str) -> None:
    query = cep.Query(PAIR)
    s = query.session(speculate=speculate, op="op", late="collect", lateness=20)
    s.push([op("+", 9, "A"), op("+", 13, "B"), op("-", 13, "C"), op("+", 31, "D")])  # W = 11
    s.push([op("-", 9, "A")])  # late
    s = query.restore(s.snapshot())
    assert (s.stats.late, s.late_events.num_rows) == (1, 1)
    s.push([op("+", 12, "A")])
    s.push([op("+", 13, "C")])  # a debt is paid
    s = query.restore(s.snapshot())
    s.push([op("-", 12, "A")])
    s.push([op("+", 10, "A"), op("+", 14, "B")])
    s = query.restore(s.snapshot())
    s.push([op("+", 45, "D")])
    assert s.stats.late == 2
    assert isinstance(s.close(), cep.Changes)


def test_what_was_given_is_taken_back_after_a_restart() -> None:
    query = cep.Query(PAIR)
    s = query.session(speculate="all")
    s.push([event(1, "A"), event(5, "B")])
    s = query.restore(s.snapshot())
    assert told(s.retract([event(1, "A")])) == [("-", 1, 5)]
    s = query.restore(s.snapshot())
    assert told(s.push([event(0, "A")])) == [("+", 0, 5)]
    assert told(query.restore(s.snapshot()).close()) == []


# What can't be listed


@pytest.mark.parametrize("speculate", [3, "all"])
def test_what_explodes_is_refused(speculate: object) -> None:
    s = session(EXPLODES, speculate=speculate)
    s.push([event(0, "A")])
    s.advance(0)

    def explode() -> None:
        s.push([event(t, kind) for t, kind in enumerate(80 * "B" + "C", start=1)])
        s.advance(100)

    with pytest.raises(cep.EvaluationError, match="CEP505"):
        explode()


# match


def test_match_is_that_of_the_net() -> None:
    rows = [op("-D", 5, "B"), op("+I", 1, "A"), op("+", 5, "B"), op("+U", 5, "B"), op("+", 6, "C")]
    for engine in ("auto", "plain", "interpreted", "reference"):
        matches = cep.Query(PAIR).match(rows, op="op", engine=engine)
        assert matches.to_pylist() == cep.Query(PAIR).match([event(1, "A"), event(5, "B")]).to_pylist()


def test_match_of_a_feed_is_limited_and_counted() -> None:
    rows = [op("+", 1, "A"), *(op("+", t, "B") for t in range(2, 6)), op("-", 2, "B")]
    assert [m["match_end"] for m in cep.Query(PAIR).match(rows, op="op", limit=2)] == [3, 4]
    assert cep.Query(PAIR).match(rows, op="op").count() == 3
    subsets = [op("+", t, kind) for t, kind in enumerate("A" + 81 * "B" + "C")] + [op("-", 7, "B")]
    assert cep.Query(EXPLODES).match(subsets, op="op").count() == 2**80 - 1


def test_match_ignores_a_retraction_of_nothing() -> None:
    rows = [op("+", 1, "A"), op("+", 5, "B"), op("-", 6, "B"), op("-", 5, "C")]
    with pytest.warns(cep.CepheidWarning, match="2"):
        matches = cep.Query(PAIR).match(rows, op="op")
    assert len(matches) == 1


def test_match_tells_what_is_no_operation() -> None:
    with pytest.raises(cep.InputError, match=r"row 1.*'\*'|'\*'.*row 1"):
        cep.Query(PAIR).match([op("+", 1, "A"), op("*", 5, "B")], op="op")
    with pytest.raises(cep.CepheidError, match="'op'"):
        cep.Query(PAIR).match([event(1, "A")], op="op")


# Sequence numbers

NUMBERED = "PATTERN SEQ(A a, B b, C c) WHERE strict_contiguity { }"
PARTITIONS = "PATTERN SEQ(A a, B b, C c) WHERE partition_contiguity { [k] }"


@pytest.mark.parametrize("speculate", [0, 2, "all"])
def test_what_has_no_gap_is_given_at_once(speculate: object) -> None:
    s = session(NUMBERED, sequence="n", speculate=speculate)
    assert told(s.push([event(1, "A", n=1), event(2, "B", n=2)])) == []
    assert told(s.push([event(3, "C", n=3)])) == [("+", 1, 3)]
    assert told(s.push([event(4, "A", n=4), event(6, "C", n=6)])) == []  # 5 may be anything
    assert told(s.push([event(8, "B", n=8), event(9, "C", n=9)])) == []
    assert told(s.push([event(5, "B", n=5)])) == [("+", 4, 6)]
    assert told(s.push([event(7, "A", n=7)])) == [("+", 7, 9)]
    assert told(s.close()) == []


@pytest.mark.parametrize("speculate", [0, "all"])
def test_a_gap_that_stays(speculate: object) -> None:
    """Nothing goes over it, however far the watermark is."""
    s = session(NUMBERED, sequence="n", speculate=speculate)
    rows = [event(1, "A", n=1), event(3, "B", n=3), event(4, "C", n=4)]
    assert told(s.push(rows)) == told(s.advance(9)) == told(s.close()) == []
    assert len(cep.Query(NUMBERED).match(rows)) == 1
    assert len(cep.Query(NUMBERED).match(rows, sequence="n")) == 0
    assert len(cep.Query(NUMBERED).match([*rows, event(2, "B", n=2)], sequence="n")) == 0


def test_sequence_numbers_of_each_partition() -> None:
    s = session(PARTITIONS, sequence="n")
    assert told(s.push([event(1, "A", k=1, n=1), event(2, "A", k=2, n=1), event(3, "B", k=1, n=2)])) == []
    assert told(s.push([event(4, "C", k=1, n=3), event(6, "C", k=2, n=3)])) == [("+", 1, 4)]
    assert told(s.push([event(5, "B", k=2, n=2)])) == [("+", 2, 6)]


@pytest.mark.parametrize("text", [PAIR, "PATTERN SEQ(A a, B b) WHERE skip_till_next_match { }"])
def test_sequence_numbers_are_for_contiguous_queries(text: str) -> None:
    for call in (
        lambda: cep.Query(text).session(speculate="all", sequence="n"),
        lambda: cep.Query(text).match([event(1, "A", n=1)], sequence="n"),
    ):
        with pytest.raises(cep.CepheidError, match="sequence=") as error:
            call()
        assert "contiguity" in str(error.value)


def test_sequence_numbers_do_not_go_with_operations() -> None:
    with pytest.raises(cep.UsageError, match="sequence"):
        cep.Query(NUMBERED).session(speculate="all", sequence="n", op="op")
    with pytest.raises(cep.UsageError, match="sequence"):
        cep.Query(NUMBERED).match([op("+", 1, "A", n=1)], sequence="n", op="op")


def test_sequence_numbers_do_not_go_with_retractions() -> None:
    """What is given at once is never taken back."""
    s = session(NUMBERED, sequence="n")
    rows = [event(t, kind, n=t) for t, kind in enumerate("ABC")]
    assert len(s.push(rows)) == 1
    for call in (lambda: s.retract(rows[1:2]), lambda: s.revise(rows[1:2], rows[1:2])):
        with pytest.raises(cep.UsageError, match="sequence"):
            call()
    assert told(s.close()) == []


def test_a_column_of_sequence_numbers_that_is_missing() -> None:
    with pytest.raises(cep.CepheidError, match="'n'"):
        session(NUMBERED, sequence="n").push([event(1, "A")])


@pytest.mark.parametrize("watermark", [-(2**63), -(2**64), 2**63, 2**64])
def test_a_snapshot_at_a_watermark_beyond_64_bits(watermark: int) -> None:
    query = cep.Query("PATTERN SEQ(A a, !(N n), B b) WITHIN 1 hour")
    s = query.session(speculate="all")
    assert len(s.push([event(0, "A"), event(5, "B"), event(6, "A")])) == 1
    assert len(s.advance(watermark)) == 0
    again = query.restore(s.snapshot())
    if watermark < 0:
        assert [change["op"] for change in again.push([event(3, "N")])] == ["-"]
    assert len(again.close()) == 0
