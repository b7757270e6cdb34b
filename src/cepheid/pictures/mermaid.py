"""A graph as text that Mermaid draws, as notebooks and many wikis do."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator

from cepheid.pictures.graph import Edge, Graph, Node, NodeKind, Style
from cepheid.pictures.printable import printable

_SHAPES = {
    NodeKind.STATE: ("([", "])"),
    NodeKind.FINAL: ("(((", ")))"),
    NodeKind.DROPPED: ("{{", "}}"),
    NodeKind.SOURCE: ("[(", ")]"),
    NodeKind.STAGE: ("[", "]"),
    NodeKind.SINK: ("[/", "/]"),
}
_LINES = {Style.PLAIN: "-->", Style.QUIET: "-.->", Style.ABSENT: "-.-x"}
_TAILS = {Style.PLAIN: "---", Style.QUIET: "-.-", Style.ABSENT: "-.-"}
_TITLE = 110  # characters of a title: Mermaid breaks no line of it, and makes a picture small that has a long one


def to_mermaid(graph: Graph) -> str:
    """A flowchart: final states have two rings, edges that keep no event are dotted.

    >>> print(
    ...     to_mermaid(
    ...         Graph((Node("s0", ("up",)), Node("s1", ("down",), NodeKind.FINAL)), (Edge("s0", "s1", ("fall",)),))
    ...     )
    ... )
    flowchart LR
      s0(["up"])
      s1((("down")))
      s0 -->|"fall"| s1
    """
    begins = {node.name for node in graph.nodes if node.kind is NodeKind.START and not node.lines}
    bare = {edge.source: edge for edge in graph.edges if edge.source in begins and not edge.lines}
    nodes = [_node(node, bare.get(node.name)) for node in graph.nodes]
    edges = list(_edges([edge for edge in graph.edges if edge not in bare.values()]))
    return _titled(graph.title) + "\n  ".join(["flowchart LR", *nodes, *edges])


def _titled(title: tuple[str, ...]) -> str:
    text = printable(" · ".join(" ".join(line.split()) for line in title if line.strip()))
    text = text if len(text) <= _TITLE else f"{text[: _TITLE - 1]}…"
    return f"---\ntitle: {json.dumps(text, ensure_ascii=False)}\n---\n" if text else ""


def _node(node: Node, leaves: Edge | None) -> str:
    if node.kind is NodeKind.START and not node.lines:
        return f"{node.name}(( ))" + (f" --> {leaves.target}" if leaves is not None else "")
    left, right = _SHAPES.get(node.kind, _SHAPES[NodeKind.STATE])
    return f'{node.name}{left}"{_label(node.lines) or node.name}"{right}'


def _edges(edges: list[Edge]) -> Iterator[str]:
    """Of several loops of a node Mermaid draws only the last, so that each goes through a box with its label."""
    loops = Counter(edge.source for edge in edges if edge.source == edge.target)
    boxes = 0
    for edge in edges:
        label = _label(edge.lines)
        if edge.source != edge.target or loops[edge.source] == 1:
            text = f'|"{label}"|' if label else ""
            yield f"{edge.source} {_LINES[edge.style]}{text} {edge.target}"
            continue
        box = f'loop{boxes}["{label or " "}"]:::loop'
        yield f"{edge.source} {_TAILS[edge.style]} {box} {_LINES[edge.style]} {edge.target}"
        boxes += 1
    if boxes:
        yield "classDef loop fill:none"


def _label(lines: tuple[str, ...]) -> str:
    return "<br>".join(filter(None, map(escaped, lines)))


_SIGN = re.compile(r"""["#`;&$\\]|<(?=[\w/!?])|:(?=fa-)""")


def escaped(text: str) -> str:
    """Text in the quotes of Mermaid, which would read some signs as its own, as icons, or as those of HTML or TeX."""
    return _SIGN.sub(lambda sign: f"#{ord(sign[0])};", printable(" ".join(text.split())))
