"""How far all runs of one part of a stream come: counts that can be added."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from cepheid.diagnosis.arcs import ARCS, EDGES, ByArcs, follow_arcs
from cepheid.diagnosis.facts import Miss, Stage
from cepheid.diagnosis.following import follow
from cepheid.front.runnable import Runnable
from cepheid.pattern.tree.nodes import Language
from cepheid.values.rows import Event


@dataclass(frozen=True, slots=True)
class PartCounts:
    """begun, followed: runs. sampled: events that were read."""

    stages: Sequence[Stage]
    misses: Sequence[Miss]
    begun: int
    followed: int
    sampled: int


def count_part(name: str, query: Runnable, events: Sequence[Event], last: int | None) -> PartCounts:
    """Follow one query of a program on all events of a part. last: the time of the last event of all parts."""
    return _COUNTED[query.language](name, query, events, last)


def _count_runs(name: str, query: Runnable, events: Sequence[Event], last: int | None) -> PartCounts:
    counting, runs = follow(name, query, events, None, last)
    return PartCounts(counting.stages(), counting.misses(), runs.begun, runs.followed, len(events))


def _count_arcs(by_arcs: ByArcs, name: str, query: Runnable, events: Sequence[Event], last: int | None) -> PartCounts:
    counting, sampled = follow_arcs(name, query, events, None, by_arcs)
    return PartCounts(counting.stages(), counting.kept, 0, 0, sampled)


_COUNTED: Mapping[Language, Callable[[str, Runnable, Sequence[Event], int | None], PartCounts]] = {
    Language.PATTERN: _count_runs,
    Language.AUTOMATON: partial(_count_arcs, ARCS),
    Language.CESAR: partial(_count_arcs, EDGES),
}
