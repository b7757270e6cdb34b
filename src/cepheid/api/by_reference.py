"""The matches of a query by the definition (S1 to S22)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa

from cepheid.api.each_query import run_each
from cepheid.engine.matches.made_matches import made_matches
from cepheid.engine.matches.match_table import from_matches
from cepheid.engine.matches.matches import Matches
from cepheid.engine.program import compile_program
from cepheid.pattern.algebra.flow import is_hidden
from cepheid.pattern.algebra.tree import Algebra
from cepheid.pattern.binding.bind import Bound
from cepheid.pattern.binding.schema import Schema

if TYPE_CHECKING:
    from cepheid.api.query import Query


def match_by_reference(query: Query, base: pa.Table, schema: Schema, horizon: int | None) -> Matches:
    """The matches of a program, with those of each query among the outputs."""
    found = each_by_reference(query, base, schema, horizon)
    names = [name for name in query.compiled.names if not is_hidden(name)]
    return found[-1].with_outputs(dict(zip(names, found, strict=True)))


def each_by_reference(query: Query, base: pa.Table, schema: Schema, horizon: int | None) -> list[Matches]:
    """The matches of each query of a program."""
    from cepheid.reference import interpret, interpret_algebra  # seldom needed

    compiled = query.compiled
    if any(isinstance(one.pattern, Algebra) for one in query.parsed.queries):
        # CESAR expressions as they are written, and not as queries that automata can run, each on its own.
        roles, functions, fingerprint = compiled.roles, compiled.functions, compiled.fingerprint
        compiled = compile_program(query.parsed, query.params, roles, functions, fingerprint, linear=False)
    known = None if horizon is None else horizon * schema.tick

    def run(_: str, bound: Bound, table: pa.Table) -> Matches:
        if bound.algebra is not None:
            return made_matches(bound, interpret_algebra(bound, table))
        return Matches(bound, table, from_matches(bound, interpret(bound, table, known)))

    return run_each(compiled, base, schema, run)
