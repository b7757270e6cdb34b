"""What stays in the JVM: the matches are the same, and what crosses is what the words say."""

import re
from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, date, datetime
from decimal import Decimal
from math import inf, nan
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import cepheid as cep
from cepheid.errors import InputError
from cepheid.pattern.tree.nodes import Strategy
from cepheid.spark.pushdown import Pushdown, derive_pushdown
from cepheid.spark.pushdown.predicate import NullTest
from cepheid.testing.outcomes import to_json
from cepheid.testing.strategies import PLAIN, Features, GeneratedQuery, programs, scenarios, streams

pytestmark = pytest.mark.filterwarnings("ignore::cepheid.CepheidWarning")

EVENTS = pa.schema(
    [
        ("ts", pa.int64()),
        ("type", pa.string()),
        ("id", pa.int64()),
        ("price", pa.float64()),
        ("name", pa.string()),
        ("n", pa.int32()),
        ("ok", pa.bool_()),
        ("last", pa.int64()),
    ]
)


def pushed(text: str, schema: pa.Schema = EVENTS, **options: Any) -> Pushdown:
    return derive_pushdown(cep.Query(text, **options), schema)


def conditions(found: Pushdown) -> list[str]:
    return [text for text in found.pushed if not text.startswith("column")]


def reasons(found: Pushdown) -> list[str]:
    return [text for text in found.refused if not text.startswith(("column", "all columns"))]


def test_that_types_and_conditions_of_one_event_are_pushed() -> None:
    found = pushed(
        "PATTERN SEQ(A a, !(B b), ANY(C, D) c) WHERE [id] AND a.price > 5 AND b.name = 'x' AND c.n + 1 > a.n WITHIN 10"
    )
    assert found.pushed == (
        "type IN ('A', 'C', 'D', 'B')",
        "id IS NOT NULL, because of [id]",
        "a.price > 5",
        "b.name = 'x'",
    )
    assert reasons(found) == ["c.n + 1 > a.n: it compares c and a"]


def test_that_keys_that_are_fields_are_pushed() -> None:
    fields = [("user", pa.string()), ("n", pa.int64()), ("Two", pa.int64()), ("two", pa.int64()), ("none", pa.null())]
    schema = EVENTS.append(pa.field("p", pa.struct(fields)))
    found = pushed("PATTERN SEQ(A a, B b) WHERE [p.user, p.n = 3, p.two, p.none] WITHIN 10", schema)
    assert found.pushed == ("type IN ('A', 'B')", "p.user IS NOT NULL, because of [p.user]", "[p.n = 3]")
    assert reasons(found) == [
        "[p.two]: Spark may not tell the fields named two apart: they differ only in case",
        "[p.none]: the column has no type",
    ]


def test_that_only_columns_after_all_that_is_read_stay_behind() -> None:
    found = pushed("PATTERN SEQ(A a, B b) WHERE a.price > 5 WITHIN 10 RETURN a.id, b.name")
    assert found.columns == ("ts", "type", "id", "price", "name")
    assert found.pushed[:3] == tuple(
        f"column {name} is not sent: the query does not read it" for name in ("n", "ok", "last")
    )
    assert found.refused == ()
    found = pushed("PATTERN SEQ(A a, B b) WITHIN 10 RETURN a.id, b.n")
    assert found.columns == ("ts", "type", "id", "price", "name", "n")
    assert found.refused == tuple(
        f"column {name} is sent: it is before n, and breaks ties of time" for name in ("price", "name")
    )


WIDE = pa.struct(
    [
        ("k", pa.int64()),
        ("inner", pa.struct([("x", pa.int64()), ("y", pa.string()), ("z", pa.string())])),
        ("more", pa.list_(pa.string())),
    ]
)
NESTED = pa.schema([("ts", pa.int64()), ("type", pa.string()), ("first", WIDE), ("id", pa.int64()), ("last", WIDE)])


