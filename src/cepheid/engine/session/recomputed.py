"""S15 and S16 by their definition: after each call all that was given is found again, and compared."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from cepheid.engine.encoding.arrow import empty_table
from cepheid.engine.encoding.few_events import as_table
from cepheid.engine.encoding.partition_times import PartitionTimes
from cepheid.engine.encoding.times import ticks
from cepheid.engine.matches.changes import Difference
from cepheid.engine.matches.difference import EmittedMatches, MatchSelection
from cepheid.engine.matches.matches import Matches
from cepheid.engine.stream.ahead import further
from cepheid.engine.stream.arrivals import Timed
from cepheid.engine.stream.event_log import Debt, Net
from cepheid.engine.stream.parts import PartSource, Sink
from cepheid.engine.stream.pipeline import Pipeline
from cepheid.engine.stream.query_stream import QueryStream
from cepheid.engine.stream.rows import arrival_of
from cepheid.engine.stream.snapshot import write_pipeline
from cepheid.pattern.algebra.flow import is_hidden
from cepheid.pattern.binding.schema import Schema
from cepheid.values.json import Json
from cepheid.values.match_id import content_text
from cepheid.values.rows import read_rows
from cepheid.values.value import Value


@dataclass(frozen=True, slots=True)
class _Row:
    """An event. text: its content."""

    text: str
    time: int
    table: pa.Table


@dataclass(frozen=True, slots=True)
class _Recounted(Net):
    """The events that there are, and the retractions that wait for theirs."""

    rows: Sequence[_Row] = ()
    unmet: Sequence[_Row] = ()


class Recomputed:
    """What `Speculation` does, by definition and slowly.

    match: the matches of each query on a table of events, by the reference.
    """

    def __init__(
        self,
        make: Callable[[], Pipeline],
        ahead: int | None,
        match: Callable[[pa.Table, Schema, int | None], Sequence[Matches]],
    ) -> None:
        self.make = make
        self.until: int | None = None  # when the query is removed (S17)
        self.match = match
        self.ahead = ahead
        self.head = make()
        self.schema = self.head.schema
        self.rows: Sequence[_Row] = ()
        self.owed: Sequence[_Row] = ()
        self.given = [EmittedMatches(query.nothing(), 0) for query in self._shown()]
        self.watermark: int | None = None
        self.certain: int | None = None
        self.steps = self.nbytes = 0

    def weigh(self, events: Timed, signs: np.ndarray | None, watermark: int | None) -> Net:
        """The events after insertions (1) and retractions (-1)."""
        rows, owed = list(self.rows), list(self.owed)
        signed = zip(self._read(events), signs.tolist() if signs is not None else [1] * len(events[1]), strict=True)
        for row, sign in signed:
            mine, others = (rows, owed) if sign > 0 else (owed, rows)
            equal = [k for k, other in enumerate(others) if other.text == row.text]
            if equal:
                del others[equal[-1]]
            else:
                mine.append(row)
        late = [row for row in owed if watermark is not None and row.time < watermark]
        owed = [row for row in owed if row not in late]
        return _Recounted(rows=rows, unmet=owed, overdue=[Debt(row.table, row.time, 1) for row in late])

    def _read(self, events: Timed) -> Iterable[_Row]:
        table = as_table(events[0])
        for k, (event, time) in enumerate(zip(read_rows(table, self.schema), events[1].tolist(), strict=True)):
            yield _Row(content_text(list(event.values.values())), time, table.slice(k, 1))

    def _shown(self) -> Iterable[QueryStream]:
        """The queries as they were written: the reference needs no derived streams."""
        return (query for query in self.head.queries if not is_hidden(query.query.into))

    def change(self, net: Net, watermark: int | None, *, closes: bool = False) -> list[Difference]:
        """O_n, and what it differs in from O_(n-1)."""
        assert isinstance(net, _Recounted)
        self.rows, self.owed, self.watermark = net.rows, net.unmet, watermark
        before, self.given = self.given, [EmittedMatches(matches, 0) for matches in self._output(watermark, closes)]
        nothing = [query.nothing() for query in self._shown()]
        return [_difference(*three) for three in zip(before, self.given, nothing, strict=True)]

    def rebuild(
        self, make: Callable[[], Pipeline], match: Callable[[pa.Table, Schema, int | None], Sequence[Matches]], net: Net
    ) -> list[Difference]:
        """Another query from a time on. net: what is retracted at the same time."""
        self.make, self.match, self.head = make, match, make()
        return self.change(net, self.watermark)

    def _output(self, watermark: int | None, closes: bool) -> Sequence[Matches]:
        """All that a session which waits has given after the events before F and `advance(F)`."""
        if self.ahead is None or closes:
            return self.match(self._table(self.rows), self.schema, self.until)
        reached = further(None if watermark is None else watermark + self.ahead, self.certain)
        if reached is None:
            return [query.nothing() for query in self._shown()]
        waiting = self.make()
        waiting.push(arrival_of(self.schema, self._table([row for row in self.rows if row.time < reached])))
        if self.until is not None and reached > self.until:
            return waiting.advance(None, self.until)
        return waiting.advance(reached)

    def recorded(self, time: int) -> tuple[pa.Table, np.ndarray, np.ndarray]:
        """The events from a time on, and the retractions that wait for theirs, with their times and signs."""
        rows = [row for row in self.rows if row.time >= time]
        owed = [row for row in self.owed if row.time >= time]
        times = np.array([row.time for row in (*rows, *owed)], np.int64)
        return self._table([*rows, *owed]), times, np.repeat(np.array([1, -1], np.int8), [len(rows), len(owed)])

    def _table(self, rows: Sequence[_Row]) -> pa.Table:
        return pa.concat_tables([row.table for row in rows]) if rows else empty_table(self.schema.arrow)

    def final(self, watermark: int | None) -> int | None:
        """It is not known: the definition does not say when something can't change any more."""
        return None

    def forget_partitions(self, ahead: PartitionTimes) -> None:
        """Keep all events: the reference computes every match from them."""

    @property
    def debts(self) -> int:
        """How many retractions wait for their event."""
        return len(self.owed)

    def save(self, sink: Sink) -> tuple[Json, Json]:
        """All events, and the retractions that wait for theirs."""
        rows, owed = (sink.table(name, self._table(kept)) for name, kept in (("rows", self.rows), ("owed", self.owed)))
        return write_pipeline(self.head, sink), {"rows": rows, "owed": owed, "watermark": self.watermark}

    def load(self, state: Json, saved: Json, source: PartSource) -> None:
        """Take up what was written down; what was given is found again."""
        tables = (source.table(saved[name]) for name in ("rows", "owed"))
        self.rows, self.owed = (list(self._read((table, ticks(self.schema, table)))) for table in tables)
        self.watermark = saved["watermark"]
        self.given = [EmittedMatches(matches, 0) for matches in self._output(self.watermark, closes=False)]


def _difference(old: EmittedMatches, new: EmittedMatches, nothing: Matches) -> Difference:
    removed, added = _without(old, new), _without(new, old)
    return Difference(removed, added, (), nothing)


def _without(emitted: EmittedMatches, other: EmittedMatches) -> MatchSelection:
    """The matches whose rows the others have less often."""
    known = Counter(map(_text, other.matches.to_pylist()))
    chosen, ranks = [], []
    seen: Counter[str] = Counter()
    for k, text in enumerate(map(_text, emitted.matches.to_pylist())):
        if seen[text] >= known[text]:
            chosen.append(k)
            ranks.append(seen[text])
        seen[text] += 1
    return MatchSelection([(emitted, np.array(chosen, np.int64))] if chosen else [], np.array(ranks, np.int64))


def _text(row: dict[str, Value]) -> str:
    """A row; what a user-defined function returns may be 1 in one column and 1.0 in another."""
    return content_text([int(v) if isinstance(v, float) and v.is_integer() else v for v in row.values()])
