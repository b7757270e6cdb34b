"""Arcs that come and go (S17), as columns: a kernel reads whether an arc is there, and with which constants.

Arcs that differ only in their constants and are never there at the same time are one *track*. So to replace an arc by
another one of its shape, or to remove it, changes data and no code.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa

from cepheid.engine.encoding.arrow import from_numpy, to_numpy
from cepheid.engine.encoding.derived import EVENT as ROW
from cepheid.engine.encoding.derived import Derived, carried
from cepheid.engine.encoding.times import ticks_of
from cepheid.pattern import expressions as ex
from cepheid.pattern.bound_automata import BoundArc, BoundAutomaton
from cepheid.pattern.registers import EVENT
from cepheid.pattern.schema import Schema
from cepheid.pattern.types import BOOL, Kind, Type
from cepheid.pattern.walk import conjuncts, substitute, walk
from cepheid.values.bindings import Bindings
from cepheid.values.value import Value

_BLANK = object()
_MOVABLE = (Kind.INT, Kind.FLOAT, Kind.STRING, Kind.DATE, Kind.TIMESTAMP, Kind.DURATION)


def settle_lifetimes(automaton: BoundAutomaton, schema: Schema) -> tuple[BoundAutomaton, Mapping[str, Derived]]:
    """The automaton with one arc for each track, which reads columns that are a function of the time of an event."""
    if not any(arc.changes for arc in automaton.arcs):
        return automaton, {}
    tracks: dict[Hashable, list[list[BoundArc]]] = {}
    order: list[list[BoundArc]] = []
    for arc in automaton.arcs:
        found = tracks.setdefault(_shape(arc), [])
        track = next((one for one in found if _follows(arc, one[-1])), None)
        if track is None:
            track = []
            found.append(track)
            order.append(track)
        track.append(arc)
    columns: dict[str, Derived] = {}
    arcs = [_track(number, track, schema, columns) for number, track in enumerate(order)]
    return replace(automaton, arcs=tuple(arcs)), columns


def _follows(arc: BoundArc, before: BoundArc) -> bool:
    return before.until is not None and arc.since is not None and before.until <= arc.since


def _literals(arc: BoundArc) -> list[ex.Literal]:
    """The constants that a column can hold, in the order of the text."""
    assigned = [value for _, value in sorted(arc.assigns.items())]
    expressions = [*([] if arc.condition is None else [arc.condition]), *assigned]
    return [node for e in expressions for node in walk(e) if isinstance(node, ex.Literal) and _movable(node)]


def _movable(node: ex.Literal) -> bool:
    return node.value is not None and node.type.kind in _MOVABLE


def _shape(arc: BoundArc) -> Hashable:
    """What two arcs of one track have in common: all but their constants and lifetimes."""

    def blank(node: ex.Expression) -> ex.Expression | None:
        if isinstance(node, ex.Literal) and _movable(node):
            return ex.Literal(_BLANK, carried(node.type))
        return None

    condition = arc.condition and substitute(arc.condition, blank)
    assigns = tuple((name, substitute(value, blank)) for name, value in sorted(arc.assigns.items()))
    return arc.source, arc.target, arc.fires, arc.types, condition, assigns


def _track(number: int, arcs: Sequence[BoundArc], schema: Schema, columns: dict[str, Derived]) -> BoundArc:
    if len(arcs) == 1 and not arcs[0].changes:
        return arcs[0]
    starts, members = _pieces(arcs)
    asked = () if arcs[0].condition is None else conjuncts(arcs[0].condition)
    if None in members:
        name = f"arc {number} is there"
        columns[name] = Timeline.of(schema, BOOL, starts, [member is not None for member in members])
        asked = (ex.Attribute(EVENT, ex.Index.ONE, name), *asked)
    given = [_literals(arc) for arc in arcs]
    values: dict[int, ex.Expression] = {}
    for k, first in enumerate(given[0]):
        own = [literals[k].value for literals in given]
        if any(value != own[0] for value in own):
            held = f"constant {k} of arc {number}"
            pieces = [own[0] if member is None else own[member] for member in members]
            columns[held] = Timeline.of(schema, carried(first.type), starts, pieces)
            values[id(first)] = ex.Attribute(EVENT, ex.Index.ONE, held)
    arc = arcs[0]

    def moved(node: ex.Expression) -> ex.Expression | None:
        return values.get(id(node))

    tests = tuple(substitute(test, moved) for test in asked)
    condition = None if not tests else tests[0] if len(tests) == 1 else ex.And(tests)
    assigns = {field: substitute(value, moved) for field, value in arc.assigns.items()}
    return replace(arc, condition=condition, assigns=assigns, since=None, until=None)


def _pieces(arcs: Sequence[BoundArc]) -> tuple[list[int], list[int | None]]:
    """When a track changes, and which of its arcs is there from then on; the first piece has no beginning."""
    starts: list[int] = []
    members: list[int | None] = [0 if arcs[0].since is None else None]
    for number, arc in enumerate(arcs):
        if arc.since is not None:
            if starts and starts[-1] == arc.since + 1:
                members[-1] = number
            else:
                starts.append(arc.since + 1)
                members.append(number)
        if arc.until is not None:
            starts.append(arc.until + 1)
            members.append(None)
    return starts, members


@dataclass(frozen=True, slots=True, eq=False)
class Timeline(Derived):
    """A column that is a function of the time of an event."""

    starts: Any = None  # the times, in ticks, from which on there is another value
    pieces: pa.Array = None  # one more than these

    @classmethod
    def of(cls, schema: Schema, type_: Type, starts: Sequence[int], values: Sequence[Value]) -> Timeline:
        """One value before the first time, and one from each time on."""
        times = np.array(starts, np.int64)
        time, tick = schema.roles.time, schema.tick
        fine = schema.columns[time].kind is Kind.TIMESTAMP

        def evaluate(bindings: Bindings) -> Value:
            value = bindings.now[ROW].values[time]
            at = value // tick if fine else value
            return values[int(np.searchsorted(times, at, side="right"))]

        return cls(type_, (time,), evaluate, (), times, _held(type_, values))

    def column(self, columns: Sequence[pa.ChunkedArray]) -> pa.ChunkedArray:
        """The values of a batch."""
        times = ticks_of(columns[0])
        if (times[1:] < times[:-1]).any():
            place = np.searchsorted(self.starts, times, side="right")
            return pa.chunked_array([self.pieces.take(from_numpy(place))])
        # In order, as batches are: it is asked where each piece begins, and not for each event in which piece it is.
        lengths = np.diff(np.searchsorted(times, self.starts), prepend=0, append=len(times))
        if self.type.kind in (Kind.INT, Kind.FLOAT):
            return pa.chunked_array([from_numpy(np.repeat(to_numpy(self.pieces), lengths))])
        return pa.chunked_array([self.pieces.take(from_numpy(np.repeat(np.arange(len(lengths)), lengths)))])


def _held(type_: Type, values: Sequence[Value]) -> pa.Array:
    if type_.kind in (Kind.TIMESTAMP, Kind.DURATION):
        return pa.array(values, pa.int64()).view(type_.arrow)
    if type_.kind is Kind.DATE:
        return pa.array(values, pa.int32()).cast(pa.date32())
    return pa.array(values, type_.arrow)
