"""A contiguous query written as an automaton (S18)."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pyarrow as pa

from cepheid.automaton.as_own import as_own
from cepheid.automaton.model import NotNative
from cepheid.engine.program import CompiledProgram
from cepheid.errors import UsageError
from cepheid.language import parse, print_program
from cepheid.pattern.binding.schema import make_schema
from cepheid.pattern.expressions import nodes as ex
from cepheid.pattern.tree.nodes import Program
from cepheid.pattern.tree.walk import arcs_in

if TYPE_CHECKING:
    from cepheid.api.query import Query


def automaton_of(query: Query, events: pa.Schema) -> Query:
    """A query as an automaton, for events of a schema."""
    if any(analysed.names is not None for analysed in query.compiled.queries):
        message = "a CESAR expression can't be written as an automaton with a register"
        raise UsageError("CEP613", message, "explain(events) shows the automaton that runs it")
    written = _as_automaton(query.compiled, events)
    return query if written is None else query.alike(written, params=None)


def _as_automaton(program: CompiledProgram, events: pa.Schema) -> Program | None:
    """The one query of a program as an automaton, read back from its text; None if it is one already."""
    if len(program.queries) > 1:
        remedy = "make a query of each part of it: cep.Query(…).automaton()"
        raise UsageError("CEP613", "a program can't be written as one automaton", remedy)
    query = program.queries[0].query
    if arcs_in(query):
        return None
    try:
        native = as_own(program.bind(make_schema(events, program.roles))[0])
    except NotNative as reason:
        raise UsageError(
            "CEP613", f"the query can't be written as an automaton: {reason}", _remedy(str(reason))
        ) from None
    same = () if native.keyed else tuple(test for test in query.where if isinstance(test, ex.SameValue))
    written = replace(query, pattern=native.automaton, strategies=(), where=same, having=None, returns=native.returns)
    return parse(print_program(Program((written,))))


def _remedy(reason: str) -> str:
    if reason.startswith("it skips"):
        return "use strict_contiguity or partition_contiguity, or write the automaton yourself, with IGNORE"
    if "whose type is null" in reason:
        return "pass the events or their schema: q.automaton(table.schema)"
    return "change that part of the query, or write the automaton yourself: AUTOMATON q0 -> q1 ARC …"
