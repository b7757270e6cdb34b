"""Pieces of a page that need no script: pictures where they can be drawn, else text."""

from __future__ import annotations

from html import escape

from cepheid.pictures.graph import Graph
from cepheid.pictures.svg import can_draw, to_svg
from cepheid.pictures.text import to_text

MOST = 200
"""Nodes and edges that a page draws: the time to lay them out grows faster than their number."""


def drawn(graph: Graph) -> str:
    """A graph as SVG; as text without the extra for that, or if it is very large."""
    small = len(graph.nodes) + len(graph.edges) <= MOST
    return f"<div>{to_svg(graph)}</div>" if small and can_draw() else preformatted(to_text(graph))


def preformatted(text: str) -> str:
    """Text as it is."""
    return boxed(escape(text))


def boxed(markup: str) -> str:
    """Markup whose spaces and lines count. Jupyter gives `pre` the font of its prose, so the font is named here."""
    style = "background:transparent;color:inherit;line-height:1.35;font-family:ui-monospace,monospace"
    return f'<pre style="{style}">{markup}</pre>'
