"""What runs in the workers, without Spark."""

import random

import pyarrow as pa
import pytest

import cepheid as cep
from cepheid.spark import worker
from cepheid.spark.outputs import match_schema
from cepheid.spark.worker import SLICE, WorkerQuery, match_in_order, match_in_slices

WINDOW = 40
QUERIES = [
    "PATTERN SEQ(A a, B b) WHERE [id] AND a.x > 0.5 WITHIN 40",
    "PATTERN SEQ(A a, B+ b[], !(C c)) WHERE skip_till_next_match(a, b[], c) { [id] AND b[i].x > b[i-1].x } WITHIN 40",
    "PATTERN SEQ(!(C c), A a, B b, !(D d)) WHERE c.x > 0.7 AND d.x > 0.7 AND a.x > 0.5 WITHIN 40",
]


def events(n=800):
    chance = random.Random(n)
    return pa.table(
        {
            "ts": sorted(chance.randint(-2_000, 4_000) for _ in range(n)),
            "type": [chance.choice("ABCD") for _ in range(n)],
            "id": [chance.randint(1, 3) for _ in range(n)],
            "x": [chance.random() for _ in range(n)],
        }
    )


def of(query, table):
    return WorkerQuery(query, table.schema, match_schema(query, table.schema), 0)


def rows(batches):
    return sorted(map(repr, (row for batch in batches for row in batch.to_pylist())))


@pytest.mark.parametrize("few", [True, False])
@pytest.mark.parametrize("text", QUERIES)
def test_at_once_or_in_parts_the_matches_are_the_same(text, few, monkeypatch):
    if few:
        monkeypatch.setattr(worker, "AT_ONCE", 50)
        monkeypatch.setattr(worker, "PUSH", 60)
    query, table = cep.Query(text), events()
    found = match_in_order(of(query, table))(iter(table.to_batches(max_chunksize=37)))
    assert rows(found) == sorted(map(repr, query.match(table).to_pylist()))


@pytest.mark.parametrize("text", QUERIES)
def test_a_slice_gives_the_matches_that_start_in_it(text):
    query, table = cep.Query(text), events()
    bits = 8
    sliced = []
    for row in table.to_pylist():
        numbers = {(row["ts"] + by) >> bits for by in (-WINDOW, 0, WINDOW)}
        sliced += [{**row, SLICE: number << 6 | bits} for number in numbers]
    sliced.sort(key=lambda row: (row[SLICE], row["ts"]))
    given = pa.Table.from_pylist(sliced, table.schema.append(pa.field(SLICE, pa.int64())))
    found = match_in_slices(of(query, table))(iter(given.to_batches(max_chunksize=53)))
    assert rows(found) == sorted(map(repr, query.match(table).to_pylist()))
    # Rows without a slice come first, and give all of their matches.
    whole = table.append_column(SLICE, pa.nulls(table.num_rows, pa.int64()))
    found = match_in_slices(of(query, table))(iter(whole.to_batches(max_chunksize=53)))
    assert rows(found) == sorted(map(repr, query.match(table).to_pylist()))


def test_a_worker_keeps_what_was_made_for_a_query_but_not_for_functions():
    first, second = (cep.Query(QUERIES[0]) for _ in range(2))
    assert worker.cached_query(first) is worker.cached_query(second)
    calls = [cep.Query("PATTERN A a WHERE f(a.x)", functions={"f": lambda x, k=k: x > k}) for k in (1, 2)]
    assert [worker.cached_query(query) for query in calls] == calls
