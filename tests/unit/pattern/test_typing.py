"""Types of expressions and what goes together."""

import pyarrow as pa
import pytest

import cepheid as cep

SCHEMA = pa.schema(
    {
        "ts": pa.int64(),
        "type": pa.string(),
        "i": pa.int32(),
        "f": pa.float32(),
        "d": pa.decimal128(10, 2),
        "s": pa.dictionary(pa.int8(), pa.string()),
        "b": pa.bool_(),
        "day": pa.date32(),
        "at": pa.timestamp("ms"),
        "zoned": pa.timestamp("us", tz="Europe/Paris"),
        "l": pa.list_(pa.float64()),
        "n": pa.null(),
    }
)


def type_of(expression: str) -> pa.DataType:
    return cep.Query(f"EVENT A a RETURN {expression} AS it").schema(SCHEMA).field("it").type


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("a.i", pa.int32()),
        ("a.i + 1", pa.int64()),
        ("a.i / 2", pa.float64()),
        ("a.i % 2", pa.int64()),
        ("a.f + a.i", pa.float64()),
        ("a.d + a.i", pa.decimal128(38, 2)),
        ("a.d * a.d", pa.decimal128(38, 4)),
        ("a.d * 0.125", pa.decimal128(38, 5)),
        ("a.d / 2", pa.float64()),
        ("a.d + a.f", pa.float64()),
        ("-a.i", pa.int64()),
        ("a.s", pa.dictionary(pa.int32(), pa.string())),
        ("a.s || 'x'", pa.string()),
        ("upper(a.s)", pa.string()),
        ("a.at - a.at", pa.duration("us")),
        ("a.at + 5 minutes", pa.timestamp("us")),
        ("a.zoned - 1 day", pa.timestamp("us", tz="Europe/Paris")),
        ("a.i > 1", pa.bool_()),
        ("CASE WHEN a.b THEN 1 ELSE 2.5 END", pa.float64()),
        ("CASE WHEN a.b THEN NULL ELSE 'x' END", pa.string()),
        ("coalesce(a.n, a.i, 0)", pa.int64()),
        ("round(a.f, 1)", pa.float32()),
        ("floor(a.f)", pa.int64()),
        ("year(a.day)", pa.int64()),
        ("a.l", pa.list_(pa.float64())),
        ("a.n", pa.null()),
    ],
)
def test_type(expression: str, expected: pa.DataType) -> None:
    assert type_of(expression) == expected


@pytest.mark.parametrize(
    "condition",
    [
        "a.s > 1",
        "a.i = 'abc'",
        "a.b > 1",
        "a.day = a.at",
        "a.at = a.zoned",
        "a.l = a.l",
        "a.l > 1",
        "a.s + 1 > 2",
        "a.at + a.at > a.at",
        "a.i LIKE 'x'",
        "a.i IN (1, 'abc')",
        "upper(a.i) = 'X'",
        "CASE WHEN a.b THEN 1 ELSE 'x' END = 1",
        "a.i BETWEEN 'a' AND 'b'",
        "a.at < 'soon'",
    ],
)
def test_mismatch(condition: str) -> None:
    with pytest.raises(cep.BindError) as error:
        cep.Query(f"EVENT A a WHERE {condition}").schema(SCHEMA)
    assert error.value.code == "CEP305"
    assert error.value.line == 1


@pytest.mark.parametrize(
    "condition",
    [
        "a.i = '1'",
        "a.f > '1.5'",
        "a.d = '0.10'",
        "a.day = '2024-01-31'",
        "a.at < '2024-01-31 12:00:00'",
        "a.zoned < '2024-01-31T12:00:00+01:00'",
        "a.zoned < TIMESTAMP '2024-01-31 12:00:00'",
        "a.i > 1.5",
        "a.n > 1",
        "a.b",
        "NOT a.b",
        "[s = 'x']",
        "[i = '1']",
        "a.at - a.at < 5 minutes",
    ],
)
def test_goes_together(condition: str) -> None:
    assert cep.Query(f"EVENT A a WHERE {condition}").schema(SCHEMA).names == ["match_start", "match_end", "a"]


@pytest.mark.parametrize(
    ("condition", "code"),
    [
        ("a.price > 1", "CEP301"),
        ("[tag]", "CEP301"),
        ("uper(a.s) = 'X'", "CEP303"),
        ("substring(a.s) = 'X'", "CEP306"),
        ("a.i", "CEP308"),
        ("a.i AND a.b", "CEP308"),
    ],
)
def test_other_errors(condition: str, code: str) -> None:
    with pytest.raises(cep.BindError) as error:
        cep.Query(f"EVENT A a WHERE {condition}").schema(SCHEMA)
    assert error.value.code == code
