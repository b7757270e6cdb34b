"""One stream of events for several pipelines: events wait, are put in order and get their codes once, for all."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from cepheid.engine.encoding.batch import Batch
from cepheid.engine.encoding.partition_times import PartitionTimes
from cepheid.engine.matches.matches import Matches
from cepheid.engine.stream.input_stream import InputStream, types_in_order
from cepheid.engine.stream.lifetime import FOR_GOOD, Lifetime
from cepheid.engine.stream.pipeline import Pipeline
from cepheid.front.analysed import Functions
from cepheid.pattern.binding.schema import Schema
from cepheid.pattern.tree.flow import EVENTS


@dataclass(eq=False)
class StreamReader:
    """A pipeline and its lifetime in a stream.

    is_over: whether the watermark has passed the lifetime. By then it has emitted all that it ever will.
    """

    pipeline: Pipeline
    lifetime: Lifetime = FOR_GOOD
    is_over: bool = False

    def read(self, batch: Batch | None, reached: int | None, horizon: int | None = None) -> list[Matches]:
        """The matches of each query when all events before a time (None: all) were released, the last as a batch."""
        seen = None if batch is None else self.lifetime.part_of(batch)
        return self._until(reached, horizon, lambda reached, horizon: self.pipeline.process(seen, reached, horizon))

    def advance(
        self, reached: int | None, horizon: int | None = None, ahead: PartitionTimes | None = None
    ) -> list[Matches]:
        """The same of a pipeline that has its stream for itself, and releases the events."""
        if self.lifetime.until is None:
            return self.pipeline.advance(reached, horizon, ahead)
        return self._until(reached, horizon, lambda reached, horizon: self.pipeline.advance(reached, horizon, ahead))

    def _until(
        self, reached: int | None, horizon: int | None, read: Callable[[int | None, int | None], list[Matches]]
    ) -> list[Matches]:
        """At the end of the lifetime all events are in, and no absence after that is known."""
        if self.is_over:
            return [query.nothing() for query in self.pipeline.queries]
        if self.lifetime.is_over(reached):
            reached, horizon, self.is_over = None, self.lifetime.known(horizon), True
        return read(reached, horizon)


@dataclass(eq=False)
class SharedStream:
    """Events and those who read them.

    A session opens pipelines with its `stream`, adds them as readers, pushes every arrival once, and calls `advance`
    when the watermark moves: each reader gets the events of its lifetime.

    functions: of the user, which must be the same for all readers; None: one reader keeps it for itself.
    """

    stream: InputStream
    functions: Functions | None = None
    readers: list[StreamReader] = field(default_factory=list)

    @classmethod
    def of(cls, schema: Schema, functions: Functions | None, *, once: bool = False) -> SharedStream:
        """One without events or readers."""
        return cls(InputStream(schema, once=once), functions)

    def add(self, reader: StreamReader) -> None:
        """One more reader, whose pipeline reads `stream`."""
        types = types_in_order([query.query for query in reader.pipeline.readers(EVENTS)])
        if self.readers:
            known = self.stream.arrivals.types
            types = None if types is None or known is None else types | known
        self.stream.arrivals.types = types
        self.readers.append(reader)

    def remove(self, reader: StreamReader) -> None:
        """A reader goes; what only it needed is dropped when the stream is compacted."""
        self.readers = [other for other in self.readers if other is not reader]

    def drop_over(self) -> None:
        """The same of all readers whose lifetime the watermark has passed."""
        self.readers = [reader for reader in self.readers if not reader.is_over]

    def advance(self, reached: int | None, horizon: int | None = None) -> list[list[Matches]]:
        """The matches of each query of each reader when all events before a time (None: all) are in."""
        batch = self.stream.release(reached)
        matches = [reader.read(batch, reached, horizon) for reader in self.readers]
        if reached is not None and self.stream.events >= self.stream.look_at:
            self._compact(reached)
        return matches

    def compact(self, reached: int) -> None:
        """Drop everything that no match to come can need."""
        self._compact(reached, eager=True)
        for reader in self.readers:
            reader.pipeline.compact_composites(reached)

    def _compact(self, reached: int, *, eager: bool = False) -> None:
        machines = [machine for r in self.readers if not r.is_over for machine in r.pipeline.machines_of(self.stream)]
        self.stream.compact(reached, machines, eager=eager)
