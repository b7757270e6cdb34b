"""What was promised of events to come (S17a), and what a session makes of it."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pyarrow as pa

from cepheid.engine.encoding.arrow import from_numpy
from cepheid.engine.encoding.few_events import Events, as_table
from cepheid.engine.encoding.partition_times import PartitionTimes
from cepheid.engine.encoding.times import from_ticks
from cepheid.engine.session.signed_rows import Flags, Times
from cepheid.engine.stream.late import LateFilter
from cepheid.engine.stream.parts import Header
from cepheid.engine.stream.pipeline import Pipeline
from cepheid.engine.stream.promises import Promise, Promises
from cepheid.engine.stream.rows import Arrival, arrival_of
from cepheid.errors import InputError, UsageError
from cepheid.front.runnable import Runnable
from cepheid.language import parse_expression, print_expression
from cepheid.pattern.expressions import nodes as ex
from cepheid.pattern.tree.flow import EVENTS
from cepheid.pattern.tree.walk import conjuncts
from cepheid.values.keys import group_key
from cepheid.values.value import Value


class PromiseBook:
    """The promises of a session that the watermark has not passed yet.

    A session calls `add` for a promise, then `reached` whenever it moves, and `kept` or `broken` and `idle` for events
    that are not late. It passes the pipeline of its own query, whose columns may have got types since.

    certain: how far the session is by promises, where that is ahead of the watermark.
    are_made: whether there was any promise, so that the others have to be called.
    """

    def __init__(self) -> None:
        self.certain: int | None = None
        self.are_made = False
        self._trusted: Promises | None = None  # that the session goes by
        self._untrusted: Promises | None = None  # that only tell which rows are late

    def add(self, promise: Promise, pipeline: Pipeline, *, trusted: bool) -> None:
        """One more promise. trusted: more follows from it than which events are late."""
        self.are_made = True
        if trusted:
            self.trusted(pipeline).add(promise)
            return
        if self._untrusted is None:
            self._untrusted = _promises_of(pipeline)
        self._untrusted.add(promise)

    def trusted(self, pipeline: Pipeline) -> Promises:
        """The promises that the session goes by, for the columns as they are, and the queries as they were then."""
        if self._trusted is None:
            self._trusted = _promises_of(pipeline)
        elif self._trusted.schema != pipeline.schema.arrow:  # a column has got a type
            earlier, self._trusted = self._trusted, _promises_of(pipeline)
            for promise in earlier.made.values():
                self._trusted.add(
                    bound_promise(promise.before, promise.source, promise.key is not None, self._trusted.queries[0])
                )
        return self._trusted

    @property
    def latest(self) -> int | None:
        """Until when promises hold that the session goes by."""
        return self._trusted.latest if self._trusted else None

    def reached(self, watermark: int | None, pipeline: Pipeline) -> int | None:
        """How far the session is: the watermark, or a later time before which nothing that matters can come."""
        if watermark is not None:
            if self._untrusted is not None:
                self._untrusted.forget(watermark)
            if self.certain is not None and self.certain <= watermark:
                self.certain = None
        if self._trusted is not None:
            promises = self.trusted(pipeline)
            if watermark is not None:
                promises.forget(watermark)
            time = promises.reached(watermark)
            if time is not None and time != watermark:
                self.certain = time if self.certain is None else max(time, self.certain)
            if not promises:
                self._trusted = None  # what was promised has come about
        return watermark if self.certain is None else self.certain

    def kept(self, arrival: Arrival, late: LateFilter, watermark: int | None, pipeline: Pipeline) -> Kept:
        """The events of an arrival that break no promise, and those of them that are to be read."""
        if not arrival.count or (not self._trusted and not self._untrusted):
            return arrival, arrival
        arrivals = pipeline.events.arrivals
        events, times = arrivals.read(arrival)
        broken = self.broken(events, times, late.policy, pipeline)
        if broken is not None:
            table = as_table(events)
            late.put_aside(table.filter(from_numpy(broken)))
            events, times = table.filter(from_numpy(~broken)), times[~broken]
            arrival = arrival_of(arrivals.schema, events, times)
        idle = self.idle(events, times, watermark, pipeline)
        if idle is None:
            return arrival, arrival
        return arrival, arrival_of(arrivals.schema, as_table(events).filter(from_numpy(~idle)), times[~idle])

    def broken(self, events: Events, times: Times, policy: str, pipeline: Pipeline) -> Flags | None:
        """Which events break a promise; None if none does. Where that is an error, it is raised."""
        breaches = list(self._all_broken(events, times, pipeline))
        if not breaches:
            return None
        flags: Flags = np.logical_or.reduce([some for some, _ in breaches])
        if policy == "error":
            _, first = min(breaches, key=lambda pair: int(pair[0].argmax()))
            raise _broken_promise(as_table(events), flags, times, first, pipeline)
        return flags

    def _all_broken(self, events: Events, times: Times, pipeline: Pipeline) -> Iterator[tuple[Flags, Promise]]:
        if self._trusted is not None:
            yield from self.trusted(pipeline).broken(events, times)
        if self._untrusted:
            yield from self._untrusted.broken(events, times)

    def idle(self, events: Events, times: Times, watermark: int | None, pipeline: Pipeline) -> Flags | None:
        """Which events do nothing, as no arc can take them where promises have brought the session; None if none."""
        if self._trusted is None or not len(times):
            return None
        flags: Flags = np.zeros(len(times), bool)
        if self.certain is not None:
            flags |= times < self.certain
        partitions = self.trusted(pipeline).partition_times(watermark)
        if partitions is not None:
            flags |= partitions.before(events, times)
        return flags if flags.any() else None

    def partition_times(self, reached: int | None, promise: Promise, pipeline: Pipeline) -> PartitionTimes | None:
        """How far the partitions that a new promise is about are ahead of the others; None if they are not."""
        return self.trusted(pipeline).partition_times(reached, promise)

    # Snapshots.

    def save(self) -> Header:
        """Promises as the header of a snapshot has them."""
        listed = [
            [print_expression(promise.source), promise.before, promise.key is not None, known is self._trusted]
            for known in (self._trusted, self._untrusted)
            for promise in (() if known is None else known.made.values())
        ]
        return {"promises": listed, "certain": self.certain} if listed or self.certain is not None else {}

    def load(self, facts: Header, pipeline: Pipeline) -> None:
        """Restore what was saved, once the queries are there."""
        self.certain = facts.get("certain")
        self.are_made = self.certain is not None
        for text, before, keyed, trusted in facts.get("promises", ()):
            if trusted:
                query = self.trusted(pipeline).queries[0]
            else:
                query = (self._untrusted or _promises_of(pipeline)).queries[0]
            self.add(bound_promise(before, parse_expression(text), keyed, query), pipeline, trusted=trusted)


Kept = tuple[Arrival, Arrival]


def _promises_of(pipeline: Pipeline) -> Promises:
    readers = [query.query for query in pipeline.readers(EVENTS)]
    return Promises(readers, every=any(None in source and source != EVENTS for source in pipeline.program.sources))


def bound_promise(before: int, source: ex.Expression, keyed: bool, query: Runnable) -> Promise:
    """A promise for the columns that a query reads."""
    condition = query.typer.condition(source)
    key = {name: value for atom in conjuncts(condition) for name, value in [_key_of(atom)]} if keyed else None
    text = print_expression(source)
    return Promise(before, condition, source, text.replace("e.", "") if keyed else text, key)


def _key_of(atom: ex.Expression) -> tuple[str, Value]:
    match atom:
        case ex.Compare("=", ex.Attribute(name=name), ex.Literal(value=value)):
            return name, group_key(value)
        case ex.IsNull(ex.Attribute(name=name), False):
            return name, None
    remedy = "give a value of the type of the column, or write a condition on e"
    raise UsageError("CEP603", f"{print_expression(atom)} is not a value of a column", remedy)


def _broken_promise(table: pa.Table, broken: Flags, times: Times, promise: Promise, pipeline: Pipeline) -> InputError:
    row, schema = int(broken.argmax()), pipeline.schema
    many = f"{int(broken.sum())} of {table.num_rows} events break a promise"
    what = f"no event with {promise.text} comes before {from_ticks(schema, promise.before)}"
    message = f"{many}, the first in row {row} ({from_ticks(schema, int(times[row]))}): {what}"
    remedy = 'punctuate later, or open the session with late="drop" or late="collect"'
    return InputError("CEP408", message, remedy)
