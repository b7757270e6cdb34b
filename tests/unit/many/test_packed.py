"""Constants that come often, kept once each."""

import pyarrow as pa
import pytest

from cepheid.engine.many.tables.packed import packed, unpacked

FEW = [0.5, None, float("inf"), -2.5] * 100


@pytest.mark.parametrize(
    ("values", "type_", "kept"),
    [
        (FEW, pa.float64(), pa.int8()),
        ([k % 128 for k in range(400)], pa.int64(), pa.int8()),
        ([k % 129 for k in range(400)], pa.int64(), pa.int16()),
        ([k % 32768 for k in range(40_000)], pa.int64(), pa.int16()),
    ],
)
def test_few_values_have_small_numbers(values: list[object], type_: pa.DataType, kept: pa.DataType) -> None:
    table = pa.table({"$1": pa.array(values, type_)})
    found = packed(table)
    assert found.column("$1").type == pa.dictionary(kept, type_)
    assert unpacked(found).equals(table)
    assert packed(found).equals(found)


@pytest.mark.parametrize("column", [pa.array(range(40_000)), pa.array(["a", "b", "a"])])
def test_many_values_and_texts_stay_as_they_are(column: pa.Array) -> None:
    table = pa.table({"$1": column})
    assert packed(table).equals(table)
    assert unpacked(packed(table)).equals(table)
