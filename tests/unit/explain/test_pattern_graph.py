"""The automaton and the plan of a SASE+ query as graphs."""

import pytest

import cepheid as cep
from cepheid.errors import UsageError
from cepheid.explain import explanation
from cepheid.pictures import page

SHELVES = "PATTERN SEQ(Shelf a, !(Register b), Exit c) WHERE [tag_id] WITHIN 12 hours"
TREND = """
    PATTERN SEQ(Stock+ a[], Stock b)
    WHERE skip_till_next_match(a[], b) {
        [symbol] AND a[1].volume > 1000 AND a[i].price > avg(a[..i-1].price) AND b.volume < 0.8 * a[a.LEN].volume }
    WITHIN 1 hour
"""


def test_a_negation() -> None:
    explained = cep.Query(SHELVES).explain()
    assert (
        explained.mermaid
        == """\
---
title: "skip_till_any_match · [tag_id] · WITHIN 12 hours"
---
flowchart LR
  begin(( ))
  s0(["a: Shelf"])
  s1((("c: Exit")))
  dropped{{"no match"}}
  begin -->|"begin a"| s0
  s0 -->|"begin c"| s1
  s0 -.->|"ignore any event"| s0
  s0 -.-x|"b: Register"| dropped"""
    )
    assert explained.graphs[0].title == ("skip_till_any_match · [tag_id] · WITHIN 12 hours",)


def test_fences_and_registers() -> None:
    assert (
        cep.Query(TREND).explain().mermaid
        == """\
---
title: "skip_till_next_match · [symbol] · WITHIN 1 hour"
---
flowchart LR
  begin(( ))
  s0(["a[]: Stock"])
  s1((("b: Stock")))
  begin -->|"begin a[1]<br>a[1].volume > 1000<br>keep avg(a[..i-1].price), a[a.LEN].volume"| s0
  s0 --- loop0["take a[i]<br>a[i].price > avg(a[..i-1].price)<br>keep avg(a[..i-1].price), a[a.LEN].volume"]\
:::loop --> s0
  s0 -->|"begin b<br>b.volume < 0.8 * a[a.LEN].volume"| s1
  s0 -.- loop1["ignore what does not fit"]:::loop -.-> s0
  classDef loop fill:none"""
    )


def test_absences_at_the_ends_and_counts() -> None:
    text = "PATTERN SEQ(!(Z z), A{2,4} a[], !(X x)) WHERE x.y = a[1].y WITHIN 10 minutes"
    assert (
        cep.Query(text).explain().mermaid
        == """\
---
title: "skip_till_any_match · WITHIN 10 minutes"
---
flowchart LR
  begin(( ))
  s0(["a[]: A"])
  match((("match")))
  dropped{{"no match"}}
  begin -->|"begin a[1]<br>keep a[1].y"| s0
  begin -.-x|"z: Z before, in the window"| dropped
  s0 --- loop0["take a[i]<br>at most 4 times"]:::loop --> s0
  s0 -.->|"proceed a: after 2 to 4<br>no x to the window's end"| match
  s0 -.- loop1["ignore any event"]:::loop -.-> s0
  s0 -.-x|"x: X<br>x.y = a[1].y"| dropped
  classDef loop fill:none"""
    )


def test_strategies() -> None:
    def loops(strategy: str) -> list[tuple[str, ...]]:
        query = cep.Query(f"PATTERN SEQ(A a, B b) WHERE {strategy}(a, b) {{ [id] }} WITHIN 1 hour")
        return [edge.lines for edge in query.explain().graphs[0].edges if edge.source == edge.target]

    assert loops("strict_contiguity") == []
    assert loops("partition_contiguity") == [("ignore another id",)]
    assert loops("skip_till_next_match") == [("ignore what does not fit",)]
    assert loops("skip_till_any_match") == [("ignore any event",)]


def test_an_and_of_very_many() -> None:
    query = cep.Query(f"PATTERN AND({', '.join(f'A{k} a{k}' for k in range(7))}) WITHIN 1 hour")
    (node,) = query.explain().graphs[0].nodes
    assert node.lines == ("448 states, one for each component and what may come after it: too many to draw",)


def test_the_plan() -> None:
    rows = [
        {"ts": 1, "type": "A", "id": 1, "x": 3},
        {"ts": 2, "type": "A", "id": 2, "x": 1},
        {"ts": 3, "type": "B", "id": 2, "x": 9},
    ]
    explained = cep.Query("PATTERN SEQ(A a, B b) WHERE [id] AND a.x > 2 WITHIN 10").explain(rows)
    assert [node.lines for node in explained.graphs[1].nodes] == [
        ("3 events",),
        ("by id", "2 values of id"),
        ("a: A", "a.x > 2", "counted: 1 of 2"),
        ("b: B", "counted: 1"),
        ("matches",),
    ]


def test_estimates_beside_counts() -> None:
    rows = [{"ts": t, "type": "AAAB"[t % 4], "id": t % 3} for t in range(400)]
    explained = cep.Query("PATTERN SEQ(A a, B b) WHERE [id] WITHIN 10").explain(rows, plan="lazy(b, a)")
    assert [node.lines for node in explained.graphs[1].nodes] == [
        ("400 events",),
        ("by id", "3 values of id"),
        ("b: B", "expected: 100 (25 %)", "counted: 100"),
        ("a: A", "expected: 300 (75 %)", "counted: 300"),
        ("matches",),
    ]


def test_the_svg_and_the_page() -> None:
    explained = cep.Query(SHELVES).explain()
    assert explained.svg.startswith('<svg class="cepheid cepheid-graph"')
    page = explained._repr_html_()
    assert f'px">{explained.svg}</div></div><details><summary>Explanation</summary><pre' in page
    assert "SEQ(Shelf a, !(Register b), Exit c)" in page


def test_the_queries_of_a_program_are_told_apart() -> None:
    program = cep.Query("""
        PATTERN SEQ(A a, B b) WITHIN 1 hour RETURN a.x AS x INTO Pair;
        FROM Pair EVENT Pair p WHERE p.x > 1
    """)
    graphs = program.explain([{"ts": 1, "type": "A", "x": 1}]).graphs
    assert [graph.title[0] for graph in graphs] == 2 * ["Query 1 of 2 INTO Pair", "Query 2 of 2"]


def test_a_cesar_expression() -> None:
    query = cep.Query("CESAR LET S1, S2 := Stock ITERATE[SELECT[S2.price > S2.price.last], S1.name = S2.name](S1, S2)")
    explained = query.explain([{"ts": 1, "type": "Stock", "name": "X", "price": 10}])
    assert (
        explained.pictures[0]
        == """\
---
title: "by name"
---
flowchart LR
  begin(( ))
  A(["A"])
  result((("result")))
  begin -->|"ON Stock<br>S1.name := e.name<br>S1.price := e.price<br>S2.price := e.price"| A
  A --- loop0["ON Stock<br>S1.name = e.name<br>e.price > S2.price<br>S2.price := e.price"]:::loop --> A
  A -->|"ON Stock<br>S1.name = e.name<br>e.price > S2.price"| result
  A -.- loop1["waits while NOT (S1.name = e.name)"]:::loop -.-> A
  classDef loop fill:none"""
    )


def test_without_graphviz(monkeypatch: pytest.MonkeyPatch) -> None:
    explained = cep.Query(SHELVES).explain()
    for module in (explanation, page):
        monkeypatch.setattr(module, "can_draw", lambda: False)
    assert "  -x-&gt; no match: b: Register" in explained._repr_html_()
    with pytest.raises(UsageError, match="pygraphviz is not installed"):
        explained.svg  # noqa: B018
