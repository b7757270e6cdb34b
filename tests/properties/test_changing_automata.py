"""Automata whose arcs come and go (S17): every way to run one gives what the log of its changes says."""

from collections import Counter
from dataclasses import replace
from random import Random
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cepheid import CepheidError, Matches, Query
from cepheid.front.automata.check import states_of
from cepheid.front.automata.registers import EVENT
from cepheid.front.automata.timeline import AddArc, Change, RemoveArc
from cepheid.pattern.expressions import nodes as ex
from cepheid.pattern.expressions.types import INT
from cepheid.pattern.tree.nodes import ArcClause, AutomatonPattern, Fires
from cepheid.pattern.tree.walk import rewrite
from cepheid.testing.outcomes import to_json
from cepheid.testing.strategies import PLAIN, GeneratedQuery, automata, streams
from cepheid.testing.strategies.schemas import TIME

pytestmark = pytest.mark.filterwarnings("ignore::cepheid.CepheidWarning")
REFUSED = ("CEP226", "CEP227", "CEP228", "CEP608")  # AT END without a window, a cycle of EPSILON arcs
EXAMPLES = settings.default.max_examples
Rows = Counter[str]


def named(query: GeneratedQuery) -> GeneratedQuery:
    """The same automaton with a name for each arc."""
    arcs = tuple(replace(arc, name=f"arc{k}") for k, arc in enumerate(automaton_of(query).arcs))
    return query.but(pattern=replace(automaton_of(query), arcs=arcs))


def automaton_of(query: GeneratedQuery) -> AutomatonPattern:
    assert isinstance(query.tree.pattern, AutomatonPattern)
    return query.tree.pattern


SCENARIOS = st.tuples(automata(PLAIN).map(named), streams(PLAIN, min_size=2), st.randoms(use_true_random=False))


def draw_changes(query: GeneratedQuery, chance: Random, times: range, *, count: int, first: int = 0) -> list[Change]:
    """Arcs that are removed, and copies of arcs that are added, also with other constants."""
    arcs, found = automaton_of(query).arcs, list[Change]()
    for k in range(first, first + count):
        arc, at = chance.choice(arcs), chance.choice(times)
        if chance.random() < 0.5:
            found.append(RemoveArc(str(arc.name), at))
        else:
            until = at + chance.randint(1, 8) if chance.random() < 0.3 else None
            arc = with_other_constants(arc, chance.randint(-1, 1))
            if chance.random() < 0.3:  # also out of states that nothing leads on from
                arc = replace(arc, source=chance.choice(states_of(automaton_of(query))), ignores=False)
            if chance.random() < 0.2:
                arc = replace(arc, fires=Fires.END, types=(), condition=None, assigns=(), ignores=False)
            found.append(AddArc(replace(arc, name=f"more{k}"), at, until))
            if chance.random() < 0.3:
                found.append(RemoveArc(f"more{k}", at + chance.randint(1, 4)))
    return found


def with_other_constants(arc: ArcClause, more: int) -> ArcClause:
    """An arc whose integers are greater."""

    def change(node: ex.Expression) -> ex.Expression:
        if isinstance(node, ex.Literal) and node.type == INT and isinstance(node.value, int):
            return replace(node, value=node.value + more)
        return node

    assigns = tuple(replace(assign, value=rewrite(assign.value, change)) for assign in arc.assigns)
    return replace(arc, condition=arc.condition and rewrite(arc.condition, change), assigns=assigns)


def accepted(query: Query, events: pa.Table, changes: list[Change]) -> list[Change]:
    """Those that are not refused, one after the other."""
    log: list[Change] = []
    for change in changes:
        try:
            query.match(events.slice(0, 0), changes=[*log, change])
        except CepheidError as error:
            if error.code not in REFUSED:
                raise
        else:
            log.append(change)
    return log


def rows(matches: Matches) -> Rows:
    return Counter(map(to_json, matches.to_pylist()))


