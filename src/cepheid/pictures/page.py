"""Pieces of a page that need no script: pictures where they can be drawn, else text."""

from __future__ import annotations

from html import escape

from cepheid.pictures.graph import Graph
from cepheid.pictures.svg import can_draw, to_svg
from cepheid.pictures.text import to_text


def drawn(graph: Graph) -> str:
    """A graph as SVG, or as text without the extra for that."""
    return f"<div>{to_svg(graph)}</div>" if can_draw() else preformatted(to_text(graph))


def preformatted(text: str) -> str:
    """Text as it is."""
    return f'<pre style="background:transparent;color:inherit;line-height:1.3">{escape(text)}</pre>'
