"""The CESAR algebra by its definition: streams as sets of events (S19 to S21)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

import pyarrow as pa

from cepheid.front.cesar import bound as b
from cepheid.front.cesar.result import algebra_in
from cepheid.front.runnable import Runnable
from cepheid.pattern.algebra.attributes import END, START, last_of
from cepheid.pattern.expressions import nodes as ex
from cepheid.pattern.expressions.types import Type
from cepheid.values.bindings import Bindings
from cepheid.values.evaluate import Compiler
from cepheid.values.facts import Fact, Stream, fact_of, plain_zero, stream_of
from cepheid.values.fields import as_field, calls_own
from cepheid.values.rows import Event, read_rows
from cepheid.values.value import Value

Scope = Mapping[str, Value]
"""What an expression reads: attributes, those of the step before, and the times."""


def interpret_algebra(query: Runnable, table: pa.Table) -> list[Fact]:
    """The results of a CESAR expression on a table of its schema."""
    return list(AlgebraReference(query, table).stream(algebra_in(query).term).values())


class AlgebraReference:
    """The operators as set comprehensions, over the events of one table."""

    def __init__(self, query: Runnable, table: pa.Table) -> None:
        self.tools = Tools(query)
        self.events = read_rows(table, query.schema)

    def stream(self, term: b.BoundTerm) -> Stream:
        """The events of a stream."""
        match term:
            case b.Base():
                return stream_of(
                    self.tools.based(term, event) for event in self.events if self.tools.is_of(term, event)
                )
            case b.Selected(of=of, condition=condition):
                holds = self.tools.condition(condition)
                return stream_of(e for e in self.stream(of).values() if holds(e.scope))
            case b.Reshaped(of=of, values=values):
                give = self.tools.giver(values, term.types)
                return stream_of(Fact(give(e.scope), e.start, e.end) for e in self.stream(of).values())
            case b.United(left=left, right=right):
                return {**self.stream(left), **self.stream(right)}
            case b.Sequence(left=left, right=right, condition=condition):
                holds, others = self.tools.condition(condition), self.stream(right)
                return stream_of(e for first in self.stream(left).values() for e in following(first, others, holds))
            case b.Iteration():
                return self.iterated(term)
        raise TypeError(f"no stream: {term!r}")

    def iterated(self, term: b.Iteration) -> Stream:
        """The union of S[1], S[2], … (S21)."""
        step, others = IterationStep(self.tools, term), self.stream(term.right).values()
        runs: list[tuple[Fact, Scope]] = [(e, step.first(e.scope)) for e in self.stream(term.left).values()]
        results: Stream = {}
        while runs:
            made = stream_of(new for run, held in runs for new in step.taken(run, held, others))
            runs = [(new, step.held(new)) for new in made.values()]
            results |= made
        return results


def following(fact: Fact, others: Stream, holds: Callable[[Scope], bool]) -> list[Fact]:
    """S20: the concatenations with the events of least end, all that tie."""
    joined = [Fact({**fact.values, **e.values}, fact.start, e.end) for e in others.values() if e.start > fact.end]
    candidates = [e for e in joined if holds(e.scope)]
    first = min((e.end for e in candidates), default=0)
    return [e for e in candidates if e.end == first]


class IterationStep:
    """A step of an iteration. A run is the event so far, and what the next step reads of it."""

    def __init__(self, tools: Tools, term: b.Iteration) -> None:
        self.term = term
        self.holds = tools.condition(term.condition)
        self.first = tools.giver(term.begins, term.held)
        self.steps: list[tuple[bool, Callable[[Scope], object]]] = []
        for step in term.steps:
            if isinstance(step, b.Keep):
                self.steps.append((True, tools.condition(step.condition)))
            else:
                self.steps.append((False, tools.giver(step.values, None)))

    def taken(self, run: Fact, held: Scope, events: Iterable[Fact]) -> list[Fact]:
        """What the next events make of a run: concatenate, θ, F from inner to outer, drop `.last`."""
        carried = {name: held[name] for name in self.term.carried}
        lasts = {last_of(name): value for name, value in held.items()}
        joined = [(e, {**carried, **e.values}) for e in events if e.start > run.end]
        steps = [(e, values, {**lasts, START: run.start, END: e.end}) for e, values in joined]
        candidates = [step for step in steps if self.holds({**step[1], **step[2]})]
        first = min((e.end for e, _, _ in candidates), default=0)
        results = (self.made(values, more) for e, values, more in candidates if e.end == first)
        return [Fact(values, run.start, first) for values in results if values is not None]

    def made(self, values: Scope, more: Scope) -> Scope | None:
        """F: None where a condition of it is not TRUE."""
        for keeps, apply in self.steps:
            attributes = apply({**values, **more})
            if keeps and not attributes:
                return None
            if not keeps:
                assert isinstance(attributes, dict)
                values = attributes
        return values

    def held(self, made: Fact) -> Scope:
        """What the next step reads of what a step has made."""
        return {name: made.values[of] for name, of in self.term.handed.items()}


class Tools:
    """The expressions of a query as functions, and its events as facts."""

    def __init__(self, query: Runnable) -> None:
        self.query = query
        self.compiler = Compiler(query, output=True)
        self.tick = query.schema.tick

    def is_of(self, term: b.Base, event: Event) -> bool:
        """Whether an event is of a base stream."""
        return term.type is None or event.type == term.type

    def based(self, term: b.Base, event: Event) -> Fact:
        """An event of a base stream."""
        return fact_of(term.columns, event, self.tick)

    def condition(self, node: ex.Expression) -> Callable[[Scope], bool]:
        """Whether a condition is TRUE."""
        holds = self.compiler.condition(node)
        return lambda scope: holds(Bindings({}, {}, scope))

    def giver(self, values: b.Values, types: Mapping[str, Type] | None) -> Callable[[Scope], dict[str, Value]]:
        """The attributes that are made of others; a user function need not keep to the type that it declares."""
        made = {name: (self.compiler.compile(node), node) for name, node in values.items()}
        checked = {n: types[n] for n, node in values.items() if types and calls_own(node, self.query.functions)}

        def give(scope: Scope) -> dict[str, Value]:
            bindings = Bindings({}, {}, scope)
            results = {name: plain_zero(value(bindings)) for name, (value, _) in made.items()}
            return results | {name: as_field(results[name], type_, made[name][1]) for name, type_ in checked.items()}

        return give
