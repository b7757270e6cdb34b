"""The arguments of kernels: of a few rows the same ones as of a table."""

import numpy as np
import pyarrow as pa
import pytest

from cepheid import Query
from cepheid.engine.encoding.batch import Batch, StreamCodes
from cepheid.engine.encoding.few_events import FewEvents, RowForm
from cepheid.engine.machines.kernel_input import KernelInput
from cepheid.engine.planning.compiled_query import CompiledQuery
from cepheid.kernel.arguments import EventFact
from cepheid.pattern.binding.schema import Roles, make_schema

COLUMNS = pa.schema({"ts": pa.int64(), "type": pa.string(), "n": pa.int64(), "x": pa.float64(), "s": pa.string()})
SCHEMA = make_schema(COLUMNS, Roles(time="ts", type="type"))
ROWS = [(1, "A", 3, 1.5, "p"), (2, "B", None, None, "q"), (2, None, 3, 0.5, None), (7, "X", -1, 2.0, "p")]


def compiled(text: str) -> CompiledQuery:
    return CompiledQuery(Query(text).compiled.bind(SCHEMA)[0])


@pytest.mark.parametrize(
    "text",
    [
        "PATTERN SEQ(A a, B b) WHERE a.n < b.n AND a.x > b.x AND a.s = b.s WITHIN 5 milliseconds",
        "PATTERN SEQ(A a, B b) WHERE [n] AND b.x > 1 WITHIN 5 milliseconds",
        "PATTERN SEQ(A a, B b) PARTITION BY s, n WITHIN 5 milliseconds",
    ],
)
def test_that_rows_and_tables_make_the_same_arrays(text: str) -> None:
    query = compiled(text)
    kernel = query.scan(frozenset(("n", "x", "s")))
    events = FewEvents(RowForm(SCHEMA), ROWS)
    times = np.array([row[0] for row in ROWS])
    codes, others = StreamCodes(SCHEMA), StreamCodes(SCHEMA)
    of_rows = KernelInput(query, codes, query.query.partitions)
    of_table = KernelInput(query, others, query.query.partitions)
    lists = of_rows.lists(kernel.events, kernel.types, Batch(codes, events, times, 0))
    arrays = of_table.arrays(kernel.events, kernel.types, Batch(others, events.to_table(), times, 0), {})
    assert lists is not None
    named = {wanted.holds: values for wanted, values in zip(kernel.events, lists, strict=True)}
    expected = {wanted.holds: array.tolist() for wanted, array in zip(kernel.events, arrays, strict=True)}
    for made in (named, expected):  # codes of types may differ, the types that they stand for do not
        numbers = made.pop(EventFact.TYPES)
        made[EventFact.TYPE] = [numbers[code] for code in made[EventFact.TYPE]]
    assert named == expected
    assert codes.strings.codes == others.strings.codes


def test_that_rows_and_tables_have_the_same_nulls() -> None:
    query = compiled("PATTERN SEQ(A a, B b) WHERE a.n < b.n AND a.x > b.x")
    events = FewEvents(RowForm(SCHEMA), ROWS[:1])
    for rows in (events, events.to_table()):
        codes = StreamCodes(SCHEMA)
        kernel_input = KernelInput(query, codes, query.query.partitions)
        assert not kernel_input.learns(Batch(codes, rows, np.array([1]), 0), ("ts", "n", "x"))
        assert kernel_input.nullable == frozenset()
    for rows in (FewEvents(RowForm(SCHEMA), ROWS), FewEvents(RowForm(SCHEMA), ROWS).to_table()):
        codes = StreamCodes(SCHEMA)
        kernel_input = KernelInput(query, codes, query.query.partitions)
        assert kernel_input.learns(Batch(codes, rows, np.array([1, 2, 2, 7]), 0), ("ts", "n"))
        assert kernel_input.nullable == {"ts", "n"}  # a stream with NULLs in one column may have them in others
        assert not kernel_input.learns(Batch(codes, rows, np.array([1, 2, 2, 7]), 4), ("ts", "n"))


def test_what_is_not_made_of_rows() -> None:
    query = compiled("PATTERN SEQ(A a, B b) WHERE a.n < b.n")
    kernel, codes = query.scan(frozenset()), StreamCodes(SCHEMA)
    kernel_input = KernelInput(query, codes, query.query.partitions)
    table = FewEvents(RowForm(SCHEMA), ROWS).to_table()
    assert kernel_input.lists(kernel.events, kernel.types, Batch(codes, table, np.array([1, 2, 2, 7]), 0)) is None
    many = FewEvents(RowForm(SCHEMA), ROWS[:1] * 40)
    assert kernel_input.lists(kernel.events, kernel.types, Batch(codes, many, np.ones(40, np.int64), 0)) is None
