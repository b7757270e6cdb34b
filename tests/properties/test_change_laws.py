"""Laws of change streams (S15, S16), on sessions that are given the same calls."""

from collections import Counter
from random import Random

import pyarrow as pa
import pytest
from change_calls import ANY, CHANCE, ENGINES, SIGMA, Scenario, plain, play, same, script, table, total, with_op
from change_oracle import Row, netted, shown
from hypothesis import given, settings
from hypothesis import strategies as st

from cepheid.pattern.expressions.parameters import literal
from cepheid.pattern.tree.nodes import Output, ReturnItem
from cepheid.testing.strategies import PLAIN, Features, GeneratedQuery, rows, scenarios
from cepheid.testing.strategies.schemas import TIME

pytestmark = pytest.mark.filterwarnings("ignore::cepheid.CepheidWarning")

SOME = settings(max_examples=settings.default.max_examples // 3)


def expected(query: GeneratedQuery, events: pa.Table) -> Counter[str]:
    net = table([plain(row) for row in events.to_pylist()])
    return Counter(shown(query.make().match(net, engine="reference")))


@SOME
@given(scenario=ANY, chance=CHANCE, engine=ENGINES, speculate=SIGMA)
def test_that_every_order_and_split_has_the_same_sum(
    scenario: Scenario, chance: Random, engine: str, speculate: int | str
) -> None:
    """S15.3: it is the match of the net."""
    query, events = scenario
    session = query.make().session(engine=engine, speculate=speculate)
    assert total(list(play(session, script(events, chance)))) == expected(query, events)


@SOME
@given(scenario=ANY, chance=CHANCE, one=SIGMA, other=SIGMA)
def test_that_the_sum_is_the_same_at_every_speculation(
    scenario: Scenario, chance: Random, one: int | str, other: int | str
) -> None:
    query, events = scenario
    calls = script(events, chance)
    sums = [total(list(play(query.make().session(speculate=sigma), calls))) for sigma in (one, other)]
    assert sums[0] == sums[1]


@SOME
@given(scenario=ANY, chance=CHANCE, engine=ENGINES, lateness=st.sampled_from([None, 0, 3]))
def test_that_no_speculation_is_waiting(scenario: Scenario, chance: Random, engine: str, lateness: int | None) -> None:
    """S15.5: call by call, and nothing is taken back."""
    query, events = scenario
    calls = script(events, chance, retractions=False, watermarks=lateness is None)
    waiting = query.make().session(engine=engine, late="drop", lateness=lateness)
    changing = query.make().session(engine=engine, late="drop", lateness=lateness, speculate=0)
    for matches, changes in zip(play(waiting, calls), play(changing, calls), strict=True):
        for name, certain in matches.outputs.items():
            assert shown(changes.outputs[name].added) == shown(certain)
            assert not len(changes.outputs[name].removed)
    assert waiting.stats.late == changing.stats.late


@SOME
@given(
    scenario=ANY, chance=CHANCE, engine=ENGINES, speculate=SIGMA, others=st.lists(rows(PLAIN).map(plain), max_size=3)
)
def test_that_what_comes_and_goes_leaves_nothing(
    scenario: Scenario, chance: Random, engine: str, speculate: int | str, others: list[Row]
) -> None:
    """S16: what it does is undone, and the session is as if it had never been."""
    query, events = scenario
    undisturbed, session = (query.make().session(engine=engine, speculate=speculate) for _ in range(2))
    watermark = 0
    for call in script(events, chance):
        assert same(call.on(session), call.on(undisturbed))
        watermark = watermark if call.time is None else call.time
        guests = table([row for row in others if row[TIME] >= watermark])
        if chance.random() > 0.5:
            come, gone = session.push(guests), session.retract(guests)
        else:  # a debt, and its payment
            come, gone = session.retract(guests), session.push(guests)
            assert not come
            assert not gone
        assert Counter(shown(come.added)) == Counter(shown(gone.removed))
        assert Counter(shown(come.removed)) == Counter(shown(gone.added))
        assert not session.revise(guests, guests)
    assert same(session.close(), undisturbed.close())


@SOME
@given(scenario=ANY, chance=CHANCE, engine=ENGINES, speculate=SIGMA)
def test_that_a_session_is_restored_anywhere(
    scenario: Scenario, chance: Random, engine: str, speculate: int | str
) -> None:
    query, events = scenario
    session = query.make().session(engine=engine, speculate=speculate)
    other = query.make().session(engine=engine, speculate=speculate)
    for call in script(events, chance):
        one = call.on(session)
        two = call.on(other)
        assert same(one, two)
        assert one.final == two.final
        assert other.snapshot() == other.snapshot()
        other = query.make().restore(other.snapshot(), engine=chance.choice(["auto", engine]))
    assert same(session.close(), other.close())


@SOME
@given(scenario=ANY, chance=CHANCE, speculate=SIGMA)
def test_that_the_reference_gives_the_same_changes(scenario: Scenario, chance: Random, speculate: int | str) -> None:
    query, events = scenario
    calls = script(events, chance)
    reference = query.make().session(engine="reference", speculate=speculate)
    engine = query.make().session(speculate=speculate)
    for one, other in zip(play(reference, calls), play(engine, calls), strict=True):
        assert same(one, other)


@SOME
@given(
    scenario=scenarios(Features(outputs=(*reversed(Output),), returns=False, having=False), schema=PLAIN),
    chance=CHANCE,
    speculate=SIGMA,
)
def test_that_equal_rows_are_not_taken_back_and_given(scenario: Scenario, chance: Random, speculate: int | str) -> None:
    """S15.2: of rows that show little of the events that were chosen, most stay when another event is chosen."""
    query, events = scenario
    query = query.but(returns=(ReturnItem(literal(1), "one"),))
    for changes in play(query.make().session(speculate=speculate), script(events, chance)):
        assert not Counter(shown(changes.added)) & Counter(shown(changes.removed))


@SOME
@given(scenario=ANY, chance=CHANCE, engine=ENGINES)
def test_that_a_feed_is_its_net(scenario: Scenario, chance: Random, engine: str) -> None:
    """S16: `match` of a table with insertions and retractions, in any order."""
    query, events = scenario
    calls = script(events, chance, watermarks=False)
    feed = with_op([r for c in calls for r in c.inserted], [r for c in calls for r in c.retracted], chance)
    net = table([plain(row) for row in events.to_pylist()])
    found = query.make().match(feed, op="op", engine=engine)
    assert shown(found) == shown(query.make().match(net, engine="reference"))


@SOME
@given(scenario=scenarios(), chance=CHANCE, speculate=st.sampled_from([0, "all"]), restart=st.booleans())
def test_that_rows_of_any_types_come_and_go(
    scenario: Scenario, chance: Random, speculate: int | str, restart: bool
) -> None:
    query, events = scenario
    given = [plain(row) for row in events.to_pylist()]
    steps = [("+", row) for row in given] + [("-", row) for row in given if chance.random() > 0.6]
    chance.shuffle(steps)
    session = query.make().session(speculate=speculate)
    changes = [session.push(events.slice(0, 0))]
    for op, row in steps:
        some = pa.Table.from_pylist([row], schema=events.schema)
        changes.append(session.push(some) if op == "+" else session.retract(some))
        if restart:
            session = query.make().restore(session.snapshot())
    net, debts = netted(given, [row for op, row in steps if op == "-"])
    assert not debts
    found = query.make().match(pa.Table.from_pylist(list(net), schema=events.schema), engine="reference")
    assert total([*changes, session.close()]) == Counter(shown(found))