@pytest.mark.parametrize(
    ("query", "fields"),
    [
        ("RETURN b.last.k", ["last.inner", "last.more"]),
        ("RETURN b.last.inner.x", ["last.inner.y", "last.inner.z", "last.more"]),
        ("RETURN b.last['inner'].y AS y, a.last.k AS k", ["last.inner.z", "last.more"]),
        ("HAVING max(b[].last.inner.x) > 3 RETURN a.id", ["last.inner.y", "last.inner.z", "last.more"]),
        ("RETURN b.last.inner AS whole", ["last.more"]),
        ("RETURN a.last.more[1] AS one", []),
        ("RETURN a.last AS whole, a.last.k AS k", []),
        ("RETURN a.first.k AS k, b.id", []),  # the others break ties of time
        ("RETURN a.last.k AS k, b AS b", []),
        ("", []),
    ],
)
def test_that_fields_after_all_that_is_read_stay_behind(query: str, fields: list[str]) -> None:
    component = "B+ b[]" if "b[]" in query else "B b"
    found = pushed(f"PATTERN SEQ(A a, {component}) WITHIN 10 {query}", NESTED)
    assert found.pushed[:-1] == (
        *(["column last is not sent: the query does not read it"] if "first" in query else []),
        *(f"field {name} is not sent: the query does not read it" for name in fields),
    )


def test_that_structs_without_some_fields_give_the_same_matches(spark: Any, tmp_path: Any) -> None:
    import pyarrow.parquet as pq

    values: list[Any] = [None, {"k": 1, "inner": None, "more": []}]
    values += [
        {"k": k, "inner": {"x": x, "y": y, "z": "z" * 9}, "more": ["m"]}
        for k in (None, 1)
        for x in (None, 2)
        for y in "ab"
    ]
    rows = [{"ts": ts, "type": kind, "id": 1, "last": v} for ts in (1, 2) for kind in "AB" for v in values]
    table = pa.Table.from_pylist(rows, schema=NESTED).drop_columns("first")
    pq.write_table(table, tmp_path / "rows.parquet")
    df = spark.read.parquet(str(tmp_path / "rows.parquet"))
    where = "skip_till_next_match {{ [id] AND b.last.k > 0 }}"
    text = f"PATTERN SEQ(A a, B b) WHERE {where} WITHIN 10 RETURN a.last.inner.x, {{}}"
    for more in ("b.last.inner.x AS y", "b.last.inner.y AS y", "b.last.inner AS y", "b.last.k AS y"):
        query = cep.Query(text.format(more))
        wanted = rows_of(query.match(table, engine="reference").to_arrow())
        assert len(wanted) == 20
        for options in ({}, {"pushdown": False}):
            assert rows_of(query.match(df, **options).toArrow()) == wanted, (more, options)
    matches = cep.Query(text.format("b.last.inner.x AS y")).match(df)
    (scan,) = re.findall(r"ReadSchema: (\S+)", matches._jdf.queryExecution().toString())
    assert scan.endswith("last:struct<k:bigint,inner:struct<x:bigint>>>")


def rows_of(table: pa.Table) -> list[str]:
    return sorted(map(to_json, table.to_pylist()))


def test_that_all_columns_cross_where_a_match_holds_events() -> None:
    found = pushed("PATTERN SEQ(A a, B b) WHERE a.id = b.id WITHIN 10")
    assert found.columns == tuple(EVENTS.names)
    assert found.refused[0] == "all columns are sent: a match contains whole events, or is identified by them"


def test_that_pushdown_can_be_turned_off() -> None:
    found = derive_pushdown(cep.Query("PATTERN SEQ(A a, B b) RETURN a.id"), EVENTS, enabled=False)
    assert (found.columns, found.where, found.pushed) == (tuple(EVENTS.names), None, ())
    assert found.refused == ("all rows and columns are sent: pushdown=False",)


