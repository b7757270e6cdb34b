"""Pieces of a page that need no script: pictures where they can be drawn, else text."""

from __future__ import annotations

import re
from html import escape

from cepheid.pictures.graph import Graph
from cepheid.pictures.svg import can_draw, to_svg
from cepheid.pictures.text import to_text

MOST = 200
"""Nodes and edges that a page draws: the time to lay them out grows faster than their number."""
LEAST = 0.75
"""How small a page may make a picture, of its size."""


def drawn(graph: Graph) -> str:
    """A graph as SVG; as text without the extra for that, or if it is very large."""
    small = len(graph.nodes) + len(graph.edges) <= MOST
    return _scrolled(to_svg(graph)) if small and can_draw() else preformatted(to_text(graph))


def _scrolled(svg: str) -> str:
    """A picture that is made smaller where there is little room, though never so small that nobody can read it."""
    width = re.search(r' width="(\d+)"', svg)
    least = round(LEAST * int(width[1])) if width is not None else 0
    return f'<div style="overflow-x:auto"><div style="min-width:{least}px">{svg}</div></div>'


def preformatted(text: str) -> str:
    """A text in a box, its spaces and line ends kept."""
    return boxed(escape(text))


def boxed(markup: str) -> str:
    """Markup whose spaces and lines count. Jupyter shows `pre` in the font of its prose, so the font is named here."""
    style = "background:transparent;color:inherit;line-height:1.35;font-family:ui-monospace,monospace"
    return f'<pre style="{style}">{markup}</pre>'
