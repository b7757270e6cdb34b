"""A query with one thing changed: which single change would lead to matches."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise

import pyarrow as pa

from cepheid.diagnosis.as_text import near
from cepheid.diagnosis.facts import Change
from cepheid.diagnosis.written import text_of
from cepheid.language import print_pattern, print_window
from cepheid.language.printer import quote_name
from cepheid.pattern.expressions import nodes as ex
from cepheid.pattern.expressions.parameters import window_nanoseconds
from cepheid.pattern.tree.components import Component
from cepheid.pattern.tree.nodes import (
    EventPattern,
    KeyColumn,
    Negation,
    PatternTree,
    QueryTree,
    Repeat,
    Seq,
    Strategy,
    Window,
)
from cepheid.pattern.tree.walk import rewrite, substitute, walk


@dataclass(frozen=True, slots=True)
class Count:
    """How many matches another query has on so many events; None: it can't be run like that, or takes too long.

    of: that number, and whether it is exact; else there are more. at: the same of the query itself, with other times.
    """

    events: int
    of: Callable[[QueryTree], tuple[int, bool] | None]
    at: Callable[[pa.ChunkedArray], tuple[int, bool] | None] = lambda _: None

    def __call__(self, query: QueryTree) -> int | None:
        counted = self.of(query)
        return None if counted is None else counted[0]


ORDER, CONDITION, NEGATION, HAVING = "order", "condition", "negation", "HAVING"
STRATEGY, TIMES, WINDOW, KEY, CLOCK = "strategy", "times", "window", "key", "clock"

_LONGER = (2, 5, 10, 60, 100, 1_000, 3_600, 10**4, 10**5, 10**6)
_MOST = 12  # changes that are tried
_LOOSER = (
    ((Strategy.STRICT, Strategy.PARTITION), (Strategy.NEXT, Strategy.ANY)),
    ((Strategy.NEXT,), (Strategy.ANY,)),
)
_SINGLE = (ex.Index.ONE, ex.Index.EACH, ex.Index.FIRST)


@dataclass(frozen=True, slots=True)
class Known:
    """What is known before changes are tried.

    blamed: conditions that are known to be the cause: only these are left out. longest: how many events repetitions
    got. span: how long the stream is, in nanoseconds. keys: returns columns that would do as another key,
    which takes a while. times: returns other times that may be meant, each with what is changed.
    """

    blamed: tuple[ex.Expression, ...] | None = None
    longest: Mapping[str, int] = field(default_factory=dict)
    span: int = 0
    keys: Callable[[], Sequence[str]] = tuple
    times: Callable[[], Iterable[tuple[str, pa.ChunkedArray]]] = tuple


def what_if(query: QueryTree, count: Count, known: Known) -> tuple[Change, ...]:
    """Return the single changes that lead to matches."""
    if known.blamed is not None:
        return tuple(_tried(_without_conditions(query, known.blamed), count))
    if query.having is not None and (matches := count(replace(query, having=None))):
        # What gets over HAVING must be made match by match, and without a key there may be very many.
        return (Change(f"without HAVING {text_of(query.having)}", matches, HAVING),)
    changes_with_matches = [
        *_tried(_changes(query, known), count),
        *_longer(query, count, known),
        *_at_other_times(count, known),
    ]
    return tuple(changes_with_matches or _tried(_other_keys(query, known), count))


def _tried(changes: Iterator[tuple[str, str, QueryTree]], count: Count) -> Iterator[Change]:
    loosened = False
    for number, (kind, text, changed) in enumerate(changes):
        if number >= _MOST or (kind == STRATEGY and loosened):
            continue  # a looser strategy still has more matches, and takes longer
        counted = count.of(changed)
        if counted is not None and counted[0]:
            loosened |= kind == STRATEGY
            yield Change(text, counted[0], kind, counted[1])


def _at_other_times(count: Count, known: Known) -> Iterator[Change]:
    for text, times in known.times():
        counted = count.at(times)
        if counted is not None and counted[0]:
            yield Change(text, counted[0], CLOCK, counted[1])


def _changes(query: QueryTree, known: Known) -> Iterator[tuple[str, str, QueryTree]]:
    yield from _exchanged(query)
    yield from _loosened(query)
    for node in walk(query.pattern):
        if isinstance(node, Negation):
            yield NEGATION, f"without {print_pattern(node)}", _without(query, node)
    for node in walk(query.pattern):
        name = node.body.variable if isinstance(node, Repeat) and isinstance(node.body, EventPattern) else None
        if isinstance(node, Repeat) and 0 < known.longest.get(str(name), 0) < node.low:
            fewer = replace(node, low=known.longest[str(name)])
            text = f"{print_pattern(fewer)} in place of {print_pattern(node)}"
            yield TIMES, text, replace(query, pattern=_exchange(query.pattern, node, fewer))
    yield from _without_conditions(query, [c for c in query.where if not isinstance(c, ex.SameValue)])


def _without_conditions(query: QueryTree, conditions: Sequence[ex.Expression]) -> Iterator[tuple[str, str, QueryTree]]:
    for condition in conditions:
        kept = tuple(other for other in query.where if other is not condition)
        if len(kept) < len(query.where):
            yield CONDITION, f"without {text_of(condition)}", replace(query, where=kept)


def _other_keys(query: QueryTree, known: Known) -> Iterator[tuple[str, str, QueryTree]]:
    """Another column in the place of a key, or none."""
    for name in known.keys()[:3]:
        for k, test in enumerate(query.where):
            if isinstance(test, ex.SameValue) and test.value is None:
                where = (*query.where[:k], key := ex.SameValue(name), *query.where[k + 1 :])
                yield KEY, f"{text_of(key)} in place of {text_of(test)}", replace(query, where=where)
        for column in query.partition_by:
            changed = tuple(KeyColumn(name) if old_key is column else old_key for old_key in query.partition_by)
            text = f"PARTITION BY {quote_name(name)} in place of {quote_name(column.name)}"
            yield KEY, text, replace(query, partition_by=changed)
    for k, test in enumerate(query.where):
        if isinstance(test, ex.SameValue):
            yield KEY, f"without {text_of(test)}", replace(query, where=query.where[:k] + query.where[k + 1 :])
    if query.partition_by:
        yield KEY, "without PARTITION BY", replace(query, partition_by=())


def _exchange(pattern: PatternTree, old: PatternTree, new: PatternTree) -> PatternTree:
    return rewrite(pattern, lambda node: new if node == old else node)


def _exchanged(query: QueryTree) -> Iterator[tuple[str, str, QueryTree]]:
    """Two neighbours the other way round; what must be absent stays between them."""
    parts = query.pattern.parts if isinstance(query.pattern, Seq) else ()
    present = [k for k, part in enumerate(parts) if not isinstance(part, Negation)]
    pairs = [*pairwise(present), *([(present[0], present[-1])] if len(present) == 3 else [])]
    for first, second in pairs:
        turned = list(parts)
        turned[first], turned[second] = parts[second], parts[first]
        text = f"{print_pattern(parts[second])} before {print_pattern(parts[first])}"
        yield ORDER, text, replace(query, pattern=Seq(tuple(turned)))


def _loosened(query: QueryTree) -> Iterator[tuple[str, str, QueryTree]]:
    """Looser strategies in the place of the strictest ones."""
    for tight, looser in _LOOSER:
        strict = [selection.strategy for selection in query.strategies if selection.strategy in tight]
        if not strict:
            continue
        for strategy in looser:
            changed = tuple(
                replace(selection, strategy=strategy) if selection.strategy in tight else selection
                for selection in query.strategies
            )
            yield STRATEGY, f"{strategy.value} in place of {strict[0].value}", replace(query, strategies=changed)
        return


def _without(query: QueryTree, negation: Negation) -> QueryTree:
    """A query without a negated component, nor what is said of it."""

    def drop(node: PatternTree) -> PatternTree:
        if isinstance(node, Seq):
            return replace(node, parts=tuple(part for part in node.parts if part != negation))
        return node

    name = negation.event.variable
    kept = tuple(c for c in query.where if not any(getattr(node, "variable", None) == name for node in walk(c)))
    return replace(query, pattern=rewrite(query.pattern, drop), where=kept)


def _longer(query: QueryTree, count: Count, known: Known) -> Iterator[Change]:
    """The first longer window that leads to matches; none is longer than the stream."""
    within = query.within
    if within is None or not isinstance(within.amount, ex.Literal) or not isinstance(within.amount.value, int | float):
        return
    before = within
    for factor in _LONGER:
        longer = replace(within, amount=replace(within.amount, value=within.amount.value * factor))
        if _is_over(before, known):
            return
        before = longer
        counted = count.of(replace(query, within=longer))
        if counted is not None and counted[0]:
            yield Change(f"WITHIN {spelt(longer)} in place of {spelt(within)}", counted[0], WINDOW, counted[1])
        if counted is None or counted[0]:
            return


def _is_over(window: Window, known: Known) -> bool:
    if window.unit is None or window.unit == "events":
        return False
    return window_nanoseconds(window, window.unit) > known.span


def spelt(window: Window) -> str:
    """A window as one reads it."""
    if window.unit is None or window.unit == "events":
        return print_window(window)
    return near(window_nanoseconds(window, window.unit))


def of_one_event(component: Component, condition: ex.Expression) -> ex.Expression | None:
    """A condition on the events of one component, as one on a single event; None if it reads more than that."""
    if isinstance(condition, ex.SameValue):
        return None
    single = True

    def one(node: ex.Expression) -> ex.Expression | None:
        nonlocal single
        if isinstance(node, ex.AggregateCall | ex.Length | ex.Rows | ex.Quantified):
            single = False
        if isinstance(node, ex.Attribute):
            single &= node.variable == component.variable and node.index in _SINGLE
            return replace(node, index=ex.Index.ONE)
        return None

    single_condition = substitute(condition, one)
    read = any(isinstance(node, ex.Attribute) for node in walk(single_condition))
    return single_condition if single and read else None


def alone(component: Component, conditions: Sequence[ex.Expression], query: QueryTree) -> QueryTree:
    """The query of the events that can be a component."""
    event = EventPattern(component.types, component.variable)
    return QueryTree(event, streams=query.streams, sees=query.sees, where=tuple(conditions), ties=query.ties)
