"""Which events can matter to a query: those that have a role in it, or every one. Others change nothing.

What asks for it: ties, promises (`plan.taken`), rules that an event concerns (`engine.many.routed.concerns`), and the
rows that Spark sends to Python (`spark.pushdown.row_filter`). Which conditions one event decides, each says for itself.
"""

from __future__ import annotations

from dataclasses import dataclass

from cepheid.pattern.expressions.nodes import Expression


@dataclass(frozen=True, slots=True)
class EveryEvent:
    """Why every event matters: of the stream, or, where it is `of_partition`, of the partitions that have runs."""

    reason: str
    of_partition: bool = True


@dataclass(frozen=True, slots=True)
class EventRole:
    """What an event can be to a query: the one at a place of the layout, or (None) one that must be absent.

    types: it is of one of these; of any where there are none.
    conditions: all of them hold for it, in what they ask of this event alone; they may read other events too.
    """

    place: int | None
    types: tuple[str, ...]
    conditions: tuple[Expression, ...]


@dataclass(frozen=True, slots=True)
class Relevance:
    """types: those of all events that matter; None: of any. every: every event matters, whatever the roles ask."""

    types: frozenset[str] | None
    roles: tuple[EventRole, ...]
    every: EveryEvent | None = None
