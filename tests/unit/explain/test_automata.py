"""Automata of one's own explained, as text and as a picture."""

import cepheid as cep
from cepheid.language import parse

VEES = """
    AUTOMATON q0 -> q3, q4
    REGISTER  balance INT = 0, vees INT = 0
    ARC       q0 -> q1 ON Tick WHEN e.change < -delta
    ARC       q1 -> q1 WHEN e.change < 0 SET balance = r.balance + 1
    ARC       q1 -> q2 WHEN e.change < 0 SET balance = r.balance + 1
    ARC done: q2 -> q3 WHEN e.change > 0 AND r.balance = 1 SET vees = r.vees + 1, balance = 0
    IGNORE    q2 WHEN abs(e.change) < 0.05
    EPSILON   q3 -> q1 WHEN r.vees < k
    ARC       q1 -> q4 AT END
    PARTITION BY symbol
    WITHIN 500
    HAVING r.vees >= 0
"""
PICTURE = """\
---
title: "PARTITION BY symbol · WITHIN 500 · HAVING r.vees >= 0"
---
flowchart LR
  begin(( ))
  s0(["q0"])
  s1(["q1"])
  s2(["q2"])
  s3((("q3")))
  s4((("q4")))
  begin -->|"balance := 0<br>vees := 0"| s0
  s0 -->|"ON Tick<br>e.change < -0.25"| s1
  s1 -->|"e.change < 0<br>balance := r.balance + 1"| s1
  s1 -->|"e.change < 0<br>balance := r.balance + 1"| s2
  s2 -->|"done<br>e.change > 0 AND r.balance = 1<br>vees := r.vees + 1<br>balance := 0"| s3
  s2 -.->|"ignored<br>abs(e.change) < 0.05"| s2
  s3 -.->|"ε<br>r.vees < 2"| s1
  s1 -.->|"AT END"| s4"""


def test_the_whole_text() -> None:
    explained = cep.Query(VEES, params={"delta": 0.25, "k": 2}).explain()
    picture = PICTURE.replace("\n", "\n  ")
    assert (
        str(explained)
        == f"""\
Query
  AUTOMATON q0 -> q3, q4
  REGISTER balance INT = 0, vees INT = 0
  ARC q0 -> q1 ON Tick WHEN e.change < -0.25
  ARC q1 -> q1 WHEN e.change < 0 SET balance = r.balance + 1
  ARC q1 -> q2 WHEN e.change < 0 SET balance = r.balance + 1
  ARC done: q2 -> q3 WHEN e.change > 0 AND r.balance = 1 SET vees = r.vees + 1, balance = 0
  IGNORE q2 WHEN abs(e.change) < 0.05
  EPSILON q3 -> q1 WHEN r.vees < 2
  ARC q1 -> q4 AT END
  PARTITION BY symbol
  WITHIN 500
  HAVING r.vees >= 0
  RETURN r.balance AS balance, r.vees AS vees
  OUTPUT ALL
  TIES ORDERED
  -- the window counts in milliseconds, the unit of the time column
States
  q0  start  1 arc
  q1         3 arcs
  q2         2 arcs
  q3  final  1 arc
  q4  final  no arcs
Register
  balance  INT  begins as 0
  vees     INT  begins as 0
Arcs
        q0 -> q1  an event of Tick       WHEN e.change < -0.25
        q1 -> q1  an event               WHEN e.change < 0                    SET balance = r.balance + 1
        q1 -> q2  an event               WHEN e.change < 0                    SET balance = r.balance + 1
  done  q2 -> q3  an event               WHEN e.change > 0 AND r.balance = 1  SET vees = r.vees + 1, balance = 0
        q2 -> q2  an event               WHEN abs(e.change) < 0.05            ignored
        q3 -> q1  no event               WHEN r.vees < 2
        q1 -> q4  the end of the window  always
Without EPSILON
  q2 -> q3  also leads on, of itself: q3 -> q1
  arcs that take events: 5; with the EPSILON arcs put into them: 6
Matches
  neighbouring events of each symbol, from any event on
  WITHIN 500 of the first
  of AT END: when the window is over
  HAVING r.vees >= 0
  those with equal first and last event and register are one
Picture (Mermaid)
  {picture}
Output
  match_start, match_end, valid_until, balance, vees"""
    )
    assert explained.mermaid == PICTURE


def test_that_the_normal_form_reads_back() -> None:
    text = str(cep.Query("AUTOMATON a -> b ARC a -> b ON ALL TIES SIMULTANEOUS").explain())
    assert "Register\n  none\n" in text
    assert "a -> b  all events of an instant  always" in text
    shown = text.split("\nStates")[0].removeprefix("Query\n")
    assert parse(shown) == parse("AUTOMATON a -> b ARC a -> b ON ALL TIES SIMULTANEOUS")


def test_epsilon_at_the_start_and_in_a_row() -> None:
    text = str(
        cep.Query("AUTOMATON a -> d EPSILON a -> b ARC b -> c EPSILON c -> d EPSILON d -> e ARC e -> b").explain()
    )
    assert (
        """\
Without EPSILON
  b -> c   also leads on, of itself: c -> d, c -> d -> e
  start a  begins also in b
  arcs that take events: 2; with the EPSILON arcs put into them: 7
"""
        in text
    )


def test_how_it_runs() -> None:
    ticks = [{"ts": 1, "type": "Tick", "symbol": "A", "change": 0.5}]
    query = cep.Query(
        "AUTOMATON a -> b ARC a -> b WHEN odd(e.change) AND e.x > 1",
        functions={"odd": lambda value: value > 1},
    )
    explained = query.explain([{**ticks[0], "x": 1}])
    assert "Plan\n  automaton: no other applies: an automaton takes its events in order\n" in explained.text
    assert "user function odd: " in explained.text
    assert explained.sources[0]


def test_a_picture_of_odd_names() -> None:
    query = cep.Query('AUTOMATON `a "b"` -> `end` ARC `x;`: `a "b"` -> `end` ON `<T>` WHEN e.`q#` = \'<b>&\'')
    assert (
        query.explain().mermaid
        == """\
flowchart LR
  begin(( )) --> s0
  s0(["a #34;b#34;"])
  s1((("end")))
  s0 -->|"x#59;<br>ON #60;T><br>e.#96;q#35;#96; = '#60;b>#38;'"| s1"""
    )


def test_that_every_query_has_a_picture() -> None:
    program = cep.Query(
        "AUTOMATON a -> b ARC a -> b RETURN first.x AS x INTO N; FROM N EVENT N n; AUTOMATON c -> d ARC c -> d"
    )
    assert len(program.explain().pictures) == 3
    assert program.explain().mermaid.count("flowchart LR") == 3