@pytest.mark.parametrize(
    ("clauses", "kept", "reason"),
    [
        (
            "WHERE strict_contiguity { [id] AND a.n > 1 } WITHIN 9",
            [],
            "all rows are sent: strict_contiguity of a depends on every event in between",
        ),
        (
            "WHERE partition_contiguity { [id] AND a.n > 1 } WITHIN 9",
            ["id IS NOT NULL, because of [id]"],
            "types and conditions: partition_contiguity of a depends on every event of its partition",
        ),
        (
            "WHERE partition_contiguity(b), skip_till_any_match(a) { [id = 3] AND a.n > 1 } WITHIN 9",
            ["[id = 3]"],
            "types and conditions: partition_contiguity of b depends on every event of its partition",
        ),
        (
            "WHERE skip_till_any_match { [id] AND a.n > 1 } WITHIN 9 events",
            ["id IS NOT NULL, because of [id]"],
            "types and conditions: WITHIN 9 events counts all events of a partition",
        ),
    ],
)
def test_that_contiguity_and_windows_of_events_see_every_event(clauses: str, kept: list[str], reason: str) -> None:
    found = pushed(f"PATTERN SEQ(A a, B b) {clauses}")
    assert conditions(found) == kept
    assert reasons(found) == [reason]
    assert (found.where is None) is not bool(kept)


@pytest.mark.parametrize(
    ("condition", "reason"),
    [
        ("a.n + 1 > 2", "it computes a value, which may depend on spark.sql.ansi.enabled"),
        ("a.name LIKE 'x%'", "it contains LIKE"),
        ("CASE WHEN a.ok THEN a.ok ELSE a.n > 3 END", "it contains CASE"),
        ("lower(a.name) = 'x'", "it calls lower"),
        ("a.price > a.n", "it compares double with int32"),
        ("a.n > 0.5", "the constant is not an exact value of type int32"),
        ("a.ok > FALSE", "it orders booleans"),
        ("twice(a.n) = 4", "it calls twice"),
        ("a.n < b.n", "it compares a and b"),
        ("a.n = 1 OR a.n % 2 = 0", "it computes a value, which may depend on spark.sql.ansi.enabled"),
    ],
)
def test_that_a_refused_condition_tells_why(condition: str, reason: str) -> None:
    functions = {"twice": lambda n: 2 * n}
    found = pushed(f"PATTERN SEQ(A a, B b) WHERE {condition} WITHIN 9", functions=functions)
    assert conditions(found) == ["type IN ('A', 'B')"]
    (refused,) = reasons(found)
    assert refused.endswith(f": {reason}")


TIMED = pa.schema(
    [
        ("ts", pa.timestamp("us", "UTC")),
        ("type", pa.string()),
        ("text", pa.string()),
        ("price", pa.float64()),
        ("money", pa.decimal128(9, 2)),
        ("paris", pa.timestamp("us", "Europe/Paris")),
        ("wait", pa.duration("us")),
        (
            "payload",
            pa.struct(
                [("amount", pa.int64()), ("at", pa.timestamp("us", "UTC")), ("A", pa.int32()), ("a", pa.int32())]
            ),
        ),
        ("tags", pa.list_(pa.string())),
        ("attrs", pa.map_(pa.int8(), pa.string())),
    ]
)


@pytest.mark.parametrize(
    ("condition", "also"),
    [
        ("a.payload.amount > 3", ""),
        ("a.tags[1] = 'x'", ""),
        ("a.attrs[3] IS NULL", ""),
        ("CAST(a.text AS INT) >= 3", ", or a text with a decimal point"),
        ("CAST(a.price AS INT) = 3", ", or a number that does not fit into INT"),
        ("a.text RLIKE '^ab'", ", or a text with characters outside ASCII"),
        ("a.ts + 5 minutes > TIMESTAMP '2024-01-01 00:00:00+00:00'", ""),
        ("hour(a.ts) >= 22", ", or a time before the year -70000 or after 70000"),
        ("date_trunc('HOUR', a.ts) = a.payload.at", ", or a time before the year -70000 or after 70000"),
    ],
)
def test_that_computed_values_are_pushed_and_what_is_sent_all_the_same_is_told(condition: str, also: str) -> None:
    found = pushed(f"PATTERN SEQ(A a, B b) WHERE {condition} WITHIN 9 seconds", TIMED)
    assert conditions(found)[1:] == [condition + also]
    assert reasons(found) == []


