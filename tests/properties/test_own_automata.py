"""Automata of one's own (S18): every way to run one gives what the semantics page says, whatever is asked of it."""

from collections import Counter
from collections.abc import Sequence
from random import Random
from typing import Any

import pyarrow as pa
import pytest
from automaton_oracle import oracle_rows, shown_rows
from change_calls import has_matches
from change_oracle import Answer
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import initialize
from test_changes import BEGINNINGS, ChangeSessions

from cepheid import Matches, Query
from cepheid.language import parse
from cepheid.testing.outcomes import to_json
from cepheid.testing.sessions import Feed, batch_of_1, restart_every_batch, shuffled_within_watermark
from cepheid.testing.strategies import PLAIN, GeneratedQuery, automata, automaton_programs, schemas, streams
from cepheid.testing.strategies.schemas import TIME

pytestmark = pytest.mark.filterwarnings("ignore::cepheid.CepheidWarning")

Scenario = tuple[GeneratedQuery, pa.Table]
EXAMPLES = settings.default.max_examples
FEEDS = (batch_of_1, restart_every_batch, shuffled_within_watermark)


@st.composite
def scenarios(draw: st.DrawFn, *, schema: pa.Schema | None = None) -> Scenario:
    """An automaton, and events for it."""
    schema = schema or draw(schemas() | schemas(typed=False))
    query = draw(automata(schema, simultaneous=draw(st.integers(0, 3)) == 3))
    return query, draw(streams(schema, max_size=9))


ON_PLAIN = scenarios(schema=PLAIN)
ANYTHING = ON_PLAIN.filter(has_matches) | ON_PLAIN | scenarios()
PROGRAMS = st.tuples(automaton_programs(PLAIN), streams(PLAIN, min_size=2))


def rows(matches: Matches) -> list[str]:
    return list(map(to_json, matches.to_pylist()))


def reference(scenario: Scenario) -> list[str]:
    query, events = scenario
    return rows(query.make().match(events, engine="reference"))


@given(ANYTHING)
def test_that_the_reference_gives_what_the_page_says(scenario: Scenario) -> None:
    query, events = scenario
    found = shown_rows(query.make().match(events, engine="reference"))
    assert Counter(found) == Counter(oracle_rows(query.make(), events))


@pytest.mark.parametrize("engine", ["plain", "interpreted"])
@given(scenario=ANYTHING | PROGRAMS)
def test_that_an_engine_gives_what_the_reference_gives(engine: str, scenario: Scenario) -> None:
    query, events = scenario
    assert rows(query.make().match(events, engine=engine)) == reference(scenario)


@settings(max_examples=EXAMPLES // 10)  # a kernel takes a second or two to compile
@given(ON_PLAIN.filter(has_matches))
def test_that_a_compiled_kernel_gives_what_the_reference_gives(scenario: Scenario) -> None:
    query, events = scenario
    assert rows(query.make().match(events, engine="compiled")) == reference(scenario)


@given(automata(PLAIN) | automata(PLAIN, simultaneous=True) | automaton_programs(PLAIN))
def test_that_a_printed_automaton_is_read_back(query: GeneratedQuery) -> None:
    assert parse(query.text) == query.program
    made = Query(query.text, **query.options)
    assert made.text == query.make().text == query.text


@settings(max_examples=EXAMPLES // 2)
@given(ANYTHING, st.integers(0, 4))
def test_that_matches_can_be_counted_and_cut(scenario: Scenario, limit: int) -> None:
    query, events = scenario
    expected = reference(scenario)
    matches = query.make().match(events)
    assert matches.count() == len(matches) == len(expected)
    assert list(map(to_json, matches.enumerate(limit))) == expected[:limit]


@pytest.mark.parametrize("engine", ["plain", "interpreted"])
@given(scenario=ON_PLAIN.filter(has_matches), watermarks=st.lists(st.integers(0, 26), min_size=1, max_size=4))
def test_that_a_match_is_given_when_the_page_says(engine: str, scenario: Scenario, watermarks: list[int]) -> None:
    """S15, S18.4: also those that wait for the end of their window."""
    query, events = scenario
    session = query.make().session(engine=engine)
    found = Counter(shown_rows(session.push(events)))
    for watermark in sorted(watermarks):
        found.update(shown_rows(session.advance(watermark)))
        assert found == Counter(oracle_rows(query.make(), events, watermark))
    found.update(shown_rows(session.close()))
    assert found == Counter(oracle_rows(query.make(), events))


@pytest.mark.parametrize("feed", FEEDS)
@settings(max_examples=EXAMPLES // 2)
@given(scenario=ANYTHING | PROGRAMS, chance=st.randoms(use_true_random=False))
def test_that_a_session_gives_what_one_call_gives(feed: Feed, scenario: Scenario, chance: Random) -> None:
    query, events = scenario
    calls = list(map(rows, list(feed(query.make(), events, TIME, chance))))
    assert Counter(row for call in calls for row in call) == Counter(reference(scenario))


class AutomatonChanges(ChangeSessions):
    """Change sessions of automata beside the oracle: late events, retractions, snapshots, after every call."""

    @initialize(
        scenario=ON_PLAIN.filter(has_matches) | PROGRAMS.filter(has_matches),
        **BEGINNINGS,
    )
    def start(self, scenario: Scenario, **how: Any) -> None:
        self.begin(scenario, **how)

    def in_order(self, some: Sequence[str], answer: Answer, name: str) -> bool:
        """Which of equal composite events is meant is not said, and so neither is the order of what reads them."""
        equal = max(Counter(answer.get("Made", ())).values(), default=0) > 1
        return equal or super().in_order(some, answer, name)


TestAutomatonChanges = pytest.mark.filterwarnings("ignore::cepheid.CepheidWarning")(AutomatonChanges.TestCase)
TestAutomatonChanges.settings = settings(stateful_step_count=12)
