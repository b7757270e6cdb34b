"""Comparisons that no order of their values satisfies, such as `a.x < b.x AND b.x < c.x AND c.x < a.x`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations

from cepheid.pattern.expressions import nodes as ex
from cepheid.pattern.expressions.comparisons import includes_equal, limits_above, limits_below
from cepheid.pattern.lints.constant_order import order_of_all
from cepheid.pattern.lints.vacuous import names_of
from cepheid.pattern.tree.nodes import Either, Maybe, Negation, PatternTree, Repeat
from cepheid.pattern.tree.walk import walk

_MOST = 16  # comparisons that are looked at: a longer query is not read as a whole


@dataclass(frozen=True, slots=True)
class OrderEdge:
    """`low < high`, or `low <= high`, and the conditions that say so: none where it is known of two constants."""

    low: ex.Expression
    high: ex.Expression
    strict: bool
    said_by: tuple[ex.Expression, ...]


def impossible_orders(pattern: PatternTree, where: Sequence[ex.Expression]) -> Iterator[tuple[ex.Expression, ...]]:
    """The conditions of the first contradiction that more than two values are part of, or that a key is part of."""
    loose = _loose(pattern)
    compared = [c for c in where if isinstance(c, ex.Compare | ex.Between) and _is_plain(c) and not loose & _read(c)]
    same = {c.attribute: c for c in where if isinstance(c, ex.SameValue) and not c.fields}
    if len(compared) + len(same) < 2 or len(compared) > _MOST:
        return
    for second in (False, True):
        if second and not _has_neighbours(compared):
            return
        conditions = _shortest(list(_edges(compared, same, second)))
        if conditions is not None:
            yield conditions
            return


def _shortest(edges: list[OrderEdge]) -> tuple[ex.Expression, ...] | None:
    constants = {node: None for edge in edges for node in (edge.low, edge.high) if isinstance(node, ex.Literal)}
    for constant, other in combinations(constants, 2):
        sign = order_of_all(constant, other)
        if sign is not None:
            low, high = (constant, other) if sign <= 0 else (other, constant)
            edges.append(OrderEdge(low, high, sign != 0, ()))
            edges += [OrderEdge(high, low, False, ())] if sign == 0 else []
    loops = [loop for edge in edges if edge.strict and (loop := _back(edge, edges)) is not None]
    return min(loops, key=len, default=None)


def _back(first: OrderEdge, edges: Sequence[OrderEdge]) -> tuple[ex.Expression, ...] | None:
    """The conditions of the shortest way from the greater value back to the smaller one."""
    ways: dict[ex.Expression, tuple[ex.Expression, ...]] = {first.high: first.said_by}
    front = [first.high]
    while front and first.low not in ways:
        new = []
        for node in front:
            for edge in edges:
                if edge.low == node and edge.high not in ways:
                    ways[edge.high] = (*ways[node], *edge.said_by)
                    new.append(edge.high)
        front = new
    return tuple({id(c): c for c in ways[first.low]}.values()) if first.low in ways else None


def _edges(compared: Sequence[ex.Expression], same: dict[str, ex.SameValue], second: bool) -> Iterator[OrderEdge]:
    for condition in compared:
        match condition:
            case ex.Compare(operator, left, right):
                sides = [(operator, left, right)]
            case ex.Between(value, low, high, False):
                sides = [(">=", value, low), ("<=", value, high)]
            case _:
                continue
        for operator, left, right in sides:
            left_node, by_one = _node(left, same, second)
            other, by_other = _node(right, same, second)
            said_by = (*by_one, *by_other, condition)
            if operator == "!=":
                if left_node == other:
                    yield OrderEdge(left_node, other, True, said_by)
                continue
            strict = not includes_equal(operator)
            if limits_above(operator):
                yield OrderEdge(left_node, other, strict, said_by)
            if limits_below(operator):
                yield OrderEdge(other, left_node, strict, said_by)


def _node(
    value: ex.Expression, same: dict[str, ex.SameValue], second: bool
) -> tuple[ex.Expression, tuple[ex.Expression, ...]]:
    """What a side stands for, with the key that says so: by `[x]` every x is one value; for a[2], a[i-1] is a[1]."""
    if not isinstance(value, ex.Attribute):
        return value, ()
    if value.name in same:
        return ex.SameValue(value.name), (same[value.name],)
    if second and value.index in (ex.Index.PREVIOUS, ex.Index.EACH):
        index = ex.Index.FIRST if value.index is ex.Index.PREVIOUS else ex.Index.CURRENT
        return replace(value, index=index), ()
    return value, ()


def _is_plain(condition: ex.Expression) -> bool:
    """Whether the same values come out each time: a function of the user may return another one."""
    return not any(isinstance(node, ex.Call) for node in walk(condition))


def _read(condition: ex.Expression) -> set[str]:
    return {node.variable for node in walk(condition) if isinstance(node, ex.Attribute | ex.Rows | ex.Length)}


def _has_neighbours(compared: Sequence[ex.Expression]) -> bool:
    indices = {node.index for c in compared for node in walk(c) if isinstance(node, ex.Attribute)}
    return ex.Index.CURRENT in indices and bool({ex.Index.FIRST, ex.Index.EACH} & indices)


def _loose(pattern: PatternTree) -> set[str]:
    """The variables that a match may leave without an event, or that must be absent: nothing is asked of them then."""
    names: set[str] = set()
    for node in walk(pattern):
        if isinstance(node, Either | Maybe | Negation) or (isinstance(node, Repeat) and node.low == 0):
            names |= names_of(node)
    return names
