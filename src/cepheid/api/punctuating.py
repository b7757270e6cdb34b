"""Promises about events to come (S17a): what is read of them, and what a session makes of them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import pyarrow as pa

from cepheid.builder.columns import Column
from cepheid.engine.encoding.arrow import from_numpy
from cepheid.engine.encoding.few_events import Events, as_table
from cepheid.engine.encoding.times import from_ticks, to_ticks
from cepheid.engine.stream.late import LateFilter
from cepheid.engine.stream.pipeline import Pipeline
from cepheid.engine.stream.promises import Promise, Promises
from cepheid.engine.stream.rows import Arrival, arrival_of
from cepheid.errors import BindError, InputError, UsageError, did_you_mean
from cepheid.front.runnable import Runnable
from cepheid.language import parse_expression, print_expression
from cepheid.pattern.expressions import nodes as ex
from cepheid.pattern.expressions.parameters import literal
from cepheid.pattern.tree.flow import EVENTS
from cepheid.pattern.tree.walk import conjuncts, walk
from cepheid.plan.taken import E
from cepheid.values.keys import group_key
from cepheid.values.value import Value

_OF_MATCHES = (
    ex.RegisterField,
    ex.Rows,
    ex.Length,
    ex.AggregateCall,
    ex.Quantified,
    ex.SameValue,
    ex.MatchId,
    ex.InSet,
)
_EXAMPLES = """write {"symbol": "A"}, or a condition on the event e such as "e.type = 'Exit'\""""


class Punctuating(ABC):
    """What a session does with promises."""

    _late: LateFilter
    _pipeline: Pipeline | None
    _watermark: int | None
    _promises: Promises | None = None  # that the session goes by
    _untrusted: Promises | None = None  # that only tell which rows are late
    _certain: int | None = None  # how far the session is by promises, where that is ahead of the watermark

    @abstractmethod
    def _check_open(self) -> None:
        """Refuse to go on with a session that is closed."""

    @abstractmethod
    def _keep_promise(self, promise: Promise | None) -> Any:
        """Give what a promise has made certain; None: one that says nothing new."""

    @property
    @abstractmethod
    def _begun(self) -> bool:
        """Whether the columns are known for good."""

    def punctuate(self, before: object, where: Mapping[str, object] | str | Column) -> Any:
        """Promise that no event to come that satisfies a condition is before a time. Returns what `push` returns.

        where: columns and their values, `{"symbol": "A"}`, or a condition on the event `e`, as text or of the builder.
        An event that breaks a promise is late. Where a promise is about all events that could still matter, matches are
        given earlier, and what they needed is let go of.

        >>> from cepheid import Query
        >>> s = Query("PATTERN SEQ(A a, !(N n), B b) WHERE [id] RETURN a.id AS id").session()
        >>> s.push([{"ts": t, "type": k, "id": i} for t, k, i in [(1, "A", 7), (2, "A", 8), (3, "B", 7), (4, "B", 8)]])
        <0 matches: match_start, match_end, id>
        >>> s.punctuate(4, {"id": 7})
        <1 match>
        match_start  match_end  id
        1            3          7
        """
        self._check_open()
        if self._pipeline is None or not self._begun:
            remedy = "push events first: they define the columns that a promise is about"
            raise UsageError("CEP606", "punctuate was called before the first event", remedy)
        time = to_ticks(self._pipeline.schema, before)
        source, keyed = _read(where, self._pipeline.schema.columns)
        promise = _bound(time, source, keyed, self._pipeline.readers(EVENTS)[0].query)
        if self._watermark is not None and time <= self._watermark:
            return self._keep_promise(None)
        if not self._trusts:
            self._untrusted = self._untrusted or _for(self._pipeline)
            self._untrusted.add(promise)
            return self._keep_promise(None)
        self._trusted.add(promise)
        return self._keep_promise(promise)

    # Promises.

    @property
    def _trusted(self) -> Promises:
        """The promises that the session goes by, for the columns as they are now, and the queries as they were then."""
        assert self._pipeline is not None
        if self._promises is None:
            self._promises = _for(self._pipeline)
        elif self._promises.schema != self._pipeline.schema.arrow:  # a column has got a type
            old, self._promises = self._promises, _for(self._pipeline)
            for promise in old.made.values():
                self._promises.add(_again(promise, self._promises))
        return self._promises

    @property
    def _promised(self) -> int | None:
        """Until when promises hold that the session goes by."""
        return self._promises.latest if self._promises else None

    def _reached(self, watermark: int | None) -> int | None:
        """How far the session is: the watermark, or a later time before which nothing that matters can come."""
        if watermark is not None:
            if self._untrusted is not None:
                self._untrusted.forget(watermark)
            if self._certain is not None and self._certain <= watermark:
                self._certain = None
        if self._promises is None:
            return watermark if self._certain is None else self._certain
        known = self._trusted
        if watermark is not None:
            known.forget(watermark)
        found = known.reached(watermark)
        if found is not None and found != watermark:
            self._certain = found if self._certain is None else max(found, self._certain)
        if not known:
            self._promises = None  # what was promised has come about
        return watermark if self._certain is None else self._certain

    @property
    def _trusts(self) -> bool:
        """Whether more follows from promises than which events are late."""
        return True

    # Events.

    def _broken(self, events: Events, times: Any) -> Any:
        """Which events break a promise; None if none does. Where that is an error, it is raised."""
        found: Any = None
        first: Promise | None = None
        for flags, promise in self._all_broken(events, times):
            first = promise if first is None or flags.argmax() < found.argmax() else first
            found = flags if found is None else found | flags
        if first is not None and self._late.policy == "error":
            raise self._too_late(as_table(events), found, times, first)
        return found

    def _all_broken(self, events: Events, times: Any) -> Iterator[tuple[Any, Promise]]:
        if self._promises is not None:
            yield from self._trusted.broken(events, times)
        if self._untrusted:
            yield from self._untrusted.broken(events, times)

    def _too_late(self, table: pa.Table, found: Any, times: Any, promise: Promise) -> InputError:
        assert self._pipeline is not None
        row, schema = int(found.argmax()), self._pipeline.schema
        many = f"{int(found.sum())} of {table.num_rows} events break a promise"
        what = f"no event with {promise.text} comes before {from_ticks(schema, promise.before)}"
        message = f"{many}, the first in row {row} ({from_ticks(schema, int(times[row]))}): {what}"
        remedy = 'punctuate later, or open the session with late="drop" or late="collect"'
        return InputError("CEP408", message, remedy)

    def _idle(self, events: Events, times: Any) -> Any:
        """Which events do nothing, as no arc can take them where promises have brought the session; None if none."""
        if self._promises is None or not len(times):
            return None
        found: Any = np.zeros(len(times), bool)
        if self._certain is not None:
            found |= times < self._certain
        partitions = self._trusted.partition_times(self._watermark)
        if partitions is not None:
            found |= partitions.before(events, times)
        return found if found.any() else None

    def _kept(self, arrival: Arrival) -> tuple[Arrival, Arrival]:
        """The events of an arrival that break no promise; those of them that are to be gone over."""
        if not arrival.count or (not self._promises and not self._untrusted):
            return arrival, arrival
        assert self._pipeline is not None
        arrivals = self._pipeline.streams[EVENTS].arrivals
        events, times = arrivals.read(arrival)
        broken = self._broken(events, times)
        if broken is not None:
            table = as_table(events)
            self._late.put_aside(table.filter(from_numpy(broken)))
            events, times = table.filter(from_numpy(~broken)), times[~broken]
            arrival = arrival_of(arrivals.schema, events, times)
        idle = self._idle(events, times)
        if idle is None:
            return arrival, arrival
        return arrival, arrival_of(arrivals.schema, as_table(events).filter(from_numpy(~idle)), times[~idle])

    # Snapshots.

    def _written_promises(self) -> dict[str, Any]:
        """Promises as the header of a snapshot has them."""
        listed = [
            [print_expression(one.source), one.before, one.key is not None, known is self._promises]
            for known in (self._promises, self._untrusted)
            for one in (() if known is None else known.made.values())
        ]
        return {"promises": listed, "certain": self._certain} if listed or self._certain is not None else {}

    def _read_promises(self, facts: Mapping[str, Any]) -> None:
        """Take up what was written, once the queries are there."""
        self._certain = facts.get("certain")
        for text, before, keyed, trusted in facts.get("promises", ()):
            assert self._pipeline is not None
            if not trusted and self._untrusted is None:
                self._untrusted = _for(self._pipeline)
            known = self._trusted if trusted else self._untrusted
            assert known is not None
            known.add(_bound(before, parse_expression(text), keyed, known.queries[0]))


