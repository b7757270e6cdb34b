"""Rules each on its own, as pipelines on one stream: for what no other tier can run. Kernels are shared by shape."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from cepheid.engine.encoding.batch import Batch
from cepheid.engine.machines.protocol import KeptRows
from cepheid.engine.many.protocol import RuleMatches
from cepheid.engine.many.rules import Template, values_of
from cepheid.engine.matches.matches import Matches
from cepheid.engine.program import QueryCache, compile_program
from cepheid.engine.stream.lifetime import Lifetime
from cepheid.engine.stream.parts import FlatSink, FlatSource, Header
from cepheid.engine.stream.pipeline import Pipeline, PlansFactory
from cepheid.engine.stream.rows import arrival_of
from cepheid.engine.stream.shared_stream import SharedStream, StreamReader
from cepheid.engine.stream.snapshot import load_pipeline, write_pipeline
from cepheid.pattern.algebra.flow import is_hidden
from cepheid.pattern.binding.schema import Roles, Schema

if TYPE_CHECKING:
    from cepheid.engine.planning.compiled_query import CompiledQuery


class Alone:
    """The rules of one template, each on its own; they share the events and what is made of them."""

    reloads = False

    def __init__(
        self, number: int, template: Template, roles: Roles, schema: Schema, factory: PlansFactory, *, once: bool
    ) -> None:
        self._number = number
        self._template = template
        self._roles = roles
        self._schema = schema
        self._factory = factory
        self._once = once
        self._rules: dict[int, StreamReader] = {}
        self._streams: list[SharedStream] = []
        self._apart: bool | None = None  # whether each rule has a stream of its own, once that is known
        self._shape: CompiledQuery | None = None
        self._events = 0

    def add(self, numbers: np.ndarray, constants: pa.Table, at: int | None, kind: object = None) -> None:
        """Add rules, each in a pipeline of its own that sees the events after `at`."""
        each = values_of(constants, self._template.parameters, len(numbers))
        for number, values in zip(numbers, each, strict=True):
            cache = self._compiled(values)
            self._rules[int(number)] = self._reader(cache, Lifetime(at), self._stream_for(cache))

    def _compiled(self, values: Mapping[str, object]) -> QueryCache:
        template = self._template
        params = {**(template.params or {}), **values}
        cache = QueryCache(compile_program(template.program, params, self._roles, template.functions or {}, ""))
        if len(cache.program.queries) == 1:
            cache.learn(self._schema, [] if self._shape is None else [self._shape])
            self._shape = self._shape or cache.query(0, self._schema)
        return cache

    def _stream_for(self, cache: QueryCache) -> SharedStream:
        """The stream that rules share; one of its own where columns say which arcs of this rule there are."""
        if self._apart is None:  # which does not depend on constants
            several = len(cache.program.queries) > 1
            self._apart = several or cache.query(0, self._schema).lasting.settled is not None
        functions = None if self._apart else cache.program.functions
        if not self._apart:
            for shared in self._streams:
                if shared.functions is not None:
                    return shared
        self._streams.append(SharedStream.of(self._schema, functions, once=self._once))
        return self._streams[-1]

    def _reader(self, cache: QueryCache, lifetime: Lifetime, shared: SharedStream) -> StreamReader:
        events, since = shared.stream, lifetime.since
        pipeline = Pipeline(cache, self._factory, self._schema, once=self._once, events=events, since=since)
        reader = StreamReader(pipeline, lifetime)
        shared.add(reader)
        return reader

    def remove(self, numbers: np.ndarray, at: int) -> None:
        """Rules that see no event after a time."""
        for number in map(int, numbers):
            if number in self._rules:
                reader = self._rules[number]
                reader.lifetime = Lifetime(reader.lifetime.since, at)

    def settle_rules(self) -> None:
        """Each is where it runs."""

    def feed(self, batch: Batch) -> None:
        """Called with each batch in the order of time; `settle` reads it."""
        self._events += len(batch)
        arrival = arrival_of(self._schema, batch.table, batch.times)
        for shared in self._streams:
            shared.stream.arrivals.add(arrival)

    def settle(self, watermark: int | None, rows: KeptRows) -> list[RuleMatches]:
        """The matches that became certain."""
        emitted: dict[int, list[Matches]] = {}
        for shared in self._streams:
            emitted |= zip(map(id, shared.readers), shared.advance(watermark), strict=True)
        matched: list[RuleMatches] = []
        for number, reader in self._rules.items():
            matches = self._named(reader.pipeline, emitted[id(reader)])
            if len(matches):
                matched.append(RuleMatches(self._number, np.full(len(matches), number), matches))
        if any(reader.is_over for reader in self._rules.values()):
            self._rules = {number: reader for number, reader in self._rules.items() if not reader.is_over}
            for shared in self._streams:
                shared.drop_over()
            self._streams = [shared for shared in self._streams if shared.readers]
        return matched

    @staticmethod
    def _named(pipeline: Pipeline, emitted: list[Matches]) -> Matches:
        names = zip(pipeline.program.names, emitted, strict=True)
        return emitted[-1].with_outputs({name: matches for name, matches in names if not is_hidden(name)})

    def deadline(self) -> int | None:
        """The first time of all pipelines, or at which a rule ends."""
        moments = [time for reader in self._rules.values() for time in reader.pipeline.deadlines()]
        ends = (reader.lifetime.until for reader in self._rules.values())
        return min([*moments, *(until + 1 for until in ends if until is not None)], default=None)

    def compact(self, watermark: int) -> int | None:
        """The events that rules share are kept and dropped here."""
        return None

    def dump(self) -> tuple[Header, list[np.ndarray]]:
        """The pipelines, one after the other; a stream that they share is written once."""
        flat = FlatSink()
        streams: dict[int, Header] = {}
        rules: list[list[object]] = []
        for number, reader in self._rules.items():
            stream = id(reader.pipeline.events)
            saved = write_pipeline(reader.pipeline, flat, streams.get(stream))
            streams[stream] = saved["streams"][0]
            rules.append([number, reader.lifetime.since, reader.lifetime.until, saved])
        return {"rules": rules, "events": self._events}, [np.frombuffer(b"".join(flat.parts), np.uint8)]

    def load(self, facts: Header, arrays: list[np.ndarray], rows: KeptRows) -> None:
        """Restore a state of the rules that were added: those whose streams are in the same place share one."""
        source = FlatSource(memoryview(np.ascontiguousarray(arrays[0]).data).cast("B"))
        self._events = facts["events"]
        streams: dict[str, SharedStream] = {}
        for number, since, until, header in facts["rules"]:
            if number not in self._rules:
                continue
            place = repr(header["streams"][0])
            is_known = place in streams
            if not is_known:
                functions = next(s.functions for s in self._streams if self._rules[number] in s.readers)
                streams[place] = SharedStream.of(self._schema, functions, once=self._once)
            cache = self._rules[number].pipeline.cache
            reader = self._rules[number] = self._reader(cache, Lifetime(since, until), streams[place])
            load_pipeline(header, source, reader.pipeline, has_events=is_known)
        kept = set(map(id, self._rules.values()))
        for shared in self._streams:  # of rules that came after the state
            shared.readers = [reader for reader in shared.readers if id(reader) in kept]
        self._streams = [*streams.values(), *(shared for shared in self._streams if shared.readers)]

    def counters(self) -> Mapping[str, int]:
        """Every rule is touched by every event."""
        queries = [query for reader in self._rules.values() for query in reader.pipeline.queries]
        machines = [query.machine for query in queries if query.machine is not None]
        return {
            "rules": len(self._rules),
            "events": self._events,
            "runs": sum(machine.runs for machine in machines),
            "state_bytes": sum(machine.state_bytes() for machine in machines),
        }
