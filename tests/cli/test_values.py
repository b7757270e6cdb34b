"""Arrow's values as text, slices and NULLs included."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

from cepheid.api.files.text_values import duration, to_json, to_text, values

STRUCT = pa.struct([("t", pa.timestamp("s")), ("n", pa.int8())])


@pytest.mark.parametrize(
    ("array", "expected"),
    [
        (pa.array([True, None]), [True, None]),
        (pa.array(["a", "b", "a"]).dictionary_encode(), ["a", "b", "a"]),
        (pa.array([1, None], pa.date32()), ["1970-01-02", None]),
        (pa.array([86_400_000], pa.date64()), ["1970-01-02"]),
        (pa.array([1, None], pa.timestamp("s")), ["1970-01-01T00:00:01", None]),
        (pa.array([1], pa.timestamp("us", "UTC")), ["1970-01-01T00:00:00.000001Z"]),
        (pa.array([0], pa.timestamp("s", "-03:30")), ["1969-12-31T20:30:00-03:30"]),
        (pa.array([5, None], pa.duration("ns")), ["PT0.000000005S", None]),
        (pa.array([b"\x00", None]), ["AA==", None]),
        (pa.array([Decimal("1.10")]), [Decimal("1.10")]),
        (pa.array([None, {"t": 1, "n": None}, None], STRUCT), [None, {"t": "1970-01-01T00:00:01", "n": None}, None]),
        (pa.array([{}, None], pa.struct([])), [{}, None]),
        (pa.array([[1], None, [], [2, 3]]), [[1], None, [], [2, 3]]),
        (pa.array([[1, 2], None], pa.list_(pa.int8(), 2)), [[1, 2], None]),
        (pa.array([[0]], pa.large_list(pa.date32())), [["1970-01-01"]]),
        (pa.array([[(1, [0])], None], pa.map_(pa.int8(), pa.list_(pa.date32()))), [{"1": ["1970-01-01"]}, None]),
        (pa.nulls(2), [None, None]),
    ],
)
def test_values(array: pa.Array, expected: list[Any]) -> None:
    assert values(array) == expected
    assert values(array[1:]) == expected[1:]
    assert values(pa.chunked_array([array, array[:1]])) == expected + expected[:1]


@pytest.mark.parametrize(
    ("amount", "unit", "text"),
    [
        (0, "ms", "PT0S"),
        (60, "s", "PT1M"),
        (86_400, "s", "P1D"),
        (86_400_000_000 * 2 + 3_600_000_000, "us", "P2DT1H"),
        (-1_500, "ms", "-PT1.5S"),
        (1, "ns", "PT0.000000001S"),
    ],
)
def test_duration(amount: int, unit: str, text: str) -> None:
    assert duration(amount, unit) == text


@pytest.mark.parametrize(
    ("value", "json", "text"),
    [
        (None, "null", ""),
        (True, "true", "true"),
        ('"é"\n', '"\\"é\\"\\n"', '"é"\n'),
        (float("nan"), "null", "nan"),
        (float("-inf"), "null", "-inf"),
        (1e300, "1e+300", "1e+300"),
        (Decimal("1E+3"), "1000", "1000"),
        (2**63, "9223372036854775808", "9223372036854775808"),
        ([{"a": None}], '[{"a": null}]', '[{"a": null}]'),
    ],
)
def test_text_and_json(value: object, json: str, text: str) -> None:
    assert (to_json(value), to_text(value)) == (json, text)
