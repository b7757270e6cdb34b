"""Pictures of plain values. This room knows nothing of queries.

A graph is drawn as text, as Mermaid, and by Graphviz as SVG. A time line is drawn as SVG without any program, or as
an Altair chart. `page`, `highlight`, `facts` and `table` make the pieces that notebooks show.
"""

from cepheid.pictures.chart import to_chart
from cepheid.pictures.facts import fact_table
from cepheid.pictures.graph import Edge, Graph, Node, NodeKind, Style
from cepheid.pictures.highlight import highlighted
from cepheid.pictures.mermaid import to_mermaid
from cepheid.pictures.page import drawn, preformatted
from cepheid.pictures.picture import Picture
from cepheid.pictures.svg import can_draw, to_svg
from cepheid.pictures.table import html_table
from cepheid.pictures.text import to_text
from cepheid.pictures.timeline import Scale, Timeline, side_by_side
from cepheid.pictures.timeline_svg import draw_timeline

__all__ = [
    "Edge",
    "Graph",
    "Node",
    "NodeKind",
    "Picture",
    "Scale",
    "Style",
    "Timeline",
    "can_draw",
    "draw_timeline",
    "drawn",
    "fact_table",
    "highlighted",
    "html_table",
    "preformatted",
    "side_by_side",
    "to_chart",
    "to_mermaid",
    "to_svg",
    "to_text",
]
