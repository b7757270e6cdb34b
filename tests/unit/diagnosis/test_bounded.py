"""A diagnosis ends soon, whatever the query: it goes over fewer events, and leaves steps for later components."""

import random
from typing import Any

import pytest

from cepheid import Query
from cepheid.api import diagnosing
from cepheid.api.trying import TooLongError

pytestmark = pytest.mark.filterwarnings("ignore::cepheid.CepheidWarning")

SUBSETS = "PATTERN SEQ(A+ a[], B b) WHERE b.x > 5 + sum(a[].x) WITHIN 100 days"
MANY = [{"ts": k, "type": "A", "x": 1} for k in range(300)] + [{"ts": 300, "type": "B", "x": 9}]


class StoppedError(Exception):
    """By the one who is told of the progress."""


def test_that_a_query_with_very_many_runs_can_be_stopped() -> None:
    def stop(_: object) -> None:
        raise StoppedError

    with pytest.raises(StoppedError):
        Query(SUBSETS).match(MANY, progress=stop)


def test_that_a_query_that_takes_long_is_diagnosed_on_its_first_events(monkeypatch: pytest.MonkeyPatch) -> None:
    matches, late = diagnosing.match_while, [TooLongError(500, 2_000)]

    def slow(*arguments: Any, **options: Any) -> Any:
        if late:
            raise late.pop()
        return matches(*arguments, **options)

    monkeypatch.setattr(diagnosing, "match_while", slow)
    events = [{"ts": k, "type": "AB"[k % 2], "x": k} for k in range(2_000)]
    found = Query("PATTERN SEQ(A a, B b) WHERE b.x < a.x AND a.x < 10 WITHIN 1 hour").diagnose(events[::-1])
    assert (found.hints[0].code, found.hints[0].message) == (
        "CEP038",
        "the query takes long: it got over 500 of 2,000 events in 5 seconds",
    )
    assert found.hints[0].remedy.startswith("this diagnosis is about the first 250 events; ")
    assert found.seen.events == 250
    assert {events[::-1][row]["ts"] for miss in found.misses for _, row, _ in miss.events} <= set(range(250))


def test_that_runs_come_far_in_a_long_window() -> None:
    seeded = random.Random(1)
    events = [{"ts": k, "type": seeded.choice("AB"), "x": seeded.random()} for k in range(2_000)]
    found = Query("PATTERN SEQ(A a, B b, A c) WHERE c.x > a.x + b.x + 2 WITHIN 100 days").diagnose(events)
    assert found.hints[0].code == "CEP030"
    assert found.hints[0].message.startswith("c.x > a.x + b.x + 2 was never TRUE: ")
    assert {len(miss.events) for miss in found.misses} == {2}
    assert "  A c: none of the runs that were followed" in str(found).splitlines()


def test_that_very_many_matches_with_having_are_diagnosed_on_the_first_events() -> None:
    seeded = random.Random(1)
    events = [{"ts": k, "type": seeded.choice("AB"), "x": seeded.random()} for k in range(200)]
    found = Query("PATTERN SEQ(A+ a[], B b) WITHIN 100 days HAVING sum(a[].x) < 0").diagnose(events[::-1])
    many, having = found.hints[:2]
    assert (many.code, many.message) == ("CEP505", "about 10^29 matches are too many to enumerate")
    assert many.remedy.startswith("this diagnosis is about the first 25 events; ")
    assert having.code == "CEP029"
    assert {events[::-1][row]["ts"] for miss in found.misses for _, row, _ in miss.events} <= set(range(25))


def test_that_having_can_be_stopped() -> None:
    told = []

    def stop(progress: Any) -> None:
        told.append(progress.events)
        if told[-2:] == [120, 120]:
            raise StoppedError

    events = [{"ts": k, "type": "AB"[k % 2], "x": 1} for k in range(120)]
    with pytest.raises(StoppedError):
        Query("PATTERN SEQ(A a, B b, A c) WITHIN 100 days HAVING a.x + c.x < 0").match(events, progress=stop)
