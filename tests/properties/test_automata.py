"""An automaton, run by its definition, accepts what the query means: the reference is asked for both."""

import pyarrow as pa
import pytest
from hypothesis import assume, given

from cepheid.automaton.build import build
from cepheid.automaton.model import NotNative
from cepheid.pattern.binding.schema import make_schema
from cepheid.pattern.tree.nodes import Output
from cepheid.reference import interpret
from cepheid.reference.automaton import AutomatonRunner
from cepheid.reference.partition import substreams
from cepheid.testing.strategies import PLAIN, GeneratedQuery, scenarios
from cepheid.values.rows import read_events

pytestmark = pytest.mark.filterwarnings("ignore::cepheid.CepheidWarning")


@given(scenarios() | scenarios(typed=False) | scenarios(schema=PLAIN))
def test_that_an_automaton_accepts_what_the_query_means(scenario: tuple[GeneratedQuery, pa.Table]) -> None:
    generated, table = scenario
    program = generated.make().compiled
    [query] = program.bind(make_schema(table.schema, program.roles))
    assume(query.output is Output.ALL and query.having is None)
    try:
        automaton = build(query)
    except NotNative:
        assume(False)
    events = read_events(table, query.schema)
    positions = {event.row: event.position for event in events}
    accepted = {
        match for partition in substreams(query, events) for match in AutomatonRunner(automaton, query, partition).run()
    }
    meant = {
        tuple((name, positions[row]) for name, row in zip(match.variables, match.selected, strict=True))
        for match in interpret(query, table)
    }
    assert accepted == meant
