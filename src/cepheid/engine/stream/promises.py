"""What a stream has promised: no event to come that satisfies a condition is before a time (S17a, AFA appendix F)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa

from cepheid.engine.encoding.arrow import from_numpy
from cepheid.engine.encoding.few_events import Events, as_table
from cepheid.engine.encoding.partition_times import Key, PartitionTimes, keys_of
from cepheid.engine.stream.arrivals import Arrivals
from cepheid.front.runnable import Runnable
from cepheid.pattern.binding.schema import Schema
from cepheid.pattern.expressions import nodes as ex
from cepheid.pattern.tree.walk import conjuncts, walk
from cepheid.plan.implied import implies
from cepheid.plan.taken import E, TakenEvents, events_taken, last_taken
from cepheid.values.bindings import Bindings
from cepheid.values.columns import column_values
from cepheid.values.evaluate import Compiler
from cepheid.values.rows import Event, read_rows
from cepheid.values.value import Value

EVER = -(2**62)
"""A time before all events."""


@dataclass(frozen=True)
class Promise:
    """No event to come for which the condition on `e` is TRUE is before a time, in ticks.

    key: the values of columns, where these are what is promised; then an event that has them is meant, whatever
    attributes its type is declared to have.
    """

    before: int
    condition: ex.Expression
    source: ex.Expression  # the same before it was bound to columns
    text: str  # the condition, which tells promises apart
    key: Mapping[str, Value] | None = None

    @cached_property
    def atoms(self) -> tuple[ex.Expression, ...]:
        """What must all be TRUE."""
        return conjuncts(self.condition)

    @cached_property
    def columns(self) -> tuple[frozenset[str], ...]:
        """The columns that each of these reads."""
        return tuple(frozenset(n.name for n in walk(atom) if isinstance(n, ex.Attribute)) for atom in self.atoms)


@dataclass
class Promises:
    """The promises that are still ahead of the watermark, for queries that read the stream.

    every: whether a query reads it in a way in which any event matters.
    """

    queries: Sequence[Runnable]
    every: bool = False
    made: dict[str, Promise] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.arcs: list[TakenEvents] = [arc for query in self.queries for arc in events_taken(query)]
        if self.every:
            self.arcs.append(TakenEvents(None, ()))
        self.latest = EVER  # no promise is about events at this time or later
        self._first = EVER  # and none is over before this time
        self._wide: dict[str, list[bool]] = {}  # by arc: whether a promise is about all of its events
        self._left: dict[
            str, list[tuple[ex.Expression, ...] | None]
        ] = {}  # by arc: what a partition must be like besides
        self._tests: dict[ex.Expression, Callable[[Event], bool]] = {}
        self._of_partition: dict[Key, list[str]] = {}
        self._of_partitions: dict[str, None] = {}  # those that may be about several partitions
        self._of_keys: dict[tuple[str, ...], dict[Key, str]] = {}  # by columns and their values
        self._conditions: dict[str, None] = {}  # the others

    @property
    def schema(self) -> pa.Schema:
        """The columns that they are about."""
        return self.queries[0].schema.arrow

    def __bool__(self) -> bool:
        return bool(self.made)

    # Promises.

    def add(self, promise: Promise) -> None:
        """One more; where the same was promised before, the later time holds."""
        known = self.made.get(promise.text)
        if known is not None and known.before >= promise.before:
            return
        text = promise.text
        self.made[text] = promise
        self.latest = max(self.latest, promise.before)
        self._first = promise.before if len(self.made) == 1 else min(self._first, promise.before)
        if known is not None:
            return
        self._left[text] = [self._residue(promise, arc) for arc in self.arcs]
        if () in self._left[text]:
            self._wide[text] = [left == () for left in self._left[text]]
        partition = self.partition_of(promise)
        if partition is None:
            self._of_partitions[text] = None
        else:
            self._of_partition.setdefault(partition, []).append(text)
        if promise.key is None:
            self._conditions[text] = None
        else:
            self._of_keys.setdefault(tuple(promise.key), {})[tuple(promise.key.values())] = text

    def forget(self, watermark: int) -> None:
        """Promises that the watermark has passed say nothing more."""
        if watermark < self._first:
            return
        gone = [promise for promise in self.made.values() if promise.before <= watermark]
        for promise in gone:
            text, partition = promise.text, self.partition_of(promise)
            del self.made[text], self._left[text]
            self._of_partitions.pop(text, None)
            self._conditions.pop(text, None)
            self._wide.pop(text, None)
            if partition is not None:
                self._of_partition[partition].remove(text)
                if not self._of_partition[partition]:
                    del self._of_partition[partition]
            if promise.key is not None:
                texts = self._of_keys[tuple(promise.key)]
                del texts[tuple(promise.key.values())]
                if not texts:
                    del self._of_keys[tuple(promise.key)]
        times = [promise.before for promise in self.made.values()]
        self.latest, self._first = max(times, default=EVER), min(times, default=EVER)

    def reached(self, watermark: int | None) -> int | None:
        """The time before which no event that any arc could take is still to come; None if there is none."""
        if not self.arcs or not self.made:
            return watermark
        start = EVER if watermark is None else watermark
        wide = [(self.made[text].before, covered) for text, covered in self._wide.items()]
        reached = min(
            max([start, *(before for before, covered in wide if covered[number])]) for number in range(len(self.arcs))
        )
        return None if reached <= EVER else reached

    def _residue(self, promise: Promise, arc: TakenEvents) -> tuple[ex.Expression, ...] | None:
        """What is left to be TRUE for all events that an arc may take to be such as the promise is about.

        None if that can't be known from the key of a partition.
        """
        kind, partitions, left = self.queries[0].schema.roles.type, self.partitions, []
        for atom, columns in zip(promise.atoms, promise.columns, strict=True):
            if not implies(arc, atom, kind):
                if partitions is None or not columns or not columns <= set(partitions.all):
                    return None
                left.append(atom)
        return tuple(left)

    def _holds(self, promise: Promise, left: Sequence[ex.Expression], partition: Mapping[str, Value]) -> bool:
        """Whether conditions are TRUE for the key of a partition."""
        if promise.key is not None:
            read = (n.name for atom in left for n in walk(atom) if isinstance(n, ex.Attribute))
            return all(promise.key[name] == partition[name] for name in read)
        if self.queries[0].schema.roles.types is not None:
            return False  # an event of the partition may lack the attribute
        event = Event(0, 0, 0, 0, None, partition)
        return all(self._test(atom)(event) for atom in left)

    def _test(self, condition: ex.Expression) -> Callable[[Event], bool]:
        """Whether a condition is TRUE for an event; an attribute that its type lacks is NULL, as in a row."""
        if condition not in self._tests:
            holds = Compiler(self.queries[0], output=True).condition(condition)
            self._tests[condition] = lambda event: holds(Bindings({E: (event,)}, {E: event}))
        return self._tests[condition]

    def ends_from(self, query: Runnable, watermark: int | None, arrivals: Arrivals) -> int | None:
        """The time before which no match to come of a query ends: a path punctuation (AFA, algorithm 2).

        It is the least over the arcs that end a match: what is promised of each, or when the first event waits that it
        may take. None if it is no later than the watermark.
        """
        last = last_taken(query)
        start = EVER if watermark is None else watermark
        made = [self.made[text] for text in self._of_partitions]
        times = [
            max([start, *(promise.before for promise in made if self._residue(promise, arc) == ())]) for arc in last
        ]
        limit = min(times, default=start)
        if limit <= start or not query.timed:
            return None
        kinds: set[str] | None = set().union(*(arc.types or () for arc in last)) if all(a.types for a in last) else None
        for arrival in arrivals.waiting:
            if arrival.low < limit:
                events, moments = arrivals.read(arrival)
                limit = min([limit, *_of_types(query, events, moments, kinds)])
        return limit if limit > start else None

    # Partitioning.

    @property
    def partitions(self) -> Any:
        """What splits the stream, where that is one query alone whose keys are columns; else None."""
        if self.every or len(self.queries) != 1:
            return None
        (query,) = self.queries
        partitions = query.partitions
        return partitions if partitions.all and all(name in query.schema.columns for name in partitions.all) else None

    def partition_of(self, promise: Promise) -> Key | None:
        """The one partition that a promise is about; None if that may be several."""
        partitions = self.partitions
        if partitions is None or promise.key is None or not promise.key.keys() >= set(partitions.all):
            return None
        return tuple(promise.key[name] for name in partitions.all)

    def partition_times(self, watermark: int | None, promise: Promise | None = None) -> PartitionTimes | None:
        """How far partitions are ahead of the watermark; those alone that a new promise is about, if one is given."""
        partitions = self.partitions
        if partitions is None or not self.made:
            return None
        start = EVER if watermark is None else watermark
        several = tuple(self._of_partitions)
        known: dict[Key, int | None] = {}

        def time_of(key: Key) -> int | None:
            if key not in known:
                known[key] = self._partition_time(key, partitions.all, several, start)
            return known[key]

        only = None if promise is None else self.partition_of(promise)
        return PartitionTimes(partitions, time_of, self.latest, None if only is None else (only,))

    def _partition_time(self, key: Key, columns: Sequence[str], several: Sequence[str], start: int) -> int | None:
        partition = dict(zip(columns, key, strict=True))
        promises = [(self.made[text], self._left[text]) for text in (*several, *self._of_partition.get(key, ()))]
        least: int | None = None
        for number in range(len(self.arcs)):
            arcs = ((promise, left[number]) for promise, left in promises)
            times = [
                promise.before for promise, left in arcs if left is not None and self._holds(promise, left, partition)
            ]
            latest = max([start, *times])
            if latest <= start:
                return None
            least = latest if least is None else min(least, latest)
        return least

    # Events.

    def broken(self, events: Events, times: np.ndarray) -> Iterator[tuple[np.ndarray, Promise]]:
        """For each promise that some events break: which of them do."""
        if not len(times) or int(times.min()) >= self.latest:
            return
        near = np.flatnonzero(times < self.latest)
        for columns, promised in self._of_keys.items():  # which may be many, and are looked up
            breaches: dict[str, np.ndarray] = {}
            for row, key in zip(near.tolist(), keys_of(as_table(events).take(from_numpy(near)), columns), strict=True):
                text = promised.get(key)
                if text is not None and times[row] < self.made[text].before:
                    breaches.setdefault(text, np.zeros(len(times), bool))[row] = True
            yield from ((flags, self.made[text]) for text, flags in breaches.items())
        for promise in map(self.made.__getitem__, self._conditions):
            rows = np.flatnonzero(times < promise.before)
            flags = np.zeros(len(times), bool)
            if len(rows):
                read = read_rows(as_table(events).take(from_numpy(rows)), self._only(promise))
                flags[rows] = list(map(self._test(promise.condition), read))
            if flags.any():
                yield flags, promise

    def _only(self, promise: Promise) -> Schema:
        """The columns that a condition reads, and those that every event must have."""
        schema = self.queries[0].schema
        needed = {schema.roles.time, schema.roles.type}.union(*promise.columns)
        columns = {name: type_ for name, type_ in schema.columns.items() if name in needed}
        return replace(schema, columns=columns, parts={})


def _of_types(query: Runnable, events: Events, times: np.ndarray, kinds: set[str] | None) -> list[int]:
    """The first time of an event of some types (None: of all), if there is one."""
    role = query.schema.roles.type
    if kinds is not None and role is not None:
        times = times[np.array([kind in kinds for kind in column_values(as_table(events).column(role))], bool)]
    return [int(times.min())] if len(times) else []
