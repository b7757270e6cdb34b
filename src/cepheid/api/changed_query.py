"""A query after some changes (S17), as a query."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING

from cepheid.api.changed import ChangeList, changed_program
from cepheid.engine.session.query_changes import ReplaceQuery
from cepheid.errors import CepheidError, CepheidWarning, PatternError
from cepheid.front.automata.bound import automaton_in
from cepheid.front.automata.lost_states import LOST
from cepheid.front.automata.timeline import AddArc, RemoveArc, with_changes, with_rests
from cepheid.pattern.binding.schema import Schema
from cepheid.pattern.tree.nodes import Program
from cepheid.pattern.tree.walk import automaton_of

if TYPE_CHECKING:
    from cepheid.api.query import Query


def changed_query(query: Query, changes: ChangeList, schema: Schema, settled: int | None) -> Query:
    """A query after some changes, whose times are in ticks, for events from a time on."""
    if not changes:
        return query
    program = changed_program(query, changes, schema, settled)
    functions = dict(query.compiled.functions)
    for change in changes:
        if isinstance(change, ReplaceQuery):
            for name, function in change.query.compiled.functions.items():
                if functions.setdefault(name, function) != function:
                    message = f"the function '{name}' is another one in the query in place of '{change.name}'"
                    raise PatternError("CEP229", message, "give it another name: both are needed, by turns")
    changed = _quietly(query, program, functions=functions)
    query.surprises.warn(warning for warning in changed.surprises.of_query() if warning.code == LOST)
    vars(changed)["lasting"] = changed  # which has its rests
    return changed


def lasting_query(query: Query) -> Query:
    """A query for a session, in which its arcs may change."""
    return _quietly(query, with_rests(query.parsed)) if query.is_automaton else query


def _quietly(query: Query, program: Program, **options: object) -> Query:
    """Compile without warnings: those of the queries as they were written were shown before."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CepheidWarning)
        return query.alike(program, **options)


def query_with_log(query: Query, changes: ChangeList, schema: Schema) -> Query:
    """A query after some changes, for one run on events of a schema, and not by the reference."""
    from cepheid.engine.planning.compiled_query import CompiledQuery
    from cepheid.engine.planning.many_changes import read_log

    arcs = [change for change in changes if isinstance(change, AddArc | RemoveArc)]
    if not arcs or len(arcs) < len(changes) or not query.is_automaton:
        return query.changed(changes, schema)
    log = read_log(automaton_of(query.parsed.queries[0]), arcs)
    try:
        added = query.alike(with_changes(query.parsed, log.added))
        bound = added.cache.query(0, schema).query
    except CepheidError:
        return query.changed(changes, schema)  # which tells what is wrong, with the numbers of the arc itself
    timed = log.timed(automaton_in(bound))
    if timed is None:
        return query.changed(changes, schema)
    compiled = CompiledQuery(bound.with_parts(body=timed))
    return added.run_by(added.cache.of(compiled, schema, lambda: query.changed(changes, schema).cache))
