"""How a condition uses the variables: the facts that decide where it can be tested."""

from __future__ import annotations

from dataclasses import dataclass

from cepheid.pattern.expressions.nodes import (
    QUANTIFIERS,
    AggregateCall,
    AnyIndex,
    Attribute,
    Back,
    Expression,
    Index,
    Length,
    Quantified,
    Rows,
)
from cepheid.pattern.tree.walk import children

ITERATED = frozenset({Index.CURRENT, Index.PREVIOUS, Index.BEFORE})
RANGES = frozenset({Index.EACH, Index.BEFORE})


def is_iterated(index: AnyIndex) -> bool:
    """Whether an index has a meaning only while the events of a variable are bound one by one."""
    return index in ITERATED or isinstance(index, Back)


@dataclass(frozen=True, slots=True)
class Use:
    """One reference to a variable. `whole`: it needs all events of the variable (a.LEN, a[a.LEN], avg(a[].x))."""

    node: Expression
    variable: str
    index: AnyIndex
    whole: bool = False
    counts: bool = False  # a.LEN, count(…), ALL(…) and ANY(…) are defined when nothing is bound


def uses(node: Expression, aggregate: str | None = None) -> tuple[Use, ...]:
    """All references below a node, in the order of the text."""
    match node:
        case Attribute(variable=variable, index=index) | Rows(variable=variable, index=index):
            whole = index is Index.LAST or (aggregate is not None and index is Index.EACH)
            counts = aggregate == "count" or (aggregate in QUANTIFIERS and index in RANGES)
            return (Use(node, variable, index, whole, counts),)
        case Length(variable=variable):
            return (Use(node, variable, Index.LAST, whole=True, counts=True),)
        case AggregateCall(function=function, argument=argument, filter=condition):
            return (*uses(argument, function), *(uses(condition, function) if condition is not None else ()))
        case Quantified(quantifier=quantifier, condition=condition):
            return uses(condition, quantifier)
    return tuple(use for child in children(node) for use in uses(child, aggregate))


def ranges(node: Expression) -> tuple[Attribute, ...]:
    """What a condition reads of events that it goes through one by one: `a[].x` outside of aggregates."""
    match node:
        case Attribute(index=index) if index in RANGES:
            return (node,)
        case AggregateCall():
            return ()
    return tuple(found for child in children(node) for found in ranges(child))


def variables(node: Expression) -> frozenset[str]:
    """The variables that an expression mentions."""
    return frozenset(use.variable for use in uses(node))
