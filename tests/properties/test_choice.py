"""NON_OVERLAP and LONGEST: the choice in the match store is the one among all matches."""

from collections.abc import Iterator
from random import Random

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cepheid import Matches
from cepheid.engine.machines.forms import events as event_form
from cepheid.pattern.tree.nodes import Output, Ties
from cepheid.testing.outcomes import to_json
from cepheid.testing.sessions import Feed, batch_of_1, restart_every_batch
from cepheid.testing.strategies import PLAIN, Features, GeneratedQuery, scenarios
from cepheid.testing.strategies.schemas import TIME

pytestmark = pytest.mark.filterwarnings("ignore::cepheid.CepheidWarning")

Scenario = tuple[GeneratedQuery, pa.Table]
MODES = (Output.NON_OVERLAP, Output.LONGEST)
APART = st.sampled_from([MODES, MODES[::-1]]).flatmap(
    lambda outputs: scenarios(Features(outputs=outputs, ties=(Ties.ORDERED,)), schema=PLAIN)
)


@pytest.fixture(autouse=True, scope="module")
def nothing_is_enumerated() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(event_form, "FEW", -1)
        patch.setattr(event_form, "FEW_EACH", 0)
        yield


def rows(matches: Matches) -> list[str]:
    return list(map(to_json, matches.to_pylist()))


@settings(max_examples=settings.default.max_examples * 2)
@given(APART)
def test_that_the_store_gives_what_the_reference_chooses(scenario: Scenario) -> None:
    query, events = scenario
    assert rows(query.make().match(events, engine="plain")) == rows(query.make().match(events, engine="reference"))


@given(scenario=APART, most=st.sampled_from([0, 64, 256, 2**15]))
def test_that_runs_that_are_given_up_change_nothing(scenario: Scenario, most: int) -> None:
    """HAVING is tested by runs until there are too many of them, then on matches."""
    query, events = scenario
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(event_form, "MOST_TRIED_PLAIN", most)
        assert rows(query.make().match(events, engine="plain")) == rows(query.make().match(events, engine="reference"))


@pytest.mark.parametrize("feed", [batch_of_1, restart_every_batch])
@given(scenario=APART, chance=st.randoms(use_true_random=False))
def test_that_a_session_gives_what_the_reference_chooses(feed: Feed, scenario: Scenario, chance: Random) -> None:
    query, events = scenario
    calls = list(map(rows, list(feed(query.make(), events, TIME, chance))))
    assert sorted(row for call in calls for row in call) == sorted(rows(query.make().match(events, engine="reference")))
