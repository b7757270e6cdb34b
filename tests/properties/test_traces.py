"""What a trace tells is the same by the definition and event by event, and its matches are those of `match`."""

import pyarrow as pa
import pytest
from hypothesis import given, settings

from cepheid import Query
from cepheid.diagnosis.steps import Step, Teller
from cepheid.diagnosis.tracing import read, watch_definition, watch_steps
from cepheid.pattern.bind import Bound
from cepheid.pattern.schema import make_schema
from cepheid.testing.strategies import NESTED, PLAIN, GeneratedQuery, scenarios

pytestmark = pytest.mark.filterwarnings("ignore::cepheid.CepheidWarning")

Scenario = tuple[GeneratedQuery, pa.Table]
ANYTHING = scenarios() | scenarios(typed=False) | scenarios(schema=PLAIN) | scenarios(schema=NESTED)


def bound(query: Query, table: pa.Table) -> Bound:
    return query.bind(make_schema(table.schema, query.compiled.roles))[0]


def told(steps: dict[Step, None]) -> set[tuple[object, ...]]:
    return {
        (None if s.event is None else s.event.position, s.action, s.run, s.component, s.index, s.detail) for s in steps
    }


@settings(max_examples=settings.default.max_examples * 2)
@given(ANYTHING)
def test_that_both_ways_to_run_tell_the_same(scenario: Scenario) -> None:
    query, table = scenario
    made = bound(query.make(), table)
    one, other = Teller(made), Teller(made)
    watch_steps(made, read(made, table), one)
    watch_definition(made, table, other)
    assert told(one.steps) == told(other.steps)
    assert one.parents == other.parents


@settings(max_examples=settings.default.max_examples // 2)
@given(ANYTHING)
def test_that_a_trace_emits_the_matches(scenario: Scenario) -> None:
    query, table = scenario
    made = query.make()
    steps = made.trace(table, limit=None).to_arrow()
    assert steps.column("action").to_pylist().count("emit") == len(made.match(table))
    assert steps.column("step").to_pylist() == list(range(1, len(steps) + 1))
