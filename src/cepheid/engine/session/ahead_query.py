"""A query of a session that emits matches before they are certain."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from cepheid.engine.encoding.arrow import empty_table
from cepheid.engine.encoding.partition_times import PartitionTimes
from cepheid.engine.matches.changes import Changes, Difference
from cepheid.engine.matches.difference import NOTHING
from cepheid.engine.matches.matches import Matches
from cepheid.engine.program import QueryCache
from cepheid.engine.session.history import Life
from cepheid.engine.session.outputs import Outputs
from cepheid.engine.session.recomputed import Recomputed
from cepheid.engine.session.session_query import SessionQuery
from cepheid.engine.session.signed_rows import Signs, Times, those
from cepheid.engine.session.turn import Turn, check_goes_on
from cepheid.engine.session.ways_ahead import (
    check_by_partitions,
    new_way,
    rebuild,
    recorded_by,
    replaying,
    settled_by,
)
from cepheid.engine.stream.ahead import Ahead, Replaying
from cepheid.engine.stream.arrivals import Timed
from cepheid.engine.stream.conversion import fitting
from cepheid.engine.stream.event_log import Net
from cepheid.engine.stream.parts import Header, PartSource, Sink
from cepheid.engine.stream.pipeline import Pipeline
from cepheid.engine.stream.snapshot import telling_damage
from cepheid.engine.stream.speculation import Speculation
from cepheid.errors import UsageError
from cepheid.pattern.binding.schema import Schema
from cepheid.pattern.tree.flow import EVENTS

if TYPE_CHECKING:
    from cepheid.engine.machines.factory import MachineFactory


class AheadQuery:
    """One query or program, from when until when it lives, and the way in which it is ahead of the watermark.

    Its session calls `open` with the columns and, before the first event, whenever these change; then `weigh` and
    `apply` for each call. `take_turn` changes it.

    ahead: how far it goes, in nanoseconds; None: as far as there are events.
    recomputes: whether all matches are found anew after each call, by the reference.
    right_from: the time from which on the query that runs is right, after changes (S17).
    """

    def __init__(self, life: Life, factory: MachineFactory, ahead: int | None, *, recomputes: bool) -> None:
        self.life = life
        self.ahead = ahead
        self.recomputes = recomputes
        self.right_from: int | None = None
        self.outputs = Outputs(life.query.compiled.names)
        self._factory = factory
        self._query = life.query
        self._cache = life.query.lasting.cache
        self._way: Ahead | None = None

    @property
    def way(self) -> Ahead:
        """What runs it, once it is open."""
        assert self._way is not None
        return self._way

    @property
    def pipeline(self) -> Pipeline:
        """The pipeline that is ahead the most."""
        return self.way.head

    @property
    def replaying(self) -> Replaying:
        """The same, where it keeps the events that can still change."""
        return replaying(self.way)

    @property
    def settled(self) -> int | None:
        """A time before which no event is read again."""
        return settled_by(self._way)

    def open(self, schema: Schema, certain: int | None, *, by_partitions: bool = True) -> None:
        """Begin, after changes so far. by_partitions: partition by partition, where the query allows it."""
        if self.life.changes:
            self._use(self.life.now(schema, self.right_from))
        cache, factory = self._cache, self._factory

        def make() -> Pipeline:
            return Pipeline(cache, factory, schema, once=False)

        ahead = None if self.ahead is None else -(-self.ahead // schema.tick)
        if self.recomputes:
            self._way = Recomputed(make, ahead, self._query.all_by_reference)
        else:
            by_partitions = by_partitions and self.life.query.compiled.sources == (EVENTS,)
            self._way = new_way(make, schema, ahead, cache, factory, by_partitions=by_partitions)
        self._way.certain = certain
        self._way.until = self.life.lifetime.until
        self.outputs.forget()

    def _use(self, query: SessionQuery) -> None:
        self._query, self._cache = query, query.lasting.cache

    # Events.

    def weigh(self, events: Timed, signs: Signs, watermark: int | None) -> Net:
        """What insertions (1), retractions (-1) and a watermark do to the events that it sees."""
        seen = self.life.lifetime.has(events[1])
        if not seen.all():
            events, signs = those(seen, events, signs)
        return self.way.weigh(events, signs, watermark)

    def apply(
        self,
        net: Net,
        watermark: int | None,
        certain: int | None,
        *,
        closes: bool = False,
        ahead: PartitionTimes | None = None,
    ) -> Sequence[Difference]:
        """Do it; return what that changes of the matches of each query. certain: how far it is by promises."""
        self.way.certain = certain
        changes = self.way.change(net, watermark, closes=closes)
        if ahead is not None:
            self.way.forget_partitions(ahead)
        return changes

    def unchanged(self) -> Sequence[Difference]:
        """No change of any query."""
        return [Difference(NOTHING, NOTHING, (), query.nothing()) for query in self.pipeline.queries]

    def changes(self, differences: Sequence[Difference], final: object) -> Changes:
        """Differences as a result. final: a time before which nothing changes any more, as users have it."""
        every = [Changes(difference, final) for difference in differences]
        return Changes(differences[-1], final, self.outputs.named(every))

    def new_matches(self, differences: Sequence[Difference]) -> Matches:
        """The matches that are new, where none can be retracted."""
        every = [Changes(difference, None).added for difference in differences]
        return every[-1].with_outputs(self.outputs.named(every))

    @property
    def recorded(self) -> Callable[[int], tuple[pa.Table, Times, Signs]]:
        """What returns all events from a time on that can still change, and the retractions that wait for theirs."""
        return recorded_by(self.way)

    # How far it is.

    def is_over(self, watermark: int | None) -> bool:
        """Whether it was removed, and nothing that it has emitted can change any more."""
        return watermark is not None and self.life.lifetime.is_over(watermark)

    def over(self, watermark: int | None) -> int | None:
        """The watermark from which on nothing so far can matter to a change to come; None: never."""
        known = self.replaying
        return watermark if known.is_blank else self.pipeline.over_after(known.log.latest)

    @property
    def undecided(self) -> bool:
        """Whether events or retractions wait, or a match has ended that is not certain yet."""
        return self.replaying.undecided or bool(self.replaying.log.debts)

    def deadlines(self) -> Iterator[int]:
        """The watermarks at which there is something to do even if no event arrives."""
        ahead = self.replaying.ahead
        if ahead is not None:  # else all is done at once that can be done
            yield from (time - ahead for time in self.replaying.deadlines())
        yield from (debt.time + 1 for debt in self.replaying.log.debts.values())

    # Changes.

    def fitting(self, query: SessionQuery) -> Sequence[bool]:
        """Of which of its queries the state is one of another query too."""
        if isinstance(self.way, Speculation):
            return fitting(self.pipeline, query.cache)
        return [True] * len(query.compiled.queries)  # all that can change is read again

    def check_turn(self, query: SessionQuery, fits: Sequence[bool]) -> None:
        """Refuse a query that can't go on from this one."""
        if isinstance(self.way, Speculation):
            check_goes_on(query, fits, self.pipeline)
        elif not isinstance(self.way, Recomputed):
            check_by_partitions(query, self.pipeline.schema)

    def take_turn(self, turn: Turn, watermark: int | None) -> Sequence[Difference]:
        """Go on with another query, or another end; return what that changes."""
        until = turn.life.lifetime.until
        schema = self.pipeline.schema
        events: Timed = empty_table(schema.arrow), np.zeros(0, np.int64)
        signs: Signs = None
        if until is not None and until != self.life.lifetime.until:
            table, times, signs = self.recorded(until + 1)
            events, signs = (table, times), None if signs is None else -signs
        net = self.way.weigh(events, signs, watermark)
        self.way.until = until
        self.life = turn.life
        if turn.cache is None and turn.query is None:
            first = turn.first if net.first is None else min(turn.first, net.first)
            return self.way.change(replace(net, first=first), watermark)
        if turn.cache is not None:
            self._cache = turn.cache
        else:
            self._use(turn.query)
            self.right_from = turn.settled

        def make(cache: QueryCache) -> Pipeline:
            return Pipeline(cache, self._factory, schema, once=False)

        return rebuild(self.way, make, turn, net, schema)

    # Snapshots.

    def save(self, sink: Sink) -> Header:
        """The events and what runs, for a header."""
        state, saved = self.way.save(sink)
        return state | {"speculation": saved}

    def load(self, header: Header, source: PartSource) -> None:
        """Restore what was saved, in a query that was opened by what `by_partitions_in` says of the header."""
        if ("rows" in header["speculation"]) != self.recomputes:
            message = "the snapshot is of engine 'reference', or this is, and the other one is not"
            raise UsageError("CEP607", message, "restore it with the engine that it was taken with")
        with telling_damage():
            self.way.load(header, header["speculation"], source)


def by_partitions_in(header: Header) -> bool:
    """Whether a saved query ran partition by partition."""
    return "replay" in header["speculation"]
