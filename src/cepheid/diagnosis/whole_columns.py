"""What the columns of all events show: gaps, keys, values that a condition names and that are not there."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from cepheid.diagnosis.as_text import near
from cepheid.diagnosis.facts import Hint, Seen
from cepheid.diagnosis.written import text_of, write_value
from cepheid.engine.encoding.arrow import flags_to_numpy, from_numpy, to_numpy
from cepheid.errors import nearest
from cepheid.pattern import expressions as ex
from cepheid.pattern.bind import Bound
from cepheid.pattern.components import Component
from cepheid.pattern.durations import spell
from cepheid.pattern.types import Kind
from cepheid.pattern.walk import walk

_MOSTLY = 0.95  # of the values are NULL
_VALUES = 6  # that are shown
_MEASURES = (Kind.FLOAT, Kind.DECIMAL)  # columns that are no keys, though values occur twice


@dataclass(frozen=True, slots=True)
class Columns:
    """The events of one query: the table, and their times in ticks."""

    query: Bound
    table: pa.Table
    times: Any

    def seen(self) -> Seen:
        """How many, of which types, when, and how far apart."""
        lanes = self.lanes(self._keys())
        gap = self.gap(lanes)
        time = self.table.column(self.query.schema.roles.time)
        ends = pc.min_max(time).as_py() if len(time) else {"min": None, "max": None}
        return Seen(
            self.table.num_rows,
            self.types(),
            None if ends["min"] is None else str(ends["min"]),
            None if ends["max"] is None else str(ends["max"]),
            gap,
            len(np.unique(lanes)),
        )

    def types(self) -> dict[str, int]:
        """How many events there are of each type."""
        name = self.query.schema.roles.type
        if name is None:
            return {}
        counts = pc.value_counts(self.table.column(name)).to_pylist()
        return {str(one["values"]): one["counts"] for one in counts if one["values"] is not None}

    def _keys(self) -> list[str]:
        return [name for name in self.query.lanes.all if name in self.table.column_names]

    def lanes(self, names: Sequence[str]) -> Any:
        """A number for each event, the same for those that agree on some columns."""
        found = np.zeros(self.table.num_rows, np.int64)
        for name in names:
            codes = self.codes(name)
            found = np.unique(found * (int(codes.max(initial=0)) + 1) + codes, return_inverse=True)[1]
        return found

    def codes(self, name: str) -> Any:
        """A number for each value of a column; 0 for NULL."""
        return _numbers(self._coded(name))

    def _coded(self, name: str) -> pa.DictionaryArray:
        column = self.table.column(name)
        if pa.types.is_nested(column.type):
            column = pa.chunked_array([pa.array([str(value) for value in column.to_pylist()])])
        plain = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
        if isinstance(plain, pa.ChunkedArray):
            plain = pa.concat_arrays(plain.chunks) if plain.num_chunks else pa.array([], column.type)
        return plain if isinstance(plain.type, pa.DictionaryType) else plain.dictionary_encode()

    def gap(self, lanes: Any) -> int | None:
        """The median distance of an event from the one before it in its lane, in nanoseconds."""
        order = np.lexsort((self.times, lanes))
        apart = np.diff(np.asarray(self.times)[order])[np.diff(lanes[order]) == 0]
        return int(np.median(apart)) * self.query.schema.tick if len(apart) else None

    def of_types(self, types: Sequence[str]) -> Any:
        """Which events are of some types; all of them if none is named."""
        name = self.query.schema.roles.type
        if name is None or not types:
            return np.ones(self.table.num_rows, bool)
        coded = self._coded(name)
        wanted = np.array([False, *(value in types for value in coded.dictionary.to_pylist())])
        return wanted[_numbers(coded)]

    def of(self, component: Component, name: str) -> pa.ChunkedArray:
        """A column of the events that are of the types of a component."""
        return self.table.column(name).filter(from_numpy(self.of_types(component.types)))


def _numbers(coded: pa.DictionaryArray) -> Any:
    """Which value of its dictionary each one is, from 1; 0 for NULL."""
    numbers = coded.indices.cast(pa.int64())
    return np.where(flags_to_numpy(numbers.is_valid()), to_numpy(numbers), -1) + 1


def column_hints(columns: Columns) -> Iterator[Hint]:
    """What all events show to be wrong with a query."""
    if not columns.table.num_rows:
        yield Hint("CEP032", "there are no events", "check where they are read from")
        return
    yield from _similar_types(columns)
    yield from _literals(columns)
    yield from _nulls(columns)
    yield from _keys(columns)
    yield from _window(columns)


def _similar_types(columns: Columns) -> Iterator[Hint]:
    """Types that differ in case or space only: one of them is most likely meant too."""
    found = columns.types()
    named = {name for component in columns.query.components.values() for name in component.types}
    for name in sorted(named & found.keys()):
        for other in sorted(found.keys() - named):
            if other.strip().casefold() == name.strip().casefold():
                message = f"{found[other]:,} events have the type '{other}', and {found[name]:,} the type '{name}'"
                yield Hint("CEP028", message, f"write ANY({name}, `{other}`), or make them one type before")


def absent_types(columns: Columns, made: Collection[str]) -> Iterator[Hint]:
    """Types that a match needs and no event has. made: those that other queries give, whose cause is told there."""
    found = columns.types()
    for component in columns.query.positive if found else ():
        if component.types and not any(name in found or name in made for name in component.types):
            shown = ", ".join(f"'{name}'" for name in sorted(found)[:_VALUES])
            more = ", …" if len(found) > _VALUES else ""
            for name in component.types:
                yield Hint("CEP005", f"no event has the type '{name}'", f"the types are: {shown}{more}")


def _tests(query: Bound) -> Iterator[tuple[Component, ex.Expression, ex.Attribute, tuple[ex.Literal, ...]]]:
    """Conditions that say that an attribute has one of some values."""
    for condition in query.conditions:
        match condition:
            case ex.Compare("=", ex.Attribute() as read, ex.Literal() as value):
                values: tuple[ex.Expression, ...] = (value,)
            case ex.Compare("=", ex.Literal() as value, ex.Attribute() as read):
                values = (value,)
            case ex.In(ex.Attribute() as read, choices, False):
                values = choices
            case _:
                continue
        if read.variable in query.components and all(isinstance(value, ex.Literal) for value in values):
            literals = tuple(value for value in values if isinstance(value, ex.Literal))
            yield query.components[read.variable], condition, read, literals


def _literals(columns: Columns) -> Iterator[Hint]:
    """A text that no event has: most often of another case."""
    for component, condition, read, literals in _tests(columns.query):
        if read.name not in columns.table.column_names or any(one.type.kind is not Kind.STRING for one in literals):
            continue
        column = columns.of(component, read.name)
        values = [value for value in pc.unique(column).to_pylist() if isinstance(value, str)]
        if not values or any(one.value in values for one in literals):
            continue
        kind = "|".join(component.types) or "event"
        wanted = str(literals[0].value)
        trimmed = [value for value in values if value.strip() == wanted.strip()]
        close = trimmed[0] if trimmed else nearest(wanted, values)
        shown = ", ".join(f"'{value}'" for value in sorted(values)[:_VALUES]) + (", …" if len(values) > _VALUES else "")
        remedy = f"did you mean '{close}'?" if close is not None else f"the values are: {shown}"
        message = f"{text_of(condition)}: no {kind} has this value in '{read.name}'"
        yield Hint("CEP021", message, remedy if close is None else f"{remedy} The values are: {shown}")


def _nulls(columns: Columns) -> Iterator[Hint]:
    """A condition on a column that is NULL."""
    told = set()
    for condition in columns.query.conditions:
        if any(isinstance(node, ex.IsNull | ex.Or | ex.Call | ex.Case) for node in walk(condition)):
            continue
        for read in (node for node in walk(condition) if isinstance(node, ex.Attribute)):
            if (read.variable, read.name) in told or read.variable not in columns.query.components:
                continue
            told.add((read.variable, read.name))
            component = columns.query.components[read.variable]
            if read.name not in columns.table.column_names:
                continue
            column = columns.of(component, read.name)
            if len(column) and column.null_count >= _MOSTLY * len(column):
                kind = "|".join(component.types) or "event"
                share = "every" if column.null_count == len(column) else f"{column.null_count / len(column):.0%} of the"
                message = f"{text_of(condition)}: '{read.name}' is NULL in {share} {kind}, and NULL is never TRUE"
                yield Hint("CEP020", message, "name a column that has values, or write IS NULL where that is meant")


def _keys(columns: Columns) -> Iterator[Hint]:
    """A key under which the events of a match never come together."""
    query, table = columns.query, columns.table
    needed = [component.types for component in query.positive if component.types]
    if len(query.positive) < 2 and not any(component.array for component in query.positive):
        return
    types = columns.types()
    if any(not any(types.get(name) for name in names) for names in needed):
        return  # which is told
    declared = query.schema.roles.types is not None
    names = [test.attribute for test in query.same if not declared] + list(query.partition_by)
    for name in dict.fromkeys(names):
        if name not in table.column_names or table.column(name).null_count == table.num_rows:
            continue
        if _together(columns, name, needed):
            continue
        kinds = " and ".join(dict.fromkeys("|".join(types) for types in needed))
        if kinds and len(set(needed)) > 1:
            message = f"no value of '{name}' occurs in {kinds}, so that they never agree on it"
        else:
            message = f"no two events have the same '{name}'"
        yield Hint("CEP025", message, _another_key(columns, name, needed))


def _another_key(columns: Columns, name: str, needed: Sequence[Sequence[str]]) -> str:
    """Columns that would do, as a remedy: the one of a like name, or all, those with most shared values first."""
    kinds = columns.query.schema.columns
    others = [
        other
        for other in columns.table.column_names
        if other not in (name, *_roles(columns)) and not (other in kinds and kinds[other].kind in _MEASURES)
    ]
    counted = {other: _together(columns, other, needed) for other in others}
    shared = sorted((other for other in others if counted[other]), key=lambda other: -counted[other])
    close = shared[0] if len(shared) == 1 else nearest(name, shared)
    if close is not None:
        return f"did you mean '{close}'?"
    shown = ", ".join(f"'{other}'" for other in shared[:_VALUES])
    return f"columns that they share: {shown}" if shared else "name a column that they share"


def _roles(columns: Columns) -> tuple[str | None, ...]:
    roles = columns.query.schema.roles
    return roles.time, roles.type, columns.query.schema.start


def _together(columns: Columns, name: str, needed: Sequence[Sequence[str]]) -> int:
    """How many values of a column occur in events of all types that a match needs, two events at the least."""
    codes = columns.codes(name)
    most = int(codes.max(initial=0)) + 1
    counts = np.bincount(codes, minlength=most)
    found = counts > 1
    found[0] = False  # NULL agrees with nothing
    for types in needed:
        found &= np.bincount(codes[columns.of_types(types)], minlength=most) > 0
    return int(found.sum())


def _window(columns: Columns) -> Iterator[Hint]:
    """A window shorter than what usually lies between two events."""
    query, within = columns.query, columns.query.within
    if within is None or within.nanoseconds is None or len(query.positive) < 2:
        return
    gap = columns.gap(columns.lanes(columns._keys()))
    if gap is not None and gap >= within.nanoseconds:
        where = " of one partition" if columns._keys() else ""
        message = f"WITHIN is {spell(within.nanoseconds)}, and between two events{where} lie {near(gap)} (median)"
        yield Hint("CEP023", message, "write a longer window, or check its unit")


def range_of(columns: Columns, component: Component, condition: ex.Expression) -> str:
    """What the values of the column of a condition are, as a remedy; empty if it is not about one number."""
    match condition:
        case ex.Compare(_, ex.Attribute() as read, ex.Literal()) | ex.Compare(_, ex.Literal(), ex.Attribute() as read):
            pass
        case _:
            return ""
    type_ = columns.query.schema.columns.get(read.name)
    if type_ is None or type_.kind not in (Kind.INT, Kind.FLOAT, Kind.DECIMAL):
        return ""
    found = pc.min_max(columns.of(component, read.name)).as_py()
    if found["min"] is None:
        return ""
    return f"'{read.name}' is between {write_value(found['min'], type_)} and {write_value(found['max'], type_)}"
