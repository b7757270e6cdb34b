"""Conditions on all events of a closure are tested when a run leaves it: those that pass are counted too."""

from cepheid import Query
from cepheid.diagnosis import facts

EVENTS = [
    {"ts": at, "type": kind, "v": v}
    for at, (kind, v) in enumerate([("A", 1), ("B", 1), ("B", 2), ("C", 0), ("A", 1), ("B", 3), ("C", 0)])
]


def test_that_a_condition_that_holds_is_counted() -> None:
    found = Query(
        "PATTERN SEQ(A a, B+ b[], C c) WHERE skip_till_next_match(a, b, c) { b.LEN > 1 } WITHIN 100 events"
    ).diagnose(EVENTS)
    assert found.matches == 2
    assert found.funnel[1].tests == (facts.Tested("b.LEN > 1", 4, 2),)  # lengths of 1, 2, 3 and 1


def test_that_a_closure_at_the_end_counts_them() -> None:
    found = Query("PATTERN SEQ(A a, B+ b[]) WHERE skip_till_next_match(a, b) { b.LEN > 1 } WITHIN 100 events").diagnose(
        EVENTS
    )
    assert found.matches == 2
    assert found.funnel[1].tests == (facts.Tested("b.LEN > 1", 4, 2),)


def test_that_a_condition_that_holds_is_not_said_to_be_never_true() -> None:
    found = Query(
        "PATTERN SEQ(A a, B+ b[], C c) WHERE skip_till_next_match(a, b, c) { b.LEN > 1 } WITHIN 100 events "
        "HAVING a.v > 5"
    ).diagnose(EVENTS)
    assert [hint.code for hint in found.hints] == ["CEP029"]


def test_that_those_before_the_one_that_fails_are_counted() -> None:
    found = Query(
        "PATTERN SEQ(A a, B+ b[], C c) WHERE skip_till_next_match(a, b, c) { b.LEN > 0 AND sum(b[].v) > 99 } "
        "WITHIN 100 events"
    ).diagnose(EVENTS)
    assert found.funnel[1].tests == (facts.Tested("b.LEN > 0", 4, 4), facts.Tested("sum(b[].v) > 99", 4, 0))


def test_that_what_no_second_event_passes_comes_before_the_length() -> None:
    found = Query(
        "PATTERN SEQ(A a, B+ b[], C c) WHERE skip_till_next_match(a, b, c) { b.LEN > 1 AND b[i].v > 10 * b[i-1].v } "
        "WITHIN 100 events"
    ).diagnose(EVENTS)
    assert found.hints[0].message.startswith("b[i].v > 10 * b[i-1].v was never TRUE: ")
    assert found.hints[0].message.endswith("; without it there would be 2 matches")
