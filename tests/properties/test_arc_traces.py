"""What a trace of an automaton or of a CESAR expression tells is what gives its matches."""

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cepheid import Query
from cepheid.testing.strategies import (
    PLAIN,
    GeneratedQuery,
    algebra_queries,
    automata,
    automaton_programs,
    lasting_streams,
    schemas,
    streams,
)

pytestmark = pytest.mark.filterwarnings("ignore::cepheid.CepheidWarning")

Scenario = tuple[GeneratedQuery, pa.Table]


@st.composite
def scenarios(draw: st.DrawFn) -> Scenario:
    schema = draw(st.just(PLAIN) | schemas() | schemas(typed=False))
    query = draw(automata(schema, simultaneous=draw(st.integers(0, 3)) == 3))
    return query, draw(streams(schema, max_size=9))


PROGRAMS = st.tuples(automaton_programs(PLAIN), streams(PLAIN, min_size=2))
EXPRESSIONS = st.tuples(algebra_queries(), lasting_streams())


def check(query: Query, events: pa.Table) -> None:
    steps = query.trace(events, limit=None).to_arrow()
    rows = steps.to_pylist()
    for name, matches in query.match(events, engine="reference").outputs.items():
        own = [row for row in rows if row.get("query", name) == name]
        assert sum(row["action"] == "emit" for row in own) == len(matches)
        made = {row["run"]: row for row in own if row["action"] in ("begin", "take", "proceed")}
        for row in own:  # what does something was made before, by a run that was
            assert row["run"] is None or made[row["run"]]["step"] <= row["step"]
            assert row["parent"] is None or made[row["parent"]]["step"] < made[row["run"]]["step"]
        if len(query.compiled.queries) > 1:
            continue  # it may be a PATTERN, whose runs are told apart after they merge
        merged = {row["run"]: row["position"] for row in own if row["action"] == "merge"}
        later = [row for row in own if row["run"] in merged and row["position"] != merged[row["run"]]]
        assert all(row["position"] is not None and row["position"] < merged[row["run"]] for row in later)


@given(scenarios() | PROGRAMS)
def test_that_the_trace_of_an_automaton_emits_its_matches(scenario: Scenario) -> None:
    query, events = scenario
    check(query.make(), events)


@settings(max_examples=settings.default.max_examples // 2)
@given(EXPRESSIONS)
def test_that_the_trace_of_an_expression_emits_its_results(scenario: Scenario) -> None:
    query, events = scenario
    check(query.make(), events)
