"""Conditions on the times of events that the order of a pattern, or its window, makes impossible."""

from __future__ import annotations

from collections.abc import Iterator

from cepheid.diagnosis.facts import Hint
from cepheid.diagnosis.written import text_of
from cepheid.front.runnable import Runnable
from cepheid.pattern.expressions import nodes as ex
from cepheid.pattern.expressions.comparisons import limits_below
from cepheid.pattern.expressions.durations import NANOSECONDS, spell
from cepheid.pattern.expressions.types import Kind
from cepheid.pattern.tree.nodes import EventPattern, Seq


def time_hints(query: Runnable) -> Iterator[Hint]:
    """Times that are asked to be the other way round, or further apart than the window is long."""
    parts = query.pattern.parts if isinstance(query.pattern, Seq) else ()
    places = {part.variable: k for k, part in enumerate(parts) if isinstance(part, EventPattern)}
    time = query.schema.roles.time
    for condition in query.conditions:
        match condition:
            case ex.Compare(operator, ex.Attribute(one, _, first), ex.Attribute(other, _, second)):
                if not (first == second == time and one in places and other in places):
                    continue
                before = operator == "<" if places[one] > places[other] else operator == ">"
                if before and one != other:
                    early, late = sorted((one, other), key=lambda name: places[name])
                    message = f"{text_of(condition)} is never TRUE: the pattern has {early} before {late}"
                    yield Hint("CEP004", message, "leave it out, or exchange the two in the PATTERN")
            case ex.Compare(
                operator, ex.Arithmetic("-", ex.Attribute(one, _, first), ex.Attribute(other, _, second)), limit
            ):
                if first == second == time and places.get(one, 0) > places.get(other, len(places)):
                    yield from _apart(query, condition, operator, limit)
            case _:
                continue


def _apart(query: Runnable, condition: ex.Expression, operator: str, limit: ex.Expression) -> Iterator[Hint]:
    within = query.within
    if within is None or within.nanoseconds is None or not isinstance(limit, ex.Literal) or not limits_below(operator):
        return
    if not isinstance(limit.value, int | float) or isinstance(limit.value, bool):
        return
    integers = query.schema.columns[query.schema.roles.time].kind is Kind.INT
    scale = NANOSECONDS[query.schema.roles.unit] if integers else 1
    if limit.value * scale >= within.nanoseconds:
        message = f"{text_of(condition)} is never TRUE: all events of a match are WITHIN {spell(within.nanoseconds)}"
        yield Hint("CEP004", message, "write a longer window, or a shorter distance")
