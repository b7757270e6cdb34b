"""What `Query` asks `cepheid.diagnosis`: why, why not, and step by step."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import TYPE_CHECKING

import pyarrow as pa

from cepheid.api.each_query import run_each
from cepheid.diagnosis.trace import Trace, Traced, make_trace
from cepheid.engine.matches.matches import Matches
from cepheid.errors import CepheidWarning, UsageError
from cepheid.pattern.algebra.tree import Algebra
from cepheid.pattern.bind import Bound
from cepheid.pattern.schema import make_schema
from cepheid.pattern.tree import Automaton

if TYPE_CHECKING:
    from cepheid.api.query import Query


def trace(query: Query, table: pa.Table, limit: int | None) -> Trace:
    """The steps of each query of a program."""
    return make_trace(parts_of(query, table), limit)


def parts_of(query: Query, table: pa.Table) -> list[Traced]:
    """Each query of a program with the events that it reads, which may be what another one gives."""
    compiled = query.compiled
    for analysed in compiled.queries:
        if isinstance(analysed.query.pattern, Automaton | Algebra):
            kind = "an automaton" if isinstance(analysed.query.pattern, Automaton) else "a CESAR expression"
            message = f"{kind} can't be traced: only the runs of a PATTERN can"
            raise UsageError("CEP615", message, "explain(events) shows its states and arcs")
    schema = make_schema(table.schema, compiled.roles)
    if len(compiled.queries) == 1:
        return [Traced(compiled.names[0], query.bind(schema)[0], table)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CepheidWarning)
        made: Mapping[str, Matches] = query.match(table, progress=False).outputs
    parts: list[Traced] = []

    def keep(name: str, bound: Bound, own: pa.Table) -> Matches:
        parts.append(Traced(name, bound, own))
        return made[name]

    run_each(compiled, table, schema, keep)
    return parts
