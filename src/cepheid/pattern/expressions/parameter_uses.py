"""Where the parameters of a program stand."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from cepheid.errors import Span
from cepheid.pattern.expressions.nodes import InSet, Name
from cepheid.pattern.tree.nodes import Negation, Program, QueryTree, Window
from cepheid.pattern.tree.walk import expressions, walk


@dataclass(frozen=True, slots=True)
class WindowUse:
    """A window whose length is a parameter. word: WITHIN, FOR or COOLDOWN; query: which one of the program."""

    name: str
    word: str
    window: Window
    query: int


def bare_names(program: Program) -> dict[str, Span | None]:
    """The names that stand alone, each with a place; those that no variable or attribute has are parameters."""
    names: dict[str, Span | None] = {}
    for query in program.queries:
        for node in (node for expression in expressions(query) for node in walk(expression)):
            if isinstance(node, Name):
                names.setdefault(node.name, node.span)
            elif isinstance(node, InSet):
                names.setdefault(node.set, node.span)
    for use in window_uses(program):
        names.setdefault(use.name, use.window.span)
    return names


def set_names(program: Program) -> set[str]:
    """The parameters that are sets."""
    nodes = (node for query in program.queries for expression in expressions(query) for node in walk(expression))
    return {node.set for node in nodes if isinstance(node, InSet)}


def window_uses(program: Program) -> list[WindowUse]:
    """The windows whose length is a parameter."""
    return [
        WindowUse(window.amount.name, word, window, number)
        for number, query in enumerate(program.queries)
        for word, window in _windows(query)
        if isinstance(window.amount, Name)
    ]


def _windows(query: QueryTree) -> Iterator[tuple[str, Window]]:
    if query.within is not None:
        yield "WITHIN", query.within
    if query.cooldown is not None:
        yield "COOLDOWN", query.cooldown
    for node in walk(query.pattern):
        if isinstance(node, Negation) and node.period is not None:
            yield "FOR", node.period
