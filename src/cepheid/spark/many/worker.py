"""What runs in Spark's Python workers: the events of a bucket in, the matches of its rules out."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import chain

import numpy as np
import pyarrow as pa

from cepheid.api.hosting import many_stream
from cepheid.engine.encoding.arrow import from_numpy
from cepheid.engine.encoding.times import ticks
from cepheid.engine.many.lifetimes import Lifetimes
from cepheid.engine.many.protocol import RuleMatches
from cepheid.engine.many.rules import RuleSet
from cepheid.engine.many.stream import ManyStream
from cepheid.engine.stream.rows import Arrival, arrival_of
from cepheid.pattern.binding.schema import START, Schema, make_schema
from cepheid.spark.many.columns import own_rows, rows_with_events
from cepheid.spark.many.shipped import Shipped
from cepheid.spark.worker import AT_ONCE, PUSH, Batches, SliceRows, conform, starts_of


@dataclass(frozen=True)
class ManyWorker:
    """Rules as they are shipped to the workers.

    own: matches have the columns of their query, and not those that all matches can have.
    """

    shipped: Shipped
    event_schema: pa.Schema
    match_schema: pa.Schema
    engine: str = "auto"
    own: bool = False

    @property
    def schema(self) -> Schema:
        """The event columns with their roles."""
        return make_schema(self.event_schema, self.shipped.options.roles)

    def rules_of(self, bucket: int) -> RuleSet:
        """The rules that run in a bucket."""
        rules, ways = self.shipped.load()
        way = next(way for way in ways if way.first <= bucket < way.first + way.buckets)
        kept = np.zeros(len(rules.ids), bool)
        kept[way.numbers_in(bucket)] = True
        taken = (some.take(np.flatnonzero(kept[some.numbers])) for some in rules.rules)
        return replace(rules, rules=tuple(some for some in taken if len(some)))

    def match(self, bucket: int, batches: Batches) -> Iterator[pa.Table]:
        """Yield the matches in events of a bucket, which come in the order of their times."""
        rules, schema = self.rules_of(bucket), self.schema
        tables = (conform(pa.Table.from_batches([batch]), self.event_schema) for batch in batches if batch.num_rows)
        arrivals = (arrival_of(schema, table) for table in tables)
        waiting: list[Arrival] = []
        rows = 0
        for arrival in arrivals:
            waiting.append(arrival)
            rows += arrival.count
            if rows > AT_ONCE:
                yield from self._in_parts(rules, chain(waiting, arrivals))
                return
        stream = many_stream(rules, schema, self.engine, events=rows)
        for arrival in waiting:
            stream.push(arrival)
        yield from self.rows(rules, stream.advance(None))

    def starting(self, table: pa.Table, starts: range | None) -> pa.Table:
        """The matches that start at one of these ticks; None: all."""
        if starts is None:
            return table
        times = ticks(self.schema, table, START)
        return table.filter(from_numpy((times >= starts.start) & (times < starts.stop)))

    def _in_parts(self, rules: RuleSet, arrivals: Iterator[Arrival]) -> Iterator[pa.Table]:
        """Of very many events only those are held that are still needed."""
        stream: ManyStream = many_stream(
            rules, self.schema, self.engine, lives=Lifetimes.for_good(len(rules.ids)), watermark=None
        )
        rows = 0
        for arrival in arrivals:
            if rows >= PUSH:
                yield from self.rows(rules, stream.advance(arrival.low))  # what is before this time is complete
                rows = 0
            stream.push(arrival)
            rows += arrival.count
        yield from self.rows(rules, stream.advance(None))

    def rows(self, rules: RuleSet, matches: list[RuleMatches]) -> Iterator[pa.Table]:
        """Yield matches in the columns that were declared to Spark."""
        for of_template in matches:
            if len(of_template.numbers):
                yield (
                    own_rows(of_template, rules, self.match_schema)
                    if self.own
                    else rows_with_events(of_template, rules, self.match_schema)
                )


def match_in_slices(worker: ManyWorker) -> Callable[[Batches], Batches]:
    """Make the function that matches rows which come by slice of time: a slice has the matches that start in it."""

    def cepheid_match_many_slices(batches: Batches) -> Batches:
        rows = SliceRows(batches)
        while rows.more():
            code = rows.code
            for table in worker.match(0, rows.of(code)):
                yield from worker.starting(table, starts_of(code)).to_batches(max_chunksize=65_536)

    return cepheid_match_many_slices


def match_in_buckets(worker: ManyWorker) -> Callable[[Batches], Batches]:
    """Make the function for `mapInArrow` that matches rows which come bucket by bucket, in the order of time."""

    def cepheid_match_many(batches: Batches) -> Batches:
        rows = SliceRows(batches)
        while rows.more():
            bucket = rows.code
            assert bucket is not None
            for table in worker.match(bucket, rows.of(bucket)):
                yield from table.to_batches(max_chunksize=65_536)

    return cepheid_match_many
