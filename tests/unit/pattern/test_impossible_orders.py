"""Contradictions of several conditions, across variables and by keys."""

import warnings

import pytest

from cepheid import CepheidWarning, Query

SEQ = "PATTERN SEQ(A a, B b, C c) WHERE {} WITHIN 1 hour"
MANY = "PATTERN A+ a[] WHERE skip_till_next_match {{ {} }} WITHIN 1 hour"


def told(text: str, types: dict[str, list[str]] | None = None) -> list[str]:
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        Query(text, types=types)
    given = [one.message for one in found if isinstance(one.message, CepheidWarning)]
    return [one.message for one in given if one.code == "CEP004"]


@pytest.mark.parametrize(
    ("where", "said"),
    [
        ("a.x < b.x AND b.x < c.x AND c.x < a.x", "a.x < b.x, b.x < c.x and c.x < a.x"),
        ("a.x <= b.x AND b.x = c.x AND a.x > c.x", "a.x <= b.x, b.x = c.x and a.x > c.x"),
        ("a.x > 100 AND b.x > a.x AND b.x < 50", "a.x > 100, b.x > a.x and b.x < 50"),
        ("[k] AND a.k = 'u' AND b.k = 'v'", "[k], a.k = 'u' and b.k = 'v'"),
        ("[k] AND a.k != b.k", "[k] and a.k != b.k"),
    ],
)
def test_that_a_contradiction_is_found(where: str, said: str) -> None:
    (message,) = told(SEQ.format(where))
    first, second = message.removesuffix(" are never TRUE together").split(" and ")
    assert sorted([*first.split(", "), second]) == sorted([*said.split(" and ")[0].split(", "), said.split(" and ")[1]])


@pytest.mark.parametrize(
    "where",
    [
        "a.x <= b.x AND b.x <= c.x AND c.x <= a.x",
        "[k] AND a.k = 1 AND b.k = 1",
        "a.x < b.x AND b.x < c.x AND a.y > c.y",
        "a.x > 1 AND b.x > a.x AND b.x < 50",
        "(a.x < b.x OR b.x < c.x) AND c.x < a.x",
        "a.x = '9' AND b.x = '10' AND a.x < b.x",  # of numbers
        "a.x >= '9' AND a.x <= '11' AND b.ts >= '2024-01-01' AND b.ts <= '2024-01-01'",
        "a.t = '2024-01-01' AND b.t = '2024-01-01 00:00:00' AND a.t = b.t",
    ],
)
def test_that_conditions_that_can_hold_are_not_told(where: str) -> None:
    assert told(SEQ.format(where)) == []


def test_that_the_second_event_of_a_closure_follows_the_first() -> None:
    (message,) = told(MANY.format("a[i].x > a[i-1].x AND a[i].x < a[1].x"))
    said = "a[i].x > a[i-1].x and a[i].x < a[1].x are never TRUE together, so a[] never gets a second event"
    assert message == said
    assert told(MANY.format("a[i].x > a[i-1].x AND a[1].x < 5 AND a[i].x > 3")) == []


def test_that_what_may_be_left_out_is_not_looked_at() -> None:
    assert told("PATTERN SEQ(A a, B? b, C c) WHERE a.x < b.x AND b.x < c.x AND c.x < a.x WITHIN 1 hour") == []
    assert told("PATTERN SEQ(A a, !(B b), C c) WHERE a.x < b.x AND b.x < c.x AND c.x < a.x WITHIN 1 hour") == []


def test_that_an_attribute_may_be_missing() -> None:
    """Then a condition on it is TRUE (S3)."""
    types = {"A": ["x"], "B": ["x", "y"], "C": ["x", "y"]}
    assert told(SEQ.format("[y] AND a.x > 1 AND b.y < c.y"), types) == []
    assert told(SEQ.format("a.y > 100 AND b.x > a.y AND b.x < 50"), types) == []
    (message,) = told(SEQ.format("b.y > 100 AND c.y > b.y AND c.y < 50"), types)
    assert message == "b.y > 100, c.y > b.y and c.y < 50 are never TRUE together"
