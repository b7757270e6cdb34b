"""CAST, RLIKE and the functions of times give what Spark gives, value by value."""

import math
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

import cepheid as cep

TEXTS = [
    *(
        "12",
        " 12 ",
        "+7",
        "-7",
        "1.9",
        "-1.9",
        ".",
        "5.",
        ".5",
        "-",
        "+",
        "",
        " ",
        "1e3",
        "1E-2",
        "300",
        "-129",
        "99999",
    ),
    *(
        "2147483648",
        "-2147483648",
        "9223372036854775807",
        "9223372036854775808",
        "00012",
        "1_000",
        "１",
        "0x10",
        "\t8\n",
    ),
    *("inf", "-Infinity", "+inf", "NaN", "nan", "1d", "2f", "1e400", "0x1p3", "0.1", "3.4028235677973366e38", "1e-46"),
    *("16777217", "16777217.0000001", "true", " T ", "yes", "N", "0", "1", "off", "abc"),
    *("2024", "2024-2", "2024-02-29", "2023-02-29", "2024-2-9", "2024-02-29T", "2024-02-29 x", "2024-02", "2024-13"),
    *(
        "2024-02-29 13",
        "2024-02-29 13:45",
        "2024-02-29T13:45:10",
        "2024-02-29 13:45:10.123456789",
        "2024-02-29 24:00:00",
    ),
    *("2024-02-29 13:45:10Z", "2024-02-29T13:45:10+02:00", "2024-02-29 13:45:10 Europe/Paris", "2024-02-29 1:2:3"),
    *("2024-02-29 13:45:10-0130", "2024-02-29 13:45:10UTC+1", "2024-02-29 13:45:10.", "+2024-01-01", "12345-01-01"),
    *(
        "-0001-01-01",
        "0000-01-01",
        "20240229",
        "2024/02/29",
        "2024-02-29 13:45:10 Mars/Base",
        "1.005",
        "-0.005",
        "1e38",
    ),
]
DOUBLES = [
    0.0,
    -0.0,
    1.0,
    -1.9,
    1.5,
    0.001,
    0.00099,
    1e7,
    9999999.0,
    123456789.125,
    1e-10,
    3e9,
    -3e9,
    1e19,
    -1e19,
    300.7,
]
DOUBLES += [math.nan, math.inf, -math.inf, 0.1, 1 / 3, 1e300, 5e-324, 16777217.0, 32768.0, 1.005, 0.995]
COLUMNS: dict[str, tuple[pa.DataType, list[Any]]] = {
    "text": (pa.string(), TEXTS),
    "double": (pa.float64(), DOUBLES),
    "single": (pa.float32(), [0.1, 1.5, 16777216.0, 1e7, 1e-3, 3.4e38, math.nan, math.inf, -2.5, 1.1e-20]),
    "long": (
        pa.int64(),
        [0, 1, -1, 127, 128, -129, 32768, 2**31, -(2**31) - 1, 2**53 + 1, 2**63 - 1, -(2**63), 16777217],
    ),
    "short": (pa.int16(), [0, 1, -1, 300, -32768]),
    "number": (
        pa.decimal128(14, 4),
        [Decimal(t) for t in ("0.0000", "1.5000", "-1.5000", "99999999.9999", "0.0001", "-0.0050", "2147483648.1234")],
    ),
    "fine": (pa.decimal128(20, 10), [Decimal(t) for t in ("0.0000000001", "0E-10", "1234567890.1234567891")]),
    "flag": (pa.bool_(), [True, False]),
    "day": (pa.date32(), [date(1970, 1, 1), date(2024, 2, 29), date(1582, 10, 10), date(9999, 12, 31), date(1, 1, 1)]),
    "moment": (
        pa.timestamp("us", "UTC"),
        [
            datetime(2024, 2, 29, 13, 45, 10, 123456, tzinfo=UTC),
            datetime(1969, 12, 31, 23, 59, 59, 999999, tzinfo=UTC),
            datetime(1970, 1, 1, tzinfo=UTC),
            datetime(2024, 12, 30, 0, 0, 0, 500000, tzinfo=UTC),
            datetime(1900, 3, 31, 5, tzinfo=UTC),
        ],
    ),
}
TARGETS = [
    *("BOOLEAN", "TINYINT", "SMALLINT", "INT", "BIGINT", "FLOAT", "DOUBLE", "STRING", "DATE", "TIMESTAMP"),
    *("DECIMAL(10, 2)", "DECIMAL(3, 2)", "DECIMAL(38, 10)", "DECIMAL(10, 0)"),
]
REFUSED = {"day": {*TARGETS} - {"STRING", "DATE", "TIMESTAMP"}, "flag": {"DATE"}}
REFUSED |= {name: {"DATE"} for name in ("double", "single", "long", "short", "number", "fine")}
MOMENTS = [
    *("year(x)", "quarter(x)", "month(x)", "day(x)", "dayofmonth(x)", "dayofyear(x)", "dayofweek(x)", "weekday(x)"),
    *("weekofyear(x)", "extract(YEAROFWEEK FROM x)", "extract(dow_iso FROM x)", "extract(week FROM x)"),
]
CLOCKS = ["hour(x)", "minute(x)", "second(x)", "extract(SECOND FROM x)", "date_part('H', x)"]
CLOCKS += [f"date_trunc('{unit}', x)" for unit in ("YEAR", "qUARTER", "mm", "WEEK", "DD", "hour", "MINUTE", "SECOND")]
CLOCKS += [f"date_trunc('{unit}', x)" for unit in ("MILLISECOND", "MICROSECOND")]
DAYS = [f"trunc(x, '{unit}')" for unit in ("YEAR", "QUARTER", "MON", "WEEK")]
PATTERNS = [
    "a",
    "^a",
    "a$",
    "^a.c$",
    r"\d+",
    r"[a-c]{2,3}",
    "(?i)ABC",
    "(?s)a.b",
    "a|é",
    r"\bab\b",
    "(?=a)",
    r"\s$",
    "x*",
]
PATTERNS += [r"[^\w]", r"\.", "^$", r"a\Z", r"c\z", r"[\-\]]", "(ab)+?c"]
WORDS = [
    "",
    "a",
    "abc",
    "ab\n",
    "ab\r\n",
    "a\rc",
    "ABC",
    "12",
    "xé",
    "a.b",
    "a\nb",
    "-]",
    "ababc",
    "a\u2028",
    "a b",
    "\u0085",
]


