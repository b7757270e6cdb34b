"""The matches of a query by the definition (S1 to S22)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

import pyarrow as pa

from cepheid.api.each_query import run_each
from cepheid.engine.matches.made_matches import made_matches
from cepheid.engine.matches.match_table import from_matches
from cepheid.engine.matches.matches import Matches
from cepheid.engine.program import compile_program
from cepheid.front.runnable import Runnable
from cepheid.pattern.algebra.flow import is_hidden
from cepheid.pattern.binding.schema import Schema
from cepheid.pattern.tree.nodes import Language

if TYPE_CHECKING:
    from cepheid.api.query import Query


def _of_events(query: Runnable, table: pa.Table, horizon: int | None) -> Matches:
    from cepheid.reference import interpret  # seldom needed

    return Matches(query, table, from_matches(query, interpret(query, table, horizon)))


def _of_values(query: Runnable, table: pa.Table, horizon: int | None) -> Matches:
    from cepheid.reference import interpret_algebra  # seldom needed

    return made_matches(query, interpret_algebra(query, table))


_MATCHES: Mapping[Language, Callable[[Runnable, pa.Table, int | None], Matches]] = {
    Language.PATTERN: _of_events,
    Language.AUTOMATON: _of_events,
    Language.CESAR: _of_values,
}


def match_by_reference(query: Query, base: pa.Table, schema: Schema, horizon: int | None) -> Matches:
    """The matches of a program, with those of each query among the outputs."""
    matches = each_by_reference(query, base, schema, horizon)
    names = [name for name in query.compiled.names if not is_hidden(name)]
    return matches[-1].with_outputs(dict(zip(names, matches, strict=True)))


def each_by_reference(query: Query, base: pa.Table, schema: Schema, horizon: int | None) -> list[Matches]:
    """The matches of each query of a program."""
    compiled = query.compiled
    if any(map(is_hidden, compiled.names)):
        # CESAR expressions as they are written, and not as queries that automata can run, each on its own.
        roles, functions, fingerprint = compiled.roles, compiled.functions, compiled.fingerprint
        compiled = compile_program(query.parsed, query.params, roles, functions, fingerprint, linear=False)
    known = None if horizon is None else horizon * schema.tick

    def run(_: str, bound: Runnable, table: pa.Table) -> Matches:
        return _MATCHES[bound.language](bound, table, known)

    return run_each(compiled, base, schema, run)
