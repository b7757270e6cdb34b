"""Simultaneous events (S2) and composite events (S13, S25): every engine gives what the reference gives."""

from random import Random

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cepheid import Matches
from cepheid.pattern.tree.nodes import Output, Ties
from cepheid.testing.outcomes import to_json
from cepheid.testing.sessions import Feed, batch_of_1, restart_every_batch, shuffled_within_watermark
from cepheid.testing.strategies import PLAIN, Features, GeneratedQuery, merges, programs, scenarios, streams
from cepheid.testing.strategies.schemas import TIME

pytestmark = pytest.mark.filterwarnings("ignore::cepheid.CepheidWarning")

Scenario = tuple[GeneratedQuery, pa.Table]
FEEDS = (batch_of_1, restart_every_batch, shuffled_within_watermark)


def rows(matches: Matches) -> list[str]:
    return list(map(to_json, matches.to_pylist()))


def reference(scenario: Scenario) -> list[str]:
    query, events = scenario
    return rows(query.make().match(events, engine="reference"))


def closer(scenario: Scenario, unit: int) -> Scenario:
    """The same events, of which more have one time."""
    query, events = scenario
    times = pc.divide(events[TIME], unit)
    return query, events.set_column(events.schema.get_field_index(TIME), TIME, times)


SIMULTANEOUS = Features(ties=(Ties.SIMULTANEOUS,))
SHORT = Features(conditions=False, repetition=False, negation=False, having=False, outputs=(Output.ALL,), scopes=False)
TIED = st.builds(closer, scenarios(SIMULTANEOUS, schema=PLAIN), st.sampled_from((1, 3, 5)))


COMPOSITE = st.builds(
    closer,
    st.tuples(programs(PLAIN, SHORT) | merges(PLAIN, SHORT), streams(PLAIN, min_size=3, max_size=7)),
    st.sampled_from((1, 3)),
)
"""What reads composite events, of which many overlap."""


@pytest.mark.parametrize("engine", ["auto", "plain", "interpreted"])
@given(scenario=TIED | COMPOSITE)
def test_that_an_engine_gives_what_the_reference_gives(engine: str, scenario: Scenario) -> None:
    query, events = scenario
    assert rows(query.make().match(events, engine=engine)) == reference(scenario)


@settings(max_examples=settings.default.max_examples // 10)  # a kernel takes a second or two to compile
@given(TIED | COMPOSITE)
def test_that_a_compiled_kernel_gives_what_the_reference_gives(scenario: Scenario) -> None:
    query, events = scenario
    assert rows(query.make().match(events, engine="compiled")) == reference(scenario)


@given(TIED, st.integers(0, 4))
def test_that_matches_can_be_counted_and_cut(scenario: Scenario, limit: int) -> None:
    """S14: matches that end at one time end together, so that those of an instant are ordered among each other."""
    query, events = scenario
    expected = reference(scenario)
    matches = query.make().match(events, engine="plain")
    assert matches.count() == len(matches) == len(expected)
    assert list(map(to_json, matches.enumerate(limit))) == expected[:limit]


@pytest.mark.parametrize("feed", FEEDS)
@settings(max_examples=settings.default.max_examples // 4)
@given(scenario=TIED | COMPOSITE, chance=st.randoms(use_true_random=False))
def test_that_a_session_gives_what_one_call_gives(feed: Feed, scenario: Scenario, chance: Random) -> None:
    query, events = scenario
    calls = [rows(matches) for matches in feed(query.make(), events, TIME, chance)]
    assert sorted(row for call in calls for row in call) == sorted(reference(scenario))
