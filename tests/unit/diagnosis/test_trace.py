"""Steps as rows and as text."""

import pyarrow.compute as pc
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
        (1, "take", 2, 1, 2),
        (1, "begin", 3, None, 1),
        (1, "merge", 3, None, None),
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


def test_that_a_run_is_killed_for_what_happened_to_it() -> None:
    q = cep.Query("PATTERN SEQ(A a, B b) WHERE partition_contiguity { [x] }")
    events = [{"ts": 1, "type": "A", "x": 1}, {"ts": 2, "type": "B", "x": 1}, {"ts": 3, "type": "A", "x": 2}]
    steps = (
        q.trace([*events, {"ts": 4, "type": "C", "x": 2}]).to_arrow().select(["ts", "action", "component", "detail"])
    )
    assert [tuple(row.values()) for row in steps.to_pylist() if row["action"] == "kill"] == [
        (2, "kill", None, "it went on with this event, which partition_contiguity does not let it skip"),
        (4, "kill", "b", "partition_contiguity: b must come next in its partition, and this C is in between"),
    ]


def test_that_a_repetition_that_cannot_be_left_says_so() -> None:
    q = cep.Query("PATTERN SEQ(A+ a[], B b) WHERE skip_till_next_match { count(a[].x) >= 2 } WITHIN 1 second")
    steps = q.trace(EVENTS[:1]).to_arrow().select(["action", "component", "detail"]).to_pylist()
    assert [tuple(row.values()) for row in steps if row["action"] == "refuse"] == [
        ("refuse", "b", "the repetition can't be left yet: count(a[].x) >= 2: 1 >= 2")
    ]


def test_that_a_limit_says_what_is_left_out() -> None:
    found = cep.Query(RISE).trace(EVENTS, limit=4)
    assert (len(found), found.left_out, found.read, found.events) == (4, 1, 2, 5)
    assert str(found).splitlines()[-1] == "… 1 row left out by limit=; the first 2 of 5 events"


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


def actions(text: str, limit: int | None) -> list[str]:
    events = [{"ts": 10 * k, "type": "A"} for k in range(9)]
    return cep.Query(text).trace(events, limit=limit).to_arrow().column("action").to_pylist()


def test_that_a_limit_does_not_hide_matches_that_are_certain() -> None:
    """An absence after the last event is certain once its window is over."""
    assert actions("PATTERN SEQ(A a, !(B b)) WITHIN 4 ms", 4) == ["begin", "emit"] * 2


def test_that_a_limit_tells_no_match_that_a_later_event_changes() -> None:
    longest = "PATTERN A+ a[] WHERE strict_contiguity { a[].ts >= 0 } WITHIN 1 minute OUTPUT LONGEST"
    assert "emit" not in actions(longest, 12)
    assert actions(longest, None).count("emit") == 1


def test_that_a_wrong_limit_is_refused() -> None:
    with pytest.raises(cep.CepheidError) as caught:
        cep.Query(RISE).trace(EVENTS, limit=-1)
    assert caught.value.code == "CEP603"


def test_that_runs_that_are_alike_from_here_on_merge() -> None:
    events = [{"ts": k, "type": t, "x": x} for k, (t, x) in enumerate([("A", 1), ("A", 2), ("B", 1), ("B", 3)])]
    q = cep.Query("PATTERN SEQ(A a, B b, C c) WHERE b.x >= a.x WITHIN 100")
    rows = q.trace([*events, {"ts": 4, "type": "A", "x": 2}]).to_arrow().select(["position", "action", "run", "detail"])
    assert [tuple(row.values()) for row in rows.to_pylist() if row["action"] not in ("ignore", "kill")] == [
        (0, "begin", 1, ""),
        (1, "begin", 2, ""),
        (2, "refuse", 2, "b.x >= a.x: 1 >= 2"),
        (2, "proceed", 3, ""),
        (3, "proceed", 4, ""),
        (3, "merge", 4, "as run 3: waits for c"),  # nothing that comes reads a or b
        (3, "proceed", 5, ""),
        (3, "merge", 5, "as run 3: waits for c"),
        (4, "begin", 6, ""),
        (4, "merge", 6, "as run 2: waits for b, with a_x = 2"),  # and not as run 1, whose a.x is another one
    ]


def test_that_what_becomes_of_merged_runs_is_not_told_again() -> None:
    q = cep.Query("PATTERN SEQ(A a, B b, C c) WITHIN 100")
    events = [{"ts": k, "type": t} for k, t in enumerate("AABB")]
    rows = q.trace(events).to_arrow().select(["position", "action", "run", "detail"]).to_pylist()
    assert [tuple(row.values()) for row in rows if row["action"] in ("begin", "proceed", "merge")] == [
        (0, "begin", 1, ""),
        (1, "begin", 2, ""),
        (1, "merge", 2, "as run 1: waits for b"),
        (2, "proceed", 3, ""),
        (2, "proceed", 4, ""),  # of runs 1 and 2, which are one
        (3, "proceed", 5, ""),
        (3, "merge", 5, "as run 3: waits for c"),
        (3, "proceed", 6, ""),
    ]
    session = q.session(plan="automaton")
    session.push(events)
    session.close()
    assert session.stats.merged == 2


def test_that_a_run_that_must_not_go_on_merges_with_none() -> None:
    q = cep.Query("PATTERN SEQ(A a, !(N n), B b) WITHIN 100")
    events = [{"ts": k, "type": t} for k, t in enumerate("AANA")]
    rows = q.trace(events).to_arrow().filter(pc.field("action") == "merge")
    assert rows.select(["position", "run", "detail"]).to_pylist() == [
        {"position": 1, "run": 2, "detail": "as run 1: waits for b"}
    ]


def test_that_interpreted_runs_do_not_merge() -> None:
    q = cep.Query("PATTERN SEQ(A a, !(N n), B b) WHERE n.x < b.x WITHIN 100")
    rows = q.trace([{"ts": k, "type": t, "x": 1} for k, t in enumerate("AAA")]).to_arrow()
    assert "merge" not in rows.column("action").to_pylist()
