"""The events of a stream that can still change: what was inserted, less what was retracted (S16)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pyarrow as pa

from cepheid.engine.encoding.arrow import empty_table, from_numpy
from cepheid.engine.encoding.content_keys import grouped, row_keys, rows_of
from cepheid.engine.encoding.few_events import Events, as_table, joined
from cepheid.engine.encoding.times import ticks
from cepheid.engine.stream.arrivals import Timed
from cepheid.engine.stream.parts import PartSource, Sink
from cepheid.engine.stream.rows import RowsInMemory, StoredRows
from cepheid.pattern.binding.schema import Schema
from cepheid.values.json import Json

LARGE = 1 << 16
"""Rows from which on those that came together are not merged with others."""

Key = tuple[int, int]


@dataclass(frozen=True, slots=True, eq=False)
class Chunk:
    """Events that are together. `there`: which of them were not retracted; None: all."""

    rows: StoredRows
    times: np.ndarray
    there: Any = None

    @property
    def count(self) -> int:
        """How many events there are."""
        return len(self.times) if self.there is None else int(self.there.sum())

    @property
    def present(self) -> np.ndarray:
        """A flag for each event: whether it is still there, and not retracted."""
        return np.ones(len(self.times), bool) if self.there is None else self.there

    @property
    def events(self) -> Events:
        """All events, also those that were retracted."""
        return self.rows.events if isinstance(self.rows, RowsInMemory) else self.rows.table()

    def since(self, time: int | None) -> Timed | None:
        """The events that are there, from a time on."""
        events = self.events
        wanted = self.there
        if time is not None and len(self.times) and self.times.min() < time:
            later = self.times >= time
            wanted = later if wanted is None else wanted & later
        if wanted is None or wanted.all():
            return (events, self.times) if len(self.times) else None
        if not wanted.any():
            return None
        return as_table(events).filter(from_numpy(wanted)), self.times[wanted]


@dataclass(frozen=True, slots=True)
class Debt:
    """Retractions of events that have not come."""

    row: pa.Table
    time: int
    count: int


@dataclass(frozen=True, slots=True)
class Net:
    """What a call does to the log.

    gone: of which chunks which rows are retracted.
    overdue: debts that the watermark passes: what they retract can't come any more.
    first: the first time at which something changes.
    """

    inserted: Timed | None = None
    gone: Mapping[int, Any] = field(default_factory=dict)
    debts: Mapping[Key, Debt] = field(default_factory=dict)
    overdue: Sequence[Debt] = ()
    first: int | None = None

    @property
    def owed(self) -> pa.Table:
        """The rows that are overdue, each as often as it is owed."""
        return pa.concat_tables([debt.row for debt in self.overdue for _ in range(debt.count)])


class EventLog:
    """The events since a time, in no order, and the debts."""

    def __init__(self, schema: Schema) -> None:
        self.schema = schema
        self.chunks: list[Chunk] = []
        self.debts: Mapping[Key, Debt] = {}
        self.latest: int | None = None  # the greatest time of an event that was ever there

    @property
    def count(self) -> int:
        """How many events there are."""
        return sum(chunk.count for chunk in self.chunks)

    @property
    def nbytes(self) -> int:
        """How much the events take."""
        return sum(chunk.rows.size + sum(part.nbytes for part in self._besides(chunk)) for chunk in self.chunks)

    def _besides(self, chunk: Chunk) -> Iterator[np.ndarray]:
        """What a chunk has besides its rows. Times that are a column as it is are part of these."""
        arrow = self.schema.arrow.field(self.schema.roles.time).type
        as_it_is = arrow == pa.int64() or pa.types.is_timestamp(arrow)
        if not as_it_is or not isinstance(chunk.times.base, pa.Buffer):
            yield chunk.times
        if chunk.there is not None:
            yield chunk.there

    def count_between(self, first: int | None, last: int) -> int:
        """About how many events are from a time on and before another."""
        events = 0
        for chunk in self.chunks:
            events += int((chunk.times < last).sum())
            if first is not None:
                events -= int((chunk.times < first).sum())
        return events

    def since(self, time: int | None) -> Iterator[Timed]:
        """The events from a time on."""
        for chunk in self.chunks:
            part = chunk.since(time)
            if part is not None:
                yield part

    def recorded(self, time: int) -> tuple[pa.Table, np.ndarray, np.ndarray]:
        """The events from a time on, and the retractions that wait for theirs, with their times and signs."""
        parts = [(as_table(events), times) for events, times in self.since(time)]
        count = sum(len(times) for _, times in parts)
        owed = [debt for debt in self.debts.values() if debt.time >= time for _ in range(debt.count)]
        tables = [table for table, _ in parts] + [debt.row for debt in owed]
        times = np.concatenate([*(times for _, times in parts), np.array([debt.time for debt in owed], np.int64)])
        signs = np.repeat(np.array([1, -1], np.int8), [count, len(owed)])
        return pa.concat_tables(tables) if tables else empty_table(self.schema.arrow), times, signs

    # Events by their numbers, which count those that were retracted too.

    def numbers_of(self, gone: Mapping[int, np.ndarray]) -> np.ndarray:
        """The numbers of rows of chunks."""
        firsts = np.concatenate([[0], np.cumsum([len(chunk.times) for chunk in self.chunks])]).astype(np.int64)
        return np.concatenate([firsts[k] + rows for k, rows in gone.items()]) if gone else np.zeros(0, np.int64)

    def take(self, numbers: np.ndarray) -> pa.Table:
        """Some events as a table."""
        return rows_by_number(self.chunks, self.schema, numbers)

    def keep(self, wanted: np.ndarray) -> None:
        """Keep some events, given as a flag for each number."""
        kept, at = [], 0
        for chunk in self.chunks:
            wanted_here = wanted[at : at + len(chunk.times)]
            at += len(chunk.times)
            if wanted_here.all():
                kept.append(chunk)
            elif wanted_here.any():
                there = None if chunk.there is None else chunk.there[wanted_here]
                table = _copied(as_table(chunk.events).filter(from_numpy(wanted_here)))
                times = ticks(self.schema, table)  # which are those of the table itself, and take nothing more
                kept.append(Chunk(RowsInMemory(table, times), times, there))
        self.chunks = kept

    # What a call does.

    def weigh(self, events: Timed, signs: np.ndarray | None, watermark: int | None) -> Net:
        """What insertions (1) and retractions (-1) do, and a watermark. Nothing is changed yet: it may be refused."""
        given, times = events
        if signs is None or (signs > 0).all():
            if not self.debts:
                return Net(events, first=int(times.min())) if len(times) else Net()
            signs = np.ones(len(times), np.int8)
        table = as_table(given)
        keys = row_keys(table)
        alone = self._alone(keys, signs)
        inserted, unmet = _cancelled(keys, signs, np.flatnonzero(~alone))
        debts = dict(self.debts)
        kept = np.flatnonzero(alone).tolist()
        for key, places in inserted.items():
            paid = min(len(places), debts[key].count) if key in debts else 0
            if paid:
                debts[key] = replace(debts[key], count=debts[key].count - paid)
            kept += places[paid:]
        gone = self._found(times, unmet)
        for key, places in unmet.items():
            if places:
                known = debts[key].count if key in debts else 0
                debts[key] = Debt(rows_of(table, places[:1]), int(times[places[0]]), known + len(places))
        debts = {key: debt for key, debt in debts.items() if debt.count}
        late = {key for key, debt in debts.items() if watermark is not None and debt.time < watermark}
        kept.sort()
        changed = [int(self.chunks[k].times[rows].min()) for k, rows in gone.items()]
        return Net(
            inserted=(rows_of(table, kept), times[kept]) if kept else None,
            gone=gone,
            debts={key: debt for key, debt in debts.items() if key not in late},
            overdue=[debts[key] for key in late],
            first=min([*changed, *([int(times[kept].min())] if kept else [])], default=None),
        )

    def _alone(self, keys: np.ndarray, signs: np.ndarray) -> np.ndarray:
        """Which rows are inserted and meet no retraction of equal content."""
        order, group = grouped(keys)
        retracted = np.zeros(len(order), bool)
        retracted[np.unique(group[signs[order] < 0])] = True
        alone = np.empty(len(order), bool)
        alone[order] = ~retracted[group]
        if self.debts:
            alone &= ~np.isin(keys[0], np.array([first for first, _ in self.debts], np.uint64))
        return alone

    def _found(self, times: np.ndarray, unmet: dict[Key, list[int]]) -> dict[int, np.ndarray]:
        """The rows of the log that are retracted. What is left in `unmet` was not found."""
        gone: dict[int, np.ndarray] = {}
        places = [place for retracted in unmet.values() for place in retracted]
        if not places:
            return gone
        wanted = np.unique(times[places])
        for number in reversed(range(len(self.chunks))):
            chunk = self.chunks[number]
            there = np.isin(chunk.times, wanted)
            if chunk.there is not None:
                there &= chunk.there
            rows = np.flatnonzero(there)
            if not len(rows):
                continue
            keys = row_keys(rows_of(chunk.rows.table(), rows))
            retracted = []
            for row, key in zip(rows.tolist(), zip(*keys.tolist(), strict=True), strict=True):
                if unmet.get(key):
                    unmet[key].pop()
                    retracted.append(row)
            if retracted:
                gone[number] = np.array(retracted)
        return gone

    def apply(self, net: Net) -> None:
        """Insert and retract what `weigh` returned, and note the debts that remain."""
        for number, rows in net.gone.items():
            chunk = self.chunks[number]
            there = chunk.present.copy()
            there[rows] = False
            self.chunks[number] = replace(chunk, there=there)
        self.debts = net.debts
        if net.inserted is not None:
            events, times = net.inserted
            latest = int(times.max())
            self.latest = latest if self.latest is None else max(self.latest, latest)
            self.chunks.append(Chunk(RowsInMemory(events, times), times))
            self._merge()

    def forget(self, before: int | None) -> None:
        """Let go of events before a time, where they are most of a chunk."""
        if before is None:
            return
        kept = []
        for chunk in self.chunks:
            old = int((chunk.times < before).sum())
            if old == len(chunk.times):
                continue
            if 2 * old > len(chunk.times):
                recent = chunk.since(before)
                if recent is None:
                    continue
                table = _copied(as_table(recent[0]))
                times = ticks(self.schema, table)
                chunk = Chunk(RowsInMemory(table, times), times)
            kept.append(chunk)
        self.chunks = kept

    def _merge(self) -> None:
        """Make one chunk of the last ones, where those before are not larger."""
        chunks = self.chunks
        first, rows = len(chunks) - 1, len(chunks[-1].times)
        while first and len(chunks[first - 1].times) <= rows < LARGE:
            first -= 1
            rows += len(chunks[first].times)
        if first == len(chunks) - 1:
            return
        events = joined(chunk.events for chunk in chunks[first:])
        if isinstance(events, pa.Table):
            events = _copied(events)
            times = ticks(self.schema, events)
        else:
            times = np.concatenate([chunk.times for chunk in chunks[first:]])
        there = None
        if any(chunk.there is not None for chunk in chunks[first:]):
            there = np.concatenate([chunk.present for chunk in chunks[first:]])
        chunks[first:] = [Chunk(RowsInMemory(events, times), times, there)]

    # The state.

    def save(self, sink: Sink) -> Json:
        """Write the log down. Rows that the sink has already are not written again."""
        saved = []
        for k, chunk in enumerate(self.chunks):
            known = chunk.rows.stored if isinstance(chunk.rows, _Stored) else chunk.rows
            part, rows = sink.hold(f"log.{k}", known)
            if rows is not known:
                self.chunks[k] = replace(chunk, rows=_Stored(rows, chunk.rows.table()))
            saved.append([part, None if chunk.there is None else sink.array(f"log.{k}.there", chunk.there)])
        debts = None
        if self.debts:
            rows = pa.concat_tables([debt.row for debt in self.debts.values()])
            debts = [sink.table("debts", rows), [debt.count for debt in self.debts.values()]]
        return {"chunks": saved, "debts": debts, "latest": self.latest}

    def load(self, saved: Json, source: PartSource) -> None:
        """Take up what was written down."""
        self.latest = saved["latest"]
        for part, there in saved["chunks"]:
            rows = source.held(part)
            table = rows.table()
            known = None if there is None else source.array(there).astype(bool)
            kept = rows if isinstance(rows, RowsInMemory) else _Stored(rows, table)
            self.chunks.append(Chunk(kept, ticks(self.schema, table), known))
        if saved["debts"] is not None:
            table = source.table(saved["debts"][0])
            keys, times = row_keys(table), ticks(self.schema, table)
            self.debts = {
                (int(keys[0, k]), int(keys[1, k])): Debt(table.slice(k, 1), int(times[k]), count)
                for k, count in enumerate(saved["debts"][1])
            }


def rows_by_number(chunks: Sequence[Chunk], schema: Schema, numbers: np.ndarray) -> pa.Table:
    """Some events of chunks as a table."""
    tables, at, order = [], 0, np.argsort(numbers, kind="stable")
    wanted = numbers[order]
    for chunk in chunks:
        end = at + len(chunk.times)
        first, last = np.searchsorted(wanted, [at, end])
        if first < last:
            tables.append(rows_of(as_table(chunk.events), wanted[first:last] - at))
        at = end
    if not tables:
        return empty_table(schema.arrow)
    table = tables[0] if len(tables) == 1 else pa.concat_tables(tables)
    if (order[1:] > order[:-1]).all():
        return table
    back = np.empty(len(order), np.int64)
    back[order] = np.arange(len(order))
    return rows_of(table, back)


def _cancelled(
    keys: np.ndarray, signs: np.ndarray, places: np.ndarray
) -> tuple[dict[Key, list[int]], dict[Key, list[int]]]:
    """Of some rows those that are inserted, and those that retract something which is not among them, by content."""
    inserted: dict[Key, list[int]] = {}
    unmet: dict[Key, list[int]] = {}
    for place in places.tolist():
        key = int(keys[0, place]), int(keys[1, place])
        mine, others = (inserted, unmet) if signs[place] > 0 else (unmet, inserted)
        if others.get(key):
            others[key].pop()
        else:
            mine.setdefault(key, []).append(place)
    return inserted, unmet


def net_of(schema: Schema, events: Timed, signs: np.ndarray) -> tuple[Timed | None, int]:
    """The events that are left of insertions and retractions, and how many retractions met nothing."""
    net = EventLog(schema).weigh(events, signs, None)
    return net.inserted, sum(debt.count for debt in net.debts.values())


@dataclass(frozen=True, slots=True)
class _Stored:
    """Rows that a store has, and that are in memory too: each replay reads them."""

    stored: StoredRows
    events: pa.Table

    @property
    def size(self) -> int:
        return self.stored.size

    def table(self) -> pa.Table:
        return self.events


def _copied(table: pa.Table) -> pa.Table:
    """A table of its own, without what it was sliced from."""
    return table.combine_chunks()