@pytest.mark.parametrize(
    ("condition", "reason"),
    [
        ("CAST(a.price AS STRING) = '1.5'", "Java 17 writes some numbers in more digits than they need"),
        ("CAST(a.price AS DECIMAL(4, 1)) = 1.5", "Java 17 writes some numbers in more digits than they need"),
        ("CAST(a.money AS STRING) = '1.50'", "how Spark writes a decimal depends on spark.sql.ansi.enabled"),
        ("CAST(a.text AS TIMESTAMP) > a.ts", "a time in a text, or as a number, depends on the time zone"),
        ("CAST(a.ts AS DOUBLE) > 1.5", "a time in a text, or as a number, depends on the time zone"),
        ("CAST(a.ts AS STRING) > '2024'", "a time in a text, or as a number, depends on the time zone"),
        (
            "hour(a.paris) = 1",
            "it needs the rules of the time zone Europe/Paris, which Java and Python may have in two versions",
        ),
        ("a.text RLIKE '(a|b)+c'", "Java's stack overflows where a group is repeated very often"),
        ("a.attrs[300] = 'x'", "the key 300 does not fit into int8"),
        ("a.tags[4294967296] = 'x'", "the index is not a constant of 32 bits"),
        ("a.tags[a.payload.amount] = 'x'", "only comparisons of a column with a constant or a column are pushed down"),
        ("a.payload.a = 3", "Spark may not tell the fields named a apart: they differ only in case"),
        ("a.payload IS NULL", "a.payload does not have scalar values"),
        (
            "a.ts - a.paris + a.wait < INTERVAL '1' DAY",
            "only comparisons of a column with a constant or a column are pushed down",
        ),
        (
            "a.ts + INTERVAL '90000' DAY > TIMESTAMP '0200-01-01 00:00:00Z'",
            "the constant is not between the years 1 and 9999",
        ),
        ("lower(CAST(a.price AS INT)::STRING) = '1'", "it calls lower"),
    ],
)
def test_that_a_value_that_may_not_be_ours_tells_why(condition: str, reason: str) -> None:
    found = pushed(f"PATTERN SEQ(A a, B b) WHERE {condition} WITHIN 9 seconds", TIMED)
    assert conditions(found) == ["type IN ('A', 'B')"]
    (refused,) = reasons(found)
    assert refused.endswith(f": {reason}")


def test_that_a_function_of_the_user_is_not_sparks() -> None:
    text = "PATTERN SEQ(A a, B b) WHERE hour(a.ts) = 3 WITHIN 9 seconds"
    (reason,) = reasons(pushed(text, TIMED, functions={"hour": lambda _: 3}))
    assert reason.endswith(": it calls hour")


def test_that_strings_in_a_collated_column_are_not_compared_by_spark() -> None:
    query = cep.Query("PATTERN SEQ(A a, B b) WHERE a.tags[0] = 'x' AND a.text RLIKE 'x' WITHIN 9 seconds")
    found = derive_pushdown(query, TIMED, collated=frozenset({"tags", "text"}))
    told = "Spark compares {} by its collation, or pads it"
    assert [text.partition(": ")[2] for text in reasons(found)] == [told.format("tags"), told.format("text")]


