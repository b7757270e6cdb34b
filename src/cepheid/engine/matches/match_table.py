"""Matches as columns: which rows each one selected, and what its RETURN columns are."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol, TypeAlias

import numpy as np
import pyarrow as pa

from cepheid.engine.encoding.arrow import from_numpy
from cepheid.engine.matches.event_output import EventOutput
from cepheid.engine.matches.instants import Instants
from cepheid.engine.matches.match_columns import MatchColumns
from cepheid.front.runnable import Result, Runnable
from cepheid.pattern.expressions import nodes as ex
from cepheid.values.bindings import Bindings
from cepheid.values.evaluate import Compiler
from cepheid.values.match import Match
from cepheid.values.rows import Event, read_rows
from cepheid.values.value import Value

MANY = 200_000
"""Matches that are not put in order only to show the first few."""


Column: TypeAlias = "pa.Array | pa.ChunkedArray | list[Value]"
"""A column of RETURN: as Arrow has it, or values that were computed."""


@dataclass(frozen=True)
class MatchTable:
    """Matches in the order of S9.

    `rows[offsets[k]:offsets[k + 1]]` are the rows of match k in the order of the stream, `variables` says to which
    positive component each is bound. `reached` are the components that were reached, by match: a number into `reaches`.
    """

    rows: np.ndarray
    variables: np.ndarray
    offsets: np.ndarray
    reached: np.ndarray
    reaches: tuple[frozenset[str], ...]
    values: tuple[Any, ...] | None = field(default=None)  # of RETURN, where they are known: lists, or Arrow arrays

    def __len__(self) -> int:
        return len(self.offsets) - 1

    @property
    def nbytes(self) -> int:
        """How much the rows take."""
        return sum(array.nbytes for array in (self.rows, self.variables, self.offsets, self.reached))

    @property
    def first(self) -> np.ndarray:
        """The row of the first event of each match."""
        first: np.ndarray = self.rows[self.offsets[:-1]]
        return first

    @property
    def last(self) -> np.ndarray:
        """The row of the last event of each match."""
        last: np.ndarray = self.rows[self.offsets[1:] - 1]
        return last

    def count(self) -> int:
        return len(self)

    def size(self) -> int:
        """How many rows an enumeration would have: one for each match."""
        return len(self)

    def batches(self, size: int) -> Iterator[MatchTable]:
        """One part after the other."""
        for at in range(0, len(self), size):
            yield self.take(np.arange(at, min(at + size, len(self))))

    def take(self, wanted: np.ndarray) -> MatchTable:
        """Some of the matches, by their indexes, in the order of these."""
        lengths = self.offsets[wanted + 1] - self.offsets[wanted]
        offsets = np.concatenate([np.zeros(1, np.int64), np.cumsum(lengths)])
        index = np.repeat(self.offsets[wanted] - offsets[:-1], lengths) + np.arange(offsets[-1])
        values = None if self.values is None else tuple(_taken(column, wanted) for column in self.values)
        return MatchTable(self.rows[index], self.variables[index], offsets, self.reached[wanted], self.reaches, values)

    def moved(self, by: int) -> MatchTable:
        """The same matches in a table whose rows are counted otherwise."""
        return replace(self, rows=self.rows + by) if by else self

    def bound(self) -> tuple[int, bool]:
        """The number of matches, which is exact."""
        return len(self), True

    def few(self, wanted: int) -> MatchTable:
        """The first matches, no more than wanted."""
        return self.take(np.arange(min(wanted, len(self))))

    def all(self) -> MatchTable:
        """All matches as a table, which this already is."""
        return self

    def columns(self, variables: int) -> MatchColumns:
        """The same by variable, of which there are so many."""
        rows, counts = [], []
        for variable in range(variables):
            mine = self.variables == variable
            rows.append(self.rows[mine])
            before = np.concatenate([np.zeros(1, np.int64), np.cumsum(mine)])
            counts.append(some_or_one(np.diff(before[self.offsets])))
        return MatchColumns(rows, counts, self.first, self.last, self.reached, self.reaches)


def some_or_one(counts: np.ndarray) -> np.ndarray | None:
    """How many events matches have of a variable; None where it is one for each."""
    return None if (counts == 1).all() else counts


class LazyMatches(Protocol):
    """Matches that are not enumerated yet: there may be more than a machine can hold."""

    def count(self) -> int:
        """How many there are, exactly."""

    def batches(self, size: int) -> Iterator[MatchTable]:
        """One part after the other, as they are asked for."""

    def size(self) -> int:
        """How many there are, by enumerating them."""

    def bound(self) -> tuple[int, bool]:
        """How many there are at most, found without enumerating them, and whether that is exact."""

    def few(self, wanted: int) -> MatchTable | None:
        """The first few; None if very many must be enumerated to know which these are."""

    def all(self) -> MatchTable:
        """All of them, or an error that says how many there are."""

    def columns(self, variables: int) -> MatchColumns:
        """The same by variable, of which there are so many."""


_EMPTY = np.zeros(0, np.int64)
NONE = MatchTable(_EMPTY, _EMPTY, np.zeros(1, np.int64), _EMPTY, (frozenset(),))


def first_of(parts: Iterable[MatchTable], wanted: int) -> MatchTable:
    """The first matches of several parts, no more of which are made than it takes."""
    taken: list[MatchTable] = []
    for part in parts if wanted else ():
        taken.append(part)
        if sum(map(len, taken)) >= wanted:
            break
    taken_matches = concatenate(taken) if taken else NONE
    return taken_matches.take(np.arange(min(wanted, len(taken_matches))))


def concatenate(parts: Sequence[MatchTable]) -> MatchTable:
    """The matches of several tables, one after the other, over all their variables."""
    if len(parts) == 1:
        return parts[0]
    reaches: dict[frozenset[str], int] = {}
    offsets, reached, base = [np.zeros(1, np.int64)], [], 0
    for part in parts:
        numbers = np.array([reaches.setdefault(names, len(reaches)) for names in part.reaches], np.int64)
        reached.append(numbers[part.reached])
        offsets.append(part.offsets[1:] + base)
        base += int(part.offsets[-1])
    known = [part.values for part in parts if part.values is not None]
    values = tuple(map(_joined, zip(*known, strict=True))) if known else None
    return MatchTable(
        np.concatenate([part.rows for part in parts]),
        np.concatenate([part.variables for part in parts]),
        np.concatenate(offsets),
        np.concatenate(reached),
        tuple(reaches),
        values,
    )


def _taken(column: Column, wanted: np.ndarray) -> Column:
    """Some values of a column, which is an Arrow array or a list."""
    return (
        column.take(from_numpy(wanted))
        if isinstance(column, pa.Array | pa.ChunkedArray)
        else [column[k] for k in wanted]
    )


def _joined(parts: Sequence[pa.Array]) -> pa.Array:
    """The values of several columns, one after the other."""
    if all(isinstance(part, pa.Array) for part in parts) and len({part.type for part in parts}) == 1:
        return pa.concat_arrays(parts)
    lists = (part.to_pylist() if isinstance(part, pa.Array | pa.ChunkedArray) else part for part in parts)
    return [value for part in lists for value in part]


def arranged(matched: MatchTable, instants: Instants | None = None) -> MatchTable:
    """Matches that became certain at different times, in the order of S9. instants: where events are simultaneous."""
    if instants is not None:
        return matched.take(in_order(matched, matched.rows, instants.of(matched.rows)))
    last = matched.last
    if (last[1:] >= last[:-1]).all():
        return matched
    return matched.take(in_order(matched, matched.rows))


def in_order(matched: MatchTable, ids: np.ndarray, times: np.ndarray | None = None) -> np.ndarray:
    """The order of S9 as a permutation; `ids` are those of the events of each match.

    times: of these events, where those of one time are simultaneous (S2), so that matches end and start together.
    """
    at = ids if times is None else times
    last, first = at[matched.offsets[1:] - 1], at[matched.offsets[:-1]]
    order = np.lexsort((first, last))
    tied = (np.diff(last[order]) == 0) & (np.diff(first[order]) == 0)
    if not tied.any():
        return order

    def rank(k: int) -> tuple[int, int, tuple[int, ...], tuple[tuple[int, ...], ...]]:
        part = slice(matched.offsets[k], matched.offsets[k + 1])
        event_ids, variables = ids[part], matched.variables[part]
        shape = tuple(tuple(event_ids[variables == v].tolist()) for v in range(int(variables.max()) + 1))
        return int(last[k]), int(first[k]), tuple(event_ids.tolist()), shape

    return np.array(sorted(range(len(matched)), key=rank), np.int64)


def from_matches(query: Runnable, matches: Sequence[Match], base: int = 0) -> MatchTable:
    """What the reference found, with rows counted from `base`."""
    numbers = {component.variable: k for k, component in enumerate(query.positive)}
    reaches: dict[frozenset[str], int] = {}
    rows: list[int] = []
    variables: list[int] = []
    offsets = [0]
    reached: list[int] = []
    for match in matches:
        rows += match.selected
        variables += [numbers[name] for name in match.variables]
        offsets.append(len(rows))
        reached.append(reaches.setdefault(frozenset(match.rows), len(reaches)))
    return MatchTable(
        np.array(rows, np.int64) - base,
        np.array(variables, np.int64),
        np.array(offsets, np.int64),
        np.array(reached, np.int64),
        tuple(reaches) or (frozenset(),),
        tuple([match.values[k] for match in matches] for k in range(len(query.returns))) if query.returns else None,
    )


def returned(
    query: Runnable, table: pa.Table, source: MatchTable | LazyMatches, columns: MatchColumns
) -> Mapping[str, Column]:
    """The RETURN columns: Arrow where a column is copied, else a list of values that were computed."""
    made: dict[str, Column] = {}
    events = EventOutput(query.schema, table)
    for result in query.returns:
        if isinstance(result.expression, ex.Rows):
            made[result.name] = _events(query, events, columns, result.expression)
    if isinstance(source, MatchTable) and source.values is not None:
        return {r.name: column for r, column in zip(query.returns, source.values, strict=True)} | made
    computed: list[Result] = []
    for result in query.returns:
        if result.name in made:
            continue
        copied = _copied(query, table, columns, result.expression)
        if copied is None:
            computed.append(result)
        made[result.name] = copied
    if computed:
        compiler = Compiler(query, output=True)
        evaluators = [compiler.result(result.expression) for result in computed]
        bound = list(bindings(query, table, source.all()))
        for result, evaluate in zip(computed, evaluators, strict=True):
            made[result.name] = [evaluate(b) for b in bound]
    return made


def _events(query: Runnable, events: EventOutput, columns: MatchColumns, node: ex.Rows) -> pa.Array:
    """`RETURN a`, `RETURN b[]`: an event or a list of events."""
    number = [component.variable for component in query.positive].index(node.variable)
    if node.index is ex.Index.EACH:
        return events.lists(columns, number, node.variable)
    return events.structs(columns, number, node.index)


def _copied(query: Runnable, table: pa.Table, columns: MatchColumns, node: ex.Expression) -> pa.ChunkedArray | None:
    """A plain attribute is taken from its column, without a detour through Python."""
    if not isinstance(node, ex.Attribute) or query.schema.roles.types is not None:
        return None
    number = [component.variable for component in query.positive].index(node.variable)
    if node.index not in (ex.Index.ONE, ex.Index.FIRST, ex.Index.LAST):
        return None
    rows, counts = columns.rows[number], columns.counts[number]
    if counts is not None:
        if not counts.all():
            return None
        ends = np.cumsum(counts)
        rows = rows[ends - counts if node.index is ex.Index.FIRST else ends - 1]
    return table.column(node.name).take(from_numpy(rows))


def bindings(query: Runnable, table: pa.Table, matched: MatchTable) -> list[Bindings]:
    """What each match has bound, as events with Python values."""
    used, place = np.unique(matched.rows, return_inverse=True)
    events = read_rows(table.take(from_numpy(used)), query.schema)
    names = [component.variable for component in query.positive]
    made = []
    for k in range(len(matched)):
        every: dict[str, tuple[Event, ...]] = dict.fromkeys(sorted(matched.reaches[matched.reached[k]]), ())
        for at in range(matched.offsets[k], matched.offsets[k + 1]):
            name = names[matched.variables[at]]
            every[name] = (*every.get(name, ()), events[place[at]])
        made.append(Bindings(every, {name: chosen[-1] for name, chosen in every.items() if chosen}))
    return made
