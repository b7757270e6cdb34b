"""What a match is, checked from the semantics page: each match by itself, and all of them as a table."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cepheid.pattern.expressions import nodes as ex
from cepheid.pattern.tree.components import name_events
from cepheid.pattern.tree.nodes import EventPattern, Negation, PatternTree, Ties
from cepheid.pattern.tree.walk import walk
from cepheid.testing.strategies import PLAIN, Features, GeneratedQuery, merges, programs, scenarios, streams
from cepheid.testing.strategies.schemas import TIME, TYPE

pytestmark = pytest.mark.filterwarnings("ignore::cepheid.CepheidWarning")

Scenario = tuple[GeneratedQuery, pa.Table]
Row = Mapping[str, Any]


@given(scenarios() | scenarios(typed=False) | st.tuples(programs(PLAIN) | merges(PLAIN), streams(PLAIN, max_size=6)))
def test_that_all_forms_of_the_matches_agree(scenario: Scenario) -> None:
    query, events = scenario
    matches = query.make().match(events)
    rows = matches.to_pylist()
    assert len(matches) == matches.count() == len(rows) == matches.to_arrow().num_rows
    assert len(matches.to_pandas()) == len(matches.to_polars()) == len(rows)
    assert list(map(repr, matches)) == list(map(repr, rows))
    assert list(map(repr, matches.enumerate(2))) == list(map(repr, rows[:2]))


@given(scenarios(Features(parameters=False)) | scenarios(Features(parameters=False), typed=False))
def test_that_the_columns_are_known_before_running(scenario: Scenario) -> None:
    """S11. The type of a user function is known only from its values, so that there is none here."""
    query, events = scenario
    made = query.make()
    matches = made.match(events)
    assert made.schema(events.schema) == matches.schema == matches.to_arrow().schema
    named = query.tree.returns or [v for v in walk(name_events(query.tree.pattern)) if isinstance(v, EventPattern)]
    absent = [n for n in walk(query.tree.pattern) if isinstance(n, Negation) and not query.tree.returns]
    assert len(matches.schema) == 2 + len(named) - len(absent)


def numbered(events: pa.Table) -> pa.Table:
    """With the place of each event in the order of S1 as the last column."""
    rows = events.to_pylist()
    order = sorted(range(len(rows)), key=lambda k: (rows[k][TIME], *map(rank, rows[k].values())))
    places = {row: place for place, row in enumerate(order)}
    return events.append_column("place", pa.array([places[k] for k in range(len(rows))], pa.int64()))


def rank(value: Any) -> tuple[Any, ...]:
    """NULL before everything, NaN after (S3a: it is the greatest number)."""
    if value is None:
        return (0,)
    return (2,) if isinstance(value, float) and math.isnan(value) else (1, value)


def bound(match: Row, variable: str) -> Sequence[Row]:
    """The events of a variable."""
    value = match[variable]
    return value if isinstance(value, list) else [value] if value is not None else []


def components(pattern: PatternTree) -> list[tuple[EventPattern, bool]]:
    """The events of a pattern in the order of the text, and whether they are negated."""
    absent = [id(node.event) for node in walk(pattern) if isinstance(node, Negation)]
    return [(node, id(node) in absent) for node in walk(pattern) if isinstance(node, EventPattern)]


CHECKED = Features(
    conditions=False, having=False, returns=False, order_by=False, declared_types=False, parameters=False
)


@given(scenarios(CHECKED, schema=PLAIN))
def test_that_a_match_keeps_what_its_query_says(scenario: Scenario) -> None:
    """S1, S2, S3, S8, S9, S11: types, distinct events, window, partition, times of a match, order of the output."""
    query, table = scenario
    events = numbered(table)
    tree = replace(query.tree, pattern=name_events(query.tree.pattern))
    found = query.make().match(events).to_pylist()
    variables = [event for event, negated in components(tree.pattern) if not negated]
    shapes = []
    for match in found:
        chosen = [e for variable in variables for e in bound(match, str(variable.variable))]
        assert all(not v.types or e[TYPE] in v.types for v in variables for e in bound(match, str(v.variable)))
        places = sorted(e["place"] for e in chosen)
        assert len(set(places)) == len(places) > 0
        ordered = sorted(chosen, key=lambda e: e["place"])
        assert (match["match_start"], match["match_end"]) == (ordered[0][TIME], ordered[-1][TIME])
        if tree.ties is Ties.SIMULTANEOUS:
            assert len({e[TIME] for e in chosen}) == len(chosen)
        if tree.within is not None and tree.within.unit == "milliseconds":
            assert match["match_end"] - match["match_start"] < tree.within.amount.value
        for column in tree.partition_by:
            values = {e[column.name] for e in chosen}
            assert len(values) == 1 or all(map(_is_nan, values))
        for test in tree.where:
            assert isinstance(test, ex.SameValue)
            assert len({e[test.attribute] for e in chosen} - {None}) == 1 or _is_nan(chosen[0][test.attribute])
        shapes.append((places[-1], places[0], places, repr([bound(match, str(v.variable)) for v in variables])))
    assert len({repr(shape) for shape in shapes}) == len(shapes)
    if tree.ties is Ties.ORDERED:
        assert [shape[:3] for shape in shapes] == sorted(shape[:3] for shape in shapes)


def _is_nan(value: Any) -> bool:
    return isinstance(value, float) and math.isnan(value)