def test_that_pyarrow_leaves_computed_values_to_the_engine() -> None:
    found = pushed("PATTERN A a WHERE CAST(a.text AS INT) > 3 AND a.price > 1 WITHIN 9 seconds", TIMED)
    row = {"ts": datetime(2024, 1, 1, tzinfo=UTC), "type": "A"}
    table = pa.Table.from_pylist([{**row, "text": "1", "price": x} for x in (2.0, 0.5)], schema=TIMED)
    assert found.computes
    assert found.filter_batch(table.to_batches()[0])["price"].to_pylist() == [2.0]
    assert table.filter(found.arrow)["price"].to_pylist() == [2.0]
    assert str(found.row_groups) == str(pushed("PATTERN A a WITHIN 9 seconds", TIMED).row_groups)


def test_that_conditions_of_some_events_of_a_closure_are_not_those_of_all() -> None:
    kleene = "PATTERN SEQ(A+ a[], B b) WHERE skip_till_next_match {{ {} }} WITHIN 9"
    assert conditions(pushed(kleene.format("a[].n > 3")))[1:] == ["a[].n > 3"]
    found = pushed(kleene.format("a[1].n > 3"))
    assert conditions(found)[1:] == []
    assert reasons(found) == ["a[1].n > 3: it applies only to the first event of a"]
    found = pushed(kleene.format("a[i].n > 3"))
    assert reasons(found) == ["a[i].n > 3: it applies only to the second and later events of a"]
    assert conditions(pushed(kleene.format("a[1].n > 3 AND a[i].n > 1")))[1:] == ["a[1].n > 3", "a[i].n > 1"]
    for several in ("a[i].n > a[i-1].n", "a[i].n > avg(a[..i-1].n)", "a.LEN > 3", "max(a[].n) > 3", "a[a.LEN].n > 3"):
        (reason,) = reasons(pushed(kleene.format(several)))
        assert reason.endswith(": it reads several events of a")


def test_that_declared_types_leave_only_the_type() -> None:
    options = {"types": {"A": ["id", "n"], "B": ["id"]}}
    found = pushed("PATTERN SEQ(A a, B b) WHERE [id] AND a.n > 3 WITHIN 9", **options)
    assert found.pushed == ("type IN ('A', 'B')",)
    why = "types are declared, and a missing attribute is not NULL"
    assert reasons(found) == [f"[id]: {why}", f"a.n > 3: {why}"]


def test_that_a_component_that_takes_any_event_is_told() -> None:
    found = pushed("PATTERN SEQ(A a, A b) WHERE a.n > 3 WITHIN 9", type=None)
    assert found.where is None
    assert found.pushed == ()
    assert found.refused[-1] == "all rows are sent: some component accepts any event"


def test_that_each_query_of_a_program_that_reads_the_events_has_a_say() -> None:
    text = """
        PATTERN SEQ(A a, B b) WHERE a.n > 3 WITHIN 9 RETURN a.id AS id INTO Made;
        PATTERN SEQ(C c, D d) WHERE [id] WITHIN 9 RETURN c.id AS id INTO Other;
        FROM Made PATTERN SEQ(Made m, Made o) WHERE m.id > 3 RETURN m.id
    """
    found = pushed(text)
    assert found.columns == ("ts", "type", "id", "price", "name", "n")
    assert conditions(found) == [
        "type IN ('A', 'B')",
        "a.n > 3",
        "type IN ('C', 'D')",
        "id IS NOT NULL, because of [id]",
    ]


def test_that_a_row_without_a_time_crosses_and_stays_an_error() -> None:
    query = cep.Query("PATTERN SEQ(A a, B b) WHERE a.n > 3 WITHIN 9")
    events = pa.Table.from_pylist([{"ts": 1, "type": "A"}, {"ts": None, "type": "X"}], schema=EVENTS)
    kept = events.filter(derive_pushdown(query, EVENTS).arrow)
    assert kept.to_pylist() == events.to_pylist()[1:]
    with pytest.raises(InputError, match="is NULL"):
        query.match(kept)


