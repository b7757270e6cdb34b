"""All matches of a query in events that are in memory."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from cepheid.api.bar import measured
from cepheid.api.by_reference import match_by_reference
from cepheid.api.events import to_table
from cepheid.api.options import read_column
from cepheid.api.readable import telling_of_text
from cepheid.engine.encoding.few_events import as_table
from cepheid.engine.encoding.times import bounds, ticks
from cepheid.engine.matches.matches import Matches
from cepheid.engine.progress import Progress, Report
from cepheid.engine.session.change_times import in_ticks
from cepheid.engine.session.engines import machine_factory
from cepheid.engine.session.history import AnyChange, History, Life
from cepheid.engine.session.query_changes import sequenced_queries, with_queries
from cepheid.engine.stream.event_log import net_of
from cepheid.engine.stream.operations import split_operations
from cepheid.engine.stream.pipeline import Pipeline
from cepheid.engine.stream.rows import Arrival, arrival_of
from cepheid.pattern.algebra.flow import is_hidden
from cepheid.pattern.binding.schema import Schema, make_schema
from cepheid.pattern.tree.flow import EVENTS
from cepheid.plan.spec import AUTO, PlanSpec

if TYPE_CHECKING:
    from cepheid.api.query import Query


@dataclass(frozen=True, slots=True)
class How:
    """How to match: engine, plan, the maximum number of matches, and where progress is reported."""

    engine: str
    choice: PlanSpec
    limit: int | None = None
    progress: Callable[[Progress], object] | bool | None = False


def match_events(
    query: Query,
    events: object,
    how: How,
    *,
    open: bool,
    op: str | None,
    sequence: str | None,
    changes: Sequence[AnyChange],
) -> Matches:
    """The matches of a query that changes, and of those that come and go; the arguments are those of `Query.match`."""
    roles = query.compiled.roles
    base = to_table(events, roles.type)
    if not base.num_columns:
        base = query.empty_table()
    elif read_column("op", op, roles) is not None:
        base = _net(query, base, str(op))
    schema = query.cache.schema(base.schema)
    history = History(Life(query.sequenced(sequence)))
    changes = sequenced_queries(with_queries(in_ticks(changes, schema, None), query), sequence)
    history = history.after(changes, schema)
    with telling_of_text(base):
        times = ticks(schema, base)
        last = None if open or not len(times) else bounds(times)[1]

        def run(life: Life) -> Matches:
            part = life.lifetime.events(base, times)
            changed = life.now(schema) if how.engine == "reference" else life.query.with_log(life.changes, schema)
            return match_table(changed, as_table(part[0]), part[1], how, life.lifetime.known(last))

        matches = run(history.own)
        added = {name: run(life) for name, life in history.added.items()}
    return matches.with_outputs({**matches.outputs, **added}) if added else matches


def match_table(query: Query, base: pa.Table, times: np.ndarray, how: How, horizon: int | None) -> Matches:
    """The matches in a table, with its times in ticks.

    horizon: until when absences are known, in ticks; None: the end of the input ends them.
    """
    schema = query.cache.schema(base.schema)
    warn_of(query, schema, base, times)
    if how.engine == "reference":
        matches = match_by_reference(query, base, schema, horizon)
        return matches if how.limit is None else matches[: how.limit]
    readers = query.compiled.sources.count(EVENTS)
    with measured(base.num_rows * readers, how.progress) as meter:
        matches = match_arrivals(query, schema, [arrival_of(schema, base, times)], how, horizon, meter)
    return matches if how.limit is None else matches.head(how.limit)


def match_until(query: Query, events: pa.Table, horizon: int | None) -> Matches:
    """The matches by the reference, with the absences that are known up to a time, in ticks; None: all of them."""
    table = events if events.num_columns else query.empty_table()
    schema = make_schema(table.schema, query.compiled.roles)
    return match_table(query, table, ticks(schema, table), How("reference", AUTO), horizon)


def match_arrivals(
    query: Query,
    schema: Schema,
    arrivals: Sequence[Arrival],
    how: How,
    horizon: int | None,
    report: Report | None = None,
) -> Matches:
    """The matches in events that have come in several tables of one schema, with their times in ticks."""
    factory = machine_factory(how.engine, how.choice, sum(arrival.count for arrival in arrivals))
    pipeline = Pipeline(query.cache, factory, schema, once=True, report=report)
    for arrival in arrivals:
        pipeline.push(arrival)
    matches = pipeline.advance(None, horizon)
    named = zip(query.compiled.names, matches, strict=False)
    return matches[-1].with_outputs({name: result for name, result in named if not is_hidden(name)})


def warn_of(query: Query, schema: Schema, events: pa.Table, times: np.ndarray) -> None:
    """Warn about what a query may have got wrong of all events."""
    surprises = query.surprises
    surprises.warn(surprises.of_schema(schema))
    seen = surprises.observe(schema, events, times, whole=True)
    surprises.warn(surprises.of_events(schema, seen))


def _net(query: Query, changes: pa.Table, op: str) -> pa.Table:
    """The events that are left of insertions and retractions."""
    table, signs = split_operations(changes, op)
    schema = make_schema(table.schema, query.compiled.roles)
    inserted, unmet = net_of(schema, (table, ticks(schema, table)), signs)
    query.surprises.warn(query.surprises.of_retractions(unmet))
    return table.slice(0, 0) if inserted is None else as_table(inserted[0])
