"""A graph as text: each node, and below it the edges that leave it."""

from __future__ import annotations

from cepheid.pictures.graph import Edge, Graph, NodeKind, Style

_ARROWS = {Style.PLAIN: "-->", Style.QUIET: "-.->", Style.ABSENT: "-x->"}
_KINDS = {NodeKind.FINAL: " (final)"}


def to_text(graph: Graph) -> str:
    """A graph as lines that any terminal shows.

    >>> from cepheid.pictures import Node
    >>> print(to_text(Graph((Node("up"), Node("down", kind=NodeKind.FINAL)), (Edge("up", "down", ("fall", "x < 0")),))))
    up
      --> down: fall; x < 0
    down (final)
    """
    named = {node.name: _label(node.lines[:1]) or node.name for node in graph.nodes}
    lines = [*graph.title]
    for node in graph.nodes:
        lines.append((_label(node.lines) or node.name) + _KINDS.get(node.kind, ""))
        lines += [_edge(edge, named[edge.target]) for edge in graph.edges if edge.source == node.name]
    return "\n".join(lines)


def _edge(edge: Edge, target: str) -> str:
    label = _label(edge.lines)
    return f"  {_ARROWS[edge.style]} {target}" + (f": {label}" if label else "")


def _label(lines: tuple[str, ...]) -> str:
    return "; ".join(" ".join(line.split()) for line in lines)
