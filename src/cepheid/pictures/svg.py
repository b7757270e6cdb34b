"""A graph as SVG: laid out and drawn by Graphviz, then given colours that read on light and on dark pages."""

from __future__ import annotations

import re
from html import escape
from importlib.util import find_spec
from threading import Lock
from typing import Any

from cepheid.pictures.colours import BLUE, GREEN, RED, THEME
from cepheid.pictures.graph import Edge, Graph, Node, NodeKind, Style, wrapped
from cepheid.pictures.printable import printable

_FONT = "system-ui, sans-serif"
_SHAPES = {
    NodeKind.START: {"shape": "point", "width": "0.14"},
    NodeKind.STATE: {"shape": "box", "style": "rounded"},
    NodeKind.FINAL: {"shape": "box", "style": "rounded", "peripheries": "2"},
    NodeKind.DROPPED: {"shape": "octagon", "style": "dashed"},
    NodeKind.SOURCE: {"shape": "cylinder"},
    NodeKind.STAGE: {"shape": "box"},
    NodeKind.SINK: {"shape": "note"},
}
_LINES = {
    Style.PLAIN: {},
    Style.QUIET: {"style": "dotted"},
    Style.ABSENT: {"style": "dashed", "arrowhead": "tee"},
}
# A page may have pictures of other kinds, and the styles of all of them hold for all of it: each rule names our class.
_RULES = (
    (".node path,.node polygon,.node ellipse,.edge path", "stroke:currentColor;fill:none"),
    ("text", "fill:currentColor;stroke:none"),
    (".edge polygon", "fill:currentColor;stroke:currentColor"),
    (".start ellipse", "fill:currentColor"),
    (".state path,.stage polygon", f"fill:{BLUE};fill-opacity:.14;stroke:{BLUE}"),
    (".final path,.sink polygon", f"fill:{GREEN};fill-opacity:.14;stroke:{GREEN}"),
    (".dropped polygon,.absent path,.absent polyline", f"stroke:{RED}"),
    (".absent polygon", f"fill:{RED};stroke:{RED}"),
    (".absent text,.dropped text", f"fill:{RED}"),
)
_CSS = THEME + "".join(
    ",".join(f"svg.cepheid-graph {part}" for part in parts.split(",")) + f"{{{style}}}" for parts, style in _RULES
)
_ONE_AT_A_TIME = Lock()  # Graphviz has variables of its own
_SIZE = 1.15  # pixels for each of Graphviz's points


def can_draw() -> bool:
    """Whether Graphviz is installed, without which a graph is shown as text."""
    return find_spec("pygraphviz") is not None


def to_svg(graph: Graph) -> str:
    """A graph as SVG; it needs the extra `pictures`."""
    try:
        import pygraphviz
    except ImportError:
        raise ImportError("pygraphviz is not installed: pip install 'cepheid[pictures]'") from None
    drawn = pygraphviz.AGraph(directed=True, strict=False, rankdir="LR", ranksep="0.35", nodesep="0.3", pad="0.1")
    drawn.graph_attr.update(bgcolor="transparent", fontname=_FONT, fontsize="13", labelloc="t", labeljust="l")
    title = _label(wrapped(graph.title, 90), "\\l")
    if title:
        drawn.graph_attr["label"] = title
    drawn.node_attr.update(fontname=_FONT, fontsize="12", margin="0.12,0.06", height="0.3")
    drawn.edge_attr.update(fontname=_FONT, fontsize="11", arrowsize="0.7")
    for node in graph.nodes:
        _add_node(drawn, node)
    for number, edge in enumerate(graph.edges):
        _add_edge(drawn, edge, str(number))
    with _ONE_AT_A_TIME:
        svg = drawn.draw(format="svg", prog="dot").decode("utf-8")
    return _coloured(svg)


def _add_node(drawn: Any, node: Node) -> None:
    bare = node.kind is NodeKind.START and not node.lines
    label = "" if bare else _label(wrapped(node.lines) or [node.name], "\\n").removesuffix("\\n")
    shape = _SHAPES[node.kind] if bare or node.kind is not NodeKind.START else _SHAPES[NodeKind.STATE]
    drawn.add_node(node.name, label=label, **{"class": node.kind.value}, **shape)


def _add_edge(drawn: Any, edge: Edge, key: str) -> None:
    facts = {"class": edge.style.value, **_LINES[edge.style]}
    label = _label([f" {line} " for line in wrapped(edge.lines)], "\\l")
    if edge.source != edge.target or not label:
        drawn.add_edge(edge.source, edge.target, key=key, **facts, **({"label": label} if label else {}))
        return
    # Graphviz keeps no room for the label of a loop; for a node it does, so that the loop goes through its label.
    loop = f"loop {key}"
    drawn.add_node(loop, label=label, shape="plaintext", fontsize="11", margin="0.02", **{"class": edge.style.value})
    drawn.add_subgraph([edge.source, loop], rank="same")
    drawn.add_edge(edge.source, loop, key=f"{key} out", **{**facts, "arrowhead": "none"})
    drawn.add_edge(loop, edge.source, key=f"{key} back", **facts)


def _label(lines: list[str], end: str) -> str:
    """Lines that end as Graphviz marks ends: to be centred, or set to the left. An empty line would make it crash."""
    return "".join(f"{_quoted(line)}{end}" for line in lines)


def _quoted(line: str) -> str:
    """Text that Graphviz takes as it is: it reads escapes, the names of HTML's signs, and a label in <> as HTML."""
    return escape(printable(line), quote=False).replace("\\", "\\\\")


def _coloured(svg: str) -> str:
    """What Graphviz drew, with classes in place of its colours."""
    body = svg[svg.index("<svg") :]
    body = re.sub(r"<!--.*?-->\n?", "", body, flags=re.DOTALL)
    body = re.sub(r' (?:fill|stroke)="(?:black|none|white|transparent|lightgrey|#\w+)"', "", body)
    body = re.sub(r"<title>.*?</title>\n?", "", body, flags=re.DOTALL)  # which browsers show as tooltips: our names
    body = re.sub(r' id="\w+"', "", body)  # a page may have several
    body = re.sub(r'<svg width="([\d.]+)pt" height="([\d.]+)pt"', _sized, body, count=1)
    return body.replace(">", f"><style>{_CSS}</style>", 1)


def _sized(sizes: re.Match[str]) -> str:
    width, height = (round(float(size) * _SIZE) for size in sizes.groups())
    return f'<svg class="cepheid cepheid-graph" width="{width}" height="{height}" style="max-width:100%;height:auto"'
