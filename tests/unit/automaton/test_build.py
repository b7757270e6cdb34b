"""What an automaton settles, what its states have to carry, and what has no automaton."""

import pyarrow as pa
import pytest

from cepheid import Query
from cepheid.automaton.build import build
from cepheid.automaton.model import NotNative, RegisterAutomaton
from cepheid.pattern.binding.schema import make_schema

SCHEMA = pa.schema(
    [("ts", pa.int64()), ("type", pa.string()), ("k", pa.int64()), ("x", pa.int64()), ("s", pa.string())]
)


@pytest.fixture(autouse=True)
def quiet(recwarn: pytest.WarningsRecorder) -> None:
    """Some of these match every subset of the events, of which the query warns."""


def automaton(text: str, **options: object) -> RegisterAutomaton:
    query = Query(text, **options).compiled  # type: ignore[arg-type]
    return build(query.bind(make_schema(SCHEMA, query.roles))[0])


def held(text: str) -> list[set[str]]:
    return [{register.name for register in live} for live in automaton(text).live]


def test_a_state_holds_what_later_tests_read() -> None:
    assert held("PATTERN SEQ(A a, B b, C c) WHERE a.x = b.x AND b.k < c.k") == [{"a_x"}, {"b_k"}]


def test_a_state_holds_nothing_where_no_later_test_reads() -> None:
    assert held("PATTERN SEQ(A a, B+ b[], C c) WHERE [k] AND a.x = 1 AND c.x = 2 WITHIN 9") == [set(), set()]


def test_running_aggregates_are_held() -> None:
    text = "PATTERN SEQ(A+ a[], B b) WHERE [k] AND a[i].x > avg(a[..i-1].x) AND b.x > a.LEN WITHIN 9"
    assert held(text) == [{"a_total_x", "a_count_x", "a_len"}]


def test_rounds_are_counted_by_states() -> None:
    made = automaton("PATTERN SEQ(A{2,3} a[], B b)")
    assert [config.rounds for config in made.configs] == [(1,), (2,), (3,), (2,), (3,)]


def test_an_absent_event_closes_a_way_and_leaves_the_others() -> None:
    made = automaton("PATTERN SEQ(A+ a[], !(C c), B b) WITHIN 9")
    [kill] = made.kills
    assert kill.target is not None
    assert made.states[kill.source].waits_for == "one more a or b"
    assert made.states[kill.target].waits_for == "one more a"


def test_and_shares_what_is_left_of_it() -> None:
    made = automaton("PATTERN AND(A a, B b, C c, D d) WHERE a.x < b.x WITHIN 9")
    assert len(made.configs) == 4 * 2**3
    assert len(made.states) == 4 * 2**3 - 4  # nothing is left after the last
    assert len(made.arcs) == 4 + 4 * 3 * 2**2  # four ways to begin; from each config one to each that is left
    assert not made.ambiguous


@pytest.mark.parametrize(
    ("pattern", "ambiguous"),
    [
        ("SEQ(A a, B+ b[], C c)", False),
        ("OR(A a, SEQ(A b, B c))", False),
        ("SEQ(A? a, B b)", False),
        ("SEQ(A* a[], B b)", False),
        ("AND(A? a, B b)", True),
        ("AND(A a, B b)", False),
        ("AND(A a, B+ b[], SEQ(C c, D d), E e)", False),
    ],
)
def test_where_two_ways_give_one_match(pattern: str, ambiguous: bool) -> None:
    assert automaton(f"PATTERN {pattern} WITHIN 9").ambiguous is ambiguous


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("PATTERN SEQ(A a, !(C c), B b) WHERE c.x = b.x", "a later one"),
        ("PATTERN SEQ(!(C c), A a) WHERE c.x = a.x WITHIN 9", "at the start"),
        ("PATTERN SEQ(A{200} a[], B b)", "more than 128 states"),
        ("PATTERN AND(A a, B b, C c, D d, E e)", "more than 128 arcs"),
        ("PATTERN SEQ(A+ a[], B b) WHERE strict_contiguity(a), skip_till_any_match(b) { a[].x = 1 }", "strategies"),
    ],
)
def test_what_has_no_automaton_says_why(text: str, reason: str) -> None:
    with pytest.raises(NotNative, match=reason):
        automaton(text)


def test_missing_attributes_have_no_automaton() -> None:
    with pytest.raises(NotNative, match="missing"):
        automaton("PATTERN SEQ(A a, ANY(A, B) b) WHERE a.x = b.x", types={"A": ["x", "k"], "B": ["k"]})