SKIPPING = Features(strategies=(None, Strategy.ANY, Strategy.NEXT), windows=(None, "time"))
Scenario = tuple[GeneratedQuery, pa.Table]
ANYTHING = (
    scenarios(SKIPPING)
    | scenarios(SKIPPING, schema=PLAIN)
    | scenarios(replace(SKIPPING, parameters=False, composition=False), typed=False)
    | scenarios()
    | st.tuples(programs(PLAIN, SKIPPING), streams(PLAIN, max_size=6))
)


def rows(query: cep.Query, events: pa.Table) -> list[str]:
    return sorted(map(to_json, query.match(events, engine="plain").to_pylist()))


@settings(
    max_examples=120, deadline=None, derandomize=True, database=None, suppress_health_check=(HealthCheck.too_slow,)
)
@given(ANYTHING)
def test_that_what_stays_behind_makes_no_difference(scenario: Scenario) -> None:
    made, events = scenario
    query = made.make()
    found = derive_pushdown(query, events.schema)
    kept = events if found.arrow is None else events.filter(found.arrow)
    assert rows(query, kept.select(found.columns)) == rows(query, events)


COLUMNS: Mapping[str, tuple[pa.DataType, list[Any]]] = {
    "i": (pa.int64(), [-(2**63), -1, 0, 1, 2**53 + 1, 2**63 - 1, None]),
    "n": (pa.int32(), [-(2**31), -1, 0, 1, 2, 2**31 - 1, None]),
    "m": (pa.int16(), [3, 2, 1, 0, None, -1, -2]),
    "f": (pa.float64(), [nan, inf, -inf, 0.0, -0.0, None, 0.1]),
    "g": (pa.float32(), [nan, inf, 0.1, 0.5, -0.0, None, 3.0]),
    "s": (pa.string(), ["", "a", "b", "é", "\U0001f600", "￿", None]),
    "t": (pa.string(), ["a", "a", None, "f", "￿", "\U0001f600", "x"]),
    "b": (pa.bool_(), [True, False, None, True, False, None, True]),
    "c": (pa.decimal128(7, 2), [*map(Decimal, ("0", "-1.50", "1.50", "99999.99", "-99999.99", "2")), None]),
    "day": (pa.date32(), [date(1, 1, 1), date(1582, 10, 10), date(1970, 1, 1), date(9999, 12, 31), None] + [None] * 2),
    "at": (pa.timestamp("us", "UTC"), [*(datetime(y, 3, 31, 1, 30, tzinfo=UTC) for y in (1, 1900, 2024, 9999))]),
    "wall": (pa.timestamp("us"), [*(datetime(y, 3, 31, 2, 30, 0, 1) for y in (1, 1900, 2024, 9999))]),
}
SINGLE = {
    "i": ["0", "-1", "9223372036854775807", "9007199254740993", "1.0"],
    "n": ["0", "1", "3000000000", "-2147483648"],
    "m": ["1", "-2", "40000"],
    "f": ["0", "0.1", "-5", "1e308", "-0.0"],
    "g": ["0.1", "0.5", "0"],
    "s": ["''", "'a'", "'￿'", "'é'"],
    "c": ["1.5", "-1.50", "2", "0"],
    "day": ["'1582-10-10'", "DATE '1970-01-01'"],
    "at": ["'2024-03-31 01:30:00'", "'1900-03-31 03:30:00+02:00'"],
    "wall": ["'2024-03-31 02:30:00.000001'", "'0001-03-31 02:30:00.000001'"],
}


