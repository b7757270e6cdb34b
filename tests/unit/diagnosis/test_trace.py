"""Steps as rows and as text."""

import pytest

import cepheid as cep

RISE = """PATTERN SEQ(A+ a[], B b)
WHERE skip_till_next_match(a, b) { a[i].x > a[i-1].x AND b.x < a[a.LEN].x }
WITHIN 10"""
EVENTS = [{"ts": k, "type": t, "x": x} for k, (t, x) in enumerate([("A", 1), ("A", 2), ("C", 2), ("B", 3), ("B", 1)])]


def test_the_steps_of_a_closure() -> None:
    steps = cep.Query(RISE).trace(EVENTS[:4]).to_arrow().select(["position", "action", "run", "parent", "index"])
    assert [tuple(row.values()) for row in steps.to_pylist()] == [
        (0, "begin", 1, None, 1),
        (1, "kill", 1, None, None),
        (1, "kill", 1, None, None),
        (1, "take", 2, 1, 2),
        (1, "begin", 3, None, 1),
        (2, "ignore", 2, 1, None),
        (2, "ignore", 3, None, None),
        (3, "refuse", 2, 1, None),
        (3, "ignore", 2, 1, None),
        (3, "refuse", 3, None, None),
        (3, "ignore", 3, None, None),
        (None, "kill", 2, 1, None),
        (None, "kill", 3, None, None),
    ]


def test_the_text() -> None:
    q = cep.Query("PATTERN SEQ(A a, !(C c), B b) WITHIN 10")
    assert str(q.trace(EVENTS[1:4])).splitlines() == [
        "ts  position  type  action   run  parent  component  index  detail",
        "1   0         A     begin    1            a",
        "2   1         C     ignore   1                              waits for b",
        "3   2         B     ignore   1                              waits for b",
        "3   2         B     proceed  2    1       b",
        "3   2         B     drop     2    1       c                 !c: the event at position 1 must be absent",
        "                    kill     1                              the input ended; it waited for b",
    ]


def test_that_a_limit_says_what_is_left_out() -> None:
    found = cep.Query(RISE).trace(EVENTS, limit=4)
    assert (len(found), found.left_out, found.read, found.events) == (4, 1, 2, 5)
    assert str(found).splitlines()[-1] == "… 1 rows left out by limit=; the first 2 of 5 events"


def test_that_queries_of_a_program_are_told_apart() -> None:
    q = cep.Query("PATTERN A a RETURN a.x AS x INTO One; FROM One EVENT One o WHERE o.x > 1")
    steps = q.trace(EVENTS[:2]).to_arrow().select(["query", "action", "detail"]).to_pylist()
    assert [tuple(row.values()) for row in steps] == [
        ("One", "begin", ""),
        ("One", "emit", ""),
        ("One", "begin", ""),
        ("One", "emit", ""),
        ("query 2", "refuse", "o.x > 1: 1 > 1"),
        ("query 2", "begin", ""),
        ("query 2", "emit", ""),
    ]


def test_that_a_wrong_limit_is_refused() -> None:
    with pytest.raises(cep.CepheidError) as caught:
        cep.Query(RISE).trace(EVENTS, limit=-1)
    assert caught.value.code == "CEP603"
