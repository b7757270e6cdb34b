"""The waiting room of events, and the filter of late ones before it."""

from typing import Any

import pyarrow as pa
import pytest

from cepheid.engine.encoding.columns import as_dictionary
from cepheid.engine.encoding.dictionaries import without_unused_words
from cepheid.engine.encoding.few_events import as_table
from cepheid.engine.stream.arrivals import Arrivals, arrange
from cepheid.engine.stream.late import LateFilter
from cepheid.engine.stream.parts import FlatSink, FlatSource
from cepheid.engine.stream.rows import FAN, Arrival, arrival_of
from cepheid.errors import InputError
from cepheid.pattern.binding.schema import Roles, make_schema

COLUMNS = pa.schema([("ts", pa.int64()), ("type", pa.dictionary(pa.int32(), pa.string())), ("x", pa.int64())])
SCHEMA = make_schema(COLUMNS, Roles())


def table(*events: tuple[int, str, int]) -> pa.Table:
    return pa.Table.from_pylist([{"ts": t, "type": kind, "x": x} for t, kind, x in events], COLUMNS)


class Stored:
    """Rows somewhere else, which know how often they were read."""

    def __init__(self, rows: pa.Table) -> None:
        self.rows = rows
        self.size = rows.nbytes
        self.reads = 0

    def table(self) -> pa.Table:
        self.reads += 1
        return self.rows


def stored(rows: pa.Table) -> tuple[Arrival, Stored]:
    times = rows["ts"].to_pylist()
    held = Stored(rows)
    return Arrival(held, len(times), min(times), max(times)), held


def released(arrivals: Arrivals, before: int | None) -> list[tuple[int, int]]:
    found = arrivals.release(before)
    if found is None:
        return []
    rows, times = as_table(found[0]), found[1]
    assert rows["ts"].to_pylist() == times.tolist()
    return list(zip(times.tolist(), rows["x"].to_pylist(), strict=True))


@pytest.mark.parametrize("form", ["memory", "stored"])
def test_events_are_released_in_order_once_nothing_can_come_before_them(form: str) -> None:
    arrivals = Arrivals(SCHEMA)
    for rows in (table((5, "A", 0), (1, "B", 1), (9, "A", 2)), table((3, "C", 3), (7, "A", 4), (3, "C", 2))):
        arrivals.add(arrival_of(SCHEMA, rows) if form == "memory" else stored(rows)[0])
    assert arrivals.before(3) == 3
    assert released(arrivals, 1) == []
    assert released(arrivals, 4) == [(1, 1), (3, 2), (3, 3)]
    assert [arrival.low for arrival in arrivals.waiting] == [5, 7]
    assert released(arrivals, 6) == [(5, 0)]
    assert released(arrivals, None) == [(7, 4), (9, 2)]
    assert released(arrivals, None) == []


def test_rows_are_read_when_the_watermark_has_passed_some_of_them() -> None:
    arrivals = Arrivals(SCHEMA)
    arrival, held = stored(table((5, "A", 0), (8, "B", 1)))
    arrivals.add(arrival)
    assert released(arrivals, 5) == []
    assert not held.reads
    assert released(arrivals, 6) == [(5, 0)]
    assert arrivals.waiting[0].rows is held  # as it is stored, without being written again
    assert arrivals.waiting[0].released == 1


def test_what_waits_is_saved_and_loaded() -> None:
    arrivals = Arrivals(SCHEMA)
    arrival, _ = stored(table((5, "A", 0), (1, "B", 1), (9, "A", 2)))
    arrivals.add(arrival)
    arrivals.add(arrival_of(SCHEMA, table((2, "A", 3), (6, "A", 4))))
    released(arrivals, 3)
    sink = FlatSink()
    saved = arrivals.save("waiting", sink)
    again = Arrivals(SCHEMA)
    again.load(saved, FlatSource(memoryview(b"".join(sink.parts))))
    assert released(again, None) == released(arrivals, None) == [(5, 0), (6, 4), (9, 2)]