def single_value_conditions() -> list[str]:
    found = [f"a.{c} {op} {v}" for c, vs in SINGLE.items() for v in vs for op in ("=", "!=", "<", "<=", ">", ">=")]
    found += [f"a.{c} {no} IN ({', '.join(vs[:2])})" for c, vs in SINGLE.items() for no in ("", "NOT")]
    found += [f"a.{c} {no} BETWEEN {vs[0]} AND {vs[1]}" for c, vs in SINGLE.items() for no in ("", "NOT")]
    found += [f"a.{c} IS {no} NULL" for c in COLUMNS for no in ("", "NOT")]
    found += [f"a.{x} {op} a.{y}" for x, y in ("in", "nm", "st") for op in ("=", "!=", "<", "<=", ">", ">=")]
    found += ["a.b", "NOT a.b", "a.b = FALSE", "a.b != TRUE", "a.n = NULL", "NOT (a.n = NULL)", "a.n IN (1, NULL)"]
    found += ["NOT (a.n > 0 AND a.f > 0)", "NOT (a.n > 0 OR NOT a.f <= 0)", "a.b OR a.n = 1 AND NOT a.s < 'b'"]
    return [*found, "a.n NOT IN (1, NULL) OR a.b", "NOT (a.g IN (0.5, 0) OR a.b)"]


def table_of_values() -> pa.Table:
    count = max(len(values) for _, values in COLUMNS.values())
    columns = {name: pa.array((v + [None] * count)[:count], kind) for name, (kind, v) in COLUMNS.items()}
    numbers = {"ts": pa.array(range(count), pa.int64()), "type": pa.array(["A"] * count)}
    return pa.table({**numbers, **columns})


def test_that_spark_pyarrow_and_the_reference_keep_the_same_rows(spark: Any, tmp_path: Any) -> None:
    """In ANSI mode and without, in another zone, and where Parquet's readers may skip row groups."""
    import pyarrow.parquet as pq
    from pyspark.sql import functions as F

    table = table_of_values()
    texts = single_value_conditions()
    queries = {text: cep.Query(f"PATTERN A a WHERE {text} RETURN a.ts AS row") for text in texts}
    found = {text: derive_pushdown(query, table.schema) for text, query in queries.items()}
    assert [text for text, each in found.items() if reasons(each)] == []
    expected = {}
    for text, each in found.items():
        kept = set(table.filter(each.arrow)["ts"].to_pylist())
        assert kept == set(each.filter_batch(table.to_batches()[0]).column("ts").to_pylist()), text
        assert kept == {match["row"] for match in queries[text].match(table, engine="reference")}, text
        expected[text] = kept
    pq.write_table(table, tmp_path / "rows.parquet", row_group_size=1)
    kept_settings = {name: spark.conf.get(name) for name in ("spark.sql.ansi.enabled", "spark.sql.session.timeZone")}
    try:
        for ansi, zone in (("true", "UTC"), ("false", "America/New_York")):
            spark.conf.set("spark.sql.ansi.enabled", ansi)
            spark.conf.set("spark.sql.session.timeZone", zone)
            df = spark.read.parquet(str(tmp_path / "rows.parquet"))
            marks = [F.coalesce(each.condition, F.lit(False)).alias(str(k)) for k, each in enumerate(found.values())]
            for row in df.select("ts", *marks).collect():
                for k, text in enumerate(texts):
                    assert row[str(k)] is (row["ts"] in expected[text]), (text, row["ts"], ansi)
        for text in ("a.f > 0", "a.f >= 0", "a.f != 0.1", "a.f = 0", "a.g <= 0", "a.s > 'a'", "NOT (a.f < 3)"):
            each = derive_pushdown(cep.Query(f"PATTERN A a WHERE {text}"), table.schema)
            wanted = table.filter(each.arrow)["ts"].to_pylist()
            assert sorted(row["ts"] for row in df.filter(each.condition).select("ts").collect()) == wanted, text
            read = pq.read_table(tmp_path / "rows.parquet", filters=each.row_groups)
            assert read.filter(each.arrow)["ts"].to_pylist() == wanted, text
    finally:
        for name, value in kept_settings.items():
            spark.conf.set(name, value)


def test_that_columns_with_odd_names_are_quoted(spark: Any) -> None:
    df = spark.sql("SELECT 1 AS ts, CAST(NULL AS INT) AS `a.b``c` UNION ALL SELECT 2, 3")
    found = Pushdown((), NullTest("a.b`c"), (), ())
    assert [row.ts for row in df.filter(found.condition).collect()] == [1]
