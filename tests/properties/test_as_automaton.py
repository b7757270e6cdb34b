"""A contiguous query and the same as an automaton give the same matches."""

from typing import Any

import pyarrow as pa
import pytest
from hypothesis import event, given, reject, settings

from cepheid import Query, UsageError
from cepheid.language import parse, print_program
from cepheid.pattern.tree.nodes import Output, Strategy, Ties
from cepheid.testing.outcomes import to_json
from cepheid.testing.strategies import PLAIN, Features, GeneratedQuery, scenarios

pytestmark = pytest.mark.filterwarnings("ignore::cepheid.CepheidWarning")

CONTIGUOUS = Features(
    negation=False,
    strategies=(Strategy.STRICT, Strategy.PARTITION),
    outputs=(Output.ALL,),
    ties=(Ties.ORDERED,),
    declared_types=False,
)


def found(query: Query, events: pa.Table, columns: list[str], engine: str) -> set[str]:
    """The matches as first and last time, and what RETURN names."""
    rows: list[dict[str, Any]] = query.match(events, engine=engine).to_pylist()
    return {to_json({name: row[name] for name in ("match_start", "match_end", *columns)}) for row in rows}


@pytest.mark.parametrize("engine", ["reference", "auto"])
@settings(max_examples=settings.default.max_examples * 2)
@given(scenario=scenarios(CONTIGUOUS) | scenarios(CONTIGUOUS, schema=PLAIN))
def test_that_the_automaton_of_a_query_gives_its_matches(
    engine: str, scenario: tuple[GeneratedQuery, pa.Table]
) -> None:
    generated, events = scenario
    query = generated.make()
    try:
        automaton = query.automaton(events)
    except UsageError as refused:
        event(refused.message)
        reject()
    columns = [item.name for item in generated.tree.returns]
    expected = found(query, events, columns, "reference")
    event(f"matches: {min(len(expected), 3)}")
    assert found(automaton, events, columns, engine) == expected
    assert print_program(parse(automaton.text)) == automaton.text
