"""A query after some changes of its arcs or conditions (S17), as a program."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from cepheid.engine.session.history import EVER, ticks_in
from cepheid.engine.session.query_changes import ReplaceQuery
from cepheid.errors import PatternError
from cepheid.front.automata.check import NAMES
from cepheid.front.automata.timeline import AddArc, Change, RemoveArc, ReplaceArcs, lasting, with_changes, with_rests
from cepheid.front.automata.versions import Version, check_version, differences, one_query, refuse_differences
from cepheid.language import print_arc
from cepheid.pattern.binding.schema import Roles, Schema
from cepheid.pattern.expressions import nodes as ex
from cepheid.pattern.expressions.parameters import resolve_names
from cepheid.pattern.expressions.types import INT, Kind
from cepheid.pattern.tree import nodes as tree
from cepheid.pattern.tree.nodes import Program
from cepheid.pattern.tree.walk import arcs_in, automaton_of

if TYPE_CHECKING:
    from cepheid.api.query import Query

ChangeList = Sequence[AddArc | RemoveArc | ReplaceQuery]


def changed_program(query: Query, changes: ChangeList, schema: Schema, settled: int | None) -> Program:
    """The program of a query after some changes, whose times are in ticks, for events from a time on."""
    for change in changes:
        if isinstance(change, ReplaceQuery):
            _check_alike(query, change)
    if any(map(arcs_in, query.parsed.queries)):
        if len(query.parsed.queries) > 1 and any(isinstance(change, ReplaceQuery) for change in changes):
            message = "the queries of a program with an automaton can't be replaced one by one"
            raise PatternError("CEP229", message, "add the new program under a name of its own")
        return with_rests(without_past(_with_arcs(query, changes), settled))
    arcs = [change for change in changes if not isinstance(change, ReplaceQuery)]
    if arcs:
        return with_changes(query.parsed, arcs)  # which says why not
    return _with_versions(query, [change for change in changes if isinstance(change, ReplaceQuery)], schema, settled)


def _check_alike(query: Query, change: ReplaceQuery) -> None:
    other = change.query
    if len(other.compiled.queries) != 1:
        message = f"a program of {len(other.compiled.queries)} queries can't replace '{change.name}'"
        raise PatternError("CEP229", message, "replace one query by one query")
    roles: Roles = query.compiled.roles
    other_roles: Roles = other.compiled.roles
    if roles != other_roles:
        message = (
            f"the query in place of '{change.name}' has other roles of columns (time, type, order_by, types, unit)"
        )
        raise PatternError("CEP229", message, "pass the same to both, or replace it by its text, which takes them over")


# Conditions.


def _with_versions(query: Query, changes: Sequence[ReplaceQuery], schema: Schema, settled: int | None) -> Program:
    compiled = query.compiled
    if settled is not None and len(compiled.queries) == 1:
        # Of versions that no event to come is judged by, the last is where the others begin: they may be very many.
        passed = [place for place, change in enumerate(changes) if ticks_in(change.at) < settled]
        changes = changes[passed[-1] :] if passed else changes
    versions = [[Version(analysed)] for analysed in compiled.queries]
    for change in changes:
        versions_of_query = versions[compiled.names.index(change.name) if change.name in compiled.names else -1]
        new, at = change.query.compiled.queries[0], ticks_in(change.at)
        into = versions_of_query[0].query.query.into
        if new.query.into is None and into is not None:  # the name of the query says it
            new = replace(new, query=replace(new.query, into=into))
        check_version(versions_of_query[0].query, new, change.name)
        last = versions_of_query[-1].since
        if last is not None and at < last:
            message = f"the conditions of '{change.name}' change at a later time already"
            raise PatternError("CEP229", message, "replace it at that time, or later")
        if last == at or at == EVER:  # then no event was before it
            versions_of_query.pop()
        versions_of_query.append(Version(new, None if at == EVER else at))
    constant = _constant(schema)
    queries = []
    for raw, first, versions_of_query in zip(query.parsed.queries, compiled.queries, versions, strict=True):
        if all(version.query.query == first.query for version in versions_of_query):
            queries.append(raw)  # CESAR too, whose terms can't be resolved once more
            continue
        while settled is not None and len(versions_of_query) > 1 and ticks_in(versions_of_query[1].since) < settled:
            versions_of_query = [replace(versions_of_query[1], since=None), *versions_of_query[2:]]
        queries.append(replace(one_query(versions_of_query, constant), sees=raw.sees))  # which is read once more
    return Program(tuple(queries))


def _constant(schema: Schema) -> Callable[[int], ex.Literal]:
    type_ = schema.columns[schema.roles.time]

    def constant(time: int) -> ex.Literal:
        if type_.kind is Kind.INT:
            return ex.Literal(time, INT)
        return ex.Literal(time * schema.tick if type_.kind is Kind.TIMESTAMP else time, type_)

    return constant


# Arcs.


def _with_arcs(query: Query, changes: ChangeList) -> Program:
    program, wanted = query.parsed, list[Change | ReplaceArcs]()
    if any(isinstance(change, ReplaceQuery) for change in changes) and len(program.queries) == 1:
        program = Program((_resolved(program.queries[0], query.params),))
    for change in changes:
        if not isinstance(change, ReplaceQuery):
            wanted.append(change)
            continue
        new = _resolved(change.query.parsed.queries[0], change.query.params)
        wanted.append(ReplaceArcs(_arcs_of(program.queries[0], new, change.name), change.at))
    return with_changes(program, wanted)


def _resolved(query: tree.QueryTree, params: Mapping[str, object]) -> tree.QueryTree:
    if not arcs_in(query):
        return query
    return resolve_names(query, params, NAMES, None)


def _arcs_of(old: tree.QueryTree, new: tree.QueryTree, name: str) -> tuple[tree.ArcClause, ...]:
    """The arcs of an automaton that differs from another one in nothing else."""
    differ = [clause for clause in differences(old, new) if clause != "PATTERN"]
    if new.language is not old.language:
        differ.append(old.language.value)
    else:
        a, b = automaton_of(old), automaton_of(new)
        if (a.start, set(a.finals)) != (b.start, set(b.finals)):
            differ.append("the start or the final states")
        if a.register != b.register:
            differ.append("REGISTER")
    refuse_differences(differ, name, "arcs")
    return arcs_in(new)


def without_past(program: Program, since: int | None) -> Program:
    """The program without arcs whose lifetime is over, but for the first of each shape.

    So it does not grow with each change, and its kernel stays the one that it is.
    """
    if since is None:
        return program
    query = program.queries[0]
    automaton = automaton_of(query)
    shapes = [(_CONSTANT.sub("?", print_arc(replace(arc, name=None))), arc) for arc in automaton.arcs]
    kept = tuple(automaton.arcs[place] for place in lasting(shapes, since))
    return Program((replace(query, pattern=replace(automaton, arcs=kept)),))


_CONSTANT = re.compile(r"'(?:[^']|'')*'|-?\b\d[\w.]*")