def _for(pipeline: Pipeline) -> Promises:
    readers = [query.query for query in pipeline.readers(EVENTS)]
    return Promises(readers, every=any(None in source and source != EVENTS for source in pipeline.program.sources))


def _again(promise: Promise, known: Promises) -> Promise:
    return _bound(promise.before, promise.source, promise.key is not None, known.queries[0])


def _read(where: object, columns: Mapping[str, Any]) -> tuple[ex.Expression, bool]:
    """What is promised, as a condition on `e`, and whether it is given as the values of columns."""
    if isinstance(where, Mapping):
        return _read_key(where, columns), True
    if isinstance(where, Column):
        found = where.expression
    elif isinstance(where, str):
        found = parse_expression(where)
    else:
        raise UsageError("CEP603", f"{where!r} does not say which events are promised not to come", _EXAMPLES)
    for node in walk(found):
        if isinstance(node, ex.Name):
            remedy = f"write e.{node.name} for a column"
            raise BindError("CEP304", f"unknown name '{node.name}' in the condition of punctuate", remedy, node.span)
        other = isinstance(node, ex.Attribute) and (node.variable != E or node.index is not ex.Index.ONE)
        if other or isinstance(node, _OF_MATCHES):
            remedy = "read nothing but columns of the event e: e.price > 10"
            raise BindError("CEP603", "the condition of punctuate is on one event to come", remedy, node.span)
    if not any(isinstance(node, ex.Attribute) for node in walk(found)):
        message = "the condition of punctuate reads no column"
        raise UsageError("CEP603", message, "if no event at all comes before a time, use advance")
    return found, False


def _read_key(where: Mapping[Any, object], columns: Mapping[str, Any]) -> ex.Expression:
    if not where:
        message = "punctuate is given no column"
        raise UsageError("CEP603", message, "if no event at all comes before a time, use advance")
    tests: list[ex.Expression] = []
    for name, value in where.items():
        if name not in columns:
            raise BindError("CEP301", f"unknown column '{name}'", did_you_mean(str(name), columns, "columns"))
        attribute = ex.Attribute(E, ex.Index.ONE, name)
        constant = literal(value, name=name)
        tests.append(ex.IsNull(attribute) if constant.value is None else ex.Compare("=", attribute, constant))
    return tests[0] if len(tests) == 1 else ex.And(tuple(tests))


def _bound(before: int, source: ex.Expression, keyed: bool, query: Runnable) -> Promise:
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
