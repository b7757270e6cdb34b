"""Matches out."""

import datetime as dt

import pyarrow as pa
import pytest

import cepheid as cep

ROWS = [{"ts": t, "type": k, "x": x} for t, k, x in [(1, "A", 1), (2, "B", 2), (3, "B", 3)]]
EVENT = pa.struct({"ts": pa.int64(), "type": pa.string(), "x": pa.int64()})


def test_schema_and_rows() -> None:
    matches = cep.Query("PATTERN SEQ(A a, B+ b[], C? c) WITHIN 1 hour").match(ROWS)
    assert (
        matches.to_arrow().schema
        == matches.schema
        == pa.schema({"match_start": pa.int64(), "match_end": pa.int64(), "a": EVENT, "b": pa.list_(EVENT), "c": EVENT})
    )
    assert len(matches) == matches.count() == 3
    assert [[e["ts"] for e in m["b"]] for m in matches] == [[2], [2, 3], [3]]
    assert [m["c"] for m in matches] == [None, None, None]
    assert list(matches.enumerate(limit=1)) == matches.to_pylist()[:1]
    assert repr(matches).splitlines() == [
        "<3 matches>",
        "match_start  match_end  a                       b                                         c",
        "1            2          {ts: 1, type: A, x: 1}  [{ts: 2, type: B, x: 2}]                  NULL",
        "1            3          {ts: 1, type: A, x: 1}  [{ts: 2, type: B, x: 2}, {ts: 3, type: …  NULL",
        "1            3          {ts: 1, type: A, x: 1}  [{ts: 3, type: B, x: 3}]                  NULL",
    ]


def test_schema_is_known_before_running() -> None:
    query = cep.Query("PATTERN SEQ(A a, B+ b[]) WITHIN 1 hour RETURN a.x AS x, avg(b[].x) AS m")
    table = pa.Table.from_pylist(ROWS)
    assert query.schema(table.schema) == query.match(table).to_arrow().schema


def test_pandas_and_polars() -> None:
    matches = cep.Query("PATTERN SEQ(A a, B b) RETURN a.x + b.x AS total").match(ROWS)
    assert matches.to_pandas()["total"].tolist() == [3, 4]
    assert matches.to_polars()["total"].to_list() == [3, 4]


def test_repetition_that_bound_nothing() -> None:
    found = cep.Query("PATTERN SEQ(A a, X* x[], OR(B b, SEQ(C+ c[]))) WITHIN 1 hour").match(ROWS).to_pylist()
    assert [(m["x"], m["b"]["ts"], m["c"]) for m in found] == [([], 2, None), ([], 3, None)]


def test_user_function_gives_the_type() -> None:
    query = cep.Query("EVENT A a RETURN twice(a.x) AS y", functions={"twice": lambda x: x * 2})
    assert query.match(ROWS).to_arrow().schema.field("y").type == pa.int64()


def test_user_function_sees_python_values() -> None:
    seen: list[object] = []
    rows = [{"ts": dt.datetime(2024, 1, 1, tzinfo=dt.UTC), "type": "A", "day": dt.date(2024, 2, 1), "l": [1.0]}]
    query = cep.Query(
        "EVENT A a WHERE see(a.ts, a.day, a.l, NULL)", functions={"see": lambda *a: seen.append(a) or True}
    )
    assert len(query.match(rows)) == 1
    assert seen == [(rows[0]["ts"], rows[0]["day"], [1.0], None)]


def test_returned_times() -> None:
    rows = [{"ts": dt.datetime(2024, 1, 1, 0, 0, s), "type": k} for s, k in [(0, "A"), (30, "B")]]
    query = cep.Query("PATTERN SEQ(A a, B b) WHERE b.ts - a.ts < 1 minute RETURN b.ts - a.ts AS d, b.ts + 1 hour AS t")
    assert query.match(rows).to_pylist() == [
        {
            "match_start": rows[0]["ts"],
            "match_end": rows[1]["ts"],
            "d": dt.timedelta(seconds=30),
            "t": dt.datetime(2024, 1, 1, 1, 0, 30),
        }
    ]


def test_outputs_of_a_program() -> None:
    matches = cep.Query("""
        PATTERN SEQ(A a, B b) RETURN b.x AS x INTO Pair;
        FROM Pair PATTERN Pair p WHERE p.x > 2 RETURN p.x AS x, p.match_start AS began
    """).match(ROWS)
    assert matches.to_pylist() == [{"match_start": 1, "match_end": 3, "x": 3, "began": 1}]
    assert {name: len(m) for name, m in matches.outputs.items()} == {"Pair": 2, "query 2": 1}


def test_a_time_of_a_user_function_comes_out_as_it_is() -> None:
    moment = dt.datetime(2024, 1, 1, tzinfo=dt.UTC)
    query = cep.Query(
        "EVENT A a WHERE when() > TIMESTAMP '2023-01-01 00:00:00+00:00' RETURN when() AS w",
        functions={"when": lambda: moment},
    )
    assert query.match(ROWS).to_pylist()[0]["w"] == moment


@pytest.mark.parametrize(
    "condition", ["upper(f(a.x)) = 'X'", "f(a.x) LIKE 'x'", "f(a.x)", "f(a.x) OR a.x = 1", "-f(a.x) > 'a'"]
)
def test_what_a_user_function_gives_must_fit(condition: str) -> None:
    with pytest.raises(cep.EvaluationError) as error:
        cep.Query(f"EVENT A a WHERE {condition}", functions={"f": lambda x: x}).match(ROWS)
    assert error.value.code == "CEP503"
    assert error.value.line == 1
