"""Aggregates of the user's own: a fold over the values of a closure."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from copy import deepcopy
from dataclasses import dataclass
from typing import Any

from cepheid.errors import ParseError
from cepheid.pattern.expressions import nodes as ex
from cepheid.pattern.tree.nodes import QueryTree
from cepheid.pattern.tree.walk import rewrite, rewrite_expressions


@dataclass(frozen=True, slots=True)
class Aggregate:
    """An aggregate for `functions=`: a fold over the values that are not NULL, in the order of their events.

    start: the state before the first value, or a function that returns it.
    step: returns the next state, from a state and a value.
    finish: returns the result, from the last state; without it, the state is the result.
    returns: the type of the result, such as float or a pyarrow type; Spark needs it for a column of RETURN.

    >>> product = Aggregate(start=1, step=lambda state, value: state * value, returns=int)
    >>> product([2, 3, 4])
    24
    """

    start: Any
    step: Callable[[Any, Any], Any]
    finish: Callable[[Any], Any] | None = None
    returns: Any = None

    def __call__(self, values: Iterable[Any]) -> Any:
        """The result for some values."""
        state = self.start() if callable(self.start) else deepcopy(self.start)
        for value in values:
            state = self.step(state, value)
        return state if self.finish is None else self.finish(state)


def with_aggregates(query: QueryTree, functions: Mapping[str, Callable[..., object]]) -> QueryTree:
    """The query in which calls of the user's aggregates are aggregates: in the text they look like functions."""
    aggregates = {name for name, function in functions.items() if isinstance(function, Aggregate)}

    def change(node: ex.Expression) -> ex.Expression:
        if not isinstance(node, ex.Call) or node.function not in aggregates:
            return node
        if len(node.arguments) != 1:
            raise ParseError(
                "CEP110",
                f"{node.function} takes one argument, not {len(node.arguments)}",
                f"write {node.function}(a[].price)",
                node.span,
            )
        return ex.AggregateCall(node.function, node.arguments[0], span=node.span)

    return rewrite_expressions(query, lambda expression: rewrite(expression, change)) if aggregates else query
