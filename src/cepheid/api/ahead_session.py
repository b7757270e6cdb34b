"""What a session holds that is ahead of the watermark (S15, S16), also in a snapshot."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from cepheid.api.session import Session
from cepheid.api.stats import Stats
from cepheid.engine.encoding.arrow import empty_table
from cepheid.engine.session.delays import ALL, check_columns, read_speculation
from cepheid.engine.session.recomputed import Recomputed
from cepheid.engine.session.signed_rows import with_op
from cepheid.engine.session.ways_ahead import new_way, replaying, settled_by
from cepheid.engine.stream.ahead import Ahead, Replaying
from cepheid.engine.stream.arrivals import Timed
from cepheid.engine.stream.event_log import EventLog
from cepheid.engine.stream.parts import FlatSink, PartSource, Prefixed, Sink
from cepheid.engine.stream.pipeline import Pipeline
from cepheid.engine.stream.retyped import retype
from cepheid.engine.stream.snapshot import read_state, telling_damage
from cepheid.errors import UsageError
from cepheid.pattern.binding.schema import Schema
from cepheid.pattern.tree.flow import EVENTS

if TYPE_CHECKING:
    from cepheid.api.query import Query
    from cepheid.engine.machines.factory import MachineFactory


class AheadSession(Session):
    """A session that keeps what can still change: events since the watermark, and matches that are not certain."""

    _others: dict[str, AheadSession]  # type: ignore[assignment]

    def __init__(
        self,
        query: Query,
        factory: MachineFactory,
        *,
        lateness: object = None,
        late: str = "error",
        speculate: object = None,
        op: str | None = None,
        sequence: str | None = None,
        recomputes: bool = False,
        trace: object = None,
    ) -> None:
        super().__init__(query, factory, lateness=lateness, late=late, trace=trace)
        if speculate is not None:
            check_columns(query.compiled)
        self._speculate = speculate
        self._ahead = read_speculation(speculate, self._roles.unit)
        if sequence is not None:
            self._ahead = None  # no match goes over a gap, so that none can be undone
        self._op = op
        self._sequence = sequence
        # How all matches of each query are found, where that is done after each call.
        self._match = query.all_by_reference if recomputes else None
        self._speculation: Ahead | None = None
        self._record: EventLog | None = None  # all events since the watermark, if the session's own query was removed
        self._by_partitions = True  # late events are handled partition by partition, where the query allows it
        self._retracted = 0
        self._final: int | None = None

    def _no_events(self) -> Timed:
        return empty_table(self._columns), np.zeros(0, np.int64)

    @property
    def _corrects(self) -> bool:
        return self._ahead != 0

    @property
    def _settled(self) -> int | None:
        return settled_by(self._speculation)

    def _use(self, query: Query) -> None:
        super()._use(query)
        if self._match is not None:
            self._match = query.all_by_reference

    # The state.

    @property
    def stats(self) -> Stats:
        """Counters of the session and the size of its state."""
        found = super().stats
        if self._speculation is None:
            return found
        every = [session._speculating for session in (self, *self._others.values())]
        return replace(
            found,
            state_bytes=sum(own.nbytes for own in every),
            steps=sum(own.steps for own in every),
            debts=self._speculation.debts,
        )

    @property
    def late_events(self) -> pa.Table:
        """With late="collect": the rows that came after the watermark had passed them; with `op=` they have that."""
        if not self._late.set_aside and self._pipeline is not None:
            return with_op(empty_table(self._pipeline.schema.arrow), self._op, None)
        return super().late_events

    @property
    def _begun(self) -> bool:
        return self._events + self._retracted > 0

    def _begin(self, columns: pa.Schema) -> None:
        super()._begin(columns)
        self._speculating.until = self._history.own.lifetime.until
        if self._record is not None:
            self._record = EventLog(self._opened.schema)

    def _new_pipeline(self, schema: Schema) -> Pipeline:
        def make() -> Pipeline:
            return Pipeline(self._cache, self._factory, schema, once=False)

        ahead = None if self._ahead is None else -(-self._ahead // schema.tick)
        by_partitions = self._by_partitions and self._program.sources == (EVENTS,)
        if self._match is not None:
            self._speculation = Recomputed(make, ahead, self._match)
        else:
            self._speculation = new_way(make, schema, ahead, self._cache, self._factory, by_partitions=by_partitions)
        self._speculation.certain = self._certain
        return self._speculation.head

    @property
    def _speculating(self) -> Ahead:
        assert self._speculation is not None
        return self._speculation

    @property
    def _replaying(self) -> Replaying:
        return replaying(self._speculating)

    def _final_now(self) -> int | None:
        return self._speculating.final(self._watermark)

    @property
    def _is_over(self) -> bool:
        """Whether the query was removed, and nothing that it gives can change any more."""
        until = self._history.own.lifetime.until
        return until is not None and self._watermark is not None and self._watermark > until

    # For whoever keeps many sessions, as Spark's state store does.

    @property
    def over(self) -> int | None:
        """The watermark, in ticks, from which on nothing so far can matter to a change to come; None: never."""
        times = [one._over_alone for one in (self, *self._others.values())]
        if self._record is not None and self._record.latest is not None:
            times.append(self._record.latest + 1)
        return None if None in times else max(time for time in times if time is not None)

    @property
    def _over_alone(self) -> int | None:
        known = self._replaying
        return self._watermark if known.is_blank else self._opened.over_after(known.log.latest)

    @property
    def undecided(self) -> bool:
        """Whether events or retractions wait, or a match has ended that is not certain yet."""
        every = [one._replaying for one in (self, *self._others.values())]
        return any(own.undecided or own.log.debts for own in every)

    def deadlines(self) -> Iterator[int]:
        """The watermarks, in ticks, at which there is something to do even if no event arrives."""
        for one in (self, *self._others.values()):
            ahead = one._replaying.ahead
            if ahead is not None:  # else all is done at once that can be done
                yield from (time - ahead for time in one._replaying.deadlines())
            yield from (debt.time + 1 for debt in one._replaying.log.debts.values())

    # Snapshots.

    def save(self, sink: Sink) -> dict[str, Any]:
        """The state: a header, and parts that go into a sink."""
        header = self._facts(sink, None)
        speculate = None if self._speculate is None else ALL if self._ahead is None else self._ahead
        header["session"] |= {
            "speculate": speculate,
            "ahead": self._ahead,
            "op": self._op,
            "sequence": self._sequence,
            "retracted": self._retracted,
            "final": self._final,
        }
        if self._speculation is None:
            return header
        state, saved = self._speculation.save(sink)
        record = {} if self._record is None else {"record": self._record.save(Prefixed(sink, "record/"))}
        return header | state | {"speculation": saved} | record

    def load(self, header: dict[str, Any], source: PartSource) -> None:
        """Take up a state that `save` has written, in a new session of the same query."""
        facts = self._load_facts(header, source)
        self._speculate, self._ahead, self._op = facts["speculate"], facts["ahead"], facts["op"]
        self._retracted, self._final = facts["retracted"], facts["final"]
        _, schema, _, _ = read_state(header, source, self._program.fingerprint)
        self._certain = facts.get("certain")
        if schema is not None:
            self._load_history(schema)
            self._take_up(schema, header, source)
            self._load_others(header, source)
            self._read_promises(facts)

    def _take_up(self, columns: pa.Schema, header: dict[str, Any], source: PartSource) -> None:
        self._by_partitions = "replay" in header["speculation"]
        self._open(columns)
        if ("rows" in header["speculation"]) != isinstance(self._speculation, Recomputed):
            message = "the snapshot is of engine 'reference', or this is, and the other one is not"
            raise UsageError("CEP607", message, "restore it with the engine that it was taken with")
        self._speculating.until = self._history.own.lifetime.until
        with telling_damage():
            self._speculating.load(header, header["speculation"], source)
        self._pipeline = self._speculating.head
        if "record" in header:
            self._record = EventLog(self._opened.schema)
            self._record.load(header["record"], source)

    def _retype(self, columns: pa.Schema) -> None:
        flat = FlatSink()
        header = self.save(flat)
        self._take_up(columns, header, retype(header, flat, self._open(columns)))
