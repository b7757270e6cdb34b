"""Whether a change fits a stream: the key and the columns of a query, and what is kept of an automaton."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa

from cepheid.api import Query
from cepheid.api.history import AnyChange, History
from cepheid.api.query_changes import ReplaceQuery
from cepheid.engine.stream.conversion import check_again
from cepheid.errors import PatternError
from cepheid.pattern.schema import Schema
from cepheid.pattern.timeline import AddArc
from cepheid.pattern.tree import Arc, Automaton, Fires
from cepheid.spark.codes import without_codes
from cepheid.spark.outputs import match_schema
from cepheid.spark.partitioning import choose_partitioning
from cepheid.spark.worker import WorkerQuery


def check_whole(worker_query: WorkerQuery, query: Query) -> None:
    """Refuse a query whose events may be in several buckets, or whose matches have other columns."""
    compiled = query.compiled
    found = choose_partitioning(compiled.bind(worker_query.schema), compiled.sources).key
    missing = [".".join(path) for path in worker_query.key if path not in found]
    if missing:
        message = f"the events of the stream are divided by {', '.join(missing)}, and the query is not"
        raise PatternError("CEP229", message, f"add PARTITION BY {', '.join(missing)}")
    columns = match_schema(
        query,
        without_codes(worker_query.event_schema),
        long=worker_query.long,
        changes=worker_query.speculate is not None,
        control=True,
    )
    if _types(columns) != _types(worker_query.match_schema):
        wanted, told = _told(worker_query.match_schema), _told(columns)
        message = f"the matches of the stream have the columns {wanted}, and those of the query {told}"
        raise PatternError("CEP229", message, "write a RETURN with the same names and types")


def check_kept(history: History, changes: Sequence[AnyChange], schema: Schema) -> None:
    """Refuse arcs that lead on from a state where nothing is kept, since none did before."""
    for change in changes:
        if isinstance(change, AddArc):
            arcs: tuple[Arc, ...] = (change.arc,)
            life = history.own
        elif isinstance(change, ReplaceQuery):
            arcs = _arcs(change.query)
            life = history.added.get(change.name, history.own)
        else:
            continue
        known = _arcs(life.now(schema))
        led_on = {arc.source for arc in known if arc.fires is not Fires.NOTHING}
        kept = {arc.target for arc in known} - led_on
        lost = next((arc.source for arc in arcs if arc.fires is not Fires.NOTHING and arc.source in kept), None)
        if lost is not None:
            message = f"no arc has led on from '{lost}', so that nothing is kept there"
            remedy = f"give the automaton such an arc from the beginning, if only IGNORE {lost} WHEN FALSE"
            raise PatternError("CEP228", message, remedy)


def _arcs(query: Query) -> tuple[Arc, ...]:
    patterns = (one.pattern for one in query.parsed.queries)
    return tuple(arc for pattern in patterns if isinstance(pattern, Automaton) for arc in pattern.arcs)


def check_replaced(worker_query: WorkerQuery, change: ReplaceQuery) -> None:
    """Refuse other conditions where a bucket may not be able to go over its events again.

    Whether it has to depends on its events, and all buckets must decide alike.
    """
    for bound in change.query.compiled.bind(worker_query.schema):
        if bound.automaton is None:
            check_again(bound, change.name)


def _types(columns: pa.Schema) -> dict[str, pa.DataType]:
    return {field.name: field.type for field in columns}


def _told(columns: pa.Schema) -> str:
    return ", ".join(f"{field.name} {field.type}" for field in columns)
