"""S23 by its definition: each query alone, one after the other. What everything fast is tested against."""

from __future__ import annotations

import warnings
from collections.abc import Iterator

import numpy as np
import pyarrow as pa

from cepheid.api.many.options import SharedOptions
from cepheid.api.matching import match_until
from cepheid.api.query import Query
from cepheid.engine.encoding.few_events import as_table
from cepheid.engine.encoding.times import ticks
from cepheid.engine.many.lifetimes import Lifetimes
from cepheid.engine.many.protocol import RuleMatches
from cepheid.engine.many.rules import Rules, RuleSet
from cepheid.engine.matches.matches import Matches
from cepheid.engine.stream.lifetime import FOR_GOOD, Lifetime
from cepheid.errors import CepheidWarning
from cepheid.pattern.binding.schema import make_schema


def each_query(rules: RuleSet, options: SharedOptions) -> Iterator[tuple[int, int, Query]]:
    """The number of each rule, its template, and its query."""
    for some in rules.rules:
        template = rules.templates[some.template]
        for number, values in zip(some.numbers, some.values(template.parameters), strict=True):
            yield int(number), some.template, options.query(template, values)


def match_each(
    rules: RuleSet, options: SharedOptions, events: pa.Table, lives: Lifetimes | None = None
) -> list[RuleMatches]:
    """What each query gives alone, by the reference, on the events of its lifetime."""
    results: list[RuleMatches] = []
    for number, template, query in each_query(rules, options):
        matches = match_alone(query, events, FOR_GOOD if lives is None else lives.of(number))
        results.append(RuleMatches(template, np.full(len(matches), number), matches))
    return results


def match_alone(query: Query, events: pa.Table, lifetime: Lifetime) -> Matches:
    """The matches of a query on the events of its lifetime; absences count that are decided by its end."""
    times: np.ndarray = ticks(make_schema(events.schema, query.compiled.roles), events)
    seen, _ = lifetime.events(events, times)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CepheidWarning)
        return match_until(query, as_table(seen), lifetime.known(None))


def no_matches(rules: RuleSet, options: SharedOptions, events: pa.Schema, template: int, number: int | None) -> Matches:
    """The matches of a rule that has none; number: None for any rule of the template."""
    empty = events.empty_table()
    for some in rules.rules:
        if some.template == template and (number is None or number in some.numbers):
            query = options.query(rules.templates[template], _values(rules, some, number))
            return match_alone(query, empty, FOR_GOOD)
    return match_alone(options.query(rules.templates[template], {}), empty, FOR_GOOD)


def _values(rules: RuleSet, some: Rules, number: int | None) -> dict[str, object]:
    place = 0 if number is None else int(np.flatnonzero(some.numbers == number)[0])
    return next(some.take(np.array([place])).values(rules.templates[some.template].parameters))
