"""Every way to run a query gives what the reference gives, whatever the query and the stream."""

from collections.abc import Sequence
from random import Random

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cepheid import Matches
from cepheid.pattern.tree.nodes import Output
from cepheid.testing.outcomes import to_json
from cepheid.testing.sessions import Feed, batch_of_1, restart_every_batch, shuffled_within_watermark
from cepheid.testing.strategies import NESTED, PLAIN, Features, GeneratedQuery, merges, programs, scenarios, streams
from cepheid.testing.strategies.schemas import TIME

pytestmark = pytest.mark.filterwarnings("ignore::cepheid.CepheidWarning")

Scenario = tuple[GeneratedQuery, pa.Table]

PROGRAMS = st.tuples(programs(PLAIN) | merges(PLAIN), streams(PLAIN, max_size=6))
ANYTHING = scenarios() | scenarios(typed=False) | scenarios(schema=PLAIN) | scenarios(schema=NESTED) | PROGRAMS
FEEDS = (batch_of_1, restart_every_batch, shuffled_within_watermark)


def rows(matches: Matches) -> list[str]:
    return list(map(to_json, matches.to_pylist()))


def reference(scenario: Scenario) -> list[str]:
    query, events = scenario
    return rows(query.make().match(events, engine="reference"))


def is_subsequence(some: Sequence[str], all_: Sequence[str]) -> bool:
    rest = iter(all_)
    return all(row in rest for row in some)


@pytest.mark.parametrize("engine", ["auto", "plain", "interpreted"])
@settings(max_examples=settings.default.max_examples * 2)
@given(scenario=ANYTHING)
def test_that_an_engine_gives_what_the_reference_gives(engine: str, scenario: Scenario) -> None:
    query, events = scenario
    assert rows(query.make().match(events, engine=engine)) == reference(scenario)


@settings(max_examples=settings.default.max_examples // 10)  # a kernel takes a second or two to compile
@given(ANYTHING)
def test_that_a_compiled_kernel_gives_what_the_reference_gives(scenario: Scenario) -> None:
    query, events = scenario
    assert rows(query.make().match(events, engine="compiled")) == reference(scenario)


@pytest.mark.parametrize("engine", ["plain", "compiled"])
@settings(max_examples=settings.default.max_examples // 4)
@given(scenario=scenarios(schema=PLAIN), others=st.lists(streams(PLAIN, max_size=6), min_size=1, max_size=3))
def test_that_a_query_can_be_run_again_on_other_events(engine: str, scenario: Scenario, others: list[pa.Table]) -> None:
    """What an earlier run has left, such as arrays for columns with NULLs, does not matter."""
    query, events = scenario
    made = query.make()
    for table in (events, *others, events):
        assert rows(made.match(table, engine=engine, plan="automaton")) == reference((query, table))


@given(ANYTHING, st.integers(0, 4))
def test_that_matches_can_be_counted_and_cut(scenario: Scenario, limit: int) -> None:
    """S14: the count is that of all matches, a limit gives the first of them."""
    query, events = scenario
    expected = reference(scenario)
    matches = query.make().match(events, engine="auto")
    assert matches.count() == len(matches) == len(expected)
    assert list(map(to_json, matches.enumerate(limit))) == expected[:limit]
    assert rows(query.make().match(events, engine="auto", limit=limit)) == expected[:limit]


@pytest.mark.parametrize("feed", FEEDS)
@given(scenario=ANYTHING, chance=st.randoms(use_true_random=False))
def test_that_a_session_gives_what_one_call_gives(feed: Feed, scenario: Scenario, chance: Random) -> None:
    """Whatever the batches; and in each call in the order of S9. Matches are read after the session was closed."""
    query, events = scenario
    calls = list(map(rows, list(feed(query.make(), events, TIME, chance))))
    expected = reference(scenario)
    assert sorted(row for call in calls for row in call) == sorted(expected)
    assert all(is_subsequence(call, expected) for call in calls)


@pytest.mark.parametrize("engine", ["auto", "plain", "interpreted"])
@given(scenario=scenarios(Features(negations=2), schema=PLAIN))
def test_that_the_end_of_the_input_need_not_end_absences(engine: str, scenario: Scenario) -> None:
    """With open=False, matches are those of a session that has come to the last time, if all of them are given."""
    query, events = scenario
    expected = rows(query.make().match(events, engine="reference", open=False))
    assert rows(query.make().match(events, engine=engine, open=False)) == expected
    if query.tree.output is Output.ALL and events.num_rows:
        session = query.make().session()
        found = rows(session.push(events)) + rows(session.advance(max(events[TIME].to_pylist())))
        last = rows(session.close())
        assert set(found) <= set(expected) <= {*found, *last}


@given(scenarios(Features(negation=False), schema=PLAIN), st.lists(st.integers(0, 14), min_size=1, max_size=4))
def test_that_a_match_is_given_as_soon_as_it_is_certain(scenario: Scenario, watermarks: list[int]) -> None:
    """Without a negation at the end, that is when the watermark has passed its last event."""
    query, events = scenario
    session = query.make().session()
    given_ = rows(session.push(events))
    for watermark in sorted(watermarks):
        given_ += rows(session.advance(watermark))
        past = [event for event in events.to_pylist() if event[TIME] < watermark]
        assert sorted(given_) == sorted(reference((query, pa.Table.from_pylist(past, schema=PLAIN))))
