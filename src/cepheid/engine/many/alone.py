"""Rules each on its own, as ordinary pipelines: for what no other tier can run. Those of one shape share kernels."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from cepheid.engine.encoding.arrow import from_numpy
from cepheid.engine.encoding.batch import Batch
from cepheid.engine.machines.protocol import KeptRows
from cepheid.engine.many.protocol import RuleMatches
from cepheid.engine.many.rules import Template, values_of
from cepheid.engine.matches.matches import Matches
from cepheid.engine.program import QueryCache, compile_program
from cepheid.engine.stream.parts import FlatSink, FlatSource
from cepheid.engine.stream.pipeline import Pipeline, PlansFactory
from cepheid.engine.stream.rows import arrival_of
from cepheid.engine.stream.snapshot import load_pipeline, write_pipeline
from cepheid.pattern.algebra.flow import is_hidden
from cepheid.pattern.binding.schema import Roles, Schema

if TYPE_CHECKING:
    from cepheid.engine.planning.compiled_query import CompiledQuery


@dataclass
class _Rule:
    pipeline: Pipeline
    since: int | None
    until: int | None = None

    def sees(self, times: Any) -> Any:
        """Which times are in its lifetime; None: all."""
        if self.since is None and self.until is None:
            return None
        seen: Any = np.ones(len(times), bool)
        if self.since is not None:
            seen &= times > self.since
        if self.until is not None:
            seen &= times <= self.until
        return None if seen.all() else seen


class Alone:
    """The rules of one template, each on its own."""

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
        self._rules: dict[int, _Rule] = {}
        self._shape: CompiledQuery | None = None
        self._fed: list[Batch] = []
        self._events = 0

    def add(self, numbers: np.ndarray, constants: pa.Table, at: int | None, kind: object = None) -> None:
        """Add rules, each in a pipeline of its own that sees the events after `at`."""
        made = {
            int(number): _Rule(self._pipeline(values), at)
            for number, values in zip(
                numbers, values_of(constants, self._template.parameters, len(numbers)), strict=True
            )
        }
        self._rules |= made

    def _pipeline(self, values: Mapping[str, object]) -> Pipeline:
        template = self._template
        params = {**(template.params or {}), **values}
        cache = QueryCache(compile_program(template.program, params, self._roles, template.functions or {}, ""))
        if len(cache.program.queries) == 1:
            cache.learn(self._schema, [] if self._shape is None else [self._shape])
            self._shape = self._shape or cache.query(0, self._schema)
        return Pipeline(cache, self._factory, self._schema, once=self._once)

    def remove(self, numbers: Any, at: int) -> None:
        """Rules that see no event after a time."""
        for number in map(int, numbers):
            if number in self._rules:
                self._rules[number].until = at

    def settle_rules(self) -> None:
        """Each is where it runs."""

    def feed(self, batch: Batch) -> None:
        """Called with each batch in the order of time; `settle` reads it."""
        self._fed.append(batch)
        self._events += len(batch)

    def settle(self, watermark: int | None, rows: KeptRows) -> list[RuleMatches]:
        """The matches that became certain."""
        fed, self._fed = self._fed, []
        matched: list[RuleMatches] = []
        over: list[int] = []
        for number, rule in self._rules.items():
            for batch in fed:
                seen = rule.sees(batch.times)
                table, times = batch.table, batch.times
                if seen is not None:
                    table, times = table.filter(from_numpy(seen)), times[seen]
                rule.pipeline.push(arrival_of(self._schema, table, times))
            ended = rule.until is not None and (watermark is None or watermark > rule.until)
            emitted = rule.pipeline.advance(None, rule.until) if ended else rule.pipeline.advance(watermark)
            over += [number] if ended else []
            matches = self._named(rule.pipeline, emitted)
            if len(matches):
                matched.append(RuleMatches(self._number, np.full(len(matches), number), matches))
        for number in over:
            del self._rules[number]
        return matched

    @staticmethod
    def _named(pipeline: Pipeline, emitted: list[Matches]) -> Matches:
        names = zip(pipeline.program.names, emitted, strict=True)
        return emitted[-1].with_outputs({name: matches for name, matches in names if not is_hidden(name)})

    def deadline(self) -> int | None:
        """The first time of all pipelines, or at which a rule ends."""
        moments = [time for rule in self._rules.values() for time in rule.pipeline.deadlines()]
        moments += [rule.until + 1 for rule in self._rules.values() if rule.until is not None]
        return min(moments, default=None)

    def compact(self, watermark: int) -> int | None:
        """Each pipeline keeps its own rows, and drops them itself."""
        return None

    def dump(self) -> tuple[dict[str, Any], list[Any]]:
        """The pipelines, one after the other."""
        flat = FlatSink()
        rules = [[number, rule.since, rule.until, write_pipeline(rule.pipeline, flat)] for number, rule in self._each()]
        body = b"".join(flat.parts)
        return {"rules": rules, "events": self._events}, [np.frombuffer(body, np.uint8)]

    def _each(self) -> Iterator[tuple[int, _Rule]]:
        yield from self._rules.items()

    def load(self, facts: dict[str, Any], arrays: list[Any], rows: KeptRows) -> None:
        """Take up a state of the rules that were added."""
        source = FlatSource(memoryview(np.ascontiguousarray(arrays[0]).data).cast("B"))
        self._events = facts["events"]
        for number, since, until, header in facts["rules"]:
            if number in self._rules:
                rule = self._rules[number]
                rule.since, rule.until = since, until
                load_pipeline(header, source, rule.pipeline)

    def counters(self) -> Mapping[str, int]:
        """Every rule is touched by every event."""
        queries = [query for rule in self._rules.values() for query in rule.pipeline.queries]
        machines = [query.machine for query in queries if query.machine is not None]
        return {
            "rules": len(self._rules),
            "events": self._events,
            "runs": sum(machine.runs for machine in machines),
            "state_bytes": sum(machine.state_bytes() for machine in machines),
        }
