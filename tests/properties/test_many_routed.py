"""Rules that run together, each a partition of one joined query, give what each gives alone (S23)."""

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from many_rules import Row, RuleSet, Together, by_rule, rule_sets

import cepheid as cep
from cepheid.front.templates.rule_columns import NotJoinedError
from cepheid.language import parse
from cepheid.testing.outcomes import to_json
from cepheid.testing.strategies import GeneratedQuery, algebra_queries, automata, lasting_streams, scenarios, streams
from cepheid.testing.strategies.schemas import PLAIN
from cepheid.testing.strategies.streams import LONGEST

pytestmark = pytest.mark.filterwarnings("ignore::cepheid.CepheidWarning")

Scenario = tuple[RuleSet, pa.Table]
Life = tuple[int | None, int | None]
some = settings(max_examples=max(1, settings.default.max_examples // 4))
"""Each example runs several queries."""


@st.composite
def patterns(draw: st.DrawFn, *, plain: bool = False) -> Scenario:
    query, events = draw(scenarios(schema=PLAIN) if plain else scenarios() | scenarios(schema=PLAIN))
    return draw(rule_sets(query)), events


@st.composite
def own_automata(draw: st.DrawFn) -> Scenario:
    return draw(rule_sets(draw(automata(PLAIN)))), draw(streams(PLAIN, max_size=8))


@st.composite
def algebras(draw: st.DrawFn) -> Scenario:
    return draw(rule_sets(draw(algebra_queries()))), draw(lasting_streams())


def shown(rows: list[Row]) -> list[tuple[int, str]]:
    return [(number, to_json(row)) for number, row in rows]


def check(scenario: Scenario, engine: str, *, routes: bool = False) -> None:
    rules, events = scenario
    together = Together(rules.query, events.schema, engine, routes=routes)
    try:
        wrong = together.add(range(rules.rules.num_rows), rules.rules)
    except NotJoinedError:
        return
    assert sorted(wrong) == rules.wrong(events)
    assert shown(by_rule(together.push(events, None))) == shown(rules.single(events))


@pytest.mark.parametrize("engine", ["plain", "interpreted"])
@some
@given(scenario=patterns())
def test_that_rules_of_a_pattern_give_what_each_gives_alone(engine: str, scenario: Scenario) -> None:
    check(scenario, engine)


@some
@given(own_automata())
def test_that_rules_of_an_automaton_give_what_each_gives_alone(scenario: Scenario) -> None:
    check(scenario, "plain")


@some
@given(algebras())
def test_that_rules_of_an_expression_give_what_each_gives_alone(scenario: Scenario) -> None:
    check(scenario, "plain")


@some
@given(patterns() | algebras())
def test_that_events_which_do_not_concern_a_rule_can_be_left_out(scenario: Scenario) -> None:
    check(scenario, "plain", routes=True)


KEYED = (
    "PATTERN SEQ(A a, B b) WHERE skip_till_next_match(a, b) { [k = key] AND a.x >= high }",
    "PATTERN SEQ(A a, B+ b[]) WHERE [k = key] AND b[i].x > b[i-1].x AND a.x <= high WITHIN span",
    "PATTERN SEQ(A a, !(B b), A c) WHERE [k = key] AND b.x < high WITHIN 6",
    "PATTERN SEQ(A a, !(B b)) WHERE skip_till_next_match(a) { [k = key] AND b.x < high } WITHIN span",
    "PATTERN SEQ(!(B b), A a) WHERE [s = word] AND b.x < high WITHIN 3",
    "PATTERN SEQ(A a, A b) WHERE a.k = key AND b.s = word WITHIN span HAVING a.x + b.x > high OUTPUT NON_OVERLAP",
    "PATTERN SEQ(A a, B b) WHERE partition_contiguity(a, b) { [k = key] AND a.x >= high } RETURN a.x + high AS sum",
    "PATTERN SEQ(A a, !(B b), A+ c[]) WHERE [k = key] AND b.x < high AND c[].x >= high WITHIN 3 events",
)
"""Templates whose rules are found by the constants that events have."""

BEGUN = (
    "PATTERN SEQ(A a, B+ b[]) WHERE skip_till_next_match { a.x > high AND b[i].x > high } WITHIN span",
    "PATTERN SEQ(A+ a[], B b) WHERE a[1].k = key AND a[i].x >= a[i-1].x WITHIN 4",
    "PATTERN SEQ(A a, B+ b[]) WHERE skip_till_next_match { a.x > high AND b[i].k = key }",
    "PATTERN SEQ(A a, B b) WHERE strict_contiguity { a.x >= high } WITHIN 3",
    "PATTERN SEQ(A a, A+ b[]) WHERE strict_contiguity { a.x >= high } PARTITION BY k WITHIN 3 events",
    "PATTERN SEQ(A a, B b) WHERE a.x >= high WITHIN 3 events",
    "PATTERN SEQ(!(B n), A a, A b) WHERE a.x >= high WITHIN 3 events",
    "PATTERN SEQ(A a, !(B n), A b, !(B m)) WHERE a.x >= high WITHIN 3 events",
    "PATTERN SEQ(!(B n), A a, A+ b[], !(B m)) WHERE a.k = key WITHIN 3",
    "PATTERN SEQ(A a, A+ b[], !(B m) FOR 3) WHERE partition_contiguity { [s] AND a.k = key } WITHIN 2",
    "PATTERN SEQ(A a, A+ b[]) WHERE a.k = key TIES SIMULTANEOUS WITHIN 4",
    "PATTERN SEQ(A a, A+ b[]) WHERE strict_contiguity { a.x > high } WITHIN 6 OUTPUT LONGEST",
    "AUTOMATON q0 -> q2 ARC q0 -> q1 WHEN e.x > high ARC q1 -> q1 WHEN e.x >= 0 ARC q1 -> q2 WHEN e.x < 1 WITHIN 4",
)
"""Templates of which an event after the first may be any one, so that it matters to rules that have begun."""


@st.composite
def keyed(draw: st.DrawFn) -> Scenario:
    count = draw(st.integers(1, 7))

    def column(*values: object) -> list[object]:
        return [draw(st.sampled_from(values)) for _ in range(count)]

    rules = {
        "key": pa.array(column(0, 0, 1, 1, 2, None), pa.int64()),
        "word": pa.array(column("a", "b", "", None), pa.string()),
        "high": pa.array(column(-1, 0, 1, 2, None), pa.int64()),
        "span": pa.array(column(1, 2, 3, 5, 8, 12), pa.int64()),
    }
    query = GeneratedQuery(parse(draw(st.sampled_from(KEYED + BEGUN))))
    return RuleSet(query, pa.table(rules)), draw(streams(PLAIN, event_types=("A", "B"), max_size=9))


@some
@given(keyed())
def test_that_rules_are_found_by_their_constants(scenario: Scenario) -> None:
    check(scenario, "plain")


@st.composite
def sessions(draw: st.DrawFn) -> tuple[RuleSet, pa.Table, list[int], list[Life], bool]:
    rules, events = draw(patterns(plain=True) | own_automata() | keyed())
    steps = sorted(draw(st.sets(st.integers(0, LONGEST + 1), max_size=4)))
    lives: list[Life] = []
    for _ in range(rules.rules.num_rows):
        since = draw(st.none() | st.integers(0, LONGEST // 2))
        until = draw(st.none() | st.integers(0 if since is None else since + 1, LONGEST))
        lives.append((since, until))
    return rules, events, steps, lives, draw(st.booleans())


@some
@given(sessions())
def test_that_rules_come_and_go(session: tuple[RuleSet, pa.Table, list[int], list[Life], bool]) -> None:
    """S17: a rule sees the events of its lifetime, and gives what is decided in it."""
    rules, events, steps, lives, restarts = session
    together = Together(rules.query, events.schema)
    added: set[int] = set()
    found: list[Row] = []
    before = -1
    try:
        for now in (*steps, None):
            for number, (since, _) in enumerate(lives):
                if number not in added and (now is None or since is None or since < now):
                    added.add(number)
                    together.add([number], rules.rules.slice(number, 1), since)
            for number, (_, until) in enumerate(lives):
                if until is not None and before <= until and (now is None or until < now):
                    together.remove(number, until)
            times = events.column("ts").to_numpy()
            seen = (times >= before) & (times < now if now is not None else True)
            found += together.push(events.filter(pa.array(seen)), now)
            if restarts and now is not None:
                together.restart()
            before = before if now is None else now
    except NotJoinedError:
        return
    wanted: list[Row] = []
    for number, (rule, (since, until)) in enumerate(zip(rules.rules.to_pylist(), lives, strict=True)):
        try:
            query = rules.make(rule)
            query.schema(events.schema)
        except cep.CepheidError:
            continue
        change = cep.add_query("own", query, at=-1 if since is None else since, until=until)
        other = cep.Query("PATTERN A a", **{**rules.query.options, "params": None, "functions": None, "types": None})
        wanted += ((number, row) for row in other.match(events, changes=[change]).outputs["own"].to_pylist())
    assert sorted(shown(found)) == sorted(shown(wanted))
