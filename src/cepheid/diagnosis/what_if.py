"""A query with one thing changed: which single change would give matches."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from cepheid.diagnosis.as_text import near
from cepheid.diagnosis.facts import Change
from cepheid.diagnosis.written import text_of
from cepheid.language import print_pattern, print_window
from cepheid.pattern import expressions as ex
from cepheid.pattern.components import Component
from cepheid.pattern.parameters import window_nanoseconds
from cepheid.pattern.tree import Event, Negation, Pattern, Query, Selection, Seq, Strategy, Window
from cepheid.pattern.walk import rewrite, substitute, walk


@dataclass(frozen=True, slots=True)
class Count:
    """How many matches another query has on so many events; None: it can't be run like that."""

    events: int
    of: Callable[[Query], int | None]

    def __call__(self, query: Query) -> int | None:
        return self.of(query)


_LONGER = (2, 5, 10, 100, 1_000, 10**4, 10**5, 10**6)
_MOST = 12  # changes that are tried
_SINGLE = (ex.Index.ONE, ex.Index.EACH, ex.Index.FIRST)


def what_if(query: Query, count: Count) -> tuple[Change, ...]:
    """The changes that give matches, those with the fewest first: they are the nearest to what was written."""
    if query.having is not None and (matches := count(replace(query, having=None))):
        # What gets over HAVING must be made match by match, and without a key there may be very many.
        return (Change(f"without HAVING {text_of(query.having)}", matches),)
    found = []
    for number, (text, changed) in enumerate(_changes(query)):
        if number >= _MOST:
            break
        if matches := count(changed):
            found.append(Change(text, matches))
    found.sort(key=lambda change: change.matches)
    return (*found, *_longer(query, count))


def _changes(query: Query) -> Iterator[tuple[str, Query]]:
    for k, condition in enumerate(query.where):
        yield f"without {text_of(condition)}", replace(query, where=query.where[:k] + query.where[k + 1 :])
    for node in walk(query.pattern):
        if isinstance(node, Negation):
            yield f"without {print_pattern(node)}", _without(query, node)
    if query.partition_by:
        yield "without PARTITION BY", replace(query, partition_by=())
    yield from _exchanged(query)
    strict = [one for one in query.strategies if one.strategy in (Strategy.STRICT, Strategy.PARTITION)]
    if strict:
        loose = tuple(_loose(one) for one in query.strategies)
        yield f"skip_till_next_match in place of {strict[0].strategy.value}", replace(query, strategies=loose)


def _exchanged(query: Query) -> Iterator[tuple[str, Query]]:
    """Two neighbours the other way round."""
    parts = query.pattern.parts if isinstance(query.pattern, Seq) else ()
    for k, (one, other) in enumerate(pairwise(parts)):
        if isinstance(one, Event) and isinstance(other, Event) and one.types != other.types:
            turned = Seq((*parts[:k], other, one, *parts[k + 2 :]))
            text = f"{print_pattern(other)} before {print_pattern(one)}"
            yield text, replace(query, pattern=turned)


def _loose(one: Selection) -> Selection:
    contiguous = one.strategy in (Strategy.STRICT, Strategy.PARTITION)
    return replace(one, strategy=Strategy.NEXT) if contiguous else one


def _without(query: Query, negation: Negation) -> Query:
    """A query without a negated component, nor what is said of it."""

    def drop(node: Pattern) -> Pattern:
        if isinstance(node, Seq):
            return replace(node, parts=tuple(part for part in node.parts if part != negation))
        return node

    name = negation.event.variable
    kept = tuple(c for c in query.where if not any(getattr(node, "variable", None) == name for node in walk(c)))
    return replace(query, pattern=rewrite(query.pattern, drop), where=kept)


def _longer(query: Query, count: Count) -> Iterator[Change]:
    """The first longer window that gives matches."""
    within = query.within
    if within is None or not isinstance(within.amount, ex.Literal) or not isinstance(within.amount.value, int | float):
        return
    for factor in _LONGER:
        longer = replace(within, amount=replace(within.amount, value=within.amount.value * factor))
        if matches := count(replace(query, within=longer)):
            yield Change(f"WITHIN {_spelt(longer)} in place of {_spelt(within)}", matches)
            return


def _spelt(window: Window) -> str:
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
        if isinstance(node, ex.Aggregate | ex.Length | ex.Rows | ex.Quantified):
            single = False
        if isinstance(node, ex.Attribute):
            single &= node.variable == component.variable and node.index in _SINGLE
            return replace(node, index=ex.Index.ONE)
        return None

    found = substitute(condition, one)
    read = any(isinstance(node, ex.Attribute) for node in walk(found))
    return found if single and read else None


def alone(component: Component, conditions: Sequence[ex.Expression], query: Query) -> Query:
    """The query of the events that can be a component."""
    event = Event(component.types, component.variable)
    return Query(event, streams=query.streams, sees=query.sees, where=tuple(conditions), ties=query.ties)
