"""Graphs as text, as Mermaid and as SVG."""

import re
import sys
from html import unescape
from itertools import pairwise
from xml.etree import ElementTree

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cepheid.pictures import Edge, Graph, Node, NodeKind, Style, drawn, to_mermaid, to_svg, to_text

ODD = 'a \\n & <x> &amp; "q" `;#'
GRAPH = Graph(
    (
        Node("begin", kind=NodeKind.START),
        Node("s0", (ODD,)),
        Node("s1", ("down", "two"), NodeKind.FINAL),
        Node("gone", ("no match",), NodeKind.DROPPED),
    ),
    (
        Edge("begin", "s0"),
        Edge("s0", "s1", ("fall", "x < 0")),
        Edge("s0", "s0", ("ignore",), Style.QUIET),
        Edge("s0", "gone", ("r",), Style.ABSENT),
    ),
    ("A <title>",),
)


def texts(svg: str) -> list[str]:
    """The lines of text of a drawing, in their order."""
    return [unescape(found).strip() for found in re.findall(r"<text[^>]*>([^<]*)</text>", svg)]


def test_text() -> None:
    assert (
        to_text(GRAPH)
        == f"""\
A <title>
begin
  --> {ODD}
{ODD}
  --> down: fall; x < 0
  -.-> {ODD}: ignore
  -x-> no match: r
down; two (final)
no match"""
    )


def test_mermaid() -> None:
    assert (
        to_mermaid(GRAPH)
        == """\
---
title: "A <title>"
---
flowchart LR
  begin(( )) --> s0
  s0(["a #92;n #38; #60;x> #38;amp#59; #34;q#34; #96;#59;#35;"])
  s1((("down<br>two")))
  gone{{"no match"}}
  s0 -->|"fall<br>x < 0"| s1
  s0 -.->|"ignore"| s0
  s0 -.-x|"r"| gone"""
    )


def test_mermaid_of_several_loops() -> None:
    """Of which Mermaid draws only the last."""
    loops = (Edge("n", "n", ("take",)), Edge("n", "n", ("ignore",), Style.QUIET), Edge("n", "n"))
    assert (
        to_mermaid(Graph((Node("n"),), loops))
        == """\
flowchart LR
  n(["n"])
  n --- loop0["take"]:::loop --> n
  n -.- loop1["ignore"]:::loop -.-> n
  n --- loop2[" "]:::loop --> n
  classDef loop fill:none"""
    )


@pytest.mark.parametrize(
    ("line", "shown"),
    [("$$x$$", "#36;#36;x#36;#36;"), ("fa:fa-car", "fa#58;fa-car"), ("a\0b", "a·b"), ("a < b", "a < b")],
)
def test_what_mermaid_reads_as_its_own(line: str, shown: str) -> None:
    assert to_mermaid(Graph((Node("n", (line, " ")),), ())) == f'flowchart LR\n  n(["{shown}"])'


def test_mermaid_of_an_empty_label() -> None:
    assert to_mermaid(Graph((Node("a"), Node("b")), (Edge("a", "b", (" ",)),))).endswith("\n  a --> b")


def test_mermaid_of_a_long_title() -> None:
    head = to_mermaid(Graph((Node("n"),), (), ("w " * 90, "end"))).splitlines()[1]
    assert head == f'title: "{"w " * 54}w…"'


def test_a_label_that_looks_like_html() -> None:
    assert texts(to_svg(Graph((Node("n", ("<b>x</b>",)), Node("m", ("<script>",))), ()))) == ["<b>x</b>", "<script>"]


def test_svg() -> None:
    svg = to_svg(GRAPH)
    assert sorted(texts(svg)) == sorted(["A <title>", ODD, "down", "two", "no match", "fall", "x < 0", "ignore", "r"])
    classes = [element.get("class", "") for element in ElementTree.fromstring(svg).iter()]
    nodes = sorted(name for name in classes if name.startswith("node"))
    assert nodes == ["node dropped", "node final", "node quiet", "node start", "node state"]  # quiet: a loop's label
    assert "black" not in svg
    assert " id=" not in svg


def test_long_labels_are_broken_and_cut() -> None:
    svg = to_svg(Graph((Node("n", (" AND ".join(f"a.column{k} > {k}" for k in range(60)),)),), ()))
    shown = texts(svg)
    assert len(shown) == 10
    assert max(map(len, shown)) <= 38
    assert shown[-1] == "…"


@given(st.text(max_size=60))
@settings(max_examples=40, deadline=None)
def test_any_text(text: str) -> None:
    svg = to_svg(Graph((Node("n", (text, "end")),), (Edge("n", "n", (text,)),), (text,)))
    ElementTree.fromstring(svg)
    assert "end" in texts(svg)


def test_a_very_large_graph_is_text() -> None:
    edges = tuple(Edge("n", "n", (str(k),)) for k in range(300))
    assert drawn(Graph((Node("n"),), edges)).startswith("<pre ")
    assert drawn(Graph((Node("n"),), edges[:9])).startswith('<div style="overflow-x:auto"><div style="min-width:')


def test_a_wide_graph_is_not_made_too_small_to_read() -> None:
    names = [f"n{k}" for k in range(30)]
    edges = tuple(Edge(one, other, ("a label",)) for one, other in pairwise(names))
    page = drawn(Graph(tuple(map(Node, names)), edges))
    least, width = re.findall(r'min-width:(\d+)px"><svg [^>]*?width="(\d+)"', page)[0]
    assert int(least) == round(0.75 * int(width)) > 2000


def test_what_is_no_graph() -> None:
    with pytest.raises(ValueError, match="two nodes of a graph have the same name"):
        Graph((Node("a"), Node("a")), ())
    with pytest.raises(ValueError, match="an edge leads to 'b', which is no node"):
        Graph((Node("a"),), (Edge("a", "b"),))


def test_without_graphviz(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pygraphviz", None)
    with pytest.raises(ImportError, match=re.escape("pip install 'cepheid[pictures]'")):
        to_svg(GRAPH)
