"""The first matches as a time line: plain values of their events, the lanes around them and what was absent."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from cepheid.engine.encoding.arrow import from_numpy
from cepheid.engine.encoding.times import from_ticks, ticks_of
from cepheid.engine.matches.absences import absences
from cepheid.engine.matches.event_output import write_times
from cepheid.engine.matches.match_table import MatchTable
from cepheid.engine.matches.shown import one_row
from cepheid.errors import UsageError, did_you_mean
from cepheid.front.runnable import Runnable
from cepheid.pattern.binding.schema import Schema
from cepheid.pattern.expressions import nodes as ex
from cepheid.pattern.expressions.types import Kind, plain
from cepheid.pattern.tree.walk import walk
from cepheid.pictures.timeline import Band, Lane, Point, Scale, Stretch, Timeline
from cepheid.values.value import Value

EVENTS = 300
"""Events of a lane, or of a match, that are drawn."""
MATCHES = 50
FEW_LANES = 6
"""So many keys are all shown, also those without a match."""
_LOOKED_AT = 5_000  # events whose keys are counted
_BEYOND = 6  # how many times as long as the matches take an absence is drawn
_NUMBERS = (Kind.INT, Kind.FLOAT, Kind.DECIMAL)


def make_timeline(query: Runnable, table: pa.Table, matched: MatchTable, title: str, value: str | bool) -> Timeline:
    """A time line of some matches. value: the number that is drawn as a line; True: the one that the query compares."""
    column = chosen_value(query, value)
    maker = _Maker(query, table, matched, column)
    return Timeline(title, scale_of(query.schema), tuple(maker.lanes()), column, tuple(maker.notes))


def scale_of(schema: Schema) -> Scale:
    """What the time column counts."""
    time = schema.columns[schema.roles.time]
    if time.kind is Kind.INT or time.kind is Kind.NULL:
        return Scale()
    return Scale(schema.tick, getattr(plain(time), "tz", None))


def chosen_value(query: Runnable, value: str | bool) -> str | None:
    """The column that is drawn as a line: the one that is named, or that conditions compare most often."""
    columns = query.schema.columns
    numeric = [name for name, type_ in columns.items() if type_.kind in _NUMBERS and name != query.schema.roles.time]
    if isinstance(value, str):
        if value not in columns:
            message = f"the events have no column '{value}'"
            raise UsageError("CEP603", message, did_you_mean(value, numeric, "columns of numbers"))
        if value not in numeric:
            remedy = "name a column of numbers, or write value=False for none"
            raise UsageError(
                "CEP603", f"the column '{value}' is {columns[value]}, which can't be drawn as a line", remedy
            )
        return value
    if not value or query.made:
        return None
    keys = set(_keys(query))
    compared = Counter(name for name in _compared(query) if name in numeric and name not in keys)
    return compared.most_common(1)[0][0] if compared else None


def _compared(query: Runnable) -> Iterator[str]:
    """The attributes in comparisons, as often as they are there."""
    for condition in (*query.conditions, *query.body.expressions()):
        compared = (node for node in walk(condition) if isinstance(node, ex.Compare | ex.Between))
        parts: Iterator[ex.Expression] = (part for node in compared for part in walk(node))
        yield from (part.name for part in parts if isinstance(part, ex.Attribute))


def _keys(query: Runnable) -> tuple[str, ...]:
    """The columns that split the events, as far as the query says which."""
    return tuple(dict.fromkeys([*query.partition_by, *(test.attribute for test in query.same)]))


class _Maker:
    """What is looked up while a time line is made."""

    def __init__(self, query: Runnable, table: pa.Table, matched: MatchTable, value: str | None) -> None:
        self.query, self.table, self.found, self.value = query, table, matched, value
        self.times: np.ndarray = ticks_of(table.column(query.schema.roles.time))
        self.names = [component.variable for component in query.positive]
        arrays = [component.array for component in query.positive]
        self.arrays = {name for name, array in zip(self.names, arrays, strict=True) if array}
        self.notes: list[str] = []
        columns = matched.columns(len(query.positive) or 1)
        starts, ends = (ticks_of(pa.chunked_array([times])) for times in write_times(query.schema, table, columns))
        self.starts, self.ends = starts.tolist(), ends.tolist()
        keys = _keys(query)
        self.keys = keys if not query.made and all(key in table.column_names for key in keys) else ()
        self.orders: dict[tuple[Value, ...], np.ndarray] = {}  # the rows of lanes that windows of events count
        self.with_number: frozenset[str] | None = None  # the types whose events have the number that is drawn

    def lanes(self) -> Iterator[Lane]:
        if not len(self.found):
            return
        bands = [self.band(number) for number in range(len(self.found))]
        if self.query.made:
            yield from (Lane(f"result {band.number + 1}", bands=(band,)) for band in bands)
            return
        near = self.near(bands)
        self.with_number = self.types_with_numbers(near)
        owners = [self.key(int(row)) for row in self.found.first]
        for key in self.shown_keys(near, owners):
            rows = near if not self.keys else near[self.of_key(near, key, self.keys)]
            mine = tuple(band for band, owner in zip(bands, owners, strict=True) if owner == key)
            label = ", ".join(f"{name} {_shown(v)}" for name, v in zip(self.keys, key, strict=True)) or "events"
            yield Lane(label, self.others(rows, label), mine)

    # Matches.

    def band(self, number: int) -> Band:
        place = slice(int(self.found.offsets[number]), int(self.found.offsets[number + 1]))
        rows, variables = self.found.rows[place].tolist(), self.found.variables[place].tolist()
        start, end = self.starts[number], self.ends[number]
        tooltip = f"match {number + 1}: {self.shown_time(start)} to {self.shown_time(end)}"
        if self.query.made:
            return Band(number, start, end, (), (), tooltip + " " + one_row(self.table.slice(rows[0], 1)))
        names = [self.names[variable] for variable in variables]
        times = [int(self.times[row]) for row in rows]
        points = tuple(self.points(rows, names, number))
        return Band(number, start, end, points, self.absent(names, times, (start, end), rows), tooltip)

    def points(self, rows: Sequence[int], names: Sequence[str], number: int) -> Iterator[Point]:
        """The events of a match, each with its variable; of very many, some."""
        kept = _spread(len(rows), EVENTS)
        if len(kept) < len(rows):
            self.notes.append(f"match {number + 1}: {len(kept)} of its {len(rows):,} events are drawn")
        counted: Counter[str] = Counter()
        labels = []
        for name in names:
            counted[name] += 1
            labels.append(f"{name}[{counted[name]}]" if name in self.arrays else name)
        for k in kept:
            yield self.point(rows[k], labels[k], each=names[k] in self.arrays)

    def point(self, row: int, label: str, *, each: bool = False) -> Point:
        value = None if self.value is None else self.table.column(self.value)[row].as_py()
        described = one_row(self.table.slice(row, 1))
        number = None if value is None else float(value)
        return Point(int(self.times[row]), label, number, f"{label} {described}", each)

    def absent(
        self, names: Sequence[str], times: Sequence[int], bounds: tuple[int, int], rows: Sequence[int]
    ) -> tuple[Stretch, ...]:
        """What the match has no event of; what lasts very long goes on beyond the picture."""
        span = max(self.ends) - min(self.starts)
        made = []
        for label, start, end in absences(self.query, names, times, bounds, self.window(rows, bounds)):
            most = _BEYOND * span or end - start
            low, high = max(start, bounds[0] - most), min(end, bounds[1] + most)
            clipped = (low, high) != (start, end)
            made.append(Stretch(low, high, label + (" …" if clipped else ""), clipped))
        return tuple(made)

    def window(self, rows: Sequence[int], bounds: tuple[int, int]) -> tuple[int, int] | None:
        """When a window that ends with a match begins, and when one that begins with it ends."""
        wide = self.query.window
        if wide is None or self.query.timed:
            return None if wide is None else (bounds[1] - wide, bounds[0] + wide)
        lane = self.counted(rows[0])
        first, last = (int(np.flatnonzero(lane == row)[0]) for row in (rows[0], rows[-1]))
        reached = lane[max(last - wide + 1, 0)], lane[min(first + wide, len(lane)) - 1]
        low, high = (int(self.times[row]) for row in reached)
        return min(low, bounds[0]), max(high, bounds[1])

    def counted(self, row: int) -> np.ndarray:
        """The rows among which a window of events counts: those of the lane of a row, in their order."""
        names = [name for name in self.query.partitions.all if name in self.table.column_names]
        key = tuple(_plain(self.table.column(name)[row]) for name in names)
        if key not in self.orders:
            every = np.argsort(self.times, kind="stable")
            self.orders[key] = every[self.of_key(every, key, names)]
        return self.orders[key]

    # The events around them.

    def near(self, bands: Sequence[Band]) -> np.ndarray:
        """The rows of the events around the matches, in the order of their times."""
        low, high = Timeline("", Scale(), (Lane("", bands=tuple(bands)),)).bounds
        margin, wide = (high - low) // 12, 2 * (high - low)
        if low - wide <= self.times.min() and self.times.max() <= high + wide:
            margin = wide  # the events begin and end near the matches: all of them are shown
        rows = np.flatnonzero((self.times >= low - margin) & (self.times <= high + margin))
        return rows[np.argsort(self.times[rows], kind="stable")]

    def key(self, row: int) -> tuple[Value, ...]:
        return tuple(_plain(self.table.column(name)[row]) for name in self.keys)

    def shown_keys(self, near: np.ndarray, owners: Sequence[tuple[Value, ...]]) -> list[tuple[Value, ...]]:
        """The keys of the matches, and all others if these are few."""
        if not self.keys:
            return [()]
        with_matches = list(dict.fromkeys(owners))
        if len(near) > _LOOKED_AT:
            return with_matches
        every = list(dict.fromkeys(self.key(row) for row in near.tolist()))
        few = len(every) <= max(FEW_LANES, len(with_matches))
        if not few and len(every) > len(with_matches):
            self.notes.append(f"{len(every) - len(with_matches):,} keys without a match here are left out")
        return every if few else with_matches

    def of_key(self, near: np.ndarray, key: tuple[Value, ...], names: Sequence[str]) -> np.ndarray:
        """Which of the events have a key in some columns."""
        mine: np.ndarray = np.ones(len(near), bool)
        for name, value in zip(names, key, strict=True):
            column = self.table.column(name).take(from_numpy(near))
            if pa.types.is_nested(column.type) or pa.types.is_dictionary(column.type):
                mine &= np.array([_plain(cell) == value for cell in column], bool)
            elif value is None:
                mine &= column.is_null().to_numpy()
            else:
                scalar = pa.scalar(value, column.type)
                mine &= pc.fill_null(pc.equal(column, scalar), False).to_numpy()
        return mine

    def others(self, rows: np.ndarray, label: str) -> tuple[Point, ...]:
        """The events of a lane that are in no match, by their types; of very many, some."""
        rest = rows[~np.isin(rows, self.found.rows)]
        kept = rest[_spread(len(rest), EVENTS)]
        if len(kept) < len(rest):
            self.notes.append(f"{label}: {len(kept)} of {len(rest):,} other events are drawn")
        kind = self.query.schema.roles.type
        types = [""] * len(kept) if kind is None else self.table.column(kind).take(from_numpy(kept)).to_pylist()
        return tuple(self.other(row, str(name or "")) for row, name in zip(kept.tolist(), types, strict=True))

    def other(self, row: int, name: str) -> Point:
        aside = self.with_number is not None and name not in self.with_number
        return replace(self.point(row, name), aside=aside)

    def types_with_numbers(self, rows: np.ndarray) -> frozenset[str] | None:
        """The types of events that have the number that is drawn; None if there is no such number, or no types."""
        kind = self.query.schema.roles.type
        if self.value is None or kind is None:
            return None
        there = self.table.select([kind, self.value]).take(from_numpy(rows)).filter(pc.field(self.value).is_valid())
        return frozenset(map(str, there.column(kind).unique().to_pylist()))

    def shown_time(self, time: int) -> str:
        return from_ticks(self.query.schema, time)


def _spread(count: int, most: int) -> list[int]:
    """At most so many numbers below a count, at even distances, with the first and the last."""
    if count <= most:
        return list(range(count))
    return sorted({round(k * (count - 1) / (most - 1)) for k in range(most)})


def _plain(value: pa.Scalar) -> Value:
    """A value that can be compared; lists and structs as text."""
    try:
        python_value = value.as_py()
    except (ValueError, OverflowError):
        return str(value)
    return python_value if not isinstance(python_value, list | dict) else str(python_value)


def _shown(value: str | float | None) -> str:
    return "NULL" if value is None else str(value) or "''"