def comparable(column: pa.ChunkedArray) -> list[Any]:
    """Times as numbers, since Python's end with the year 9999."""
    if pa.types.is_timestamp(column.type):
        assert column.type.unit == "us"
        column = column.cast(pa.int64())
    return list((column.cast(pa.int32()) if pa.types.is_date(column.type) else column).to_pylist())


def embedded(values: list[Any], arrow: pa.DataType, expression: str) -> list[Any]:
    """The values of an expression over a column, by the engine's own means."""
    times = pa.array(range(len(values) + 1), pa.timestamp("us", "UTC"))
    table = pa.table({"ts": times, "type": ["A"] * len(times), "x": pa.array([*values, None], arrow)})
    found = cep.Query(f"PATTERN A a RETURN {expression} AS y").match(table).to_arrow()
    return comparable(found.column("y"))


def on_spark(spark: Any, values: list[Any], arrow: pa.DataType, expressions: list[str]) -> list[list[Any]]:
    """The same by Spark, all of them in one pass."""
    table = pa.table({"n": range(len(values) + 1), "x": pa.array([*values, None], arrow)})
    spark.conf.set("spark.sql.ansi.enabled", "false")
    try:
        frame = spark.createDataFrame(table).orderBy("n")
        found = frame.selectExpr(*(f"{e} AS y{k}" for k, e in enumerate(expressions))).toArrow()
        return [comparable(found.column(k)) for k in range(len(expressions))]
    finally:
        spark.conf.unset("spark.sql.ansi.enabled")


def shown(value: Any) -> Any:
    return ("double", repr(value)) if isinstance(value, float) else value


def differences(spark: Any, name: str, arrow: pa.DataType, values: list[Any], expressions: list[str]) -> list[Any]:
    wanted = on_spark(spark, values, arrow, [e.replace("\\", "\\\\") for e in expressions])
    found = []
    for expression, theirs in zip(expressions, wanted, strict=True):
        ours = embedded(values, arrow, expression)
        for value, one, other in zip([*values, None], ours, theirs, strict=True):
            if shown(one) != shown(other):
                found.append((name, expression, value, one, other))
    return found


@pytest.mark.parametrize("name", COLUMNS)
def test_that_a_cast_is_sparks(spark: Any, name: str) -> None:
    arrow, values = COLUMNS[name]
    casts = [f"CAST(x AS {target})" for target in TARGETS if target not in REFUSED.get(name, ())]
    assert differences(spark, name, arrow, values, casts) == []


@pytest.mark.parametrize(("name", "expressions"), [("moment", MOMENTS + CLOCKS), ("day", MOMENTS + DAYS)])
def test_that_parts_of_times_are_sparks(spark: Any, name: str, expressions: list[str]) -> None:
    arrow, values = COLUMNS[name]
    assert differences(spark, name, arrow, values, expressions) == []


def test_that_a_regular_expression_finds_what_java_finds(spark: Any) -> None:
    assert differences(spark, "word", pa.string(), WORDS, [f"x RLIKE '{pattern}'" for pattern in PATTERNS]) == []
