"""What a trace tells is the same by the definition and event by event, and its matches are those of `match`."""

from dataclasses import replace

import pyarrow as pa
import pytest
from hypothesis import assume, given, settings, target

from cepheid import Query
from cepheid.diagnosis.merging import BoundRows, merges
from cepheid.diagnosis.steps import RunStep, Teller
from cepheid.diagnosis.tracing import read, watch_definition, watch_steps
from cepheid.engine.planning.compiled_query import CompiledQuery
from cepheid.front.runnable import Runnable
from cepheid.pattern.binding.schema import make_schema
from cepheid.pattern.tree.nodes import Output, Ties
from cepheid.reference import interpret
from cepheid.testing.strategies import NESTED, PLAIN, GeneratedQuery, scenarios
from cepheid.values.rows import Event

pytestmark = pytest.mark.filterwarnings("ignore::cepheid.CepheidWarning")

Scenario = tuple[GeneratedQuery, pa.Table]
ANYTHING = scenarios() | scenarios(typed=False) | scenarios(schema=PLAIN) | scenarios(schema=NESTED)


def bound(query: Query, table: pa.Table) -> Runnable:
    return query.bind(make_schema(table.schema, query.compiled.roles))[0]


def told(steps: dict[RunStep, None]) -> set[tuple[object, ...]]:
    return {
        (None if s.event is None else s.event.position, s.action, s.run, s.component, s.index, s.detail, s.other)
        for s in steps
    }


@settings(max_examples=settings.default.max_examples * 2)
@given(ANYTHING)
def test_that_both_ways_to_run_tell_the_same(scenario: Scenario) -> None:
    query, table = scenario
    made = bound(query.make(), table)
    one, other = Teller(made), Teller(made)
    watch_steps(made, read(made, table), one)
    watch_definition(made, table, other)
    found = merges(made, read(made, table))
    one.merge(found)
    other.merge(found)
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


@settings(max_examples=settings.default.max_examples * 2)
@given(ANYTHING)
def test_that_the_engine_merges_what_a_trace_merges(scenario: Scenario) -> None:
    """Exact where a state holds nothing, so that its runs are one, and neither a window nor a match ends some."""
    query, table = scenario
    made = query.make()
    of_table = bound(made, table)
    compiled = CompiledQuery(of_table)
    assume(not compiled.why_interpreted and not of_table.untyped and of_table.within is None)
    assume(all(room.is_slot for room in compiled.program.rooms) and of_table.output is not Output.NON_OVERLAP)
    session = made.session(plan="automaton")
    session.push(table)
    session.close()
    assert session.stats.merged == len(merges(of_table, read(of_table, table)))


@settings(max_examples=settings.default.max_examples * 2)
@given(ANYTHING)
def test_that_runs_that_merge_have_the_same_future(scenario: Scenario) -> None:
    """Whatever comes makes the same of both. A window ends one before the other, and HAVING reads what is behind."""
    query, table = scenario
    made = replace(bound(query.make(), table), having=None, output=Output.ALL)
    if not made.layout.negations:
        made = replace(made, within=None)
    events = read(made, table)
    found = merges(made, events)
    if made.within is not None or not found:
        return
    if any(len(states) > 1 for states in CompiledQuery(made).automaton.entries):
        return  # runs that wait for several things may merge in one of these waits
    positions = {event.row: event.position for event in events}
    matches = [
        tuple(zip(match.variables, (positions[row] for row in match.selected), strict=True))
        for match in interpret(made, table)
    ]

    def future(run: BoundRows, after: Event) -> set[BoundRows]:
        rest = {match[len(run) :] for match in matches if match[: len(run)] == run and len(match) > len(run)}
        if made.ties is Ties.SIMULTANEOUS:
            return {one for one in rest if events[one[0][1]].time > after.time}
        return {one for one in rest if one[0][1] > after.position}

    target(float(len(found)))
    for merge in found:
        assert future(merge.run, merge.event) == future(merge.other, merge.event)
