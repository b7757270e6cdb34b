"""The batches of a session: their forms, those that are empty, those that do not fit."""

import datetime as dt
from contextlib import suppress
from typing import Any

import polars
import pyarrow as pa
import pytest

from cepheid import CepheidError, EvaluationError, InputError, Matches, Query, UsageError

PAIR = "PATTERN SEQ(A a, B b)"


def event(time: Any, kind: str, **attributes: Any) -> dict[str, Any]:
    return {"ts": time, "type": kind, **attributes}


def ends(matches: Matches) -> list[Any]:
    """The times at which the matches start and end."""
    return [(m["match_start"], m["match_end"]) for m in matches.to_pylist()]


def test_empty_batches() -> None:
    session = Query(f"{PAIR} WHERE [id]").session(lateness=0)
    table = pa.table({"ts": [1, 2], "type": ["A", "B"], "id": [7, 7]})
    for batch in ([], table.slice(0, 0), table.slice(0, 1), [], table.slice(0, 0), table.slice(1), []):
        assert len(session.push(batch)) == 0
    assert ends(session.close()) == [(1, 2)]


@pytest.mark.parametrize(
    "form",
    [
        pa.Table.to_pylist,
        lambda table: table.to_batches()[0],
        lambda table: pa.RecordBatchReader.from_batches(table.schema, table.to_batches()),
        polars.DataFrame,
        pa.Table.to_pandas,
    ],
    ids=["dicts", "batch", "reader", "polars", "pandas"],
)
def test_forms_of_batches(form: Any) -> None:
    session = Query(f"{PAIR} WHERE [id]").session()
    table = pa.table({"ts": [1, 2, 3], "type": ["A", "A", "B"], "id": [7, 8, 8]})
    session.push(form(table.slice(0, 1)))
    session.push(form(table.slice(1)))
    assert ends(session.close()) == [(2, 3)]


@pytest.mark.parametrize(
    "batch",
    [
        [{"ts": 2, "type": "B", "x": "one"}],
        [{"ts": 2, "type": "B", "x": "1"}],
        [{"ts": 2, "type": "B", "x": 1.5}],
        [{"ts": dt.datetime(2026, 3, 2), "type": "B", "x": 1}],
        [{"ts": 2, "type": 3, "x": 1}],
        [{"ts": 2, "kind": "B", "x": 1}],
        [{"ts": 2, "type": "B", "x": 1, "y": 1}],
        7,
    ],
    ids=["other type", "number as text", "float", "other time", "no types", "other name", "more columns", "no batch"],
)
def test_a_batch_that_does_not_fit(batch: Any) -> None:
    session = Query(PAIR).session()
    session.push([event(1, "A", x=1)])
    with pytest.raises(CepheidError):
        session.push(batch)
    session.push([event(3, "B", x=1)])
    assert ends(session.close()) == [(1, 3)]


def test_a_query_that_does_not_fit_the_first_batch() -> None:
    session = Query(f"{PAIR} WHERE [id]").session()
    with pytest.raises(CepheidError, match="CEP301"):
        session.push([event(1, "A")])


def test_a_column_of_nothing_fits_any_type() -> None:
    """In a list of dicts the types are those of the values, and a batch may have none."""
    session = Query(f"{PAIR} WHERE b.x IS NULL OR b.x > a.x").session()
    session.push([event(1, "A", x=1)])
    session.push([event(2, "B", x=None)])
    session.push([event(3, "B", x=2)])
    session.push([event(4, "B", x=0)])
    assert ends(session.close()) == [(1, 2), (1, 3)]


@pytest.mark.parametrize("engine", ["auto", "plain", "interpreted"])
@pytest.mark.parametrize(
    "clause", ["WHERE [p.user]", "WHERE a.p.user = b.p.user", "WHERE a.p.user IS NOT NULL PARTITION BY p.user"]
)
def test_a_field_of_a_column_of_nothing_gets_its_type_later(clause: str, engine: str) -> None:
    query = Query(f"{PAIR} {clause}")
    session = query.session(engine=engine)
    session.push([event(1, "A", p=None), event(2, "B", p=None)])
    session.advance(3)
    session = query.restore(session.snapshot(), engine=engine)
    session.push([event(4, "A", p={"user": "x", "n": 1}), event(5, "B", p={"n": 2, "user": None})])
    session.push([event(6, "B", p={"user": "x"}), event(7, "B", p={"n": 1, "user": "y"})])
    assert ends(session.close()) == [(4, 6)]


