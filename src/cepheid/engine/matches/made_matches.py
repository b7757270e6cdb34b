"""Results of CESAR expressions as matches: each is a row of its own (S19)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from cepheid.engine.encoding.arrow import from_numpy
from cepheid.engine.matches.match_table import MatchTable
from cepheid.engine.matches.matches import Matches, as_column
from cepheid.front.cesar.result import BEGAN, EVENT, TIME, algebra_in, column_of
from cepheid.front.runnable import Result, Runnable
from cepheid.pattern.algebra.flow import is_hidden
from cepheid.pattern.expressions.durations import ARROW_UNITS
from cepheid.pattern.expressions.types import Kind, Type, plain
from cepheid.values.facts import Fact
from cepheid.values.keys import sort_key


def made_matches(query: Runnable, facts: Sequence[Fact]) -> Matches:
    """The events of a stream, in the order of their ends, starts and contents."""
    names = list(algebra_in(query).term.types)
    ordered = sorted(facts, key=lambda f: (f.end, f.start, *(sort_key(f.values[name]) for name in names)))
    columns = [
        as_column(Result(name, result.expression, result.type), [fact.values[name] for fact in ordered])
        for name, result in zip(names, query.result.returns, strict=True)
    ]
    starts = np.array([fact.start for fact in ordered], np.int64)
    ends = np.array([fact.end for fact in ordered], np.int64)
    return result_matches(query, starts, ends, columns)


def result_matches(query: Runnable, starts: np.ndarray, ends: np.ndarray, columns: Sequence[pa.Array]) -> Matches:
    """Results whose order is right, from their times in ticks and their columns."""
    time = query.schema.columns[query.schema.roles.time]
    table = {TIME: as_times(ends, plain(time)), BEGAN: as_times(starts, plain(time))}
    table |= {column_of(k): column for k, column in enumerate(columns)}
    schema = query.result.schema.arrow
    made = pa.table({name: as_type(column, schema.field(name).type) for name, column in table.items()})
    values = tuple(made.column(column_of(k)) for k in range(len(columns)))
    return Matches(query.result, made, one_each(len(ends), values or None))


def as_type(column: pa.Array, arrow: pa.DataType) -> pa.Array:
    """A column with the type of its attribute."""
    return column if column.type == arrow else column.cast(arrow)


def one_each(count: int, values: tuple[pa.ChunkedArray, ...] | None) -> MatchTable:
    """Every row is a match, and has these values."""
    return MatchTable(
        np.arange(count),
        np.zeros(count, np.int64),
        np.arange(count + 1),
        np.zeros(count, np.int64),
        (frozenset((EVENT,)),),
        values,
    )


def as_times(ticks: np.ndarray, arrow: pa.DataType) -> pa.Array:
    """Ticks as values of the time column."""
    array = from_numpy(ticks)
    if pa.types.is_date(arrow):
        return array.cast(pa.int32()).cast(pa.date32()).cast(arrow)
    return array.view(arrow) if pa.types.is_timestamp(arrow) else array.cast(arrow)


@dataclass(frozen=True, slots=True)
class ScanResults:
    """Results as a scan returns them: times in ticks, attributes in the form in which expressions have them."""

    starts: np.ndarray
    ends: np.ndarray
    columns: list[pa.Array]


def joined(parts: Sequence[ScanResults]) -> ScanResults:
    """Results one after the other; their order is the caller's affair."""
    if len(parts) == 1:
        return parts[0]
    columns = [pa.concat_arrays(column) for column in zip(*(part.columns for part in parts), strict=True)]
    starts, ends = (np.concatenate(times) for times in zip(*((p.starts, p.ends) for p in parts), strict=True))
    return ScanResults(starts, ends, columns)


def once(query: Runnable, made: ScanResults) -> Matches:
    """Each result once, in the order of ends, starts and contents."""
    starts, ends, columns = made.starts, made.ends, made.columns
    later, same = ends[1:] > ends[:-1], ends[1:] == ends[:-1]
    if not (later | (same & (starts[1:] > starts[:-1]))).all():
        order = np.lexsort((starts, ends))
        starts, ends = starts[order], ends[order]
        tied = (starts[1:] == starts[:-1]) & (ends[1:] == ends[:-1])
        if not is_hidden(query.into) and tied.any():  # equal events of a derived stream lead to equal results
            order = _ordered_by_content(made, order, tied)
            starts, ends = made.starts[order], made.ends[order]
        kept = from_numpy(order)
        columns = [column.take(kept) for column in columns]
    shown = [_shown(column, type_) for column, type_ in zip(columns, algebra_in(query).types, strict=True)]
    return result_matches(query, starts, ends, shown)


def _ordered_by_content(made: ScanResults, order: np.ndarray, tied: np.ndarray) -> np.ndarray:
    """An order by times with those of one time by content, equal ones once."""
    among = np.zeros(len(order), bool)
    among[1:] |= tied
    among[:-1] |= tied
    places = np.flatnonzero(among)
    rows = order[places]
    kept = from_numpy(rows)
    ranks = [_ranks(column.take(kept)) for column in made.columns]
    by_content = np.lexsort((*reversed(ranks), made.starts[rows], made.ends[rows]))
    new = np.ones(len(by_content), bool)
    same = np.ones(len(by_content) - 1, bool)
    for key in (made.starts[rows], made.ends[rows], *ranks):
        same &= key[by_content][1:] == key[by_content][:-1]
    new[1:] = ~same
    order = order.copy()
    order[places] = rows[by_content]
    wanted = np.ones(len(order), bool)
    wanted[places] = new
    return order[wanted]


def _ranks(column: pa.Array) -> np.ndarray:
    """Numbers in the order of values: NULL first, NaN last."""
    if pa.types.is_floating(column.type):
        ranks = np.unique(column.to_numpy(zero_copy_only=False), return_inverse=True)[1] + 1
    else:
        encoded = column.dictionary_encode()
        place = np.empty(len(encoded.dictionary), np.int64)
        place[pc.array_sort_indices(encoded.dictionary).to_numpy()] = np.arange(1, len(encoded.dictionary) + 1)
        codes = encoded.indices.fill_null(0).to_numpy(zero_copy_only=False)
        ranks = place[codes] if len(place) else np.zeros(len(column), np.int64)
    return np.where(column.is_null().to_numpy(zero_copy_only=False), 0, ranks)


def _shown(column: pa.Array, type_: Type) -> pa.Array:
    """Times and durations are in nanoseconds, or days, so far."""
    arrow = plain(type_)
    if type_.kind in (Kind.TIMESTAMP, Kind.DURATION):
        return pc.divide(column.cast(pa.int64()), ARROW_UNITS[arrow.unit]).cast(arrow)
    if type_.kind is Kind.DATE:
        return column.cast(pa.int32()).cast(pa.date32()).cast(arrow)
    return column
