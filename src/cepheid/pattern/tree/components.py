"""The variables of a pattern: what each binds, and how often."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from cepheid.errors import PatternError, Span
from cepheid.pattern.tree.nodes import AnyOrder, Either, EventPattern, Maybe, Negation, PatternTree, Repeat, Seq
from cepheid.pattern.tree.walk import rewrite, walk


@dataclass(frozen=True, slots=True)
class Component:
    """One event of the pattern."""

    variable: str
    types: tuple[str, ...]
    negated: bool = False
    array: bool = False  # it may be bound many times: `A+ a[]`, or inside a repeated group
    indexed: bool = False  # it is repeated itself, so that `a.x` needs an index
    can_be_empty: bool = False  # an array that a match may leave without events although it was reached
    span: Span | None = field(default=None, compare=False)


def name_events(pattern: PatternTree) -> PatternTree:
    """Give every event a variable: one without gets the name of its type.

    >>> name_events(Seq((EventPattern(("E1",)), EventPattern(("E1",)))))
    Seq(parts=(EventPattern(types=('E1',), variable='E1'), EventPattern(types=('E1',), variable='E1_2')))
    """
    taken = {node.variable for node in walk(pattern) if isinstance(node, EventPattern) and node.variable}

    def change(node: PatternTree) -> PatternTree:
        if not isinstance(node, EventPattern) or node.variable is not None:
            return node
        base = "_or_".join(node.types) or "event"
        name = next(n for n in _candidates(base) if n not in taken)
        taken.add(name)
        return replace(node, variable=name)

    return rewrite(pattern, change)


def _candidates(base: str) -> Iterator[str]:
    yield base
    number = 2
    while True:
        yield f"{base}_{number}"
        number += 1


def components(pattern: PatternTree) -> tuple[Component, ...]:
    """All variables of a named pattern in the order of the text; two of the same name are an error."""
    found = tuple(_find(pattern, repeated=False))
    seen: dict[str, Component] = {}
    for component in found:
        if component.variable in seen:
            raise PatternError(
                "CEP201",
                f"the variable '{component.variable}' is declared twice",
                "give each component its own variable",
                component.span,
            )
        seen[component.variable] = component
    return found


def _find(node: PatternTree, *, repeated: bool) -> Iterator[Component]:
    match node:
        case EventPattern(types=types, variable=str(variable)):
            yield Component(variable, types, array=repeated, span=node.span)
        case Negation(event=event):
            for component in _find(event, repeated=False):
                yield replace(component, negated=True, span=node.span)
        case Repeat(body=EventPattern() as body):
            for component in _find(body, repeated=True):
                yield replace(component, indexed=True, can_be_empty=node.low == 0, span=node.span)
        case Repeat(body=body):
            for component in _find(body, repeated=True):
                yield replace(component, can_be_empty=component.can_be_empty or node.low == 0)
        case Maybe(body=body):
            yield from _find(body, repeated=repeated)
        case Seq(parts=parts) | Either(parts=parts) | AnyOrder(parts=parts):
            for part in parts:
                yield from _find(part, repeated=repeated)
        case _:
            raise TypeError(f"no components for {type(node).__name__}")
