"""An explanation for a notebook: the pictures, and the text folded below them."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from cepheid.pictures import Graph, can_draw, to_svg, to_text


def as_html(text: str, graphs: Sequence[Graph]) -> str:
    """HTML that needs no script; graphs are text where Graphviz is not installed."""
    pictures = "".join(map(drawn, graphs))
    return f"{pictures}<details{' open' * (not graphs)}><summary>Explanation</summary>{preformatted(text)}</details>"


def drawn(graph: Graph) -> str:
    """A graph as SVG, or as text without the extra for that."""
    return f"<div>{to_svg(graph)}</div>" if can_draw() else preformatted(to_text(graph))


def preformatted(text: str) -> str:
    """Text as it is."""
    return f'<pre style="background:transparent;color:inherit;line-height:1.3">{escape(text)}</pre>'
