"""Pictures of plain values: graphs as text, Mermaid and SVG, and time lines. It knows nothing of queries."""

from cepheid.pictures.graph import Edge, Graph, Kind, Node, Style
from cepheid.pictures.mermaid import to_mermaid
from cepheid.pictures.picture import Picture
from cepheid.pictures.svg import can_draw, to_svg
from cepheid.pictures.text import to_text

__all__ = ["Edge", "Graph", "Kind", "Node", "Picture", "Style", "can_draw", "to_mermaid", "to_svg", "to_text"]
