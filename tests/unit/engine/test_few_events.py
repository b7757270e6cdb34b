"""Events that are encoded one by one: as many at once would be, and no kernel runs on arrays that are too short."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from cepheid import Query
from cepheid.engine.encoding.batch import Batch, StreamCodes
from cepheid.engine.encoding.few_events import FEW, FewEvents, RowForm
from cepheid.engine.machines.factory import scan_machine
from cepheid.engine.machines.policy import CompilePolicy, Policy
from cepheid.engine.planning.compiled_query import CompiledQuery
from cepheid.kernel.arrays import Pins
from cepheid.pattern.binding.schema import Roles, make_schema
from cepheid.pattern.tree.partitioning import Partitioning

SCHEMA = make_schema(
    pa.schema({"ts": pa.int64(), "type": pa.string(), "n": pa.int32(), "x": pa.float64(), "at": pa.timestamp("us")}),
    Roles(),
)
ROWS = [(1, "A", 3, 1.5, 1000), (2, None, None, None, None), (3, "B", 3, float("nan"), -2000)]


def batches() -> list[Batch]:
    few = FewEvents(RowForm(SCHEMA), ROWS)
    table = few.to_table()
    repeated = pa.concat_tables([table] * FEW)
    found: list[tuple[Any, int]] = [(few, 3), (table, 3), (repeated, 3 * FEW)]
    return [Batch(StreamCodes(SCHEMA), events, np.arange(count), 0) for events, count in found]


def test_all_forms_are_encoded_alike() -> None:
    for batch in batches():
        codes, names = batch.type_codes
        assert [names[code] for code in codes[:3]] == ["A", None, "B"]
        assert batch.values("type")[:3].tolist() == [0, -1, 1]
        assert batch.values("n")[:3].tolist() == [3, 0, 3]
        assert np.array_equal(batch.values("x")[:3], [1.5, 0, float("nan")], equal_nan=True)
        assert batch.values("at")[:3].tolist() == [1000, 0, -2000]
        for column in ("type", "n", "x", "at"):
            assert batch.has_nulls(column)
            assert batch.nulls(column)[:3].tolist() == [0, 1, 0]
        for partitions in (Partitioning(("n",), (), one_key=True), Partitioning(("at",), ("type",), one_key=True)):
            assert len(set(batch.partitions(batch.codes.partitions(partitions))[:3].tolist())) == (
                2 if partitions.columns == ("n",) else 3
            )
        assert not batch.has_nulls("ts")


def test_an_array_that_is_too_short_is_not_run_on() -> None:
    compiled = Query("PATTERN SEQ(A a, B b) WHERE a.n < b.n").compiled
    query = CompiledQuery(compiled.bind(SCHEMA)[0])
    batch = batches()[1]
    codes = batch.codes
    machine = scan_machine(query, codes, Policy(CompilePolicy.NEVER))
    machine.feed(Batch(codes, batch.table, np.arange(3), 0))
    with pytest.raises(IndexError, match="3 values for 4 events"):
        machine.feed(Batch(codes, batch.table, np.arange(4), 3))


def test_an_array_that_takes_the_place_of_another_is_pinned_anew() -> None:
    pins, first, second, third = Pins(), np.zeros(4), np.zeros(4), np.zeros(4)
    before = pins.pin([first, second])
    after = pins.pin([third, second])
    assert [pin.address for pin in after] == [third.ctypes.data, second.ctypes.data]
    assert after[1] is before[1]
    assert [pin.address for pin in pins.pin([first])] == [first.ctypes.data]
