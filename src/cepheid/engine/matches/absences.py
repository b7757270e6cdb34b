"""From when to when something was absent of a match: between two events, before the first, after the last."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise

from cepheid.front.runnable import Runnable
from cepheid.pattern.tree.layout import Layout, Move
from cepheid.pattern.tree.layout import absences as absences_of


def absences(
    query: Runnable,
    names: Sequence[str],
    times: Sequence[int],
    bounds: tuple[int, int],
    window: tuple[int, int] | None,
) -> Iterator[tuple[str, int, int]]:
    """What a match has no event of, from when and to when, in ticks.

    names, times: of its events, in their order. bounds: when it starts and ends. window: when a window that ends with
    it begins, and when one that begins with it ends.
    """
    if query.body.waits and window is not None:
        yield "no event", bounds[1], window[1]
    layout, tick = query.layout, query.schema.tick
    for number in _crossed(layout.starts, names[:1], layout):
        period = query.periods[number]
        if period is not None:
            yield _name_of(layout, number), bounds[0] - -(-period // tick), bounds[0]
        elif window is not None:
            yield _name_of(layout, number), window[0], bounds[0]
    for (place, next_place), (start, end) in zip(pairwise(names), pairwise(times), strict=True):
        for number in _crossed(_moves(layout, place), (next_place,), layout):
            yield _name_of(layout, number), start, end
    for number in _crossed(_moves(layout, names[-1]), (), layout):
        period = query.periods[number]
        if period is not None:
            yield _name_of(layout, number), bounds[1], bounds[1] + -(-period // tick)
        elif window is not None:
            yield _name_of(layout, number), bounds[1], window[1]


def _moves(layout: Layout, variable: str) -> list[Move]:
    return [move for k, moves in enumerate(layout.moves) if layout.places[k].variable == variable for move in moves]


def _crossed(moves: Iterable[Move], then: Sequence[str], layout: Layout) -> list[int]:
    """The negations on the way to an event of a variable, or to the end."""
    wanted = [
        move
        for move in moves
        if ((layout.places[move.target].variable,) if move.target is not None else ()) == tuple(then)
    ]
    return list(dict.fromkeys(absences_of(wanted)))


def _name_of(layout: Layout, number: int) -> str:
    absent = layout.negations[number]
    return f"no {' or '.join(absent.event.types) or absent.variable}"
