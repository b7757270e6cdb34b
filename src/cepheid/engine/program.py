"""A program that is ready to be run: what the API and Spark hold, and what streams are made from."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pyarrow as pa

from cepheid.engine.composites import schema_of
from cepheid.front.analysed import Analysed, Functions
from cepheid.front.fronts import analyse, bind
from cepheid.front.runnable import Runnable
from cepheid.pattern.algebra.flow import expand, is_hidden
from cepheid.pattern.binding.schema import Roles, Schema, make_schema
from cepheid.pattern.expressions.aggregates import with_aggregates
from cepheid.pattern.expressions.parameters import Params
from cepheid.pattern.tree.flow import EVENTS, StreamSource, check_flow, roles_in
from cepheid.pattern.tree.nodes import Program

if TYPE_CHECKING:
    from cepheid.engine.planning.compiled_query import CompiledQuery

SCHEMAS = 4
"""How many schemas a query is kept compiled for: it is seldom run on events of many."""


@dataclass(frozen=True, slots=True)
class CompiledProgram:
    """The queries of a program, what each reads, and how columns are used."""

    queries: tuple[Analysed, ...]
    sources: tuple[StreamSource, ...]
    roles: Roles
    functions: Mapping[str, Callable[..., object]]
    fingerprint: str  # what a snapshot must agree with
    names: tuple[str, ...]  # of each query's output: that of its INTO, or its number

    @property
    def flow(self) -> list[tuple[Analysed, StreamSource]]:
        """Each query with the streams that it reads."""
        return list(zip(self.queries, self.sources, strict=True))

    def schema(self, columns: pa.Schema) -> Schema:
        """The columns of the events, checked against the roles that the program gives them."""
        return make_schema(columns, self.roles)

    def bind_readers(self, schema: Schema) -> list[Runnable]:
        """The queries that read the events alone, bound to these."""
        return [bind(query, schema, self.functions) for query, source in self.flow if source == EVENTS]

    def bind(self, schema: Schema) -> list[Runnable]:
        """Every query, bound to the events of a schema or to what other queries make of these."""
        made: dict[str, Runnable] = {}
        bound: list[Runnable] = []
        for query, source in zip(self.queries, self.sources, strict=True):
            found = bind(query, schema_of(source, schema, made, self.roles), self.functions)
            bound.append(found)
            if found.into is not None:
                made[found.into] = found.result
        return bound


def compile_program(
    program: Program, params: Params, roles: Roles, functions: Functions, fingerprint: str, *, linear: bool = True
) -> CompiledProgram:
    """A program checked, with its parameters in place.

    linear: a CESAR expression as queries that automata can run, each on its own.
    """
    program = expand(program, params, linear=linear)
    sources = check_flow(program)
    queries = tuple(
        analyse(with_aggregates(query, functions), params, roles_in(source, roles, query), source)
        for query, source in zip(program.queries, sources, strict=True)
    )
    shown = [place for place, query in enumerate(program.queries) if not is_hidden(query.into)]
    numbers = {place: number for number, place in enumerate(shown, start=1)}
    names = tuple(query.into or f"query {numbers[place]}" for place, query in enumerate(program.queries))
    return CompiledProgram(queries, sources, roles, functions, fingerprint, names)


class QueryCache:
    """Compiled queries of a program, by number and schema; of a schema that was not used for long, none is kept."""

    def __init__(self, program: CompiledProgram) -> None:
        self.program = program
        self._made: dict[tuple[int, bytes], CompiledQuery] = {}
        self._schemas: dict[pa.Schema, Schema] = {}
        self._last: dict[int, tuple[Schema, CompiledQuery]] = {}  # of each query, what ran last
        self._others: Callable[[], QueryCache] | None = None  # of other schemas

    def schema(self, columns: pa.Schema) -> Schema:
        """The columns of the events, checked once against the roles that the program gives them."""
        schema = self._schemas.get(columns)
        if schema is None:
            while len(self._schemas) >= SCHEMAS:
                del self._schemas[next(iter(self._schemas))]
            schema = self._schemas[columns] = self.program.schema(columns)
        return schema

    def of(self, query: CompiledQuery, schema: Schema, others: Callable[[], QueryCache]) -> QueryCache:
        """The same program of one query, which is known for a schema. others: has it for any other one."""
        found = QueryCache(self.program)
        found._made[0, schema.arrow.serialize().to_pybytes()] = query
        found._others = others
        return found

    def learn(self, schema: Schema, known: Iterable[CompiledQuery]) -> None:
        """Take the kernels of a query of the same shape, if there is one, for the only query of the program."""
        from cepheid.engine.planning.compiled_query import CompiledQuery
        from cepheid.engine.planning.renewed import renewed

        key = 0, schema.arrow.serialize().to_pybytes()
        if len(self.program.queries) != 1 or key in self._made or self._others is not None:
            return
        bound = bind(self.program.queries[0], schema, self.program.functions)
        found = next((one for one in (renewed(other, bound) for other in known) if one is not None), None)
        self._made[key] = CompiledQuery(bound) if found is None else found

    def query(self, number: int, schema: Schema) -> CompiledQuery:
        """A query that is compiled for events of a schema."""
        from cepheid.engine.planning.compiled_query import CompiledQuery  # a query can be written without a run

        last = self._last.get(number)
        if last is not None and last[0] is schema:
            return last[1]
        key = number, schema.arrow.serialize().to_pybytes()
        if key not in self._made and self._others is not None:
            return self._others().query(number, schema)
        if key not in self._made:
            while len(self._made) >= SCHEMAS * len(self.program.queries):
                del self._made[next(iter(self._made))]
            bound = bind(self.program.queries[number], schema, self.program.functions)
            self._made[key] = CompiledQuery(bound)
        self._last[number] = schema, self._made[key]
        return self._made[key]
