"""A graph as text that Mermaid draws, as notebooks and many wikis do."""

from __future__ import annotations

import re

from cepheid.pictures.graph import Edge, Graph, Kind, Node, Style

_SHAPES = {
    Kind.STATE: ("([", "])"),
    Kind.FINAL: ("(((", ")))"),
    Kind.DROPPED: ("{{", "}}"),
    Kind.SOURCE: ("[(", ")]"),
    Kind.STAGE: ("[", "]"),
    Kind.SINK: ("[/", "/]"),
}
_LINES = {Style.PLAIN: "-->", Style.QUIET: "-.->", Style.ABSENT: "-.-x"}


def to_mermaid(graph: Graph) -> str:
    """A flowchart: final states have two rings, edges that keep no event are dotted.

    >>> print(
    ...     to_mermaid(Graph((Node("s0", ("up",)), Node("s1", ("down",), Kind.FINAL)), (Edge("s0", "s1", ("fall",)),)))
    ... )
    flowchart LR
      s0(["up"])
      s1((("down")))
      s0 -->|"fall"| s1
    """
    begins = {node.name for node in graph.nodes if node.kind is Kind.START and not node.lines}
    bare = {edge.source: edge for edge in graph.edges if edge.source in begins and not edge.lines}
    nodes = [_node(node, bare.get(node.name)) for node in graph.nodes]
    return "\n  ".join(["flowchart LR", *nodes, *(_edge(edge) for edge in graph.edges if edge not in bare.values())])


def _node(node: Node, leaves: Edge | None) -> str:
    if node.kind is Kind.START and not node.lines:
        return f"{node.name}(( ))" + (f" --> {leaves.target}" if leaves is not None else "")
    left, right = _SHAPES.get(node.kind, _SHAPES[Kind.STATE])
    return f'{node.name}{left}"{_label(node.lines) or node.name}"{right}'


def _edge(edge: Edge) -> str:
    label = f'|"{_label(edge.lines)}"|' if edge.lines else ""
    return f"{edge.source} {_LINES[edge.style]}{label} {edge.target}"


def _label(lines: tuple[str, ...]) -> str:
    return "<br>".join(map(escaped, lines))


_SIGN = re.compile(r"""["#`;&]|<(?=[\w/!?])""")


def escaped(text: str) -> str:
    """Text in the quotes of Mermaid, which would read some signs as its own or as those of HTML."""
    return _SIGN.sub(lambda sign: f"#{ord(sign[0])};", " ".join(text.split()))
