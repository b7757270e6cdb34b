"""The clauses of a query, bound to a schema: what PATTERN and AUTOMATON have in common."""

from __future__ import annotations

from dataclasses import replace

from cepheid.front.analysed import Analysed, columns_read
from cepheid.front.runnable import Body, BoundQuery, Result, Runnable, Within, derive
from cepheid.front.sase.keys import Keys
from cepheid.pattern.binding.placement import place
from cepheid.pattern.binding.typing import Typer
from cepheid.pattern.expressions import nodes as ex
from cepheid.pattern.expressions.parameters import window_nanoseconds
from cepheid.pattern.tree.nodes import ReturnItem, Strategy, Window
from cepheid.pattern.tree.partitioning import Partitioning
from cepheid.pattern.tree.scope import VisibleEvents


def bind_clauses(
    analysed: Analysed,
    typer: Typer,
    keys: Keys,
    body: Body,
    *,
    conditions: tuple[ex.Expression, ...] = (),
    returns: tuple[ReturnItem, ...],
) -> Runnable:
    """A query with its clauses. The conditions have types already."""
    query, schema = analysed.query, typer.schema
    return derive(
        BoundQuery(
            body=body,
            schema=replace(schema, parts=keys.parts),
            pattern=query.pattern,
            components=analysed.components,
            layout=analysed.layout,
            strategies=analysed.strategies,
            same=keys.same,
            placement=place(conditions, analysed.layout, analysed.components),
            partition_by=keys.partition_by,
            within=within_of(query.within, schema.roles.unit),
            having=query.having and typer.condition(query.having),
            returns=tuple(Result(r.name, *typer.result(r.expression)) for r in returns),
            into=query.into,
            output=query.output,
            cooldown=window_nanoseconds(query.cooldown, schema.roles.unit) if query.cooldown is not None else 0,
            ties=query.ties,
            functions=typer.functions,
            typer=typer,
            scope=_scope(typer, analysed),
            reads=tuple(name for name in columns_read(analysed, schema.columns) if name in schema.columns),
        )
    )


def within_of(window: Window | None, unit: str) -> Within | None:
    """WITHIN, in nanoseconds or in events."""
    if window is None:
        return None
    if window.unit != "events":
        return Within(nanoseconds=window_nanoseconds(window, unit))
    assert isinstance(window.amount, ex.Literal)
    assert isinstance(window.amount.value, int)
    return Within(events=window.amount.value)


def _scope(typer: Typer, analysed: Analysed) -> VisibleEvents | None:
    condition = analysed.query.sees
    if condition is None and not analysed.types_seen:
        return None
    return VisibleEvents(analysed.types_seen, None if condition is None else typer.condition(condition))


def split(query: BoundQuery, *, agreed: bool) -> Partitioning:
    """PARTITION BY, and `[attr]` if events that do not agree on it are ignored (`agreed`)."""
    same = tuple(test.attribute for test in query.same) if agreed else ()
    return Partitioning(query.partition_by, same, len(same) == len(query.same))


def types_in_scope(query: BoundQuery) -> frozenset[str] | None:
    """The types that FROM lets through."""
    return frozenset(query.scope.types) if query.scope is not None and query.scope.types else None


def span_of_window(query: BoundQuery) -> int | None:
    """What WITHIN says, if it is of time."""
    return query.window if query.timed else None


def is_strict(query: BoundQuery) -> bool:
    """Whether events with other values of `[attr]` end runs."""
    return Strategy.STRICT in query.strategies.values()
