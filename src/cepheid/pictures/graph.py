"""A graph as plain values: what is drawn as text, as Mermaid and as SVG."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from textwrap import wrap


class NodeKind(Enum):
    """What a node stands for, which decides its shape."""

    START = "start"
    STATE = "state"
    FINAL = "final"
    DROPPED = "dropped"  # where a run ends without a match
    SOURCE = "source"
    STAGE = "stage"
    SINK = "sink"


class Style(Enum):
    """How an edge is drawn."""

    PLAIN = "plain"  # over an event
    QUIET = "quiet"  # without one, or over one that is not kept
    ABSENT = "absent"  # over an event that must not come


@dataclass(frozen=True, slots=True)
class Node:
    """A node by its name, which is unique, with a label of one or more lines."""

    name: str
    lines: tuple[str, ...] = ()
    kind: NodeKind = NodeKind.STATE


@dataclass(frozen=True, slots=True)
class Edge:
    """From one node to another, both by name."""

    source: str
    target: str
    lines: tuple[str, ...] = ()
    style: Style = Style.PLAIN


@dataclass(frozen=True, slots=True)
class Graph:
    """Nodes, edges, and a title of one or more lines."""

    nodes: tuple[Node, ...]
    edges: tuple[Edge, ...]
    title: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        names = {node.name for node in self.nodes}
        if len(names) < len(self.nodes):
            raise ValueError("two nodes of a graph have the same name")
        for edge in self.edges:
            for name in (edge.source, edge.target):
                if name not in names:
                    raise ValueError(f"an edge leads to {name!r}, which is no node")


WIDTH = 38
"""Characters of a line of a label in a drawing."""
MOST_LINES = 10


def wrapped(lines: tuple[str, ...], width: int = WIDTH) -> list[str]:
    """The lines of a label, long ones over several; empty ones, and the end of a very long label, are left out.

    >>> wrapped(("a.price > 10 AND a.volume < 3",), 16)
    ['a.price > 10 AND', 'a.volume < 3']
    """
    parts = [part for line in lines for part in wrap(" ".join(line.split()), width, break_on_hyphens=False)]
    return parts if len(parts) <= MOST_LINES else [*parts[: MOST_LINES - 1], "…"]