def told_by_conditions(query: GeneratedQuery, log: list[Change]) -> GeneratedQuery:
    """The lifetimes of arcs that take events as conditions on the times of these events."""
    arcs: dict[str | None, ArcClause] = {arc.name: arc for arc in automaton_of(query).arcs}
    since, until = dict[str | None, Any](), dict[str | None, Any]()
    for change in log:
        if isinstance(change, RemoveArc):
            until[change.name] = change.at
        else:
            arcs[change.arc.name] = change.arc
            since[change.arc.name], until[change.arc.name] = change.at, change.until
    now = ex.Attribute(EVENT, ex.Index.ONE, TIME)

    def limited(arc: ArcClause) -> ArcClause:
        tests = [] if arc.condition is None else [arc.condition]
        if since.get(arc.name) is not None:
            tests.append(ex.Compare(">", now, ex.Literal(since[arc.name], INT)))
        if until.get(arc.name) is not None:
            tests.append(ex.Compare("<=", now, ex.Literal(until[arc.name], INT)))
        return replace(arc, condition=tests[0] if len(tests) == 1 else ex.And(tuple(tests)) if tests else None)

    return query.but(pattern=replace(automaton_of(query), arcs=tuple(map(limited, arcs.values()))))


@given(SCENARIOS)
def test_that_a_lifetime_is_a_condition_on_the_time(scenario: tuple[GeneratedQuery, pa.Table, Random]) -> None:
    """S17.1, of arcs that take events."""
    query, events, chance = scenario
    drawn = draw_changes(query, chance, range(25), count=4)
    arcs = {arc.name: arc for arc in automaton_of(query).arcs}
    arcs |= {change.arc.name: change.arc for change in drawn if isinstance(change, AddArc)}
    taken = {name for name, arc in arcs.items() if arc.fires is Fires.EVENT}
    wanted = [c for c in drawn if (c.arc.name if isinstance(c, AddArc) else c.name) in taken]
    log = accepted(query.make(), events, wanted)
    expected = rows(told_by_conditions(query, log).make().match(events, engine="reference"))
    for engine in ("reference", "plain", "interpreted"):
        assert rows(query.make().match(events, engine=engine, changes=log)) == expected


@settings(max_examples=EXAMPLES * 2)
@given(SCENARIOS, st.sampled_from(["plain", "interpreted"]), st.sampled_from([None, "all", "all", 3]))
def test_that_a_session_gives_what_its_log_says(
    scenario: tuple[GeneratedQuery, pa.Table, Random], engine: str, speculate: Any
) -> None:
    """S17.5, with late events, retroactive changes and snapshots; where all is given at once, after every call."""
    generated, events, chance = scenario
    query, lateness = generated.make(), chance.choice([0, 2, 5])
    order = sorted(range(events.num_rows), key=lambda k: events[TIME][k].as_py() + chance.randint(0, lateness))
    options = {} if speculate is None else {"speculate": speculate}
    session: Any = query.session(engine=engine, lateness=lateness, **options)
    stands: Rows = Counter()

    def note(given: Any) -> None:
        if speculate is None:
            stands.update(rows(given))
        else:
            stands.update(rows(given.added))
            stands.subtract(rows(given.removed))

    came: list[int] = []
    for call, at in enumerate(range(0, len(order), 2)):
        came += order[at : at + 2]
        note(session.push(events.take(order[at : at + 2])))
        latest = max(events[TIME][k].as_py() for k in came)
        times = range(latest - lateness - 1, latest + 6)
        for change in draw_changes(generated, chance, times, count=2, first=10 * call):
            try:
                note(session.change(change))
            except CepheidError as error:
                if error.code not in REFUSED:
                    raise
        if chance.random() < 0.2:
            session = query.restore(session.snapshot(), engine=engine)
        if speculate == "all":
            assert +stands == rows(query.match(events.take(came), engine="reference", changes=session.changes))
    log = session.changes
    note(session.close())
    assert +stands == rows(query.match(events, engine="reference", changes=log))


def test_that_programs_without_arcs_can_not_change() -> None:
    query = Query("PATTERN SEQ(A a, B b)")
    with pytest.raises(CepheidError, match="CEP228"):
        query.match([{"ts": 1, "type": "A"}], changes=[RemoveArc("x", 1)])
