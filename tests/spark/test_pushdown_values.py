"""Values that Spark computes in a filter are ours: over odd values, in ANSI mode and without, in any time zone."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator
from datetime import UTC, datetime
from decimal import Decimal
from functools import reduce
from math import inf, nan
from operator import or_
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from test_casts import TEXTS

import cepheid as cep
from cepheid.spark.pushdown import Pushdown, derive_pushdown
from cepheid.spark.pushdown.predicate import computed_in

pytestmark = pytest.mark.filterwarnings("ignore::cepheid.CepheidWarning")

ODD_TEXTS = [
    *(
        "\x7f12\x00",
        "\u00a012",
        "12\u2003",
        "1.2.3",
        "-.5",
        "+.",
        "--1",
        "1 2",
        "١٢",
        "１.５",
        "9" * 40,
        "-" + "9" * 19,
    ),
    *("1e99999999999", "0x1.8p1", "1e-400", "9999999-01-01", "5881580-07-12", " 5881580-07-11 ", "-9999999", "1234567"),
    *("café", "naïve café", "ab\ud7ff", "\U0001f600x", "x\U0001f600", "K", "ſ", "a\u0301b", "ab" * 900, "é" * 900),
    *(
        "TRUE",
        "tRuE",
        "\x1fyes\x7f",
        "\u00a0no",
        "-0",
        "+0.0",
        "0.05",
        "0.005",
        "12345678.905",
        "NaN ",
        "infinityx",
        "\n",
    ),
]
LETTERS = " \t\n\x00\x7f\u00a0+-.0123456789eEdfxTZ:/abcé"


def texts(count: int) -> list[str | None]:
    """Texts that are almost numbers, dates or words."""
    generator = random.Random(7)
    made = ["".join(generator.choices(LETTERS, k=generator.randrange(9))) for _ in range(count)]
    return [*TEXTS, *ODD_TEXTS, *made, None]


FAR = [-(2**63), -(2**63) + 1, -(2**62), -(2**61), 2**61, 2**62, 2**63 - 1]
MOMENTS = [
    *(-1, 0, 1, 59_999_999, 60_000_000, 1_709_214_310_123_456, -2_208_988_800_000_001, 1_735_516_800_000_000),
    *(253_402_300_799_999_999, -62_135_596_800_000_000, 86_399_999_999, 86_400_000_000, -86_400_000_001, *FAR, None),
]
DAYS = [-1, 0, 1, 58, 59, 19_782, 19_723, -141_427, 2_932_896, -719_162, -(2**31), 2**31 - 1, 10**8, -(10**8), None]
NUMBERS = {
    "n64": (pa.int64(), [0, 1, -1, 127, 128, -129, 300, 2**31, -(2**31) - 1, 2**53 + 1, 2**63 - 1, -(2**63), None]),
    "n16": (pa.int16(), [0, 1, -1, 127, 128, -129, 32767, -32768, None]),
    "double": (pa.float64(), [0.0, -0.0, 1.9, -1.9, 0.5, 127.9, 128.0, 3e9, 1e19, 1e300, 5e-324, nan, inf, -inf, None]),
    "single": (pa.float32(), [0.1, -0.0, 1.5, 16777216.0, 3e38, nan, inf, -2.5, None]),
    "money": (pa.decimal128(14, 4), [*map(Decimal, ("0", "1.5", "-1.9999", "128", "9999999999.9999", "0.005")), None]),
    "flag": (pa.bool_(), [True, False, None]),
}
INNER = pa.struct([("x", pa.int32()), ("y", pa.float64())])
PAYLOAD = pa.struct(
    [
        ("amount", pa.float64()),
        ("name", pa.string()),
        ("at", pa.timestamp("us", "UTC")),
        ("in.ner", INNER),
        ("ok", pa.bool_()),
    ]
)
PAYLOADS: list[Any] = [
    {"amount": 5.0, "name": "a", "at": datetime(2024, 2, 29, 13, tzinfo=UTC), "in.ner": {"x": 1, "y": nan}, "ok": True},
    {"amount": nan, "name": "", "at": None, "in.ner": None, "ok": False},
    {"amount": None, "name": None, "at": datetime(1, 1, 1, tzinfo=UTC), "in.ner": {"x": None, "y": -0.0}, "ok": None},
    None,
]
NESTED = {
    "payload": (PAYLOAD, PAYLOADS),
    "tags": (pa.list_(pa.string()), [["a", "b"], [], [None, "a"], ["b"], None]),
    "items": (pa.list_(INNER), [[{"x": 1, "y": 2.0}, None], [], [{"x": None, "y": inf}], None]),
    "attrs": (pa.map_(pa.string(), pa.int32()), [[("k", 1), ("", 2)], [], [("k", None)], [("K", 3)], None]),
    "codes": (pa.map_(pa.int8(), pa.string()), [[(1, "a"), (-1, "b")], [], [(1, None)], None]),
}


def table_of_values() -> pa.Table:
    words = texts(120)
    columns = {name: pa.array(values, arrow) for name, (arrow, values) in {**NUMBERS, **NESTED}.items()}
    columns["text"] = pa.array(words, pa.string())
    columns["day"] = pa.array(DAYS, pa.int32()).cast(pa.date32())
    columns["at"] = pa.array(MOMENTS, pa.int64()).cast(pa.timestamp("us", "UTC"))
    columns["other"] = pa.array([*FAR, 5, None, 10**6, *MOMENTS[1:6]], pa.int64()).cast(pa.timestamp("us", "UTC"))
    columns["wall"] = columns["at"].cast(pa.timestamp("us"))
    count = len(words)
    repeated = {
        name: column.take(pa.array([k % len(column) for k in range(count)])) for name, column in columns.items()
    }
    return pa.table({"ts": pa.array(range(count), pa.int64()), "type": ["A"] * count, **repeated})


def conditions() -> Iterator[str]:
    whole = {"TINYINT": "127", "SMALLINT": "12", "INT": "-1", "BIGINT": "0"}
    for name, value in whole.items():
        yield from (
            f"CAST(a.{c} AS {name}) {op} {value}" for c in ("text", "n64", "double", "money") for op in ("=", "<")
        )
        yield f"CAST(a.text AS {name}) IS NULL"
        yield f"NOT CAST(a.single AS {name}) > 1"
    for name in ("FLOAT", "DOUBLE"):
        yield from (f"CAST(a.{c} AS {name}) {op} 1.5" for c in ("text", "n64", "single", "money") for op in ("<=", ">"))
        yield from (f"CAST(a.{c} AS {name}) = 0" for c in ("text", "double", "flag"))
        yield f"CAST(a.text AS {name}) IS NOT NULL"
    for name in ("DECIMAL(10, 2)", "DECIMAL(3, 2)", "DECIMAL(38, 10)", "DECIMAL(10, 0)"):
        yield from (f"CAST(a.{c} AS {name}) {op} 1" for c in ("text", "n64", "money", "flag") for op in ("<=", ">"))
        yield f"CAST(a.text AS {name}) IS NULL"
    yield from (f"CAST(a.{c} AS BOOLEAN)" for c in ("text", "n64", "double", "money", "flag"))
    yield from (f"NOT CAST(a.{c} AS BOOLEAN)" for c in ("text", "single"))
    yield from (f"CAST(a.{c} AS STRING) {test}" for c in ("n64", "n16", "flag", "text") for test in ("= '1'", ">= 'f'"))
    yield from (f"CAST(a.text AS DATE) {test}" for test in ("IS NULL", "> '2024-02-01'", "< '0001-01-01'"))
    yield from (f"CAST(a.day AS STRING) {test}" for test in ("= '1970-01-01'", "< '0001-01-02'", "RLIKE '^2024-0'"))
    yield "CAST(CAST(a.text AS INT) AS STRING) IN ('12', '7', '-1')"
    yield from (
        f"a.text {no} RLIKE '{p}'"
        for p in (r"\d+", "^a", "a$", r"\bab\b", "(?i)ABC", "x*", "[^0-9]{2,}")
        for no in ("", "NOT")
    )
    yield from (f"a.text RLIKE '{p}'" for p in ("(a|é)b", r"(?=\w)\.", r"[\)](a)?", r"\s\z"))
    for part in ("year", "quarter", "month", "day", "dayofyear", "dayofweek", "weekday", "weekofyear"):
        yield from (f"{part}(a.{c}) >= {v}" for c in ("at", "wall", "day") for v in (1, 5))
    yield from (
        f"extract({f} FROM a.{c}) = {v}" for f, v in (("YEAROFWEEK", 2025), ("DOW_ISO", 4)) for c in ("at", "day")
    )
    yield from (
        f"{part}(a.{c}) {op} 13" for part in ("hour", "minute", "second") for c in ("at", "wall") for op in ("=", ">")
    )
    yield from (f"extract(SECOND FROM a.at) {test}" for test in ("= 10.123456", "> 59.9", "<= 0"))
    for unit in ("YEAR", "QUARTER", "MONTH", "WEEK", "DAY", "HOUR", "MINUTE", "SECOND", "MILLISECOND", "MICROSECOND"):
        yield from (
            f"date_trunc('{unit}', a.{c}) {op} '2024-01-01 00:00:00'" for c in ("at", "wall") for op in ("<=", ">")
        )
    yield from (
        f"trunc(a.day, '{unit}') {op} '2024-01-01'"
        for unit in ("YEAR", "QUARTER", "MONTH", "WEEK")
        for op in ("=", "<")
    )
    yield "a.at - date_trunc('day', a.at) < INTERVAL '12' HOUR"
    yield "date_trunc('hour', a.at) = date_trunc('hour', a.other)"
    yield "date_trunc('day', a.at) IS NULL"
    yield "date_trunc('second', a.at) IN (a.other, TIMESTAMP '1970-01-01 00:00:00Z')"
    yield from (f"a.at {op} INTERVAL '5' MINUTE > TIMESTAMP '1970-01-01 00:00:00Z'" for op in "+-")
    yield from (f"a.at - a.other {op} INTERVAL '1' DAY" for op in ("<", "<=", "=", "!=", ">", ">="))
    yield from (
        "a.at + INTERVAL '1' SECOND <= a.other",
        "TIMESTAMP '2024-02-29 13:45:11' - INTERVAL '1' SECOND >= a.wall",
    )
    yield from ("CAST(a.at AS DATE) = '2024-02-29'", "CAST(a.wall AS DATE) < '1970-01-01'", "hour(a.payload.at) = 13")
    yield from (
        "CAST(a.day AS TIMESTAMP) >= '2024-02-29 00:00:00'",
        "CAST(a.at AS TIMESTAMP_NTZ) < '1970-01-01 00:00:00'",
    )
    yield from (f"a.payload.amount {op} {v}" for v in ("5", "0") for op in ("=", "!=", "<", ">="))
    yield from (f"a.payload.{test}" for test in ("name = 'a'", "name IN ('', 'a')", "name IS NULL", "ok", "ok = FALSE"))
    yield from (f"a.payload['in.ner'].{test}" for test in ("x = 1", "x IS NULL", "y > 0", "y = 0", "y != 3"))
    yield from ("NOT a.payload.ok", "a.payload.at > '2024-01-01 00:00:00'", "a.payload.at < a.other")
    yield from (f"a.tags[{k}] {test}" for k in (0, 1, 7, -1, 2**31 - 1) for test in ("= 'a'", "IS NULL", "!= 'b'"))
    yield from (f"a.items[{k}].{test}" for k in (0, 1) for test in ("x = 1", "x IS NULL", "y > 0"))
    yield from (f"a.attrs['{k}'] {test}" for k in ("k", "K", "", "none") for test in ("= 1", "IS NULL", "> 0"))
    yield from (f"a.codes[{k}] {test}" for k in (1, -1, 2) for test in ("= 'a'", "IS NULL"))
    yield "NOT (a.payload.amount > 3 AND CAST(a.n16 AS BIGINT) > 3 OR a.tags[0] = 'b')"


def doubtful(found: Pushdown) -> Any:
    from pyspark.sql import functions as F

    assert found.where is not None
    doubts = [doubt.column() for computed in computed_in(found.where) for doubt in computed.doubts]
    return F.coalesce(reduce(or_, doubts), F.lit(False)) if doubts else F.lit(False)


@pytest.mark.parametrize(
    ("ansi", "zone", "codegen"), [("true", "America/New_York", "FALLBACK"), ("false", "Asia/Kathmandu", "NO_CODEGEN")]
)
def test_that_a_filter_keeps_what_the_reference_keeps(
    spark: Any, tmp_path: Any, ansi: str, zone: str, codegen: str
) -> None:
    """Not one row less; and more only where it is said."""
    from pyspark.sql import functions as F

    table = table_of_values()
    asked = list(dict.fromkeys(conditions()))
    wanted, found = [], []
    for text in asked:
        query = cep.Query(f"PATTERN A a WHERE {text} RETURN a.ts AS row")
        wanted.append({match["row"] for match in query.match(table, engine="reference")})
        found.append(derive_pushdown(query, table.schema))
    assert [text for each in found for text in each.refused if not text.startswith("column")] == []
    pq.write_table(table, tmp_path / "rows.parquet", row_group_size=1)
    given = {
        "spark.sql.ansi.enabled": ansi,
        "spark.sql.session.timeZone": zone,
        "spark.sql.codegen.factoryMode": codegen,
    }
    kept = {name: spark.conf.get(name) for name in given}
    try:
        for name, value in given.items():
            spark.conf.set(name, value)
        df = spark.read.parquet(str(tmp_path / "rows.parquet")).repartition(2)
        marks = [F.coalesce(each.condition, F.lit(False)).alias(f"c{k}") for k, each in enumerate(found)]
        marks += [doubtful(each).alias(f"d{k}") for k, each in enumerate(found)]
        wrong = []
        for row in df.select("ts", *marks).collect():
            for k, text in enumerate(asked):
                ours, theirs, doubt = row["ts"] in wanted[k], row[f"c{k}"], row[f"d{k}"]
                if theirs is not (ours or doubt):
                    read = {name: str(table[name][row["ts"]]) for name in re.findall(r"a\.(\w+)", text)}
                    wrong.append((text, read, ours, theirs, doubt))
        assert wrong == []
        plain = spark.read.parquet(str(tmp_path / "rows.parquet"))  # whose reader may skip row groups
        for text in (
            *("a.payload.amount >= 0", "a.payload.amount != 5", "a.payload['in.ner'].y = 0", "a.payload.name > ''"),
            *("NOT a.payload['in.ner'].y < 3", "a.payload.name IS NULL", "CAST(a.n16 AS BIGINT) = 128"),
        ):
            query = cep.Query(f"PATTERN A a WHERE {text} RETURN a.ts AS row")
            rows = {match["row"] for match in query.match(table, engine="reference")}
            condition = derive_pushdown(query, table.schema).condition
            assert {row["ts"] for row in plain.filter(condition).select("ts").collect()} == rows, text
    finally:
        for name, value in kept.items():
            spark.conf.set(name, value)


def test_that_tasks_that_read_parquet_leave_computed_values_to_the_engine(spark: Any, tmp_path: Any) -> None:
    table = table_of_values().select(["ts", "type", "n16", "text"])
    pq.write_table(table, tmp_path / "rows.parquet")
    df = spark.read.parquet(str(tmp_path / "rows.parquet"))
    query = cep.Query("""
        PATTERN SEQ(A a, A b)
        WHERE [n16] AND CAST(a.text AS INT) > 11 AND b.text RLIKE '^[0-9]' AND a.n16 > 0
        RETURN a.ts AS a, b.ts AS b
    """)
    wanted = sorted((match["a"], match["b"]) for match in query.match(table, engine="reference"))
    assert len(wanted) == 56
    for direct in (True, False):
        assert sorted((row["a"], row["b"]) for row in query.match(df, direct=direct).collect()) == wanted
    lines = str(query.explain(df, direct=True)).splitlines()
    assert "  conditions on computed values are left to the engine, since the files are not read by Spark" in lines


def test_that_a_stream_filters_by_computed_values_and_leaves_fields_behind(spark: Any, tmp_path: Any) -> None:
    inner = pa.struct([("amount", pa.string()), ("note", pa.string())])
    schema = pa.schema([("ts", pa.timestamp("us", "UTC")), ("type", pa.string()), ("id", pa.int64()), ("pay", inner)])
    amounts = ["12", " 7.9", "abc", None, "300", "", "8"]
    rows: list[dict[str, Any]] = [
        {
            "ts": datetime(2026, 3, 1, 12, 0, k, tzinfo=UTC),
            "type": "AB"[k % 2],
            "id": k % 3,
            "pay": {"amount": amounts[k % 7]},
        }
        for k in range(50)
    ]
    rows[20]["pay"] = None
    rows.append({"ts": datetime(2026, 3, 2, tzinfo=UTC), "type": "C", "id": 0, "pay": None})  # moves the watermark
    table = pa.Table.from_pylist(rows, schema)
    pq.write_table(table, str(tmp_path / "0.parquet"))
    query = cep.Query("""
        PATTERN SEQ(A a, B b)
        WHERE [id] AND CAST(a.pay.amount AS INT) >= 7 AND b.pay.amount RLIKE '^[0-9]' AND second(a.ts) < 40
        WITHIN 10 seconds
        RETURN a.pay.amount AS one, b.pay.amount AS other
    """)
    names = ["match_start", "match_end", "one", "other"]
    wanted = sorted(map(str, query.match(table, engine="reference").to_arrow().select(names).to_pylist()))
    assert len(wanted) == 9
    definition = "ts timestamp, type string, id long, pay struct<amount: string, note: string>"
    events = spark.readStream.schema(definition).parquet(str(tmp_path)).withWatermark("ts", "1 second")
    assert "field pay.note is not sent" in str(query.explain(events))
    matches = query.match(events).writeStream.format("memory").queryName("pays")
    running = matches.option("checkpointLocation", str(tmp_path / "checkpoint")).trigger(availableNow=True).start()
    running.awaitTermination()
    found = spark.table("pays").toArrow().select(names).to_pylist()
    assert sorted(map(str, found)) == wanted
