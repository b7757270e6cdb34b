"""Where a run can split, and how many runs that allows (SASE+ 4.1, 4.2)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from cepheid.front.analysed import Analysed
from cepheid.pattern.tree.layout import Layout, Move, Place
from cepheid.pattern.tree.nodes import Strategy


@dataclass(frozen=True, slots=True)
class Branching:
    """A kind of nondeterminism at a state, and the number of branches while reading W events."""

    state: str
    kind: str
    bound: str  # "linear" or "exponential"


def splits(query: Analysed) -> tuple[Branching, ...]:
    """All splits, in the order of the text."""
    branchings = [split for number in range(len(query.layout.places)) for split in _at(query, number)]
    return tuple(dict.fromkeys(branchings))  # AND lays a component out many times


def _at(query: Analysed, number: int) -> Iterator[Branching]:
    layout = query.layout
    moves = layout.moves[number]
    takes = [m for m in moves if m.repeats]
    leaves = [m for m in moves if m.leaves]
    state = f"{layout.places[number].variable}[i]" if takes else ""
    for take in takes:
        strategy = query.strategies[_target(layout, take).variable]
        ends = any(m.target is None for m in leaves)
        if ends or any(_share_types(layout, take, m) for m in leaves if m.target is not None):
            yield Branching(state, "take-proceed", "linear")
        if strategy in (Strategy.NEXT, Strategy.ANY) and any(m.target is not None for m in leaves):
            yield Branching(state, "ignore-proceed", "linear")
        if strategy is Strategy.ANY:
            yield Branching(state, "take-ignore", "exponential")
    for move in moves:
        if move.target is not None and not move.repeats and not move.leaves:
            place = _target(layout, move)
            if query.strategies[place.variable] is Strategy.ANY:
                yield Branching(place.variable, "begin-ignore", "linear")


def _target(layout: Layout, move: Move) -> Place:
    assert move.target is not None
    return layout.places[move.target]


def _share_types(layout: Layout, move: Move, beside: Move) -> bool:
    types, others = set(_target(layout, move).event.types), set(_target(layout, beside).event.types)
    return not types or not others or bool(types & others)


def bound(query: Analysed) -> str:
    """The number of runs that a window of W events can have (SASE+ Corollary 4.3)."""
    branchings = splits(query)
    if any(split.bound == "exponential" for split in branchings):
        return "exponential in W: a skip-till-any Kleene closure matches subsets of the window"
    states = len({split.state for split in branchings})
    if not states:
        return "at most W, one for each starting event"
    return f"at most W^{1 + states}: W starting events, {states} state{'s' * (states > 1)} where runs split"
