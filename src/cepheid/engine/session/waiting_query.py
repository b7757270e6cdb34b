"""A query of a session that emits matches once the watermark has passed them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from cepheid.engine.encoding.partition_times import PartitionTimes
from cepheid.engine.matches.matches import Matches
from cepheid.engine.session.history import Life
from cepheid.engine.session.outputs import Outputs
from cepheid.engine.session.session_query import SessionQuery
from cepheid.engine.session.turn import Turn, check_goes_on
from cepheid.engine.stream.conversion import convert, fitting
from cepheid.engine.stream.in_memory import MemorySink, written
from cepheid.engine.stream.input_stream import InputStream
from cepheid.engine.stream.pipeline import Pipeline
from cepheid.engine.stream.rows import Arrival, arrival_of
from cepheid.engine.stream.shared_stream import StreamReader
from cepheid.engine.stream.snapshot import write_pipeline
from cepheid.front.analysed import Functions
from cepheid.pattern.binding.schema import Schema

if TYPE_CHECKING:
    from cepheid.engine.machines.factory import MachineFactory


class WaitingQuery:
    """One query or program, from when until when it lives, and what runs it.

    Its session calls `open` with the columns and, before the first event, whenever these change; then `see` for what
    arrives, unless the stream is shared, and reads its matches through `reader`. `take_turn` changes it.

    right_from: the time from which on the query that runs is right, after changes (S17).
    """

    pipeline: Pipeline  # what runs it, once it is open

    def __init__(self, life: Life, factory: MachineFactory) -> None:
        self.life = life
        self.right_from: int | None = None
        self._factory = factory
        self._cache = life.query.lasting.cache
        self.outputs = Outputs(life.query.compiled.names)
        self.reader: StreamReader | None = None

    @property
    def functions(self) -> Functions | None:
        """The user's functions, by which queries can share a stream; None: it keeps one for itself, as arcs do."""
        return None if self.life.query.has_arcs else self.life.query.compiled.functions

    @property
    def is_over(self) -> bool:
        """Whether the watermark has passed the end of its life."""
        return self.reader is not None and self.reader.is_over

    def open(self, schema: Schema, events: InputStream | None = None) -> StreamReader:
        """Begin, after changes so far. events: the stream that it reads with others."""
        if self.life.changes:
            self._cache = self.life.now(schema, self.right_from).lasting.cache
        since = self.life.lifetime.since
        self.pipeline = Pipeline(self._cache, self._factory, schema, once=False, events=events, since=since)
        self.reader = StreamReader(self.pipeline, self.life.lifetime)
        self.outputs.forget()
        return self.reader

    def see(self, arrival: Arrival) -> Arrival:
        """The events of an arrival in which it lives."""
        lifetime = self.life.lifetime
        if not arrival.count or lifetime.until is None or arrival.high <= lifetime.until:
            return arrival
        schema, events = self.pipeline.schema, self.pipeline.events
        return arrival_of(schema, *lifetime.events(*events.arrivals.read(arrival)))

    def result(self, matches: list[Matches]) -> Matches:
        """The matches of the last of its queries, with those of all in the outputs."""
        return self.outputs.of(matches, self.pipeline.queries)

    def nothing(self) -> Matches:
        return self.outputs.nothing(self.pipeline.queries)

    def advance(
        self, watermark: int | None, horizon: int | None = None, ahead: PartitionTimes | None = None
    ) -> list[Matches]:
        """The matches of each of its queries, of a stream that it has for itself; its state goes when it is over."""
        assert self.reader is not None
        matches = self.reader.advance(watermark, horizon, ahead)
        if self.is_over:
            self.pipeline = Pipeline(self._cache, self._factory, self.pipeline.schema, once=False)
            self.reader.pipeline = self.pipeline
        return matches

    # Changes.

    def fitting(self, query: SessionQuery) -> Sequence[bool]:
        """Of which of its queries the state is one of another query too."""
        return fitting(self.pipeline, query.cache)

    def check_turn(self, query: SessionQuery, fits: Sequence[bool]) -> None:
        """Refuse a query that needs events which are not kept."""
        check_goes_on(query, fits, self.pipeline)

    def take_turn(self, turn: Turn, watermark: int | None) -> StreamReader:
        """Go on with another query, or another end; no event after that was read. A new query has its own stream."""
        from cepheid.engine.stream.retiming import retime  # kernels are not needed before

        assert self.reader is not None
        self.life = turn.life
        self.reader.lifetime = turn.life.lifetime
        if turn.cache is not None:
            self._cache = self.pipeline.cache = turn.cache
            retime(self.pipeline)
        if turn.query is not None:
            state = written(write_pipeline(self.pipeline, MemorySink()))
            since, schema = self.life.lifetime.since, self.pipeline.schema
            pipeline = Pipeline(turn.query.cache, self._factory, schema, once=False, since=since)
            convert(state, pipeline, turn.fits, watermark)
            self._cache, self.right_from = turn.query.cache, turn.settled
            self.pipeline = pipeline
            self.reader = replace(self.reader, pipeline=pipeline)
            self.outputs.forget()
        return self.reader