def test_fields_of_structs_may_be_elsewhere_or_absent_in_a_later_batch() -> None:
    session = Query(f"{PAIR} RETURN b.p.u AS u, b.p.v AS v").session()
    session.push([event(1, "A", p={"u": 1, "v": None})])
    session.push([event(2, "B", p={"v": "x", "u": 2}), event(3, "B", p={"u": 3})])
    session.push([event(4, "B", p={"v": "y"})])
    found = session.close().to_pylist()
    assert [(match["u"], match["v"]) for match in found] == [(2, "x"), (3, None), (None, "y")]


@pytest.mark.parametrize(
    ("first", "later", "message"),
    [
        ({"u": 1}, {"u": 1, "v": 2}, "the batch adds 'p.v', a field that 'p' of the first one does not have"),
        ({"in": {"u": 1}}, {"in": {"w": 1, "v": 2}}, "the batch adds 'p.in.v', 'p.in.w', a field that 'p.in'"),
        ([{"u": 1}], [{"v": 1}], r"the batch adds 'p\[\].v', a field that 'p\[\]'"),
        ({"u": 1}, {"u": "x"}, "the batch has 'p.u' as string, the first one as int64"),
        ({"u": "x"}, {"u": 1}, "the batch has 'p.u' as int64, the first one as string"),
        ({"t": [1]}, {"t": ["x"]}, r"the batch has 'p.t\[\]' as string, the first one as int64"),
    ],
)
def test_a_struct_that_does_not_fit_the_first_one(first: Any, later: Any, message: str) -> None:
    session = Query(PAIR).session()
    session.push([event(1, "A", p=first)])
    with pytest.raises(InputError, match=f"CEP409: {message}"):
        session.push([event(2, "B", p=later)])
    session.push([event(3, "B", p=None)])
    assert ends(session.close()) == [(1, 3)]


def test_dictionaries_that_differ_from_batch_to_batch() -> None:
    session = Query(f"{PAIR} WHERE [name]").session(lateness=0)
    for time, kind, name in [(1, "A", "x"), (2, "A", "y"), (3, "B", "y"), (4, "B", "x"), (5, "B", "z")]:
        columns = {"ts": [time], "type": pa.array([kind]), "name": pa.array([name])}
        columns |= {key: columns[key].dictionary_encode() for key in ("type", "name")}
        session.push(pa.table(columns))
    assert session.stats.matches + len(session.close()) == 2


def test_an_event_without_a_time() -> None:
    session = Query(PAIR).session()
    session.push([event(1, "A")])
    with pytest.raises(InputError, match="CEP402"):
        session.push([event(2, "B"), event(None, "B")])
    session.push([event(3, "B")])
    assert ends(session.close()) == [(1, 3)]


def test_non_overlap_over_batches() -> None:
    query = Query(f"{PAIR} OUTPUT NON_OVERLAP")
    events = [event(time, kind) for time, kind in enumerate("AABBAB")]
    session = query.session(lateness=0)
    found = [match for one in events for match in ends(session.push([one]))] + ends(session.close())
    assert found == ends(query.match(events, engine="reference")) == [(0, 2), (4, 5)]


def test_a_window_over_batches() -> None:
    session = Query(f"{PAIR} WITHIN 3 events").session(lateness=0)
    found = [m for t, kind in enumerate("ACBB") for m in ends(session.push([event(t, kind)]))]
    assert found + ends(session.close()) == [(0, 2)]


def test_running_aggregates_over_batches() -> None:
    query = "PATTERN SEQ(A+ a[], B b) WHERE skip_till_next_match { a[i].x > avg(a[..i-1].x) AND b.x < sum(a[].x) }"
    events = [event(t, k, x=x) for t, (k, x) in enumerate([("A", 1), ("A", 3), ("A", 2), ("A", 3), ("B", 6)])]
    session = Query(query).session(lateness=0)
    found = [m for one in events for m in ends(session.push([one]))] + ends(session.close())
    assert sorted(found) == sorted(ends(Query(query).match(events, engine="reference")))


def test_a_function_that_fails_loses_nothing_in_silence() -> None:
    """The events before the failure are still there, or else the session says that it can't go on."""
    failures = iter([True])

    def check(value: int) -> bool:
        if next(failures, False):
            raise ValueError("once")
        return True

    session = Query(f"{PAIR} WHERE check(b.x)", functions={"check": check}).session()
    session.push([event(1, "A", x=1), event(2, "B", x=1)])
    with pytest.raises(EvaluationError):
        session.advance(3)
    with suppress(UsageError):
        assert ends(session.close()) == [(1, 2)]
