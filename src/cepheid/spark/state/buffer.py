"""Events of a bucket that wait for the watermark, in segments as they arrived."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import pyarrow as pa

from cepheid.engine.encoding.times import ticks
from cepheid.pattern.schema import Schema
from cepheid.spark.packing import unpack, write
from cepheid.spark.state.parts import StateReader, StateWriter
from cepheid.spark.state.segments import FAN, SEGMENT, is_crowded


@dataclass(frozen=True)
class BufferedSegment:
    """Events that arrived together, and that the watermark has not passed all of.

    name: the part of the state store that has them.
    low: the first time that the watermark has not passed yet, in ticks.
    high: the last time, in ticks.
    size: in bytes.
    level: how often segments were merged into this one.
    blob: the packed events, unless they are in the store only.
    """

    name: str
    low: int
    high: int
    size: int
    level: int = 0
    blob: bytes | None = None

    def facts(self) -> list[Any]:
        """Return what the header stores of the segment."""
        return [self.name, self.low, self.high, self.size, self.level]


class EventBuffer:
    """The segments of a bucket, oldest first."""

    def __init__(self, schema: Schema, event_schema: pa.Schema) -> None:
        self.schema = schema
        self.event_schema = event_schema
        self.segments: list[BufferedSegment] = []
        self.count = 0  # segments so far: the next one is named by it
        self.reader: StateReader | None = None  # of the store that has segments without a blob

    @property
    def size(self) -> int:
        """The size of all segments in bytes."""
        return sum(segment.size for segment in self.segments)

    def add(self, blob: bytes, low: int, high: int, level: int = 0) -> None:
        """Buffer packed events with their first and last time."""
        self.count += 1
        self.segments.append(BufferedSegment(f"w{self.count}", low, high, len(blob), level, blob))

    def release(self, begin: int | None, end: int) -> tuple[list[pa.Table], int | None]:
        """Remove the events from `begin` (None: from the first) up to before `end`; also return the last time.

        A segment that has later events stays whole. Its earlier ones are skipped next time, because the watermark,
        `begin`, is then past them.
        """
        tables: list[pa.Table] = []
        kept: list[BufferedSegment] = []
        last: int | None = None
        for segment in self.segments:
            if segment.low >= end:
                kept.append(segment)
                continue
            table = self.read(segment)
            times = ticks(self.schema, table)
            chosen = times < end
            if begin is not None:
                chosen &= times >= begin
            tables.append(table if chosen.all() else table.filter(pa.array(chosen)))
            latest = int(times[chosen].max())
            last = latest if last is None else max(latest, last)
            if segment.high >= end:
                kept.append(replace(segment, low=int(times[times >= end].min())))
        self.segments = kept
        return tables, last

    def remaining(self, begin: int | None) -> Iterator[pa.Table]:
        """Yield all events from a time on (None: all), and remove none."""
        for segment in self.segments:
            table = self.read(segment)
            yield table if begin is None else table.filter(pa.array(ticks(self.schema, table) >= begin))

    def read(self, segment: BufferedSegment) -> pa.Table:
        """Return the events of a segment as they arrived."""
        blob = segment.blob
        if blob is None:
            assert self.reader is not None
            blob = self.reader.fetch(segment.name)
        return unpack(blob).cast(self.event_schema)

    def save(self, writer: StateWriter) -> None:
        """Write the segments that the store does not have."""
        self._merge()
        for segment in self.segments:
            if segment.name in writer.stored.digests:
                writer.keep(segment.name)
            else:
                assert segment.blob is not None
                writer.put(segment.name, segment.blob)

    def _merge(self) -> None:
        """Merge small segments, so that there are never many."""
        while is_crowded([segment.level for segment in self.segments]):
            last = self.segments[-FAN:]
            if sum(segment.size for segment in last) > SEGMENT:
                return
            tables = [self.read(segment) for segment in last]
            del self.segments[-FAN:]
            low, high = min(segment.low for segment in last), max(segment.high for segment in last)
            self.add(write(pa.concat_tables(tables).combine_chunks(), dense=True), low, high, last[0].level + 1)
