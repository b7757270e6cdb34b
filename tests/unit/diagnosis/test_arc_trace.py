"""Steps of automata of the user's own and of CESAR expressions: the same rows, by arcs."""

from typing import Any

import cepheid as cep

BALANCED = """AUTOMATON start -> done
REGISTER balance INT = 0
ARC start -> falling WHEN e.change < 0 SET balance = 1
ARC again: falling -> falling WHEN e.change < 0 SET balance = r.balance + 1
ARC falling -> rising WHEN e.change > 0 SET balance = r.balance - 1
EPSILON rising -> done WHEN r.balance = 0
WITHIN 3
HAVING last.change > 0.1"""
TICKS = [{"ts": ts, "change": change} for ts, change in enumerate([-0.1, -0.2, 0.1, -0.3, 0.3])]
NAMES = ["position", "action", "run", "parent", "component", "detail"]


def rows(query: cep.Query, events: list[dict[str, Any]], *leaving: str) -> list[tuple[Any, ...]]:
    found = query.trace(events).to_arrow().select(NAMES).to_pylist()
    return [tuple(row.values()) for row in found if row["action"] not in leaving]


def test_arcs_with_registers() -> None:
    assert rows(cep.Query(BALANCED, type=None), TICKS) == [
        (0, "begin", 1, None, "start -> falling", "balance = 1"),
        (1, "refuse", 1, None, "falling -> rising", "e.change > 0: -0.2 > 0"),
        (1, "take", 2, 1, "again", "balance = 2"),
        (1, "begin", 3, None, "start -> falling", "balance = 1"),
        (2, "refuse", None, None, "start -> falling", "e.change < 0: 0.1 < 0"),
        (2, "refuse", 2, 1, "again", "e.change < 0: 0.1 < 0"),
        (2, "refuse", 3, None, "again", "e.change < 0: 0.1 < 0"),
        (2, "proceed", 4, 2, "falling -> rising", "balance = 1"),
        (2, "refuse", 4, 2, "rising -> done", "r.balance = 0: 1 = 0"),
        (2, "proceed", 5, 3, "falling -> rising", "balance = 0"),
        (2, "proceed", 6, 5, "rising -> done", "balance = 0"),
        (2, "drop", 6, 5, None, "HAVING last.change > 0.1: 0.1 > 0.1"),
        (3, "begin", 7, None, "start -> falling", "balance = 1"),
        (4, "refuse", None, None, "start -> falling", "e.change < 0: 0.3 < 0"),
        (4, "refuse", 7, None, "again", "e.change < 0: 0.3 < 0"),
        (4, "proceed", 8, 7, "falling -> rising", "balance = 0"),
        (4, "proceed", 9, 8, "rising -> done", "balance = 0"),
        (4, "emit", 9, 8, None, "balance = 0"),
    ]


def test_what_ends_runs() -> None:
    q = cep.Query("AUTOMATON q0 -> q2 ARC q0 -> q1 ON A IGNORE q1 ON C ARC q1 -> q2 ON B WITHIN 3")
    events = [{"ts": ts, "type": kind} for ts, kind in enumerate("ACCBADA")]
    assert rows(q, events) == [
        (0, "begin", 1, None, "q0 -> q1", ""),
        (1, "ignore", 1, None, None, "stays in q1"),
        (2, "ignore", 1, None, None, "stays in q1"),
        (
            *(3, "kill", 1, None, None),
            "it was in q1; 3 milliseconds after the first event, WITHIN 3 milliseconds: it must be less",
        ),
        (4, "begin", 2, None, "q0 -> q1", ""),
        (5, "kill", 2, None, None, "no arc from q1 takes this event"),
        (6, "begin", 3, None, "q0 -> q1", ""),
        (None, "kill", 3, None, None, "the input ended; it was in q1"),
    ]


def test_what_a_window_ends_with() -> None:
    q = cep.Query("AUTOMATON q0 -> q2 ARC q0 -> q1 ON A IGNORE q1 ON C ARC late: q1 -> q2 AT END WITHIN 2")
    events = [{"ts": ts, "type": kind} for ts, kind in enumerate("ACC")]
    assert rows(q, events, "kill") == [
        (0, "begin", 1, None, "q0 -> q1", ""),
        (1, "ignore", 1, None, None, "stays in q1"),
        (1, "proceed", 2, 1, "late", ""),
        (1, "emit", 2, 1, None, ""),
    ]


def test_that_equal_runs_are_one() -> None:
    q = cep.Query("AUTOMATON s -> t REGISTER n INT = 0 ARC s -> u ARC up: s -> v ARC u -> w ARC v -> w ARC w -> t")
    events = [{"ts": ts, "type": "A"} for ts in range(2)]
    assert rows(q, events, "kill") == [
        (0, "begin", 1, None, "s -> u", "n = 0"),
        (0, "begin", 2, None, "up", "n = 0"),
        (1, "proceed", 3, 1, "u -> w", "n = 0"),
        (1, "proceed", 4, 2, "v -> w", "n = 0"),
        (1, "merge", 4, 2, None, "as run 3: in w, with n = 0, and the same first event"),
        (1, "begin", 5, None, "s -> u", "n = 0"),
        (1, "begin", 6, None, "up", "n = 0"),
    ]


