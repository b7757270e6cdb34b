"""The events that a CESAR expression gives, as the matches of a query that reads them: one row, one match."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import ClassVar

from cepheid.errors import BindError, Span
from cepheid.front.cesar.bound import BoundTerm, Iteration, Sequence, terms
from cepheid.front.cesar.linear import EventAutomaton, attributes_with, build_linear, keys_of, longest
from cepheid.front.relevance import EventRole, Relevance
from cepheid.front.runnable import Body, BoundQuery, Result
from cepheid.front.sase.bind import PatternBody
from cepheid.pattern.algebra.flow import is_hidden
from cepheid.pattern.binding.schema import END as MATCH_END
from cepheid.pattern.binding.schema import START as MATCH_START
from cepheid.pattern.binding.schema import Roles, Schema
from cepheid.pattern.expressions import nodes as ex
from cepheid.pattern.expressions.types import Type
from cepheid.pattern.tree.nodes import Language
from cepheid.pattern.tree.partitioning import Partitioning

EVENT = "m"
"""The variable of the row that is a match."""
TIME, BEGAN = "end", "start"
"""The columns of such a row that are its times; its attributes are columns with numbers."""


@dataclass(frozen=True)
class BoundAlgebra(Body):
    """A CESAR expression on events of a schema, and what its results are called (`bound_algebra`)."""

    language: ClassVar[Language] = Language.CESAR
    ordered: ClassVar[bool] = False

    term: BoundTerm
    linear: bool  # one automaton can run it
    automaton: EventAutomaton  # the expression, if its right operands are base streams
    names: tuple[str, ...]  # of the columns, in the order of the attributes
    columns: tuple[str, ...]  # that may split the stream
    copied: Mapping[str, str]  # columns of composite events, and those of events that they are known to equal
    origins: Mapping[str, tuple[str | None, str]]  # the stream and the column that an attribute comes from
    keys: tuple[str, ...]  # the columns that split the stream: every wait asks for the value that the instance has
    waits: bool = False

    @property
    def single(self) -> bool:
        """Whether one event alone can be a result."""
        return any(edge.target is None for edge in self.automaton.leaving(None))

    @property
    def types(self) -> tuple[Type, ...]:
        """The types of the columns."""
        return tuple(self.term.types.values())

    def expressions(self) -> Iterator[ex.Expression]:
        """What edges test and compute."""
        for edge in self.automaton.edges:
            yield from (*edge.fence, *edge.values.values())

    def with_automaton(self, automaton: EventAutomaton, *, columns: tuple[str, ...] = ()) -> BoundAlgebra:
        """The same run by another automaton. columns: others that may split the stream."""
        columns = (*columns, *self.columns)
        return replace(self, automaton=automaton, columns=columns, keys=keys_of(automaton, columns, self.copied))

    def partitions(self, query: BoundQuery) -> Partitioning:
        """By its keys; an event without a value is a result only where it is one alone."""
        return Partitioning(self.keys, (), True) if self.single else Partitioning((), self.keys, True)

    def relevance(self, query: BoundQuery) -> Relevance:
        """The events of the types that edges name."""
        named = {edge.type for edge in self.automaton.edges}
        types = frozenset(str(name) for name in named) if self.linear and None not in named else None
        return Relevance(types, (EventRole(None, (), ()),))

    def span(self, query: BoundQuery) -> int | None:
        """What conditions on DUR allow."""
        ticks = longest(self.automaton, points=query.schema.start is None) if self.linear else None
        return None if ticks is None else max(ticks, 0) + 1

    def results(self, query: BoundQuery) -> BoundQuery:
        """The query of its results: each is one row of values."""
        schema = result_schema(self, query.schema)
        derived = is_hidden(query.into) and self.linear
        columns = dict(zip(self.term.types, self.names, strict=True))
        return BoundQuery(
            body=PatternBody(),
            schema=schema,
            pattern=query.pattern,
            components=query.components,
            layout=query.layout,
            strategies=query.strategies,
            placement=query.placement,
            functions=query.functions,
            typer=replace(query.typer, schema=schema),
            reads=query.reads,
            returns=tuple(Result(*value) for value in result_values(self)),
            into=query.into,
            output=query.output,
            ties=query.ties,
            made=True,
            copies=self.copies() if derived else {},
            origins={columns[name]: origin for name, origin in self.origins.items()} if derived else {},
        )

    def copies(self) -> dict[str, str]:
        """The columns of results that have a key, and the column of that key in the events."""
        copies: dict[str, str] = {}
        for key in self.keys:
            holding = attributes_with(self.automaton, key, self.copied)
            attributes = zip(self.term.types, self.names, strict=True)
            named = (column for attribute, column in attributes if attribute in holding)
            copies |= dict.fromkeys(named, self.copied.get(key, key))
        return copies


def algebra_in(query: BoundQuery) -> BoundAlgebra:
    """The expression of a query that is known to be one."""
    assert isinstance(query.body, BoundAlgebra)
    return query.body


def bound_algebra(
    term: BoundTerm,
    names: tuple[str, ...],
    columns: tuple[str, ...],
    copied: Mapping[str, str],
    origins: Mapping[str, tuple[str | None, str]],
) -> BoundAlgebra:
    """An expression with its automaton, if one can run it, and the keys that follow from that."""
    waits = (wait for wait in terms(term) if isinstance(wait, Sequence | Iteration))
    linear = not any(isinstance(part, Sequence | Iteration) for wait in waits for part in terms(wait.right))
    automaton = build_linear(term) if linear else EventAutomaton((), ())
    keys = keys_of(automaton, columns, copied) if linear else ()
    return BoundAlgebra(term, linear, automaton, names, columns, copied, origins, keys)


def column_of(number: int) -> str:
    """The column of an attribute in the rows of results."""
    return f"a{number}"


def result_columns(types: Mapping[str, Type], into: str | None, roles: Roles, span: Span | None) -> tuple[str, ...]:
    """The names of attributes as columns: a dot becomes an underscore."""
    if is_hidden(into):
        return tuple(f"{into}.{name}" for name in types)
    taken = {MATCH_START: "the start", MATCH_END: "the end"}
    if into is not None:
        taken |= {roles.time: "the time", roles.type or "type": "the type"}
    for name in types:
        column = name.replace(".", "_")
        if column in taken:
            message = f"the column '{column}' would be {taken[column]} of a result and its attribute '{name}'"
            if "'" in taken[column]:
                message = f"{taken[column]} and '{name}' would both be the column '{column}'"
            raise BindError("CEP320", message, f"rename it: RENAME[{name} -> other](…)", span)
        taken[column] = f"'{name}'"
    return tuple(name.replace(".", "_") for name in types)


def result_schema(bound: BoundAlgebra, schema: Schema) -> Schema:
    """The schema of the rows of results."""
    time = schema.columns[schema.roles.time]
    columns = {TIME: time, BEGAN: time, **{column_of(k): type_ for k, type_ in enumerate(bound.types)}}
    return Schema(columns, Roles(time=TIME, type=None, unit=schema.roles.unit), BEGAN)


def result_values(bound: BoundAlgebra) -> tuple[tuple[str, ex.Expression, Type], ...]:
    """The columns of a result, as attributes of its row."""
    return tuple(
        (name, ex.Attribute(EVENT, ex.Index.ONE, column_of(k)), type_)
        for k, (name, type_) in enumerate(zip(bound.names, bound.types, strict=True))
    )
