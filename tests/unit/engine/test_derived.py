"""Columns that are computed once for each batch: which there are, and that they are those of the definition."""

from random import Random

import pyarrow as pa
import pytest

import cepheid as cep
from cepheid.engine.planning.compiled_query import CompiledQuery
from cepheid.front.fronts import analyse, bind
from cepheid.language import parse
from cepheid.pattern.binding.schema import Roles, make_schema
from cepheid.testing.strategies import NESTED

SCHEMA = pa.schema([*NESTED, ("s", pa.string()), ("ts2", pa.timestamp("us"))])


def derived(condition: str) -> list[str]:
    (query,) = parse(f"PATTERN SEQ(A a, B b) WHERE {condition}").queries
    bound = bind(analyse(query, {}, Roles()), make_schema(SCHEMA, Roles()), {})
    return list(CompiledQuery(bound).derived)


@pytest.mark.parametrize(
    ("condition", "columns"),
    [
        ("a.nest.x < b.nest.x", ["nest.x"]),
        ("a.nest.in.s = 'x' AND a.items[0] = b.x", ["nest.in.s", "items[0]"]),
        ("CAST(a.s AS INT) = b.x", ["CAST(s AS INT)"]),
        ("CAST(a.s AS INT) = 1", []),  # a condition on one event has a mask
        ("CAST(a.nest.in.s AS INT) < b.x", ["nest.in.s", "CAST(`nest.in.s` AS INT)"]),
        ("a.props['k'] = b.x", ["props['k']"]),
        ("[nest.x] AND a.nest.x < b.x", ["nest.x"]),
        ("[nest.in.s, k] AND a.items[0] = b.nest.x", ["nest.in.s", "items[0]", "nest.x"]),
        ("a.x + 1 < abs(b.x)", []),
        ("date_trunc('hour', a.ts2) = date_trunc('hour', b.ts2)", ["date_trunc('HOUR', ts2)"]),
        ("upper(concat(a.s, b.s)) = 'X'", []),  # of two events
    ],
)
def test_which_columns_are_derived(condition: str, columns: list[str]) -> None:
    assert derived(condition) == columns


def test_that_a_column_of_the_events_may_have_the_name_of_one() -> None:
    events = [
        {"ts": 1, "type": "A", "s": "1", "CAST(s AS INT)": 7},
        {"ts": 2, "type": "B", "s": "1", "CAST(s AS INT)": 7},
    ]
    query = cep.Query("PATTERN SEQ(A a, B b) WHERE CAST(a.s AS INT) < b.`CAST(s AS INT)`")
    assert len(query.match(events)) == 1


@pytest.mark.parametrize("lists", [pa.list_(pa.int64()), pa.large_list(pa.int64()), pa.list_(pa.int64(), 2)])
def test_that_elements_are_those_of_each_list(lists: pa.DataType) -> None:
    values = [[1, 2], None, [3, None]] * 40
    table = pa.table({"ts": range(120), "type": ["A"] * 120, "t": pa.array(values, lists)}).slice(1)
    query = cep.Query("PATTERN SEQ(A a, A b) WHERE strict_contiguity { a.t[1] + 1 = b.t[0] }")
    assert len(query.match(table, engine="plain")) == len(query.match(table, engine="reference")) == 0
    query = cep.Query(
        "PATTERN SEQ(A a, A b) WHERE strict_contiguity { a.t[0] = b.t[0] + 2 AND a.t[1] IS NULL AND b.t[1] = 2 }"
    )
    assert len(query.match(table, engine="plain")) == len(query.match(table, engine="reference")) == 39


def test_that_explain_names_them() -> None:
    text = str(cep.Query("PATTERN SEQ(A a, B b) WHERE CAST(a.s AS INT) < b.nest.x").explain(SCHEMA))
    assert "read once for each batch, as a column: nest.x" in text
    assert "computed once for each batch, as a column: CAST(s AS INT)" in text


@pytest.mark.parametrize("engine", ["plain", "compiled", "interpreted"])
@pytest.mark.parametrize(
    ("arrow", "values"),
    [
        (pa.int64(), range(11)),
        (pa.int64(), [10**15, -5, 2**40]),
        (pa.int64(), [1, 2, None]),
        (pa.string(), ["x", "y", "", None]),
        (pa.dictionary(pa.int32(), pa.string()), ["x", "y"]),
        (pa.float64(), [0.0, -0.0, float("nan"), 1.5]),
        (pa.decimal128(7, 2), [1, 2, None]),
        (pa.timestamp("ms", "UTC"), [1_000, 2_000]),
    ],
)
def test_that_a_field_splits_events_as_a_column_does(arrow: pa.DataType, values: list[object], engine: str) -> None:
    count = 3_000
    keys = pa.array(Random(3).choices(values, k=count), arrow)
    inner = pa.StructArray.from_arrays([keys, pa.array(range(count))], ["key", "n"])
    columns = {"ts": range(count), "type": ["A", "B", "C"] * (count // 3), "key": keys}
    table = pa.table({**columns, "p": pa.StructArray.from_arrays([inner], ["in"])})
    for text in ("WHERE [{}] WITHIN 50", "PARTITION BY {} WITHIN 9 events", "WHERE [{}] WITHIN 99 OUTPUT NON_OVERLAP"):
        queries = [
            f"PATTERN SEQ(A a, B b) {text.format(key)} RETURN a.ts AS i, b.ts AS j" for key in ("key", "p.in.key")
        ]
        by_column, by_field = (cep.Query(query).match(table, engine=engine).to_arrow() for query in queries)
        assert by_field.num_rows > 0
        assert by_field == by_column
