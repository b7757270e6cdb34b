"""The events that a CESAR expression gives, as the matches of a query that reads them: one row, one match."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

from cepheid.errors import BindError, Span
from cepheid.pattern.algebra.bound import BoundTerm, Iteration, Sequence, terms
from cepheid.pattern.algebra.flow import is_hidden
from cepheid.pattern.algebra.linear import EventAutomaton, attributes_with, build_linear, keys_of
from cepheid.pattern.binding.schema import END as MATCH_END
from cepheid.pattern.binding.schema import START as MATCH_START
from cepheid.pattern.binding.schema import Roles, Schema
from cepheid.pattern.expressions import nodes as ex
from cepheid.pattern.expressions.types import Type

EVENT = "m"
"""The variable of the row that is a match."""
TIME, BEGAN = "end", "start"
"""The columns of such a row that are its times; its attributes are columns with numbers."""


@dataclass(frozen=True)
class BoundAlgebra:
    """A CESAR expression on events of a schema, and what its results are called."""

    term: BoundTerm
    names: tuple[str, ...]  # of the columns, in the order of the attributes

    columns: tuple[str, ...]  # that may split the stream
    copied: Mapping[str, str]  # columns of composite events, and those of events that they are known to equal

    origins: Mapping[str, tuple[str | None, str]]  # the stream and the column that an attribute comes from
    flat: EventAutomaton | None = None  # the automaton as kernels see it

    @cached_property
    def automaton(self) -> EventAutomaton:
        """The expression as an automaton, if its right operands are base streams."""
        return self.flat or build_linear(self.term)

    @property
    def linear(self) -> bool:
        """Whether one automaton can run it."""
        waits = (one for one in terms(self.term) if isinstance(one, Sequence | Iteration))
        return not any(isinstance(part, Sequence | Iteration) for one in waits for part in terms(one.right))

    @cached_property
    def keys(self) -> tuple[str, ...]:
        """The columns that split the stream: every wait asks for the value that the instance has."""
        return keys_of(self.automaton, self.columns, self.copied)

    @cached_property
    def copies(self) -> dict[str, str]:
        """The columns of results that have a key, and the column of that key in the events."""
        found: dict[str, str] = {}
        for key in self.keys:
            given = attributes_with(self.automaton, key, self.copied)
            named = (
                column for attribute, column in zip(self.term.types, self.names, strict=True) if attribute in given
            )
            found |= dict.fromkeys(named, self.copied.get(key, key))
        return found

    @cached_property
    def single(self) -> bool:
        """Whether one event alone can be a result."""
        return any(edge.target is None for edge in self.automaton.leaving(None))

    @cached_property
    def types(self) -> tuple[Type, ...]:
        """The types of the columns."""
        return tuple(self.term.types.values())


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
