"""What queries see with a filter in FROM is a stream of its own (S25)."""

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import cepheid as cep
from cepheid.engine.stream.pipeline import Pipeline

PAIR = "PATTERN SEQ(A a, B b) WHERE partition_contiguity { [id] } WITHIN 50"
SEEN = f"FROM stream(A, B) WHERE x > 3 {PAIR}"


def events(count: int, first: int = 0) -> pa.Table:
    at = np.arange(first, first + count)
    kinds = pa.array(np.array(["A", "B", "C"])[at % 3])
    return pa.table({"ts": at, "type": kinds, "id": at // 3 % 4, "x": at * 5 % 11, "s": pa.array((at % 7).astype(str))})


def pipeline(session: cep.Session) -> Pipeline:
    return session.engine.pipeline


def pushed(text: str, table: pa.Table, **options: Any) -> cep.Session:
    session = cep.Query(text).session(lateness=0, **options)
    session.push(table)
    return session


def test_queries_with_one_filter_share_a_stream() -> None:
    text = f"{SEEN}; FROM stream(A, B) WHERE x > 3 PATTERN SEQ(B b, A a) WITHIN 9; FROM stream WHERE x > 3 PATTERN A a"
    found = pipeline(pushed(text, events(60)))
    first, second, third = (query.stream for query in found.queries)
    assert first is second
    assert first is not third
    assert len(found.views) == 2


def test_a_stream_has_only_what_is_seen() -> None:
    table = events(60)
    session = pushed(SEEN, table)
    (view,) = pipeline(session).views.values()
    wanted = [row for row in table.to_pylist()[:59] if row["type"] in "AB" and row["x"] > 3]
    assert view.stream.events == len(wanted)
    assert view.stream.kept.to_pylist() == wanted[-view.stream.rows :]


def test_rows_that_nobody_sees_are_not_kept() -> None:
    session = pushed(f"FROM stream WHERE x > 100 {PAIR}", events(5000))
    session.engine.compact()
    assert [stream.rows for _, stream in pipeline(session).every_stream()] == [0, 0]


@pytest.mark.parametrize("plan", ["auto", "automaton", "stacks"])
@pytest.mark.parametrize("condition", ["x > 3", "s LIKE '%3' OR x > 3", "s != '2'", "x IS NULL", "TRUE"])
def test_every_plan_gives_what_the_reference_gives(plan: str, condition: str) -> None:
    query = cep.Query(f"FROM stream WHERE {condition} PATTERN SEQ(A a, B b) WHERE [id] WITHIN 40")
    table = events(120)
    found = query.match(table, plan=plan)
    assert found.to_pylist() == query.match(table, engine="reference").to_pylist()


@pytest.mark.parametrize("engine", ["plain", "compiled", "interpreted"])
def test_a_snapshot_has_what_is_seen(engine: str) -> None:
    query = cep.Query(f"{SEEN} RETURN a.x AS x INTO P; FROM P WHERE x > 5 PATTERN SEQ(P p, P q) WITHIN 80")
    table = events(200)
    session = query.session(lateness=0, engine=engine)
    rows = []
    for at in range(0, 200, 25):
        rows += session.push(table.slice(at, 25)).to_pylist()
        session = query.restore(session.snapshot(), engine=engine)
    rows += session.close().to_pylist()
    assert rows == query.match(table, engine="reference").to_pylist()
    assert len(rows) > 3


def test_rows_pushed_one_by_one() -> None:
    query, table = cep.Query(SEEN), events(80)
    session = query.session(lateness=0)
    rows = [match for row in table.to_pylist() for match in session.push([row]).to_pylist()]
    rows += session.close().to_pylist()
    assert rows == query.match(table, engine="reference").to_pylist()


def test_a_function_is_called_for_events_of_the_types_only() -> None:
    called: list[int] = []

    def large(x: int) -> bool:
        called.append(x)
        return x > 3

    query = cep.Query(f"FROM stream(A, B) WHERE x > 100 AND Large(x) {PAIR}", functions={"Large": large})
    table = events(30)
    query.match(table)
    assert called == [row["x"] for row in table.to_pylist() if row["type"] in "AB"]


@pytest.mark.parametrize("engine", ["auto", "plain", "interpreted", "reference"])
def test_a_function_that_fails_is_told(engine: str) -> None:
    query = cep.Query(f"FROM stream WHERE x > 100 AND Large(x) > 3 {PAIR}", functions={"Large": lambda x: 10 // x})
    with pytest.raises(cep.EvaluationError, match="Large"):
        query.match(events(30), engine=engine)


def test_times_that_no_kernel_has_are_compared() -> None:
    moments = pa.array([f"{year}-01-01" for year in (2500, 1990, 2600)]).cast(pa.timestamp("s"))
    table = pa.table({"ts": [1, 2, 3], "type": list("AAB"), "until": moments})
    query = cep.Query(
        "FROM stream WHERE until > TIMESTAMP '2000-01-01 00:00:00' PATTERN SEQ(A a, B b) WITHIN 5 RETURN a.ts AS a"
    )
    assert query.match(table).to_pylist() == [{"match_start": 1, "match_end": 3, "a": 1}]


def test_progress_counts_what_is_not_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("cepheid.api.meter._BETWEEN", 0.0)
    told: list[cep.Progress] = []
    cep.Query(SEEN).match(events(30), progress=told.append)
    assert told[0].events == 30 - len([row for row in events(30).to_pylist() if row["type"] in "AB" and row["x"] > 3])
    assert told[-1] == cep.Progress(30, 30)


def test_explain_tells_how_events_are_tested() -> None:
    query = cep.Query(f"FROM stream(A, B) WHERE x > 3 AND s LIKE '%3' {PAIR}")
    text = str(query.explain(events(3).schema))
    assert "on a generated kernel" in text
    assert "FROM, on whole columns: x > 3" in text
    assert "FROM, one event after the other: s LIKE '%3'" in text


def test_explain_with_events_none_of_which_is_seen() -> None:
    query = cep.Query("FROM stream WHERE x > 100 PATTERN SEQ(A a, B b) WITHIN 9")
    assert "chosen when there are events" in str(query.explain(events(30)))
