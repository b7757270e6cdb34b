"""Rules that run together, each a lane of one joined query, give what each gives alone (S23)."""

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from many_rules import RuleSet, Together, by_rule, rule_sets

from cepheid.pattern.templates import NotJoinedError
from cepheid.testing.outcomes import to_json
from cepheid.testing.strategies import LASTING, algebra_queries, automata, lasting_streams, scenarios, streams
from cepheid.testing.strategies.schemas import PLAIN

pytestmark = pytest.mark.filterwarnings("ignore::cepheid.CepheidWarning")

Scenario = tuple[RuleSet, pa.Table]


@st.composite
def patterns(draw: st.DrawFn) -> Scenario:
    query, events = draw(scenarios() | scenarios(schema=PLAIN))
    return draw(rule_sets(query)), events


@st.composite
def own_automata(draw: st.DrawFn) -> Scenario:
    return draw(rule_sets(draw(automata(PLAIN)))), draw(streams(PLAIN, max_size=8))


@st.composite
def algebras(draw: st.DrawFn) -> Scenario:
    return draw(rule_sets(draw(algebra_queries()))), draw(lasting_streams())


def check(scenario: Scenario, engine: str) -> None:
    rules, events = scenario
    together = Together(rules.query, events.schema, engine)
    try:
        together.add(range(rules.rules.num_rows), rules.rules)
    except NotJoinedError:
        return
    found = by_rule(together.push(events, None))
    assert [(n, to_json(row)) for n, row in found] == [(n, to_json(row)) for n, row in rules.single(events)]


@pytest.mark.parametrize("engine", ["plain", "interpreted"])
@given(scenario=patterns())
def test_that_rules_of_a_pattern_give_what_each_gives_alone(engine: str, scenario: Scenario) -> None:
    check(scenario, engine)


@given(own_automata())
def test_that_rules_of_an_automaton_give_what_each_gives_alone(scenario: Scenario) -> None:
    check(scenario, "plain")


@given(algebras())
def test_that_rules_of_an_expression_give_what_each_gives_alone(scenario: Scenario) -> None:
    check(scenario, "plain")