def test_a_session_of_an_automaton() -> None:
    q = cep.Query(BALANCED, type=None)
    session = q.session(trace=3)
    session.push(TICKS)
    assert session.trace().to_arrow().equals(q.trace(TICKS[2:]).to_arrow())


QUOTES = [(1, "IBM", 10), (2, "Dell", 22), (15, "IBM", 19), (30, "IBM", 15), (40, "Dell", 25)]
STOCKS = [{"ts": t, "type": "Stock", "name": n, "price": p} for t, n, p in QUOTES]


def test_instances_of_cesar() -> None:
    q = cep.Query("CESAR LET S1, S2 := Stock S1 ;[S1.name = S2.name AND S2.price > S1.price] S2")
    assert rows(q, STOCKS) == [
        (0, "begin", 1, None, "start -> state 0", "S1.name = 'IBM', S1.price = 10"),
        (1, "begin", 2, None, "start -> state 0", "S1.name = 'Dell', S1.price = 22"),
        (
            *(2, "proceed", 3, 1, "state 0 -> result"),
            "S1.name = 'IBM', S1.price = 10, S2.name = 'IBM', S2.price = 19",
        ),
        (2, "emit", 3, 1, None, ""),
        (2, "begin", 4, None, "start -> state 0", "S1.name = 'IBM', S1.price = 19"),
        (3, "refuse", 4, None, "state 0 -> result", "S2.price > S1.price: 15 > 19"),
        (3, "ignore", 4, None, None, "waits in state 0"),
        (3, "begin", 5, None, "start -> state 0", "S1.name = 'IBM', S1.price = 15"),
        (
            *(4, "proceed", 6, 2, "state 0 -> result"),
            "S1.name = 'Dell', S1.price = 22, S2.name = 'Dell', S2.price = 25",
        ),
        (4, "emit", 6, 2, None, ""),
        (4, "begin", 7, None, "start -> state 0", "S1.name = 'Dell', S1.price = 25"),
        (None, "kill", 4, None, None, "the input ended; it waited in state 0"),
        (None, "kill", 5, None, None, "the input ended; it waited in state 0"),
        (None, "kill", 7, None, None, "the input ended; it waited in state 0"),
    ]


def test_an_instance_that_is_lost() -> None:
    q = cep.Query("CESAR LET S1, S2 := Stock SELECT[S2.price > S1.price](S1 ;[S1.name = S2.name] S2)")
    lost = [row for row in rows(q, STOCKS) if row[:2] == (3, "kill")]
    assert lost == [
        (3, "kill", 4, None, None, "the next event for state 0 came, and it takes the run no further"),
    ]


def test_a_derived_stream_is_traced_by_its_name() -> None:
    q = cep.Query("CESAR LET S1, S2 := Stock S1 ; (S2 ; RENAME[price -> p, name -> n](S2))")
    found = q.trace(STOCKS).to_arrow().select(["query", "action"]).to_pylist()
    emitted = [row["query"] for row in found if row["action"] == "emit"]
    assert emitted == ["#1"] * 4 + ["query 1"] * len(q.match(STOCKS))


def test_a_program_of_all_three() -> None:
    q = cep.Query("""
        AUTOMATON s -> t ARC s -> t ON Stock WHEN e.price > 18 RETURN last.price AS price INTO High;
        FROM High PATTERN SEQ(High a, High b) WHERE b.price > a.price RETURN b.price AS price INTO Higher;
        CESAR SELECT[price > 24](Higher)
    """)
    found = q.trace(STOCKS).to_arrow().select(["query", "action"]).to_pylist()
    emitted = [row["query"] for row in found if row["action"] == "emit"]
    assert emitted == ["High"] * 3 + ["Higher"] * 2 + ["query 3"] * len(q.match(STOCKS))
    told = q.diagnose(STOCKS)
    assert told.matches == len(q.match(STOCKS))
    assert {stage.query for stage in told.funnel} == {"High", "Higher", "query 3"}


def test_what_ends_a_run_of_events_that_last() -> None:
    """A window of events, or an event that starts before the one before it has ended (S13)."""
    text = "AUTOMATON s -> t ARC s -> u ON A ARC u -> u ON C ARC u -> t ON B WITHIN 2 events"
    times = [(0, 1, "A"), (2, 3, "C"), (4, 5, "C"), (5, 7, "A"), (6, 8, "B")]
    events = [{"from": start, "ts": end, "type": kind} for start, end, kind in times]
    steps = cep.Query(text, start="from").trace(events).to_arrow().to_pylist()
    assert [(step["position"], step["detail"]) for step in steps if step["action"] == "kill"] == [
        (2, "it was in u; not within 2 events of the first one"),
        (4, "it was in u; it starts before the event before it has ended"),
    ]
