"""A program that is ready to be run: what the API and Spark hold, and what streams are made from."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import pyarrow as pa

from cepheid.engine.matches.matches import Matches
from cepheid.pattern.analysis import Analysed
from cepheid.pattern.bind import Bound, bind
from cepheid.pattern.schema import END, START, Roles, Schema, make_schema

if TYPE_CHECKING:
    from cepheid.engine.planning.compiled_query import CompiledQuery

SCHEMAS = 4
"""How many schemas a query is kept compiled for: it is seldom run on events of many."""


@dataclass(frozen=True, slots=True)
class CompiledProgram:
    """The queries of a program, what each reads (None: the events themselves), and how columns are used."""

    queries: tuple[Analysed, ...]
    sources: tuple[str | None, ...]
    roles: Roles
    functions: Mapping[str, Callable[..., object]]
    fingerprint: str  # what a snapshot must agree with

    @property
    def names(self) -> tuple[str, ...]:
        """The name of each query's output: that of its INTO, or its number."""
        return tuple(q.query.into or f"query {number}" for number, q in enumerate(self.queries, start=1))

    @property
    def flow(self) -> list[tuple[Analysed, str | None]]:
        """Each query with the name of the stream that it reads, None for the events themselves."""
        return list(zip(self.queries, self.sources, strict=True))

    def schema(self, columns: pa.Schema) -> Schema:
        """The columns of the events, checked against the roles that the program gives them."""
        return make_schema(columns, self.roles)

    def bind_readers(self, schema: Schema) -> list[Bound]:
        """The queries that read the events themselves, bound to these."""
        return [bind(query, schema, self.functions) for query, source in self.flow if source is None]

    def bind(self, schema: Schema) -> list[Bound]:
        """Every query, bound to the events of a schema or to what other queries make of these."""
        made: dict[str | None, Schema] = {None: schema}
        bound: list[Bound] = []
        for query, source in zip(self.queries, self.sources, strict=True):
            found = bind(query, made[source], self.functions)
            bound.append(found)
            if found.into is not None:
                made[found.into] = composite_schema(composite_columns(found, self.roles), self.roles)
        return bound


class QueryCache:
    """Compiled queries of a program, by number and schema; of a schema that was not used for long, none is kept."""

    def __init__(self, program: CompiledProgram) -> None:
        self.program = program
        self._made: dict[tuple[int, bytes], CompiledQuery] = {}

    def query(self, number: int, schema: Schema) -> CompiledQuery:
        """A query that is compiled for events of a schema."""
        from cepheid.engine.planning.compiled_query import CompiledQuery  # a query can be written without a run

        key = number, schema.arrow.serialize().to_pybytes()
        if key not in self._made:
            while len(self._made) >= SCHEMAS * len(self.program.queries):
                del self._made[next(iter(self._made))]
            bound = bind(self.program.queries[number], schema, self.program.functions)
            self._made[key] = CompiledQuery(bound)
        return self._made[key]


# S13: what INTO makes.


def composite_columns(query: Bound, roles: Roles) -> pa.Schema:
    """The columns of the events that a query makes; what a user-defined function returns has no type yet."""
    time = query.schema.columns[query.schema.roles.time].arrow
    fields: dict[str, pa.DataType] = {roles.time: time, roles.type or "type": pa.string(), START: time}
    fields |= {result.name: result.type.arrow for result in query.returns}
    return pa.schema(list(fields.items()))


def composite_schema(columns: pa.Schema, roles: Roles) -> Schema:
    """The schema of composite events."""
    return make_schema(columns, replace(roles, order_by=(), types=None, type=roles.type or "type"), START)


def composite_events(query: Bound, matches: Matches, roles: Roles) -> pa.Table:
    """Matches as events: the time of one is its end, it carries its start, its type is the name of INTO."""
    table = matches.to_arrow()
    columns = {
        roles.time: table[END],
        roles.type or "type": pa.array([query.into] * table.num_rows, pa.string()),
        START: table[START],
        **{result.name: table[result.name] for result in query.returns},
    }
    return pa.table(columns)
