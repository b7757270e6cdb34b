"""Laws that tie the matches of one query to those of another, whatever the query and the stream."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from cepheid.pattern.expressions import nodes as ex
from cepheid.pattern.expressions.parameters import literal
from cepheid.pattern.tree.components import name_events
from cepheid.pattern.tree.nodes import (
    KeyColumn,
    Negation,
    Output,
    PatternTree,
    QueryTree,
    Selection,
    Seq,
    Strategy,
    Window,
)
from cepheid.pattern.tree.uses import variables
from cepheid.pattern.tree.walk import rewrite, walk
from cepheid.testing.outcomes import to_json
from cepheid.testing.strategies import Features, GeneratedQuery, rows, scenarios
from cepheid.testing.strategies.schemas import KEY, TIME
from cepheid.testing.strategies.streams import moment

pytestmark = pytest.mark.filterwarnings("ignore::cepheid.CepheidWarning")

Scenario = tuple[GeneratedQuery, pa.Table]
ALL = (Output.ALL,)
SKIPS = (None, Strategy.ANY, Strategy.NEXT)


def bag(query: GeneratedQuery, events: pa.Table) -> Counter[str]:
    """The matches without their order. Equal rows are distinct events, so that a match may come twice."""
    return Counter(map(to_json, query.make().match(events).to_pylist()))


def with_strategy(query: GeneratedQuery, strategy: Strategy) -> GeneratedQuery:
    return query.but(strategies=(Selection(strategy),))


@given(
    scenarios(Features(negation=False, windows=("time", "events"), outputs=ALL, parameters=False)), st.integers(1, 12)
)
def test_that_a_smaller_window_finds_fewer(scenario: Scenario, amount: int) -> None:
    """S8: a window bounds the distance of the last event from the first, and nothing else.

    Not with a negation, whose own range is the window, nor with NON_OVERLAP, where a match hides others.
    """
    query, events = scenario
    window = query.tree.within
    assert window is not None
    assert isinstance(window.amount.value, int)
    larger = Window(literal(window.amount.value + amount), window.unit)
    assert bag(query, events) <= bag(query.but(within=larger), events)


@given(scenarios(Features(negation=False, windows=("time",), outputs=ALL, returns=False, parameters=False)))
def test_that_a_window_is_a_filter(scenario: Scenario) -> None:
    """S8: with a window of time the matches are those without it whose time(last) − time(first) < T."""
    query, events = scenario
    window = query.tree.within
    assert window is not None
    ticks = {moment(events.schema.field(TIME).type, k): k for k in range(13)}
    everything = query.but(within=None).make().match(events).to_pylist()
    inside = [m for m in everything if ticks[m["match_end"]] - ticks[m["match_start"]] < window.amount.value]
    assert [to_json(m) for m in inside] == [to_json(m) for m in query.make().match(events).to_pylist()]


@given(scenarios(Features(strategies=SKIPS, windows=(None, "time"), any_type=False)), st.data())
def test_that_irrelevant_events_change_nothing(scenario: Scenario, data: st.DataObject) -> None:
    """S6: a skip strategy ignores what satisfies no condition. An event of another type never does.

    Windows of events count them (S8), so that there are none here.
    """
    query, events = scenario
    strangers = data.draw(st.lists(rows(events.schema, ["Other"]), min_size=1, max_size=4))
    more = pa.concat_tables([events, pa.Table.from_pylist(strangers, schema=events.schema)])
    assert matches(query, more) == matches(query, events)


@given(scenarios(Features(strategies=SKIPS, declared_types=False)), st.data())
def test_that_an_event_without_the_attribute_changes_nothing(scenario: Scenario, data: st.DataObject) -> None:
    """S3, S6: NULL equals nothing in `[attr]`, so that an event with it is no part, no witness, and not counted."""
    query, events = scenario
    query = query.but(where=(ex.SameValue(KEY), *query.tree.where))
    nulls = [{**row, KEY: None} for row in data.draw(st.lists(rows(events.schema), min_size=1, max_size=4))]
    more = pa.concat_tables([events, pa.Table.from_pylist(nulls, schema=events.schema)])
    assert matches(query, more) == matches(query, events)


def matches(query: GeneratedQuery, events: pa.Table) -> list[str]:
    """The matches in their order."""
    return [to_json(m) for m in query.make().match(events).to_pylist()]


@given(scenarios(Features(reads_time=False, returns=False)), st.integers(-3, 50))
def test_that_a_shift_in_time_shifts_the_matches(scenario: Scenario, ticks: int) -> None:
    """S1, S8, S10: only the order and the distances of times count. Conditions that read the time are left out."""
    query, events = scenario
    at = events.schema.get_field_index(TIME)
    arrow = events.schema.field(TIME).type
    back = {moment(arrow, k + ticks): moment(arrow, k) for k in range(13)}
    forth = {earlier: later for later, earlier in back.items()}
    moved = pa.array([forth[time] for time in events[TIME].to_pylist()], arrow)
    later = events.set_column(at, events.schema.field(at), moved)

    def unshifted(value: Any, name: str = "") -> Any:
        if isinstance(value, dict):
            return {key: unshifted(item, key) for key, item in value.items()}
        if isinstance(value, list) and name != "items":
            return [unshifted(item) for item in value]
        return back[value] if name in (TIME, "match_start", "match_end") else value

    assert [to_json(unshifted(m)) for m in query.make().match(later).to_pylist()] == matches(query, events)


def by_key(events: pa.Table) -> Iterator[pa.Table]:
    keys = events[KEY].to_pylist()
    for key in set(keys):
        yield events.take(pa.array([k for k, other in enumerate(keys) if other == key], pa.int64()))


@given(scenarios(Features(partitions=(None,), strategies=(None, Strategy.ANY, Strategy.NEXT, Strategy.STRICT))))
def test_that_partitions_do_not_see_each_other(scenario: Scenario) -> None:
    """S3, S6, S8, S12: PARTITION BY is one query per value; NULLs are a value."""
    query, events = scenario
    query = query.but(partition_by=(KeyColumn(KEY),))
    apart = sum((bag(query, part) for part in by_key(events)), Counter[str]())
    assert bag(query, events) == apart


@given(scenarios(Features(partitions=(None,), strategies=SKIPS, declared_types=False)))
def test_that_equivalence_tests_part_the_stream(scenario: Scenario) -> None:
    """S3, S6, S8, S12: with `[k]` events of other keys are ignored by all but strict contiguity."""
    query, events = scenario
    query = query.but(where=(*query.tree.where, ex.SameValue(KEY)))
    apart = sum((bag(query, part) for part in by_key(events)), Counter[str]())
    assert bag(query, events) == apart


CONTIGUOUS = Features(strategies=(None,), partitions=("[attr]", "PARTITION BY"), outputs=ALL)
CHAIN = (Strategy.STRICT, Strategy.PARTITION, Strategy.NEXT, Strategy.ANY)


@pytest.mark.parametrize(("narrow", "wide"), [*pairwise(CHAIN), (Strategy.STRICT, Strategy.NEXT)])
@given(scenario=scenarios(replace(CONTIGUOUS, windows=(None, "time"))) | scenarios(replace(CONTIGUOUS, negation=False)))
def test_that_a_strategy_that_ignores_more_finds_more(narrow: Strategy, wide: Strategy, scenario: Scenario) -> None:
    """S6: strict ⊆ partition contiguity ⊆ skip till next ⊆ skip till any; a run may ignore more, and must nothing more.

    What is of another partition satisfies no condition of the run, hence partition contiguity ⊆ skip till next.
    Windows of events count all positions under strict contiguity (S8), and with them a negation sees less.
    """
    query, events = scenario
    assert bag(with_strategy(query, narrow), events) <= bag(with_strategy(query, wide), events)


@given(scenarios(Features(outputs=ALL)))
def test_that_a_negation_only_removes(scenario: Scenario) -> None:
    """S10: positive components are matched first, then a match is dropped where a witness exists."""
    query, events = scenario
    assume(any(isinstance(node, Negation) for node in walk(query.tree.pattern)))
    tree = replace(query.tree, pattern=name_events(query.tree.pattern))
    assert bag(query.but(pattern=tree.pattern), events) <= bag(positive_part(query, tree), events)


def positive_part(query: GeneratedQuery, tree: QueryTree) -> GeneratedQuery:
    """The query without its negated components and what is said of them."""
    absent = {str(node.event.variable) for node in walk(tree.pattern) if isinstance(node, Negation)}

    def drop(node: PatternTree) -> PatternTree:
        return Seq(tuple(p for p in node.parts if not isinstance(p, Negation))) if isinstance(node, Seq) else node

    left = [replace(s, variables=tuple(v for v in s.variables if v not in absent)) for s in tree.strategies]
    return query.but(
        pattern=rewrite(tree.pattern, drop),
        strategies=tuple(s for s, old in zip(left, tree.strategies, strict=True) if s.variables or not old.variables),
        where=tuple(c for c in tree.where if not variables(c) & absent),
    )


@given(scenarios(Features()))
def test_that_an_output_clause_only_removes(scenario: Scenario) -> None:
    """S12, S24: NON_OVERLAP, LONGEST, COOLDOWN and HAVING choose among all matches."""
    query, events = scenario
    passed = query.but(output=Output.ALL, cooldown=None)
    assert bag(query, events) <= bag(passed, events) <= bag(passed.but(having=None), events)


@given(scenarios(Features(strategies=(None, Strategy.ANY, Strategy.STRICT, Strategy.PARTITION), outputs=ALL)))
def test_that_a_condition_on_positives_only_removes(scenario: Scenario) -> None:
    """S5, S6: a conjunct of positive variables narrows, unless what it excludes may then be skipped (skip till next).

    A conjunct on a negated variable narrows the witnesses instead, and `[attr]` the partition.
    """
    query, events = scenario
    tree = replace(query.tree, pattern=name_events(query.tree.pattern))
    query = query.but(pattern=tree.pattern)
    absent = {str(node.event.variable) for node in walk(tree.pattern) if isinstance(node, Negation)}
    kept = [c for c in tree.where if isinstance(c, ex.SameValue) or variables(c) & absent]
    assert bag(query, events) <= bag(query.but(where=tuple(kept)), events)
