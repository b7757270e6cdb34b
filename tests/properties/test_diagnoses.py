"""A diagnosis counts the matches of `match`, whatever the query and the stream, and can be written down and added."""

import json

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cepheid.testing.strategies import (
    NESTED,
    PLAIN,
    GeneratedQuery,
    algebra_queries,
    automata,
    lasting_streams,
    merges,
    programs,
    scenarios,
    streams,
)

pytestmark = pytest.mark.filterwarnings("ignore::cepheid.CepheidWarning")

Scenario = tuple[GeneratedQuery, pa.Table]
PROGRAMS = st.tuples(programs(PLAIN) | merges(PLAIN), streams(PLAIN, max_size=6))
ANYTHING = scenarios() | scenarios(typed=False) | scenarios(schema=PLAIN) | scenarios(schema=NESTED) | PROGRAMS
ARCS = st.tuples(automata(PLAIN), streams(PLAIN, max_size=6)) | st.tuples(algebra_queries(), lasting_streams())


@settings(max_examples=settings.default.max_examples // 2)
@given(ANYTHING)
def test_that_a_diagnosis_counts_the_matches(scenario: Scenario) -> None:
    query, table = scenario
    made = query.make()
    found = made.diagnose(table)
    matches = len(made.match(table))
    assert found.matches == matches
    assert found.followed == found.begun
    last = found.funnel[-1]
    assert last.component == "complete"
    assert last.ended.get("matches", 0) == matches
    twice = json.loads(json.dumps((found + found).to_dict()))
    assert twice["matches"] == 2 * matches
    assert found.hints or str(found).startswith(f"{matches or 'no'} match")


@settings(max_examples=settings.default.max_examples // 4)
@given(ARCS)
def test_that_arcs_are_counted(scenario: Scenario) -> None:
    query, table = scenario
    made = query.make()
    found = made.diagnose(table)
    assert found.matches == len(made.match(table))
    assert found.funnel[-1].component == "complete"
    assert all(test.passed <= test.tested for stage in found.funnel for test in stage.tests)
    assert str(found)


@settings(max_examples=settings.default.max_examples // 4)
@given(ANYTHING)
def test_that_a_limited_trace_tells_what_the_whole_tells(scenario: Scenario) -> None:
    """In its order, and without what is not certain after the events that were read."""
    query, table = scenario
    made = query.make()
    few = made.trace(table, limit=7)
    every = iter(map(repr, made.trace(table, limit=None).to_arrow().drop_columns("step").to_pylist()))
    if len(made.compiled.queries) == 1:
        assert all(repr(row) in every for row in few.to_arrow().drop_columns("step").to_pylist())
    assert few.to_arrow().num_rows <= 7
    assert few.read <= few.events
    assert str(few)