def test_small_arrivals_are_merged() -> None:
    arrivals = Arrivals(SCHEMA)
    kept = []
    for k in range(FAN**2 + 3):
        arrivals.add(arrival_of(SCHEMA, table((k, "ABC"[k % 3], k), (1000 + k, "A", k))))
        kept += [(k, k), (1000 + k, k)]
        if k % 5 == 0:
            released(arrivals, k // 2)
            kept = [event for event in kept if event[0] >= k // 2]
        arrivals.save("waiting", FlatSink())
    assert len(arrivals.waiting) < 2 * FAN
    assert max(arrival.level for arrival in arrivals.waiting) == 2
    assert released(arrivals, None) == sorted(kept)


def test_rows_in_order_are_taken_as_they_are() -> None:
    rows = table((1, "A", 0), (2, "A", 1), (2, "A", 2), (3, "A", 0))
    times = rows["ts"].to_numpy()
    assert arrange(SCHEMA, rows, times) is None
    assert arrange(SCHEMA, rows.slice(0, 2), times[:2]) is None
    other = table((1, "A", 0), (2, "A", 2), (2, "A", 1), (3, "A", 0))
    assert arrange(SCHEMA, other, times).tolist() == [0, 2, 1, 3]


# Late events.


def test_only_rows_with_late_events_are_read() -> None:
    arrivals, late = Arrivals(SCHEMA), LateFilter("drop")
    arrival, held = stored(table((5, "A", 0), (8, "B", 1)))
    assert late.on_time(arrival, arrivals, None) is arrival
    assert late.on_time(arrival, arrivals, 5) is arrival
    assert not held.reads
    rest = late.on_time(arrival, arrivals, 6)
    assert (rest.count, rest.low, rest.high, late.count) == (1, 8, 8, 1)
    assert late.on_time(arrival, arrivals, 9).count == 0
    assert late.count == 3
    with pytest.raises(InputError, match=r"CEP408: 1 of 2 events .* in row 0 \(5\)"):
        LateFilter("error").on_time(arrival, arrivals, 6)


# Dictionaries.


def test_more_words_than_the_codes_of_a_column_can_tell_apart() -> None:
    """Each batch has few words, and all of them together too many for its codes: kernels read wider ones."""
    columns = pa.schema([("ts", pa.int64()), ("type", pa.dictionary(pa.int8(), pa.string()))])
    schema = make_schema(columns, Roles())
    arrivals = Arrivals(schema)
    words = [f"word {i}" for i in range(200)]
    for k in (0, 100):
        codes = pa.DictionaryArray.from_arrays(pa.array(range(100), pa.int8()), pa.array(words[k : k + 100]))
        arrivals.add(arrival_of(schema, pa.table({"ts": range(k, k + 100), "type": codes})))
    found = arrivals.release(None)
    assert found is not None
    rows = as_table(found[0])
    assert rows.schema.equals(columns)
    assert rows["type"].to_pylist() == as_dictionary(rows["type"]).to_pylist() == words


@pytest.mark.parametrize("missing", [None, 3])
def test_words_that_no_row_has_are_dropped(missing: Any) -> None:
    words = [None if missing is not None and k % missing == 0 else f"word {k}" for k in range(200)]
    column = pa.array(words).dictionary_encode()
    rows = pa.table({"s": pa.chunked_array([column.slice(10, 20), column.slice(100, 1), column.slice(0, 0)])})
    found = without_unused_words(rows)
    assert found.to_pylist() == rows.to_pylist()
    assert found.schema.equals(rows.schema)
    counts = [len({word for word in chunk.to_pylist() if word}) for chunk in rows["s"].chunks]
    for chunk, count in zip(found["s"].chunks, counts, strict=True):
        assert count <= len(chunk.dictionary) <= count + 1  # where one is NULL, its code is of some word
    few = pa.table({"s": pa.array(["a", "b"]).dictionary_encode().slice(0, 1)})
    assert without_unused_words(few) is few
