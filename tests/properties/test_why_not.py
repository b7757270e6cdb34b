"""`why_not` refuses exactly those rows that are not a match."""

from random import Random
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cepheid.front.runnable import Runnable
from cepheid.pattern.binding.schema import make_schema
from cepheid.pattern.tree.layout import always_bound
from cepheid.reference import interpret
from cepheid.testing.strategies import NESTED, PLAIN, GeneratedQuery, automata, scenarios, streams

pytestmark = pytest.mark.filterwarnings("ignore::cepheid.CepheidWarning")

Scenario = tuple[GeneratedQuery, pa.Table]
ANYTHING = scenarios() | scenarios(typed=False) | scenarios(schema=PLAIN) | scenarios(schema=NESTED)


def some_rows(bound: Runnable, count: int, random: Random) -> dict[str, Any]:
    needed = always_bound(bound.layout)
    names = [c for c in bound.positive if c.variable in needed or random.random() < 0.5]
    rows = sorted(random.sample(range(count), min(count, len(names) + random.randrange(2))))
    found: dict[str, Any] = {}
    for component in names:
        if rows:
            some = [rows.pop(0)] + ([rows.pop(0)] if component.array and len(rows) > len(names) else [])
            found[component.variable] = some if component.array else some[0]
    return found


def changed(match: dict[str, list[int]], count: int, random: Random) -> dict[str, list[int]]:
    """Almost a match: a row is left out, added, replaced or exchanged with that of another variable."""
    found = {variable: list(rows) for variable, rows in match.items()}
    one, other = random.choice(list(found)), random.choice(list(found))
    place, way = random.randrange(len(found[one])), random.randrange(4)
    if way == 0:
        del found[one][place]
    elif way == 1:
        found[one].append(random.randrange(count))
    elif way == 2:
        found[one][place] = random.randrange(count)
    else:
        found[one][place], found[other][0] = found[other][0], found[one][place]
    return {variable: rows for variable, rows in found.items() if rows}


@settings(max_examples=settings.default.max_examples * 2)
@given(ANYTHING, st.integers(0, 2**32))
def test_that_what_is_almost_a_match_is_none(scenario: Scenario, seed: int) -> None:
    query, table = scenario
    made, random = query.make(), Random(seed)
    bound = made.bind(make_schema(table.schema, made.compiled.roles))[0]
    matches = [{v: sorted(rows) for v, rows in m.rows.items() if rows} for m in interpret(bound, table)]
    for match in matches[:5]:
        for _ in range(5):
            named = changed(match, table.num_rows, random)
            single = all(bound.components[v].array or len(rows) == 1 for v, rows in named.items())
            if named and single and always_bound(bound.layout) <= named.keys():
                known = {v: sorted(rows) for v, rows in named.items()} in matches
                answer = made.why_not(table, **named)
                assert answer.is_match == known
                assert answer.is_match or (answer.rule is not None and answer.message)


@settings(max_examples=settings.default.max_examples * 2)
@given(ANYTHING, st.integers(0, 2**32))
def test_that_only_matches_are_matches(scenario: Scenario, seed: int) -> None:
    query, table = scenario
    made, random = query.make(), Random(seed)
    bound = made.bind(make_schema(table.schema, made.compiled.roles))[0]
    matches = [{v: list(rows) for v, rows in m.rows.items() if rows} for m in interpret(bound, table)]
    for match in matches[:5]:
        assert made.why_not(table, **match).is_match
    for _ in range(5):
        named = some_rows(bound, table.num_rows, random)
        if always_bound(bound.layout) <= named.keys() and named:
            wanted = {v: sorted(rows if isinstance(rows, list) else [rows]) for v, rows in named.items()}
            known = any({v: sorted(rows) for v, rows in m.items()} == wanted for m in matches)
            assert made.why_not(table, **named).is_match == known


@settings(max_examples=settings.default.max_examples // 2)
@given(automata(PLAIN) | automata(PLAIN, simultaneous=True), streams(PLAIN, max_size=5))
def test_that_only_matches_of_an_automaton_are_matches(query: GeneratedQuery, table: pa.Table) -> None:
    made = query.make()
    bound = made.bind(make_schema(table.schema, made.compiled.roles))[0]
    matches = {match.selected for match in interpret(bound, table)}
    for first in range(table.num_rows):
        for last in range(table.num_rows):
            assert made.why_not(table, first=first, last=last).is_match == ((first, last) in matches)
