"""The rows that matches may need: in order, and in few pieces, however they were added."""

from __future__ import annotations

import random

import pyarrow as pa
import pytest

from cepheid.engine.encoding.few_events import Events, FewEvents, RowForm
from cepheid.engine.stream.row_log import LARGE, RowLog
from cepheid.pattern.binding.schema import Roles, make_schema

SCHEMA = make_schema(pa.schema({"ts": pa.int64(), "type": pa.string()}), Roles())
FORM = RowForm(SCHEMA)


def rows(first: int, count: int, *, few: bool) -> Events:
    made = FewEvents(FORM, [(k, "A") for k in range(first, first + count)])
    return made if few else made.to_table()


@pytest.mark.parametrize("seed", range(4))
def test_rows_stay_in_order(seed: int) -> None:
    random_ = random.Random(seed)
    log, first, end = RowLog(SCHEMA.arrow), 0, 0
    for _ in range(400):
        count = random_.choice([1, 1, 1, 5, 300])
        log.added.append(rows(end, count, few=random_.random() < 0.5))
        end += count
        if random_.random() < 0.1:
            gone = random_.randint(0, end - first)
            log.cut(gone)
            first += gone
        if random_.random() < 0.5:
            assert log.table.column("ts").to_pylist() == list(range(first, end))
    assert log.table.num_rows == end - first


def test_rows_that_are_added_alone_are_in_few_pieces() -> None:
    log = RowLog(SCHEMA.arrow)
    for k in range(2 * LARGE):
        log.added.append(rows(k, 1, few=False))
        assert log.table.column(0).num_chunks <= 2 + LARGE.bit_length()
    assert log.table.column("ts").to_pylist() == list(range(2 * LARGE))


def test_an_empty_log_has_the_columns() -> None:
    log = RowLog(SCHEMA.arrow)
    assert log.table.schema == SCHEMA.arrow
    log.added.append(rows(0, 2, few=True))
    log.cut(2)
    assert (log.table.num_rows, log.table.schema) == (0, SCHEMA.arrow)
    log.restore(rows(7, 1, few=False))
    assert log.table.to_pylist() == [{"ts": 7, "type": "A"}]


def test_dictionaries_that_do_not_fit_into_one_stay_apart() -> None:
    words = pa.dictionary(pa.int8(), pa.string())
    log = RowLog(pa.schema({"s": words}))
    for k in range(200):
        log.added.append(pa.table({"s": pa.array([str(k)], words)}))
        assert log.table.num_rows == k + 1
    assert log.table.column("s").to_pylist() == [str(k) for k in range(200)]
