"""The queries of a program one after the other, each on the events that it reads."""

from __future__ import annotations

from collections.abc import Callable

import pyarrow as pa

from cepheid.engine.composites import as_merged, composite_events, composite_schema, schema_of
from cepheid.engine.matches.matches import Matches
from cepheid.engine.program import CompiledProgram
from cepheid.front.fronts import bind
from cepheid.front.runnable import Runnable
from cepheid.pattern.binding.schema import Schema
from cepheid.pattern.tree.flow import EVENTS


def run_each(
    compiled: CompiledProgram, base: pa.Table, schema: Schema, run: Callable[[str, Runnable, pa.Table], Matches]
) -> list[Matches]:
    """The matches of each query, by a function of its name, the query and its events."""
    roles = compiled.roles
    tables: dict[str | None, pa.Table] = {None: base}
    made: dict[str, Runnable] = {}
    results: list[Matches] = []
    for name, (analysed, source) in zip(compiled.names, compiled.flow, strict=True):
        table, schema_of_query = tables[source[0]], schema
        if len(source) > 1:
            schema_of_query = schema_of(source, schema, made, roles)
            table = pa.concat_tables(as_merged(tables[stream], schema_of_query, stream) for stream in source)
        elif source != EVENTS:  # what a user function returns has a type by now
            schema_of_query = composite_schema(table.schema, roles)
        bound = bind(analysed, schema_of_query, compiled.functions)
        matches = run(name, bound, table)
        results.append(matches)
        if bound.into is not None:
            tables[bound.into] = composite_events(bound.result, matches, roles)
            made[bound.into] = bound.result
    return results
