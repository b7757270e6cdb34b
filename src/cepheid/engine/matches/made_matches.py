"""Results of CESAR expressions as matches: each is a row of its own (S19)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from cepheid.engine.encoding.arrow import from_numpy
from cepheid.engine.matches.match_columns import Ints
from cepheid.engine.matches.match_table import MatchTable
from cepheid.engine.matches.matches import Matches, as_column
from cepheid.pattern.algebra.result import BEGAN, EVENT, TIME, column_of
from cepheid.pattern.bind import Bound, Result
from cepheid.pattern.types import plain
from cepheid.values.facts import Fact
from cepheid.values.keys import sort_key


def made_matches(query: Bound, facts: Sequence[Fact]) -> Matches:
    """The events of a stream, in the order of their ends, starts and contents."""
    assert query.algebra is not None
    names = list(query.algebra.term.types)
    ordered = sorted(facts, key=lambda f: (f.end, f.start, *(sort_key(f.values[name]) for name in names)))
    columns = [
        as_column(Result(name, result.expression, result.type), [fact.values[name] for fact in ordered])
        for name, result in zip(names, query.result.returns, strict=True)
    ]
    starts = np.array([fact.start for fact in ordered], np.int64)
    ends = np.array([fact.end for fact in ordered], np.int64)
    return result_matches(query, starts, ends, columns)


def result_matches(query: Bound, starts: Ints, ends: Ints, columns: Sequence[Any]) -> Matches:
    """Results whose order is right, from their times in ticks and their columns."""
    time = query.schema.columns[query.schema.roles.time]
    table = {TIME: as_times(ends, plain(time)), BEGAN: as_times(starts, plain(time))}
    table |= {column_of(k): column for k, column in enumerate(columns)}
    schema = query.result.schema.arrow
    made = pa.table({name: column.cast(schema.field(name).type) for name, column in table.items()})
    return Matches(query.result, made, one_each(len(ends)))


def one_each(count: int) -> MatchTable:
    """Every row is a match."""
    return MatchTable(
        np.arange(count),
        np.zeros(count, np.int64),
        np.arange(count + 1),
        np.zeros(count, np.int64),
        (frozenset((EVENT,)),),
    )


def as_times(ticks: Ints, arrow: pa.DataType) -> pa.Array:
    """Ticks as values of the time column."""
    found = from_numpy(ticks)
    if pa.types.is_date(arrow):
        return found.cast(pa.int32()).cast(pa.date32()).cast(arrow)
    return found.view(arrow) if pa.types.is_timestamp(arrow) else found.cast(arrow)
