"""Operators of patterns are defined through each other: OR is a union, AND all orders, ? and * may bind nothing."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import permutations
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from cepheid.pattern.expressions import nodes as ex
from cepheid.pattern.expressions.parameters import literal
from cepheid.pattern.tree.components import name_events
from cepheid.pattern.tree.nodes import (
    AnyOrder,
    Either,
    EventPattern,
    Maybe,
    Negation,
    Output,
    PatternTree,
    Repeat,
    Seq,
    Strategy,
)
from cepheid.pattern.tree.uses import variables
from cepheid.pattern.tree.walk import children, rewrite, walk
from cepheid.testing.strategies import PLAIN, Features, GeneratedQuery, scenarios

pytestmark = pytest.mark.filterwarnings("ignore::cepheid.CepheidWarning")

NOTHING = Seq(())
SPLIT = Features(having=False, returns=False, outputs=(Output.ALL,), per_component=False)
Match = frozenset[tuple[str, int, int]]


def alternatives(node: PatternTree, exact: bool) -> list[PatternTree]:
    """What a node is the union of; `exact`: also of repetitions with an upper bound."""
    match node:
        case Either(parts=parts):
            return list(parts)
        case AnyOrder(parts=parts):
            return [Seq(order) for order in permutations(parts)]
        case Maybe(body=body):
            return [body, NOTHING]
        case Repeat(low=0, high=high, body=body):
            return [Repeat(body, 1, high), NOTHING]
        case Repeat(low=low, high=int(high), body=body) if exact and low < high:
            return [Repeat(body, times, times) for times in range(low, high + 1)]
    return []


def splits(node: PatternTree, exact: bool) -> Iterator[list[PatternTree]]:
    """For each node that can be split, the whole pattern with each of the alternatives in its place.

    Not inside a repetition, where every turn chooses anew.
    """
    found = alternatives(node, exact)
    if len(found) > 1:
        yield found
    match node:
        case Seq(parts=parts) | Either(parts=parts) | AnyOrder(parts=parts):
            for k, part in enumerate(parts):
                for split in splits(part, exact):
                    yield [replace(node, parts=(*parts[:k], other, *parts[k + 1 :])) for other in split]
        case Maybe(body=body):
            for split in splits(body, exact):
                yield [replace(node, body=other) for other in split]


def maps(query: GeneratedQuery, events: pa.Table) -> set[Match]:
    """S9: a match is the map (variable, index) → event."""
    return {frozenset(_bindings(match)) for match in query.make().match(events).to_pylist()}


def _bindings(match: Mapping[str, Any]) -> Iterator[tuple[str, int, int]]:
    for variable, value in match.items():
        if variable not in ("match_start", "match_end"):
            for k, event in enumerate(value if isinstance(value, list) else [value] if value else []):
                yield variable, k, event["row"]


def names_of(pattern: PatternTree) -> set[str]:
    return {str(node.variable) for node in walk(pattern) if isinstance(node, EventPattern)}


def binds(pattern: PatternTree) -> bool:
    """Whether anything is left that binds an event."""
    match pattern:
        case Seq(parts=parts):
            return any(map(binds, parts))
        case Negation():
            return False
    return True


def flat(node: PatternTree) -> PatternTree:
    """SEQ is associative, and nothing is a sequence of no parts."""
    if not isinstance(node, Seq):
        return node
    return Seq(tuple(p for part in node.parts for p in (part.parts if isinstance(part, Seq) else [part])))


def is_sayable(pattern: PatternTree) -> bool:
    """Whether no alternative and no operand binds nothing: the language has no word for nothing."""
    return all(binds(child) for n in walk(pattern) if not isinstance(n, Seq | Negation) for child in children(n))


@given(scenarios(SPLIT), st.data())
def test_that_an_operator_is_the_union_of_its_alternatives(
    scenario: tuple[GeneratedQuery, pa.Table], data: st.DataObject
) -> None:
    """OR = union (unbound variables NULL), AND = all orders, `?` and `*` may bind nothing, `{1,2}` is once or twice.

    A condition on what an alternative does not bind is not tested (S5). A count of it is 0: such queries are left out.
    Under skip till next `{1,2}` is more than once or twice: while it may take more it ignores what it does not take.
    """
    query, events = scenario
    pattern = name_events(query.tree.pattern)
    exact = query.tree.strategies[:1] != () and query.tree.strategies[0].strategy is not Strategy.NEXT
    found = [[rewrite(p, flat) for p in split] for split in splits(pattern, exact)]
    found = [split for split in found if all(map(is_sayable, split))]
    assume(found)
    assume(not any(isinstance(node, ex.Length | ex.AggregateCall) for c in query.tree.where for node in walk(c)))
    split = data.draw(st.sampled_from(found))
    events = events.append_column("row", pa.array(range(events.num_rows), pa.int64()))
    united: set[Match] = set()
    for other in split:
        if binds(other):
            where = tuple(c for c in query.tree.where if variables(c) <= names_of(other))
            united |= maps(query.but(pattern=other, where=where), events)
    assert maps(query.but(pattern=pattern), events) == united


@st.composite
def groups(draw: st.DrawFn) -> tuple[GeneratedQuery, GeneratedQuery, pa.Table]:
    """A query with a group that is repeated n times, the same with n copies of the group, and events."""
    base, events = draw(
        scenarios(replace(SPLIT, conditions=False, negation=False, repetition=False, scopes=False), schema=PLAIN)
    )
    times = draw(st.integers(1, 3))
    body = [EventPattern((draw(st.sampled_from("AB")),), name) for name in "uvw"[: draw(st.integers(1, 3))]]
    parts: list[PatternTree] = list(body)
    if base.tree.within is not None and draw(st.booleans()):
        parts.insert(draw(st.integers(0, len(parts))), Negation(EventPattern(("C",), "n")))
    around = draw(st.sampled_from([(0, 0), (1, 0), (0, 1), (1, 1)]))
    first, last = [EventPattern(("A",), "p")] * around[0], [EventPattern(("B",), "q")] * around[1]
    conditions = []
    for k, event in enumerate(body):
        others = [literal(1), *map(_x, (*first, *body[:k]))]
        if draw(st.booleans()):
            comparison = draw(st.sampled_from(["<=", ">=", "!="]))
            conditions.append(ex.Compare(comparison, _x(event), draw(st.sampled_from(others))))
    copies = [_renamed(node, turn) for turn in range(times) for node in parts]
    group = base.but(
        pattern=Seq((*first, Repeat(Seq(tuple(parts)), times, times), *last)), where=(*base.tree.where, *conditions)
    )
    names = [str(event.variable) for event in body]
    copied = [_copied(condition, names, turn) for turn in range(times) for condition in conditions]
    row = base.but(pattern=Seq((*first, *copies, *last)), where=(*base.tree.where, *copied))
    return group, row, events


def _x(event: EventPattern) -> ex.Attribute:
    return ex.Attribute(str(event.variable), ex.Index.ONE, "x")


def _renamed(node: PatternTree, turn: int) -> PatternTree:
    return rewrite(node, lambda n: replace(n, variable=f"{n.variable}{turn}") if isinstance(n, EventPattern) else n)


def _copied(condition: ex.Expression, names: list[str], turn: int) -> ex.Expression:
    def change(node: ex.Expression) -> ex.Expression:
        if isinstance(node, ex.Attribute) and node.variable in names:
            return replace(node, variable=f"{node.variable}{turn}")
        return node

    return rewrite(condition, change)


@given(groups())
def test_that_a_group_is_repeated_as_a_whole(example: tuple[GeneratedQuery, GeneratedQuery, pa.Table]) -> None:
    """(SEQ(A a, B b)){2} is SEQ(A a1, B b1, A a2, B b2): in each turn the conditions hold among its own events."""
    group, row, events = example
    events = events.append_column("row", pa.array(range(events.num_rows), pa.int64()))
    copies = {
        frozenset((name if name in "pq" else name[0], int(name[1:] or 0), place) for name, _, place in match)
        for match in maps(row, events)
    }
    assert maps(group, events) == copies
