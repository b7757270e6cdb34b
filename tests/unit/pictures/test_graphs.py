"""Graphs as text, as Mermaid and as SVG."""

import re
import sys
from html import unescape
from xml.etree import ElementTree

import pytest

from cepheid.pictures import Edge, Graph, Kind, Node, Style, to_mermaid, to_svg, to_text

ODD = 'a \\n & <x> &amp; "q" `;#'
GRAPH = Graph(
    (
        Node("begin", kind=Kind.START),
        Node("s0", (ODD,)),
        Node("s1", ("down", "two"), Kind.FINAL),
        Node("gone", ("no match",), Kind.DROPPED),
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
flowchart LR
  begin(( )) --> s0
  s0(["a \\n #38; #60;x> #38;amp#59; #34;q#34; #96;#59;#35;"])
  s1((("down<br>two")))
  gone{{"no match"}}
  s0 -->|"fall<br>x < 0"| s1
  s0 -.->|"ignore"| s0
  s0 -.-x|"r"| gone"""
    )


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


def test_what_is_no_graph() -> None:
    with pytest.raises(ValueError, match="two nodes of a graph have the same name"):
        Graph((Node("a"), Node("a")), ())
    with pytest.raises(ValueError, match="an edge leads to 'b', which is no node"):
        Graph((Node("a"),), (Edge("a", "b"),))


def test_without_graphviz(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pygraphviz", None)
    with pytest.raises(ImportError, match=re.escape("pip install 'cepheid[pictures]'")):
        to_svg(GRAPH)
