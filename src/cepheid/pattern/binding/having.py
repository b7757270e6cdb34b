"""Whether HAVING is tested by runs, so that only matches that pass it are made.

Runs must then hold what HAVING reads, and those that differ in it can't be one. Where every run goes one way, or what
it reads has few values, that is far less than all matches. What a closure under skip_till_any_match is summed up to may
have few values or one for every subset: that is found out by trying. Elsewhere each match is made, and then tested.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from enum import Enum

from cepheid.pattern.expressions import nodes as ex
from cepheid.pattern.tree.nodes import Strategy
from cepheid.pattern.tree.walk import children

FEW_VALUES = ("count", "min", "max", "first", "last")
"""Aggregates that have at most as many values as there are events."""
MOST_READS = 2
"""Aggregates and events of which HAVING may read attributes."""


class Folding(Enum):
    """Whether runs hold what HAVING reads."""

    NEVER = "never"
    TRIED = "tried"
    """As long as there are not too many of them."""
    ALWAYS = "always"


def folding(
    having: ex.Expression, strategies: Mapping[str, Strategy], arrays: Collection[str], *, windowed: bool
) -> Folding:
    """Whether runs should hold what HAVING reads. arrays: the variables of closures."""
    used = set(strategies.values())
    if used <= {Strategy.STRICT, Strategy.PARTITION}:
        return Folding.ALWAYS
    if not windowed:
        return Folding.NEVER  # runs that never end
    if Strategy.ANY not in used:
        return Folding.ALWAYS
    if not any(strategies[name] is Strategy.ANY for name in arrays):
        return Folding.NEVER
    # A match for every subset of the events.
    reads = set(_reads(having))
    # All attributes of one event have at most as many values as there are events.
    apart = {(node.variable, node.index) if isinstance(node, ex.Attribute) else node for node in reads}
    if len(apart) <= MOST_READS and all(map(_has_few_values, reads)):
        return Folding.ALWAYS
    return Folding.NEVER if any(isinstance(node, ex.MatchId) for node in reads) else Folding.TRIED


def _has_few_values(node: ex.Expression) -> bool:
    if isinstance(node, ex.AggregateCall):
        return node.function in FEW_VALUES and not node.distinct
    return not isinstance(node, ex.MatchId)


def _reads(node: ex.Expression) -> Iterator[ex.Expression]:
    if isinstance(node, ex.AggregateCall | ex.Quantified | ex.Attribute | ex.Length | ex.MatchId):
        yield node
        return
    for child in children(node):
        yield from _reads(child)
